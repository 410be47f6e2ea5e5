//! How a process and we get to know each other (Claude adapter, Part 2.2): the greeting,
//! its settings, its first mode; then the session is there.
//!
//! Invariant: `session/new` is answered once, when what can be set is known.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::control::Purpose;
use super::extras::Prompt;
use super::options::Panel;
use super::session::{Session, Stage};
use super::{asking, failure};
use crate::host::aside::Subagents;
use crate::host::dialog::Means;
use crate::host::{Cx, Fact};
use crate::json::Object;
use crate::object;

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
                self.commands.greeted(greeting);
                self.greeting = greeting.map(ToOwned::to_owned);
                let request = object! { "subtype": "get_settings" };
                self.request(cx, Purpose::Settings, &request);
            }
            Err(error) => {
                let failure = failure::greeting(error);
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
        }
    }

    /// The session is there.
    pub(super) fn live(&mut self, cx: &mut Cx<'_, '_>) {
        if self.stage == Stage::Anew {
            self.disarm(cx);
            self.stage = Stage::Live;
            self.begin_anew(cx);
            self.next_setting(cx);
            return self.ask_context(cx);
        }
        let Stage::Starting(ticket) = self.stage else {
            return;
        };
        self.disarm(cx);
        self.stage = Stage::Live;
        // A session of before is told by its load.
        if !self.again {
            cx.answer(Fact::Created {
                ticket,
                session_id: self.id.clone(),
                title: String::new(),
                options: self.panel.as_ref().map(Panel::options),
                cwd: self.cwd.clone(),
                about: None,
            });
            self.tell_commands(cx);
        }
        self.ask_context(cx);
    }
}
