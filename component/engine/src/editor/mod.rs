//! The ACP side: what an editor asks, in words that know no ACP version, and how it is
//! answered. One connection speaks one version.
//!
//! Invariant: every request gets exactly one answer, and nothing but ACP goes out.

pub mod v1;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::admission::Content;
use crate::config::Agent;
use crate::effect::Level;
pub use crate::host::Client;
use crate::host::aside::{Subagent, Task};
use crate::host::dialog::{Body, Choice, Dialog, Reply};
use crate::host::more::{More, Record};
use crate::host::{
    Account, Errand, Extras, Habits, ListItem, ListPage, PlanEntry, Provider, SessionKey, Setup,
    SignIn, Skill, Spent, Usage,
};
use crate::json::Object;
use crate::limits;
use crate::line::Lines;
use crate::plumbing::Core;
use crate::projection::Update;
use crate::rpc::{Inbound, Number, Outbound, RpcError, Ticket, error};
use crate::session::options::{By, Options, Setting};

/// What an editor asks.
#[derive(Debug)]
pub enum Ask {
    /// `initialize`: speak this version, or the newest that both know, to this client.
    Initialize { requested: u16, client: Client },
    /// `session/new`.
    New { setup: Setup },
    /// `session/load`, which shows the past (`replay`), or `session/resume`, which does not.
    Load {
        session_id: String,
        setup: Setup,
        replay: bool,
    },
    /// `session/list`.
    List {
        cwd: Option<String>,
        cursor: Option<String>,
    },
    /// `session/prompt`.
    Prompt {
        session_id: String,
        content: Content,
    },
    /// `_session/steering`: a message for the turn that runs.
    Steer {
        session_id: String,
        content: Content,
        idle: WhenIdle,
    },
    /// What is no session's business alone.
    Errand(Errand),
    /// `_session/goal`: what is said to the agent to set a goal, or to take it back.
    Goal {
        session_id: String,
        content: Content,
    },
    /// `session/close`.
    Close { session_id: String },
    /// `session/delete`.
    Delete { session_id: String },
    /// `_session/async_task/stop`: stop a task in the background.
    StopTask { session_id: String, task: String },
    /// `session/set_config_option` and `session/set_mode`.
    Configure {
        session_id: String,
        setting: Setting,
    },
}

/// What an editor tells without wanting an answer.
#[derive(Debug)]
pub enum Tell {
    /// `session/cancel`.
    Cancel { session_id: String },
    /// `$/cancel_request`, with the id as it was written.
    CancelRequest { id: String },
}

/// Who waits for an answer of the editor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Waiter {
    /// A question of a session's Host.
    Dialog { session: SessionKey, dialog: String },
}

/// A request of ours, with what is needed to read its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    waiter: Waiter,
    asked: v1::questions::Asked,
}

/// What a message for a running turn is to do when none runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhenIdle {
    /// Start one.
    StartTurn,
    /// Nothing; the answer says so.
    SaySo,
}

/// What became of a message for a running turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steered {
    /// The turn has it.
    Running,
    /// It started a turn.
    NewTurn,
    /// Nothing: no turn runs.
    NoTurn,
}

/// How a prompt ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The agent is done.
    EndTurn,
    /// The model's answer became too long.
    MaxTokens,
    /// The agent took all steps that it may take.
    MaxTurnRequests,
    /// The model refuses.
    Refusal,
    /// The editor cancelled it, or the Host ended it.
    Cancelled,
}

/// The connection to the editor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Editor {
    /// Bytes to lines.
    pub lines: Lines,
    /// Requests without an answer yet.
    pub inbound: Inbound,
    outbound: Outbound<Open>,
    /// What the client can do.
    pub client: Client,
    /// The name of the Host in `_meta`, where it says what the protocol has no words for.
    extension: String,
    habits: Habits,
    /// The ways to sign in.
    pub sign_ins: Vec<SignIn>,
    initialized: bool,
    sent: u64,
    drained: u64,
}

