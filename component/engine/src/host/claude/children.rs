//! Subagents as sessions of their own (Claude adapter, section 12): announced before anything
//! of theirs, told how they are set and how they end; what they say and do goes there.
//!
//! Invariant: in an editor that shows them otherwise, nothing here tells anything.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::control::Purpose;
use super::options::Panel;
use super::session::Session;
use super::stored::Child;
use super::tasks::Known;
use super::text::MAIN;
use super::tools::agent;
use super::tools::blocks::Content;
use super::turns::Gate;
use super::wire::tasks::AgentHook;
use super::wire::{Block, part};
use super::{modes, options, recommended, tools};
use crate::host::aside::{News, Over, Subagent, Subagents};
use crate::host::{Cx, Fact};
use crate::json::Object;
use crate::object;
use crate::session::options::{Category, Choice, Marks, Options, Value};

/// The input of a call that begins a subagent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Launch {
    /// For people.
    pub description: Option<String>,
    /// What it is told.
    pub prompt: Option<String>,
    /// What kind of subagent.
    pub subagent_type: Option<String>,
}

impl Session {
    /// How the editor shows subagents.
    pub(super) fn shows(&self) -> Subagents {
        Subagents::of(&self.setup.client)
    }

    /// A fact about the session or, with `child`, in that subagent's.
    pub(super) fn tell_in(&self, cx: &mut Cx<'_, '_>, child: Option<&str>, fact: Fact<'_>) {
        match child {
            Some(id) => {
                let fact = alloc::boxed::Box::new(fact);
                self.tell(cx, Fact::Inside { id, fact });
            }
            None => self.tell(cx, fact),
        }
    }

    /// The session of the subagent that this call began, if it has one; the editor knows it
    /// from here on. `agent` is the subagent's id, where the frame says so.
    pub(super) fn child(
        &mut self,
        cx: &mut Cx<'_, '_>,
        call: &str,
        agent: Option<&str>,
    ) -> Option<String> {
        if call == MAIN || !self.shows().sessions() {
            return None;
        }
        let known = agent.filter(|id| self.tasks.get(id).is_some());
        let known = known.or_else(|| self.tasks.subagent(call));
        let id = match known {
            Some(id) => id.to_owned(),
            None => self.meet(call, agent),
        };
        self.announce(cx, &id);
        Some(id)
    }

    /// A subagent whose beginning was not told: its call says what it is.
    fn meet(&mut self, call: &str, agent: Option<&str>) -> String {
        let launch = Launch::of(self.cards.input(call));
        let id = agent.map_or_else(|| format!("{}:subagent:{call}", self.id), String::from);
        let title = launch.description.unwrap_or_default();
        let prompt = launch.prompt.unwrap_or_default();
        let task = self.tasks.meet(&id, call, &title, &prompt);
        task.set.agent = task.set.agent.take().or(launch.subagent_type);
        id
    }

    /// `task_started`: a subagent of work that was stopped is not shown for that alone.
    pub(super) fn child_started(&mut self, cx: &mut Cx<'_, '_>, id: &str) {
        let subagent = self.tasks.get(id).is_some_and(|it| it.kind.subagent());
        let dropped = self.turns.gate() == Gate::Reported;
        if subagent && self.shows().sessions() && !dropped {
            self.announce(cx, id);
        }
    }

