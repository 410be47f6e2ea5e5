//! Claude Code: one `claude` process a session, stream-json on its stdin and stdout.
//!
//! This file routes; each concern has a file: the process and its end (`session`,
//! `starting`, `spawn`, `leaving`),
//! what it says (`frames`, `wire`), our requests to it and its requests to us (`control`),
//! the queue of turns and the cancel window (`turns`), streamed text against its whole copy
//! (`text`), tool calls (`cards`, `tools`, `tooling`), what a prompt becomes (`prompt`), figures (`usage`), smaller
//! contexts (`compaction`), sessions of before (`stored`), and what only some editors are
//! shown (`more`, `mcp_auth`, `records`, `goals`, `reports`, `previews`, `recommended`); one
//! process in the place of another (`replace`, for `anew`, `restart` and loads); beside the
//! sessions, who is signed in and where models come from (`errands`, `account`, `route`, `side`,
//! `gateway`).
//!
//! Invariant: whatever the process sends, or fails to send, every prompt is answered once.

mod account;
mod anew;
mod asking;
pub mod cards;
mod charset;
mod children;
mod choices;
mod commands;
mod compaction;
mod configure;
mod control;
mod create;
mod dispatched;
mod environment;
mod errands;
mod extras;
mod failure;
mod fallback;
mod frames;
mod gateway;
mod goals;
mod greeting;
mod idle;
mod labels;
mod leaving;
mod mcp_auth;
mod models;
mod modes;
mod more;
mod options;
mod output;
mod overviews;
mod permissions;
mod previews;
mod prompt;
mod questions;
mod recommended;
mod records;
mod replace;
mod reports;
mod restart;
mod route;
mod session;
mod settings;
mod side;
mod spawn;
mod standing;
mod starting;
mod steering;
mod stored;
mod tasking;
mod tasks;
mod text;
mod titles;
mod tooling;
mod tools;
pub mod turns;
mod updates;
mod usage;
mod wire;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::config::HostChoice;
use crate::host::{Command, Cx, Fact, Habits, Outcome, SessionKey, SignIn};
use crate::input::{Channel, FileArrival, Handle, HostArrival};
use crate::limits;

use environment::Environment;
use gateway::Inquiry;
use session::Session;
use side::Side;
use stored::Stored;

/// Under which name the Host's own facts stand in `_meta`.
pub const EXTENSION: &str = "claudeCode";

/// The version of Claude Code whose wire was recorded; older and newer ones work as far as
/// they say what they can.
pub const RECORDED: &str = "2.1.318";

/// The version of the SDK that speaks this wire, as the program is told.
pub const RECORDED_SDK: &str = "0.3.318";

/// What the sessions have to know.
pub const HABITS: Habits = Habits {
    queues: true,
    blocks: true,
    mcp: true,
    folders: true,
    history: true,
    switches: true,
    terse: true,
    instructed: true,
    errands: true,
    closes_again: true,
    extras: true,
};

/// What the module waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Due {
    /// A new process greets in time.
    Greeting(Channel),
    /// A cancelled turn ends in time.
    Backstop { channel: Channel, turn: String },
    /// The overview that this turn asks for is made in time.
    Overview { channel: Channel, turn: String },
    /// A setting is answered in time.
    Setting(Channel),
    /// What a command in the background prints is to be looked at.
    Output { channel: Channel, task: String },
    /// Nobody worked for long.
    Compact(Channel),
    /// A process that was asked to end does so.
    Gone(Channel),
    /// A process beside the sessions is done.
    Side(Channel),
    /// The process that knows a gateway's models is asked again, or ended.
    Inquiry(Channel),
    /// A watched index is looked at.
    Look(String),
    /// Whether the user signed in to an MCP server is to be looked at.
    SignIn(Channel),
    /// The files that a prompt changed are told in time.
    Files { channel: Channel, turn: String },
}

/// The module.
#[derive(Debug, Serialize, Deserialize)]
pub struct Claude {
    program: String,
    environment: Environment,
    sessions: BTreeMap<Channel, Session>,
    keys: BTreeMap<SessionKey, Channel>,
    stored: Stored,
    /// Processes beside the sessions.
    sides: BTreeMap<Channel, Side>,
    /// The process that knows which models a gateway has.
    inquiry: Option<Inquiry>,
    /// Whether a session may go another way to the models than it should.
    astray: bool,
    ending: bool,
}