impl Editor {
    /// A connection on which a Host says more under this name.
    pub fn new(extension: &str, habits: Habits) -> Editor {
        Editor {
            extension: extension.into(),
            habits,
            ..Editor::default()
        }
    }

    /// Whether `initialize` was answered.
    pub fn initialized(&self) -> bool {
        self.initialized
    }

    /// Bytes that wait for the editor.
    pub fn waiting(&self) -> u64 {
        self.sent.saturating_sub(self.drained)
    }

    /// Whether output is held back because the editor is slow (rule R7).
    pub fn slow(&self) -> bool {
        self.waiting() > limits::ACP_WAITING
    }

    /// The editor has taken this many bytes from the start.
    pub fn drained(&mut self, count: u64) {
        self.drained = self.drained.max(count);
    }

    /// Answers `initialize`. There is one version so far: it answers every request, and a
    /// client that cannot speak it goes away by itself (ACP, version negotiation).
    pub fn welcome(&mut self, core: &mut Core<'_>, ticket: Ticket, requested: u16, agent: &Agent) {
        self.initialized = true;
        if requested != v1::answers::VERSION {
            core.note(
                Level::Info,
                format!("the editor asked for ACP v{requested}"),
            );
        }
        if !self.habits.extras {
            self.client.extras = Extras::default();
        }
        let ways = v1::errands::sign_ins(&self.sign_ins, &self.client, agent);
        let (habits, client) = (self.habits, self.client);
        let result = v1::answers::initialize(agent, habits, &self.extension, client, &ways);
        self.answer(core, ticket, &result);
    }

    /// Answers `session/new`.
    pub fn created(
        &mut self,
        core: &mut Core<'_>,
        ticket: Ticket,
        session_id: &str,
        options: Option<&Options>,
        about: Option<Object>,
    ) {
        let result = v1::answers::created(session_id, options, self.client, about);
        self.answer(core, ticket, &result);
    }

    /// Answers `session/load` and `session/resume`.
    pub fn loaded(&mut self, core: &mut Core<'_>, ticket: Ticket, options: Option<&Options>) {
        let result = v1::answers::loaded(options, self.client);
        self.answer(core, ticket, &result);
    }

    /// Answers `session/list`.
    pub fn listed(&mut self, core: &mut Core<'_>, ticket: Ticket, page: &ListPage) {
        let indexed = self.client.extras.index;
        self.answer(core, ticket, &v1::answers::listed(page, indexed));
    }

    /// Answers `session/prompt`.
    pub fn stopped(&mut self, core: &mut Core<'_>, ticket: Ticket, reason: StopReason) {
        self.ended(core, ticket, reason, None);
    }

    /// Answers `session/prompt`, with what the turn took.
    pub fn ended(
        &mut self,
        core: &mut Core<'_>,
        ticket: Ticket,
        reason: StopReason,
        spent: Option<&Spent>,
    ) {
        self.answer(core, ticket, &v1::answers::stopped(reason, spent));
    }

    /// Answers `_session/steering`.
    pub fn steered(&mut self, core: &mut Core<'_>, ticket: Ticket, steered: Steered) {
        self.answer(core, ticket, &v1::answers::steered(steered));
    }

    /// Answers `providers/list`.
    pub fn providers(&mut self, core: &mut Core<'_>, ticket: Ticket, providers: &[Provider]) {
        self.answer(core, ticket, &v1::errands::providers(providers));
    }

    /// Answers `_session/list/subscribe`.
    pub fn watched(&mut self, core: &mut Core<'_>, ticket: Ticket, watch: &str) {
        self.answer(core, ticket, &v1::index::watched(watch));
    }

    /// Tells rows of the index that changed.
    pub fn changed(
        &mut self,
        core: &mut Core<'_>,
        watch: &str,
        sessions: &[ListItem],
        removed: &[String],
    ) {
        self.send(core, |out| {
            v1::index::changed(watch, sessions, removed, out);
        });
    }

