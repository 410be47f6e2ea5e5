//! One run: a session, the turn in question, another turn, the end; with at most one fault,
//! and what has to hold in spite of it.
//!
//! Invariant: what is judged is what the editor saw and what the Host knows, never what the
//! engine thinks.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use airlock_tests::Desk;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::editor::{Answered, Editor};
use crate::embedded::{Clock, Fault as OfHost, Heard, Line, Options, World};
use crate::house::House;

const GREETING: &str = "Hello from the mock model. 你好 🚀 End of text.";
const GREETING_THOUGHT: &str = "I should greet the user. 思考 🧠 done.";
/// A folder that is there on every machine.
const CWD: &str = "/";
/// The session of another client that is loaded.
const STORED: &str = "stored";

/// The recorded model's script, which the embedded Host's own tests compare with recordings.
static SCRIPT: LazyLock<NamedTempFile> = LazyLock::new(|| {
    let text = include_str!("../../../host-runner/tests/embedded/mock-model.json");
    let file = NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("the script is written");
    file
});

/// What happens in a run besides the fault.
pub struct Play {
    pub name: &'static str,
    pub prompt: Value,
    /// What the agent says and thinks, message by message.
    pub says: &'static [&'static str],
    pub thinks: &'static [&'static str],
    /// After how many updates the prompt is cancelled.
    pub cancel_at: Option<usize>,
    /// The turn was another client's and is over; the session is loaded.
    pub is_loaded: bool,
    /// The same, but it is not over.
    pub is_live: bool,
    /// The user cancels instead of answering a question.
    pub is_unwilling: bool,
    /// No turn, but what else can be done with a session.
    pub is_managed: bool,
}

impl Default for Play {
    fn default() -> Play {
        Play {
            name: "hello",
            prompt: json!([{ "type": "text", "text": "SCENARIO:hello" }]),
            says: &[GREETING],
            thinks: &[GREETING_THOUGHT],
            cancel_at: None,
            is_loaded: false,
            is_live: false,
            is_unwilling: false,
            is_managed: false,
        }
    }
}

/// The one fault of a run.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    None,
    /// This answer, counted from 1, never comes.
    Lose(usize),
    /// The connection is lost after this many frames, and nothing happens until it is back.
    Drop(usize),
    /// The same, and the turn goes on meanwhile: what it says is not heard.
    Missed(usize),
    /// The same, and it is over when the connection is back.
    Late(usize),
    /// The connection is lost with this line of the engine, counted from 1.
    Cut(usize),
    /// A new Host after this many frames.
    Restart(usize),
    /// The same, and it is not there at once.
    Away(usize),
}

/// What a run came to.
pub struct Run {
    /// What did not end well, and how; empty when all did.
    pub ending: String,
    pub said: usize,
    pub heard: usize,
    pub answered: Vec<String>,
    /// Updates of the turn in question.
    pub shown: usize,
}

/// Plays it.
pub fn run(play: &Play, fault: Fault) -> Run {
    let world = World::new(Options {
        script: Some(SCRIPT.path().to_path_buf()),
        clock: Clock::stepped(),
        ..Options::default()
    });
    let world = world.expect("the Host starts");
    if play.is_loaded {
        prepare(&world, play);
    }
    let mut house = House::new(world.clone());
    match fault {
        Fault::None => {}
        Fault::Lose(at) => world.faults().arm(OfHost::LoseResponse {
            operation: None,
            nth: at as u64,
        }),
        Fault::Drop(after) | Fault::Missed(after) | Fault::Late(after) => {
            world.faults().drop_connection(after as u64);
            house.goes_on = match fault {
                Fault::Drop(_) => 0,
                Fault::Missed(_) => 5,
                _ => usize::MAX,
            };
        }
        Fault::Cut(at) => house.cut_at = Some(at),
        Fault::Restart(after) | Fault::Away(after) => {
            let after = after as u64;
            world.faults().arm(OfHost::Restart { after });
            house.absent = if matches!(fault, Fault::Away(_)) {
                3
            } else {
                0
            };
        }
    }
    let mut desk = Desk::new(house);
    desk.host_speaks = false;
    desk.capabilities = json!({ "elicitation": { "form": {} } });
    let files = &mut desk.files.content;
    files.insert("/w/small.txt".to_owned(), b"A few words.".to_vec());
    files.insert("/w/big.txt".to_owned(), b"0123456789abcde\n".repeat(8_000));
    let editor = Editor {
        desk,
        label: format!("{} {fault:?}", play.name),
        is_unwilling: play.is_unwilling,
    };
    let mut course = Course {
        editor,
        world,
        ending: Vec::new(),
    };
    course.play(play)
}

