//! A connection that is lost while a turn runs: people are told once, if it lasts. Maka's
//! own adapter says nothing (section 29: a "reconnecting" notice).

use airlock_engine::{HostRefusal, limits};
use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::json;

const NOTHING: [&str; 0] = [];
const NOTICE: &str = "The connection to the Maka Runtime Host was lost. Trying again.";

/// A turn that has shown `Hel`, and a Host that went away.
fn away(scene: &mut Scene) -> Turn {
    let turn = scene.running("hello");
    scene.now(&turn, "running");
    scene.text(&turn, "m1", 0, "Hel");
    scene.editor();
    scene.desk.host.refusal = Some(HostRefusal::Absent);
    scene.lose();
    turn
}

/// The Host is back, and the turn has ended meanwhile.
fn back(scene: &mut Scene, turn: &Turn) {
    scene.desk.host.refusal = None;
    scene.wait(1_600);
    let root = scene.told(turn, "completed");
    scene.open_with(&root, &json!(2), &json!({}));
    let row = words::durable(2, &words::assistant(&turn.id, "m1", "Hello"));
    for _ in 0..2 {
        scene.page(std::slice::from_ref(&row), None);
    }
}

fn notices(scene: &Scene) -> Vec<String> {
    let thoughts = scene.desk.shown("agent_thought_chunk").into_iter();
    thoughts.map(|(_, text)| text).collect()
}

#[test]
fn given_a_lost_connection_when_it_stays_away_then_told_once_and_no_text_is_lost_or_doubled() {
    each_way(|scene| {
        let turn = away(scene);
        scene.wait(limits::MAKA_OUTAGE_MS - 1);
        assert_eq!(scene.editor(), NOTHING);
        scene.wait(1);
        assert_eq!(notices(scene), [NOTICE]);
        scene.wait(500);
        assert_eq!(notices(scene), [NOTICE], "once, however often it is tried");
        scene.editor();
        back(scene, &turn);
        let end = format!("{} end_turn", turn.prompt);
        assert_eq!(scene.editor(), ["says m1: \"lo\"".to_owned(), end]);
    });
}

/// Whoever uses another Host is not told of Maka's.
#[test]
fn given_another_host_when_the_connection_stays_away_then_it_is_named() {
    let mut scene = Scene::of_host("embedded");
    scene.begin();
    away(&mut scene);
    scene.wait(limits::MAKA_OUTAGE_MS);
    let notice = "The connection to the Host \"embedded\" was lost. Trying again.";
    assert_eq!(notices(&scene), [notice]);
    scene.wait(600_000);
    let log = scene.desk.log.join("\n");
    assert!(!log.contains("Maka"), "{log}");
}

#[test]
fn given_a_lost_connection_when_it_is_back_at_once_then_nothing_is_told() {
    each_way(|scene| {
        let turn = away(scene);
        back(scene, &turn);
        let end = format!("{} end_turn", turn.prompt);
        assert_eq!(scene.editor(), ["says m1: \"lo\"".to_owned(), end]);
        scene.wait(60_000);
        assert_eq!(notices(scene), NOTHING);
    });
}

/// Another outage is another notice, in a message of its own.
#[test]
fn given_two_outages_when_both_last_then_each_is_told_in_a_message_of_its_own() {
    each_way(|scene| {
        let turn = away(scene);
        scene.wait(limits::MAKA_OUTAGE_MS);
        scene.desk.host.refusal = None;
        scene.wait(1_600);
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(null), &json!({}));
        scene.desk.host.refusal = Some(HostRefusal::Absent);
        scene.lose();
        scene.wait(limits::MAKA_OUTAGE_MS);
        assert_eq!(notices(scene), [NOTICE, NOTICE]);
        back(scene, &turn);
        let end = format!("{} end_turn", turn.prompt);
        assert_eq!(scene.answer(turn.prompt), Some(end));
    });
}

/// Nobody waits for a turn that was cancelled, or for none.
#[test]
fn given_no_turn_that_goes_on_when_the_connection_is_lost_then_nothing_is_told() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.cancel();
        scene.desk.host.refusal = Some(HostRefusal::Absent);
        scene.lose();
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} cancelled", turn.prompt))
        );
        scene.wait(60_000);
        assert_eq!(notices(scene), NOTHING);
    });
}

/// The end takes the timer with it.
#[test]
fn given_an_outage_when_the_editor_leaves_then_no_timer_stays() {
    each_way(|scene| {
        away(scene);
        scene.hang_up();
        scene.wait(limits::SHUTDOWN_MS);
        assert_eq!(scene.desk.done, Some(0));
        assert_eq!(scene.desk.left_armed, [0_u64; 0]);
        assert_eq!(notices(scene), NOTHING);
    });
}
