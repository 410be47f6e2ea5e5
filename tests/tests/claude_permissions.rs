//! What Claude Code asks the user (Claude adapter, sections 10 and 11): whether a tool may be
//! used, with what is remembered of the answer.

use airlock_tests::scripted_cli::{Scene, each_way, words};
use serde_json::{Value, json};

mod claude_kit;

/// The process asks; what the editor is asked.
fn asks(scene: &mut Scene, tool: &str, input: Value, more: Value) -> Value {
    let own = json!({ "tool_name": tool, "display_name": tool, "input": input });
    scene.desk.take();
    scene.says([words::can_use_tool(
        "ask-1",
        "toolu_1",
        words::with(own, more),
    )]);
    let all = scene.desk.take();
    let mut asked = all.into_iter().filter(|it| it.get("id").is_some());
    asked.next().unwrap_or_default()
}

/// `id: name (kind)` of each option.
fn options(asked: &Value) -> Vec<String> {
    let options = asked["params"]["options"]
        .as_array()
        .expect("options")
        .iter();
    options
        .map(|it| {
            let text = |name: &str| it[name].as_str().unwrap().to_owned();
            format!("{}: {} ({})", text("optionId"), text("name"), text("kind"))
        })
        .collect()
}

fn choose(scene: &mut Scene, asked: &Value, option: &str) {
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    scene.desk.reply(&asked["id"], &outcome);
    scene.settle();
}

/// What the process was answered last.
fn told(scene: &Scene) -> Value {
    scene.desk.host.answers.last().cloned().unwrap_or_default()
}

fn rule(tool: &str, content: &str) -> Value {
    json!({ "type": "addRules", "rules": [{ "toolName": tool, "ruleContent": content }],
            "behavior": "allow", "destination": "localSettings" })
}

fn of_session(mut update: Value) -> Value {
    update["destination"] = json!("session");
    update
}

fn folders(all: &[&str]) -> Value {
    json!({ "type": "addDirectories", "directories": all, "destination": "session" })
}

/// Recordings bash-allow, bash-allow-always, bash-deny.
#[test]
fn given_a_command_when_asked_then_the_options_and_answers_are_those_recorded() {
    let bundle = json!([
        rule("Bash", "cat made.txt"),
        folders(&["/srv/maka-work/ws"])
    ]);
    let input = json!({ "command": "cat made.txt", "description": "Print it" });
    let rows = [
        (
            "allow-once",
            json!({ "behavior": "allow", "updatedInput": input,
            "toolUseID": "toolu_1", "decisionClassification": "user_temporary" }),
        ),
        (
            "allow-with-updates",
            json!({ "behavior": "allow", "updatedInput": input,
            "updatedPermissions": bundle, "toolUseID": "toolu_1",
            "decisionClassification": "user_permanent" }),
        ),
        (
            "reject",
            json!({ "behavior": "deny", "message": "User refused permission to run tool",
            "toolUseID": "toolu_1", "decisionClassification": "user_reject" }),
        ),
    ];
    for (option, response) in rows {
        each_way(|scene| {
            scene.working("Let me");
            let more = json!({ "permission_suggestions": bundle, "blocked_path": "/srv/maka-work/ws/made.txt" });
            let asked = asks(scene, "Bash", input.clone(), more);
            assert_eq!(asked["params"]["toolCall"]["toolCallId"], "toolu_1");
            assert_eq!(
                options(&asked),
                [
                    "allow-once: Yes (allow_once)",
                    "allow-with-updates: Yes, and allow access to ws/ and cat made.txt commands (allow_always)",
                    "reject: No (reject_once)"
                ]
            );
            choose(scene, &asked, option);
            assert_eq!(
                told(scene),
                json!({ "subtype": "success", "request_id": "ask-1", "response": response })
            );
        });
    }
}