    fn announce(&mut self, cx: &mut Cx<'_, '_>, id: &str) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if core::mem::replace(&mut task.told, true) {
            return;
        }
        let call = task.call.clone().unwrap_or_default();
        let (title, prompt) = (task.title.clone(), core::mem::take(&mut task.prompt));
        let kind = task.set.agent.clone();
        let title = if title.is_empty() { "Task" } else { &title };
        // The one that began it comes first.
        if let Some(outer) = self.cards.parent(&call).map(ToOwned::to_owned) {
            self.child(cx, &outer, None);
        }
        self.tell_child(
            cx,
            id,
            News::Began {
                title,
                kind: kind.as_deref(),
                task: &prompt,
                live: true,
            },
        );
        if !prompt.is_empty() {
            let (message, text) = (call.as_str(), prompt.as_str());
            self.tell_child(cx, id, News::Told { message, text });
        }
    }

    /// Something of a subagent.
    pub(super) fn tell_child(&self, cx: &mut Cx<'_, '_>, id: &str, news: News<'_>) {
        if !self.shows().sessions() {
            return;
        }
        let call = self.tasks.get(id).and_then(|task| task.call.as_deref());
        let outer = call.and_then(|call| self.cards.parent(call));
        let parent = outer.and_then(|outer| self.tasks.subagent(outer));
        self.tell(cx, Fact::Subagent(Subagent { id, parent, news }));
    }

    /// A subagent ended; what waits for the user does not any more.
    pub(super) fn child_ended(&mut self, cx: &mut Cx<'_, '_>, id: &str, over: Over) {
        if let Some(task) = self.tasks.get_mut(id)
            && task.told
            && task.end_told.is_none()
        {
            task.end_told = Some(over);
            self.tell_child(cx, id, News::Over(over));
        }
    }

    /// Which model a subagent has.
    pub(super) fn child_runs(&mut self, cx: &mut Cx<'_, '_>, id: &str, model: Option<&str>) {
        let Some(model) = model.filter(|it| *it != "<synthetic>") else {
            return;
        };
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        task.set.model = Some(model.to_owned());
        let call = task.call.clone();
        let meta = call.map(|call| object! { "claudeCode": object! { "parentToolUseId": call } });
        self.child_set(cx, id, meta);
    }

    /// What a hook says of the subagent in which it was called.
    pub(super) fn agent_hook(&mut self, cx: &mut Cx<'_, '_>, input: Option<&RawValue>) {
        let hook: AgentHook<'_> = part(input);
        let Some(id) = hook.agent_id.as_deref() else {
            return;
        };
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        let set = &mut task.set;
        let text = |word: Option<&str>| word.filter(|it| !it.is_empty()).map(String::from);
        match &*hook.hook_event_name {
            "SubagentStart" => {
                set.agent = text(hook.agent_type.as_deref()).or(set.agent.take());
            }
            "PreToolUse" => {
                set.mode = text(hook.permission_mode.as_deref()).or(set.mode.take());
                let level = hook.effort.and_then(|it| text(it.level.as_deref()));
                set.effort = level.or(set.effort.take());
            }
            _ => return,
        }
        self.child_set(cx, id, None);
    }

    /// Tells how a subagent is set, if that is new.
    fn child_set(&mut self, cx: &mut Cx<'_, '_>, id: &str, meta: Option<Object>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if !task.told || task.known == task.set {
            return;
        }
        task.known = task.set.clone();
        let options = settings(self.panel.as_ref(), &task.set.clone());
        self.tell_child(cx, id, News::Set { options, meta });
    }

    /// The result of a call that began a subagent: its report goes to who asked for it. A
    /// call that began none is shown after all.
    pub(super) fn agent_result(
        &mut self,
        cx: &mut Cx<'_, '_>,
        block: &Block<'_>,
        structured: Option<&RawValue>,
    ) {
        let call = &*block.tool_use_id;
        let agent = matches!(self.cards.name(call), Some("Agent" | "Task"));
        if !agent || !self.shows().sessions() || self.cards.is_over(call) {
            return;
        }
        let child = self.tasks.subagent(call).map(ToOwned::to_owned);
        let child = child.filter(|id| self.tasks.get(id).is_some_and(|it| it.told));
        let Some(child) = child else {
            if block.is_error {
                let mut out = Vec::new();
                self.cards.reveal(call, &mut out);
                self.tell_cards(cx, out);
            }
            return;
        };
        let content = Content::of(block.content);
        let shown = match block.is_error {
            true => content.shown(tools::blocks::fence),
            false if agent::launched(structured) => None,
            false => agent::reported(&content, structured).content,
        };
        if let Some(content) = shown.filter(|it| !it.is_empty()) {
            let message = call;
            self.tell_child(cx, &child, News::Replied { message, content });
        }
    }

    /// The editor stops a subagent by its own session's id; whether there is one.
    pub fn stop_subagent(&mut self, cx: &mut Cx<'_, '_>, id: &str) -> bool {
        let task = self.tasks.get(id);
        let running = task.is_some_and(|it| it.told && it.kind.subagent() && it.ended.is_none());
        let running = running && self.stage.is_live() && self.shows().sessions();
        if running {
            let request = object! { "subtype": "stop_task", "task_id": id };
            self.request(cx, Purpose::Nothing, &request);
        }
        running
    }

    /// Whether this subagent works.
    pub fn is_running(&self, id: &str) -> bool {
        self.tasks.running().any(|(it, _)| it == id)
    }

    /// Subagents of the past: one of them may be taken up again.
    pub fn meets_again(&mut self, children: Vec<Child>) {
        for child in children {
            self.tasks.remember(&child.id, &child.call, child.model);
        }
    }

    /// What models subagents of the past had can be said better, now that these are known.
    pub(super) fn tell_again(&mut self, cx: &mut Cx<'_, '_>) {
        for (id, model) in self.tasks.past() {
            let row = self.panel.as_ref().and_then(|panel| panel.running(&model));
            if row.is_some_and(|(row, _)| row != model) {
                let set = Known {
                    model: Some(model),
                    ..Known::default()
                };
                let options = settings(self.panel.as_ref(), &set);
                self.tell_child(
                    cx,
                    &id,
                    News::Set {
                        options,
                        meta: None,
                    },
                );
            }
        }
    }

    /// The editor cancels: where subagents cannot be stopped alone, they end with the turn;
    /// where they can, they run on, but workflows do not.
    pub(super) fn cancel_tasks(&mut self, cx: &mut Cx<'_, '_>) {
        match self.shows() {
            Subagents::Sessions { alone: false } => {
                let told = self.tasks.running().filter(|(_, it)| it.kind.subagent());
                let told: Vec<String> = told.map(|(id, _)| id.to_owned()).collect();
                for id in told {
                    self.child_ended(cx, &id, Over::Stopped);
                }
            }
            Subagents::Sessions { alone: true } => {
                let workflow = super::tasks::Kind::Other("workflow".to_owned());
                let running = self.tasks.running();
                let flows = running.filter(|(_, it)| it.runs_aside() && it.kind == workflow);
                let flows: Vec<String> = flows.map(|(id, _)| id.to_owned()).collect();
                for id in flows {
                    let request = object! { "subtype": "stop_task", "task_id": id };
                    self.request(cx, Purpose::Nothing, &request);
                }
            }
            _ => {}
        }
    }

    /// A subagent asks the user.
    pub(super) fn child_asks(&mut self, cx: &mut Cx<'_, '_>, question: &str, id: &str) {
        if self.tasks.asks(question, id) {
            self.tell_child(cx, id, News::Waits);
        }
    }

    /// A question is no more.
    pub(super) fn child_answered(&mut self, cx: &mut Cx<'_, '_>, question: &str) {
        if let Some(id) = self.tasks.answered(question)
            && self.tasks.get(&id).is_some_and(|it| it.end_told.is_none())
        {
            self.tell_child(cx, &id, News::Works);
        }
    }
}

