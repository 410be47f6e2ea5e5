//! `/mcp`, `/usage` and titles (Claude adapter, section 14).

use airlock_tests::recorded_host::Say;
use airlock_tests::scripted_cli::words::{
    aborted, assistant_of, done, echo, life, of, result, start, state, with,
};
use airlock_tests::scripted_cli::{Scene, answer, answer_frames, each_way, words};
use serde_json::{Value, json};

/// The process runs a command of its own and says these words; its result is still to come.
fn runs(scene: &mut Scene, command: &str, said: &str) -> u64 {
    for subtype in ["mcp_status", "mcp_reconnect", "mcp_toggle", "get_usage"] {
        scene.desk.host.by_hand(subtype);
    }
    let prompt = scene.prompt(command);
    let number = scene.desk.host.users.len();
    scene.says([
        state("running"),
        life(number, "queued"),
        life(number, "started"),
    ]);
    let mut whole = assistant_of("cli-1", &json!([{ "type": "text", "text": said }]));
    whole["message"]["model"] = json!("<synthetic>");
    scene.says([whole, echo(number)]);
    prompt
}

/// The command is over.
fn over(scene: &mut Scene) {
    let number = scene.desk.host.users.len();
    let nothing = json!({ "input_tokens": 0, "output_tokens": 0,
                          "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 });
    let result = result(with(
        of(&[number]),
        json!({ "num_turns": 0, "usage": nothing }),
    ));
    scene.says([result, life(number, "completed"), state("idle")]);
}

fn servers(rows: Value) -> Value {
    json!({ "mcpServers": rows })
}

/// The text that was shown since, and the answers.
fn shown(scene: &mut Scene) -> Vec<String> {
    scene.editor()
}

fn fails(scene: &mut Scene, subtype: &str, why: &str) {
    let request = scene.desk.host.take(subtype).expect("it was asked");
    let mut line: Value = serde_json::from_str(&answer(&request, &json!({}))).unwrap();
    line["response"] = json!({ "subtype": "error", "error": why,
                               "request_id": request["request_id"] });
    scene.desk.host_says([Say::Line(line.to_string())]);
    scene.settle();
}

/// As recorded: asked at the command's end, shown in the place of its words, then answered.
#[test]
fn given_no_servers_when_mcp_is_run_then_that_is_said_as_recorded() {
    each_way(|scene| {
        let prompt = runs(
            scene,
            "/mcp",
            "No MCP servers are configured. Add one with ...",
        );
        assert!(!scene.desk.host.waits("mcp_status"));
        over(scene);
        assert_eq!(shown(scene), [""; 0]);
        scene.replies("mcp_status", &servers(json!([])));
        assert_eq!(
            shown(scene),
            [
                r#"agent_message_chunk "No MCP servers are configured." cli-1"#.to_owned(),
                format!("{prompt} end_turn")
            ]
        );
    });
}

/// Each server on a line of its own; what is not said is left out.
#[test]
fn given_servers_when_mcp_is_run_then_they_are_a_list() {
    each_way(|scene| {
        runs(scene, "/mcp", "3 MCP server(s)");
        over(scene);
        let rows = json!([
            { "name": "mini", "status": "connected", "scope": "dynamic", "tools": [{ "name": "add" }] },
            { "name": "two\nlines", "status": "failed", "error": "ENOENT: no such file\nor so" },
            { "name": "signed out", "status": "needs-auth", "tools": [] },
            { "status": "nameless" },
        ]);
        scene.replies("mcp_status", &servers(rows));
        let log = scene.log();
        let list = "## MCP servers\\n\\n- **mini**: connected (dynamic), 1 tool\\n- **two lines**: failed: ENOENT: no such file or so\\n- **signed out**: needs authentication";
        assert!(log.contains(list), "{log}");
    });
}

/// One server, or all; each request to the program, and what came of it.
#[test]
fn given_a_verb_when_mcp_is_run_then_servers_are_asked_for_it_and_what_came_of_it_is_told() {
    let toggle = |name: &str, on: bool| json!({ "subtype": "mcp_toggle", "serverName": name, "enabled": on });
    let connect = |name: &str| json!({ "subtype": "mcp_reconnect", "serverName": name });
    let rows = [
        (
            "/mcp reconnect mini",
            vec![connect("mini")],
            "- Reconnected **mini**.",
        ),
        (
            "/mcp enable mini",
            vec![toggle("mini", true)],
            "- Enabled **mini**.",
        ),
        (
            "/mcp disable mini",
            vec![toggle("mini", false)],
            "- Disabled **mini**.",
        ),
        (
            "/mcp disable all",
            vec![toggle("mini", false), toggle("more", false)],
            "- Disabled **mini**.\\n- Disabled **more**.",
        ),
        (
            "/mcp reconnect",
            vec![connect("mini"), connect("more")],
            "- Reconnected **mini**.\\n- Reconnected **more**.",
        ),
    ];
    let both = || {
        servers(
            json!([{ "name": "mini", "status": "connected" }, { "name": "more", "status": "pending" }]),
        )
    };
    for (command, wanted, told) in rows {
        each_way(|scene| {
            let prompt = runs(
                scene,
                command,
                "Reconnect, enable, and disable aren't available",
            );
            over(scene);
            if wanted.len() == 2 {
                scene.replies("mcp_status", &both());
            }
            for request in &wanted {
                let subtype = request["subtype"].as_str().unwrap();
                let asked = scene.desk.host.take(subtype).expect(command);
                assert_eq!(asked["request"], *request);
                let line = answer(&asked, &json!({}));
                assert_eq!(scene.answer(prompt), None);
                scene.desk.host_says([Say::Line(line)]);
                scene.settle();
            }
            scene.replies("mcp_status", &both());
            assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
            let list = "\\n\\n## MCP servers\\n\\n- **mini**: connected\\n- **more**: pending";
            let log = scene.log();
            assert!(log.contains(&format!("{told}{list}")), "{command}: {log}");
            assert!(!log.contains("aren't available"), "{command}");
        });
    }
}

/// A server that cannot be reached is told with the reason.
#[test]
fn given_a_server_that_fails_when_reconnected_then_the_reason_is_told() {
    each_way(|scene| {
        runs(scene, "/mcp reconnect broken", "not available");
        over(scene);
        fails(scene, "mcp_reconnect", "Server not found: broken");
        scene.replies("mcp_status", &servers(json!([])));
        let told = "- Could not reconnect **broken**: Server not found: broken\\n\\nNo MCP servers";
        assert!(scene.log().contains(told), "{}", scene.log());
    });
}

/// 30 s for servers, 5 s for figures: then the program's own words stand, and what is known.
#[test]
fn given_a_program_that_does_not_answer_when_the_time_is_over_then_its_own_words_stand() {
    let rows = [
        ("/mcp", 5_000, "Own words"),
        ("/usage", 5_000, "Own words"),
        ("/mcp reconnect", 5_000, "Own words"),
        (
            "/mcp reconnect mini",
            30_000,
            "- Could not reconnect **mini**: Claude Code did not answer.",
        ),
    ];
    for (command, time, told) in rows {
        each_way(|scene| {
            let prompt = runs(scene, command, "Own words");
            over(scene);
            scene.wait(time - 1);
            assert_eq!(scene.answer(prompt), None, "{command}");
            scene.wait(1);
            assert_eq!(
                shown(scene),
                [
                    format!("agent_message_chunk {} cli-1", json!(told)),
                    format!("{prompt} end_turn")
                ],
                "{command}"
            );
        });
    }
}

/// A refusal keeps the program's words too; so does a word that it does not know.
#[test]
fn given_a_refusal_or_an_unknown_word_when_a_report_is_wanted_then_the_own_words_stand() {
    each_way(|scene| {
        let prompt = runs(scene, "/usage", "Own words");
        over(scene);
        fails(scene, "get_usage", "not now");
        let own = r#"agent_message_chunk "Own words" cli-1"#.to_owned();
        assert_eq!(shown(scene), [own.clone(), format!("{prompt} end_turn")]);
        let prompt = runs(scene, "/mcp nonsense", "Own words");
        assert_eq!(shown(scene), [own]);
        over(scene);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        assert_eq!(scene.desk.host.times_asked("mcp_status"), 0);
    });
}

/// What was used, as Markdown.
#[test]
fn given_figures_when_usage_is_run_then_they_are_markdown() {
    let mut scene = Scene::plain();
    scene.begin();
    runs(&mut scene, "/usage", "Total cost: ...");
    over(&mut scene);
    scene.replies(
        "get_usage",
        &json!({
            "session": { "total_cost_usd": 0.0123, "total_api_duration_ms": 1500,
                "total_duration_ms": 61_000, "total_lines_added": 3, "total_lines_removed": 1,
                "model_usage": { "claude-opus-5-5": { "inputTokens": 100, "outputTokens": 3,
                    "cacheReadInputTokens": 50, "cacheCreationInputTokens": 7, "costUSD": 0.0123 } } },
            "subscription_type": "max", "rate_limits_available": true,
            "rate_limits": {
                "five_hour": { "utilization": 6.2, "resets_at": "2026-11-30T12:00:00Z" },
                "seven_day": { "utilization": null, "resets_at": null },
                "seven_day_opus": { "utilization": 40, "resets_at": null } }
        }),
    );
    let shown = scene.editor()[0].clone();
    let text = shown.strip_prefix("agent_message_chunk ").unwrap();
    let text: String = serde_json::from_str(text.strip_suffix(" cli-1").unwrap()).unwrap();
    insta::assert_snapshot!("usage_as_markdown", text);
}

/// Section 9.1, step 3: a cancel ends the work on a report at once; a close likewise.
#[test]
fn given_a_report_under_way_when_cancelled_or_closed_then_the_prompt_is_cancelled_at_once() {
    each_way(|scene| {
        let prompt = runs(scene, "/mcp", "Own words");
        over(scene);
        scene.cancel();
        assert_eq!(shown(scene), [format!("{prompt} cancelled")]);
        // Its answer comes too late.
        scene.replies("mcp_status", &servers(json!([])));
        assert_eq!(shown(scene), [""; 0]);
    });
    each_way(|scene| {
        let prompt = runs(scene, "/usage", "Own words");
        over(scene);
        scene.close();
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
    });
}

/// Behind a cancel the program's words come before its echo, and are dropped; its result has
/// them once more, and they are kept for the report.
#[test]
fn given_a_cancel_before_when_mcp_is_run_then_its_report_is_made_all_the_same() {
    each_way(|scene| {
        scene.cancel();
        scene.replies("interrupt", &json!({ "still_queued": [] }));
        scene.desk.host.by_hand("mcp_status");
        let prompt = scene.prompt("/mcp");
        scene.says([state("running"), life(1, "started")]);
        let mut whole = assistant_of("cli-1", &json!([{ "type": "text", "text": "Own" }]));
        whole["message"]["model"] = json!("<synthetic>");
        let nothing = json!({ "input_tokens": 0, "output_tokens": 0 });
        let ends = result(with(of(&[1]), json!({ "result": "Own", "usage": nothing })));
        scene.says([whole, echo(1), ends, state("idle")]);
        assert_eq!(shown(scene), [""; 0]);
        scene.replies("mcp_status", &servers(json!([])));
        let told = shown(scene);
        assert!(
            told[0].starts_with(r#"agent_message_chunk "No MCP servers"#),
            "{told:?}"
        );
        assert_eq!(told[1..], [format!("{prompt} end_turn")]);
    });
}

/// The process dies while the report is made.
#[test]
fn given_a_report_under_way_when_the_process_dies_then_the_prompt_fails_once() {
    each_way(|scene| {
        let prompt = runs(scene, "/mcp", "Own words");
        over(scene);
        scene.dies(1);
        let answer = scene.answer(prompt).expect("an answer");
        assert!(answer.starts_with("error -32603"), "{answer}");
    });
}

/// A turn of the model that is cancelled shows nothing that a report would have.
#[test]
fn given_a_command_when_cancelled_before_its_end_then_it_is_cancelled_and_nothing_is_asked() {
    each_way(|scene| {
        let prompt = runs(scene, "/mcp", "Own words");
        scene.cancel();
        scene.says([aborted(of(&[1])), state("idle")]);
        assert_eq!(shown(scene), [format!("{prompt} cancelled")]);
        assert!(!scene.desk.host.waits("mcp_status"));
    });
}

fn titles(scene: &mut Scene) -> Vec<String> {
    let all = scene.desk.take();
    let told = all.iter().map(|it| &it["params"]["update"]);
    told.filter(|it| it["sessionUpdate"] == "session_info_update")
        .map(|it| it["title"].as_str().unwrap().to_owned())
        .collect()
}

fn described(scene: &Scene) -> Vec<String> {
    let lines = scene.desk.to_host.iter();
    let all = lines.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|it| it["request"]["subtype"] == "generate_session_title")
        .map(|it| it["request"]["description"].as_str().unwrap().to_owned())
        .collect()
}

/// Section 14: the first words that mean something to the model are named, once.
#[test]
fn given_a_first_prompt_when_sent_then_its_first_1000_characters_are_named_once() {
    each_way(|scene| {
        scene.desk.host.by_hand("generate_session_title");
        let long = "x".repeat(1_001);
        scene.prompt(&long);
        scene.prompt("two");
        assert_eq!(described(scene), [&long[1..]]);
        scene.desk.take();
        scene.replies(
            "generate_session_title",
            &json!({ "title": "y".repeat(257) }),
        );
        assert_eq!(titles(scene), ["y".repeat(256)]);
    });
}

/// As recorded (`slash-custom`): the model makes no name; the words are it, at the turn's end.
#[test]
fn given_no_name_of_the_model_when_the_turn_ends_then_the_prompt_is_the_title() {
    each_way(|scene| {
        scene.desk.host.by_hand("generate_session_title");
        scene.prompt("/say-it  to\nme");
        scene.desk.take();
        scene.replies("generate_session_title", &json!({ "title": null }));
        assert_eq!(titles(scene), [""; 0]);
        scene.takes(1, &words::NEW);
        scene.says([start("msg_1"), done(1), state("idle")]);
        assert_eq!(titles(scene), ["/say-it to me"]);
    });
}

/// As recorded (`slash-context`): a command of the program's own is not named; the end of
/// what it said is, when its turn is over.
#[test]
fn given_a_command_of_the_programs_own_when_first_then_what_was_said_is_named_at_its_end() {
    each_way(|scene| {
        scene.desk.host.by_hand("generate_session_title");
        scene.prompt("/context");
        assert_eq!(described(scene), [""; 0]);
        scene.takes(1, &words::NEW);
        let said = "z".repeat(1_200);
        scene.says(answer_frames("msg_1", &[&said]));
        scene.says([done(1), state("idle")]);
        assert_eq!(described(scene), ["z".repeat(1_000)]);
    });
}
