//! Conversations, whatever the Host and whatever the ACP version: who owns which session,
//! one running prompt each with the others waiting behind it, how a prompt ends.
//!
//! Invariants: a session runs at most one prompt of ours; every prompt is answered exactly
//! once; after its answer nothing more is shown for it; a session that was closed shows
//! nothing from that moment on.

mod aside;
mod asks;
mod delete;
mod dialogs;
mod errands;
mod facts;
mod given;
mod load;
mod more;
pub mod options;
mod past;
mod prompt;
mod steering;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::editor::{Editor, StopReason, WhenIdle};
use crate::host::{Account, Command, Habits, SessionKey};
use crate::plumbing::Core;
use crate::rpc::Ticket;

use dialogs::Dialogs;
use given::Given;
use load::Load;
use options::Told;
use past::Past;
use prompt::{Prompt, Waiting};

/// All conversations of one connection.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sessions {
    /// The connection to the editor.
    pub editor: Editor,
    /// For the Host; taken by the engine after every line.
    pub commands: VecDeque<Command>,
    habits: Habits,
    next_key: SessionKey,
    owned: BTreeMap<String, SessionKey>,
    open: BTreeMap<SessionKey, Session>,
    /// Sessions that were closed and may be again, the last ones.
    #[serde(default)]
    closed: VecDeque<String>,
    /// `session/load` and `session/resume` without an answer, the first to come first.
    loads: VecDeque<Load>,
    /// Messages for running turns that have no answer yet.
    steers: BTreeMap<Ticket, WhenIdle>,
    /// Who is signed in, as the editor was told.
    account: Option<Account>,
    /// Those of them that set a goal.
    goals: BTreeSet<Ticket>,
    /// Requests that wait for a session to be closed before it is deleted.
    deleting: BTreeMap<Ticket, String>,
    /// Those that wait for one to be closed before it goes into the archive.
    archiving: BTreeMap<Ticket, String>,
    ending: bool,
}

/// One conversation.
#[derive(Debug, Serialize, Deserialize)]
struct Session {
    id: String,
    /// As the editor knows it, or as the Host named it at first.
    title: String,
    /// Its folder, for relative paths.
    cwd: String,
    /// The turn that is shown: of a prompt of ours, or of another client.
    running: Option<Prompt>,
    waiting: VecDeque<Waiting>,
    /// Prompts that the Host has, where it queues them itself.
    given: Vec<Given>,
    /// A turn of the past that is being shown.
    past: Option<Past>,
    dialogs: Dialogs,
    state: State,
    feed: Feed,
    /// What the editor knows of its options.
    told: Told,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    /// A load makes it; the editor may not use it yet.
    Loading,
    /// The editor may use it.
    Owned,
    /// `session/close` waits for what still runs; with those that asked for it again.
    Closing { again: Vec<Ticket> },
}

/// Whether the Host's feed goes on (rule R7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Feed {
    Flowing,
    /// Given up for a slow editor, to be read again later.
    Paused,
}

impl Session {
    /// Whether `session/close` has come: nothing more is shown.
    fn closing(&self) -> bool {
        matches!(self.state, State::Closing { .. })
    }
}

impl Sessions {
    /// No conversation yet; the Host's own facts go under this name.
    pub fn new(extension: &str, habits: Habits) -> Sessions {
        Sessions {
            editor: Editor::new(extension, habits),
            habits,
            ..Sessions::default()
        }
    }

    /// The editor is gone: nothing new is taken in, everything is stopped.
    pub fn shut_down(&mut self, core: &mut Core<'_>) {
        if core::mem::replace(&mut self.ending, true) {
            return;
        }
        for session in self.open.values_mut() {
            for waiting in session.waiting.drain(..) {
                self.editor
                    .stopped(core, waiting.ticket, StopReason::Cancelled);
            }
            if let Some(prompt) = &mut session.running {
                prompt.cancel();
            }
        }
        self.refuse_waiting_loads(core);
        self.commands.push_back(Command::Shutdown);
    }

    /// Whether the end has begun.
    pub fn ending(&self) -> bool {
        self.ending
    }

    /// The editor has taken bytes: shows what was held back.
    pub fn flush(&mut self, core: &mut Core<'_>) {
        let keys: Vec<SessionKey> = self.open.keys().copied().collect();
        for key in keys {
            if self.editor.slow() {
                return;
            }
            let Some(session) = self.open.get_mut(&key) else {
                continue;
            };
            if let Some(prompt) = &mut session.running {
                prompt.show(core, &mut self.editor, &session.id);
            }
            self.ask_waiting(core, key);
            let Some(session) = self.open.get_mut(&key) else {
                continue;
            };
            if session.feed == Feed::Paused && !self.editor.slow() {
                session.feed = Feed::Flowing;
                self.commands.push_back(Command::Resume { session: key });
            }
        }
    }

    /// Takes a session in that was just made.
    fn adopt(&mut self, id: String, title: String, cwd: String, told: Told) {
        let key = self.insert(id.clone(), title, cwd, State::Owned);
        if self.habits.queues {
            self.commands.push_back(Command::Opened {
                session: key,
                session_id: id.clone(),
            });
        }
        self.owned.insert(id, key);
        if let Some(session) = self.open.get_mut(&key) {
            session.told = told;
        }
    }

    fn insert(&mut self, id: String, title: String, cwd: String, state: State) -> SessionKey {
        let key = self.next_key;
        self.next_key += 1;
        self.open.insert(
            key,
            Session {
                id,
                title,
                cwd,
                running: None,
                waiting: VecDeque::new(),
                given: Vec::new(),
                dialogs: Dialogs::default(),
                past: None,
                state,
                feed: Feed::Flowing,
                told: Told::default(),
            },
        );
        key
    }

    /// Starts the next waiting prompt, if none runs.
    fn next(&mut self, core: &mut Core<'_>, key: SessionKey) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        if session.running.is_some() || session.state != State::Owned {
            return;
        }
        let Some(Waiting { ticket, content }) = session.waiting.pop_front() else {
            return;
        };
        let turn_id = core.uuid();
        session.running = Some(Prompt::new(ticket, &turn_id, &session.cwd));
        self.commands.push_back(Command::Start {
            session: key,
            session_id: session.id.clone(),
            turn_id,
            content,
        });
    }

    /// A turn of another client is shown from here on. A prompt of ours that the Host module
    /// has not taken yet waits behind it.
    fn began(&mut self, key: SessionKey, turn_id: &str, silent: bool) {
        let Some(session) = self.open.get_mut(&key).filter(|it| !it.closing()) else {
            return;
        };
        let starts = |it: &Command| matches!(it, Command::Start { session, .. } if *session == key);
        if let Some(at) = self.commands.iter().position(starts)
            && let Some(Command::Start { content, .. }) = self.commands.remove(at)
            && let Some(ticket) = session.running.as_ref().and_then(Prompt::ticket)
        {
            session.waiting.push_front(Waiting { ticket, content });
        }
        session.running = Some(Prompt::foreign(turn_id, &session.cwd, silent));
    }

    /// The session whose running or waiting prompt has this ticket.
    fn of_ticket(&self, ticket: Ticket) -> Option<SessionKey> {
        self.open
            .iter()
            .find(|(_, session)| {
                session
                    .running
                    .as_ref()
                    .is_some_and(|prompt| prompt.ticket() == Some(ticket))
                    || session
                        .waiting
                        .iter()
                        .any(|waiting| waiting.ticket == ticket)
                    || session.given.iter().any(|given| given.ticket == ticket)
            })
            .map(|(key, _)| *key)
    }
}
