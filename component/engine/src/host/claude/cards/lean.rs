//! Cards for editors that agreed on more than ACP (AIR, tool call contract): each fact
//! stands in one field, and what the editor has is not told again.
//!
//! Pure. Invariant: nothing here is told to an editor that did not agree on it.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::super::tools::blocks::Content;
use super::super::tools::fields::Fields;
use super::super::tools::{self, Look, files};
use super::call::News;
use super::{Asked, Cards, Ended, Setting, Told};
use crate::host::{Extras, PlanEntry, Setup};
use crate::json::Object;
use crate::object;
use crate::projection::patch::patch;
use crate::projection::{Change, Hint, Place, Report, Shown, Status, ToolKind};

/// What of a tool's answer such an editor gets.
const MARKERS: [&str; 2] = ["status", "isAsync"];

/// Texts of files, which the diff on the card holds.
const TEXTS_OF_WRITE: [&str; 3] = ["content", "file_text", "file_content"];

impl Setting {
    /// What the cards of such a session depend on; of its `past`, or of what it does now.
    pub fn of(setup: &Setup, past: bool) -> Setting {
        Setting {
            cwd: setup.cwd.clone(),
            // Whoever takes output piece by piece has terminals.
            terminals: setup.client.terminals || setup.client.terminal_deltas,
            terminal_deltas: setup.client.terminal_deltas,
            extras: setup.client.extras,
            plans: setup.client.plans,
            past,
        }
    }
}

/// What the card of a call looks like for such an editor.
pub fn look(name: &str, input: &Fields<'_>, setting: &Setting, look: &mut Look) {
    let extras = setting.extras;
    let planned = extras.plan_files && input.some("planFilePath").is_some();
    match name {
        "AskUserQuestion" => look.title = "Asking for your input".into(),
        "NotebookEdit" => notebook(input, &setting.cwd, look),
        // Only the file itself tells whether it is new, and what was in it.
        "Write" if extras.patches && !setting.past => look.content = Vec::new(),
        "ExitPlanMode" if planned => look.content = Vec::new(),
        _ => {}
    }
    // The editor shows these by itself.
    let text_to_read = matches!(
        name,
        "WebFetch"
            | "Agent"
            | "Task"
            | "ExitPlanMode"
            | "AskUserQuestion"
            | "ReportFindings"
            | "NotebookEdit"
    );
    if extras.shows_input && (text_to_read || tools::is_command(name)) {
        look.content = Vec::new();
    }
}

fn notebook(input: &Fields<'_>, cwd: &str, look: &mut Look) {
    look.kind = ToolKind::Edit;
    let Some(file) = input.some("notebook_path") else {
        return;
    };
    let name = files::relative(&file, cwd).to_owned();
    let (word, preposition) = match input.text("edit_mode").as_deref() {
        Some("insert") => ("Insert", "into"),
        Some("delete") => ("Delete", "from"),
        _ => ("Edit", "in"),
    };
    look.title = match input.word("cell_id") {
        Some(cell) if word != "Insert" => format!("{word} cell {cell} {preposition} {name}"),
        _ => format!("{word} cell {preposition} {name}"),
    };
    let source = input.some("new_source").filter(|_| word != "Delete");
    let shown = |source: String| Shown::Text(tools::blocks::fence(&source));
    look.content = source.map(shown).into_iter().collect();
    look.places = Some(files::places(Some(file), None, cwd));
}

/// What ACP has no words for.
pub fn hints(name: &str, input: &Fields<'_>, skills: &[(String, String)]) -> Vec<Hint> {
    let hint = match name {
        name if tools::is_command(name) => input.some("description").map(Hint::CommandTitle),
        "Agent" | "Task" => Some(Hint::Subagent),
        "Skill" => {
            let name = input.some("skill").or_else(|| input.some("command"));
            name.map(|name| {
                let known = skills.iter().find(|(known, _)| *known == name);
                let path = known.map(|(_, path)| path.clone());
                Hint::Skill { name, path }
            })
        }
        name => name.strip_prefix("mcp__").and_then(|rest| {
            let (server, tool) = rest.split_once("__")?;
            let (server, tool) = (server.to_owned(), tool.to_owned());
            Some(Hint::Mcp { server, tool })
        }),
    };
    hint.into_iter().collect()
}

/// What a tool is called with, without what another field says.
pub fn input(name: &str, input: &RawValue, extras: Extras) -> Box<RawValue> {
    if !extras.on {
        return input.to_owned();
    }
    let fields = Fields::of(input);
    let file = fields.some("planFilePath").filter(|_| extras.plan_files);
    let without: &[&str] = match (name, file) {
        ("Edit", _) => &["old_string", "new_string"],
        ("Write", _) => &TEXTS_OF_WRITE,
        // The editor reads the plan from its file.
        ("ExitPlanMode", Some(file)) => return raw(&object! { "planFilePath": file }),
        _ => return input.to_owned(),
    };
    raw(&left(input, |name| !without.contains(&name)))
}

