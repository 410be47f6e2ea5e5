//! Shapes of the wire of epoch 39, as the recordings have them, short of what Airlock
//! does not read.
//!
//! Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The answer to `hello`.
pub fn greeting(epoch: &str, state: &str) -> Value {
    json!({ "kind": "accepted", "rootId": "root", "hostEpoch": epoch, "compatibilityEpoch": 39,
            "compositionId": "maka.interactive", "state": state })
}

/// A session of the catalog, just made.
pub fn session(id: &Value, cwd: &Value) -> Value {
    json!({ "id": id, "revision": 1, "workspace": { "target": { "kind": "host_path", "path": cwd },
            "hostCwd": cwd }, "createdAt": 1_796_027_169_767_u64, "lastUsedAt": 1_796_027_169_767_u64,
            "name": "New Chat", "llmConnectionSlug": "mock", "model": "mock-model" })
}

/// No skills.
pub fn no_skills() -> Value {
    json!({ "kind": "page", "revision": "sha256:0", "items": [], "nextCursor": null })
}

/// The same with this revision and all that can be set; `more` are further keys.
pub fn configured(id: &str, revision: u64, more: &Value) -> Value {
    let mut item = session(&json!(id), &json!("/srv/maka-work"));
    let set = json!({ "revision": revision, "permissionMode": "ask", "collaborationMode": "agent",
                      "orchestrationMode": "default" });
    for keys in [&set, more] {
        if let (Value::Object(item), Value::Object(keys)) = (&mut item, keys) {
            item.extend(keys.clone());
        }
    }
    item
}

/// A page of the connection catalog with several connections: one model with declared
/// levels and a name, one connection that is switched off, and the same model twice.
pub fn connections() -> Value {
    let connection = |index: u64, slug: &str, name: &str, enabled: bool| {
        json!({ "kind": "connection", "connectionIndex": index, "slug": slug, "name": name,
                "enabled": enabled })
    };
    let enabled = |index: u64, item: u64, model: &str, profile: Value| {
        json!({ "kind": "enabled_model_id", "connectionIndex": index, "itemIndex": item,
                "modelId": model, "relayProfile": profile })
    };
    json!({ "kind": "page", "revision": 4, "nextCursor": null, "items": [
        connection(0, "mock", "Mock", true),
        enabled(0, 0, "mock-model", json!(null)),
        enabled(0, 1, "vendor/large", json!({ "thinkingLevels": ["low", "high"] })),
        enabled(0, 2, "plain", json!({ "thinkingLevels": [] })),
        { "kind": "model", "connectionIndex": 0, "itemIndex": 0,
          "model": { "id": "vendor/large", "displayName": "Large" } },
        { "kind": "model", "connectionIndex": 0, "itemIndex": 1, "model": { "id": "not-enabled" } },
        connection(1, "off", "Switched off", false),
        enabled(1, 0, "hidden", json!(null)),
        connection(2, "other", "Other", true),
        enabled(2, 0, "mock-model", json!(null)),
    ] })
}

/// The connection catalog, one page.
pub fn models() -> Value {
    json!({ "kind": "page", "revision": 1, "nextCursor": null,
            "items": [{ "kind": "connection", "slug": "mock", "name": "Mock" }] })
}

/// A turn as a snapshot or an answer tells it; `more` are the keys of its status.
pub fn turn(session: &str, turn: &str, run: &str, status: &str, more: &Value) -> Value {
    let mut told = json!({ "sessionId": session, "turnId": turn, "runId": run, "status": status });
    if let (Value::Object(told), Value::Object(more)) = (&mut told, more) {
        told.extend(more.clone());
    }
    told
}

/// A question to the user.
pub fn interaction(turn: &str, kind: &str) -> Value {
    json!({ "schemaVersion": 1, "interactionId": "i1", "turnId": turn, "runId": "run-1", "revision": 1,
            "status": "pending", "outcome": null, "request": { "kind": kind } })
}

