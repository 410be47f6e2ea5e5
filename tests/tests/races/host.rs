//! A Host that lives, one small thing at a time: each thing it may do next is an event of
//! its own, so that a test can put them into any order that the protocol allows.
//!
//! Touches only the scene. Invariant: it never says what a real Host could not say: frames
//! only to a subscriber, answers only to what was asked, nothing from before the admission.

use airlock_tests::scripted_host::{Scene, Turn, words};
use serde_json::{Value, json};

/// What the turn says.
pub const TEXT: &str = "ab";

/// What the tool's record says.
pub const RESULT: &str = "the result";

/// What the Host's turn does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// It becomes the session's root.
    Root,
    /// All of its text.
    Text,
    /// It rewrites what it said.
    Rewrite,
    /// A tool begins.
    ToolStart,
    /// The tool has ended; its record is told of separately.
    ToolEnd,
    /// Its rows are durable, and the feed says so.
    Durable,
    /// It completes.
    End,
    /// It completes, and its rows are durable, but the feed has not said so.
    Silent,
}

/// The Host.
#[derive(Clone, Debug)]
pub struct Life {
    /// What its turn will do.
    plan: Vec<Step>,
    done: Vec<Step>,
    turn: Option<Turn>,
    status: &'static str,
    durable: bool,
    subscribed: bool,
    /// A `turn.start` that it got and has not worked on, though its sender is gone.
    in_limbo: Option<Turn>,
    stopped: u32,
}

impl Life {
    /// A Host whose turn will do this, in any order that makes sense.
    pub fn new(plan: &[Step]) -> Life {
        Life {
            plan: plan.to_vec(),
            done: Vec::new(),
            turn: None,
            status: "",
            durable: false,
            subscribed: false,
            in_limbo: None,
            stopped: 0,
        }
    }

    /// Whether its turn goes on.
    pub fn live(&self) -> bool {
        self.status == "running"
    }

    /// Whether it says all that it had to say.
    pub fn completed(&self) -> bool {
        self.status == "completed"
    }

    /// Whether it did this.
    pub fn did(&self, step: Step) -> bool {
        self.done.contains(&step)
    }

    /// What its turn may do next.
    pub fn steps(&self) -> Vec<Step> {
        let left = self.plan.iter().filter(|step| !self.did(**step));
        left.copied().filter(|step| self.may(*step)).collect()
    }

    fn may(&self, step: Step) -> bool {
        if self.turn.is_none() {
            return false;
        }
        let all_said = [Step::Text, Step::ToolStart]
            .into_iter()
            .all(|step| !self.plan.contains(&step) || self.did(step));
        match step {
            Step::Root => true,
            Step::Text | Step::ToolStart => self.live() && self.did(Step::Root),
            Step::Rewrite => self.live() && self.did(Step::Text),
            // What comes late may come after the end.
            Step::ToolEnd => self.did(Step::ToolStart) && self.status != "cancelled",
            Step::Durable => self.did(Step::Root) && all_said && self.status != "cancelled",
            Step::End | Step::Silent => self.live() && self.did(Step::Root) && all_said,
        }
    }

    /// Its turn does it.
    pub fn does(&mut self, scene: &mut Scene, step: Step) {
        let Some(turn) = self.turn.clone() else {
            return;
        };
        self.done.push(step);
        let line = match step {
            Step::Root => self.root_line(scene),
            Step::Text => self
                .subscribed
                .then(|| scene.text_line(&turn, "m1", 0, TEXT)),
            Step::Rewrite => {
                let delta = json!({ "kind": "text", "turnId": turn.id, "runId": turn.run,
                    "messageId": "m1", "startOffset": 0, "text": "other", "reset": true,
                    "complete": true });
                self.frame(scene, "session_delta", &json!({ "delta": delta }))
            }
            Step::ToolStart => {
                let event = json!({ "type": "tool_start", "id": "e1", "toolName": "Bash",
                                    "activityKind": "command" });
                self.event(scene, &turn, event)
            }
            Step::ToolEnd => {
                let event = json!({ "type": "tool_result", "id": "e2", "status": "completed",
                                    "durationMs": 5 });
                self.event(scene, &turn, event)
            }
            Step::Durable => {
                self.durable = true;
                let through = json!({ "throughSequence": self.through() });
                self.frame(scene, "transcript_advanced", &through)
            }
            Step::End => {
                // What a turn said is stored before it ends, and the feed says so.
                if !self.did(Step::Durable) {
                    self.does(scene, Step::Durable);
                }
                self.status = "completed";
                self.root_line(scene)
            }
            Step::Silent => {
                self.durable = true;
                self.status = "completed";
                self.root_line(scene)
            }
        };
        if let Some(line) = line {
            scene.says([line]);
        }
    }

    /// Whether it may work on a `turn.start` now.
    pub fn may_admit(&self, scene: &Scene) -> bool {
        self.turn.is_none()
            && (self.in_limbo.is_some() || scene.desk.host.waiting().contains(&"turn.start"))
    }

    /// It admits the turn; its answer comes later.
    pub fn admits(&mut self, scene: &mut Scene) {
        let turn = self.in_limbo.take().unwrap_or_else(|| asked_turn(scene));
        self.turn = Some(turn);
        self.status = "running";
    }

