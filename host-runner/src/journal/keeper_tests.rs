//! The rescue: what a failing line costs, and what it may not cost.

use std::rc::Rc;

use super::*;
use crate::fake::{Control, FakeFactory, acp, at, said};
use crate::words::{Ending, HostArrival};

fn keeper() -> (Keeper, Rc<Control>) {
    let factory = FakeFactory::default();
    let control = factory.0.clone();
    let (keeper, first) =
        Keeper::open(Box::new(factory), "{}".into(), [7; 32], None, at(0)).unwrap();
    assert_eq!(first, []);
    (keeper, control)
}

fn say(keeper: &mut Keeper, text: &str) -> String {
    said(&keeper.handle(at(1), vec![acp(text)]).unwrap())
}

#[test]
fn given_a_failing_line_among_others_when_handled_then_only_that_line_is_poison() {
    let (mut keeper, _) = keeper();
    assert_eq!(say(&mut keeper, "a\n"), "1 a\n");
    assert_eq!(
        say(&mut keeper, "b\nTRAP 1\nc\nTRAP 2\nd"),
        "2 b\n3 poison acp TRAP 1\n4 c\n5 poison acp TRAP 2\n"
    );
    assert_eq!(say(&mut keeper, "e\nf\n"), "6 de\n7 f\n");
}

#[test]
fn given_a_line_in_two_chunks_when_its_end_fails_then_the_poison_is_the_whole_line() {
    let (mut keeper, _) = keeper();
    assert_eq!(say(&mut keeper, "a\nTRAP be"), "1 a\n");
    assert_eq!(
        say(&mut keeper, "gin\nb\n"),
        "2 poison acp TRAP begin\n3 b\n"
    );
}

#[test]
fn given_a_failure_in_mid_line_when_the_rest_comes_then_it_is_no_line_of_its_own() {
    let (mut keeper, _) = keeper();
    assert_eq!(say(&mut keeper, "a\nEARLY"), "1 a\n2 poison acp EARLY\n");
    assert_eq!(say(&mut keeper, " and its rest\nb\n"), "3 b\n");
}

#[test]
fn given_a_failing_timer_when_it_fires_then_its_owner_is_told() {
    let (mut keeper, _) = keeper();
    let effects = keeper
        .handle(at(1), vec![acp("a\n"), Input::Expired(666), acp("b\n")])
        .unwrap();
    assert_eq!(said(&effects), "1 a\n2 poison timer 666\n3 b\n");
}

#[test]
fn given_one_line_past_the_deadline_when_rescued_then_it_is_not_waited_for_again() {
    let (mut keeper, control) = keeper();
    let calls = control.calls.get();
    assert_eq!(say(&mut keeper, "SPIN\n"), "1 poison acp SPIN\n");
    // The failing call; twice the opening call, for a rebuilt instance; the poison; the
    // first call of the instance that proves the snapshot.
    assert_eq!(control.calls.get() - calls, 5);
}

#[test]
fn given_a_component_that_does_not_repeat_itself_when_rescued_then_it_ends_with_a_sentence() {
    let (mut keeper, control) = keeper();
    say(&mut keeper, "a\n");
    control.forgets.set(true);
    let Broken(sentence) = keeper.handle(at(1), vec![acp("TRAP\n")]).unwrap_err();
    assert_eq!(
        sentence,
        "the component failed, and could not be brought back: run again, the same inputs gave \
         other effects, so it is not deterministic"
    );
}

#[test]
fn given_a_second_failure_on_the_same_state_when_poisoned_then_it_ends_with_a_sentence() {
    let (mut keeper, control) = keeper();
    control.poison_fails.set(true);
    let Broken(sentence) = keeper.handle(at(1), vec![acp("TRAP x\n")]).unwrap_err();
    assert_eq!(
        sentence,
        "the component failed twice in the same state, so this connection ends; first: it \
         panicked: TRAP x; then, while it answered that failure: the component failed: it \
         panicked: poison"
    );
}

#[test]
fn given_a_failure_at_the_end_of_the_editor_when_rescued_then_it_ends_with_a_sentence() {
    let (mut keeper, _) = keeper();
    say(&mut keeper, "COUNT 13\n");
    let ended = Input::Acp(AcpArrival::Ended(Ending::Eof));
    let Broken(sentence) = keeper.handle(at(1), vec![ended]).unwrap_err();
    assert_eq!(
        sentence,
        "the component failed when the editor had gone: it panicked: ended"
    );
}