/// Section 10: the label says all that is remembered, or there is none.
#[test]
fn given_bundles_when_asked_then_each_has_its_label_or_no_lasting_option() {
    let cwd = "/srv/maka-work";
    let edits = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
    let long = "x".repeat(51);
    let file = |path: &str| json!({ "file_path": path });
    let rows: Vec<(&str, Value, Value, Option<&str>)> = vec![
        (
            "Bash",
            json!({}),
            json!([rule("Bash", "npm test:*")]),
            Some("Yes, and don't ask again for npm test commands"),
        ),
        (
            "Bash",
            json!({}),
            json!([rule("Bash", "a"), rule("Bash", "b"), rule("Bash", "b")]),
            Some("Yes, and don't ask again for a and b commands"),
        ),
        (
            "Bash",
            json!({}),
            json!([rule("Bash", "a"), rule("Bash", "b"), rule("Bash", "c")]),
            Some("Yes, and don't ask again for a, b, and c commands"),
        ),
        (
            "Bash",
            json!({}),
            json!([rule("Bash", &long)]),
            Some("Yes, and don't ask again for similar commands"),
        ),
        (
            "Bash",
            json!({}),
            json!([rule("Read", "/srv/notes/**")]),
            Some("Yes, allow reading from notes/ from this project"),
        ),
        (
            "Bash",
            json!({}),
            json!([folders(&["/a/src", "/b/src"])]),
            Some("Yes, and always allow access to a/src/ and b/src/ from this project"),
        ),
        (
            "Bash",
            json!({}),
            json!([folders(&["/a/x", "/a/y", "/a/z"])]),
            Some("Yes, and always allow access to x/, y/ and 1 more from this project"),
        ),
        (
            "Bash",
            json!({}),
            json!([folders(&["/a/x", "/a/y"]), rule("Bash", "ls")]),
            Some("Yes, and allow x/ and y/ access and ls commands"),
        ),
        ("Bash", json!({}), json!([rule("Bash", "ls"), edits]), None),
        (
            "Bash",
            json!({}),
            json!([{ "type": "addRules", "rules": [{ "toolName": "Bash" }],
            "behavior": "allow", "destination": "localSettings" }]),
            None,
        ),
        (
            "Edit",
            file("a.txt"),
            json!([edits]),
            Some("Yes, allow all edits during this session"),
        ),
        (
            "Write",
            file("/other/dir/a.txt"),
            json!([edits]),
            Some("Yes, allow all edits in dir/ during this session"),
        ),
        (
            "Edit",
            file(".claude/settings.json"),
            json!([of_session(rule("Edit", ".claude/**"))]),
            Some("Yes, and allow Claude to edit its own settings for this session"),
        ),
        ("Edit", file(".claude/settings.json"), json!([edits]), None),
        (
            "Read",
            file("/etc/passwd"),
            json!([of_session(rule("Read", "//etc/**"))]),
            Some("Yes, allow reading from etc/ during this session"),
        ),
        (
            "Read",
            file("a.txt"),
            json!([of_session(rule("Read", "/srv/maka-work/**"))]),
            Some("Yes, during this session"),
        ),
        (
            "Read",
            file("/etc/passwd"),
            json!([of_session(rule("Read", "/var/**"))]),
            None,
        ),
        (
            "Read",
            file("/etc/passwd"),
            json!([rule("Read", "//etc/**")]),
            None,
        ),
        (
            "Grep",
            json!({}),
            json!([of_session(rule("Read", cwd))]),
            Some("Yes, during this session"),
        ),
        (
            "SandboxNetworkAccess",
            json!({ "host": "example.org" }),
            json!([rule("SandboxNetworkAccess", "example.org")]),
            Some("Yes, and don't ask again for example.org"),
        ),
        (
            "SandboxNetworkAccess",
            json!({ "host": "example.org" }),
            json!([rule("SandboxNetworkAccess", "other.org")]),
            None,
        ),
        (
            "mcp__mini__add",
            json!({}),
            json!([{ "type": "addRules", "rules": [{ "toolName": "mcp__mini__add" }],
            "behavior": "allow", "destination": "localSettings" }]),
            Some("Yes, and don't ask again for mcp__mini__add commands"),
        ),
        (
            "mcp__mini__add",
            json!({}),
            json!([rule("mcp__mini__add", "x")]),
            None,
        ),
        ("mcp__mini__add", json!({}), json!([]), None),
    ];
    for (tool, input, bundle, label) in rows {
        let mut scene = Scene::plain();
        scene.begin();
        scene.working("w");
        let more = json!({ "permission_suggestions": bundle });
        let asked = asks(&mut scene, tool, input.clone(), more);
        let mut wanted = vec!["allow-once: Yes (allow_once)".to_owned()];
        wanted.extend(label.map(|it| format!("allow-with-updates: {it} (allow_always)")));
        wanted.push("reject: No (reject_once)".to_owned());
        assert_eq!(options(&asked), wanted, "{tool} {input} {bundle}");
        if label.is_some() {
            choose(&mut scene, &asked, "allow-with-updates");
            assert_eq!(
                told(&scene)["response"]["updatedPermissions"],
                bundle,
                "{tool}"
            );
        }
    }
}

