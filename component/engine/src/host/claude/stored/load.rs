//! `session/load` and `session/resume`: the file is looked for, the process starts with it,
//! and meanwhile the history is shown; the answer comes when both are done.
//!
//! A session that is live here keeps its process, unless it is to work otherwise. Invariants:
//! no process is started for a session that is not there; what the process says is not shown
//! among the past.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::modes::BYPASS;
use super::super::session::Session;
use super::super::starting::Again;
use super::super::titles::Title;
use super::super::{Claude, failure};
use super::glance::Glance;
use super::list::{Now, missing, read};
use super::replay::Replay;
use super::tell::Telling;
use super::{Job, folder};
use crate::effect::FileDeparture;
use crate::host::more::More;
use crate::host::{Cx, Fact, Failure, SessionKey, Setup};
use crate::input::{Channel, FileArrival, Handle, Root};
use crate::limits;
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;

/// A load under way.
#[derive(Debug, Serialize, Deserialize)]
pub struct Load {
    ticket: Ticket,
    key: SessionKey,
    id: String,
    /// The id of the file in which it goes on.
    file: String,
    setup: Setup,
    replay: bool,
    projects: String,
    /// The session was the editor's before.
    owned: bool,
    step: Step,
    reading: Option<Box<Replay>>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Step {
    /// What the folder really is.
    Folder,
    /// Whether the session is there.
    File { project: String },
    /// How it was set, and what it is called: the beginning of its file, of so many bytes,
    /// says.
    Head { project: String, size: u64 },
    /// And its end.
    End {
        project: String,
        size: u64,
        glance: Box<Glance>,
    },
    /// The process starts, or is there already (`live`); the history is shown.
    Running { channel: Channel, live: bool },
}

/// What a load found.
struct Found {
    /// The file, if the session has one.
    file: Option<(Handle, u64, String)>,
    before: Before,
}

/// How the session was.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Before {
    /// Whether something was said in it.
    stored: bool,
    /// How permissions were asked for.
    mode: Option<String>,
    /// What it was called.
    title: Option<String>,
    /// Whether the user named it.
    named: bool,
}

impl Found {
    fn file(handle: Handle, size: u64, project: String, glance: Glance) -> Found {
        Found {
            file: Some((handle, size, project)),
            before: Before {
                stored: true,
                title: glance.name(),
                named: glance.is_named(),
                mode: glance.mode.filter(|mode| mode != BYPASS),
            },
        }
    }
}

impl Load {
    /// The end has come, or it came to nothing.
    pub fn refuse(mut self, cx: &mut Cx<'_, '_>, failure: Failure) -> Now {
        self.close(cx);
        self.past_over(cx);
        let ticket = self.ticket;
        cx.answer(Fact::Refused { ticket, failure });
        Now::Over
    }

    /// The past was told, or there is none: some editors want to know.
    fn past_over(&self, cx: &mut Cx<'_, '_>) {
        if self.replay && self.setup.client.extras.replay_end {
            let _heard = cx.tell(self.key, Fact::More(More::PastEnd));
        }
    }

    /// The session, if this is its file.
    pub fn of(&self, file: &str) -> Option<&str> {
        (self.file == file || self.id == file).then_some(&self.id)
    }

    fn close(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(reading) = &mut self.reading {
            reading.close(cx);
        }
    }
}

impl Claude {
    /// Begins.
    pub(in super::super) fn load(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        key: SessionKey,
        id: String,
        setup: Setup,
        replay: bool,
    ) {
        let Some(projects) = self.projects(cx, ticket) else {
            return;
        };
        if !folder::is_session(&id) {
            let failure = failure::unknown(&id);
            return cx.answer(Fact::Refused { ticket, failure });
        }
        let file = self.stored_as(&id);
        let holder = self.holder(&id).filter(|it| *it != id);
        if let Some(holder) = holder {
            let failure = failure::open_already(holder);
            return cx.answer(Fact::Refused { ticket, failure });
        }
        let job = self.stored.id();
        let stat = FileDeparture::Stat(Root::Linked, setup.cwd.clone());
        cx.core.file(FileOwner::Claude(job), stat);
        let load = Load {
            ticket,
            key,
            id,
            file,
            setup,
            replay,
            projects,
            owned: self.keys.contains_key(&key),
            step: Step::Folder,
            reading: None,
        };
        self.stored.jobs.insert(job, Job::Load(load));
    }

