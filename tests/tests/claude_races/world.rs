//! Both sides of a scenario somewhere on their way, and what must be true there.
//!
//! The editor acts in its order, the process says its frames in its order, and its answers
//! to what it was asked come in theirs, whatever streams. Invariant: nothing here decides
//! which of the three comes next.

use std::collections::BTreeMap;

use airlock_tests::scripted_cli::{Act, Scenario, Scene, Step};
use serde_json::{Value, json};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// The editor does what it does next.
    Editor,
    /// The process says its next frame.
    Says,
    /// The process answers what it was asked.
    Replies,
    /// The editor cancels once more.
    Cancel,
    /// The editor closes the session.
    Close,
    /// The user allows what is asked.
    Allows,
    /// The next timer goes off.
    Timer,
}

/// What is said as one work.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Its message.
    pub message: &'static str,
    /// All its text.
    pub text: &'static str,
    /// Whose it is.
    pub whose: Whose,
}

/// Whose work something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Of this prompt.
    Prompt(usize),
    /// Of the first two prompts together.
    Both,
    /// Of this prompt, but begun as Claude's own: a second cancel may find it as that.
    Folded(usize),
    /// Of this prompt, whose answer may wait for a subagent: a cancel finds it said.
    Held(usize),
    /// Claude's own, begun at this frame that says so, and over at the result behind it.
    Own,
    /// Claude's own, at a process whose requests do not name their prompts: it may be lost.
    OwnUnmarked,
    /// Never to be shown.
    Nobody,
    /// A subagent's: what is said while the window is open is lost, the rest is not.
    Subagent,
}

/// A scenario with its works.
#[derive(Clone, Debug)]
pub struct Case {
    /// As the recordings name it.
    pub name: &'static str,
    /// What the editor does.
    pub editor: Vec<Act>,
    /// What the process says and waits for.
    pub cli: Vec<Step>,
    /// What it answers.
    pub replies: Vec<(&'static str, Value)>,
    /// What is said.
    pub works: Vec<Work>,
    /// What comes of taking a prompt back.
    pub takes_back: Option<bool>,
}

impl Case {
    /// Without what only keeps a recording apart: pauses, and what the editor waits for.
    pub fn of(scenario: Scenario, works: Vec<Work>) -> Case {
        let mut replies = Vec::new();
        let mut cli = Vec::new();
        for step in scenario.cli {
            match step {
                Step::Replies(subtype, response) => replies.push((subtype, response)),
                Step::Pause(_) => {}
                step => cli.push(step),
            }
        }
        let acts = scenario.editor.into_iter();
        let acts = acts.filter(|act| matches!(act, Act::Prompt(..) | Act::Cancel));
        Case {
            name: scenario.name,
            editor: acts.collect(),
            cli,
            replies,
            works,
            takes_back: scenario.takes_back,
        }
    }
}

/// Where both sides are.
pub struct World<'a> {
    case: &'a Case,
    pub scene: Scene,
    /// How far the editor, the process and its answers are.
    at: [usize; 3],
    /// What may still happen besides.
    pub spare: Vec<Event>,
    /// The editor's requests.
    prompts: Vec<Prompt>,
    cancels: usize,
    /// A cancel came behind the question that is open.
    void: bool,
    /// Tool calls that were shown and are not closed.
    tools: Vec<String>,
    closed: Option<u64>,
    /// Of each work, what was said and what was shown.
    said: BTreeMap<&'static str, Told>,
    /// Lines of the log that were looked at.
    looked: usize,
    /// A work of Claude's own runs; whether it was cancelled.
    own: Option<bool>,
    /// The last one was cancelled, and is over.
    own_reported: bool,
    pub path: Vec<Event>,
}

