//! Sessions that are stored: listed, shown again, taken up again, deleted.
//!
//! No history crosses the process's wire; it is read from the program's own files. This file
//! routes; each request is a job with a file of its own. Invariant: every job answers its
//! request once, and closes what it opened.

mod children;
mod edit;
mod folder;
mod fork;
mod glance;
mod list;
mod load;
mod moved;
mod point;
mod remove;
mod replay;
mod rows;
mod tell;
mod watch;
mod words;

pub use words::{is_local, written};

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::session::Session;
use super::{Claude, failure};
use crate::host::{Cx, Fact, ForkPoint, IndexQuery, Setup};
use crate::input::{FileArrival, Handle};
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;

pub use children::Child;
pub use edit::Change;
use edit::Edit;
pub use folder::is_session;
use fork::Fork;
pub use list::read;
use list::{Listing, Now, Open, To};
use load::Load;
use moved::Moved;
use remove::Removal;
use watch::Watch;

/// What is under way.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Stored {
    /// The folder of the projects; `None` if nothing says where it is.
    projects: Option<String>,
    next: u64,
    jobs: BTreeMap<u64, Job>,
    /// Sessions that go on under another id.
    moved: Moved,
    /// Indexes that are watched.
    watches: BTreeMap<String, Watch>,
}

#[derive(Debug, Serialize, Deserialize)]
#[allow(
    clippy::large_enum_variant,
    reason = "a request has one, and few are open at once"
)]
enum Job {
    List(Listing),
    Remove(Removal),
    Load(Load),
    Fork(Fork),
    Edit(Edit),
    /// A watched index is looked at.
    Look(String),
}

impl Stored {
    /// The program's folder is known from the environment.
    pub fn new(environment: &Environment) -> Stored {
        Stored {
            projects: environment.config_folder().map(|it| folder::projects(&it)),
            ..Stored::default()
        }
    }

