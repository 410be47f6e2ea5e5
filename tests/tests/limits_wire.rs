//! What goes to the Host, whole: it closes the connection on a frame that is not as its
//! epoch says, so every request is compared, and its limits are held here.

use airlock_tests::scripted_host::{Scene, each_way, words};
use serde_json::{Value, json};

fn frames(scene: &Scene) -> Vec<Value> {
    let lines = scene.desk.to_host.iter();
    lines
        .map(|(_, line)| serde_json::from_str(line).unwrap())
        .collect()
}

/// Every request of a whole conversation, by its three keys and nothing else.
#[test]
fn given_a_conversation_with_all_operations_when_sent_then_every_frame_is_as_the_host_wants_it() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.closed("slow_consumer");
        let row = words::overlay(0, &words::assistant(&turn.id, "m1", "Hi"));
        let more =
            json!({ "overlayMessageCount": 2, "overlay": words::page(&[row], Some("older")) });
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(4), &more);
        let row = words::overlay(1, &words::assistant(&turn.id, "m2", "Ho"));
        scene.page(&[row], None);
        scene.page(&[], Some("newer"));
        scene.page(&[], None);
        scene.cancel();
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        let lost = scene.dispatched("again");
        scene.lose();
        scene.wait(100);
        let asked = scene.asked("turn.query");
        scene.error(&asked, "not_found", "no");
        scene.desk.request("session/list", &json!({}));
        scene.settle();
        let (session, id, other) = (&scene.session, &turn.id, &lost.id);
        let open =
            json!({ "sessionId": session, "transcript": { "kind": "tail", "maxBytes": 16_384 } });
        let page = |source: &str, direction: &str, cursor: &str| {
            json!({ "subscriptionId": "feed-2", "source": source, "direction": direction, "throughSequence": 4,
                    "cursor": cursor, "anchorSequence": null, "maxBytes": 524_288 })
        };
        let mut first_page = page("durable", "newer", "");
        first_page["cursor"] = Value::Null;
        let start = |turn: &str, text: &str| json!({ "sessionId": session, "turnId": turn, "content": { "text": text } });
        let wanted = [
            (
                "session.create",
                json!({ "sessionId": session, "workspace": { "kind": "host_path", "path": "/srv/maka-work" }, "modelTarget": { "kind": "default" } }),
            ),
            ("connection.catalog.query", json!({ "kind": "start" })),
            (
                "skill.catalog.invocable.query",
                json!({ "kind": "start", "target": { "kind": "session", "sessionId": session } }),
            ),
            ("subscription.open", open.clone()),
            ("turn.start", start(id, "hello")),
            ("subscription.open", open),
            ("session.transcript.page", page("overlay", "older", "older")),
            (
                "session.transcript.overlay.release",
                json!({ "subscriptionId": "feed-2" }),
            ),
            ("session.transcript.page", first_page),
            ("session.transcript.page", page("durable", "newer", "newer")),
            (
                "turn.stop",
                json!({ "sessionId": session, "turnId": id, "runId": "run-1" }),
            ),
            ("turn.start", start(other, "again")),
            (
                "turn.query",
                json!({ "sessionId": session, "turnId": other }),
            ),
            ("session.catalog.query", json!({ "kind": "list_start" })),
        ];
        let sent = frames(scene);
        let (hellos, requests): (Vec<Value>, Vec<Value>) =
            sent.into_iter().partition(|it| it["kind"] == "hello");
        for hello in &hellos {
            let client = hello["clientInstanceId"].as_str().unwrap();
            assert_eq!(client.len(), 36);
            assert_eq!(
                hello,
                &json!({ "kind": "hello", "clientInstanceId": client, "protocolMin": 0, "protocolMax": 0,
                         "compatibilityEpoch": 39, "compositionId": "maka.interactive" })
            );
        }
        assert_eq!(hellos.len(), 2);
        assert_eq!(hellos[0], hellos[1], "one client, whatever the connection");
        let mut ids: Vec<&str> = requests
            .iter()
            .map(|it| it["requestId"].as_str().unwrap())
            .collect();
        let told: Vec<(&str, Value)> = requests
            .iter()
            .map(|it| (it["operation"].as_str().unwrap(), it["input"].clone()))
            .collect();
        assert_eq!(told, wanted);
        assert!(requests.iter().all(|it| it.as_object().unwrap().len() == 3));
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "an id is used once");
    });
}