/// The fields of an object that are to stay, in their order.
fn left(input: &RawValue, stays: impl Fn(&str) -> bool) -> Object {
    let all: Object = serde_json::from_str(input.get()).unwrap_or_default();
    let mut some = Object::new();
    for (name, value) in all.fields().filter(|(name, _)| stays(name)) {
        some.set(name, value);
    }
    some
}

/// What of a tool's answer is told; none if nothing is.
pub fn markers(response: &RawValue) -> Option<Box<RawValue>> {
    if !response.get().starts_with('{') {
        return None;
    }
    let some = left(response, |name| MARKERS.contains(&name));
    (!some.is_empty()).then(|| raw(&some))
}

fn raw(object: &Object) -> Box<RawValue> {
    // An object of values: serialising it cannot fail.
    to_raw_value(object).unwrap_or_default()
}

/// The result, where no other field says it.
pub fn output(
    name: &str,
    failed: bool,
    shown: bool,
    result: Option<&RawValue>,
) -> Option<Box<RawValue>> {
    let approved = name == "ExitPlanMode" && !failed;
    result
        .filter(|_| !shown && !approved && name != "Read")
        .map(ToOwned::to_owned)
}

/// The file of an approved plan, where the program says that there is one.
fn plan_file(structured: &RawValue) -> Option<Box<RawValue>> {
    let told = Fields::of(structured);
    let file = told
        .some("filePath")
        .filter(|_| told.some("plan").is_some())?;
    Some(raw(&object! { "planFilePath": file }))
}

/// What became of a file, as one patch: from the file as it was and what was written.
pub fn written(name: &str, response: &RawValue, cwd: &str) -> Option<Shown> {
    let response = Fields::of(response);
    // What the user changed before agreeing is not in the answer.
    if response.is("userModified") {
        return None;
    }
    let path = absolute(response.some("filePath")?, cwd)?;
    let old = response.text("originalFile");
    let new = match name {
        "Write" => response.text("content")?,
        _ => edited(
            old.as_deref().unwrap_or_default(),
            &response.text("oldString")?,
            &response.text("newString")?,
            response.is("replaceAll"),
        )?,
    };
    let text = patch(&path, old.as_deref(), &new)?;
    Some(Shown::Patch { path, text })
}

/// A file's text with a part replaced, as the tool does it.
pub fn edited(text: &str, old: &str, new: &str, all: bool) -> Option<String> {
    if old.is_empty() {
        return text.is_empty().then(|| new.to_owned());
    }
    let count = text.matches(old).count();
    if count == 0 || (count > 1 && !all) {
        return None;
    }
    // A line that is taken away takes its end along.
    let ended = format!("{old}\n");
    let line = new.is_empty() && !old.ends_with('\n') && text.contains(&ended);
    let old = if line { ended.as_str() } else { old };
    Some(match all {
        true => text.replace(old, new),
        false => text.replacen(old, new, 1),
    })
}

/// A file before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Before {
    /// It is not there.
    Nothing,
    /// Its text.
    Text(String),
    /// It is no text, too long, or may not be looked at.
    Unknown,
}

impl Before {
    /// What was read of it.
    pub fn of(bytes: Vec<u8>) -> Before {
        String::from_utf8(bytes).map_or(Before::Unknown, Before::Text)
    }
}

/// What a call that waits for the user would do to a file; none if the card says it as well
/// as can be.
pub fn preview(name: &str, input: &RawValue, cwd: &str, before: &Before) -> Option<Shown> {
    let fields = Fields::of(input);
    let path = path_of(name, &fields, cwd)?;
    let old = match before {
        Before::Nothing => None,
        Before::Text(text) => Some(text.as_str()),
        Before::Unknown if name == "Write" => {
            return Some(Shown::Text(
                "This overwrites an existing file that cannot be shown.".to_owned(),
            ));
        }
        Before::Unknown => return None,
    };
    if name != "Write" {
        let new = edited(
            old.unwrap_or_default(),
            &fields.text("old_string").unwrap_or_default(),
            &fields.text("new_string")?,
            fields.is("replace_all"),
        )?;
        let text = patch(&path, old, &new)?;
        return Some(Shown::Patch { path, text });
    }
    let new = TEXTS_OF_WRITE.iter().find_map(|it| fields.text(it))?;
    Some(match patch(&path, old, &new) {
        Some(text) => Shown::Patch { path, text },
        None => Shown::Change(Change {
            old: old.map(ToOwned::to_owned),
            path,
            new,
        }),
    })
}

