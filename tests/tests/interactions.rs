//! A question of the Host that this editor, or this epoch, cannot ask (Maka adapter, section
//! 21.1): the own turn is stopped and nothing is answered; another client's turn is left
//! alone. What can be asked is in `dialogs`.

use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// This editor shows no forms, and this epoch knows none of the others.
const KINDS: [&str; 3] = ["question", "form", "riddle"];

fn unsupported(turn: &Turn, kind: &str) -> String {
    format!(
        r#"{} error -32603 {{"source":"adapter","code":"unsupported_interaction","kind":"{kind}","interactionId":"i1"}}"#,
        turn.prompt
    )
}

fn asks(scene: &mut Scene, turn: &Turn, kind: &str) {
    let root = scene.told(turn, "waiting_for_user");
    let line = scene.root_line(&root, &[words::interaction(&turn.id, kind)]);
    scene.says([line]);
}

fn next_works(scene: &mut Scene) {
    let next = scene.running("again");
    scene.now(&next, "completed");
    assert_eq!(scene.editor(), [format!("{} end_turn", next.prompt)]);
    assert_eq!(scene.count("subscription.open"), 2);
    assert_eq!(scene.count("interaction.answer"), 0);
}

/// 26.4 I11: no request goes to the editor.
#[test]
fn given_an_own_turn_that_asks_when_heard_then_feed_closed_one_stop_the_kind_told_and_the_next_works()
 {
    for kind in KINDS {
        each_way(|scene| {
            let turn = scene.running("hello");
            scene.host();
            asks(scene, &turn, kind);
            assert_eq!(
                scene.host(),
                ["close feed-1".to_owned(), format!("stop {} run-1", turn.id)]
            );
            assert_eq!(scene.editor(), NOTHING);
            let asked = scene.asked("turn.stop");
            let told = scene.told(&turn, "cancelled");
            scene.result(&asked, &told);
            assert_eq!(scene.editor(), [unsupported(&turn, kind)]);
            next_works(scene);
        });
    }
}

/// A failed Stop does not change what is told.
#[test]
fn given_a_stop_that_fails_when_a_turn_asks_then_the_error_stays_and_the_next_works() {
    each_way(|scene| {
        let turn = scene.running("hello");
        asks(scene, &turn, "question");
        let asked = scene.asked("turn.stop");
        scene.error(&asked, "internal_failure", "no");
        assert_eq!(scene.editor(), [unsupported(&turn, "question")]);
        next_works(scene);
    });
}

/// Asked before `turn.start` is answered: the snapshot tells the run.
#[test]
fn given_a_start_under_way_when_its_turn_asks_then_one_exact_stop() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        asks(scene, &turn, "form");
        let start = scene.asked("turn.start");
        let started = scene.started(&turn);
        scene.result(&start, &started);
        let asked = scene.asked("turn.stop");
        assert_eq!(asked.input["runId"], "run-1");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        assert_eq!(scene.editor(), [unsupported(&turn, "form")]);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// Pending when a feed is opened again: seen after the stored rows.
#[test]
fn given_a_recovered_feed_with_a_pending_question_when_read_then_one_stop_and_the_kind() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.closed("slow_consumer");
        let root = scene.told(&turn, "waiting_for_user");
        let more = json!({ "pending": [words::interaction(&turn.id, "question")] });
        scene.open_with(&root, &json!(4), &more);
        scene.page(
            &[words::durable(
                3,
                &words::assistant(&turn.id, "m1", "May I?"),
            )],
            None,
        );
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"May I?\"".to_owned(),
                unsupported(&turn, "question")
            ]
        );
    });
}

/// Cancelled wins.
#[test]
fn given_a_cancelled_turn_when_it_asks_then_cancelled_and_one_stop() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.cancel();
        asks(scene, &turn, "question");
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        assert_eq!(scene.editor(), [format!("{} cancelled", turn.prompt)]);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// A turn of another client, idle or before ours is admitted.
#[test]
fn given_another_clients_turn_that_asks_when_heard_then_it_is_left_alone() {
    each_way(|scene| {
        let prompt = scene.prompt("hello");
        let other = words::turn(
            &scene.session,
            "other",
            "run-9",
            "waiting_for_user",
            &Value::Null,
        );
        let more = json!({ "pending": [words::interaction("other", "question")] });
        scene.open_with(&other, &Value::Null, &more);
        let asked = scene.asked("turn.start");
        let line = scene.root_line(&other, &[words::interaction("other", "permission")]);
        scene.says([line]);
        scene.error(&asked, "session_busy", "busy");
        let told = scene.editor();
        assert!(
            told.len() == 1 && told[0].starts_with(&format!("{prompt} error")),
            "{told:?}"
        );
        assert!(told[0].contains("session_busy"), "{told:?}");
        assert_eq!(scene.count("turn.stop"), 0);
        assert_eq!(scene.count("subscription.close"), 0);
    });
}
