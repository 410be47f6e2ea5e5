//! How a process and we get to know each other (Claude adapter, Part 2.2): the greeting,
//! its settings, its first mode; then the session is there.
//!
//! Invariant: `session/new` is answered once, when what can be set is known.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::account::Seen;
use super::control::Purpose;
use super::extras::Prompt;
use super::options::Panel;
use super::session::{Session, Stage};
use super::wire::{Frame, part};
use super::{account, asking, failure};
use crate::host::aside::Subagents;
use crate::host::dialog::Means;
use crate::host::{Cx, Fact, Failure};
use crate::json::Object;
use crate::object;

/// What of the greeting matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Greeting<'a> {
    #[serde(borrow)]
    account: Option<Seen<'a>>,
}

impl Session {
    /// The first line of all (Part 2.2).
    pub(super) fn greet(&mut self, cx: &mut Cx<'_, '_>) {
        let hook = |id: &str| [object! { "hookCallbackIds": [id] }];
        let mut hooks = object! {
            "PostToolUse": hook("after-tool"), "PostModelSwitch": hook("after-model"),
            "PostCompact": hook("after-compact"), "TaskCreated": hook("task-made"),
            "TaskCompleted": hook("task-done"),
        };
        // How a subagent is set is only said there.
        if self.shows().sessions() {
            hooks.set("SubagentStart", &hook("subagent"));
            hooks.set("SubagentStop", &hook("subagent-over"));
            hooks.set("PostToolUseFailure", &hook("tool-failed"));
            hooks.set("PreToolUse", &hook("before-tool"));
        }
        let mut request = object! {
            "subtype": "initialize",
            "hooks": hooks,
            "promptSuggestions": self.setup.client.extras.on,
            "forwardSubagentText": self.shows().whole(),
        };
        if self.shows() == (Subagents::Sessions { alone: true }) {
            request.set("perTaskStopAffordance", &true);
        }
        if cx.listener.can_ask(Means::Form) {
            request.set("supportedDialogKinds", &[asking::FALLBACK]);
        }
        self.instruct(&mut request);
        self.request(cx, Purpose::Initialize, &request);
    }

    /// What the model is told before everything else, and which agents the client brings.
    fn instruct(&self, request: &mut Object) {
        let Prompt {
            instead,
            append,
            no_dynamic,
        } = &self.extras.prompt;
        if let Some(text) = instead {
            request.set("systemPrompt", &[text]);
        }
        let custom = self.setup.custom.as_ref();
        let append: Vec<&str> = append.iter().chain(custom).map(String::as_str).collect();
        if !append.is_empty() {
            request.set("appendSystemPrompt", &append.join("\n\n"));
        }
        if *no_dynamic {
            request.set("excludeDynamicSections", &true);
        }
        if let Some(agents) = &self.extras.agents {
            request.set("agents", agents);
        }
    }

    /// The process greets back; its settings are still to come.
    pub(super) fn greeted(&mut self, cx: &mut Cx<'_, '_>, answer: Result<Option<&RawValue>, &str>) {
        match answer {
            Ok(greeting) => {
                if !self.introduced(cx, greeting) {
                    return;
                }
                self.commands.greeted(greeting);
                self.greeting = greeting.map(ToOwned::to_owned);
                let request = object! { "subtype": "get_settings" };
                self.request(cx, Purpose::Settings, &request);
            }
            Err(error) => self.unstarted(cx, failure::greeting(error)),
        }
    }

    /// It says who is signed in. False if that is nobody who may be.
    fn introduced(&mut self, cx: &mut Cx<'_, '_>, greeting: Option<&RawValue>) -> bool {
        // With a way of the editor's own it is the gateway that knows.
        if self.environment.route().is_some() {
            return true;
        }
        let Greeting { account } = part(greeting);
        let Some(seen) = account else {
            return true;
        };
        let account = account::read(&seen);
        if self.environment.hides_subscriptions() && account::is_subscription(&account) {
            self.unstarted(cx, failure::subscription());
            return false;
        }
        self.remembered.account = Some(account);
        true
    }

    /// The process says why it cannot start; it ends by itself.
    pub(super) fn failed_to_start(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        if let Some(reason) = frame.startup_failure_reason.as_deref() {
            let said = frame.errors.first().map(|it| it.trim()).unwrap_or_default();
            self.unstarted(cx, failure::startup(reason, said));
        }
    }

    /// There will be no session.
    fn unstarted(&mut self, cx: &mut Cx<'_, '_>, failure: Failure) {
        if self.stage == Stage::Anew {
            self.gone(cx, &failure);
            return self.leave(cx);
        }
        let Stage::Starting(ticket) = self.stage else {
            return;
        };
        cx.answer(Fact::Refused { ticket, failure });
        self.stage = Stage::Ending(None);
        self.leave(cx);
    }

    /// The session is there.
    pub(super) fn live(&mut self, cx: &mut Cx<'_, '_>) {
        if self.stage == Stage::Anew {
            self.disarm(cx);
            self.stage = Stage::Live;
            self.take_over(cx);
            self.next_setting(cx);
            return self.ask_context(cx);
        }
        let Stage::Starting(ticket) = self.stage else {
            return;
        };
        self.disarm(cx);
        self.stage = Stage::Live;
        // A session of before is told by its load.
        if self.again {
            self.take_over(cx);
        } else {
            self.introduce(cx);
            cx.answer(Fact::Created {
                ticket,
                session_id: self.id.clone(),
                title: String::new(),
                options: self.panel.as_ref().map(Panel::options),
                cwd: self.cwd.clone(),
                about: None,
            });
            self.tell_commands(cx);
            self.look_at_servers(cx);
        }
        self.ask_context(cx);
    }
}
