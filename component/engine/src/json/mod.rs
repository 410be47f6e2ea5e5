//! Writing JSON by hand, where serde has no writer without std and a copy would cost.
//!
//! Touches only the buffer that it is given. Invariant: whatever goes in, what is written
//! holds no line end of any kind, so that one message stays one line for every reader.

mod object;
mod same;

pub use object::Object;
pub use same::same;

use alloc::vec::Vec;
use core::fmt;

use serde_json::value::RawValue;

use crate::scan::{self, Byte, Either, Special};

/// Writes a string with its quotes.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escaped(out, text);
    out.push(b'"');
}

/// Writes the inside of a string.
pub fn escaped(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut written = 0;
    let mut at = 0;
    while at < bytes.len() {
        at += plain(&bytes[at..]);
        let Some(&byte) = bytes.get(at) else { break };
        let width = if byte == SEPARATOR[0] {
            separator(&bytes[at..])
        } else {
            1
        };
        if width == 0 {
            at += 1;
            continue;
        }
        out.extend_from_slice(&bytes[written..at]);
        escape(out, &bytes[at..at + width]);
        at += width;
        written = at;
    }
    out.extend_from_slice(&bytes[written..]);
}

/// Writes JSON text as the peer wrote it, on one line.
pub fn raw(out: &mut Vec<u8>, value: &RawValue) {
    verbatim(out, value.get());
}

/// Writes valid JSON text, on one line.
///
/// Line ends can only stand between its tokens, where they mean nothing, and U+2028 and
/// U+2029 only inside its strings, where the escape means the same.
pub fn verbatim(out: &mut Vec<u8>, json: &str) {
    let bytes = json.as_bytes();
    let mut written = 0;
    for at in memchr::memchr3_iter(b'\n', b'\r', SEPARATOR[0], bytes) {
        if bytes[at] != SEPARATOR[0] {
            out.extend_from_slice(&bytes[written..at]);
            written = at + 1;
        } else if separator(&bytes[at..]) > 0 {
            out.extend_from_slice(&bytes[written..at]);
            written = at + SEPARATOR_WIDTH;
            escape(out, &bytes[at..written]);
        }
    }
    out.extend_from_slice(&bytes[written..]);
}

/// A place for `write!` inside a string that is being written.
pub struct Inside<'a>(pub &'a mut Vec<u8>);

impl fmt::Write for Inside<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escaped(self.0, text);
        Ok(())
    }
}

/// The first two bytes of U+2028 and U+2029. Line readers of some runtimes (Node's
/// `readline`) end a line at them, though JSON allows them in strings.
const SEPARATOR: [u8; 2] = [0xe2, 0x80];
const SEPARATOR_WIDTH: usize = 3;

/// Whether all bytes stand for themselves inside a JSON string.
pub fn is_literal(bytes: &[u8]) -> bool {
    scan::before(bytes, Special) == bytes.len()
}

/// How many of the first bytes need no look when they are written.
fn plain(bytes: &[u8]) -> usize {
    scan::before(bytes, Either(Special, Byte(SEPARATOR[0])))
}

fn separator(bytes: &[u8]) -> usize {
    match bytes {
        [first, second, 0xa8 | 0xa9, ..] if [*first, *second] == SEPARATOR => SEPARATOR_WIDTH,
        _ => 0,
    }
}

fn escape(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match bytes[0] {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        0xe2 => {
            out.extend_from_slice(b"\\u202");
            out.push(HEX[usize::from(bytes[2] - 0xa0)]);
        }
        control => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(control >> 4)]);
            out.push(HEX[usize::from(control & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut out = vec![];
        string(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn given_every_special_character_when_written_then_escaped_in_the_short_form() {
        assert_eq!(
            written("a\"b\\c\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}\u{2028}\u{2029}–é😀"),
            "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0000\\u001f\u{7f}\\u2028\\u2029–é😀\""
        );
    }

    #[test]
    fn given_json_over_several_lines_when_pasted_then_it_is_one_line_with_the_same_value() {
        let json = "{\n \"a\": \"x\u{2028}–\",\r\n \"n\": 1.0e5\n}";
        let mut out = vec![];
        verbatim(&mut out, json);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "{ \"a\": \"x\\u2028–\", \"n\": 1.0e5}"
        );
    }

    proptest! {
        #[test]
        fn given_any_text_when_written_then_it_reads_back_and_holds_no_line_end(
            text in "(\\PC|[\\x00-\\x7f\u{2028}\u{2029}–\u{2000}]){0,40}",
        ) {
            let line = written(&text);
            prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
            let ends = ['\n', '\r', '\u{2028}', '\u{2029}'];
            prop_assert!(!line.contains(ends));
        }
    }
}
