//! Every order of events, each distinct state once.
//!
//! Each event is played on a fork of the scene before it; a state that was reached before is
//! not gone into again. Invariant: what the key of a state holds decides everything that
//! follows, so that leaving the second visit out leaves no order out.

use std::collections::HashMap;

use airlock_tests::scripted_host::Scene;

use super::host::{Life, Step};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// The editor cancels.
    Cancel,
    /// The editor closes the session.
    Close,
    /// The editor goes away.
    Leave,
    /// The connection breaks; a `turn.start` under way is lost too.
    Lose,
    /// The connection breaks; a `turn.start` under way is worked on later.
    LoseAnswers,
    /// The Host evicts the reader.
    Evict,
    /// The Host cannot say what became of the turn.
    QueryFails,
    /// The next timer goes off.
    Timer,
    /// The Host admits the turn.
    Admit,
    /// The Host answers.
    Answer(&'static str),
    /// The Host's turn goes on.
    Does(Step),
}

/// What races with what.
pub struct Race {
    /// What the editor, the network and the clock do, each as often as it is listed.
    pub alphabet: Vec<Event>,
    /// What the Host's turn does.
    pub plan: Vec<Step>,
    /// What has happened before.
    pub prepare: fn(&mut Scene, &mut Life),
}

/// A path at its end.
pub struct Played {
    /// Its events.
    pub path: Vec<Event>,
    /// The scene.
    pub scene: Scene,
    /// The Host.
    pub life: Life,
    /// The editor's request.
    pub prompt: u64,
}

/// How much there was.
#[derive(Debug, Default)]
pub struct Explored {
    /// Orders of events.
    pub orders: u128,
    /// Distinct states among them.
    pub states: usize,
    /// The most events that could come next at once.
    pub widest: usize,
}

/// Runs every order, and gives each that is at its end to `check`.
pub fn explore(race: &Race, check: &dyn Fn(Played)) -> Explored {
    let mut explored = Explored::default();
    let mut known = HashMap::new();
    let mut scene = Scene::plain();
    scene.begin();
    let mut life = Life::new(&race.plan);
    let prompt = scene.prompt("hello");
    (race.prepare)(&mut scene, &mut life);
    let start = Played {
        path: Vec::new(),
        scene,
        life,
        prompt,
    };
    explored.orders = visit(race, start, check, &mut known, &mut explored);
    explored.states = known.len();
    explored
}

type Key = (Vec<u8>, String, Vec<Event>);

fn visit(
    race: &Race,
    played: Played,
    check: &dyn Fn(Played),
    known: &mut HashMap<Key, u128>,
    explored: &mut Explored,
) -> u128 {
    let left = left(race, &played.path);
    let key = key(&played, &left);
    if let Some(orders) = known.get(&key) {
        return *orders;
    }
    let events = if played.scene.answer(played.prompt).is_some() {
        Vec::new()
    } else {
        possible(&played, &left)
    };
    explored.widest = explored.widest.max(events.len());
    let orders = if events.is_empty() {
        check(played);
        1
    } else {
        events
            .into_iter()
            .map(|event| visit(race, played.after(event), check, known, explored))
            .sum()
    };
    known.insert(key, orders);
    orders
}

fn key(played: &Played, left: &[Event]) -> Key {
    let Played { scene, life, .. } = played;
    let host = scene.desk.host.waiting();
    let outside = format!("{life:?} {host:?} {:?} {}", scene.desk.armed(), told(scene));
    (scene.desk.state(), outside, left.to_vec())
}

impl Played {
    fn after(&self, event: Event) -> Played {
        let mut scene = self.scene.fork();
        let mut life = self.life.clone();
        happens(&mut scene, &mut life, event);
        let mut path = self.path.clone();
        path.push(event);
        Played {
            path,
            scene,
            life,
            prompt: self.prompt,
        }
    }
}

/// What the editor has been told decides what it may be told next.
fn told(scene: &Scene) -> String {
    let shown: Vec<String> = scene
        .desk
        .shown("agent_message_chunk")
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let answers = scene
        .desk
        .log
        .iter()
        .filter(|line| line.starts_with("< ") && line.contains("\"id\""));
    format!("{shown:?} {}", answers.count())
}

fn left(race: &Race, path: &[Event]) -> Vec<Event> {
    let mut left = race.alphabet.clone();
    for event in path {
        if let Some(at) = left.iter().position(|it| it == event) {
            left.remove(at);
        }
    }
    left.sort_unstable();
    left
}

/// Two listed events of one kind are one possibility.
fn possible(played: &Played, left: &[Event]) -> Vec<Event> {
    let (scene, life) = (&played.scene, &played.life);
    if scene.desk.done.is_some() {
        return Vec::new();
    }
    let connected = !scene.desk.channels().is_empty();
    let mut events: Vec<Event> = left.to_vec();
    events.dedup();
    let had = |event: Event| played.path.contains(&event);
    events.retain(|event| match event {
        Event::Cancel | Event::Close => !had(Event::Close) && !had(Event::Leave),
        Event::Leave => true,
        Event::Lose | Event::LoseAnswers => connected,
        Event::Evict => connected && life.subscribed(),
        Event::QueryFails => connected && scene.desk.host.waiting().contains(&"turn.query"),
        Event::Timer => !scene.desk.armed().is_empty(),
        Event::Admit | Event::Answer(_) | Event::Does(_) => false,
    });
    if life.may_admit(scene) {
        events.push(Event::Admit);
    }
    if connected {
        events.extend(life.answerable(scene).into_iter().map(Event::Answer));
    }
    events.extend(life.steps().into_iter().map(Event::Does));
    events
}

fn happens(scene: &mut Scene, life: &mut Life, event: Event) {
    match event {
        Event::Cancel => scene.cancel(),
        Event::Close => {
            scene.close();
        }
        Event::Leave => scene.hang_up(),
        Event::Lose => life.loses(scene, false),
        Event::LoseAnswers => life.loses(scene, true),
        Event::Evict => life.evicts(scene),
        Event::QueryFails => life.fails(scene, "turn.query"),
        Event::Timer => {
            let next = scene.desk.armed().first().copied().unwrap_or_default();
            scene.wait(next);
        }
        Event::Admit => life.admits(scene),
        Event::Answer(operation) => life.answers(scene, operation),
        Event::Does(step) => life.does(scene, step),
    }
}
