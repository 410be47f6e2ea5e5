//! The durable rows of a transcript (StoredMessage), as the real Host writes
//! them. Pure functions from facts to JSON. Invariant: every row has `type`,
//! `id` and `ts`.

use serde_json::{Value, json};

use super::ids;
use super::session::Message;

/// The turn and the time a row belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub(crate) turn: &'a str,
    pub(crate) ts: u64,
}

pub(crate) fn user(at: Stamp, id: &str, content: &Value) -> Value {
    let mut row =
        json!({"type": "user", "id": id, "turnId": at.turn, "ts": at.ts, "text": content["text"]});
    for key in ["displayText", "attachments", "quotes", "inlineReferences"] {
        if let Some(value) = content.get(key) {
            row[key] = value.clone();
        }
    }
    row
}

/// A message that was put into a running turn.
pub(crate) fn steering(at: Stamp, id: &str, content: &Value) -> Value {
    let mut row = user(at, id, content);
    row["steeringEventId"] = json!(ids::uuid());
    row
}

/// While it streams (`settled` false) a message has no provider data yet.
pub(crate) fn assistant(turn: &str, message: &Message, model: &str, settled: bool) -> Value {
    let mut row = json!({"type": "assistant", "id": message.id, "turnId": turn, "ts": message.ts,
        "text": message.text, "modelId": model});
    if !message.thinking.is_empty() {
        row["thinking"] = json!({"text": message.thinking});
        if settled {
            row["thinking"]["providerOptions"] =
                json!({"maka": {"openAiChatReasoningField": "reasoning_content"}});
        }
    }
    row
}

/// What a tool call is, for its rows and its events.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) operation: String,
    pub(crate) name: String,
    pub(crate) activity: Option<String>,
    pub(crate) args: Value,
    /// Id of the message whose step made the call.
    pub(crate) step: String,
}

pub(crate) fn tool_call(at: Stamp, call: &Call) -> Value {
    let mut row = json!({"type": "tool_call", "id": call.id, "turnId": at.turn, "ts": at.ts,
        "toolName": call.name, "origin": "provider", "modelVisibility": "visible",
        "args": call.args, "stepId": call.step});
    if let Some(activity) = &call.activity {
        row["activityKind"] = json!(activity);
    }
    row
}

/// `duration` (milliseconds) is left out when a tool failed before it ran.
pub(crate) fn tool_result(
    at: Stamp,
    call: &Call,
    content: &Value,
    error: bool,
    duration: Option<u64>,
) -> Value {
    let mut row = json!({"type": "tool_result", "id": ids::uuid(), "turnId": at.turn, "ts": at.ts,
        "toolUseId": call.id, "isError": error, "content": content,
        "origin": "provider", "modelVisibility": "visible"});
    if let Some(duration) = duration {
        row["durationMs"] = json!(duration);
    }
    row
}

pub(crate) fn running(at: Stamp) -> Value {
    turn_state(at, "running", false)
}

pub(crate) fn completed(at: Stamp) -> Value {
    turn_state(at, "completed", true)
}

pub(crate) fn failed(at: Stamp, class: &str, partial: bool) -> Value {
    let mut row = turn_state(at, "failed", partial);
    row["errorClass"] = json!(class);
    row
}

pub(crate) fn aborted(at: Stamp, source: &str, partial: bool) -> Value {
    let mut row = turn_state(at, "aborted", partial);
    row["abortedAt"] = json!(at.ts);
    row["abortSource"] = json!(source);
    row
}

fn turn_state(at: Stamp, status: &str, partial: bool) -> Value {
    json!({"type": "turn_state", "id": ids::uuid(), "turnId": at.turn, "ts": at.ts,
        "status": status, "partialOutputRetained": partial})
}

pub(crate) fn abort_note(ts: u64, source: &str) -> Value {
    json!({"type": "system_note", "id": ids::uuid(), "ts": ts, "kind": "abort", "data": {"source": source}})
}

pub(crate) fn resume_note(at: Stamp) -> Value {
    json!({"type": "system_note", "id": ids::uuid(), "turnId": at.turn, "ts": at.ts, "kind": "session_resume"})
}

/// Invented, but consistent: a hundred fresh and twenty cached tokens a model step.
pub(crate) fn token_usage(at: Stamp, steps: u64, prompt: &str) -> Value {
    let segment = |kind: &str, chars: usize| json!({"kind": kind, "chars": chars, "estimatedTokens": chars.div_ceil(4)});
    let hash = ids::digest(b"airlock embedded host");
    let mut schema = segment("tool_schema", 2_048);
    schema["toolCount"] = json!(4);
    let mut history = segment("prior_history", 0);
    history["messageCount"] = json!(0);
    json!({"type": "token_usage", "id": ids::uuid(), "turnId": at.turn, "ts": at.ts,
        "input": 120 * steps, "output": 34 * steps, "cacheHitInput": 20 * steps,
        "cacheMissInput": 100 * steps, "cacheMissInputSource": "explicit", "cacheWriteInput": 0,
        "reasoning": 8 * steps, "total": 154 * steps, "rawFinishReason": "stop",
        "runtimeSteps": steps, "cacheRead": 20 * steps,
        "systemPromptHash": hash, "prefixHash": hash, "prefixChangeReason": "first_turn",
        "requestShapeHash": hash, "requestShapeChangeReason": "first_turn",
        "promptSegments": [segment("system_prompt", 595), schema, history,
            segment("current_user", prompt.chars().count()), segment("turn_tail", 240)],
        "providerRequestTraceId": ids::uuid()})
}
