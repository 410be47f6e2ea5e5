//! What a session does, for an index of sessions; and who it says is signed in.
//!
//! Invariant: it is told from what the session knows anyway; nothing is asked for it.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::control::Purpose;
use super::failure;
use super::session::Session;
use super::titles::Title;
use crate::host::{Account, Cx, Fact, Standing, State};
use crate::object;
use crate::rpc::Ticket;
use crate::stamp;

/// What is remembered for that.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Remembered {
    /// Who is signed in, until it is told.
    pub account: Option<Account>,
    /// Unix milliseconds at which the last turn ended.
    ended_at: Option<u64>,
    /// What the session is called, as the editor was told.
    pub title: Option<String>,
    /// The user gave it that name.
    pub named: bool,
    cost_usd: Option<f64>,
}

impl Remembered {
    /// A turn ended.
    pub fn ended(&mut self, wall: u64) {
        self.ended_at = Some(wall);
    }

    /// What the session cost so far.
    pub fn costs(&mut self, usd: Option<f64>) {
        self.cost_usd = usd.or(self.cost_usd);
    }
}

impl Session {
    /// What it does; `None` where its process takes nothing any more.
    pub fn standing(&self) -> Option<Standing> {
        if self.leaves() {
            return None;
        }
        let state = if self.permissions.waiting() {
            State::Asking
        } else if self.turns.unsettled().next().is_some() {
            State::Running
        } else {
            State::Idle
        };
        let ended_at = self.remembered.ended_at;
        Some(Standing {
            state,
            ended_at: ended_at.and_then(|at| i64::try_from(at).ok().and_then(stamp::iso)),
            cost_usd: self.remembered.cost_usd,
        })
    }

    /// The name that its editor was told, as long as it is open.
    pub fn called(&self) -> Option<&str> {
        self.remembered.title.as_deref().filter(|_| !self.leaves())
    }

    /// Tells who is signed in. Its moment is that of the session's answer: what a process says
    /// while the past is shown comes at any moment.
    pub(super) fn introduce(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(account) = self.remembered.account.take() {
            cx.answer(Fact::SignedIn(account));
        }
    }

    /// The user names it (`_session/rename`).
    pub fn rename(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, title: String) {
        if !self.is_live() {
            return self.renames.push((ticket, title));
        }
        let request = object! { "subtype": "rename_session", "title": title };
        self.request(cx, Purpose::Rename { ticket, title }, &request);
    }

    /// It has the name, or not.
    pub(super) fn renamed(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        title: &str,
        error: Option<&str>,
    ) {
        if let Some(error) = error {
            let failure = failure::setting(error);
            return cx.answer(Fact::Refused { ticket, failure });
        }
        // The model's name for it would take the user's away.
        self.title = Title::Done;
        self.remembered.named = true;
        self.named(cx, title);
        cx.answer(Fact::Done { ticket });
    }

    /// Nobody answers these any more.
    pub(super) fn drop_renames(&mut self, cx: &mut Cx<'_, '_>) {
        let waiting = core::mem::take(&mut self.renames);
        for (ticket, _) in waiting.into_iter().chain(self.control.take_renames()) {
            let failure = failure::ended();
            cx.answer(Fact::Refused { ticket, failure });
        }
    }
}
