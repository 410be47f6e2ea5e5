//! The models that are offered: the connection catalog, page by page
//! (Maka Host protocol, section 3.9).

use airlock_engine::limits;
use airlock_tests::scripted_host::{Asked, Scene, each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// A session is asked for, and made; its models are being read. The id of the request.
fn making(scene: &mut Scene) -> u64 {
    scene.desk.initialize();
    scene.desk.host.by_hand("session.create");
    scene.desk.host.by_hand("connection.catalog.query");
    let params = json!({ "cwd": "/srv/maka-work", "mcpServers": [] });
    let request = scene.desk.request("session/new", &params);
    scene.settle();
    let asked = scene.asked("session.create");
    scene.session = asked.input["sessionId"].as_str().unwrap().to_owned();
    let item = words::configured(&scene.session, 7, &json!({}));
    scene.result(&asked, &item);
    scene.host();
    request
}

fn asked(scene: &mut Scene) -> Asked {
    scene.asked("connection.catalog.query")
}

fn page(revision: u64, items: &[Value], next: &Value) -> Value {
    json!({ "kind": "page", "revision": revision, "items": items, "nextCursor": next })
}

fn connection(index: u64) -> Value {
    json!({ "kind": "connection", "connectionIndex": index, "slug": "mock", "name": "Mock", "enabled": true })
}

fn model(index: u64, item: u64, id: &str) -> Value {
    json!({ "kind": "enabled_model_id", "connectionIndex": index, "itemIndex": item, "modelId": id })
}

/// Names of the models that the editor was told.
fn names(scene: &mut Scene, request: u64) -> Vec<String> {
    let answer = scene.desk.answer(request);
    let options = answer["result"]["configOptions"].as_array();
    let options = options.unwrap_or_else(|| panic!("no options: {answer}"));
    let model = options.iter().find(|it| it["id"] == "model").unwrap();
    let values = model["options"].as_array().unwrap().iter();
    values
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn given_models_on_several_pages_when_read_then_the_cursor_goes_back_and_all_are_offered() {
    each_way_bare(|scene| {
        let request = making(scene);
        let first = asked(scene);
        assert_eq!(first.input, json!({ "kind": "start" }));
        let cursor = json!({ "connectionIndex": 0, "part": "enabled_model_id", "itemIndex": 1 });
        let items = [connection(0), model(0, 0, "mock-model")];
        scene.result(&first, &page(4, &items, &cursor));
        let second = asked(scene);
        assert_eq!(
            second.input,
            json!({ "kind": "continue", "revision": 4, "cursor": cursor })
        );
        let named = json!({ "kind": "model", "connectionIndex": 0, "itemIndex": 0,
                            "model": { "id": "mock-model", "displayName": "Mock One" } });
        // Twice the same, and a model of no connection.
        let items = [
            model(0, 1, "b"),
            model(0, 2, "b"),
            model(9, 0, "lost"),
            named,
        ];
        scene.result(&second, &page(4, &items, &json!(null)));
        assert_eq!(names(scene, request), ["Mock One", "b"]);
        assert_eq!(scene.count("connection.catalog.query"), 2);
    });
}

#[test]
fn given_a_catalog_that_changes_between_pages_when_read_then_it_is_read_from_the_start() {
    each_way_bare(|scene| {
        let request = making(scene);
        let first = asked(scene);
        let cursor = json!({ "connectionIndex": 0, "part": "connection" });
        let items = [connection(0), model(0, 0, "old")];
        scene.result(&first, &page(4, &items, &cursor));
        let second = asked(scene);
        let changed =
            json!({ "kind": "revision_changed", "expectedRevision": 4, "actualRevision": 5 });
        scene.result(&second, &changed);
        let third = asked(scene);
        assert_eq!(third.input, json!({ "kind": "start" }));
        let items = [connection(0), model(0, 0, "mock-model")];
        scene.result(&third, &page(5, &items, &json!(null)));
        assert_eq!(names(scene, request), ["mock-model"]);
    });
}

/// A catalog without end, or that never stands still, is read so far and no further.
#[test]
fn given_a_catalog_without_end_when_read_then_it_ends_after_64_pages() {
    for still in [true, false] {
        let mut scene = Scene::batched();
        let request = making(&mut scene);
        for _ in 0..limits::MAKA_MODEL_PAGES {
            assert_eq!(
                scene.editor()[usize::from(scene.count("connection.catalog.query") == 1)..],
                NOTHING
            );
            let asked = asked(&mut scene);
            let items = [connection(0), model(0, 0, "mock-model")];
            let answer = if still {
                page(
                    4,
                    &items,
                    &json!({ "connectionIndex": 0, "part": "connection" }),
                )
            } else {
                json!({ "kind": "revision_changed", "expectedRevision": 4, "actualRevision": 5 })
            };
            scene.result(&asked, &answer);
        }
        // The current one is always among them.
        assert_eq!(names(&mut scene, request), ["mock-model"]);
        assert_eq!(scene.count("connection.catalog.query"), 64);
    }
}

/// At the limit, and one more.
#[test]
fn given_more_models_than_a_list_can_hold_when_offered_then_the_first_512_and_the_current_one() {
    for (count, offered) in [(512_u64, 513), (513, 513)] {
        let mut scene = Scene::batched();
        let request = making(&mut scene);
        let asked = asked(&mut scene);
        let mut items = vec![connection(0)];
        items.extend((0..count).map(|at| model(0, at, &format!("m{at}"))));
        scene.result(&asked, &page(4, &items, &json!(null)));
        let names = names(&mut scene, request);
        assert_eq!(names.len(), offered);
        assert_eq!(names[0], "mock-model", "the current one stands first");
        assert_eq!(names[512], "m511");
    }
}

/// What one session reads, the next one knows when the Host cannot say.
#[test]
fn given_models_known_before_when_they_cannot_be_read_again_then_those_are_offered() {
    each_way_bare(|scene| {
        let request = making(scene);
        scene.models();
        let before = names(scene, request);
        let params = json!({ "cwd": "/srv/maka-work", "mcpServers": [] });
        let request = scene.desk.request("session/new", &params);
        scene.settle();
        let create = scene.asked("session.create");
        let id = create.input["sessionId"].as_str().unwrap();
        let item = words::configured(id, 1, &json!({}));
        scene.result(&create, &item);
        let asked = asked(scene);
        scene.error(&asked, "internal_failure", "no");
        assert_eq!(names(scene, request), before);
    });
}
