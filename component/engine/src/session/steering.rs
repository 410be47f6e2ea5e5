//! Messages for a turn that runs already (Claude adapter, section 8).
//!
//! Invariants: every such message is answered exactly once; one that comes too late for its
//! turn starts a turn of its own or is given back, as its sender asked, unless the editor
//! wanted everything to end.

use alloc::format;

use crate::admission::Content;
use crate::editor::{Steered, WhenIdle};
use crate::effect::Level;
use crate::host::Command;
use crate::plumbing::Core;
use crate::projection::{Speaker, Update};
use crate::rpc::{RpcError, Ticket};

use super::prompt::Waiting;
use super::{SessionKey, Sessions, State};

impl Sessions {
    /// A message for what runs in the session, or for nobody.
    pub(super) fn steer(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        ticket: Ticket,
        content: Content,
        idle: WhenIdle,
    ) {
        let session = self.open.get(&key);
        let running = session.is_some_and(|session| {
            let prompt = session.running.as_ref();
            // A Host that queues prompts itself knows best which of them can be steered.
            !session.given.is_empty()
                || prompt.is_some_and(|it| !it.cancelled() && it.unshowable().is_none())
        });
        if running {
            self.steers.insert(ticket, idle);
            self.commands.push_back(Command::Steer {
                session: key,
                ticket,
                content,
            });
        } else {
            self.no_turn(core, key, ticket, content, idle);
        }
    }

    /// The Host has it.
    pub(super) fn steered(&mut self, core: &mut Core<'_>, ticket: Ticket, steered: Steered) {
        self.steers.remove(&ticket);
        self.answer_steer(core, ticket, steered);
    }

    /// A goal is set in the same way, and is answered in its own.
    fn answer_steer(&mut self, core: &mut Core<'_>, ticket: Ticket, steered: Steered) {
        if self.goals.remove(&ticket) {
            return self.editor.closed(core, ticket);
        }
        self.editor.steered(core, ticket, steered);
    }

    /// The turn was over before the Host had it.
    pub(super) fn unsteered(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        ticket: Ticket,
        content: Content,
    ) {
        let asked = self.steers.remove(&ticket).unwrap_or(WhenIdle::SaySo);
        let over = self.ending
            || self.open.get(&key).is_none_or(|session| {
                session.state != State::Owned
                    || session
                        .running
                        .as_ref()
                        .is_some_and(super::prompt::Prompt::cancelled)
            });
        let idle = if over { WhenIdle::SaySo } else { asked };
        self.no_turn(core, key, ticket, content, idle);
    }

    fn no_turn(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        ticket: Ticket,
        content: Content,
        idle: WhenIdle,
    ) {
        match idle {
            WhenIdle::SaySo => self.answer_steer(core, ticket, Steered::NoTurn),
            WhenIdle::StartTurn => {
                self.answer_steer(core, ticket, Steered::NewTurn);
                // Its request is answered: what becomes of the turn is shown, not answered.
                self.prompt(core, key, Waiting { ticket, content });
            }
        }
    }

    /// A prompt failed: its answer, or for one that was answered before, a message.
    pub(super) fn fail(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        ticket: Ticket,
        error: &RpcError,
    ) {
        if self.editor.inbound.is_open(ticket) {
            return self.editor.refuse(core, ticket, error);
        }
        let Some(session) = self.open.get(&key) else {
            return;
        };
        core.note(
            Level::Warn,
            format!("a turn that nobody waits for failed ({})", error.code),
        );
        if session.state == State::Owned && !self.ending {
            let message_id = core.uuid();
            let update = Update::Message {
                speaker: Speaker::Agent,
                message_id: &message_id,
                text: &error.message,
                meta: None,
            };
            self.editor.update(core, &session.id, &update);
        }
    }
}
