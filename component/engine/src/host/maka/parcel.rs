//! The attachments of one turn or message, from the editor's blocks to references that the
//! Host knows: what is known of each, and what it is waited for.
//!
//! Pure state; [`super::upload`] moves it along. Invariants: one thing is waited for at a
//! time; no file is held whole; what is sent fits the Host.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::failure;
use super::wire::current as w;
use crate::admission::reading::{Opened, Pass, Unusable};
use crate::admission::{Attachment, Content, Source, mime, name};
use crate::host::{Failure, SessionKey};
use crate::input::Handle;
use crate::limits;
use crate::rpc::Ticket;

/// Number of a parcel; never used twice.
pub type ParcelId = u64;

/// A parcel under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct Parcel {
    /// What waits for it.
    pub goal: Goal,
    /// Whose attachments they become.
    pub session_id: String,
    /// For the agent.
    pub text: String,
    /// For people.
    pub display: Option<String>,
    /// In order.
    pub items: Vec<Item>,
    /// The one that is worked on.
    pub at: u32,
    /// What is waited for.
    pub stage: Stage,
}

/// What waits for a parcel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Goal {
    /// A turn that is not sent yet.
    Turn { session: SessionKey },
    /// A message for a turn that runs.
    Message { session: SessionKey, ticket: Ticket },
}

/// What is waited for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Stage {
    /// The next attachment may be looked at.
    Unopened,
    /// A file is opened.
    Opening(Handle),
    /// Its first bytes are read.
    Sniffing,
    /// All that can be known without the Host is known of all.
    Ready,
    /// First reading, for the digest.
    Digesting(Pass),
    /// Whether the file is unchanged after it.
    Checking,
    /// The Host has room for the upload.
    Queued,
    /// The Host opens the upload.
    Beginning,
    /// Second reading; the Host wants what comes from `next` on.
    Loading { pass: Pass, next: u64 },
    /// The Host takes a chunk.
    Sending { pass: Pass },
    /// Whether the file is unchanged after that.
    Confirming,
    /// The Host commits.
    Committing,
}

/// One attachment.
#[derive(Debug, Serialize, Deserialize)]
pub struct Item {
    /// As the editor calls it, then as it is sent.
    pub name: Option<String>,
    /// As the editor claims, then as it is sent.
    pub mime_type: Option<String>,
    /// Where its bytes are.
    pub body: Body,
    /// Of all its bytes.
    pub digest: Option<String>,
    /// Under which it is uploaded, however often that begins.
    pub upload_id: String,
    /// How often it began anew.
    pub restarts: u64,
    /// As the Host wants to hear of it.
    pub reference: Option<Box<RawValue>>,
}

/// Where bytes are.
#[derive(Debug, Serialize, Deserialize)]
pub enum Body {
    /// In a file at this path.
    Linked(String),
    /// In an open file.
    Opened(Opened),
    /// Here.
    Here(#[serde(with = "crate::snapshot::bytes")] Vec<u8>),
}

impl Item {
    fn new(attachment: Attachment) -> Item {
        Item {
            name: attachment.name,
            mime_type: attachment.mime_type,
            body: match attachment.source {
                Source::File(path) => Body::Linked(path),
                Source::Bytes(bytes) => Body::Here(bytes),
            },
            digest: None,
            upload_id: String::new(),
            restarts: 0,
            reference: None,
        }
    }

    /// How it begins is known, and with it what it is.
    pub fn sniffed(&mut self, prefix: &[u8]) {
        let (path, fallback) = match &self.body {
            Body::Linked(path) => (path.as_str(), "file"),
            Body::Opened(file) => (file.path.as_str(), "file"),
            Body::Here(_) => ("", "resource"),
        };
        let given = self.name.take();
        let given = given.as_deref().unwrap_or_else(|| name::of_path(path));
        let name = name::clean(given, fallback);
        let claimed = self.mime_type.take();
        let mime = mime::resolve(prefix, claimed.as_deref(), &name);
        self.name = Some(name);
        self.mime_type = Some(mime);
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        match &self.body {
            Body::Linked(_) => 0,
            Body::Opened(file) => file.size,
            Body::Here(bytes) => bytes.len() as u64,
        }
    }

