//! A feed that breaks (Maka adapter, sections 16.3 to 16.5): opened again, everything
//! stored read first, and no text lost or doubled.

use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn end_turn(turn: &Turn) -> String {
    format!("{} end_turn", turn.prompt)
}

/// A running turn that has shown `Hel` and was seen as root.
fn shown(scene: &mut Scene) -> Turn {
    let turn = scene.running("hello");
    scene.now(&turn, "running");
    scene.text(&turn, "m1", 0, "Hel");
    assert_eq!(scene.editor(), ["says m1: \"Hel\""]);
    scene.host();
    turn
}

/// Opens the next feed with the turn as root and `text` so far in the overlay.
fn reopen(scene: &mut Scene, turn: &Turn, text: &str) {
    let row = words::overlay(0, &words::assistant(&turn.id, "m1", text));
    let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
    let root = scene.told(turn, "running");
    scene.open_with(&root, &Value::Null, &more);
}

/// The recovered feed goes on to the end.
fn goes_on(scene: &mut Scene, turn: &Turn) {
    scene.host();
    reopen(scene, turn, "Hello");
    assert_eq!(scene.host(), [format!("release {}", scene.feed)]);
    scene.text(turn, "m1", 5, "!");
    scene.now(turn, "completed");
    assert_eq!(
        scene.editor(),
        [
            "says m1: \"lo\"".to_owned(),
            "says m1: \"!\"".to_owned(),
            end_turn(turn)
        ]
    );
    assert_eq!(scene.count("turn.start"), 1);
    assert_eq!(scene.count("turn.stop"), 0);
}

#[test]
fn given_a_lost_frame_when_the_sequence_jumps_then_the_feed_is_closed_and_opened_again() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.sequence += 1;
        scene.text(&turn, "m1", 5, "!");
        assert_eq!(scene.host(), ["close feed-1", "open"]);
        assert_eq!(scene.editor(), NOTHING);
        goes_on(scene, &turn);
    });
}

/// The lost frame may have been anything: also one that leaves no hole in the text.
#[test]
fn given_a_lost_frame_without_a_hole_in_the_text_when_the_sequence_jumps_then_opened_again() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.sequence += 1;
        scene.text(&turn, "m1", 3, "lo");
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.host(), ["close feed-1", "open"]);
        goes_on(scene, &turn);
    });
}

/// A frame that comes twice is no less a wrong sequence.
#[test]
fn given_a_frame_twice_when_heard_then_the_feed_is_opened_again() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.sequence -= 1;
        scene.text(&turn, "m1", 0, "Hel");
        assert_eq!(scene.host(), ["close feed-1", "open"]);
        goes_on(scene, &turn);
    });
}

#[test]
fn given_text_beyond_what_is_known_when_heard_then_the_feed_is_opened_again() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.text(&turn, "m1", 4, "o");
        assert_eq!(scene.host(), ["close feed-1", "open"]);
        goes_on(scene, &turn);
    });
}

#[test]
fn given_a_snapshot_that_falls_back_when_heard_then_the_feed_is_opened_again() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.revision -= 1;
        scene.now(&turn, "running");
        assert_eq!(scene.host(), ["close feed-1", "open"]);
        goes_on(scene, &turn);
    });
}

/// The Host evicts a slow reader; the feed is gone already, so nothing is closed.
#[test]
fn given_a_feed_closed_as_slow_when_heard_then_it_is_opened_again() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("slow_consumer");
        assert_eq!(scene.host(), ["open"]);
        goes_on(scene, &turn);
    });
}

#[test]
fn given_frames_of_another_host_process_when_heard_then_the_feed_is_opened_again() {
    each_way(|scene| {
        let turn = shown(scene);
        let epoch = std::mem::replace(&mut scene.desk.host.epoch, "other".to_owned());
        scene.text(&turn, "m1", 3, "lo");
        scene.desk.host.epoch = epoch;
        assert_eq!(scene.host(), ["close feed-1", "open"]);
        goes_on(scene, &turn);
    });
}

