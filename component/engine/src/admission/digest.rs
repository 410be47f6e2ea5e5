//! SHA-256 of what comes in pieces, with a state that can be saved between any two calls
//! (the hasher of `sha2` cannot).
//!
//! Pure. Invariant: the cut of the pieces makes no difference.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::digest::generic_array::GenericArray;

/// Bytes of one block.
const BLOCK: usize = 64;

/// The first eight square roots, as FIPS 180-4 gives them.
const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// A digest under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    state: [u32; 8],
    /// Less than a block.
    tail: Vec<u8>,
    total: u64,
}

impl Default for Digest {
    fn default() -> Digest {
        Digest {
            state: START,
            tail: Vec::new(),
            total: 0,
        }
    }
}

impl Digest {
    /// Of all these bytes.
    pub fn of(bytes: &[u8]) -> String {
        let mut digest = Digest::default();
        digest.update(bytes);
        digest.finish()
    }

    /// The next piece.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.total = self.total.wrapping_add(bytes.len() as u64);
        if !self.tail.is_empty() {
            let missing = (BLOCK - self.tail.len()).min(bytes.len());
            let (first, rest) = bytes.split_at(missing);
            self.tail.extend_from_slice(first);
            bytes = rest;
            if self.tail.len() < BLOCK {
                return;
            }
            let tail = core::mem::take(&mut self.tail);
            self.blocks(&tail);
        }
        let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % BLOCK);
        self.blocks(whole);
        self.tail.extend_from_slice(rest);
    }

    /// The digest, as `sha256:` and lower-case hexadecimal digits.
    pub fn finish(mut self) -> String {
        let bits = self.total.wrapping_mul(8);
        let mut last = core::mem::take(&mut self.tail);
        last.push(0x80);
        while last.len() % BLOCK != BLOCK - 8 {
            last.push(0);
        }
        last.extend_from_slice(&bits.to_be_bytes());
        self.blocks(&last);
        let mut text = String::from("sha256:");
        for word in self.state {
            let _ = write!(text, "{word:08x}");
        }
        text
    }

    fn blocks(&mut self, bytes: &[u8]) {
        for block in bytes.chunks_exact(BLOCK) {
            let block = GenericArray::from_slice(block);
            sha2::compress256(&mut self.state, core::slice::from_ref(block));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn given_bytes_of_any_length_when_hashed_in_pieces_then_as_the_library_does() {
        for length in [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 49_152] {
            let bytes: Vec<u8> = (0..length).map(|at: u32| (at * 7 % 251) as u8).collect();
            let expected: String = Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            for piece in [1, 3, 64, 100, 65_536] {
                let mut digest = Digest::default();
                for piece in bytes.chunks(piece) {
                    digest.update(piece);
                    let saved = serde_json::to_string(&digest).unwrap();
                    digest = serde_json::from_str(&saved).unwrap();
                }
                assert_eq!(digest.finish(), format!("sha256:{expected}"), "{length}");
            }
        }
    }
}
