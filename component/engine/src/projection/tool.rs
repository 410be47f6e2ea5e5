//! One tool of a turn: what is known of it, and what the editor does not have yet.
//!
//! Invariant: an end is never taken back, and a result that was shown is only replaced by
//! another result. Draining seldom loses nothing: what the skipped cards would have carried
//! is kept in [`Unsent`] and goes out with the next one.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::End;
use super::fact::{Call, Change, Details, Outcome, Place, Stream, ToolFact, ToolKind};
use super::live::{self, Live};
use super::path;
use super::update::{Facts, Meta, NewestOutput, Piece, Status, ToolCard};
use super::utf16;
use crate::limits;

/// The mark at the end of a result that was cut.
const RESULT_TRUNCATED: &str = "\n[Result truncated]";

/// A tool of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tool {
    id: String,
    pub(super) title: String,
    kind: ToolKind,
    pub(super) status: Status,
    pub(super) facts: Facts,
    pub(super) phase: Phase,
    /// The newest raw input that was published.
    raw_input: Option<Digest>,
    /// Whether the editor knows the tool.
    known: bool,
    pub(super) unsent: Option<Unsent>,
    /// Units that count against the budget of the turn.
    retained: u64,
    /// Where it works.
    places: Vec<Place>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Phase {
    Live(Box<Live>),
    /// Ended; the result is still to come.
    Announced,
    /// The turn ended first.
    Interrupted,
    /// Its card was for a question alone, and that is answered.
    Decided,
    /// Has its result.
    Final(Digest),
}

/// What the editor does not have yet, besides the card's own fields.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Unsent {
    pub(super) content: Option<Kept>,
    raw_input: Option<Box<RawValue>>,
    raw_output: Option<Box<RawValue>>,
    places: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Kept {
    /// The last view of a tool that ended before the editor took it.
    Live(Box<Live>),
    Result(String),
    Changes(Vec<Change>),
}

type Digest = [u8; 32];

impl Tool {
    /// A tool of which only the id is known.
    pub fn new(id: &str) -> Tool {
        Tool {
            id: id.to_owned(),
            title: id.to_owned(),
            kind: ToolKind::Other,
            status: Status::InProgress,
            facts: Facts::default(),
            phase: Phase::Live(Box::default()),
            raw_input: None,
            known: false,
            unsent: None,
            retained: 0,
            places: Vec::new(),
        }
    }

    /// Takes a fact; whether it changes the card. A new tool's first fact always does.
    pub fn take(&mut self, fact: ToolFact<'_>, turn_id: &str, folder: &str) -> bool {
        let new = !self.known && self.unsent.is_none();
        let changed = self.apply(fact, folder) | new;
        if changed {
            self.trim(turn_id);
            self.unsent.get_or_insert_default();
        }
        changed
    }

    /// The turn has ended; whether that changes the card.
    pub fn finish(&mut self, turn_id: &str) -> bool {
        if !matches!(self.phase, Phase::Live(_)) {
            return false;
        }
        self.end(Phase::Interrupted, Outcome::Interrupted, None);
        self.trim(turn_id);
        self.unsent.get_or_insert_default();
        true
    }

    /// Whether a result was announced and has not come.
    pub fn owes_result(&self) -> bool {
        matches!(self.phase, Phase::Announced)
    }

    /// Whether the card waits for the editor.
    pub fn waits(&self) -> bool {
        self.unsent.is_some()
    }

    /// Units that count against the budget of the turn.
    pub fn retained(&self) -> u64 {
        self.retained
    }

    /// Units that are kept only because the editor did not take them yet.
    pub fn held(&self) -> u64 {
        let Some(unsent) = &self.unsent else { return 0 };
        let content = match &unsent.content {
            Some(Kept::Live(live)) => live.units(),
            Some(Kept::Result(text)) => utf16::units(text),
            Some(Kept::Changes(changes)) => changes.iter().map(units).sum(),
            None => 0,
        };
        content
            + [&unsent.raw_input, &unsent.raw_output]
                .into_iter()
                .flatten()
                .map(|raw| utf16::units(raw.get()))
                .sum::<u64>()
    }

    /// The card as it is now.
    pub fn card<'a>(&'a self, turn_id: &'a str) -> ToolCard<'a> {
        let unsent = self.unsent.as_ref();
        let content = match (
            &self.phase,
            unsent.and_then(|unsent| unsent.content.as_ref()),
        ) {
            (Phase::Live(live), _) | (_, Some(Kept::Live(live))) => Some(live.pieces()),
            (_, Some(Kept::Result(text))) => Some([Piece::Result(text)].into()),
            (_, Some(Kept::Changes(changes))) => Some(changes.iter().map(Piece::Change).collect()),
            (_, None) => None,
        };
        let live = match &self.phase {
            Phase::Live(live) => Some(live.losses()),
            _ => None,
        };
        ToolCard {
            first: !self.known,
            id: &self.id,
            title: &self.title,
            kind: self.kind,
            status: self.status,
            meta: Meta {
                turn_id,
                facts: &self.facts,
                live,
            },
            content,
            raw_input: unsent.and_then(|unsent| unsent.raw_input.as_deref()),
            raw_output: unsent.and_then(|unsent| unsent.raw_output.as_deref()),
            places: unsent
                .filter(|unsent| unsent.places)
                .map(|_| self.places.as_slice()),
        }
    }

