//! Rule R9: effects do not depend on how the bytes were cut, nor on a snapshot and restore
//! between any two calls.

use airlock_tests::conversation::second_answer;
use airlock_tests::{Cut, Desk, Names, RecordedHost, Recording};
use proptest::prelude::*;

/// Recordings, and whether the recorded client stopped the Turn.
const SESSIONS: [(&str, bool); 9] = [
    ("02", false),
    ("03", false),
    ("04", false),
    ("05", false),
    ("06", false),
    ("08", true),
    ("15", false),
    ("17", false),
    ("20", true),
];

/// Everything that left the engine, joined by where it went.
#[derive(Debug, PartialEq)]
struct Effects {
    editor: String,
    host: String,
    notes: String,
    armed: Vec<u64>,
    done: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Way {
    cut: Cut,
    batching: bool,
    restoring: bool,
}

/// The same session, its bytes cut this way. The Host says all it has at once: when it
/// speaks is then decided by what it was asked alone.
fn run(number: &str, prompt: &str, cancels: bool, way: Way) -> Effects {
    let host = RecordedHost::new(Recording::open(number)).without(second_answer(number));
    let mut desk = Desk::new(host).cut(way.cut);
    (desk.batching, desk.restoring, desk.host_speaks) = (way.batching, way.restoring, false);
    let session = desk.new_session();
    desk.run_until_quiet();
    let id = desk.prompt(&session, prompt);
    desk.run_until_quiet();
    desk.allow();
    if cancels {
        // A lost connection comes back after a pause.
        desk.advance(2_000);
        desk.cancel(&session);
        desk.run_until_quiet();
    }
    assert!(
        !desk.unanswered().contains(&format!("{id} session/prompt")),
        "{number}: {}",
        desk.conversation()
    );
    desk.request(
        "session/close",
        &serde_json::json!({ "sessionId": session }),
    );
    desk.run_until_quiet();
    desk.hang_up();
    desk.run_until_quiet();
    desk.advance(60_000);
    let mut names = Names::default();
    let lines = |lines: Vec<String>| lines.join("\n");
    Effects {
        editor: names.apply(
            &desk
                .log
                .iter()
                .filter(|it| it.starts_with('<'))
                .cloned()
                .collect::<Vec<_>>()
                .join("\n"),
        ),
        host: names.apply(&lines(
            desk.to_host
                .iter()
                .map(|(channel, line)| format!("{channel} {line}"))
                .collect(),
        )),
        notes: names.apply(&lines(
            desk.notes
                .iter()
                .map(|(level, note)| format!("{level:?} {note}"))
                .collect(),
        )),
        armed: desk.left_armed.clone(),
        done: desk.done,
    }
}

const PLAIN: Way = Way {
    cut: Cut::Line,
    batching: false,
    restoring: false,
};

/// The prompt of the recording.
fn prompt_of(number: &str) -> String {
    let recording = Recording::open(number);
    let mut starts = recording
        .client_frames()
        .filter(|frame| frame.operation() == Some("turn.start"));
    starts.next().unwrap().value["input"]["content"]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn check(number: &str, cancels: bool, way: Way) {
    let prompt = prompt_of(number);
    let plain = run(number, &prompt, cancels, PLAIN);
    let other = run(number, &prompt, cancels, way);
    assert_eq!(plain.done, Some(0), "{number}");
    assert_eq!(other, plain, "{number} {way:?}");
}

#[test]
fn given_a_recorded_session_when_cut_into_bytes_or_reads_then_the_effects_are_the_same() {
    for (number, cancels) in SESSIONS {
        let one = if number == "15" {
            Cut::Bytes(97)
        } else {
            Cut::Bytes(1)
        };
        for cut in [one, Cut::Read] {
            for batching in [false, true] {
                check(
                    number,
                    cancels,
                    Way {
                        cut,
                        batching,
                        restoring: false,
                    },
                );
            }
        }
    }
}

#[test]
fn given_a_recorded_session_when_saved_and_restored_between_any_two_calls_then_the_effects_are_the_same()
 {
    for (number, cancels) in SESSIONS {
        check(
            number,
            cancels,
            Way {
                restoring: true,
                ..PLAIN
            },
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn given_a_recorded_session_when_cut_at_random_and_restored_then_the_effects_are_the_same(
        which in 0..SESSIONS.len(), seed in any::<u64>(), batching: bool, restoring: bool,
    ) {
        let (number, cancels) = SESSIONS[which];
        check(number, cancels, Way { cut: Cut::Random(seed), batching, restoring });
    }
}
