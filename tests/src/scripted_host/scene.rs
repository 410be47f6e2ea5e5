//! An editor, an engine and a [`ScriptedHost`], with one session and at most one feed in
//! view: tests read like a dialogue, and each is played in every way that may make no
//! difference (rule R9).

use serde_json::{Value, json};

use super::{Asked, ScriptedHost, told, words};
use crate::desk::{Cut, Desk, maka_config};
use crate::recorded_host::Say;

/// A way to play a scene that may make no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A line a call.
    Plain,
    /// Saved and restored before every call.
    Restored,
    /// A byte a call.
    Bytes,
    /// As many inputs and bytes a call as there are.
    Batched,
}

const WAYS: [Way; 4] = [Way::Plain, Way::Restored, Way::Bytes, Way::Batched];

/// Plays a scene with a session in every way; what is told may not differ.
pub fn each_way(play: impl Fn(&mut Scene)) {
    each_way_bare(|scene| {
        scene.begin();
        play(scene);
    });
}

/// The same before `initialize`.
///
/// # Panics
/// When a way makes a difference.
pub fn each_way_bare(play: impl Fn(&mut Scene)) {
    let mut first: Option<[Vec<String>; 2]> = None;
    for way in WAYS {
        let mut scene = Scene::new(way);
        play(&mut scene);
        let record = scene.record();
        match &first {
            None => first = Some(record),
            Some(first) => assert_eq!(first, &record, "{way:?} makes a difference"),
        }
    }
}

/// A turn that runs.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Id of the editor's request.
    pub prompt: u64,
    /// Its id at the Host.
    pub id: String,
    /// Its run.
    pub run: String,
}

/// The scene.
pub struct Scene {
    /// Editor, engine, clock and Host.
    pub desk: Desk<ScriptedHost>,
    /// The session.
    pub session: String,
    /// The feed whose frames the helpers write.
    pub feed: String,
    /// Sequence of its last frame.
    pub sequence: u64,
    /// Revision of its last snapshot.
    pub revision: u64,
    feeds: u64,
    looked: [usize; 2],
}

impl Scene {
    /// Played in the plain way only, where there are thousands of scenes.
    pub fn plain() -> Scene {
        Scene::new(Way::Plain)
    }

    /// Played in one of the ways only, by number.
    pub fn in_way(number: usize) -> Scene {
        Scene::new(WAYS[number % WAYS.len()])
    }

    /// Played in one way only, where a byte a call would take too long.
    pub fn batched() -> Scene {
        Scene::new(Way::Batched)
    }

    /// Played in the plain way, with another Host of the embedder's that speaks as Maka's.
    pub fn of_host(name: &str) -> Scene {
        let mut config = maka_config();
        config["host"]["name"] = json!(name);
        Scene::with(Way::Plain, &config)
    }

    fn new(way: Way) -> Scene {
        Scene::with(way, &maka_config())
    }

    fn with(way: Way, config: &Value) -> Scene {
        let mut desk = Desk::with_config(ScriptedHost::default(), config);
        desk.host_speaks = false;
        desk.restoring = way == Way::Restored;
        desk.batching = way == Way::Batched;
        let desk = match way {
            Way::Plain | Way::Restored => desk,
            Way::Bytes => desk.cut(Cut::Bytes(1)),
            Way::Batched => desk.cut(Cut::Read),
        };
        Scene {
            desk,
            session: String::new(),
            feed: String::new(),
            sequence: 0,
            revision: 0,
            feeds: 0,
            looked: [0, 0],
        }
    }

    /// A second scene that goes on from here by itself.
    #[must_use]
    pub fn fork(&self) -> Scene {
        Scene {
            desk: self.desk.fork(),
            session: self.session.clone(),
            feed: self.feed.clone(),
            sequence: self.sequence,
            revision: self.revision,
            feeds: self.feeds,
            looked: self.looked,
        }
    }

    /// Initializes and makes a session; what was told so far counts as seen.
    pub fn begin(&mut self) {
        self.session = self.desk.new_session();
        self.settle();
        self.editor();
        self.host();
    }

    /// Until all is quiet.
    pub fn settle(&mut self) {
        while self.desk.step() {}
    }

    /// Time passes.
    pub fn wait(&mut self, milliseconds: u64) {
        self.desk.advance(milliseconds);
        self.settle();
    }

    /// The editor sends a prompt; the id of its request.
    pub fn prompt(&mut self, text: &str) -> u64 {
        let session = self.session.clone();
        let id = self.desk.prompt(&session, text);
        self.settle();
        id
    }

