//! A hundred sessions on one connection, each with thousands of deltas (issue, accepted 5):
//! sixteen turns at once, wave after wave, through whatever carries an engine.
//!
//! Keeps nothing of what was said but its length and a digest, so that what grows is what is
//! carried. Invariant: what the editor got of a session is what the Host said there.

mod host;

use std::collections::BTreeMap;

use airlock_engine::{
    AcpArrival, AcpDeparture, Channel, Effect, Engine, HostArrival, HostDeparture, Input, Instant,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::desk::{SEED, maka_config};
pub use host::{Digest, Host};

/// Sessions at once with a running turn.
pub const WAVE: usize = 16;
/// What a reader takes from a pipe at once.
const CHUNK: usize = 64 << 10;

/// What comes to an engine.
pub enum Arrival {
    /// The editor's bytes.
    Editor(Vec<u8>),
    /// The editor has taken so many bytes.
    Drained(u64),
    /// The Host's channel is open.
    Opened,
    /// The Host's bytes.
    Host(Vec<u8>),
}

/// What an engine wants carried out.
pub enum Departure {
    /// Bytes for the editor.
    Editor(Vec<u8>),
    /// A channel to the Host.
    Open,
    /// Bytes for the Host.
    Host(Vec<u8>),
}

/// Carries an engine; timers never fire.
pub trait Carrier {
    /// One call at this millisecond.
    fn carry(&mut self, now: u64, arrivals: Vec<Arrival>) -> Vec<Departure>;
}

/// The engine itself.
pub struct Native {
    engine: Engine,
    channel: Channel,
}

impl Native {
    /// A fresh one.
    ///
    /// # Panics
    /// When the configuration is refused.
    pub fn open() -> Native {
        let engine = Engine::open(&maka_config().to_string(), &SEED);
        Native {
            engine: engine.expect("the configuration is good"),
            channel: 0,
        }
    }

    /// Bytes of its snapshot.
    pub fn state_size(&self) -> usize {
        self.engine.snapshot().len()
    }
}

impl Carrier for Native {
    fn carry(&mut self, now: u64, arrivals: Vec<Arrival>) -> Vec<Departure> {
        let channel = self.channel;
        let input = |arrival| match arrival {
            Arrival::Editor(bytes) => Input::Acp(AcpArrival::Bytes(bytes)),
            Arrival::Drained(count) => Input::Acp(AcpArrival::Drained(count)),
            Arrival::Opened => Input::Host(channel, HostArrival::Opened(Vec::new())),
            Arrival::Host(bytes) => Input::Host(channel, HostArrival::Bytes(bytes)),
        };
        let now = Instant {
            monotonic: now,
            wall: 1_800_000_000_000 + now,
        };
        let effects = self
            .engine
            .handle(now, arrivals.into_iter().map(input).collect())
            .expect("the engine answers");
        let departure = |effect| match effect {
            Effect::Acp(AcpDeparture::Bytes(bytes)) => Some(Departure::Editor(bytes)),
            Effect::Host(_, HostDeparture::Bytes(bytes)) => Some(Departure::Host(bytes)),
            Effect::Host(channel, HostDeparture::Open(_)) => {
                self.channel = channel;
                Some(Departure::Open)
            }
            _ => None,
        };
        effects.into_iter().filter_map(departure).collect()
    }
}

/// An editor and a Host around an engine.
pub struct Crowd<C> {
    /// The engine.
    pub carrier: C,
    /// The Host.
    pub host: Host,
    now: u64,
    /// Bytes that the editor got.
    got: u64,
    asked: u64,
    heard: Heard,
    answers: BTreeMap<u64, Value>,
}

/// What an editor was told.
#[derive(Default)]
pub struct Heard(BTreeMap<String, Digest>);

impl Heard {
    /// What was said in this session.
    pub fn of(&self, session: &str) -> Option<Digest> {
        self.0.get(session).copied()
    }

    /// One line; gives it back if it is an answer.
    ///
    /// # Panics
    /// When it is not ACP.
    pub fn line(&mut self, line: &str) -> Option<Value> {
        let message: Message<'_> = serde_json::from_str(line).expect("ACP");
        match (message.id, message.params) {
            (Some(_), _) => return serde_json::from_str(line).ok(),
            (None, Some(params)) if params.update.kind == "agent_message_chunk" => {
                let text = params.update.content.expect("a chunk has content").text;
                let said = self.0.entry(params.session_id.to_owned()).or_default();
                said.add(&text);
            }
            _ => {}
        }
        None
    }
}

/// As much of a message as is looked at.
#[derive(Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(rename = "sessionId")]
    session_id: &'a str,
    #[serde(borrow)]
    update: Update<'a>,
}

#[derive(Deserialize)]
struct Update<'a> {
    #[serde(rename = "sessionUpdate")]
    kind: &'a str,
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Content {
    text: String,
}

