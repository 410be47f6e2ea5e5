//! The plan: from TodoWrite, which says all of it, or from tasks, which are told one by one.
//!
//! Touches nothing else. Invariant: tasks stay in the order in which they were made, and are
//! at most [`limits::CLAUDE_TASKS`].

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::tools::fields::Fields;
use crate::host::{PlanEntry, PlanStatus};
use crate::limits;

/// The tasks of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Steps(Vec<Task>);

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    id: String,
    subject: String,
    /// What it is called while it is done.
    active: Option<String>,
    status: PlanStatus,
}

/// The entries of a TodoWrite; `None` if that is none.
pub fn todos(input: &RawValue) -> Option<Vec<PlanEntry>> {
    let todos = Fields::of(input).list("todos")?.into_iter().map(Fields::of);
    let entries = todos.filter_map(|todo| {
        let status = status(todo.text("status").as_deref()).unwrap_or(PlanStatus::Pending);
        let active = todo.some("activeForm");
        let content = active.filter(|_| status == PlanStatus::InProgress);
        Some(PlanEntry {
            content: content.or_else(|| todo.some("content"))?,
            status,
        })
    });
    Some(entries.collect())
}

impl Steps {
    /// All of them.
    pub fn entries(&self) -> Vec<PlanEntry> {
        let entries = self.0.iter().map(|task| {
            let active = task.active.as_ref();
            let active = active.filter(|_| task.status == PlanStatus::InProgress);
            PlanEntry {
                content: active.unwrap_or(&task.subject).clone(),
                status: task.status,
            }
        });
        entries.collect()
    }

    /// A task was made, or is told again.
    pub fn made(&mut self, id: &str, subject: &str, active: Option<String>) {
        if let Some(task) = self.task(id) {
            task.subject = subject.to_owned();
            task.active = active.or(task.active.take());
            return;
        }
        if self.0.len() as u64 >= limits::CLAUDE_TASKS {
            // The oldest that is done, else the oldest.
            let done = |task: &Task| task.status == PlanStatus::Completed;
            self.0.remove(self.0.iter().position(done).unwrap_or(0));
        }
        self.0.push(Task {
            id: id.to_owned(),
            subject: subject.to_owned(),
            active,
            status: PlanStatus::Pending,
        });
    }

    /// A task is done; whether it is known.
    pub fn done(&mut self, id: &str) -> bool {
        let task = self.task(id);
        task.map(|task| task.status = PlanStatus::Completed)
            .is_some()
    }

    /// The result of a task tool; whether the plan is to be told.
    pub fn told(&mut self, name: &str, input: Option<&RawValue>, result: &RawValue) -> bool {
        let input = input.map(Fields::of).unwrap_or_default();
        let result = Fields::of(result);
        match name {
            "TaskCreate" => self.created(&input, &result).is_some(),
            "TaskUpdate" => self.updated(&input, &result).is_some(),
            "TaskList" => self.listed(&result).is_some(),
            _ => false,
        }
    }

    fn created(&mut self, input: &Fields<'_>, result: &Fields<'_>) -> Option<()> {
        let task = result.object("task")?;
        let subject = task.some("subject").or_else(|| input.some("subject"))?;
        self.made(&task.word("id")?, &subject, input.some("activeForm"));
        Some(())
    }

    fn updated(&mut self, input: &Fields<'_>, result: &Fields<'_>) -> Option<()> {
        let id = result.word("taskId").or_else(|| input.word("taskId"))?;
        if result
            .raw("success")
            .is_some_and(|success| success.get() == "false")
        {
            return None;
        }
        let wanted = input.text("status");
        if wanted.as_deref() == Some("deleted") {
            self.0.retain(|task| task.id != id);
            return Some(());
        }
        let task = self.task(&id)?;
        if let Some(subject) = input.some("subject") {
            task.subject = subject;
        }
        if let Some(active) = input.some("activeForm") {
            task.active = Some(active);
        }
        if let Some(status) = status(wanted.as_deref()) {
            task.status = status;
        }
        Some(())
    }

    /// All tasks as they are. What only we know of one stays.
    fn listed(&mut self, result: &Fields<'_>) -> Option<()> {
        let told = result.list("tasks")?;
        let mut before = core::mem::take(&mut self.0);
        for task in told.into_iter().map(Fields::of) {
            let (Some(id), Some(subject)) = (task.word("id"), task.some("subject")) else {
                continue;
            };
            let known = before.iter_mut().find(|known| known.id == id);
            let active = known.and_then(|known| known.active.take());
            self.made(&id, &subject, task.some("activeForm").or(active));
            if let (Some(task), Some(status)) =
                (self.task(&id), status(task.text("status").as_deref()))
            {
                task.status = status;
            }
        }
        Some(())
    }

    fn task(&mut self, id: &str) -> Option<&mut Task> {
        self.0.iter_mut().find(|task| task.id == id)
    }
}

fn status(word: Option<&str>) -> Option<PlanStatus> {
    match word? {
        "pending" => Some(PlanStatus::Pending),
        "in_progress" => Some(PlanStatus::InProgress),
        "completed" => Some(PlanStatus::Completed),
        _ => None,
    }
}
