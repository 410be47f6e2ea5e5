//! The session catalog: creating, listing, configuring, archiving and removing
//! sessions. Touches sessions and, for a new one, asks whether its folder
//! exists. Invariant: a listing is of one revision; when the catalog changes
//! between two pages, the client is told to begin again.

use serde_json::{Value, json};

use super::ids;
use super::models;
use super::session::{Configuration, Session, Status};
use super::wire::{CATALOG_PAGE, CATALOG_PAGE_BYTES, Refusal, code, refuse};
use super::world::{State, existing};

/// `session.create`
pub(crate) fn create(state: &mut State, now: u64, input: &Value) -> Result<Value, Refusal> {
    let id = text(&input["sessionId"]);
    if let Some(session) = state.sessions.get(&id) {
        if session.created_by != *input {
            return refuse(
                code::CONFLICT,
                "Session identity belongs to a different create request",
            );
        }
        return Ok(session.item());
    }
    let cwd = folder(&input["workspace"])?;
    let configuration = Configuration {
        thinking_level: input["thinkingLevel"].as_str().map(str::to_owned),
        permission_mode: or(&input["permissionMode"], "ask"),
        collaboration_mode: or(&input["collaborationMode"], "agent"),
        orchestration_mode: or(&input["orchestrationMode"], "default"),
        ..models::target(&input["modelTarget"])?
    };
    let session = Session {
        id: id.clone(),
        created_by: input.clone(),
        revision: 1,
        cwd,
        created_at: now,
        last_used_at: now,
        name: or(&input["name"], "New Chat"),
        named: input["name"].is_string(),
        is_flagged: false,
        is_archived: false,
        labels: input.get("labels").cloned().unwrap_or_else(|| json!([])),
        has_unread: false,
        status: Status::Active,
        status_updated_at: now,
        connection_locked: false,
        configuration,
        last_message: None,
        rows: Vec::new(),
        turns: Default::default(),
        root_turn: None,
        attachments: Vec::new(),
        interactions: Vec::new(),
        live: Default::default(),
    };
    let item = session.item();
    state.sessions.insert(id.clone(), session);
    state.catalog_changed(&id);
    state.save(&id);
    Ok(item)
}

fn folder(workspace: &Value) -> Result<String, Refusal> {
    if workspace["kind"] == "project" {
        return refuse(
            code::CONFLICT,
            format!("Project does not exist: {}", text(&workspace["projectId"])),
        );
    }
    let path = std::path::Path::new(workspace["path"].as_str().unwrap_or_default());
    if !path.is_absolute() {
        return refuse(code::INVALID, "Workspace Host path must be absolute");
    }
    if !path.is_dir() {
        return refuse(
            code::INVALID,
            "Workspace Host path is not an existing directory",
        );
    }
    Ok(text(&workspace["path"]))
}

/// `session.catalog.query`
pub(crate) fn query(state: &State, input: &Value) -> Result<Value, Refusal> {
    if input["kind"] == "get" {
        let session = state
            .sessions
            .get(input["sessionId"].as_str().unwrap_or_default());
        return Ok(json!({"kind": "session", "session": session.map(Session::listed)}));
    }
    let mut sessions: Vec<&Session> = state.sessions.values().collect();
    sessions.sort_by(|a, b| {
        b.last_used_at
            .cmp(&a.last_used_at)
            .then_with(|| a.id.cmp(&b.id))
    });
    let items: Vec<Value> = sessions.into_iter().map(Session::listed).collect();
    let revision = ids::digest(Value::from(items.clone()).to_string().as_bytes());
    let mut from = 0;
    if input["kind"] == "list_continue" {
        if input["revision"] != revision {
            return Ok(
                json!({"kind": "revision_changed", "expectedRevision": input["revision"],
                "actualRevision": revision}),
            );
        }
        from = match input["cursor"]
            .as_str()
            .and_then(|cursor| cursor.parse().ok())
        {
            Some(at) if at < items.len() => at,
            _ => {
                return refuse(
                    code::INVALID,
                    "Session catalog cursor is not of this revision",
                );
            }
        };
    }
    let mut page: Vec<&Value> = Vec::new();
    let mut bytes = 0;
    for item in items[from..].iter().take(CATALOG_PAGE) {
        bytes += item.to_string().len();
        if bytes > CATALOG_PAGE_BYTES && !page.is_empty() {
            break;
        }
        page.push(item);
    }
    let next = from + page.len();
    let cursor = (next < items.len()).then(|| next.to_string());
    Ok(json!({"kind": "page", "revision": revision, "sessions": page, "nextCursor": cursor}))
}

