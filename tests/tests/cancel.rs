//! `session/cancel` and `$/cancel_request` at each phase of a prompt (Maka adapter,
//! section 13): at most one Stop, always for the exact run, and the answer waits for it.

use airlock_tests::scripted_host::{Scene, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn cancelled(prompt: u64) -> String {
    format!("{prompt} cancelled")
}

/// Answers the one Stop as the Host does.
fn stopped(scene: &mut Scene, turn: &airlock_tests::scripted_host::Turn) {
    let asked = scene.asked("turn.stop");
    let told = scene.told(turn, "cancelled");
    scene.result(&asked, &told);
}

/// 13.4 connecting.
#[test]
fn given_no_connection_yet_when_cancelled_then_answered_at_once_and_nothing_is_started() {
    each_way(|scene| {
        scene.desk.host.greeting = None;
        scene.lose();
        let prompt = scene.prompt("hello");
        assert_eq!(scene.host(), ["hello"]);
        scene.cancel();
        assert_eq!(scene.editor(), [cancelled(prompt)]);
        scene.wait(60_000);
        assert_eq!(scene.count("turn.start"), 0);
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// 13.4 attaching, R20.
#[test]
fn given_an_opening_under_way_when_cancelled_then_the_late_feed_is_closed_once_and_no_turn_starts()
{
    each_way(|scene| {
        let prompt = scene.prompt("hello");
        assert_eq!(scene.host(), ["open"]);
        scene.cancel();
        assert_eq!(scene.editor(), [cancelled(prompt)]);
        scene.open();
        assert_eq!(scene.host(), ["close feed-1"]);
        scene.wait(60_000);
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// 13.4 start pending, R25: the snapshot tells the run first.
#[test]
fn given_a_start_under_way_when_cancelled_then_the_snapshot_gives_the_run_for_exactly_one_stop() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.editor(), NOTHING);
        scene.now(&turn, "running");
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        let asked = scene.asked("turn.start");
        let started = scene.started(&turn);
        scene.result(&asked, &started);
        scene.cancel();
        scene.now(&turn, "cancelled");
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.editor(), NOTHING);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// 13.4 start pending: the answer tells the run first.
#[test]
fn given_a_start_under_way_when_cancelled_then_its_answer_gives_the_run_for_exactly_one_stop() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.host();
        scene.cancel();
        let asked = scene.asked("turn.start");
        let started = scene.started(&turn);
        scene.result(&asked, &started);
        scene.now(&turn, "running");
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
    });
}

/// 13.4 start pending, and it is refused.
#[test]
fn given_a_start_under_way_when_cancelled_and_then_refused_then_nothing_is_stopped() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.host();
        scene.cancel();
        let asked = scene.asked("turn.start");
        scene.error(&asked, "session_busy", "busy");
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// 13.4 start lost, 12.3: found running.
#[test]
fn given_a_lost_start_when_cancelled_and_found_running_then_one_stop_and_cancelled() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.cancel();
        scene.lose();
        scene.wait(100);
        scene.host();
        let asked = scene.asked("turn.query");
        let told = scene.told(&turn, "running");
        scene.result(&asked, &told);
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        assert_eq!(scene.editor(), NOTHING);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
    });
}

/// 13.4 start lost, 12.3: absent, ended, or nobody can say.
#[test]
fn given_a_lost_start_when_cancelled_and_not_running_then_no_stop_and_cancelled() {
    for found in ["not_found", "completed", "untold"] {
        each_way(|scene| {
            let turn = scene.dispatched("hello");
            scene.cancel();
            scene.lose();
            scene.wait(100);
            for _ in 0..5 {
                let asked = scene.asked("turn.query");
                let told = scene.told(&turn, found);
                match found {
                    "completed" => scene.result(&asked, &told),
                    "not_found" => scene.error(&asked, found, "Turn was not admitted"),
                    _ => scene.error(&asked, "internal_failure", "no"),
                }
                scene.wait(200);
                if found != "untold" {
                    break;
                }
            }
            assert_eq!(scene.editor(), [cancelled(turn.prompt)], "{found}");
            assert_eq!(scene.count("turn.stop"), 0, "{found}");
        });
    }
}

/// 13.4 streaming; the latch: nothing more is shown.
#[test]
fn given_a_streaming_turn_when_cancelled_then_one_stop_and_nothing_more_is_shown() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.text(&turn, "m1", 0, "Hel");
        assert_eq!(scene.editor(), ["says m1: \"Hel\""]);
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        scene.text(&turn, "m1", 3, "lo");
        scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
        scene.cancel();
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// R35: the terminal snapshot is not the answer to the Stop.
#[test]
fn given_a_stop_under_way_when_the_turn_ends_first_then_the_answer_waits_for_the_stop() {
    for end in ["cancelled", "completed", "failed"] {
        each_way(|scene| {
            let turn = scene.running("hello");
            scene.cancel();
            scene.now(&turn, end);
            scene.wait(1_000);
            assert_eq!(scene.editor(), NOTHING, "{end}");
            stopped(scene, &turn);
            assert_eq!(scene.editor(), [cancelled(turn.prompt)], "{end}");
            assert_eq!(scene.count("turn.stop"), 1, "{end}");
        });
    }
}

