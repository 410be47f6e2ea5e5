//! What an editor or a network may do, in pairs, at every point of a turn: whatever comes
//! when, each prompt has one answer, no text is lost or doubled, no turn is started or
//! stopped twice, nothing hangs, and the session takes the next prompt.

use airlock_tests::scripted_host::{Asked, Scene, Turn, each_way, words};
use serde_json::{Value, json};

/// What the Host says in the whole turn.
const TEXT: &str = "abcd";

/// What may happen at any point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Cancel,
    Close,
    Leave,
    /// The connection breaks; what the Host was asked and has not done is lost.
    Lose,
    /// The same, but what it was asked is done, and only the answers are lost.
    LoseAnswers,
    /// The Host evicts the reader.
    Evict,
    /// A frame is skipped.
    Skip,
    /// Time passes.
    Wait,
}

const EVENTS: [Event; 8] = [
    Event::Cancel,
    Event::Close,
    Event::Leave,
    Event::Lose,
    Event::LoseAnswers,
    Event::Evict,
    Event::Skip,
    Event::Wait,
];

/// Ticks of an undisturbed turn, and one more.
const TICKS: usize = 11;

/// A Host that lives: it knows its turn, and answers from what it knows.
#[derive(Default)]
struct Life {
    turn: Option<Turn>,
    status: &'static str,
    said: usize,
    durable: bool,
    subscribed: bool,
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
        self.status == "running"
    }

    fn root(&self, scene: &Scene) -> Value {
        let turn = self.turn.as_ref();
        turn.map_or(Value::Null, |turn| scene.told(turn, self.status))
    }

    /// Does what it is asked; gives what it says then.
    fn does(&mut self, scene: &mut Scene, asked: &Asked) -> Vec<String> {
        match asked.operation.as_str() {
            "subscription.open" => {
                self.subscribed = true;
                let root = self.root(scene);
                let through = if self.durable { json!(3) } else { Value::Null };
                let mut more = json!({});
                if self.live() && !self.durable && self.said > 0 {
                    let row = words::overlay(0, &self.row());
                    more =
                        json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
                }
                vec![scene.opening(asked, &root, &through, &more)]
            }
            "turn.start" => {
                let id = asked.input["turnId"].as_str().unwrap().to_owned();
                self.turn = Some(Turn {
                    prompt: 0,
                    id,
                    run: "run-1".to_owned(),
                });
                (self.status, self.said, self.durable) = ("running", 0, false);
                let told = self.shows_root(scene);
                let started = json!({ "kind": "started", "turn": self.root(scene) });
                told.into_iter().chain([asked.result(&started)]).collect()
            }
            "turn.query" => match &self.turn {
                Some(turn) if asked.input["turnId"] == turn.id => {
                    vec![asked.result(&self.root(scene))]
                }
                _ => vec![asked.error("not_found", "Turn was not admitted")],
            },
            "turn.stop" => {
                let told = if self.live() {
                    self.status = "cancelled";
                    self.shows_root(scene)
                } else {
                    None
                };
                told.into_iter()
                    .chain([asked.result(&self.root(scene))])
                    .collect()
            }
            "session.transcript.page" => {
                let row = words::durable(2, &self.row());
                vec![asked.result(&words::page(&[row], None))]
            }
            other => panic!("{other} was asked"),
        }
    }

    fn goes_on(&mut self, scene: &mut Scene) {
        let Some(turn) = self.turn.clone().filter(|_| self.live()) else {
            return;
        };
        let line = if self.said < TEXT.len() {
            self.said += 1;
            self.subscribed.then(|| {
                scene.text_line(
                    &turn,
                    "m1",
                    self.said as u64 - 1,
                    &TEXT[self.said - 1..self.said],
                )
            })
        } else if !self.durable {
            self.durable = true;
            self.subscribed
                .then(|| scene.frame("transcript_advanced", &json!({ "throughSequence": 3 })))
        } else {
            self.status = "completed";
            self.shows_root(scene)
        };
        if let Some(line) = line {
            scene.says([line]);
        }
    }

    fn row(&self) -> Value {
        let turn = self.turn.as_ref().map_or("", |turn| &turn.id);
        words::assistant(turn, "m1", &TEXT[..self.said])
    }

    fn shows_root(&self, scene: &mut Scene) -> Option<String> {
        let root = self.root(scene);
        self.subscribed.then(|| scene.root_line(&root, &[]))
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

    fn happens(&mut self, scene: &mut Scene, event: Event) {
        let connected = !scene.desk.channels().is_empty();
        match event {
            Event::Cancel => scene.cancel(),
            Event::Close => {
                scene.close();
            }
            Event::Leave => scene.hang_up(),
            Event::Wait => scene.wait(50),
            Event::Skip => scene.sequence += u64::from(self.subscribed),
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
    }
}

fn play(scene: &mut Scene, events: &[(usize, Event)]) {
    let mut life = Life::default();
    let prompt = scene.prompt("hello");
    for tick in 0..=TICKS {
        for (_, event) in events.iter().filter(|(at, _)| *at == tick) {
            if scene.desk.done.is_none() {
                life.happens(scene, *event);
            }
        }
        if scene.desk.done.is_none() {
            life.tick(scene);
        }
    }
    for _ in 0..60 {
        if scene.desk.done.is_none() {
            scene.wait(100);
            life.tick(scene);
        }
    }
    check(scene, events, prompt, &life);
    goes_on(scene, events, &mut life);
}

fn check(scene: &Scene, events: &[(usize, Event)], prompt: u64, life: &Life) {
    let count = |wanted: &[Event]| {
        let had = events.iter().filter(|(_, event)| wanted.contains(event));
        had.count()
    };
    let story = || scene.story(&events);
    let losses = count(&[Event::Lose, Event::LoseAnswers]);
    let lossy = losses > 0;
    let answer = scene.settled(prompt, losses, &events);
    let shown = scene.said_of(TEXT, &events);
    let ended = count(&[Event::Cancel, Event::Close, Event::Leave]) > 0;
    match &*answer {
        "end_turn" => assert_eq!(shown, TEXT, "{}", story()),
        "cancelled" => {
            assert!(ended, "{}", story());
            assert!(lossy || !life.live(), "an orphan: {}", story());
        }
        error => assert!(
            lossy && error.contains("request_interrupted"),
            "{error}: {}",
            story()
        ),
    }
    if !ended && !lossy {
        assert_eq!(answer, "end_turn", "{}", story());
    }
    if count(&[Event::Leave]) > 0 {
        scene.gone(&events);
    }
}

/// The session takes the next prompt.
fn goes_on(scene: &mut Scene, events: &[(usize, Event)], life: &mut Life) {
    if events
        .iter()
        .any(|(_, event)| matches!(event, Event::Close | Event::Leave))
    {
        return;
    }
    if life.live() {
        life.status = "completed"; // What nobody could stop ends some time.
        if let Some(line) = life.shows_root(scene) {
            scene.says([line]);
        }
    }
    let prompt = scene.prompt("again");
    for _ in 0..30 {
        life.tick(scene);
        scene.wait(10);
    }
    let answer = scene.answer(prompt);
    assert_eq!(
        answer,
        Some(format!("{prompt} end_turn")),
        "{}",
        scene.story(&events)
    );
}

/// One event at every point, in every way.
#[test]
fn given_one_event_at_any_point_of_a_turn_when_it_comes_then_all_holds_in_every_way() {
    for event in EVENTS {
        for at in 0..=TICKS {
            each_way(|scene| play(scene, &[(at, event)]));
        }
    }
}

/// Two events at every pair of points. That time passes between them is shown above and
/// below.
#[test]
fn given_two_events_at_any_points_of_a_turn_when_they_come_then_all_holds() {
    let events = || EVENTS.into_iter().filter(|event| *event != Event::Wait);
    for first in events() {
        for second in events() {
            for at in 0..=TICKS {
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
fn given_many_events_at_any_points_of_a_turn_when_they_come_then_all_holds() {
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
            events.push((draw(TICKS + 1), EVENTS[draw(EVENTS.len())]));
        }
        let mut scene = Scene::in_way(draw(4));
        scene.begin();
        play(&mut scene, &events);
    }
}