/// `session.metadata.update`
pub(crate) fn update_metadata(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    if let Some(conflict) = conflict(session, input) {
        return Ok(conflict);
    }
    let patch = &input["patch"];
    if let Some(name) = patch["name"].as_str() {
        session.name = name.to_owned();
        session.named = true;
    }
    if patch["labels"].is_array() {
        session.labels = patch["labels"].clone();
    }
    if let Some(flagged) = patch["isFlagged"].as_bool() {
        session.is_flagged = flagged;
    }
    committed(state, input)
}

/// `session.configuration.update`
pub(crate) fn update_configuration(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    if let Some(conflict) = conflict(session, input) {
        return Ok(conflict);
    }
    if session.active_turn().is_some() {
        return refuse(
            code::BUSY,
            "Session configuration cannot change while a Turn is active",
        );
    }
    let wanted = &input["configuration"];
    session.configuration = Configuration {
        thinking_level: wanted["thinkingLevel"].as_str().map(str::to_owned),
        permission_mode: text(&wanted["permissionMode"]),
        collaboration_mode: text(&wanted["collaborationMode"]),
        orchestration_mode: text(&wanted["orchestrationMode"]),
        ..models::target(&wanted["modelTarget"])?
    };
    session.connection_locked = true;
    committed(state, input)
}

fn conflict(session: &Session, input: &Value) -> Option<Value> {
    (input["expectedRevision"] != session.revision).then(|| {
        json!({"kind": "revision_conflict", "expectedRevision": input["expectedRevision"],
            "actualRevision": session.revision})
    })
}

fn committed(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let id = text(&input["sessionId"]);
    state.touch(&id);
    state.project(&id);
    state.save(&id);
    let session = existing(&mut state.sessions, input)?;
    Ok(json!({"kind": "committed", "session": session.item()}))
}

/// `session.lifecycle.set`
pub(crate) fn set_lifecycle(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    let archive = input["state"] == "archived";
    if archive && session.active_turn().is_some() {
        return refuse(code::BUSY, "Cannot archive a Session with an active Turn");
    }
    if session.is_archived != archive {
        session.is_archived = archive;
        committed(state, input)?;
    }
    Ok(existing(&mut state.sessions, input)?.item())
}

/// `session.remove`
pub(crate) fn remove(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    if let Some(conflict) = conflict(session, input) {
        return Ok(conflict);
    }
    if session.active_turn().is_some() {
        return refuse(code::BUSY, "Cannot remove a Session with an active Turn");
    }
    for subscription in session.live.subscriptions.drain(..) {
        subscription
            .outbox
            .evict(&subscription.id, "session_removed");
    }
    let id = session.id.clone();
    state.sessions.remove(&id);
    if let Err(error) = state.store.remove(&id) {
        tracing::warn!("the embedded Host cannot remove session {id} from disk: {error:#}");
    }
    Ok(json!({"kind": "removed", "sessionId": id}))
}

/// `session.execution_boundary.query`
pub(crate) fn boundary(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    Ok(match session.configuration.permission_mode.as_str() {
        "bypass" => json!({"kind": "bypass", "revision": session.revision}),
        "explore" => {
            json!({"kind": "managed", "access": "read_only", "revision": session.revision})
        }
        _ => json!({"kind": "managed", "access": "writable", "revision": session.revision}),
    })
}

/// Questions about a session that this Host always answers with "nothing".
pub(crate) fn nothing(state: &mut State, operation: &str, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    Ok(match operation {
        "goal.query" => json!({"sessionId": session.id, "goal": null}),
        _ => json!({"status": "unavailable", "reason": "no_completed_request"}),
    })
}

fn or(value: &Value, default: &str) -> String {
    value.as_str().unwrap_or(default).to_owned()
}

fn text(value: &Value) -> String {
    or(value, "")
}
