//! How much memory the whole program takes when much is asked of it (issue, accepted 5 and 6;
//! rule R7): a hundred sessions, and an editor that does not read. The bounds are those of
//! the resident memory at its highest, so that nothing in between escapes.

use std::time::Duration;

use serde_json::json;

use crate::editor::Editor;
use crate::host::Host;
use crate::watcher::Watcher;

const MEBIBYTE: u64 = 1 << 20;
const LONG: Duration = Duration::from_secs(120);

/// Turns at once: one for each feed that the Host allows.
const WAVE: usize = 16;

#[test]
fn given_a_hundred_sessions_when_each_has_its_turn_then_memory_stays_below_100_mib() {
    let text = "All of this text has to arrive, once. ";
    let script =
        json!({ "chunk": text.len(), "plays": [{ "steps": [{ "text": text, "repeat": 200 }] }] });
    let host = Host::playing(Some(&script.to_string()));
    let mut editor = Editor::start(&["--maka-socket", &host.socket(), "--log", "off"]);
    let sessions: Vec<String> = (0..100).map(|_| editor.session()).collect();
    for wave in sessions.chunks(WAVE) {
        let prompts: Vec<u64> = wave.iter().map(|it| editor.prompt(it, "go")).collect();
        for prompt in prompts {
            let answer = editor.answer_within(prompt, LONG);
            assert_eq!(answer["result"], json!({ "stopReason": "end_turn" }));
        }
    }
    let whole = text.repeat(200);
    for session in &sessions {
        assert!(editor.text_of(session) == whole, "lost or doubled");
    }
    let most = editor.highest_memory();
    assert!(most < 100 * MEBIBYTE, "{most} bytes");
    assert_eq!(editor.end(), Some(0));
}

/// What may wait for an editor (8 MiB), what is held back behind it (4 Mi units), a stored
/// message being read, and the snapshots of all that; not what the Host says.
const BOUND: u64 = 144 * MEBIBYTE;

/// A turn of so many messages of 6 MiB each, between tools. Its pieces are so short that what
/// the editor gets is four times as much.
fn flood(messages: usize) -> serde_json::Value {
    let message = json!({ "text": "0123456789abcdef".repeat(8), "repeat": 49_152 });
    let tool = json!({ "tool": "Read", "args": {} });
    let steps: Vec<_> = (0..messages)
        .flat_map(|_| [message.clone(), tool.clone()])
        .collect();
    json!({ "chunk": 128, "plays": [{ "steps": steps }] })
}

/// The Host says 24 MiB; nothing of it is read before the turn is over there.
#[test]
fn given_an_editor_that_does_not_read_when_the_host_floods_then_memory_is_bounded_and_all_arrives_once()
 {
    let host = Host::playing(Some(&flood(4).to_string()));
    let mut editor = Editor::start(&["--maka-socket", &host.socket(), "--log", "off"]);
    let session = editor.session();
    editor.stop_reading();
    let prompt = editor.prompt(&session, "go");
    assert_eq!(Watcher::of(&host, &session).turn_over(), "completed");
    let unread = editor.highest_memory();
    editor.read_again();
    let answer = editor.answer_within(prompt, LONG);
    assert_eq!(answer["result"], json!({ "stopReason": "end_turn" }));
    let text = editor.text_of(&session);
    assert_eq!(text.len(), 24 << 20);
    assert!(
        text.as_bytes()
            .chunks(16)
            .all(|it| it == b"0123456789abcdef")
    );
    let most = editor.highest_memory();
    assert!(unread < BOUND, "{unread} bytes while unread");
    assert!(most < BOUND, "{most} bytes at most");
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn given_an_editor_that_does_not_read_when_it_cancels_then_the_host_stops_and_the_answer_waits_for_it()
 {
    let mut script = flood(2);
    script["plays"][0]["steps"]
        .as_array_mut()
        .expect("steps")
        .push(json!({ "wait": "turn.stop" }));
    let host = Host::playing(Some(&script.to_string()));
    let mut editor = Editor::start(&["--maka-socket", &host.socket(), "--log", "off"]);
    let session = editor.session();
    editor.stop_reading();
    let prompt = editor.prompt(&session, "go");
    let mut watcher = Watcher::of(&host, &session);
    watcher.text_reaches(12 << 20);
    editor.tell("session/cancel", json!({ "sessionId": session }));
    assert_eq!(watcher.turn_over(), "cancelled");
    editor.read_again();
    let answer = editor.answer_within(prompt, LONG);
    assert_eq!(answer["result"], json!({ "stopReason": "cancelled" }));
    let most = editor.highest_memory();
    assert!(most < BOUND, "{most} bytes");
    assert_eq!(editor.end(), Some(0));
}
