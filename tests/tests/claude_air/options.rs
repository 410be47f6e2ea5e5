//! What is agreed on, and how options and commands are marked.

use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use crate::kit::{agreed, air, each_way_with, keys, last, requests};

#[path = "../claude_kit/mod.rs"]
mod claude_kit;
use claude_kit::{greeting, option, settings};

fn welcome(scene: &Scene) -> Value {
    let first = scene.desk.log.iter().find(|line| line.starts_with("< "));
    let line = first.unwrap().strip_prefix("< ").unwrap();
    serde_json::from_str::<Value>(line).unwrap()["result"].clone()
}

/// Section 3: keys `version`, `capabilities` and `goal`, for whoever declares the extensions.
#[test]
fn given_a_declaration_when_initialized_then_air_alone_is_told_what_we_can() {
    each_way_with(
        &agreed(&["diffPatch"], json!({})),
        |_| {},
        |scene| {
            let welcome = welcome(scene);
            let goal = json!({ "version": 1, "controlMethod": "_session/goal", "actions": ["set", "clear"] });
            let names = [
                "sessionFailure",
                "agentFileChangeReport",
                "nativeSubagentSessions",
                "asyncTasks",
                "customInstructions",
                "recommendedValue",
                "diffPatch",
                "planFile",
                "backgroundSubagents",
                "sessionIndex",
                "sessionBatchGet",
                "sessionArchive",
                "sessionRename",
                "sessionListSubscribe",
            ];
            let air = keys(json!({ "capabilities": names, "goal": goal }));
            let steering = json!({ "steering": { "supported": true } });
            assert_eq!(welcome["_meta"], words::with(air, steering));
            let session = &welcome["agentCapabilities"]["sessionCapabilities"];
            assert_eq!(session["subagents"], json!({}));
        },
    );
    let malformed =
        json!({ "_meta": { "jetbrains": { "air": { "version": 0, "capabilities": [] } } } });
    for client in [json!({}), malformed] {
        each_way_with(
            &client,
            |_| {},
            |scene| {
                let welcome = welcome(scene);
                assert_eq!(
                    welcome["_meta"],
                    json!({ "steering": { "supported": true } })
                );
                let session = &welcome["agentCapabilities"]["sessionCapabilities"];
                assert_eq!(session.get("subagents"), None);
            },
        );
    }
}

fn opened(scene: &Scene) -> Value {
    let got = scene.desk.log.iter().filter(|line| line.starts_with("< "));
    let answers = got.map(|line| serde_json::from_str::<Value>(&line[2..]).unwrap());
    let mut made = answers.filter(|it| it["result"]["sessionId"].is_string());
    made.next().unwrap()["result"].clone()
}

fn set(effective: Value) -> impl Fn(&mut Scene) {
    move |scene: &mut Scene| {
        scene.desk.host.greeting = Some(greeting());
        scene.desk.host.settings = Some(settings(effective.clone()));
    }
}

fn ids(option: &Value) -> Vec<&str> {
    let values = option["options"].as_array().unwrap().iter();
    values.map(|it| it["value"].as_str().unwrap()).collect()
}

/// Key `kind`: of the modes, in both places where they stand.
#[test]
fn given_modes_when_told_to_air_then_each_says_what_it_comes_to() {
    let kinds = |list: &Value| -> Vec<String> {
        let all = list.as_array().unwrap().iter();
        all.map(|it| it["_meta"]["jetbrains"]["air"]["kind"].to_string())
            .collect()
    };
    let expected = ["standard", "standard", "plan", "auto_review", "full_access"];
    let expected: Vec<String> = expected.iter().map(|it| format!("\"{it}\"")).collect();
    each_way_with(&agreed(&[], json!({})), set(json!({})), |scene| {
        let opened = opened(scene);
        assert_eq!(kinds(&opened["modes"]["availableModes"]), expected);
        assert_eq!(
            kinds(&option(&opened["configOptions"], "mode")["options"]),
            expected
        );
        // Without agreeing on it, the rows stay.
        let model = option(&opened["configOptions"], "model");
        assert_eq!((ids(&model)[0], model.get("_meta")), ("default", None));
    });
    each_way_with(&json!({}), set(json!({})), |scene| {
        assert!(!scene.log().contains("jetbrains"));
    });
}

