//! Looking for bytes, thirty-two at a time and without instructions of one machine.
//!
//! Pure. Message text and whole lines are searched for every streamed delta, and in the
//! sandbox each turn of a loop also looks at the deadline: few long turns beat many short
//! ones. Invariant: the answer is the one that a byte-by-byte search gives.

const WORD: usize = size_of::<u64>();
const ONES: u64 = u64::from_ne_bytes([1; WORD]);
const HIGHS: u64 = ONES << 7;

/// Marks the bytes equal to `byte`. Only the lowest mark is exact, which is the one used.
#[inline(always)]
pub fn equals(word: u64, byte: u8) -> u64 {
    let other = word ^ all(byte);
    other.wrapping_sub(ONES) & !other & HIGHS
}

/// Marks what a JSON string cannot hold as it is: a quote, a backslash, what is below a
/// space. Only the lowest mark is exact, which is the one used.
#[inline(always)]
pub fn special(word: u64) -> u64 {
    // All of them are below 0x80, so that one look at the high bits serves all.
    let marks = word.wrapping_sub(all(b' '))
        | (word ^ all(b'"')).wrapping_sub(ONES)
        | (word ^ all(b'\\')).wrapping_sub(ONES);
    marks & !word & HIGHS
}

/// How many bytes come before the first one that `marks` marks, where that is far away.
#[inline(always)]
pub fn before(bytes: &[u8], marks: impl Fn(u64) -> u64) -> usize {
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk::<{ 4 * WORD }>() {
        let marked = |word: usize| marks(word_at(block, word * WORD));
        if marked(0) | marked(1) | marked(2) | marked(3) != 0 {
            break;
        }
        at += block.len();
    }
    at + soon(&bytes[at..], marks)
}

/// The same, where it is near: an identifier long.
#[inline(always)]
pub fn soon(bytes: &[u8], marks: impl Fn(u64) -> u64) -> usize {
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk::<WORD>() {
        if let Some(marked) = lowest(marks(u64::from_le_bytes(*word))) {
            return at + marked;
        }
        at += WORD;
    }
    if let Some(word) = bytes.last_chunk::<WORD>() {
        // Once more what is not marked, and the rest.
        let marked = lowest(marks(u64::from_le_bytes(*word)));
        return marked.map_or(bytes.len(), |marked| bytes.len() - WORD + marked);
    }
    while at < bytes.len() && marks(all(bytes[at])) == 0 {
        at += 1;
    }
    at
}

/// The first marked byte.
#[inline(always)]
fn lowest(marks: u64) -> Option<usize> {
    (marks != 0).then_some((marks.trailing_zeros() / u8::BITS) as usize)
}

#[inline(always)]
fn all(byte: u8) -> u64 {
    ONES * u64::from(byte)
}

#[inline(always)]
fn word_at(block: &[u8; 4 * WORD], at: usize) -> u64 {
    let mut word = [0; WORD];
    word.copy_from_slice(&block[at..at + WORD]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn given_any_bytes_when_searched_then_a_search_byte_by_byte_agrees(
            bytes in prop::collection::vec(prop_oneof![4 => Just(b'x'), 1 => any::<u8>(), 1 => Just(b'"')], 0..90),
            wanted: u8,
        ) {
            let bytes: Vec<u8> = bytes;
            let equal = before(&bytes, |word| equals(word, wanted));
            let odd = before(&bytes, special);
            let find = |is: &dyn Fn(u8) -> bool| {
                bytes.iter().position(|byte| is(*byte)).unwrap_or(bytes.len())
            };
            prop_assert_eq!(equal, find(&|byte| byte == wanted));
            prop_assert_eq!(odd, find(&|byte| byte < b' ' || byte == b'"' || byte == b'\\'));
        }
    }
}