/// 48 KiB of text go as text, and not a byte more; 52 KiB as JSON likewise.
#[test]
fn given_prompts_at_the_hosts_limits_when_sent_then_they_go_and_one_byte_more_is_attached() {
    each_way(|scene| {
        let text = 48 << 10;
        // {"text":"…"} is 11 bytes around what \u0001 makes 6 of 1.
        let content = ((52 << 10) - 11) / 6;
        for (text, goes) in [
            ("x".repeat(text), true),
            ("x".repeat(text + 1), false),
            ("\u{1}".repeat(content), true),
            ("\u{1}".repeat(content + 1), false),
        ] {
            let before = scene.count("turn.start");
            let prompt = scene.prompt(&text);
            if scene.desk.host.waiting().contains(&"subscription.open") {
                scene.open();
            }
            assert_eq!(scene.count("turn.start") - before, usize::from(goes));
            if !goes {
                // What is too long becomes an attachment.
                let asked = scene.asked("artifact.ingest");
                scene.error(&asked, "operation_conflict", "full");
            }
            if goes {
                let asked = scene.asked("turn.start");
                assert_eq!(asked.input["content"]["text"], text);
                scene.error(&asked, "session_busy", "busy");
            }
            let told = scene.answer(prompt).unwrap();
            assert_eq!(told.contains("artifact.ingest"), !goes, "{told}");
        }
    });
}

/// Two sessions on one connection: what happens to one is nothing to the other.
#[test]
fn given_two_running_turns_when_one_feed_breaks_and_is_cancelled_then_the_other_goes_on() {
    each_way(|scene| {
        let first = scene.running("one");
        let one = (
            scene.session.clone(),
            scene.feed.clone(),
            scene.sequence,
            scene.revision,
        );
        let id = scene
            .desk
            .request("session/new", &json!({ "cwd": "/w", "mcpServers": [] }));
        scene.settle();
        let made = scene.answer(id).unwrap();
        let result: Value = serde_json::from_str(made.split_once(' ').unwrap().1).unwrap();
        scene.session = result["sessionId"].as_str().unwrap().to_owned();
        let second = scene.running("two");
        scene.sequence += 1;
        scene.text(&second, "m2", 0, "lost");
        scene.cancel();
        let asked = scene.asked("turn.stop");
        assert_eq!(asked.input["turnId"], second.id);
        let told = scene.told(&second, "cancelled");
        scene.result(&asked, &told);
        (scene.session, scene.feed, scene.sequence, scene.revision) = one;
        scene.editor();
        scene.text(&first, "m1", 0, "still here");
        scene.now(&first, "completed");
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"still here\"".to_owned(),
                format!("{} end_turn", first.prompt)
            ]
        );
    });
}

/// Two sessions when the connection is lost: both are recovered over one connection.
#[test]
fn given_two_running_turns_when_the_connection_is_lost_then_both_feeds_are_opened_again() {
    each_way(|scene| {
        scene.running("one");
        let id = scene
            .desk
            .request("session/new", &json!({ "cwd": "/w", "mcpServers": [] }));
        scene.settle();
        let made = scene.answer(id).unwrap();
        let result: Value = serde_json::from_str(made.split_once(' ').unwrap().1).unwrap();
        scene.session = result["sessionId"].as_str().unwrap().to_owned();
        scene.running("two");
        scene.host();
        scene.lose();
        scene.wait(100);
        assert_eq!(scene.host(), ["hello", "open", "open"]);
    });
}
