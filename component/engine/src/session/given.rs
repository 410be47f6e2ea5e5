//! Prompts at a Host that queues them itself: each goes there at once, and the Host says how
//! each ends. What it shows comes whole and in order, whether a turn runs or not.
//!
//! Invariant: a prompt stands here until the Host settled it, and is answered then.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::editor::StopReason;
use crate::host::{Command, Ending, Outcome, SessionKey, Spent};
use crate::plumbing::Core;
use crate::projection::{Report, Update};
use crate::rpc::Ticket;

use super::prompt::Waiting;
use super::{Feed, Session, Sessions, State};

/// A prompt that the Host has.
#[derive(Debug, Serialize, Deserialize)]
pub struct Given {
    /// Its request.
    pub ticket: Ticket,
    /// As the Host knows it.
    pub turn_id: String,
}

impl Sessions {
    /// Hands a prompt to the Host.
    pub(super) fn give(&mut self, core: &mut Core<'_>, key: SessionKey, waiting: Waiting) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        let Waiting { ticket, content } = waiting;
        let turn_id = core.uuid();
        session.given.push(Given {
            ticket,
            turn_id: turn_id.clone(),
        });
        self.commands.push_back(Command::Start {
            session: key,
            session_id: session.id.clone(),
            turn_id,
            content,
        });
    }

    /// Answers a prompt that the Host settled; gives back what is none of these.
    pub(super) fn settled_given(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        turn_id: &str,
        outcome: Outcome,
    ) -> Option<Outcome> {
        let Some(session) = self.open.get_mut(&key) else {
            return Some(outcome);
        };
        let known = |given: &Given| given.turn_id == turn_id;
        let Some(at) = session.given.iter().position(known) else {
            return Some(outcome);
        };
        let Given { ticket, .. } = session.given.remove(at);
        self.answer(core, key, ticket, outcome);
        None
    }

    /// Answers a prompt with the reason that the Host gives.
    pub(super) fn answer_ended(
        &mut self,
        core: &mut Core<'_>,
        ticket: Ticket,
        ending: Ending,
        spent: Option<&Spent>,
    ) {
        let reason = match ending {
            Ending::EndTurn => StopReason::EndTurn,
            Ending::MaxTokens => StopReason::MaxTokens,
            Ending::MaxTurnRequests => StopReason::MaxTurnRequests,
            Ending::Refusal => StopReason::Refusal,
            Ending::Cancelled => StopReason::Cancelled,
        };
        self.editor.ended(core, ticket, reason, spent);
    }

    /// Shows something that the Host shows by itself.
    pub(super) fn show(
        &mut self,
        core: &mut Core<'_>,
        key: Option<SessionKey>,
        update: &Update<'_>,
    ) {
        let Some((key, session)) = self.shown_mut(key) else {
            return;
        };
        let id = session.id.clone();
        self.editor.update(core, &id, update);
        self.pause_if_slow(key);
    }

    /// A card that the Host keeps.
    pub(super) fn card(&mut self, core: &mut Core<'_>, key: Option<SessionKey>, report: &Report) {
        self.show(core, key, &Update::Report(report));
    }

    pub(super) fn shown_mut(
        &mut self,
        key: Option<SessionKey>,
    ) -> Option<(SessionKey, &mut Session)> {
        let key = key?;
        let shows = !self.ending && self.shows(self.open.get(&key)?);
        let session = self.open.get_mut(&key)?;
        shows.then_some((key, session))
    }

    /// Whether the editor is shown something of it. A Host that queues prompts itself shows
    /// the past of a session that is being loaded in the same way.
    pub(super) fn shows(&self, session: &Session) -> bool {
        match session.state {
            State::Owned => true,
            State::Loading => self.habits.queues,
            State::Closing { .. } => false,
        }
    }

    /// The Host's process is not read while the editor does not read (rule R7).
    pub(super) fn pause_if_slow(&mut self, key: SessionKey) {
        if !self.editor.slow() {
            return;
        }
        if let Some(session) = self.open.get_mut(&key)
            && session.feed == Feed::Flowing
        {
            session.feed = Feed::Paused;
            self.commands.push_back(Command::Pause { session: key });
        }
    }
}
