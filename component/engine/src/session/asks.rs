//! What the editor asks of the sessions.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::config::Agent;
use crate::editor::{Ask, StopReason, Tell};
use crate::host::{Command, SessionKey, Setup};
use crate::limits;
use crate::plumbing::Core;
use crate::rpc::{RpcError, Ticket};

use super::load::Load;
use super::prompt::Waiting;
use super::{Sessions, State};

impl Sessions {
    /// A request; it is answered now, or by a later fact.
    pub fn ask(&mut self, core: &mut Core<'_>, agent: &Agent, ticket: Ticket, ask: Ask) {
        match ask {
            Ask::Initialize { requested, client } => {
                self.editor.client = client;
                self.editor.welcome(core, ticket, requested, agent);
            }
            Ask::New { setup } => match self.unfit(&setup) {
                Some(error) => self.editor.refuse(core, ticket, &error),
                None => {
                    let setup = self.set_up(setup);
                    self.commands.push_back(Command::Create { ticket, setup });
                }
            },
            Ask::Load {
                session_id,
                setup,
                replay,
            } => match self.unfit(&setup) {
                Some(error) => self.editor.refuse(core, ticket, &error),
                None => {
                    let setup = self.set_up(setup);
                    let load = Load {
                        ticket,
                        session_id,
                        setup,
                        replay,
                        key: None,
                    };
                    self.load(core, load);
                }
            },
            Ask::List { cwd, cursor } => {
                self.commands.push_back(Command::List {
                    ticket,
                    cwd,
                    cursor,
                });
            }
            Ask::Prompt {
                session_id,
                content,
            } => match self.owned.get(&session_id).copied() {
                Some(key) => self.prompt(core, key, Waiting { ticket, content }),
                None => self
                    .editor
                    .refuse(core, ticket, &RpcError::unknown_session(&session_id)),
            },
            Ask::Steer {
                session_id,
                content,
                idle,
            } => match self.owned.get(&session_id).copied() {
                Some(key) => self.steer(core, key, ticket, content, idle),
                None => self
                    .editor
                    .refuse(core, ticket, &RpcError::unknown_session(&session_id)),
            },
            Ask::Errand(errand) => self.errand(core, ticket, errand),
            Ask::Goal {
                session_id,
                content,
            } => match self.owned.get(&session_id).copied() {
                Some(key) => self.set_goal(core, key, ticket, content),
                None => self
                    .editor
                    .refuse(core, ticket, &RpcError::unknown_session(&session_id)),
            },
            Ask::Close { session_id } => {
                let making = self.close_loads(core, &session_id);
                match self.owned.remove(&session_id).or(making) {
                    Some(key) => self.close(core, key, ticket),
                    None => self.close_again(core, &session_id, ticket),
                }
            }
            Ask::StopTask { session_id, task } => self.stop_task(core, ticket, &session_id, task),
            Ask::Delete { session_id } => self.delete(core, session_id, ticket),
            Ask::Configure {
                session_id,
                setting,
            } => self.configure(core, session_id, ticket, setting),
        }
    }

    /// A notification. After the editor's end they mean nothing.
    pub fn tell(&mut self, core: &mut Core<'_>, tell: Tell) {
        match tell {
            Tell::Cancel { session_id } => {
                if let Some(key) = self.owned.get(&session_id).copied() {
                    self.cancel(core, key);
                } else if self.habits.extras {
                    // It may be a subagent's.
                    let stop = Command::StopSubagent { id: session_id };
                    self.commands.push_back(stop);
                }
            }
            Tell::CancelRequest { id } => {
                let Some(ticket) = self.editor.inbound.ticket(&id) else {
                    return;
                };
                if let Some(key) = self.of_ticket(ticket) {
                    self.cancel_prompt(core, key, ticket);
                } else {
                    self.cancel_load(core, ticket);
                }
            }
        }
    }

