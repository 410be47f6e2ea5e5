//! Races of a question (Maka adapter, section 27, races 5, 12 and 25): what user, Host,
//! another client and network may do, in pairs and more, at every point of a turn that
//! asks. Whatever comes when: the user is asked at most once, an answer is only what the
//! user said, none goes out after a Stop, nothing stays open, every prompt is answered.

use airlock_tests::scripted_host::{Asked, Scene, Turn, each_way, words};
use serde_json::{Value, json};

/// What may happen at any point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The user says yes, if asked.
    Allow,
    /// The user turns away, if asked.
    TurnAway,
    Cancel,
    Close,
    /// Another client answers: no.
    Elsewhere,
    /// The Host closes the question.
    TimesOut,
    /// The Host ends the turn.
    Ends,
    /// The connection breaks; what the Host was asked and has not done is lost.
    Lose,
    /// The same, but what it was asked is done, and only the answers are lost.
    LoseAnswers,
    /// The Host evicts the reader.
    Evict,
}

const EVENTS: [Event; 10] = [
    Event::Allow,
    Event::TurnAway,
    Event::Cancel,
    Event::Close,
    Event::Elsewhere,
    Event::TimesOut,
    Event::Ends,
    Event::Lose,
    Event::LoseAnswers,
    Event::Evict,
];

/// Ticks of an undisturbed turn, and one more.
const TICKS: usize = 8;

/// When the user answers by itself, if nothing happened.
const PATIENCE: usize = 5;

/// A Host that lives: it knows its turn and its question, and answers from what it knows.
#[derive(Default)]
struct Life {
    turn: Option<Turn>,
    status: &'static str,
    question: Option<Value>,
    subscribed: bool,
    /// What the user said, for every question that was put.
    replied: Vec<u64>,
    allowed: bool,
}

impl Life {
    /// The Host does one thing: it answers what it was asked, or its turn goes on.
    fn tick(&mut self, scene: &mut Scene) {
        let waiting = scene.desk.host.waiting().first().map(|it| (*it).to_owned());
        match waiting {
            Some(operation) => {
                let asked = scene.asked(&operation);
                let lines = self.does(scene, &asked);
                scene.says(lines);
            }
            None => self.goes_on(scene),
        }
    }

    fn live(&self) -> bool {
        matches!(self.status, "running" | "waiting_for_user")
    }

    fn pending(&self) -> Vec<Value> {
        let pending = |it: &&Value| it["status"] == "pending";
        self.question.iter().filter(pending).cloned().collect()
    }

    fn root(&self, scene: &Scene) -> Value {
        let turn = self.turn.as_ref();
        turn.map_or(Value::Null, |turn| scene.told(turn, self.status))
    }

    fn shows(&self, scene: &mut Scene) -> Vec<String> {
        let root = self.root(scene);
        let line = self
            .subscribed
            .then(|| scene.root_line(&root, &self.pending()));
        line.into_iter().collect()
    }

    fn resolve(&mut self, status: &str, outcome: &Value) {
        if let Some(question) = &mut self.question
            && question["status"] == "pending"
        {
            *question = words::resolved(question, status, outcome);
            self.status = if self.live() { "running" } else { self.status };
        }
    }

    fn end(&mut self, status: &'static str) {
        if self.live() {
            self.resolve(
                "closed",
                &json!({ "kind": "closure", "reason": "turn_terminal" }),
            );
            self.status = status;
        }
    }

