//! A hundred sessions on one connection (issue, accepted 5): the rule, that nothing is lost
//! or doubled, and that a session whose turn is over costs next to nothing. At full size,
//! ten thousand deltas each, it is played by `cargo bench ... crowd`, which also holds the
//! memory of the sandbox and of the whole program to its bound.

use airlock_tests::crowd::{Crowd, Native, WAVE, play};
use serde_json::{Value, json};

const SESSIONS: usize = 100;
/// In a profile without optimisation.
const DELTAS: u64 = 200;
/// Bytes of the state that a session may cost when nothing runs in it.
const IDLE: usize = 2 << 10;

#[test]
fn given_a_hundred_sessions_when_each_has_its_turn_then_feeds_give_way_and_nothing_stays_behind() {
    let mut crowd = Crowd::new(Native::open());
    let mut sizes = Vec::new();
    play(&mut crowd, SESSIONS, DELTAS, |native, done| {
        sizes.push((done, native.state_size()));
    });
    let ((first, small), (last, large)) = (sizes[0], sizes[sizes.len() - 1]);
    let each = (large - small) / (last - first);
    assert!(each < IDLE, "{each} bytes for each session: {sizes:?}");
}

/// The text of a turn is kept while it runs, and not longer.
#[test]
fn given_more_deltas_when_the_turns_are_over_then_the_state_is_as_small_as_before() {
    let size = |deltas| {
        let mut crowd = Crowd::new(Native::open());
        let mut size = 0;
        play(&mut crowd, WAVE, deltas, |native, _| {
            size = native.state_size();
        });
        size
    };
    let (few, many) = (size(10), size(1_000));
    assert!(many < few + 1_000, "{few} bytes became {many}");
}

/// Sessions come and go for as long as the editor runs.
#[test]
fn given_sessions_that_are_closed_when_new_ones_come_then_nothing_of_the_old_stays() {
    let mut crowd = Crowd::new(Native::open());
    let mut sizes = Vec::new();
    for _ in 0..40 {
        for talks in [true, false] {
            let session = crowd.session();
            if talks {
                crowd.prompt(&session);
                crowd.stream(std::slice::from_ref(&session), 3);
                crowd.complete(&session);
            }
            let close = crowd.ask("session/close", &json!({ "sessionId": session }));
            assert_eq!(crowd.answer(close)["result"], json!({}));
        }
        sizes.push(crowd.carrier.state_size());
    }
    let grown = sizes[39].saturating_sub(sizes[9]);
    // Counters get longer by a digit.
    assert!(grown < 32, "{sizes:?}");
}

/// A prompt that is refused leaves nothing behind that later counts as somebody who waits.
#[test]
fn given_refused_prompts_when_there_are_many_then_the_state_does_not_grow() {
    let mut crowd = Crowd::new(Native::open());
    let all: Vec<String> = (0..=WAVE).map(|_| crowd.session()).collect();
    for session in &all[..WAVE] {
        crowd.prompt(session);
    }
    let mut sizes = Vec::new();
    for _ in 0..50 {
        let refused = crowd.prompt(&all[WAVE]);
        assert_ne!(crowd.answer(refused)["error"], Value::Null);
        sizes.push(crowd.carrier.state_size());
    }
    let grown = sizes[49].saturating_sub(sizes[9]);
    assert!(grown < 32, "{sizes:?}");
}
