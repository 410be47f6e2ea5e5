//! The place in a recording: which step of the recorded client comes next, and what the
//! Host says once it has come.
//!
//! Pure. Invariant: Host frames are played in recorded order, each once; a step of the
//! client is passed over only if nothing but its own reply is lost with it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::recording::{Frame, Recording, Step};

/// Ids that a client chooses, by key.
const CLIENT_CHOSEN: [&str; 6] = [
    "clientInstanceId",
    "sessionId",
    "turnId",
    "messageId",
    "uploadId",
    "interruptId",
];

/// The place, and the ids bound so far.
#[derive(Clone, Debug)]
pub struct Script {
    recording: Recording,
    at: usize,
    left_out: BTreeSet<u64>,
    passed_over: Vec<String>,
    /// Recorded request ids whose reply is not for this client.
    dropped: BTreeSet<String>,
    /// Recorded request id to the client's.
    waiting: BTreeMap<String, String>,
    /// Recorded id and the client's.
    bound: Vec<(String, String)>,
}

/// What happens when the script moves on.
#[derive(Debug, Default)]
pub struct Turned {
    /// Host frames, replies already under the client's request ids, and hang-ups.
    pub said: Vec<Step>,
}

impl Script {
    /// At the beginning of `recording`.
    pub fn new(recording: Recording) -> Script {
        Script {
            recording,
            at: 0,
            left_out: BTreeSet::new(),
            passed_over: Vec::new(),
            dropped: BTreeSet::new(),
            waiting: BTreeMap::new(),
            bound: Vec::new(),
        }
    }

    /// These steps of the client are not waited for.
    pub fn leave_out(&mut self, steps: &[u64]) {
        for n in steps {
            let frame = self.recording.frame(*n);
            self.dropped.extend(frame.request_id().map(str::to_owned));
            self.left_out.insert(*n);
        }
    }

    /// A connection was made; the recording may show one here too.
    pub fn connected(&mut self) {
        while let Some(Step::Opened | Step::Closed) = self.recording.steps.get(self.at) {
            self.at += 1;
        }
    }

    /// A hello, if the recording has one here.
    pub fn hello(&mut self, hello: &Value) -> Option<Turned> {
        match self.recording.steps.get(self.at) {
            Some(Step::Client(frame)) if frame.kind() == Some("hello") => {
                let frame = frame.clone();
                self.bind(&frame.value, hello);
                self.at += 1;
                Some(self.play())
            }
            _ => None,
        }
    }

    /// A request in the recording's ids, and as the client wrote it.
    pub fn request(
        &mut self,
        operation: &str,
        input: &Value,
        written: &Value,
        id: &str,
    ) -> Option<Turned> {
        let found = self.find(operation, input)?;
        for at in self.at..found {
            if let Step::Client(frame) = &self.recording.steps[at] {
                if !self.left_out.contains(&frame.n) {
                    self.passed_over.push(frame.title());
                }
                self.dropped.extend(frame.request_id().map(str::to_owned));
            }
        }
        let Step::Client(frame) = self.recording.steps[found].clone() else {
            return None;
        };
        self.bind(&frame.value["input"], written);
        self.waiting.insert(
            frame.request_id().unwrap_or_default().to_owned(),
            id.to_owned(),
        );
        // Notifications between passed-over steps are still said.
        let mut turned = self.play_to(found);
        self.at = found + 1;
        turned.said.extend(self.play().said);
        Some(turned)
    }

    /// A frame of the recording.
    pub fn frame(&self, n: u64) -> &Frame {
        self.recording.frame(n)
    }

    /// Whether the recording has more to play.
    pub fn runs_on(&self) -> bool {
        self.at < self.recording.steps.len()
    }

    /// The rest of the recording is not played: this client took another turn.
    pub fn abandon(&mut self) {
        self.passed_over.append(&mut self.waiting_steps());
        self.at = self.recording.steps.len();
    }

    /// Steps of the recorded client that this one did not do.
    pub fn never_came(&self) -> Vec<String> {
        let mut all = self.passed_over.clone();
        all.append(&mut self.waiting_steps());
        all
    }

    /// Text of the recording with the client's ids.
    pub fn to_client(&self, text: &str) -> String {
        swap(
            text,
            self.bound.iter().map(|(recorded, own)| (recorded, own)),
        )
    }

    /// A value of the client with the recording's ids.
    pub fn to_recording(&self, value: &Value) -> Value {
        let text = swap(
            &value.to_string(),
            self.bound.iter().map(|(recorded, own)| (own, recorded)),
        );
        serde_json::from_str(&text).expect("JSON stays JSON")
    }

