//! What the process works at beside a turn: subagents, commands in the background, monitors,
//! workflows (Claude adapter, section 12).
//!
//! Pure: it is told what the frames say, and says what is to be done. Invariants: a frame of
//! a run that is over changes nothing; what is kept of tasks that ended has a bound.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::wire::tasks::TaskFrame;
use crate::host::aside::{Over, Progress};
use crate::limits;

/// All tasks of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Tasks {
    all: BTreeMap<String, Task>,
    begun: u64,
    /// What Claude does by itself, as the editor knows it.
    pub own: Option<String>,
    /// What the end of a task said last: Claude may go on because of it.
    pub noted: Option<String>,
    /// Questions of subagents to the user, and whose each is.
    asking: BTreeMap<String, String>,
}

/// A task.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Task {
    /// Which of its runs.
    run: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// The call that began it.
    pub call: Option<String>,
    /// For people.
    pub title: String,
    /// What a subagent is told.
    pub prompt: String,
    /// The turn does not wait for it.
    pub background: bool,
    /// It is to be shown beside what is said alone.
    pub aside: bool,
    /// The list of what runs in the background had it.
    listed: bool,
    /// Its call had a result, and stays open until it ends.
    pub holds_call: bool,
    /// It waits.
    pub paused: bool,
    /// How it ended, as soon as that is known.
    pub ended: Option<Over>,
    /// Nothing more comes of it.
    over: bool,
    /// The editor knows it.
    pub told: bool,
    /// The editor knows how it ended.
    pub end_told: Option<Over>,
    /// What a subagent is set to, as the editor knows it, and as it is.
    pub known: Known,
    pub set: Known,
    /// How far it is, as the editor knows it, and what it does not know yet.
    pub progress: Progress,
    pub news: Progress,
    order: u64,
}

/// What a task is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A subagent does it.
    #[default]
    Subagent,
    /// Anything else, by the editor's word for it.
    Other(String),
}

/// What is known of how a subagent is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    pub mode: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub agent: Option<String>,
}

impl Kind {
    fn of(word: Option<&str>) -> Kind {
        let other = |word: &str| Kind::Other(word.to_owned());
        match word {
            None | Some("local_agent" | "remote_agent") => Kind::Subagent,
            Some(word) if word.contains("bash") || word.contains("shell") => other("shell"),
            Some(word) if word.contains("workflow") => other("workflow"),
            Some(word) if word.contains("monitor") => other("monitor"),
            Some(word) => other(word),
        }
    }

    /// Whether it is a subagent.
    pub fn subagent(&self) -> bool {
        *self == Kind::Subagent
    }
}

impl Task {
    /// Whether it works in the background, and is not done.
    pub fn runs_aside(&self) -> bool {
        self.background && !self.over
    }
}

impl Tasks {
    /// `task_started`. Whether it was known and over: it is taken up again.
    pub fn started(&mut self, id: &str, frame: &TaskFrame<'_>) -> bool {
        let again = self.all.get(id).is_some_and(|task| task.over);
        let task = self.begin(id, frame);
        task.background |= frame.is_backgrounded;
        again
    }

    /// A task that a frame tells of.
    fn begin(&mut self, id: &str, frame: &TaskFrame<'_>) -> &mut Task {
        self.begun += 1;
        let order = self.begun;
        let task = self.all.entry(id.to_owned()).or_default();
        let text = |word: &Option<alloc::borrow::Cow<'_, str>>| word.as_deref().map(String::from);
        if task.over {
            task.over = false;
            task.listed = false;
            task.background = false;
            task.ended = None;
            task.end_told = None;
        }
        task.order = order;
        task.run = text(&frame.run_id).or(task.run.take());
        task.kind = Kind::of(frame.task_type.as_deref());
        task.aside |= frame.skip_transcript;
        // One that is taken up again keeps the call under which it is shown.
        task.call = task.call.take().or(text(&frame.tool_use_id));
        if let Some(title) = text(&frame.description) {
            task.title = title;
        }
        if let Some(prompt) = text(&frame.prompt) {
            task.prompt = prompt;
        }
        if frame.subagent_type.is_some() {
            task.set.agent = text(&frame.subagent_type);
        }
        task
    }

    /// Whether a frame is of a run that is over, or of a task that nobody knows.
    pub fn outdated(&self, id: &str, run: Option<&str>) -> bool {
        self.all.get(id).is_none_or(|task| {
            let known = task.run.as_deref();
            run.is_some() && known.is_some() && run != known
        })
    }

    /// A subagent that was seen before the frame that tells of it, or in the past.
    pub fn meet(&mut self, id: &str, call: &str, title: &str, prompt: &str) -> &mut Task {
        self.begun += 1;
        let order = self.begun;
        self.all.entry(id.to_owned()).or_insert_with(|| Task {
            call: Some(call.to_owned()),
            title: title.to_owned(),
            prompt: prompt.to_owned(),
            order,
            ..Task::default()
        })
    }