impl<C: Carrier> Crowd<C> {
    /// Says hello.
    pub fn new(carrier: C) -> Crowd<C> {
        let mut crowd = Crowd {
            carrier,
            host: Host::default(),
            now: 0,
            got: 0,
            asked: 0,
            heard: Heard::default(),
            answers: BTreeMap::new(),
        };
        crowd.call(Vec::new());
        crowd.ask(
            "initialize",
            &json!({ "protocolVersion": 1, "clientCapabilities": {} }),
        );
        crowd
    }

    /// Makes a session.
    ///
    /// # Panics
    /// When none is made.
    pub fn session(&mut self) -> String {
        let id = self.ask("session/new", &json!({ "cwd": "/w", "mcpServers": [] }));
        let made = self.answer(id)["result"]["sessionId"].as_str();
        made.expect("a session is made").to_owned()
    }

    /// Sends a prompt; the id of its request.
    pub fn prompt(&mut self, session: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": "go" }]);
        self.ask(
            "session/prompt",
            &json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    /// Asks; the id of the request.
    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let asked =
            json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.call(vec![Arrival::Editor(format!("{asked}\n").into_bytes())]);
        self.asked
    }

    /// The answer to a request; null, if there is none.
    pub fn answer(&self, id: u64) -> &Value {
        self.answers.get(&id).unwrap_or(&Value::Null)
    }

    /// The running turns of these sessions grow by so many deltas each, by turns.
    pub fn stream(&mut self, sessions: &[String], deltas: u64) {
        let mut bytes = Vec::new();
        for _ in 0..deltas {
            for session in sessions {
                self.host.delta(session, &mut bytes);
            }
            if bytes.len() >= CHUNK {
                self.host_says(&mut bytes);
            }
        }
        self.host_says(&mut bytes);
    }

    /// The running turn of this session ends well.
    pub fn complete(&mut self, session: &str) {
        let end = self.host.completed(session);
        self.call(vec![Arrival::Host(end.into_bytes())]);
    }

    /// Whether the editor got of this session exactly what the Host said.
    pub fn whole(&self, session: &str) -> bool {
        self.heard.of(session) == Some(self.host.said(session))
    }

    fn host_says(&mut self, bytes: &mut Vec<u8>) {
        for chunk in std::mem::take(bytes).chunks(CHUNK) {
            self.call(vec![Arrival::Host(chunk.to_vec())]);
        }
    }

    /// Makes a call, and every further one that it leads to.
    fn call(&mut self, mut arrivals: Vec<Arrival>) {
        self.now += 1;
        arrivals.insert(0, Arrival::Drained(self.got));
        for departure in self.carrier.carry(self.now, arrivals) {
            match departure {
                Departure::Editor(bytes) => self.hear(&bytes),
                Departure::Open => self.call(vec![Arrival::Opened]),
                Departure::Host(bytes) => {
                    let lines = std::str::from_utf8(&bytes).expect("lines are UTF-8");
                    let answers: String = lines.lines().map(|it| self.host.answer(it)).collect();
                    self.call(vec![Arrival::Host(answers.into_bytes())]);
                }
            }
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.got += bytes.len() as u64;
        let lines = std::str::from_utf8(bytes).expect("messages are UTF-8");
        for line in lines.lines() {
            if let Some(answer) = self.heard.line(line) {
                let id = answer["id"].as_u64().expect("an id of ours");
                let earlier = self.answers.insert(id, answer);
                assert!(earlier.is_none(), "two answers: {line}");
            }
        }
    }
}

/// The whole story: so many sessions with so many deltas each; `look` after each wave, with
/// the number of sessions that had their turn.
///
/// # Panics
/// When anything is lost, doubled, refused or unanswered that should not be.
pub fn play<C: Carrier>(
    crowd: &mut Crowd<C>,
    sessions: usize,
    deltas: u64,
    mut look: impl FnMut(&mut C, usize),
) {
    let all: Vec<String> = (0..sessions).map(|_| crowd.session()).collect();
    let mut done = 0;
    for wave in all.chunks(WAVE) {
        let prompts: Vec<u64> = wave.iter().map(|it| crowd.prompt(it)).collect();
        crowd.stream(wave, deltas);
        if let (WAVE, Some(next)) = (wave.len(), all.get(done + WAVE)) {
            let refused = crowd.prompt(next);
            let sentence = crowd.answer(refused)["error"]["message"].to_string();
            assert!(
                sentence.contains("A turn runs in each of 16 sessions"),
                "{sentence}"
            );
        }
        for (session, prompt) in wave.iter().zip(prompts) {
            assert_eq!(crowd.answer(prompt), &Value::Null);
            crowd.complete(session);
            let answer = &crowd.answer(prompt)["result"]["stopReason"];
            assert_eq!(answer, "end_turn", "{session}");
            assert!(crowd.whole(session), "{session}");
        }
        done += wave.len();
        look(&mut crowd.carrier, done);
    }
    // Who was used longest ago gave way, in order; nobody else did.
    assert_eq!(crowd.host.gave_way, all[..sessions.saturating_sub(WAVE)]);
    assert!(crowd.host.most_feeds <= WAVE);
}