impl Claude {
    /// `choice` names the program on the embedder's table.
    pub fn new(choice: &HostChoice) -> Claude {
        let environment = Environment::read(&choice.environment);
        Claude {
            program: choice.name.clone(),
            stored: Stored::new(&environment),
            environment,
            sessions: BTreeMap::new(),
            keys: BTreeMap::new(),
            sides: BTreeMap::new(),
            inquiry: None,
            astray: false,
            ending: false,
        }
    }

    /// Whether this adapter can do what the embedder's environment wants.
    ///
    /// # Errors
    /// A sentence that says what it cannot.
    pub fn checked(choice: &HostChoice) -> Result<(), String> {
        let environment = Environment::read(&choice.environment);
        match environment.value("CLAUDE_AGENT_ACP_PROTOCOL") {
            None | Some("auto" | "v1") => Ok(()),
            Some(value) => Err(failure::protocol(value)),
        }
    }

    /// The ways to sign in.
    pub fn sign_ins(&self) -> Vec<SignIn> {
        errands::sign_ins(&self.environment)
    }

    /// A command of the sessions.
    pub fn command(&mut self, cx: &mut Cx<'_, '_>, command: Command) {
        match command {
            Command::Create { ticket, setup } => {
                self.create(cx, ticket, setup);
            }
            Command::Opened {
                session,
                session_id,
            } => self.opened(session, &session_id),
            Command::Start {
                session,
                turn_id,
                content,
                ..
            } if self.keys.contains_key(&session) => {
                self.with(cx, session, |it, cx| it.prompt(cx, turn_id, &content));
            }
            Command::Start {
                session, turn_id, ..
            } => {
                let outcome = Outcome::Broken {
                    failure: failure::ended(),
                };
                let turn_id = &turn_id;
                let _fine = cx.tell(session, Fact::Settled { turn_id, outcome });
            }
            Command::Stop { session } => self.with(cx, session, Session::cancel),
            Command::Answer {
                session,
                dialog,
                reply,
            } => self.with(cx, session, |it, cx| it.replied(cx, &dialog, &reply)),
            Command::Close {
                session, ticket, ..
            } => {
                self.abandon(cx, session);
                if !self.keys.contains_key(&session) {
                    let closed = Fact::Closed {
                        ticket,
                        failure: None,
                    };
                    let _fine = cx.tell(session, closed);
                    return;
                }
                self.with(cx, session, |it, cx| it.close(cx, Some(ticket)));
            }
            Command::Pause { session } => self.pace(cx, session, false),
            Command::Resume { session } => self.pace(cx, session, true),
            Command::Shutdown => self.shut_down(cx),
            Command::Configure {
                session,
                ticket,
                setting,
                ..
            } => self.with(cx, session, |it, cx| it.configure(cx, ticket, setting)),
            Command::Steer {
                session,
                ticket,
                content,
            } => self.with(cx, session, |it, cx| it.steer(cx, ticket, content)),
            Command::List {
                ticket,
                cwd,
                cursor,
            } => self.list(cx, ticket, (cwd, cursor.as_deref(), None)),
            Command::Load {
                session,
                session_id,
                ticket,
                setup,
                replay,
            } => self.load(cx, ticket, session, session_id, setup, replay),
            Command::Delete { ticket, session_id } => self.delete(cx, ticket, session_id),
            Command::Errand { ticket, errand } => self.errand(cx, ticket, errand),
            Command::Abandon { session } => self.abandon(cx, session),
            Command::StopSubagent { id } => {
                let mut sessions = self.sessions.values_mut();
                let _there = sessions.any(|session| session.stop_subagent(cx, &id));
            }
            Command::StopTask {
                session,
                ticket,
                task,
            } => match self.keys.contains_key(&session) {
                true => self.with(cx, session, |it, cx| it.stop_task(cx, ticket, &task)),
                false => cx.answer(Fact::TaskStopped {
                    ticket,
                    stopped: false,
                }),
            },
            Command::StopForeign { .. } => {}
        }
        self.sweep(cx);
    }

    /// Something came on a channel.
    pub fn arrival(&mut self, cx: &mut Cx<'_, '_>, channel: Channel, arrival: HostArrival) {
        if self.side_arrival(cx, channel, &arrival) || self.inquiry_arrival(cx, channel, &arrival) {
        } else if let HostArrival::Bytes(bytes) = &arrival {
            self.lines(cx, channel, bytes);
        } else if let Some(session) = self.sessions.get_mut(&channel) {
            session.arrival(cx, arrival);
        }
        self.sweep(cx);
    }

