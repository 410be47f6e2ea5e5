//! An editor, an engine and a [`ScriptedCli`] with one session: tests read like a dialogue,
//! and each is played in every way that may make no difference (rule R9).

use std::fmt::Debug;

use airlock_engine::{HostArrival, Input};
use serde_json::{Value, json};

use super::{ScriptedCli, answer, config, words};
use crate::desk::{Cut, Desk};
use crate::recorded_host::Say;

/// The scene.
pub struct Scene {
    /// Editor, engine, clock and process.
    pub desk: Desk<ScriptedCli>,
    /// The session.
    pub session: String,
    frames: u64,
    looked: usize,
}

/// Plays in every way that may make no difference (rule R9). What `play` gives back, for one
/// of the [ways](Scene::in_way), is a record of all that was said.
///
/// # Panics
/// When a way makes a difference.
pub fn every_way<R: PartialEq + Debug>(play: impl Fn(usize) -> R) {
    let first = play(0);
    for way in 1..4 {
        assert_eq!(first, play(way), "way {way} makes a difference");
    }
}

/// Plays a scene with a session in every way.
///
/// # Panics
/// When a way makes a difference.
pub fn each_way(play: impl Fn(&mut Scene)) {
    every_way(|way| {
        let mut scene = Scene::in_way(way);
        scene.begin();
        play(&mut scene);
        scene.desk.record()
    });
}

impl Scene {
    /// A line a call.
    pub fn plain() -> Scene {
        Scene::in_way(0)
    }

    /// A line a call; restored before every call; a byte a call; all that waits in one call.
    pub fn in_way(way: usize) -> Scene {
        Scene::configured(way, &config())
    }

    /// The same of an engine that is configured like this.
    pub fn configured(way: usize, config: &Value) -> Scene {
        let mut desk = Desk::with_config(ScriptedCli::default(), config);
        desk.host_speaks = false;
        desk.restoring = way == 1;
        desk.batching = way == 3;
        let desk = match way {
            2 => desk.cut(Cut::Bytes(1)),
            3 => desk.cut(Cut::Read),
            _ => desk,
        };
        Scene {
            desk,
            session: String::new(),
            frames: 0,
            looked: 0,
        }
    }

    /// A second scene that goes on from here by itself.
    #[must_use]
    pub fn fork(&self) -> Scene {
        Scene {
            desk: self.desk.fork(),
            session: self.session.clone(),
            frames: self.frames,
            looked: self.looked,
        }
    }

    /// Initializes and makes a session; what was told so far counts as seen.
    pub fn begin(&mut self) {
        self.session = self.desk.new_session();
        self.settle();
        self.editor();
    }

