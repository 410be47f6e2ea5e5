//! The text of one message, folded from pieces that may repeat each other.
//!
//! Invariant: text only ever grows at its end. What an editor was shown can never be taken
//! back, so a Host that rewrites a message makes the projection fail.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::utf16;
use super::{Failure, Speaker};
use crate::limits;

/// One message of one speaker. Durable rows and repeated pieces are compared with it for the
/// life of the turn: with its end as text, with what the editor has had for long as digests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    pub speaker: Speaker,
    pub id: String,
    shown: Folded,
    /// Bytes of the kept text that the editor already has.
    drained: u64,
    /// The text that a reset began anew, until it is complete.
    replacement: Option<Folded>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Folded {
    /// What was there before `text`, piece by piece.
    past: Vec<Piece>,
    text: String,
    /// UTF-16 units of all.
    units: u64,
}

/// A text that is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    bytes: u64,
    digest: u64,
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
        let rest = self
            .shown
            .rest(full)
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
        self.shown.forget();
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
        // What repeats text that is not kept is compared when the whole text comes.
        let (overlap, text) = match overlap.checked_sub(self.kept(overlap)) {
            Some(beyond) if beyond > 0 => (overlap - beyond, utf16::tail(text, beyond)),
            _ => (overlap, text),
        };
        let at = utf16::before_end(&self.text, overlap).ok_or(Failure::StreamConflict)?;
        let known = &self.text[at..];
        match text.strip_prefix(known) {
            Some(rest) => Ok(self.push(rest)),
            None if known.starts_with(text) => Ok(0),
            None => Err(Failure::StreamConflict),
        }
    }

    /// The units of an overlap that can be compared.
    fn kept(&self, overlap: u64) -> u64 {
        if self.past.is_empty() {
            return overlap;
        }
        utf16::units(&self.text).min(overlap)
    }

    /// What a whole text adds to this one, if it continues it.
    fn rest<'a>(&self, full: &'a str) -> Option<&'a str> {
        let mut rest = full;
        for piece in &self.past {
            let (head, tail) = rest.split_at_checked(usize::try_from(piece.bytes).ok()?)?;
            if Piece::of(head) != *piece {
                return None;
            }
            rest = tail;
        }
        rest.strip_prefix(self.text.as_str())
    }

    /// Keeps only the end of what the editor has.
    fn forget(&mut self) {
        let kept = limits::MESSAGE_KEPT as usize;
        if self.text.len() < 2 * kept {
            return;
        }
        let mut cut = self.text.len() - kept;
        while !self.text.is_char_boundary(cut) {
            cut -= 1;
        }
        self.past.push(Piece::of(&self.text[..cut]));
        self.text = self.text[cut..].to_owned();
    }

    fn push(&mut self, text: &str) -> u64 {
        let units = utf16::units(text);
        self.text.push_str(text);
        self.units += units;
        units
    }
}

impl Piece {
    /// Tells apart what a Host might say by mistake; nobody gains by two texts that agree.
    fn of(text: &str) -> Piece {
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        let mix = |digest: u64, word: u64| (digest ^ word).wrapping_mul(MIX).rotate_left(29);
        let digest = words
            .iter()
            .fold(MIX, |digest, word| mix(digest, u64::from_le_bytes(*word)));
        let digest = rest
            .iter()
            .fold(digest, |digest, byte| mix(digest, u64::from(*byte)));
        Piece {
            bytes: text.len() as u64,
            digest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    const KEPT: usize = limits::MESSAGE_KEPT as usize;

    /// A message of so many bytes that was shown piece by piece, and its text.
    fn shown(bytes: usize) -> (Message, String) {
        let mut message = Message::new(Speaker::Agent, "m");
        let mut text = String::new();
        let mut units = 0;
        while text.len() < bytes {
            let piece = format!("{} 思考 🧠 – and so it goes on. ", text.len());
            units += message.grew(units, &piece, false).unwrap();
            message.drained();
            text.push_str(&piece);
        }
        (message, text)
    }

    #[test]
    fn given_a_long_message_when_shown_then_only_its_end_is_kept() {
        let (message, text) = shown(20 * KEPT);
        assert!(message.shown.text.len() < 2 * KEPT + 100);
        assert!(message.shown.past.len() < 25);
        assert_eq!(message.shown.units, utf16::units(&text));
    }

    #[test]
    fn given_a_long_message_when_its_whole_text_comes_then_what_is_new_is_shown_alone() {
        let (mut message, text) = shown(5 * KEPT);
        assert_eq!(message.is(&text), Ok(0));
        assert_eq!(message.is(&(text + "More.")), Ok(5));
        assert_eq!(message.unsent(), "More.");
    }

    #[test]
    fn given_a_long_message_when_any_of_it_is_rewritten_then_that_is_found() {
        let (message, text) = shown(5 * KEPT);
        for at in [0, KEPT, 2 * KEPT, 4 * KEPT, text.len() - 2] {
            let at = (at..).find(|at| text.is_char_boundary(*at)).unwrap();
            let mut other = text.clone();
            let next = other[at..].chars().next().unwrap().len_utf8();
            other.replace_range(at..at + next, "~");
            assert_eq!(
                message.clone().is(&other),
                Err(Failure::UnsupportedStreamRevision),
                "{at}"
            );
        }
        for end in [0, KEPT / 2, text.len() - 1] {
            let short = &text[..(0..=end)
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap()];
            let found = message.clone().is(short);
            assert_eq!(found, Err(Failure::UnsupportedStreamRevision), "{end}");
        }
    }

    /// Pieces may come again, from anywhere.
    #[test]
    fn given_a_long_message_when_pieces_come_again_then_only_what_is_new_is_added() {
        let (message, text) = shown(5 * KEPT);
        for at in [0, KEPT, 3 * KEPT, text.len() - 30] {
            let at = (at..).find(|at| text.is_char_boundary(*at)).unwrap();
            let start = utf16::units(&text[..at]);
            let again = format!("{}!", &text[at..]);
            let mut message = message.clone();
            assert_eq!(message.grew(start, &again[..again.len() - 1], false), Ok(0));
            assert_eq!(message.grew(start, &again, false), Ok(1), "{at}");
            assert_eq!(message.unsent(), "!");
        }
        let mut early = message.clone();
        let piece: String = text.chars().take(20).collect();
        assert_eq!(early.grew(0, &piece, false), Ok(0));
        let mut other = message;
        let start = utf16::units(&text) - 3;
        assert_eq!(
            other.grew(start, "~~~", false),
            Err(Failure::StreamConflict)
        );
    }
}