    /// Notes that the editor has the card.
    pub fn drained(&mut self) {
        self.known = true;
        self.unsent = None;
    }

    fn apply(&mut self, fact: ToolFact<'_>, folder: &str) -> bool {
        match fact {
            ToolFact::Started { call, .. } => self.called(call, folder, None, None),
            ToolFact::Called {
                call,
                args,
                input_preview,
                ..
            } => self.called(call, folder, args, input_preview),
            ToolFact::Output {
                seq,
                stream,
                chunk,
                redacted,
                ..
            } => self.output(seq, stream, chunk, redacted),
            ToolFact::Progress { text, .. } => self.progress(text),
            ToolFact::Preview { json, .. } => self.preview(json),
            ToolFact::Announced {
                errored,
                duration_ms,
                ..
            } => self.announced(errored, duration_ms),
            ToolFact::Asks {
                asking, own_card, ..
            } => self.asks(asking, own_card),
            ToolFact::Result {
                outcome,
                text,
                raw,
                duration_ms,
                details,
                ..
            } => self.result(outcome, &text, raw, duration_ms, details.within(folder)),
        }
    }

    fn called(
        &mut self,
        call: Call<'_>,
        folder: &str,
        args: Option<&RawValue>,
        preview: Option<String>,
    ) -> bool {
        let title = call.display_name.unwrap_or(call.name);
        let title = utf16::ellipsis(title, limits::TOOL_AUXILIARY_UNITS);
        let mut changed = replace(&mut self.title, title);
        changed |= replace(&mut self.kind, call.kind);
        changed |= replace(&mut self.facts.tool_name, Some(call.name.to_owned()));
        changed |= fill(&mut self.facts.operation_id, call.operation_id);
        changed |= fill(&mut self.facts.step_id, call.step_id);
        changed |= fill(&mut self.facts.parent_tool_use_id, call.parent);
        if self.places.is_empty() {
            changed |= self.works_at(path::within(call.places.to_vec(), folder));
        }
        if let (Phase::Live(live), Some(preview)) = (&mut self.phase, preview) {
            let preview = utf16::ellipsis(&preview, limits::TOOL_AUXILIARY_UNITS);
            changed |= replace(&mut live.input_preview, Some(preview));
        }
        if let Some(args) = args.filter(|args| small(args)) {
            changed |= self.publish_input(args);
        }
        changed
    }

    /// The arguments go out once; a repeat of the same record is silent.
    fn publish_input(&mut self, args: &RawValue) -> bool {
        let changed = replace(&mut self.raw_input, Some(Sha256::digest(args.get()).into()));
        if changed {
            self.unsent.get_or_insert_default().raw_input = Some(args.to_owned());
        }
        changed
    }

    /// A result knows its places better than the call, and a call is told more than once.
    fn works_at(&mut self, mut places: Vec<Place>) -> bool {
        places.truncate(limits::TOOL_PLACES);
        if places.is_empty() || self.places == places {
            return false;
        }
        self.places = places;
        self.unsent.get_or_insert_default().places = true;
        true
    }

    fn output(&mut self, sequence: u64, stream: Stream, chunk: &str, redacted: bool) -> bool {
        let Phase::Live(live) = &mut self.phase else {
            return false;
        };
        if !live.output.insert(sequence, (stream, redacted), chunk) {
            return false;
        }
        self.facts.redacted = Some(redacted || self.facts.redacted == Some(true));
        if self
            .facts
            .output
            .is_none_or(|newest| newest.sequence < sequence)
        {
            self.facts.output = Some(NewestOutput {
                sequence,
                stream,
                redacted,
            });
        }
        true
    }

    fn progress(&mut self, text: &str) -> bool {
        let Phase::Live(live) = &mut self.phase else {
            return false;
        };
        live.progress.push((), text);
        if let Some(steps) = live::steps(text) {
            self.facts.progress = Some(steps);
        }
        true
    }

    fn preview(&mut self, json: &str) -> bool {
        let Phase::Live(live) = &mut self.phase else {
            return false;
        };
        let json = utf16::ellipsis(json, limits::TOOL_AUXILIARY_UNITS);
        replace(&mut live.preview, Some(json))
    }

