//! `session/load` reads: a session's file from its beginning to its end as it was when it was
//! opened, and those of its subagents where they belong.
//!
//! Reads files piece by piece; touches nothing else. Invariants: what is kept is one row and
//! the cards' own bounds, however long the history is; every opened handle is closed; while
//! the editor is slow, nothing more is read than was asked for.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::list::read;
use super::rows::Row;
use super::tell::{Subagent, Telling};
use crate::effect::{FileDeparture, Level};
use crate::host::{Cx, Fact, SessionKey};
use crate::input::{FileArrival, FileKind, Handle, Root};
use crate::limits;
use crate::plumbing::FileOwner;

/// A history that is being shown.
#[derive(Debug, Serialize, Deserialize)]
pub struct Replay {
    key: SessionKey,
    owner: FileOwner,
    /// The session's project, and its id.
    project: String,
    id: String,
    /// The file that is read, and those that wait for its end, the first one first.
    files: Vec<Source>,
    /// What is told so far.
    pub telling: Telling,
    paused: bool,
    /// Whether an answer is to come.
    asked: bool,
    damaged: u64,
}

/// A file.
#[derive(Debug, Serialize, Deserialize)]
struct Source {
    /// `None` until it is open.
    handle: Option<Handle>,
    size: u64,
    /// Where the next piece begins.
    at: u64,
    /// The row that is not complete, and where it begins.
    #[serde(with = "crate::snapshot::bytes")]
    tail: Vec<u8>,
    begun: u64,
    /// The row is too long.
    skipping: bool,
    /// The call whose subagent this is.
    parent: Option<String>,
    /// The subagent that was told before the row that tells of its end.
    told: Option<String>,
}

impl Replay {
    /// Begins with a session's file that is open.
    pub fn new(
        key: SessionKey,
        owner: FileOwner,
        project: &str,
        id: &str,
        (handle, size): (Handle, u64),
        telling: Telling,
    ) -> Replay {
        Replay {
            key,
            owner,
            project: project.into(),
            id: id.into(),
            files: [Source::new(Some(handle), size, None)].into(),
            telling,
            paused: false,
            asked: false,
            damaged: 0,
        }
    }

    /// Whether all was told.
    pub fn over(&self) -> bool {
        self.files.is_empty()
    }

    /// Leaves the rest for later.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Goes on, from the beginning or after a pause.
    pub fn go_on(&mut self, cx: &mut Cx<'_, '_>) {
        self.paused = false;
        self.next(cx);
    }

    /// Nobody wants the rest.
    pub fn close(&mut self, cx: &mut Cx<'_, '_>) {
        for file in self.files.drain(..) {
            if let Some(handle) = file.handle {
                cx.core.file_close(handle);
            }
        }
    }

    /// An answer about a file; `None` when it trapped.
    pub fn arrival(&mut self, cx: &mut Cx<'_, '_>, handle: Handle, arrival: Option<FileArrival>) {
        self.asked = false;
        let Some(file) = self.files.last_mut() else {
            return;
        };
        match (file.handle, arrival) {
            (None, Some(FileArrival::Facts(facts))) => {
                file.handle = Some(handle);
                file.size = match facts.kind {
                    FileKind::File => facts.size,
                    _ => 0,
                };
            }
            // A subagent without a file: its call alone is shown.
            (None, _) => {
                cx.core.file_close(handle);
                self.files.pop();
            }
            (Some(_), Some(FileArrival::Data(at, data))) if at == file.at => {
                file.at += data.len() as u64;
                if data.is_empty() {
                    // It was cut meanwhile.
                    file.size = file.at;
                }
                self.piece(cx, &data);
            }
            (Some(_), _) => {
                cx.core
                    .note(Level::Warn, "the rest of a stored session cannot be read");
                file.size = file.at;
            }
        }
        self.next(cx);
    }

