//! Looking for bytes, thirty-two at a time.
//!
//! Pure. Message text and whole lines are searched for every streamed delta, and in the
//! sandbox each turn of a loop also looks at the deadline: few long turns beat many short
//! ones. Invariant: the answer is the one that a byte-by-byte search gives.

mod lanes;

use lanes::{Lanes, WIDE, WORD, wide, word};

/// What one turn of a loop looks at.
const BLOCK: usize = 2 * WIDE;

/// Which bytes are looked for.
pub trait Wanted: Copy {
    /// Marks them.
    fn among<Bytes: Lanes>(self, bytes: Bytes) -> Bytes;
}

/// One byte.
#[derive(Clone, Copy)]
pub struct Byte(pub u8);

impl Wanted for Byte {
    #[inline(always)]
    fn among<Bytes: Lanes>(self, bytes: Bytes) -> Bytes {
        bytes.equal(self.0)
    }
}

/// What a JSON string cannot hold as it is: a quote, a backslash, what is below a space.
#[derive(Clone, Copy)]
pub struct Special;

impl Wanted for Special {
    #[inline(always)]
    fn among<Bytes: Lanes>(self, bytes: Bytes) -> Bytes {
        let marks = bytes.below(b' ').or(bytes.equal(b'"'));
        marks.or(bytes.equal(b'\\'))
    }
}

/// What is in no text of ASCII.
#[derive(Clone, Copy)]
pub struct High;

impl Wanted for High {
    #[inline(always)]
    fn among<Bytes: Lanes>(self, bytes: Bytes) -> Bytes {
        bytes.high()
    }
}

/// What either is.
#[derive(Clone, Copy)]
pub struct Either<One, Other>(pub One, pub Other);

impl<One: Wanted, Other: Wanted> Wanted for Either<One, Other> {
    #[inline(always)]
    fn among<Bytes: Lanes>(self, bytes: Bytes) -> Bytes {
        self.0.among(bytes).or(self.1.among(bytes))
    }
}

/// How many bytes come before the first one that is wanted.
#[inline(always)]
pub fn before(bytes: &[u8], wanted: impl Wanted) -> usize {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (at, block) in blocks.iter().enumerate() {
        let [one, two] = wides(block).map(|it| wanted.among(it));
        if one.or(two).any() {
            let within = one.lowest().or_else(|| Some(two.lowest()? + WIDE));
            return at * BLOCK + within.unwrap_or(0);
        }
    }
    let at = bytes.len() - rest.len();
    let (half, rest) = rest.as_chunks::<WIDE>();
    if let Some(half) = half.first()
        && let Some(marked) = wanted.among(wide(half)).lowest()
    {
        return at + marked;
    }
    if rest.is_empty() {
        return bytes.len();
    }
    // Once more what is not wanted, and the rest.
    if let Some(last) = bytes.last_chunk() {
        let marked = wanted.among(wide(last)).lowest();
        return marked.map_or(bytes.len(), |marked| bytes.len() - WIDE + marked);
    }
    soon(bytes, wanted)
}

/// The same for what is shorter than a vector.
#[inline(always)]
fn soon(bytes: &[u8], wanted: impl Wanted) -> usize {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let begin = wanted.among(word(first)).lowest();
        let end = || Some(bytes.len() - WORD + wanted.among(word(last)).lowest()?);
        return begin.or_else(end).unwrap_or(bytes.len());
    }
    let marked = |byte: &u8| wanted.among(word(&[*byte; WORD])).any();
    bytes.iter().position(marked).unwrap_or(bytes.len())
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
        let ([a, b], [c, d]) = (wides(block), wides(beside));
        if a.differ(c).or(b.differ(d)).any() {
            return false;
        }
    }
    let (half, _) = rest.as_chunks::<WIDE>();
    let (beside, _) = other[one.len() - rest.len()..].as_chunks::<WIDE>();
    let equal = |(one, other): (&[u8; WIDE], &[u8; WIDE])| !wide(one).differ(wide(other)).any();
    half.iter().zip(beside).all(equal)
        && match (one.last_chunk(), other.last_chunk()) {
            // Once more what is equal, and the rest.
            (Some(last), Some(beside)) => equal((last, beside)),
            _ => one == other,
        }
}

#[inline(always)]
fn wides(block: &[u8; BLOCK]) -> [lanes::Wide; 2] {
    let (halves, _) = block.as_chunks::<WIDE>();
    [wide(&halves[0]), wide(&halves[1])]
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
            let equal = before(&bytes, Byte(wanted));
            let odd = before(&bytes, Special);
            let find = |is: &dyn Fn(u8) -> bool| {
                bytes.iter().position(|byte| is(*byte)).unwrap_or(bytes.len())
            };
            let high = before(&bytes, High);
            let either = before(&bytes, Either(Byte(b'"'), High));
            prop_assert_eq!(equal, find(&|byte| byte == wanted));
            prop_assert_eq!(high, find(&|byte| byte > 0x7f));
            prop_assert_eq!(either, find(&|byte| byte > 0x7f || byte == b'"'));
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