    fn announced(&mut self, errored: bool, duration_ms: Option<u64>) -> bool {
        if matches!(self.phase, Phase::Final(_) | Phase::Decided) {
            return false;
        }
        let before = (
            self.facts.host_status,
            self.facts.duration_ms,
            self.facts.result_pending,
        );
        let outcome = if errored {
            Outcome::Errored
        } else {
            Outcome::Completed
        };
        self.end(Phase::Announced, outcome, duration_ms);
        self.facts.result_pending = Some(true);
        before
            != (
                self.facts.host_status,
                self.facts.duration_ms,
                self.facts.result_pending,
            )
    }

    fn result(
        &mut self,
        outcome: Outcome,
        text: &str,
        raw: &RawValue,
        duration_ms: Option<u64>,
        details: Details,
    ) -> bool {
        // A record that leaves the duration out does not take it back.
        let duration_ms = duration_ms.or(self.facts.duration_ms);
        let digest = digest(outcome, raw, duration_ms);
        if matches!(&self.phase, Phase::Final(before) if *before == digest) {
            return false;
        }
        self.works_at(details.places);
        self.facts.exit_code = details.exit_code.or(self.facts.exit_code);
        let changes: u64 = details.changes.iter().map(units).sum();
        let (content, dropped) = if (1..=limits::TOOL_UNITS).contains(&changes) {
            (Kept::Changes(details.changes), 0)
        } else {
            let (shown, dropped) = bounded(text);
            (Kept::Result(shown), dropped)
        };
        self.end(Phase::Final(digest), outcome, duration_ms);
        self.facts.result_pending = Some(false);
        self.facts.result_truncated = Some(dropped > 0);
        self.facts.result_dropped_chars = Some(dropped);
        let unsent = self.unsent.get_or_insert_default();
        unsent.content = Some(content);
        if dropped == 0 && small(raw) {
            unsent.raw_output = Some(raw.to_owned());
        }
        true
    }

    /// Ends the tool. What it showed last is kept if the editor did not take it yet.
    fn end(&mut self, phase: Phase, outcome: Outcome, duration_ms: Option<u64>) {
        self.status = match outcome {
            Outcome::Completed => Status::Completed,
            Outcome::Errored | Outcome::Interrupted => Status::Failed,
        };
        self.facts.host_status = Some(outcome);
        self.facts.duration_ms = duration_ms.or(self.facts.duration_ms);
        if let Phase::Live(live) = core::mem::replace(&mut self.phase, phase)
            && let Some(unsent) = &mut self.unsent
        {
            unsent.content = Some(Kept::Live(live));
        }
    }

    /// Keeps the card within its budget, and counts what it retains.
    fn trim(&mut self, turn_id: &str) {
        let meta = Meta {
            turn_id,
            facts: &self.facts,
            live: None,
        };
        let own = utf16::units(&self.title)
            + self.facts.tool_name.as_deref().map_or(0, utf16::units)
            + utf16::units(&meta.json());
        self.retained = own;
        if let Phase::Live(live) = &mut self.phase {
            live.trim(own);
            self.retained += live.units();
        }
    }
}

impl End {
    /// Whether a result that was announced must have come by now.
    pub fn demands_results(self) -> bool {
        self == End::Completed
    }
}

fn units(change: &Change) -> u64 {
    let old = change.old.as_deref().unwrap_or_default();
    utf16::units(&change.path) + utf16::units(old) + utf16::units(&change.new)
}

fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}

/// What is known stays known.
fn fill(place: &mut Option<String>, value: Option<&str>) -> bool {
    match value {
        Some(value) if place.as_deref() != Some(value) => {
            *place = Some(value.to_owned());
            true
        }
        _ => false,
    }
}

fn small(raw: &RawValue) -> bool {
    utf16::units(raw.get()) <= limits::TOOL_RAW_UNITS
}

fn digest(outcome: Outcome, raw: &RawValue, duration_ms: Option<u64>) -> Digest {
    let mut hash = Sha256::new();
    hash.update([outcome as u8, u8::from(duration_ms.is_some())]);
    hash.update(duration_ms.unwrap_or(0).to_le_bytes());
    hash.update(raw.get());
    hash.finalize().into()
}

/// The result within its budget, and how many units were cut off.
fn bounded(text: &str) -> (String, u64) {
    let units = utf16::units(text);
    if units <= limits::TOOL_UNITS {
        return (text.to_owned(), 0);
    }
    let mut shown =
        utf16::head(text, limits::TOOL_UNITS - utf16::units(RESULT_TRUNCATED)).to_owned();
    let dropped = units - utf16::units(&shown);
    shown.push_str(RESULT_TRUNCATED);
    (shown, dropped)
}
