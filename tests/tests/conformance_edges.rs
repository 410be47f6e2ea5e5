//! Rows of the adapter's conformance list about the ends of a connection that no other test
//! shows (Maka adapter, sections 26.1, 26.6 and 26.7): before there is a Host, without one,
//! and when the editor has gone.

use airlock_engine::HostRefusal;
use airlock_tests::scripted_host::{each_way_bare, words};
use serde_json::json;

const NOTHING: [&str; 0] = [];

/// R2: nothing can be asked after the end; what waits then is told which operation did not
/// come about, but a prompt, which is cancelled, and a close, which is done.
#[test]
fn given_requests_of_every_kind_when_the_editor_leaves_then_each_is_told_its_operation() {
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({}));
        let turn = scene.dispatched("hello");
        let set = scene.set("permission_mode", &json!("bypass"));
        let list = scene.desk.request("session/list", &json!({}));
        scene.desk.host.by_hand("session.create");
        let params = json!({ "cwd": "/w", "mcpServers": [] });
        let new = scene.desk.request("session/new", &params);
        scene.settle();
        scene.hang_up();
        scene.wait(5_000);
        let closed = |id: u64, operation: &str| {
            format!(
                r#"{id} error -32603 {{"source":"runtime_host","operation":"{operation}","code":"registry_closed"}}"#
            )
        };
        assert_eq!(
            scene.answer(list),
            Some(closed(list, "session.catalog.query"))
        );
        assert_eq!(
            scene.answer(set),
            Some(closed(set, "session.configuration.update"))
        );
        let told = scene.answer(new).unwrap();
        let wanted = r#""operation":"session.create","code":"registry_closed""#;
        assert!(told.contains(wanted), "{told}");
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} cancelled", turn.prompt))
        );
        assert_eq!(scene.desk.unanswered(), NOTHING);
        assert_eq!(scene.desk.done, Some(0));
    });
}

/// R3: a request and the end in one read: the Host hears nothing but, at most, a greeting.
#[test]
fn given_a_request_and_the_end_at_once_when_read_then_refused_and_the_host_is_not_asked() {
    each_way_bare(|scene| {
        scene.desk.initialize();
        scene.desk.host.greeting = None;
        let list = scene.desk.request("session/list", &json!({}));
        scene.desk.hang_up();
        scene.settle();
        let told = scene.answer(list).unwrap();
        assert!(told.contains("registry_closed"), "{told}");
        assert_eq!(scene.count("session.catalog.query"), 0);
        assert!(scene.desk.channels().is_empty());
        assert_eq!(scene.desk.done, Some(0));
    });
}

/// S20: the exact message, and then the end.
#[test]
fn given_what_is_no_json_and_the_end_when_read_then_exactly_one_error_and_no_host() {
    each_way_bare(|scene| {
        scene.desk.send_bytes(b"{nonsense\n");
        scene.settle();
        scene.hang_up();
        let said: Vec<&String> = scene
            .desk
            .log
            .iter()
            .filter(|it| it.starts_with("< "))
            .collect();
        assert_eq!(
            said,
            [r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#]
        );
        assert_eq!((scene.desk.done, scene.desk.host.connects), (Some(0), 0));
    });
}

/// S23: each request is told why by itself. S24: nobody needs a Host to know that a session
/// is unknown.
#[test]
fn given_no_host_when_listed_and_an_unknown_session_is_closed_then_each_is_told_its_own() {
    each_way_bare(|scene| {
        scene.desk.initialize();
        scene.desk.host.refusal = Some(HostRefusal::Absent);
        scene.session = "nobody".to_owned();
        let unknown = |id: u64| {
            format!(r#"{id} error -32002 {{"reason":"unknown_session","sessionId":"nobody"}}"#)
        };
        let close = scene.close();
        assert_eq!(scene.answer(close), Some(unknown(close)));
        assert_eq!(scene.desk.host.connects, 0);
        let list = scene.desk.request("session/list", &json!({}));
        scene.settle();
        let data = r#"{"source":"runtime_host","operation":"connect","code":"connection_failed","reason":"absent"}"#;
        assert_eq!(
            scene.answer(list),
            Some(format!("{list} error -32603 {data}"))
        );
        let close = scene.close();
        assert_eq!(scene.answer(close), Some(unknown(close)));
        assert_eq!(scene.desk.host.connects, 1);
    });
}

/// A2: what an editor adds to `_meta` disturbs nothing, and the Host does not get it.
#[test]
fn given_meta_in_params_when_a_session_is_made_and_listed_then_it_is_passed_over() {
    each_way_bare(|scene| {
        scene.desk.initialize();
        scene.host();
        scene.desk.host.by_hand("session.create");
        let meta = json!({ "maka": { "x": 1 }, "other": [1, 2] });
        let params = json!({ "cwd": "/w", "mcpServers": [], "_meta": meta });
        let new = scene.desk.request("session/new", &params);
        scene.settle();
        let asked = scene.asked("session.create");
        let session = asked.input["sessionId"].as_str().unwrap().to_owned();
        assert_eq!(
            asked.input,
            json!({ "sessionId": session, "modelTarget": { "kind": "default" },
                    "workspace": { "kind": "host_path", "path": "/w" } })
        );
        scene.result(&asked, &words::session(&json!(session), &json!("/w")));
        assert!(scene.answer(new).unwrap().contains(&session));
        let list = scene
            .desk
            .request("session/list", &json!({ "cwd": null, "_meta": meta }));
        scene.settle();
        let asked = scene.asked("session.catalog.query");
        assert_eq!(asked.input, json!({ "kind": "list_start" }));
        let item = words::session(&json!(session), &json!("/w"));
        let page =
            json!({ "kind": "page", "revision": "r", "sessions": [item], "nextCursor": null });
        scene.result(&asked, &page);
        assert!(scene.answer(list).unwrap().contains(&session));
    });
}
