//! Identifiers, all from the seed: the same seed gives the same ids in the same order.

use alloc::string::String;
use core::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A source of random-looking UUIDs (version 4 in form).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ids {
    seed: [u8; 32],
    taken: u64,
}

impl Ids {
    /// Starts with 32 random bytes.
    pub fn new(seed: [u8; 32]) -> Ids {
        Ids { seed, taken: 0 }
    }

    /// The next UUID, in lower-case text form.
    pub fn uuid(&mut self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.taken.to_le_bytes());
        self.taken += 1;
        let mut bytes: [u8; 32] = hash.finalize().into();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut text = String::with_capacity(36);
        for (at, byte) in bytes[..16].iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}
