//! `file:` URIs to paths, as browsers read URLs (WHATWG) and then Node reads paths.
//!
//! Pure. A small reader, because the `url` crate brings tables of international domain
//! names; the tests compare it with that crate. Invariant: a path is absolute, decoded
//! text without a NUL, and of this machine.

use alloc::string::String;
use alloc::vec::Vec;

/// Why a URI leads to no local file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// It cannot be read.
    Invalid,
    /// It can be read, and leads elsewhere.
    NotLocal,
}

/// The path that a URI names.
///
/// # Errors
/// [`Bad`].
pub fn path(uri: &str) -> Result<String, Bad> {
    let uri = plain(uri);
    let Some((scheme, rest)) = uri.split_once(':') else {
        return Err(Bad::Invalid);
    };
    let mut letters = scheme.bytes();
    if !letters.next().is_some_and(|b| b.is_ascii_alphabetic())
        || !letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    {
        return Err(Bad::Invalid);
    }
    if !scheme.eq_ignore_ascii_case("file") {
        return Err(Bad::NotLocal);
    }
    let (rest, fragment) = cut(rest, '#');
    let (rest, query) = cut(rest, '?');
    let slash = |text: &str| text.starts_with(['/', '\\']);
    let path = match rest.get(2..) {
        // `//host/path`: only an empty host, or this machine's own name, is local.
        Some(authority) if slash(rest) && slash(&rest[1..]) => {
            let end = authority.find(['/', '\\']).unwrap_or(authority.len());
            let (host, path) = authority.split_at(end);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(host_elsewhere(host));
            }
            path
        }
        _ => rest,
    };
    if !fragment.is_empty() || !query.is_empty() {
        return Err(Bad::NotLocal);
    }
    decoded(&normal(path))
}

/// The last part of any URI's path, for a name; empty where there is none.
pub fn last_part(uri: &str) -> String {
    let (uri, _) = cut(uri, '#');
    let (uri, _) = cut(uri, '?');
    let part = super::name::of_path(uri);
    let part = part.rsplit(':').next().unwrap_or_default();
    decoded(part).unwrap_or_default()
}

/// Without what a URL's reader drops: blanks around it, tabs and line ends anywhere.
fn plain(uri: &str) -> String {
    uri.trim_matches(|c: char| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect()
}

fn cut(text: &str, at: char) -> (&str, &str) {
    text.split_once(at).unwrap_or((text, ""))
}

/// A name that no host can have makes the whole URI unreadable.
fn host_elsewhere(host: &str) -> Bad {
    let forbidden = |c: char| {
        c <= ' '
            || matches!(c, '<' | '>' | '@' | '^' | '|' | ':' | '\u{7f}') && !host.starts_with('[')
    };
    if host.contains(forbidden) {
        Bad::Invalid
    } else {
        Bad::NotLocal
    }
}

/// Without `.` and `..`, with one kind of slash.
fn normal(path: &str) -> String {
    let path = path.strip_prefix(['/', '\\']).unwrap_or(path);
    let mut parts: Vec<&str> = Vec::new();
    let mut folder = false;
    for part in path.split(['/', '\\']) {
        let lower = part.to_ascii_lowercase().replace("%2e", ".");
        folder = matches!(&*lower, "." | "..");
        match &*lower {
            "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    if folder {
        parts.push("");
    }
    let mut text = String::from("/");
    text.push_str(&parts.join("/"));
    text
}

/// Percent signs decoded. A slash, a NUL or bytes that are no text cannot stand in a name.
fn decoded(path: &str) -> Result<String, Bad> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = after else {
            return Err(Bad::Invalid);
        };
        let digit = |b: &u8| (*b as char).to_digit(16);
        let (Some(high), Some(low)) = (digit(high), digit(low)) else {
            return Err(Bad::Invalid);
        };
        let byte = (high * 16 + low) as u8;
        if matches!(byte, b'/' | 0) {
            return Err(Bad::Invalid);
        }
        bytes.push(byte);
        rest = after;
    }
    if bytes.contains(&0) {
        return Err(Bad::Invalid);
    }
    String::from_utf8(bytes).map_err(|_| Bad::Invalid)
}
