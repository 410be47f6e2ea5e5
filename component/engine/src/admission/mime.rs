//! What kind of content an attachment is: its first bytes decide, then what the editor
//! claims, then the name's extension (Maka adapter, section 10.1).
//!
//! Pure. Invariant: no content is called an image or a PDF that does not begin like one,
//! because a model refuses the whole turn for it.

use alloc::borrow::ToOwned;
use alloc::string::String;

use crate::limits;

/// Nothing is known of it.
const UNKNOWN: &str = "application/octet-stream";

/// How content begins.
const MAGIC: [(&[u8], &str); 9] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"%PDF-", "application/pdf"),
];

/// What extensions mean. Images and PDFs are not here: their bytes must say it.
const EXTENSIONS: [(&str, &str); 60] = [
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("xml", "application/xml"),
    ("svg", "application/xml"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("cjs", "text/javascript"),
    ("jsx", "text/javascript"),
    ("ts", "text/typescript"),
    ("mts", "text/typescript"),
    ("tsx", "text/typescript"),
    ("rs", "text/x-rust"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("go", "text/x-go"),
    ("java", "text/x-java"),
    ("kt", "text/x-kotlin"),
    ("swift", "text/x-swift"),
    ("c", "text/x-c"),
    ("h", "text/x-c"),
    ("cc", "text/x-c++"),
    ("cpp", "text/x-c++"),
    ("hpp", "text/x-c++"),
    ("cs", "text/x-csharp"),
    ("php", "text/x-php"),
    ("lua", "text/x-lua"),
    ("sql", "application/sql"),
    ("sh", "text/x-shellscript"),
    ("bash", "text/x-shellscript"),
    ("zsh", "text/x-shellscript"),
    ("ini", "text/plain"),
    ("conf", "text/plain"),
    ("diff", "text/x-diff"),
    ("patch", "text/x-diff"),
    ("tex", "text/x-tex"),
    ("vue", "text/plain"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("wasm", "application/wasm"),
    ("doc", "application/msword"),
    ("xls", "application/vnd.ms-excel"),
    ("ppt", "application/vnd.ms-powerpoint"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("rtf", "application/rtf"),
    ("ipynb", "application/json"),
];

/// The type of content that begins like this.
pub fn resolve(prefix: &[u8], claimed: Option<&str>, name: &str) -> String {
    if let Some(seen) = magic(prefix) {
        return seen.to_owned();
    }
    if let Some(claimed) = claimed.map(str::trim).filter(|it| is_type(it)) {
        let claimed = claimed.to_ascii_lowercase();
        let must_show = claimed.starts_with("image/") || claimed.starts_with("application/pdf");
        return if must_show {
            UNKNOWN.to_owned()
        } else {
            claimed
        };
    }
    let extension = name
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
        .to_ascii_lowercase();
    match EXTENSIONS.iter().find(|(known, _)| *known == extension) {
        Some((_, mime)) => (*mime).to_owned(),
        // Files like `Makefile` have none (decision): text is text.
        None if extension.is_empty() && is_text(prefix) => "text/plain".to_owned(),
        None => UNKNOWN.to_owned(),
    }
}

/// The extension that content of this type usually has, for content without a name.
pub fn extension(mime: &str) -> &'static str {
    match mime {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => "bin",
    }
}

fn magic(prefix: &[u8]) -> Option<&'static str> {
    if prefix.starts_with(b"RIFF") && prefix.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    if prefix.get(4..8) == Some(b"ftyp") {
        return match prefix.get(8..12) {
            Some(b"avif") => Some("image/avif"),
            Some(b"heic" | b"heix") => Some("image/heic"),
            _ => None,
        };
    }
    // Two letters alone begin many a text; the two zeros inside a bitmap's head do not.
    let bitmap = prefix.get(6..10) == Some(&[0; 4]);
    MAGIC
        .iter()
        .find(|(begin, mime)| prefix.starts_with(begin) && (*mime != "image/bmp" || bitmap))
        .map(|(_, mime)| *mime)
}

/// `type/subtype`, perhaps with parameters.
fn is_type(text: &str) -> bool {
    let token = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
    };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    text.len() as u64 <= limits::ATTACHMENT_MIME
        && parameters.bytes().all(|b| matches!(b, b' '..=b'~'))
        && essence
            .trim_end()
            .split_once('/')
            .is_some_and(|(kind, sub)| token(kind) && token(sub))
}

fn is_text(prefix: &[u8]) -> bool {
    let whole = match core::str::from_utf8(prefix) {
        Ok(_) => true,
        // The last character may be cut by the end of the prefix.
        Err(error) => error.error_len().is_none(),
    };
    whole
        && !prefix.is_empty()
        && !prefix
            .iter()
            .any(|b| *b < b' ' && !b"\t\n\r\x0c\x1b".contains(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    /// 10.1 and 26.12 B3: bytes, then the claim, then the extension.
    #[test]
    fn given_bytes_claim_and_name_when_resolved_then_in_that_order() {
        let office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        for (prefix, claimed, name, expected) in [
            (PNG, Some("text/plain"), "a.bin", "image/png"),
            (b"\xff\xd8\xff\xe0", None, "a", "image/jpeg"),
            (b"GIF89a..", None, "a.txt", "image/gif"),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", None, "", "image/webp"),
            (b"RIFF\x01\x02\x03\x04WAVE", None, "a.txt", "text/plain"),
            (b"%PDF-1.7", Some("image/png"), "a.png", "application/pdf"),
            (b"hello", Some("image/png"), "a.png", UNKNOWN),
            (b"hello", Some("application/pdf"), "a.pdf", UNKNOWN),
            (b"hello", None, "a.png", UNKNOWN),
            (
                b"hello",
                Some("Text/X-Thing; charset=utf-8"),
                "a.png",
                "text/x-thing; charset=utf-8",
            ),
            (b"hello", Some("no type"), "a.rs", "text/x-rust"),
            (b"hello", Some(""), "a.TXT", "text/plain"),
            (b"PK\x03\x04", None, "a.docx", office),
            (b"BMW is a car", None, "cars.txt", "text/plain"),
            (b"BM\x10\0\0\0\0\0\0\0", None, "a", "image/bmp"),
            (b"all:\n\tcargo build\n", None, "Makefile", "text/plain"),
            (b"\xe2\x82", None, "Makefile", "text/plain"),
            (b"\0\x01", None, "Makefile", UNKNOWN),
            (b"", None, "Makefile", UNKNOWN),
            (b"<svg/>", Some("image/svg+xml"), "a.svg", UNKNOWN),
            (b"<svg/>", None, "a.svg", "application/xml"),
        ] {
            assert_eq!(
                resolve(prefix, claimed, name),
                expected,
                "{name} {claimed:?}"
            );
        }
    }
}
