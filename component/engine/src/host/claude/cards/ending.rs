//! The end of a call: by its result, by the CLI's refusal, or with the turn.
//!
//! Pure. Invariant: each call that the editor knows ends once; only what a hook says of it
//! may come after that.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::value::{RawValue, to_raw_value};

use super::super::tools;
use super::super::tools::blocks::Content;
use super::call::{Call, News};
use super::running::exit;
use super::{Cards, Ended, Told, lean};
use crate::json::Object;
use crate::limits;
use crate::object;
use crate::projection::{Report, Shown, Status};

const NEVER_RAN: &str = "Claude stopped this tool call before it ran.";
const NO_RESULT: &str = "The turn was cancelled before this tool call returned a result.";

impl Cards {
    /// A `tool_result`.
    pub fn result(&mut self, id: &str, result: &Ended<'_>, out: &mut Vec<Told>) {
        self.streamed.retain(|known| known.id != id);
        let Some(call) = self.call(id).filter(|call| !call.ended) else {
            return;
        };
        let name = call.name.clone();
        if call.hidden {
            let input = call.input.take();
            let told = result.structured.filter(|_| !result.is_error);
            if told.is_some_and(|told| self.steps.told(&name, input.as_deref(), told)) {
                self.plan(self.steps.entries(), out);
            }
            return self.end(id);
        }
        if name == "EnterPlanMode" && !result.is_error {
            self.plans(id, out);
        }
        let content = Content::of(result.content);
        let status = match result.is_error {
            true => Status::Failed,
            false if result.goes_on => Status::InProgress,
            false => Status::Completed,
        };
        let mut news = News {
            status: Some(status),
            ..News::default()
        };
        news.notes.non_execution = result.non_execution.map(ToOwned::to_owned);
        news.notes.feedback = result.feedback.map(ToOwned::to_owned);
        if tools::is_command(&name) && self.setting.terminals {
            let ran = tools::commands::ran(&content, result.is_error, result.structured);
            let mut shown = vec![Shown::Terminal(id.to_owned())];
            match content.is_rich() {
                // A terminal shows no pictures.
                true => shown.extend(content.shown(str::to_owned).unwrap_or_default()),
                false => self.terminal_grew(id, &ran.output, out),
            }
            news.content = Some(shown);
            if ran.background {
                self.runs_on(&mut news, out);
            }
            // The terminal of a command that runs on stays open, where its output is shown.
            if !ran.background || self.setting.extras.on {
                let code = lean::exit_code(self.setting.extras, ran.exit_code, status);
                news.notes.beside = Some(("terminal_exit", exit(id, code)));
                self.call(id)
                    .into_iter()
                    .for_each(|call| call.terminal = false);
            }
        } else {
            let ending = tools::ending(&name, &content, result.is_error, result.structured);
            news.title = ending.title;
            news.content = ending.content;
            news.raw_output = match content {
                Content::Nothing => None,
                _ => result.content.map(ToOwned::to_owned),
            };
            if tools::commands::runs_on(&content, result.structured).is_some() {
                self.runs_on(&mut news, &mut Vec::new());
            }
            self.result_lean(&name, result, &content, &mut news);
        }
        self.tell(id, news, out);
        if name == "ExitPlanMode" && !result.is_error {
            self.plan_approved(id, result.structured, out);
        }
        if status != Status::InProgress {
            self.end(id);
        }
    }

    /// A call that no result follows (the CLI's own questions, and what goes on in the
    /// background) is over.
    pub fn settled(&mut self, id: &str, completed: bool, out: &mut Vec<Told>) {
        let status = if completed {
            Status::Completed
        } else {
            Status::Failed
        };
        let news = News {
            status: Some(status),
            ..News::default()
        };
        if self.is_open(id) {
            self.tell(id, news, out);
            self.end(id);
        }
    }

