//! What the process says, frame by frame (Claude adapter, section 6): who it belongs to is
//! decided by `turns`, what is new of it by `text`; the rest is told as it comes.
//!
//! Invariant: bookkeeping is done for every frame; only what is shown depends on the window.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::control::{self, Purpose};
use super::failure;
use super::fallback::FELL_BACK;
use super::options::capital;
use super::records::Notice;
use super::session::Session;
use super::stored::written;
use super::text::{MAIN, Piece};
use super::turns::{Gate, Life, Owner};
use super::wire::tasks::is_about_tasks;
use super::wire::{Event, Frame, Message, Origin, Receipt, Request, Response, part};
use crate::host::aside::{Over, Subagents};
use crate::host::more::Severity;
use crate::host::{Cx, Ending, Fact, Outcome, Said, Spent};
use crate::object;
use crate::projection::Speaker;

/// Origins of results that are of no prompt.
const AUTONOMOUS: [&str; 5] = [
    "task-notification",
    "peer",
    "coordinator",
    "observer",
    "observer-activity",
];

impl Session {
    /// One line.
    pub(super) fn line(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let Some(frame) = Frame::read(line) else {
            if !line.iter().all(u8::is_ascii_whitespace) {
                self.note(cx, "a line that is not JSON was ignored");
            }
            return;
        };
        self.pass_on(cx, &frame, line);
        match &*frame.kind {
            "stream_event" => self.stream_event(cx, &frame),
            "assistant" => self.assistant(cx, &frame),
            "user" => self.user(cx, &frame),
            "system" if is_about_tasks(&frame.subtype) => self.task_frame(cx, line),
            "system" if frame.subtype == FELL_BACK => self.fell_back(cx, &frame, line),
            "result" => {
                self.failed_to_start(cx, &frame);
                self.result(cx, &frame);
            }
            "system" if frame.subtype == "session_title_changed" => self.title_changed(line),
            "system" if frame.subtype == "api_retry" => self.retrying(cx, line),
            "system" => {
                self.system(cx, &frame);
                if frame.subtype == "init" {
                    self.begun(cx, line);
                }
            }
            "prompt_suggestion" => self.suggested(cx, line),
            "rate_limit_event" => self.limited(cx, line),
            "active_goal" => self.goal_is(cx, line),
            "command_lifecycle" => self.lifecycle(&frame),
            "tool_progress" => self.tool_progress(cx, &frame),
            "conversation_reset" => self.reset(cx),
            "control_request" => self.asked(cx, &frame),
            "control_response" => self.response(cx, &frame),
            "control_cancel_request" => {
                let id = frame.request_id.as_deref().unwrap_or_default();
                self.child_answered(cx, id);
                self.settle_question(cx, id, None);
                self.drop_preview(cx, id);
                if self.permissions.withdrawn(id) {
                    self.tell(cx, Fact::Withdrawn { dialog: id });
                }
            }
            _ => {}
        }
    }

    /// Whether output of this stream is dropped. Subagents that still run in the background
    /// are not part of what a cancel stops.
    pub(super) fn dropped(&self, key: &str) -> bool {
        self.turns.gate() == Gate::Reported && !self.in_background(key)
    }

    fn in_background(&self, key: &str) -> bool {
        self.tasks.in_background(key)
    }

    fn stream_event(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let event: Event<'_> = part(frame.event);
        let key = frame.parent_tool_use_id.as_deref().unwrap_or(MAIN);
        if key == MAIN {
            self.measure(cx, &event);
            if event.kind == "message_start" {
                self.turns.answering();
                self.said_something();
                self.own_begins(cx);
            }
        }
        let dropped = self.dropped(key);
        let piece = self.texts.streamed(key, &event, dropped, &frame.uuid);
        if let Some(piece) = piece {
            self.say(cx, key, &piece);
        }
        // A tool use that the window cut in two comes whole with its message.
        if !dropped && !self.texts.latched(key) {
            self.tool_streamed(cx, key, &event);
        }
    }

    /// The figures that come with a stream.
    fn measure(&mut self, cx: &mut Cx<'_, '_>, event: &Event<'_>) {
        let message: Message<'_> = part(event.message);
        let usage = event.usage.or(message.usage);
        if let Some(usage) = usage
            && let Some(usage) = self.meter.streamed(usage, message.model.as_deref())
        {
            self.tell(cx, Fact::Usage(usage));
        }
    }