/// The file that a call would change, if it is a tool that changes one.
pub fn path_of(name: &str, input: &Fields<'_>, cwd: &str) -> Option<String> {
    let file = match name {
        "Edit" => input.some("file_path"),
        "Write" => input.some("file_path").or_else(|| input.some("path")),
        _ => None,
    };
    absolute(file?, cwd)
}

fn absolute(file: String, cwd: &str) -> Option<String> {
    let place: Option<Place> = files::places(Some(file), None, cwd).pop();
    place.map(|place| place.path)
}

impl Cards {
    /// The plan, unless such an editor has it already.
    pub(super) fn plan(&mut self, entries: Vec<PlanEntry>, out: &mut Vec<Told>) {
        if self.setting.extras.on {
            if self.planned.as_ref() == Some(&entries) {
                return;
            }
            self.planned = Some(entries.clone());
        }
        out.push(Told::Plan(entries));
    }

    /// Skills and the files of those that have one.
    pub fn skills_are(&mut self, skills: Vec<(String, String)>) {
        self.skills = skills;
    }

    /// The past was shown: what comes is told as it happens.
    pub fn go_on(&mut self) {
        self.setting.past = false;
    }

    /// What a question about a call shows of it: the editor has the rest.
    pub(super) fn asked_lean(&mut self, asked: &Asked<'_>) -> Report {
        let Asked {
            id, name, input, ..
        } = *asked;
        let extras = self.setting.extras;
        let news = self.look(id, input);
        let blocked = asked.blocked_path.map(ToOwned::to_owned);
        let mut places = files::places(blocked, None, &self.setting.cwd);
        let known = news.places.unwrap_or_default();
        places.retain(|place| known.iter().all(|known| known.path != place.path));
        let names = asked
            .mcp_server
            .map(|server| object! { "mcpServer": server });
        let host = Fields::of(input).some("host");
        let host = host.filter(|_| name == "SandboxNetworkAccess");
        Report {
            id: id.to_owned(),
            title: host.or(news.title),
            places: (!places.is_empty()).then_some(places),
            raw_input: Some(self::input(name, input, extras)),
            meta: names.map(|names| object! { "claudeCode": names }),
            ..Report::default()
        }
    }

    /// What a call would do to a file is shown with the question about it; the card shows it
    /// from then on.
    pub fn previewed(&mut self, id: &str, shown: Shown) -> Vec<Shown> {
        let content = Vec::from([shown]);
        if let Some(call) = self.call(id) {
            call.showed(&content);
        }
        content
    }

    /// A plan that was approved, for editors that show plans: as the call has it, else as
    /// the program does.
    pub(super) fn plan_approved(
        &mut self,
        id: &str,
        structured: Option<&RawValue>,
        out: &mut Vec<Told>,
    ) {
        let input = self.call(id).and_then(|call| call.input.take());
        let plan = |raw: &RawValue| Fields::of(raw).some("plan");
        let plan = input
            .as_deref()
            .and_then(plan)
            .or_else(|| plan(structured?));
        let text = plan.map(|plan| plan.trim().to_owned());
        if let Some(text) = text.filter(|text| self.setting.plans && !text.is_empty()) {
            let id = format!("plan-mode:{id}");
            out.push(Told::Document { id, text });
        }
    }

    /// What changes the card when its result comes.
    pub(super) fn result_lean(
        &self,
        name: &str,
        result: &Ended<'_>,
        content: &Content<'_>,
        news: &mut News,
    ) {
        let extras = self.setting.extras;
        let failed = result.is_error;
        if !extras.on {
            return;
        }
        match name {
            // The editor opens the file by itself.
            "Read" if !failed && extras.shows_input && !content.is_rich() => news.content = None,
            "ExitPlanMode" => {
                // Why a plan was turned down is no text for its card.
                news.content = None;
                let told = result.structured.filter(|_| extras.plan_files && !failed);
                news.raw_input = told.and_then(plan_file);
            }
            _ => {}
        }
        news.raw_output = output(name, failed, news.content.is_some(), result.content);
    }

    /// What such an editor gets of what a tool, or the program, says for programs.
    pub(super) fn lean_notes(&self, news: &mut News) {
        if self.setting.extras.on {
            news.notes.response = news.notes.response.take().as_deref().and_then(markers);
        }
    }

    /// What the hook tells of a call.
    pub(super) fn hooked_lean(&self, name: &str, response: &RawValue, news: &mut News) {
        let Setting { extras, cwd, .. } = &self.setting;
        if !extras.on {
            return;
        }
        news.notes.response = markers(response);
        if extras.patches
            && matches!(name, "Edit" | "Write")
            && let Some(shown) = written(name, response, cwd)
        {
            news.content = Some(Vec::from([shown]));
        }
    }
}

/// The exit code for such an editor: always a number.
pub fn exit_code(extras: Extras, code: Option<i64>, status: Status) -> Option<i64> {
    let guess = i64::from(status == Status::Failed);
    code.or(extras.on.then_some(guess))
}
