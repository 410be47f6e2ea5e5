//! Subscriptions: opening and closing them, the overlay that is frozen when
//! one opens, and what every subscriber of a session is told. Touches the
//! sessions and their connections' outboxes. Invariant: a frame is published
//! in the same moment in which the state it tells of changes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::faults::Fault;
use super::ids;
use super::outbox::{Delivery, Outbox, Trouble};
use super::rows;
use super::session::Session;
use super::transcript::{self, Direction, Row, Source, Walk};
use super::wire::{Refusal, SUBSCRIPTIONS, code, refuse};
use super::world::{State, existing};

/// One subscriber.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) connection: u64,
    pub(crate) outbox: Arc<Outbox>,
    /// The watermark at which it was opened.
    pub(crate) opened_through: Option<u64>,
    /// Rows of the active turn as they were at opening; `None` once released.
    pub(crate) overlay: Option<Vec<Row>>,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Outbox")
    }
}

/// `subscription.open`
pub(crate) fn open(state: &mut State, connection: u64, input: &Value) -> Result<Value, Refusal> {
    let Some(outbox) = state.connections.get(&connection).cloned() else {
        return refuse(code::NOT_FOUND, "Connection is gone");
    };
    let session = existing(&mut state.sessions, input)?;
    if outbox.lanes() >= SUBSCRIPTIONS {
        return refuse(
            code::CONFLICT,
            "Runtime Host connection subscription limit reached",
        );
    }
    let trouble = waiting_trouble(&mut state.pending_faults);
    session
        .live
        .subscriptions
        .retain(|one| one.outbox.has_lane(&one.id));
    if session.live.subscriptions.is_empty() && session.active_turn().is_none() {
        session.live.projection_revision = 1;
        session.live.queue_revision = 0;
    }
    let subscription = Subscription {
        id: ids::uuid(),
        session: session.id.clone(),
        connection,
        outbox: outbox.clone(),
        opened_through: (session.rows.len() as u64).checked_sub(1),
        overlay: Some(overlay(session)),
    };
    let transcript = match input["transcript"]["maxBytes"].as_u64() {
        Some(budget) => first_pages(&subscription, session, budget as usize, &state.signing_key),
        None => Value::Null,
    };
    let result = json!({
        "hostEpoch": state.host_epoch,
        "subscriptionId": subscription.id,
        "nextSequence": 1,
        "snapshot": session.snapshot(&state.host_epoch),
        "activeAssistantStreams": streams(session),
        "transcript": transcript,
    });
    outbox.open(&subscription.id, &state.host_epoch, trouble);
    session.live.subscriptions.push(subscription);
    Ok(result)
}

/// Faults that waited for a subscription to come.
/// They strike the next one that opens, and no other.
fn waiting_trouble(faults: &mut Vec<Fault>) -> Trouble {
    let mut trouble = Trouble::default();
    faults.retain(|fault| match fault {
        Fault::CloseSubscription { after } => {
            trouble.evict_at = Some(*after);
            false
        }
        Fault::SkipSequence { after } => {
            trouble.skip_at = Some(*after);
            false
        }
        _ => true,
    });
    trouble
}

/// The newest rows, shared between both sources when there is an overlay.
fn first_pages(subscription: &Subscription, session: &Session, budget: usize, key: &str) -> Value {
    let through = subscription.opened_through;
    let overlay = subscription.overlay.as_deref().unwrap_or_default();
    let share = if overlay.is_empty() {
        budget
    } else {
        budget / 2
    };
    let durable_walk = Walk::new(subscription, Source::Durable, Direction::Older, through);
    let overlay_walk = Walk::new(subscription, Source::Overlay, Direction::Older, through);
    json!({
        "throughSequence": through,
        "overlayMessageCount": overlay.len(),
        "durable": transcript::tail(&durable_walk, &session.rows, share, key),
        "overlay": transcript::tail(&overlay_walk, overlay, share, key),
    })
}

