//! A load or a resume, the turn that runs meanwhile and the one after it, and what an editor
//! or a network may do, in pairs, at every point and with the Host's answers early or late
//! (27.27): every request has one answer, no text is lost or doubled, no turn of another
//! client is stopped unasked, nothing hangs.

use airlock_tests::conversation::CWD;
use airlock_tests::scripted_host::{Asked, Scene, Turn, each_way_bare, words};
use serde_json::{Value, json};

/// What may happen at any point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The request is taken back.
    TakeBack,
    Close,
    /// Another load, or resume.
    Again,
    /// A prompt of ours.
    Prompt,
    Leave,
    Lose,
    /// The Host evicts the reader.
    Evict,
    /// A frame is skipped.
    Skip,
}

const EVENTS: [Event; 8] = [
    Event::TakeBack,
    Event::Close,
    Event::Again,
    Event::Prompt,
    Event::Leave,
    Event::Lose,
    Event::Evict,
    Event::Skip,
];

/// Ticks of an undisturbed scene.
const TICKS: usize = 34;

/// Who goes first: the Host's answers, or its turns.
#[derive(Clone, Copy, Debug)]
enum Pace {
    Answers,
    Turns,
    InTurns,
}

const PACES: [Pace; 3] = [Pace::Answers, Pace::Turns, Pace::InTurns];

/// A Host that lives: rows, and turns of other clients that come one after another.
struct Life {
    rows: Vec<Value>,
    /// To come, with their texts.
    turns: Vec<(&'static str, &'static str)>,
    turn: Option<Running>,
    root: Value,
    subscribed: bool,
    ticks: usize,
}

struct Running {
    turn: Turn,
    text: &'static str,
    /// Admission, question, one a character, the whole, its end in the store, its end.
    stage: usize,
}

impl Running {
    fn message(&self) -> String {
        format!("{}-a", self.turn.id)
    }

    fn said(&self) -> &'static str {
        &self.text[..self.stage.saturating_sub(2).min(self.text.len())]
    }

    fn row(&self) -> Value {
        words::assistant(&self.turn.id, &self.message(), self.said())
    }

    fn durable(&self) -> bool {
        self.stage > self.text.len() + 2
    }
}

impl Life {
    /// A turn is over, another one runs (three steps into it), a third one will.
    fn new() -> Life {
        let mut life = Life {
            rows: vec![
                words::user("t1", "t1-u", "?"),
                words::assistant("t1", "t1-a", "past"),
                words::turn_state("t1", "completed", &json!({})),
            ],
            turns: vec![("t3", "xyz"), ("t2", "abcd")],
            turn: None,
            root: Value::Null,
            subscribed: false,
            ticks: 0,
        };
        let mut scene = Scene::plain();
        for _ in 0..4 {
            life.goes_on(&mut scene);
        }
        life
    }

    fn tick(&mut self, scene: &mut Scene, pace: Pace) {
        self.ticks += 1;
        let answers = match pace {
            Pace::Answers => true,
            Pace::Turns => self.turn.is_none() && self.turns.is_empty(),
            Pace::InTurns => self.ticks.is_multiple_of(2),
        };
        let waiting = scene.desk.host.waiting().first().map(|it| (*it).to_owned());
        match waiting.filter(|_| answers || !self.subscribed) {
            Some(operation) => {
                let asked = scene.asked(&operation);
                let lines = self.does(scene, &asked);
                scene.says(lines);
            }
            None => self.goes_on(scene),
        }
    }

