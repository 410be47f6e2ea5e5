//! The editor goes away (Maka adapter, section 15): what is ours is stopped, everything is
//! answered, and the end comes in bounded time whatever the Host does.

use airlock_tests::scripted_host::{Scene, Turn, each_way, each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn cancelled(prompt: u64) -> String {
    format!("{prompt} cancelled")
}

fn stopped(scene: &mut Scene, turn: &Turn) {
    let asked = scene.asked("turn.stop");
    let told = scene.told(turn, "cancelled");
    scene.result(&asked, &told);
}

/// The end came, and nothing is left behind.
fn ended(scene: &mut Scene) {
    assert_eq!(scene.desk.done, Some(0));
    assert!(scene.desk.finished());
    assert_eq!(scene.desk.unanswered(), NOTHING);
    assert!(scene.desk.channels().is_empty());
    assert!(
        scene.desk.left_armed.is_empty(),
        "{:?}",
        scene.desk.left_armed
    );
}

/// R1.
#[test]
fn given_nothing_asked_when_the_editor_leaves_then_the_end_comes_without_a_connection() {
    each_way_bare(|scene| {
        scene.hang_up();
        ended(scene);
        assert_eq!(scene.desk.host.connects, 0);
    });
}

/// R4, R7.
#[test]
fn given_a_connection_under_way_when_the_editor_leaves_then_what_waits_is_refused() {
    each_way_bare(|scene| {
        scene.desk.host.greeting = None;
        scene.desk.initialize();
        let id = scene.desk.request("session/list", &json!({}));
        scene.settle();
        scene.hang_up();
        let told = scene.answer(id).unwrap();
        assert!(told.contains("registry_closed"), "{told}");
        ended(scene);
    });
}

#[test]
fn given_an_idle_feed_when_the_editor_leaves_then_the_end_comes_at_once() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        scene.host();
        scene.hang_up();
        assert_eq!(scene.host(), NOTHING);
        ended(scene);
    });
}

/// R24.
#[test]
fn given_an_opening_under_way_when_the_editor_leaves_then_no_turn_starts() {
    each_way(|scene| {
        let prompt = scene.prompt("hello");
        scene.hang_up();
        assert_eq!(scene.editor(), [cancelled(prompt)]);
        ended(scene);
        assert_eq!(scene.count("turn.start"), 0);
    });
}

/// 27.15.
#[test]
fn given_an_opening_that_waits_for_a_reconnection_when_the_editor_leaves_then_the_end_comes() {
    each_way(|scene| {
        scene.desk.host.refusal = Some(airlock_engine::HostRefusal::Stale);
        let prompt = scene.prompt("hello");
        scene.lose();
        assert_eq!(scene.editor(), NOTHING);
        scene.hang_up();
        assert_eq!(scene.editor(), [cancelled(prompt)]);
        ended(scene);
    });
}

/// The Stop is settled before the channel closes.
#[test]
fn given_a_running_turn_when_the_editor_leaves_then_the_end_waits_for_the_stop() {
    each_way(|scene| {
        let turn = scene.running("one");
        let second = scene.prompt("two");
        scene.host();
        scene.hang_up();
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        assert_eq!(scene.editor(), [cancelled(second)]);
        assert_eq!(scene.desk.done, None);
        assert_eq!(scene.desk.channels().len(), 1);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        ended(scene);
        assert_eq!(scene.count("turn.start"), 1);
    });
}

/// R26.
#[test]
fn given_a_start_under_way_when_the_editor_leaves_then_a_late_admission_is_stopped_first() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.host();
        scene.hang_up();
        assert_eq!(scene.desk.done, None);
        let asked = scene.asked("turn.start");
        let started = scene.started(&turn);
        scene.result(&asked, &started);
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        assert_eq!(scene.desk.done, None);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        ended(scene);
    });
}

/// R27, 27.14: nothing could be stopped, so nothing is waited for.
#[test]
fn given_a_question_that_is_never_answered_when_the_editor_leaves_then_the_end_comes() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.lose();
        scene.wait(100);
        scene.hang_up();
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        ended(scene);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// R34: a failed Stop does not hold up the end.
#[test]
fn given_a_stop_that_fails_when_the_editor_leaves_then_cancelled_and_the_end_comes() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.hang_up();
        let asked = scene.asked("turn.stop");
        scene.error(&asked, "internal_failure", "no");
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        ended(scene);
    });
}

#[test]
fn given_a_host_that_answers_nothing_when_the_editor_leaves_then_the_end_comes_after_4_s() {
    each_way(|scene| {
        let turn = scene.running("one");
        let second = scene.prompt("two");
        let close = scene.close();
        scene.hang_up();
        scene.wait(3_999);
        assert_eq!(scene.desk.done, None);
        scene.wait(1);
        assert_eq!(
            scene.editor(),
            [
                cancelled(second),
                cancelled(turn.prompt),
                format!("{close} {{}}")
            ]
        );
        ended(scene);
    });
}

/// R39.
#[test]
fn given_a_live_turn_of_another_client_when_the_editor_leaves_then_it_is_stopped() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        let foreign = words::turn(&scene.session, "other", "run-9", "running", &Value::Null);
        scene.root(&foreign);
        scene.host();
        scene.hang_up();
        assert_eq!(scene.host(), ["stop other run-9"]);
        assert_eq!(scene.desk.done, None);
        let asked = scene.asked("turn.stop");
        let told = words::turn(&scene.session, "other", "run-9", "cancelled", &json!({}));
        scene.result(&asked, &told);
        ended(scene);
    });
}

/// 27.17: what is made after the end does not come back to life.
#[test]
fn given_a_session_in_the_making_when_the_editor_leaves_then_it_is_refused_and_stays_so() {
    each_way_bare(|scene| {
        scene.desk.host.by_hand("session.create");
        scene.desk.initialize();
        let id = scene
            .desk
            .request("session/new", &json!({ "cwd": "/w", "mcpServers": [] }));
        scene.settle();
        scene.hang_up();
        let told = scene.answer(id).unwrap();
        assert!(
            told.contains("registry_closed") && told.contains("session.create"),
            "{told}"
        );
        ended(scene);
    });
}

/// The connection is lost after the editor left: the Stop goes with it.
#[test]
fn given_the_end_under_way_when_the_connection_is_lost_then_the_end_comes_at_once() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.hang_up();
        scene.lose();
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        ended(scene);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}