#[test]
fn given_a_lost_connection_in_mid_turn_when_it_is_back_then_the_turn_goes_on() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.lose();
        scene.wait(100);
        assert_eq!(scene.host(), ["hello", "open"]);
        goes_on(scene, &turn);
    });
}

/// Frames of the feed that was let go still arrive.
#[test]
fn given_frames_of_the_old_feed_when_they_come_late_then_they_are_ignored() {
    each_way(|scene| {
        let turn = shown(scene);
        let (late, more) = (
            scene.text_line(&turn, "m1", 3, "XX"),
            scene.text_line(&turn, "m1", 5, "YY"),
        );
        scene.closed("slow_consumer"); // The sequence jumps: late frames were skipped.
        scene.says([late, more]);
        goes_on(scene, &turn);
    });
}

/// R36: any other reason is for good; one Stop; the next prompt opens a fresh feed.
#[test]
fn given_a_feed_closed_for_good_when_heard_then_one_stop_the_reason_and_a_fresh_feed_next() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("session_removed");
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        let data = r#"{"source":"runtime_host","operation":"subscription.open","code":"subscription_failure","reason":"session_removed"}"#;
        assert_eq!(
            scene.editor(),
            [format!("{} error -32603 {data}", turn.prompt)]
        );
        let next = scene.running("again");
        scene.now(&next, "completed");
        assert_eq!(scene.editor(), [end_turn(&next)]);
        assert_eq!(scene.count("subscription.open"), 2);
    });
}

/// Frames wait while stored rows are read, and come after them.
#[test]
fn given_frames_while_stored_rows_are_read_when_done_then_they_follow_in_order() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("slow_consumer");
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(4), &json!({}));
        scene.text(&turn, "m2", 0, "second");
        assert_eq!(scene.editor(), NOTHING);
        scene.page(
            &[words::durable(
                3,
                &words::assistant(&turn.id, "m1", "Hello"),
            )],
            None,
        );
        assert_eq!(scene.editor(), ["says m1: \"lo\"", "says m2: \"second\""]);
        scene.now(&turn, "completed");
        scene.page(
            &[words::durable(
                3,
                &words::assistant(&turn.id, "m1", "Hello"),
            )],
            None,
        );
        assert_eq!(scene.editor(), [end_turn(&turn)]);
    });
}

/// The Host may evict the reader while it reads: a failing page is not the end then.
#[test]
fn given_a_recovered_feed_closed_as_slow_while_read_when_its_page_fails_then_recovered_again() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("slow_consumer");
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(4), &json!({}));
        scene.closed("slow_consumer");
        let asked = scene.desk.host.take("session.transcript.page");
        if let Some(asked) = asked {
            scene.error(&asked, "not_found", "no such subscription");
        }
        scene.wait(25);
        goes_on(scene, &turn);
    });
}

/// 16.3: it is removed while it is read.
#[test]
fn given_a_recovered_feed_closed_for_good_while_read_when_heard_then_the_reason_is_told() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("slow_consumer");
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(4), &json!({}));
        scene.closed("session_removed");
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        let told = scene.editor();
        assert!(
            told.len() == 1 && told[0].contains("session_removed"),
            "{told:?}"
        );
    });
}

/// 27.7: the old page is void; the read starts at the admission cut on the new feed.
#[test]
fn given_a_page_under_way_when_the_feed_breaks_then_it_is_void_and_the_read_begins_anew() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.advanced(5);
        let void = scene.asked("session.transcript.page");
        scene.closed("slow_consumer");
        let page = words::page(
            &[words::durable(
                2,
                &words::assistant(&turn.id, "m1", "Hello"),
            )],
            None,
        );
        scene.result(&void, &page);
        assert_eq!(scene.editor(), NOTHING);
        scene.host();
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(6), &json!({}));
        assert_eq!(
            scene.host(),
            ["page feed-2 durable newer from null cursor null through 6"]
        );
        scene.page(
            &[words::durable(
                2,
                &words::assistant(&turn.id, "m1", "Hello"),
            )],
            None,
        );
        assert_eq!(scene.editor(), ["says m1: \"lo\""]);
    });
}

