//! The cards of a session's tool calls: frames of the CLI in, reports for the editor out.
//!
//! Holds what is open; touches nothing else. A call is begun by its stream, called by the
//! consolidated message (or both, or the second alone), perhaps asked about, and ended by its
//! result; a hook tells what the tool answered, and may be late. Each family of tools has its
//! look in `tools`.
//!
//! Invariant: the first report of a call carries all of the card, a later one only what is
//! new; what is kept has bounds, whatever the CLI sends.

mod call;
mod ending;
pub mod lean;
mod running;
mod steps;
mod streamed;

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::tools;
use super::tools::fields::Fields;
use crate::host::{Extras, PlanEntry};
use crate::limits;
use crate::object;
use crate::projection::{Report, Shown, Status};
use call::{Call, News};
use steps::Steps;
use streamed::Streamed;

/// What the cards of a session depend on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Setting {
    /// The session's folder, absolute.
    pub cwd: String,
    /// Whether the editor shows terminals (`_meta.terminal_output` of the client).
    pub terminals: bool,
    /// Whether it takes their output piece by piece.
    pub terminal_deltas: bool,
    /// Whether it shows subagents as sessions: then no call stands for them.
    #[serde(default)]
    pub children: bool,
    /// What it agreed on beyond ACP.
    #[serde(default)]
    pub extras: Extras,
    /// Whether the editor shows plans as documents.
    #[serde(default)]
    pub plans: bool,
    /// Whether it is the past that is shown: no hook tells more of a call.
    #[serde(default)]
    pub past: bool,
}

/// What the editor is to be told.
#[derive(Debug)]
pub enum Told {
    /// Something new on a card.
    Card(Report),
    /// The plan, all of it; perhaps as before.
    Plan(Vec<PlanEntry>),
    /// A plan that was approved.
    Document {
        /// Its name.
        id: String,
        /// In Markdown.
        text: String,
    },
    /// Claude put itself into plan mode.
    PlanMode,
}

/// A `can_use_tool` request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// `tool_use_id`.
    pub id: &'a str,
    /// `tool_name`.
    pub name: &'a str,
    /// `input`.
    pub input: &'a RawValue,
    /// The call of the subagent that asks, where the call was not seen.
    pub parent: Option<&'a str>,
    /// `blocked_path`.
    pub blocked_path: Option<&'a str>,
    /// `mcp_server`.
    pub mcp_server: Option<&'a RawValue>,
}

/// A `tool_result` block, and what the frame around it says about it.
#[derive(Debug, Default)]
pub struct Ended<'a> {
    /// `content`: a text or blocks.
    pub content: Option<&'a RawValue>,
    /// `is_error`.
    pub is_error: bool,
    /// `tool_use_result`.
    pub structured: Option<&'a RawValue>,
    /// `tool_result_meta[].non_execution_kind`.
    pub non_execution: Option<&'a str>,
    /// `tool_result_meta[].user_feedback`.
    pub feedback: Option<&'a RawValue>,
    /// What it began goes on: the call ends with that.
    pub goes_on: bool,
}

/// A `tool_progress` frame.
#[derive(Debug, Default)]
pub struct Progress<'a> {
    /// `elapsed_time_seconds`.
    pub elapsed: Option<&'a RawValue>,
    /// `subagent_type`.
    pub subagent_type: Option<&'a str>,
    /// `subagent_retry`.
    pub subagent_retry: Option<&'a RawValue>,
}

/// The tool calls of one session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Cards {
    setting: Setting,
    /// In the order in which they came.
    calls: Vec<Call>,
    streamed: Vec<Streamed>,
    steps: Steps,
    /// The plan that was told last, to an editor that is not told it twice.
    #[serde(default)]
    planned: Option<Vec<PlanEntry>>,
    /// Skills that have a file, and which.
    #[serde(default)]
    skills: Vec<(String, String)>,
}

impl Cards {
    /// No calls yet.
    pub fn new(setting: Setting) -> Cards {
        Cards {
            setting,
            ..Cards::default()
        }
    }

