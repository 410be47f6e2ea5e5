//! A Host that says what a real one once said. It plays a [`Recording`] to a client that
//! need not be the recorded one: ids that the client chooses are bound by order of first
//! use, requests are matched by operation and place, frames that nobody asked for are
//! played where the recording has them.
//!
//! Sans-IO: lines in, lines out. Invariant: what the client asked and the recording cannot
//! answer, what the recorded client did and this one did not, and every line that a real
//! Host would have hung up on, is in the [`Report`].

mod answers;
mod rows;
mod script;
mod world;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::recording::{Frame, Recording, Step};
pub use rows::{Rows, Shelf};
use script::{Script, Turned};
use world::World;
pub use world::rows_of;

/// What the Host does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
    /// One line, without its end.
    Line(String),
    /// It hangs up.
    Close,
}

/// What did not go as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests that neither the recording nor its facts can answer.
    pub unanswered: Vec<String>,
    /// Steps of the recorded client that never came, by number.
    pub never_came: Vec<String>,
    /// Requests answered from facts, because the recorded client did not make them there.
    pub improvised: Vec<String>,
    /// Lines on which a real Host hangs up without a word.
    pub violations: Vec<String>,
}

/// Requests in flight that a Host allows on a connection, and one for `host.status`.
const IN_FLIGHT: usize = 65;

/// The Host.
#[derive(Clone, Debug)]
pub struct RecordedHost {
    script: Script,
    rows: Rows,
    world: World,
    hello: Value,
    catalog: Value,
    greeted: bool,
    stepwise: bool,
    /// Answers come before what nobody asked for: a Host answers at once.
    answers: VecDeque<Ready>,
    ready: VecDeque<Ready>,
    /// What was about to be said when the connection went.
    parked: Vec<Ready>,
    holding: BTreeSet<String>,
    held: Vec<(String, String)>,
    /// Replies that the next requests of an operation get.
    overrides: Vec<(String, Frame)>,
    away: bool,
    /// Requests that wait for their reply: operation and input.
    in_flight: BTreeMap<String, (String, Value)>,
    /// Subscriptions of the recording that go on under another id.
    aliases: BTreeMap<String, String>,
    opens: u32,
    report: Report,
}

/// Something to say, in the recording's ids.
#[derive(Clone, Debug)]
enum Ready {
    Reply(String),
    Frame(String),
    Close,
}

impl RecordedHost {
    /// Plays `recording`. A recording that starts after the handshake gets the handshake
    /// of recording 01, and every one its connection catalog.
    pub fn new(recording: Recording) -> RecordedHost {
        let first = Recording::open("01");
        let from_first = |n: u64| first.frame(n).value.clone();
        RecordedHost {
            rows: Rows::collect(&recording),
            script: Script::new(recording),
            world: World::default(),
            hello: from_first(2),
            catalog: from_first(7),
            greeted: false,
            stepwise: false,
            answers: VecDeque::new(),
            ready: VecDeque::new(),
            parked: Vec::new(),
            holding: BTreeSet::new(),
            held: Vec::new(),
            overrides: Vec::new(),
            away: false,
            in_flight: BTreeMap::new(),
            aliases: BTreeMap::new(),
            opens: 0,
            report: Report::default(),
        }
    }

    /// Leaves out steps of the recorded client, and the replies to them: things that
    /// this client does not do (repeats, second opens).
    #[must_use]
    pub fn without(mut self, steps: &[u64]) -> RecordedHost {
        self.script.leave_out(steps);
        self
    }

    /// Says nothing by itself: the test pulls with [`Self::next_frame`] and
    /// [`Self::play_until`].
    #[must_use]
    pub fn stepwise(mut self) -> RecordedHost {
        self.stepwise = true;
        self
    }

    /// Gives a durable row that the recording lacks (or the part of it from `offset` on).
    #[must_use]
    pub fn with_row(mut self, sequence: u64, row: &str) -> RecordedHost {
        self.rows.supply(
            Shelf::Durable,
            sequence,
            0,
            row.len() as u64,
            row.as_bytes(),
        );
        self
    }

    /// The rows, to supply more than whole durable ones.
    pub fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    /// The next request of `operation` gets the recorded reply `n`, whatever its place.
    pub fn answer_next(&mut self, operation: &str, n: u64) {
        let reply = self.script.frame(n).clone();
        self.answer_next_from(operation, &reply);
    }

