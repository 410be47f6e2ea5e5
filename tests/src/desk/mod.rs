//! One engine with an editor on one side, a Host on the other and a clock in between: the
//! loop of the runner, on virtual time. Tests read like a dialogue.
//!
//! Carries out effects in order before the next call, as the law says. Invariant: every
//! byte for the editor went past the [`Oracle`]; nothing happens that the test did not
//! ask for.

mod files;
mod peer;
mod run;
mod stream;

use std::collections::{BTreeMap, VecDeque};

use airlock_engine::{Channel, Effect, Ending, Engine, Input, Instant, Level, Origin, Timer};
use serde_json::{Value, json};

use crate::meta;
use crate::oracle::Oracle;
use crate::recorded_host::Say;
pub use files::Files;
pub use peer::{Absent, Peer, Playing, Ran};
use run::Wire;
pub use stream::Cut;
use stream::Stream;

/// One call of the engine.
#[derive(Clone, Debug)]
pub struct Call {
    /// When.
    pub now: Instant,
    /// What went in.
    pub inputs: Vec<Input>,
    /// What came out.
    pub effects: Vec<Effect>,
}

/// The desk.
pub struct Desk<P: Peer> {
    /// The Host.
    pub host: P,
    /// Files that the engine may ask for.
    pub files: Files,
    /// Everything that the editor sent (`> `) and got (`< `), in order.
    pub log: Vec<String>,
    /// Everything that the engine noted.
    pub notes: Vec<(Level, String)>,
    /// Exit code, once the engine has finished.
    pub done: Option<u8>,
    /// Timers that were still armed then.
    pub left_armed: Vec<u64>,
    /// Whether the Host speaks by itself when all is quiet, frame by frame.
    pub host_speaks: bool,
    /// Whether the engine is saved and restored before every call (rule R9).
    pub restoring: bool,
    /// Whether all that waits goes into one call, or each arrival into one of its own.
    pub batching: bool,
    /// Whether the editor takes what it is sent.
    pub editor_reads: bool,
    /// What the editor says that it can do.
    pub capabilities: Value,
    /// Whether requests about files are answered.
    pub files_answer: bool,
    /// Every line that the engine sent to a Host, by channel.
    pub to_host: Vec<(Channel, String)>,
    /// Every call, in order.
    pub calls: Vec<Call>,
    engine: Engine,
    config: String,
    /// Whether the Host is Claude Code.
    claude: bool,
    now: Instant,
    timers: BTreeMap<Timer, u64>,
    wires: BTreeMap<Channel, Wire>,
    from_editor: Stream,
    /// What was written and has no line end yet.
    written: Vec<u8>,
    editor_ended: Option<Ending>,
    arrivals: VecDeque<Input>,
    oracle: Oracle,
    to_editor_tail: Vec<u8>,
    sent: u64,
    drained: u64,
    said: VecDeque<String>,
    editor_finished: bool,
    next_id: u64,
}

/// The configuration of a Maka Host, as the runner writes it.
pub fn maka_config() -> Value {
    json!({ "agent": { "name": "airlock", "title": "Airlock", "version": "0.0.0" },
            "host": { "kind": "maka", "name": "maka" } })
}

/// A seed for tests.
pub const SEED: [u8; 32] = *b"airlock tests use this one seed.";

impl<P: Peer> Desk<P> {
    /// A fresh engine for a Maka Host.
    pub fn new(host: P) -> Desk<P> {
        Desk::with_config(host, &maka_config())
    }

    /// A fresh engine with this configuration.
    ///
    /// # Panics
    /// When the engine refuses it.
    pub fn with_config(host: P, config: &Value) -> Desk<P> {
        let claude = config["host"]["kind"] == "claude";
        let config = config.to_string();
        let engine = Engine::open(&config, &SEED).expect("the configuration is good");
        let mut desk = Desk {
            host,
            files: Files::default(),
            log: Vec::new(),
            notes: Vec::new(),
            done: None,
            left_armed: Vec::new(),
            host_speaks: true,
            restoring: false,
            batching: false,
            editor_reads: true,
            capabilities: json!({}),
            files_answer: true,
            to_host: Vec::new(),
            calls: Vec::new(),
            engine,
            config,
            claude,
            now: Instant {
                monotonic: 1_000,
                wall: 1_796_027_000_000,
            },
            timers: BTreeMap::new(),
            wires: BTreeMap::new(),
            from_editor: Stream::default(),
            written: Vec::new(),
            editor_ended: None,
            arrivals: VecDeque::new(),
            oracle: Oracle::default(),
            to_editor_tail: Vec::new(),
            sent: 0,
            drained: 0,
            said: VecDeque::new(),
            editor_finished: false,
            next_id: 0,
        };
        desk.call(Vec::new());
        desk
    }

