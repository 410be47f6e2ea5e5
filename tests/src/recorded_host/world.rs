//! What the played frames have told about the Host so far, and answers made from it for
//! requests that the recorded client never sent.
//!
//! Pure. Invariant: every improvised answer has the shape that the recordings show for its
//! operation, and says only what the played frames have said.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::rows::{Rows, Shelf, Walk};

/// What is known of the Host.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The Host's process, as it named itself.
    pub epoch: String,
    sessions: BTreeMap<String, Session>,
    subscriptions: BTreeMap<String, Subscription>,
    turns: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default)]
struct Session {
    item: Value,
    snapshot: Option<Value>,
    through: Option<u64>,
    streams: BTreeMap<String, Stream>,
}

/// Text of one message as far as it was streamed.
#[derive(Clone, Debug, Default)]
struct Stream {
    turn: String,
    text: BTreeMap<String, String>,
    complete: bool,
}

/// One subscription.
#[derive(Clone, Debug, Default)]
pub struct Subscription {
    /// Whose.
    pub session: String,
    /// Number of its last frame.
    pub sequence: u64,
    /// Whether it still gives frames.
    pub open: bool,
}

/// A typed refusal.
pub type Refusal = (&'static str, &'static str);

impl World {
    /// Learns from a frame that goes out; `asked` is the input of the request it answers.
    pub fn see(&mut self, frame: &Value, asked: Option<&Value>) {
        if let Some(epoch) = frame["hostEpoch"].as_str() {
            self.epoch = epoch.to_owned();
        }
        let name = |key: &str| frame[key].as_str().unwrap_or_default().to_owned();
        if let Some(sequence) = frame["sequence"].as_u64() {
            self.subscriptions
                .entry(name("subscriptionId"))
                .or_default()
                .sequence = sequence;
        }
        match frame["kind"].as_str() {
            Some("subscription.session_projection") => self.see_snapshot(&frame["snapshot"]),
            Some("subscription.session_delta") => {
                self.see_delta(&name("sessionId"), &frame["delta"])
            }
            Some("subscription.transcript_advanced") => {
                self.session(&name("sessionId")).through = frame["throughSequence"].as_u64();
            }
            Some("subscription.closed") => {
                self.subscriptions
                    .entry(name("subscriptionId"))
                    .or_default()
                    .open = false;
            }
            Some(_) => {}
            None => self.see_reply(frame, asked.unwrap_or(&Value::Null)),
        }
    }

    /// The client closed this subscription, or its connection ended.
    pub fn close(&mut self, subscription: &str) {
        self.subscriptions
            .entry(subscription.to_owned())
            .or_default()
            .open = false;
    }

    /// Every subscription ends with its connection.
    pub fn disconnect(&mut self) {
        self.subscriptions
            .values_mut()
            .for_each(|subscription| subscription.open = false);
    }

    /// A subscription by id.
    pub fn subscription(&self, id: &str) -> Option<&Subscription> {
        self.subscriptions.get(id)
    }

    /// The watermark of a session.
    pub fn through(&self, session: &str) -> Option<u64> {
        self.sessions
            .get(session)
            .and_then(|session| session.through)
    }

    /// `session.catalog.query`.
    ///
    /// # Errors
    /// As the Host's.
    pub fn catalog(&self, input: &Value) -> Result<Value, Refusal> {
        match input["kind"].as_str() {
            Some("get") => {
                let id = input["sessionId"].as_str().unwrap_or_default();
                let found = self.sessions.get(id).map_or(Value::Null, Session::current);
                Ok(json!({ "kind": "session", "session": found }))
            }
            Some("list_start") => {
                let items: Vec<Value> = self.sessions.values().map(Session::current).collect();
                let seal = Sha256::digest(json!(items).to_string());
                let seal: String = seal.iter().map(|byte| format!("{byte:02x}")).collect();
                Ok(
                    json!({ "kind": "page", "revision": format!("sha256:{seal}"),
                    "sessions": items, "nextCursor": null }),
                )
            }
            _ => Err(("invalid_request", "Session catalog cursor is invalid")),
        }
    }

    /// `turn.query`.
    ///
    /// # Errors
    /// As the Host's.
    pub fn turn(&self, input: &Value) -> Result<Value, Refusal> {
        let id = input["turnId"].as_str().unwrap_or_default();
        self.turns
            .get(id)
            .cloned()
            .ok_or(("not_found", "Turn was not admitted"))
    }

