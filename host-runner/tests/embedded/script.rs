//! The script: what is built in, what a file may say, and how a mistake is told.

use host_runner::embedded::{Clock, Options, World};
use serde_json::{Value, json};

use crate::client::{Client, instant, scripted};
use crate::transcript::rows;

/// README's first command: whoever tries it sees thinking, text and a tool card.
#[test]
fn given_the_built_in_script_when_greeted_then_a_newcomer_sees_thinking_text_and_a_tool_card() {
    let mut client = Client::connect(&instant(Options::default()));
    client.session("s1");
    client.start("s1", "t1", "hello there");
    assert_eq!(client.until_terminal()["status"], "completed");
    let rows = rows(&mut client, "s1");
    let kinds: Vec<&str> = rows.iter().filter_map(|row| row["type"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "user",
            "turn_state",
            "assistant",
            "tool_call",
            "tool_result",
            "assistant",
            "token_usage",
            "turn_state",
            "system_note"
        ]
    );
    let first = rows[2]["text"].as_str().expect("text");
    assert!(
        first.starts_with("This is the embedded Host of Airlock, a demonstration"),
        "{first}"
    );
    assert!(first.contains("You said: hello there"), "{first}");
    assert!(rows[2]["thinking"]["text"].is_string());
    assert_eq!(rows[4]["content"]["output"]["stdout"], "1\n2\n3\n");
}

/// The words that the built-in script tells a newcomer to try.
#[test]
fn given_each_word_of_the_built_in_script_when_prompted_then_its_play_is_played() {
    let table = [
        ("please read something", "completed", "tool_call"),
        ("a long answer", "completed", "assistant"),
        ("fail now", "failed", "assistant"),
        ("ask me a question", "waiting_for_user", "tool_call"),
        ("leave the sandbox", "waiting_for_user", "tool_call"),
    ];
    for (prompt, status, kind) in table {
        let mut client = Client::connect(&instant(Options::default()));
        client.session("s1");
        client.start("s1", "t1", prompt);
        client.sees(|frame| frame["snapshot"]["rootTurn"]["status"] == status);
        let rows = rows(&mut client, "s1");
        assert!(
            rows.iter().any(|row| row["type"] == kind),
            "{prompt}: {rows:#?}"
        );
    }
}

#[test]
fn given_real_time_when_text_is_paced_then_it_takes_at_least_that_long() {
    let file = script_file(
        &json!({"plays": [{"steps": [{"text": "abcd", "chunk": 1, "every": 5}]}]}).to_string(),
    );
    let world = World::new(Options {
        script: Some(file.path().into()),
        clock: Clock::system(),
        ..Options::default()
    })
    .expect("the Host starts");
    let mut client = Client::connect(&world);
    client.session("s1");
    let before = std::time::Instant::now();
    client.start("s1", "t1", "go");
    client.until_terminal();
    assert!(before.elapsed().as_millis() >= 20);
}

#[test]
fn given_instant_time_when_a_play_pauses_for_a_day_then_no_time_passes_but_the_clock_moves() {
    let mut client = Client::connect(&scripted(&json!({"plays": [{"steps": [
        {"text": "a"}, {"wait": 86_400_000}, {"text": "b"}]}]})));
    client.session("s1");
    client.start("s1", "t1", "go");
    client.until_terminal();
    let rows = rows(&mut client, "s1");
    let ends: Vec<u64> = [0, rows.len() - 1]
        .iter()
        .filter_map(|at| rows[*at]["ts"].as_u64())
        .collect();
    assert!(ends[1] - ends[0] >= 86_400_000);
}

#[test]
fn given_a_mistake_in_a_script_when_the_host_starts_then_its_place_is_told() {
    let step = |step: Value| json!({"plays": [{"steps": [{"text": "a"}, step]}]}).to_string();
    let table = [
        ("{".to_owned(), "the script is not valid"),
        (json!({"plays": []}).to_string(), "no plays"),
        (
            json!({"plays": [{"steps": [], "extra": 1}]}).to_string(),
            "unknown field `extra`",
        ),
        (step(json!({})), "play 1, step 2"),
        (step(json!({"text": ""})), "no text to say"),
        (
            step(json!({"text": "a", "repeat": 1_000_000_000})),
            "up to 16 MiB in all",
        ),
        (
            step(json!({"text": "a", "chunk": 0})),
            "at least one character",
        ),
        (
            step(json!({"text": "a", "evry": 1})),
            "unknown field `evry`",
        ),
        (
            step(json!({"tool": "Bash", "outputs": [{"after": 1}]})),
            "either stdout or stderr",
        ),
        (
            step(json!({"tool": "Bash", "result": {}})),
            "an object with a kind",
        ),
        (step(json!({"question": []})), "1 to 3 questions"),
        (
            step(json!({"question": [{"question": "?", "options": [{"label": "A"}]}]})),
            "2 or 3 options",
        ),
        (
            step(json!({"boundary": 1, "justification": ""})),
            "an object with filesystem or network",
        ),
        (step(json!({"fail": "x"})), "missing field `message`"),
        (step(json!({"wait": true})), "did not match"),
        (
            step(json!({"fault": {"kind": "meteor"}})),
            "unknown variant `meteor`",
        ),
    ];
    for (text, said) in table {
        let file = script_file(&text);
        let error = match World::new(Options {
            script: Some(file.path().into()),
            ..Options::default()
        }) {
            Ok(_) => panic!("{text} is no good script"),
            Err(error) => format!("{error:#}"),
        };
        assert!(error.contains(said), "{text}: {error}");
    }
}

fn script_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("it is written");
    file
}

/// The documented example is a script, and plays.
#[test]
fn given_the_example_of_the_documentation_when_played_then_it_comes_to_its_end() {
    let page = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/embedded-script.md"
    ));
    let example = page
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("an example");
    let script: Value = serde_json::from_str(example).expect("the example is JSON");
    let mut client = Client::connect(&scripted(&script));
    client.session("s1");
    client.start("s1", "t1", "please list the files");
    assert_eq!(client.until_terminal()["status"], "completed");
    client.start("s1", "t2", "anything else");
    assert_eq!(client.until_terminal()["status"], "completed");
}
