//! A tool's card that its Host keeps by itself: whole at first, then only what changed.
//!
//! Plain data. Where a Host tells facts instead, [`super::Projection`] keeps the card.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use crate::json::Object;

use super::{Change, Place, Status, ToolKind};

/// What is new on a tool's card. What is `None` stays as the editor shows it.
#[derive(Clone, Debug, Default)]
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
}

/// One part of a card's content.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// A terminal that the editor shows, by this id.
    Terminal(String),
}
