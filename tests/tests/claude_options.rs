//! What a session with Claude Code can be set to, and is (Claude adapter, section 5):
//! which options there are, how they are set, what changes without being asked for.

use airlock_tests::scripted_cli::{Scene, every_way, words};
use serde_json::{Value, json};

mod claude_kit;
use claude_kit::{greeting, option, values};

fn set(scene: &mut Scene, id: &str, value: Value) -> Value {
    let params = json!({ "sessionId": scene.session, "configId": id, "value": value });
    let id = scene.desk.request("session/set_config_option", &params);
    scene.settle();
    scene.desk.answer(id)
}

/// What was told of the options and the mode, in order.
fn news(scene: &mut Scene) -> Vec<String> {
    let all = scene.desk.take();
    let told = all.iter().filter(|it| it["method"] == "session/update");
    told.filter_map(|it| {
        let update = &it["params"]["update"];
        match update["sessionUpdate"].as_str().unwrap() {
            "current_mode_update" => Some(format!(
                "mode {}",
                update["currentModeId"].as_str().unwrap()
            )),
            "config_option_update" => Some(format!("options {}", values(&update["configOptions"]))),
            _ => None,
        }
    })
    .collect()
}

fn asked(scene: &Scene, subtype: &str) -> Vec<Value> {
    let lines = scene.desk.to_host.iter();
    let all = lines.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|it| it["request"]["subtype"] == subtype)
        .map(|it| it["request"].clone())
        .collect()
}

