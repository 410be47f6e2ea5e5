//! A session: its facts, its durable rows, its turns, and the two views of it
//! that the wire knows, catalog item and snapshot. Pure state, no connection.
//! Invariant: `rows` only grows, and a row's sequence is its place in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::subscription::Subscription;
use super::transcript::Row;
use super::wire::{SNAPSHOT_SCHEMA, utf16};

/// One conversation.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// The input that created it; the same again is no new session.
    pub(crate) created_by: Value,
    pub(crate) revision: u64,
    pub(crate) cwd: String,
    pub(crate) created_at: u64,
    pub(crate) last_used_at: u64,
    pub(crate) name: String,
    /// The Host names a session once, and never over a client's name.
    pub(crate) named: bool,
    pub(crate) is_flagged: bool,
    pub(crate) is_archived: bool,
    pub(crate) labels: Value,
    pub(crate) has_unread: bool,
    pub(crate) status: Status,
    pub(crate) status_updated_at: u64,
    pub(crate) connection_locked: bool,
    pub(crate) configuration: Configuration,
    pub(crate) last_message: Option<LastMessage>,
    pub(crate) rows: Vec<Row>,
    pub(crate) turns: BTreeMap<String, Turn>,
    /// The turn that the projection shows: the active or the last one.
    pub(crate) root_turn: Option<String>,
    /// Attachments that were committed here, as `artifact.ingest` returned them.
    pub(crate) attachments: Vec<Value>,
    pub(crate) interactions: Vec<Value>,
    #[serde(skip)]
    pub(crate) live: Live,
}

/// What lives only as long as the Host.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) projection_revision: u64,
    pub(crate) queue_revision: u64,
    pub(crate) steering: Vec<Value>,
    pub(crate) followup: Vec<Value>,
    /// What `turn.message.submit` answered, by message.
    pub(crate) submitted: BTreeMap<String, (Value, Value)>,
    pub(crate) subscriptions: Vec<Subscription>,
    pub(crate) message: Option<Message>,
    /// Operations answered since the active turn began.
    pub(crate) answered: BTreeMap<String, u64>,
}

/// The assistant message that is being streamed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) ts: u64,
    pub(crate) text: String,
    pub(crate) thinking: String,
    /// Their lengths as the wire counts them, kept because counting is slow.
    pub(crate) text_units: u64,
    pub(crate) thinking_units: u64,
}

impl Message {
    /// Appends to one of the two streams; gives the offset at which it was appended.
    pub(crate) fn grow(&mut self, kind: &str, more: &str) -> u64 {
        let (text, units) = match kind {
            "text" => (&mut self.text, &mut self.text_units),
            _ => (&mut self.thinking, &mut self.thinking_units),
        };
        let start = *units;
        text.push_str(more);
        *units += utf16(more);
        start
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Active,
    Running,
    WaitingForUser,
    Blocked,
    Aborted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Configuration {
    pub(crate) slug: String,
    pub(crate) model: String,
    pub(crate) thinking_level: Option<String>,
    pub(crate) permission_mode: String,
    pub(crate) collaboration_mode: String,
    pub(crate) orchestration_mode: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LastMessage {
    pub(crate) at: u64,
    pub(crate) preview: String,
}

/// One turn, from its admission on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) run: String,
    /// The input that started it; the same again is no new turn.
    pub(crate) started_by: Value,
    pub(crate) state: TurnState,
    /// Requests that wait for the end of this turn.
    #[serde(skip)]
    pub(crate) waiters: Vec<Waiter>,
    #[serde(skip)]
    pub(crate) stopping: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "status",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub(crate) enum TurnState {
    Admitted,
    Created,
    Running,
    WaitingForUser,
    Completed {
        terminal_event_id: String,
    },
    Failed {
        terminal_event_id: String,
        failure_class: String,
        failure_message: String,
    },
    Cancelled {
        terminal_event_id: String,
        abort_source: String,
    },
}

/// A request whose answer comes when a turn has ended.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) connection: u64,
    pub(crate) request: String,
    pub(crate) operation: String,
}

impl TurnState {
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(
            self,
            TurnState::Completed { .. } | TurnState::Failed { .. } | TurnState::Cancelled { .. }
        )
    }
}

impl Session {
    /// The turn that runs now.
    pub(crate) fn active_turn(&self) -> Option<&str> {
        let id = self.root_turn.as_deref()?;
        let turn = self.turns.get(id)?;
        (!turn.state.is_terminal()).then_some(id)
    }

    /// A TurnSnapshot.
    pub(crate) fn turn_snapshot(&self, id: &str) -> Option<Value> {
        let turn = self.turns.get(id)?;
        let mut snapshot = serde_json::to_value(&turn.state).ok()?;
        snapshot["sessionId"] = json!(self.id);
        snapshot["turnId"] = json!(id);
        snapshot["runId"] = json!(turn.run);
        Some(snapshot)
    }

    /// The snapshot of a subscription and of every projection frame.
    pub(crate) fn snapshot(&self, host_epoch: &str) -> Value {
        let pending: Vec<&Value> = self
            .interactions
            .iter()
            .filter(|one| one["status"] == "pending")
            .collect();
        json!({
            "schemaVersion": SNAPSHOT_SCHEMA,
            "session": {
                "sessionId": self.id,
                "metadataRevision": self.revision,
                "status": self.status,
                "createdAt": self.created_at,
                "lastUsedAt": self.last_used_at,
                "isArchived": self.is_archived,
            },
            "projectionRevision": self.live.projection_revision,
            "rootTurn": self.root_turn.as_deref().and_then(|id| self.turn_snapshot(id)),
            "goal": null,
            "queue": {
                "hostEpoch": host_epoch,
                "queueRevision": self.live.queue_revision,
                "steering": self.live.steering,
                "followup": self.live.followup,
            },
            "interactions": {"pending": pending},
        })
    }

    /// A SessionCatalogItem, as commands answer it.
    pub(crate) fn item(&self) -> Value {
        let configuration = &self.configuration;
        let mut item = json!({
            "id": self.id,
            "revision": self.revision,
            "workspace": {"target": self.created_by["workspace"], "hostCwd": self.cwd},
            "createdAt": self.created_at,
            "lastUsedAt": self.last_used_at,
            "name": self.name,
            "isFlagged": self.is_flagged,
            "isArchived": self.is_archived,
            "labels": self.labels,
            "labelsTruncated": false,
            "hasUnread": self.has_unread,
            "status": self.status,
            "statusUpdatedAt": self.status_updated_at,
            "backend": "ai-sdk",
            "llmConnectionSlug": configuration.slug,
            "connectionLocked": self.connection_locked,
            "model": configuration.model,
            "permissionMode": configuration.permission_mode,
            "collaborationMode": configuration.collaboration_mode,
            "orchestrationMode": configuration.orchestration_mode,
        });
        if let Some(level) = &configuration.thinking_level {
            item["thinkingLevel"] = json!(level);
        }
        if let Some(last) = &self.last_message {
            item["lastMessageAt"] = json!(last.at);
            item["lastMessagePreview"] = json!(last.preview);
        }
        item
    }

    /// A SessionCatalogItem, as the catalog lists it: with what runs now.
    pub(crate) fn listed(&self) -> Value {
        let running: Vec<&str> = self.active_turn().into_iter().collect();
        let mut item = self.item();
        item["liveRunState"] = json!({"schemaVersion": 1, "runningTurnIds": running});
        item
    }

    pub(crate) fn interaction(&mut self, id: &str) -> Option<&mut Value> {
        self.interactions
            .iter_mut()
            .find(|one| one["interactionId"] == id)
    }
}