    /// A `tool_use` block began in a stream, which is named by the call of its subagent.
    pub fn began(
        &mut self,
        stream: &str,
        index: u64,
        id: &str,
        name: &str,
        parent: Option<&str>,
        out: &mut Vec<Told>,
    ) {
        // One that ended and begins anew is another call with the same name.
        if self.call(id).is_some_and(|call| !call.ended) {
            return;
        }
        let call = self.open(id, name, parent, out);
        if call.hidden {
            return;
        }
        let streamed = &mut self.streamed;
        streamed.retain(|known| known.stream != stream || known.index != index);
        if streamed.len() as u64 >= limits::CLAUDE_STREAMS {
            streamed.remove(0);
        }
        streamed.push(Streamed::new(stream, index, id));
        let empty = RawValue::from_string("{}".to_owned()).unwrap_or_default();
        self.show(id, &empty, out);
    }

    /// The input of that block grew: fields that are complete now refine the card.
    pub fn input_grew(&mut self, stream: &str, index: u64, piece: &str, out: &mut Vec<Told>) {
        let mut all = self.streamed.iter_mut();
        let Some(streamed) = all.find(|known| known.index == index && known.stream == stream)
        else {
            return;
        };
        let Some(input) = streamed.grew(piece) else {
            return;
        };
        let id = streamed.id.clone();
        let mut news = self.look(&id, &input);
        // Half a diff or half a question would be wrong.
        news.content = None;
        if self.setting.extras.on {
            news.raw_input = None;
        }
        self.tell(&id, news, out);
    }

    /// The whole `tool_use` block, from the consolidated message.
    pub fn called(
        &mut self,
        id: &str,
        name: &str,
        input: &RawValue,
        parent: Option<&str>,
        out: &mut Vec<Told>,
    ) {
        self.streamed.retain(|known| known.id != id);
        if !self.known(id) {
            self.open(id, name, parent, out);
        }
        let Some(call) = self.call(id).filter(|call| !call.ended) else {
            return;
        };
        let again = core::mem::replace(&mut call.called, true);
        if !call.hidden && name != "ExitPlanMode" {
            return self.show(id, input, out);
        }
        let hidden = call.hidden;
        if input.get().len() as u64 <= limits::CLAUDE_STREAMED_INPUT {
            call.input = Some(input.to_owned());
        }
        if !hidden {
            return self.show(id, input, out);
        }
        let Some(call) = self.call(id) else { return };
        // A subagent has todos of its own, which are not the session's plan.
        if name == "TodoWrite"
            && call.parent.is_none()
            && !again
            && let Some(entries) = steps::todos(input)
        {
            self.plan(entries, out);
        }
    }

    /// The user is to be asked about a call. Gives the whole card for the question; the card
    /// itself comes first where it was not seen.
    pub fn asked(&mut self, asked: &Asked<'_>, out: &mut Vec<Told>) -> Report {
        let Asked {
            id, name, input, ..
        } = *asked;
        if !self.known(id) {
            self.called(id, name, input, asked.parent, out);
        }
        if self.setting.extras.on {
            return self.asked_lean(asked);
        }
        let news = self.look(id, input);
        let mut places = news.places;
        let blocked = asked.blocked_path.map(ToOwned::to_owned);
        for blocked in tools::files::places(blocked, None, &self.setting.cwd) {
            let places = places.get_or_insert_default();
            if places.iter().all(|place| place.path != blocked.path) {
                places.push(blocked);
            }
        }
        let parent = self.call(id).and_then(|call| call.parent.clone());
        let mut names = object! { "toolName": name };
        if let Some(parent) = &parent {
            names.set("parentToolUseId", parent);
        }
        if let Some(server) = asked.mcp_server {
            names.set("mcpServer", server);
        }
        // A question about a tool of the main thread needs no names besides its own.
        let named = parent.is_some() || asked.mcp_server.is_some();
        Report {
            id: id.to_owned(),
            name: Some(name.to_owned()),
            status: Some(Status::Pending),
            title: news.title,
            kind: news.kind,
            content: news.content,
            places,
            raw_input: Some(input.to_owned()),
            meta: named.then(|| object! { "claudeCode": names }),
            ..Report::default()
        }
    }

    /// Whether a call waits for its result.
    pub fn is_open(&self, id: &str) -> bool {
        let mut calls = self.calls.iter().rev();
        calls.any(|call| call.id == id && !call.ended && !call.hidden)
    }

    /// Whether a call was seen, and is not too long ago.
    pub fn known(&self, id: &str) -> bool {
        self.calls.iter().rev().any(|call| call.id == id)
    }

    /// The name of a call's tool.
    pub fn name(&self, id: &str) -> Option<&str> {
        let call = self.calls.iter().rev().find(|call| call.id == id);
        call.map(|call| call.name.as_str())
    }

