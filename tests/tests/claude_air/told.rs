//! What is told besides messages and cards: notices, compactions, records, suggestions, goals,
//! the end of the past.

use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use crate::kit::{agreed, air, card, each_way_with, keys, last, plainly, updates, with};

fn informed(level: &str, text: &str) -> Value {
    words::system(
        "informational",
        json!({ "level": level, "content": text, "uuid": "i" }),
    )
}

/// Section 6, `informational`: a notice where the client shows those, with AIR or without; a
/// record where it keeps those alone; else a message. Info is told to nobody.
#[test]
fn given_something_to_know_when_told_then_it_is_in_the_place_that_the_editor_has() {
    let notices = json!({ "session": { "notices": {} } });
    let notice = json!([
        { "sessionUpdate": "notice", "severity": "warning", "description": "careful",
          "title": "Claude reported a warning" },
        { "sessionUpdate": "notice", "severity": "error", "description": "broken",
          "title": "Claude reported an error" },
        { "sessionUpdate": "notice", "severity": "info", "description": "by the way",
          "title": "Claude reported a notice" },
    ]);
    let chunk = |text: &str, level: &str| {
        let meta = json!({ "claudeCode": { "kind": "informational", "level": level } });
        json!({ "sessionUpdate": "agent_message_chunk", "messageId": "i", "_meta": meta,
                "content": { "type": "text", "text": text } })
    };
    let chunks = json!([
        chunk("**Warning:** careful", "warning"),
        chunk("**Error:** broken", "error"),
        chunk("**Notice:** by the way", "suggestion"),
    ]);
    let rows = [
        (notices.clone(), &notice),
        (agreed(&["sessionFailure"], notices), &notice),
        (agreed(&[], json!({})), &chunks),
        (json!({}), &chunks),
    ];
    for (client, expected) in rows {
        with(&client, |scene| {
            scene.says([
                informed("info", "nothing"),
                informed("warning", "careful"),
                informed("error", "broken"),
                informed("suggestion", "by the way"),
            ]);
            assert_eq!(&json!(updates(scene)), expected);
        });
    }
}

/// Session failure, identity: a notice that comes again is the same incident.
#[test]
fn given_a_client_that_keeps_records_alone_when_told_twice_then_the_record_is_revised() {
    with(&agreed(&["sessionFailure"], json!({})), |scene| {
        scene.says([
            informed("warning", "careful"),
            informed("warning", "careful"),
            informed("error", "broken"),
        ]);
        let told = updates(scene);
        let failure = |at: usize| told[at]["_meta"]["jetbrains"]["air"]["sessionFailure"].clone();
        let id = failure(0)["id"].as_str().unwrap().to_owned();
        let start = format!("{}:notice:", scene.session);
        assert!(id.starts_with(&start) && id.ends_with(":1"), "{id}");
        let record = |id: &str, revision: u64, severity: &str, title: &str| {
            json!({ "id": id, "revision": revision, "category": "unknown", "severity": severity,
                    "title": title, "actions": [] })
        };
        assert_eq!(failure(0), record(&id, 1, "warning", "careful"));
        assert_eq!(failure(1), record(&id, 2, "warning", "careful"));
        let next = format!("{}2", &id[..id.len() - 1]);
        assert_eq!(failure(2), record(&next, 1, "error", "broken"));
    });
}

/// Section 4: Auto mode that the model lacks is a notice.
#[test]
fn given_a_mode_that_the_model_lacks_when_a_prompt_is_sent_then_a_notice_says_so() {
    let set = |scene: &mut Scene| {
        let chosen = json!({ "permissions": { "defaultMode": "auto" } });
        scene.desk.host.settings =
            Some(json!({ "effective": chosen, "sources": [], "applied": {} }));
        let greeting = scene.desk.host.greeting.as_mut().unwrap();
        greeting["models"][0]["supportsAutoMode"] = json!(false);
    };
    each_way_with(&json!({ "session": { "notices": {} } }), set, |scene| {
        scene.desk.take();
        scene.prompt("one");
        let text = "the selected model does not support Auto mode; using Accept edits instead.";
        assert_eq!(
            last(scene, "notice"),
            json!({ "sessionUpdate": "notice", "severity": "warning",
                    "title": "Auto mode unavailable", "description": text })
        );
    });
}

