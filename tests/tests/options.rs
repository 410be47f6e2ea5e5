//! Options and modes of a session: what is offered and how it is set (Maka adapter,
//! section 9). What changes elsewhere is in `options_elsewhere.rs`.

use airlock_tests::scripted_host::{Asked, Scene, each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// A session with options, as it was made; what was told so far counts as seen.
fn begin(scene: &mut Scene) -> Value {
    begin_with(scene, &json!({}))
}

fn begin_with(scene: &mut Scene, more: &Value) -> Value {
    scene.desk.initialize();
    scene.desk.host.by_hand("session.create");
    scene.desk.host.by_hand("connection.catalog.query");
    let request = scene.desk.request(
        "session/new",
        &json!({ "cwd": "/srv/maka-work", "mcpServers": [] }),
    );
    scene.settle();
    let asked = scene.asked("session.create");
    scene.session = asked.input["sessionId"].as_str().unwrap().to_owned();
    let item = words::configured(&scene.session, 7, more);
    scene.result(&asked, &item);
    models(scene);
    scene.editor();
    scene.host();
    scene.desk.answer(request)["result"].clone()
}

/// The Host names its models.
fn models(scene: &mut Scene) {
    let asked = scene.asked("connection.catalog.query");
    scene.result(&asked, &words::connections());
}

/// The editor sets an option; the id of its request.
fn set(scene: &mut Scene, id: &str, value: &Value) -> u64 {
    let params = json!({ "sessionId": scene.session, "configId": id, "value": value });
    let request = scene.desk.request("session/set_config_option", &params);
    scene.settle();
    request
}

fn set_mode(scene: &mut Scene, mode: &str) -> u64 {
    let params = json!({ "sessionId": scene.session, "modeId": mode });
    let request = scene.desk.request("session/set_mode", &params);
    scene.settle();
    request
}

/// The Host tells the session as it is now.
fn current(scene: &mut Scene, revision: u64, more: &Value) {
    let asked = scene.asked("session.catalog.query");
    assert_eq!(
        asked.input,
        json!({ "kind": "get", "sessionId": scene.session })
    );
    let item = words::configured(&scene.session, revision, more);
    scene.result(&asked, &json!({ "kind": "session", "session": item }));
}

/// The change that the Host is asked for.
fn change(scene: &mut Scene) -> Asked {
    scene.asked("session.configuration.update")
}

/// The Host makes the change.
fn commit(scene: &mut Scene, revision: u64, more: &Value) {
    let asked = change(scene);
    let item = words::configured(&scene.session, revision, more);
    scene.result(&asked, &json!({ "kind": "committed", "session": item }));
    models(scene);
}

fn conflict(scene: &mut Scene) {
    let asked = change(scene);
    let expected = asked.input["expectedRevision"].clone();
    let conflict =
        json!({ "kind": "revision_conflict", "expectedRevision": expected, "actualRevision": 99 });
    scene.result(&asked, &conflict);
}

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
        let result = begin(scene);
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
            let result = begin_with(scene, &record);
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
            let early = set(scene, "permission_mode", &json!("bypass"));
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
            begin(scene);
            let request = set(scene, id, &json!(value));
            current(scene, 41, &now);
            let asked = change(scene);
            assert_eq!(
                asked.input,
                json!({ "sessionId": scene.session, "expectedRevision": 41, "configuration": wanted }),
                "{id}"
            );
            let stored = json!({ "permissionMode": "bypass", "orchestrationMode": "swarm" });
            let item = words::configured(&scene.session, 42, &stored);
            scene.result(&asked, &json!({ "kind": "committed", "session": item }));
            assert_eq!(scene.editor(), NOTHING);
            models(scene);
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
        begin(scene);
        for (id, value, data) in &rows {
            let request = set(scene, id, value);
            assert_eq!(
                scene.editor(),
                [format!("{request} error -32602 {data}")],
                "{id}"
            );
        }
        let request = set_mode(scene, "ask");
        let data = refused("modeId", "unsupported");
        assert_eq!(scene.editor(), [format!("{request} error -32602 {data}")]);
        scene.session = "another".to_owned();
        for request in [
            set(scene, "permission_mode", &json!("ask")),
            set_mode(scene, "plan"),
        ] {
            let line = scene.answer(request).unwrap();
            assert!(line.contains(r#""reason":"unknown_session""#), "{line}");
        }
        assert_eq!(scene.host(), NOTHING);
    });
}

/// A level that the model does not have is the Host's business.
#[test]
fn given_a_level_that_the_model_lacks_when_set_then_the_host_decides() {
    each_way_bare(|scene| {
        begin_with(scene, &json!({ "model": "plain" }));
        let request = set(scene, "thinking_level", &json!("high"));
        current(scene, 7, &json!({ "model": "plain" }));
        let asked = change(scene);
        scene.error(&asked, "invalid_request", "no such level");
        let data = r#"{"source":"runtime_host","operation":"session.configuration.update","code":"invalid_request"}"#;
        assert_eq!(scene.editor(), [format!("{request} error -32602 {data}")]);
    });
}

