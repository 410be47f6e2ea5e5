//! A Host that lives, and says so to every probe, but never answers what it was asked: no
//! request waits for ever (Maka adapter, section 2; what it leaves without a limit has one
//! here by decision).

use airlock_engine::limits;
use airlock_tests::conversation::CWD;
use airlock_tests::scripted_host::{Scene, each_way};
use serde_json::json;

/// The editor asks, the Host keeps silent until the limit and one millisecond before it.
fn answered_at(scene: &mut Scene, id: u64, limit: u64) -> String {
    scene.wait(limit - 1);
    assert_eq!(scene.answer(id), None, "not before its time");
    scene.wait(1);
    scene.answer(id).expect("an answer in time")
}

fn timed_out(id: u64, operation: &str) -> String {
    format!(
        r#"{id} error -32603 {{"source":"runtime_host","operation":"{operation}","code":"request_interrupted","reason":"timeout","dispatch":"dispatched"}}"#
    )
}

#[test]
fn given_a_session_that_is_never_made_when_its_time_is_over_then_the_outcome_is_unknown() {
    each_way(|scene| {
        scene.desk.host.by_hand("session.create");
        let params = json!({ "cwd": CWD, "mcpServers": [] });
        let id = scene.desk.request("session/new", &params);
        scene.settle();
        let answer = answered_at(scene, id, limits::MAKA_FIRST_MS);
        let made = scene.asked("session.create").input["sessionId"].clone();
        assert!(answer.contains("session.create"), "{answer}");
        assert!(answer.contains(made.as_str().unwrap()), "{answer}");
    });
}

#[test]
fn given_a_list_or_a_load_that_is_never_answered_when_its_time_is_over_then_told() {
    each_way(|scene| {
        for (method, params) in [
            ("session/list", json!({})),
            (
                "session/load",
                json!({ "sessionId": "s-9", "cwd": CWD, "mcpServers": [] }),
            ),
        ] {
            let id = scene.desk.request(method, &params);
            scene.settle();
            let answer = answered_at(scene, id, limits::MAKA_FIRST_MS);
            assert!(answer.contains("session.catalog.query"), "{answer}");
        }
    });
}

/// As after a lost connection: it is not sent again, and only the Host's word settles it.
#[test]
fn given_a_start_that_is_never_answered_when_its_time_is_over_then_asked_what_became_of_it() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.host();
        scene.wait(limits::MAKA_START_MS - 1);
        assert_eq!(scene.count("turn.query"), 0);
        scene.wait(1);
        let query = scene.asked("turn.query");
        scene.error(&query, "not_found", "no such turn");
        let told = timed_out(turn.prompt, "turn.start");
        assert_eq!(scene.answer(turn.prompt), Some(told));
        assert_eq!(scene.count("turn.start"), 1);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// The snapshot said that it runs: the answer would say nothing new.
#[test]
fn given_a_start_that_is_never_answered_when_seen_running_then_it_goes_on() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.now(&turn, "running");
        scene.wait(limits::MAKA_START_MS);
        assert_eq!(scene.count("turn.query"), 0);
        scene.text(&turn, "m1", 0, "Hello");
        scene.now(&turn, "completed");
        let end = format!("{} end_turn", turn.prompt);
        assert_eq!(scene.editor(), ["says m1: \"Hello\"".to_owned(), end]);
    });
}
