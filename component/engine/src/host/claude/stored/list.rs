//! `session/list`: all sessions, or those of one folder, newest first, page by page.
//!
//! Reads names and dates of all files, and of those on the page their beginning and their
//! end. Invariants: one file is open at a time, and is closed; a session that cannot be
//! listed is left out, said, and spoils nothing.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::failure;
use super::folder;
use super::glance::Glance;
use super::moved::Moved;
use crate::effect::{FileDeparture, Level};
use crate::host::{Cx, Fact, Failure, IndexQuery, IndexRow, ListItem, ListPage, Standing};
use crate::input::{FileArrival, FileFacts, FileKind, FileRefusal, Handle, Root};
use crate::limits;
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;
use crate::stamp;

/// What is known of sessions besides their files.
pub struct Open<'a> {
    /// Which files are whose.
    pub moved: &'a Moved,
    /// What a session does that is open here, by its id.
    pub standing: &'a dyn Fn(&str) -> Option<Standing>,
    /// What its editor was told that it is called, likewise.
    pub called: &'a dyn Fn(&str) -> Option<String>,
}

/// Who wants the sessions.
#[derive(Debug, Serialize, Deserialize)]
pub enum To {
    /// A request.
    Ticket(Ticket),
    /// Who watches the index, and is told besides that these are gone.
    Watch(String, Vec<String>),
}

/// A listing under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listing {
    to: To,
    /// What of the index is wanted, if it is for one.
    query: Option<IndexQuery>,
    projects: String,
    /// As asked for, then as it really is.
    cwd: Option<String>,
    offset: u64,
    step: Step,
    /// Projects that are still to be looked through, the next one last.
    left: Vec<String>,
    files: Vec<Found>,
    sessions: Vec<ListItem>,
    left_out: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum Step {
    /// What the folder really is.
    Folder,
    /// Which projects there are.
    Projects,
    /// Which files one of them has.
    Files(String),
    /// A file of the page: opened, its beginning (of so many bytes), its end.
    Opening(u64),
    Head(u64, u64),
    Tail(u64, Box<Glance>),
}

/// A file of a session.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    path: String,
    id: String,
    modified: u64,
    archived: bool,
}

/// Whether there is more to do.
#[must_use]
pub enum Now {
    /// It waits for a file.
    Waits,
    /// It was answered.
    Over,
}

impl Listing {
    /// Begins; what cannot be listed is answered at once.
    pub fn begin(
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        projects: String,
        to: To,
        (cwd, cursor, query): (Option<String>, Option<&str>, Option<IndexQuery>),
    ) -> Option<Listing> {
        let Some(offset) = cursor.map_or(Some(0), offset) else {
            let failure = failure::cursor(cursor.unwrap_or_default());
            if let To::Ticket(ticket) = to {
                cx.answer(Fact::Refused { ticket, failure });
            }
            return None;
        };
        let mut listing = Listing {
            to,
            query,
            projects,
            cwd,
            offset,
            step: Step::Folder,
            left: Vec::new(),
            files: Vec::new(),
            sessions: Vec::new(),
            left_out: 0,
        };
        match &listing.cwd {
            Some(cwd) => {
                let stat = FileDeparture::Stat(Root::Linked, cwd.clone());
                cx.core.file(owner, stat);
            }
            None => {
                let entries = FileDeparture::Entries(Root::HostState, listing.projects.clone());
                cx.core.file(owner, entries);
                listing.step = Step::Projects;
            }
        }
        Some(listing)
    }