/// Keys `claudeCode.server`, `.status`: a server of the editor's that does not work, once.
#[test]
fn given_mcp_servers_that_fail_when_the_process_says_so_then_each_is_told_once() {
    let begins = |scene: &mut Scene| {
        let server = json!({ "name": "mini", "command": "/bin/mini", "args": [], "env": [] });
        let params = json!({ "cwd": "/srv/maka-work", "mcpServers": [server] });
        let id = scene.desk.request("session/new", &params);
        let answer = scene.desk.answer(id);
        scene.session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
        scene.settle();
        scene.desk.take();
        let mut init = words::init(&words::NEW);
        init["mcp_servers"] = json!([{ "name": "mini", "status": "needs-auth" },
                                     { "name": "other", "status": "failed" }]);
        scene.says([init.clone(), init]);
        updates(scene)
    };
    let text = "The MCP server mini needs you to sign in; its tools are missing.";
    each_way_with(
        &json!({}),
        |_| {},
        |scene| {
            let told = begins(scene);
            assert_eq!(told.len(), 1, "{told:?}");
            let words = format!("**MCP server unavailable:** {text}");
            assert_eq!(told[0]["content"]["text"], words);
            let meta = json!({ "kind": "mcp_server", "server": "mini", "status": "needs-auth" });
            assert_eq!(told[0]["_meta"], json!({ "claudeCode": meta }));
        },
    );
    each_way_with(
        &air(),
        |_| {},
        |scene| {
            let notice = json!({ "sessionUpdate": "notice", "severity": "warning",
                             "title": "MCP server unavailable", "description": text });
            assert_eq!(begins(scene), [notice]);
        },
    );
}

fn compacts(scene: &mut Scene, result: Value) {
    let summary = json!({ "trigger": "manual", "compact_summary": "In short." });
    scene.says([
        words::system("status", json!({ "status": "compacting", "uuid": "c" })),
        crate::kit::hook("h", "", "PostCompact", summary),
        words::system("status", words::with(json!({ "status": null }), result)),
    ]);
}

fn bounded() -> Value {
    let facts =
        json!({ "trigger": "auto", "pre_tokens": 155, "post_tokens": 28, "duration_ms": 9 });
    words::system("compact_boundary", json!({ "compact_metadata": facts }))
}

/// Key `contextCompaction`, recording slash-compact.air; without AIR the same without `_meta`.
#[test]
fn given_a_client_that_shows_compactions_when_one_is_made_then_it_is_told_as_such() {
    let compaction = json!({ "session": { "compaction": {} } });
    let facts = |more: Value| {
        let version = words::with(json!({ "version": 1 }), more);
        json!({ "_meta": keys(json!({ "contextCompaction": version })) })
    };
    let worth =
        json!({ "trigger": "automatic", "preTokens": 155, "postTokens": 28, "durationMs": 9 });
    let update = |status: &str, more: Value| {
        let own =
            json!({ "sessionUpdate": "compaction_update", "compactionId": "c", "status": status });
        words::with(own, more)
    };
    let summary = json!({ "summary": [{ "type": "text", "text": "In short." }] });
    with(&air(), |scene| {
        compacts(scene, json!({ "compact_result": "success" }));
        scene.says([bounded()]);
        assert_eq!(
            updates(scene),
            [
                update("in_progress", facts(json!({}))),
                update("completed", words::with(summary.clone(), facts(json!({})))),
                update("completed", facts(worth.clone())),
            ]
        );
    });
    with(&compaction, |scene| {
        compacts(scene, json!({ "compact_result": "success" }));
        scene.says([bounded()]);
        assert_eq!(
            updates(scene),
            [
                update("in_progress", json!({})),
                update("completed", summary.clone()),
                update("completed", json!({})),
            ]
        );
    });
}

