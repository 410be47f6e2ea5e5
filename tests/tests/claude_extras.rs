//! What a client says to Claude Code alone with a session's place (Claude adapter, sections 1,
//! 2.1 and 4): options of the program, instructions for the model, raw frames.

use airlock_tests::Desk;
use airlock_tests::scripted_cli::words::{self, done, state};
use airlock_tests::scripted_cli::{Scene, ScriptedCli, config};
use serde_json::{Value, json};

const CWD: &str = "/srv/maka-work";

/// A scene whose session is made with these fields too; the answer to `session/new`.
fn made(scene: &mut Scene, more: Value) -> Value {
    scene.desk.initialize();
    let params = words::with(json!({ "cwd": CWD, "mcpServers": [] }), more);
    let id = scene.desk.request("session/new", &params);
    scene.settle();
    let answer = scene.desk.answer(id);
    let session = &answer["result"]["sessionId"];
    scene.session = session.as_str().unwrap_or_default().to_owned();
    answer
}

/// Its process's arguments, with `SESSION` for the session's id.
fn args(scene: &Scene) -> Vec<String> {
    let started = scene.desk.host.started.last().expect("a process");
    let args = started
        .iter()
        .map(|arg| arg.replace(&scene.session, "SESSION"));
    args.collect()
}

fn asked(scene: &Scene, subtype: &str) -> Vec<Value> {
    let lines = scene.desk.to_host.iter();
    let all = lines.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|it| it["request"]["subtype"] == subtype)
        .map(|it| it["request"].clone())
        .collect()
}

fn options(options: Value) -> Value {
    json!({ "_meta": { "claudeCode": { "options": options } } })
}

/// 2.1: every option stands where the program's own SDK puts it.
#[test]
fn given_all_options_when_a_session_is_made_then_they_are_arguments_in_their_order() {
    let mut scene = Scene::plain();
    made(
        &mut scene,
        options(json!({
            "thinking": { "type": "adaptive", "display": "summarized" },
            "effort": "low", "maxTurns": 3, "maxBudgetUsd": 1.5, "model": "haiku",
            "agent": "helper", "betas": ["one", "two"],
            "outputFormat": { "type": "json_schema", "schema": { "type": "object" } },
            "debug": true, "allowedTools": ["Read", "Bash(ls:*)"], "disallowedTools": ["WebSearch"],
            "tools": ["Read", "Bash"],
            "mcpServers": { "mine": { "type": "stdio", "command": "mine" } },
            "settingSources": ["user"], "strictMcpConfig": true,
            "fallbackModel": "sonnet", "includeHookEvents": true,
            "additionalDirectories": ["/srv/more"],
            "plugins": [{ "type": "local", "path": "/srv/plugin" }],
            "persistSession": false, "managedSettings": { "a": 1 },
            "settings": { "cleanupPeriodDays": 3 },
            "extraArgs": { "flag": null, "name": "value", "minus": "-1" },
            "permissionMode": "plan", "cwd": "/elsewhere"
        })),
    );
    insta::assert_snapshot!("all_options_as_arguments", args(&scene).join("\n"));
}

/// 2.1: without options it is started as ever.
#[test]
fn given_no_options_when_a_session_is_made_then_the_arguments_are_as_recorded() {
    let mut scene = Scene::plain();
    made(&mut scene, json!({}));
    assert_eq!(
        args(&scene),
        [
            "--output-format",
            "stream-json",
            "--verbose",
            "--input-format",
            "stream-json",
            "--permission-prompt-tool=stdio",
            "--disallowedTools=AskUserQuestion",
            "--tools=default",
            "--setting-sources=user,project,local",
            "--permission-mode=auto",
            "--allow-dangerously-skip-permissions",
            "--include-partial-messages",
            "--session-id=SESSION",
            "--replay-user-messages",
            ""
        ]
    );
}

/// Section 4: a wish that cannot be read is left out, and the others hold.
#[test]
fn given_an_option_of_another_type_when_a_session_is_made_then_only_that_one_is_left_out() {
    let mut scene = Scene::plain();
    made(
        &mut scene,
        options(json!({ "effort": 7, "maxTurns": "many", "model": "haiku", "strange": 1 })),
    );
    let args = args(&scene);
    assert!(args.contains(&"--model=haiku".to_owned()), "{args:?}");
    let wrong = |arg: &&String| arg.starts_with("--effort") || arg.starts_with("--max-turns");
    assert_eq!(args.iter().filter(wrong).count(), 0);
}

