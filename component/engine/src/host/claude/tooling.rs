//! Where frames and tool cards meet: what a frame means for the cards, and what the cards
//! want told.
//!
//! Invariant: a tool use of stopped work is neither shown nor allowed.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::cards::{Asked, Ended, Progress, Told};
use super::session::Session;
use super::text::MAIN;
use super::tools::blocks::Content;
use super::tools::commands::runs_on;
use super::turns::Gate;
use super::wire::{Block, Event, Frame, Message, Request, ResultMeta, part};
use super::{control, permissions};
use crate::host::more::More;
use crate::host::{Cx, Fact};
use crate::object;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Hook<'a> {
    #[serde(borrow)]
    hook_event_name: Cow<'a, str>,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Cow<'a, str>,
    #[serde(borrow)]
    task_id: Cow<'a, str>,
    #[serde(borrow)]
    task_subject: Cow<'a, str>,
}

impl Session {
    /// A streamed event of a tool use.
    pub(super) fn tool_streamed(&mut self, cx: &mut Cx<'_, '_>, key: &str, event: &Event<'_>) {
        let mut out = Vec::new();
        let parent = (key != MAIN).then_some(key);
        match (&*event.kind, &event.content_block, &event.delta) {
            ("content_block_start", Some(block), _) if is_call(block) => {
                self.cards
                    .began(key, event.index, &block.id, &block.name, parent, &mut out);
            }
            ("content_block_delta", _, Some(delta)) if delta.kind == "input_json_delta" => {
                self.cards
                    .input_grew(key, event.index, &delta.partial_json, &mut out);
            }
            _ => {}
        }
        self.tell_cards(cx, out);
    }

    /// The tool uses of a whole message.
    pub(super) fn tools_called(&mut self, cx: &mut Cx<'_, '_>, key: &str, message: &Message<'_>) {
        let mut out = Vec::new();
        let parent = (key != MAIN).then_some(key);
        for block in message.blocks() {
            if is_call(&block)
                && let Some(input) = block.input
            {
                self.cards
                    .called(&block.id, &block.name, input, parent, &mut out);
            }
        }
        self.tell_cards(cx, out);
    }

    /// Results of tools. Of work that is being stopped, those that close an open call.
    pub(super) fn tool_results(
        &mut self,
        cx: &mut Cx<'_, '_>,
        frame: &Frame<'_>,
        message: &Message<'_>,
        gate: Gate,
    ) {
        let metas: Vec<ResultMeta<'_>> = part(frame.tool_result_meta);
        let (mut out, mut follow) = (Vec::new(), Vec::new());
        for block in message.blocks() {
            if block.kind != "tool_result" {
                continue;
            }
            let closing = block.is_error && self.cards.is_open(&block.tool_use_id);
            if gate == Gate::Reported || (gate == Gate::Unreported && !closing) {
                continue;
            }
            self.agent_result(cx, &block, frame.tool_use_result);
            let content = Content::of(block.content);
            let aside = runs_on(&content, frame.tool_use_result).filter(|_| !block.is_error);
            if let Some((task, path)) = &aside {
                self.task_writes(cx, task, &block.tool_use_id, path.as_deref());
            }
            let meta = metas.iter().find(|meta| meta.id == block.tool_use_id);
            let ended = Ended {
                content: block.content,
                is_error: block.is_error,
                structured: frame.tool_use_result,
                non_execution: meta.and_then(|meta| meta.non_execution_kind.as_deref()),
                feedback: meta.and_then(|meta| meta.user_feedback),
                goes_on: !block.is_error && self.goes_on(&block.tool_use_id),
            };
            self.cards.result(&block.tool_use_id, &ended, &mut out);
            if let Some((task, Some(path))) = aside {
                follow.push((task, block.tool_use_id.to_string(), path));
            }
        }
        self.tell_cards(cx, out);
        for (task, call, path) in follow {
            self.follow(cx, &task, &call, &path);
        }
    }

    /// Calls of work that was stopped: closed before the editor hears of its end.
    pub(super) fn close_calls(&mut self, cx: &mut Cx<'_, '_>) {
        let mut out = Vec::new();
        let tasks = &self.tasks;
        let keep = |id: &str, parent: Option<&str>| {
            parent.is_some_and(|parent| tasks.in_background(parent)) || tasks.of_call(id)
        };
        self.cards.close_all(keep, &mut out);
        self.tell_cards(cx, out);
    }

