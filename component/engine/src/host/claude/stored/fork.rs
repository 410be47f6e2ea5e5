//! `session/fork`: what was said in a stored session is copied under a new id, and a process
//! takes the copy up.
//!
//! Copied are the rows of the conversation, each with the new session's id and where it comes
//! from, as Claude Code's own forks have them; its bookkeeping is left out. The name gets
//! " (fork)". Where nothing was said yet, the fork is a session without a past, and has no file
//! either: the program takes up only what has a row of the conversation. Invariants: what is
//! kept is one row and one piece to write, however long the history is; half a copy does not
//! stay.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::Claude;
use super::super::failure;
use super::super::modes::BYPASS;
use super::super::session::Session;
use super::super::starting::Again;
use super::super::titles::Title;
use super::glance::Glance;
use super::list::{Now, missing, read};
use super::point::Search;
use super::rows::Row;
use super::{Job, folder};
use crate::effect::{FileDeparture, Level};
use crate::host::{Cx, Fact, Failure, ForkPoint, Setup};
use crate::input::{FileArrival, Handle, Root};
use crate::json::Object;
use crate::limits;
use crate::line::{Line, Lines};
use crate::object;
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;

/// What a fork's name ends in.
const MARK: &str = " (fork)";

/// A fork under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fork {
    ticket: Ticket,
    projects: String,
    source: String,
    from: From,
    setup: Setup,
    point: Option<ForkPoint>,
    step: Step,
}

/// What is known of the source besides its files.
#[derive(Debug, Serialize, Deserialize)]
pub struct From {
    /// The id of the file in which it goes on.
    pub file: String,
    /// The id of the one where its conversation is as long as that has nothing of it.
    pub before: Option<String>,
    /// It is open here, and need not have a file yet.
    pub open: bool,
    /// How permissions are asked for in it, if it is open.
    pub mode: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Step {
    /// What the folder really is.
    Folder,
    /// Whether the session is there.
    File(String),
    /// Where the message is that the copy is to end with.
    Searching(Reading, Search),
    /// Rows are read and written.
    Copying(Reading, Copy),
}

/// A file that is read from its beginning to where it ended when it was opened.
#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    project: String,
    handle: Handle,
    size: u64,
    at: u64,
    lines: Lines,
}

/// The copy.
#[derive(Debug, Serialize, Deserialize)]
struct Copy {
    id: String,
    /// Rows that are still to be read; all of them if nothing says otherwise.
    rows: Option<u64>,
    glance: Glance,
    /// What is to be written.
    #[serde(with = "crate::snapshot::bytes")]
    out: Vec<u8>,
    /// Whether there is a file.
    made: bool,
    /// Whether the name is written, or on its way.
    named: bool,
    /// The name, if there is one.
    title: Option<String>,
    damaged: u64,
}

impl Fork {
    /// Begins.
    pub fn begin(
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        projects: String,
        ticket: Ticket,
        (source, setup, point): (String, Setup, Option<ForkPoint>),
        from: From,
    ) -> Option<Fork> {
        if !folder::is_session(&source) {
            let failure = failure::unknown(&source);
            cx.answer(Fact::Refused { ticket, failure });
            return None;
        }
        let stat = FileDeparture::Stat(Root::Linked, setup.cwd.clone());
        cx.core.file(owner, stat);
        Some(Fork {
            ticket,
            projects,
            source,
            from,
            setup,
            point,
            step: Step::Folder,
        })
    }

    /// Looks into the file of the source.
    fn open(&mut self, cx: &mut Cx<'_, '_>, owner: FileOwner, project: String) {
        let file = folder::file(&project, &self.from.file);
        let open = FileDeparture::Open(Root::HostState, file);
        cx.core.file(owner, open);
        self.step = Step::File(project);
    }

    /// What is wanted is not in the file: whether there is another one to look into.
    fn goes_back(&mut self) -> bool {
        let before = self.from.before.take();
        let found = before.is_some();
        self.from.file = before.unwrap_or_default();
        found
    }

    /// The end has come, or it came to nothing.
    pub fn refuse(self, cx: &mut Cx<'_, '_>, owner: FileOwner, failure: Failure) -> Now {
        match self.step {
            Step::Searching(reading, _) => cx.core.file_close(reading.handle),
            Step::Copying(reading, copy) => {
                cx.core.file_close(reading.handle);
                if copy.made {
                    let half = FileDeparture::Remove(copy.file(&reading));
                    cx.core.file(owner, half);
                }
            }
            Step::Folder | Step::File(_) => {}
        }
        let ticket = self.ticket;
        cx.answer(Fact::Refused { ticket, failure });
        Now::Over
    }

    /// The file is open, and so many bytes long.
    fn opened(&mut self, cx: &mut Cx<'_, '_>, project: String, handle: Handle, size: u64) {
        let reading = Reading {
            project,
            handle,
            size,
            at: 0,
            lines: Lines::default(),
        };
        self.step = match self.point.clone() {
            Some(point) => Step::Searching(reading, Search::new(point)),
            None => Step::Copying(reading, Copy::new(cx, None)),
        };
    }
}

