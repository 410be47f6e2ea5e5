//! What a running tool shows, and how it shares its budget.
//!
//! Invariant: after [`Live::trim`] a card is within [`limits::TOOL_UNITS`] and
//! [`limits::TOOL_CHUNKS`], whatever came in.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::buffer::Buffer;
use super::fact::Stream;
use super::update::{LiveOutput, Piece, Steps};
use super::utf16;
use crate::limits;

/// What a running tool shows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Live {
    pub input_preview: Option<String>,
    pub output: Buffer<(Stream, bool)>,
    pub progress: Buffer<()>,
    pub preview: Option<String>,
}

impl Live {
    /// All of its content, in the order of the specification.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        let losses = self.losses();
        let mut pieces = Vec::new();
        pieces.extend(self.input_preview.as_deref().map(Piece::InputPreview));
        if losses.live_output_truncated {
            pieces.push(Piece::Dropped(losses.live_output_dropped_chars));
        }
        if losses.live_output_missing_chunks > 0 {
            pieces.push(Piece::Missing(losses.live_output_missing_chunks));
        }
        pieces.extend(
            self.output
                .iter()
                .map(|(sequence, (stream, redacted), chunk)| Piece::Output {
                    sequence,
                    stream,
                    redacted,
                    chunk,
                }),
        );
        pieces.extend(
            self.progress
                .iter()
                .map(|(_, (), text)| Piece::Progress(text)),
        );
        pieces.extend(self.preview.as_deref().map(Piece::Preview));
        pieces
    }

    /// What was dropped and what did not arrive.
    pub fn losses(&self) -> LiveOutput {
        let dropped = self.output.dropped() + self.progress.dropped();
        // Output counts from 1; once anything was dropped, its beginning may be gone on
        // purpose.
        let before = if dropped > 0 { None } else { Some(0) };
        LiveOutput {
            live_output_truncated: dropped > 0,
            live_output_dropped_chars: dropped,
            live_output_missing_chunks: self.output.missing(before),
        }
    }

    /// Shares the budget: fixed parts first, then the newest progress, then the newest output.
    /// `own` is what the card takes up besides.
    pub fn trim(&mut self, own: u64) {
        let left = limits::TOOL_UNITS.saturating_sub(own + self.fixed());
        self.progress
            .trim(left.min(limits::TOOL_AUXILIARY_UNITS), limits::TOOL_CHUNKS);
        self.output.trim(
            left - self.progress.units(),
            limits::TOOL_CHUNKS - self.progress.len(),
        );
    }

    /// Units that it retains.
    pub fn units(&self) -> u64 {
        self.fixed() + self.progress.units() + self.output.units()
    }

    fn fixed(&self) -> u64 {
        [&self.input_preview, &self.preview]
            .into_iter()
            .flatten()
            .map(|text| utf16::units(text))
            .sum()
    }
}

/// `steps:CURRENT/TOTAL`, digits only.
pub fn steps(text: &str) -> Option<Steps> {
    let (current, total) = text.strip_prefix("steps:")?.split_once('/')?;
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten()
    };
    Some(Steps {
        current: number(current)?,
        total: number(total)?,
    })
}
