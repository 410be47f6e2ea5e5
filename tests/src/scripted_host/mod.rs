//! A Maka Host without a will of its own: the test decides every frame.
//!
//! It greets, and it answers by itself what no race is about (making a session, naming
//! models, closing a feed, telling that it lives); every other request waits until the
//! test takes it. Sans-IO. Invariant: nothing is said that the test did not ask for.

mod asking;
mod ends;
mod scene;
mod settings;
mod told;
mod upload;
pub mod words;

use std::collections::{BTreeSet, VecDeque};

use airlock_engine::{HostRefusal, Target};
use serde_json::{Value, json};

use crate::desk::Peer;
use crate::recorded_host::Say;
pub use asking::each_way_with_forms;
pub use scene::{Scene, Turn, Way, each_way, each_way_bare};
pub use upload::{link, reference, sha256};

/// A request of the engine.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its id on the wire.
    pub request_id: String,
    /// Its operation.
    pub operation: String,
    /// Its input.
    pub input: Value,
}

impl Asked {
    /// The Host's result.
    pub fn result(&self, result: &Value) -> String {
        json!({ "requestId": self.request_id, "operation": self.operation, "ok": true, "result": result })
            .to_string()
    }

    /// The Host's refusal.
    pub fn error(&self, code: &str, message: &str) -> String {
        json!({ "requestId": self.request_id, "operation": self.operation, "ok": false,
                "error": { "code": code, "message": message } })
        .to_string()
    }
}

/// The Host.
#[derive(Clone, Debug)]
pub struct ScriptedHost {
    /// Which process it is; changes with a restart.
    pub epoch: String,
    /// Why it cannot be connected to, if so.
    pub refusal: Option<HostRefusal>,
    /// What discovery says of it.
    pub facts: Vec<(String, String)>,
    /// Its answer to `hello`; `None`: it keeps silent.
    pub greeting: Option<Value>,
    /// The state that it tells to `host.status`.
    pub state: String,
    /// How often it was connected to.
    pub connects: u64,
    by_hand: BTreeSet<String>,
    held: VecDeque<Asked>,
}

impl Default for ScriptedHost {
    fn default() -> ScriptedHost {
        let epoch = "epoch-1".to_owned();
        ScriptedHost {
            greeting: Some(words::greeting(&epoch, "ready")),
            epoch,
            refusal: None,
            facts: Vec::new(),
            state: "ready".to_owned(),
            connects: 0,
            by_hand: BTreeSet::new(),
            held: VecDeque::new(),
        }
    }
}

impl ScriptedHost {
    /// From now on the test answers this operation.
    pub fn by_hand(&mut self, operation: &str) {
        self.by_hand.insert(operation.to_owned());
    }

    /// From now on it answers this operation by itself again.
    pub fn by_itself(&mut self, operation: &str) {
        self.by_hand.remove(operation);
    }

    /// It is another process from now on.
    pub fn restart(&mut self) {
        self.epoch = format!("{}'", self.epoch);
        self.greeting = Some(words::greeting(&self.epoch, "ready"));
        self.held.clear();
    }

    /// Takes the oldest request of this operation that waits.
    pub fn take(&mut self, operation: &str) -> Option<Asked> {
        let at = self
            .held
            .iter()
            .position(|asked| asked.operation == operation)?;
        self.held.remove(at)
    }

    /// It waits again, as the oldest.
    pub fn put_back(&mut self, asked: Asked) {
        self.held.push_front(asked);
    }

    /// Operations of the requests that wait.
    pub fn waiting(&self) -> Vec<&str> {
        self.held
            .iter()
            .map(|asked| asked.operation.as_str())
            .collect()
    }

    /// Requests that wait will never be answered.
    pub fn forget(&mut self) {
        self.held.clear();
    }

    fn of_itself(&self, asked: &Asked) -> Option<Value> {
        if self.by_hand.contains(&asked.operation) {
            return None;
        }
        Some(match asked.operation.as_str() {
            "session.create" => {
                words::session(&asked.input["sessionId"], &asked.input["workspace"]["path"])
            }
            "connection.catalog.query" => words::models(),
            "skill.catalog.invocable.query" => words::no_skills(),
            "subscription.close" | "session.transcript.overlay.release" => {
                json!({ "subscriptionId": asked.input["subscriptionId"] })
            }
            "host.status" => json!({ "hostEpoch": self.epoch, "state": self.state }),
            _ => return None,
        })
    }
}

impl Peer for ScriptedHost {
    fn open(&mut self, _: &Target) -> Result<Vec<(String, String)>, HostRefusal> {
        self.connects += 1;
        self.refusal
            .clone()
            .map_or_else(|| Ok(self.facts.clone()), Err)
    }

    fn line(&mut self, line: &str) -> Vec<Say> {
        let frame: Value = serde_json::from_str(line).expect("the engine speaks JSON");
        if frame["kind"] == "hello" {
            return self
                .greeting
                .iter()
                .map(|it| Say::Line(it.to_string()))
                .collect();
        }
        let text = |key: &str| {
            frame[key]
                .as_str()
                .expect("a request has its keys")
                .to_owned()
        };
        let asked = Asked {
            request_id: text("requestId"),
            operation: text("operation"),
            input: frame["input"].clone(),
        };
        match self.of_itself(&asked) {
            Some(result) => vec![Say::Line(asked.result(&result))],
            None => {
                self.held.push_back(asked);
                Vec::new()
            }
        }
    }

    fn next(&mut self) -> Option<Say> {
        None
    }

    fn closed(&mut self) {
        self.held.clear();
    }
}
