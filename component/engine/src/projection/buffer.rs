//! The newest output or progress of a tool, in the order of its numbers and within a budget.
//!
//! Invariant: what is dropped is always the oldest, and a number that was dropped once
//! never comes back.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::utf16;

/// Numbered chunks, each with a note of what it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Buffer<T> {
    chunks: BTreeMap<u64, Chunk<T>>,
    /// Units kept.
    units: u64,
    /// Units dropped.
    dropped: u64,
    /// The highest number that was dropped.
    discarded: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Chunk<T> {
    note: T,
    text: String,
    units: u64,
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Buffer {
            chunks: BTreeMap::new(),
            units: 0,
            dropped: 0,
            discarded: None,
        }
    }
}

impl<T: Copy> Buffer<T> {
    /// Takes a chunk; `false` when it is a repeat or too late.
    pub fn insert(&mut self, number: u64, note: T, text: &str) -> bool {
        if self.discarded >= Some(number) || self.chunks.contains_key(&number) {
            return false;
        }
        let units = utf16::units(text);
        self.units += units;
        self.chunks.insert(
            number,
            Chunk {
                note,
                text: text.to_owned(),
                units,
            },
        );
        true
    }

    /// Takes a chunk as the newest.
    pub fn push(&mut self, note: T, text: &str) {
        let newest = self
            .chunks
            .last_key_value()
            .map(|(number, _)| *number)
            .max(self.discarded);
        self.insert(newest.unwrap_or(0).saturating_add(1), note, text);
    }

    /// Drops from the oldest until at most so many units and chunks are left.
    pub fn trim(&mut self, units: u64, chunks: u64) {
        while self.len() > chunks {
            self.discard();
        }
        while let Some(excess) = self.units.checked_sub(units).filter(|excess| *excess > 0) {
            let Some(mut oldest) = self.chunks.first_entry() else {
                return;
            };
            let chunk = oldest.get_mut();
            let rest = utf16::tail(&chunk.text, excess);
            if rest.is_empty() {
                self.discard();
                continue;
            }
            let kept = utf16::units(rest);
            let cut = chunk.units - kept;
            chunk.text = rest.to_owned();
            chunk.units = kept;
            self.units -= cut;
            self.dropped += cut;
        }
    }

    /// How many chunks are kept.
    pub fn len(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// How many units are kept.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// How many units were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many numbers are missing between `before` and the newest kept chunk; without
    /// `before`, between the oldest and the newest.
    pub fn missing(&self, before: Option<u64>) -> u64 {
        let mut missing = 0;
        let mut previous = before;
        for number in self.chunks.keys() {
            if let Some(previous) = previous {
                missing += number.saturating_sub(previous).saturating_sub(1);
            }
            previous = Some(*number);
        }
        missing
    }

    /// What is kept, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, T, &str)> {
        self.chunks
            .iter()
            .map(|(number, chunk)| (*number, chunk.note, chunk.text.as_str()))
    }

    fn discard(&mut self) {
        if let Some((number, chunk)) = self.chunks.pop_first() {
            self.units -= chunk.units;
            self.dropped += chunk.units;
            self.discarded = Some(number);
        }
    }
}
