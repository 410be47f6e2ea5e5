//! A tool's card that its Host keeps by itself: whole at first, then only what changed.
//!
//! Plain data. Where a Host tells facts instead, [`super::Projection`] keeps the card.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::Object;

use super::{Change, Place, Status, ToolKind};

/// What is new on a tool's card. What is `None` stays as the editor shows it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The Host's id of the tool use.
    pub id: String,
    /// Whether the editor does not know this tool yet.
    pub first: bool,
    /// The tool's name; with the first report alone.
    pub name: Option<String>,
    /// How far it is.
    pub status: Option<Status>,
    /// For people.
    pub title: Option<String>,
    /// What the tool does.
    pub kind: Option<ToolKind>,
    /// All of the card's content.
    pub content: Option<Vec<Shown>>,
    /// Where it works; all absolute.
    pub places: Option<Vec<Place>>,
    /// All arguments.
    pub raw_input: Option<Box<RawValue>>,
    /// The whole result.
    pub raw_output: Option<Box<RawValue>>,
    /// Extension data, as it stands in `_meta`.
    pub meta: Option<Object>,
    /// What editors show that agreed on more than ACP; none for others.
    #[serde(default)]
    pub hints: Vec<Hint>,
}

/// Something about a card that ACP has no words for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hint {
    /// What a command is for, in a few words.
    CommandTitle(String),
    /// A subagent works for this call.
    Subagent,
    /// Which skill is loaded, and from which file.
    Skill {
        /// Its name.
        name: String,
        /// Its file, where it has one.
        path: Option<String>,
    },
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// Its tool.
        tool: String,
    },
    /// The command runs on in the background.
    Backgrounded,
    /// The context was made smaller.
    Compaction(Compacted),
}

/// What making a context smaller was worth, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// Who wanted it: `manual`, `automatic`.
    pub trigger: Option<String>,
    /// Tokens before.
    pub before: Option<u64>,
    /// Tokens after.
    pub after: Option<u64>,
    /// Milliseconds that it took.
    pub took_ms: Option<u64>,
    /// Why it failed.
    pub error: Option<String>,
}

/// One part of a card's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shown {
    /// Markdown.
    Text(String),
    /// A picture.
    Image {
        /// Base64.
        data: String,
        /// Its type.
        mime_type: String,
    },
    /// What became of a part of a file.
    Change(Change),
    /// What became of a file, as one patch in the form of Git.
    Patch {
        /// The file; absolute.
        path: String,
        /// The patch.
        text: String,
    },
    /// A terminal that the editor shows, by this id.
    Terminal(String),
}