    fn say(&mut self, cx: &mut Cx<'_, '_>, key: &str, piece: &Piece<'_>) {
        self.shown |= key == MAIN;
        if self.keep_for_overview(key, piece) {
            return;
        }
        if key != MAIN && self.shows() == Subagents::Quiet {
            return;
        }
        if key == MAIN && piece.speaker == Speaker::Agent {
            self.title.said(&piece.text);
        }
        let child = self.child(cx, key, None);
        let meta = (key != MAIN).then(|| {
            object! { "claudeCode": object! { "parentToolUseId": key } }
        });
        self.tell_in(
            cx,
            child.as_deref(),
            Fact::Said(Said {
                speaker: piece.speaker,
                message_id: &piece.message_id,
                text: &piece.text,
                meta,
            }),
        );
    }

    fn assistant(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let message: Message<'_> = part(frame.message);
        let key = frame.parent_tool_use_id.as_deref().unwrap_or(MAIN);
        if let Some(error) = frame.error.as_deref() {
            self.api_error = Some(error.to_string());
        }
        // Before the report, what the interrupt flushed has streamed; the copy is not shown.
        let dropped = self.turns.gate() != Gate::Closed && !self.in_background(key);
        // Of a subagent many editors have had the stream; there is no more.
        let unseen = key != MAIN && !self.shows().whole();
        let hidden = dropped || unseen || self.is_recorded(frame, &message);
        if !dropped && let Some(child) = self.child(cx, key, frame.agent_id.as_deref()) {
            self.child_runs(cx, &child, message.model.as_deref());
        }
        for piece in self.texts.whole(key, &message, hidden, &frame.uuid) {
            self.say(cx, key, &piece);
        }
        if !dropped {
            if key == MAIN {
                self.dispatch(&message);
            }
            self.tools_called(cx, key, &message);
        }
    }

    fn user(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        if frame.is_replay {
            self.typed_elsewhere(cx, frame);
            self.read_in(&frame.uuid);
            let settled = self.turns.echo(&frame.uuid);
            return self.settle(cx, settled, None);
        }
        let message: Message<'_> = part(frame.message);
        let key = frame.parent_tool_use_id.as_deref().unwrap_or(MAIN);
        let gate = if self.in_background(key) {
            Gate::Closed
        } else {
            self.turns.gate()
        };
        self.returned(&message);
        self.tool_results(cx, frame, &message, gate);
        if key != MAIN || gate != Gate::Closed {
            return;
        }
        if let Some(text) = message.only_text()
            && let Some(output) = local_output(&text)
        {
            self.show_text(cx, &frame.uuid, output);
        }
    }

    /// An echo of what this editor did not say: the user typed it elsewhere (remote control).
    fn typed_elsewhere(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let origin: Origin<'_> = part(frame.origin);
        let main = frame.parent_tool_use_id.is_none();
        let ours = self.more.sent.has(&frame.uuid) || !self.turns.named(&[&frame.uuid]).is_empty();
        if origin.kind != "human" || !main || ours || self.dropped(MAIN) {
            return;
        }
        let message: Message<'_> = part(frame.message);
        for block in message.blocks().iter().filter(|it| it.kind == "text") {
            if let Some(text) = written(&block.text) {
                self.tell(
                    cx,
                    Fact::Said(Said {
                        speaker: Speaker::User,
                        message_id: &frame.uuid,
                        text: &text,
                        meta: None,
                    }),
                );
            }
        }
    }

    pub(super) fn show_text(&mut self, cx: &mut Cx<'_, '_>, id: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let piece = Piece {
            speaker: Speaker::Agent,
            message_id: id.to_owned(),
            text: Cow::Borrowed(text),
        };
        self.say(cx, MAIN, &piece);
    }

    /// A turn's end (section 7).
    fn result(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let origin: Origin<'_> = part(frame.origin);
        let uuids = frame.prompts();
        let gate = self.turns.gate();
        self.remembered.costs(frame.total_cost_usd);
        self.more.records.result(&frame.subtype);
        let (usage, spent) = self.meter.result(
            frame.usage,
            frame.model_usage,
            frame.total_cost_usd,
            frame.origin,
        );
        let text: Option<String> = frame
            .result
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        if gate == Gate::Closed {
            self.show_result(cx, frame, text.as_deref());
        }
        let owner = Owner {
            uuids: &uuids,
            autonomous: AUTONOMOUS.contains(&&*origin.kind),
            aborted: frame.aborted(),
            background: self.tasks.subagents_run() && !self.setup.client.extras.background,
        };
        let outcome = self.outcome(frame, text.as_deref(), spent.clone());
        let named = self.turns.named(&uuids);
        let settled = self.turns.result(owner);
        let outcome = self.completed(outcome, frame, !settled.is_empty());
        self.keep_answered(&outcome, &spent);
        self.settings_in(cx, frame);
        for uuid in self.turns.held() {
            if let Outcome::Ended { ending, .. } = outcome {
                let held = (ending, spent.clone());
                // The result of a message into it is the turn's own; that of a task is not.
                match named.iter().any(|it| it == uuid) {
                    true => drop(self.spent.insert(uuid.to_owned(), held)),
                    false => drop(self.spent.entry(uuid.to_owned()).or_insert(held)),
                }
            }
        }
        if let Some(usage) = usage.filter(|_| gate != Gate::Reported) {
            self.tell(cx, Fact::Usage(usage));
        }
        self.own_ends(cx, over(frame));
        let result = (outcome, Some(spent));
        let settled = self.overview_first(cx, settled, &result);
        self.settle(cx, settled, Some(&result));
        self.release_tasks(cx);
        // The end of a task's report may come in the middle of a stream.
        if frame.num_turns != Some(0) {
            self.texts.over();
        }
        self.shown = false;
        self.api_error = None;
        self.more.records.result("");
    }

