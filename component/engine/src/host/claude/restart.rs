//! A running session whose models are to come from elsewhere: between two turns its process is
//! replaced by one that goes that way, under the same id (Claude adapter, section 16).
//!
//! Invariants: a turn that runs is left to end; what is asked of the session meanwhile waits
//! for the new process, and is answered if that does not come up.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Claude;
use super::modes::BYPASS;
use super::options::Panel;
use super::session::{Again, Session, Stage};
use super::standing::Remembered;
use super::titles::Title;
use crate::host::{Command, Cx, Ending, Fact, Outcome, SessionKey, Setup};
use crate::input::Channel;
use crate::rpc::Ticket;

/// Nobody waits for the greeting of such a process. No request has this number.
const NOBODY: Ticket = Ticket::MAX;

/// A process that is being replaced.
#[derive(Debug, Serialize, Deserialize)]
pub struct Restart {
    step: Step,
    /// What was asked of the session, in order.
    held: Vec<Command>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Step {
    /// The old one leaves.
    Leaving(Box<Left>),
    /// The new one greets.
    Starting(Channel),
}

/// What the old process hands over.
#[derive(Debug, Serialize, Deserialize)]
struct Left {
    old: Channel,
    setup: Setup,
    again: Again,
    title: Title,
    remembered: Remembered,
}

impl Claude {
    /// Sessions that go another way than they should are restarted when they are idle.
    pub(super) fn restart_all(&mut self, cx: &mut Cx<'_, '_>) {
        self.astray = true;
        self.settle_restarts(cx);
    }

    /// Keeps what is asked of a session whose process is being replaced. Gives back what is
    /// not to wait.
    pub(super) fn hold(&mut self, cx: &mut Cx<'_, '_>, command: Command) -> Option<Command> {
        if self.restarts.is_empty() {
            return Some(command);
        }
        match &command {
            Command::Start { session, .. }
            | Command::Steer { session, .. }
            | Command::Configure { session, .. } => match self.restarts.get_mut(session) {
                Some(restart) => {
                    restart.held.push(command);
                    None
                }
                None => Some(command),
            },
            Command::Stop { session } => {
                let key = *session;
                match self.restarts.get_mut(&key) {
                    Some(restart) => {
                        let held = core::mem::take(&mut restart.held);
                        let rest = cancel_prompts(cx, key, held);
                        if let Some(restart) = self.restarts.get_mut(&key) {
                            restart.held = rest;
                        }
                        None
                    }
                    None => Some(command),
                }
            }
            Command::Close { session, .. } | Command::Load { session, .. } => {
                let key = *session;
                if let Some(restart) = self.restarts.remove(&key) {
                    let rest = cancel_prompts(cx, key, restart.held);
                    // Settings come to nothing with the process that they were for.
                    rest.into_iter().for_each(|it| self.command(cx, it));
                }
                Some(command)
            }
            _ => Some(command),
        }
    }

    /// Old processes may be gone, new ones there, turns over.
    pub(super) fn settle_restarts(&mut self, cx: &mut Cx<'_, '_>) {
        if self.ending {
            return;
        }
        let keys: Vec<SessionKey> = self.restarts.keys().copied().collect();
        for key in keys {
            self.settle_restart(cx, key);
        }
        if !self.astray {
            return;
        }
        let route = self.environment.route();
        let others = self.sessions.iter();
        let others = others.filter(|(_, it)| !it.leaves() && it.environment.route() != route);
        let others: Vec<Channel> = others.map(|(channel, _)| *channel).collect();
        self.astray = !others.is_empty();
        for channel in others {
            let key = self.sessions.get(&channel).and_then(|it| it.key);
            let key = key.filter(|key| !self.is_loading(*key) && !self.restarts.contains_key(key));
            let session = self.sessions.get_mut(&channel);
            if let (Some(key), Some(session)) = (key, session.filter(|it| it.is_idle())) {
                let again = Again {
                    id: session.id().into(),
                    resume: session.is_stored(),
                    mode: session.mode().filter(|it| *it != BYPASS).map(String::from),
                    own: session.own.clone(),
                    forked: None,
                    replaces: true,
                };
                let step = Step::Leaving(Box::new(Left {
                    old: channel,
                    setup: session.setup().clone(),
                    again,
                    title: core::mem::take(&mut session.title).unasked(),
                    remembered: core::mem::take(&mut session.remembered),
                }));
                session.close(cx, None);
                let held = Vec::new();
                self.restarts.insert(key, Restart { step, held });
            }
        }
    }

    fn settle_restart(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(Restart { step, held }) = self.restarts.remove(&key) else {
            return;
        };
        let step = match step {
            Step::Leaving(left) if !self.sessions.contains_key(&left.old) => {
                let Left {
                    setup,
                    again,
                    title,
                    remembered,
                    ..
                } = *left;
                let (program, environment) = (&self.program, &self.environment);
                let mut session =
                    Session::start_again(cx, program, environment, NOBODY, setup, again);
                session.known_as(key);
                session.title = title;
                session.remembered = remembered;
                let channel = session.channel();
                self.keys.insert(key, channel);
                self.sessions.insert(channel, session);
                Step::Starting(channel)
            }
            Step::Starting(channel) => match self.sessions.get_mut(&channel) {
                Some(session) if session.stage == Stage::Starting(NOBODY) => {
                    Step::Starting(channel)
                }
                session => {
                    if let Some(session) = session.filter(|it| it.is_live()) {
                        session.introduce(cx);
                        if let Some(options) = session.panel.as_ref().map(Panel::options) {
                            session.tell(cx, Fact::Options(options));
                        }
                    }
                    return held.into_iter().for_each(|it| self.command(cx, it));
                }
            },
            step @ Step::Leaving(_) => step,
        };
        self.restarts.insert(key, Restart { step, held });
    }
}

/// Settles the prompts among these; gives back the rest.
fn cancel_prompts(cx: &mut Cx<'_, '_>, key: SessionKey, held: Vec<Command>) -> Vec<Command> {
    let mut rest = Vec::new();
    for command in held {
        match command {
            Command::Start { turn_id, .. } => {
                let outcome = Outcome::Ended {
                    ending: Ending::Cancelled,
                    spent: None,
                };
                let turn_id = &turn_id;
                let _fine = cx.tell(key, Fact::Settled { turn_id, outcome });
            }
            other => rest.push(other),
        }
    }
    rest
}
