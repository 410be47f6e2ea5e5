//! How the process of a session is started, and under which id the program has what is said
//! there: it need not be that by which the editor knows the session.
//!
//! Invariant: the program is asked to take up only what it has stored.

use alloc::borrow::ToOwned;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::session::{Session, Stage};
use super::spawn::{self, Start};
use super::stored::is_session;
use super::{Due, failure, modes};
use crate::effect::{Effect, HostDeparture, Target};
use crate::host::dialog::Means;
use crate::host::{Cx, Setup};
use crate::limits;
use crate::rpc::Ticket;

/// A session that is taken up again.
#[derive(Debug, Serialize, Deserialize)]
pub struct Again {
    /// Its id.
    pub id: String,
    /// Whether something was said in it.
    pub resume: bool,
    /// How permissions were asked for.
    pub mode: Option<String>,
    /// The id under which the program knows it, if another one.
    pub own: Option<String>,
    /// It goes on from another one, which stays as it is.
    pub forked: Option<String>,
}

impl Session {
    /// Starts a process for a session that has an id.
    pub fn start_again(
        cx: &mut Cx<'_, '_>,
        program: &str,
        environment: &Environment,
        ticket: Ticket,
        setup: Setup,
        again: Again,
    ) -> Session {
        let mut session = Session::new(cx, Stage::Starting(ticket), setup, again);
        session.launch(cx, program, environment);
        session
    }

    /// Starts the process, unless nobody wants it any more.
    pub(super) fn launch(&mut self, cx: &mut Cx<'_, '_>, program: &str, environment: &Environment) {
        self.after = None;
        if self.leaves() {
            return self.gone(cx, &failure::ended());
        }
        program.clone_into(&mut self.program);
        self.environment = match self.extras.no_bypass {
            true => environment.clone().without_bypass(),
            false => environment.clone(),
        };
        let start = Start {
            program,
            session_id: self.stored_as(),
            setup: &self.setup,
            resume: self.stored,
            // Settings may say otherwise; they are known when it runs.
            mode: self.before.as_deref().unwrap_or(modes::AUTO),
            asks: cx.listener.can_ask(Means::Form),
            extras: &self.extras,
            forked: self.forked.as_deref(),
        };
        let command = spawn::command(&start, &self.environment);
        let open = HostDeparture::Open(Target::Process(command));
        cx.core.effect(Effect::Host(self.channel, open));
        let due = Due::Greeting(self.channel);
        self.timer = Some(cx.arm(due, limits::CLAUDE_GREETING_MS));
    }

    /// The id under which the program stores it.
    pub fn stored_as(&self) -> &str {
        self.own.as_deref().unwrap_or(&self.id)
    }

    /// The id of the file where its conversation is until there is one of its own.
    pub fn goes_on_from(&self) -> Option<&str> {
        self.planned.as_deref().or(self.forked.as_deref())
    }

    /// Whether it is open, and need not be stored in this folder: nothing was said in it, or
    /// just now.
    pub fn may_lack_file(&self, cwd: &str) -> bool {
        !self.leaves() && (!self.stored || self.cwd == cwd)
    }

    /// Whether it has a file under another id than its own.
    pub fn is_moved(&self) -> bool {
        self.stored && self.own.is_some()
    }

    /// The program goes on with it under this id (`/clear`).
    pub(super) fn goes_on_as(&mut self, id: &str) {
        if is_session(id) && id != self.stored_as() && id != self.id {
            self.own = Some(id.to_owned());
            self.stored = false;
            self.planned = None;
        }
    }

    /// Something was said in it: the program has stored that, unless a plan comes first.
    pub(super) fn said_something(&mut self) {
        if self.left().is_some() {
            return;
        }
        self.stored = true;
        self.forked = None;
        self.extras.resume_at = None;
    }
}