    /// The editor sends a prompt of these content blocks; the id of its request.
    pub fn blocks(&mut self, blocks: &Value) -> u64 {
        let params = json!({ "sessionId": self.session, "prompt": blocks });
        let id = self.desk.request("session/prompt", &params);
        self.settle();
        id
    }

    /// The editor cancels.
    pub fn cancel(&mut self) {
        let session = self.session.clone();
        self.desk.cancel(&session);
        self.settle();
    }

    /// The editor cancels one request.
    pub fn cancel_request(&mut self, id: u64) {
        self.desk
            .notify("$/cancel_request", &json!({ "requestId": id }));
        self.settle();
    }

    /// The editor closes the session; the id of its request.
    pub fn close(&mut self) -> u64 {
        let id = self
            .desk
            .request("session/close", &json!({ "sessionId": self.session }));
        self.settle();
        id
    }

    /// The editor goes away.
    pub fn hang_up(&mut self) {
        self.desk.hang_up();
        self.settle();
    }

    /// Takes a request that waits at the Host.
    ///
    /// # Panics
    /// When none of this operation does.
    pub fn asked(&mut self, operation: &str) -> Asked {
        let asked = self.desk.host.take(operation);
        asked.unwrap_or_else(|| {
            panic!(
                "{operation} was not asked; waiting: {:?}\neditor: {:#?}\nnotes: {:#?}",
                self.desk.host.waiting(),
                self.desk.log,
                self.desk.notes
            )
        })
    }

    /// The Host says lines, all at once.
    pub fn says(&mut self, lines: impl IntoIterator<Item = String>) {
        self.desk.host_says(lines.into_iter().map(Say::Line));
        self.settle();
    }

    /// The Host gives a result.
    pub fn result(&mut self, asked: &Asked, result: &Value) {
        self.says([asked.result(result)]);
    }

    /// The Host refuses.
    pub fn error(&mut self, asked: &Asked, code: &str, message: &str) {
        self.says([asked.error(code, message)]);
    }

    /// The connection breaks.
    pub fn lose(&mut self) {
        self.desk.host.forget();
        self.desk.host_says([Say::Close]);
        self.settle();
    }

    /// Opens the feed that is asked for: idle, without any row.
    pub fn open(&mut self) {
        self.open_with(&Value::Null, &Value::Null, &json!({}));
    }

    /// Opens the feed that is asked for: with this root turn, watermark, and other keys of
    /// the transcript.
    pub fn open_with(&mut self, root: &Value, through: &Value, more: &Value) {
        let asked = self.asked("subscription.open");
        let answer = self.opening(&asked, root, through, more);
        self.says([answer]);
    }