    /// Tells who is signed in.
    pub fn signed_in(&mut self, core: &mut Core<'_>, account: &Account) {
        self.send(core, |out| v1::errands::signed_in(account, out));
    }

    /// Answers `session/close`, `session/delete` and what else is only done.
    pub fn closed(&mut self, core: &mut Core<'_>, ticket: Ticket) {
        self.answer(core, ticket, &v1::answers::empty());
    }

    /// Answers `session/set_config_option` or `session/set_mode`.
    pub fn configured(&mut self, core: &mut Core<'_>, ticket: Ticket, by: By, options: &Options) {
        let result = match by {
            By::Option => v1::options::set(options, self.client),
            By::Mode => v1::answers::empty(),
        };
        self.answer(core, ticket, &result);
    }

    /// Tells a session's options.
    pub fn options(&mut self, core: &mut Core<'_>, session_id: &str, options: &Options) {
        let client = self.client;
        self.send(core, |out| {
            v1::options::changed(session_id, options, client, out);
        });
    }

    /// Tells a session's mode.
    pub fn mode(&mut self, core: &mut Core<'_>, session_id: &str, mode: &str) {
        self.send(core, |out| v1::options::mode_changed(session_id, mode, out));
    }

    /// Answers with an error.
    pub fn refuse(&mut self, core: &mut Core<'_>, ticket: Ticket, error: &RpcError) {
        if let Some(id) = self.inbound.settle(ticket) {
            self.error(core, Some(&id), error);
        }
    }

    /// An error for an id, or for no id that could be made out.
    pub fn error(&mut self, core: &mut Core<'_>, id: Option<&str>, error: &RpcError) {
        self.send(core, |out| v1::answers::error(id, error, out));
    }

    /// Shows something of a turn.
    pub fn update(&mut self, core: &mut Core<'_>, session_id: &str, update: &Update<'_>) {
        self.sent += core.acp(|out| v1::encode::update(session_id, &self.extension, update, out));
    }

    /// Shows what only some editors are shown.
    pub fn more(&mut self, core: &mut Core<'_>, session_id: &str, more: &More) {
        let extras = self.client.extras;
        self.send(core, |out| v1::more::update(session_id, more, extras, out));
    }

    /// Answers `session/prompt`: it ended, and this went wrong.
    pub fn ended_with(
        &mut self,
        core: &mut Core<'_>,
        ticket: Ticket,
        reason: StopReason,
        spent: Option<&Spent>,
        record: &Record,
    ) {
        self.answer(core, ticket, &v1::answers::recorded(reason, spent, record));
    }

    /// Tells the steps of the work.
    pub fn plan(&mut self, core: &mut Core<'_>, session_id: &str, entries: &[PlanEntry]) {
        self.send(core, |out| v1::answers::plan(session_id, entries, out));
    }

    /// Tells something of a subagent that is a session.
    pub fn subagent(&mut self, core: &mut Core<'_>, session_id: &str, subagent: &Subagent<'_>) {
        let client = self.client;
        self.send(core, |out| {
            v1::aside::subagent(session_id, subagent, client, out)
        });
    }

    /// Tells something of a task in the background.
    pub fn task(&mut self, core: &mut Core<'_>, session_id: &str, task: &Task<'_>) {
        self.send(core, |out| {
            v1::aside::task(session_id, task.id, &task.news, out)
        });
    }

    /// Answers `_session/async_task/stop`.
    pub fn task_stopped(&mut self, core: &mut Core<'_>, ticket: Ticket, stopped: bool) {
        self.answer(core, ticket, &v1::answers::task_stopped(stopped));
    }

    /// Tells how full the context is.
    pub fn usage(&mut self, core: &mut Core<'_>, session_id: &str, usage: &Usage) {
        self.send(core, |out| v1::answers::usage(session_id, usage, out));
    }

