//! A load that fails, or breaks off: all is as it was before, and the next one goes on where
//! it was (Maka adapter, section 23).

#[path = "support/loads.rs"]
mod loads;

use airlock_tests::scripted_host::{each_way_bare, words};
use loads::{done, each_way, known, load, rows, story, theirs, told_story};
use serde_json::{Value, json};

/// N28: after a load that broke off, the next one tells only the rest.
#[test]
fn given_a_load_that_broke_off_when_loaded_again_then_only_the_rest_is_told() {
    each_way(|scene| {
        let id = load(scene);
        known(scene);
        scene.open_with(&Value::Null, &json!(3), &json!({}));
        scene.page(&rows(0, &story("t1")[..1]), Some("more"));
        assert_eq!(scene.editor(), ["asks t1-u: \"A question.\""]);
        let asked = scene.asked("session.transcript.page");
        scene.error(&asked, "persistence_failed", "disk");
        let answer = &scene.editor()[0];
        assert!(
            answer.starts_with(&format!("{id} error -32603")),
            "{answer}"
        );
        assert!(answer.contains("persistence_failed"), "{answer}");
        // N46: what the load opened is closed, and the session is not owned.
        assert_eq!(scene.count("subscription.close"), 1);
        let prompt = scene.prompt("hello");
        assert!(scene.answer(prompt).unwrap().contains("unknown_session"));
        scene.editor();
        let id = load(scene);
        known(scene);
        scene.open_with(&Value::Null, &json!(3), &json!({}));
        scene.page(&rows(1, &story("t1")[1..]), None);
        let mut wanted = told_story("t1")[1..].to_vec();
        wanted.push(done(id));
        assert_eq!(scene.editor(), wanted);
        // The one after that tells everything again.
        let id = load(scene);
        known(scene);
        scene.page(&rows(0, &story("t1")), None);
        assert_eq!(scene.editor(), [told_story("t1"), vec![done(id)]].concat());
    });
}

/// N47: a load of a session of ours that fails leaves it ours.
#[test]
fn given_an_owned_session_when_its_load_fails_then_it_stays_owned() {
    each_way_bare(|scene| {
        scene.begin();
        let id = load(scene);
        known(scene);
        let asked = scene.asked("subscription.open");
        scene.error(&asked, "persistence_failed", "disk");
        assert!(scene.answer(id).unwrap().contains("persistence_failed"));
        let id = load(scene);
        known(scene);
        scene.open();
        assert_eq!(scene.answer(id), Some(done(id)));
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} end_turn", turn.prompt))
        );
    });
}

/// N48: a load that fails does not stop the turn that runs.
#[test]
fn given_a_turn_that_runs_when_its_load_fails_then_it_is_not_stopped() {
    each_way(|scene| {
        let turn = theirs("t1");
        let id = load(scene);
        known(scene);
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(0), &json!({}));
        let asked = scene.asked("session.transcript.page");
        scene.error(&asked, "persistence_failed", "disk");
        assert!(scene.answer(id).unwrap().contains("persistence_failed"));
        assert_eq!(scene.count("turn.stop"), 0);
        assert_eq!(scene.count("subscription.close"), 1);
        let id = load(scene);
        known(scene);
        scene.open_with(&root, &json!(0), &json!({}));
        scene.page(&rows(0, &[words::user("t1", "u", "Go.")]), None);
        assert_eq!(scene.answer(id), Some(done(id)));
    });
}

/// The feed breaks while the past is read: it is read on, on the next.
#[test]
fn given_a_connection_lost_in_mid_load_when_it_is_back_then_the_load_goes_on() {
    each_way(|scene| {
        let id = load(scene);
        known(scene);
        scene.open_with(&Value::Null, &json!(3), &json!({}));
        scene.page(&rows(0, &story("t1")[..3]), Some("more"));
        scene.lose();
        scene.wait(100);
        scene.host();
        scene.open_with(&Value::Null, &json!(3), &json!({}));
        assert_eq!(
            scene.host(),
            ["page feed-2 durable newer from 2 cursor null through 3"]
        );
        scene.page(&rows(3, &story("t1")[3..]), None);
        assert_eq!(scene.editor(), [told_story("t1"), vec![done(id)]].concat());
    });
}