    /// Does what it is asked; gives what it says then.
    fn does(&mut self, scene: &mut Scene, asked: &Asked) -> Vec<String> {
        match asked.operation.as_str() {
            "subscription.open" => {
                self.subscribed = true;
                let more = json!({ "pending": self.pending() });
                let root = self.root(scene);
                vec![scene.opening(asked, &root, &Value::Null, &more)]
            }
            "turn.start" => {
                let id = asked.input["turnId"].as_str().unwrap().to_owned();
                let session = scene.session.clone();
                let request = words::request("permission");
                self.question = Some(words::pending(&session, &id, "i1", &request));
                self.turn = Some(Turn {
                    prompt: 0,
                    id,
                    run: "run-1".to_owned(),
                });
                self.status = "waiting_for_user";
                let mut lines = self.shows(scene);
                let started = json!({ "kind": "started", "turn": self.root(scene) });
                lines.push(asked.result(&started));
                lines
            }
            "turn.query" => match &self.turn {
                Some(turn) if asked.input["turnId"] == turn.id => {
                    vec![asked.result(&self.root(scene))]
                }
                _ => vec![asked.error("not_found", "Turn was not admitted")],
            },
            "turn.stop" => {
                self.end("cancelled");
                let mut lines = self.shows(scene);
                lines.push(asked.result(&self.root(scene)));
                lines
            }
            "interaction.query" => vec![asked.result(self.question.as_ref().unwrap())],
            "interaction.answer" => {
                let answer = &asked.input["answer"];
                let outcome = json!({ "kind": "permission_answer", "reviewer": "user",
                    "decision": answer["decision"], "rememberForTurn": false });
                let question = self.question.clone().unwrap();
                if question["status"] != "pending" && question["outcome"] != outcome {
                    return vec![asked.error("already_resolved", "resolved")];
                }
                let was_pending = question["status"] == "pending";
                self.resolve("answered", &outcome);
                // The snapshot comes before the answer, as recorded.
                let mut lines = if was_pending {
                    self.shows(scene)
                } else {
                    Vec::new()
                };
                lines.push(asked.result(self.question.as_ref().unwrap()));
                lines
            }
            other => panic!("{other} was asked"),
        }
    }

    fn goes_on(&mut self, scene: &mut Scene) {
        if self.status == "running" {
            self.end("completed");
            let lines = self.shows(scene);
            if !lines.is_empty() {
                scene.says(lines);
            }
        }
    }

    /// Does all that it was asked, and says nothing.
    fn does_all(&mut self, scene: &mut Scene) {
        while let Some(operation) = scene.desk.host.waiting().first() {
            let operation = (*operation).to_owned();
            let asked = scene.asked(&operation);
            if operation != "subscription.open" {
                self.does(scene, &asked);
            }
        }
    }

    /// The user answers the question that is open, or was when it was put.
    fn replies(&mut self, scene: &mut Scene, result: &dyn Fn(&Value) -> Value) -> bool {
        let Some(asked) = put(scene) else {
            return false;
        };
        let number = asked["id"].as_u64().unwrap();
        let open = scene.desk.asking().contains(&number.to_string().as_str());
        if self.replied.contains(&number) {
            return false;
        }
        self.replied.push(number);
        scene.desk.reply(&asked["id"], &result(&asked));
        scene.settle();
        open
    }

    fn allow(&mut self, scene: &mut Scene) {
        let open = self.replies(scene, &|asked| {
            let id = &asked["params"]["options"][0]["optionId"];
            json!({ "outcome": { "outcome": "selected", "optionId": id } })
        });
        self.allowed |= open;
    }

    fn happens(&mut self, scene: &mut Scene, event: Event) {
        let connected = !scene.desk.channels().is_empty();
        let mut shows = false;
        match event {
            Event::Allow => self.allow(scene),
            Event::TurnAway => {
                self.replies(scene, &|_| json!({ "outcome": { "outcome": "cancelled" } }));
            }
            Event::Cancel => scene.cancel(),
            Event::Close => {
                scene.close();
            }
            Event::Elsewhere if self.live() => {
                let outcome = json!({ "kind": "permission_answer", "decision": "deny" });
                self.resolve("answered", &outcome);
                shows = true;
            }
            Event::TimesOut if self.live() => {
                self.resolve(
                    "closed",
                    &json!({ "kind": "closure", "reason": "timed_out" }),
                );
                shows = true;
            }
            Event::Ends if self.live() => {
                self.end("completed");
                shows = true;
            }
            Event::Evict if self.subscribed && connected => {
                self.subscribed = false;
                scene.closed("slow_consumer");
            }
            Event::Lose | Event::LoseAnswers if connected => {
                self.subscribed = false;
                if event == Event::LoseAnswers {
                    self.does_all(scene);
                }
                scene.lose();
            }
            _ => {}
        }
        if shows && connected {
            let lines = self.shows(scene);
            scene.says(lines);
        }
    }
}

