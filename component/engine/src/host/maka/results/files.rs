//! Which files a tool of Maka works at, and what it made of them.
//!
//! Pure. Invariant: only what the record says of itself; a patch that does not read as one
//! gives no changes, so that its text is shown instead.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::object::Object;
use crate::projection::{Change, Details, Place, ToolKind};

/// Names under which tools take the file that they work at.
const FILE: [&str; 4] = ["path", "file_path", "filePath", "file"];
/// Names of the line at which they begin.
const LINE: [&str; 2] = ["line", "offset"];

/// Where a tool that is called so will work. A command's folder is no such place.
pub fn places(kind: ToolKind, args: &RawValue) -> Vec<Place> {
    if !matches!(
        kind,
        ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move
    ) {
        return Vec::new();
    }
    let Some(args) = Object::read(args) else {
        return Vec::new();
    };
    let line = LINE
        .iter()
        .find_map(|name| args.number(name)?.parse().ok())
        .filter(|line| *line > 0);
    let one = FILE.iter().find_map(|name| args.text(name));
    let many = args.list("paths").into_iter();
    let many = many.filter_map(|path| serde_json::from_str::<String>(path.get()).ok());
    one.into_iter()
        .chain(many)
        .filter(|path| !path.is_empty())
        .map(|path| Place { path, line })
        .collect()
}

/// What the content of a durable result says besides its text.
pub fn details(content: &RawValue) -> Details {
    let Some(content) = Object::read(content) else {
        return Details::default();
    };
    match content.text("kind").as_deref() {
        Some("file_diff") => {
            let paths: Vec<String> = content
                .list("paths")
                .into_iter()
                .filter_map(|path| serde_json::from_str(path.get()).ok())
                .collect();
            let hunks = content.text("diff").and_then(|diff| hunks(&diff));
            changed(&paths, hunks.unwrap_or_default())
        }
        Some("file_write") => Details {
            places: content
                .text("path")
                .map(|path| Place { path, line: None })
                .into_iter()
                .collect(),
            ..Details::default()
        },
        Some("terminal" | "shell_run") => Details {
            exit_code: content
                .number("exitCode")
                .and_then(|code| code.parse().ok()),
            ..Details::default()
        },
        _ => Details::default(),
    }
}

/// A part of a unified patch.
struct Hunk {
    /// Which of the patched files.
    file: usize,
    new_file: bool,
    /// Where it begins in the file as it is now.
    line: u64,
    old: String,
    new: String,
}

fn changed(paths: &[String], hunks: Vec<Hunk>) -> Details {
    let mut details = Details::default();
    for hunk in hunks {
        let Some(path) = paths.get(hunk.file) else {
            return Details::default();
        };
        details.places.push(Place {
            path: path.clone(),
            line: Some(hunk.line.max(1)),
        });
        details.changes.push(Change {
            path: path.clone(),
            old: (!hunk.new_file).then_some(hunk.old),
            new: hunk.new,
        });
    }
    details
}

/// The parts of a unified patch; `None` where it is none.
fn hunks(diff: &str) -> Option<Vec<Hunk>> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut files, mut new_file) = (0, false);
    // Lines that the current hunk still has, before and after.
    let (mut before, mut after) = (0_u64, 0_u64);
    for line in diff.lines() {
        if before == 0 && after == 0 {
            if let Some(name) = line.strip_prefix("--- ") {
                files += 1;
                new_file = name == "/dev/null";
                continue;
            }
            if let Some(header) = line.strip_prefix("@@ -") {
                let (old, rest) = header.split_once(" +")?;
                let (new, _) = rest.split_once(" @@")?;
                before = span(old)?.1;
                let (start, count) = span(new)?;
                after = count;
                hunks.push(Hunk {
                    file: usize::checked_sub(files, 1)?,
                    new_file,
                    line: start,
                    old: String::new(),
                    new: String::new(),
                });
                continue;
            }
        }
        let Some(hunk) = hunks.last_mut() else {
            continue;
        };
        if line.starts_with('\\') {
            // "No newline at end of file": of the side that came last.
            continue;
        }
        if before == 0 && after == 0 {
            continue;
        }
        let (mark, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        if matches!(mark, " " | "-") {
            before = before.checked_sub(1)?;
            push(&mut hunk.old, text);
        }
        if matches!(mark, " " | "+") {
            after = after.checked_sub(1)?;
            push(&mut hunk.new, text);
        }
        if !matches!(mark, " " | "-" | "+") {
            return None;
        }
    }
    (before == 0 && after == 0).then_some(hunks)
}

