//! The input of a call while it streams: which of its fields are complete.
//!
//! Touches nothing else. Invariant: what it gives out is an object of whole fields, the same
//! for every cut of the pieces that completes the same fields; the work is linear.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::limits;

/// An input that is not complete.
#[derive(Debug, Serialize, Deserialize)]
pub struct Streamed {
    /// Which stream, and which of its blocks.
    pub stream: String,
    pub index: u64,
    /// The call.
    pub id: String,
    text: String,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// Whether nothing more is to be learned: the object is closed, none, or too long.
    over: bool,
}

impl Streamed {
    /// An input of which nothing is known.
    pub fn new(stream: &str, index: u64, id: &str) -> Streamed {
        Streamed {
            stream: stream.to_owned(),
            index,
            id: id.to_owned(),
            text: String::new(),
            depth: 0,
            in_string: false,
            escaped: false,
            over: false,
        }
    }

    /// A piece came. Gives the complete fields, if it completed one and others are to come:
    /// the last field comes with the whole input anyway.
    pub fn grew(&mut self, piece: &str) -> Option<Box<RawValue>> {
        if self.over {
            return None;
        }
        let from = self.text.len();
        self.text.push_str(piece);
        let complete = self.complete(from);
        if self.text.len() as u64 > limits::CLAUDE_STREAMED_INPUT {
            self.over = true;
        }
        if self.over {
            self.text = String::new();
            return None;
        }
        let mut object = self.text[..complete?].to_owned();
        object.push('}');
        let object = RawValue::from_string(object).ok();
        self.over = object.is_none();
        object
    }

    /// Where the last complete field ends, if that is behind `from`.
    fn complete(&mut self, from: usize) -> Option<usize> {
        let mut complete = None;
        for (at, byte) in self.text.bytes().enumerate().skip(from) {
            if self.in_string {
                let quoted = core::mem::take(&mut self.escaped);
                self.escaped = byte == b'\\' && !quoted;
                self.in_string = byte != b'"' || quoted;
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                _ if self.depth == 0 && byte != b'{' => self.over = true,
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => self.depth -= 1,
                b',' if self.depth == 1 => complete = Some(at),
                _ => {}
            }
            // Closed.
            self.over |= self.depth == 0 && matches!(byte, b'}' | b']');
            if self.over {
                return None;
            }
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn given(pieces: &[&str]) -> Vec<String> {
        let mut streamed = Streamed::new("", 0, "t");
        let grown = pieces.iter().filter_map(|piece| streamed.grew(piece));
        grown.map(|raw| raw.get().to_owned()).collect()
    }

    #[test]
    fn given_an_input_in_pieces_when_it_grows_then_each_complete_field_is_given_but_the_last() {
        let table: [(&[&str], &[&str]); 8] = [
            (&[r#"{"a":"x,"#, r#"y","b"#, r#"":1}"#], &[r#"{"a":"x,y"}"#]),
            (
                &["", r#"{"a":[1,{"b":2}],"c":3,"d"#],
                &[r#"{"a":[1,{"b":2}],"c":3}"#],
            ),
            (&[r#"{"a":1,"b":[1,2"#], &[r#"{"a":1}"#]),
            (&[r#"{"a":2,"b":3}"#], &[]),
            (&[r#"{"a":"\"#, r#"",","b":1"#], &[r#"{"a":"\","}"#]),
            (&[r#"{"a\\":"\\"#, r#"","b":1"#], &[r#"{"a\\":"\\"}"#]),
            (&["[1,2,", "3]"], &[]),
            (&[r#"{"a":1,}"#, r#","b":2,"#], &[]),
        ];
        for (pieces, expected) in table {
            assert_eq!(given(pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn given_an_input_that_is_none_or_too_long_when_it_grows_then_it_is_not_followed() {
        assert!(given(&[r#"{"a":x,"b":"#, r#"1,"c""#]).is_empty());
        let long = "x".repeat(limits::CLAUDE_STREAMED_INPUT as usize);
        let last = alloc::format!(r#""{long}","c":1,"#);
        assert_eq!(given(&[r#"{"a":1,"b":"#, &last]), [r#"{"a":1}"#]);
    }
}
