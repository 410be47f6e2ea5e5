//! What only some editors are shown, on its way to them; and turns whose failure is told as
//! a record.
//!
//! Invariant: an editor that did not agree on it is shown none of it.

use crate::admission::Content;
use crate::editor::{StopReason, WhenIdle};
use crate::host::more::{More, Record};
use crate::host::{SessionKey, Setup, Spent};
use crate::plumbing::Core;
use crate::rpc::Ticket;

use super::Sessions;

impl Sessions {
    /// Shows it, if the session is one that is shown.
    pub(super) fn more(&mut self, core: &mut Core<'_>, key: Option<SessionKey>, more: &More) {
        if let Some(session) = self.shown_session(key) {
            let id = session.id.clone();
            self.editor.more(core, &id, more);
        }
    }

    /// A session's place and helpers, with what this editor shows.
    pub(super) fn set_up(&self, setup: Setup) -> Setup {
        let client = self.editor.client;
        let custom = setup.custom.filter(|_| client.extras.on);
        Setup {
            client,
            custom,
            ..setup
        }
    }

    /// `_session/goal`: the words that set a goal or take it back, for what runs or for
    /// nobody. What becomes of it is shown.
    pub(super) fn set_goal(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        ticket: Ticket,
        content: Content,
    ) {
        self.goals.insert(ticket);
        self.steer(core, key, ticket, content, WhenIdle::StartTurn);
    }

    /// A prompt failed, and the failure is told as a record: with its answer, or for one
    /// that was answered before, by itself.
    pub(super) fn fail_recorded(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        ticket: Ticket,
        record: Record,
        spent: Option<&Spent>,
    ) {
        if self.editor.inbound.is_open(ticket) {
            let reason = StopReason::EndTurn;
            return self.editor.ended_with(core, ticket, reason, spent, &record);
        }
        self.more(core, Some(key), &More::Record(record));
    }
}