    /// A result that shows nothing of its own is the only place where its text stands.
    fn show_result(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>, text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let recorded = frame.is_error && self.setup.client.extras.failures;
        if !self.shown && frame.usage.output_tokens == 0 && !recorded {
            self.show_text(cx, &frame.uuid, text);
        }
    }

    fn outcome(&self, frame: &Frame<'_>, text: Option<&str>, spent: Spent) -> Outcome {
        let ended = |ending| Outcome::Ended {
            ending,
            spent: Some(spent.clone()),
        };
        if frame.aborted() {
            return ended(Ending::Cancelled);
        }
        // A refusal is an answer, though it is told as an error too.
        if frame.is_error && frame.stop_reason.as_deref() != Some("refusal") {
            let errors = frame.errors.join(", ");
            let text = text.filter(|text| !text.is_empty()).unwrap_or(&errors);
            let kind = self.api_error.as_deref().unwrap_or("unknown");
            let signed_out = failure::asks_for_login(text, kind);
            return Outcome::Broken {
                failure: failure::turn(text, kind, signed_out),
            };
        }
        match (&*frame.subtype, frame.stop_reason.as_deref()) {
            (
                "error_max_turns" | "error_max_budget_usd" | "error_max_structured_output_retries",
                _,
            ) => ended(Ending::MaxTurnRequests),
            (_, Some("max_tokens")) => ended(Ending::MaxTokens),
            (_, Some("refusal")) => ended(Ending::Refusal),
            _ => ended(Ending::EndTurn),
        }
    }

    fn system(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        match &*frame.subtype {
            "init" => {
                let has = |name: &str| frame.capabilities.iter().any(|it| it == name);
                self.can.lifecycle = has("msg_lifecycle_v1");
                self.can.markers = has("request_marker_lists_v1");
                self.can.unanswered = has("ask_user_question_unanswered_v1");
                self.goes_on_as(frame.session_id.as_deref().unwrap_or_default());
                self.settings_in(cx, frame);
                self.terminal_commands(cx, frame);
            }
            "status" if frame.status.as_deref() == Some("requesting") => {
                self.settings_in(cx, frame);
                self.turns.requesting(&frame.prompts(), self.can.markers);
            }
            "status" if frame.status.as_deref() == Some("compacting") => {
                self.compacting(cx, frame);
            }
            "status" if frame.compact_result.is_some() => {
                let well = frame.compact_result.as_deref() == Some("success");
                self.compacted(cx, well, frame.compact_error.as_deref());
            }
            "compact_boundary" => self.compact_boundary(cx, frame),
            "session_state_changed" => match frame.state.as_deref() {
                Some("running") => {
                    self.turns.running();
                    if self.tasks.noted.is_some() {
                        self.own_begins(cx);
                    }
                }
                Some("idle") => {
                    let settled = self.turns.idle();
                    self.texts.over();
                    self.own_ends(cx, Over::Completed);
                    self.settle(cx, settled, None);
                    self.title_due(cx);
                    self.rests(cx);
                }
                _ => {}
            },
            "local_command_output" if self.turns.gate() == Gate::Closed => {
                if let Some(text) = text(frame.content) {
                    self.show_text(cx, &frame.uuid, &text);
                }
            }
            "worker_shutting_down" => self.more.shutting_down = true,
            "permission_denied" => self.tool_denied(cx, frame),
            "memory_recall" => self.recalled(cx, frame),
            "status" => self.settings_in(cx, frame),
            "commands_changed" => self.commands_are(cx, frame.commands),
            "elicitation_complete" => {
                let id = frame.elicitation_id.as_deref().unwrap_or_default();
                self.tell(cx, Fact::Visited { id });
            }
            "informational" => self.informed(cx, frame),
            _ => {}
        }
    }