    fn does(&mut self, scene: &mut Scene, asked: &Asked) -> Vec<String> {
        match asked.operation.as_str() {
            "session.catalog.query" => {
                let item = words::session(&json!("stored"), &json!(CWD));
                vec![asked.result(&json!({ "kind": "session", "session": item }))]
            }
            "subscription.open" => {
                self.subscribed = true;
                let mut more = json!({});
                if let Some(turn) = self
                    .turn
                    .as_ref()
                    .filter(|it| !it.said().is_empty() && !it.durable())
                {
                    let row = words::overlay(0, &turn.row());
                    more =
                        json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
                }
                let through = json!(self.rows.len() - 1);
                vec![scene.opening(asked, &self.root.clone(), &through, &more)]
            }
            // One row a page.
            "session.transcript.page" => {
                let through = asked.input["throughSequence"].as_u64().unwrap();
                let at = match asked.input["cursor"].as_str() {
                    Some(cursor) => cursor[1..].parse().unwrap(),
                    None => asked.input["anchorSequence"]
                        .as_u64()
                        .map_or(0, |it| it + 1),
                };
                let row = words::durable(at, &self.rows[usize::try_from(at).unwrap()]);
                let next = (at < through).then(|| format!("c{}", at + 1));
                vec![asked.result(&words::page(&[row], next.as_deref()))]
            }
            "turn.start" if self.turn.is_some() => {
                vec![asked.error("session_busy", "a turn runs")]
            }
            "turn.start" => {
                let id = asked.input["turnId"].as_str().unwrap();
                let turn = words::turn("stored", id, "run-o", "completed", &json!({}));
                self.root = turn.clone();
                let line = self.subscribed.then(|| scene.root_line(&turn, &[]));
                let result = asked.result(&json!({ "kind": "started", "turn": turn }));
                line.into_iter().chain([result]).collect()
            }
            "turn.query" => vec![asked.error("not_found", "Turn was not admitted")],
            "turn.stop" => {
                self.turn = None;
                self.root["status"] = json!("cancelled");
                let root = self.root.clone();
                let line = self.subscribed.then(|| scene.root_line(&root, &[]));
                line.into_iter().chain([asked.result(&root)]).collect()
            }
            _ => vec![asked.error("operation_unavailable", "not here")],
        }
    }

    /// The turns of others go on by one step.
    fn goes_on(&mut self, scene: &mut Scene) {
        if self.turn.is_none() {
            let Some((id, text)) = self.turns.pop() else {
                return;
            };
            let turn = Turn {
                prompt: 0,
                id: id.to_owned(),
                run: format!("run-{id}"),
            };
            self.turn = Some(Running {
                turn,
                text,
                stage: 0,
            });
        }
        let Some(running) = &mut self.turn else {
            return;
        };
        running.stage += 1;
        let (id, stage, long) = (running.turn.id.clone(), running.stage, running.text.len());
        let status = if stage == long + 5 {
            "completed"
        } else {
            "running"
        };
        let root = words::turn("stored", &id, &running.turn.run, status, &json!({}));
        let line = match stage {
            1 => {
                self.root = root.clone();
                self.subscribed.then(|| scene.root_line(&root, &[]))
            }
            2 => self.stores(scene, words::user(&id, &format!("{id}-u"), "?")),
            _ if stage <= long + 2 => {
                let (turn, message) = (running.turn.clone(), running.message());
                let at = stage - 3;
                let text = &running.text[at..=at];
                self.subscribed
                    .then(|| scene.text_line(&turn, &message, at as u64, text))
            }
            _ if stage == long + 3 => {
                let row = running.row();
                self.stores(scene, row)
            }
            _ if stage == long + 4 => {
                self.stores(scene, words::turn_state(&id, "completed", &json!({})))
            }
            _ => {
                self.root = root.clone();
                self.turn = None;
                self.subscribed.then(|| scene.root_line(&root, &[]))
            }
        };
        if let Some(line) = line {
            scene.says([line]);
        }
    }

    fn stores(&mut self, scene: &mut Scene, row: Value) -> Option<String> {
        self.rows.push(row);
        let through = json!({ "throughSequence": self.rows.len() - 1 });
        self.subscribed
            .then(|| scene.frame("transcript_advanced", &through))
    }
}

/// What the editor has asked.
struct Editor {
    method: &'static str,
    loads: Vec<u64>,
    prompts: Vec<u64>,
    /// Length of the log when a text may come again.
    afresh: usize,
}

impl Editor {
    fn load(&mut self, scene: &mut Scene) {
        let params = json!({ "sessionId": "stored", "cwd": CWD, "mcpServers": [] });
        let id = scene.desk.request(self.method, &params);
        scene.settle();
        self.loads.push(id);
    }