/// Key `recommendedValue`: named values in place of the default rows, and the effort that is
/// shown is the one that is set.
#[test]
fn given_default_rows_when_told_to_air_then_they_are_named_and_recommended() {
    let client = agreed(&["recommendedValue"], json!({}));
    each_way_with(&client, set(json!({})), |scene| {
        let opened = opened(scene);
        let model = option(&opened["configOptions"], "model");
        assert_eq!(ids(&model), ["opus", "fable", "sonnet", "haiku"]);
        assert_eq!(model["currentValue"], "opus");
        assert_eq!(model["_meta"], keys(json!({ "recommendedValue": "opus" })));
        let effort = option(&opened["configOptions"], "effort");
        assert_eq!(ids(&effort), ["low", "medium", "high", "xhigh", "max"]);
        assert_eq!(effort["currentValue"], "medium");
        assert_eq!(
            effort["_meta"],
            keys(json!({ "recommendedValue": "medium" }))
        );
        let applied = requests(scene, "apply_flag_settings");
        assert_eq!(applied[0]["settings"], json!({ "effortLevel": "medium" }));
    });
    each_way_with(&client, set(json!({ "effortLevel": "low" })), |scene| {
        let effort = option(&opened(scene)["configOptions"], "effort");
        assert_eq!(effort["currentValue"], "low");
        assert!(requests(scene, "apply_flag_settings").is_empty());
    });
}

/// Recommended values, effort: the current one follows the model, and is set.
#[test]
fn given_a_model_without_the_current_effort_when_chosen_then_its_best_one_is_set() {
    let few = |scene: &mut Scene| {
        set(json!({ "effortLevel": "max" }))(scene);
        let greeting = scene.desk.host.greeting.as_mut().unwrap();
        greeting["models"][3]["supportedEffortLevels"] = json!(["low", "high"]);
    };
    each_way_with(&agreed(&["recommendedValue"], json!({})), few, |scene| {
        let params = json!({ "sessionId": scene.session, "configId": "model", "value": "sonnet" });
        scene.desk.request("session/set_config_option", &params);
        scene.settle();
        let applied = requests(scene, "apply_flag_settings");
        assert_eq!(applied[0]["settings"], json!({ "effortLevel": "low" }));
        let all = scene.desk.take();
        let answer = all
            .iter()
            .rev()
            .find(|it| it.get("result").is_some())
            .unwrap();
        let effort = option(&answer["result"]["configOptions"], "effort");
        assert_eq!(
            (ids(&effort), &effort["currentValue"]),
            (vec!["low", "high"], &json!("low"))
        );
        assert_eq!(effort["_meta"], keys(json!({ "recommendedValue": "low" })));
    });
}

/// Keys `kind` and `skillPath` of commands; the process is asked once, and for AIR alone.
#[test]
fn given_skills_when_the_process_begins_then_air_is_told_which_commands_teach() {
    let named = |scene: &mut Scene| {
        let command = |name: &str| json!({ "name": name, "description": "d", "argumentHint": "" });
        let greeting = scene.desk.host.greeting.as_mut().unwrap();
        greeting["commands"] = json!([
            command("mine"),
            command("own"),
            command("say-it"),
            command("run")
        ]);
        scene.desk.host.by_hand("get_context_usage");
    };
    let begins = |scene: &mut Scene| {
        scene.desk.take();
        scene.says([words::init(&words::NEW), words::init(&words::NEW)]);
    };
    each_way_with(&air(), named, |scene| {
        begins(scene);
        let asked = requests(scene, "get_context_usage");
        let whole = asked.iter().filter(|it| it.get("detail").is_none());
        assert_eq!(whole.count(), 1);
        let skills = json!([
            { "name": "mine", "source": "userSettings", "path": "/srv/skills/mine/SKILL.md" },
            { "name": "own", "source": "built-in" },
            { "name": "say-it", "source": "projectSettings", "path": "/srv/ws/.claude/commands/say-it.md" },
        ]);
        // The first one asks how large the context is.
        scene.replies("get_context_usage", &json!({ "maxTokens": 1 }));
        scene.replies(
            "get_context_usage",
            &json!({ "skills": { "skillFrontmatter": skills } }),
        );
        let told = last(scene, "available_commands_update");
        let meta = |at: usize| told["availableCommands"][at].get("_meta").cloned();
        let path = "/srv/skills/mine/SKILL.md";
        assert_eq!(
            meta(0),
            Some(keys(json!({ "kind": "skill", "skillPath": path })))
        );
        assert_eq!(meta(1), Some(keys(json!({ "kind": "skill" }))));
        assert_eq!((meta(2), meta(3)), (None, None));
    });
    each_way_with(&json!({}), named, |scene| {
        begins(scene);
        assert_eq!(requests(scene, "get_context_usage").len(), 1);
    });
}
