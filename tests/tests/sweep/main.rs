//! Issue 3, acceptance 4: the whole engine against the embedded Host, with one fault at every
//! place where one can be: each answer of the Host lost, the connection lost after each of
//! its frames and before each of the engine's requests, the Host restarted after each frame.
//! The turns are those of recordings 03 and 05, and besides a load, a cancel in mid turn and
//! attachments.
//!
//! Whatever the fault: every request has one answer within a virtual minute, `end_turn` says
//! that the Host's turn is complete and its text stands there once and whole, nothing is
//! shown twice, every tool card is ended, a turn is stopped once at most, nothing is shown
//! after the answer, the next prompt works, and the adapter ends in order.
//!
//! The embedded Host is compiled in here a second time, so that the sweep needs nothing else
//! of the runner, and runs on virtual time and without a socket.

#[path = "../../../host-runner/src/embedded/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    missing_docs,
    reason = "the sweep uses a part"
)]
mod embedded;

mod editor;
mod house;
mod run;

use std::panic::AssertUnwindSafe;

use run::{Fault, Play, run};
use serde_json::{Value, json};

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn link(path: &str) -> Value {
    json!({ "type": "resource_link", "uri": format!("file://{path}"), "name": "" })
}

/// Recording 03: a thought, text, a tool with output, text.
fn bash() -> Play {
    Play {
        name: "bash",
        prompt: json!([text("SCENARIO:bash")]),
        says: &["Running a command now.", "The command printed three lines."],
        thinks: &["Run a command."],
        ..Play::default()
    }
}

/// Recording 05: text, a question to the user, text.
fn question() -> Play {
    Play {
        name: "question",
        prompt: json!([text("SCENARIO:question")]),
        says: &["I need a decision.", "Thanks for the answer."],
        thinks: &[],
        ..Play::default()
    }
}

fn hello(name: &'static str, attachment: &str) -> Play {
    Play {
        name,
        prompt: json!([text("SCENARIO:hello"), link(attachment)]),
        ..Play::default()
    }
}

#[test]
fn given_the_turn_of_recording_03_when_a_fault_strikes_anywhere_then_nothing_hangs_or_lies() {
    sweep(&bash());
}

#[test]
fn given_the_turn_of_recording_05_when_a_fault_strikes_anywhere_then_nothing_hangs_or_lies() {
    sweep(&question());
}

#[test]
fn given_a_stored_session_when_a_fault_strikes_anywhere_in_its_load_then_it_is_told_whole() {
    sweep(&Play {
        name: "load",
        is_loaded: true,
        ..bash()
    });
}

#[test]
fn given_a_turn_of_another_client_when_a_fault_strikes_anywhere_in_its_load_then_it_is_told_whole()
{
    sweep(&Play {
        name: "live",
        is_loaded: true,
        is_live: true,
        ..bash()
    });
}

/// The tool runs when the cancel comes.
#[test]
fn given_a_cancelled_turn_when_a_fault_strikes_anywhere_then_cancelled_and_stopped_once() {
    sweep(&Play {
        name: "cancel",
        cancel_at: Some(14),
        ..bash()
    });
}

/// The user cancels while the question is open.
#[test]
fn given_a_cancelled_question_when_a_fault_strikes_anywhere_then_cancelled_and_stopped_once() {
    sweep(&Play {
        name: "unwilling",
        is_unwilling: true,
        ..question()
    });
}

#[test]
fn given_a_session_when_it_is_listed_set_resumed_and_deleted_then_no_fault_makes_it_hang() {
    sweep(&Play {
        name: "session",
        is_managed: true,
        ..Play::default()
    });
}

#[test]
fn given_a_small_attachment_when_a_fault_strikes_anywhere_then_sent_whole_or_not_at_all() {
    sweep(&hello("small file", "/w/small.txt"));
}

#[test]
fn given_an_attachment_of_chunks_when_a_fault_strikes_anywhere_then_sent_whole_or_not_at_all() {
    sweep(&hello("big file", "/w/big.txt"));
}