    fn does(&mut self, scene: &mut Scene, life: &mut Life, event: Event) {
        let connected = !scene.desk.channels().is_empty();
        match event {
            Event::TakeBack => scene.cancel_request(*self.loads.last().unwrap()),
            Event::Close => {
                let close = scene.close();
                let unknown = |it: String| it.contains("unknown_session");
                if !scene.answer(close).is_some_and(unknown) {
                    self.afresh = scene.desk.log.len();
                }
            }
            Event::Again => self.load(scene),
            Event::Prompt => {
                let prompt = scene.prompt("mine");
                self.prompts.push(prompt);
            }
            Event::Leave => scene.hang_up(),
            Event::Skip => scene.sequence += u64::from(life.subscribed),
            Event::Evict if life.subscribed && connected => {
                life.subscribed = false;
                scene.closed("slow_consumer");
            }
            Event::Lose if connected => {
                life.subscribed = false;
                scene.lose();
            }
            Event::Evict | Event::Lose => {}
        }
    }
}

fn play(scene: &mut Scene, method: &'static str, pace: Pace, events: &[(usize, Event)]) {
    scene.desk.initialize();
    scene.session = "stored".to_owned();
    let mut life = Life::new();
    let mut editor = Editor {
        method,
        loads: Vec::new(),
        prompts: Vec::new(),
        afresh: 0,
    };
    editor.load(scene);
    for tick in 0..=TICKS {
        for (_, event) in events.iter().filter(|(at, _)| *at == tick) {
            if scene.desk.done.is_none() {
                editor.does(scene, &mut life, *event);
            }
        }
        if scene.desk.done.is_none() {
            life.tick(scene, pace);
        }
    }
    rest(scene, &mut life);
    check(scene, &editor, events);
    if scene.desk.done.is_some() {
        return;
    }
    // Whatever has happened: from a load on, everything is known.
    let before = scene.desk.log.len();
    editor.method = "session/load";
    let retry = answer(scene, *editor.loads.last().unwrap()).contains(" error ");
    editor.load(scene);
    rest(scene, &mut life);
    let last = *editor.loads.last().unwrap();
    assert_eq!(
        answer(scene, last),
        format!("{last} {{}}"),
        "{}",
        log(scene, events)
    );
    // One that went on where another broke off told only the rest.
    if retry && editor.loads.len() > 2 {
        return;
    }
    let had_all = if retry && method == "session/load" {
        editor.afresh
    } else {
        before
    };
    whole(scene, had_all, &life, events);
}

fn rest(scene: &mut Scene, life: &mut Life) {
    for _ in 0..45 {
        if scene.desk.done.is_none() {
            life.tick(scene, Pace::Answers);
            scene.wait(50);
        }
    }
}

fn answer(scene: &Scene, id: u64) -> String {
    scene
        .answer(id)
        .unwrap_or_else(|| panic!("no answer to {id}: {}", log(scene, &[])))
}

fn log(scene: &Scene, events: &[(usize, Event)]) -> String {
    let sent: Vec<&str> = scene.desk.to_host.iter().map(|(_, line)| &**line).collect();
    format!(
        "{events:?}\n{}\n{}\n{:?}",
        scene.desk.log.join("\n"),
        sent.join("\n"),
        scene.desk.notes
    )
}

/// Texts by message, from this line of the log on.
fn texts(scene: &Scene, from: usize) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in scene.desk.log[from..]
        .iter()
        .filter_map(|it| it.strip_prefix("< "))
    {
        let update = &serde_json::from_str::<Value>(line).unwrap()["params"]["update"];
        let (Some(id), Some(text)) = (
            update["messageId"].as_str(),
            update["content"]["text"].as_str(),
        ) else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| known == id) {
            Some((_, whole)) => whole.push_str(text),
            None => all.push((id.to_owned(), text.to_owned())),
        }
    }
    all
}

fn stored(life: &Life) -> Vec<(String, String)> {
    let told = life.rows.iter().filter(|row| row["text"].is_string());
    told.map(|row| {
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        (text("id"), text("text"))
    })
    .collect()
}

fn whole(scene: &Scene, from: usize, life: &Life, events: &[(usize, Event)]) {
    let mut shown = texts(scene, from);
    let mut wanted = stored(life);
    shown.sort();
    wanted.sort();
    assert_eq!(shown, wanted, "{}", log(scene, events));
}