/// Compactions that come to nothing: failed with the reason, or stopped with the work.
#[test]
fn given_a_compaction_when_it_fails_or_is_stopped_then_its_state_says_so() {
    let compaction = json!({ "session": { "compaction": {} } });
    with(&compaction, |scene| {
        compacts(
            scene,
            json!({ "compact_result": "failed", "compact_error": "too long" }),
        );
        let told = updates(scene).pop().unwrap();
        assert_eq!(
            (&told["status"], &told["error"]),
            (&json!("failed"), &json!("too long"))
        );
    });
    with(&compaction, |scene| {
        scene.says([words::system(
            "status",
            json!({ "status": "compacting", "uuid": "c" }),
        )]);
        scene.desk.take();
        scene.cancel();
        assert_eq!(updates(scene)[0]["status"], "cancelled");
    });
}

/// Context compaction, the form of a tool call: for AIR with its facts, for others in
/// `rawOutput`.
#[test]
fn given_a_client_without_compactions_when_one_is_made_then_it_is_a_card() {
    let begun =
        json!({ "title": "Compact conversation", "kind": "think", "status": "in_progress" });
    let names = json!({ "_meta": { "claudeCode": { "toolName": "compact" } } });
    let worth = |trigger: &str| {
        json!({ "trigger": trigger, "preTokens": 155, "postTokens": 28,
                                        "durationMs": 9 })
    };
    let facts = |more: Value| {
        let version = words::with(json!({ "version": 1 }), more);
        keys(json!({ "contextCompaction": version }))
    };
    with(&agreed(&[], json!({})), |scene| {
        compacts(scene, json!({ "compact_result": "success" }));
        scene.says([bounded()]);
        let first = words::with(names["_meta"].clone(), facts(json!({})));
        assert_eq!(
            updates(scene),
            [
                card(
                    true,
                    "c",
                    words::with(begun.clone(), json!({ "_meta": first }))
                ),
                card(
                    false,
                    "c",
                    json!({ "status": "completed", "_meta": facts(json!({})) })
                ),
                card(false, "c", json!({ "_meta": facts(worth("automatic")) })),
            ]
        );
    });
    with(&agreed(&[], json!({})), |scene| {
        compacts(
            scene,
            json!({ "compact_result": "failed", "compact_error": "too long" }),
        );
        let told = updates(scene).pop().unwrap();
        assert_eq!(
            told["content"][0]["content"]["text"],
            "Compaction failed: too long"
        );
        assert_eq!(told["_meta"], facts(json!({ "error": "too long" })));
    });
    plainly(|scene| {
        compacts(scene, json!({ "compact_result": "success" }));
        scene.says([bounded()]);
        let told = updates(scene).pop().unwrap();
        let raw = json!({ "rawOutput": worth("auto") });
        assert_eq!(told, card(false, "c", words::with(raw, names.clone())));
    });
}

/// Key `promptSuggestions`; the process is asked for them for AIR alone.
#[test]
fn given_a_suggestion_when_the_process_makes_one_then_air_alone_is_told() {
    let suggestion = json!({ "type": "prompt_suggestion", "suggestion": "Go on." });
    let asked =
        |scene: &Scene| crate::kit::requests(scene, "initialize")[0]["promptSuggestions"].clone();
    with(&agreed(&[], json!({})), |scene| {
        scene.says([suggestion.clone()]);
        let meta = json!({ "promptSuggestions": { "suggestions": [{ "text": "Go on." }] } });
        let info = json!({ "sessionUpdate": "session_info_update", "_meta": meta });
        assert_eq!(updates(scene), [info]);
        assert_eq!(asked(scene), true);
    });
    plainly(|scene| {
        scene.says([suggestion.clone()]);
        assert_eq!(updates(scene), Vec::<Value>::new());
        assert_eq!(asked(scene), false);
    });
}