#[derive(Clone, Debug)]
struct Prompt {
    id: u64,
    /// A cancel or a close came before its answer.
    doomed: bool,
    answer: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct Told {
    said: String,
    shown: String,
    /// How far it was shown, or passed over.
    upto: usize,
}

impl<'a> World<'a> {
    /// Before anything happened.
    pub fn new(case: &'a Case, spare: &[Event]) -> World<'a> {
        let mut scene = Scene::plain();
        scene.desk.host.takes_back = case.takes_back;
        scene.begin();
        let looked = scene.desk.log.len();
        World {
            case,
            scene,
            at: [0; 3],
            spare: spare.to_vec(),
            prompts: Vec::new(),
            cancels: 0,
            void: false,
            tools: Vec::new(),
            closed: None,
            said: BTreeMap::new(),
            looked,
            own: None,
            own_reported: false,
            path: Vec::new(),
        }
    }

    /// A second world that goes on from here by itself.
    pub fn after(&self, event: Event) -> World<'a> {
        let mut world = World {
            case: self.case,
            scene: self.scene.fork(),
            at: self.at,
            spare: self.spare.clone(),
            prompts: self.prompts.clone(),
            cancels: self.cancels,
            void: self.void,
            tools: self.tools.clone(),
            closed: self.closed,
            said: self.said.clone(),
            looked: self.looked,
            own: self.own,
            own_reported: self.own_reported,
            path: self.path.clone(),
        };
        world.path.push(event);
        world.happens(event);
        world.look();
        world
    }

    /// What may come next.
    pub fn possible(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let [editor, cli, replies] = self.at;
        let open = self.closed.is_none();
        if editor < self.case.editor.len() && open {
            events.push(Event::Editor);
        }
        let host = &self.scene.desk.host;
        let connected = !self.scene.desk.channels().is_empty();
        let ready = match self.case.cli.get(cli) {
            Some(Step::Prompt(number)) => self.scene.has(*number),
            Some(Step::Asked(subtype)) => host.times_asked(subtype) > 0,
            Some(Step::Answered(question)) => host.answer_to(question).is_some(),
            Some(Step::Interrupted(prompt)) => self.scene.interrupted(*prompt),
            Some(Step::TakenBack(prompt)) => self.scene.taken_back(*prompt),
            Some(_) => true,
            None => false,
        };
        if ready && connected {
            events.push(Event::Says);
        }
        let reply = self.case.replies.get(replies);
        if connected && reply.is_some_and(|(subtype, _)| host.waits(subtype)) {
            events.push(Event::Replies);
        }
        for event in &self.spare {
            let may = match event {
                Event::Timer => !self.scene.desk.armed().is_empty(),
                Event::Allows => !self.scene.desk.asking().is_empty(),
                _ => open && !self.prompts.is_empty(),
            };
            if may && !events.contains(event) {
                events.push(*event);
            }
        }
        events
    }

    /// How far the process is when the editor acts: for the count of what is concurrent.
    pub fn place(&self) -> (usize, usize) {
        (self.at[0], self.at[1])
    }

    fn happens(&mut self, event: Event) {
        if let Some(at) = self.spare.iter().position(|it| *it == event) {
            self.spare.remove(at);
        }
        match event {
            Event::Editor => {
                let act = self.case.editor[self.at[0]];
                self.at[0] += 1;
                match act {
                    Act::Prompt(_, text) => {
                        let id = self.scene.prompt(text);
                        self.prompts.push(Prompt {
                            id,
                            doomed: false,
                            answer: None,
                        });
                    }
                    _ => self.cancel(),
                }
            }
            Event::Cancel => self.cancel(),
            Event::Close => {
                self.doom();
                self.closed = Some(self.scene.close());
            }
            Event::Allows => self.allows(),
            Event::Timer => {
                let next = self.scene.desk.armed().first().copied().unwrap_or_default();
                self.scene.wait(next);
            }
            Event::Says => {
                let step = &self.case.cli[self.at[1]];
                self.at[1] += 1;
                if let Step::Says(frame) = step {
                    self.hears(frame);
                    self.scene.says([frame.clone()]);
                    self.heard(frame);
                }
            }
            Event::Replies => {
                let (subtype, response) = &self.case.replies[self.at[2]];
                self.at[2] += 1;
                self.scene.replies(subtype, response);
            }
        }
    }

    /// The user says yes; behind a cancel that is no yes.
    fn allows(&mut self) {
        let id = self.scene.desk.asking()[0].to_owned();
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow-once" } });
        let id: Value = serde_json::from_str(&id).expect("an id");
        self.scene.desk.reply(&id, &outcome);
        self.scene.settle();
        let answer = self.scene.desk.host.answers.last();
        let behavior = answer.map(|it| it["response"]["behavior"].clone());
        // A question of stopped work is answered with a refusal or an error, never with a yes.
        let allowed = behavior == Some(json!("allow"));
        self.must(allowed != self.void, &format!("{behavior:?}"));
    }

