//! Read, Write and Edit: one file, named in the title, opened at the right line.
//!
//! Pure. Invariant: a path in a title counts from the session's folder, a path in a place
//! or a diff is absolute.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::blocks::{Content, fence};
use super::fields::Fields;
use super::{Ending, Look};
use crate::projection::{Change, Place, Shown, ToolKind, path};

/// A file is read, perhaps some lines of it.
pub fn read(input: &Fields<'_>, cwd: &str) -> Look {
    let file = input.some("file_path");
    let offset = input.number("offset").filter(|offset| *offset > 0);
    let lines = match (input.number("limit").filter(|limit| *limit > 0), offset) {
        (Some(limit), from) => {
            let from = from.unwrap_or(1);
            format!(" ({from} - {})", from.saturating_add(limit - 1))
        }
        (None, Some(from)) => format!(" (from line {from})"),
        (None, None) => String::new(),
    };
    let name = file.as_deref().map_or("File", |file| relative(file, cwd));
    Look {
        title: format!("Read {name}{lines}"),
        kind: ToolKind::Read,
        content: Vec::new(),
        places: Some(places(file, Some(offset.unwrap_or(1)), cwd)),
    }
}

/// A whole file is written. Models also call the fields by the names of other tools.
pub fn write(input: &Fields<'_>, cwd: &str) -> Look {
    let file = input.some("file_path").or_else(|| input.some("path"));
    let names = ["content", "file_text", "file_content"];
    let new = names.iter().find_map(|name| input.text(name));
    let content = match (&file, new) {
        (Some(file), Some(new)) => changes(file, None, new, cwd),
        (None, Some(new)) if !new.is_empty() => vec![Shown::Text(new)],
        _ => Vec::new(),
    };
    let title = file.as_deref().map(|file| relative(file, cwd));
    Look {
        title: title.map_or("Preparing file…".to_owned(), |file| {
            format!("Write {file}")
        }),
        kind: ToolKind::Edit,
        content,
        places: Some(places(file, None, cwd)),
    }
}

/// A part of a file is replaced.
pub fn edit(input: &Fields<'_>, cwd: &str) -> Look {
    let file = input.some("file_path");
    let (old, new) = (input.some("old_string"), input.text("new_string"));
    let content = match &file {
        Some(file) if old.is_some() || new.as_ref().is_some_and(|new| !new.is_empty()) => {
            changes(file, old, new.unwrap_or_default(), cwd)
        }
        _ => Vec::new(),
    };
    let title = file.as_deref().map(|file| relative(file, cwd));
    Look {
        title: title.map_or("Edit".to_owned(), |file| format!("Edit {file}")),
        kind: ToolKind::Edit,
        content,
        places: Some(places(file, None, cwd)),
    }
}

/// What was read: the lines with their numbers, as the structured result has them. Its text
/// for the model is taken where that is missing, and for anything but text.
pub fn was_read(content: &Content<'_>, structured: Option<&RawValue>) -> Ending {
    let file = structured.map(Fields::of).and_then(|read| {
        let text = read.text("type").is_some_and(|kind| kind == "text");
        read.object("file").filter(|_| text)
    });
    let text = file.and_then(|file| numbered(&file));
    let content = match text {
        Some(text) => Some(vec![Shown::Text(text)]),
        None => content.shown(|text| fence(&without_reminders(text))),
    };
    Ending {
        title: None,
        content,
    }
}

/// What became of the file, from the patch that the tool made: a diff and a place a hunk.
pub fn patched(response: &RawValue, cwd: &str) -> Option<(Vec<Shown>, Vec<Place>)> {
    let response = Fields::of(response);
    let file = response.some("filePath")?;
    let (mut content, mut all) = (Vec::new(), Vec::new());
    for hunk in response.list("structuredPatch")? {
        let hunk = Fields::of(hunk);
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for line in hunk.list("lines").unwrap_or_default() {
            let Ok(line) = serde_json::from_str::<String>(line.get()) else {
                continue;
            };
            let mut rest = line.chars();
            let side = rest.next();
            // "\ No newline at end of file" is about a line and is none.
            if side == Some('\\') {
                continue;
            }
            let line = rest.as_str().to_owned();
            if side != Some('+') {
                old.push(line.clone());
            }
            if side != Some('-') {
                new.push(line);
            }
        }
        if old.is_empty() && new.is_empty() {
            continue;
        }
        let old = Some(old.join("\n")).filter(|old| !old.is_empty());
        content.extend(changes(&file, old, new.join("\n"), cwd));
        let line = hunk.number("newStart").unwrap_or(1).max(1);
        all.extend(places(Some(file.clone()), Some(line), cwd));
    }
    (!content.is_empty()).then_some((content, all))
}

/// The path from the session's folder, where it is inside of that.
pub fn relative<'a>(file: &'a str, cwd: &str) -> &'a str {
    let folder = cwd.trim_end_matches(['/', '\\']);
    let inside = file.strip_prefix(folder).filter(|_| !folder.is_empty());
    match inside.and_then(|rest| rest.strip_prefix(['/', '\\'])) {
        Some(rest) if !rest.is_empty() => rest,
        _ => file,
    }
}

/// The place of a file, if it can be made absolute.
pub fn places(file: Option<String>, line: Option<u64>, cwd: &str) -> Vec<Place> {
    // ACP has 32 bits for a line; no file is longer.
    let line = line.map(|line| line.min(u64::from(u32::MAX)));
    let place = file.map(|path| Place { path, line });
    path::within(place.into_iter().collect(), cwd)
}

fn changes(file: &str, old: Option<String>, new: String, cwd: &str) -> Vec<Shown> {
    let path = file.to_owned();
    let change = Change { path, old, new };
    let all = path::within(vec![change], cwd).into_iter();
    all.map(Shown::Change).collect()
}

fn numbered(file: &Fields<'_>) -> Option<String> {
    let content = file.some("content")?;
    let first = file.number("startLine").unwrap_or(1);
    let lines = content.strip_suffix('\n').unwrap_or(&content).split('\n');
    let lines = lines.zip(first..).map(|(line, at)| format!("{at}\t{line}"));
    let mut text = fence(&lines.collect::<Vec<_>>().join("\n"));
    let count = |name: &str| {
        file.number(name)
            .map_or("?".into(), |count| count.to_string())
    };
    if file.is("truncatedByTokenCap") {
        let (shown, all) = (count("numLines"), count("totalLines"));
        text.push_str(&format!(
            "\n[File truncated: showing {shown} of {all} lines]"
        ));
    }
    Some(text)
}

/// Without what the CLI says to the model alone.
fn without_reminders(text: &str) -> String {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((_, after)) = after.split_once(CLOSE) else {
            break;
        };
        out.push_str(before.strip_suffix('\n').unwrap_or(before));
        rest = after;
    }
    out.push_str(rest);
    out
}
