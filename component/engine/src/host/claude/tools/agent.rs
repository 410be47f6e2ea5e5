//! Agent (Task in older CLIs): what a subagent is asked, and its report.
//!
//! Pure. Invariant: a report is what the subagent wrote; the frame and the trailer that the
//! CLI puts around it for the model are taken off, and nothing else is.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::blocks::Content;
use super::fields::Fields;
use super::{Ending, Look};
use crate::projection::{Shown, ToolKind};

/// The first words of the line above a report.
const FRAME: &str = "[Subagent hand-back]";
/// The last words of it.
const FRAME_END: &str = "The report follows:";

/// A subagent is started.
pub fn look(input: &Fields<'_>) -> Look {
    let title = input.some("description").unwrap_or_else(|| "Task".into());
    let effort = input.some("effort");
    Look {
        title: effort.map_or(title.clone(), |effort| format!("{title} ({effort} effort)")),
        kind: ToolKind::Think,
        content: input.some("prompt").map(Shown::Text).into_iter().collect(),
        places: None,
    }
}

/// Whether a result only says that the subagent works in the background.
pub fn launched(structured: Option<&RawValue>) -> bool {
    let told = structured.map(Fields::of).unwrap_or_default();
    told.is("isAsync") || told.some("status").as_deref() == Some("async_launched")
}

/// Its report: the structured one, else what is left of the text for the model.
pub fn reported(content: &Content<'_>, structured: Option<&RawValue>) -> Ending {
    let report = structured.map(Fields::of);
    let report = Content::of(report.as_ref().and_then(|report| report.raw("content")));
    let content = match report {
        Content::Nothing => content.shown(unframed),
        report => report.shown(str::to_owned),
    };
    Ending {
        title: None,
        content,
    }
}

fn unframed(text: &str) -> String {
    let text = without_trailer(text);
    let frame = match text.starts_with(FRAME) {
        true => Some(0),
        false => text.find(&format!("\n{FRAME}")).map(|at| at + 1),
    };
    let Some(at) = frame else {
        return text.to_owned();
    };
    let (notes, framed) = text.split_at(at);
    let Some((line, report)) = framed.split_once('\n') else {
        return text.to_owned();
    };
    if !line.ends_with(FRAME_END) {
        return text.to_owned();
    }
    let notes = unindented(notes);
    let notes = notes.trim();
    let report = unindented(report);
    if notes.is_empty() {
        return report;
    }
    format!("{notes}\n{report}")
}

/// The CLI indents every line of a report by two spaces, so that none can look like a frame.
fn unindented(text: &str) -> String {
    let lines = text.split('\n');
    let lines = lines.map(|line| line.strip_prefix("  ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Without the id of the agent and what it used, if those are the end of the text.
fn without_trailer(text: &str) -> &str {
    let Some(at) = text.rfind("\nagentId: ") else {
        return text;
    };
    let rest = &text[at + 1..];
    let after = rest.split_once('\n').map_or("", |(_, after)| after).trim();
    let usage = after.starts_with("<usage>") && after.ends_with("</usage>");
    if after.is_empty() || usage {
        &text[..at]
    } else {
        text
    }
}