    fn waiting_steps(&self) -> Vec<String> {
        let rest = self.recording.steps.get(self.at..).unwrap_or_default();
        rest.iter()
            .filter_map(|step| match step {
                Step::Client(frame) if !self.left_out.contains(&frame.n) => Some(frame.title()),
                _ => None,
            })
            .collect()
    }

    /// The step that this request is, looking past steps whose loss loses nothing else.
    fn find(&self, operation: &str, input: &Value) -> Option<usize> {
        let mut passed = self.dropped.clone();
        for (at, step) in self.recording.steps.iter().enumerate().skip(self.at) {
            match step {
                Step::Client(frame) if self.is(frame, operation, input) => return Some(at),
                Step::Client(frame) => passed.extend(frame.request_id().map(str::to_owned)),
                Step::Host(frame) => match frame.request_id() {
                    Some(id) if passed.contains(id) => {}
                    Some(_) => return None,
                    None if frame.kind() == Some("session.catalog.changed") => {}
                    None => return None,
                },
                Step::Opened | Step::Closed => return None,
            }
        }
        None
    }

    /// Whether a request is this step: the operation, and what names its place.
    fn is(&self, frame: &Frame, operation: &str, input: &Value) -> bool {
        let recorded = &frame.value["input"];
        let same = |key: &str| recorded[key] == input[key];
        frame.operation() == Some(operation)
            && CLIENT_CHOSEN
                .iter()
                .all(|key| same(key) || self.may_bind(&recorded[key], &input[key]))
            && match operation {
                "turn.start" => recorded["content"]["text"] == input["content"]["text"],
                "session.transcript.page" => recorded == input,
                _ => same("kind") && same("runId") && same("subscriptionId"),
            }
    }

    /// Whether two different ids may become one: neither has another partner yet.
    fn may_bind(&self, recorded: &Value, own: &Value) -> bool {
        let known = |id: &Value| self.bound.iter().any(|(bound, _)| id == bound);
        recorded.is_string() && own.is_string() && !known(recorded) && !known(own)
    }

    /// Says everything up to the next step of the client.
    fn play(&mut self) -> Turned {
        let next = self.recording.steps[self.at..]
            .iter()
            .position(|step| match step {
                Step::Client(frame) => !self.left_out.contains(&frame.n),
                // A connection that ends because the recorded client was done ends nothing here.
                Step::Closed => true,
                Step::Host(_) | Step::Opened => false,
            });
        let end = next.map_or(self.recording.steps.len(), |next| self.at + next);
        let mut turned = self.play_to(end);
        let hangs_up = matches!(self.recording.steps.get(end), Some(Step::Closed));
        let goes_on = self.recording.steps[end..]
            .iter()
            .any(|step| matches!(step, Step::Opened));
        if hangs_up && goes_on {
            turned.said.push(Step::Closed);
        }
        turned
    }

    fn play_to(&mut self, end: usize) -> Turned {
        let mut said = Vec::new();
        while self.at < end {
            if let Step::Host(frame) = &self.recording.steps[self.at] {
                said.extend(self.for_client(frame).map(Step::Host));
            }
            self.at += 1;
        }
        Turned { said }
    }

    /// The frame under the client's request id, or nothing if it is a reply to a step
    /// that this client did not do.
    fn for_client(&self, frame: &Frame) -> Option<Frame> {
        let Some(recorded) = frame.request_id() else {
            return Some(frame.clone());
        };
        let id = self.waiting.get(recorded)?;
        let text = frame.text.replace(recorded, id);
        Some(Frame {
            n: frame.n,
            value: serde_json::from_str(&text).ok()?,
            text,
        })
    }

    fn bind(&mut self, recorded: &Value, own: &Value) {
        let (Some(recorded), Some(own)) = (recorded.as_object(), own.as_object()) else {
            return;
        };
        for (key, value) in recorded {
            let Some(same) = own.get(key) else { continue };
            match (value.as_str(), same.as_str()) {
                (Some(value), Some(same))
                    if CLIENT_CHOSEN.contains(&key.as_str()) && value != same =>
                {
                    if !self.bound.iter().any(|(known, _)| known == value) {
                        self.bound.push((value.to_owned(), same.to_owned()));
                    }
                }
                _ => self.bind(value, same),
            }
        }
    }
}

fn swap<'a>(text: &str, pairs: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let mut out = text.to_owned();
    for (old, new) in pairs {
        if out.contains(old.as_str()) {
            out = out.replace(old.as_str(), new);
        }
    }
    out
}
