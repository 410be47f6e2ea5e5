//! Sessions: listing in pages, models, limits, and a life on disk.

use host_runner::embedded::{Clock, Options, World};
use serde_json::{Value, json};

use crate::client::{Client, instant, scripted};
use crate::transcript::rows;

#[test]
fn given_many_sessions_when_listed_then_pages_have_at_most_32_and_hold_each_once() {
    let mut client = Client::connect(&instant(Options::default()));
    for at in 0..70 {
        create(&mut client, &format!("s{at}"));
    }
    let mut page = client.ok("session.catalog.query", json!({"kind": "list_start"}));
    let revision = page["revision"].clone();
    let mut seen = Vec::new();
    loop {
        let sessions = page["sessions"].as_array().expect("sessions");
        assert!(sessions.len() <= 32);
        seen.extend(
            sessions
                .iter()
                .map(|session| session["id"].as_str().expect("an id").to_owned()),
        );
        if page["nextCursor"].is_null() {
            break;
        }
        let more =
            json!({"kind": "list_continue", "revision": revision, "cursor": page["nextCursor"]});
        page = client.ok("session.catalog.query", more);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 70);
}

#[test]
fn given_a_listing_under_way_when_the_catalog_changes_then_the_client_is_told_to_begin_again() {
    let mut client = Client::connect(&instant(Options::default()));
    for at in 0..40 {
        create(&mut client, &format!("s{at}"));
    }
    let page = client.ok("session.catalog.query", json!({"kind": "list_start"}));
    create(&mut client, "another");
    let more = json!({"kind": "list_continue", "revision": page["revision"], "cursor": page["nextCursor"]});
    let changed = client.ok("session.catalog.query", more);
    assert_eq!(changed["kind"], "revision_changed");
    assert_eq!(changed["expectedRevision"], page["revision"]);
    let again = client.ok("session.catalog.query", json!({"kind": "list_start"}));
    assert_eq!(changed["actualRevision"], again["revision"]);
}

fn create(client: &mut Client, id: &str) {
    client.ok(
        "session.create",
        json!({"sessionId": id, "modelTarget": {"kind": "default"},
        "workspace": {"kind": "host_path", "path": std::env::temp_dir()}}),
    );
}

#[test]
fn given_the_models_of_the_catalog_when_a_session_is_created_then_each_can_be_chosen() {
    let mut client = Client::connect(&instant(Options::default()));
    let catalog = client.ok("connection.catalog.query", json!({"kind": "start"}));
    let items = catalog["items"].as_array().expect("items");
    let slug = &items[0]["slug"];
    let models: Vec<&Value> = items
        .iter()
        .filter(|item| item["kind"] == "enabled_model_id")
        .collect();
    assert_eq!(items[0]["enabledModelIdCount"], models.len());
    assert_eq!(catalog["defaultTarget"]["modelId"], models[0]["modelId"]);
    for (at, model) in models.iter().enumerate() {
        let item = client.ok(
            "session.create",
            json!({"sessionId": format!("s{at}"),
            "modelTarget": {"kind": "explicit", "connectionSlug": slug, "model": model["modelId"]},
            "workspace": {"kind": "host_path", "path": std::env::temp_dir()}}),
        );
        assert_eq!(item["model"], model["modelId"]);
    }
}

#[test]
fn given_16_subscriptions_when_one_more_is_opened_then_it_is_refused_until_one_is_closed() {
    let mut client = Client::connect(&instant(Options::default()));
    let first = client.session("s1");
    for _ in 1..16 {
        client.subscribe("s1");
    }
    let open = json!({"sessionId": "s1", "transcript": {"kind": "none"}});
    assert_eq!(
        client.refused("subscription.open", open.clone()),
        "operation_conflict"
    );
    client.ok("subscription.close", json!({"subscriptionId": first}));
    client.ok("subscription.open", open);
}

#[test]
fn given_a_subscription_of_another_connection_when_closed_then_it_is_not_found_and_an_unknown_one_is_fine()
 {
    let world = instant(Options::default());
    let mut one = Client::connect(&world);
    let subscription = one.session("s1");
    let mut other = Client::connect(&world);
    assert_eq!(
        other.refused(
            "subscription.close",
            json!({"subscriptionId": subscription})
        ),
        "not_found"
    );
    other.ok("subscription.close", json!({"subscriptionId": "unknown"}));
    one.ok(
        "subscription.close",
        json!({"subscriptionId": subscription}),
    );
    one.ok(
        "subscription.close",
        json!({"subscriptionId": subscription}),
    );
}

#[test]
fn given_two_clients_when_one_starts_a_turn_then_both_see_it_in_the_same_order() {
    let world = scripted(&json!({"plays": [{"steps": [{"text": "for all to see", "chunk": 2}]}]}));
    let mut one = Client::connect(&world);
    one.session("s1");
    let mut other = Client::connect(&world);
    other.subscribe("s1");
    one.start("s1", "t1", "go");
    one.until_terminal();
    other.until_terminal();
    let kinds = |client: &Client| -> Vec<(Value, Value)> {
        let frames = client
            .seen
            .iter()
            .filter(|frame| frame["sequence"].is_u64());
        frames
            .map(|frame| (frame["sequence"].clone(), frame["kind"].clone()))
            .collect()
    };
    assert_eq!(kinds(&one), kinds(&other));
}

