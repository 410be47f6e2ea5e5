//! `--record` and `replay`: the same effects, bit for bit.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::{Signal, kill_process};

use crate::common::{Bench, End, puppet};

fn replay(bench: &Bench, file: &Path) -> End {
    let words = [
        "replay".as_ref(),
        file.as_os_str(),
        "--component".as_ref(),
        puppet().as_os_str(),
    ];
    bench.run(words, "")
}

fn recorded(bench: &Bench, lines: &str) -> std::path::PathBuf {
    let file = bench.path("recording");
    let mut agent = bench.agent(&["--log", "off", "--record", file.to_str().unwrap()]);
    for line in lines.lines() {
        agent.say(line);
    }
    assert_eq!(agent.end().code(), Some(0));
    file
}

#[test]
fn given_a_recording_when_run_again_then_every_effect_is_equal() {
    let bench = Bench::new();
    let file = recorded(
        &bench,
        "hello\n[{\"open\":[1,{\"program\":\"/bin/sh\"}]}]\n\u{0}\u{1f600}\n",
    );
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let end = replay(&bench, &file);
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
    assert!(
        end.stdout.starts_with("equal: ") && end.stdout.ends_with(" effects\n"),
        "{}",
        end.stdout
    );
}

#[test]
fn given_failures_in_a_recording_when_run_again_then_they_are_left_out_and_the_rest_is_equal() {
    let bench = Bench::new();
    let file = recorded(&bench, "a\n[\"trap\"]\nb\n[\"spin\"]\nc");
    let text = std::fs::read_to_string(&file).unwrap();
    let trapped: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("\"trapped\""))
        .collect();
    assert_eq!(trapped.len(), 2, "{text}");
    assert!(
        trapped[1].contains("it did not come back within the deadline"),
        "{}",
        trapped[1]
    );
    let end = replay(&bench, &file);
    assert_eq!(end.code, Some(0), "{}", end.stdout);
    assert!(
        end.stdout.ends_with("2 inputs left out that had trapped\n"),
        "{}",
        end.stdout
    );
}

#[test]
fn given_a_changed_effect_when_run_again_then_the_first_difference_is_shown() {
    let bench = Bench::new();
    let file = recorded(&bench, "hello");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(r#""1 hello\n""#), "{text}");
    std::fs::write(&file, text.replace(r#""1 hello\n""#, r#""1 goodbye\n""#)).unwrap();
    let end = replay(&bench, &file);
    assert_eq!((end.code, end.stderr.as_str()), (Some(1), ""));
    assert_eq!(
        end.stdout,
        "different: call 2 (line 3), effect 1\n  \
         expected: {\"acp\":{\"bytes\":\"1 goodbye\\n\"}}\n  \
         got:      {\"acp\":{\"bytes\":\"1 hello\\n\"}}\n"
    );
}

#[test]
fn given_a_file_that_exists_when_recording_then_it_is_left_alone() {
    let bench = Bench::new();
    let file = bench.path("precious");
    std::fs::write(&file, "precious").unwrap();
    let words = ["--host", "embedded", "--record", file.to_str().unwrap()];
    let end = bench.run(words, "{}\n");
    assert_eq!((end.code, end.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        end.stderr,
        format!(
            "host-runner: the recording {} cannot be created (it never replaces a file): File \
             exists (os error 17)\n",
            file.display()
        )
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn given_a_killed_runner_when_its_recording_is_run_again_then_it_is_good_up_to_its_end() {
    let bench = Bench::new();
    let file = bench.path("recording");
    let mut agent = bench.agent(&["--record", file.to_str().unwrap()]);
    agent.say("hello");
    agent.say("world");
    agent.hear();
    agent.hear();
    kill_process(agent.pid(), Signal::KILL).unwrap();
    agent.wait();
    // What the kill may leave: a line that was written in part.
    let mut text = std::fs::read(&file).unwrap();
    text.extend_from_slice(b"{\"at\":[5,6],\"inp");
    std::fs::write(&file, text).unwrap();
    let end = replay(&bench, &file);
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
    assert!(
        end.stdout
            .ends_with("; the last line is torn and was left out\n"),
        "{}",
        end.stdout
    );
}

#[test]
fn given_no_recording_when_run_again_then_the_sentence_says_so() {
    let bench = Bench::new();
    let file = bench.path("other");
    for (content, sentence) in [
        ("", "the recording is empty"),
        ("hello\n", "this is no Airlock recording"),
        (
            r#"{"airlock-recording":9,"config":"{}","seed":""}"#,
            "this recording has format 9, and this program knows format 1",
        ),
        (
            r#"{"airlock-recording":1,"config":"{}","seed":"AAAA"}"#,
            "the recording's seed is not 32 bytes",
        ),
    ] {
        std::fs::write(&file, content).unwrap();
        let end = replay(&bench, &file);
        assert_eq!((end.code, end.stdout.as_str()), (Some(1), ""));
        let expected = format!(
            "host-runner: {} cannot be run again: {sentence}",
            file.display()
        );
        assert!(end.stderr.starts_with(&expected), "{}", end.stderr);
    }
}

#[test]
fn given_the_built_in_component_when_recorded_then_wasm_and_native_give_the_same_effects() {
    let bench = Bench::new();
    let file = bench.path("recording");
    let initialize =
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
    let words = ["--host", "embedded", "--record", file.to_str().unwrap()];
    let end = bench.run(words, &format!("{initialize}\ngarbage\n"));
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    for more in [&[][..], &["--native"]] {
        let words = ["replay", file.to_str().unwrap()];
        let end = bench.run(words.iter().chain(more), "");
        assert_eq!(
            (end.code, end.stderr.as_str()),
            (Some(0), ""),
            "{}",
            end.stdout
        );
    }
}
