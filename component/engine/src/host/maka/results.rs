//! Maka's tool records in words for people: results, previews of arguments, kinds.
//!
//! Pure functions of the record; they touch nothing else. Invariant: every record gives an
//! answer. A field that is missing or of another type is left out, and content that is not
//! understood is shown as JSON (rule R6).

mod files;
mod formats;
pub(super) mod object;
pub(super) mod pretty;
mod preview;

pub use files::places;
pub use preview::{input_preview, raw_input};

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use serde_json::value::RawValue;

use crate::projection::{Details, Outcome, ToolKind};
use object::Object;

/// A durable tool result, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatted {
    /// How the tool ended.
    pub outcome: Outcome,
    /// The result for people, not yet cut to what a card may hold.
    pub text: String,
    /// What else it says.
    pub details: Details,
}

/// Reads the `content` and `isError` of a durable `tool_result` row (adapter specification,
/// section 19.6).
pub fn result(content: &RawValue, is_error: bool) -> Formatted {
    let object = Object::read(content);
    let kind = object.as_ref().and_then(|object| object.text("kind"));
    let (outcome, text) = match (&object, &kind) {
        (Some(object), Some(kind)) => {
            (outcome(kind, object, is_error), formats::text(kind, object))
        }
        _ => (plain_outcome(is_error), None),
    };
    Formatted {
        outcome,
        text: text.unwrap_or_else(|| pretty::pretty(content)),
        details: files::details(content),
    }
}

/// The kind of a tool with this `activityKind` (section 19.2).
pub fn kind(activity: Option<&str>) -> ToolKind {
    match activity {
        Some("read") => ToolKind::Read,
        Some("search" | "websearch" | "explore") => ToolKind::Search,
        Some("webfetch") => ToolKind::Fetch,
        Some("edit") => ToolKind::Edit,
        Some("command") => ToolKind::Execute,
        _ => ToolKind::Other,
    }
}

/// The `chunk` of a `tool_progress` event: a text as it is, or `[kind] text` (section 19.3).
/// `None` where it is neither.
pub fn progress(chunk: &RawValue) -> Option<String> {
    if let Ok(text) = serde_json::from_str::<String>(chunk.get()) {
        return Some(text);
    }
    let object = Object::read(chunk)?;
    let text = object.text("text")?;
    Some(match object.text("kind") {
        Some(kind) => format!("[{kind}] {text}"),
        None => text,
    })
}

/// An error that is the tool's own word for "I was stopped" is an interruption.
fn outcome(kind: &str, content: &Object<'_>, is_error: bool) -> Outcome {
    let says = |field: &str, word: &str| content.text(field).as_deref() == Some(word);
    let stopped = match kind {
        "terminal" | "shell_run" | "agent_swarm" => says("status", "cancelled"),
        "explore_agent" => says("reason", "aborted"),
        _ => false,
    };
    if is_error && stopped {
        Outcome::Interrupted
    } else {
        plain_outcome(is_error)
    }
}

fn plain_outcome(is_error: bool) -> Outcome {
    if is_error {
        Outcome::Errored
    } else {
        Outcome::Completed
    }
}

/// The parts that are not empty, with this between them.
fn join(parts: impl IntoIterator<Item = String>, between: &str) -> String {
    let mut whole = String::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !whole.is_empty() {
            whole.push_str(between);
        }
        whole.push_str(&part);
    }
    whole
}

/// The text in at most `max` units, and where it was cut, how much is missing.
fn shortened(text: &str, max: u64) -> String {
    use crate::projection::utf16;
    let units = utf16::units(text);
    if units <= max {
        return text.to_owned();
    }
    let mark = |missing: u64| format!("\n... {missing} chars truncated");
    // Room for the longest mark that can follow.
    let room = max.saturating_sub(utf16::units(&mark(units)));
    let kept = utf16::head(text, room);
    format!("{kept}{}", mark(units - utf16::units(kept)))
}
