//! Requests of the agent to the editor: their ids, their answers, and answers that nobody
//! waits for.

use airlock_tests::scripted_host::{Scene, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn asking(scene: &mut Scene, id: &str) {
    let turn = scene.running("hello");
    let told = words::pending(&scene.session, &turn.id, id, &words::request("permission"));
    scene.pending(&turn, std::slice::from_ref(&told));
    scene.confirm(&told);
    scene.editor();
}

/// An answer whose id is not, to the letter, that of an open request means nothing.
#[test]
fn given_answers_under_other_ids_when_they_come_then_nothing_happens_and_the_right_one_still_counts()
 {
    each_way(|scene| {
        asking(scene, "i1");
        let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
        for id in [
            json!("1"),
            json!(2),
            json!(0),
            json!(-1),
            json!(1.5),
            Value::Null,
            json!([1]),
        ] {
            scene.desk.reply(&id, &cancelled);
            scene.settle();
        }
        scene
            .desk
            .send_line(r#"{"jsonrpc":"2.0","id":01,"result":{}}"#);
        scene.settle();
        // The last one was no JSON.
        let said = scene.editor();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("null error -32700"), "{said:?}");
        assert_eq!(scene.host().last().unwrap(), "look i1");
        scene.choose("reject_once");
        let answer = r#"answer i1 {"kind":"permission","decision":"deny","rememberForTurn":false}"#;
        assert_eq!(scene.host(), [answer]);
    });
}

/// Only the first answer counts; the Host is told once.
#[test]
fn given_a_request_when_answered_twice_then_the_second_answer_means_nothing() {
    each_way(|scene| {
        asking(scene, "i1");
        scene.choose("reject_once");
        scene.choose("allow_once");
        let id = scene.asked_user()["id"].clone();
        let error = json!({ "code": -32800, "message": "cancelled" });
        scene
            .desk
            .send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        scene.settle();
        assert_eq!(scene.count("interaction.answer"), 1);
        assert_eq!(scene.count("turn.stop"), 0);
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// A withdrawn request is answered once more by the editor (section 1.8 of the protocol);
/// its number is not used again.
#[test]
fn given_a_withdrawn_request_when_the_editor_answers_it_then_ignored_and_the_next_has_a_new_id() {
    each_way(|scene| {
        asking(scene, "i1");
        scene.cancel();
        assert_eq!(scene.editor(), ["withdraws 1"]);
        let error = json!({ "code": -32800, "message": "cancelled" });
        scene
            .desk
            .send(&json!({ "jsonrpc": "2.0", "id": 1, "error": error }));
        scene.settle();
        assert_eq!(scene.editor(), NOTHING);
        let stop = scene.asked("turn.stop");
        let gone = json!({ "sessionId": scene.session, "turnId": stop.input["turnId"],
                           "runId": "run-1", "status": "cancelled", "abortSource": "client" });
        scene.result(&stop, &gone);
        asking(scene, "i2");
        assert_eq!(scene.asked_user()["id"], 2);
        assert_eq!(scene.desk.asking(), ["2"]);
    });
}

/// Both sides number by themselves: the editor's own request 1 is another one.
#[test]
fn given_the_same_id_in_both_directions_when_answered_then_each_finds_its_own() {
    each_way(|scene| {
        asking(scene, "i1");
        scene
            .desk
            .send_line(r#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}"#);
        scene.settle();
        let list = scene.asked("session.catalog.query");
        scene.choose("allow_once");
        assert_eq!(scene.count("interaction.answer"), 1);
        scene.error(&list, "internal_failure", "no");
        let said = scene.editor();
        assert!(said[0].starts_with("1 error -32603"), "{said:?}");
    });
}

/// An editor that is gone answers nothing: no question outlives it.
#[test]
fn given_open_requests_when_the_editor_ends_then_all_are_withdrawn_and_the_end_is_clean() {
    each_way(|scene| {
        asking(scene, "i1");
        scene.hang_up();
        assert_eq!(scene.editor(), ["withdraws 1"]);
        assert_eq!(scene.desk.asking(), NOTHING);
        let stop = scene.asked("turn.stop");
        scene.error(&stop, "internal_failure", "no");
        assert_eq!(scene.desk.done, Some(0));
        assert_eq!(scene.desk.left_armed, [0_u64; 0]);
    });
}