/// W9, 27.21: another turn is root now; ours has its end stored.
#[test]
fn given_another_root_after_a_recovery_when_our_end_is_stored_then_the_turn_ends_as_stored() {
    for (status, more, answer) in [
        ("completed", json!({}), "end_turn"),
        (
            "aborted",
            json!({ "abortSource": "user_stop" }),
            "cancelled",
        ),
        ("failed", json!({ "errorClass": "app_restarted" }), "error"),
    ] {
        each_way(|scene| {
            let turn = shown(scene);
            scene.closed("slow_consumer");
            let other = words::turn(&scene.session, "other", "run-9", "running", &Value::Null);
            scene.open_with(&other, &json!(6), &json!({}));
            let rows = [
                words::durable(2, &words::assistant(&turn.id, "m1", "Hello")),
                words::durable(3, &words::turn_state(&turn.id, status, &more)),
            ];
            scene.page(&rows, None);
            if status == "completed" {
                scene.page(&rows, None);
            }
            let told = scene.editor();
            assert_eq!(told[0], "says m1: \"lo\"");
            assert!(
                told[1].starts_with(&format!("{} {answer}", turn.prompt)),
                "{told:?}"
            );
            assert_eq!(scene.count("turn.stop"), 0);
        });
    }
}

/// 27.21: missing, so snapshot and rows do not fit together yet.
#[test]
fn given_another_root_after_a_recovery_when_our_end_is_not_stored_then_it_is_opened_again() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("slow_consumer");
        let other = words::turn(&scene.session, "other", "run-9", "running", &Value::Null);
        scene.open_with(&other, &json!(6), &json!({}));
        scene.page(&[], None);
        scene.wait(25);
        assert_eq!(scene.count("subscription.open"), 3);
        let rows = [words::durable(
            3,
            &words::turn_state(&turn.id, "completed", &Value::Null),
        )];
        scene.open_with(&other, &json!(6), &json!({}));
        scene.page(&rows, None);
        scene.page(&rows, None);
        assert_eq!(scene.editor(), [end_turn(&turn)]);
    });
}

/// A restart of the Host: the turn has failed with `app_restarted`.
#[test]
fn given_a_restarted_host_when_it_is_back_then_the_turn_has_failed_as_it_says() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.desk.host.restart();
        scene.lose();
        scene.wait(100);
        let more = json!({ "terminalEventId": "e", "failureClass": "app_restarted" });
        let root = words::turn(&scene.session, &turn.id, "run-1", "failed", &more);
        scene.open_with(&root, &Value::Null, &json!({}));
        let data = r#"{"source":"runtime_host","failureClass":"app_restarted","message":null}"#;
        assert_eq!(
            scene.editor(),
            [format!("{} error -32603 {data}", turn.prompt)]
        );
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// A Host that has no words for it says its code again: it is said once.
#[test]
fn given_a_host_whose_words_are_its_code_when_the_turn_has_failed_then_the_code_is_said_once() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.desk.host.restart();
        scene.lose();
        scene.wait(100);
        let more = json!({ "terminalEventId": "e", "failureClass": "app_restarted",
                           "failureMessage": "app_restarted" });
        let root = words::turn(&scene.session, &turn.id, "run-1", "failed", &more);
        scene.open_with(&root, &Value::Null, &json!({}));
        let answer = scene.desk.log.last().expect("an answer");
        assert!(
            answer.contains(r#""message":"The turn failed (app_restarted).""#),
            "{answer}"
        );
    });
}

