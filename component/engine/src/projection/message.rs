//! The text of one message, folded from pieces that may repeat each other.
//!
//! Invariant: text only ever grows at its end. What an editor was shown can never be taken
//! back, so a Host that rewrites a message makes the projection fail.

use alloc::borrow::ToOwned;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::utf16;
use super::{Failure, Speaker};

/// One message of one speaker. It is kept whole for the life of the turn, because durable
/// rows and repeated pieces are compared with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    pub speaker: Speaker,
    pub id: String,
    shown: Folded,
    /// Bytes of the text that the editor already has.
    drained: u64,
    /// The text that a reset began anew, until it is complete.
    replacement: Option<Folded>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Folded {
    text: String,
    units: u64,
}

impl Message {
    pub fn new(speaker: Speaker, id: &str) -> Message {
        Message {
            speaker,
            id: id.to_owned(),
            shown: Folded::default(),
            drained: 0,
            replacement: None,
        }
    }

    /// A piece at a UTF-16 offset. Gives the units that it adds to what the editor is to see.
    pub fn grew(&mut self, start: u64, text: &str, reset: bool) -> Result<u64, Failure> {
        if reset && start > 0 {
            return Err(Failure::StreamGap);
        }
        if reset {
            self.replacement = Some(Folded::default());
        }
        match &mut self.replacement {
            Some(replacement) => replacement.fold(start, text).map(|_| 0),
            None => self.shown.fold(start, text),
        }
    }

    /// The end marker at a UTF-16 offset: after a reset, now the new text counts.
    pub fn completed(&mut self, start: u64) -> Result<u64, Failure> {
        if start > self.replacement.as_ref().unwrap_or(&self.shown).units {
            return Err(Failure::StreamGap);
        }
        self.settle()
    }

    /// Takes over the text that a reset began, where there is one.
    pub fn settle(&mut self) -> Result<u64, Failure> {
        match self.replacement.take() {
            Some(replacement) => self.is(&replacement.text),
            None => Ok(0),
        }
    }

    /// The whole text, from an authority. It must continue what was accepted.
    pub fn is(&mut self, full: &str) -> Result<u64, Failure> {
        let rest = full
            .strip_prefix(self.shown.text.as_str())
            .ok_or(Failure::UnsupportedStreamRevision)?;
        // Later pieces count from the end of this text, also those of a replacement.
        self.replacement = None;
        Ok(self.shown.push(rest))
    }

    /// Whether the editor has everything.
    pub fn is_drained(&self) -> bool {
        self.drained == self.shown.text.len() as u64
    }

    /// What the editor does not have yet.
    pub fn unsent(&self) -> &str {
        &self.shown.text[self.drained as usize..]
    }

    /// Notes that the editor now has everything.
    pub fn drained(&mut self) {
        self.drained = self.shown.text.len() as u64;
    }
}

impl Folded {
    /// The part that is already there must be equal; the rest is new.
    fn fold(&mut self, start: u64, text: &str) -> Result<u64, Failure> {
        let overlap = self.units.checked_sub(start).ok_or(Failure::StreamGap)?;
        if overlap == 0 {
            return Ok(self.push(text));
        }
        let at = utf16::before_end(&self.text, overlap).ok_or(Failure::StreamConflict)?;
        let known = &self.text[at..];
        match text.strip_prefix(known) {
            Some(rest) => Ok(self.push(rest)),
            None if known.starts_with(text) => Ok(0),
            None => Err(Failure::StreamConflict),
        }
    }

    fn push(&mut self, text: &str) -> u64 {
        let units = utf16::units(text);
        self.text.push_str(text);
        self.units += units;
        units
    }
}