/// The question that was put to the user, if one was.
fn put(scene: &Scene) -> Option<Value> {
    let got = scene
        .desk
        .log
        .iter()
        .filter_map(|line| line.strip_prefix("< "));
    let mut messages = got.map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages.find(|it| it["method"] == "session/request_permission")
}

fn play(scene: &mut Scene, events: &[(usize, Event)]) {
    let mut life = Life::default();
    let prompt = scene.prompt("hello");
    for tick in 0..=TICKS {
        for (_, event) in events.iter().filter(|(at, _)| *at == tick) {
            life.happens(scene, *event);
        }
        if tick >= PATIENCE {
            life.allow(scene);
        }
        life.tick(scene);
    }
    for _ in 0..40 {
        scene.wait(100);
        life.allow(scene);
        life.tick(scene);
    }
    check(scene, events, prompt, &life);
}

fn check(scene: &Scene, events: &[(usize, Event)], prompt: u64, life: &Life) {
    let had = |wanted: &[Event]| events.iter().any(|(_, event)| wanted.contains(event));
    let log = || scene.story(&events);
    let losses = [Event::Lose, Event::LoseAnswers];
    let lossy = had(&losses);
    let loses = events.iter().filter(|(_, event)| losses.contains(event));
    let loses = loses.count();
    let answer = scene.settled(prompt, loses, &events);
    assert!(scene.desk.asking().is_empty(), "still asked: {}", log());
    let asked = scene.desk.log.iter();
    let asked = asked.filter(|line| line.contains("session/request_permission"));
    assert!(asked.count() <= 1, "asked twice: {}", log());
    let answers = scene.count("interaction.answer");
    assert!(answers <= 1 + loses, "{answers} answers: {}", log());
    assert!(answers == 0 || life.allowed, "nobody said so: {}", log());
    let operations = scene.desk.asked();
    let stop = operations.iter().position(|it| it == "turn.stop");
    let late = stop.is_some_and(|at| operations[at..].iter().any(|it| it == "interaction.answer"));
    assert!(!late, "answered after the Stop: {}", log());
    let outcome = life.question.as_ref().map(|it| &it["outcome"]);
    if let Some(outcome) = outcome.filter(|it| it["reviewer"] == "user") {
        assert_eq!(outcome["decision"], "allow", "{}", log());
    }
    let ending = [Event::Cancel, Event::Close, Event::TurnAway];
    match &*answer {
        "end_turn" => assert!(stop.is_none(), "{}", log()),
        "cancelled" => {
            assert!(had(&ending), "{}", log());
            assert!(lossy || !life.live(), "an orphan: {}", log());
        }
        error => assert!(
            lossy && error.contains("request_interrupted"),
            "{error}: {}",
            log()
        ),
    }
    if !had(&ending) && !lossy {
        assert_eq!(answer, "end_turn", "{}", log());
    }
}

/// One event at every point, in every way.
#[test]
fn given_one_event_at_any_point_of_a_question_when_it_comes_then_all_holds_in_every_way() {
    each_way(|scene| play(scene, &[]));
    for event in EVENTS {
        for at in 0..=TICKS {
            each_way(|scene| play(scene, &[(at, event)]));
        }
    }
}

/// Two events at every pair of points.
#[test]
fn given_two_events_at_any_points_of_a_question_when_they_come_then_all_holds() {
    for first in EVENTS {
        for second in EVENTS {
            for at in 2..=TICKS {
                for then in at..=TICKS {
                    let mut scene = Scene::plain();
                    scene.begin();
                    play(&mut scene, &[(at, first), (then, second)]);
                }
            }
        }
    }
}

/// Up to six events, by chance, in a way by chance; a failure prints its events.
#[test]
fn given_many_events_at_any_points_of_a_question_when_they_come_then_all_holds() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: usize| {
        // xorshift64: the same scenes everywhere.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as usize % below
    };
    for _ in 0..300 {
        let count = 3 + draw(4);
        let mut events: Vec<(usize, Event)> = Vec::new();
        for _ in 0..count {
            events.push((2 + draw(TICKS - 1), EVENTS[draw(EVENTS.len())]));
        }
        let mut scene = Scene::in_way(draw(4));
        scene.begin();
        play(&mut scene, &events);
    }
}