    /// A second desk that goes on from here by itself: the engine is restored from its
    /// snapshot (rule R9). The calls that were made are not taken over.
    ///
    /// # Panics
    /// When the engine refuses its own snapshot.
    #[must_use]
    pub fn fork(&self) -> Desk<P>
    where
        P: Clone,
    {
        let state = self.engine.snapshot();
        let engine = Engine::restore(&self.config, &state);
        Desk {
            host: self.host.clone(),
            files: self.files.clone(),
            log: self.log.clone(),
            notes: self.notes.clone(),
            done: self.done,
            left_armed: self.left_armed.clone(),
            host_speaks: self.host_speaks,
            restoring: self.restoring,
            batching: self.batching,
            editor_reads: self.editor_reads,
            capabilities: self.capabilities.clone(),
            files_answer: self.files_answer,
            to_host: self.to_host.clone(),
            calls: Vec::new(),
            engine: engine.unwrap_or_else(|e| panic!("a snapshot is refused: {e}")),
            config: self.config.clone(),
            claude: self.claude,
            now: self.now,
            timers: self.timers.clone(),
            wires: self.wires.clone(),
            from_editor: self.from_editor.clone(),
            written: self.written.clone(),
            editor_ended: self.editor_ended.clone(),
            arrivals: self.arrivals.clone(),
            oracle: self.oracle.clone(),
            to_editor_tail: self.to_editor_tail.clone(),
            sent: self.sent,
            drained: self.drained,
            said: self.said.clone(),
            editor_finished: self.editor_finished,
            next_id: self.next_id,
        }
    }

    /// Cuts both streams this way from now on.
    #[must_use]
    pub fn cut(mut self, cut: Cut) -> Desk<P> {
        self.from_editor.cut = cut;
        for wire in self.wires.values_mut() {
            wire.incoming.cut = cut;
        }
        self
    }

    /// The editor writes a message.
    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// The editor writes a line.
    pub fn send_line(&mut self, line: &str) {
        self.oracle.sent(line);
        self.agreed(line);
        self.log.push(format!("> {line}"));
        self.from_editor.push(line.as_bytes());
        self.from_editor.push(b"\n");
    }

    /// What a line says beyond ACP, to Claude Code or from it, is written down.
    fn agreed(&self, line: &str) {
        if self.claude {
            let unknown = meta::unknown(line);
            assert!(
                unknown.is_empty(),
                "docs/claude-meta.md has no row for {unknown:?}: {line}"
            );
        }
    }

