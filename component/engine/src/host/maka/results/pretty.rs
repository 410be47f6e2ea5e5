//! JSON for people: indented by two spaces, names, numbers and order as the peer wrote them.
//!
//! Works on the text, so that nothing is lost and no depth is too deep. Invariant: what
//! comes out is at most some hundred times as long as [`limits::JSON_INDENTED`].

use alloc::borrow::ToOwned;
use alloc::string::String;

use serde_json::value::RawValue;

use crate::limits;

/// Indented JSON; a text as it is.
pub fn pretty(raw: &RawValue) -> String {
    let json = raw.get();
    if let Ok(text) = serde_json::from_str::<String>(json) {
        return text;
    }
    // Longer JSON is cut on its card anyway, and deep JSON would grow by its square.
    if json.len() as u64 > limits::JSON_INDENTED {
        return json.to_owned();
    }
    indented(json)
}

fn indented(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let mut end = at + 1;
        match byte {
            b'"' => {
                end = string_end(bytes, at);
                out.push_str(&json[at..end]);
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'{' | b'[' => {
                out.push(char::from(byte));
                let next = end + space(&bytes[end..]);
                if let Some(close @ (b'}' | b']')) = bytes.get(next) {
                    out.push(char::from(*close));
                    end = next + 1;
                } else {
                    depth += 1;
                    line(&mut out, depth, depth);
                }
            }
            b'}' | b']' => {
                depth -= 1;
                line(&mut out, depth, depth + 1);
                out.push(char::from(byte));
            }
            b',' => {
                out.push(',');
                line(&mut out, depth, depth);
            }
            b':' => out.push_str(if depth <= limits::JSON_DEPTH {
                ": "
            } else {
                ":"
            }),
            // Numbers and names of values are ASCII.
            _ => out.push(char::from(byte)),
        }
        at = end;
    }
    out
}

/// A new line, unless what stands at `inside` is too deep to be indented.
fn line(out: &mut String, depth: u64, inside: u64) {
    if inside <= limits::JSON_DEPTH {
        out.push('\n');
        for _ in 0..depth {
            out.push_str("  ");
        }
    }
}

/// The offset behind the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

fn space(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count()
}
