//! Where a fork's copy ends: the last row of the message that the editor names.
//!
//! Reads rows one by one. Invariants: what is kept is the text of one message, however long
//! the history is; a message is found by its id first, by its text only if no id is it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::wire::Message;
use super::rows::Row;
use crate::host::ForkPoint;
use crate::limits;

/// The search for a message.
#[derive(Debug, Serialize, Deserialize)]
pub struct Search {
    point: ForkPoint,
    /// Rows that were read.
    rows: u64,
    /// The last row with the id.
    by_id: Option<u64>,
    /// The message that is being put together: its id, its text unless that is too long, its
    /// last row.
    message: Option<(String, Option<String>, u64)>,
    /// The first message with the text, and the one that was asked for among several.
    first: Option<u64>,
    nth: Option<u64>,
    alike: u64,
}

impl Search {
    /// For this message.
    pub fn new(point: ForkPoint) -> Search {
        Search {
            point,
            rows: 0,
            by_id: None,
            message: None,
            first: None,
            nth: None,
            alike: 0,
        }
    }

    /// The next row; `None` if it is damaged.
    pub fn row(&mut self, row: Option<&Row<'_>>) {
        self.rows += 1;
        let Some(row) = row.filter(|row| !row.is_sidechain) else {
            return;
        };
        let message = row.message();
        let ids = [row.uuid.as_deref(), message.id.as_deref()];
        let mut ids = ids.into_iter().flatten().chain([row.prompt_id()]);
        if ids.any(|id| self.is_wanted(id)) {
            self.by_id = Some(self.rows);
        }
        if row.kind == "assistant" && self.point.fingerprint.is_some() {
            self.say(row, &message);
        }
    }

    /// All rows were read: how many of them are kept, if the message is there.
    pub fn end(mut self) -> Option<u64> {
        self.whole();
        let alone = self.first.filter(|_| self.alike == 1);
        self.by_id.or(alone).or(self.nth)
    }

    /// Editors may count the parts of a message behind its id.
    fn is_wanted(&self, id: &str) -> bool {
        let wanted = &*self.point.message_id;
        let message = wanted
            .rsplit_once(":segment:")
            .filter(|(_, part)| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit()))
            .map_or(wanted, |(message, _)| message);
        !id.is_empty() && (id == wanted || id == message)
    }

    /// A block of a message of the model, which has a row of its own.
    fn say(&mut self, row: &Row<'_>, message: &Message<'_>) {
        let id = message.id.as_deref().or(row.uuid.as_deref());
        let id = id.unwrap_or_default();
        if self.message.as_ref().is_none_or(|(known, ..)| known != id) {
            self.whole();
            self.message = Some((id.to_owned(), Some(String::new()), self.rows));
        }
        let Some((_, text, end)) = &mut self.message else {
            return;
        };
        *end = self.rows;
        for block in message.blocks().iter().filter(|it| it.kind == "text") {
            if let Some(said) = text {
                said.push_str(&block.text);
            }
            if text
                .as_ref()
                .is_some_and(|it| it.len() as u64 > limits::CLAUDE_LINE)
            {
                *text = None;
            }
        }
    }

    /// The message is complete.
    fn whole(&mut self) {
        let Some((_, Some(text), end)) = self.message.take() else {
            return;
        };
        let print = Sha256::digest(text.as_bytes());
        let print = print.iter().fold(String::new(), |mut hex, byte| {
            hex.push_str(&format!("{byte:02x}"));
            hex
        });
        if self.point.fingerprint.as_deref() != Some(&*print) {
            return;
        }
        self.alike += 1;
        self.first = self.first.or(Some(end));
        if self.point.occurrence == Some(self.alike) {
            self.nth = Some(end);
        }
    }
}
