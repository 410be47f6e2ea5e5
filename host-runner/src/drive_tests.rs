//! The loop, on virtual time.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use super::*;
use crate::fake::{FakeFactory, acp, at, said};
use crate::words::Ending;

/// What the outside does, and what it was told.
struct Script {
    rounds: VecDeque<(u64, Vec<Input>)>,
    clock: VirtualClock,
    told: Rc<RefCell<Told>>,
}

#[derive(Debug, Default, PartialEq)]
struct Told {
    /// Time and text of what was carried out.
    carried: Vec<(u64, String)>,
    /// Until when each round waited.
    waits: Vec<Option<u64>>,
    grace: Option<Duration>,
}

#[derive(Clone)]
struct VirtualClock {
    origin: SystemInstant,
    now: Rc<Cell<u64>>,
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        at(self.now.get())
    }

    fn at(&self, monotonic: u64) -> SystemInstant {
        self.origin + Duration::from_millis(monotonic)
    }
}

impl Edge for Script {
    fn round(&mut self, until: Option<SystemInstant>) -> Vec<Input> {
        let until = until.map(|until| millis(until - self.clock.origin));
        self.told.borrow_mut().waits.push(until);
        match (self.rounds.front(), until) {
            (Some((arrives, _)), Some(until)) if *arrives > until => {}
            (Some((arrives, _)), _) => {
                self.clock.now.set((*arrives).max(self.clock.now.get()));
                return self.rounds.pop_front().unwrap().1;
            }
            (None, None) => panic!("it would wait for ever"),
            (None, Some(_)) => {}
        }
        self.clock.now.set(until.unwrap().max(self.clock.now.get()));
        Vec::new()
    }

    fn carry(&mut self, effect: Effect) {
        let text = said(&[effect]).trim_end().to_owned();
        self.told
            .borrow_mut()
            .carried
            .push((self.clock.now.get(), text));
    }

    fn shutdown(self, grace: Duration) {
        self.told.borrow_mut().grace = Some(grace);
    }
}

fn run(rounds: Vec<(u64, Vec<Input>)>) -> (Result<u8, Broken>, Told) {
    let clock = VirtualClock {
        origin: SystemInstant::now(),
        now: Rc::default(),
    };
    let told = Rc::default();
    let edge = Script {
        rounds: rounds.into(),
        clock: clock.clone(),
        told: Rc::clone(&told),
    };
    let factory = Box::new(FakeFactory::default());
    let (keeper, first) = Keeper::open(factory, "{}".into(), [0; 32], None, at(0)).unwrap();
    let outcome = drive(edge, &clock, keeper, first);
    (outcome, told.take())
}

fn ended() -> Input {
    Input::Acp(AcpArrival::Ended(Ending::Eof))
}

fn carried(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected
        .iter()
        .map(|(at, text)| (*at, (*text).to_owned()))
        .collect()
}

#[test]
fn given_arrivals_when_driven_then_effects_are_carried_in_order_until_the_adapter_is_done() {
    let (outcome, told) = run(vec![
        (5, vec![acp("a\nb\n")]),
        (9, vec![acp("c\n"), ended()]),
    ]);
    assert_eq!(outcome, Ok(3));
    assert_eq!(
        told.carried,
        carried(&[
            (5, "1 a"),
            (5, "2 b"),
            (9, "3 c"),
            (9, "Effect::Acp(Departure::Finish)")
        ])
    );
    assert_eq!(told.waits, [None, None], "it waits for arrivals alone");
    assert_eq!(told.grace, Some(limits::WHOLE_END));
}

#[test]
fn given_timers_when_due_then_they_fire_in_order_and_never_after_being_moved_or_forgotten() {
    let (outcome, told) = run(vec![
        (1, vec![acp("ARM 1 50\nARM 2 40\nARM 3 30\nARM 4 20\n")]),
        (2, vec![acp("DISARM 4\nARM 1 45\nARM 3 60\n")]),
        (100, vec![ended()]),
    ]);
    assert_eq!(outcome, Ok(3));
    assert_eq!(
        told.carried[..3],
        carried(&[(40, "1 timer 2"), (45, "2 timer 1"), (60, "3 timer 3")])
    );
    assert_eq!(
        told.waits,
        [None, Some(20), Some(40), Some(45), Some(60), None]
    );
}

#[test]
fn given_an_arrival_and_a_due_timer_when_both_are_there_then_the_arrival_may_still_forget_it() {
    let (_, told) = run(vec![
        (1, vec![acp("ARM 1 10\nARM 2 10\n")]),
        (10, vec![acp("DISARM 1\nhello\n")]),
        (20, vec![ended()]),
    ]);
    assert_eq!(
        told.carried[..2],
        carried(&[(10, "1 hello"), (10, "2 timer 2")])
    );
}

#[test]
fn given_a_line_that_traps_when_driven_then_the_others_are_answered() {
    let (outcome, told) = run(vec![(3, vec![acp("a\nTRAP\nb\n")]), (4, vec![ended()])]);
    assert_eq!(outcome, Ok(3));
    assert_eq!(
        told.carried[..3],
        carried(&[(3, "1 a"), (3, "2 poison acp TRAP"), (3, "3 b")])
    );
}

#[test]
fn given_a_gone_editor_when_the_adapter_is_not_done_then_it_ends_in_time_all_the_same() {
    let interrupted = Input::Acp(AcpArrival::Ended(Ending::Broken("mute".into())));
    let (outcome, told) = run(vec![(1000, vec![interrupted])]);
    assert_eq!(
        outcome,
        Err(Broken(
            "the adapter did not end in time after the editor had gone".into()
        ))
    );
    assert_eq!(
        told.waits.last(),
        Some(&Some(1000 + millis(limits::ADAPTER_END)))
    );
    assert_eq!(told.grace, Some(limits::WHOLE_END - limits::ADAPTER_END));
}

#[test]
fn given_a_long_journal_when_nothing_comes_for_a_while_then_the_quiet_is_used_once() {
    let long = format!("{}\n", "x".repeat(70_000));
    let (_, told) = run(vec![
        (10, vec![acp(&long)]),
        (500, vec![acp("y\n")]),
        (9000, vec![ended()]),
    ]);
    let quiet = millis(limits::QUIET);
    assert_eq!(
        told.waits,
        [None, Some(10 + quiet), Some(500 + quiet), None]
    );
}