    /// A subagent of the past, which the editor knows.
    pub fn remember(&mut self, id: &str, call: &str, model: Option<String>) {
        let task = self.meet(id, call, "", "");
        task.told = true;
        task.end_told = Some(Over::Completed);
        task.set.model.clone_from(&model);
        task.known.model = model;
        self.over(id);
    }

    /// Subagents of the past whose model the editor knows.
    pub fn past(&self) -> Vec<(String, String)> {
        let over = self.all.iter().filter(|(_, task)| task.over && task.told);
        let model = |(id, task): (&String, &Task)| Some((id.clone(), task.known.model.clone()?));
        over.filter_map(model).collect()
    }

    /// The list of all that run in the background: gives those that have left it, and those
    /// that are new there.
    pub fn listed(&mut self, entries: &[TaskFrame<'_>]) -> (Vec<String>, Vec<String>) {
        let now: BTreeSet<&str> = entries
            .iter()
            .filter_map(|it| it.task_id.as_deref())
            .collect();
        let mut left = Vec::new();
        for (id, task) in &mut self.all {
            if task.listed && !now.contains(id.as_str()) {
                task.listed = false;
                if !core::mem::replace(&mut task.over, true) {
                    left.push(id.clone());
                }
            }
        }
        let mut new = Vec::new();
        for entry in entries {
            let Some(id) = entry.task_id.as_deref() else {
                continue;
            };
            if self.all.get(id).is_none_or(|task| task.over) {
                self.begin(id, entry);
            }
            if let Some(task) = self.all.get_mut(id) {
                task.listed = true;
                if !core::mem::replace(&mut task.background, true) {
                    new.push(id.to_owned());
                }
            }
        }
        (left, new)
    }

    /// Nothing more comes of a task.
    pub fn over(&mut self, id: &str) {
        if let Some(task) = self.all.get_mut(id) {
            task.over = true;
        }
        let over = self.all.iter().filter(|(_, task)| task.over);
        if over.clone().count() as u64 > limits::CLAUDE_ENDED_TASKS
            && let Some(oldest) = over.min_by_key(|(_, task)| task.order)
        {
            let oldest = oldest.0.clone();
            self.all.remove(&oldest);
        }
    }

    /// A task.
    pub fn get(&self, id: &str) -> Option<&Task> {
        self.all.get(id)
    }

    /// A task.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut Task> {
        self.all.get_mut(id)
    }

    /// Tasks that are not over.
    pub fn running(&self) -> impl Iterator<Item = (&str, &Task)> {
        let all = self.all.iter().filter(|(_, task)| !task.over);
        all.map(|(id, task)| (id.as_str(), task))
    }

    /// Whether a subagent works in the background.
    pub fn subagents_run(&self) -> bool {
        self.running()
            .any(|(_, task)| task.background && task.kind.subagent())
    }

    /// Whether the stream of this call is that of a subagent in the background.
    pub fn in_background(&self, call: &str) -> bool {
        self.running().any(|(_, task)| {
            task.background && task.kind.subagent() && task.call.as_deref() == Some(call)
        })
    }

    /// Whether a task that was begun by this call runs in the background.
    pub fn of_call(&self, call: &str) -> bool {
        self.running()
            .any(|(_, task)| task.background && task.call.as_deref() == Some(call))
    }

    /// The task that this call began, if it runs in the background.
    pub fn begun_by(&mut self, call: &str) -> Option<&mut Task> {
        let mut running = self.all.values_mut().filter(|task| task.runs_aside());
        running.find(|task| task.call.as_deref() == Some(call))
    }

    /// The subagent that this call began.
    pub fn subagent(&self, call: &str) -> Option<&str> {
        let found = self
            .all
            .iter()
            .find(|(_, task)| task.kind.subagent() && task.call.as_deref() == Some(call));
        found.map(|(id, _)| id.as_str())
    }

    /// A subagent asks the user; whether it was not waiting for the user before.
    pub fn asks(&mut self, question: &str, id: &str) -> bool {
        let first = !self.asking.values().any(|it| it == id);
        self.asking.insert(question.to_owned(), id.to_owned());
        first
    }

    /// A question is no more: the subagent that waits for nothing any more.
    pub fn answered(&mut self, question: &str) -> Option<String> {
        let id = self.asking.remove(question)?;
        let waits = self.asking.values().any(|it| *it == id);
        (!waits).then_some(id)
    }

    /// The conversation began anew; gives what ran.
    pub fn take_running(&mut self) -> Vec<String> {
        let running = self.running().map(|(id, _)| id.to_owned()).collect();
        self.asking.clear();
        running
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Tasks::default();
    }
}