    /// An answer about a file of a load; `None` when it trapped.
    pub(super) fn load_file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        job: u64,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) -> Now {
        let Some(Job::Load(mut load)) = self.stored.jobs.remove(&job) else {
            return Now::Over;
        };
        if let Some(reading) = &mut load.reading {
            reading.arrival(cx, handle, arrival);
            self.stored.jobs.insert(job, Job::Load(load));
            return Now::Waits;
        }
        let owner = FileOwner::Claude(job);
        match (core::mem::replace(&mut load.step, Step::Folder), arrival) {
            (Step::Folder, arrival) => {
                let Some(cwd) = folder::real(&load.setup.cwd, arrival) else {
                    let failure = failure::no_folder(&load.setup.cwd);
                    return load.refuse(cx, failure);
                };
                let project = folder::project(&load.projects, &cwd);
                let file = folder::file(&project, &load.file);
                cx.core
                    .file(owner, FileDeparture::Open(Root::HostState, file));
                load.step = Step::File { project };
            }
            (Step::File { project }, Some(FileArrival::Facts(facts))) => {
                let size = facts.size;
                read(cx, owner, handle, 0, size.min(limits::FILE_READ));
                load.step = Step::Head { project, size };
            }
            (Step::File { .. }, Some(FileArrival::Refused(refusal))) if missing(&refusal) => {
                let before = Before::default();
                let found = Found { file: None, before };
                return self.found(cx, job, load, found);
            }
            (Step::Head { project, size }, Some(FileArrival::Data(_, data))) => {
                let mut glance = Box::new(Glance::default());
                let whole = size <= limits::FILE_READ;
                glance.head(&data, whole);
                if whole {
                    let found = Found::file(handle, size, project, *glance);
                    return self.found(cx, job, load, found);
                }
                read(
                    cx,
                    owner,
                    handle,
                    size - limits::FILE_READ,
                    limits::FILE_READ,
                );
                load.step = Step::End {
                    project,
                    size,
                    glance,
                };
            }
            (
                Step::End {
                    project,
                    size,
                    mut glance,
                },
                Some(FileArrival::Data(_, data)),
            ) => {
                glance.tail(&data);
                let found = Found::file(handle, size, project, *glance);
                return self.found(cx, job, load, found);
            }
            (Step::Head { .. } | Step::End { .. }, _) => {
                cx.core.file_close(handle);
                return load.refuse(cx, failure::unforeseen());
            }
            (Step::File { .. }, Some(FileArrival::Refused(refusal))) => {
                return load.refuse(cx, failure::storage(&refusal));
            }
            _ => {
                cx.core.file_close(handle);
                return load.refuse(cx, failure::unforeseen());
            }
        }
        self.stored.jobs.insert(job, Job::Load(load));
        Now::Waits
    }

    /// What is to be shown is known: the process is next.
    fn found(&mut self, cx: &mut Cx<'_, '_>, job: u64, mut load: Load, found: Found) -> Now {
        let old = self.keys.get(&load.key).copied();
        let session = old.and_then(|channel| self.sessions.get_mut(&channel));
        if session.is_none() && found.file.is_none() {
            let failure = failure::unknown(&load.id);
            return load.refuse(cx, failure);
        }
        let before = found.before;
        match found.file {
            Some((handle, size, project)) if load.replay => {
                let telling = Telling::new(&load.setup, &load.id);
                let owner = FileOwner::Claude(job);
                let file = (handle, size);
                let reading = Replay::new(load.key, owner, &project, &load.file, file, telling);
                load.reading = Some(reading.into());
            }
            Some((handle, ..)) => cx.core.file_close(handle),
            None => {}
        }
        match (session, old) {
            (Some(session), Some(channel)) if session.serves(&load.setup) => {
                session.asked_anew(&load.setup);
                if let Some(reading) = &mut load.reading {
                    session.read(cx, false);
                    reading.go_on(cx);
                }
                let live = true;
                load.step = Step::Running { channel, live };
            }
            (Some(session), _) => {
                let stored = before.stored;
                let mut heir = session.otherwise(cx, load.ticket, &load.setup, stored);
                heir.before = heir.before.take().or(before.mode);
                if before.title.is_some() {
                    heir.title = Title::stored(before.title);
                    heir.remembered.named = before.named;
                }
                let channel = heir.channel();
                self.succeed(heir);
                if let Some(reading) = &mut load.reading {
                    reading.go_on(cx);
                }
                load.step = Step::Running {
                    channel,
                    live: false,
                };
            }
            _ => self.start_load(cx, &mut load, before),
        }
        self.stored.jobs.insert(job, Job::Load(load));
        Now::Waits
    }

    fn start_load(&mut self, cx: &mut Cx<'_, '_>, load: &mut Load, before: Before) {
        let again = Again {
            id: load.id.clone(),
            resume: before.stored,
            mode: before.mode,
            own: Some(load.file.clone()).filter(|file| *file != load.id),
            forked: None,
        };
        let setup = load.setup.clone();
        let program = &self.program;
        let mut session =
            Session::start_again(cx, program, &self.environment, load.ticket, setup, again);
        session.known_as(load.key);
        session.title = Title::stored(before.title);
        session.remembered.named = before.named;
        let channel = session.channel();
        self.keys.insert(load.key, channel);
        self.sessions.insert(channel, session);
        if let Some(reading) = &mut load.reading {
            reading.go_on(cx);
        }
        load.step = Step::Running {
            channel,
            live: false,
        };
    }

    /// What the loads waited for may be there, or gone.
    pub(in super::super) fn settle_loads(&mut self, cx: &mut Cx<'_, '_>) {
        let waits = |job: &Job| {
            matches!(job, Job::Load(Load { step, .. })
                if matches!(step, Step::Running { .. }))
        };
        let jobs = self.stored.jobs.iter().filter(|(_, job)| waits(job));
        for job in jobs.map(|(job, _)| *job).collect::<Vec<_>>() {
            if let Some(Job::Load(load)) = self.stored.jobs.remove(&job) {
                self.settle_load(cx, job, load);
            }
        }
    }

    fn settle_load(&mut self, cx: &mut Cx<'_, '_>, job: u64, mut load: Load) {
        if let Step::Running { channel, live } = &mut load.step {
            // It may have been replaced since.
            let channel = self.keys.get(&load.key).unwrap_or(channel);
            let session = self.sessions.get_mut(channel);
            let why = session.as_ref().and_then(|it| it.why.clone());
            let Some(session) = session.filter(|it| !it.leaves()) else {
                // Where the process failed, it has told why.
                let _over = load.refuse(cx, why.unwrap_or_else(failure::ended));
                return;
            };
            let told = load.reading.as_ref().is_none_or(|it| it.over());
            if told && session.is_live() {
                if let Some(mut reading) = load.reading.take() {
                    if *live {
                        let runs = |id: &str| session.is_running(id);
                        reading.telling.children.over(&runs, &mut |fact| {
                            let _heard = cx.tell(load.key, fact);
                        });
                        session.read(cx, true);
                    } else {
                        reading.telling.over(&mut |fact| {
                            let _heard = cx.tell(load.key, fact);
                        });
                        let Telling {
                            cards, children, ..
                        } = reading.telling;
                        session.remembers(cards, children.into_all());
                    }
                }
                load.past_over(cx);
                return session.loaded(cx, load.ticket);
            }
        }
        self.stored.jobs.insert(job, Job::Load(load));
    }

    /// Whether a load of this session is under way.
    pub(in super::super) fn is_loading(&self, key: SessionKey) -> bool {
        let of = |job: &Job| matches!(job, Job::Load(load) if load.key == key);
        self.stored.jobs.values().any(of)
    }

    /// Nobody waits for the load of this session any more. A process that was started for it
    /// alone ends.
    pub(in super::super) fn abandon(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let of = |job: &Job| matches!(job, Job::Load(load) if load.key == key);
        let job = self.stored.jobs.iter().find(|(_, job)| of(job));
        let Some(job) = job.map(|(job, _)| *job) else {
            return;
        };
        let Some(Job::Load(mut load)) = self.stored.jobs.remove(&job) else {
            return;
        };
        load.close(cx);
        load.reading = None;
        if let Step::Running { channel, live } = load.step {
            let channel = self.keys.get(&load.key).copied().unwrap_or(channel);
            match self.sessions.get_mut(&channel) {
                Some(session) if live => session.read(cx, true),
                Some(session) if !load.owned => {
                    // Its end is to be heard, even if the editor was slow.
                    session.read(cx, true);
                    session.close(cx, None);
                }
                _ => {}
            }
        }
    }

    /// The editor is slow, or reads again: true if the process is to go on with it.
    pub(in super::super) fn pace_load(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        on: bool,
    ) -> bool {
        for job in self.stored.jobs.values_mut() {
            if let Job::Load(load) = job
                && load.key == key
                && let Some(reading) = &mut load.reading
            {
                match on {
                    true => reading.go_on(cx),
                    false => reading.pause(),
                }
                // It says nothing among the past.
                let live = matches!(load.step, Step::Running { live: true, .. });
                return !(on && live && !reading.over());
            }
        }
        true
    }
}
