//! Answers that never come on a connection that lives (issue 3, acceptance 4): Maka's own
//! adapter waits for ever for a new session, a listing and a look at a session; here the
//! editor gets an error, and the next attempt works.

use airlock_engine::limits;
use airlock_tests::scripted_host::{Scene, each_way_bare};
use serde_json::json;

#[path = "support/loads.rs"]
mod loads;

use loads::{NOTHING, begin, done, each_way, known, load, rows, story, told_story};

const CATALOG_LOST: &str = r#"error -32603 {"source":"runtime_host","operation":"session.catalog.query","code":"request_interrupted","reason":"timeout","dispatch":"dispatched"}"#;

/// Nothing is said in the last moment before, and an error after it.
fn waits(scene: &mut Scene, limit: u64) -> Vec<String> {
    scene.wait(limit - 1);
    assert_eq!(scene.editor(), NOTHING);
    scene.wait(1);
    scene.editor()
}

#[test]
fn given_a_new_session_whose_answer_is_lost_when_its_time_is_over_then_an_error_names_it() {
    each_way_bare(|scene| {
        begin(scene);
        scene.desk.host.by_hand("session.create");
        let params = json!({ "cwd": "/w", "mcpServers": [] });
        let id = scene.desk.request("session/new", &params);
        scene.settle();
        let asked = scene.asked("session.create");
        let told = waits(scene, limits::MAKA_FIRST_MS);
        let session = asked.input["sessionId"].as_str().unwrap();
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with(&format!("{id} error -32603 ")),
            "{told:?}"
        );
        assert!(
            told[0].contains(r#""code":"request_interrupted""#),
            "{told:?}"
        );
        assert!(told[0].contains(session), "{told:?}");
        // It comes after all: too late.
        let late = asked.result(&json!({}));
        scene.says([late]);
        assert_eq!(scene.editor(), NOTHING);
        scene.desk.host.by_itself("session.create");
        let id = scene.desk.request("session/new", &params);
        scene.settle();
        assert!(scene.answer(id).is_some());
    });
}

#[test]
fn given_a_listing_whose_answer_is_lost_when_its_time_is_over_then_an_error() {
    each_way(|scene| {
        let id = scene.desk.request("session/list", &json!({}));
        scene.settle();
        assert_eq!(
            waits(scene, limits::MAKA_FIRST_MS),
            [format!("{id} {CATALOG_LOST}")]
        );
    });
}

#[test]
fn given_a_load_whose_first_answer_is_lost_when_its_time_is_over_then_an_error_and_the_next_works()
{
    each_way(|scene| {
        let id = load(scene);
        assert_eq!(
            waits(scene, limits::MAKA_FIRST_MS),
            [format!("{id} {CATALOG_LOST}")]
        );
        scene.desk.host.forget();
        let id = load(scene);
        known(scene);
        scene.open_with(&json!(null), &json!(3), &json!({}));
        scene.page(&rows(0, &story("t1")), None);
        assert_eq!(scene.editor(), [told_story("t1"), vec![done(id)]].concat());
    });
}