/// What the active turn shows that is not durable in its final form.
fn overlay(session: &Session) -> Vec<Row> {
    let Some(turn) = session.active_turn() else {
        return Vec::new();
    };
    let mut rows: Vec<Row> = Vec::new();
    for row in &session.rows {
        let value: Value = serde_json::from_str(&row.text).unwrap_or_default();
        let shown = ["user", "assistant", "tool_call", "tool_result"];
        if value["turnId"] == turn && shown.iter().any(|kind| value["type"] == *kind) {
            rows.push(row.clone());
        }
    }
    if let Some(message) = &session.live.message {
        rows.push(Row::new(&rows::assistant(
            turn,
            message,
            &session.configuration.model,
            false,
        )));
    }
    rows
}

fn streams(session: &Session) -> Vec<Value> {
    let (Some(turn), Some(message)) = (session.active_turn(), &session.live.message) else {
        return Vec::new();
    };
    let stream = |kind: &str| json!({"kind": kind, "turnId": turn, "messageId": message.id});
    let mut streams = Vec::new();
    if !message.thinking.is_empty() {
        streams.push(stream("thinking"));
    }
    if !message.text.is_empty() {
        streams.push(stream("text"));
    }
    streams
}

/// `subscription.close`
pub(crate) fn close(state: &mut State, connection: u64, input: &Value) -> Result<Value, Refusal> {
    let id = input["subscriptionId"].as_str().unwrap_or_default();
    for session in state.sessions.values_mut() {
        let subscriptions = &mut session.live.subscriptions;
        let Some(at) = subscriptions.iter().position(|one| one.id == id) else {
            continue;
        };
        if subscriptions[at].connection != connection {
            return refuse(code::NOT_FOUND, "Session subscription was not found");
        }
        subscriptions.remove(at).outbox.retire(id);
    }
    Ok(json!({"subscriptionId": id}))
}

/// `session.transcript.overlay.release`
pub(crate) fn release(state: &mut State, connection: u64, input: &Value) -> Result<Value, Refusal> {
    let id = input["subscriptionId"].as_str().unwrap_or_default();
    let found = state
        .sessions
        .values_mut()
        .flat_map(|session| &mut session.live.subscriptions)
        .find(|one| one.id == id && one.connection == connection);
    match found {
        Some(subscription) => {
            subscription.overlay = None;
            Ok(json!({"subscriptionId": id}))
        }
        None => refuse(code::NOT_FOUND, "Session subscription was not found"),
    }
}

impl Session {
    /// Tells every subscriber; forgets those that are over.
    pub(crate) fn publish(&mut self, frame: &Value) {
        self.live
            .subscriptions
            .retain(|one| one.outbox.frame(&one.id, frame.clone()) == Delivery::Queued);
    }

    /// A new projection of the whole session.
    pub(crate) fn project(&mut self, host_epoch: &str) {
        self.live.projection_revision += 1;
        let snapshot = self.snapshot(host_epoch);
        self.publish(&json!({"kind": "subscription.session_projection", "snapshot": snapshot}));
    }

    /// The durable rows have grown.
    pub(crate) fn advance(&mut self) {
        if let Some(through) = (self.rows.len() as u64).checked_sub(1) {
            let id = self.id.clone();
            self.publish(
                &json!({"kind": "subscription.transcript_advanced", "sessionId": id,
                "throughSequence": through}),
            );
        }
    }

    /// Something of another domain changed; here always the usage figures.
    pub(crate) fn usage_changed(&mut self) {
        let id = self.id.clone();
        self.publish(&json!({"kind": "subscription.session_domain_changed", "sessionId": id, "domain": "usage"}));
    }

    pub(crate) fn delta(&mut self, delta: &Value) {
        let id = self.id.clone();
        self.publish(
            &json!({"kind": "subscription.session_delta", "sessionId": id, "delta": delta}),
        );
    }

    pub(crate) fn event(&mut self, run: &str, event: &Value) {
        let id = self.id.clone();
        self.publish(&json!({"kind": "subscription.session_event", "sessionId": id, "runId": run, "event": event}));
    }
}
