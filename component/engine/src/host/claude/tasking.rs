//! Where frames about tasks become facts: subagents that are sessions, tasks in the
//! background, and what Claude does by itself (Claude adapter, section 12).
//!
//! Invariant: the end of a task is told once, and once more only where the first word was
//! that it had merely gone.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::failure;
use super::records::Notice;
use super::replace::Why;
use super::session::Session;
use super::tasks::Kind;
use super::wire::part;
use super::wire::tasks::{Patch, TaskFrame, TaskUsage};
use crate::host::aside::{News, Over, Progress, Task, TaskNews};
use crate::host::more::Severity;
use crate::host::{Cx, Fact, Said};
use crate::object;
use crate::projection::Speaker;
use crate::rpc::Ticket;

use super::control::Purpose;

impl Session {
    /// `task_*` and `background_tasks_changed`.
    pub(super) fn task_frame(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let frame = TaskFrame::read(line);
        if frame.subtype == "background_tasks_changed" {
            return self.tasks_listed(cx, &frame);
        }
        let Some(id) = frame.task_id.as_deref() else {
            return;
        };
        if frame.subtype == "task_started" {
            return self.task_started(cx, id, &frame);
        }
        if self.tasks.outdated(id, frame.run_id.as_deref()) {
            return;
        }
        self.task_called(&frame, id);
        match &*frame.subtype {
            "task_progress" => self.task_progress(cx, id, &frame),
            "task_updated" => self.task_updated(cx, id, &frame),
            "task_notification" => self.task_notified(cx, id, &frame),
            _ => {}
        }
    }

    fn task_started(&mut self, cx: &mut Cx<'_, '_>, id: &str, frame: &TaskFrame<'_>) {
        let again = self.tasks.started(id, frame);
        let told = self.tasks.get(id).is_some_and(|task| task.told);
        if again && told {
            self.tell_child(cx, id, News::Works);
        }
        self.child_started(cx, id);
        self.show_task(cx, id);
    }

    /// The call that began a task may be told of it later.
    fn task_called(&mut self, frame: &TaskFrame<'_>, id: &str) {
        if let (Some(task), Some(call)) = (self.tasks.get_mut(id), frame.tool_use_id.as_deref())
            && task.call.is_none()
        {
            task.call = Some(call.to_owned());
            if task.told {
                task.news.call = Some(call.to_owned());
            }
        }
    }

    fn task_progress(&mut self, cx: &mut Cx<'_, '_>, id: &str, frame: &TaskFrame<'_>) {
        let text = |word: &Option<alloc::borrow::Cow<'_, str>>| word.as_deref().map(String::from);
        if let Some(task) = self.tasks.get_mut(id).filter(|it| !it.kind.subagent()) {
            let usage: Option<TaskUsage> = frame.usage.map(|usage| part(Some(usage)));
            let news = &mut task.news;
            news.about = text(&frame.description).or(news.about.take());
            news.summary = text(&frame.summary).or(news.summary.take());
            news.tool = text(&frame.last_tool_name).or(news.tool.take());
            let spent = usage.map(|it| (it.total_tokens, it.tool_uses, it.duration_ms));
            news.spent = spent.or(news.spent);
        }
        self.show_task(cx, id);
    }

    fn task_updated(&mut self, cx: &mut Cx<'_, '_>, id: &str, frame: &TaskFrame<'_>) {
        let patch: Patch<'_> = part(frame.patch);
        if let Some(task) = self.tasks.get_mut(id) {
            task.background |= patch.is_backgrounded == Some(true);
            if let Some(about) = patch.description.as_deref() {
                task.news.about = Some(about.to_owned());
            }
        }
        self.show_task(cx, id);
        match patch.status.as_deref() {
            Some("paused") => self.task_waits(cx, id, true),
            Some("running") => self.task_waits(cx, id, false),
            status => {
                if let Some(over) = ended(status) {
                    self.task_ended(cx, id, over, None);
                }
            }
        }
    }

    fn task_notified(&mut self, cx: &mut Cx<'_, '_>, id: &str, frame: &TaskFrame<'_>) {
        let summary = frame.summary.as_deref().filter(|it| !it.is_empty());
        if let (Some(task), Some(file)) = (self.tasks.get_mut(id), frame.output_file.as_deref())
            && !task.kind.subagent()
            && !file.is_empty()
        {
            task.news.output = Some(file.to_owned());
        }
        let over = ended(frame.status.as_deref()).unwrap_or(Over::Completed);
        self.task_ended(cx, id, over, summary);
        if self.tasks.get(id).is_some_and(|task| task.background) {
            self.tasks.noted = summary.map(String::from);
        }
        if let Some(call) = self.tasks.get(id).and_then(|task| task.call.clone()) {
            self.texts.forget(&call);
        }
        self.tasks.over(id);
    }