    /// `turn.stop` of a running Turn: the frames that come before the answer, and the
    /// answer, shaped as recording 08 shows them.
    ///
    /// # Errors
    /// As the Host's.
    pub fn stop(&mut self, input: &Value) -> Result<(Vec<Value>, Value), Refusal> {
        let mut turn = self.turn(input)?;
        if turn["runId"] != input["runId"] {
            return Err((
                "operation_conflict",
                "Run identity does not match the admitted Turn",
            ));
        }
        if turn["terminalEventId"].is_string() {
            return Ok((Vec::new(), turn));
        }
        turn["status"] = json!("cancelled");
        turn["terminalEventId"] = json!(TERMINAL_EVENT);
        turn["abortSource"] = json!("renderer.stop_button");
        let session = input["sessionId"].as_str().unwrap_or_default().to_owned();
        let mut snapshot = self.snapshot(&session);
        snapshot["session"]["status"] = json!("aborted");
        snapshot["rootTurn"] = turn.clone();
        snapshot["interactions"]["pending"] = json!([]);
        snapshot["projectionRevision"] =
            json!(snapshot["projectionRevision"].as_u64().unwrap_or_default() + 1);
        let open = self
            .subscriptions
            .iter()
            .filter(|(_, it)| it.open && it.session == session);
        let frames = open
            .map(|(id, it)| {
                json!({ "kind": "subscription.session_projection", "hostEpoch": self.epoch,
                    "subscriptionId": id, "sequence": it.sequence + 1, "snapshot": snapshot })
            })
            .collect();
        self.turns.insert(
            input["turnId"].as_str().unwrap_or_default().to_owned(),
            turn.clone(),
        );
        self.session(&session).snapshot = Some(snapshot);
        Ok((frames, turn))
    }

    /// `subscription.open` at a place where the recorded client had none. The text that
    /// was streamed but is not durable yet goes into the overlay.
    ///
    /// # Errors
    /// As the Host's, or the number of a durable row that the recording does not hold.
    pub fn open(
        &mut self,
        id: &str,
        input: &Value,
        rows: &mut Rows,
        rewrite: &dyn Fn(&str) -> String,
    ) -> Result<Result<Value, Refusal>, u64> {
        let session = input["sessionId"].as_str().unwrap_or_default().to_owned();
        let Some(known) = self.sessions.get(&session) else {
            return Ok(Err(("not_found", "Session does not exist")));
        };
        let mut snapshot = self.snapshot(&session);
        snapshot["projectionRevision"] = json!(1);
        let live = known.streams.iter().filter(|(_, stream)| !stream.complete);
        let mut streams = Vec::new();
        let overlay = Shelf::Overlay(id.to_owned());
        for (message, stream) in live {
            for kind in stream.text.keys() {
                streams.push(json!({ "kind": kind, "turnId": stream.turn, "messageId": message }));
            }
            let row = stream.row(message).to_string();
            let at = rows.count(&overlay);
            rows.supply(overlay.clone(), at, 0, row.len() as u64, row.as_bytes());
        }
        let through = known.through;
        let mut walk = Walk {
            subscription: id.to_owned(),
            session: session.clone(),
            source: "durable".to_owned(),
            older: true,
            through,
            place: through.map(|row| (row, u64::MAX)),
            budget: input["transcript"]["maxBytes"].as_u64().unwrap_or_default(),
        };
        let transcript = if input["transcript"]["kind"] == "tail" {
            let durable = rows.page(&walk, rewrite)?;
            let messages = rows.count(&overlay);
            walk.source = "overlay".to_owned();
            walk.place = messages.checked_sub(1).map(|row| (row, u64::MAX));
            json!({ "throughSequence": through, "overlayMessageCount": messages,
                "durable": durable, "overlay": rows.page(&walk, rewrite)? })
        } else {
            Value::Null
        };
        Ok(Ok(
            json!({ "hostEpoch": self.epoch, "subscriptionId": id, "nextSequence": 1,
            "snapshot": snapshot, "activeAssistantStreams": streams, "transcript": transcript }),
        ))
    }

    /// Subscriptions that the recording had for this session.
    pub fn former(&self, session: &str) -> Vec<String> {
        let of = self
            .subscriptions
            .iter()
            .filter(|(_, it)| it.session == session);
        of.map(|(id, _)| id.clone()).collect()
    }