    /// What a call began in the background was ended from here: it has failed after all, and
    /// says why. A terminal stays with what it shows.
    pub fn cut_off(&mut self, id: &str, why: &str, out: &mut Vec<Told>) {
        let terminals = self.setting.terminals;
        let Some(call) = self.call(id).filter(|call| !call.hidden) else {
            return;
        };
        let mut content = vec![Shown::Text(why.to_owned())];
        if tools::is_command(&call.name) && terminals {
            content.insert(0, Shown::Terminal(id.to_owned()));
        }
        let mut news = News {
            status: Some(Status::Failed),
            content: Some(content),
            ..News::default()
        };
        if core::mem::take(&mut call.terminal) {
            news.notes.beside = Some(("terminal_exit", exit(id, None)));
        }
        self.tell(id, news, out);
        self.end(id);
    }

    /// The `PostToolUse` hook: what the tool answered, and what became of a file.
    pub fn hooked(&mut self, id: &str, response: &RawValue, out: &mut Vec<Told>) {
        let cwd = self.setting.cwd.clone();
        let Some(call) = self.call(id).filter(|call| !call.hidden) else {
            return;
        };
        let mut news = News::default();
        news.notes.response = (response.get() != "null").then(|| response.to_owned());
        if matches!(call.name.as_str(), "Edit" | "Write")
            && let Some((content, places)) = tools::files::patched(response, &cwd)
        {
            news.content = Some(content);
            news.places = Some(places);
        }
        let name = call.name.clone();
        if name == "EnterPlanMode" {
            self.plans(id, out);
        }
        self.hooked_lean(&name, response, &mut news);
        self.tell(id, news, out);
    }

    /// A `permission_denied` frame: the CLI itself refused the call.
    pub fn denied(
        &mut self,
        id: &str,
        reason_type: Option<&str>,
        reason: Option<&str>,
        message: Option<&str>,
        out: &mut Vec<Told>,
    ) {
        if !self.is_open(id) {
            return;
        }
        let mut response = Object::new();
        let fields = [
            ("decisionReasonType", reason_type),
            ("decisionReason", reason),
            ("message", message),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                response.set(name, value);
            }
        }
        let text = match reason.or(message) {
            Some(reason) => format!("Permission denied: {reason}"),
            None => "Permission denied".to_owned(),
        };
        let mut news = News {
            status: Some(Status::Failed),
            content: Some(vec![Shown::Text(text)]),
            ..News::default()
        };
        news.notes.response = to_raw_value(&response).ok();
        self.lean_notes(&mut news);
        self.tell(id, news, out);
    }

    /// No result comes any more for what is open, but for the calls of the subagents that
    /// run on, and those that began what runs on: `keep` says so of a call and its parent.
    pub fn close_all(&mut self, keep: impl Fn(&str, Option<&str>) -> bool, out: &mut Vec<Told>) {
        let open = self.calls.iter().filter(|call| !call.ended);
        let stopped = open.filter(|call| !keep(&call.id, call.parent.as_deref()));
        let ids: Vec<String> = stopped.map(|call| call.id.clone()).collect();
        for id in ids {
            self.close(&id, out);
        }
    }

    pub(super) fn close(&mut self, id: &str, out: &mut Vec<Told>) {
        let Some(call) = self.call(id) else { return };
        let ended = matches!(call.status, Some(Status::Failed | Status::Completed));
        if !call.hidden && !ended {
            let text = if call.called { NO_RESULT } else { NEVER_RAN };
            let terminal = core::mem::take(&mut call.terminal);
            out.push(Told::Card(Report {
                status: Some(Status::Failed),
                content: Some(vec![Shown::Text(text.to_owned())]),
                meta: terminal.then(|| object! { "terminal_exit": exit(id, None) }),
                ..call.plain()
            }));
        }
        self.streamed.retain(|known| known.id != id);
        self.end(id);
    }

    /// It has its result; a late hook may still tell of it.
    pub(super) fn end(&mut self, id: &str) {
        if let Some(call) = self.call(id) {
            call.ended = true;
            call.input = None;
        }
        let ended = |call: &&Call| call.ended;
        if self.calls.iter().filter(ended).count() as u64 > limits::CLAUDE_ENDED_CALLS {
            let oldest = self
                .calls
                .iter()
                .position(|call| call.ended && !call.terminal);
            self.calls.remove(oldest.unwrap_or(0));
        }
    }
}