/// Another client has the turn, and goes.
fn prepare(world: &Arc<World>, play: &Play) {
    let mut line = Line::connect(world);
    let create = json!({ "sessionId": STORED, "workspace": { "kind": "host_path", "path": CWD },
                         "modelTarget": { "kind": "default" } });
    let content = json!({ "text": play.prompt[0]["text"] });
    let start = json!({ "sessionId": STORED, "turnId": "theirs", "content": content });
    for frame in [
        json!({ "kind": "hello", "clientInstanceId": "other", "surface": "tui", "protocolMin": 0, "protocolMax": 0,
                "compatibilityEpoch": 39, "compositionId": "maka.interactive" }),
        json!({ "requestId": "1", "operation": "session.create", "input": create }),
        json!({ "requestId": "2", "operation": "turn.start", "input": start }),
    ] {
        while let Heard::Frame(_) = line.hear() {}
        line.say(&frame.to_string());
    }
    while !play.is_live && matches!(line.hear(), Heard::Frame(_)) {}
    line.end();
    let wanted = if play.is_live { "running" } else { "completed" };
    assert_eq!(world.turns()[0].2, wanted);
}

struct Course {
    editor: Editor,
    world: Arc<World>,
    ending: Vec<String>,
}

impl Course {
    fn play(&mut self, play: &Play) -> Run {
        let client =
            json!({ "protocolVersion": 1, "clientCapabilities": self.editor.desk.capabilities });
        let hello = self.editor.ask("initialize", &client, None);
        self.well("initialize", &hello);
        let session = if play.is_loaded {
            self.load(play)
        } else {
            self.new_session()
        };
        let mut shown = 0;
        if play.is_managed {
            self.manage(&session);
        } else if !play.is_loaded {
            shown = self.prompt(&session, play);
        }
        self.prompt(&session, &Play::default());
        let named = json!({ "sessionId": session });
        if play.is_managed {
            self.request("session/delete", &named);
        }
        let closed = self.editor.ask("session/close", &named, None);
        if !play.is_managed {
            self.well("close", &closed);
        }
        self.editor.leave();
        self.stopped_once();
        let house = &self.editor.desk.host;
        Run {
            ending: self.ending.join("; "),
            said: house.said,
            heard: house.heard,
            answered: house.answered.clone(),
            shown,
        }
    }

    /// A session; the second attempt works.
    fn new_session(&mut self) -> String {
        let params = json!({ "cwd": CWD, "mcpServers": [] });
        for _ in 0..2 {
            let from = self.editor.desk.log.len();
            let new = self.editor.ask("session/new", &params, None);
            self.editor
                .holds(new.shown.is_empty(), "no session yet", from);
            if self.well("new", &new) {
                let session = new.answer["result"]["sessionId"].as_str();
                return session.expect("a session").to_owned();
            }
        }
        self.editor.fails("no session at the second attempt", 0)
    }