    /// As it is sent.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// As it is sent.
    pub fn mime_type(&self) -> &str {
        self.mime_type.as_deref().unwrap_or_default()
    }

    /// Why it cannot be used, in the words of the editor's side.
    pub fn unusable(&self, why: &Unusable) -> Failure {
        let path = match &self.body {
            Body::Linked(path) => path,
            Body::Opened(file) => &file.path,
            Body::Here(_) => "",
        };
        failure::resource(why.reason(), why.sentence(path))
    }
}

impl Parcel {
    /// Nothing is looked at yet.
    pub fn new(goal: Goal, session_id: &str, content: Content) -> Parcel {
        Parcel {
            goal,
            session_id: session_id.to_string(),
            text: content.text,
            display: content.display,
            items: content.attachments.into_iter().map(Item::new).collect(),
            at: 0,
            stage: Stage::Unopened,
        }
    }

    /// The one that is worked on; `None` after the last.
    pub fn item(&mut self) -> Option<&mut Item> {
        self.items.get_mut(self.at as usize)
    }

    /// Whether an upload is, or may be, open at the Host.
    pub fn uploading(&self) -> bool {
        matches!(
            self.stage,
            Stage::Beginning
                | Stage::Loading { .. }
                | Stage::Sending { .. }
                | Stage::Confirming
                | Stage::Committing
        )
    }

    /// Makes what is too long for the Host an attachment of its own. Every attachment is
    /// looked at by now.
    ///
    /// # Errors
    /// When there is no place for one.
    pub fn fit(&mut self) -> Result<(), Failure> {
        let likeness =
            |item: &Item| w::likeness(&self.session_id, item.name(), item.mime_type(), item.size());
        let items: Vec<Box<RawValue>> = self
            .items
            .iter()
            .map(|item| to_raw_value(&likeness(item)).unwrap_or_default())
            .collect();
        if content_fits(&self.text, self.display.as_deref(), &items) {
            return Ok(());
        }
        // What people see says the same again: without it there may be room.
        self.display = None;
        if content_fits(&self.text, None, &items) {
            return Ok(());
        }
        if self.items.len() as u64 >= limits::ATTACHMENTS {
            return Err(failure::prompt_rejected(
                "The text is longer than 48 KiB and there are 8 attachments already. \
                 Put the long part into a file and link that.",
            ));
        }
        let (note, attachment) = attached_text(core::mem::take(&mut self.text));
        self.text = note;
        let mut item = Item::new(attachment);
        if let Body::Here(bytes) = &item.body {
            let prefix = bytes[..bytes.len().min(limits::SNIFFED as usize)].to_vec();
            item.sniffed(&prefix);
        }
        self.items.push(item);
        Ok(())
    }
}

/// Whether what is about to be sent fits the Host.
pub fn content_fits(text: &str, display: Option<&str>, attachments: &[Box<RawValue>]) -> bool {
    let short = |text: &str| text.len() as u64 <= limits::MAKA_TURN_TEXT;
    if !short(text) || !display.is_none_or(short) {
        return false;
    }
    let content = serde_json::to_vec(&w::content(text, display, attachments)).unwrap_or_default();
    content.len() as u64 <= limits::MAKA_TURN_CONTENT
}

/// Whether text alone fits the Host.
pub fn text_fits(text: &str) -> bool {
    content_fits(text, None, &[])
}

/// A text that is too long becomes a file; what stays begins like it and says so.
fn attached_text(text: String) -> (String, Attachment) {
    // Control characters take six bytes each as JSON.
    let head = name::head(&text, limits::MAKA_LONG_TEXT_HEAD as usize);
    let mut note = head.to_string();
    note.push_str(
        "…\n\n[This message is longer than the 48 KiB that the agent takes at once. Above is its \
         beginning; the whole message is attached as prompt.txt. Read it before you answer.]",
    );
    let attachment = Attachment {
        name: Some("prompt.txt".to_string()),
        mime_type: Some("text/plain".to_string()),
        source: Source::Bytes(text.into_bytes()),
    };
    (note, attachment)
}