    /// The oldest waiting request of each kind that it could answer now.
    pub fn answerable(&self, scene: &Scene) -> Vec<&'static str> {
        const OPERATIONS: [&str; 5] = [
            "subscription.open",
            "turn.start",
            "turn.query",
            "turn.stop",
            "session.transcript.page",
        ];
        let waiting = scene.desk.host.waiting();
        let could = |operation: &&str| match *operation {
            // It answers only when the turn is its root and runs.
            "turn.start" => self.turn.is_some() && self.did(Step::Root),
            // It works in order: what became of a turn is not told before it was looked at.
            "turn.query" => self.in_limbo.is_none() && !waiting.contains(&"turn.start"),
            _ => true,
        };
        let asked = OPERATIONS.into_iter().filter(|it| waiting.contains(it));
        asked.filter(could).collect()
    }

    /// It answers the oldest request of this kind.
    pub fn answers(&mut self, scene: &mut Scene, operation: &str) {
        let asked = scene.asked(operation);
        let lines = match operation {
            "subscription.open" => {
                self.subscribed = true;
                let root = self.root(scene);
                let rows = self.rows().len();
                let through = if self.durable && rows > 0 {
                    json!(self.through())
                } else {
                    Value::Null
                };
                let mut more = json!({});
                if self.live() && !self.durable && rows > 0 {
                    let rows: Vec<Value> = self
                        .rows()
                        .into_iter()
                        .enumerate()
                        .map(|(at, row)| words::overlay(at as u64, &row))
                        .collect();
                    more = json!({ "overlayMessageCount": rows.len(), "overlay": words::page(&rows, None) });
                }
                vec![scene.opening(&asked, &root, &through, &more)]
            }
            "turn.start" => {
                let started = json!({ "kind": "started", "turn": self.root(scene) });
                vec![asked.result(&started)]
            }
            "turn.query" => match &self.turn {
                Some(turn) if asked.input["turnId"] == turn.id => {
                    vec![asked.result(&self.root(scene))]
                }
                _ => vec![asked.error("not_found", "Turn was not admitted")],
            },
            "turn.stop" => {
                self.stopped += 1;
                let mut lines = Vec::new();
                if self.live() {
                    self.status = "cancelled";
                    lines.extend(self.root_line(scene));
                }
                lines.push(asked.result(&self.root(scene)));
                lines
            }
            _ => {
                let rows = self.rows().into_iter().enumerate();
                let rows: Vec<Value> = rows
                    .map(|(at, row)| words::durable(at as u64 + 2, &row))
                    .collect();
                vec![asked.result(&words::page(&rows, None))]
            }
        };
        scene.says(lines);
    }

    /// It fails to say what became of the turn.
    pub fn fails(&mut self, scene: &mut Scene, operation: &str) {
        let asked = scene.asked(operation);
        scene.error(&asked, "internal_failure", "try again");
    }

    /// The connection breaks. A `turn.start` that waits is worked on later, or never.
    pub fn loses(&mut self, scene: &mut Scene, keeps: bool) {
        if keeps && self.turn.is_none() && scene.desk.host.waiting().contains(&"turn.start") {
            self.in_limbo = Some(asked_turn(scene));
        }
        self.subscribed = false;
        scene.lose();
    }

    /// The Host evicts the reader.
    pub fn evicts(&mut self, scene: &mut Scene) {
        self.subscribed = false;
        scene.closed("slow_consumer");
    }

    /// Whether somebody reads its feed.
    pub fn subscribed(&self) -> bool {
        self.subscribed
    }

    /// Does all that is left, in its usual order.
    pub fn lives_on(&mut self, scene: &mut Scene) -> bool {
        if self.may_admit(scene) {
            self.admits(scene);
        } else if let Some(operation) = self.answerable(scene).first() {
            self.answers(scene, operation);
        } else if let Some(step) = self.steps().first() {
            self.does(scene, *step);
        } else {
            return false;
        }
        true
    }

    /// Becomes a Host whose next turn says everything plainly.
    pub fn next_turn(&mut self) {
        *self = Life {
            subscribed: self.subscribed,
            ..Life::new(&[Step::Root, Step::Text, Step::End])
        };
    }

    fn root(&self, scene: &Scene) -> Value {
        match &self.turn {
            Some(turn) if self.did(Step::Root) || !self.live() => scene.told(turn, self.status),
            _ => Value::Null,
        }
    }

    fn root_line(&self, scene: &mut Scene) -> Option<String> {
        let root = self.root(scene);
        self.subscribed.then(|| scene.root_line(&root, &[]))
    }

    fn frame(&self, scene: &mut Scene, kind: &str, more: &Value) -> Option<String> {
        self.subscribed.then(|| scene.frame(kind, more))
    }

    fn event(&self, scene: &mut Scene, turn: &Turn, mut event: Value) -> Option<String> {
        event["turnId"] = json!(turn.id);
        event["toolUseId"] = json!("t1");
        let more = json!({ "runId": turn.run, "event": event });
        self.frame(scene, "session_event", &more)
    }

    fn through(&self) -> usize {
        self.rows().len() + 1
    }

    fn rows(&self) -> Vec<Value> {
        let Some(turn) = &self.turn else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        if self.did(Step::Text) {
            rows.push(words::assistant(&turn.id, "m1", TEXT));
        }
        if self.did(Step::ToolStart) {
            rows.push(words::tool_call(&turn.id, "t1"));
            if self.durable {
                rows.push(words::tool_result(&turn.id, "t1", RESULT));
            }
        }
        rows
    }
}

fn asked_turn(scene: &mut Scene) -> Turn {
    let asked = scene.asked("turn.start");
    let id = asked.input["turnId"].as_str().unwrap().to_owned();
    scene.desk.host.put_back(asked);
    Turn {
        prompt: 0,
        id,
        run: "run-1".to_owned(),
    }
}
