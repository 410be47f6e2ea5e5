//! Measuring and cutting text in UTF-16 units, the unit of Maka's stream offsets and of all
//! presentation limits.
//!
//! Pure functions. Invariant: no cut ever falls inside a character; a cut that would moves
//! to the side that keeps less.

use alloc::borrow::ToOwned;
use alloc::string::String;

use crate::scan::{self, High};

/// The mark at the end of text that was cut.
const ELLIPSIS: char = '…';

/// How many units the text has.
pub fn units(text: &str) -> u64 {
    // Every streamed piece is measured, and most are ASCII.
    let bytes = text.as_bytes();
    let ascii = scan::before(bytes, High);
    let rest = bytes[ascii..].iter().map(|byte| starting(*byte));
    ascii as u64 + rest.sum::<u64>()
}

/// The units of the character that this byte starts: two for the long ones, none where it
/// starts none.
fn starting(byte: u8) -> u64 {
    u64::from(byte & 0xc0 != 0x80) + u64::from(byte >= 0xf0)
}

/// The byte offset that lies this many units before the end; `None` inside a character or
/// before the beginning.
pub fn before_end(text: &str, units: u64) -> Option<usize> {
    let mut left = units;
    let mut at = text.len();
    for character in text.chars().rev() {
        if left == 0 {
            break;
        }
        left = left.checked_sub(character.len_utf16() as u64)?;
        at -= character.len_utf8();
    }
    (left == 0).then_some(at)
}

/// The longest beginning of at most `max` units.
pub fn head(text: &str, max: u64) -> &str {
    // A unit is at most three bytes, so this much always fits.
    if text.len() as u64 <= max {
        return text;
    }
    let mut left = max;
    let mut at = 0;
    for character in text.chars() {
        match left.checked_sub(character.len_utf16() as u64) {
            Some(rest) => left = rest,
            None => break,
        }
        at += character.len_utf8();
    }
    &text[..at]
}

/// What is left after the first `cut` units, or one unit more where a character would be
/// cut in two.
pub fn tail(text: &str, cut: u64) -> &str {
    let mut left = cut;
    let mut at = 0;
    for character in text.chars() {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(character.len_utf16() as u64);
        at += character.len_utf8();
    }
    &text[at..]
}

/// The text in at most `max` units, with an ellipsis at the end where it was cut.
pub fn ellipsis(text: &str, max: u64) -> String {
    if units(text) <= max {
        return text.to_owned();
    }
    let mut short = head(text, max.saturating_sub(1)).to_owned();
    short.push(ELLIPSIS);
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn given_a_cut_inside_a_character_when_cut_then_less_is_kept() {
        assert_eq!(head("a😀b", 2), "a");
        assert_eq!(tail("a😀b", 2), "b");
        assert_eq!(before_end("a😀b", 2), None);
        assert_eq!(before_end("a😀b", 3), Some(1));
        assert_eq!(before_end("a😀b", 5), None);
        assert_eq!(ellipsis("a😀bc", 4), "a😀…");
        assert_eq!(ellipsis("a😀bc", 3), "a…");
        assert_eq!(ellipsis("a😀bc", 5), "a😀bc");
    }

    proptest! {
        #[test]
        fn given_any_text_when_measured_then_it_agrees_with_its_utf16_form(text in any::<String>(), at in 0u64..40) {
            let wide: alloc::vec::Vec<u16> = text.encode_utf16().collect();
            prop_assert_eq!(units(&text), wide.len() as u64);
            let kept = units(head(&text, at));
            prop_assert!(kept <= at && kept + 1 >= at.min(wide.len() as u64));
            let left = units(tail(&text, at));
            let wanted = (wide.len() as u64).saturating_sub(at);
            prop_assert!(left <= wanted && left + 1 >= wanted);
        }
    }
}