/// Section 10: rules of our own for WebFetch, skills and other tools.
#[test]
fn given_tools_without_bundles_when_allowed_for_good_then_a_rule_of_the_project_is_made() {
    let rows = [
        (
            "WebFetch",
            json!({ "url": "https://User@Example.org:8080/a" }),
            "allow-with-updates",
            "Yes, and don't ask again for example.org",
            rule("WebFetch", "domain:example.org"),
        ),
        (
            "WebSearch",
            json!({ "query": "acp" }),
            "allow-with-updates",
            "Yes, and don't ask again for WebSearch commands",
            json!({ "type": "addRules", "rules": [{ "toolName": "WebSearch" }], "behavior": "allow",
                 "destination": "localSettings" }),
        ),
        (
            "Skill",
            json!({ "skill": "review all" }),
            "allow-skill-exact",
            "Yes, and don't ask again for review all",
            rule("Skill", "review all"),
        ),
        (
            "Skill",
            json!({ "skill": "review all" }),
            "allow-skill-prefix",
            "Yes, and don't ask again for review:* commands",
            rule("Skill", "review:*"),
        ),
    ];
    for (tool, input, option, name, update) in rows {
        let mut scene = Scene::plain();
        scene.begin();
        scene.working("w");
        let asked = asks(&mut scene, tool, input, json!({}));
        let line = format!("{option}: {name} (allow_always)");
        assert!(options(&asked).contains(&line), "{:?}", options(&asked));
        choose(&mut scene, &asked, option);
        let response = &told(&scene)["response"];
        assert_eq!(response["updatedPermissions"], json!([update]), "{tool}");
        assert_eq!(response["decisionClassification"], "user_permanent");
    }
    let mut scene = Scene::plain();
    scene.begin();
    scene.working("w");
    let asked = asks(
        &mut scene,
        "WebFetch",
        json!({ "url": "nowhere" }),
        json!({}),
    );
    assert_eq!(options(&asked).len(), 2);
}

/// Section 10: what the user's own rules ask for is never ruled out; a careful question
/// begins with no.
#[test]
fn given_an_ask_rule_or_a_careful_question_when_asked_then_nothing_lasts_and_no_comes_first() {
    let forced = [
        json!({ "matched_ask_rule": { "source": "userSettings", "tool_name": "Bash" } }),
        json!({ "suppress_always_allow_rule": true }),
    ];
    for (tool, input) in [
        ("Bash", json!({ "command": "ls" })),
        ("WebSearch", json!({})),
        ("WebFetch", json!({ "url": "https://a.org" })),
        ("Skill", json!({ "skill": "x" })),
    ] {
        for more in &forced {
            let mut scene = Scene::plain();
            scene.begin();
            scene.working("w");
            let bundle = json!({ "permission_suggestions": [rule("Bash", "ls")] });
            let asked = asks(
                &mut scene,
                tool,
                input.clone(),
                words::with(bundle, more.clone()),
            );
            assert_eq!(
                options(&asked),
                ["allow-once: Yes (allow_once)", "reject: No (reject_once)"]
            );
        }
    }
    let mut scene = Scene::plain();
    scene.begin();
    scene.working("w");
    let more = json!({ "permission_suggestions": [rule("Bash", "ls")], "default_to_no": true });
    let asked = asks(&mut scene, "Bash", json!({ "command": "ls" }), more);
    let first = options(&asked)
        .into_iter()
        .map(|it| it.split(':').next().unwrap().to_owned());
    assert_eq!(
        first.collect::<Vec<_>>(),
        ["reject", "allow-once", "allow-with-updates"]
    );
}

