//! `session/close` at each phase (Maka adapter, section 14): the session is unknown at
//! once, what runs is cancelled, and every closer is told how its Stop went.

use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn cancelled(prompt: u64) -> String {
    format!("{prompt} cancelled")
}

fn closed(request: u64) -> String {
    format!("{request} {{}}")
}

fn unknown(scene: &mut Scene) {
    let session = scene.session.clone();
    let id = scene.prompt("again");
    let sentence =
        format!(r#"{id} error -32002 {{"reason":"unknown_session","sessionId":"{session}"}}"#);
    assert_eq!(scene.editor(), [sentence]);
    let answer = scene.desk.log.last().expect("an answer");
    let both = "Load it with session/load, or create one with session/new.";
    assert!(answer.contains(both), "{answer}");
}

fn stopped(scene: &mut Scene, turn: &Turn) {
    let asked = scene.asked("turn.stop");
    let told = scene.told(turn, "cancelled");
    scene.result(&asked, &told);
}

/// An untouched session needs no Host.
#[test]
fn given_a_session_without_a_prompt_when_closed_then_answered_at_once_and_unknown() {
    each_way(|scene| {
        let request = scene.close();
        assert_eq!(scene.editor(), [closed(request)]);
        assert_eq!(scene.host(), NOTHING);
        unknown(scene);
        let again = scene.close();
        let session = scene.session.clone();
        let sentence = format!(
            r#"{again} error -32002 {{"reason":"unknown_session","sessionId":"{session}"}}"#
        );
        assert_eq!(scene.editor(), [sentence]);
        assert_eq!(scene.host(), NOTHING);
    });
}

#[test]
fn given_an_idle_session_with_a_feed_when_closed_then_the_feed_is_closed_once() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        scene.editor();
        scene.host();
        let request = scene.close();
        assert_eq!(scene.editor(), [closed(request)]);
        assert_eq!(scene.host(), ["close feed-1"]);
    });
}

/// R23.
#[test]
fn given_an_opening_under_way_when_closed_then_the_late_feed_is_closed_and_no_turn_starts() {
    each_way(|scene| {
        let prompt = scene.prompt("hello");
        scene.host();
        let request = scene.close();
        assert_eq!(scene.editor(), [cancelled(prompt), closed(request)]);
        scene.open();
        assert_eq!(scene.host(), ["close feed-1"]);
        scene.wait(60_000);
        assert_eq!(scene.host(), NOTHING);
        unknown(scene);
    });
}

/// The answer waits for the Stop; the session is unknown before.
#[test]
fn given_a_streaming_turn_when_closed_then_unknown_at_once_and_answered_after_the_stop() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.text(&turn, "m1", 0, "Hel");
        scene.editor();
        scene.host();
        let request = scene.close();
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        assert_eq!(scene.editor(), NOTHING);
        unknown(scene);
        scene.text(&turn, "m1", 3, "lo");
        scene.cancel();
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt), closed(request)]);
        assert_eq!(scene.host(), ["close feed-1"]);
    });
}

#[test]
fn given_a_start_under_way_when_closed_then_one_stop_follows_the_run_and_then_the_answers() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.host();
        let request = scene.close();
        assert_eq!(scene.host(), NOTHING);
        let asked = scene.asked("turn.start");
        let started = scene.started(&turn);
        scene.result(&asked, &started);
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt), closed(request)]);
    });
}

#[test]
fn given_waiting_prompts_when_closed_then_all_are_cancelled_and_only_one_was_sent() {
    each_way(|scene| {
        let turn = scene.running("one");
        let (second, third) = (scene.prompt("two"), scene.prompt("three"));
        let request = scene.close();
        assert_eq!(scene.editor(), [cancelled(second), cancelled(third)]);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt), closed(request)]);
        assert_eq!(scene.count("turn.start"), 1);
    });
}

/// R33: the raw Stop error, for every closer (27.13, 14.2).
#[test]
fn given_a_stop_that_fails_when_closed_twice_then_both_closers_get_its_error() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let first = scene.close();
        let second = scene.close();
        assert_eq!(scene.editor(), NOTHING);
        let asked = scene.asked("turn.stop");
        scene.error(&asked, "internal_failure", "no");
        let data = r#"{"source":"runtime_host","operation":"turn.stop","code":"internal_failure"}"#;
        assert_eq!(
            scene.editor(),
            [
                cancelled(turn.prompt),
                format!("{first} error -32603 {data}"),
                format!("{second} error -32603 {data}"),
            ]
        );
        assert_eq!(scene.count("turn.stop"), 1);
        unknown(scene);
    });
}

