//! Where models come from, and the table of all methods.

use airlock_engine::{HostArrival, Input};
use airlock_tests::Say;
use airlock_tests::scripted_cli::words;
use serde_json::json;

use super::world::World;

/// Section 16 [run].
#[test]
fn given_an_environment_when_providers_are_listed_then_the_one_is_where_it_says() {
    let environment = json!({ "HOME": "/srv/home", "ANTHROPIC_BASE_URL": "http://127.0.0.1:8080" });
    let mut world = World::with(&json!({}), &environment, 0);
    let expected = json!({ "providers": [{
        "providerId": "main", "supported": ["anthropic", "bedrock", "vertex"], "required": false,
        "current": { "apiType": "anthropic", "baseUrl": "http://127.0.0.1:8080" } }] });
    assert_eq!(world.asks("providers/list", &json!({})), expected);
}

#[test]
fn given_a_provider_that_cannot_be_used_when_set_then_the_params_are_refused() {
    let mut world = World::new();
    let way = |id: &str, api: &str, url: &str| json!({ "providerId": id, "apiType": api, "baseUrl": url });
    let table = [
        (
            way("other", "anthropic", "https://a.example"),
            json!({ "providerId": "other" }),
        ),
        (
            way("main", "openai", "https://a.example"),
            json!({ "apiType": "openai" }),
        ),
        (
            way("main", "vertex", "https://a.example"),
            json!({ "apiType": "vertex" }),
        ),
        (
            way("main", "anthropic", "a.example"),
            json!({ "baseUrl": "a.example" }),
        ),
        (
            words::with(
                way("main", "anthropic", "https://a.example"),
                json!({ "headers": { "x": "a\r\nb: c" } }),
            ),
            json!({ "header": "x" }),
        ),
    ];
    for (params, data) in table {
        let id = world.request("providers/set", &params);
        let error = world.error(id);
        assert_eq!(error["code"], -32602, "{params}");
        assert_eq!(error["data"], data);
    }
    assert_eq!(
        world.provider()["current"]["baseUrl"],
        "https://api.anthropic.com"
    );
    // One that is not there is off already.
    assert_eq!(
        world.asks("providers/disable", &json!({ "providerId": "other" })),
        json!({})
    );
}

/// Section 16: between two turns, under the same id; what is asked meanwhile waits.
#[test]
fn given_a_turn_that_runs_when_a_provider_is_set_then_its_process_is_replaced_after_it() {
    for way in 0..4 {
        let mut world = World::with(&json!({}), &json!({ "HOME": "/srv/home" }), way);
        let session = world.new_session();
        let mode = json!({ "sessionId": session, "modeId": "acceptEdits" });
        world.asks("session/set_mode", &mode);
        let one = world.desk.prompt(&session, "one");
        world.settle();
        let vertex = json!({ "providerId": "main", "apiType": "vertex",
            "baseUrl": "https://gate.example",
            "_meta": { "claudeCode": { "vertex": { "projectId": "p", "region": "r" } } } });
        assert_eq!(world.asks("providers/set", &vertex), json!({}));
        let current = json!({ "apiType": "vertex", "baseUrl": "https://gate.example" });
        assert_eq!(world.provider()["current"], current);
        assert_eq!(world.desk.host.started.len(), 1, "the turn runs");
        world.says(&[words::echo(1), words::done(1)]);
        assert_eq!(world.result(one)["stopReason"], "end_turn");
        assert_eq!(world.desk.host.started.len(), 2, "way {way}");
        let started = &world.desk.host.started[1];
        assert!(started.contains(&format!("--resume={session}")));
        assert!(started.contains(&"--permission-mode=acceptEdits".to_owned()));
        let set = |value: &str| Some(Some(value.to_owned()));
        assert_eq!(world.variable(1, "CLOUD_ML_REGION"), set("r"));
        assert_eq!(
            world.variable(1, "ANTHROPIC_VERTEX_BASE_URL"),
            set("https://gate.example")
        );
        assert_eq!(world.variable(1, "ANTHROPIC_BASE_URL"), Some(None));
        let two = world.desk.prompt(&session, "two");
        world.settle();
        assert_eq!(world.desk.host.users.len(), 2);
        assert_eq!(world.answer(two), None);
        assert_eq!(world.desk.channels().len(), 1);
        // Once is enough.
        world.asks("providers/set", &vertex);
        assert_eq!(world.desk.host.started.len(), 2);
    }
}