/// Section 10: a bundle that is not understood whole is not offered.
#[test]
fn given_bundles_past_a_limit_or_of_odd_shape_when_asked_then_nothing_lasting_is_offered() {
    let many = |count: usize| vec![rule("Bash", "ls"); count];
    let ruled = |rules: Value| {
        json!([{ "type": "addRules", "rules": rules, "behavior": "allow",
                                        "destination": "localSettings" }])
    };
    let content = |text: &str| ruled(json!([{ "toolName": "Bash", "ruleContent": text }]));
    let good = [
        json!(many(100)),
        content(&"x".repeat(10_000)),
        json!([folders(&["/a"; 100])]),
    ];
    let bad = [
        json!(many(101)),
        content(&"x".repeat(10_001)),
        content("a\u{7}b"),
        content(" "),
        ruled(json!(vec![
            json!({ "toolName": "Bash", "ruleContent": "x" });
            101
        ])),
        ruled(json!([{ "toolName": "x".repeat(513), "ruleContent": "x" }])),
        ruled(json!([])),
        json!([folders(&["/a"; 101])]),
        json!([folders(&[&"x".repeat(4_097)])]),
        json!([{ "type": "new", "destination": "session" }]),
        json!([{ "type": "setMode", "mode": "new", "destination": "session" }]),
        json!([rule("Bash", "ls"), 7]),
        json!({ "type": "addRules" }),
        json!(null),
    ];
    for (count, bundles) in [(3, &good[..]), (2, &bad[..])] {
        for bundle in bundles {
            let mut scene = Scene::plain();
            scene.begin();
            scene.working("w");
            let more = json!({ "permission_suggestions": bundle });
            let asked = asks(&mut scene, "Bash", json!({ "command": "ls" }), more);
            let shown: String = bundle.to_string().chars().take(200).collect();
            assert_eq!(options(&asked).len(), count, "{shown}");
        }
    }
}

/// Recording exit-plan-approve; section 10: how plan mode is left.
#[test]
fn given_a_plan_when_asked_then_the_modes_are_offered_and_the_answer_sets_one() {
    let into = |mode: &str| json!([{ "type": "setMode", "mode": mode, "destination": "session" }]);
    let rows = [
        ("exit-plan-default", Some("default"), "user_temporary"),
        ("exit-plan-auto", Some("auto"), "user_permanent"),
        (
            "exit-plan-bypass",
            Some("bypassPermissions"),
            "user_permanent",
        ),
        ("reject", None, "user_reject"),
    ];
    for (option, mode, class) in rows {
        each_way(|scene| {
            scene.working("w");
            let asked = asks(scene, "ExitPlanMode", json!({}), json!({}));
            assert_eq!(
                options(&asked),
                [
                    "exit-plan-default: Yes, manually approve edits (allow_once)",
                    "exit-plan-auto: Yes, and use auto mode (allow_always)",
                    "exit-plan-bypass: Yes, and bypass permissions (allow_always)",
                    "reject: No, keep planning (reject_once)"
                ]
            );
            choose(scene, &asked, option);
            let response = told(scene)["response"].clone();
            assert_eq!(response["decisionClassification"], class);
            match mode {
                Some(mode) => assert_eq!(response["updatedPermissions"], into(mode)),
                None => {
                    assert_eq!(response["message"], "User chose to keep planning");
                    assert_eq!(response["interrupt"], true);
                }
            }
        });
    }
    let mut scene = Scene::plain();
    scene.begin();
    scene.working("w");
    let asked = asks(&mut scene, "EnterPlanMode", json!({}), json!({}));
    assert_eq!(
        options(&asked),
        [
            "allow-once: Yes, enter plan mode (allow_once)",
            "reject: No, start implementing now (reject_once)"
        ]
    );
}