/// 2.1: variables of the client are set or removed; what the adapter needs stays.
#[test]
fn given_variables_of_the_client_when_started_then_the_adapters_own_stay() {
    let env = |environment: Value, options: Value| -> Vec<(String, Option<String>)> {
        let mut config = config();
        config["host"]["environment"] = environment;
        let mut scene = Scene::plain();
        scene.desk = Desk::with_config(ScriptedCli::default(), &config);
        scene.desk.host_speaks = false;
        made(&mut scene, options);
        scene.desk.host.variables.last().unwrap().clone()
    };
    let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
    let ours = || {
        vec![
            set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
            set("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1"),
            set("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"),
            set("CLAUDE_AGENT_SDK_VERSION", "0.3.318"),
            ("NODE_OPTIONS".to_owned(), None),
            ("DEBUG".to_owned(), None),
        ]
    };
    let mut wanted = vec![
        set("CLAUDE_CODE_ENTRYPOINT", "sdk-ts"),
        ("GONE".to_owned(), None),
        set("MINE", "1"),
    ];
    wanted.extend(ours());
    let mine = json!({ "MINE": "1", "GONE": null, "DEBUG": "1",
                       "CLAUDE_CODE_STARTUP_FAILURE_RESULTS": "0" });
    assert_eq!(env(json!({}), options(json!({ "env": mine }))), wanted);
    // Section 2.1: somebody has said already what runs the program.
    let told = json!({ "CLAUDE_CODE_ENTRYPOINT": "cli" });
    assert_eq!(env(told, json!({})), ours());
}

/// Section 1: models that `CLAUDE_MODEL_CONFIG` puts in the place of others are settings.
#[test]
fn given_model_overrides_when_started_then_they_are_settings_that_the_clients_own_add_to() {
    let settings = |options: Value| {
        let mut config = config();
        let overrides = r#"{"modelOverrides":{"a":"b"},"availableModels":["default"]}"#;
        config["host"]["environment"] = json!({ "CLAUDE_MODEL_CONFIG": overrides });
        let mut scene = Scene::plain();
        scene.desk = Desk::with_config(ScriptedCli::default(), &config);
        scene.desk.host_speaks = false;
        made(&mut scene, options);
        let args = args(&scene);
        let at = args.iter().position(|arg| arg == "--settings").unwrap();
        args[at + 1].clone()
    };
    assert_eq!(settings(json!({})), r#"{"modelOverrides":{"a":"b"}}"#);
    let both = options(json!({ "settings": { "model": "x" } }));
    assert_eq!(
        settings(both),
        r#"{"modelOverrides":{"a":"b"},"model":"x"}"#
    );
    let file = options(json!({ "settings": "/srv/settings.json" }));
    assert_eq!(settings(file), "/srv/settings.json");
}

/// Section 4: the older forms of folders and tools.
#[test]
fn given_roots_and_no_built_in_tools_when_a_session_is_made_then_both_are_arguments() {
    let mut scene = Scene::plain();
    let meta =
        json!({ "_meta": { "additionalRoots": ["/srv/root"], "disableBuiltInTools": true } });
    made(&mut scene, meta);
    let args = args(&scene);
    assert!(args.contains(&"--add-dir=/srv/root".to_owned()), "{args:?}");
    assert!(args.contains(&"--tools=".to_owned()), "{args:?}");
}

/// Section 5: a client may rule out that permissions are turned off.
#[test]
fn given_that_permissions_stay_on_when_a_session_is_made_then_bypass_is_not_offered() {
    let mut scene = Scene::plain();
    let answer = made(
        &mut scene,
        options(json!({ "allowDangerouslySkipPermissions": false })),
    );
    let modes = answer["result"]["modes"].to_string();
    assert!(!modes.contains("bypassPermissions"), "{modes}");
    assert!(!args(&scene).contains(&"--allow-dangerously-skip-permissions".to_owned()));
}

/// Section 4: instructions, in the newer form and in the older one, which loses.
#[test]
fn given_instructions_when_a_session_is_made_then_the_greeting_has_them() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let newer = |mode: &str| json!({ "mode": mode, "content": [text("one"), text("two")] });
    let rows = [
        (
            json!({ "systemPrompt": newer("append") }),
            json!(null),
            json!("one\n\ntwo"),
            json!(null),
        ),
        (
            json!({ "systemPrompt": newer("override") }),
            json!(["one\n\ntwo"]),
            json!(null),
            json!(null),
        ),
        (
            json!({ "_meta": { "systemPrompt": "old" } }),
            json!(["old"]),
            json!(null),
            json!(null),
        ),
        (
            json!({ "_meta": { "systemPrompt": { "append": "old", "excludeDynamicSections": true } } }),
            json!(null),
            json!("old"),
            json!(true),
        ),
        (
            json!({ "systemPrompt": newer("append"), "_meta": { "systemPrompt": "old" } }),
            json!(null),
            json!("one\n\ntwo"),
            json!(null),
        ),
        (json!({}), json!(null), json!(null), json!(null)),
    ];
    for (more, instead, append, dynamic) in rows {
        let mut scene = Scene::plain();
        made(&mut scene, more.clone());
        let greeting = &asked(&scene, "initialize")[0];
        assert_eq!(greeting["systemPrompt"], instead, "{more}");
        assert_eq!(greeting["appendSystemPrompt"], append, "{more}");
        assert_eq!(greeting["excludeDynamicSections"], dynamic, "{more}");
    }
}

