//! What the tests of Claude Code's cards share: frames in, ACP v1 JSON out.
//!
//! Reports are written down here a second time, so that the engine's encoder is not asked
//! about itself.
#![allow(dead_code, reason = "each test file uses its part")]

use std::borrow::Cow;

use airlock_engine::editor::v1::encode;
use airlock_engine::host::PlanStatus;
use airlock_engine::host::claude::cards::{Asked, Cards, Ended, Progress, Setting, Told};
use airlock_engine::projection::{Report, Shown};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub const CWD: &str = "/w";

pub fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// Cards of a plain editor, or of one with terminals.
pub fn cards(terminals: bool) -> Cards {
    Cards::new(Setting {
        cwd: CWD.to_owned(),
        terminals,
        ..Setting::default()
    })
}

pub fn ok<'a>(content: &'a RawValue) -> Ended<'a> {
    Ended {
        content: Some(content),
        ..Ended::default()
    }
}

/// What the result of a call changes.
pub fn result(cards: &mut Cards, name: &str, input: &Value, ended: &Ended<'_>) -> Vec<Value> {
    let input = raw(&input.to_string());
    cards.called("t", name, &input, None, &mut vec![]);
    told(|out| cards.result("t", ended, out))
}

pub fn text(text: &str) -> Value {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}

/// What a call tells.
pub fn told(act: impl FnOnce(&mut Vec<Told>)) -> Vec<Value> {
    let mut out = vec![];
    act(&mut out);
    out.iter().map(update).collect()
}

pub fn update(told: &Told) -> Value {
    match told {
        Told::Card(report) => {
            let mut update = card(report);
            update["sessionUpdate"] = match report.first {
                true => "tool_call".into(),
                false => "tool_call_update".into(),
            };
            update
        }
        Told::Plan(entries) => {
            let entries = entries.iter().map(|entry| {
                let status = match entry.status {
                    PlanStatus::Pending => "pending",
                    PlanStatus::InProgress => "in_progress",
                    PlanStatus::Completed => "completed",
                };
                json!({ "content": entry.content, "status": status, "priority": "medium" })
            });
            json!({ "sessionUpdate": "plan", "entries": entries.collect::<Vec<_>>() })
        }
        Told::Document { id, text } => json!({ "document": id, "text": text }),
        Told::PlanMode => json!({ "planMode": true }),
    }
}

pub fn card(report: &Report) -> Value {
    let mut card = json!({ "toolCallId": report.id });
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            card[name] = value;
        }
    };
    set("name", report.name.clone().map(Value::from));
    set("title", report.title.clone().map(Value::from));
    set(
        "status",
        report.status.map(|one| encode::status(one).into()),
    );
    set("kind", report.kind.map(|one| encode::kind(one).into()));
    let content = report.content.as_ref();
    set(
        "content",
        content.map(|all| all.iter().map(shown).collect()),
    );
    let places = report.places.as_ref().map(|places| {
        let places = places.iter().map(|place| match place.line {
            Some(line) => json!({ "path": place.path, "line": line }),
            None => json!({ "path": place.path }),
        });
        places.collect()
    });
    set("locations", places);
    let value = |raw: &Option<Box<RawValue>>| {
        let raw = raw.as_ref()?;
        Some(serde_json::from_str::<Value>(raw.get()).unwrap())
    };
    set("rawInput", value(&report.raw_input));
    set("rawOutput", value(&report.raw_output));
    let meta = report.meta.as_ref();
    set(
        "_meta",
        meta.map(|meta| serde_json::to_value(meta).unwrap()),
    );
    card
}

fn shown(shown: &Shown) -> Value {
    match shown {
        Shown::Text(text) => {
            json!({ "type": "content", "content": { "type": "text", "text": text } })
        }
        Shown::Image { data, mime_type } => json!({
            "type": "content",
            "content": { "type": "image", "data": data, "mimeType": mime_type },
        }),
        Shown::Change(change) => json!({
            "type": "diff",
            "path": change.path,
            "oldText": change.old,
            "newText": change.new,
        }),
        Shown::Terminal(id) => json!({ "type": "terminal", "terminalId": id }),
        Shown::Patch { path, text } => json!({ "type": "patch", "path": path, "text": text }),
    }
}

