//! The editor of the sweep: asks, answers what it is asked, and waits in virtual time until
//! it has its answer and all is quiet.
//!
//! Invariant: no request waits longer than [`PATIENCE`], or the test fails.

use airlock_tests::Desk;
use serde_json::{Value, json};

use crate::house::House;

/// Virtual milliseconds within which every request has to be answered.
const PATIENCE: u64 = 60_000;

pub struct Editor {
    pub desk: Desk<House>,
    /// What is wrong is told with these words.
    pub label: String,
    /// The user cancels instead of answering a question.
    pub is_unwilling: bool,
}

/// What became of one request.
pub struct Answered {
    pub answer: Value,
    /// What was shown until then.
    pub shown: Vec<Value>,
    /// What was shown afterwards, until all was quiet.
    pub late: Vec<Value>,
    /// Turns that the Host was asked to start meanwhile.
    pub started: Vec<String>,
    pub was_cancelled: bool,
}

impl Editor {
    /// Asks; cancels after so many updates, if it is told to.
    pub fn ask(&mut self, method: &str, params: &Value, cancel_at: Option<usize>) -> Answered {
        let (from, to_host) = (self.desk.log.len(), self.desk.to_host.len());
        let id = self.desk.request(method, params);
        let mut answered = Answered {
            answer: Value::Null,
            shown: Vec::new(),
            late: Vec::new(),
            started: Vec::new(),
            was_cancelled: false,
        };
        let (mut read, mut waited) = (from, 0);
        loop {
            while read < self.desk.log.len() {
                let line = self.desk.log[read].clone();
                read += 1;
                if let Some(line) = line.strip_prefix("< ") {
                    let message = serde_json::from_str(line).expect("checked before");
                    self.take(&message, id, &mut answered);
                }
            }
            let is_due = Some(answered.shown.len()) == cancel_at && answered.answer.is_null();
            if is_due && !answered.was_cancelled {
                answered.was_cancelled = true;
                let session = params["sessionId"].as_str().expect("a session");
                self.desk.cancel(session);
            }
            if self.one() {
                continue;
            }
            if !answered.answer.is_null() {
                break;
            }
            let Some(next) = self.desk.armed().first().copied() else {
                self.fails("hangs: nothing is to come", from);
            };
            waited += next;
            if waited > PATIENCE {
                self.fails("hangs for a minute", from);
            }
            self.desk.advance(next);
        }
        answered.started = self.desk.to_host[to_host..]
            .iter()
            .filter_map(|(_, line)| {
                let frame: Value = serde_json::from_str(line).expect("the engine writes JSON");
                let turn = frame["input"]["turnId"].as_str()?.to_owned();
                (frame["operation"] == "turn.start").then_some(turn)
            })
            .collect();
        answered
    }

    /// A virtual minute in which the editor asks nothing; what is shown in it.
    pub fn idle(&mut self) -> Vec<Value> {
        let mut waited = 0;
        let from = self.desk.log.len();
        while waited <= PATIENCE {
            if self.one() {
                continue;
            }
            let next = self.desk.armed().first().copied().unwrap_or(PATIENCE);
            waited += next.max(1);
            self.desk.advance(next);
        }
        let got = self.desk.log[from..].iter();
        let got = got.filter_map(|line| line.strip_prefix("< "));
        let messages = got.map(|line| serde_json::from_str::<Value>(line).expect("checked before"));
        messages.map(|it| it["params"]["update"].clone()).collect()
    }

    /// One thing happens: a call of the engine, or a word of the Host.
    fn one(&mut self) -> bool {
        if self.desk.step() {
            return true;
        }
        if self.desk.channels().is_empty() {
            return false;
        }
        use airlock_tests::Peer as _;
        let Some(said) = self.desk.host.next() else {
            return false;
        };
        self.desk.host_says([said]);
        true
    }

    fn take(&mut self, message: &Value, id: u64, answered: &mut Answered) {
        match message["method"].as_str() {
            None if message["id"] == id => answered.answer = message.clone(),
            Some("session/update") => {
                let update = message["params"]["update"].clone();
                if answered.answer.is_null() {
                    answered.shown.push(update);
                } else {
                    answered.late.push(update);
                }
            }
            Some("elicitation/create") => {
                let mut reply = json!({ "action": "accept", "content": { "q0": "Blue" } });
                if self.is_unwilling {
                    answered.was_cancelled = true;
                    let session = message["params"]["sessionId"].as_str();
                    self.desk.cancel(session.expect("a session"));
                    // Heard before the answer is on its way: the oracle knows no crossing.
                    self.desk.step();
                    reply = json!({ "action": "cancel" });
                }
                self.desk.reply(&message["id"], &reply);
            }
            Some("session/request_permission") => {
                let option = &message["params"]["options"][0]["optionId"];
                let chosen = json!({ "outcome": { "outcome": "selected", "optionId": option } });
                self.desk.reply(&message["id"], &chosen);
            }
            _ => {}
        }
    }

    /// The editor goes; the adapter ends in order.
    pub fn leave(&mut self) {
        let from = self.desk.log.len();
        self.desk.hang_up();
        let mut waited = 0;
        while self.desk.done.is_none() {
            if self.one() {
                continue;
            }
            let next = self.desk.armed().first().copied();
            waited += next.unwrap_or(PATIENCE);
            if waited > 5_000 {
                self.fails("does not end", from);
            }
            self.desk.advance(next.unwrap_or_default());
        }
        self.holds(self.desk.done == Some(0), "the exit code is 0", from);
        self.holds(self.desk.unanswered().is_empty(), "all is answered", from);
    }

    /// Fails with the conversation since `from`, unless it holds.
    pub fn holds(&self, holds: bool, what: &str, from: usize) {
        if !holds {
            self.fails(&format!("wrong: {what}"), from);
        }
    }

    pub fn fails(&self, what: &str, from: usize) -> ! {
        let host: Vec<String> = self
            .desk
            .to_host
            .iter()
            .map(|(_, line)| brief(line))
            .collect();
        let notes: Vec<&str> = self
            .desk
            .notes
            .iter()
            .map(|(_, note)| note.as_str())
            .collect();
        panic!(
            "{}: {what}\n{}\n\nto the Host:\n{}\n\nnotes:\n{}\narmed: {:?}",
            self.label,
            self.desk.log[from.saturating_sub(1)..]
                .iter()
                .map(|line| brief(line))
                .collect::<Vec<_>>()
                .join("\n"),
            host.join("\n"),
            notes.join("\n"),
            self.desk.armed(),
        )
    }
}

fn brief(line: &str) -> String {
    line.chars().take(400).collect()
}
