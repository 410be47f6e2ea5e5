//! What of a frame is compared between two Hosts: its keys, the kinds of its
//! values, and the words that are the protocol's own; not what a Host chooses
//! freely (identifiers, times, sizes, sentences of errors).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

use serde_json::{Value, json};

/// An answer, without what its Host chose freely.
pub fn normal_answer(answer: &Value) -> Value {
    let mut answer = answer.clone();
    // Each Host lists its own sessions; the first of them stands for all.
    if let Some(sessions) = answer["result"]["sessions"].as_array_mut() {
        sessions.truncate(1);
    }
    if answer["result"].get("sessions").is_some() {
        answer["result"]["nextCursor"] = Value::Null;
    }
    shape(&answer, "")
}

/// The frames of one subscription, folded as the module `replay` says.
pub fn normal_stream(frames: &[Value], subscription: &str) -> Vec<Value> {
    let mut stream: Vec<Value> = Vec::new();
    for frame in frames
        .iter()
        .filter(|frame| frame["subscriptionId"] == subscription)
    {
        let mut frame = frame.clone();
        for chosen in ["sequence", "hostEpoch", "subscriptionId"] {
            frame.as_object_mut().expect("a frame").remove(chosen);
        }
        if is_waiting(&frame) || fold_delta(&mut stream, &frame) {
            continue;
        }
        let frame = if frame["delta"].is_object() {
            frame
        } else {
            shape(&frame, "")
        };
        if frame["snapshot"].is_object() && stream.last() == Some(&frame) {
            continue;
        }
        stream.push(frame);
    }
    settle_interactions(&mut stream);
    stream
        .into_iter()
        .map(|frame| {
            if frame["delta"].is_object() {
                shape(&frame, "")
            } else {
                frame
            }
        })
        .collect()
}

/// The real Host shows a waiting turn with its question only when the client
/// is slow to answer.
fn is_waiting(frame: &Value) -> bool {
    frame["snapshot"]["rootTurn"]["status"] == "waiting_for_user"
        && frame["snapshot"]["interactions"]["pending"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
}

/// Appends streamed text to the first delta of its message.
fn fold_delta(stream: &mut [Value], frame: &Value) -> bool {
    let delta = &frame["delta"];
    if !delta.is_object() || delta.get("complete").is_some() {
        return false;
    }
    let first = stream.iter_mut().find(|earlier| {
        earlier["delta"]["messageId"] == delta["messageId"]
            && earlier["delta"]["kind"] == delta["kind"]
            && earlier["delta"].get("complete").is_none()
    });
    match first {
        Some(first) => {
            let text = format!(
                "{}{}",
                first["delta"]["text"].as_str().unwrap(),
                delta["text"].as_str().unwrap()
            );
            first["delta"]["text"] = json!(text);
            true
        }
        None => false,
    }
}

/// After an answer, `running` and the result's row come in either order.
fn settle_interactions(stream: &mut [Value]) {
    for at in 2..stream.len() {
        let result = stream[at]["event"]["type"] == "tool_result";
        let turned = stream[at - 2]["kind"] == "subscription.transcript_advanced"
            && stream[at - 1]["kind"] == "subscription.session_projection";
        if result && turned {
            stream.swap(at - 2, at - 1);
        }
    }
}

fn shape(value: &Value, key: &str) -> Value {
    match value {
        Value::Object(object) => {
            if let Some(row) = whole_row(value) {
                return json!({"row": row, "place": value["sequence"].as_u64().or(value["messageIndex"].as_u64())});
            }
            // In one order: what order a map keeps depends on what else is built.
            let fields: BTreeMap<_, _> = object.iter().collect();
            fields
                .into_iter()
                .map(|(key, item)| (key.clone(), shape(item, key)))
                .collect()
        }
        Value::Array(list) => list.iter().map(|item| shape(item, key)).collect(),
        Value::String(_) if is_chosen(key) => json!("<text>"),
        Value::String(text) if text.starts_with("ENOENT") => json!(text.split('/').next()),
        Value::Number(_) if is_measured(key) => json!("<number>"),
        other => other.clone(),
    }
}

/// The stored row of a fragment that holds it whole.
fn whole_row(fragment: &Value) -> Option<Value> {
    let data = STANDARD.decode(fragment["data"].as_str()?).ok()?;
    let row: Value = serde_json::from_slice(&data).ok()?;
    Some(shape(&row, ""))
}

/// Words that a Host, or the machine it runs on, chooses.
fn is_chosen(key: &str) -> bool {
    const CHOSEN: [&str; 18] = [
        "id",
        "data",
        "nextCursor",
        "revision",
        "hostCwd",
        "path",
        "paths",
        "cwd",
        "diff",
        "message",
        "messageId",
        "rootId",
        "hostEpoch",
        "relativePath",
        "systemPromptHash",
        "prefixHash",
        "requestShapeHash",
        "payloadDigest",
    ];
    CHOSEN.contains(&key) || key.ends_with("Id")
}

/// Numbers that measure time, size or history.
fn is_measured(key: &str) -> bool {
    const KEPT: [&str; 8] = [
        "schemaVersion",
        "throughSequence",
        "startOffset",
        "queueRevision",
        "seq",
        "nextSequence",
        "nextOffset",
        "overlayMessageCount",
    ];
    !KEPT.contains(&key)
}
