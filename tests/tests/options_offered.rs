//! What of a session can be set, and what cannot (Maka adapter, sections 9.1 and 9.3).

use airlock_tests::scripted_host::{each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// `id=current of values`, one an option.
fn shape(options: &Value) -> Vec<String> {
    let options = options.as_array().expect("options").iter();
    let shape = options.map(|it| {
        let values = it["options"].as_array().expect("values").iter();
        let values: Vec<&str> = values.map(|it| it["value"].as_str().unwrap()).collect();
        let text = |key: &str| it[key].as_str().unwrap();
        format!(
            "{}={} of {}",
            text("id"),
            text("currentValue"),
            values.join("|")
        )
    });
    shape.collect()
}

/// F1, R49: the whole answer, and what the Host was asked for it.
#[test]
fn given_a_session_that_is_made_when_told_then_its_options_and_modes_are_listed_in_order() {
    each_way_bare(|scene| {
        scene.desk.initialize();
        scene.host();
        let result = scene.begin_with_options(&json!({}));
        let named = |pairs: &[(&str, &str)]| -> Vec<Value> {
            let pairs = pairs.iter();
            pairs
                .map(|(value, name)| json!({ "value": value, "name": name }))
                .collect()
        };
        assert_eq!(
            result["configOptions"],
            json!([
                { "type": "select", "id": "permission_mode", "name": "Permission mode",
                  "category": "_maka/permission_mode", "currentValue": "ask",
                  "options": named(&[("ask", "Ask"), ("bypass", "Bypass")]) },
                { "type": "select", "id": "model", "name": "Model", "category": "model",
                  "currentValue": "mock/mock-model",
                  "options": [
                    { "value": "mock/mock-model", "name": "mock-model", "description": "Mock" },
                    { "value": "mock/vendor/large", "name": "Large", "description": "Mock" },
                    { "value": "mock/plain", "name": "plain", "description": "Mock" },
                    { "value": "other/mock-model", "name": "mock-model", "description": "Other" },
                  ] },
                { "type": "select", "id": "thinking_level", "name": "Thinking level",
                  "category": "thought_level", "currentValue": "default",
                  "options": named(&[
                    ("default", "Default"), ("off", "Off"), ("minimal", "Minimal"), ("low", "Low"),
                    ("medium", "Medium"), ("high", "High"), ("xhigh", "Extra high"), ("max", "Max"),
                  ]) },
                { "type": "select", "id": "collaboration_mode", "name": "Collaboration mode",
                  "category": "mode", "currentValue": "agent",
                  "options": named(&[("agent", "Agent"), ("plan", "Plan")]) },
                { "type": "select", "id": "orchestration_mode", "name": "Orchestration mode",
                  "category": "_maka/orchestration_mode", "currentValue": "default",
                  "options": named(&[("default", "Default"), ("swarm", "Swarm"), ("graph", "Graph")]) },
            ])
        );
        assert_eq!(
            result["modes"],
            json!({ "currentModeId": "agent", "availableModes": [
                { "id": "agent", "name": "Agent" }, { "id": "plan", "name": "Plan" },
            ] })
        );
        let asked = scene.desk.asked();
        assert_eq!(
            asked
                .iter()
                .filter(|it| !it.starts_with("skill."))
                .collect::<Vec<_>>(),
            ["hello", "session.create", "connection.catalog.query"]
        );
        let create = scene
            .desk
            .to_host
            .iter()
            .find(|(_, it)| it.contains("session.create"));
        let create: Value = serde_json::from_str(&create.unwrap().1).unwrap();
        assert_eq!(
            create["input"],
            json!({ "sessionId": scene.session, "modelTarget": { "kind": "default" },
                    "workspace": { "kind": "host_path", "path": "/srv/maka-work" } })
        );
    });
}

/// F2, R50: every current value is shown, offered or not; levels are the model's.
#[test]
fn given_records_of_a_session_when_shown_then_each_current_value_stands_among_the_values() {
    let permission = "permission_mode=ask of ask|bypass";
    let model = "mock/mock-model|mock/vendor/large|mock/plain|other/mock-model";
    let levels = "default|off|minimal|low|medium|high|xhigh|max";
    let collaboration = "collaboration_mode=agent of agent|plan";
    let orchestration = "orchestration_mode=default of default|swarm|graph";
    let of = |current: &str| format!("model={current} of {model}");
    let thinking = |current: &str, of: &str| format!("thinking_level={current} of {of}");
    let all = |changed: &[(usize, String)]| {
        let mut all = [
            permission.to_owned(),
            of("mock/mock-model"),
            thinking("default", levels),
            collaboration.to_owned(),
            orchestration.to_owned(),
        ];
        for (at, shape) in changed {
            all[*at].clone_from(shape);
        }
        let shown = all.into_iter().filter(|it| !it.is_empty());
        shown.collect::<Vec<_>>()
    };
    let mut rows = vec![
        (
            json!({ "permissionMode": "bypass" }),
            all(&[(0, permission.replace("=ask", "=bypass"))]),
        ),
        // Neither asked for nor taken away.
        (
            json!({ "permissionMode": "explore" }),
            all(&[(
                0,
                "permission_mode=explore of explore|ask|bypass".to_owned(),
            )]),
        ),
        (
            json!({ "collaborationMode": "plan" }),
            all(&[(3, collaboration.replace("=agent", "=plan"))]),
        ),
        (
            json!({ "model": "vendor/large", "thinkingLevel": "high" }),
            all(&[
                (1, of("mock/vendor/large")),
                (2, thinking("high", "default|low|high")),
            ]),
        ),
        // A level that was set for another model.
        (
            json!({ "model": "vendor/large", "thinkingLevel": "max" }),
            all(&[
                (1, of("mock/vendor/large")),
                (2, thinking("max", "max|default|low|high")),
            ]),
        ),
        // R50: without levels there is nothing to set.
        (
            json!({ "model": "plain" }),
            all(&[(1, of("mock/plain")), (2, String::new())]),
        ),
        // A model that cannot be chosen any more.
        (
            json!({ "llmConnectionSlug": "off", "model": "hidden" }),
            all(&[(1, format!("model=off/hidden of off/hidden|{model}"))]),
        ),
    ];
    for level in levels.split('|').skip(1) {
        let row = all(&[(2, thinking(level, levels))]);
        rows.push((json!({ "thinkingLevel": level }), row));
    }
    for mode in ["swarm", "graph"] {
        let shape = orchestration.replace("=default", &format!("={mode}"));
        rows.push((json!({ "orchestrationMode": mode }), all(&[(4, shape)])));
    }
    for (record, wanted) in rows {
        each_way_bare(|scene| {
            let result = scene.begin_with_options(&record);
            assert_eq!(shape(&result["configOptions"]), wanted, "{record}");
        });
    }
}

/// R52, R53: a record that says too little, or a Host that names no models: the session is
/// there, without options, and can be closed.
#[test]
fn given_no_options_that_could_be_shown_when_a_session_is_made_then_it_is_made_without_them() {
    for fate in ["legacy", "short", "models"] {
        each_way_bare(|scene| {
            scene.desk.initialize();
            scene.desk.host.by_hand("session.create");
            scene.desk.host.by_hand("connection.catalog.query");
            let params = json!({ "cwd": "/srv/maka-work", "mcpServers": [] });
            let request = scene.desk.request("session/new", &params);
            scene.settle();
            let asked = scene.asked("session.create");
            scene.session = asked.input["sessionId"].as_str().unwrap().to_owned();
            let more = match fate {
                "legacy" => json!({ "kind": "unsupported_legacy_record" }),
                "short" => json!({ "orchestrationMode": null }),
                _ => json!({}),
            };
            let item = words::configured(&scene.session, 7, &more);
            scene.result(&asked, &item);
            // R53: it is nobody's until it is told.
            let early = scene.set("permission_mode", &json!("bypass"));
            assert!(scene.answer(early).unwrap().contains("unknown_session"));
            let asked = scene.asked("connection.catalog.query");
            if fate == "models" {
                scene.error(&asked, "persistence_failed", "no");
            } else {
                scene.result(&asked, &words::connections());
            }
            let result = scene.desk.answer(request)["result"].clone();
            assert_eq!(result["sessionId"], scene.session, "{fate}");
            assert!(result.get("configOptions").is_none(), "{fate}: {result}");
            assert!(result.get("modes").is_none(), "{fate}: {result}");
            let close = scene.close();
            assert_eq!(scene.answer(close), Some(format!("{close} {{}}")));
        });
    }
}

/// F4, R54: what cannot be set is refused before the Host is asked.
#[test]
fn given_a_setting_that_is_not_offered_when_asked_then_refused_with_the_field_and_no_request() {
    let refused =
        |field: &str, reason: &str| format!(r#"{{"field":"{field}","reason":"{reason}"}}"#);
    let rows = [
        ("nope", json!("ask"), refused("configId", "unsupported")),
        ("", json!(""), refused("configId", "unsupported")),
        (
            "permission_mode",
            json!(true),
            refused("value", "invalid_type"),
        ),
        (
            "permission_mode",
            json!(7),
            refused("value", "invalid_type"),
        ),
        (
            "permission_mode",
            json!(null),
            refused("value", "invalid_type"),
        ),
        (
            "permission_mode",
            json!("explore"),
            refused("value", "unsupported"),
        ),
        (
            "permission_mode",
            json!("Ask"),
            refused("value", "unsupported"),
        ),
        (
            "thinking_level",
            json!("ultra"),
            refused("value", "unsupported"),
        ),
        (
            "collaboration_mode",
            json!("default"),
            refused("value", "unsupported"),
        ),
        (
            "orchestration_mode",
            json!("agent"),
            refused("value", "unsupported"),
        ),
        (
            "model",
            json!("mock-model"),
            refused("value", "unsupported"),
        ),
        (
            "model",
            json!("mock/not-enabled"),
            refused("value", "unsupported"),
        ),
        (
            "model",
            json!("off/hidden"),
            refused("value", "unsupported"),
        ),
    ];
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({}));
        for (id, value, data) in &rows {
            let request = scene.set(id, value);
            assert_eq!(
                scene.editor(),
                [format!("{request} error -32602 {data}")],
                "{id}"
            );
        }
        let request = scene.set_mode("ask");
        let data = refused("modeId", "unsupported");
        assert_eq!(scene.editor(), [format!("{request} error -32602 {data}")]);
        scene.session = "another".to_owned();
        for request in [
            scene.set("permission_mode", &json!("ask")),
            scene.set_mode("plan"),
        ] {
            let line = scene.answer(request).unwrap();
            assert!(line.contains(r#""reason":"unknown_session""#), "{line}");
        }
        assert_eq!(scene.host(), NOTHING);
    });
}

/// R51: a session of the list is nobody's.
#[test]
fn given_a_session_that_was_only_listed_when_an_option_is_set_then_it_is_unknown() {
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({}));
        scene.desk.request("session/list", &json!({}));
        scene.settle();
        let asked = scene.asked("session.catalog.query");
        let other = words::configured("other", 1, &json!({}));
        let page = json!({ "kind": "page", "revision": format!("sha256:{}", "0".repeat(64)),
                           "sessions": [other], "nextCursor": null });
        scene.result(&asked, &page);
        scene.host();
        scene.session = "other".to_owned();
        let request = scene.set("permission_mode", &json!("bypass"));
        let line = scene.answer(request).unwrap();
        assert!(line.contains(r#""reason":"unknown_session""#), "{line}");
        assert_eq!(scene.host(), NOTHING);
    });
}

/// 27.17: a session that the Host made is told, even at the end; nothing more is asked.
#[test]
fn given_a_session_whose_models_are_being_read_when_the_editor_hangs_up_then_it_is_told_and_ends() {
    each_way_bare(|scene| {
        scene.desk.initialize();
        scene.desk.host.by_hand("connection.catalog.query");
        let params = json!({ "cwd": "/srv/maka-work", "mcpServers": [] });
        let request = scene.desk.request("session/new", &params);
        scene.settle();
        scene.asked("connection.catalog.query");
        scene.host();
        scene.hang_up();
        let line = scene.answer(request).unwrap();
        assert!(line.contains(r#""sessionId":"#), "{line}");
        assert!(!line.contains("configOptions"), "{line}");
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.desk.done, Some(0));
    });
}