    /// The same with a reply of another recording.
    pub fn answer_next_from(&mut self, operation: &str, reply: &Frame) {
        self.overrides.push((operation.to_owned(), reply.clone()));
    }

    /// The next frame that nobody asked for is lost on its way, though the Host has said it.
    ///
    /// # Panics
    /// When there is none.
    pub fn lose_frame(&mut self) {
        let at = self
            .ready
            .iter()
            .position(|it| matches!(it, Ready::Frame(_)));
        let lost = self.ready.remove(at.expect("a frame to lose"));
        if let Some(Ready::Frame(text)) = lost {
            let frame: Value = serde_json::from_str(&text).expect("a frame of ours");
            self.world.see(&frame, None);
        }
    }

    /// From now on nobody is there to connect to.
    pub fn leave(&mut self) -> Say {
        self.away = true;
        self.drop_connection()
    }

    /// The Host can be reached again.
    pub fn come_back(&mut self) {
        self.away = false;
    }

    /// Whether it can be reached.
    pub fn is_away(&self) -> bool {
        self.away
    }

    /// Replies of `operation` wait until [`Self::release`]; all other frames go on.
    pub fn hold(&mut self, operation: &str) {
        self.holding.insert(operation.to_owned());
    }

    /// Lets held replies go.
    pub fn release(&mut self, operation: &str) -> Vec<Say> {
        self.holding.remove(operation);
        let (go, stay) = self.held.drain(..).partition(|(held, _)| held == operation);
        self.held = stay;
        let go: Vec<(String, String)> = go;
        self.answers
            .extend(go.into_iter().map(|(_, text)| Ready::Reply(text)));
        self.flow()
    }

    /// A connection is made: what discovery would find.
    pub fn opened(&mut self) -> Vec<(String, String)> {
        self.greeted = false;
        self.script.connected();
        let text = |key: &str| self.hello[key].as_str().unwrap_or_default().to_owned();
        vec![
            ("root-id".to_owned(), text("rootId")),
            ("host-epoch".to_owned(), text("hostEpoch")),
            (
                "compatibility-epoch".to_owned(),
                self.hello["compatibilityEpoch"].to_string(),
            ),
            ("endpoint".to_owned(), "/run/recorded/h.sock".to_owned()),
        ]
    }

    /// The client, or the test, ends the connection. The recorded Turn goes on; what
    /// the Host was about to say comes on the next connection, under the subscription
    /// that the client opens there.
    pub fn drop_connection(&mut self) -> Say {
        self.world.disconnect();
        self.in_flight.clear();
        self.held.clear();
        self.answers.clear();
        self.park();
        self.ready.clear();
        Say::Close
    }

    /// Nobody listens: what would be said waits for the next subscription.
    fn park(&mut self) {
        let all = self.ready.drain(..);
        let (frames, rest): (Vec<Ready>, Vec<Ready>) =
            all.partition(|it| matches!(it, Ready::Frame(_)));
        self.ready = rest.into();
        self.parked.extend(frames);
    }

    /// Takes one line of the client.
    pub fn line(&mut self, line: &str) -> Vec<Say> {
        match serde_json::from_str::<Value>(line) {
            Ok(frame) if frame["kind"] == "hello" => self.hello(&frame),
            Ok(frame) if frame["operation"].is_string() => self.request(&frame),
            _ => self.violation(format!("not a frame: {line}")),
        }
        self.flow()
    }

    /// The next thing that the Host has to say, stepwise.
    pub fn next_frame(&mut self) -> Option<Say> {
        match self
            .answers
            .pop_front()
            .or_else(|| self.ready.pop_front())?
        {
            Ready::Reply(text) | Ready::Frame(text) => {
                let text = self.readdress(text);
                let frame: Value = serde_json::from_str(&text).expect("a frame of ours");
                let asked = frame["requestId"]
                    .as_str()
                    .and_then(|id| self.in_flight.remove(id));
                self.world
                    .see(&frame, asked.as_ref().map(|(_, input)| input));
                Some(Say::Line(self.script.to_client(&text)))
            }
            Ready::Close => {
                self.drop_connection();
                Some(Say::Close)
            }
        }
    }

    /// Everything up to and with the first frame that `wanted` accepts.
    ///
    /// # Panics
    /// When the Host has nothing more to say before that.
    pub fn play_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Say> {
        let mut said = Vec::new();
        loop {
            let next = self.next_frame();
            let next = next.unwrap_or_else(|| panic!("no such frame; said before: {said:#?}"));
            let found = matches!(&next, Say::Line(text)
                if wanted(&serde_json::from_str(text).expect("a frame of ours")));
            said.push(next);
            if found {
                return said;
            }
        }
    }

