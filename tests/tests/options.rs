//! Setting options and modes of a session (Maka adapter, section 9.3). What is offered is
//! in `options_offered.rs`, what fails in `options_failing.rs`, what changes elsewhere in
//! `options_elsewhere.rs`.

use airlock_tests::Recording;
use airlock_tests::scripted_host::{each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn configuration(target: [&str; 2], rest: [&str; 4]) -> Value {
    let level = if rest[0].is_empty() {
        json!(null)
    } else {
        json!(rest[0])
    };
    json!({
        "modelTarget": { "kind": "explicit", "connectionSlug": target[0], "model": target[1] },
        "thinkingLevel": level, "permissionMode": rest[1], "collaborationMode": rest[2],
        "orchestrationMode": rest[3],
    })
}

/// F3, R55: one thing changes, the rest is sent as it was read; the answer is what was
/// stored, and the editor hears of it before.
#[test]
fn given_an_option_when_set_then_the_host_is_asked_for_exactly_that_on_the_latest_revision() {
    let mock = ["mock", "mock-model"];
    let rows = [
        (
            "permission_mode",
            "bypass",
            configuration(mock, ["low", "bypass", "plan", "swarm"]),
        ),
        (
            "thinking_level",
            "xhigh",
            configuration(mock, ["xhigh", "ask", "plan", "swarm"]),
        ),
        (
            "thinking_level",
            "default",
            configuration(mock, ["", "ask", "plan", "swarm"]),
        ),
        (
            "collaboration_mode",
            "agent",
            configuration(mock, ["low", "ask", "agent", "swarm"]),
        ),
        (
            "orchestration_mode",
            "graph",
            configuration(mock, ["low", "ask", "plan", "graph"]),
        ),
        (
            "model",
            "mock/vendor/large",
            configuration(["mock", "vendor/large"], ["low", "ask", "plan", "swarm"]),
        ),
        (
            "model",
            "other/mock-model",
            configuration(["other", "mock-model"], ["low", "ask", "plan", "swarm"]),
        ),
    ];
    let now = json!({ "thinkingLevel": "low", "collaborationMode": "plan", "orchestrationMode": "swarm" });
    for (id, value, wanted) in rows {
        each_way_bare(|scene| {
            scene.begin_with_options(&json!({}));
            let request = scene.set(id, &json!(value));
            scene.current(41, &now);
            let asked = scene.change();
            assert_eq!(
                asked.input,
                json!({ "sessionId": scene.session, "expectedRevision": 41, "configuration": wanted }),
                "{id}"
            );
            let stored = json!({ "permissionMode": "bypass", "orchestrationMode": "swarm" });
            let item = words::configured(&scene.session, 42, &stored);
            scene.result(&asked, &json!({ "kind": "committed", "session": item }));
            assert_eq!(scene.editor(), NOTHING);
            scene.models();
            let options = "options bypass mock/mock-model default agent swarm";
            assert_eq!(
                scene.editor(),
                [options.to_owned(), format!("{request} {options}")]
            );
            scene.host();
            scene.wait(60_000);
            assert_eq!(scene.host(), NOTHING);
        });
    }
}

/// The mode and the option of category `mode` are one: whoever sets either, the editor hears
/// of both (V1-14).
#[test]
fn given_the_mode_or_its_option_when_set_then_the_editor_hears_of_both_before_the_answer() {
    for by_mode in [true, false] {
        each_way_bare(|scene| {
            scene.begin_with_options(&json!({}));
            let request = if by_mode {
                scene.set_mode("plan")
            } else {
                scene.set("collaboration_mode", &json!("plan"))
            };
            scene.current(7, &json!({}));
            let asked = scene.change();
            assert_eq!(asked.input["configuration"]["collaborationMode"], "plan");
            scene.desk.host.put_back(asked);
            scene.commit(8, &json!({ "collaborationMode": "plan" }));
            let options = "options ask mock/mock-model default plan default";
            let answer = if by_mode {
                format!("{request} {{}}")
            } else {
                format!("{request} {options}")
            };
            assert_eq!(scene.editor(), [options, "mode plan", &answer]);
            // What it knows already is not told again.
            let request = scene.set_mode("plan");
            scene.current(8, &json!({ "collaborationMode": "plan" }));
            scene.commit(9, &json!({ "collaborationMode": "plan" }));
            assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        });
    }
}

/// R56, R58: a conflict reads again, three end it.
#[test]
fn given_conflicts_when_an_option_is_set_then_two_are_gone_over_and_the_third_is_told() {
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({}));
        let request = scene.set("permission_mode", &json!("bypass"));
        scene.current(7, &json!({}));
        scene.conflict("session.configuration.update");
        scene.current(8, &json!({ "thinkingLevel": "high" }));
        let asked = scene.change();
        assert_eq!(asked.input["expectedRevision"], 8);
        assert_eq!(
            asked.input["configuration"],
            configuration(
                ["mock", "mock-model"],
                ["high", "bypass", "agent", "default"]
            )
        );
        scene.desk.host.put_back(asked);
        scene.commit(
            9,
            &json!({ "permissionMode": "bypass", "thinkingLevel": "high" }),
        );
        let options = "options bypass mock/mock-model high agent default";
        assert_eq!(
            scene.editor(),
            [options.to_owned(), format!("{request} {options}")]
        );

        scene.host();
        let request = scene.set("permission_mode", &json!("ask"));
        for revision in [9, 10, 11] {
            scene.current(revision, &json!({}));
            scene.conflict("session.configuration.update");
        }
        let data = r#"{"source":"runtime_host","operation":"session.configuration.update","code":"revision_conflict","attempts":3}"#;
        assert_eq!(scene.editor(), [format!("{request} error -32603 {data}")]);
        assert_eq!(scene.host().len(), 6, "no seventh call");
        scene.wait(60_000);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// R57: two settings at once both come true, one after the other; a change of another
/// client in between is kept.
#[test]
fn given_two_options_set_at_once_when_another_client_changes_a_third_then_all_come_true() {
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({}));
        let first = scene.set("permission_mode", &json!("bypass"));
        let second = scene.set("thinking_level", &json!("high"));
        assert_eq!(scene.count("session.catalog.query"), 1, "the second waits");
        scene.current(7, &json!({}));
        scene.commit(8, &json!({ "permissionMode": "bypass" }));
        let options = "options bypass mock/mock-model default agent default";
        assert_eq!(
            scene.editor(),
            [options.to_owned(), format!("{first} {options}")]
        );
        scene.current(8, &json!({ "permissionMode": "bypass" }));
        scene.conflict("session.configuration.update");
        let now = json!({ "permissionMode": "bypass", "orchestrationMode": "graph" });
        scene.current(9, &now);
        let asked = scene.change();
        assert_eq!(
            asked.input["configuration"],
            configuration(["mock", "mock-model"], ["high", "bypass", "agent", "graph"])
        );
        scene.desk.host.put_back(asked);
        let now = json!({ "permissionMode": "bypass", "thinkingLevel": "high", "orchestrationMode": "graph" });
        scene.commit(10, &now);
        let options = "options bypass mock/mock-model high agent graph";
        assert_eq!(
            scene.editor(),
            [options.to_owned(), format!("{second} {options}")]
        );
        assert_eq!(scene.count("session.configuration.update"), 3);
    });
}