#[test]
fn given_sessions_on_disk_when_the_host_starts_again_then_they_are_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = || {
        let state_dir = Some(folder.path().join("state"));
        World::new(Options {
            state_dir,
            clock: Clock::instant(),
            ..Options::default()
        })
        .expect("the Host starts")
    };
    let first = start();
    let mut client = Client::connect(&first);
    client.session("s1");
    client.start("s1", "t1", "hello");
    client.until_terminal();
    let before = (rows(&mut client, "s1"), item(&mut client));
    create(&mut client, "gone");
    client.ok(
        "session.remove",
        json!({"sessionId": "gone", "expectedRevision": 1}),
    );

    let second = start();
    assert_eq!(second.root_id(), first.root_id());
    assert_ne!(second.host_epoch(), first.host_epoch());
    let mut client = Client::connect(&second);
    assert_eq!((rows(&mut client, "s1"), item(&mut client)), before);
    let listed = client.ok("session.catalog.query", json!({"kind": "list_start"}));
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1));
    let repeated = json!({"sessionId": "s1", "turnId": "t1", "content": {"text": "hello"}});
    assert_eq!(
        client.ok("turn.start", repeated)["turn"]["status"],
        "completed"
    );
}

fn item(client: &mut Client) -> Value {
    client.ok(
        "session.catalog.query",
        json!({"kind": "get", "sessionId": "s1"}),
    )
}

#[test]
fn given_a_turn_that_ran_when_the_host_starts_again_from_disk_then_it_has_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = || {
        let state_dir = Some(folder.path().to_path_buf());
        World::new(Options {
            state_dir,
            clock: Clock::instant(),
            ..Options::default()
        })
        .expect("the Host starts")
    };
    let mut client = Client::connect(&start());
    client.session("s1");
    client.start("s1", "t1", "ask me a question");
    client.sees(|frame| frame["snapshot"]["interactions"]["pending"][0].is_object());

    let mut again = Client::connect(&start());
    let found = again.ok("turn.query", json!({"sessionId": "s1", "turnId": "t1"}));
    assert_eq!(
        (&found["status"], &found["failureClass"]),
        (&json!("failed"), &json!("app_restarted"))
    );
}

#[test]
fn given_state_on_disk_when_written_then_only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let state_dir = folder.path().join("state");
    let world = instant(Options {
        state_dir: Some(state_dir.clone()),
        ..Options::default()
    });
    create(&mut Client::connect(&world), "s1");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&state_dir), 0o700);
    assert_eq!(mode(&state_dir.join("s1.json")), 0o600);
}

#[test]
fn given_a_file_that_is_no_session_when_the_host_starts_then_it_is_told_which() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("s1.json"), "{}").expect("it is written");
    let state_dir = Some(folder.path().to_path_buf());
    let error = match World::new(Options {
        state_dir,
        ..Options::default()
    }) {
        Ok(_) => panic!("a broken session must not be dropped silently"),
        Err(error) => format!("{error:#}"),
    };
    assert!(
        error.contains("s1.json is not a session of this version; remove it to go on"),
        "{error}"
    );
}

#[test]
fn given_configuration_while_a_turn_runs_when_changed_then_the_session_is_busy() {
    let world = scripted(&json!({"plays": [{"steps": [{"text": "x"}, {"wait": "turn.stop"}]}]}));
    let mut client = Client::connect(&world);
    client.session("s1");
    client.start("s1", "t1", "go");
    client.sees(|frame| frame["delta"].is_object());
    let revision = item(&mut client)["session"]["revision"].clone();
    let change = json!({"sessionId": "s1", "expectedRevision": revision, "configuration": {
        "modelTarget": {"kind": "default"}, "thinkingLevel": null, "permissionMode": "ask",
        "collaborationMode": "agent", "orchestrationMode": "default"}});
    assert_eq!(
        client.refused("session.configuration.update", change),
        "session_busy"
    );
}

#[test]
fn given_a_first_turn_when_it_has_ended_then_the_session_is_named_after_it_unless_it_had_a_name() {
    let world = scripted(&json!({"plays": [{"steps": [{"text": "x"}]}]}));
    let mut client = Client::connect(&world);
    client.session("unnamed");
    client.ok(
        "session.create",
        json!({"sessionId": "named", "name": "Mine", "modelTarget": {"kind": "default"},
            "workspace": {"kind": "host_path", "path": std::env::temp_dir()}}),
    );
    for (session, name) in [("unnamed", "what is this about"), ("named", "Mine")] {
        client.subscribe(session);
        client.start(session, &format!("{session}-1"), "what is  this about");
        client.until_terminal();
        client.start(session, &format!("{session}-2"), "and this?");
        client.until_terminal();
        let get = json!({"kind": "get", "sessionId": session});
        assert_eq!(
            client.ok("session.catalog.query", get)["session"]["name"],
            name
        );
    }
}