/// The same turns without a fault, cancelled after each update that is shown.
#[test]
fn given_a_turn_when_it_is_cancelled_after_any_update_then_it_is_stopped_once() {
    let mut runs = 0;
    for play in [bash, question] {
        let shown = run(&play(), Fault::None).shown;
        let mut told = Vec::new();
        for at in 0..=shown {
            let cancelled = Play {
                cancel_at: Some(at),
                ..play()
            };
            told.push((at.to_string(), run(&cancelled, Fault::None).ending));
            runs += 1;
        }
        insta::assert_snapshot!(format!("cancelled_{}", play().name), joined(&told));
    }
    println!("{runs} runs");
}

/// One run for every place of every kind of fault; what became of each is in the snapshot.
fn sweep(play: &Play) {
    let whole = run(play, Fault::None);
    assert_eq!(whole.ending, "", "without a fault");
    let mut lines = vec![format!(
        "{}: {} requests, {} answers, {} frames",
        play.name,
        whole.said,
        whole.answered.len(),
        whole.heard
    )];
    let mut runs = 1;
    let mut each = |what: &str, faults: Vec<(String, Fault)>| {
        runs += faults.len();
        let told: Vec<(String, String)> = faults
            .into_iter()
            .map(|(name, fault)| (name, ending(play, fault)))
            .collect();
        lines.push(format!("\n{what}\n{}", joined(&told)));
    };
    let numbered = |count: usize, fault: fn(usize) -> Fault| {
        (1..=count)
            .map(move |at| (at.to_string(), fault(at)))
            .collect::<Vec<_>>()
    };
    let answers = (1..).zip(&whole.answered);
    let lost = answers.map(|(at, operation)| (format!("{at} {operation}"), Fault::Lose(at)));
    each("the answer is lost", lost.collect());
    let greeted = vec![("0".to_owned(), Fault::Drop(0))];
    each("the connection is lost after the greeting", greeted);
    for (what, fault) in [
        (
            "the connection is lost after frame",
            Fault::Drop as fn(usize) -> Fault,
        ),
        (
            "the connection is lost, and the turn goes on, after frame",
            Fault::Missed,
        ),
        (
            "the connection is lost until the turn is over, after frame",
            Fault::Late,
        ),
    ] {
        each(what, numbered(whole.heard, fault));
    }
    each(
        "the connection is lost with request",
        numbered(whole.said, Fault::Cut),
    );
    each(
        "the Host restarts after frame",
        numbered(whole.heard, Fault::Restart),
    );
    let away = numbered(whole.heard, Fault::Away);
    each(
        "the Host restarts and is away for a while, after frame",
        away,
    );
    println!("{}: {runs} runs", play.name);
    let failed: Vec<&String> = lines.iter().filter(|it| it.contains("FAILED")).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    insta::assert_snapshot!(play.name.replace(' ', "_"), lines.join("\n"));
}

/// How a run ended. One that failed is told, and the others go on: which places fail says
/// more than the first of them.
fn ending(play: &Play, fault: Fault) -> String {
    let run = std::panic::catch_unwind(AssertUnwindSafe(|| run(play, fault)));
    match run {
        Ok(run) => run.ending,
        Err(why) => {
            let words = why.downcast_ref::<String>().cloned();
            let words = words.unwrap_or_else(|| "a panic without words".to_owned());
            format!("FAILED {}", words.lines().next().unwrap_or_default())
        }
    }
}

/// Neighbours that ended alike in one line.
fn joined(told: &[(String, String)]) -> String {
    let mut lines: Vec<(String, String, &str)> = Vec::new();
    for (place, ending) in told {
        match lines.last_mut() {
            Some((_, last, same)) if same == ending => last.clone_from(place),
            _ => lines.push((place.clone(), place.clone(), ending)),
        }
    }
    let line = |(first, last, ending): &(String, String, &str)| {
        let ending = if ending.is_empty() {
            "all is well"
        } else {
            ending
        };
        if first == last {
            format!("  {first}: {ending}")
        } else {
            format!("  {first} to {last}: {ending}")
        }
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}