    /// `can_use_tool`.
    pub(super) fn may_use(&mut self, cx: &mut Cx<'_, '_>, id: &str, request: &Request<'_>) {
        // A subagent in the foreground is part of what a cancel stops.
        let task = request.agent_id.as_deref();
        let task = task.and_then(|agent| self.tasks.get(agent));
        let aside = task.is_some_and(super::tasks::Task::runs_aside);
        if self.turns.gate() == Gate::Reported && !aside {
            let sentence = "The user cancelled this prompt.";
            let no = permissions::denied(&request.tool_use_id, sentence, false);
            return self.write(cx, &control::answer(id, &no));
        }
        let Some(input) = request.input else {
            let error = "can_use_tool has no input";
            return self.write(cx, &control::refusal(id, error));
        };
        let mut out = Vec::new();
        let agent = request.agent_id.as_deref();
        let parent = agent.and_then(|agent| self.tasks.get(agent)?.call.clone());
        let asked = Asked {
            id: &request.tool_use_id,
            name: &request.tool_name,
            input,
            parent: parent.as_deref(),
            blocked_path: request.blocked_path.as_deref(),
            mcp_server: request.mcp_server,
        };
        let card = self.cards.asked(&asked, &mut out);
        self.tell_cards(cx, out);
        let card = self.with_preview(id, request, card);
        self.ask_tool(cx, id, request, card);
    }

    /// `hook_callback`: what a tool answered.
    pub(super) fn tool_hooked(&mut self, cx: &mut Cx<'_, '_>, id: &str, request: &Request<'_>) {
        let hook: Hook<'_> = part(request.input);
        let mut out = Vec::new();
        match (&*hook.hook_event_name, hook.tool_response) {
            ("PostToolUse", Some(response)) => {
                self.cards.hooked(&hook.tool_use_id, response, &mut out);
            }
            ("TaskCreated", _) => {
                self.cards
                    .task_made(&hook.task_id, &hook.task_subject, &mut out);
            }
            ("TaskCompleted", _) => self.cards.task_done(&hook.task_id, &mut out),
            ("PostCompact", _) => self.summarized(request.input),
            _ => {}
        }
        self.tell_cards(cx, out);
        self.agent_hook(cx, request.input);
        self.hooked(cx, request.input);
        self.write(cx, &control::answer(id, &object! { "continue": true }));
    }

    /// `tool_progress`.
    pub(super) fn tool_progress(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let mut out = Vec::new();
        let progress = Progress {
            elapsed: frame.elapsed_time_seconds,
            subagent_type: frame.subagent_type.as_deref(),
            subagent_retry: frame.subagent_retry,
        };
        self.cards.progress(
            frame.tool_use_id.as_deref().unwrap_or_default(),
            frame.parent_tool_use_id.as_deref(),
            &progress,
            &mut out,
        );
        self.tell_cards(cx, out);
    }

    /// `system/memory_recall`.
    pub(super) fn recalled(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        if self.turns.gate() == Gate::Reported {
            return;
        }
        let mut out = Vec::new();
        let mode = frame.mode.as_deref().unwrap_or_default();
        let memories: Vec<&RawValue> = part(frame.memories);
        self.cards.recalled(&frame.uuid, mode, &memories, &mut out);
        self.tell_cards(cx, out);
    }

    /// `system/permission_denied`.
    pub(super) fn tool_denied(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let mut out = Vec::new();
        self.cards.denied(
            frame.tool_use_id.as_deref().unwrap_or_default(),
            frame.decision_reason_type.as_deref(),
            frame.decision_reason.as_deref(),
            word(frame.message).as_deref(),
            &mut out,
        );
        self.tell_cards(cx, out);
    }

    /// The conversation begins anew (`/clear`).
    pub(super) fn reset(&mut self, cx: &mut Cx<'_, '_>) {
        // What has a card or a terminal ends on the screen while it is still known.
        self.tasks_reset(cx);
        self.drop_outputs(cx, true);
        self.close_calls(cx);
        let mut out = Vec::new();
        self.cards.reset(&mut out);
        self.tell_cards(cx, out);
        self.title_reset();
    }

    pub(super) fn tell_cards(&mut self, cx: &mut Cx<'_, '_>, told: Vec<Told>) {
        for told in told {
            match told {
                Told::Card(report) => {
                    let parent = self.cards.parent(&report.id).map(ToOwned::to_owned);
                    let child = parent.and_then(|parent| self.child(cx, &parent, None));
                    self.tell_in(cx, child.as_deref(), Fact::Card(report.into()));
                }
                Told::Plan(entries) => self.tell(cx, Fact::Plan { entries }),
                Told::Document { id, text } => {
                    self.tell(cx, Fact::More(More::Document { id, text }));
                }
                // The options follow from the process's own word of its mode.
                Told::PlanMode => {}
            }
        }
    }
}

/// A text, where a frame of another kind has a message.
fn word(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

fn is_call(block: &Block<'_>) -> bool {
    block.kind.ends_with("tool_use") && !block.id.is_empty()
}
