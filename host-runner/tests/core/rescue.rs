//! A failing component costs one line: the whole program, with the puppet inside.

use host_runner::journal::Keeper;
use host_runner::sandbox::{Limits, Sandbox};
use host_runner::words::{AcpArrival, AcpDeparture, Effect, Input, Instant};

use crate::common::{Bench, puppet_bytes};

/// Lines around a failing one, and what must come back.
fn costs_one_line(failing: &str) {
    let bench = Bench::new();
    let mut agent = bench.agent(&["--log", "off"]);
    agent.say(&format!("before\n{failing}\nafter"));
    let poison = format!(
        "2 {{\"poison\":{{\"acp\":{}}}}}",
        serde_json::json!(failing)
    );
    assert_eq!(
        [agent.hear(), agent.hear(), agent.hear()],
        ["1 before", &poison, "3 after"]
    );
    agent.say("next");
    assert_eq!(agent.hear(), "4 next");
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn given_a_trap_among_lines_when_served_then_only_its_line_fails() {
    costs_one_line(r#"["trap"]"#);
}

#[test]
fn given_an_endless_loop_among_lines_when_served_then_only_its_line_fails() {
    costs_one_line(r#"["spin"]"#);
}

#[test]
fn given_endless_memory_among_lines_when_served_then_only_its_line_fails() {
    costs_one_line(r#"["grow"]"#);
}

#[test]
fn given_effects_before_a_trap_in_one_line_when_served_then_none_of_them_is_carried_out() {
    let bench = Bench::new();
    let mut agent = bench.agent(&["--log", "off"]);
    agent.say(r#"[{"arm":[1,0]},{"done":9},"trap"]"#);
    assert!(agent.hear().starts_with(r#"1 {"poison":"#));
    agent.say("next");
    assert_eq!(agent.hear(), "2 next");
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn given_a_snapshot_that_traps_when_a_line_fails_then_the_older_state_serves() {
    let bench = Bench::new();
    let mut agent = bench.agent(&["--log", "off"]);
    agent.say(r#"[{"fail":"snapshot"}]"#);
    for (number, line) in [(1, "a"), (3, "b"), (5, "c")] {
        agent.say(line);
        agent.say(r#"["trap"]"#);
        assert_eq!(agent.hear(), format!("{number} {line}"));
        assert_eq!(
            agent.hear(),
            format!(r#"{} {{"poison":{{"acp":"[\"trap\"]"}}}}"#, number + 1)
        );
    }
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn given_a_second_failure_on_the_same_state_when_served_then_it_ends_with_code_and_sentence() {
    let bench = Bench::new();
    let puppet = crate::common::puppet().to_str().unwrap();
    let words = ["--host", "embedded", "--log", "off", "--component", puppet];
    let end = bench.run(words, "[{\"fail\":\"poison\"}]\n[\"trap\"]\n");
    assert_eq!((end.code, end.stdout.as_str()), (Some(70), ""));
    assert!(
        end.stderr
            .starts_with("host-runner: the component failed twice in the same state"),
        "{}",
        end.stderr
    );
    assert!(end.stderr.contains("told to trap") && end.stderr.contains("told to fail in poison"));
}

#[test]
fn given_a_restore_that_answers_differently_when_a_line_fails_then_it_ends_with_a_sentence() {
    let bench = Bench::new();
    // The first trap makes a snapshot; the line after it is then run again differently.
    let mut agent = bench.agent(&["--log", "off"]);
    agent.say("[{\"fail\":\"forget\"}]\n[\"trap\"]");
    agent.hear();
    agent.say("line");
    assert_eq!(agent.hear(), "2 line");
    agent.say("[\"trap\"]");
    assert_eq!(agent.hear(), "");
    assert_eq!(agent.wait().code(), Some(70));
}

#[test]
fn given_a_store_that_has_grown_when_it_is_quiet_then_a_small_one_goes_on() {
    let sandbox = Sandbox::from_bytes(&puppet_bytes(), Limits::default()).unwrap();
    let now = Instant {
        monotonic: 0,
        wall: 0,
    };
    let (mut keeper, _) = Keeper::open(Box::new(sandbox), "{}".into(), [0; 32], None, now).unwrap();
    let say = |keeper: &mut Keeper, line: &[u8]| {
        let mut said = Vec::new();
        for chunk in line.chunks(64 << 10) {
            let input = Input::Acp(AcpArrival::Bytes(chunk.to_vec()));
            said.extend(keeper.handle(now, vec![input]).unwrap());
        }
        said
    };
    let mut long = vec![b'x'; 20 << 20];
    long.push(b'\n');
    assert_eq!(say(&mut keeper, &long).len(), 1);
    assert!(keeper.memory() > 64 << 20, "{} MiB", keeper.memory() >> 20);
    assert!(keeper.wants_quiet());
    assert_eq!(keeper.quiet(now), Ok(vec![]));
    assert!(keeper.memory() < 4 << 20, "{} MiB", keeper.memory() >> 20);
    assert!(!keeper.wants_quiet());
    let answer = Effect::Acp(AcpDeparture::Bytes(b"2 next\n".to_vec()));
    assert_eq!(say(&mut keeper, b"next\n"), [answer]);
}

#[test]
fn given_a_component_that_does_not_end_when_the_editor_goes_then_the_program_ends_all_the_same() {
    let bench = Bench::new();
    let puppet = crate::common::puppet().to_str().unwrap();
    let words = ["--host", "embedded", "--log", "off", "--component", puppet];
    let end = bench.run(words, "[{\"fail\":\"end\"}]\nhello\n");
    assert_eq!((end.code, end.stdout.as_str()), (Some(70), "1 hello\n"));
    assert_eq!(
        end.stderr,
        "host-runner: the adapter did not end in time after the editor had gone\n"
    );
}
