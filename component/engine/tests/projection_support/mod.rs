//! What the projection tests share: short words for facts, and the updates as ACP v1 JSON.
#![allow(dead_code, reason = "each test file uses its part")]

use airlock_engine::editor::v1::encode;
use airlock_engine::projection::{Call, Outcome, Projection, Stream, ToolFact, ToolKind};
use serde_json::Value;
use serde_json::value::RawValue;

pub const SESSION: &str = "S";
pub const TURN: &str = "T";

pub fn projection() -> Projection {
    Projection::new(TURN)
}

/// Drains, and gives the `update` of every notification.
pub fn drained(projection: &mut Projection) -> Vec<Value> {
    let mut updates = vec![];
    projection.drain(&mut |update| {
        let mut line = vec![];
        encode::update(SESSION, "maka", &update, &mut line);
        let message: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(line.pop(), Some(b'\n'), "one line a message");
        assert!(!line.contains(&b'\n'), "one line a message");
        updates.push(message["params"]["update"].clone());
    });
    updates
}

pub fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

pub fn call(name: &str, kind: ToolKind) -> Call<'_> {
    Call {
        name,
        kind,
        ..Call::default()
    }
}

pub fn started<'a>(id: &'a str, name: &'a str) -> ToolFact<'a> {
    ToolFact::Started {
        id,
        call: call(name, ToolKind::Execute),
    }
}

pub fn output<'a>(id: &'a str, seq: u64, chunk: &'a str) -> ToolFact<'a> {
    ToolFact::Output {
        id,
        seq,
        stream: Stream::Stdout,
        chunk,
        redacted: false,
    }
}

pub fn announced(id: &str, errored: bool) -> ToolFact<'_> {
    ToolFact::Announced {
        id,
        errored,
        duration_ms: Some(42),
    }
}

pub fn result<'a>(id: &'a str, text: &str, raw: &'a RawValue) -> ToolFact<'a> {
    ToolFact::Result {
        id,
        outcome: Outcome::Completed,
        text: text.to_owned(),
        raw,
        duration_ms: Some(42),
        details: airlock_engine::projection::Details::default(),
    }
}

/// One text of a card's content.
pub fn text(text: &str) -> Value {
    serde_json::json!({"type": "content", "content": {"type": "text", "text": text}})
}

/// One chunk of output in a card's content.
pub fn chunk(words: &str, sequence: u64, stream: &str, redacted: bool) -> Value {
    serde_json::json!({"type": "content", "content": {"type": "text", "text": words,
        "_meta": {"maka": {"sequence": sequence, "stream": stream, "redacted": redacted}}}})
}
