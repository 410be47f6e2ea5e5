//! The command line, and the ends of the program.

use rustix::process::{Signal, kill_process};

use crate::common::Bench;

#[test]
fn given_help_when_asked_then_it_is_for_people_and_complete() {
    let bench = Bench::new();
    let end = bench.run(["--help"], "");
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
    for word in [
        "--host",
        "auto",
        "embedded",
        "maka",
        "claude",
        "AIRLOCK_HOST",
        "--maka-root",
        "AIRLOCK_MAKA_ROOT",
        "--maka-socket",
        "AIRLOCK_MAKA_SOCKET",
        "--claude",
        "CLAUDE_CODE_EXECUTABLE",
        "--cli",
        "--embedded-script",
        "--embedded-state",
        "--component",
        "--record",
        "--log",
        "AIRLOCK_LOG",
        "prompt",
        "replay",
        "What the component may ask for",
    ] {
        assert!(
            end.stdout.contains(word),
            "{word} is missing in\n{}",
            end.stdout
        );
    }
}

#[test]
fn given_wrong_words_when_started_then_the_sentence_says_what_is_right() {
    let bench = Bench::new();
    let end = bench.run(["--log", "loud"], "");
    assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""));
    assert!(
        end.stderr
            .contains("the levels are off, error, warn, info, debug and trace")
    );
}

#[test]
fn given_an_editor_when_served_then_its_stderr_stays_empty_and_info_names_the_host() {
    let bench = Bench::new();
    let end = bench.run(["--hosts-dir", "no-hosts", "--maka-root", "no-root"], "");
    assert_eq!(
        (end.code, end.stdout.as_str(), end.stderr.as_str()),
        (Some(0), "", "")
    );
    let words = [
        "--hosts-dir",
        "no-hosts",
        "--maka-root",
        "no-root",
        "--log",
        "info",
    ];
    let end = bench.run(words, "");
    assert!(
        end.stderr
            .contains("talking to the embedded demonstration Host"),
        "{}",
        end.stderr
    );
    assert!(
        !end.stderr.contains('\u{1b}'),
        "no colours for a file: {}",
        end.stderr
    );
}

#[test]
fn given_notes_of_the_component_when_logged_then_they_are_on_stderr_by_their_level() {
    let bench = Bench::new();
    let puppet = crate::common::puppet().to_str().unwrap();
    let note = "[{\"note\":\"what I do\"}]\n";
    let words = ["--host", "embedded", "--component", puppet];
    assert_eq!(bench.run(words, note).stderr, "");
    let end = bench.run(words.iter().chain(&["--log", "info"]), note);
    assert!(
        end.stderr.contains(" INFO component: what I do\n"),
        "{}",
        end.stderr
    );
    assert_eq!(end.stdout, "");
}

#[test]
fn given_the_adapters_exit_code_when_done_then_it_is_the_programs() {
    let bench = Bench::new();
    let mut agent = bench.agent(&[]);
    agent.say(r#"[{"done":7}]"#);
    assert_eq!(agent.wait().code(), Some(7));
}

#[test]
fn given_a_signal_when_stdin_is_still_open_then_the_program_ends_in_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let bench = Bench::new();
        let mut agent = bench.agent(&[]);
        agent.say("hello");
        assert_eq!(agent.hear(), "1 hello");
        kill_process(agent.pid(), signal).unwrap();
        assert_eq!(agent.wait().code(), Some(0));
        assert_eq!(agent.hear(), "");
    }
}

#[test]
fn given_timers_when_armed_then_they_come_back() {
    let bench = Bench::new();
    let mut agent = bench.agent(&[]);
    agent.say(r#"[{"arm":[2,1]},{"arm":[1,0]},{"arm":[3,4000000]},{"disarm":3}]"#);
    assert_eq!(agent.hear(), r#"1 {"expired":1}"#);
    assert_eq!(agent.hear(), r#"2 {"expired":2}"#);
    assert_eq!(agent.end().code(), Some(0));
}