impl Reading {
    /// Asks for the next piece; false if there is none.
    fn next(&self, cx: &mut Cx<'_, '_>, owner: &FileOwner) -> bool {
        let left = self.size.saturating_sub(self.at);
        if left > 0 {
            let asked = left.min(limits::FILE_READ);
            read(cx, owner.clone(), self.handle, self.at, asked);
        }
        left > 0
    }

    /// A piece came: its rows, damaged ones as `None`. A last row without an end is not
    /// complete.
    fn rows(&mut self, data: &[u8], mut each: impl FnMut(Option<(&[u8], Row<'_>)>)) {
        self.at += data.len() as u64;
        if data.is_empty() {
            // Shorter than it was: somebody else changes it.
            self.at = self.size;
        }
        let mut lines = core::mem::take(&mut self.lines);
        lines.push(data, limits::CLAUDE_LINE, |line| match line {
            Line::Whole(line) => each(Row::read(line).map(|row| (line, row))),
            Line::TooLong => each(None),
        });
        self.lines = lines;
    }
}

impl Copy {
    fn new(cx: &mut Cx<'_, '_>, rows: Option<u64>) -> Copy {
        Copy {
            id: cx.core.uuid(),
            rows,
            glance: Glance::default(),
            out: Vec::new(),
            made: false,
            named: false,
            title: None,
            damaged: 0,
        }
    }

    /// Whether nothing of the conversation was found.
    fn is_empty(&self) -> bool {
        self.out.is_empty() && !self.made
    }

    fn file(&self, reading: &Reading) -> String {
        folder::file(&reading.project, &self.id)
    }

    fn row(&mut self, source: &str, row: Option<(&[u8], Row<'_>)>) {
        match &mut self.rows {
            Some(0) => return,
            Some(left) => *left -= 1,
            None => {}
        }
        let Some((line, row)) = row else {
            self.damaged += 1;
            return;
        };
        self.glance.see(&row);
        let Some(uuid) = row.uuid.as_deref().filter(|_| is_said(&row.kind)) else {
            return;
        };
        let Ok(mut copy) = serde_json::from_slice::<Object>(line) else {
            self.damaged += 1;
            return;
        };
        copy.set("sessionId", &self.id);
        let from = object! { "sessionId": source, "messageUuid": uuid };
        copy.set("forkedFrom", &from);
        self.write(&copy);
    }

    fn write(&mut self, row: &Object) {
        // It was read as JSON, or is made of texts: writing it cannot fail.
        let line = serde_json::to_vec(row).unwrap_or_default();
        self.out.extend_from_slice(&line);
        self.out.push(b'\n');
    }

    /// The last row: what the session is called. Alone it would be no session.
    fn name(&mut self) {
        self.named = true;
        let Some(title) = self.glance.title().filter(|_| !self.is_empty()) else {
            return;
        };
        let most = limits::SESSION_TITLE as usize - MARK.len();
        let mut title: String = title.chars().take(most).collect();
        title.push_str(MARK);
        let row = object! {
            "type": "custom-title", "customTitle": title, "sessionId": self.id,
        };
        self.write(&row);
        self.title = Some(title);
    }

    /// Writes a piece.
    fn put(&mut self, cx: &mut Cx<'_, '_>, owner: FileOwner, path: String) {
        let most = self.out.len().min(limits::FILE_READ as usize);
        let rest = self.out.split_off(most);
        let piece = core::mem::replace(&mut self.out, rest);
        let departure = if core::mem::replace(&mut self.made, true) {
            FileDeparture::Append(path, piece)
        } else {
            FileDeparture::Create(path, piece)
        };
        cx.core.file(owner, departure);
    }
}

/// Whether rows of this kind are part of the conversation.
fn is_said(kind: &str) -> bool {
    matches!(kind, "user" | "assistant" | "system" | "attachment")
}

impl Claude {
    /// An answer about a file of a fork; `None` when it trapped.
    pub(super) fn fork_file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        job: u64,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) -> Now {
        let Some(Job::Fork(mut fork)) = self.stored.jobs.remove(&job) else {
            return Now::Over;
        };
        let owner = FileOwner::Claude(job);
        match (core::mem::replace(&mut fork.step, Step::Folder), arrival) {
            (Step::Folder, arrival) => {
                let Some(cwd) = folder::real(&fork.setup.cwd, arrival) else {
                    let failure = failure::no_folder(&fork.setup.cwd);
                    return fork.refuse(cx, owner, failure);
                };
                let project = folder::project(&fork.projects, &cwd);
                fork.open(cx, owner, project);
            }
            (Step::File(project), Some(FileArrival::Facts(facts))) => {
                fork.opened(cx, project, handle, facts.size);
                return self.fork_on(cx, job, fork);
            }
            (Step::File(project), Some(FileArrival::Refused(refusal))) if missing(&refusal) => {
                if !fork.goes_back() {
                    return self.fork_nothing(cx, owner, fork);
                }
                fork.open(cx, owner, project);
            }
            (Step::Searching(mut reading, mut search), Some(FileArrival::Data(_, data))) => {
                reading.rows(&data, |row| search.row(row.as_ref().map(|(_, row)| row)));
                fork.step = Step::Searching(reading, search);
                return self.fork_on(cx, job, fork);
            }
            (Step::Copying(mut reading, mut copy), Some(FileArrival::Data(_, data))) => {
                reading.rows(&data, |row| copy.row(&fork.source, row));
                fork.step = Step::Copying(reading, copy);
                return self.fork_on(cx, job, fork);
            }
            (step @ Step::Copying(..), Some(FileArrival::Done)) => {
                fork.step = step;
                return self.fork_on(cx, job, fork);
            }
            (step, Some(FileArrival::Refused(refusal))) => {
                fork.step = step;
                return fork.refuse(cx, owner, failure::storage(&refusal));
            }
            (step, _) => {
                fork.step = step;
                return fork.refuse(cx, owner, failure::unforeseen());
            }
        }
        self.stored.jobs.insert(job, Job::Fork(fork));
        Now::Waits
    }

    /// The next piece is read or written, or the copy is complete.
    fn fork_on(&mut self, cx: &mut Cx<'_, '_>, job: u64, mut fork: Fork) -> Now {
        let owner = FileOwner::Claude(job);
        match core::mem::replace(&mut fork.step, Step::Folder) {
            Step::Searching(reading, search) => {
                if reading.next(cx, &owner) {
                    fork.step = Step::Searching(reading, search);
                } else {
                    let Some(rows) = search.end() else {
                        return self.fork_back(cx, job, fork, &reading);
                    };
                    let again = Reading {
                        at: 0,
                        lines: Lines::default(),
                        ..reading
                    };
                    fork.step = Step::Copying(again, Copy::new(cx, Some(rows)));
                    return self.fork_on(cx, job, fork);
                }
            }
            Step::Copying(reading, mut copy) => {
                let full = copy.out.len() as u64 >= limits::FILE_READ;
                let more = copy.rows != Some(0);
                if full || !(more && reading.next(cx, &owner)) {
                    if !full && !core::mem::replace(&mut copy.named, true) {
                        copy.name();
                    }
                    if copy.is_empty() {
                        return self.fork_back(cx, job, fork, &reading);
                    }
                    if copy.out.is_empty() {
                        cx.core.file_close(reading.handle);
                        return self.forked(cx, fork, &copy);
                    }
                    let path = copy.file(&reading);
                    copy.put(cx, owner, path);
                }
                fork.step = Step::Copying(reading, copy);
            }
            step => fork.step = step,
        }
        self.stored.jobs.insert(job, Job::Fork(fork));
        Now::Waits
    }

    /// Nothing of what is wanted is in the file.
    fn fork_back(
        &mut self,
        cx: &mut Cx<'_, '_>,
        job: u64,
        mut fork: Fork,
        reading: &Reading,
    ) -> Now {
        let owner = FileOwner::Claude(job);
        cx.core.file_close(reading.handle);
        if !fork.goes_back() {
            // There is a file: so there is a session.
            fork.from.open = true;
            return self.fork_nothing(cx, owner, fork);
        }
        fork.open(cx, owner, reading.project.clone());
        self.stored.jobs.insert(job, Job::Fork(fork));
        Now::Waits
    }

    /// Nothing of what is wanted is stored.
    fn fork_nothing(&mut self, cx: &mut Cx<'_, '_>, owner: FileOwner, fork: Fork) -> Now {
        let failure = match &fork.point {
            _ if !fork.from.open => failure::unknown(&fork.source),
            Some(_) => failure::no_message(fork.point.as_ref()),
            None => {
                let copy = Copy::new(cx, None);
                return self.forked(cx, fork, &copy);
            }
        };
        fork.refuse(cx, owner, failure)
    }

    /// The copy is complete: a process takes it up, and answers.
    fn forked(&mut self, cx: &mut Cx<'_, '_>, fork: Fork, copy: &Copy) -> Now {
        if copy.damaged > 0 {
            cx.core.note(
                Level::Warn,
                format!("{} damaged rows were not copied into a fork", copy.damaged),
            );
        }
        let mode = fork.from.mode.or(copy.glance.mode.clone());
        let again = Again {
            id: copy.id.clone(),
            // Nothing was said in the source: the process makes a session of its own.
            resume: copy.made,
            mode: mode.filter(|mode| mode != BYPASS),
            own: None,
            forked: None,
        };
        let (program, environment) = (&self.program, &self.environment);
        let mut session =
            Session::start_again(cx, program, environment, fork.ticket, fork.setup, again);
        session.again = false;
        session.title = Title::stored(copy.title.clone());
        // As a name of the user's it stands there.
        session.remembered.named = copy.title.is_some();
        self.sessions.insert(session.channel(), session);
        Now::Over
    }
}