    /// Whether anything is under way.
    pub fn waits(&self) -> bool {
        !self.jobs.is_empty()
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Claude {
    /// `session/list`, of an index with a query.
    pub(super) fn list(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        what: (Option<String>, Option<&str>, Option<IndexQuery>),
    ) {
        let Some(projects) = self.projects(cx, ticket) else {
            return;
        };
        let id = self.stored.id();
        let owner = FileOwner::Claude(id);
        let to = To::Ticket(ticket);
        if let Some(listing) = Listing::begin(cx, owner, projects, to, what) {
            self.stored.jobs.insert(id, Job::List(listing));
        }
    }

    /// `session/fork`.
    pub(super) fn fork(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        what: (String, Setup, Option<ForkPoint>),
    ) {
        let Some(projects) = self.projects(cx, ticket) else {
            return;
        };
        let id = self.stored.id();
        let owner = FileOwner::Claude(id);
        let live = self.sessions.values().find(|it| it.id() == what.0);
        let from = fork::From {
            file: self.stored_as(&what.0),
            before: live.and_then(|it| it.goes_on_from()).map(String::from),
            open: live.is_some_and(|it| it.may_lack_file(&what.1.cwd)),
            mode: live.and_then(|it| it.mode()).map(String::from),
        };
        if let Some(fork) = Fork::begin(cx, owner, projects, ticket, what, from) {
            self.stored.jobs.insert(id, Job::Fork(fork));
        }
    }

    /// `_session/rename` of one that is not live, `_session/archive`, `_session/unarchive`.
    pub(super) fn edit(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, what: (String, Change)) {
        let Some(projects) = self.projects(cx, ticket) else {
            return;
        };
        let id = self.stored.id();
        let owner = FileOwner::Claude(id);
        let what = (self.stored_as(&what.0), what.1);
        if let Some(edit) = Edit::begin(cx, owner, projects, ticket, what) {
            self.stored.jobs.insert(id, Job::Edit(edit));
        }
    }

    /// `session/delete`. What was live has been closed.
    pub(super) fn delete(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, session_id: String) {
        let Some(projects) = self.projects(cx, ticket) else {
            return;
        };
        let id = self.stored.id();
        let owner = FileOwner::Claude(id);
        let files = self.stored.moved.files(&session_id);
        if let Some(removal) = Removal::begin(cx, owner, projects, ticket, files) {
            self.stored.jobs.insert(id, Job::Remove(removal));
        }
    }

    /// An answer about a file; `None` when it trapped.
    pub fn file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: u64,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) {
        let owner = FileOwner::Claude(id);
        let sessions = &self.sessions;
        let session = |id: &str| sessions.values().find(|it| it.id() == id);
        let open = Open {
            moved: &self.stored.moved,
            standing: &|id: &str| session(id)?.standing(),
            called: &|id: &str| session(id)?.called().map(Into::into),
        };
        let now = match self.stored.jobs.get_mut(&id) {
            Some(Job::List(listing)) => listing.arrival(cx, owner, handle, arrival, &open),
            Some(Job::Look(watch)) => {
                let watch = watch.clone();
                self.looked(cx, &watch, arrival)
            }
            Some(Job::Remove(removal)) => removal.arrival(cx, owner, arrival),
            Some(Job::Edit(edit)) => edit.arrival(cx, owner, arrival),
            Some(Job::Load(_)) => self.load_file(cx, id, handle, arrival),
            Some(Job::Fork(_)) => self.fork_file(cx, id, handle, arrival),
            None => {
                // It was opened for a job that is over.
                if let Some(FileArrival::Facts(_)) = arrival {
                    cx.core.file_close(handle);
                }
                Now::Waits
            }
        };
        if matches!(now, Now::Over)
            && let Some(Job::Remove(removal)) = self.stored.jobs.remove(&id)
            && let Some(session) = removal.removed()
        {
            self.stored.moved.forget(session);
        }
        self.sweep(cx);
    }

    /// The end: nothing is waited for any more.
    pub(super) fn refuse_jobs(&mut self, cx: &mut Cx<'_, '_>) {
        for (id, job) in core::mem::take(&mut self.stored.jobs) {
            let _over = match job {
                Job::List(listing) => listing.refuse(cx, failure::closing()),
                Job::Remove(removal) => removal.refuse(cx, failure::closing()),
                Job::Load(load) => load.refuse(cx, failure::closing()),
                Job::Look(_) => Now::Over,
                Job::Edit(edit) => edit.refuse(cx, failure::closing()),
                Job::Fork(fork) => fork.refuse(cx, FileOwner::Claude(id), failure::closing()),
            };
        }
    }

    /// The id of the file in which a session goes on.
    pub(super) fn stored_as(&self, id: &str) -> String {
        let open = self.sessions.values().find(|it| it.id() == id);
        let file = open.map_or_else(|| self.stored.moved.file(id), |it| it.kept_as());
        file.into()
    }

    /// Conversations go on under another id, or begin.
    pub(super) fn note_moved(&mut self) {
        let moved = &mut self.stored.moved;
        for session in self.sessions.values() {
            let (id, file) = (session.id(), session.stored_as());
            if session.is_moved() {
                moved.goes_on(id, file);
            } else if file != id && !id.is_empty() {
                moved.begins(id, file);
            }
        }
    }

    /// The session that has this file, or is about to, if one is open here.
    pub(super) fn holder(&self, file: &str) -> Option<&str> {
        let mut sessions = self.sessions.values();
        let open = sessions.find(|it| [it.id(), it.stored_as(), it.kept_as()].contains(&file));
        let mut jobs = self.stored.jobs.values();
        let loads = || {
            jobs.find_map(|job| match job {
                Job::Load(load) => load.of(file),
                _ => None,
            })
        };
        open.map(Session::id).or_else(loads)
    }

    fn projects(&self, cx: &mut Cx<'_, '_>, ticket: Ticket) -> Option<String> {
        let failure = match &self.stored.projects {
            _ if self.ending => failure::closing(),
            Some(projects) => return Some(projects.clone()),
            None => failure::nowhere(),
        };
        cx.answer(Fact::Refused { ticket, failure });
        None
    }
}