/// What a question of this kind asks, with a tool `t1` where it names one.
///
/// # Panics
/// For a kind that epoch 39 does not have.
pub fn request(kind: &str) -> Value {
    match kind {
        "permission" => json!({ "kind": kind, "toolUseId": "t1", "prompt": {
            "kind": "tool_permission", "toolName": "Bash", "category": "command",
            "reason": "not allowed yet", "review": { "kind": "command", "command": "rm -r x" },
            "rememberForTurnAllowed": true } }),
        "question" => json!({ "kind": kind, "toolUseId": "t1", "questions": [
            { "question": "Which colour?", "options": [
                { "label": "Red", "description": "warm" }, { "label": "Blue" }] }] }),
        "sandbox_boundary" => json!({ "kind": kind, "justification": "To write a report.",
            "expansion": { "filesystem": { "entries": [
                { "path": "/srv/out", "access": "write", "scope": "subtree" }] } } }),
        "client_capability" => json!({ "kind": kind, "toolUseId": "t1", "target": {
            "providerId": "p", "capability": "browser",
            "scope": { "kind": "browser_origin", "origin": "https://example.org" } } }),
        _ => panic!("no request of kind {kind}"),
    }
}

/// A pending question, whole, as snapshots and `interaction.query` show it.
pub fn pending(session: &str, turn: &str, id: &str, request: &Value) -> Value {
    json!({ "schemaVersion": 1, "interactionId": id, "sessionId": session, "turnId": turn,
            "runId": "run-1", "request": request, "revision": 1, "status": "pending",
            "outcome": null })
}

/// The same, resolved.
pub fn resolved(pending: &Value, status: &str, outcome: &Value) -> Value {
    let mut told = pending.clone();
    told["revision"] = json!(2);
    told["status"] = json!(status);
    told["outcome"] = outcome.clone();
    told
}

/// A snapshot of a session.
pub fn snapshot(session: &str, revision: u64, root: &Value, pending: &[Value]) -> Value {
    json!({ "schemaVersion": 4, "session": { "sessionId": session, "metadataRevision": 1, "status": "active" },
            "projectionRevision": revision, "rootTurn": root, "goal": null,
            "interactions": { "pending": pending } })
}

/// A whole durable row, as a fragment.
pub fn durable(sequence: u64, row: &Value) -> Value {
    let text = row.to_string();
    json!({ "kind": "durable", "sequence": sequence, "byteOffset": 0, "totalBytes": text.len(),
            "payloadDigest": null, "data": STANDARD.encode(text) })
}

/// A whole overlay row, as a fragment.
pub fn overlay(index: u64, row: &Value) -> Value {
    let text = row.to_string();
    json!({ "kind": "overlay", "messageIndex": index, "byteOffset": 0, "totalBytes": text.len(),
            "data": STANDARD.encode(text) })
}

/// A page.
pub fn page(fragments: &[Value], next: Option<&str>) -> Value {
    json!({ "kind": "page", "fragments": fragments, "nextCursor": next })
}

/// An `assistant` row.
pub fn assistant(turn: &str, id: &str, text: &str) -> Value {
    json!({ "type": "assistant", "id": id, "turnId": turn, "ts": 1, "text": text, "modelId": "mock-model" })
}

/// A `turn_state` row.
pub fn turn_state(turn: &str, status: &str, more: &Value) -> Value {
    let mut row = json!({ "type": "turn_state", "id": format!("{turn}-{status}"), "turnId": turn, "ts": 1,
                          "status": status });
    if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
        row.extend(more.clone());
    }
    row
}

/// A `tool_call` row of Bash.
pub fn tool_call(turn: &str, id: &str) -> Value {
    json!({ "type": "tool_call", "id": id, "turnId": turn, "ts": 1, "toolName": "Bash",
            "args": { "command": "ls" }, "activityKind": "command" })
}

/// A `tool_result` row of text.
pub fn tool_result(turn: &str, id: &str, text: &str) -> Value {
    json!({ "type": "tool_result", "id": format!("{id}-result"), "turnId": turn, "ts": 1, "toolUseId": id,
            "isError": false, "content": { "kind": "text", "text": text } })
}

/// A `user` row.
pub fn user(turn: &str, id: &str, text: &str) -> Value {
    json!({ "type": "user", "id": id, "turnId": turn, "ts": 1, "text": text })
}