impl Launch {
    /// What cannot be read is absent.
    pub fn of(input: Option<&RawValue>) -> Launch {
        part(input)
    }
}

/// How a subagent is set, as far as that is known: each option with the one value that it has.
pub fn settings(panel: Option<&Panel>, set: &Known) -> Options {
    let one = |id: &str, name: &str, about: Option<&str>, category, value: Value| Choice {
        id: id.to_owned(),
        name: name.to_owned(),
        about: about.map(String::from),
        category,
        current: value.id.clone(),
        values: [value].into(),
        switch: false,
        marks: Marks::default(),
    };
    let plain = |id: &str, name: String| Value {
        id: id.to_owned(),
        name,
        about: None,
    };
    let mut all = Vec::new();
    if let Some(mode) = &set.mode {
        let about = Some("Session permission mode");
        let marks = Marks {
            recommended: None,
            kinds: recommended::kinds(),
        };
        all.push(Choice {
            marks,
            ..one("mode", "Mode", about, Category::Mode, modes::value_of(mode))
        });
    }
    if let Some(model) = &set.model {
        let row = panel.and_then(|panel| panel.running(model));
        let (id, name) = row.unwrap_or_else(|| (model.clone(), model.clone()));
        all.push(one(
            "model",
            "Model",
            None,
            Category::Model,
            plain(&id, name),
        ));
    }
    if let Some(effort) = &set.effort {
        let about = Some("Current reasoning effort");
        let value = plain(effort, options::capital(effort));
        all.push(one(
            "effort",
            "Effort",
            about,
            Category::ThoughtLevel,
            value,
        ));
    }
    if let Some(agent) = &set.agent {
        let value = plain(agent, agent.clone());
        all.push(one(
            "agent",
            "Agent",
            Some("Subagent type"),
            Category::None,
            value,
        ));
    }
    Options(all)
}