fn check(scene: &Scene, editor: &Editor, events: &[(usize, Event)]) {
    let had = |wanted: Event| events.iter().any(|(_, event)| *event == wanted);
    assert!(scene.desk.unanswered().is_empty(), "{}", log(scene, events));
    for load in &editor.loads {
        let answer = answer(scene, *load);
        let fine = answer == format!("{load} {{}}")
            || had(Event::Lose) && answer.contains("request_interrupted")
            || had(Event::TakeBack) && answer.contains("-32800")
            || had(Event::Close) && answer.contains("unknown_session")
            || had(Event::Leave) && answer.contains("registry_closed");
        assert!(fine, "{answer}: {}", log(scene, events));
    }
    for prompt in &editor.prompts {
        let answer = answer(scene, *prompt);
        let fine = answer == format!("{prompt} end_turn")
            || answer.contains("unknown_session")
            || answer.contains("session_busy")
            || had(Event::Leave) && answer.contains("registry_closed")
            || had(Event::Lose) && answer.contains("request_interrupted")
            || (had(Event::Close) || had(Event::Leave)) && answer.ends_with(" cancelled");
        assert!(fine, "{answer}: {}", log(scene, events));
    }
    if !had(Event::Close) && !had(Event::Leave) {
        assert_eq!(scene.count("turn.stop"), 0, "{}", log(scene, events));
    }
    if had(Event::Leave) {
        assert_eq!(scene.desk.done, Some(0), "{}", log(scene, events));
        assert!(scene.desk.left_armed.is_empty(), "{}", log(scene, events));
    }
    let again = had(Event::Again) && editor.method == "session/load";
    if !again {
        for (id, text) in texts(scene, editor.afresh) {
            let whole = ["past", "abcd", "xyz", "?"];
            let part = |whole: &&str| whole.contains(&*text);
            assert!(
                whole.iter().any(part),
                "{id} {text}: {}",
                log(scene, events)
            );
        }
    }
}

const METHODS: [&str; 2] = ["session/load", "session/resume"];

/// Undisturbed, everything is told once, whatever comes first.
#[test]
fn given_a_turn_that_runs_when_taken_in_at_any_pace_then_everything_is_told_once() {
    for pace in PACES {
        each_way_bare(|scene| play(scene, METHODS[0], pace, &[]));
        each_way_bare(|scene| play(scene, METHODS[1], pace, &[]));
        let mut scene = Scene::plain();
        scene.desk.initialize();
        scene.session = "stored".to_owned();
        let mut life = Life::new();
        let mut editor = Editor {
            method: METHODS[0],
            loads: Vec::new(),
            prompts: Vec::new(),
            afresh: 0,
        };
        editor.load(&mut scene);
        for _ in 0..TICKS {
            life.tick(&mut scene, pace);
        }
        rest(&mut scene, &mut life);
        whole(&scene, 0, &life, &[]);
    }
}

/// One event at every point, in every way.
#[test]
fn given_one_event_at_any_point_of_a_load_when_it_comes_then_all_holds_in_every_way() {
    for method in METHODS {
        for pace in PACES {
            for event in EVENTS {
                for at in (0..=TICKS).step_by(12) {
                    each_way_bare(|scene| play(scene, method, pace, &[(at, event)]));
                }
            }
        }
    }
}

/// Two events at every pair of points, one way.
#[test]
fn given_two_events_at_any_points_of_a_load_when_they_come_then_all_holds() {
    let mut scenes = 0;
    for (at, first) in (0..=TICKS).flat_map(|at| EVENTS.map(|event| (at, event))) {
        for (then, second) in (at..=TICKS)
            .step_by(2)
            .flat_map(|at| EVENTS.map(|event| (at, event)))
        {
            let pace = PACES[scenes % 3];
            let method = METHODS[scenes / 3 % 2];
            scenes += 1;
            if scenes % 7 == 0 {
                play(
                    &mut Scene::plain(),
                    method,
                    pace,
                    &[(at, first), (then, second)],
                );
            }
        }
    }
    println!("{scenes} scenes, every seventh was played");
}
