//! `session/delete`: the session's file, and what lies in the folder of the same name.
//!
//! Invariants: what belongs to the session goes before the session itself, so that what
//! could not be removed can be tried again; a session that is not there counts as deleted.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::failure;
use super::folder;
use super::list::{Now, missing};
use crate::effect::FileDeparture;
use crate::host::{Cx, Fact, Failure};
use crate::input::{FileArrival, FileKind, Root};
use crate::limits;
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;

/// A session that is being deleted.
#[derive(Debug, Serialize, Deserialize)]
pub struct Removal {
    ticket: Ticket,
    projects: String,
    /// The session, by whose id its file is found.
    id: String,
    /// Other files of it, by theirs.
    others: Vec<String>,
    /// The one that is being removed.
    file: String,
    step: Step,
    /// Projects that may have the session.
    left: Vec<String>,
    /// What is to be looked through, with how deep it lies.
    inside: Vec<(String, u64)>,
    /// What is to be removed, the next one last.
    files: Vec<String>,
    /// All is done.
    gone: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum Step {
    /// Which projects there are.
    Projects,
    /// Whether one of them has the session.
    Looking(String),
    /// What lies in a folder of the session.
    Inside(u64, String),
    /// A file goes.
    Removing,
}

impl Removal {
    /// Begins.
    pub fn begin(
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        projects: String,
        ticket: Ticket,
        files: Vec<String>,
    ) -> Option<Removal> {
        let mut others = files;
        let file = others.pop().unwrap_or_default();
        let id = others.first().unwrap_or(&file).clone();
        if !folder::is_session(&id) {
            cx.answer(Fact::Deleted { ticket });
            return None;
        }
        let entries = FileDeparture::Entries(Root::HostState, projects.clone());
        cx.core.file(owner, entries);
        Some(Removal {
            ticket,
            projects,
            id,
            others,
            file,
            step: Step::Projects,
            left: Vec::new(),
            inside: Vec::new(),
            files: Vec::new(),
            gone: false,
        })
    }

    /// An answer about a file; `None` when it trapped.
    pub fn arrival(
        &mut self,
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        arrival: Option<FileArrival>,
    ) -> Now {
        match (core::mem::replace(&mut self.step, Step::Removing), arrival) {
            (Step::Projects, Some(FileArrival::Entries(entries))) => {
                self.left = folder::all(&self.projects, entries);
            }
            (Step::Looking(project), Some(FileArrival::Facts(_))) => {
                self.files.push(folder::file(&project, &self.file));
                self.files.push(folder::archived(&project, &self.file));
                self.inside.push((format!("{project}/{}", self.file), 0));
            }
            (Step::Inside(depth, within), Some(FileArrival::Entries(entries))) => {
                for (name, facts) in entries {
                    let path = format!("{within}/{name}");
                    match facts.kind {
                        FileKind::File => self.files.push(path),
                        FileKind::Folder if depth < limits::CLAUDE_DEPTH => {
                            self.inside.push((path, depth + 1));
                        }
                        _ => {}
                    }
                }
            }
            (Step::Removing, Some(FileArrival::Done)) => {}
            (_, Some(FileArrival::Refused(refusal))) if missing(&refusal) => {}
            (_, Some(FileArrival::Refused(refusal))) => {
                return self.refuse(cx, failure::storage(&refusal));
            }
            _ => return self.refuse(cx, failure::unforeseen()),
        }
        self.next(cx, owner)
    }

    /// The session, if nothing of it is left.
    pub fn removed(&self) -> Option<&str> {
        self.gone.then_some(&self.id)
    }

    /// The end has come.
    pub fn refuse(&self, cx: &mut Cx<'_, '_>, failure: Failure) -> Now {
        let ticket = self.ticket;
        cx.answer(Fact::Refused { ticket, failure });
        Now::Over
    }

    fn next(&mut self, cx: &mut Cx<'_, '_>, owner: FileOwner) -> Now {
        let (step, departure) = if let Some(project) = self.left.pop() {
            let file = folder::file(&project, &self.file);
            (
                Step::Looking(project),
                FileDeparture::Stat(Root::HostState, file),
            )
        } else if let Some((within, depth)) = self.inside.pop() {
            let entries = FileDeparture::Entries(Root::HostState, within.clone());
            (Step::Inside(depth, within), entries)
        } else if let Some(path) = self.files.pop() {
            (Step::Removing, FileDeparture::Remove(path))
        } else if let Some(file) = self.others.pop() {
            self.file = file;
            let entries = FileDeparture::Entries(Root::HostState, self.projects.clone());
            (Step::Projects, entries)
        } else {
            let ticket = self.ticket;
            cx.answer(Fact::Deleted { ticket });
            self.gone = true;
            return Now::Over;
        };
        self.step = step;
        cx.core.file(owner, departure);
        Now::Waits
    }
}