    fn tasks_listed(&mut self, cx: &mut Cx<'_, '_>, frame: &TaskFrame<'_>) {
        let Some(entries) = &frame.tasks else { return };
        let entries: Vec<TaskFrame<'_>> = entries.iter().map(|raw| part(Some(raw))).collect();
        let (left, new) = self.tasks.listed(&entries);
        for id in left {
            self.task_ended(cx, &id, Over::Stopped, None);
            self.tasks.over(&id);
        }
        for id in new {
            self.show_task(cx, &id);
        }
    }

    /// A task waits, or goes on.
    fn task_waits(&mut self, cx: &mut Cx<'_, '_>, id: &str, waits: bool) {
        let Some(task) = self.tasks.get_mut(id).filter(|it| !it.kind.subagent()) else {
            return;
        };
        if core::mem::replace(&mut task.paused, waits) != waits && task.told {
            let news = match waits {
                true => TaskNews::Paused,
                false => TaskNews::Works,
            };
            self.tell(cx, Fact::Task(Task { id, news }));
        }
    }

    /// A task is done, one way or another.
    fn task_ended(&mut self, cx: &mut Cx<'_, '_>, id: &str, over: Over, summary: Option<&str>) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        // That it left the list says less than its own word.
        let known = task
            .ended
            .is_some_and(|it| it != Over::Stopped || it == over);
        if !known {
            task.ended = Some(over);
        }
        let over = task.ended.unwrap_or(over);
        if task.kind.subagent() {
            self.child_ended(cx, id, over);
        } else {
            self.release_task(cx, id);
            self.tell_task_end(cx, id, over, summary);
            self.call_ended(cx, id, over);
            self.output_ends(cx, id);
        }
    }

    fn tell_task_end(&mut self, cx: &mut Cx<'_, '_>, id: &str, over: Over, summary: Option<&str>) {
        let told = self.tasks.get_mut(id).filter(|it| it.told);
        if let Some(task) = told.filter(|it| it.end_told != Some(over)) {
            task.end_told = Some(over);
            let news = TaskNews::Over(over, summary.map(String::from));
            self.tell(cx, Fact::Task(Task { id, news }));
        }
    }

    /// Whether a call that has its result ends with what it began.
    pub(super) fn goes_on(&mut self, call: &str) -> bool {
        let long = matches!(self.cards.name(call), Some("Monitor" | "Workflow"));
        let task = self.tasks.begun_by(call).filter(|_| long);
        if let Some(task) = task.filter(|it| it.ended.is_none()) {
            task.holds_call = true;
            return true;
        }
        false
    }

    /// What a call began has ended.
    fn call_ended(&mut self, cx: &mut Cx<'_, '_>, id: &str, over: Over) {
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        if core::mem::take(&mut task.holds_call)
            && let Some(call) = task.call.clone()
        {
            let mut out = Vec::new();
            self.cards.settled(&call, over == Over::Completed, &mut out);
            self.tell_cards(cx, out);
        }
    }

    /// Shows a task in the background as soon as the call that began it is known.
    pub(super) fn show_task(&mut self, cx: &mut Cx<'_, '_>, id: &str) {
        let ready = |task: &super::tasks::Task| task.background && task.call.is_some();
        if self.tasks.get(id).is_some_and(ready) {
            self.release_task(cx, id);
        }
    }

    /// Shows a task, and how far it is.
    fn release_task(&mut self, cx: &mut Cx<'_, '_>, id: &str) {
        let wanted = self.setup.client.extras.tasks;
        let Some(task) = self.tasks.get_mut(id).filter(|it| wanted && it.background) else {
            return;
        };
        let Kind::Other(kind) = task.kind.clone() else {
            return;
        };
        if !core::mem::replace(&mut task.told, true) {
            let news = TaskNews::Began {
                name: task.title.clone(),
                kind,
                about: task.title.clone(),
                // What has a card needs no line of its own.
                alone: task.call.is_none() && !task.aside,
                call: task.call.clone(),
            };
            let paused = task.paused;
            task.progress = Progress {
                about: Some(task.title.clone()),
                call: task.call.clone(),
                ..Progress::default()
            };
            self.tell(cx, Fact::Task(Task { id, news }));
            if paused {
                let news = TaskNews::Paused;
                self.tell(cx, Fact::Task(Task { id, news }));
            }
        }
        let Some(task) = self.tasks.get_mut(id) else {
            return;
        };
        let news = core::mem::take(&mut task.news);
        let news = task.progress.grow(news);
        if !news.is_empty() {
            let news = TaskNews::Progress(news);
            self.tell(cx, Fact::Task(Task { id, news }));
        }
    }

    /// A turn is over: tasks that wait for their call are shown without it.
    pub(super) fn release_tasks(&mut self, cx: &mut Cx<'_, '_>) {
        let waits = |task: &super::tasks::Task| !task.told && task.background;
        let held = self.tasks.running().filter(|(_, task)| waits(task));
        let held: Vec<String> = held.map(|(id, _)| id.to_owned()).collect();
        for id in held {
            self.release_task(cx, &id);
        }
    }

    /// The result of a command says that it runs on, as this task, and writes to this file.
    pub(super) fn task_writes(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: &str,
        call: &str,
        file: Option<&str>,
    ) {
        if let Some(task) = self.tasks.get_mut(id) {
            task.background = true;
            if task.call.is_none() {
                task.call = Some(call.to_owned());
            }
            if let Some(file) = file {
                task.news.output = Some(file.to_owned());
            }
            self.show_task(cx, id);
        }
    }

    /// Claude begins something by itself.
    pub(super) fn own_begins(&mut self, cx: &mut Cx<'_, '_>) {
        let wanted = self.setup.client.extras.tasks;
        if !wanted || self.tasks.own.is_some() || self.turns.busy() {
            return;
        }
        let id = format!("autonomous-turn-{}", cx.core.uuid());
        let name = "Claude is working";
        let about = self.tasks.noted.take().unwrap_or_else(|| name.to_owned());
        self.tasks.own = Some(id.clone());
        let news = TaskNews::Began {
            name: name.to_owned(),
            kind: "turn".to_owned(),
            about,
            alone: false,
            call: None,
        };
        self.tell(cx, Fact::Task(Task { id: &id, news }));
    }

    /// What Claude did by itself is over.
    pub(super) fn own_ends(&mut self, cx: &mut Cx<'_, '_>, over: Over) {
        if let Some(id) = self.tasks.own.take() {
            let news = TaskNews::Over(over, None);
            self.tell(cx, Fact::Task(Task { id: &id, news }));
        }
    }

    /// `_session/async_task/stop`.
    pub fn stop_task(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, id: &str) {
        let own = self.tasks.own.as_deref() == Some(id);
        let task = self.tasks.get(id);
        let name = task
            .filter(|it| it.told && it.runs_aside() && it.ended.is_none())
            .map(|it| it.title.clone());
        let stopped = self.stage.is_live() && (own || name.is_some());
        if own && stopped {
            self.own_ends(cx, Over::Stopped);
            self.interrupt_own(cx);
        } else if let Some(name) = name.filter(|_| stopped) {
            let request = object! { "subtype": "stop_task", "task_id": id };
            self.request(cx, Purpose::Nothing, &request);
            self.task_ended(cx, id, Over::Stopped, None);
            let message_id = cx.core.uuid();
            self.tell(
                cx,
                Fact::Said(Said {
                    speaker: Speaker::Agent,
                    message_id: &message_id,
                    text: &format!("Task stopped by user: {name}."),
                    meta: None,
                }),
            );
        }
        cx.answer(Fact::TaskStopped { ticket, stopped });
    }

    /// What Claude does by itself is stopped; prompts that wait behind it are not.
    fn interrupt_own(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(number) = self.turns.cancel_own() {
            self.permissions.cancelled();
            self.compaction_stopped(cx);
            let purpose = Purpose::Interrupt(number);
            self.request(cx, purpose, &object! { "subtype": "interrupt" });
        }
    }

    /// The process is gone: nothing more comes of anything.
    pub(super) fn tasks_lost(&mut self, cx: &mut Cx<'_, '_>) {
        self.end_tasks(cx, Why::Gone);
        self.tasks.clear();
    }

    /// Everything that it worked at ends with it, and can be taken up again by another one.
    /// `why` is for the user.
    pub(super) fn end_tasks(&mut self, cx: &mut Cx<'_, '_>, why: Why) {
        self.own_ends(cx, Over::Failed);
        self.tasks.noted = None;
        for id in self.tasks.take_running() {
            let words = self.cut_off(cx, &id, why);
            self.task_ended(cx, &id, Over::Failed, words.as_deref());
            self.tasks.over(&id);
        }
    }

    /// The user hears why a task in the background ends, on its card and beside it.
    fn cut_off(&mut self, cx: &mut Cx<'_, '_>, id: &str, why: Why) -> Option<String> {
        let task = self.tasks.get(id)?;
        if !task.runs_aside() || task.ended.is_some() {
            return None;
        }
        let text = failure::cut_off(&task.title, why);
        let title = "Task ended";
        if let Some(call) = task.call.clone() {
            let mut out = Vec::new();
            self.cards.cut_off(&call, &text, &mut out);
            self.tell_cards(cx, out);
        }
        let message_id = cx.core.uuid();
        self.notify(
            cx,
            Notice {
                severity: Severity::Warning,
                title,
                text: &text,
                words: &format!("**{title}:** {text}"),
                id: &message_id,
                meta: None,
            },
        );
        Some(text)
    }

    /// The conversation began anew.
    pub(super) fn tasks_reset(&mut self, cx: &mut Cx<'_, '_>) {
        for id in self.tasks.take_running() {
            self.task_ended(cx, &id, Over::Stopped, None);
        }
        let own = self.tasks.own.take();
        self.tasks.clear();
        self.tasks.own = own;
    }
}

/// How a task ended by the process's word for it; none of them means that it has not.
fn ended(status: Option<&str>) -> Option<Over> {
    match status? {
        "completed" => Some(Over::Completed),
        "failed" => Some(Over::Failed),
        "killed" | "stopped" | "cancelled" => Some(Over::Stopped),
        _ => None,
    }
}