    /// Asks for the next piece of what is to be read.
    fn next(&mut self, cx: &mut Cx<'_, '_>) {
        if self.asked || self.paused {
            return;
        }
        while let Some(file) = self.files.last_mut() {
            let Some(handle) = file.handle else { return };
            let left = file.size.saturating_sub(file.at);
            if left > 0 {
                self.asked = true;
                return read(cx, self.owner.clone(), handle, file.at, left);
            }
            // The last row may have no line end.
            if !file.tail.is_empty() && !file.skipping {
                let line = core::mem::take(&mut file.tail);
                if let Some(subagent) = self.line(cx, &line) {
                    self.dive(cx, subagent);
                    return;
                }
            }
            cx.core.file_close(handle);
            self.files.pop();
        }
        if self.damaged > 0 {
            cx.core.note(
                Level::Warn,
                format!("{} rows of a stored session were left out", self.damaged),
            );
            self.damaged = 0;
        }
    }

    /// The rows that a piece completes.
    fn piece(&mut self, cx: &mut Cx<'_, '_>, data: &[u8]) {
        let Some(file) = self.files.last_mut() else {
            return;
        };
        let mut search = file.tail.len();
        let mut rows = core::mem::take(&mut file.tail);
        rows.extend_from_slice(data);
        let mut start = 0;
        while let Some(end) = memchr::memchr(b'\n', &rows[search..]) {
            let end = search + end;
            let Some(file) = self.files.last_mut() else {
                return;
            };
            if core::mem::take(&mut file.skipping) {
                self.damaged += 1;
            } else if let Some(subagent) = self.line(cx, &rows[start..end]) {
                if let Some(file) = self.files.last_mut() {
                    // This row is read again, behind what the subagent did.
                    file.begun += start as u64;
                    file.at = file.begun;
                }
                return self.dive(cx, subagent);
            }
            start = end + 1;
            search = start;
        }
        let Some(file) = self.files.last_mut() else {
            return;
        };
        file.begun += start as u64;
        rows.drain(..start);
        if rows.len() as u64 > limits::CLAUDE_LINE {
            file.skipping = true;
        }
        if file.skipping {
            file.begun += rows.len() as u64;
            rows = Vec::new();
        }
        file.tail = rows;
    }

    /// One row; gives the subagent that is to be told before it.
    fn line(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) -> Option<Subagent> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let Some(row) = Row::read(line) else {
            self.damaged += 1;
            return None;
        };
        let deep = self.files.len() as u64 > limits::CLAUDE_DEPTH;
        let file = self.files.last_mut()?;
        let told = file.told.take();
        let parent = file.parent.clone();
        let subagent = self.telling.subagent(&row);
        if let Some(subagent) = subagent.filter(|it| !deep && told.as_ref() != Some(&it.id)) {
            return Some(subagent);
        }
        let key = self.key;
        self.telling
            .row(&row, parent.as_deref(), &mut |fact: Fact<'_>| {
                let _heard = cx.tell(key, fact);
            });
        None
    }

    fn dive(&mut self, cx: &mut Cx<'_, '_>, subagent: Subagent) {
        let key = self.key;
        self.telling.dives(&subagent, &mut |fact: Fact<'_>| {
            let _heard = cx.tell(key, fact);
        });
        if let Some(file) = self.files.last_mut() {
            file.told = Some(subagent.id.clone());
            file.at = file.begun;
            file.tail = Vec::new();
        }
        let path = super::folder::subagent(&self.project, &self.id, &subagent.id);
        self.files.push(Source::new(None, 0, Some(subagent.call)));
        self.asked = true;
        cx.core.file(
            self.owner.clone(),
            FileDeparture::Open(Root::HostState, path),
        );
    }
}

impl Source {
    fn new(handle: Option<Handle>, size: u64, parent: Option<String>) -> Source {
        Source {
            handle,
            size,
            at: 0,
            tail: Vec::new(),
            begun: 0,
            skipping: false,
            parent,
            told: None,
        }
    }
}