#[test]
fn given_a_close_under_way_when_closed_again_then_both_are_answered_when_it_is_done() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let first = scene.close();
        let second = scene.close();
        stopped(scene, &turn);
        assert_eq!(
            scene.editor(),
            [cancelled(turn.prompt), closed(first), closed(second)]
        );
        let last = scene.close();
        assert!(scene.answer(last).unwrap().contains("unknown_session"));
    });
}

/// 12.3, R32: nobody can say whether the turn runs.
#[test]
fn given_a_lost_start_that_nobody_can_tell_of_when_closed_then_cancelled_and_the_close_says_so() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.lose();
        scene.wait(100);
        let request = scene.close();
        for _ in 0..5 {
            assert_eq!(scene.editor(), NOTHING);
            let asked = scene.asked("turn.query");
            scene.error(&asked, "internal_failure", "no");
            scene.wait(200);
        }
        let told = scene.editor();
        assert_eq!(told[0], cancelled(turn.prompt));
        assert!(
            told[1].starts_with(&format!("{request} error -32603")),
            "{told:?}"
        );
        assert!(told[1].contains("outcome_unknown"), "{told:?}");
        scene.host();
        scene.wait(60_000);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// R38.
#[test]
fn given_a_live_turn_of_another_client_when_closed_then_it_is_stopped_and_its_error_is_told() {
    for fails in [false, true] {
        each_way(|scene| {
            let turn = scene.running("hello");
            scene.now(&turn, "completed");
            let foreign = words::turn(&scene.session, "other", "run-9", "running", &Value::Null);
            let line = scene.root_line(&foreign, &[words::interaction("other", "permission")]);
            scene.says([line]);
            scene.editor();
            scene.host();
            let request = scene.close();
            assert_eq!(scene.host(), ["stop other run-9"]);
            assert_eq!(scene.editor(), NOTHING);
            let asked = scene.asked("turn.stop");
            if fails {
                scene.error(&asked, "operation_conflict", "no");
                let told = scene.answer(request).unwrap();
                assert!(
                    told.contains("operation_conflict") && told.contains("turn.stop"),
                    "{told}"
                );
            } else {
                let told = words::turn(
                    &scene.session,
                    "other",
                    "run-9",
                    "cancelled",
                    &json!({ "abortSource": "user_stop" }),
                );
                scene.result(&asked, &told);
                assert_eq!(scene.answer(request).unwrap(), closed(request));
            }
            assert_eq!(scene.host(), ["close feed-1"]);
        });
    }
}

/// Close while the final reread runs: nothing more is shown, no Stop.
#[test]
fn given_the_final_reread_under_way_when_closed_then_answered_at_once() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.advanced(2);
        scene.now(&turn, "completed");
        let request = scene.close();
        assert_eq!(scene.editor(), [cancelled(turn.prompt), closed(request)]);
        let row = words::durable(1, &words::assistant(&turn.id, "m1", "late"));
        scene.page(&[row], None);
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// Cancel, close and the editor's end share one Stop.
#[test]
fn given_a_running_turn_when_cancelled_closed_and_left_then_one_stop_serves_all() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.cancel();
        let request = scene.close();
        scene.hang_up();
        assert_eq!(scene.desk.done, None);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt), closed(request)]);
        assert_eq!(scene.desk.done, Some(0));
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// Without a Host for good, a close still has its answer within 5 s.
#[test]
fn given_a_host_gone_for_good_when_closed_then_prompt_and_close_are_answered_within_5_s() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.desk.host.refusal = Some(airlock_engine::HostRefusal::Stale);
        scene.lose();
        let request = scene.close();
        scene.wait(5_000);
        let told = scene.editor();
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(told[0], cancelled(turn.prompt));
        assert!(
            told[1].starts_with(&format!("{request} error -32603")),
            "{told:?}"
        );
    });
}

/// 14, step 3: updates are suppressed from the request on, also a name that comes late.
#[test]
fn given_a_close_under_way_when_a_new_name_comes_then_it_is_not_told() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let session = scene.session.clone();
        let changed =
            json!({ "kind": "session.catalog.changed", "revision": 2, "sessionId": session });
        scene.says([changed.to_string()]);
        scene.wait(1_000);
        let request = scene.close();
        let asked = scene.asked("session.catalog.query");
        let mut found = words::session(&json!(session), &json!("/srv/maka-work"));
        found["name"] = json!("A title");
        scene.result(&asked, &json!({ "kind": "session", "session": found }));
        assert_eq!(scene.editor(), NOTHING);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt), closed(request)]);
    });
}
