//! Halves of characters. The Host counts and cuts text in UTF-16, so that an escape in its
//! JSON may stand for one half of a pair. No text here can hold that, and serde refuses the
//! whole line; losing a connection over half an emoji helps nobody.
//!
//! Pure. Invariant: what is mended differs from what came in its lone halves only.

use alloc::vec::Vec;

/// What stands for half a character.
const UNKNOWN: &[u8] = b"\\ufffd";
/// Bytes of an escape with its digits.
const ESCAPE: usize = 6;

/// A frame without lone halves, if it had any. One at the end of a text is left out: its
/// other half begins the next piece, which does not join then, and so the text is read anew.
pub fn of_frame(json: &[u8]) -> Option<Vec<u8>> {
    mend(json, b"")
}

/// A stored row without lone halves, if it had any. Nothing follows a stored text.
pub fn of_row(json: &[u8]) -> Option<Vec<u8>> {
    mend(json, UNKNOWN)
}

fn mend(json: &[u8], last: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut taken = 0;
    let mut at = 0;
    while let Some(next) = json.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += next;
        match half(&json[at..]) {
            None => at += 2,
            Some(Half::First) if half(&json[at + ESCAPE..]) == Some(Half::Second) => {
                at += 2 * ESCAPE;
            }
            Some(first) => {
                let ends = first == Half::First && json.get(at + ESCAPE) == Some(&b'"');
                let out = mended.get_or_insert_with(|| Vec::with_capacity(json.len()));
                out.extend_from_slice(&json[taken..at]);
                out.extend_from_slice(if ends { last } else { UNKNOWN });
                at += ESCAPE;
                taken = at;
            }
        }
    }
    if let Some(out) = &mut mended {
        out.extend_from_slice(&json[taken..]);
    }
    mended
}

/// Which half of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// The half that is written here, if that is one.
fn half(json: &[u8]) -> Option<Half> {
    let [b'\\', b'u', b'd' | b'D', kind, digits @ ..] = json.first_chunk::<ESCAPE>()? else {
        return None;
    };
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    match kind {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::First),
        b'c'..=b'f' | b'C'..=b'F' => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use proptest::prelude::*;

    fn row(json: &str) -> Option<String> {
        of_row(json.as_bytes()).map(|it| String::from_utf8(it).unwrap())
    }

    #[test]
    fn given_lone_halves_when_mended_then_only_they_change() {
        for (json, wanted) in [
            (r#"["a\ud83eb"]"#, Some(r#"["a\ufffdb"]"#)),
            (r#"["\uDDE0"]"#, Some(r#"["\ufffd"]"#)),
            (
                r#"["\ud83e\ud83e\udde0\n"]"#,
                Some(r#"["\ufffd\ud83e\udde0\n"]"#),
            ),
            (r#"["\udde0\ud83e"]"#, Some(r#"["\ufffd\ufffd"]"#)),
            (r#"["\ud83e\n"]"#, Some(r#"["\ufffd\n"]"#)),
            (r#"["\ud83e\\udde0"]"#, Some(r#"["\ufffd\\udde0"]"#)),
            (r#"["\ud83e\udde0"]"#, None),
            (r#"["\\ud83e", "\\\\udde0", "\ud7ff\ue000"]"#, None),
            (r"[\ud83", None),
            ("\\", None),
        ] {
            assert_eq!(row(json).as_deref(), wanted, "{json}");
        }
    }

    #[test]
    fn given_a_first_half_at_the_end_when_it_is_a_frame_then_it_is_left_out() {
        let mended = of_frame(br#"["a\ud83e","\udde0b"]"#).unwrap();
        assert_eq!(String::from_utf8(mended).unwrap(), r#"["a","\ufffdb"]"#);
    }

    proptest! {
        #[test]
        fn given_any_escapes_when_mended_then_serde_reads_the_same_utf16(units: Vec<u16>, bare in "[a-z😀]{0,3}") {
            let escaped: String = units.iter().map(|unit| alloc::format!("\\u{unit:04x}")).collect();
            let json = alloc::format!("\"{bare}{escaped}\"");
            let mended = row(&json).unwrap_or(json);
            let read: String = serde_json::from_str(&mended).unwrap();
            prop_assert_eq!(read, bare + &String::from_utf16_lossy(&units));
        }
    }
}