/// Key `_claude/rateLimit`: with the figures that there were.
#[test]
fn given_limits_of_the_account_when_the_process_tells_them_then_they_ride_on_the_figures() {
    plainly(|scene| {
        let info = json!({ "status": "allowed_warning", "resetsAt": 1 });
        scene.says([json!({ "type": "rate_limit_event", "rate_limit_info": info })]);
        let told = last(scene, "usage_update");
        let meta = json!({ "_claude/model": words::MODEL, "_claude/rateLimit": info });
        assert_eq!(told["_meta"], meta);
        assert_eq!(
            (&told["used"], &told["size"]),
            (&json!(11), &json!(200_000))
        );
    });
}

fn retry(attempt: u64, status: Value, error: &str) -> Value {
    words::system(
        "api_retry",
        json!({ "attempt": attempt, "max_retries": 10,
        "retry_delay_ms": 5, "error_status": status, "error": error }),
    )
}

/// Recording err-529-recover.air: each attempt is an incident of its own, and may go well.
#[test]
fn given_retries_when_the_process_tells_them_then_air_alone_gets_warnings() {
    with(&agreed(&["sessionFailure"], json!({})), |scene| {
        scene.says([
            retry(1, json!(529), "overloaded"),
            retry(2, Value::Null, "unknown"),
            retry(3, json!(429), "rate_limit"),
            retry(4, json!(401), "authentication_failed"),
        ]);
        let told = updates(scene);
        let failure = |at: usize| told[at]["_meta"]["jetbrains"]["air"]["sessionFailure"].clone();
        let id = failure(0)["id"].as_str().unwrap().to_owned();
        let start = format!("{}:session-error:", scene.session);
        assert!(id.starts_with(&start) && id.ends_with(":1"), "{id}");
        let record = |number: usize, category: &str, title: &str| {
            let id = format!("{}{number}", &id[..id.len() - 1]);
            json!({ "id": id, "revision": 1, "category": category, "severity": "warning",
                    "title": title, "actions": [] })
        };
        assert_eq!(told.len(), 3, "signing in is told by its error");
        assert_eq!(
            failure(0),
            record(1, "service", "Retrying Claude, attempt 1 of 10.")
        );
        let title = "Reconnecting to Claude, attempt 2 of 10.";
        assert_eq!(failure(1), record(2, "connection", title));
        assert_eq!(
            failure(2),
            record(3, "limit", "Retrying Claude, attempt 3 of 10.")
        );
    });
    plainly(|scene| {
        scene.says([retry(1, json!(529), "overloaded")]);
        assert_eq!(updates(scene), Vec::<Value>::new());
    });
}

/// Key `loadReplayEnd`, recording load-resume.air: before the answer, whatever that is.
#[test]
fn given_a_load_when_its_past_was_told_then_air_is_told_that_it_is_over() {
    let id = "00000000-0000-4000-8000-000000000000";
    let ends = |scene: &mut Scene, method: &str| {
        scene.desk.take();
        let params = json!({ "sessionId": id, "cwd": "/srv/maka-work", "mcpServers": [] });
        scene.desk.request(method, &params);
        scene.settle();
        scene.desk.take()
    };
    let home = |scene: &mut Scene| {
        let mut config = airlock_tests::scripted_cli::config();
        config["host"]["environment"] = json!({ "HOME": "/home/me" });
        let host = airlock_tests::scripted_cli::ScriptedCli::default();
        let capabilities = scene.desk.capabilities.clone();
        scene.desk = airlock_tests::Desk::with_config(host, &config);
        scene.desk.host_speaks = false;
        scene.desk.capabilities = capabilities;
        let folder = "/srv/maka-work/x".to_owned();
        scene.desk.files.content.insert(folder, Vec::new());
    };
    let end = json!({ "sessionUpdate": "session_info_update",
                      "_meta": keys(json!({ "loadReplayEnd": true })) });
    each_way_with(&agreed(&["loadReplayEnd"], json!({})), home, |scene| {
        let told = ends(scene, "session/load");
        assert_eq!(told[0]["params"]["update"], end);
        assert_eq!(told[1]["error"]["code"], -32002);
        assert_eq!(ends(scene, "session/resume").len(), 1);
    });
    each_way_with(&agreed(&[], json!({})), home, |scene| {
        assert_eq!(ends(scene, "session/load").len(), 1);
    });
}