    fn cancel(&mut self) {
        self.cancels += 1;
        self.void |= !self.scene.desk.asking().is_empty();
        self.doom();
        self.scene.cancel();
    }

    fn doom(&mut self) {
        for prompt in self.prompts.iter_mut().filter(|it| it.answer.is_none()) {
            prompt.doomed = true;
        }
        if let Some(cancelled) = &mut self.own {
            *cancelled = true;
        }
    }

    /// What the frame about to be said says.
    fn hears(&mut self, frame: &Value) {
        let asks = frame["status"] == "requesting";
        if asks && frame["user_message_uuids"].is_null() && self.own.is_none() {
            self.own = Some(false);
            self.own_reported = false;
        }
        let delta = &frame["event"]["delta"];
        let delta = delta.get("text").or(delta.get("thinking"));
        let whole = &frame["message"]["content"][0]["text"];
        let streamed = delta.and_then(Value::as_str);
        for work in &self.case.works {
            let told = self.said.entry(work.message).or_default();
            let rest = &work.text[told.said.len()..];
            if let Some(text) = streamed.filter(|text| !text.is_empty() && rest.starts_with(text)) {
                told.said.push_str(text);
                return;
            }
            // A copy of what did not stream.
            if frame["type"] == "assistant" && whole == work.text {
                work.text.clone_into(&mut told.said);
            }
        }
    }

    fn heard(&mut self, frame: &Value) {
        if frame["origin"]["kind"] == "task-notification" && frame["type"] == "result" {
            self.own_reported = self.own.take() == Some(true);
        }
    }

    /// Looks at what the editor was told since the last look.
    fn look(&mut self) {
        let lines = self.scene.desk.log[self.looked..].to_vec();
        self.looked += lines.len();
        for line in lines.iter().filter_map(|line| line.strip_prefix("< ")) {
            let message: Value = serde_json::from_str(line).expect("checked before");
            if message.get("method").is_none() {
                self.answered(&message);
            } else {
                self.shown(&message["params"]["update"]);
            }
        }
    }

    fn answered(&mut self, message: &Value) {
        let reason = message["result"]["stopReason"].as_str();
        let reason = reason.map_or_else(|| message["error"].to_string(), str::to_owned);
        let Some(prompt) = self.prompts.iter_mut().find(|it| message["id"] == it.id) else {
            return;
        };
        let doomed = prompt.doomed;
        assert_eq!(prompt.answer.replace(reason.clone()), None, "twice");
        let wanted = if doomed { "cancelled" } else { "end_turn" };
        self.must(reason == wanted, &format!("{wanted}, not {reason}"));
        let number = 1 + self
            .prompts
            .iter()
            .position(|it| message["id"] == it.id)
            .unwrap_or(0);
        let open = self.tools.iter();
        let open: Vec<&String> = open.filter(|it| prompt_of(it) == number).collect();
        let closed = !doomed || open.is_empty() || self.closed.is_some();
        self.must(closed, &format!("open at the report: {open:?}"));
        if doomed && self.cancels == 1 && self.closed.is_none() {
            // Before the report nothing is lost.
            for work in &self.case.works {
                if work.whose == Whose::Prompt(number) {
                    let told = self.said.get(work.message).cloned().unwrap_or_default();
                    self.must(
                        told.said == told.shown,
                        &format!("lost before the report: {told:?}"),
                    );
                }
            }
        }
    }

    fn shown(&mut self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if kind.starts_with("tool_call") {
            return self.tool(update);
        }
        let Some(text) = update["content"]["text"]
            .as_str()
            .filter(|_| kind.ends_with("_chunk"))
        else {
            return;
        };
        self.must(self.closed.is_none(), "shown after the close");
        let mut works = self.case.works.iter();
        let Some(work) = works.find(|work| {
            let told = self.said.get(work.message).cloned().unwrap_or_default();
            match work.whose {
                Whose::Subagent => told.said.ends_with(text),
                // Of a block that a second cancel cut in two, the copy is not shown.
                _ if self.cancels > 1 => told.said[told.upto..].contains(text),
                _ => told.said[told.upto..].starts_with(text),
            }
        }) else {
            return self.must(
                false,
                &format!("nobody said {text}, or it was shown before"),
            );
        };
        let reported = match work.whose {
            Whose::Prompt(number) | Whose::Held(number) => {
                let prompt = &self.prompts[number - 1];
                prompt.doomed && prompt.answer.is_some()
            }
            Whose::Both => {
                let mut both = self.prompts.iter().take(2);
                both.all(|prompt| prompt.doomed && prompt.answer.is_some())
            }
            Whose::Folded(number) => {
                let prompt = &self.prompts[number - 1];
                self.cancels == 1 && prompt.doomed && prompt.answer.is_some()
            }
            Whose::Own | Whose::OwnUnmarked | Whose::Nobody => self.own_reported,
            Whose::Subagent => text.contains("lost"),
        };
        self.must(!reported, &format!("{text} after its report"));
        if let Some(told) = self.said.get_mut(work.message) {
            told.shown.push_str(text);
            let skipped = told.said[told.upto..].find(text).unwrap_or_default();
            told.upto += skipped + text.len();
        }
    }