/// A frame of the CLI, as far as cards need it.
#[derive(Debug, Deserialize)]
pub struct Frame<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    parent_tool_use_id: Option<&'a str>,
    #[serde(borrow)]
    event: Option<Event<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    request: Option<Request<'a>>,
    #[serde(borrow)]
    tool_use_result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_result_meta: Vec<About<'a>>,
    #[serde(borrow)]
    tool_use_id: Option<&'a str>,
    #[serde(borrow)]
    elapsed_time_seconds: Option<&'a RawValue>,
    #[serde(borrow)]
    subagent_type: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
struct Event<'a> {
    index: u64,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
}

#[derive(Debug, Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    partial_json: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
}

#[derive(Debug, Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    id: &'a str,
    #[serde(default)]
    name: &'a str,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(default)]
    tool_use_id: &'a str,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct About<'a> {
    id: &'a str,
    non_execution_kind: Option<&'a str>,
    #[serde(borrow)]
    user_feedback: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Request<'a> {
    subtype: &'a str,
    #[serde(borrow)]
    input: &'a RawValue,
    #[serde(default)]
    tool_name: &'a str,
    #[serde(default)]
    tool_use_id: &'a str,
    blocked_path: Option<&'a str>,
    #[serde(borrow)]
    mcp_server: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Hook<'a> {
    hook_event_name: &'a str,
    #[serde(borrow)]
    tool_response: Option<&'a RawValue>,
    #[serde(default)]
    task_id: &'a str,
    #[serde(default)]
    task_subject: &'a str,
}

/// Gives a frame to the cards; also the card of the question that it asks.
pub fn feed(cards: &mut Cards, frame: &str, out: &mut Vec<Told>) -> Option<Report> {
    let frame: Frame<'_> = serde_json::from_str(frame).unwrap();
    let parent = frame.parent_tool_use_id;
    match frame.kind {
        "stream_event" => {
            let event = frame.event.unwrap();
            let stream = parent.unwrap_or("");
            if let Some(block) = event.content_block {
                cards.began(stream, event.index, block.id, block.name, parent, out);
            } else {
                let delta = event.delta.unwrap();
                cards.input_grew(stream, event.index, &delta.partial_json, out);
            }
        }
        "assistant" => {
            for block in frame.message.unwrap().content {
                cards.called(block.id, block.name, block.input.unwrap(), parent, out);
            }
        }
        "user" => {
            let blocks = frame.message.unwrap().content.into_iter();
            for block in blocks.filter(|block| block.kind == "tool_result") {
                let mut about = frame.tool_result_meta.iter();
                let about = about.find(|about| about.id == block.tool_use_id);
                let ended = Ended {
                    content: block.content,
                    is_error: block.is_error.unwrap_or(false),
                    structured: frame.tool_use_result,
                    non_execution: about.and_then(|about| about.non_execution_kind),
                    feedback: about.and_then(|about| about.user_feedback),
                };
                cards.result(block.tool_use_id, &ended, out);
            }
        }
        "control_request" => {
            let request = frame.request.unwrap();
            let id = request.tool_use_id;
            if request.subtype == "can_use_tool" {
                let asked = Asked {
                    id,
                    name: request.tool_name,
                    input: request.input,
                    parent: None,
                    blocked_path: request.blocked_path,
                    mcp_server: request.mcp_server,
                };
                let report = cards.asked(&asked, out);
                // That one asks with a form of its own.
                return (asked.name != "AskUserQuestion").then_some(report);
            }
            let hook: Hook<'_> = serde_json::from_str(request.input.get()).unwrap();
            match hook.hook_event_name {
                "PostToolUse" => cards.hooked(id, hook.tool_response.unwrap(), out),
                "TaskCreated" => cards.task_made(hook.task_id, hook.task_subject, out),
                _ => cards.task_done(hook.task_id, out),
            }
        }
        "tool_progress" => {
            let progress = Progress {
                elapsed: frame.elapsed_time_seconds,
                subagent_type: frame.subagent_type,
                subagent_retry: None,
            };
            cards.progress(frame.tool_use_id.unwrap(), parent, &progress, out);
        }
        "conversation_reset" => cards.reset(out),
        other => panic!("no card needs a {other}"),
    }
    None
}