/// Section 5, against the recording `modes-config`.
#[test]
fn given_a_greeting_when_a_session_is_made_then_all_options_are_told_as_recorded() {
    each_way_with(greeting(), json!({}), |_, new| {
        insta::assert_json_snapshot!("options_of_a_new_session", new["configOptions"]);
        assert_eq!(new["modes"]["currentModeId"], "auto");
        let modes: Vec<&str> = new["modes"]["availableModes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap())
            .collect();
        assert_eq!(
            modes,
            [
                "default",
                "acceptEdits",
                "plan",
                "auto",
                "bypassPermissions"
            ]
        );
    });
}

fn each_way_with(greets: Value, effective: Value, play: impl Fn(&mut Scene, &Value)) {
    every_way(|way| {
        let mut scene = Scene::in_way(way);
        let settings = claude_kit::settings(effective.clone());
        let new = scene.opened(greets.clone(), settings);
        scene.desk.take();
        play(&mut scene, &new);
        scene.desk.record()
    });
}

/// The client shows switches: fast and ultracode are booleans, and take nothing else.
#[test]
fn given_a_client_with_switches_when_a_session_is_made_then_switches_are_boolean() {
    let mut scene = Scene::plain();
    scene.desk.capabilities = json!({ "session": { "configOptions": { "boolean": {} } } });
    let new = scene.opened(greeting(), claude_kit::settings(json!({})));
    let ultracode = option(&new["configOptions"], "ultracode");
    assert_eq!(
        ultracode,
        json!({ "type": "boolean", "id": "ultracode", "name": "Ultracode",
                "description": "Dynamic workflows on every task, at any effort level",
                "category": "model_config", "currentValue": false })
    );
    let answer = set(&mut scene, "ultracode", json!("on"));
    assert_eq!(
        answer["error"],
        json!({ "code": -32602,
                "message": "Invalid params: Config option ultracode takes a boolean value, but received: \"on\"",
                "data": { "configId": "ultracode", "value": "on" } })
    );
    let answer = set(&mut scene, "ultracode", json!(true));
    let options = &answer["result"]["configOptions"];
    assert_eq!(option(options, "ultracode")["currentValue"], true);
    assert_eq!(
        asked(&scene, "apply_flag_settings"),
        [json!({ "subtype": "apply_flag_settings", "settings": { "ultracode": true } })]
    );
}

/// Section 5: what is asked of the process for each option, and what the answer says; the
/// answer's own news are not told again.
#[test]
fn given_each_option_when_set_then_the_process_is_asked_once_and_the_answer_lists_all() {
    each_way_with(greeting(), json!({}), |scene, _| {
        let rows = [
            (
                "mode",
                "acceptEdits",
                json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" }),
                "mode=acceptEdits model=default effort=default fast=off ultracode=off",
                vec!["mode acceptEdits"],
            ),
            (
                "effort",
                "low",
                json!({ "subtype": "apply_flag_settings", "settings": { "effortLevel": "low" } }),
                "mode=acceptEdits model=default effort=low fast=off ultracode=off",
                vec![],
            ),
            (
                "effort",
                "default",
                json!({ "subtype": "apply_flag_settings", "settings": { "effortLevel": null } }),
                "mode=acceptEdits model=default effort=default fast=off ultracode=off",
                vec![],
            ),
            (
                "fast",
                "on",
                json!({ "subtype": "apply_flag_settings", "settings": { "fastMode": true } }),
                "mode=acceptEdits model=default effort=default fast=on ultracode=off",
                vec![],
            ),
            (
                "ultracode",
                "on",
                json!({ "subtype": "apply_flag_settings", "settings": { "ultracode": true } }),
                "mode=acceptEdits model=default effort=default fast=on ultracode=on",
                vec![],
            ),
            (
                "model",
                "sonnet",
                json!({ "subtype": "set_model", "model": "sonnet" }),
                "mode=acceptEdits model=sonnet effort=default ultracode=on",
                vec![],
            ),
        ];
        for (id, value, request, after, told) in rows {
            let subtype = request["subtype"].as_str().unwrap();
            let before = asked(scene, subtype).len();
            let params = json!({ "sessionId": scene.session, "configId": id, "value": value });
            let number = scene.desk.request("session/set_config_option", &params);
            scene.settle();
            let all = asked(scene, subtype);
            assert_eq!(all[before..], [request], "{id}");
            let taken = scene.desk.take();
            let answer = taken
                .iter()
                .find(|it| it["id"] == number && it.get("method").is_none());
            assert_eq!(
                values(&answer.unwrap()["result"]["configOptions"]),
                after,
                "{id}"
            );
            let modes: Vec<String> = taken
                .iter()
                .filter(|it| it["params"]["update"]["sessionUpdate"].is_string())
                .map(|it| {
                    let update = &it["params"]["update"];
                    assert_ne!(update["sessionUpdate"], "config_option_update", "{id}");
                    format!("mode {}", update["currentModeId"].as_str().unwrap())
                })
                .collect();
            assert_eq!(modes, told, "{id}");
        }
    });
}

/// Section 2: `session/set_mode` is answered with nothing; the options are told.
#[test]
fn given_a_mode_when_set_as_mode_then_the_options_are_told_before_the_empty_answer() {
    each_way_with(greeting(), json!({}), |scene, _| {
        let params = json!({ "sessionId": scene.session, "modeId": "plan" });
        let id = scene.desk.request("session/set_mode", &params);
        scene.settle();
        let said = scene.desk.take();
        assert_eq!(said.len(), 2, "{said:?}");
        let update = &said[0]["params"]["update"];
        assert_eq!(update["sessionUpdate"], "config_option_update");
        assert_eq!(
            values(&update["configOptions"]),
            "mode=plan model=default effort=default fast=off ultracode=off"
        );
        assert_eq!(said[1], json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
        // The process says so too; that is no news.
        scene.says([words::system(
            "status",
            json!({ "status": null, "permissionMode": "plan" }),
        )]);
        assert_eq!(news(scene), Vec::<String>::new());
    });
}

/// Section 5: errors.
#[test]
fn given_what_is_not_offered_when_set_then_refused_and_the_process_is_not_asked() {
    each_way_with(greeting(), json!({}), |scene, _| {
        let before = scene.desk.to_host.len();
        let rows = [
            ("nosuch", json!("x"), "Unknown config option: nosuch"),
            (
                "mode",
                json!("nosuch"),
                "Invalid value for config option mode: nosuch",
            ),
            (
                "mode",
                json!(true),
                "Invalid value for config option mode: true",
            ),
            (
                "model",
                json!("gpt"),
                "Invalid value for config option model: gpt",
            ),
            (
                "effort",
                json!("most"),
                "Invalid value for config option effort: most",
            ),
            (
                "fast",
                json!("maybe"),
                "Invalid value for config option fast: maybe",
            ),
            (
                "fast",
                json!(true),
                "Invalid value for config option fast: true",
            ),
            ("agent", json!("x"), "Unknown config option: agent"),
        ];
        for (id, value, why) in rows {
            let answer = set(scene, id, value);
            let error = json!({ "code": -32602, "message": format!("Invalid params: {why}") });
            assert_eq!(answer["error"], error);
        }
        assert_eq!(scene.desk.to_host.len(), before);
    });
}

/// A model is found by its alias, its own id, or its name.
#[test]
fn given_other_names_of_a_model_when_set_then_the_row_is_found() {
    for name in [
        "sonnet",
        "SONNET",
        "claude-sonnet-5-5",
        "Sonnet 5.5",
        "Sonnet",
    ] {
        let mut scene = Scene::plain();
        scene.opened(greeting(), claude_kit::settings(json!({})));
        let answer = set(&mut scene, "model", json!(name));
        let options = &answer["result"]["configOptions"];
        assert_eq!(option(options, "model")["currentValue"], "sonnet", "{name}");
        assert_eq!(asked(&scene, "set_model")[0]["model"], "sonnet", "{name}");
    }
}

/// Section 5: another model that cannot decide takes the session out of `auto`.
#[test]
fn given_auto_when_a_model_without_it_is_set_then_edits_are_accepted_and_it_is_said() {
    let mut greets = greeting();
    greets["models"][3]["supportsAutoMode"] = json!(false);
    greets["models"][3]["supportedEffortLevels"] = json!(["low", "high"]);
    each_way_with(greets, json!({ "effortLevel": "medium" }), |scene, _| {
        let answer = set(scene, "model", json!("sonnet"));
        assert_eq!(
            values(&answer["result"]["configOptions"]),
            "mode=acceptEdits model=sonnet effort=default"
        );
        assert_eq!(
            asked(scene, "set_permission_mode")[0]["mode"],
            "acceptEdits"
        );
        let told = scene.editor();
        assert_eq!(told[0], "current_mode_update");
        assert!(
            told[1].contains("**Auto mode unavailable:** the selected model"),
            "{told:?}"
        );
        // A mode that the model cannot have is another one; it is said once.
        let answer = set(scene, "mode", json!("auto"));
        let options = &answer["result"]["configOptions"];
        assert_eq!(option(options, "mode")["currentValue"], "acceptEdits");
        assert!(!scene.editor().join("\n").contains("Auto mode"));
    });
}

/// Section 5: changes that the client did not ask for.
#[test]
fn given_changes_of_the_process_when_they_come_then_mode_and_options_are_told_once() {
    each_way_with(greeting(), json!({}), |scene, _| {
        scene.says([words::system(
            "status",
            json!({ "status": null, "permissionMode": "plan" }),
        )]);
        let rest = "model=default effort=default fast=off ultracode=off";
        assert_eq!(
            news(scene),
            ["mode plan".to_owned(), format!("options mode=plan {rest}")]
        );
        scene.says([claude_kit::switched(
            "claude-sonnet-5-5",
            "sonnet",
            "hook-1",
        )]);
        assert_eq!(
            news(scene),
            ["options mode=plan model=sonnet effort=default ultracode=off"]
        );
        scene.says([claude_kit::switched(
            "claude-new-1",
            "claude-new-1",
            "hook-2",
        )]);
        assert_eq!(news(scene), ["options mode=plan model=claude-new-1"]);
        scene.says([claude_kit::switched(
            "claude-new-1",
            "claude-new-1",
            "hook-3",
        )]);
        assert_eq!(news(scene), Vec::<String>::new());
        let answers = scene
            .desk
            .host
            .answers
            .iter()
            .filter(|it| it["response"]["continue"] == true);
        assert_eq!(answers.count(), 3);
    });
}

/// Fast mode is what the process says.
#[test]
fn given_another_state_of_fast_mode_when_told_then_the_options_follow() {
    let mut scene = Scene::plain();
    scene.opened(greeting(), claude_kit::settings(json!({})));
    scene.desk.take();
    let fast = words::with(
        words::init(&words::NEW),
        json!({ "fast_mode_state": "cooldown" }),
    );
    scene.says([fast]);
    assert_eq!(
        news(&mut scene),
        ["options mode=auto model=default effort=default fast=on ultracode=off"]
    );
    let result = words::with(
        words::result(words::by_itself()),
        json!({ "fast_mode_state": "off" }),
    );
    scene.says([result]);
    assert_eq!(
        news(&mut scene),
        ["options mode=auto model=default effort=default fast=off ultracode=off"]
    );
}

/// Section 5: requests of one session run one at a time.
#[test]
fn given_two_settings_at_once_when_set_then_the_second_waits_for_the_first() {
    let mut scene = Scene::plain();
    scene.opened(greeting(), claude_kit::settings(json!({})));
    scene.desk.host.by_hand("apply_flag_settings");
    let params =
        |value| json!({ "sessionId": scene.session, "configId": "effort", "value": value });
    let (low, high) = (params("low"), params("high"));
    let first = scene.desk.request("session/set_config_option", &low);
    let second = scene.desk.request("session/set_config_option", &high);
    scene.settle();
    assert_eq!(asked(&scene, "apply_flag_settings").len(), 1);
    scene.replies("apply_flag_settings", &json!({}));
    assert_eq!(scene.answer(first).as_deref(), Some("done"));
    assert_eq!(scene.answer(second), None);
    assert_eq!(
        asked(&scene, "apply_flag_settings")[1]["settings"]["effortLevel"],
        "high"
    );
    scene.replies("apply_flag_settings", &json!({}));
    assert_eq!(scene.answer(second).as_deref(), Some("done"));
}

/// A setting has an answer whatever the process does.
#[test]
fn given_a_setting_when_the_process_refuses_is_silent_or_dies_then_it_is_answered_once() {
    for fate in ["refuses", "silent", "dies", "closes"] {
        let mut scene = Scene::plain();
        scene.opened(greeting(), claude_kit::settings(json!({})));
        scene.desk.host.by_hand("apply_flag_settings");
        let params = json!({ "sessionId": scene.session, "configId": "effort", "value": "low" });
        let id = scene.desk.request("session/set_config_option", &params);
        let behind = scene.desk.request("session/set_config_option", &params);
        scene.settle();
        match fate {
            "refuses" => {
                let request = scene.desk.host.take("apply_flag_settings").unwrap();
                scene.says([claude_kit::refused(&request, "no such level")]);
            }
            "silent" => {
                scene.desk.host.take("apply_flag_settings");
                scene.wait(airlock_engine::limits::CLAUDE_SETTING_MS);
            }
            "dies" => scene.dies(1),
            _ => {
                scene.close();
            }
        }
        let answer = scene
            .answer(id)
            .unwrap_or_else(|| panic!("{fate}: no answer"));
        assert!(answer.starts_with("error -32603"), "{fate}: {answer}");
        if matches!(fate, "dies" | "closes") {
            assert!(
                scene.answer(behind).unwrap().starts_with("error -32603"),
                "{fate}"
            );
        } else {
            // The next one has its turn.
            scene.replies("apply_flag_settings", &json!({}));
            assert_eq!(scene.answer(behind).as_deref(), Some("done"), "{fate}");
        }
    }
}

/// An older program that knows no settings still makes a session.
#[test]
fn given_no_models_and_no_settings_when_a_session_is_made_then_there_is_the_mode_alone() {
    let mut scene = Scene::plain();
    scene.desk.host.settings = Some(json!({}));
    let new = scene.opened(
        json!({ "commands": 7, "models": "x" }),
        json!({ "effective": 3 }),
    );
    assert_eq!(values(&new["configOptions"]), "mode=auto");
}

/// Settings `availableModels`, and the agent option for agents that somebody added.
#[test]
fn given_fewer_models_and_an_own_agent_when_a_session_is_made_then_they_are_offered() {
    let mut greets = greeting();
    let agent = json!({ "name": "reviewer", "description": "Reviews" });
    greets["agents"].as_array_mut().unwrap().push(agent);
    each_way_with(
        greets,
        json!({ "availableModels": ["sonnet", "claude-own-1"] }),
        |scene, new| {
            let models = option(&new["configOptions"], "model");
            let ids: Vec<&str> = models["options"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["value"].as_str().unwrap())
                .collect();
            assert_eq!(ids, ["default", "sonnet", "claude-own-1"]);
            let agents = option(&new["configOptions"], "agent");
            assert_eq!(agents["options"][1]["value"], "reviewer");
            assert_eq!(agents["options"].as_array().unwrap().len(), 2);
            set(scene, "agent", json!("reviewer"));
            set(scene, "agent", json!("default"));
            let flags: Vec<Value> = asked(scene, "apply_flag_settings")
                .into_iter()
                .map(|it| it["settings"]["agent"].clone())
                .collect();
            assert_eq!(flags, [json!("reviewer"), json!(null)]);
        },
    );
}
