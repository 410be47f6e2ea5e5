//! What a Host module says about the tools of a turn, in words that no Host owns.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ask::Asking;
use super::path;

/// What a tool does. The words are ACP's, since every editor draws them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Removes files.
    Delete,
    /// Moves files.
    Move,
    /// Looks for something.
    Search,
    /// Runs a command.
    Execute,
    /// Thinks.
    Think,
    /// Gets something from the network.
    Fetch,
    /// Changes the session mode.
    SwitchMode,
    /// Anything else.
    #[default]
    Other,
}

/// Which output of a command a chunk comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// With a result.
    Completed,
    /// With an error.
    Errored,
    /// It was stopped before its end.
    Interrupted,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// By itself.
    Completed,
    /// With an error of the Host.
    Failed,
    /// Because somebody stopped it.
    Cancelled,
}

/// How a tool was called.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// What people call it.
    pub display_name: Option<&'a str>,
    /// What it does.
    pub kind: ToolKind,
    /// The Host's id of this operation.
    pub operation_id: Option<&'a str>,
    /// The Host's id of the model step that called it.
    pub step_id: Option<&'a str>,
    /// The tool use that called it: a subagent's tools, or those of a program.
    pub parent: Option<&'a str>,
    /// Where it works, as far as the call tells.
    pub places: &'a [Place],
}

/// A place in a file that a tool works at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file; a relative path counts from the session's folder.
    pub path: String,
    /// The line, from 1.
    pub line: Option<u64>,
}

/// A part of a file as it was and as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file; a relative path counts from the session's folder.
    pub path: String,
    /// What stood there; `None` where the file is new.
    pub old: Option<String>,
    /// What stands there now.
    pub new: String,
}

/// What a result says besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// What became of files. An editor shows these in place of the text, if they are not too
    /// long for a card.
    pub changes: Vec<Change>,
    /// Where, if that is known better now than when the tool was called.
    pub places: Vec<Place>,
    /// How a command ended.
    pub exit_code: Option<i64>,
}

impl Details {
    /// With absolute paths. What cannot be made absolute is left out: all changes then, since
    /// half of them would say something else.
    #[must_use]
    pub fn within(self, folder: &str) -> Details {
        let all = self.changes.len();
        let changes = path::within(self.changes, folder);
        Details {
            changes: if changes.len() == all {
                changes
            } else {
                Vec::new()
            },
            places: path::within(self.places, folder),
            exit_code: self.exit_code,
        }
    }
}

impl path::Pathed for Place {
    fn path(&mut self) -> &mut String {
        &mut self.path
    }
}

impl path::Pathed for Change {
    fn path(&mut self) -> &mut String {
        &mut self.path
    }
}

/// One fact about the tool of this id. Facts may come in any order and more than once.
#[derive(Debug)]
pub enum ToolFact<'a> {
    /// It runs; nothing is known of its arguments.
    Started {
        /// The Host's id of the tool use.
        id: &'a str,
        /// How it was called.
        call: Call<'a>,
    },
    /// The record of its call.
    Called {
        /// The Host's id of the tool use.
        id: &'a str,
        /// How it was called.
        call: Call<'a>,
        /// All arguments, where they are known and may be shown.
        args: Option<&'a RawValue>,
        /// A safe part of the arguments as JSON text; cut at
        /// [`limits::TOOL_AUXILIARY_UNITS`](crate::limits::TOOL_AUXILIARY_UNITS).
        input_preview: Option<String>,
    },
    /// A piece of its output.
    Output {
        /// The Host's id of the tool use.
        id: &'a str,
        /// The piece's number, from 1; pieces may come late or twice.
        seq: u64,
        /// Where it was written to.
        stream: Stream,
        /// What was written.
        chunk: &'a str,
        /// Whether the Host took secrets out of it.
        redacted: bool,
    },
    /// It tells how far it is.
    Progress {
        /// The Host's id of the tool use.
        id: &'a str,
        /// What it says; `steps:1/3` is understood.
        text: &'a str,
    },
    /// A first view of its result.
    Preview {
        /// The Host's id of the tool use.
        id: &'a str,
        /// JSON text; cut at
        /// [`limits::TOOL_AUXILIARY_UNITS`](crate::limits::TOOL_AUXILIARY_UNITS).
        json: &'a str,
    },
    /// It ended; the result itself comes later, in a [`ToolFact::Result`].
    Announced {
        /// The Host's id of the tool use.
        id: &'a str,
        /// Whether it ended with an error.
        errored: bool,
        /// How long it ran, milliseconds.
        duration_ms: Option<u64>,
    },
    /// It asks the user something, or has the answer.
    Asks {
        /// The Host's id of the tool use, or of the question.
        id: &'a str,
        /// The question and what became of it.
        asking: &'a Asking,
        /// Whether the card is for the question alone.
        own_card: bool,
    },
    /// Its result.
    Result {
        /// The Host's id of the tool use.
        id: &'a str,
        /// How it ended.
        outcome: Outcome,
        /// The result for people, whole; cut at
        /// [`limits::TOOL_UNITS`](crate::limits::TOOL_UNITS).
        text: String,
        /// The result as the Host stores it.
        raw: &'a RawValue,
        /// How long it ran, milliseconds.
        duration_ms: Option<u64>,
        /// What else it says.
        details: Details,
    },
}

impl<'a> ToolFact<'a> {
    /// Which tool use the fact is about.
    pub fn id(&self) -> &'a str {
        match self {
            ToolFact::Started { id, .. }
            | ToolFact::Called { id, .. }
            | ToolFact::Output { id, .. }
            | ToolFact::Progress { id, .. }
            | ToolFact::Preview { id, .. }
            | ToolFact::Announced { id, .. }
            | ToolFact::Asks { id, .. }
            | ToolFact::Result { id, .. } => id,
        }
    }
}