#[test]
fn given_a_rescue_when_it_is_over_then_the_next_one_starts_behind_it() {
    let (mut keeper, control) = keeper();
    assert_eq!(say(&mut keeper, "a\nTRAP\n"), "1 a\n2 poison acp TRAP\n");
    let opened = control.opened.get();
    assert_eq!(say(&mut keeper, "b\nTRAP\n"), "3 b\n4 poison acp TRAP\n");
    assert_eq!(control.opened.get(), opened);
}

#[test]
fn given_a_long_journal_when_it_reaches_its_size_then_a_snapshot_replaces_it() {
    let (mut keeper, control) = keeper();
    let line = format!("{}\n", "x".repeat(1 << 20));
    for _ in 0..4 {
        say(&mut keeper, &line);
    }
    assert_eq!(control.restored.get(), 1);
    assert!(keeper.log.bytes() < 1 << 20);
    assert_eq!(say(&mut keeper, "TRAP\n"), "5 poison acp TRAP\n");
    assert_eq!(control.opened.get(), 1);
}

#[test]
fn given_a_failing_snapshot_when_the_next_trap_comes_then_the_older_state_still_serves() {
    let (mut keeper, control) = keeper();
    control.snapshot_fails.set(true);
    let line = format!("{}\n", "x".repeat(4 << 20));
    say(&mut keeper, &line);
    assert_eq!(say(&mut keeper, "a\nTRAP\n"), "2 a\n3 poison acp TRAP\n");
    control.snapshot_fails.set(false);
    assert_eq!(say(&mut keeper, "b\nTRAP\n"), "4 b\n5 poison acp TRAP\n");
}

#[test]
fn given_a_snapshot_that_cannot_be_restored_when_a_trap_comes_then_the_older_state_serves() {
    let (mut keeper, control) = keeper();
    control.restore_fails.set(true);
    let line = format!("{}\n", "x".repeat(4 << 20));
    say(&mut keeper, &line);
    assert_eq!(control.restored.get(), 1);
    assert_eq!(say(&mut keeper, "a\nTRAP\n"), "2 a\n3 poison acp TRAP\n");
    assert_eq!(
        control.opened.get(),
        3,
        "opened, and twice rebuilt from the opening"
    );
}

#[test]
fn given_a_large_instance_when_it_is_quiet_then_a_fresh_one_takes_over_where_it_was() {
    let (mut keeper, _) = keeper();
    say(&mut keeper, "a\nhalf");
    assert!(!keeper.wants_quiet());
    say(&mut keeper, " line\nGROW 65\nnext ha");
    assert!(keeper.wants_quiet());
    assert_eq!(keeper.quiet(at(9)), Ok(vec![]));
    assert!(!keeper.wants_quiet());
    assert_eq!(keeper.adapter.memory(), 1 << 20);
    assert_eq!(
        say(&mut keeper, "lf\nTRAP\nb\n"),
        "3 next half\n4 poison acp TRAP\n5 b\n"
    );
}

#[test]
fn given_a_line_torn_by_a_snapshot_when_its_end_fails_then_the_poison_is_the_whole_line() {
    let (mut keeper, _) = keeper();
    say(&mut keeper, "GROW 65\nTRAP ha");
    assert_eq!(keeper.quiet(at(9)), Ok(vec![]));
    assert_eq!(say(&mut keeper, "lf\n"), "1 poison acp TRAP half\n");
}

#[test]
fn given_a_wrong_configuration_when_opened_then_the_sentence_says_so() {
    let opened = Keeper::open(
        Box::new(FakeFactory::default()),
        "wrong".into(),
        [0; 32],
        None,
        at(0),
    );
    let Err(Broken(sentence)) = opened else {
        panic!("it opened")
    };
    assert_eq!(
        sentence,
        "the adapter does not start: the component cannot use its configuration: it is wrong"
    );
}

#[test]
fn given_inputs_of_every_kind_when_one_traps_then_the_others_are_handled_once() {
    let (mut keeper, control) = keeper();
    let opened = Input::Host((4, HostArrival::Opened(vec![])));
    let inputs = vec![opened.clone(), acp("TRAP\n"), Input::Expired(2)];
    assert_eq!(
        said(&keeper.handle(at(1), inputs).unwrap()),
        "1 poison acp TRAP\n2 timer 2\n"
    );
    let seen = control.seen.borrow();
    assert_eq!(seen.last(), Some(&Input::Expired(2)));
}
