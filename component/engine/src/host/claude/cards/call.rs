//! One call: what the editor knows of it, so that an update carries only what is new.
//!
//! Pure. Invariant: what is kept of a call is small, whatever its input and result are:
//! digests in place of the values.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::json::Object;
use crate::projection::{Hint, Place, Report, Shown, Status, ToolKind};

type Digest = [u8; 32];

/// A call.
#[derive(Debug, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// The call of the subagent that made this one.
    pub parent: Option<String>,
    /// Whether it is known by the plan alone.
    pub hidden: bool,
    /// Whether its whole input is known: only then can it have run.
    pub called: bool,
    pub ended: bool,
    /// Whether [`super::Told::PlanMode`] was told.
    pub planning: bool,
    /// Whether the editor shows a terminal for it that has not ended.
    pub terminal: bool,
    /// For hidden calls, whose result says less than their input.
    pub input: Option<Box<RawValue>>,
    /// Whether the editor is told what changed, and nothing twice.
    pub lean: bool,
    hints: Vec<Digest>,
    known: bool,
    pub status: Option<Status>,
    title: Option<Digest>,
    kind: Option<ToolKind>,
    content: Option<Digest>,
    places: Option<Digest>,
    raw_input: Option<Digest>,
}

/// What may be new on a card.
#[derive(Debug, Default)]
pub struct News {
    pub status: Option<Status>,
    pub title: Option<String>,
    pub kind: Option<ToolKind>,
    pub content: Option<Vec<Shown>>,
    pub places: Option<Vec<Place>>,
    pub raw_input: Option<Box<RawValue>>,
    pub raw_output: Option<Box<RawValue>>,
    pub hints: Vec<Hint>,
    pub notes: Notes,
}

/// What `_meta` says besides the names.
#[derive(Debug, Default)]
pub struct Notes {
    /// What the tool answered, for programs; always new.
    pub response: Option<Box<RawValue>>,
    /// Why it did not run.
    pub non_execution: Option<String>,
    /// What the user said about that.
    pub feedback: Option<Box<RawValue>>,
    /// Fields beside `claudeCode`; always new.
    pub beside: Option<(&'static str, Object)>,
}

impl Call {
    /// A call that the editor does not know.
    pub fn new(id: &str, name: &str, parent: Option<&str>) -> Call {
        Call {
            id: id.to_owned(),
            name: name.to_owned(),
            parent: parent.map(ToOwned::to_owned),
            hidden: false,
            called: false,
            ended: false,
            planning: false,
            terminal: false,
            input: None,
            lean: false,
            hints: Vec::new(),
            known: false,
            status: None,
            title: None,
            kind: None,
            content: None,
            places: None,
            raw_input: None,
        }
    }

    /// The report of what is new; none if nothing is.
    pub fn report(&mut self, news: News) -> Option<Report> {
        let first = !self.known;
        let notes = &news.notes;
        let noted = notes.response.is_some() || notes.beside.is_some();
        let mut report = self.plain();
        report.hints = self.new_hints(news.hints);
        let meta = self.meta(news.notes);
        let noted = noted || self.lean && !(meta.is_empty() && report.hints.is_empty());
        report.meta = Some(meta).filter(|meta| !meta.is_empty());
        report.status = fresh(&mut self.status, news.status, |status| *status);
        report.kind = fresh(&mut self.kind, news.kind, |kind| *kind);
        report.title = fresh(&mut self.title, news.title, |title| {
            digest([title.as_bytes()])
        });
        report.content = fresh(&mut self.content, news.content, |content| shown(content));
        report.places = fresh(&mut self.places, news.places, |places| placed(places));
        report.raw_input = fresh(&mut self.raw_input, news.raw_input, |raw| {
            digest([raw.get().as_bytes()])
        });
        report.raw_output = news.raw_output;
        self.known = true;
        if first {
            report.first = true;
            report.name = Some(self.name.clone());
        }
        let new = first
            || noted
            || report.status.is_some()
            || report.kind.is_some()
            || report.title.is_some()
            || report.content.is_some()
            || report.places.is_some()
            || report.raw_input.is_some()
            || report.raw_output.is_some();
        new.then_some(report)
    }

    /// A report of nothing.
    pub fn plain(&self) -> Report {
        Report {
            id: self.id.clone(),
            ..Report::default()
        }
    }

    /// Those that were not told before.
    fn new_hints(&mut self, mut hints: Vec<Hint>) -> Vec<Hint> {
        hints.retain(|hint| {
            // Texts alone: serialising them cannot fail.
            let text = serde_json::to_vec(hint).unwrap_or_default();
            let key = digest([text.as_slice()]);
            let new = !self.hints.contains(&key);
            if new {
                self.hints.push(key);
            }
            new
        });
        hints
    }

    /// The card shows this already: a question about it did.
    pub fn showed(&mut self, content: &[Shown]) {
        self.content = Some(shown(content));
    }

    /// `_meta`: editors replace it as a whole, so `claudeCode` is complete in each report;
    /// those that are told what changed put it together themselves.
    fn meta(&self, notes: Notes) -> Object {
        let mut names = Object::new();
        if let Some(response) = notes.response {
            names.set("toolResponse", &response);
        }
        let told = self.lean && self.known;
        if !told {
            names.set("toolName", &self.name);
        }
        if let Some(parent) = self.parent.as_ref().filter(|_| !told) {
            names.set("parentToolUseId", parent);
        }
        if let Some(kind) = notes.non_execution {
            names.set("nonExecutionKind", &kind);
        }
        if let Some(feedback) = notes.feedback {
            names.set("userFeedback", &feedback);
        }
        let mut meta = Object::new();
        if !names.is_empty() {
            meta.set("claudeCode", &names);
        }
        if let Some((name, value)) = notes.beside {
            meta.set(name, &value);
        }
        meta
    }
}

/// The value, if it is another than the one that was remembered.
fn fresh<T, K: PartialEq>(
    known: &mut Option<K>,
    value: Option<T>,
    key: impl FnOnce(&T) -> K,
) -> Option<T> {
    let key = key(value.as_ref()?);
    if known.as_ref() == Some(&key) {
        return None;
    }
    *known = Some(key);
    value
}

/// A digest that says where each part ends.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

fn shown(content: &[Shown]) -> Digest {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in content {
        match part {
            Shown::Text(text) => parts.extend([b"text".as_slice(), text.as_bytes()]),
            Shown::Image { data, mime_type } => {
                parts.extend([b"image".as_slice(), data.as_bytes(), mime_type.as_bytes()]);
            }
            Shown::Terminal(id) => parts.extend([b"terminal".as_slice(), id.as_bytes()]),
            Shown::Patch { path, text } => {
                parts.extend([b"patch".as_slice(), path.as_bytes(), text.as_bytes()]);
            }
            Shown::Change(change) => {
                parts.extend([b"change".as_slice(), change.path.as_bytes()]);
                parts.extend(change.old.as_ref().map(|old| old.as_bytes()));
                parts.extend([b"to".as_slice(), change.new.as_bytes()]);
            }
        }
    }
    digest(parts)
}

fn placed(places: &[Place]) -> Digest {
    let lines = places
        .iter()
        .map(|place| place.line.unwrap_or(0).to_le_bytes());
    let lines: Vec<_> = lines.collect();
    let places = places.iter().zip(&lines);
    digest(places.flat_map(|(place, line)| [place.path.as_bytes(), line.as_slice()]))
}
