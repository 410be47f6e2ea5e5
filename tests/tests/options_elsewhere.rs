//! Options that change elsewhere: when the editor hears of it, and in which order with what
//! it sets itself (Maka adapter, section 9.4; races, section 27.16).

use airlock_tests::scripted_host::{Scene, Turn, each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// A session with options and a turn that runs.
fn running(scene: &mut Scene) -> Turn {
    scene.begin_with_options(&json!({}));
    let turn = scene.running("hello");
    scene.editor();
    scene.host();
    turn
}

/// The session's record has this revision now, as the feed tells it.
fn revision(scene: &mut Scene, turn: &Turn, revision: u64) {
    let root = scene.told(turn, "running");
    let line = scene.root_line(&root, &[]);
    let mut frame: Value = serde_json::from_str(&line).unwrap();
    frame["snapshot"]["session"]["metadataRevision"] = json!(revision);
    scene.says([frame.to_string()]);
}

/// 9.4: the first revision says where it stands, another one has the session read once, a
/// second later; what is new is told, what is known is not.
#[test]
fn given_another_revision_in_the_feed_when_a_second_has_passed_then_new_options_are_told_once() {
    each_way_bare(|scene| {
        let turn = running(scene);
        scene.wait(5_000);
        assert_eq!(scene.count("session.catalog.query"), 0);
        revision(scene, &turn, 2);
        revision(scene, &turn, 3);
        scene.wait(999);
        assert_eq!(scene.count("session.catalog.query"), 0);
        scene.wait(1);
        scene.current(
            3,
            &json!({ "thinkingLevel": "low", "collaborationMode": "plan" }),
        );
        assert_eq!(
            scene.editor(),
            ["options ask mock/mock-model low plan default", "mode plan"]
        );
        // The same again, and a turn's changes, tell nothing.
        revision(scene, &turn, 3);
        revision(scene, &turn, 4);
        scene.wait(1_000);
        scene.current(
            4,
            &json!({ "thinkingLevel": "low", "collaborationMode": "plan" }),
        );
        assert_eq!(scene.editor(), NOTHING);
        scene.wait(60_000);
        assert_eq!(scene.count("session.catalog.query"), 2);
    });
}

/// A change that was missed while the connection was lost is read after it.
#[test]
fn given_a_change_while_the_connection_is_lost_when_the_feed_is_back_then_it_is_told() {
    each_way_bare(|scene| {
        let turn = running(scene);
        scene.lose();
        scene.wait(100);
        let asked = scene.asked("subscription.open");
        let root = scene.told(&turn, "running");
        let line = scene.opening(&asked, &root, &json!(null), &json!({}));
        let mut opened: Value = serde_json::from_str(&line).unwrap();
        opened["result"]["snapshot"]["session"]["metadataRevision"] = json!(2);
        scene.says([opened.to_string()]);
        scene.wait(1_000);
        scene.current(2, &json!({ "permissionMode": "bypass" }));
        assert_eq!(
            scene.editor(),
            ["options bypass mock/mock-model default agent default"]
        );
    });
}

/// R44, R45: a read that fails or stalls holds up neither text nor the end of the turn, and
/// the next change is told.
#[test]
fn given_a_read_of_options_that_fails_or_stalls_when_a_turn_runs_then_it_goes_on() {
    for stalls in [false, true] {
        each_way_bare(|scene| {
            let turn = running(scene);
            revision(scene, &turn, 2);
            scene.wait(1_000);
            let asked = scene.asked("session.catalog.query");
            if !stalls {
                scene.error(&asked, "persistence_failed", "no");
            }
            scene.text(&turn, "m1", 0, "Hi");
            assert_eq!(scene.editor(), ["says m1: \"Hi\""]);
            revision(scene, &turn, 3);
            scene.wait(1_000);
            scene.current(3, &json!({ "permissionMode": "bypass" }));
            assert_eq!(
                scene.editor(),
                ["options bypass mock/mock-model default agent default"]
            );
            scene.now(&turn, "completed");
            assert_eq!(scene.editor(), [format!("{} end_turn", turn.prompt)]);
            assert_eq!(scene.count("turn.stop"), 0);
        });
    }
}

/// R46, R47: closing waits for no read, and nothing is told after it.
#[test]
fn given_a_read_of_options_when_the_session_is_closed_then_it_holds_nothing_up_and_is_not_told() {
    for early in [true, false] {
        each_way_bare(|scene| {
            let turn = running(scene);
            scene.text(&turn, "m1", 0, "Hi");
            revision(scene, &turn, 2);
            scene.wait(1_000);
            let asked = scene.asked("session.catalog.query");
            let item = words::configured(&scene.session, 2, &json!({ "permissionMode": "bypass" }));
            let read = asked.result(&json!({ "kind": "session", "session": item }));
            let close = scene.close();
            if early {
                scene.says([read.clone()]);
            }
            let stop = scene.asked("turn.stop");
            let told = scene.told(&turn, "cancelled");
            scene.result(&stop, &told);
            if !early {
                scene.says([read]);
            }
            scene.wait(60_000);
            assert_eq!(
                scene.editor(),
                [
                    "says m1: \"Hi\"".to_owned(),
                    format!("{} cancelled", turn.prompt),
                    format!("{close} {{}}"),
                ]
            );
        });
    }
}

/// 27.16: what is set here is told, then answered; what changes elsewhere meanwhile comes
/// after it. The session is read twice in all.
#[test]
fn given_a_change_elsewhere_while_an_option_is_set_when_told_then_ours_first_and_theirs_after_it() {
    each_way_bare(|scene| {
        let turn = running(scene);
        let request = scene.set("permission_mode", &json!("bypass"));
        scene.current(1, &json!({}));
        revision(scene, &turn, 3);
        scene.commit(2, &json!({ "permissionMode": "bypass" }));
        let ours = "options bypass mock/mock-model default agent default";
        assert_eq!(
            scene.editor(),
            [ours.to_owned(), format!("{request} {ours}")]
        );
        scene.wait(1_000);
        scene.current(
            3,
            &json!({ "permissionMode": "bypass", "thinkingLevel": "max" }),
        );
        assert_eq!(
            scene.editor(),
            ["options bypass mock/mock-model max agent default"]
        );
        scene.wait(60_000);
        assert_eq!(scene.count("session.catalog.query"), 2);
    });
}

/// 27.16: a read that began before the change was made, and comes back while it is, may be
/// older than what is told: it is passed over, and done again afterwards.
#[test]
fn given_a_read_from_before_when_an_option_is_being_set_then_it_is_passed_over_and_done_again() {
    each_way_bare(|scene| {
        let turn = running(scene);
        revision(scene, &turn, 2);
        scene.wait(1_000);
        let early = scene.asked("session.catalog.query");
        let request = scene.set("permission_mode", &json!("bypass"));
        scene.current(2, &json!({ "thinkingLevel": "low" }));
        let item = words::configured(&scene.session, 2, &json!({ "thinkingLevel": "low" }));
        scene.result(&early, &json!({ "kind": "session", "session": item }));
        assert_eq!(scene.editor(), NOTHING);
        let now = json!({ "permissionMode": "bypass", "thinkingLevel": "low" });
        scene.commit(3, &now);
        let options = "options bypass mock/mock-model low agent default";
        assert_eq!(
            scene.editor(),
            [options.to_owned(), format!("{request} {options}")]
        );
        scene.wait(1_000);
        scene.current(3, &now);
        assert_eq!(scene.editor(), NOTHING);
        scene.wait(60_000);
        assert_eq!(scene.count("session.catalog.query"), 3);
    });
}

/// 27.16: a feed that opens while an option is being set changes nothing of the order.
#[test]
fn given_an_option_being_set_when_the_first_prompt_opens_the_feed_then_it_is_told_before_changes() {
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({}));
        let request = scene.set_mode("plan");
        scene.current(1, &json!({}));
        let turn = scene.running("hello");
        revision(scene, &turn, 2);
        scene.wait(1_000);
        let early = scene.asked("session.catalog.query");
        let item = words::configured(&scene.session, 1, &json!({}));
        scene.result(&early, &json!({ "kind": "session", "session": item }));
        scene.commit(2, &json!({ "collaborationMode": "plan" }));
        assert_eq!(
            scene.editor(),
            [
                "options ask mock/mock-model default plan default".to_owned(),
                "mode plan".to_owned(),
                format!("{request} {{}}"),
            ]
        );
        scene.wait(1_000);
        scene.current(2, &json!({ "collaborationMode": "plan" }));
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// Nothing is told to an editor that has gone.
#[test]
fn given_a_read_of_options_when_the_editor_hangs_up_then_nothing_is_told() {
    each_way_bare(|scene| {
        let turn = running(scene);
        revision(scene, &turn, 2);
        scene.wait(1_000);
        let asked = scene.asked("session.catalog.query");
        scene.hang_up();
        let item = words::configured(&scene.session, 2, &json!({ "permissionMode": "bypass" }));
        scene.result(&asked, &json!({ "kind": "session", "session": item }));
        assert_eq!(scene.editor(), NOTHING);
        let stop = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&stop, &told);
        assert_eq!(scene.desk.done, Some(0));
    });
}