/// R61, R62: at the end nothing more is read or changed, and everybody is answered.
#[test]
fn given_options_being_set_when_the_editor_hangs_up_then_nothing_more_is_sent() {
    let closed = r#"{"source":"runtime_host","operation":"session.configuration.update","code":"registry_closed"}"#;
    for at_commit in [false, true] {
        each_way_bare(|scene| {
            scene.begin_with_options(&json!({}));
            let turn = scene.running("hello");
            let first = scene.set("permission_mode", &json!("bypass"));
            let second = scene.set("permission_mode", &json!("ask"));
            if at_commit {
                scene.current(7, &json!({}));
            }
            scene.editor();
            scene.host();
            scene.hang_up();
            assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
            if at_commit {
                scene.conflict("session.configuration.update");
            } else {
                scene.current(7, &json!({}));
            }
            let errors = [first, second].map(|it| format!("{it} error -32603 {closed}"));
            assert_eq!(scene.editor(), errors);
            assert_eq!(scene.host(), NOTHING);
            let stop = scene.asked("turn.stop");
            let told = scene.told(&turn, "cancelled");
            scene.says([stop.result(&told)]);
            assert_eq!(scene.desk.done, Some(0));
            assert_eq!(scene.desk.unanswered(), [""; 0]);
        });
    }
}

