//! Glob and Grep: the title is the command that a person would have typed.
//!
//! Pure. Invariant: options stand in the order of the adapter specification, section 6.3.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Look;
use super::fields::Fields;
use super::files::places;
use crate::projection::ToolKind;

/// Files are looked for by name.
pub fn glob(input: &Fields<'_>, cwd: &str) -> Look {
    let path = input.some("path");
    let mut title = String::from("Find");
    for part in [path.clone(), input.some("pattern")].into_iter().flatten() {
        title.push_str(&format!(" `{part}`"));
    }
    Look {
        title,
        kind: ToolKind::Search,
        content: Vec::new(),
        places: Some(places(path, None, cwd)),
    }
}

/// Text is looked for.
pub fn grep(input: &Fields<'_>) -> Look {
    let mut title = String::from("grep");
    for flag in ["-i", "-n"] {
        if input.is(flag) {
            title.push_str(&format!(" {flag}"));
        }
    }
    for option in ["-A", "-B", "-C"] {
        if let Some(count) = input.word(option) {
            title.push_str(&format!(" {option} {count}"));
        }
    }
    match input.text("output_mode").as_deref() {
        Some("files_with_matches") => title.push_str(" -l"),
        Some("count") => title.push_str(" -c"),
        _ => {}
    }
    if let Some(count) = input.word("head_limit") {
        title.push_str(&format!(" | head -{count}"));
    }
    if let Some(glob) = input.some("glob") {
        title.push_str(&format!(" --include=\"{glob}\""));
    }
    if let Some(kind) = input.some("type") {
        title.push_str(&format!(" --type={kind}"));
    }
    if input.is("multiline") {
        title.push_str(" -P");
    }
    if let Some(pattern) = input.some("pattern") {
        title.push_str(&format!(" \"{pattern}\""));
    }
    if let Some(path) = input.some("path") {
        title.push_str(&format!(" {path}"));
    }
    Look {
        title,
        kind: ToolKind::Search,
        content: Vec::new(),
        places: None,
    }
}