    /// Makes a session whose process greets like this, with these settings; the answer to
    /// `session/new`.
    ///
    /// # Panics
    /// When no session is made.
    pub fn opened(&mut self, greets: Value, settings: Value) -> Value {
        self.desk.host.greeting = Some(greets);
        self.desk.host.settings = Some(settings);
        self.begin();
        let mut lines = self.desk.log.iter();
        let new = lines.find(|line| line.contains("sessionId") && line.starts_with("< "));
        let line = new.expect("a session").trim_start_matches("< ");
        serde_json::from_str::<Value>(line).expect("an answer")["result"].clone()
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

    /// The editor cancels.
    pub fn cancel(&mut self) {
        let session = self.session.clone();
        self.desk.cancel(&session);
        self.settle();
    }

    /// The editor closes the session; the id of its request.
    pub fn close(&mut self) -> u64 {
        let session = json!({ "sessionId": self.session });
        let id = self.desk.request("session/close", &session);
        self.settle();
        id
    }

    /// The process says these frames, all at once.
    pub fn says(&mut self, frames: impl IntoIterator<Item = Value>) {
        let lines: Vec<Say> = frames
            .into_iter()
            .map(|frame| Say::Line(self.line(frame)))
            .collect();
        self.desk.host_says(lines);
        self.settle();
    }

    /// A frame as it is said: with its id, and with the ids of the prompts.
    pub fn line(&mut self, frame: Value) -> String {
        self.frames += 1;
        let mut own = json!({ "uuid": format!("frame-{}", self.frames),
                              "session_id": self.session });
        if frame["type"] == "control_request" {
            own = json!({});
        }
        let mut line = words::with(own, frame).to_string();
        for (at, user) in self.desk.host.users.iter().enumerate() {
            line = line.replace(
                &json!(words::id(at + 1)).to_string(),
                &user["uuid"].to_string(),
            );
        }
        line
    }

    /// Whether the process has got this many prompts.
    pub fn has(&self, prompts: usize) -> bool {
        self.desk.host.users.len() >= prompts
    }

    /// Whether an interrupt came behind this prompt.
    pub fn interrupted(&self, prompt: usize) -> bool {
        self.desk.host.interrupts.iter().any(|had| *had >= prompt)
    }

    /// Whether this prompt was taken back.
    pub fn taken_back(&self, prompt: usize) -> bool {
        let host = &self.desk.host;
        let user = host.users.get(prompt - 1);
        user.is_some_and(|user| host.taken_back.contains(&user["uuid"]))
    }

    /// The process answers the oldest request of this kind.
    ///
    /// # Panics
    /// When none waits.
    pub fn replies(&mut self, subtype: &str, response: &Value) {
        let request = self.desk.host.take(subtype);
        let request = request.unwrap_or_else(|| panic!("{subtype} was not asked: {}", self.log()));
        let mut line = answer(&request, response);
        for (at, user) in self.desk.host.users.iter().enumerate() {
            line = line.replace(
                &json!(words::id(at + 1)).to_string(),
                &user["uuid"].to_string(),
            );
        }
        self.desk.host_says([Say::Line(line)]);
        self.settle();
    }

    /// The process takes the first prompt and streams these words of its answer.
    pub fn working(&mut self, said: &str) -> u64 {
        let prompt = self.prompt("one");
        self.takes(1, &words::NEW);
        self.says([
            words::start("msg_1"),
            words::text_block(0),
            words::text(0, said),
        ]);
        prompt
    }

    /// The process takes a prompt, asks the model and gets its first bytes.
    pub fn takes(&mut self, prompt: usize, capabilities: &[&str]) {
        self.says([
            words::state("running"),
            words::life(prompt, "queued"),
            words::life(prompt, "started"),
            words::init(capabilities),
            words::requesting(&[prompt]),
            words::echo(prompt),
        ]);
    }

    /// A whole answer streams.
    pub fn streams(&mut self, id: &str, chunks: &[&str]) {
        let frames = answer_frames(id, chunks);
        self.says(frames);
    }

    /// Something about the process that is no line.
    ///
    /// # Panics
    /// When there is none.
    pub fn process(&mut self, arrival: HostArrival) {
        let channel = *self.desk.channels().last().expect("a process");
        self.desk.arrives(Input::Host(channel, arrival));
        self.settle();
    }

    /// The process is gone, with this code.
    pub fn dies(&mut self, code: i32) {
        self.process(HostArrival::Exited(Some(code)));
        self.desk.host_says([Say::Close]);
        self.settle();
    }

    /// What the editor was told since it was last looked at, each in a few words; figures
    /// are left out.
    pub fn editor(&mut self) -> Vec<String> {
        let all = self.told();
        let seen = std::mem::replace(&mut self.looked, all.len());
        all[seen..].to_vec()
    }

    /// Everything that the editor was told.
    pub fn told(&self) -> Vec<String> {
        let got = self.desk.log.iter();
        let got = got.filter_map(|line| line.strip_prefix("< "));
        let messages = got.map(|line| serde_json::from_str::<Value>(line).expect("checked before"));
        messages.filter_map(|it| told(&it)).collect()
    }

    /// What the editor was told of this request, if it was answered.
    pub fn answer(&self, id: u64) -> Option<String> {
        let wanted = format!("{id} ");
        let answer = self.told().into_iter().find(|it| it.starts_with(&wanted))?;
        Some(answer[wanted.len()..].to_owned())
    }

    /// Everything that was said between editor and engine.
    pub fn log(&self) -> String {
        self.desk.log.join("\n")
    }
}

/// A whole message of one text, as it streams.
pub fn answer_frames(id: &str, chunks: &[&str]) -> Vec<Value> {
    let mut frames = vec![words::start(id), words::text_block(0)];
    frames.extend(chunks.iter().map(|chunk| words::text(0, chunk)));
    let whole = words::assistant(id, &chunks.concat());
    frames.extend([whole, words::block_stop(0), words::stop()]);
    frames
}

/// A message for the editor in a few words, as the recorded traces have it.
pub fn told(message: &Value) -> Option<String> {
    if message.get("method").is_none() {
        let id = &message["id"];
        let result = &message["result"];
        return Some(match (result["stopReason"].as_str(), &message["error"]) {
            (Some(reason), _) => format!("{id} {reason}"),
            (None, Value::Null) => format!("{id} done"),
            (None, error) => format!(
                "{id} error {} {}",
                error["code"],
                words_of(&error["message"])
            ),
        });
    }
    if message["method"] != "session/update" {
        return Some(match message.get("id") {
            Some(_) => format!("REQUEST {}", words_of(&message["method"])),
            None => words_of(&message["method"]),
        });
    }
    let update = &message["params"]["update"];
    let kind = words_of(&update["sessionUpdate"]);
    let text = |value: &Value| words_of(value);
    match kind.as_str() {
        "usage_update"
        | "available_commands_update"
        | "config_option_update"
        | "session_info_update" => None,
        "tool_call" | "tool_call_update" => Some(format!(
            "{kind} {} {} {}",
            text(&update["toolCallId"]),
            text(&update["status"]),
            text(&update["content"][0]["content"]["text"])
        )),
        _ if kind.ends_with("_chunk") => Some(format!(
            "{kind} {} {}",
            update["content"]["text"],
            text(&update["messageId"])
        )),
        _ => Some(kind),
    }
}

fn words_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