    /// Listed, set, closed and taken up again, the last at the second attempt at the latest.
    fn manage(&mut self, session: &str) {
        let place = json!({ "sessionId": session, "cwd": CWD, "mcpServers": [] });
        self.request("session/list", &json!({ "cwd": CWD }));
        self.request("session/list", &json!({}));
        let set = json!({ "sessionId": session, "configId": "permission_mode", "value": "bypass" });
        self.request("session/set_config_option", &set);
        self.request("session/close", &json!({ "sessionId": session }));
        let is_well = self.request("session/resume", &place);
        if !is_well && !self.request("session/resume", &place) {
            self.editor.fails("not resumed at the second attempt", 0);
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> bool {
        let answered = self.editor.ask(method, params, None);
        self.well(method, &answered)
    }

    /// The past is told whole, at the second attempt at the latest, and once an attempt.
    fn load(&mut self, play: &Play) -> String {
        let params = json!({ "sessionId": STORED, "cwd": CWD, "mcpServers": [] });
        for _ in 0..2 {
            let from = self.editor.desk.log.len();
            let load = self.editor.ask("session/load", &params, None);
            let is_well = self.well("load", &load);
            if is_well && play.is_live {
                return self.watch(load, play, from);
            }
            self.cards_ended(&load, is_well, from);
            if is_well {
                self.said(&load, play, true, from);
                return STORED.to_owned();
            }
            self.said(&load, play, false, from);
        }
        self.editor.fails("not loaded at the second attempt", 0)
    }

    /// The rest of a turn that ran when the session was loaded; the cards that are open when
    /// the load is answered are ended then.
    fn watch(&mut self, mut load: Answered, play: &Play, from: usize) -> String {
        load.shown.append(&mut load.late);
        load.shown.extend(self.editor.idle());
        let is_whole = self.world.turns()[0].2 == "completed";
        if !is_whole {
            self.ending.push("the turn failed".to_owned());
        }
        self.said(&load, play, is_whole, from);
        self.cards_ended(&load, true, from);
        STORED.to_owned()
    }

    fn prompt(&mut self, session: &str, play: &Play) -> usize {
        let from = self.editor.desk.log.len();
        let params = json!({ "sessionId": session, "prompt": play.prompt });
        let answered = self.editor.ask("session/prompt", &params, play.cancel_at);
        let editor = &self.editor;
        editor.holds(answered.started.len() <= 1, "started once at most", from);
        let status = answered.started.first().map(|turn| {
            let turns = self.world.turns().into_iter();
            let mut mine = turns.filter(|(_, id, _)| id == turn);
            mine.next()
                .map_or("absent".to_owned(), |(_, _, status)| status)
        });
        let status = status.as_deref();
        let reason = answered.answer["result"]["stopReason"].as_str();
        let is_whole = reason == Some("end_turn");
        match reason {
            Some("end_turn") => {
                editor.holds(status == Some("completed"), "the turn is complete", from);
            }
            Some("cancelled") => {
                let is_true = answered.was_cancelled || status == Some("cancelled");
                editor.holds(is_true, "somebody cancelled", from);
            }
            Some(_) => editor.fails("an unknown reason", from),
            None => {
                let is_error = answered.answer["error"]["code"].is_i64();
                editor.holds(is_error, "an answer", from);
            }
        }
        self.said(&answered, play, is_whole, from);
        self.cards_ended(&answered, true, from);
        self.editor.holds(
            answered.late.iter().all(is_news),
            "nothing after the answer",
            from,
        );
        if reason == Some("cancelled") && answered.was_cancelled {
            // As it was asked for.
        } else if is_whole && answered.was_cancelled {
            self.ending
                .push(format!("{}: end_turn before the cancel", play.name));
        } else {
            self.well(play.name, &answered);
        }
        answered.shown.len()
    }

    /// What the agent said and thought: all of it, or its beginning, and never twice.
    fn said(&self, answered: &Answered, play: &Play, is_whole: bool, from: usize) {
        for (kind, wanted) in [
            ("agent_message_chunk", play.says),
            ("agent_thought_chunk", play.thinks),
        ] {
            let got = messages(&answered.shown, kind);
            if is_whole {
                self.editor
                    .holds(got == wanted, &format!("{kind} is {got:?}"), from);
            } else {
                let (got, wanted) = (got.join("|"), wanted.join("|"));
                let is_beginning = wanted.starts_with(&got);
                self.editor
                    .holds(is_beginning, &format!("{kind} is {got:?}"), from);
            }
        }
    }

    fn cards_ended(&self, answered: &Answered, is_over: bool, from: usize) {
        let mut open: Vec<&str> = Vec::new();
        for update in &answered.shown {
            let Some(card) = update["toolCallId"].as_str() else {
                continue;
            };
            let is_new = update["sessionUpdate"] == "tool_call";
            if is_new {
                self.editor
                    .holds(!open.contains(&card), "a card is opened once", from);
                open.push(card);
            }
            if matches!(update["status"].as_str(), Some("completed" | "failed")) {
                open.retain(|it| *it != card);
            }
        }
        if is_over {
            self.editor
                .holds(open.is_empty(), &format!("cards are open: {open:?}"), from);
        }
    }

    /// At most one Stop of each turn has arrived. One that was lost on its way may be sent
    /// again by a later cancel or close (Maka adapter, section 13.1).
    fn stopped_once(&self) {
        let stopped = &self.editor.desk.host.stopped;
        let once: BTreeSet<&String> = stopped.iter().collect();
        let is_once = once.len() == stopped.len();
        self.editor.holds(is_once, "stopped once at most", 0);
    }

    /// Notes how a request ended; whether well.
    fn well(&mut self, what: &str, answered: &Answered) -> bool {
        let Some(error) = answered.answer.get("error") else {
            return true;
        };
        let data = &error["data"];
        let code = data["code"].as_str().or(data["failureClass"].as_str());
        let why = code.or(error["message"].as_str()).unwrap_or_default();
        self.ending.push(format!("{what}: {} {why}", error["code"]));
        false
    }
}

/// What may come at any time: it belongs to no turn.
fn is_news(update: &Value) -> bool {
    let news = [
        "session_info_update",
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "usage_update",
    ];
    news.iter().any(|kind| update["sessionUpdate"] == *kind)
}

/// What a turn says of an outage that lasts: once, in a message of its own.
const OUTAGE: &str = "The connection to the Maka Runtime Host was lost. Trying again.";

/// The texts of one kind, by message, but for one that tells of an outage.
fn messages(updates: &[Value], kind: &str) -> Vec<String> {
    let mut messages: Vec<(&Value, String)> = Vec::new();
    for update in updates.iter().filter(|it| it["sessionUpdate"] == kind) {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        match messages
            .iter_mut()
            .find(|(id, _)| **id == update["messageId"])
        {
            Some((_, whole)) => whole.push_str(text),
            None => messages.push((&update["messageId"], text.to_owned())),
        }
    }
    let mut texts: Vec<String> = messages.into_iter().map(|(_, text)| text).collect();
    if let Some(at) = texts.iter().position(|text| text == OUTAGE) {
        texts.remove(at);
    }
    texts
}