    /// The call of the subagent that made this one.
    pub fn parent(&self, id: &str) -> Option<&str> {
        let call = self.calls.iter().rev().find(|call| call.id == id);
        call?.parent.as_deref()
    }

    /// The input of a call that has no card, until its result.
    pub fn input(&self, id: &str) -> Option<&RawValue> {
        let call = self.calls.iter().rev().find(|call| call.id == id);
        call?.input.as_deref()
    }

    /// Whether a call had its result, or was never seen.
    pub fn is_over(&self, id: &str) -> bool {
        let call = self.calls.iter().rev().find(|call| call.id == id);
        call.is_none_or(|call| call.ended)
    }

    /// A call that had no card gets one.
    pub fn reveal(&mut self, id: &str, out: &mut Vec<Told>) {
        let Some(call) = self.call(id).filter(|call| call.hidden && !call.ended) else {
            return;
        };
        call.hidden = false;
        let input = call.input.take();
        let empty = || RawValue::from_string("{}".to_owned()).unwrap_or_default();
        self.show(id, &input.unwrap_or_else(empty), out);
    }

    /// The conversation began anew: nothing of before counts.
    pub fn reset(&mut self, out: &mut Vec<Told>) {
        let skills = core::mem::take(&mut self.skills);
        *self = Cards::new(core::mem::take(&mut self.setting));
        self.skills = skills;
        out.push(Told::Plan(Vec::new()));
    }

    /// What was shown so far, for the process that takes the place of this one.
    pub fn hand_over(&mut self, setting: Setting) -> Cards {
        Cards {
            setting,
            streamed: Vec::new(),
            ..core::mem::take(self)
        }
    }

    fn call(&mut self, id: &str) -> Option<&mut Call> {
        self.calls.iter_mut().rev().find(|call| call.id == id)
    }

    /// A new call. Past the limit the oldest is closed, so that none stays open for ever.
    fn open(
        &mut self,
        id: &str,
        name: &str,
        parent: Option<&str>,
        out: &mut Vec<Told>,
    ) -> &mut Call {
        let open = self.calls.iter().filter(|call| !call.ended);
        if open.clone().count() as u64 >= limits::CLAUDE_OPEN_CALLS {
            let oldest = open.map(|call| call.id.clone()).next();
            oldest
                .into_iter()
                .for_each(|oldest| self.close(&oldest, out));
        }
        let mut call = Call::new(id, name, parent);
        call.hidden =
            tools::is_hidden(name) || (self.setting.children && matches!(name, "Agent" | "Task"));
        call.terminal = tools::is_command(name) && self.setting.terminals;
        call.lean = self.setting.extras.on;
        self.calls.push(call);
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }

    /// Shows a call with this input; all of it, if it is new.
    fn show(&mut self, id: &str, input: &RawValue, out: &mut Vec<Told>) {
        let mut news = self.look(id, input);
        let new = self.call(id).filter(|call| call.status.is_none());
        if let Some(call) = new {
            if call.lean && !call.called {
                news.raw_input = None;
            }
            news.status = Some(Status::Pending);
            if call.terminal {
                news.notes.beside = Some(("terminal_info", object! { "terminal_id": id }));
            }
        }
        self.tell(id, news, out);
    }

    fn look(&mut self, id: &str, input: &RawValue) -> News {
        let terminals = self.setting.terminals;
        let cwd = self.setting.cwd.clone();
        let name = self.call(id).map(|call| call.name.clone());
        let name = name.as_deref().unwrap_or_default();
        let fields = Fields::of(input);
        let mut look = tools::look(name, &fields, &cwd);
        let mut hints = Vec::new();
        let extras = self.setting.extras;
        if extras.on {
            lean::look(name, &fields, &self.setting, &mut look);
            hints = lean::hints(name, &fields, &self.skills);
        }
        let terminal = tools::is_command(name) && terminals;
        let content = match terminal {
            true => vec![Shown::Terminal(id.to_owned())],
            false => look.content,
        };
        News {
            title: Some(look.title),
            kind: Some(look.kind),
            content: Some(content),
            places: look.places,
            raw_input: Some(lean::input(name, input, extras)),
            hints,
            ..News::default()
        }
    }

    fn tell(&mut self, id: &str, news: News, out: &mut Vec<Told>) {
        let report = self.call(id).and_then(|call| call.report(news));
        out.extend(report.map(Told::Card));
    }
}