fn push(side: &mut String, line: &str) {
    side.push_str(line);
    side.push('\n');
}

/// `start,count`, where a count of one is left out.
fn span(text: &str) -> Option<(u64, u64)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec;
    use proptest::prelude::*;

    fn raw(json: &str) -> Box<RawValue> {
        serde_json::from_str(json).unwrap()
    }

    fn of_diff(diff: &str) -> Details {
        let diff = serde_json::to_string(diff).unwrap();
        let content = format!(r#"{{"kind":"file_diff","paths":["/w/a","/w/b"],"diff":{diff}}}"#);
        details(&raw(&content))
    }

    fn place(path: &str, line: u64) -> Place {
        Place {
            path: path.to_string(),
            line: Some(line),
        }
    }

    #[test]
    fn given_a_patch_of_two_files_when_read_then_each_part_is_a_change_with_its_place() {
        let diff = "--- a/a\n+++ b/a\n@@ -3,3 +3,3 @@ fn\n one\n-two\n+zwei\n three\n@@ -20 +20,2 @@\n x\n+y\n\\ No newline at end of file\n--- /dev/null\n+++ b/b\n@@ -0,0 +1,1 @@\n+new";
        assert_eq!(
            of_diff(diff),
            Details {
                changes: vec![
                    Change {
                        path: "/w/a".into(),
                        old: Some("one\ntwo\nthree\n".into()),
                        new: "one\nzwei\nthree\n".into(),
                    },
                    Change {
                        path: "/w/a".into(),
                        old: Some("x\n".into()),
                        new: "x\ny\n".into(),
                    },
                    Change {
                        path: "/w/b".into(),
                        old: None,
                        new: "new\n".into(),
                    },
                ],
                places: vec![place("/w/a", 3), place("/w/a", 20), place("/w/b", 1)],
                exit_code: None,
            }
        );
    }

    #[test]
    fn given_what_is_no_whole_patch_when_read_then_nothing_is_said() {
        for diff in [
            "",
            "words",
            "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one",
            "--- a\n+++ b\n@@ -1 +1 @@\n?one",
            "@@ -1 +1 @@\n-a\n+b",
            "--- a\n+++ a\n@@ -x +1 @@\n-a\n+b",
            "--- 1\n--- 2\n--- 3\n+++ c\n@@ -1 +1 @@\n-a\n+b",
        ] {
            assert_eq!(of_diff(diff), Details::default(), "{diff}");
        }
    }

    #[test]
    fn given_arguments_of_file_tools_when_read_then_they_say_where() {
        for (kind, args, want) in [
            (
                ToolKind::Read,
                r#"{"path":"a","offset":7}"#,
                vec![place("a", 7)],
            ),
            (
                ToolKind::Edit,
                r#"{"file_path":"/x","line":0}"#,
                vec![Place {
                    path: "/x".into(),
                    line: None,
                }],
            ),
            (ToolKind::Execute, r#"{"path":"a"}"#, vec![]),
            (ToolKind::Read, r#"{"path":7}"#, vec![]),
            (ToolKind::Read, "[]", vec![]),
        ] {
            assert_eq!(places(kind, &raw(args)), want, "{args}");
        }
    }

    proptest! {
        #[test]
        fn given_any_text_when_read_as_a_patch_then_it_does_not_panic(
            diff in "((--- |\\+\\+\\+ |@@ -[0-9]{0,20},?[0-9]? \\+[0-9]{1,20} @@|[ +\\-\\\\]|\\PC)\\PC{0,4}\n){0,12}",
        ) {
            let _ = of_diff(&diff);
        }
    }
}