    /// The answer to an opening; from now on helpers write frames of that feed.
    pub fn opening(
        &mut self,
        asked: &Asked,
        root: &Value,
        through: &Value,
        more: &Value,
    ) -> String {
        self.feeds += 1;
        self.feed = format!("feed-{}", self.feeds);
        self.sequence = 0;
        self.revision = 1;
        let mut transcript = json!({ "throughSequence": through, "overlayMessageCount": 0 });
        if let (Value::Object(transcript), Value::Object(more)) = (&mut transcript, more) {
            transcript.extend(more.clone());
        }
        let pending = transcript["pending"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        asked.result(&json!({
            "hostEpoch": self.desk.host.epoch, "subscriptionId": self.feed, "nextSequence": 1,
            "snapshot": words::snapshot(&self.session, 1, root, &pending),
            "activeAssistantStreams": [], "transcript": transcript
        }))
    }

    /// A prompt whose turn runs, as the Host's answer to `turn.start` says.
    pub fn running(&mut self, text: &str) -> Turn {
        let turn = self.dispatched(text);
        let asked = self.asked("turn.start");
        self.result(&asked, &self.started(&turn));
        turn
    }

    /// A prompt whose `turn.start` waits at the Host.
    ///
    /// # Panics
    /// When it does not get there.
    pub fn dispatched(&mut self, text: &str) -> Turn {
        let prompt = self.prompt(text);
        if self.desk.host.waiting().contains(&"subscription.open") {
            self.open();
        }
        let asked = self.asked("turn.start");
        let id = asked.input["turnId"]
            .as_str()
            .expect("a turn has an id")
            .to_owned();
        self.desk.host.put_back(asked);
        Turn {
            prompt,
            id,
            run: "run-1".to_owned(),
        }
    }

    /// The result of `turn.start`.
    pub fn started(&self, turn: &Turn) -> Value {
        json!({ "kind": "started", "turn": self.told(turn, "running") })
    }

    /// A turn of this status.
    pub fn told(&self, turn: &Turn, status: &str) -> Value {
        let more = match status {
            "failed" => {
                json!({ "terminalEventId": "e", "failureClass": "runtime_error", "failureMessage": "boom" })
            }
            "cancelled" => json!({ "terminalEventId": "e", "abortSource": "renderer.stop_button" }),
            "completed" => json!({ "terminalEventId": "e" }),
            _ => json!({}),
        };
        words::turn(&self.session, &turn.id, &turn.run, status, &more)
    }

    /// A frame of the feed, as a line.
    pub fn frame(&mut self, kind: &str, more: &Value) -> String {
        self.sequence += 1;
        let mut frame = json!({
            "kind": format!("subscription.{kind}"), "hostEpoch": self.desk.host.epoch,
            "subscriptionId": self.feed, "sequence": self.sequence, "sessionId": self.session
        });
        if let (Value::Object(frame), Value::Object(more)) = (&mut frame, more) {
            frame.extend(more.clone());
        }
        frame.to_string()
    }

    /// A snapshot with this root, as a line.
    pub fn root_line(&mut self, root: &Value, pending: &[Value]) -> String {
        self.revision += 1;
        let snapshot = words::snapshot(&self.session, self.revision, root, pending);
        self.frame("session_projection", &json!({ "snapshot": snapshot }))
    }

    /// The snapshot shows this root.
    pub fn root(&mut self, root: &Value) {
        let line = self.root_line(root, &[]);
        self.says([line]);
    }

    /// The turn has this status now.
    pub fn now(&mut self, turn: &Turn, status: &str) {
        let root = self.told(turn, status);
        self.root(&root);
    }

    /// A delta of the answer, as a line.
    pub fn text_line(&mut self, turn: &Turn, message: &str, start: u64, text: &str) -> String {
        let delta = json!({ "kind": "text", "turnId": turn.id, "runId": turn.run, "messageId": message,
                            "startOffset": start, "text": text });
        self.frame("session_delta", &json!({ "delta": delta }))
    }

    /// The answer grows.
    pub fn text(&mut self, turn: &Turn, message: &str, start: u64, text: &str) {
        let line = self.text_line(turn, message, start, text);
        self.says([line]);
    }

    /// Something about a tool.
    pub fn event(&mut self, turn: &Turn, event: &Value) {
        let mut event = event.clone();
        event["turnId"] = json!(turn.id);
        event["toolUseId"] = json!("t1");
        let line = self.frame(
            "session_event",
            &json!({ "runId": turn.run, "event": event }),
        );
        self.says([line]);
    }

    /// Rows through here are durable.
    pub fn advanced(&mut self, through: u64) {
        let line = self.frame(
            "transcript_advanced",
            &json!({ "throughSequence": through }),
        );
        self.says([line]);
    }

    /// The Host answers the page that is asked for.
    pub fn page(&mut self, fragments: &[Value], next: Option<&str>) {
        let asked = self.asked("session.transcript.page");
        self.result(&asked, &words::page(fragments, next));
    }

    /// The Host closes the feed.
    pub fn closed(&mut self, reason: &str) {
        let line = self.frame("closed", &json!({ "reason": reason }));
        self.says([line]);
    }

    /// What the editor was told since it was last looked at.
    pub fn editor(&mut self) -> Vec<String> {
        let all = self.to_editor();
        let seen = std::mem::replace(&mut self.looked[0], all.len());
        all[seen..].to_vec()
    }

    /// What the Host was asked since it was last looked at.
    pub fn host(&mut self) -> Vec<String> {
        let all = self.to_host();
        let seen = std::mem::replace(&mut self.looked[1], all.len());
        all[seen..].to_vec()
    }

    /// What the editor was told of this request, if it was answered.
    pub fn answer(&self, id: u64) -> Option<String> {
        let wanted = format!("{id} ");
        self.to_editor()
            .into_iter()
            .find(|line| line.starts_with(&wanted))
    }

    /// How often the Host was asked for it.
    pub fn count(&self, operation: &str) -> usize {
        self.desk.times_asked(operation)
    }

    fn to_editor(&self) -> Vec<String> {
        let got = self
            .desk
            .log
            .iter()
            .filter_map(|line| line.strip_prefix("< "));
        got.map(|line| told::editor(&serde_json::from_str(line).expect("checked before")))
            .collect()
    }

    fn to_host(&self) -> Vec<String> {
        let sent = self.desk.to_host.iter();
        sent.map(|(_, line)| told::host(&serde_json::from_str(line).expect("checked before")))
            .collect()
    }

    fn record(&self) -> [Vec<String>; 2] {
        [
            self.desk.log.clone(),
            self.desk
                .to_host
                .iter()
                .map(|(channel, line)| format!("{channel} {line}"))
                .collect(),
        ]
    }
}
