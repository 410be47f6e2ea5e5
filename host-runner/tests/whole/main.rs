//! The program whole: built-in component, sockets, pipes, an editor; what happens when
//! one of them dies in the middle of a turn. Every wait is for a fact, with a bound of five
//! seconds, because that is the promise.

mod editor;
mod files;
mod host;
mod memory;
mod options;
mod watcher;

use std::time::Duration;

use serde_json::json;

use editor::Editor;
use host::Host;

/// A prompt of the built-in script that streams for long.
const SLOW: &str = "slow";

#[test]
fn given_a_turn_in_the_middle_when_the_host_is_killed_then_the_prompt_is_answered_in_time() {
    let host = Host::start();
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let session = editor.session();
    let prompt = editor.prompt(&session, SLOW);
    editor.wait_for_text();
    host.kill();
    let answer = editor.answer(prompt);
    assert_eq!(answer["error"]["code"], json!(-32603), "{answer}");
    assert_eq!(
        answer["error"]["data"]["source"],
        json!("runtime_host"),
        "{answer}"
    );
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn given_a_turn_in_the_middle_when_the_connection_is_lost_then_the_turn_goes_on_whole() {
    // A second and a half of text, so that the loss is in the middle.
    let text = "All of this text has to arrive, once. ".repeat(16);
    let script = json!({ "chunk": 4, "every": 10, "plays": [{ "steps": [{ "text": text }] }] });
    let host = Host::playing(Some(&script.to_string()));
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let session = editor.session();
    let prompt = editor.prompt(&session, "go");
    editor.wait_for_text();
    host.drop_connections();
    let answer = editor.answer_within(prompt, Duration::from_secs(30));
    assert_eq!(
        answer["result"],
        json!({ "stopReason": "end_turn" }),
        "{answer}"
    );
    assert_eq!(editor.text(), text, "no text is lost or doubled");
}

#[test]
fn given_a_turn_in_the_middle_when_the_host_restarts_then_the_turn_fails_and_the_next_one_works() {
    let host = Host::start();
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let session = editor.session();
    let prompt = editor.prompt(&session, SLOW);
    editor.wait_for_text();
    host.restart();
    let answer = editor.answer(prompt);
    assert_eq!(
        answer["error"]["data"]["failureClass"],
        json!("app_restarted"),
        "{answer}"
    );
    let next = editor.prompt(&session, "hello");
    assert_eq!(
        editor.answer(next)["result"],
        json!({ "stopReason": "end_turn" })
    );
}

#[test]
fn given_a_turn_in_the_middle_when_it_is_cancelled_then_nothing_comes_after_the_answer() {
    let host = Host::start();
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let session = editor.session();
    let prompt = editor.prompt(&session, SLOW);
    editor.wait_for_text();
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(
        editor.answer(prompt)["result"],
        json!({ "stopReason": "cancelled" })
    );
    let close = editor.ask("session/close", json!({ "sessionId": session }));
    let heard_before = editor.updates();
    assert_eq!(editor.answer(close)["result"], json!({}));
    assert_eq!(editor.updates(), heard_before, "silence after the answer");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn given_a_turn_in_the_middle_when_the_editor_goes_then_the_program_ends_in_order() {
    let host = Host::start();
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let session = editor.session();
    let prompt = editor.prompt(&session, SLOW);
    editor.wait_for_text();
    editor.close_stdin();
    assert_eq!(
        editor.answer(prompt)["result"],
        json!({ "stopReason": "cancelled" })
    );
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn given_a_turn_in_the_middle_when_nobody_reads_stdout_any_more_then_the_program_ends() {
    let host = Host::start();
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let session = editor.session();
    editor.prompt(&session, SLOW);
    editor.wait_for_text();
    editor.close_stdout();
    assert!(editor.end().is_some(), "it ended by itself");
}

#[test]
fn given_a_component_that_traps_at_a_prompt_when_the_next_one_comes_then_the_session_goes_on() {
    let host = Host::start();
    let words = ["--plan-fault", "trap:here it breaks", "--log", "off"];
    let mut editor = Editor::start(&[&["--maka-socket", &host.socket()], &words[..]].concat());
    let session = editor.session();
    let broken = editor.prompt(&session, "here it breaks");
    assert_eq!(editor.answer(broken)["error"]["code"], json!(-32603));
    let next = editor.prompt(&session, "hello");
    assert_eq!(
        editor.answer(next)["result"],
        json!({ "stopReason": "end_turn" })
    );
}

#[test]
fn given_a_component_that_traps_in_mid_turn_when_the_host_goes_on_then_so_does_the_session() {
    for kind in ["trap", "spin", "grow"] {
        let host = Host::start();
        let fault = format!("{kind}:tool_output_delta");
        let words = ["--plan-fault", &fault, "--log", "off"];
        let mut editor = Editor::start(&[&["--maka-socket", &host.socket()], &words[..]].concat());
        let session = editor.session();
        let prompt = editor.prompt(&session, "hello");
        let answer = editor.answer_within(prompt, Duration::from_secs(30));
        assert!(
            answer.get("result").or(answer.get("error")).is_some(),
            "{kind}: {answer}"
        );
        let next = editor.prompt(&session, "long");
        let answer = editor.answer(next);
        assert_eq!(
            answer["result"],
            json!({ "stopReason": "end_turn" }),
            "{kind}"
        );
    }
}
