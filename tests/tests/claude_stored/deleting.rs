//! `session/delete`.

use airlock_engine::FileRefusal;
use serde_json::json;

use super::world::{CWD, ID, OTHER, PROJECT, PROJECTS, World, each_way, prompt_row};

#[test]
fn given_a_stored_session_when_deleted_then_all_of_it_is_gone_and_nothing_else() {
    each_way(|world| {
        world.recorded();
        world.file(&format!("{PROJECT}/{ID}/tool-results/deep/er/x.txt"), "x");
        world.stored(OTHER, &prompt_row("Stays"));
        let elsewhere = format!("{PROJECTS}/-srv-else/{ID}x.jsonl");
        world.file(&elsewhere, "stays");
        let delete = world.request("session/delete", &json!({ "sessionId": ID }));
        assert_eq!(world.result(delete), json!({}));
        let left: Vec<&str> = world
            .desk
            .files
            .content
            .keys()
            .map(String::as_str)
            .collect();
        let stays = format!("{PROJECT}/{OTHER}.jsonl");
        assert_eq!(left, [&*elsewhere, &*stays, "/srv/work/hello.txt"]);
        // Once more changes nothing.
        for id in [ID, "never-was", "../../../../etc/passwd"] {
            let again = world.request("session/delete", &json!({ "sessionId": id }));
            assert_eq!(world.result(again), json!({}));
        }
        assert_eq!(world.desk.files.content.len(), 3);
        let load = world.load(ID);
        assert_eq!(world.error(load)["code"], -32002);
        world.is_tidy();
    });
}

/// One that is open here is closed first.
#[test]
fn given_a_live_session_when_deleted_then_its_process_ends_first() {
    let mut world = World::plain();
    world.recorded();
    let load = world.load(ID);
    world.result(load);
    let prompt = world.desk.prompt(ID, "one");
    world.settle();
    let delete = world.request("session/delete", &json!({ "sessionId": ID }));
    assert_eq!(world.result(delete), json!({}));
    assert_eq!(world.result(prompt)["stopReason"], "cancelled");
    assert_eq!(world.desk.channels(), [0; 0]);
    let list = world.request("session/list", &json!({ "cwd": CWD }));
    assert_eq!(world.result(list), json!({ "sessions": [] }));
    world.is_tidy();
}

#[test]
fn given_a_folder_that_cannot_be_looked_through_when_deleted_then_the_session_stays() {
    let mut world = World::plain();
    world.recorded();
    let inside = PROJECTS.to_owned();
    let refusal = FileRefusal::Error("EACCES".to_owned());
    world.desk.files.refused.insert(inside, refusal);
    let delete = world.request("session/delete", &json!({ "sessionId": ID }));
    assert_eq!(world.error(delete)["data"]["reason"], "EACCES");
    assert!(
        world
            .desk
            .files
            .content
            .contains_key(&format!("{PROJECT}/{ID}.jsonl"))
    );
}
