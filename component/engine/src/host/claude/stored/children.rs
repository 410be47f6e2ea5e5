//! Subagents of the past, in editors that show them as sessions (Claude adapter, sections 12
//! and 13).
//!
//! Touches nothing else. Invariants: a subagent's session is told before what was said in it;
//! how many of them are kept has a bound.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::children::{Launch, settings};
use super::super::tasks::Known;
use super::super::tools::agent;
use super::super::tools::blocks::{Content, fence};
use super::super::wire::Block;
use crate::host::Fact;
use crate::host::aside::{News, Over, Subagent, Subagents};
use crate::limits;

/// Those that were met so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Children {
    shows: Subagents,
    session: String,
    all: Vec<Child>,
}

/// A subagent of the past.
#[derive(Debug, Serialize, Deserialize)]
pub struct Child {
    /// The call that began it.
    pub call: String,
    /// Its session.
    pub id: String,
    /// The subagent that began it.
    parent: Option<String>,
    /// What it was told, until it is shown.
    task: Option<String>,
    /// Which model it had last.
    pub model: Option<String>,
    over: Over,
}

impl Children {
    /// None yet.
    pub fn new(shows: Subagents, session: &str) -> Children {
        Children {
            shows,
            session: session.to_owned(),
            all: Vec::new(),
        }
    }

    /// How they are shown.
    pub fn shows(&self) -> Subagents {
        self.shows
    }

    /// The session of the subagent that this call began.
    pub fn of(&self, call: &str) -> Option<&str> {
        let found = self.all.iter().rev().find(|child| child.call == call);
        found.map(|child| child.id.as_str())
    }

    /// A call that begins a subagent. Where their sessions have no ids of their own, it is
    /// shown with that.
    pub fn called(
        &mut self,
        block: &Block<'_>,
        parent: Option<&str>,
        tell: &mut dyn FnMut(Fact<'_>),
    ) {
        let agent = matches!(&*block.name, "Agent" | "Task");
        if agent && self.shows == (Subagents::Sessions { alone: false }) {
            let id = format!("{}:replay-subagent:{}", self.session, block.id);
            self.meet(&block.id, &id, parent, block.input, tell);
        }
    }

    /// What a subagent did comes next.
    pub fn dives(
        &mut self,
        call: &str,
        agent: &str,
        parent: Option<&str>,
        input: Option<&RawValue>,
        tell: &mut dyn FnMut(Fact<'_>),
    ) {
        if self.shows.sessions() && self.of(call).is_none() {
            self.meet(call, agent, parent, input, tell);
        }
    }

    fn meet(
        &mut self,
        call: &str,
        id: &str,
        parent: Option<&str>,
        input: Option<&RawValue>,
        tell: &mut dyn FnMut(Fact<'_>),
    ) {
        if self.all.len() as u64 >= limits::CLAUDE_ENDED_TASKS {
            self.all.remove(0).ends(tell);
        }
        let launch = Launch::of(input);
        let task = launch.prompt.unwrap_or_default();
        let child = Child {
            call: call.to_owned(),
            id: id.to_owned(),
            parent: parent.and_then(|call| self.of(call)).map(String::from),
            task: None,
            model: None,
            // Until its end is seen.
            over: Over::Stopped,
        };
        child.tell(
            News::Began {
                title: launch.description.as_deref().unwrap_or("Task"),
                kind: launch.subagent_type.as_deref(),
                task: &task,
                live: false,
            },
            tell,
        );
        let alone = self.shows == (Subagents::Sessions { alone: true });
        let task = Some(task).filter(|task| alone && !task.is_empty());
        self.all.push(Child { task, ..child });
    }

    /// The subagent that this call began says something, with this model.
    pub fn says(&mut self, call: &str, model: Option<&str>, tell: &mut dyn FnMut(Fact<'_>)) {
        let mut all = self.all.iter_mut().rev();
        let Some(child) = all.find(|child| child.call == call) else {
            return;
        };
        let model = model.filter(|it| *it != "<synthetic>");
        if let Some(model) = model.filter(|it| child.model.as_deref() != Some(it)) {
            child.model = Some(model.to_owned());
            child.set(
                &Known {
                    model: child.model.clone(),
                    ..Known::default()
                },
                tell,
            );
        }
        child.begins(tell);
    }

    /// The result of the call that began a subagent; whether the call is shown after all.
    pub fn result(
        &mut self,
        block: &Block<'_>,
        structured: Option<&RawValue>,
        tell: &mut dyn FnMut(Fact<'_>),
    ) -> bool {
        let mut all = self.all.iter_mut().rev();
        let Some(child) = all.find(|child| child.call == *block.tool_use_id) else {
            return true;
        };
        child.begins(tell);
        child.over = match block.is_error {
            true => Over::Failed,
            false => Over::Completed,
        };
        let content = Content::of(block.content);
        let shown = match block.is_error {
            true => content.shown(fence),
            false if agent::launched(structured) => None,
            false => agent::reported(&content, structured).content,
        };
        if let Some(content) = shown.filter(|it| !it.is_empty()) {
            let message = child.call.as_str();
            child.tell(News::Replied { message, content }, tell);
        }
        false
    }

    /// Nothing follows, but of those that run.
    pub fn over(&self, runs: &dyn Fn(&str) -> bool, tell: &mut dyn FnMut(Fact<'_>)) {
        for child in self.all.iter().filter(|child| !runs(&child.id)) {
            child.ends(tell);
        }
    }

    /// Those that are known, to go on with.
    pub fn into_all(self) -> Vec<Child> {
        self.all
    }
}

impl Child {
    fn tell(&self, news: News<'_>, tell: &mut dyn FnMut(Fact<'_>)) {
        tell(Fact::Subagent(Subagent {
            id: &self.id,
            parent: self.parent.as_deref(),
            news,
        }));
    }

    fn set(&self, known: &Known, tell: &mut dyn FnMut(Fact<'_>)) {
        let options = settings(None, known);
        let meta = None;
        self.tell(News::Set { options, meta }, tell);
    }

    /// What it was told is shown before anything that it says.
    fn begins(&mut self, tell: &mut dyn FnMut(Fact<'_>)) {
        if let Some(text) = self.task.take() {
            let message = self.call.to_string();
            let (message, text) = (message.as_str(), text.as_str());
            self.tell(News::Told { message, text }, tell);
        }
    }

    fn ends(&self, tell: &mut dyn FnMut(Fact<'_>)) {
        self.tell(News::Over(self.over), tell);
    }
}
