//! Prompts: how one that failed is told, which files one changed, goals, instructions.

use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use crate::kit::{agreed, air, each_way_with, keys, plainly, requests, updates, with};

/// The answer to the first prompt.
fn answer(scene: &mut Scene) -> Value {
    let all = scene.desk.take();
    let of_prompt = |it: &&Value| it.get("method").is_none();
    all.iter().find(of_prompt).cloned().unwrap_or_default()
}

fn fails(kind: &str, text: &str) -> Vec<Value> {
    let copy = words::assistant("msg_e", text);
    let copy = words::with(copy, json!({ "error": kind }));
    let failed = json!({ "is_error": true, "result": text, "terminal_reason": "api_error",
                         "stop_reason": "stop_sequence" });
    let result = words::result(words::with(failed, words::of(&[1])));
    vec![copy, result]
}

/// Key `sessionFailure`, recording err-400.air; the table of section 17.
#[test]
fn given_a_prompt_that_fails_when_air_keeps_records_then_the_failure_rides_on_the_answer() {
    let rows: [(&str, &str, &[&str]); 10] = [
        ("unknown", "service", &["retry"]),
        ("server_error", "service", &["retry"]),
        ("overloaded", "service", &["retry"]),
        ("cloud_credential_error", "service", &["retry"]),
        ("rate_limit", "limit", &["retry"]),
        ("billing_error", "limit", &[]),
        ("account_on_hold", "limit", &[]),
        ("max_output_tokens", "limit", &["new_session"]),
        ("invalid_request", "request", &[]),
        ("model_not_found", "request", &[]),
    ];
    for (kind, category, actions) in rows {
        with(&agreed(&["sessionFailure"], json!({})), |scene| {
            scene.says(fails(kind, "API Error: no"));
            let turn = scene.desk.host.users[0]["uuid"]
                .as_str()
                .unwrap()
                .to_owned();
            let all = scene.desk.take();
            let shown =
                |it: &&Value| it["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
            assert_eq!(all.iter().filter(shown).count(), 0, "the record says it");
            let answer = all.iter().find(|it| it.get("method").is_none()).unwrap();
            let result = &answer["result"];
            assert_eq!(result["stopReason"], "end_turn");
            assert_eq!(result["usage"]["totalTokens"], 15);
            assert!(result["_meta"]["quota"].is_object());
            let failure = json!({ "id": format!("{turn}:error"), "revision": 1,
                "category": category, "severity": "error", "title": "API Error: no",
                "actions": actions });
            let air = &result["_meta"]["jetbrains"]["air"];
            assert_eq!(
                air,
                &json!({ "version": 1, "sessionFailure": failure }),
                "{kind}"
            );
        });
    }
}

/// Kinds `budget_exhausted` and `context_exhausted`: a new session may do what this one may
/// not.
#[test]
fn given_a_prompt_at_a_limit_when_air_keeps_records_then_a_new_session_is_proposed() {
    for kind in ["error_max_budget_usd", "error_max_turns"] {
        with(&agreed(&["sessionFailure"], json!({})), |scene| {
            let failed = json!({ "subtype": kind, "is_error": true, "errors": ["No more."] });
            scene.says([words::result(words::with(failed, words::of(&[1])))]);
            let answer = answer(scene);
            let failure = &answer["result"]["_meta"]["jetbrains"]["air"]["sessionFailure"];
            assert_eq!(
                (&failure["category"], &failure["title"]),
                (&json!("limit"), &json!("No more."))
            );
            assert_eq!(failure["actions"], json!(["new_session"]));
        });
    }
}

/// Section 17: who has to sign in gets the error as ever, and so do clients without records.
#[test]
fn given_a_prompt_that_fails_when_there_are_no_records_then_it_is_an_error() {
    let login = "Not logged in \u{b7} Please run /login";
    with(&agreed(&["sessionFailure"], json!({})), |scene| {
        scene.says(fails("authentication_failed", login));
        let all = scene.desk.take();
        let error = all.iter().find(|it| it.get("error").is_some()).unwrap();
        assert_eq!(error["error"]["code"], -32000);
    });
    with(&agreed(&[], json!({})), |scene| {
        scene.says(fails("unknown", "API Error: no"));
        assert_eq!(
            answer(scene)["error"]["data"],
            json!({ "errorKind": "unknown" })
        );
    });
}

/// A refusal is an answer, also for those who keep records.
#[test]
fn given_a_refusal_when_air_keeps_records_then_its_words_are_shown() {
    with(&agreed(&["sessionFailure"], json!({})), |scene| {
        let mut frames = fails("invalid_request", "API Error: not this");
        frames[0]["message"]["stop_reason"] = json!("refusal");
        frames[1]["stop_reason"] = json!("refusal");
        scene.says(frames);
        let told = scene.desk.take();
        let chunk = &told[0]["params"]["update"];
        assert_eq!(chunk["content"]["text"], "API Error: not this");
        assert_eq!(told.last().unwrap()["result"]["stopReason"], "refusal");
    });
}

/// Kind `transport_lost`: the process ends under a prompt, and under the next one.
#[test]
fn given_a_process_that_dies_when_air_keeps_records_then_a_new_session_is_proposed() {
    with(&agreed(&["sessionFailure"], json!({})), |scene| {
        scene.dies(1);
        let failure = |answer: &Value| {
            answer["result"]["_meta"]["jetbrains"]["air"]["sessionFailure"].clone()
        };
        let first = failure(&answer(scene));
        assert_eq!(
            (&first["category"], &first["actions"]),
            (&json!("connection"), &json!(["new_session"]))
        );
        scene.prompt("two");
        assert_eq!(failure(&answer(scene))["category"], "connection");
    });
}

/// Kind `internal_error`: the process is done, but said nothing of the prompt.
#[test]
fn given_a_prompt_without_a_result_when_air_keeps_records_then_it_is_ours() {
    with(&agreed(&["sessionFailure"], json!({})), |scene| {
        scene.says([words::state("idle")]);
        let answer = answer(scene);
        let failure = &answer["result"]["_meta"]["jetbrains"]["air"]["sessionFailure"];
        assert_eq!(failure["category"], "service");
        assert_eq!(failure["actions"], json!(["retry", "new_session"]));
    });
}

/// Asks with a prompt which files it changes.
fn reporting(client: &Value, request: &Value, play: impl Fn(&mut Scene)) {
    each_way_with(
        client,
        |scene| scene.desk.host.by_hand("rewind_files"),
        |scene| {
            ask(scene, request);
            scene.takes(1, &words::NEW);
            scene.desk.take();
            play(scene);
        },
    );
}

fn ask(scene: &mut Scene, request: &Value) {
    let meta = keys(json!({ "agentFileChangeReportRequest": request }));
    let params = json!({ "sessionId": scene.session, "_meta": meta,
                         "prompt": [{ "type": "text", "text": "one" }] });
    scene.desk.request("session/prompt", &params);
    scene.settle();
}

/// What was reported, and how the prompt ended: in that order.
fn reported(scene: &mut Scene) -> (Value, Value) {
    let all = scene.desk.take();
    let of = |it: &Value| {
        it["params"]["update"]["_meta"]["jetbrains"]["air"]["agentFileChangeReport"].clone()
    };
    let at = all.iter().position(|it| !of(it).is_null());
    let end = all
        .iter()
        .position(|it| it["result"]["stopReason"].is_string());
    let Some(end) = end else {
        return (Value::Null, Value::Null);
    };
    assert!(at.is_none_or(|at| at < end), "the report comes first");
    let report = at.map(|at| of(&all[at])).unwrap_or_default();
    (report, all[end]["result"]["stopReason"].clone())
}

fn wanted() -> Value {
    json!({ "version": 1, "requestId": "r:1" })
}

/// Keys `agentFileChangeReportRequest`, `agentFileChangeReport`.
#[test]
fn given_a_prompt_whose_files_are_asked_for_when_it_ends_then_they_come_before_its_answer() {
    reporting(&air(), &wanted(), |scene| {
        scene.says([words::done(1)]);
        assert_eq!(
            reported(scene),
            (Value::Null, Value::Null),
            "the answer waits"
        );
        let turn = scene.desk.host.users[0]["uuid"].clone();
        let asked = json!({ "subtype": "rewind_files", "user_message_id": turn, "dry_run": true });
        assert_eq!(requests(scene, "rewind_files"), [asked]);
        let files = [
            "/srv/maka-work/a",
            "/srv/maka-work",
            "/srv/maka-works/b",
            "/etc/x",
            "/srv/maka-work/../x",
            "/srv/maka-work/a\u{7}",
        ];
        scene.replies(
            "rewind_files",
            &json!({ "canRewind": true, "filesChanged": files }),
        );
        let report = json!({ "version": 1, "requestId": "r:1", "status": "reported",
            "paths": ["/srv/maka-work/a"], "declaredComplete": false, "truncated": true });
        assert_eq!(reported(scene), (report, json!("end_turn")));
        assert!(scene.desk.armed().is_empty());
    });
}

/// Limits of a report: 1,024 paths, 4,096 characters, 256 KiB.
#[test]
fn given_more_files_than_a_report_holds_when_told_then_the_rest_is_left_out_and_said() {
    let root = "/srv/maka-work/";
    let path =
        |length: usize, at: usize| format!("{root}{at:0>width$}", width = length - root.len());
    let many =
        |count: usize, length: usize| (0..count).map(|at| path(length, at)).collect::<Vec<_>>();
    let rows = [
        (many(1_024, 20), 1_024, false),
        (many(1_025, 20), 1_024, true),
        (many(1, 4_096), 1, false),
        (many(1, 4_097), 0, true),
        (many(63, 4_096), 63, false),
        (many(64, 4_096), 63, true),
    ];
    for (files, told, truncated) in rows {
        reporting(&air(), &wanted(), |scene| {
            scene.says([words::done(1)]);
            scene.replies(
                "rewind_files",
                &json!({ "canRewind": true, "filesChanged": files }),
            );
            let (report, _) = reported(scene);
            assert!(report.to_string().len() <= 256 << 10);
            assert_eq!(report["paths"].as_array().unwrap().len(), told);
            assert_eq!(report["truncated"], truncated);
        });
    }
}

/// Unavailable reports: the reason, and the answer all the same.
#[test]
fn given_a_prompt_whose_files_are_not_known_when_it_ends_then_the_report_says_why() {
    let report = |reason: &str| {
        json!({ "version": 1, "requestId": "r:1", "status": "unavailable",
                "declaredComplete": false, "truncated": false, "reason": reason })
    };
    type Step = fn(&mut Scene);
    let rows: [(&str, &str, Step); 5] = [
        ("cancelled", "cancelled", |scene| {
            scene.cancel();
            scene.says([words::aborted(words::of(&[1]))]);
        }),
        ("timeout", "end_turn", |scene| {
            scene.says([words::done(1)]);
            scene.wait(1_999);
            assert_eq!(reported(scene).1, Value::Null);
            scene.wait(1);
        }),
        ("invalidOutput", "end_turn", |scene| {
            scene.says([words::done(1)]);
            scene.replies(
                "rewind_files",
                &json!({ "canRewind": false, "error": "no checkpoint" }),
            );
        }),
        ("providerError", "end_turn", |scene| {
            scene.says([words::done(1)]);
            scene.dies(1);
        }),
        ("providerError", "end_turn", |scene| {
            scene.says(fails("unknown", "no"))
        }),
    ];
    for (reason, stop, step) in rows {
        reporting(&air(), &wanted(), |scene| {
            step(scene);
            assert_eq!(reported(scene), (report(reason), json!(stop)), "{reason}");
        });
    }
}

/// What is no request is ignored: of another version, with more keys, with odd names, asked
/// before, or of a client that did not agree.
#[test]
fn given_requests_that_are_none_when_the_prompt_ends_then_it_is_answered_at_once() {
    let long = "x".repeat(129);
    let rows = [
        (air(), json!({ "version": 2, "requestId": "r" })),
        (air(), json!({ "version": 1, "requestId": "r", "more": 1 })),
        (air(), json!({ "version": 1, "requestId": "r 1" })),
        (air(), json!({ "version": 1, "requestId": "" })),
        (air(), json!({ "version": 1, "requestId": long })),
        (air(), json!("r")),
        (agreed(&[], json!({})), wanted()),
        (json!({}), wanted()),
    ];
    for (client, request) in rows {
        reporting(&client, &request, |scene| {
            scene.says([words::done(1)]);
            assert_eq!(reported(scene), (Value::Null, json!("end_turn")));
        });
    }
    reporting(&air(), &wanted(), |scene| {
        scene.says([words::done(1)]);
        scene.replies(
            "rewind_files",
            &json!({ "canRewind": true, "filesChanged": [] }),
        );
        scene.desk.take();
        ask(scene, &wanted());
        scene.takes(2, &words::NEW);
        scene.says([words::done(2)]);
        assert_eq!(reported(scene), (Value::Null, json!("end_turn")));
    });
}

/// The process keeps what was before only for those who may ask.
#[test]
fn given_a_client_that_asks_for_files_when_the_process_starts_then_it_keeps_checkpoints() {
    let keeps = |scene: &Scene| {
        let effects = scene.desk.calls.iter().flat_map(|call| &call.effects);
        let text: Vec<String> = effects.map(|it| format!("{it:?}")).collect();
        text.iter()
            .any(|it| it.contains("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"))
    };
    each_way_with(&air(), |_| {}, |scene| assert!(keeps(scene)));
    each_way_with(
        &agreed(&[], json!({})),
        |_| {},
        |scene| assert!(!keeps(scene)),
    );
}

/// Key `customInstructions`: for the model, from those who agreed.
#[test]
fn given_instructions_of_the_user_when_a_session_is_made_then_the_model_gets_them() {
    let made = |scene: &mut Scene| {
        let meta = keys(json!({ "customInstructions": "Be brief." }));
        let params = json!({ "cwd": "/srv/maka-work", "mcpServers": [], "_meta": meta });
        scene.desk.request("session/new", &params);
        scene.settle();
        requests(scene, "initialize").pop().unwrap()["appendSystemPrompt"].clone()
    };
    each_way_with(&air(), |_| {}, |scene| assert_eq!(made(scene), "Be brief."));
    each_way_with(
        &json!({}),
        |_| {},
        |scene| assert_eq!(made(scene), Value::Null),
    );
}

fn goal(scene: &mut Scene, action: &str, objective: Value) -> Value {
    let mut params = json!({ "sessionId": scene.session, "action": action });
    if !objective.is_null() {
        params["objective"] = objective;
    }
    scene.desk.take();
    let id = scene.desk.request("_session/goal", &params);
    scene.settle();
    let all = scene.desk.take();
    let answer = all
        .iter()
        .find(|it| it["id"] == id)
        .cloned()
        .unwrap_or_default();
    let mut told = all
        .iter()
        .map(|it| &it["params"]["update"]["_meta"]["jetbrains"]["air"]);
    let told = told.find_map(|it| it.get("goal")).cloned();
    json!({ "answer": answer.get("result").or(answer.get("error")), "goal": told })
}

fn active(objective: &str, more: Value) -> Value {
    let own = json!({ "objective": objective, "status": "active",
                      "controlMethod": "_session/goal" });
    words::with(own, more)
}

fn said(scene: &Scene) -> Value {
    let user = scene.desk.host.users.last().unwrap();
    json!([user["message"]["content"][0]["text"], user.get("priority")])
}

/// Key `goal` and `_session/goal`: into the turn that runs, else as a prompt of its own.
#[test]
fn given_a_goal_when_it_is_set_and_cleared_then_the_agent_is_told_and_so_is_the_editor() {
    with(&air(), |scene| {
        let set = goal(scene, "set", json!(" Ship it "));
        assert_eq!(
            set,
            json!({ "answer": {}, "goal": active("Ship it", json!({})) })
        );
        assert_eq!(said(scene), json!(["/goal Ship it", "now"]));
        let clear = goal(scene, "clear", Value::Null);
        assert_eq!(clear, json!({ "answer": {}, "goal": null }));
        assert_eq!(said(scene), json!(["/goal clear", "now"]));
    });
    each_way_with(
        &air(),
        |_| {},
        |scene| {
            let set = goal(scene, "set", json!("Ship it"));
            assert_eq!(set["answer"], json!({}));
            assert_eq!(said(scene), json!(["/goal Ship it", null]));
        },
    );
}

/// `active_goal`: what the process says counts, but not of an earlier goal.
#[test]
fn given_a_goal_when_the_process_tells_how_it_stands_then_the_newest_is_told() {
    let state = |objective: &str, iterations: u64| {
        let goal = json!({ "condition": objective, "iterations": iterations, "set_at": 17,
                           "last_reason": "Tests", "tokens_at_start": 1 });
        json!({ "type": "active_goal", "value": goal })
    };
    let told = |scene: &mut Scene| -> Vec<Value> {
        let all = updates(scene).into_iter();
        all.map(|it| it["_meta"]["jetbrains"]["air"]["goal"].clone())
            .collect()
    };
    with(&air(), |scene| {
        goal(scene, "set", json!("New"));
        scene.says([
            state("Old", 3),
            state("New", 1),
            state("New", 1),
            state("New", 2),
        ]);
        let one = json!({ "iterations": 1, "lastReason": "Tests", "createdAt": 17 });
        let two = json!({ "iterations": 2, "lastReason": "Tests", "createdAt": 17 });
        assert_eq!(told(scene), [active("New", one), active("New", two)]);
        scene.says([json!({ "type": "active_goal", "value": null })]);
        assert_eq!(told(scene), [Value::Null]);
    });
    plainly(|scene| {
        scene.says([state("New", 1)]);
        assert_eq!(updates(scene), Vec::<Value>::new());
    });
}

/// A wish that fails leaves what there was.
#[test]
fn given_a_goal_when_its_prompt_fails_then_the_one_before_is_told_again() {
    each_way_with(
        &air(),
        |_| {},
        |scene| {
            scene.prompt("/goal New");
            scene.takes(1, &words::NEW);
            scene.desk.take();
            scene.says(fails("unknown", "no"));
            let told = updates(scene);
            assert_eq!(told[0]["_meta"], keys(json!({ "goal": null })));
        },
    );
}

/// `_session/goal`: what is no goal is refused, and nothing is said to the agent.
#[test]
fn given_goals_that_are_none_when_asked_then_they_are_refused() {
    with(&air(), |scene| {
        for (action, objective) in [
            ("set", Value::Null),
            ("set", json!("  ")),
            ("pause", Value::Null),
        ] {
            let refused = goal(scene, action, objective);
            assert_eq!(refused["answer"]["code"], -32602, "{action}");
        }
        scene.session = "other".into();
        assert_eq!(goal(scene, "clear", Value::Null)["answer"]["code"], -32002);
        assert_eq!(scene.desk.host.users.len(), 1);
    });
}
