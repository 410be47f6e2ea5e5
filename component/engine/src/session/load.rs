//! `session/load` and `session/resume`: one after another for each session, behind a close
//! that runs.
//!
//! Invariants: the session is owned only once its load is answered, unless it was before;
//! a `session/close` wins over every load of its session.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::host::{Command, Failure, SessionKey, Setup};
use crate::plumbing::Core;
use crate::rpc::{RpcError, Ticket};

use super::facts::refusal;
use super::options::{Options, Told};
use super::{Session, Sessions, State};

/// A load that was asked for.
#[derive(Debug, Serialize, Deserialize)]
pub struct Load {
    pub ticket: Ticket,
    pub session_id: String,
    pub setup: Setup,
    /// Whether the past is shown.
    pub replay: bool,
    /// Set while it runs.
    pub key: Option<SessionKey>,
}

impl Sessions {
    /// A load comes.
    pub(super) fn load(&mut self, core: &mut Core<'_>, load: Load) {
        if self.ending {
            let closing = RpcError::closing("subscription.open");
            return self.editor.refuse(core, load.ticket, &closing);
        }
        let id = load.session_id.clone();
        self.loads.push_back(load);
        self.next_load(&id);
    }

    /// Starts the next load of the session, if nothing is in its way.
    pub(super) fn next_load(&mut self, id: &str) {
        let closing = |it: &Session| it.id == id && it.closing();
        if self.ending || self.open.values().any(closing) {
            return;
        }
        let Some(at) = self.loads.iter().position(|it| it.session_id == id) else {
            return;
        };
        if self.loads[at].key.is_some() {
            return;
        }
        let key = match self.owned.get(id) {
            Some(key) => *key,
            None => {
                let cwd = self.loads[at].setup.cwd.clone();
                self.insert(id.into(), String::new(), cwd, State::Loading)
            }
        };
        let load = &mut self.loads[at];
        load.key = Some(key);
        self.commands.push_back(Command::Load {
            session: key,
            session_id: load.session_id.clone(),
            ticket: load.ticket,
            setup: load.setup.clone(),
            replay: load.replay,
        });
    }

    /// The Host has told everything: the session is owned.
    pub(super) fn loaded(
        &mut self,
        core: &mut Core<'_>,
        ticket: Ticket,
        title: String,
        options: Option<&Options>,
    ) {
        let Some(load) = self.take_load(ticket) else {
            return;
        };
        if let Some(key) = load.key
            && let Some(session) = self.open.get_mut(&key)
        {
            session.state = State::Owned;
            session.title = title;
            session.told = options.map(Told::of).unwrap_or_default();
            self.owned.insert(load.session_id.clone(), key);
        }
        self.editor.loaded(core, ticket, options);
        self.next_load(&load.session_id);
    }

    /// A load came to nothing. False if it was none.
    pub(super) fn load_refused(
        &mut self,
        core: &mut Core<'_>,
        ticket: Ticket,
        failure: &Failure,
    ) -> bool {
        let Some(load) = self.take_load(ticket) else {
            return false;
        };
        self.forget_loading(load.key);
        self.editor.refuse(core, ticket, &refusal(failure));
        self.next_load(&load.session_id);
        true
    }

    /// The editor does not wait for this load any more. False if there is none.
    pub(super) fn cancel_load(&mut self, core: &mut Core<'_>, ticket: Ticket) -> bool {
        let Some(load) = self.take_load(ticket) else {
            return false;
        };
        if let Some(key) = load.key {
            self.forget_loading(load.key);
            self.commands.push_back(Command::Abandon { session: key });
        }
        self.editor.refuse(core, ticket, &RpcError::cancelled());
        self.next_load(&load.session_id);
        true
    }

    /// A `session/close` comes: refuses all loads of the session; gives the session that one
    /// of them was making.
    pub(super) fn close_loads(&mut self, core: &mut Core<'_>, id: &str) -> Option<SessionKey> {
        let mut making = None;
        let loads = core::mem::take(&mut self.loads);
        let (of_it, others): (Vec<Load>, Vec<Load>) =
            loads.into_iter().partition(|it| it.session_id == id);
        self.loads = others.into();
        for load in of_it {
            making = making.or(load.key);
            let unknown = RpcError::unknown_session(id);
            self.editor.refuse(core, load.ticket, &unknown);
        }
        making
    }

    /// The end has begun: those that do not run yet never will.
    pub(super) fn refuse_waiting_loads(&mut self, core: &mut Core<'_>) {
        let loads = core::mem::take(&mut self.loads);
        let (run, wait): (Vec<Load>, Vec<Load>) =
            loads.into_iter().partition(|it| it.key.is_some());
        self.loads = run.into();
        for load in wait {
            let closing = RpcError::closing("subscription.open");
            self.editor.refuse(core, load.ticket, &closing);
        }
    }

    fn take_load(&mut self, ticket: Ticket) -> Option<Load> {
        let at = self.loads.iter().position(|it| it.ticket == ticket)?;
        self.loads.remove(at)
    }

    /// A session that only a load was making is none.
    fn forget_loading(&mut self, key: Option<SessionKey>) {
        if let Some(key) = key
            && self
                .open
                .get(&key)
                .is_some_and(|session| session.state == State::Loading)
        {
            self.open.remove(&key);
        }
    }
}
