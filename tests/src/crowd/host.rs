//! A Maka Host by hand for any number of sessions on one connection.
//!
//! Pure: lines in, lines out. Invariant: it holds at most sixteen feeds and refuses one
//! more, as the real one does.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::scripted_host::words;

const EPOCH: &str = "host-process";
const RUN: &str = "run-1";
const FEEDS: usize = 16;
/// Deltas of one message.
const MESSAGE: u64 = 64;

/// What was said, without keeping it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    bytes: u64,
    fnv: u64,
}

impl Digest {
    /// More was said.
    pub fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            self.fnv = (self.fnv ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.bytes += text.len() as u64;
    }
}

/// The Host.
#[derive(Default)]
pub struct Host {
    /// Sessions whose feeds were closed, in order.
    pub gave_way: Vec<String>,
    /// The most feeds that were open at once.
    pub most_feeds: usize,
    sessions: BTreeMap<String, Session>,
    /// Sessions by feed.
    feeds: BTreeMap<String, String>,
    opened: u64,
}

#[derive(Default)]
struct Session {
    feed: String,
    turn: String,
    sequence: u64,
    revision: u64,
    deltas: u64,
    /// UTF-16 units of the current message.
    offset: u64,
    said: Digest,
}

impl Host {
    /// Answers a line of the client, with whole lines.
    ///
    /// # Panics
    /// When it asks for something that no prompt needs.
    pub fn answer(&mut self, line: &str) -> String {
        let asked: Value = serde_json::from_str(line).expect("the engine speaks JSON");
        if asked["kind"] == "hello" {
            return format!("{}\n", words::greeting(EPOCH, "ready"));
        }
        let input = &asked["input"];
        let session_id = text(&input["sessionId"]);
        let mut before = String::new();
        let result = match text(&asked["operation"]).as_str() {
            "host.status" => json!({ "hostEpoch": EPOCH, "state": "ready" }),
            "session.create" => {
                self.sessions.insert(session_id.clone(), Session::default());
                words::session(&input["sessionId"], &input["workspace"]["path"])
            }
            "connection.catalog.query" => words::models(),
            "skill.catalog.invocable.query" => skills(),
            "subscription.open" => match self.open(&session_id) {
                Some(opened) => opened,
                None => {
                    let error = json!({ "code": "operation_conflict", "message": "too many" });
                    return answer(&asked, false, "error", &error);
                }
            },
            "subscription.close" => {
                let feed = text(&input["subscriptionId"]);
                self.gave_way.extend(self.feeds.remove(&feed));
                json!({ "subscriptionId": feed })
            }
            "turn.start" => {
                let session = self.session(&session_id);
                session.turn = text(&input["turnId"]);
                (session.deltas, session.offset) = (0, 0);
                before = self.projection(&session_id, "running");
                json!({ "kind": "started", "turn": self.root(&session_id, "running") })
            }
            other => panic!("the Host by hand was asked for {other}"),
        };
        before + &answer(&asked, true, "result", &result)
    }

    /// The next delta of the running turn; no two are equal.
    pub fn delta(&mut self, session_id: &str, out: &mut Vec<u8>) {
        let session = self.session(session_id);
        if session.deltas.is_multiple_of(MESSAGE) {
            session.offset = 0;
        }
        let number = session.deltas;
        let said = format!("{number}: and so the answer goes on, word by word – ");
        session.sequence += 1;
        let mut line = String::new();
        let _infallible = writeln!(
            line,
            r#"{{"kind":"subscription.session_delta","hostEpoch":"{EPOCH}","subscriptionId":"{}","sequence":{},"sessionId":"{session_id}","delta":{{"kind":"text","turnId":"{}","runId":"{RUN}","messageId":"m{}","startOffset":{},"text":"{said}"}}}}"#,
            session.feed,
            session.sequence,
            session.turn,
            number / MESSAGE,
            session.offset,
        );
        session.deltas += 1;
        session.offset += said.encode_utf16().count() as u64;
        session.said.add(&said);
        out.extend_from_slice(line.as_bytes());
    }

    /// The running turn ends well; nothing of it was stored.
    pub fn completed(&mut self, session_id: &str) -> String {
        self.projection(session_id, "completed")
    }

    /// What was said in this session.
    ///
    /// # Panics
    /// When there is none.
    pub fn said(&self, session_id: &str) -> Digest {
        self.sessions[session_id].said
    }

    fn session(&mut self, session_id: &str) -> &mut Session {
        let session = self.sessions.get_mut(session_id);
        session.expect("the session was made")
    }

    fn open(&mut self, session_id: &str) -> Option<Value> {
        if self.feeds.len() >= FEEDS {
            return None;
        }
        self.opened += 1;
        let feed = format!("feed-{}", self.opened);
        self.feeds.insert(feed.clone(), session_id.to_owned());
        self.most_feeds = self.most_feeds.max(self.feeds.len());
        let session = self.session(session_id);
        session.feed.clone_from(&feed);
        (session.sequence, session.revision) = (0, 1);
        Some(json!({
            "hostEpoch": EPOCH, "subscriptionId": feed, "nextSequence": 1,
            "snapshot": words::snapshot(session_id, 1, &Value::Null, &[]),
            "activeAssistantStreams": [],
            "transcript": { "throughSequence": null, "overlayMessageCount": 0 },
        }))
    }

    fn projection(&mut self, session_id: &str, status: &str) -> String {
        let root = self.root(session_id, status);
        let session = self.session(session_id);
        session.revision += 1;
        session.sequence += 1;
        let frame = json!({
            "kind": "subscription.session_projection", "hostEpoch": EPOCH,
            "subscriptionId": session.feed, "sequence": session.sequence,
            "sessionId": session_id,
            "snapshot": words::snapshot(session_id, session.revision, &root, &[]),
        });
        format!("{frame}\n")
    }

    fn root(&self, session_id: &str, status: &str) -> Value {
        let turn = &self.sessions[session_id].turn;
        words::turn(session_id, turn, RUN, status, &json!({}))
    }
}

fn skills() -> Value {
    let skill = json!({ "id": "review", "name": "Review", "description": "Looks at changes." });
    json!({ "kind": "page", "revision": "sha256:0", "items": [skill], "nextCursor": null })
}

fn answer(asked: &Value, ok: bool, key: &str, value: &Value) -> String {
    let answer = json!({
        "requestId": asked["requestId"], "operation": asked["operation"], "ok": ok, key: value,
    });
    format!("{answer}\n")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
