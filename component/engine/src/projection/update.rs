//! What comes out of a projection: updates in words that no ACP version owns.
//!
//! Everything is borrowed; an encoder writes it down at once. The texts that explain a
//! tool's content are here, so that every ACP version says the same.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Speaker;
use super::ask::Asking;
use super::fact::{Change, Outcome, Place, Stream, ToolKind};
use super::report::Report;
use crate::json::Object;

/// One thing that the editor is to show.
#[derive(Debug)]
pub enum Update<'a> {
    /// More text of a message.
    Message {
        /// Who says it.
        speaker: Speaker,
        /// The Host's id of the message; a thought and an answer may share it.
        message_id: &'a str,
        /// What is added at its end; never empty.
        text: &'a str,
        /// Extension data, as it stands in `_meta`.
        meta: Option<&'a Object>,
    },
    /// A picture in a message.
    Picture {
        /// Who shows it.
        speaker: Speaker,
        /// The Host's id of the message.
        message_id: &'a str,
        /// `image/png`, ...
        mime_type: &'a str,
        /// Base64.
        data: &'a str,
    },
    /// What is new on a card that the Host keeps.
    Report(&'a Report),
    /// A tool's card, whole.
    Tool(ToolCard<'a>),
}

/// A tool as it is now. What is `None` stays as the editor shows it.
#[derive(Debug)]
pub struct ToolCard<'a> {
    /// Whether the editor does not know this tool yet.
    pub first: bool,
    /// The Host's id of the tool use.
    pub id: &'a str,
    /// For people.
    pub title: &'a str,
    /// What the tool does.
    pub kind: ToolKind,
    /// How far it is.
    pub status: Status,
    /// Extension data; serialises in the order of the specification.
    pub meta: Meta<'a>,
    /// All of the card's content.
    pub content: Option<Vec<Piece<'a>>>,
    /// All arguments.
    pub raw_input: Option<&'a RawValue>,
    /// The whole result.
    pub raw_output: Option<&'a RawValue>,
    /// Where it works; all absolute.
    pub places: Option<&'a [Place]>,
}

/// How far a tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits, for instance for an answer.
    Pending,
    /// It runs.
    InProgress,
    /// It ended well.
    Completed,
    /// It ended with an error, or was stopped.
    Failed,
}

/// One text of a card's content; its words are its `Display`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A safe part of the arguments, JSON text.
    InputPreview(&'a str),
    /// So many units of output and progress were dropped to keep the card small.
    Dropped(u64),
    /// So many pieces of output did not arrive.
    Missing(u64),
    /// Output of a command.
    Output {
        /// The piece's number.
        sequence: u64,
        /// Where it was written to.
        stream: Stream,
        /// Whether the Host took secrets out of it.
        redacted: bool,
        /// What was written.
        chunk: &'a str,
    },
    /// What the tool says of its progress.
    Progress(&'a str),
    /// A first view of the result, JSON text.
    Preview(&'a str),
    /// The result.
    Result(&'a str),
    /// What became of a part of a file.
    Change(&'a Change),
}

impl fmt::Display for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::InputPreview(json) => write!(f, "Input preview (not full input): {json}"),
            Piece::Dropped(units) => write!(f, "[{units} earlier output characters truncated]"),
            Piece::Missing(1) => f.write_str("[1 tool output chunk missing]"),
            Piece::Missing(chunks) => write!(f, "[{chunks} tool output chunks missing]"),
            Piece::Output {
                stream,
                redacted,
                chunk,
                ..
            } => {
                f.write_str(match stream {
                    Stream::Stdout => "[stdout] ",
                    Stream::Stderr => "[stderr] ",
                })?;
                if *redacted {
                    f.write_str("[redacted] ")?;
                }
                f.write_str(chunk)
            }
            Piece::Progress(text) => write!(f, "Progress: {text}"),
            Piece::Preview(json) => write!(f, "Preview: {json}"),
            Piece::Result(text) => f.write_str(text),
            Piece::Change(change) => f.write_str(&change.new),
        }
    }
}

/// A card's extension data.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta<'a> {
    /// The turn that called the tool.
    pub turn_id: &'a str,
    /// What is known of the tool.
    #[serde(flatten)]
    pub facts: &'a Facts,
    /// What its live output lost; only while it runs.
    #[serde(flatten)]
    pub live: Option<LiveOutput>,
}

impl Meta<'_> {
    /// As compact JSON.
    pub fn json(&self) -> String {
        // Names, numbers and texts: there is nothing in here that JSON cannot hold.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What is known of a tool besides its card's own fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// The tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The Host's id of the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// The Host's id of the model step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_id: Option<String>,
    /// The tool use that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
    /// Whether the Host took secrets out of any output; known from the first output on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// The newest piece of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<NewestOutput>,
    /// The newest count of steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Steps>,
    /// How the tool ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_status: Option<Outcome>,
    /// How long it ran, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How a command ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Whether the result is still to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_pending: Option<bool>,
    /// Whether the result was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_truncated: Option<bool>,
    /// How many units of the result were cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_dropped_chars: Option<u64>,
    /// The newest question to the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<Asking>,
}

/// The newest piece of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewestOutput {
    /// Its number.
    pub sequence: u64,
    /// Where it was written to.
    pub stream: Stream,
    /// Whether the Host took secrets out of it.
    pub redacted: bool,
}

/// How many of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// Steps done.
    pub current: u64,
    /// All steps.
    pub total: u64,
}

/// What the live output of a tool lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveOutput {
    /// Whether anything was dropped.
    pub live_output_truncated: bool,
    /// Units of output and progress that were dropped.
    pub live_output_dropped_chars: u64,
    /// Pieces of output that did not arrive.
    pub live_output_missing_chunks: u64,
}
