//! The process fails, or talks nonsense: every prompt is answered, and the editor can go on.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::place::{Place, request};

/// The error of an answer, which has to be the Host's.
#[track_caller]
fn failure(answer: &Value) -> String {
    assert_eq!(answer["error"]["code"], json!(-32603), "{answer}");
    answer["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// A new session works.
#[track_caller]
fn goes_on(editor: &mut Editor) {
    let place = Place::new();
    let session = editor.session_in(place.cwd());
    let prompt = editor.prompt(&session, "hello");
    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("end_turn")
    );
    assert_eq!(editor.end(), Some(0));
    place.group().ends();
}

#[test]
fn given_a_turn_when_the_process_exits_then_the_prompt_fails_and_the_session_says_so() {
    let place = Place::new();
    let (mut editor, session, prompt) = place.in_turn("die");

    assert!(failure(&editor.answer(prompt)).contains("exit code 3"));
    let next = editor.prompt(&session, "hello");
    assert!(failure(&editor.answer(next)).contains("has ended"));
    place.group().ends();
    let close = editor.ask("session/close", json!({ "sessionId": session }));
    assert_eq!(editor.answer(close)["result"], json!({}));
    goes_on(&mut editor);
}

#[test]
fn given_a_turn_when_the_process_is_killed_then_the_prompt_fails_and_its_tools_end() {
    let place = Place::new();
    let (mut editor, _session, prompt) = place.in_turn("tool");
    let group = place.group();
    group.kill();

    assert!(failure(&editor.answer(prompt)).contains("exited unexpectedly"));
    group.ends();
    goes_on(&mut editor);
}

#[test]
fn given_a_process_that_leaves_another_with_its_pipe_when_it_exits_then_the_prompt_fails_all_the_same()
 {
    let place = Place::new();
    let (mut editor, _session, prompt) = place.in_turn("leave");

    assert!(failure(&editor.answer(prompt)).contains("exit code 4"));
    place.group().ends();
    goes_on(&mut editor);
}

#[test]
fn given_an_open_permission_when_the_process_is_killed_then_it_is_withdrawn_and_the_prompt_fails() {
    let place = Place::new();
    let (mut editor, _session, prompt) = place.in_turn("ask");
    let asked = request(&mut editor, "session/request_permission");
    place.group().kill();

    failure(&editor.answer(prompt));
    let withdrawn = request(&mut editor, "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    place.group().ends();
    goes_on(&mut editor);
}

#[test]
fn given_a_permission_when_it_is_answered_then_the_turn_goes_on() {
    let place = Place::new();
    let (mut editor, _session, prompt) = place.in_turn("ask");
    let asked = request(&mut editor, "session/request_permission");
    let options = asked["params"]["options"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let allow = options
        .iter()
        .find(|option| option["kind"] == json!("allow_once"));
    let chosen =
        json!({ "outcome": "selected", "optionId": allow.expect("an option")["optionId"] });
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "outcome": chosen } }));

    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("end_turn")
    );
}

#[test]
fn given_nonsense_among_its_lines_when_a_turn_runs_then_it_is_passed_over() {
    let place = Place::new();
    let (mut editor, _session, prompt) = place.in_turn("garbage");

    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("end_turn")
    );
    assert_eq!(editor.text(), "Hello.");
}

#[test]
fn given_a_flood_on_stderr_when_the_process_exits_then_the_answer_holds_its_last_words() {
    let place = Place::new();
    let (mut editor, _session, prompt) = place.in_turn("stderr");

    let message = failure(&editor.answer(prompt));
    assert!(
        message.contains("the last words"),
        "{} bytes",
        message.len()
    );
    assert!(message.len() < 4096, "{} bytes", message.len());
    place.group().ends();
}

/// Rule R7: the process waits, and nothing is lost.
#[test]
fn given_an_editor_that_does_not_read_when_a_process_floods_then_it_waits_and_all_of_it_comes() {
    let place = Place::new();
    let (mut editor, session) = place.session();
    editor.stop_reading();
    let prompt = editor.prompt(&session, "flood");
    let written = || fs::read_to_string(place.path("flood")).unwrap_or_default();
    // It came to a stop: the program, the pipes and the engine hold this much and no more.
    let mut before = place.left("flood");
    loop {
        std::thread::park_timeout(Duration::from_millis(1500));
        let now = written();
        if now == before {
            break;
        }
        before = now;
    }
    let held: u32 = before.trim().parse().expect("a number");
    assert!(held < 20, "{held} MiB of 24 were taken");
    editor.read_again();

    let answer = editor.answer_within(prompt, Duration::from_secs(60));
    assert_eq!(answer["result"]["stopReason"], json!("end_turn"));
    assert_eq!(editor.text().len(), 24 << 20);
}