    /// What of a session's place and helpers the Host cannot do.
    pub(super) fn unfit(&self, setup: &Setup) -> Option<RpcError> {
        if !setup.servers.is_empty() && !self.habits.mcp {
            return Some(RpcError::field(
                "mcpServers",
                "unsupported",
                "MCP servers are not supported yet. Remove them from this agent's settings.",
            ));
        }
        let names = || setup.servers.iter().map(|it| it.name.as_str());
        let unnamed = names().any(|name| name.trim().is_empty());
        if unnamed || names().collect::<BTreeSet<_>>().len() < setup.servers.len() {
            return Some(RpcError::field(
                "mcpServers",
                "duplicate_or_invalid_name",
                "Each MCP server needs a name of its own. Name them in this agent's settings.",
            ));
        }
        if !setup.folders.is_empty() && !self.habits.folders {
            return Some(RpcError::field(
                "additionalDirectories",
                "unsupported",
                "Additional folders are not supported. Open the session in one folder.",
            ));
        }
        None
    }

    pub(super) fn prompt(&mut self, core: &mut Core<'_>, key: SessionKey, waiting: Waiting) {
        if self.habits.queues {
            return self.give(core, key, waiting);
        }
        if let Some(session) = self.open.get_mut(&key) {
            session.waiting.push_back(waiting);
            self.next(core, key);
        }
    }

    /// Every prompt of the session, and a live turn of another client.
    fn cancel(&mut self, core: &mut Core<'_>, key: SessionKey) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        if self.habits.queues {
            self.commands.push_back(Command::Stop { session: key });
            return;
        }
        for waiting in session.waiting.drain(..) {
            self.editor
                .stopped(core, waiting.ticket, StopReason::Cancelled);
        }
        if let Some(prompt) = &mut session.running
            && prompt.ticket().is_some()
        {
            prompt.cancel();
            self.commands.push_back(Command::Stop { session: key });
        }
        self.commands
            .push_back(Command::StopForeign { session: key });
    }

    /// One prompt, as `$/cancel_request` asks. The others go on.
    fn cancel_prompt(&mut self, core: &mut Core<'_>, key: SessionKey, ticket: Ticket) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        if let Some(prompt) = &mut session.running
            && prompt.ticket() == Some(ticket)
        {
            prompt.cancel();
            self.commands.push_back(Command::Stop { session: key });
        } else if session.given.iter().any(|given| given.ticket == ticket) {
            // A Host that queues by itself stops all that it has.
            self.commands.push_back(Command::Stop { session: key });
        } else if let Some(at) = session.waiting.iter().position(|w| w.ticket == ticket) {
            session.waiting.remove(at);
            self.editor.stopped(core, ticket, StopReason::Cancelled);
        }
    }

    /// The session is no longer owned from here on; what runs is cancelled and answered.
    pub(super) fn close(&mut self, core: &mut Core<'_>, key: SessionKey, ticket: Ticket) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        session.state = State::Closing { again: Vec::new() };
        for waiting in session.waiting.drain(..) {
            self.editor
                .stopped(core, waiting.ticket, StopReason::Cancelled);
        }
        if let Some(prompt) = &mut session.running {
            prompt.cancel();
        }
        self.commands.push_back(Command::Close {
            session: key,
            session_id: session.id.clone(),
            ticket,
        });
    }

    /// Another `session/close` while one is under way gets the same answer; after it, where the
    /// Host has it so, too.
    fn close_again(&mut self, core: &mut Core<'_>, session_id: &str, ticket: Ticket) {
        for session in self.open.values_mut().filter(|it| it.id == session_id) {
            if let State::Closing { again } = &mut session.state {
                again.push(ticket);
                return;
            }
        }
        if self.closed.iter().any(|it| it == session_id) {
            return self.editor.closed(core, ticket);
        }
        let unknown = RpcError::unknown_session(session_id);
        self.editor.refuse(core, ticket, &unknown);
    }

    /// A session is closed; that is remembered of the last ones.
    pub(super) fn remember_closed(&mut self, session_id: &str) {
        if !self.habits.closes_again || self.closed.iter().any(|it| it == session_id) {
            return;
        }
        if self.closed.len() as u64 >= limits::CLOSED_SESSIONS {
            self.closed.pop_front();
        }
        self.closed.push_back(session_id.to_owned());
    }
}
