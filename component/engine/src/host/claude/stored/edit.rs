//! A stored session gets a name, or goes into the archive and comes back: whichever project
//! it is in, and without a process.
//!
//! A name is a row at the end of its file, as the program writes it. The archive is ours: a
//! file beside the session's, which the program does not look at. Invariant: what is there
//! already counts as done; a session that is not there is not found.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::failure;
use super::folder;
use super::list::{Now, missing};
use crate::effect::FileDeparture;
use crate::host::{Cx, Fact, Failure};
use crate::input::{FileArrival, FileKind, FileRefusal, Root};
use crate::object;
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;

/// What is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Its name.
    Name(String),
    /// Whether it is in the archive.
    Archived(bool),
}

/// A session that is being changed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Edit {
    ticket: Ticket,
    projects: String,
    id: String,
    change: Change,
    step: Step,
    /// Projects that may have the session.
    left: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Step {
    /// Which projects there are.
    Projects,
    /// Whether one of them has the session.
    Looking(String),
    /// It is changed.
    Changing,
}

impl Edit {
    /// Begins.
    pub fn begin(
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        projects: String,
        ticket: Ticket,
        (id, change): (String, Change),
    ) -> Option<Edit> {
        if !folder::is_session(&id) {
            let failure = failure::unknown(&id);
            cx.answer(Fact::Refused { ticket, failure });
            return None;
        }
        let entries = FileDeparture::Entries(Root::HostState, projects.clone());
        cx.core.file(owner, entries);
        Some(Edit {
            ticket,
            projects,
            id,
            change,
            step: Step::Projects,
            left: Vec::new(),
        })
    }

    /// An answer about a file; `None` when it trapped.
    pub fn arrival(
        &mut self,
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        arrival: Option<FileArrival>,
    ) -> Now {
        match (core::mem::replace(&mut self.step, Step::Changing), arrival) {
            (Step::Projects, Some(FileArrival::Entries(entries))) => {
                self.left = folder::all(&self.projects, entries);
                self.next(cx, owner)
            }
            (Step::Looking(project), Some(FileArrival::Facts(facts)))
                if facts.kind == FileKind::File =>
            {
                let departure = self.departure(&project);
                cx.core.file(owner, departure);
                Now::Waits
            }
            (Step::Looking(_), Some(FileArrival::Facts(_))) => self.next(cx, owner),
            (Step::Projects | Step::Looking(_), Some(FileArrival::Refused(refusal)))
                if missing(&refusal) =>
            {
                self.next(cx, owner)
            }
            (Step::Changing, Some(FileArrival::Done)) => self.done(cx),
            (Step::Changing, Some(FileArrival::Refused(refusal))) if self.is_done(&refusal) => {
                self.done(cx)
            }
            (_, Some(FileArrival::Refused(refusal))) => self.refuse(cx, failure::storage(&refusal)),
            _ => self.refuse(cx, failure::unforeseen()),
        }
    }

    /// The end has come, or it came to nothing.
    pub fn refuse(&self, cx: &mut Cx<'_, '_>, failure: Failure) -> Now {
        let ticket = self.ticket;
        cx.answer(Fact::Refused { ticket, failure });
        Now::Over
    }

    fn done(&self, cx: &mut Cx<'_, '_>) -> Now {
        let ticket = self.ticket;
        cx.answer(Fact::Done { ticket });
        Now::Over
    }

    /// What is in the archive needs not be put there, and what is not, not be taken out.
    fn is_done(&self, refusal: &FileRefusal) -> bool {
        match self.change {
            Change::Name(_) => false,
            Change::Archived(true) => {
                matches!(refusal, FileRefusal::Error(name) if name == "EEXIST")
            }
            Change::Archived(false) => missing(refusal),
        }
    }

    fn departure(&self, project: &str) -> FileDeparture {
        let marker = folder::archived(project, &self.id);
        match &self.change {
            Change::Name(title) => {
                let row = object! {
                    "type": "custom-title", "customTitle": title, "sessionId": self.id,
                };
                // Texts: writing them cannot fail.
                let mut row = serde_json::to_vec(&row).unwrap_or_default();
                row.push(b'\n');
                FileDeparture::Append(folder::file(project, &self.id), row)
            }
            Change::Archived(true) => FileDeparture::Create(marker, Vec::new()),
            Change::Archived(false) => FileDeparture::Remove(marker),
        }
    }

    fn next(&mut self, cx: &mut Cx<'_, '_>, owner: FileOwner) -> Now {
        let Some(project) = self.left.pop() else {
            return self.refuse(cx, failure::unknown(&self.id));
        };
        let file = folder::file(&project, &self.id);
        self.step = Step::Looking(project);
        cx.core
            .file(owner, FileDeparture::Stat(Root::HostState, file));
        Now::Waits
    }
}
