//! Text that the Host cut in the middle of a character, so that its JSON holds one half of a
//! surrogate pair (offsets of the wire are UTF-16: Maka adapter, section 2). No editor can
//! be shown that, and no connection is dropped over it.

use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const FIRST: &str = r"\ud83e";
const SECOND: &str = r"\udde0";

fn end_turn(turn: &Turn) -> String {
    format!("{} end_turn", turn.prompt)
}

/// A delta with this escaped text.
fn says(scene: &mut Scene, turn: &Turn, start: u64, escaped: &str) {
    let line = scene.text_line(turn, "m1", start, "TEXT");
    scene.says([line.replace("TEXT", escaped)]);
}

fn running(scene: &mut Scene) -> Turn {
    let turn = scene.running("hello");
    scene.now(&turn, "running");
    scene.editor();
    scene.host();
    turn
}

#[test]
fn given_half_a_character_in_a_text_when_heard_then_shown_as_unknown_and_the_turn_goes_on() {
    each_way(|scene| {
        let turn = running(scene);
        says(scene, &turn, 0, &format!("a{FIRST}b"));
        says(scene, &turn, 3, &format!("{SECOND}c"));
        says(scene, &turn, 5, &format!("{FIRST}{SECOND}"));
        scene.now(&turn, "completed");
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"a\u{fffd}b\"".to_owned(),
                "says m1: \"\u{fffd}c\"".to_owned(),
                "says m1: \"🧠\"".to_owned(),
                end_turn(&turn)
            ]
        );
        assert_eq!(scene.desk.host.connects, 1);
        assert_eq!(scene.count("subscription.open"), 1);
    });
}

/// The halves of one character in two pieces: what the store has is whole, and is read.
#[test]
fn given_a_character_cut_in_two_pieces_when_heard_then_read_from_the_store_and_shown_whole() {
    each_way(|scene| {
        let turn = running(scene);
        says(scene, &turn, 0, &format!("a{FIRST}"));
        assert_eq!(scene.editor(), ["says m1: \"a\""]);
        says(scene, &turn, 2, &format!("{SECOND}b"));
        assert_eq!(scene.host(), ["close feed-1", "open"]);
        let row = words::overlay(0, &words::assistant(&turn.id, "m1", "a🧠b"));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &Value::Null, &more);
        scene.text(&turn, "m1", 4, "!");
        scene.now(&turn, "completed");
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"🧠b\"".to_owned(),
                "says m1: \"!\"".to_owned(),
                end_turn(&turn)
            ]
        );
        assert_eq!(scene.desk.host.connects, 1);
    });
}

/// A row of the store, and the raw values that go on to the editor as they are.
#[test]
fn given_half_a_character_in_stored_rows_when_read_then_text_and_raw_values_have_none() {
    each_way(|scene| {
        let turn = running(scene);
        let call = words::tool_call(&turn.id, "t1").to_string();
        let result = words::tool_result(&turn.id, "t1", "HALF").to_string();
        let text = words::assistant(&turn.id, "m1", "HALF").to_string();
        let rows = [call, result, text].map(|row| row.replace("HALF", &format!("x{FIRST}")));
        let rows = (0..).zip(&rows).map(|(sequence, row)| {
            json!({ "kind": "durable", "sequence": sequence, "byteOffset": 0,
                    "totalBytes": row.len(), "payloadDigest": null, "data": STANDARD.encode(row) })
        });
        let rows: Vec<Value> = rows.collect();
        scene.advanced(2);
        scene.now(&turn, "completed");
        while scene
            .desk
            .host
            .waiting()
            .contains(&"session.transcript.page")
        {
            scene.page(&rows, None);
        }
        assert_eq!(
            scene.desk.shown("agent_message_chunk"),
            [("m1".to_owned(), "x\u{fffd}".to_owned())]
        );
        let log = scene.desk.log.join("\n");
        assert!(!log.contains(FIRST), "{log}");
        assert!(
            log.contains(r"x\ufffd") || log.contains("x\u{fffd}"),
            "{log}"
        );
        assert_eq!(scene.answer(turn.prompt), Some(end_turn(&turn)));
    });
}
