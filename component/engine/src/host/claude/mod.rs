//! Claude Code: one `claude` process a session, stream-json on its stdin and stdout.
//!
//! This file routes; each concern has a file: the process and its end (`session`, `spawn`),
//! what it says (`frames`, `wire`), our requests to it and its requests to us (`control`),
//! the queue of turns and the cancel window (`turns`), streamed text against its whole copy
//! (`text`), what a prompt becomes (`prompt`), figures (`usage`).
//!
//! Invariant: whatever the process sends, or fails to send, every prompt is answered once.

mod asking;
mod choices;
mod commands;
mod configure;
mod control;
mod environment;
mod failure;
mod frames;
mod greeting;
mod labels;
mod models;
mod modes;
mod options;
mod permissions;
mod prompt;
mod questions;
mod session;
mod settings;
mod spawn;
mod steering;
mod text;
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
use crate::host::{Command, Cx, Fact, Habits, SessionKey};
use crate::input::{Channel, HostArrival};

use environment::Environment;
use session::Session;

/// Under which name the Host's own facts stand in `_meta`.
pub const EXTENSION: &str = "claudeCode";

/// What the sessions have to know.
pub const HABITS: Habits = Habits {
    queues: true,
    blocks: true,
    mcp: true,
    folders: true,
    history: false,
    switches: true,
    terse: true,
};

/// What the module waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Due {
    /// A new process greets in time.
    Greeting(Channel),
    /// A cancelled turn ends in time.
    Backstop { channel: Channel, turn: String },
    /// A setting is answered in time.
    Setting(Channel),
    /// A process that was asked to end does so.
    Gone(Channel),
}

/// The module.
#[derive(Debug, Serialize, Deserialize)]
pub struct Claude {
    program: String,
    environment: Environment,
    sessions: BTreeMap<Channel, Session>,
    keys: BTreeMap<SessionKey, Channel>,
    ending: bool,
}

impl Claude {
    /// `choice` names the program on the embedder's table.
    pub fn new(choice: &HostChoice) -> Claude {
        Claude {
            program: choice.name.clone(),
            environment: Environment::read(&choice.environment),
            sessions: BTreeMap::new(),
            keys: BTreeMap::new(),
            ending: false,
        }
    }

    /// A command of the sessions.
    pub fn command(&mut self, cx: &mut Cx<'_, '_>, command: Command) {
        match command {
            Command::Create { ticket, setup } => {
                let session = Session::start(cx, &self.program, &self.environment, ticket, setup);
                self.sessions.insert(session.channel(), session);
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
            } => self.with(cx, session, |it, cx| it.prompt(cx, turn_id, &content)),
            Command::Stop { session } => self.with(cx, session, Session::cancel),
            Command::Answer {
                session,
                dialog,
                reply,
            } => self.with(cx, session, |it, cx| it.replied(cx, &dialog, &reply)),
            Command::Close { session, ticket } => {
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
            Command::Pause { session } => self.with(cx, session, |it, cx| it.read(cx, false)),
            Command::Resume { session } => self.with(cx, session, |it, cx| it.read(cx, true)),
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
            Command::List { ticket, .. }
            | Command::Load { ticket, .. }
            | Command::Delete { ticket, .. } => {
                let failure = failure::not_yet();
                cx.answer(Fact::Refused { ticket, failure });
            }
            Command::Abandon { .. } | Command::StopForeign { .. } => {}
        }
        self.sweep();
    }

    /// Something came on a channel.
    pub fn arrival(&mut self, cx: &mut Cx<'_, '_>, channel: Channel, arrival: HostArrival) {
        if let Some(session) = self.sessions.get_mut(&channel) {
            session.arrival(cx, arrival);
        }
        self.sweep();
    }

    /// A line of this process trapped: it is left out, the rest goes on.
    pub fn poisoned(&mut self, cx: &mut Cx<'_, '_>, channel: Channel) {
        if let Some(session) = self.sessions.get_mut(&channel) {
            session.poisoned(cx);
        }
        self.sweep();
    }

    /// A timer is due.
    pub fn due(&mut self, cx: &mut Cx<'_, '_>, due: Due) {
        let (Due::Greeting(channel)
        | Due::Backstop { channel, .. }
        | Due::Setting(channel)
        | Due::Gone(channel)) = &due;
        if let Some(session) = self.sessions.get_mut(channel) {
            session.due(cx, due);
        }
        self.sweep();
    }

    /// The end may wait no longer.
    pub fn end_now(&mut self, cx: &mut Cx<'_, '_>) {
        self.ending = true;
        for session in self.sessions.values_mut() {
            session.kill(cx);
        }
        self.sweep();
    }

    /// Whether nothing is left open.
    pub fn ended(&self) -> bool {
        self.ending && self.sessions.is_empty()
    }

    fn shut_down(&mut self, cx: &mut Cx<'_, '_>) {
        self.ending = true;
        for session in self.sessions.values_mut() {
            session.close(cx, None);
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

    /// Forgets sessions whose process is gone and whose answers are given.
    fn sweep(&mut self) {
        let gone: Vec<Channel> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.over())
            .map(|(channel, _)| *channel)
            .collect();
        for channel in gone {
            self.sessions.remove(&channel);
            self.keys.retain(|_, it| *it != channel);
        }
    }
}