/// Rule R9: in how many pieces the end of a turn comes makes no difference to what follows it.
#[test]
fn given_a_turn_that_ends_when_its_process_is_to_be_replaced_then_one_piece_is_as_good_as_many() {
    let said = [0, 1, 2, 3].map(|way| {
        let mut world = World::with(&json!({}), &json!({ "HOME": "/srv/home" }), way);
        let session = world.new_session();
        let one = world.desk.prompt(&session, "one");
        world.settle();
        let gate = json!({ "providerId": "main", "apiType": "anthropic",
                           "baseUrl": "https://gate.example" });
        world.asks("providers/set", &gate);
        world.says(&[words::echo(1), words::done(1), words::state("idle")]);
        assert_eq!(world.result(one)["stopReason"], "end_turn");
        world.desk.prompt(&session, "two");
        world.settle();
        world.desk.log.clone()
    });
    for (way, log) in said.iter().enumerate() {
        assert_eq!(&said[0], log, "way {way} makes a difference");
    }
}

#[test]
fn given_a_process_that_is_being_replaced_when_it_is_asked_something_then_that_waits_or_is_cancelled()
 {
    let mut world = World::new();
    let session = world.new_session();
    world.desk.host.by_hand("initialize");
    let way =
        json!({ "providerId": "main", "apiType": "anthropic", "baseUrl": "https://gate.example" });
    world.asks("providers/set", &way);
    // Nothing was said in it: there is nothing to resume.
    assert!(world.desk.host.started[1].contains(&format!("--session-id={session}")));
    let one = world.desk.prompt(&session, "one");
    let mode = json!({ "sessionId": session, "modeId": "plan" });
    let set = world.desk.request("session/set_mode", &mode);
    world.settle();
    world.desk.cancel(&session);
    world.settle();
    assert_eq!(world.result(one)["stopReason"], "cancelled");
    let two = world.desk.prompt(&session, "two");
    world.settle();
    assert_eq!(world.answer(set), None);
    let request = world.desk.host.take("initialize").expect("a greeting");
    let greeting = world.desk.host.greeting.clone().expect("one");
    let line = airlock_tests::scripted_cli::answer(&request, &greeting);
    world.desk.host_says([Say::Line(line)]);
    world.settle();
    assert_eq!(world.result(set), json!({}));
    assert_eq!(world.desk.host.users.len(), 1);
    assert_eq!(world.answer(two), None);
    let close = world.request("session/close", &json!({ "sessionId": session }));
    assert_eq!(world.result(close), json!({}));
    assert_eq!(world.result(two)["stopReason"], "cancelled");
    assert_eq!(world.desk.unanswered(), Vec::<String>::new());
}

#[test]
fn given_a_new_process_that_does_not_come_up_when_prompts_wait_then_they_are_answered() {
    let mut world = World::new();
    let session = world.new_session();
    world.desk.host.by_hand("initialize");
    let way =
        json!({ "providerId": "main", "apiType": "anthropic", "baseUrl": "https://gate.example" });
    world.asks("providers/set", &way);
    let one = world.desk.prompt(&session, "one");
    world.settle();
    let channel = *world.desk.channels().last().expect("a process");
    world
        .desk
        .arrives(Input::Host(channel, HostArrival::Exited(Some(1))));
    world.desk.host_says([Say::Close]);
    world.settle();
    assert_eq!(world.error(one)["code"], -32603);
    assert_eq!(world.desk.unanswered(), Vec::<String>::new());
}

/// Every method of section 2 (v1) is served: with params that mean nothing it may be refused,
/// but never as one that is not there.
#[test]
fn given_the_methods_of_the_reference_when_each_is_asked_for_then_none_is_unknown() {
    let served = [
        "authenticate",
        "logout",
        "session/new",
        "session/load",
        "session/resume",
        "session/fork",
        "session/list",
        "session/close",
        "session/delete",
        "session/set_mode",
        "session/set_config_option",
        "session/prompt",
        "providers/list",
        "providers/set",
        "providers/disable",
        "_session/steering",
    ];
    let mut world = World::new();
    for method in served {
        let id = world.request(method, &json!({}));
        let code = world.answer(id).expect("an answer")["error"]["code"].clone();
        assert_ne!(code, -32601, "{method}");
    }
    // The one that the peer does not have either [run].
    for method in ["session/set_model", "nosuch/method"] {
        let id = world.request(method, &json!({}));
        let error = world.error(id);
        assert_eq!(error["code"], -32601);
        assert_eq!(error["data"], json!({ "method": method }));
    }
}