    /// What did not go as recorded.
    pub fn report(&self) -> Report {
        Report {
            never_came: self.script.never_came(),
            ..self.report.clone()
        }
    }

    fn flow(&mut self) -> Vec<Say> {
        if self.stepwise {
            Vec::new()
        } else {
            std::iter::from_fn(|| self.next_frame()).collect()
        }
    }

    fn hello(&mut self, frame: &Value) {
        if std::mem::replace(&mut self.greeted, true) {
            return self.violation("second hello".to_owned());
        }
        if frame["compatibilityEpoch"] != self.hello["compatibilityEpoch"]
            || frame["compositionId"] != self.hello["compositionId"]
        {
            return self.violation(format!("hello of another world: {frame}"));
        }
        match self.script.hello(frame) {
            Some(turned) => self.turned(turned),
            None => self.answers.push_back(Ready::Reply(self.hello.to_string())),
        }
    }

    fn request(&mut self, frame: &Value) {
        let id = frame["requestId"].as_str().unwrap_or_default().to_owned();
        let operation = frame["operation"].as_str().unwrap_or_default().to_owned();
        let exact = frame.as_object().is_some_and(|it| it.len() == 3) && frame["input"].is_object();
        if !self.greeted || !exact || id.is_empty() || id.len() > 128 {
            return self.violation(format!("not a request: {frame}"));
        }
        if self.in_flight.contains_key(&id) || self.in_flight.len() >= IN_FLIGHT {
            return self.violation(format!("request id in flight, or too many: {frame}"));
        }
        let input = &self.script.to_recording(&frame["input"]);
        self.in_flight
            .insert(id.clone(), (operation.clone(), input.clone()));
        if let Some(at) = self
            .overrides
            .iter()
            .position(|(name, _)| *name == operation)
        {
            let (_, reply) = self.overrides.remove(at);
            let text = reply
                .text
                .replace(reply.request_id().unwrap_or_default(), &id);
            return self.answer(&operation, text);
        }
        // Frames that wait for a new subscription come before anything later in the script.
        if operation == "subscription.open" && !self.parked.is_empty() {
            return self.improvise(&operation, input, &id);
        }
        match self.script.request(&operation, input, &frame["input"], &id) {
            Some(turned) => self.turned(turned),
            None => self.improvise(&operation, input, &id),
        }
    }

    /// The script moved on: queue what it says now.
    fn turned(&mut self, turned: Turned) {
        for step in turned.said {
            match step {
                Step::Host(frame) if frame.request_id().is_some() => {
                    let operation = frame.operation().unwrap_or_default().to_owned();
                    let text = match operation.as_str() {
                        "subscription.open" => self.with_own_pages(&frame.value),
                        "session.transcript.page" => self.own_page(&frame.value),
                        _ => frame.text,
                    };
                    // A recorded reply keeps its place among the frames around it.
                    if self.holding.contains(&operation) {
                        self.held.push((operation, text));
                    } else {
                        self.ready.push_back(Ready::Reply(text));
                    }
                }
                Step::Host(frame) => self.ready.push_back(Ready::Frame(frame.text)),
                Step::Closed => self.ready.push_back(Ready::Close),
                Step::Client(_) | Step::Opened => {}
            }
        }
    }

    fn answer(&mut self, operation: &str, text: String) {
        if self.holding.contains(operation) {
            self.held.push((operation.to_owned(), text));
        } else {
            self.answers.push_back(Ready::Reply(text));
        }
    }

    fn violation(&mut self, what: String) {
        self.report.violations.push(what);
        self.answers.clear();
        self.ready.clear();
        self.ready.push_back(Ready::Close);
    }

    /// Frames of a recorded subscription that goes on under another id.
    fn readdress(&self, text: String) -> String {
        let frame: Value = serde_json::from_str(&text).expect("a frame of ours");
        let Some(new) = frame["subscriptionId"]
            .as_str()
            .and_then(|id| self.aliases.get(id))
        else {
            return text;
        };
        let old = frame["subscriptionId"].as_str().unwrap_or_default();
        let sequence = self.world.subscription(new).map_or(0, |it| it.sequence) + 1;
        text.replace(old, new).replacen(
            &format!("\"sequence\":{}", frame["sequence"]),
            &format!("\"sequence\":{sequence}"),
            1,
        )
    }
}
