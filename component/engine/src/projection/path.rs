//! Paths as an editor wants them: absolute.
//!
//! Pure, and on text alone: what a path leads to is not looked at. Invariant: what comes out
//! is absolute.

use alloc::string::String;
use alloc::vec::Vec;

/// Something with a path.
pub trait Pathed {
    /// The path.
    fn path(&mut self) -> &mut String;
}

/// Makes paths absolute, which count from this folder; leaves out what cannot be.
pub fn within<T: Pathed>(mut all: Vec<T>, folder: &str) -> Vec<T> {
    all.retain_mut(|one| {
        let path = one.path();
        if absolute(path) {
            return true;
        }
        if !absolute(folder) || path.is_empty() {
            return false;
        }
        let separator = if folder.starts_with('/') { '/' } else { '\\' };
        let mut whole = String::from(folder.trim_end_matches(separator));
        whole.push(separator);
        whole.push_str(path.strip_prefix("./").unwrap_or(path));
        *path = whole;
        true
    });
    all
}

/// Absolute on any system: `/x`, `C:\x`, `\\server\x`.
pub fn absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    path.starts_with('/')
        || path.starts_with("\\\\")
        || matches!(bytes, [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::Place;
    use alloc::vec;

    #[test]
    fn given_paths_of_every_kind_when_made_absolute_then_only_absolute_ones_are_left() {
        let paths = |folder: &str| -> Vec<String> {
            let all = ["a/b", "./c", "/d", "C:\\e", ""]
                .map(|path| Place {
                    path: path.into(),
                    line: None,
                })
                .to_vec();
            within(all, folder)
                .into_iter()
                .map(|place| place.path)
                .collect()
        };
        assert_eq!(paths("/w/"), vec!["/w/a/b", "/w/c", "/d", "C:\\e"]);
        assert_eq!(
            paths("D:\\w"),
            vec!["D:\\w\\a/b", "D:\\w\\c", "/d", "C:\\e"]
        );
        assert_eq!(paths(""), vec!["/d", "C:\\e"]);
    }
}