/// Section 10: to keep planning ends the turn as cancelled.
#[test]
fn given_a_plan_when_kept_planning_then_the_aborted_turn_is_cancelled() {
    each_way(|scene| {
        let prompt = scene.working("w");
        let asked = asks(scene, "ExitPlanMode", json!({}), json!({}));
        choose(scene, &asked, "reject");
        scene.says([words::aborted(words::of(&[1])), words::state("idle")]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
    });
}

/// Section 10: turned away, answered with something else, or not answerable: aborted; a
/// subagent in the background is denied.
#[test]
fn given_answers_that_are_none_when_given_then_the_tool_use_is_aborted_and_the_turn_goes_on() {
    let aborted = json!({ "subtype": "error", "request_id": "ask-1", "error": "Tool use aborted" });
    let answers = [
        r#""result":{"outcome":{"outcome":"cancelled"}}"#,
        r#""result":{"outcome":{"outcome":"selected","optionId":"allow-skill-exact"}}"#,
        r#""result":{}"#,
        r#""error":{"code":-32601,"message":"no"}"#,
    ];
    for answer in answers {
        each_way(|scene| {
            let prompt = scene.working("w");
            let asked = asks(scene, "Bash", json!({ "command": "ls" }), json!({}));
            scene.desk.send_line(&format!(
                r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#,
                asked["id"]
            ));
            scene.settle();
            assert_eq!(told(scene), aborted);
            scene.says([words::done(1), words::state("idle")]);
            assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        });
    }
    each_way(|scene| {
        scene.working("w");
        scene.says([words::task_started("toolu_0", true)]);
        let asked = asks(
            scene,
            "Bash",
            json!({ "command": "ls" }),
            json!({ "agent_id": "ag1" }),
        );
        scene.desk.reply(
            &asked["id"],
            &json!({ "outcome": { "outcome": "cancelled" } }),
        );
        scene.settle();
        let response = &told(scene)["response"];
        assert_eq!(response["behavior"], "deny");
        assert!(response.get("interrupt").is_none());
    });
}

/// Recording cancel-in-permission: the process takes its question back.
#[test]
fn given_an_open_question_when_cancelled_then_withdrawn_and_a_late_yes_is_no_yes() {
    each_way(|scene| {
        scene.working("w");
        let asked = asks(scene, "Bash", json!({ "command": "ls" }), json!({}));
        scene.cancel();
        choose(scene, &asked, "allow-once");
        assert_eq!(told(scene)["error"], "Tool use aborted");
    });
    each_way(|scene| {
        scene.working("w");
        let asked = asks(scene, "Bash", json!({ "command": "ls" }), json!({}));
        scene.cancel();
        scene.says([json!({ "type": "control_cancel_request", "request_id": "ask-1" })]);
        let all = scene.desk.take();
        let withdrawn = all
            .iter()
            .find(|it| it["method"] == "$/cancel_request")
            .expect("withdrawn");
        assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
        let answers = scene.desk.host.answers.len();
        choose(scene, &asked, "allow-once");
        assert_eq!(scene.desk.host.answers.len(), answers);
    });
}

/// Section 5: an approved plan changes the mode, which is told as the process tells it.
#[test]
fn given_an_approved_plan_when_the_process_changes_the_mode_then_it_is_told() {
    let mut scene = Scene::plain();
    scene.desk.host.greeting = Some(claude_kit::greeting());
    scene.begin();
    scene.working("w");
    let asked = asks(&mut scene, "ExitPlanMode", json!({}), json!({}));
    choose(&mut scene, &asked, "exit-plan-default");
    scene.desk.take();
    scene.says([words::system(
        "status",
        json!({ "status": null, "permissionMode": "default" }),
    )]);
    let kinds: Vec<Value> = scene
        .desk
        .take()
        .iter()
        .map(|it| it["params"]["update"]["sessionUpdate"].clone())
        .collect();
    assert_eq!(kinds, ["current_mode_update", "config_option_update"]);
}