/// The mode and the option of category `mode` are one: whoever sets either, the editor hears
/// of both (V1-14).
#[test]
fn given_the_mode_or_its_option_when_set_then_the_editor_hears_of_both_before_the_answer() {
    for by_mode in [true, false] {
        each_way_bare(|scene| {
            begin(scene);
            let request = if by_mode {
                set_mode(scene, "plan")
            } else {
                set(scene, "collaboration_mode", &json!("plan"))
            };
            current(scene, 7, &json!({}));
            let asked = change(scene);
            assert_eq!(asked.input["configuration"]["collaborationMode"], "plan");
            scene.desk.host.put_back(asked);
            commit(scene, 8, &json!({ "collaborationMode": "plan" }));
            let options = "options ask mock/mock-model default plan default";
            let answer = if by_mode {
                format!("{request} {{}}")
            } else {
                format!("{request} {options}")
            };
            assert_eq!(scene.editor(), [options, "mode plan", &answer]);
            // What it knows already is not told again.
            let request = set_mode(scene, "plan");
            current(scene, 8, &json!({ "collaborationMode": "plan" }));
            commit(scene, 9, &json!({ "collaborationMode": "plan" }));
            assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        });
    }
}

/// R56, R58: a conflict reads again, three end it.
#[test]
fn given_conflicts_when_an_option_is_set_then_two_are_gone_over_and_the_third_is_told() {
    each_way_bare(|scene| {
        begin(scene);
        let request = set(scene, "permission_mode", &json!("bypass"));
        current(scene, 7, &json!({}));
        conflict(scene);
        current(scene, 8, &json!({ "thinkingLevel": "high" }));
        let asked = change(scene);
        assert_eq!(asked.input["expectedRevision"], 8);
        assert_eq!(
            asked.input["configuration"],
            configuration(
                ["mock", "mock-model"],
                ["high", "bypass", "agent", "default"]
            )
        );
        scene.desk.host.put_back(asked);
        commit(
            scene,
            9,
            &json!({ "permissionMode": "bypass", "thinkingLevel": "high" }),
        );
        let options = "options bypass mock/mock-model high agent default";
        assert_eq!(
            scene.editor(),
            [options.to_owned(), format!("{request} {options}")]
        );

        scene.host();
        let request = set(scene, "permission_mode", &json!("ask"));
        for revision in [9, 10, 11] {
            current(scene, revision, &json!({}));
            conflict(scene);
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
        begin(scene);
        let first = set(scene, "permission_mode", &json!("bypass"));
        let second = set(scene, "thinking_level", &json!("high"));
        assert_eq!(scene.count("session.catalog.query"), 1, "the second waits");
        current(scene, 7, &json!({}));
        commit(scene, 8, &json!({ "permissionMode": "bypass" }));
        let options = "options bypass mock/mock-model default agent default";
        assert_eq!(
            scene.editor(),
            [options.to_owned(), format!("{first} {options}")]
        );
        current(scene, 8, &json!({ "permissionMode": "bypass" }));
        conflict(scene);
        let now = json!({ "permissionMode": "bypass", "orchestrationMode": "graph" });
        current(scene, 9, &now);
        let asked = change(scene);
        assert_eq!(
            asked.input["configuration"],
            configuration(["mock", "mock-model"], ["high", "bypass", "agent", "graph"])
        );
        scene.desk.host.put_back(asked);
        let now = json!({ "permissionMode": "bypass", "thinkingLevel": "high", "orchestrationMode": "graph" });
        commit(scene, 10, &now);
        let options = "options bypass mock/mock-model high agent graph";
        assert_eq!(
            scene.editor(),
            [options.to_owned(), format!("{second} {options}")]
        );
        assert_eq!(scene.count("session.configuration.update"), 3);
    });
}

/// R59: the session cannot be read.
#[test]
fn given_a_session_that_cannot_be_read_when_an_option_is_set_then_told_and_nothing_is_changed() {
    let data = |code: &str, more: &str| {
        format!(
            r#"{{"source":"runtime_host","operation":"session.configuration.update","code":"{code}"{more}}}"#
        )
    };
    let invalid = data("catalog_read_failure", r#","reason":"invalid_projection""#);
    let rows = [
        (
            json!({ "kind": "session", "session": null }),
            -32602,
            data("not_found", ""),
        ),
        (
            json!({ "kind": "page", "sessions": [] }),
            -32603,
            invalid.clone(),
        ),
        (json!("garbage"), -32603, invalid),
        (
            json!({ "kind": "session", "session": { "id": "s", "kind": "unsupported_legacy_record" } }),
            -32603,
            data("unsupported_session_projection", ""),
        ),
    ];
    for (answer, code, data) in rows {
        each_way_bare(|scene| {
            begin(scene);
            let request = set(scene, "permission_mode", &json!("bypass"));
            let asked = scene.asked("session.catalog.query");
            scene.result(&asked, &answer);
            assert_eq!(scene.editor(), [format!("{request} error {code} {data}")]);
            assert_eq!(scene.count("session.configuration.update"), 0);
        });
    }
}

/// R60: typed refusals and a lost answer are told once, and nothing is sent again; the next
/// setting works.
#[test]
fn given_a_change_that_the_host_does_not_make_when_told_then_the_editor_is_and_nothing_is_resent() {
    let rows = [
        ("invalid_request", -32602),
        ("not_found", -32602),
        ("session_busy", -32603),
        ("operation_conflict", -32603),
        ("commit_outcome_unknown", -32603),
        ("lost", -32603),
        ("silence", -32603),
        ("garbage", -32603),
    ];
    for (fate, code) in rows {
        each_way_bare(|scene| {
            begin(scene);
            let request = set(scene, "permission_mode", &json!("bypass"));
            current(scene, 7, &json!({}));
            scene.host();
            let told = match fate {
                "lost" => {
                    scene.lose();
                    r#""code":"request_interrupted","reason":"connection_lost","dispatch":"dispatched""#
                }
                "silence" => {
                    scene.wait(29_999);
                    assert_eq!(scene.editor(), NOTHING);
                    scene.wait(1);
                    change(scene);
                    r#""code":"request_interrupted","reason":"timeout","dispatch":"dispatched""#
                }
                "garbage" => {
                    let asked = change(scene);
                    scene.result(&asked, &json!({ "kind": "committed" }));
                    r#""code":"internal_failure""#
                }
                _ => {
                    let asked = change(scene);
                    scene.error(&asked, fate, "no");
                    &format!(r#""code":"{fate}""#)
                }
            };
            let data = format!(
                r#"{{"source":"runtime_host","operation":"session.configuration.update",{told}}}"#
            );
            assert_eq!(
                scene.editor(),
                [format!("{request} error {code} {data}")],
                "{fate}"
            );
            scene.wait(60_000);
            assert_eq!(scene.count("session.configuration.update"), 1, "{fate}");
            let request = set(scene, "permission_mode", &json!("bypass"));
            scene.wait(100);
            current(scene, 7, &json!({}));
            commit(scene, 8, &json!({ "permissionMode": "bypass" }));
            assert!(scene.answer(request).unwrap().contains("options bypass"));
        });
    }
}

/// Models that cannot be read do not undo a change: those known before are offered.
#[test]
fn given_models_that_cannot_be_read_when_an_option_was_set_then_the_change_is_told() {
    for fate in ["error", "silence", "lost"] {
        each_way_bare(|scene| {
            begin(scene);
            let request = set(scene, "model", &json!("other/mock-model"));
            current(scene, 7, &json!({}));
            let asked = change(scene);
            let item =
                words::configured(&scene.session, 8, &json!({ "llmConnectionSlug": "other" }));
            scene.result(&asked, &json!({ "kind": "committed", "session": item }));
            let asked = scene.asked("connection.catalog.query");
            match fate {
                "error" => scene.error(&asked, "internal_failure", "no"),
                "silence" => scene.wait(2_000),
                _ => scene.lose(),
            }
            let options = "options ask other/mock-model default agent default";
            assert_eq!(
                scene.editor(),
                [options.to_owned(), format!("{request} {options}")]
            );
        });
    }
}

/// R61, R62: at the end nothing more is read or changed, and everybody is answered.
#[test]
fn given_options_being_set_when_the_editor_hangs_up_then_nothing_more_is_sent() {
    let closed = r#"{"source":"runtime_host","operation":"session.configuration.update","code":"registry_closed"}"#;
    for at_commit in [false, true] {
        each_way_bare(|scene| {
            begin(scene);
            let turn = scene.running("hello");
            let first = set(scene, "permission_mode", &json!("bypass"));
            let second = set(scene, "permission_mode", &json!("ask"));
            if at_commit {
                current(scene, 7, &json!({}));
            }
            scene.editor();
            scene.host();
            scene.hang_up();
            assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
            if at_commit {
                conflict(scene);
            } else {
                current(scene, 7, &json!({}));
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
        begin(scene);
        let request = set(scene, "permission_mode", &json!("bypass"));
        current(scene, 7, &json!({}));
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
            begin(scene);
            let first = set(scene, "permission_mode", &json!("bypass"));
            let second = set_mode(scene, "plan");
            if sent {
                current(scene, 7, &json!({}));
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
                commit(scene, 8, &json!({ "permissionMode": "bypass" }));
                let options = "options bypass mock/mock-model default agent default";
                assert_eq!(
                    scene.editor(),
                    [format!("{first} {options}"), second_unknown]
                );
            } else {
                current(scene, 7, &json!({}));
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