/// The same when nothing else holds up the end.
#[test]
fn given_an_option_being_set_when_the_editor_hangs_up_and_nothing_runs_then_it_ends_at_once() {
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({}));
        let request = scene.set("permission_mode", &json!("bypass"));
        scene.current(7, &json!({}));
        scene.hang_up();
        assert_eq!(scene.desk.done, Some(0));
        let line = scene.answer(request).unwrap();
        assert!(line.contains("registry_closed"), "{line}");
        assert!(line.contains("session.configuration.update"), "{line}");
    });
}

/// A session that is closed: what waits is not set, what was sent is answered, and no
/// notification follows the close.
#[test]
fn given_options_being_set_when_the_session_is_closed_then_what_waits_is_dropped_and_told() {
    for sent in [false, true] {
        each_way_bare(|scene| {
            scene.begin_with_options(&json!({}));
            let first = scene.set("permission_mode", &json!("bypass"));
            let second = scene.set_mode("plan");
            if sent {
                scene.current(7, &json!({}));
            }
            let close = scene.close();
            assert_eq!(scene.editor(), [format!("{close} {{}}")]);
            let unknown = |request: u64| {
                let session = &scene.session;
                format!(
                    r#"{request} error -32602 {{"reason":"unknown_session","sessionId":"{session}"}}"#
                )
            };
            let (first_unknown, second_unknown) = (unknown(first), unknown(second));
            if sent {
                scene.commit(8, &json!({ "permissionMode": "bypass" }));
                let options = "options bypass mock/mock-model default agent default";
                assert_eq!(
                    scene.editor(),
                    [format!("{first} {options}"), second_unknown]
                );
            } else {
                scene.current(7, &json!({}));
                assert_eq!(scene.editor(), [first_unknown, second_unknown]);
            }
            assert_eq!(
                scene.count("session.configuration.update"),
                usize::from(sent)
            );
            assert_eq!(scene.desk.unanswered(), [""; 0]);
        });
    }
}

/// What is sent has the shape of recording 14, and its answers are read.
#[test]
fn given_the_changes_of_recording_14_when_made_then_the_same_is_sent_and_the_answer_is_told() {
    let recording = Recording::open("14");
    let operation = Some("session.configuration.update");
    let asked = recording.client_frames();
    let asked: Vec<Value> = asked
        .filter(|it| it.operation() == operation)
        .map(|it| it.value["input"].clone())
        .collect();
    let host = recording.host_frames();
    let results: Vec<Value> = host
        .filter(|it| it.operation() == operation)
        .map(|it| it.value["result"].clone())
        .collect();
    assert_eq!((asked.len(), results.len()), (3, 3));
    let [_, before, after] = &results[..] else {
        unreachable!("three of them")
    };
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({}));
        let request = scene.set("thinking_level", &json!("high"));
        // As the recorded client's last change found it, but for what it changed besides.
        let mut item = before["session"].clone();
        item["permissionMode"] = json!("ask");
        item["collaborationMode"] = json!("agent");
        let query = scene.asked("session.catalog.query");
        scene.result(&query, &json!({ "kind": "session", "session": item }));
        let change = scene.change();
        let mut wanted = asked[2].clone();
        wanted["sessionId"] = json!(scene.session);
        assert_eq!(change.input.to_string(), wanted.to_string());
        scene.result(&change, after);
        scene.models();
        let options = "options ask mock/mock-model high agent default";
        assert_eq!(
            scene.editor(),
            [options.to_owned(), format!("{request} {options}")]
        );
    });
}