    /// Passes a frame of the Host on, as it came.
    pub fn raw(&mut self, core: &mut Core<'_>, session_id: &str, method: &str, raw: &RawValue) {
        self.send(core, |out| v1::place::raw(session_id, method, raw, out));
    }

    /// Tells what a prompt may begin with.
    pub fn commands(&mut self, core: &mut Core<'_>, session_id: &str, skills: &[Skill]) {
        let extras = self.client.extras;
        self.send(core, |out| {
            v1::answers::commands(session_id, skills, extras, out);
        });
    }

    /// Tells a session's name and date.
    pub fn titled(
        &mut self,
        core: &mut Core<'_>,
        session_id: &str,
        title: &str,
        updated_at: Option<&str>,
    ) {
        self.send(core, |out| {
            v1::answers::session_info(session_id, title, updated_at, out)
        });
    }

    /// Asks the user. The ids of the choices are fresh ones that nobody can guess.
    pub fn ask_user(
        &mut self,
        core: &mut Core<'_>,
        session_id: &str,
        dialog: &Dialog,
        waiter: Waiter,
    ) -> Number {
        let option_ids: Vec<String> = match &dialog.body {
            Body::Choice { choices, .. } => {
                let id = |choice: &Choice| choice.id.clone();
                let ids = choices.iter().map(id);
                ids.map(|id| id.unwrap_or_else(|| core.uuid())).collect()
            }
            _ => Vec::new(),
        };
        let asked = match &dialog.body {
            Body::Choice { .. } => v1::questions::Asked::Permission(option_ids.clone()),
            _ => v1::questions::Asked::Form,
        };
        let number = self.outbound.ask(Open { waiter, asked });
        self.send(core, |out| {
            v1::questions::ask(number, session_id, dialog, &option_ids, out);
        });
        number
    }

    /// What the user was sent to an address for is done.
    pub fn visited(&mut self, core: &mut Core<'_>, id: &str) {
        self.send(core, |out| v1::questions::visited(id, out));
    }

    /// Takes a request of ours back, if it is still open.
    pub fn withdraw(&mut self, core: &mut Core<'_>, number: Number) {
        if self.outbound.withdraw(number) {
            self.send(core, |out| v1::questions::withdraw(number, out));
        }
    }

    /// An answer of the editor: what it says, and to whom. One that nobody waits for means
    /// nothing.
    pub fn replied(
        &mut self,
        id: &str,
        outcome: Result<&RawValue, &RawValue>,
    ) -> Option<(Waiter, Reply)> {
        let Open { waiter, asked } = self.outbound.settle(id)?;
        Some((waiter, v1::questions::reply(&asked, outcome)))
    }

    fn answer(&mut self, core: &mut Core<'_>, ticket: Ticket, result: &RawValue) {
        if let Some(id) = self.inbound.settle(ticket) {
            self.send(core, |out| v1::answers::result(&id, result, out));
        }
    }

    fn send(&mut self, core: &mut Core<'_>, write: impl FnOnce(&mut Vec<u8>)) {
        self.sent += core.acp(write);
    }

    /// Reads a request's method and params.
    ///
    /// # Errors
    /// The error to answer with.
    pub fn ask(&self, method: &str, params: Option<&RawValue>) -> Result<Ask, RpcError> {
        if !self.initialized && method != "initialize" {
            return Err(RpcError::new(
                error::INVALID_REQUEST,
                "The connection is not initialized. Send initialize first.",
            ));
        }
        if self.initialized && method == "initialize" {
            return Err(RpcError::new(
                error::INVALID_REQUEST,
                "The connection is already initialized.",
            ));
        }
        let index = v1::index::request(method, params, self.client.extras);
        index.unwrap_or_else(|| v1::decode::request(method, params, self.habits))
    }

    /// Reads a notification; those that mean nothing here are `None`.
    pub fn tell(&self, method: &str, params: Option<&RawValue>) -> Option<Tell> {
        v1::decode::notification(method, params)
    }
}
