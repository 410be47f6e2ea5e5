//! What works beside a session's own turn: subagents with sessions of their own, and tasks
//! in the background.
//!
//! Touches the editor, and the feed of a session whose editor is slow. Invariant: nothing of
//! it is shown that would not be shown of the session itself.

use alloc::string::String;

use crate::host::aside::{Subagent, Task};
use crate::host::{Command, Fact, SessionKey};
use crate::plumbing::Core;
use crate::projection::Update;
use crate::rpc::{RpcError, Ticket};

use super::Sessions;

impl Sessions {
    /// Something of a subagent.
    pub(super) fn subagent(
        &mut self,
        core: &mut Core<'_>,
        key: Option<SessionKey>,
        subagent: &Subagent<'_>,
    ) {
        let Some((key, session)) = self.shown_mut(key) else {
            return;
        };
        let id = session.id.clone();
        self.editor.subagent(core, &id, subagent);
        self.pause_if_slow(key);
    }

    /// Something in a subagent's session.
    pub(super) fn inside(
        &mut self,
        core: &mut Core<'_>,
        key: Option<SessionKey>,
        id: &str,
        fact: Fact<'_>,
    ) {
        let Some((key, _)) = self.shown_mut(key) else {
            return;
        };
        match fact {
            Fact::Said(said) => self.editor.update(core, id, &said.update()),
            Fact::Card(report) => self.editor.update(core, id, &Update::Report(&report)),
            _ => {}
        }
        self.pause_if_slow(key);
    }

    /// Something of a task.
    pub(super) fn task(&mut self, core: &mut Core<'_>, key: Option<SessionKey>, task: &Task<'_>) {
        let Some((key, session)) = self.shown_mut(key) else {
            return;
        };
        let id = session.id.clone();
        self.editor.task(core, &id, task);
        self.pause_if_slow(key);
    }

    /// `_session/async_task/stop`.
    pub(super) fn stop_task(
        &mut self,
        core: &mut Core<'_>,
        ticket: Ticket,
        session_id: &str,
        task: String,
    ) {
        match self.owned.get(session_id).copied() {
            Some(session) => self.commands.push_back(Command::StopTask {
                session,
                ticket,
                task,
            }),
            None => {
                let unknown = RpcError::unknown_session(session_id);
                self.editor.refuse(core, ticket, &unknown);
            }
        }
    }
}
