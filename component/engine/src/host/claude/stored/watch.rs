//! An index of a folder's sessions that is watched: every now and then it is looked whether a
//! file, the archive or what a session does has changed, and rows that did are told whole.
//!
//! What the embedder cannot do is tell of a change by itself, so it is asked. Invariants: one
//! look at a time; nothing is told of what was there when the watch began, until it changes.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::{Claude, Due, failure};
use super::list::{Listing, Now, To, missing};
use super::{Job, folder};
use crate::effect::FileDeparture;
use crate::host::{Cx, Fact, IndexQuery, Shown, Standing};
use crate::input::{FileArrival, FileFacts, FileKind, Root, Timer};
use crate::limits;
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;

/// A watched index.
#[derive(Debug, Serialize, Deserialize)]
pub struct Watch {
    cwd: String,
    /// The folder of its sessions, once it is known what the folder really is.
    project: Option<String>,
    /// What was there at the last look; nothing before the first.
    seen: Option<BTreeMap<String, Seen>>,
    /// When the next look is due; none while one is under way.
    timer: Option<Timer>,
}

/// What tells whether a session has changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Seen {
    size: u64,
    modified: u64,
    archived: bool,
    standing: Option<Standing>,
}

impl Claude {
    /// `_session/list/subscribe`.
    pub(in super::super) fn watch(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, cwd: String) {
        if self.projects(cx, ticket).is_none() {
            return;
        }
        if self.stored.watches.len() as u64 >= limits::CLAUDE_WATCHES {
            let failure = failure::too_many_watches();
            return cx.answer(Fact::Refused { ticket, failure });
        }
        let watch = cx.core.uuid();
        let begun = Watch {
            cwd,
            project: None,
            seen: None,
            timer: None,
        };
        self.stored.watches.insert(watch.clone(), begun);
        let watch_ = &*watch;
        cx.answer(Fact::Watched {
            ticket,
            watch: watch_,
        });
        self.look(cx, watch);
    }

    /// `_session/list/unsubscribe`: one that is not there is off already.
    pub(in super::super) fn unwatch(&mut self, cx: &mut Cx<'_, '_>, watch: &str) {
        if let Some(watch) = self.stored.watches.remove(watch)
            && let Some(timer) = watch.timer
        {
            cx.core.disarm(timer);
        }
    }

    /// The end.
    pub(in super::super) fn end_watches(&mut self, cx: &mut Cx<'_, '_>) {
        for (_, watch) in core::mem::take(&mut self.stored.watches) {
            if let Some(timer) = watch.timer {
                cx.core.disarm(timer);
            }
        }
    }

    /// It is time to look.
    pub(in super::super) fn look(&mut self, cx: &mut Cx<'_, '_>, id: String) {
        let Some(watch) = self.stored.watches.get_mut(&id) else {
            return;
        };
        watch.timer = None;
        let departure = match watch.project.clone() {
            Some(project) => FileDeparture::Entries(Root::HostState, project),
            None => FileDeparture::Stat(Root::Linked, watch.cwd.clone()),
        };
        let job = self.stored.id();
        cx.core.file(FileOwner::Claude(job), departure);
        self.stored.jobs.insert(job, Job::Look(id));
    }

    /// What is there now.
    pub(super) fn looked(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: &str,
        arrival: Option<FileArrival>,
    ) -> Now {
        let projects = self.stored.projects.clone().unwrap_or_default();
        if let Some(watch) = self.stored.watches.get_mut(id)
            && watch.project.is_none()
        {
            // What is gone keeps its name.
            let cwd = folder::real(&watch.cwd, arrival);
            let cwd = cwd.as_deref().unwrap_or(&watch.cwd);
            watch.project = Some(folder::project(&projects, cwd));
            self.look(cx, id.to_owned());
            return Now::Over;
        }
        let now = match arrival {
            Some(FileArrival::Entries(entries)) => Some(self.see(&entries)),
            // Nothing was stored there yet, or nothing is any more.
            Some(FileArrival::Refused(refusal)) if missing(&refusal) => Some(BTreeMap::new()),
            // What cannot be seen just now is not gone.
            _ => None,
        };
        let job = self.stored.id();
        let Some(watch) = self.stored.watches.get_mut(id) else {
            return Now::Over;
        };
        let due = Due::Look(id.to_owned());
        watch.timer = Some(cx.arm(due, limits::CLAUDE_LOOK_MS));
        let Some(now) = now else {
            return Now::Over;
        };
        let Some(before) = watch.seen.replace(now.clone()) else {
            return Now::Over;
        };
        let changed = now
            .iter()
            .filter(|(id, seen)| before.get(*id) != Some(seen));
        let changed: Vec<String> = changed.map(|(id, _)| id.clone()).collect();
        let removed = before.keys().filter(|id| !now.contains_key(*id));
        let removed: Vec<String> = removed.cloned().collect();
        if changed.is_empty() && removed.is_empty() {
            return Now::Over;
        }
        let query = IndexQuery {
            limit: None,
            shown: Shown::All,
            ids: Some(changed),
        };
        let to = To::Watch(id.to_owned(), removed);
        let what = (Some(watch.cwd.clone()), None, Some(query));
        let owner = FileOwner::Claude(job);
        if let Some(listing) = Listing::begin(cx, owner, projects, to, what) {
            self.stored.jobs.insert(job, Job::List(listing));
        }
        Now::Over
    }

    fn see(&self, entries: &[(String, FileFacts)]) -> BTreeMap<String, Seen> {
        let archive = folder::archive(entries);
        let sessions = entries
            .iter()
            .filter(|(_, facts)| facts.kind == FileKind::File);
        let sessions = sessions.filter_map(|(name, facts)| {
            let file = folder::session(name)?;
            let id = self.stored.moved.session(file)?;
            let seen = Seen {
                size: facts.size,
                modified: facts.modified,
                archived: archive.contains(file),
                standing: self.standing(id),
            };
            Some((id.to_owned(), seen))
        });
        sessions.collect()
    }

    /// What a session does, if it is open here.
    pub(super) fn standing(&self, id: &str) -> Option<Standing> {
        let session = self.sessions.values().find(|it| it.id() == id)?;
        session.standing()
    }
}
