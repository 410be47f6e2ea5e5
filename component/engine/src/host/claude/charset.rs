//! Text that comes as bytes (Claude adapter, section 7): what its type says of them.
//!
//! Pure. Invariant: bytes that are no text of their character set give none.

use alloc::string::String;
use alloc::vec::Vec;

/// What stands at 0x80 to 0x9f; the rest of the set is that of Unicode.
const WESTERN: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// The text; its character set is that of the type's parameter, else UTF-8.
pub fn decode(bytes: Vec<u8>, mime_type: &str) -> Option<String> {
    let set = charset(mime_type).unwrap_or("utf-8").to_ascii_lowercase();
    let text = match &*set {
        "utf-8" | "utf8" => String::from_utf8(bytes).ok(),
        "utf-16" | "utf-16le" => utf16(&bytes, u16::from_le_bytes),
        "utf-16be" => utf16(&bytes, u16::from_be_bytes),
        // These names mean one set on the web.
        "us-ascii" | "ascii" | "iso-8859-1" | "latin1" | "windows-1252" | "cp1252" => {
            Some(bytes.into_iter().map(western).collect())
        }
        _ => None,
    }?;
    Some(
        text.strip_prefix('\u{feff}')
            .map(String::from)
            .unwrap_or(text),
    )
}

fn charset(mime_type: &str) -> Option<&str> {
    let mut parameters = mime_type.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let named = name.trim().eq_ignore_ascii_case("charset");
        named.then(|| value.trim().trim_matches('"'))
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text = char::decode_utf16(pairs.iter().copied().map(unit));
    let text: Option<String> = text.map(Result::ok).collect();
    text.filter(|_| rest.is_empty())
}

fn western(byte: u8) -> char {
    let at = usize::from(byte).wrapping_sub(0x80);
    WESTERN.get(at).copied().unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_bytes_when_decoded_then_the_type_says_how_and_what_is_no_text_gives_none() {
        let table: [(&[u8], &str, Option<&str>); 11] = [
            (b"a\xc3\xa9", "text/plain", Some("a\u{e9}")),
            (b"\xef\xbb\xbfa", "text/plain; charset=UTF-8", Some("a")),
            (b"a\xe9", "text/plain", None),
            (
                b"a\xe9\x80",
                "text/plain; charset=\"ISO-8859-1\"",
                Some("a\u{e9}\u{20ac}"),
            ),
            (
                b"a\xe9",
                "text/plain;x=1; Charset = latin1",
                Some("a\u{e9}"),
            ),
            (
                b"\xff\xfea\0=\xd8\0\xde",
                "text/plain; charset=utf-16le",
                Some("a\u{1f600}"),
            ),
            (b"a\0", "text/plain; charset=utf-16", Some("a")),
            (b"\0a", "text/plain; charset=utf-16be", Some("a")),
            (b"\0a\0", "text/plain; charset=utf-16be", None),
            (b"=\xd8", "text/plain; charset=utf-16le", None),
            (b"a", "text/plain; charset=koi8-r", None),
        ];
        for (bytes, mime_type, expected) in table {
            assert_eq!(
                decode(bytes.to_vec(), mime_type).as_deref(),
                expected,
                "{mime_type}"
            );
        }
    }
}