    fn tool(&mut self, update: &Value) {
        let tool = update["toolCallId"].as_str().unwrap_or_default();
        let prompt = &self.prompts[prompt_of(tool) - 1];
        let reported = prompt.doomed && prompt.answer.is_some();
        self.must(!reported, "a tool after the report");
        if update["sessionUpdate"] == "tool_call" {
            self.tools.push(tool.to_owned());
        } else if matches!(update["status"].as_str(), Some("completed" | "failed")) {
            self.tools.retain(|it| it != tool);
        }
    }

    /// At the end of every order.
    pub fn over(mut self) {
        let left = (self.case.cli.len(), self.case.editor.len());
        let all = (self.at[1], self.at[0]) == left || self.closed.is_some();
        self.must(all, "the process waits for what never comes");
        let unanswered = self.scene.desk.unanswered();
        self.must(unanswered.is_empty(), &format!("unanswered {unanswered:?}"));
        let asking = self.scene.desk.asking();
        self.must(asking.is_empty(), &format!("still asking {asking:?}"));
        let mut answers: Vec<&Value> = self.scene.desk.host.answers.iter().collect();
        answers.sort_by_key(|it| it["request_id"].to_string());
        answers.dedup_by_key(|it| it["request_id"].to_string());
        let once = answers.len() == self.scene.desk.host.answers.len();
        self.must(once, "a question has two answers");
        if self.closed.is_some() {
            return;
        }
        for work in &self.case.works {
            let told = self.said.get(work.message).cloned().unwrap_or_default();
            let later = match work.whose {
                Whose::Prompt(number) | Whose::Held(number) => !self.prompts[number - 1].doomed,
                Whose::Own => self.cancels == 1 && !self.own_reported,
                _ => false,
            };
            self.must(
                !later || told.shown == work.text,
                &format!("lost of {}: {told:?}", work.message),
            );
        }
        let armed = self.scene.desk.armed();
        self.must(armed.is_empty(), &format!("armed {armed:?}"));
        self.goes_on();
    }

    /// The session takes the next prompt.
    fn goes_on(&mut self) {
        use airlock_tests::scripted_cli::words::{NEW, done, state};
        let prompt = self.scene.prompt("again");
        let number = self.scene.desk.host.users.len();
        self.scene.takes(number, &NEW);
        self.scene.streams("msg_again", &["All ", "well."]);
        self.scene.says([done(number), state("idle")]);
        let answer = self.scene.answer(prompt);
        self.must(
            answer.as_deref() == Some("end_turn"),
            &format!("{answer:?}"),
        );
        let shown = self.scene.desk.shown("agent_message_chunk");
        let whole = ("msg_again".to_owned(), "All well.".to_owned());
        self.must(shown.contains(&whole), &format!("{shown:?}"));
    }

    fn must(&self, holds: bool, what: &str) {
        assert!(
            holds,
            "{}: {what}\n{:?}\n{}\n{:#?}",
            self.case.name,
            self.path,
            self.scene.log(),
            self.said
        );
    }

    /// Everything that decides what may still come, and what must be true then.
    pub fn key(&self) -> (Vec<u8>, String) {
        let outside = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            self.at,
            self.spare,
            self.prompts,
            self.cancels,
            self.closed,
            self.said,
            (self.own, self.own_reported, self.void),
            self.scene.desk.armed(),
            self.tools,
            (self.scene.desk.asking(), &self.scene.desk.host.answers),
        );
        (self.scene.desk.state(), outside)
    }
}

/// Which prompt uses this tool.
fn prompt_of(tool: &str) -> usize {
    if tool == "toolu_a" { 2 } else { 1 }
}