    /// The editor writes bytes, whatever they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.from_editor.push(bytes);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.written.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.written);
                if let Ok(line) = std::str::from_utf8(&line[..line.len() - 1]) {
                    self.oracle.sent(line);
                }
            }
        }
    }

    /// The editor answers a request of the agent.
    pub fn reply(&mut self, id: &Value, result: &Value) {
        self.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ));
    }

    /// The editor makes a request under a fresh id.
    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let (id, method) = (self.next_id, json!(method));
        self.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#
        ));
        id
    }

    /// The editor sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        let method = json!(method);
        self.send_line(&format!(
            r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#
        ));
    }

    /// The editor closes its end.
    pub fn hang_up(&mut self) {
        self.editor_ended = Some(Ending::Eof);
    }

    /// An arrival that neither editor, Host, files nor clock bring by themselves.
    pub fn arrives(&mut self, input: Input) {
        if let Input::Poison(Origin::Timer(timer)) = &input {
            self.timers.remove(timer);
        }
        self.arrivals.push_back(input);
    }

    /// The Host says these bytes on the open channel, whatever they are.
    ///
    /// # Panics
    /// When no channel is open.
    pub fn host_says_bytes(&mut self, bytes: &[u8]) {
        let wire = self.wires.values_mut().next_back();
        wire.expect("an open channel").incoming.push(bytes);
    }

    /// The editor sent this line earlier: its answer is to come.
    pub fn expect(&mut self, line: &str) {
        self.oracle.sent(line);
    }

    /// The timers themselves, oldest first.
    pub fn timers(&self) -> Vec<Timer> {
        self.timers.keys().copied().collect()
    }

    /// The engine's snapshot.
    pub fn state(&self) -> Vec<u8> {
        self.engine.snapshot()
    }

    /// Bytes of the engine's snapshot.
    pub fn state_size(&self) -> usize {
        self.engine.snapshot().len()
    }

    /// The Host says this on the open channel.
    ///
    /// # Panics
    /// When no channel is open.
    pub fn host_says(&mut self, said: impl IntoIterator<Item = Say>) {
        let channel = *self.wires.keys().next_back().expect("an open channel");
        self.hear(channel, said.into_iter().collect());
    }

    /// One call of the engine with what is there. False if nothing was.
    pub fn step(&mut self) -> bool {
        if self.done.is_some() {
            return false;
        }
        let inputs = self.round();
        if inputs.is_empty() {
            return false;
        }
        self.call(inputs);
        true
    }

    /// Until nothing is there any more; timers do not fire.
    ///
    /// # Panics
    /// When engine and Host never stop talking.
    pub fn run_until_quiet(&mut self) {
        for _ in 0..1_000_000 {
            if self.step() {
                continue;
            }
            if !self.host_speaks || self.done.is_some() {
                return;
            }
            let Some(channel) = self.listening() else {
                return;
            };
            let Some(said) = self.host.next() else { return };
            self.hear(channel, vec![said]);
        }
        panic!("engine and Host never stop talking");
    }

    /// Until `wanted` holds of a message for the editor, which is given back; what was
    /// said before it stays in the log only.
    ///
    /// # Panics
    /// When all is quiet before that.
    pub fn run_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            while let Some(line) = self.said.pop_front() {
                let message: Value = serde_json::from_str(&line).expect("checked before");
                if wanted(&message) {
                    return message;
                }
            }
            let spoke = self.step()
                || self.host_speaks && {
                    let channel = self.listening();
                    channel.is_some_and(|channel| match self.host.next() {
                        Some(said) => {
                            self.hear(channel, vec![said]);
                            true
                        }
                        None => false,
                    })
                };
            assert!(
                spoke,
                "all is quiet, and it was not said:\n{}",
                self.log.join("\n")
            );
        }
    }

    /// Until the request has its answer.
    pub fn answer(&mut self, id: u64) -> Value {
        self.run_until(|message| message.get("method").is_none() && message["id"] == id)
    }

    /// Time passes; timers fire in order, each when all is quiet.
    pub fn advance(&mut self, milliseconds: u64) {
        let end = self.now.monotonic + milliseconds;
        self.run_until_quiet();
        while let Some((timer, due)) = self.next_timer().filter(|(_, due)| *due <= end) {
            self.pass(due.max(self.now.monotonic));
            self.timers.remove(&timer);
            self.call(vec![Input::Expired(timer)]);
            self.run_until_quiet();
        }
        self.pass(end);
    }

    /// The Host says everything up to the first frame that `wanted` accepts, and the
    /// engine hears it.
    pub fn host_plays_until(&mut self, wanted: impl Fn(&Value) -> bool)
    where
        P: Playing,
    {
        let said = self.host.play_until(wanted);
        self.host_says(said);
        while self.step() {}
    }

    /// Timers that are armed: how many milliseconds from now.
    pub fn armed(&self) -> Vec<u64> {
        let mut due: Vec<u64> = self
            .timers
            .values()
            .map(|due| due.saturating_sub(self.now.monotonic))
            .collect();
        due.sort_unstable();
        due
    }

    /// What the editor has got since it last looked.
    pub fn take(&mut self) -> Vec<Value> {
        let said = self.said.drain(..);
        said.map(|line| serde_json::from_str(&line).expect("checked before"))
            .collect()
    }

    /// The same as lines.
    pub fn take_lines(&mut self) -> Vec<String> {
        self.said.drain(..).collect()
    }

    /// All that was said: with the editor, and to Hosts.
    pub fn record(&self) -> [Vec<String>; 2] {
        let lines = self.to_host.iter();
        let to_host = lines.map(|(channel, line)| format!("{channel} {line}"));
        [self.log.clone(), to_host.collect()]
    }

    /// Bytes that wait for the editor.
    pub fn waiting(&self) -> u64 {
        self.sent - self.drained
    }

    /// Channels that are open.
    pub fn channels(&self) -> Vec<Channel> {
        self.wires.keys().copied().collect()
    }

    /// Whether the engine closed the editor's stream.
    pub fn finished(&self) -> bool {
        self.editor_finished
    }

    /// Requests without an answer.
    pub fn unanswered(&self) -> Vec<String> {
        self.oracle.unanswered()
    }

    /// Requests of the agent that the editor has not answered and that were not taken back.
    pub fn asking(&self) -> Vec<&str> {
        self.oracle.asking()
    }

    /// Errors under the id `null`.
    pub fn nameless(&self) -> u64 {
        self.oracle.nameless()
    }
}