/// Section 4: agents of the client are in the greeting.
#[test]
fn given_agents_when_a_session_is_made_then_the_greeting_has_them() {
    let mut scene = Scene::plain();
    let agents = json!({ "helper": { "description": "d", "prompt": "p" } });
    made(&mut scene, options(json!({ "agents": agents })));
    assert_eq!(asked(&scene, "initialize")[0]["agents"], agents);
}

/// Section 4: -32602 for another mode or block, and nothing is started.
#[test]
fn given_instructions_that_cannot_be_read_when_a_session_is_made_then_it_is_refused() {
    let rows = [
        json!({ "mode": "replace", "content": [] }),
        json!({ "mode": "append", "content": [{ "type": "image", "data": "", "mimeType": "image/png" }] }),
        json!({ "mode": "append" }),
        json!("words"),
    ];
    for prompt in rows {
        let mut scene = Scene::plain();
        let answer = made(&mut scene, json!({ "systemPrompt": prompt }));
        assert_eq!(answer["error"]["code"], -32602, "{prompt}");
        assert_eq!(answer["error"]["data"]["field"], "systemPrompt", "{prompt}");
        assert!(scene.desk.host.started.is_empty(), "{prompt}");
    }
}

/// Section 4: a session of before goes on under its own id, or as another one.
#[test]
fn given_a_session_to_go_on_with_when_made_then_it_has_that_id_or_is_a_fork_of_it() {
    let before = "5add9296-d101-4379-9348-a33f8b0894a4";
    let mut scene = Scene::plain();
    let answer = made(&mut scene, options(json!({ "resume": before })));
    assert_eq!(answer["result"]["sessionId"], before);
    let all = args(&scene);
    assert!(all.contains(&"--resume=SESSION".to_owned()), "{all:?}");
    assert!(
        all.iter().all(|arg| !arg.starts_with("--session-id")),
        "{all:?}"
    );
    // It may have a name, which is not to be taken away.
    scene.prompt("go on");
    assert_eq!(asked(&scene, "generate_session_title"), Vec::<Value>::new());
    // It has a process already.
    let params = words::with(
        json!({ "cwd": CWD, "mcpServers": [] }),
        options(json!({ "resume": before })),
    );
    let again = scene.desk.request("session/new", &params);
    scene.settle();
    assert_eq!(scene.desk.answer(again)["error"]["code"], -32602);
    assert_eq!(scene.desk.host.started.len(), 1);

    let mut scene = Scene::plain();
    let fork = options(json!({ "resume": before, "forkSession": true, "resumeSessionAt": "m1" }));
    made(&mut scene, fork);
    let args = args(&scene);
    let at = args.iter().position(|arg| arg == "--fork-session").unwrap();
    assert_eq!(args[at + 1], "--resume-session-at=m1");
    assert_eq!(args[at + 2], "--session-id=SESSION");
    assert!(args.contains(&format!("--resume={before}")), "{args:?}");
}

/// Section 4: frames as they are, all or those that a filter fits; never the control channel.
#[test]
fn given_a_wish_for_raw_frames_when_the_process_speaks_then_those_go_on_as_they_came() {
    let raw = |wish: Value| {
        let mut scene = Scene::plain();
        made(
            &mut scene,
            json!({ "_meta": { "claudeCode": { "emitRawSDKMessages": wish } } }),
        );
        scene.desk.take();
        scene.prompt("one");
        scene.says([state("running"), done(1), state("idle")]);
        scene.says([words::result(words::by_itself())]);
        let all = scene.desk.take();
        let raw = all.iter().filter(|it| it["method"] == "_claude/sdkMessage");
        raw.map(|it| {
            assert_eq!(it["params"]["sessionId"], scene.session.as_str());
            let message = &it["params"]["message"];
            assert!(message["uuid"].is_string(), "{message}");
            let subtype = message["subtype"].as_str().unwrap_or_default();
            format!("{} {subtype}", message["type"].as_str().unwrap())
        })
        .collect::<Vec<_>>()
    };
    let state = "system session_state_changed";
    let result = "result success";
    assert_eq!(raw(json!(true)), [state, result, state, result]);
    assert_eq!(
        raw(json!([{ "type": "system", "subtype": "init" }])),
        [""; 0]
    );
    assert_eq!(raw(json!([{ "type": "system" }])), [state, state]);
    let task = json!([{ "type": "result", "origin": "task-notification" }]);
    assert_eq!(raw(task), [result]);
    assert_eq!(raw(json!(false)), [""; 0]);
}

/// Rule R7 holds for them too.
#[test]
fn given_a_slow_editor_when_raw_frames_flood_it_then_the_process_is_not_read() {
    let mut scene = Scene::plain();
    let wish = json!({ "_meta": { "claudeCode": { "emitRawSDKMessages": true } } });
    made(&mut scene, wish);
    scene.prompt("one");
    scene.desk.editor_reads = false;
    let frame = words::system("anything", json!({ "text": "x".repeat(1 << 20) }));
    scene.says((0..24).map(|_| frame.clone()));
    let effects = scene.desk.calls.iter().flat_map(|call| &call.effects);
    let stopped = effects.filter(|it| format!("{it:?}").contains("Read(false)"));
    assert_eq!(stopped.count(), 1);
}