/// 16.4: eight attempts without a live frame, with growing pauses; then the turn is given up.
#[test]
fn given_a_feed_that_never_lives_when_opened_eight_times_then_one_stop_and_the_reason() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("slow_consumer");
        for pause in [25, 50, 100, 200, 400, 500, 500] {
            let root = scene.told(&turn, "running");
            scene.open_with(&root, &Value::Null, &json!({}));
            scene.closed("slow_consumer");
            scene.host();
            scene.wait(pause - 1);
            assert_eq!(scene.host(), NOTHING, "{pause}");
            scene.wait(1);
            assert_eq!(scene.host(), ["open"], "{pause}");
        }
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &Value::Null, &json!({}));
        scene.closed("slow_consumer");
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        let told = scene.editor();
        assert!(
            told.len() == 1 && told[0].contains("subscription_failure"),
            "{told:?}"
        );
        assert_eq!(scene.count("subscription.open"), 9);
    });
}

/// 16.4: a live frame and a second later the attempts count from zero.
#[test]
fn given_a_feed_that_lived_for_a_second_when_it_breaks_then_it_is_opened_without_a_pause() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("slow_consumer");
        reopen(scene, &turn, "Hello");
        scene.text(&turn, "m1", 5, "!");
        scene.wait(1_000);
        scene.host();
        scene.closed("slow_consumer");
        assert_eq!(scene.host(), ["open"]);
    });
}

/// An idle feed that breaks costs nothing; the next prompt opens another.
#[test]
fn given_an_idle_feed_when_it_breaks_then_the_next_prompt_opens_another() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        scene.closed("slow_consumer");
        scene.wait(60_000);
        scene.editor();
        assert_eq!(scene.count("subscription.open"), 1);
        let next = scene.running("again");
        scene.now(&next, "completed");
        assert_eq!(scene.editor(), [end_turn(&next)]);
        assert_eq!(scene.count("subscription.open"), 2);
    });
}

/// R18: a live tool is settled by what the recovered feed has stored.
#[test]
fn given_a_live_tool_when_the_feed_breaks_and_its_result_is_stored_then_it_is_shown() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
        scene.editor();
        scene.closed("slow_consumer");
        let root = scene.told(&turn, "completed");
        scene.open_with(&root, &json!(6), &json!({}));
        let rows = [
            words::durable(2, &words::assistant(&turn.id, "m1", "Hello")),
            words::durable(3, &words::tool_call(&turn.id, "t1")),
            words::durable(4, &words::tool_result(&turn.id, "t1", "done")),
        ];
        scene.page(&rows, None);
        scene.page(&rows, None);
        let told = scene.editor();
        assert!(
            told.iter().any(|line| line.contains("completed \"done\"")),
            "{told:?}"
        );
        assert_eq!(told.last(), Some(&end_turn(&turn)));
    });
}

/// An opening that the Host refuses for a passing reason, and for good.
#[test]
fn given_a_refused_opening_when_told_then_a_passing_reason_is_tried_again_and_others_told() {
    each_way(|scene| {
        let prompt = scene.prompt("hello");
        let asked = scene.asked("subscription.open");
        scene.error(&asked, "host_not_ready", "wait");
        let asked = scene.asked("subscription.open");
        scene.error(&asked, "operation_conflict", "limit reached");
        let data = r#"{"source":"runtime_host","operation":"subscription.open","code":"operation_conflict"}"#;
        assert_eq!(scene.editor(), [format!("{prompt} error -32603 {data}")]);
        assert_eq!(scene.count("turn.start"), 0);
        let next = scene.running("again");
        scene.now(&next, "completed");
        assert_eq!(scene.editor(), [end_turn(&next)]);
    });
}

/// Maka protocol 3.6: an overlay row stands for the durable row of the same id, which may be
/// older than what was shown.
#[test]
fn given_a_durable_row_older_than_the_overlay_when_recovered_then_the_overlay_counts() {
    each_way(|scene| {
        let turn = shown(scene);
        scene.closed("slow_consumer");
        let row = words::overlay(0, &words::assistant(&turn.id, "m1", "Hello"));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(4), &more);
        let old = words::durable(3, &words::assistant(&turn.id, "m1", "H"));
        scene.page(&[old], None);
        assert_eq!(scene.editor(), ["says m1: \"lo\""]);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}
