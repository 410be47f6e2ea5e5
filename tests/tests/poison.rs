//! An input at which the engine trapped comes back as poison (DESIGN.md, section 7): the
//! request is answered, or what the input may have meant is read anew, and nothing else
//! is lost.

use airlock_engine::{Input, Origin};
use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn poison(scene: &mut Scene, origin: Origin) {
    scene.desk.arrives(Input::Poison(origin));
    scene.settle();
}

fn end_turn(turn: &Turn) -> String {
    format!("{} end_turn", turn.prompt)
}

#[test]
fn given_a_request_that_traps_when_given_back_then_it_alone_is_answered() {
    each_way(|scene| {
        let turn = scene.running("hello");
        for (id, told) in [
            (json!(77), "77"),
            (json!("a"), "\"a\""),
            (json!(1.5), "1.5"),
        ] {
            let line = json!({ "jsonrpc": "2.0", "id": id, "method": "session/new" }).to_string();
            scene.desk.expect(&line);
            poison(scene, Origin::Acp(line.into_bytes()));
            assert_eq!(scene.editor(), [format!("{told} error -32603 null")]);
        }
        assert!(
            scene
                .desk
                .log
                .iter()
                .any(|line| line.contains("nothing else is affected"))
        );
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [end_turn(&turn)]);
    });
}

/// What is no message at all has an answer under `null`.
#[test]
fn given_a_line_without_an_id_when_given_back_then_an_error_without_an_id() {
    each_way(|scene| {
        poison(scene, Origin::Acp(b"{\"jsonrpc\":".to_vec()));
        assert_eq!(scene.editor(), ["null error -32603 null"]);
    });
}

/// JSON-RPC: a notification is never answered, whatever becomes of it.
#[test]
fn given_a_notification_that_traps_when_given_back_then_nothing_is_answered() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel",
                             "params": { "sessionId": scene.session } });
        poison(scene, Origin::Acp(cancel.to_string().into_bytes()));
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.desk.nameless(), 0);
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [end_turn(&turn)]);
    });
}

/// Nor is an answer; the question that it was for counts as refused, and is not left open.
#[test]
fn given_an_answer_that_traps_when_given_back_then_its_question_is_refused() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let asked = words::pending(
            &scene.session,
            &turn.id,
            "i1",
            &words::request("permission"),
        );
        let root = scene.told(&turn, "running");
        let line = scene.root_line(&root, std::slice::from_ref(&asked));
        scene.says([line]);
        let waits = scene.asked("interaction.query");
        scene.result(&waits, &asked);
        let id = scene.desk.asking()[0].to_owned();
        scene.editor();
        scene.host();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"outcome":{{}}}}}}"#);
        scene.desk.expect(&answer);
        poison(scene, Origin::Acp(answer.into_bytes()));
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
    });
}

/// A line of the Host: whatever it meant is read again over a fresh connection.
#[test]
fn given_a_line_of_the_host_that_traps_when_given_back_then_the_turn_is_recovered() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.text(&turn, "m1", 0, "Hel");
        scene.host();
        poison(scene, Origin::Host(1, b"{}".to_vec()));
        scene.wait(100);
        assert_eq!(scene.host(), ["hello", "open"]);
        let root = scene.told(&turn, "completed");
        scene.open_with(&root, &json!(3), &json!({}));
        let rows = [words::durable(
            2,
            &words::assistant(&turn.id, "m1", "Hello"),
        )];
        scene.page(&rows, None);
        scene.page(&rows, None);
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"Hel\"".to_owned(),
                "says m1: \"lo\"".to_owned(),
                end_turn(&turn)
            ]
        );
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// A channel that is gone means nothing.
#[test]
fn given_a_line_of_a_channel_that_is_gone_when_given_back_then_nothing_happens() {
    each_way(|scene| {
        let turn = scene.running("hello");
        poison(scene, Origin::Host(9, Vec::new()));
        scene.host();
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [end_turn(&turn)]);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// An answer about a file: the listing that waits for it is answered.
#[test]
fn given_an_answer_about_a_file_that_traps_when_given_back_then_the_listing_fails() {
    each_way(|scene| {
        scene.desk.files_answer = false;
        let id = scene.desk.request("session/list", &json!({ "cwd": "/w" }));
        scene.settle();
        poison(scene, Origin::File(1));
        let told = scene.editor();
        assert!(
            told.len() == 1 && told[0].starts_with(&format!("{id} error -32603")),
            "{told:?}"
        );
        assert!(told[0].contains("cwd.realpath"), "{told:?}");
    });
}

/// A timer: a fresh connection is safe for every kind.
#[test]
fn given_a_timer_that_traps_when_given_back_then_the_turn_is_recovered() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.host();
        let timer = scene.desk.timers()[0];
        poison(scene, Origin::Timer(timer));
        scene.wait(100);
        assert_eq!(scene.host(), ["hello", "open"]);
        let root = scene.told(&turn, "completed");
        scene.open_with(&root, &Value::Null, &json!({}));
        assert_eq!(scene.editor(), [end_turn(&turn)]);
    });
}

