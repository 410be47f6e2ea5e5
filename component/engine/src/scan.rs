//! Looking for bytes, thirty-two at a time and without instructions of one machine.
//!
//! Pure. Message text and whole lines are searched for every streamed delta, and in the
//! sandbox each turn of a loop also looks at the deadline: few long turns beat many short
//! ones. Invariant: the answer is the one that a byte-by-byte search gives.

const WORD: usize = size_of::<u64>();
/// What one turn of a loop looks at.
const BLOCK: usize = 4 * WORD;
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
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (at, block) in blocks.iter().enumerate() {
        let [one, two, three, four] = words(block).map(&marks);
        if one | two | three | four != 0 {
            return at * BLOCK + soon(block, marks);
        }
    }
    let at = bytes.len() - rest.len();
    if let (Some(word), true) = (bytes.last_chunk(), rest.len() < WORD) {
        // Once more what is not marked, and the rest.
        let marked = lowest(marks(u64::from_le_bytes(*word)));
        return marked.map_or(bytes.len(), |marked| bytes.len() - WORD + marked);
    }
    at + soon(rest, marks)
}

/// The same, where it is near: an identifier long.
#[inline(always)]
pub fn soon(bytes: &[u8], marks: impl Fn(u64) -> u64) -> usize {
    let (words, rest) = bytes.as_chunks::<WORD>();
    for (at, word) in words.iter().enumerate() {
        if let Some(marked) = lowest(marks(u64::from_le_bytes(*word))) {
            return at * WORD + marked;
        }
    }
    if let Some(word) = bytes.last_chunk() {
        // Once more what is not marked, and the rest.
        let marked = lowest(marks(u64::from_le_bytes(*word)));
        return marked.map_or(bytes.len(), |marked| bytes.len() - WORD + marked);
    }
    let marked = |byte: &u8| marks(all(*byte)) != 0;
    rest.iter().position(marked).unwrap_or(rest.len())
}

/// What follows `prefix`, if the bytes begin with it. For prefixes of a line's length: the
/// sandbox's own comparison goes byte by byte.
#[inline(always)]
pub fn after<'a>(bytes: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (begin, rest) = bytes.split_at_checked(prefix.len())?;
    same(begin, prefix).then_some(rest)
}

/// Whether two pieces of equal length are equal.
#[inline(always)]
fn same(one: &[u8], other: &[u8]) -> bool {
    let ((blocks, rest), (beside, _)) = (one.as_chunks::<BLOCK>(), other.as_chunks::<BLOCK>());
    for (block, beside) in blocks.iter().zip(beside) {
        let ([a, b, c, d], [e, f, g, h]) = (words(block), words(beside));
        if (a ^ e) | (b ^ f) | (c ^ g) | (d ^ h) != 0 {
            return false;
        }
    }
    let (words, _) = rest.as_chunks::<WORD>();
    let (beside, _) = other[one.len() - rest.len()..].as_chunks::<WORD>();
    let equal = |(word, beside): (&[u8; WORD], &[u8; WORD])| {
        u64::from_le_bytes(*word) == u64::from_le_bytes(*beside)
    };
    words.iter().zip(beside).all(equal)
        && match (one.last_chunk(), other.last_chunk()) {
            // Once more what is equal, and the rest.
            (Some(last), Some(beside)) => equal((last, beside)),
            _ => one == other,
        }
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
fn words(block: &[u8; BLOCK]) -> [u64; 4] {
    let (words, _) = block.as_chunks::<WORD>();
    [0, 1, 2, 3].map(|at| u64::from_le_bytes(words[at]))
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

        #[test]
        fn given_any_bytes_when_compared_with_a_prefix_then_the_library_agrees(
            bytes in prop::collection::vec(any::<u8>(), 0..90),
            length in 0_usize..99,
            changed in 0_usize..99,
        ) {
            let mut prefix: Vec<u8> = bytes.iter().copied().take(length).collect();
            if let Some(byte) = prefix.get_mut(changed) {
                *byte ^= 1;
            }
            prop_assert_eq!(after(&bytes, &prefix), bytes.strip_prefix(prefix.as_slice()));
        }
    }
}
