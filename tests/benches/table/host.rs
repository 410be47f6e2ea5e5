//! A Maka Host by hand, for one client and one session: it answers what a prompt needs and
//! streams deltas of one length.
//!
//! Pure: lines in, lines out. It checks nothing, since its client is not under test.
//! Invariant: every delta is [`LINE`] bytes long with its line end, joins the text before
//! it, and begins a fresh message every [`MESSAGE`] deltas.

use serde_json::{Value, json};

use super::Measured;

/// Bytes of a delta's line, with its end.
pub const LINE: usize = 342;
/// Deltas of one message.
const MESSAGE: u64 = 64;

const EPOCH: &str = "host-process";
const SUBSCRIPTION: &str = "subscription";
const RUN: &str = "run-00000001";

/// The Host's side of a connection.
#[derive(Default)]
pub struct Host {
    session: String,
    turn: String,
    sequence: u64,
    revision: u64,
    /// Deltas so far, and the UTF-16 units of the current message.
    deltas: u64,
    offset: u64,
}

impl Host {
    /// The answer to a line of the client, as whole lines; for `turn.start` what the Host
    /// says until the first delta.
    ///
    /// # Errors
    /// When the line is not JSON.
    pub fn answer(&mut self, line: &str) -> Measured<String> {
        let asked: Value = serde_json::from_str(line)?;
        if asked["kind"] == "hello" {
            return Ok(lines([json!({
                "kind": "accepted", "rootId": "root", "hostEpoch": EPOCH, "state": "ready",
                "compatibilityEpoch": asked["compatibilityEpoch"],
                "compositionId": asked["compositionId"],
            })]));
        }
        let input = &asked["input"];
        let mut before = Vec::new();
        let result = match asked["operation"].as_str().unwrap_or_default() {
            "host.status" => json!({ "hostEpoch": EPOCH, "state": "ready" }),
            "session.create" => {
                self.session = text(&input["sessionId"]);
                json!({ "id": self.session, "name": "New Chat", "model": "model" })
            }
            "connection.catalog.query" => json!({ "kind": "page", "revision": 1, "items": [] }),
            "subscription.open" => {
                (self.sequence, self.revision) = (1, 1);
                json!({
                    "hostEpoch": EPOCH, "subscriptionId": SUBSCRIPTION, "nextSequence": 1,
                    "snapshot": self.snapshot(&Value::Null),
                    "transcript": { "throughSequence": null, "overlayMessageCount": 0 },
                })
            }
            "turn.start" => {
                self.turn = text(&input["turnId"]);
                (self.deltas, self.offset) = (0, 0);
                before.push(self.projection("running"));
                json!({ "kind": "started", "turn": self.root("running") })
            }
            // What only panels show: a Host may have none of it.
            _ => Value::Null,
        };
        let (requested, operation) = (&asked["requestId"], &asked["operation"]);
        let reply = if result.is_null() {
            json!({ "requestId": requested, "operation": operation, "ok": false,
                    "error": { "code": "operation_unavailable", "message": "" } })
        } else {
            json!({ "requestId": requested, "operation": operation, "ok": true, "result": result })
        };
        before.push(reply);
        Ok(lines(before))
    }

    /// The next deltas of the running turn.
    pub fn deltas(&mut self, number: u64) -> Vec<u8> {
        let mut out = String::new();
        for _ in 0..number {
            if self.deltas.is_multiple_of(MESSAGE) {
                self.offset = 0;
            }
            self.delta(&mut out);
        }
        out.into_bytes()
    }

    fn delta(&mut self, out: &mut String) {
        const WORDS: &str = "and so the answer goes on, word by word, as models write";
        // The end of a paragraph now and then: an escape is what makes a text not plain.
        let (end, units) = if self.deltas % 16 == 15 {
            ("\\n", 1)
        } else {
            ("", 0)
        };
        let head = format!(
            r#"{{"kind":"subscription.session_delta","hostEpoch":"{EPOCH}","subscriptionId":"{SUBSCRIPTION}","sequence":{},"sessionId":"{}","delta":{{"kind":"text","turnId":"{}","runId":"{RUN}","messageId":"message-{:04}","startOffset":{},"text":""#,
            self.sequence,
            self.session,
            self.turn,
            self.deltas / MESSAGE,
            self.offset,
        );
        let tail = format!("{end}\"}}}}\n");
        let words = &WORDS[..LINE - head.len() - tail.len()];
        out.extend([&head, words, &tail]);
        self.offset += words.len() as u64 + units;
        self.deltas += 1;
        self.sequence += 1;
    }

    /// The turn ends well; nothing of it was stored.
    pub fn completed(&mut self) -> String {
        lines([self.projection("completed")])
    }

    fn projection(&mut self, status: &str) -> Value {
        self.revision += 1;
        self.sequence += 1;
        json!({
            "kind": "subscription.session_projection", "hostEpoch": EPOCH,
            "subscriptionId": SUBSCRIPTION, "sequence": self.sequence - 1,
            "snapshot": self.snapshot(&self.root(status)),
        })
    }

    fn snapshot(&self, root: &Value) -> Value {
        json!({
            "projectionRevision": self.revision, "rootTurn": root,
            "interactions": { "pending": [] },
        })
    }

    fn root(&self, status: &str) -> Value {
        json!({ "sessionId": self.session, "turnId": self.turn, "runId": RUN, "status": status })
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn lines(frames: impl IntoIterator<Item = Value>) -> String {
    frames
        .into_iter()
        .map(|frame| format!("{frame}\n"))
        .collect()
}
