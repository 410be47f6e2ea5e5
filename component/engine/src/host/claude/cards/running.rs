//! What is told of calls while they run: progress, terminals, tasks, plan mode; and what
//! has no call: memories.
//!
//! Pure. Invariant: nothing here opens a call or ends one.

use alloc::vec::Vec;

use serde_json::value::{RawValue, to_raw_value};

use super::super::tools::memory;
use super::call::News;
use super::{Cards, Progress, Told};
use crate::json::Object;
use crate::object;
use crate::projection::{Report, Status};

impl Cards {
    /// A call still runs; one that is not known may belong to a subagent's.
    pub fn progress(
        &mut self,
        id: &str,
        parent: Option<&str>,
        progress: &Progress<'_>,
        out: &mut Vec<Told>,
    ) {
        let id = match parent {
            Some(parent) if !self.known(id) => parent,
            _ => id,
        };
        // A refused call waits for its result, but does not run.
        let open = self.call(id).filter(|call| !call.ended && !call.hidden);
        if open.is_none_or(|call| call.status == Some(Status::Failed)) {
            return;
        }
        let mut response = Object::new();
        if let Some(elapsed) = progress.elapsed {
            response.set("elapsedTimeSeconds", elapsed);
        }
        if let Some(kind) = progress.subagent_type {
            response.set("subagentType", kind);
        }
        if let Some(retry) = progress.subagent_retry {
            response.set("subagentRetry", retry);
        }
        let mut news = News {
            status: Some(Status::InProgress),
            ..News::default()
        };
        news.notes.response = to_raw_value(&response).ok();
        self.lean_notes(&mut news);
        self.tell(id, news, out);
    }

    /// A command printed this into its terminal.
    pub fn terminal_grew(&mut self, id: &str, data: &str, out: &mut Vec<Told>) {
        let name = match self.setting.terminal_deltas {
            true => "terminal_output_delta",
            false => "terminal_output",
        };
        let Some(call) = self
            .call(id)
            .filter(|call| call.terminal && !data.is_empty())
        else {
            return;
        };
        let mut meta = Object::new();
        if let Some(parent) = &call.parent {
            meta.set("claudeCode", &object! { "parentToolUseId": parent });
        }
        meta.set(name, &object! { "terminal_id": id, "data": data });
        out.push(Told::Card(Report {
            meta: Some(meta),
            ..call.plain()
        }));
    }

    /// A command that ran on has ended; how is not known.
    pub fn terminal_ended(&mut self, id: &str, out: &mut Vec<Told>) {
        if let Some(call) = self.call(id).filter(|call| call.terminal) {
            call.terminal = false;
            let mut news = News::default();
            news.notes.beside = Some(("terminal_exit", exit(id, None)));
            self.tell(id, news, out);
        }
    }

    /// A `memory_recall` frame, which is a card of its own.
    pub fn recalled(&self, id: &str, mode: &str, memories: &[&RawValue], out: &mut Vec<Told>) {
        let cwd = &self.setting.cwd;
        let mut card = memory::recalled(id, mode, memories, cwd);
        if self.setting.extras.on {
            let names = object! { "toolName": "memory_recall" };
            card.meta = Some(object! { "claudeCode": names });
        }
        out.push(Told::Card(card));
    }

    /// The `TaskCreated` hook.
    pub fn task_made(&mut self, id: &str, subject: &str, out: &mut Vec<Told>) {
        self.steps.made(id, subject, None);
        self.plan(self.steps.entries(), out);
    }

    /// The `TaskCompleted` hook.
    pub fn task_done(&mut self, id: &str, out: &mut Vec<Told>) {
        if self.steps.done(id) {
            self.plan(self.steps.entries(), out);
        }
    }

    /// Plan mode was entered by the main thread, which is told once.
    pub(super) fn plans(&mut self, id: &str, out: &mut Vec<Told>) {
        let call = self.call(id).filter(|call| call.parent.is_none());
        if let Some(call) = call.filter(|call| !call.planning) {
            call.planning = true;
            out.push(Told::PlanMode);
        }
    }
}

/// How a terminal ended, as far as that is known.
pub fn exit(id: &str, code: Option<i64>) -> Object {
    object! { "terminal_id": id, "exit_code": code, "signal": None::<u64> }
}