/// 13.4 reconciling, R14: no Stop for a turn that has ended; the late page is ignored.
#[test]
fn given_the_final_reread_under_way_when_cancelled_then_answered_at_once_without_a_stop() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.advanced(2);
        scene.page(&[], None);
        scene.now(&turn, "completed");
        scene.cancel();
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        let row = words::durable(1, &words::assistant(&turn.id, "m1", "late"));
        scene.page(&[row], None);
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// 13.4 after the answer.
#[test]
fn given_an_answered_prompt_when_cancelled_then_nothing_is_asked() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [format!("{} end_turn", turn.prompt)]);
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// R19: cancelled wins over what cannot be shown.
#[test]
fn given_a_turn_that_cannot_be_shown_when_cancelled_then_cancelled_wins_and_one_stop_went_out() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.text(&turn, "m1", 0, "Hello");
        scene.text(&turn, "m1", 0, "Howdy");
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), NOTHING);
        stopped(scene, &turn);
        assert_eq!(
            scene.editor(),
            ["says m1: \"Hello\"".to_owned(), cancelled(turn.prompt)]
        );
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// R40-43: a failed Stop keeps the root, so that the next cancel can stop it.
#[test]
fn given_a_stop_that_failed_when_cancelled_again_then_the_live_root_is_stopped_again() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.cancel();
        let asked = scene.asked("turn.stop");
        scene.error(&asked, "internal_failure", "no");
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        stopped(scene, &turn);
        scene.cancel();
        assert_eq!(scene.host(), NOTHING);
    });
}

/// N86: a Stop may take 30 s.
#[test]
fn given_a_stop_that_is_never_answered_when_30_s_have_passed_then_cancelled() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.cancel();
        scene.wait(29_999);
        assert_eq!(scene.editor(), NOTHING);
        scene.wait(1);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// 13.3: a Stop that may have arrived is never sent again.
#[test]
fn given_a_stop_under_way_when_the_connection_is_lost_then_cancelled_and_no_second_stop() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.cancel();
        scene.lose();
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        scene.wait(60_000);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// 13.3: it survives the loss of the subscription.
#[test]
fn given_a_stop_under_way_when_the_feed_is_closed_then_cancelled_follows_the_stop() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.cancel();
        scene.closed("session_removed");
        assert_eq!(scene.editor(), NOTHING);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// R37: the editor's cancel stops a live turn of another client.
#[test]
fn given_a_live_turn_of_another_client_when_cancelled_then_it_is_stopped_with_its_ids() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        scene.editor();
        let foreign = words::turn(&scene.session, "other", "run-9", "running", &Value::Null);
        let pending = [words::interaction("other", "question")];
        let line = scene.root_line(&foreign, &pending);
        scene.says([line]);
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), ["stop other run-9"]);
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// Two prompts: the second waits; a cancel ends both, and only the first was ever sent.
#[test]
fn given_a_waiting_prompt_when_the_session_is_cancelled_then_both_are_cancelled() {
    each_way(|scene| {
        let turn = scene.running("one");
        let second = scene.prompt("two");
        scene.cancel();
        assert_eq!(scene.editor(), [cancelled(second)]);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        assert_eq!(scene.count("turn.start"), 1);
    });
}

#[test]
fn given_a_waiting_prompt_when_its_request_is_cancelled_then_the_running_one_goes_on() {
    each_way(|scene| {
        let turn = scene.running("one");
        let second = scene.prompt("two");
        scene.host();
        scene.cancel_request(second);
        assert_eq!(scene.editor(), [cancelled(second)]);
        assert_eq!(scene.host(), NOTHING);
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [format!("{} end_turn", turn.prompt)]);
        assert_eq!(scene.count("turn.start"), 1);
    });
}

#[test]
fn given_a_running_prompt_when_its_request_is_cancelled_then_the_waiting_one_starts() {
    each_way(|scene| {
        let turn = scene.running("one");
        let second = scene.prompt("two");
        scene.host();
        scene.cancel_request(turn.prompt);
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        let asked = scene.asked("turn.start");
        assert_eq!(asked.input["content"]["text"], "two");
        let turn = airlock_tests::scripted_host::Turn {
            prompt: second,
            id: asked.input["turnId"].as_str().unwrap().to_owned(),
            run: "run-2".to_owned(),
        };
        let started = scene.started(&turn);
        scene.result(&asked, &started);
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [format!("{second} end_turn")]);
    });
}

/// A Stop that waits for the connection is sent once when it is back.
#[test]
fn given_a_lost_connection_when_cancelled_then_the_stop_is_sent_once_it_is_back() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.lose();
        scene.host();
        scene.cancel();
        assert_eq!(scene.editor(), NOTHING);
        scene.wait(100);
        let asked = scene.host();
        assert!(
            asked.contains(&format!("stop {} run-1", turn.id)),
            "{asked:?}"
        );
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}
