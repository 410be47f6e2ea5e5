//! Bytes to lines. Chunks may be cut anywhere; a line is at most `limit` bytes long.
//!
//! Invariant: the lines that come out do not depend on how the bytes were cut.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::scan::{self, Byte};

/// One result of the framing.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its end; a `\r` before the `\n` is cut off too.
    Whole(&'a [u8]),
    /// A line that was longer than the limit; its bytes were skipped.
    TooLong,
}

/// The tail of a stream that has no line end yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lines {
    #[serde(with = "crate::snapshot::bytes")]
    tail: Vec<u8>,
    skipping: bool,
}

impl Lines {
    /// Takes a chunk and calls `each` for every line that it completes.
    pub fn push(&mut self, mut chunk: &[u8], limit: u64, mut each: impl FnMut(Line<'_>)) {
        while let Some((head, rest)) = split(chunk) {
            chunk = rest;
            if core::mem::take(&mut self.skipping) {
                each(Line::TooLong);
            } else if self.tail.is_empty() {
                each(finish(head, limit));
            } else if over(self.tail.len() + head.len(), limit) {
                self.tail = Vec::new();
                each(Line::TooLong);
            } else {
                let mut line = core::mem::take(&mut self.tail);
                line.extend_from_slice(head);
                each(finish(&line, limit));
            }
        }
        if self.skipping || chunk.is_empty() {
            return;
        }
        // One byte of grace for a `\r` that will be cut off.
        if over(self.tail.len() + chunk.len(), limit.saturating_add(1)) {
            self.tail = Vec::new();
            self.skipping = true;
        } else {
            self.tail.extend_from_slice(chunk);
        }
    }

    /// How many bytes wait for their line end.
    pub fn pending(&self) -> u64 {
        self.tail.len() as u64
    }
}

/// What comes before the first line end, and what comes after it.
fn split(chunk: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = scan::before(chunk, Byte(b'\n'));
    Some((&chunk[..end], chunk.get(end + 1..)?))
}

fn over(len: usize, limit: u64) -> bool {
    len as u64 > limit.saturating_add(1)
}

fn finish(line: &[u8], limit: u64) -> Line<'_> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() as u64 > limit {
        Line::TooLong
    } else {
        Line::Whole(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec;

    fn lines(chunks: &[&[u8]], limit: u64) -> Vec<String> {
        let mut framing = Lines::default();
        let mut out = vec![];
        for chunk in chunks {
            framing.push(chunk, limit, |line| {
                out.push(match line {
                    Line::Whole(bytes) => String::from_utf8_lossy(bytes).to_string(),
                    Line::TooLong => "<too long>".to_string(),
                })
            });
        }
        out
    }

    #[test]
    fn given_crlf_and_blank_lines_when_framed_then_ends_are_cut() {
        assert_eq!(lines(&[b"a\r\n\n\r\nb\nc"], 9), ["a", "", "", "b"]);
    }

    #[test]
    fn given_a_line_at_the_limit_and_one_past_it_when_cut_anywhere_then_the_same_lines() {
        let text = b"12345\n123456\n12345\r\n123456\r\nok\n1234567890\nend\n";
        let want = [
            "12345",
            "<too long>",
            "12345",
            "<too long>",
            "ok",
            "<too long>",
            "end",
        ];
        assert_eq!(lines(&[text], 5), want);
        for first in 0..text.len() {
            for second in first..text.len() {
                let cut = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(lines(&cut, 5), want, "cut at {first} and {second}");
            }
        }
    }
}