    /// What a process says, line by line: what one of them changes for the others is done
    /// before the next, so that it makes no difference in how many pieces they come (rule R9).
    fn lines(&mut self, cx: &mut Cx<'_, '_>, channel: Channel, bytes: &[u8]) {
        let Some(session) = self.sessions.get_mut(&channel) else {
            return;
        };
        let mut lines = core::mem::take(&mut session.lines);
        lines.push(bytes, limits::CLAUDE_LINE, |line| {
            let session = self.sessions.get_mut(&channel);
            // What it says after it was replaced is to nobody.
            let Some(session) = session.filter(|it| !it.is_replaced()) else {
                return;
            };
            session.says(cx, &line);
            // Most lines are nobody else's business.
            if self.stored.waits() || self.astray || session.stirs() {
                self.sweep(cx);
            }
        });
        if let Some(session) = self.sessions.get_mut(&channel) {
            session.lines = lines;
        }
    }

    /// An answer about a file that a session shows a change of.
    pub fn preview_file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        channel: Channel,
        number: u64,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) {
        match self.sessions.get_mut(&channel) {
            Some(session) => session.preview_file(cx, number, handle, arrival),
            None => cx.core.file_close(handle),
        }
        self.sweep(cx);
    }

    /// A line of this process trapped: it is left out, the rest goes on.
    pub fn poisoned(&mut self, cx: &mut Cx<'_, '_>, channel: Channel) {
        if let Some(session) = self.sessions.get_mut(&channel) {
            session.poisoned(cx);
        } else if self.inquires(channel) {
            self.end_inquiry(cx);
        }
        self.sweep(cx);
    }

    /// A timer is due.
    pub fn due(&mut self, cx: &mut Cx<'_, '_>, due: Due) {
        match due {
            Due::Look(watch) => self.look(cx, watch),
            Due::Side(channel) => self.side_over(cx, channel),
            Due::Inquiry(channel) => self.inquiry_due(cx, channel),
            Due::Greeting(channel)
            | Due::Backstop { channel, .. }
            | Due::Overview { channel, .. }
            | Due::Setting(channel)
            | Due::Output { channel, .. }
            | Due::Compact(channel)
            | Due::SignIn(channel)
            | Due::Files { channel, .. }
            | Due::Gone(channel) => {
                if let Some(session) = self.sessions.get_mut(&channel) {
                    session.due(cx, due);
                }
            }
        }
        self.sweep(cx);
    }

    /// An answer about what a command in the background prints; `None` when it trapped.
    pub fn output_file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        channel: Channel,
        task: &str,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) {
        match self.sessions.get_mut(&channel) {
            Some(session) => session.output_file(cx, task, handle, arrival),
            None => cx.core.file_close(handle),
        }
        self.sweep(cx);
    }

    /// The end may wait no longer.
    pub fn end_now(&mut self, cx: &mut Cx<'_, '_>) {
        self.ending = true;
        self.refuse_jobs(cx);
        self.end_sides(cx);
        self.end_inquiry(cx);
        self.end_watches(cx);
        for session in self.sessions.values_mut() {
            session.kill(cx);
        }
        self.sweep(cx);
    }

    /// Whether nobody waits for anything any more. Processes that are still there were asked
    /// to end; the embedder sees to it that they do.
    pub fn ended(&self) -> bool {
        self.ending && self.sessions.values().all(Session::let_go)
    }

    fn shut_down(&mut self, cx: &mut Cx<'_, '_>) {
        self.ending = true;
        self.refuse_jobs(cx);
        self.end_sides(cx);
        self.end_inquiry(cx);
        self.end_watches(cx);
        for session in self.sessions.values_mut() {
            session.close(cx, None);
        }
    }

    /// The editor is slow, or reads again (rule R7).
    fn pace(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, on: bool) {
        if self.pace_load(cx, key, on) {
            self.with(cx, key, |it, cx| it.read(cx, on));
        }
    }

    fn opened(&mut self, key: SessionKey, id: &str) {
        let found = self.sessions.iter_mut().find(|(_, it)| it.id() == id);
        if let Some((channel, session)) = found {
            session.known_as(key);
            self.keys.insert(key, channel.to_owned());
        }
    }

    fn with(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        step: impl FnOnce(&mut Session, &mut Cx<'_, '_>),
    ) {
        let channel = self.keys.get(&key);
        if let Some(session) = channel.and_then(|channel| self.sessions.get_mut(channel)) {
            step(session, cx);
        }
    }

    /// What became due: fresh processes, ends, loads.
    fn sweep(&mut self, cx: &mut Cx<'_, '_>) {
        self.renew(cx);
        self.note_moved();
        self.bury(cx);
        self.settle_loads(cx);
        self.restart(cx);
    }
}
