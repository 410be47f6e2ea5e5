//! Names of attachments.
//!
//! Pure. Invariant: a name is never empty, has no control characters, and fits the Host.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use crate::limits;

/// The last part of a path.
pub fn of_path(path: &str) -> &str {
    path.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default()
}

/// A name as it may be sent: what is too long loses its middle, so that the extension stays.
pub fn clean(name: &str, fallback: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| if c.is_control() { '_' } else { c })
        .collect();
    let name = name.trim();
    if name.is_empty() {
        return fallback.to_owned();
    }
    let most = limits::ATTACHMENT_NAME as usize;
    if name.len() <= most {
        return name.to_owned();
    }
    let end = name.len() - 64;
    let end = (end..name.len())
        .find(|at| name.is_char_boundary(*at))
        .unwrap_or(name.len());
    format!("{}…{}", head(name, most - 64 - 3), &name[end..])
}

/// As much from the beginning as fits into this many bytes.
pub fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_names_of_all_kinds_when_cleaned_then_they_can_be_sent() {
        assert_eq!(clean("a.txt", "x"), "a.txt");
        assert_eq!(clean("a\nb\u{7f}.txt", "x"), "a_b_.txt");
        assert_eq!(clean("  ", "file"), "file");
        for letter in ["x", "ü", "€", "😀"] {
            let long = format!("{}.tar.gz", letter.repeat(600));
            let name = clean(&long, "x");
            assert!(name.len() <= 512, "{}", name.len());
            assert!(name.ends_with(".tar.gz") && name.contains('…'), "{name}");
        }
        assert_eq!(clean(&"x".repeat(512), "x"), "x".repeat(512));
        assert_eq!(of_path("/a/b.txt"), "b.txt");
        assert_eq!(of_path("/"), "");
    }
}