/// The timer of the end itself: the end comes, whatever is still open.
#[test]
fn given_the_timer_of_the_end_that_traps_when_given_back_then_the_end_comes() {
    each_way(|scene| {
        scene.running("hello");
        let before = scene.desk.timers();
        scene.hang_up();
        let timers = scene.desk.timers();
        let end = timers.iter().find(|timer| !before.contains(timer));
        poison(scene, Origin::Timer(*end.unwrap()));
        assert_eq!(scene.desk.done, Some(0));
        assert!(scene.desk.finished());
    });
}

/// Pauses and questions go on after a poisoned timer of theirs.
#[test]
fn given_any_timer_of_a_recovery_that_traps_when_given_back_then_the_prompt_is_still_answered() {
    for at in 0..4 {
        each_way(|scene| {
            let turn = scene.dispatched("hello");
            scene.lose();
            let timers = scene.desk.timers();
            let Some(timer) = timers.get(at) else { return };
            poison(scene, Origin::Timer(*timer));
            scene.wait(20_000);
            let told = scene.editor();
            assert!(
                told.len() == 1 && told[0].starts_with(&format!("{} error", turn.prompt)),
                "{told:?}"
            );
        });
    }
}

/// The pause before a question, and before an opening.
#[test]
fn given_a_pause_that_traps_when_given_back_then_the_prompt_is_still_answered() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.lose();
        scene.wait(100);
        let asked = scene.asked("turn.query");
        scene.error(&asked, "internal_failure", "no");
        let timer = *scene.desk.timers().last().unwrap();
        poison(scene, Origin::Timer(timer));
        scene.wait(20_000);
        let told = scene.editor();
        assert!(
            told.len() == 1 && told[0].starts_with(&format!("{} error", turn.prompt)),
            "{told:?}"
        );
    });
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.closed("slow_consumer");
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &Value::Null, &json!({}));
        scene.closed("slow_consumer");
        let timer = *scene.desk.timers().last().unwrap();
        poison(scene, Origin::Timer(timer));
        scene.wait(1_000);
        let root = scene.told(&turn, "completed");
        scene.open_with(&root, &Value::Null, &json!({}));
        assert_eq!(scene.editor(), [end_turn(&turn)]);
    });
}

/// Names are asked for again later.
#[test]
fn given_the_timer_of_names_that_traps_when_given_back_then_names_are_still_asked_for() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        let changed =
            json!({ "kind": "session.catalog.changed", "revision": 2, "sessionId": scene.session });
        scene.says([changed.to_string()]);
        let timer = *scene.desk.timers().last().unwrap();
        poison(scene, Origin::Timer(timer));
        let next = scene.running("again");
        scene.says([changed.to_string()]);
        scene.wait(1_000);
        assert_eq!(scene.count("session.catalog.query"), 1);
        scene.now(&next, "completed");
    });
}
