//! What may come in with a prompt, whatever the ACP version and whatever the Host: text,
//! files that the editor links, and content that it sends along.
//!
//! Pure but for what the caller hands in; no file is read here, only what was read is
//! judged. Invariant: what is said of a file is said of the one that was opened.

pub mod digest;
pub mod mime;
pub mod name;
pub mod reading;
pub mod uri;

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// What the user says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// For the agent: everything, in order, joined by blank lines.
    pub text: String,
    /// For people, where that is less: the text blocks alone.
    pub display: Option<String>,
    /// In order.
    pub attachments: Vec<Attachment>,
    /// The editor's blocks as they are, for a Host that wants them so; then the rest is empty.
    #[serde(default)]
    pub blocks: Vec<Block>,
    /// The editor's name for its question which files change, if it asks.
    #[serde(default)]
    pub report: Option<String>,
}

/// A part of what the user says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Block {
    /// Words.
    Text(String),
    /// Something that stands elsewhere.
    Link {
        /// Where.
        uri: String,
        /// For people.
        name: String,
    },
    /// A picture.
    Image {
        /// Base64; empty where the picture stands elsewhere.
        data: String,
        /// Its type.
        mime_type: String,
        /// Where it stands.
        uri: Option<String>,
    },
    /// Something that the editor sends along.
    Resource {
        /// What it is called.
        uri: String,
        /// Its type.
        mime_type: Option<String>,
        /// Its content.
        body: Body,
    },
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Body {
    /// Text.
    Text(String),
    /// Base64.
    Blob(String),
}

/// A file, or content that came without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// As the editor calls it; a linked file has one of its own.
    pub name: Option<String>,
    /// As the editor claims.
    pub mime_type: Option<String>,
    /// Where its bytes are.
    pub source: Source,
}

/// Where bytes are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Source {
    /// In the file at this absolute path.
    File(String),
    /// Here.
    Bytes(#[serde(with = "crate::snapshot::bytes")] Vec<u8>),
}

impl Content {
    /// Text alone.
    pub fn text(text: String) -> Content {
        Content {
            text,
            ..Content::default()
        }
    }
}