    /// An answer about a file; `None` when it trapped.
    pub fn arrival(
        &mut self,
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        handle: Handle,
        arrival: Option<FileArrival>,
        open: &Open<'_>,
    ) -> Now {
        match (core::mem::replace(&mut self.step, Step::Folder), arrival) {
            (Step::Folder, arrival) => {
                // What is gone keeps its name.
                let asked = self.cwd.take().unwrap_or_default();
                let cwd = folder::real(&asked, arrival).unwrap_or(asked);
                self.left = [folder::project(&self.projects, &cwd)].into();
                self.cwd = Some(cwd);
                self.next_project(cx, owner)
            }
            (Step::Projects, Some(FileArrival::Entries(entries))) => {
                self.left = folder::all(&self.projects, entries);
                self.next_project(cx, owner)
            }
            // Nothing was ever stored.
            (Step::Projects, Some(FileArrival::Refused(refusal))) if missing(&refusal) => {
                self.next_project(cx, owner)
            }
            (Step::Projects, Some(FileArrival::Refused(refusal))) => {
                self.refuse(cx, failure::storage(&refusal))
            }
            (Step::Projects, _) => self.refuse(cx, failure::unforeseen()),
            (Step::Files(project), Some(FileArrival::Entries(entries))) => {
                self.found(&project, &entries, open.moved);
                self.next_project(cx, owner)
            }
            (Step::Files(project), arrival) => {
                if !matches!(&arrival, Some(FileArrival::Refused(why)) if missing(why)) {
                    cx.core.note(
                        Level::Warn,
                        format!("the sessions in {project} cannot be listed"),
                    );
                }
                self.next_project(cx, owner)
            }
            (Step::Opening(at), Some(FileArrival::Facts(facts))) => {
                let asked = facts.size.min(limits::FILE_READ);
                read(cx, owner, handle, 0, asked);
                self.step = Step::Head(at, facts.size);
                Now::Waits
            }
            (Step::Head(at, size), Some(FileArrival::Data(_, data))) => {
                let mut glance = Glance::default();
                let whole = size <= limits::FILE_READ;
                glance.head(&data, whole);
                if whole {
                    return self.seen(cx, owner, handle, at, &glance, open);
                }
                let from = size - limits::FILE_READ;
                read(cx, owner, handle, from, limits::FILE_READ);
                self.step = Step::Tail(at, Box::new(glance));
                Now::Waits
            }
            (Step::Tail(at, mut glance), Some(FileArrival::Data(_, data))) => {
                glance.tail(&data);
                self.seen(cx, owner, handle, at, &glance, open)
            }
            (Step::Opening(at) | Step::Head(at, _) | Step::Tail(at, ..), _) => {
                cx.core.file_close(handle);
                self.left_out += 1;
                self.next_file(cx, owner, at + 1)
            }
        }
    }

    /// The end has come.
    pub fn refuse(&self, cx: &mut Cx<'_, '_>, failure: Failure) -> Now {
        if let To::Ticket(ticket) = self.to {
            cx.answer(Fact::Refused { ticket, failure });
        }
        Now::Over
    }

    /// The sessions of a project that are wanted.
    fn found(&mut self, project: &str, entries: &[(String, FileFacts)], moved: &Moved) {
        let archive = folder::archive(entries);
        for (name, facts) in entries {
            let file = folder::session(name).filter(|_| facts.kind == FileKind::File);
            let Some((file, id)) = file.and_then(|file| Some((file, moved.session(file)?))) else {
                continue;
            };
            let archived = archive.contains(file);
            let wanted = self.query.as_ref().is_none_or(|query| {
                let named = query
                    .ids
                    .as_ref()
                    .is_none_or(|ids| ids.iter().any(|it| it == id));
                named && query.shown.shows(archived)
            });
            if wanted {
                self.files.push(Found {
                    path: folder::file(project, file),
                    id: id.into(),
                    modified: facts.modified,
                    archived,
                });
            }
        }
    }

    fn next_project(&mut self, cx: &mut Cx<'_, '_>, owner: FileOwner) -> Now {
        if let Some(project) = self.left.pop() {
            let entries = FileDeparture::Entries(Root::HostState, project.clone());
            cx.core.file(owner, entries);
            self.step = Step::Files(project);
            return Now::Waits;
        }
        self.files
            .sort_by(|a, b| (b.modified, &a.id).cmp(&(a.modified, &b.id)));
        let offset = self.offset;
        self.next_file(cx, owner, offset)
    }

