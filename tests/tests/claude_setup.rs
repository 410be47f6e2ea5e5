//! What an editor is told of Claude Code and of a new session (Claude adapter, sections 3, 4,
//! 14): capabilities, the first mode, what a prompt may begin with.

use airlock_tests::Desk;
use airlock_tests::scripted_cli::{Scene, ScriptedCli, config, each_way, words};
use serde_json::{Value, json};

mod claude_kit;
use claude_kit::{greeting, option};

fn asked(scene: &Scene, subtype: &str) -> Vec<Value> {
    let lines = scene.desk.to_host.iter();
    let all = lines.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|it| it["request"]["subtype"] == subtype)
        .map(|it| it["request"].clone())
        .collect()
}

/// Sections 4 and 5: the first mode, by settings, model and environment.
#[test]
fn given_settings_when_a_session_is_made_then_the_first_mode_is_theirs_if_it_can_be() {
    let project = |mode: &str| {
        json!([{ "source": "userSettings", "settings": { "permissions": { "defaultMode": "plan" } } },
               { "source": "projectSettings", "settings": { "permissions": { "defaultMode": mode } } }])
    };
    let chosen = |mode: &str| json!({ "permissions": { "defaultMode": mode } });
    // Effective settings, their sources, the model decides, root; the mode, and whether a
    // warning comes with the first prompt.
    let rows = [
        (json!({}), json!([]), true, false, "auto", false),
        (json!({}), json!([]), false, false, "default", false),
        (chosen("manual"), json!([]), true, false, "default", false),
        (
            chosen("AcceptEdits"),
            json!([]),
            true,
            false,
            "acceptEdits",
            false,
        ),
        (
            chosen("bypass"),
            json!([]),
            true,
            false,
            "bypassPermissions",
            false,
        ),
        (chosen("bypass"), json!([]), true, true, "auto", false),
        (chosen("dontAsk"), json!([]), true, false, "dontAsk", false),
        (chosen("nonsense"), json!([]), true, false, "auto", false),
        (chosen("auto"), json!([]), false, false, "acceptEdits", true),
        (
            chosen("bypassPermissions"),
            project("bypassPermissions"),
            true,
            false,
            "plan",
            false,
        ),
        (
            chosen("acceptEdits"),
            project("acceptEdits"),
            true,
            false,
            "acceptEdits",
            false,
        ),
        (
            json!({ "permissions": { "disableAutoMode": "disable" } }),
            json!([]),
            true,
            false,
            "default",
            false,
        ),
        (
            json!({ "permissions": { "defaultMode": "bypass", "disableBypassPermissionsMode": "disable" } }),
            json!([]),
            true,
            false,
            "auto",
            false,
        ),
    ];
    for (effective, sources, able, root, mode, warned) in rows {
        let mut config = config();
        if root {
            config["host"]["environment"] = json!({ "AIRLOCK_IS_ROOT": "set" });
        }
        let mut scene = Scene::plain();
        scene.desk = Desk::with_config(ScriptedCli::default(), &config);
        let mut greets = greeting();
        for model in greets["models"].as_array_mut().unwrap() {
            model["supportsAutoMode"] = json!(able);
        }
        let mut settings = claude_kit::settings(effective.clone());
        settings["sources"] = sources.clone();
        let new = scene.opened(greets, settings);
        let why = format!("{effective} {sources} {able} {root}");
        assert_eq!(new["modes"]["currentModeId"], mode, "{why}");
        let changes = asked(&scene, "set_permission_mode");
        let wanted: Vec<&str> = Some(mode).filter(|it| *it != "auto").into_iter().collect();
        let asked: Vec<&str> = changes
            .iter()
            .map(|it| it["mode"].as_str().unwrap())
            .collect();
        assert_eq!(asked, wanted, "{why}");
        let offered = option(&new["configOptions"], "mode")["options"].to_string();
        assert_eq!(
            offered.contains("bypassPermissions"),
            !root && !why.contains("disableBypass"),
            "{why}"
        );
        assert!(scene.desk.host.started[0].contains(&"--permission-mode=auto".to_owned()));
        scene.prompt("go");
        let told = scene.editor().join("\n");
        assert_eq!(
            told.contains("Auto mode unavailable"),
            warned,
            "{why}: {told}"
        );
    }
}

fn commands(scene: &mut Scene) -> Vec<Vec<String>> {
    let all = scene.desk.take();
    let told = all.iter().map(|it| &it["params"]["update"]);
    told.filter(|it| it["sessionUpdate"] == "available_commands_update")
        .map(|it| {
            let commands = it["availableCommands"].as_array().unwrap().iter();
            commands
                .map(|it| {
                    let hint = it["input"]["hint"].as_str().unwrap_or("-");
                    format!("{} {hint}", it["name"].as_str().unwrap())
                })
                .collect()
        })
        .collect()
}

/// Section 14.
#[test]
fn given_commands_when_told_then_hidden_ones_are_left_out_and_servers_come_first_in_the_name() {
    let mut greets = greeting();
    let command =
        |name: &str, hint: &str| json!({ "name": name, "description": name, "argumentHint": hint });
    greets["commands"] = json!([
        command("say-it", "who"),
        command("clear", "[name]"),
        command("mcp", "x"),
        command("doctor", ""),
        command("add (MCP)", ""),
        command("two words", ""),
        command("say-it", "again"),
        command("login", ""),
        7
    ]);
    let mut scene = Scene::plain();
    scene.desk.host.greeting = Some(greets);
    scene.desk.host.settings = Some(claude_kit::settings(json!({})));
    scene.desk.initialize();
    let new = json!({ "cwd": "/srv/maka-work", "mcpServers": [] });
    scene.desk.request("session/new", &new);
    scene.settle();
    let servers = "mcp [reconnect|enable|disable [<server>|all]]";
    assert_eq!(
        commands(&mut scene),
        [["say-it who", "doctor -", "mcp:add -", servers]]
    );
    let init = |names: Value| {
        words::with(
            words::init(&words::NEW),
            json!({ "terminal_slash_commands": names }),
        )
    };
    scene.says([init(json!(["doctor"]))]);
    assert_eq!(commands(&mut scene), [["say-it who", "mcp:add -", servers]]);
    scene.says([init(json!(["doctor"]))]);
    assert!(commands(&mut scene).is_empty());
    let changed = json!({ "commands": [command("doctor", ""), command("new", "")] });
    scene.says([words::system("commands_changed", changed)]);
    assert_eq!(commands(&mut scene), [["new -"]]);
}

/// Section 3: only what is there; prompts may be sent while one runs.
#[test]
fn given_claude_when_initialized_then_queueing_and_steering_are_told() {
    each_way(|scene| {
        let line = scene.desk.log[1].strip_prefix("< ").unwrap();
        let answer: Value = serde_json::from_str(line).unwrap();
        let result = &answer["result"];
        assert_eq!(
            result["agentCapabilities"]["_meta"],
            json!({ "claudeCode": { "promptQueueing": true }, "authStatus": {} })
        );
        assert_eq!(
            result["_meta"],
            json!({ "steering": { "supported": true } })
        );
        assert_eq!(
            result["agentCapabilities"]["mcpCapabilities"],
            json!({ "http": true, "sse": true })
        );
    });
}