    fn session(&mut self, id: &str) -> &mut Session {
        self.sessions.entry(id.to_owned()).or_default()
    }

    fn snapshot(&self, id: &str) -> Value {
        let session = &self.sessions[id];
        session.snapshot.clone().unwrap_or_else(|| {
            let item = &session.item;
            json!({ "schemaVersion": 4,
                "session": { "sessionId": id, "metadataRevision": item["revision"],
                    "status": item["status"], "createdAt": item["createdAt"],
                    "lastUsedAt": item["lastUsedAt"], "isArchived": item["isArchived"] },
                "projectionRevision": 1, "rootTurn": null, "goal": null,
                "queue": { "hostEpoch": self.epoch, "queueRevision": 0, "steering": [], "followup": [] },
                "interactions": { "pending": [] } })
        })
    }

    fn see_snapshot(&mut self, snapshot: &Value) {
        let root = &snapshot["rootTurn"];
        if let Some(turn) = root["turnId"].as_str() {
            self.turns.insert(turn.to_owned(), root.clone());
        }
        let id = snapshot["session"]["sessionId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.session(&id).snapshot = Some(snapshot.clone());
    }

    fn see_delta(&mut self, session: &str, delta: &Value) {
        let text = |key: &str| delta[key].as_str().unwrap_or_default().to_owned();
        let stream = self
            .session(session)
            .streams
            .entry(text("messageId"))
            .or_default();
        stream.turn = text("turnId");
        let kind = stream.text.entry(text("kind")).or_default();
        if delta["reset"] == true {
            kind.clear();
        }
        kind.push_str(&text("text"));
        stream.complete |= delta["complete"] == true;
    }

    fn see_reply(&mut self, frame: &Value, asked: &Value) {
        let result = &frame["result"];
        if frame["ok"] != true {
            return;
        }
        match frame["operation"].as_str() {
            Some("session.create") => {
                let id = result["id"].as_str().unwrap_or_default().to_owned();
                self.session(&id).item = result.clone();
            }
            Some("subscription.open") => {
                let session = asked["sessionId"].as_str().unwrap_or_default().to_owned();
                self.see_snapshot(&result["snapshot"]);
                if !result["transcript"].is_null() {
                    self.session(&session).through =
                        result["transcript"]["throughSequence"].as_u64();
                }
                let id = result["subscriptionId"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                self.subscriptions.insert(
                    id,
                    Subscription {
                        session,
                        sequence: 0,
                        open: true,
                    },
                );
            }
            Some("turn.start") => self.see_turn(&result["turn"]),
            Some("turn.query" | "turn.stop") => self.see_turn(result),
            _ => {}
        }
    }

    fn see_turn(&mut self, turn: &Value) {
        if let Some(id) = turn["turnId"].as_str() {
            self.turns.insert(id.to_owned(), turn.clone());
        }
    }
}

/// The event that ends a Turn which the recording does not stop.
const TERMINAL_EVENT: &str = "00000000-0000-4000-8000-00000000dead";

impl Session {
    /// The catalog item, with what later snapshots said.
    fn current(&self) -> Value {
        let mut item = self.item.clone();
        if let Some(snapshot) = &self.snapshot {
            item["revision"] = snapshot["session"]["metadataRevision"].clone();
            item["status"] = snapshot["session"]["status"].clone();
            item["lastUsedAt"] = snapshot["session"]["lastUsedAt"].clone();
        }
        item
    }
}

impl Stream {
    /// The assistant row as it stands, as recording 20 shows it in an overlay.
    fn row(&self, message: &str) -> Value {
        let mut row = json!({ "type": "assistant", "id": message, "turnId": self.turn,
            "ts": 1_796_027_443_766_u64, "modelId": "mock-model",
            "text": self.text.get("text").cloned().unwrap_or_default() });
        if let Some(thinking) = self.text.get("thinking") {
            row["thinking"] = json!({ "text": thinking });
        }
        row
    }
}

/// Decodes the rows of a page, for tests.
///
/// # Panics
/// When the page is not one.
pub fn rows_of(page: &Value) -> Vec<String> {
    let fragments = page["fragments"].as_array().expect("fragments");
    let data = fragments
        .iter()
        .map(|it| it["data"].as_str().expect("data"));
    data.map(|it| String::from_utf8(STANDARD.decode(it).expect("base64")).expect("UTF-8"))
        .collect()
}