    fn next_file(&mut self, cx: &mut Cx<'_, '_>, owner: FileOwner, at: u64) -> Now {
        let limit = self.query.as_ref().and_then(|query| query.limit);
        let limit = limit.unwrap_or(limits::CLAUDE_LIST_PAGE);
        let end = self.offset.saturating_add(limit);
        let index = usize::try_from(at).unwrap_or(usize::MAX);
        match self.files.get(index).filter(|_| at < end) {
            Some(found) => {
                let open = FileDeparture::Open(Root::HostState, found.path.clone());
                cx.core.file(owner, open);
                self.step = Step::Opening(at);
                Now::Waits
            }
            None => {
                let more = index < self.files.len();
                self.answer(cx, more.then(|| format!("offset:{end}")))
            }
        }
    }

    /// A file was looked at.
    fn seen(
        &mut self,
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        handle: Handle,
        at: u64,
        glance: &Glance,
        open: &Open<'_>,
    ) -> Now {
        cx.core.file_close(handle);
        let index = usize::try_from(at).unwrap_or(usize::MAX);
        if let Some(found) = self.files.get(index) {
            match (glance.cwd.clone(), glance.title()) {
                (Some(cwd), Some(title)) if !glance.aside => {
                    // Two folders can have one name.
                    if self.cwd.as_ref().is_none_or(|asked| *asked == cwd) {
                        self.sessions.push(ListItem {
                            id: found.id.clone(),
                            cwd,
                            title: (open.called)(&found.id).unwrap_or(title),
                            updated_at: i64::try_from(found.modified).ok().and_then(stamp::iso),
                            row: self.query.as_ref().map(|_| IndexRow {
                                archived: found.archived,
                                last_prompt_at: glance.prompted_at.clone(),
                                model: glance.model.clone(),
                                forked_from: glance.forked_from.clone(),
                                standing: (open.standing)(&found.id),
                            }),
                        });
                    }
                }
                // Nothing was said yet, or nothing can be made out.
                _ => self.left_out += 1,
            }
        }
        self.next_file(cx, owner, at + 1)
    }

    fn answer(&mut self, cx: &mut Cx<'_, '_>, next_cursor: Option<String>) -> Now {
        if self.left_out > 0 {
            cx.core.note(
                Level::Info,
                format!("{} stored sessions could not be listed", self.left_out),
            );
        }
        let page = ListPage {
            sessions: core::mem::take(&mut self.sessions),
            next_cursor,
        };
        match &mut self.to {
            To::Ticket(ticket) => {
                let ticket = *ticket;
                cx.answer(Fact::Listed { ticket, page });
            }
            To::Watch(watch, removed) => {
                let removed = core::mem::take(removed);
                if !(page.sessions.is_empty() && removed.is_empty()) {
                    cx.answer(Fact::Changed {
                        watch,
                        sessions: page.sessions,
                        removed,
                    });
                }
            }
        }
        Now::Over
    }
}

/// Whether nothing is there, as against something that may not be seen.
pub fn missing(refusal: &FileRefusal) -> bool {
    matches!(refusal, FileRefusal::Error(name) if name == "ENOENT" || name == "ENOTDIR")
}

pub fn read(cx: &mut Cx<'_, '_>, owner: FileOwner, handle: Handle, from: u64, asked: u64) {
    // Never more than a read may ask for.
    let asked = u32::try_from(asked.min(limits::FILE_READ)).unwrap_or(0);
    cx.core
        .file_again(handle, owner, FileDeparture::Read(from, asked));
}

/// `offset:<n>`.
fn offset(cursor: &str) -> Option<u64> {
    let digits = cursor.strip_prefix("offset:")?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}
