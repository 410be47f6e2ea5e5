//! Bash and PowerShell: a command, what it printed, and how it ended.
//!
//! Pure. Invariant: an exit code is what the CLI said, never a guess.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::blocks::{Content, fenced};
use super::fields::Fields;
use super::{Ending, Look};
use crate::projection::{Shown, ToolKind};

/// Before the path of the file to which a command writes that runs on.
const WRITES: &str = "Output is being written to: ";

/// A command is to run. Its terminal, if the editor has them, is the card's business.
pub fn look(input: &Fields<'_>) -> Look {
    let about = input.some("description").map(Shown::Text);
    Look {
        title: input.some("command").unwrap_or_else(|| "Terminal".into()),
        kind: ToolKind::Execute,
        content: about.into_iter().collect(),
        places: None,
    }
}

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    /// What it printed, with what the CLI did to that.
    pub output: String,
    /// Its exit code, where it is known.
    pub exit_code: Option<i64>,
    /// It runs on by itself.
    pub background: bool,
}

/// Reads the result of a command.
pub fn ran(content: &Content<'_>, is_error: bool, structured: Option<&RawValue>) -> Ran {
    let all = content.text();
    let result = structured.map(Fields::of).unwrap_or_default();
    let background = result.some("backgroundTaskId").is_some();
    if is_error {
        let exit_code = exit_code(&all);
        return Ran {
            output: all,
            exit_code,
            background: false,
        };
    }
    let interrupted = result.is("interrupted");
    let printed = if background {
        String::new()
    } else {
        printed(&result, interrupted)
    };
    Ran {
        // A command that runs on, or printed nothing: what the CLI says about it.
        output: if printed.trim().is_empty() {
            all
        } else {
            printed
        },
        exit_code: (!interrupted && !background).then_some(0),
        background,
    }
}

/// The task as which a command runs on, and the file that it writes to, where that is said.
pub fn runs_on(
    content: &Content<'_>,
    structured: Option<&RawValue>,
) -> Option<(String, Option<String>)> {
    let task = structured.map(Fields::of)?.some("backgroundTaskId")?;
    let text = content.text();
    let path = text.split_once(WRITES).map(|(_, rest)| {
        let line = rest.lines().next().unwrap_or_default();
        let path = line.split_once(". ").map_or(line, |(path, _)| path);
        path.trim_end_matches('.').trim().to_owned()
    });
    Some((task, path.filter(|path| !path.is_empty())))
}

/// What a card shows of it in an editor without terminals.
pub fn ended(content: &Content<'_>, is_error: bool, structured: Option<&RawValue>) -> Ending {
    let rich = content.is_rich();
    let output = ran(content, is_error, structured).output;
    let output = output.trim_end();
    let content = match rich {
        true => content.shown(|text| fenced("console", text)),
        false if output.is_empty() => None,
        false => Some(vec![Shown::Text(fenced("console", output))]),
    };
    Ending {
        title: None,
        content,
    }
}

fn printed(result: &Fields<'_>, interrupted: bool) -> String {
    let streams = ["stdout", "stderr"].map(|name| result.some(name));
    let mut parts: Vec<String> = streams.into_iter().flatten().collect();
    if interrupted {
        parts.push("[Command was aborted before completion]".into());
    }
    if let Some(path) = result.some("persistedOutputPath") {
        let size = result.number("persistedOutputSize");
        let size = size.map_or_else(String::new, |size| format!(" ({size} bytes total)"));
        parts.push(format!(
            "[Output truncated{size}: full output saved to {path}]"
        ));
    }
    let mut all = String::new();
    for part in parts {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(&part);
    }
    all
}

/// `Exit code N` at the beginning of the error's text.
fn exit_code(text: &str) -> Option<i64> {
    let rest = text.strip_prefix("Exit code ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '-');
    rest[..digits.unwrap_or(rest.len())].parse().ok()
}
