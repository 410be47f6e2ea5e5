//! Bytes side by side in one value, and what is asked of all of them at once.
//!
//! Pure. In the sandbox sixteen bytes are one vector of WebAssembly; elsewhere, and for
//! what is too short for that, arithmetic on words of eight does it, which compilers turn
//! into vectors where they can. Invariant: the lowest mark is exact, others need not be.

/// Bytes side by side, or marks at some of them.
pub trait Lanes: Copy {
    /// Marks the bytes equal to `byte`.
    fn equal(self, byte: u8) -> Self;
    /// Marks the bytes below `byte`, which is below 0x80.
    fn below(self, byte: u8) -> Self;
    /// Marks the bytes above 0x7f.
    fn high(self) -> Self;
    /// What either marks.
    fn or(self, other: Self) -> Self;
    /// Whether anything is marked.
    fn any(self) -> bool;
    /// The first marked byte.
    fn lowest(self) -> Option<usize>;
    /// Whether the bytes differ.
    fn differ(self, other: Self) -> Self;
}

/// Bytes of a word.
pub const WORD: usize = size_of::<u64>();
const ONES: u64 = u64::from_ne_bytes([1; WORD]);
const HIGHS: u64 = ONES << 7;

impl Lanes for u64 {
    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        let other = self ^ all(byte);
        other.wrapping_sub(ONES) & !other & HIGHS
    }

    #[inline(always)]
    fn below(self, byte: u8) -> u64 {
        self.wrapping_sub(all(byte)) & !self & HIGHS
    }

    #[inline(always)]
    fn high(self) -> u64 {
        self & HIGHS
    }

    #[inline(always)]
    fn or(self, other: u64) -> u64 {
        self | other
    }

    #[inline(always)]
    fn any(self) -> bool {
        self != 0
    }

    #[inline(always)]
    fn lowest(self) -> Option<usize> {
        (self != 0).then_some((self.trailing_zeros() / u8::BITS) as usize)
    }

    #[inline(always)]
    fn differ(self, other: u64) -> u64 {
        self ^ other
    }
}

#[inline(always)]
fn all(byte: u8) -> u64 {
    ONES * u64::from(byte)
}

/// Eight bytes.
#[inline(always)]
pub fn word(bytes: &[u8; WORD]) -> u64 {
    u64::from_le_bytes(*bytes)
}

/// Bytes of a vector.
pub const WIDE: usize = 2 * WORD;

/// Sixteen bytes.
#[inline(always)]
pub fn wide(bytes: &[u8; WIDE]) -> Wide {
    let (words, _) = bytes.as_chunks::<WORD>();
    Wide::new(word(&words[0]), word(&words[1]))
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod two_words {
    use super::{Lanes, WORD};

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub struct Wide([u64; 2]);

    impl Wide {
        #[inline(always)]
        pub fn new(low: u64, high: u64) -> Wide {
            Wide([low, high])
        }
    }

    impl Lanes for Wide {
        #[inline(always)]
        fn equal(self, byte: u8) -> Wide {
            Wide(self.0.map(|word| word.equal(byte)))
        }

        #[inline(always)]
        fn below(self, byte: u8) -> Wide {
            Wide(self.0.map(|word| word.below(byte)))
        }

        #[inline(always)]
        fn high(self) -> Wide {
            Wide(self.0.map(Lanes::high))
        }

        #[inline(always)]
        fn or(self, other: Wide) -> Wide {
            Wide([self.0[0] | other.0[0], self.0[1] | other.0[1]])
        }

        #[inline(always)]
        fn any(self) -> bool {
            self.0[0] | self.0[1] != 0
        }

        #[inline(always)]
        fn lowest(self) -> Option<usize> {
            let [low, high] = self.0;
            low.lowest().or_else(|| Some(high.lowest()? + WORD))
        }

        #[inline(always)]
        fn differ(self, other: Wide) -> Wide {
            Wide([self.0[0] ^ other.0[0], self.0[1] ^ other.0[1]])
        }
    }
}
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub use two_words::Wide;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod vector {
    use super::Lanes;
    use core::arch::wasm32::{
        i8x16_bitmask, i8x16_shr, u8x16_eq, u8x16_lt, u8x16_splat, u64x2, v128, v128_any_true,
        v128_or, v128_xor,
    };

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub struct Wide(v128);

    impl Wide {
        #[inline(always)]
        pub fn new(low: u64, high: u64) -> Wide {
            Wide(u64x2(low, high))
        }
    }

    impl Lanes for Wide {
        #[inline(always)]
        fn equal(self, byte: u8) -> Wide {
            Wide(u8x16_eq(self.0, u8x16_splat(byte)))
        }

        #[inline(always)]
        fn below(self, byte: u8) -> Wide {
            Wide(u8x16_lt(self.0, u8x16_splat(byte)))
        }

        #[inline(always)]
        fn high(self) -> Wide {
            Wide(i8x16_shr(self.0, 7))
        }

        #[inline(always)]
        fn or(self, other: Wide) -> Wide {
            Wide(v128_or(self.0, other.0))
        }

        #[inline(always)]
        fn any(self) -> bool {
            v128_any_true(self.0)
        }

        #[inline(always)]
        fn lowest(self) -> Option<usize> {
            let marks = i8x16_bitmask(self.0);
            (marks != 0).then_some(marks.trailing_zeros() as usize)
        }

        #[inline(always)]
        fn differ(self, other: Wide) -> Wide {
            Wide(v128_xor(self.0, other.0))
        }
    }
}
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub use vector::Wide;