    fn informed(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let level = frame.level.as_deref().unwrap_or("info");
        let Some(text) = text(frame.content).filter(|_| level != "info") else {
            return;
        };
        if self.dropped(MAIN) || !self.more.notices.is_news(&text) {
            return;
        }
        let (severity, word) = match level {
            "warning" => (Severity::Warning, "warning"),
            "error" => (Severity::Error, "error"),
            _ => (Severity::Info, "notice"),
        };
        let article = if word == "error" { "an" } else { "a" };
        let names = object! { "kind": "informational", "level": level };
        self.notify(
            cx,
            Notice {
                severity,
                title: &format!("Claude reported {article} {word}"),
                text: &text,
                words: &format!("**{}:** {text}", capital(word)),
                id: &frame.uuid,
                meta: Some(object! { "claudeCode": names }),
            },
        );
    }

    fn lifecycle(&mut self, frame: &Frame<'_>) {
        let life = match frame.state.as_deref() {
            Some("queued") => Life::Queued,
            Some("started") => Life::Started,
            Some("cancelled") => Life::Cancelled,
            Some("completed" | "discarded" | "refused") => Life::Over,
            _ => return,
        };
        let uuid = frame.command_uuid.as_deref().unwrap_or_default();
        if matches!(life, Life::Started | Life::Over) {
            self.read_in(uuid);
        }
        self.turns.lifecycle(uuid, life);
    }

    /// The process asks us.
    fn asked(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let id = frame.request_id.as_deref().unwrap_or_default();
        let request: Request<'_> = part(frame.request);
        match &*request.subtype {
            "can_use_tool" if self.preview(cx, id, frame.request, &request) => {}
            "can_use_tool" => self.may_use(cx, id, &request),
            "hook_callback" => self.tool_hooked(cx, id, &request),
            "elicitation" => self.ask_server(cx, id, frame.request),
            "request_user_dialog" => self.ask_dialog(cx, id, &request),
            other => {
                let error = format!("{other} is not supported");
                self.write(cx, &control::refusal(id, &error));
            }
        }
    }

    /// The process answers us.
    fn response(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let response: Response<'_> = part(frame.response);
        let Some(purpose) = self.control.answered(&response.request_id) else {
            return;
        };
        let failed = response.subtype == "error";
        match purpose {
            Purpose::Initialize => {
                let error = response.error.as_deref().unwrap_or_default();
                let answer = if failed {
                    Err(error)
                } else {
                    Ok(response.response)
                };
                self.greeted(cx, answer);
            }
            Purpose::Interrupt(cancel) if !failed => {
                let receipt: Receipt<'_> = part(response.response);
                if let Some(still) = receipt.still_queued {
                    let still: Vec<&str> = still.iter().map(AsRef::as_ref).collect();
                    self.turns.receipt(cancel, &still);
                }
            }
            Purpose::Settings => self.settings(cx, response.response),
            Purpose::SettingsAgain if !failed => self.settings_again(cx, response.response),
            Purpose::FirstMode(mode) => self.first_mode(cx, mode, &response),
            Purpose::Setting => {
                let error = response.error.as_deref().unwrap_or("it gave no reason");
                let done = if failed {
                    Err(error)
                } else {
                    Ok(response.response)
                };
                self.set(cx, done);
            }
            Purpose::Context => {
                #[derive(Default, Deserialize)]
                #[serde(rename_all = "camelCase", default)]
                struct Context {
                    max_tokens: Option<u64>,
                }
                let context: Context = part(response.response);
                if let Some(size) = context.max_tokens {
                    self.meter.holds(size);
                }
            }
            Purpose::Title => self.title_made(cx, response.response),
            Purpose::Overview { turn, step } => self.overview_part(cx, &turn, &step, &response),
            Purpose::Rename { ticket, title } => {
                let error = response.error.as_deref().unwrap_or("it gave no reason");
                self.renamed(cx, ticket, &title, failed.then_some(error));
            }
            Purpose::Files(turn) => self.files_are(cx, &turn, &response),
            Purpose::Skills => self.skills_are(cx, &response),
            Purpose::Servers => self.servers_are(cx, &response),
            Purpose::SignIn(server) => self.address_is(cx, &server, &response),
            Purpose::Interrupt(_) | Purpose::SettingsAgain | Purpose::Nothing => {}
        }
    }
}

/// How what Claude did by itself ended.
fn over(frame: &Frame<'_>) -> Over {
    match (frame.aborted(), frame.is_error) {
        (true, _) => Over::Stopped,
        (false, true) => Over::Failed,
        _ => Over::Completed,
    }
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// What a command that runs in the program itself printed.
fn local_output(text: &str) -> Option<&str> {
    let rest = text.trim().strip_prefix("<local-command-stdout>")?;
    rest.strip_suffix("</local-command-stdout>")
}
