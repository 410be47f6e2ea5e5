//! Subagents as child sessions (`subagents`).

use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use super::kit::{
    AGENT, CALL, begins, calls, chunk, chunk_of_agent, hook, inside, launches, may, native,
    notified, of_agent, requests, root, started, state, task, told, updated, with,
};

fn option(id: &str, name: &str, more: Value, value: Value) -> Value {
    words::with(
        json!({ "type": "select", "id": id, "name": name, "currentValue": value["value"],
                "options": [value] }),
        more,
    )
}

fn agent() -> Value {
    let value = json!({ "value": "general-purpose", "name": "general-purpose" });
    let about = json!({ "description": "Subagent type" });
    option("agent", "Agent", about, value)
}

fn model() -> Value {
    let value = json!({ "value": "default", "name": "Default (recommended)" });
    option("model", "Model", json!({ "category": "model" }), value)
}

fn set(options: Value) -> Value {
    json!({ "sessionUpdate": "config_option_update", "configOptions": options })
}

/// `subagent-native.v1`
#[test]
fn given_child_sessions_when_a_subagent_works_then_all_of_it_is_told_in_its_session() {
    with(&native(), |scene| {
        begins(scene, false);
        let letter = json!({ "sessionUpdate": "session_message", "messageId": CALL,
                             "senderSessionId": "root", "recipientSessionId": AGENT,
                             "content": [{ "type": "text", "text": "Read it" }] });
        assert_eq!(
            told(scene),
            [
                root(
                    json!({ "sessionUpdate": "subagent_update", "sessionId": AGENT,
                            "title": "Look", "description": "general-purpose",
                            "capabilities": { "cancel": {} }, "state": { "state": "running" } })
                ),
                root(words::with(
                    letter.clone(),
                    json!({ "recipientMessageId": CALL })
                )),
                inside(words::with(letter, json!({ "senderMessageId": CALL }))),
            ]
        );
        scene.says([
            hook("SubagentStart", json!({ "agent_type": "general-purpose" })),
            of_agent(words::assistant("msg_2", "Reading.")),
            hook(
                "PreToolUse",
                json!({ "permission_mode": "default", "effort": { "level": "low" } }),
            ),
            of_agent(calls(
                "msg_2",
                "read",
                "Read",
                &json!({ "file_path": "/a" }),
            )),
            of_agent(words::tool_result("read", "text")),
        ]);
        let mode = option(
            "mode",
            "Mode",
            json!({ "category": "mode", "description": "Session permission mode" }),
            json!({ "value": "default", "name": "Manual",
                    "description": "Always ask before making changes" }),
        );
        let effort = option(
            "effort",
            "Effort",
            json!({ "category": "thought_level", "description": "Current reasoning effort" }),
            json!({ "value": "low", "name": "Low" }),
        );
        let of = json!({ "_meta": { "claudeCode": { "parentToolUseId": CALL } } });
        let card = json!({ "toolName": "Read", "parentToolUseId": CALL });
        assert_eq!(
            told(scene),
            [
                inside(set(json!([agent()]))),
                inside(words::with(set(json!([model(), agent()])), of)),
                inside(chunk_of_agent("Reading.", "msg_2")),
                inside(set(json!([mode, model(), effort, agent()]))),
                inside(json!({ "sessionUpdate": "tool_call", "toolCallId": "read",
                               "name": "Read", "title": "Read /a", "kind": "read",
                               "status": "pending", "content": [],
                               "locations": [{ "path": "/a", "line": 1 }],
                               "rawInput": { "file_path": "/a" },
                               "_meta": { "claudeCode": card.clone() } })),
                inside(
                    json!({ "sessionUpdate": "tool_call_update", "toolCallId": "read",
                               "status": "completed", "rawOutput": "text",
                               "content": [{ "type": "content",
                                   "content": { "type": "text", "text": "```\ntext\n```" } }],
                               "_meta": { "claudeCode": card } })
                ),
            ]
        );
        scene.says([
            updated("completed"),
            notified("completed", "Done."),
            words::with(
                words::tool_result(CALL, "the frame"),
                json!({ "tool_use_result": { "status": "completed", "agentId": AGENT,
                        "content": [{ "type": "text", "text": "Done." }] } }),
            ),
        ]);
        assert_eq!(
            told(scene),
            [
                state(json!({ "state": "idle", "stopReason": "end_turn" })),
                root(json!({ "sessionUpdate": "session_message",
                             "messageId": "call:reply", "senderSessionId": AGENT,
                             "recipientSessionId": "root",
                             "content": [{ "type": "text", "text": "Done." }] })),
            ]
        );
    });
}

/// Section 12: what a client has to say so that this is asked of the process.
#[test]
fn given_child_sessions_when_the_process_is_greeted_then_it_tells_all_and_spares_them() {
    with(&native(), |scene| {
        let greeting = &requests(scene, "initialize")[0];
        assert_eq!(greeting["forwardSubagentText"], true);
        assert_eq!(greeting["perTaskStopAffordance"], true);
        let hooks = greeting["hooks"].as_object().unwrap();
        let more = [
            "PostToolUseFailure",
            "PreToolUse",
            "SubagentStart",
            "SubagentStop",
        ];
        assert!(more.iter().all(|name| hooks.contains_key(*name)));
    });
    with(&json!({}), |scene| {
        let greeting = &requests(scene, "initialize")[0];
        assert_eq!(greeting["forwardSubagentText"], false);
        assert_eq!(greeting["perTaskStopAffordance"], Value::Null);
        let hooks = greeting["hooks"].as_object().unwrap();
        let more = [
            "PostToolUseFailure",
            "PreToolUse",
            "SubagentStart",
            "SubagentStop",
        ];
        assert!(!more.iter().any(|name| hooks.contains_key(*name)));
    });
}

#[test]
fn given_each_end_of_a_subagent_when_told_then_its_session_says_which_once() {
    let table = [
        (
            "completed",
            json!({ "state": "idle", "stopReason": "end_turn" }),
        ),
        (
            "killed",
            json!({ "state": "idle", "stopReason": "cancelled" }),
        ),
        (
            "stopped",
            json!({ "state": "idle", "stopReason": "cancelled" }),
        ),
        (
            "failed",
            json!({ "state": "idle", "stopReason": "error",
                    "error": { "code": -32603, "message": "The subagent failed." } }),
        ),
    ];
    for (word, expected) in table {
        with(&native(), |scene| {
            begins(scene, true);
            told(scene);
            scene.says([updated(word), notified(word, "")]);
            assert_eq!(told(scene), [state(expected.clone())], "{word}");
        });
    }
}

/// Section 9.1: a cancel names a subagent's session; only that one is stopped.
#[test]
fn given_a_running_subagent_when_its_session_is_cancelled_then_only_its_task_is_stopped() {
    with(&native(), |scene| {
        begins(scene, true);
        scene
            .desk
            .notify("session/cancel", &json!({ "sessionId": AGENT }));
        scene.settle();
        let stop = json!({ "subtype": "stop_task", "task_id": AGENT });
        assert_eq!(requests(scene, "stop_task"), [stop]);
        assert!(requests(scene, "interrupt").is_empty());
        scene.says([updated("killed"), notified("stopped", "Look")]);
        scene
            .desk
            .notify("session/cancel", &json!({ "sessionId": AGENT }));
        scene
            .desk
            .notify("session/cancel", &json!({ "sessionId": "nobody" }));
        scene.settle();
        assert_eq!(requests(scene, "stop_task").len(), 1);
    });
}

/// Section 9.1, step 4: child sessions are left to the process; its workflows are not.
#[test]
fn given_work_in_the_background_when_the_prompt_is_cancelled_then_only_workflows_are_stopped() {
    with(&native(), |scene| {
        begins(scene, true);
        scene.says([words::system(
            "task_started",
            json!({ "task_id": "flow", "task_type": "local_workflow", "tool_use_id": "w",
                    "description": "Flow", "is_backgrounded": true }),
        )]);
        told(scene);
        scene.cancel();
        let stop = json!({ "subtype": "stop_task", "task_id": "flow" });
        assert_eq!(requests(scene, "stop_task"), [stop]);
        assert_eq!(told(scene), []);
    });
}

/// Section 12: `requires_action`, and the question in the subagent's own session.
#[test]
fn given_a_subagent_that_asks_when_the_user_answers_then_its_session_waits_and_goes_on() {
    with(&native(), |scene| {
        begins(scene, true);
        scene.says([of_agent(calls(
            "msg_2",
            "ls",
            "Bash",
            &json!({ "command": "ls" }),
        ))]);
        scene.desk.take();
        scene.says([may("q1", "ls"), may("q2", "ls")]);
        let all = scene.desk.take();
        let asked: Vec<&Value> = all
            .iter()
            .filter(|it| it["method"] == "session/request_permission")
            .collect();
        assert_eq!(asked.len(), 2);
        assert!(asked.iter().all(|it| it["params"]["sessionId"] == AGENT));
        let states = |all: &[Value]| {
            let states = all
                .iter()
                .map(|it| &it["params"]["update"]["state"]["state"]);
            states
                .filter(|it| !it.is_null())
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(states(&all), ["requires_action"]);
        let yes = json!({ "outcome": { "outcome": "selected", "optionId": "allow-once" } });
        scene.desk.reply(&asked[0]["id"], &yes);
        scene.settle();
        assert_eq!(
            states(&scene.desk.take()),
            [""; 0],
            "another question is open"
        );
        scene.says([json!({ "type": "control_cancel_request", "request_id": "q2" })]);
        assert_eq!(states(&scene.desk.take()), ["running"]);
    });
}

/// Section 9.4: output of work that was stopped announces nothing; a subagent that runs on is
/// announced before anything of it.
#[test]
fn given_a_reported_cancel_when_subagents_speak_then_only_those_that_run_on_are_heard() {
    with(&native(), |scene| {
        scene.cancel();
        scene.says([words::result(words::with(
            json!({ "terminal_reason": "aborted_streaming" }),
            words::of(&[1]),
        ))]);
        told(scene);
        scene.says([
            launches(),
            started(false),
            of_agent(words::assistant("msg_2", "No.")),
        ]);
        assert_eq!(told(scene), []);
        let on = json!({ "tasks": [{ "task_id": AGENT, "run_id": "run-1",
                                     "task_type": "local_agent", "description": "Look" }] });
        scene.says([words::system("background_tasks_changed", on)]);
        scene.says([of_agent(words::assistant("msg_3", "Yes."))]);
        let kinds: Vec<(String, String)> = told(scene)
            .into_iter()
            .map(|(session, update)| {
                (
                    session,
                    update["sessionUpdate"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        let kind = |session: &str, kind: &str| (session.to_owned(), kind.to_owned());
        assert_eq!(
            kinds,
            [
                kind("root", "subagent_update"),
                kind("root", "session_message"),
                kind(AGENT, "session_message"),
                kind(AGENT, "config_option_update"),
                kind(AGENT, "agent_message_chunk"),
            ]
        );
    });
}

/// A subagent that the process never announced is known by its call.
#[test]
fn given_no_frame_of_the_task_when_a_subagent_speaks_then_its_call_says_what_it_is() {
    with(&native(), |scene| {
        scene.says([launches(), of_agent(words::assistant("msg_2", "Here."))]);
        let told = told(scene);
        assert_eq!(told[0].1["title"], "Look");
        assert_eq!(told[0].1["description"], "general-purpose");
        assert_eq!(told[1].1["content"][0]["text"], "Read it");
        assert_eq!(told.last(), Some(&inside(chunk_of_agent("Here.", "msg_2"))));
    });
}

/// Text streams and comes whole: each text once (sections 6.1 and 9.5).
#[test]
fn given_a_streamed_text_of_a_subagent_when_its_whole_copy_comes_then_only_the_rest_is_new() {
    with(&native(), |scene| {
        begins(scene, false);
        told(scene);
        scene.says([
            words::start_in("msg_2", Some(CALL)),
            words::text_in(0, "One ", Some(CALL)),
            of_agent(words::assistant("msg_2", "One two.")),
        ]);
        let said: Vec<Value> = told(scene)
            .into_iter()
            .filter(|(_, it)| it["sessionUpdate"] == "agent_message_chunk")
            .map(|(session, it)| json!([session, it["content"]["text"]]))
            .collect();
        assert_eq!(said, [json!([AGENT, "One "]), json!([AGENT, "two."])]);
    });
}

/// A subagent of a subagent belongs to the one that began it.
#[test]
fn given_a_nested_subagent_when_it_begins_and_ends_then_its_parents_session_is_told() {
    with(&native(), |scene| {
        begins(scene, false);
        let input = json!({ "description": "Deeper", "prompt": "Dig" });
        scene.says([of_agent(calls("msg_2", "inner", "Agent", &input))]);
        told(scene);
        let inner = |subtype: &str, more: Value| {
            let task = json!({ "task_id": "deep", "tool_use_id": "inner" });
            words::system(subtype, words::with(task, more))
        };
        scene.says([
            inner(
                "task_started",
                json!({ "task_type": "local_agent", "description": "Deeper" }),
            ),
            inner(
                "task_updated",
                json!({ "patch": { "status": "completed" } }),
            ),
        ]);
        assert_eq!(
            told(scene),
            [
                inside(
                    json!({ "sessionUpdate": "subagent_update", "sessionId": "deep",
                               "title": "Deeper", "capabilities": { "cancel": {} },
                               "state": { "state": "running" } })
                ),
                inside(
                    json!({ "sessionUpdate": "subagent_update", "sessionId": "deep",
                               "state": { "state": "idle", "stopReason": "end_turn" } })
                ),
            ]
        );
    });
}

/// A call that began no subagent is no secret.
#[test]
fn given_a_call_that_fails_before_a_subagent_begins_when_told_then_it_has_a_card() {
    with(&native(), |scene| {
        scene.says([launches()]);
        assert_eq!(told(scene), []);
        let failed = json!([{ "type": "tool_result", "tool_use_id": CALL, "is_error": true,
                              "content": "no such agent" }]);
        scene.says([json!({ "type": "user", "parent_tool_use_id": null,
                            "message": { "role": "user", "content": failed } })]);
        let told = told(scene);
        let facts: Vec<[&Value; 3]> = told
            .iter()
            .map(|(_, it)| [&it["sessionUpdate"], &it["title"], &it["status"]])
            .collect();
        assert_eq!(
            facts,
            [
                [&json!("tool_call"), &json!("Look"), &json!("pending")],
                [&json!("tool_call_update"), &Value::Null, &json!("failed")],
            ]
        );
    });
}

/// A frame of a run that is over changes nothing; a new run takes the session up again.
#[test]
fn given_a_subagent_that_runs_again_when_its_old_run_speaks_then_nobody_hears_it() {
    with(&native(), |scene| {
        begins(scene, true);
        scene.says([updated("completed"), notified("completed", "Done.")]);
        told(scene);
        let again = task(
            "task_started",
            json!({ "run_id": "run-2", "task_type": "local_agent", "tool_use_id": "more",
                    "is_backgrounded": true }),
        );
        scene.says([again]);
        assert_eq!(told(scene), [state(json!({ "state": "running" }))]);
        scene.says([updated("killed"), notified("stopped", "")]);
        assert_eq!(told(scene), []);
        let ended = words::with(updated("completed"), json!({ "run_id": "run-2" }));
        scene.says([ended]);
        assert_eq!(
            told(scene),
            [state(json!({ "state": "idle", "stopReason": "end_turn" }))]
        );
    });
}

/// Section 7: a session that is held for a subagent is held here too.
#[test]
fn given_a_subagent_in_the_background_when_the_turn_is_done_then_its_answer_waits_for_it() {
    let play = |scene: &mut Scene| {
        begins(scene, true);
        scene.says([
            words::tool_result(CALL, "It runs."),
            words::result(words::of(&[1])),
        ]);
        scene.editor();
        scene.told().iter().any(|it| it.ends_with(" end_turn"))
    };
    with(&native(), |scene| assert!(!play(scene)));
    let free = super::kit::agreed(&["nativeSubagentSessions", "backgroundSubagents"]);
    with(&free, |scene| assert!(play(scene)));
}

/// The process is gone: nothing runs any more.
#[test]
fn given_a_running_subagent_when_the_process_dies_then_its_session_has_failed() {
    with(&native(), |scene| {
        begins(scene, true);
        told(scene);
        scene.dies(1);
        let told = told(scene);
        let said = |at: usize| told[at].1.to_string();
        assert_eq!(told.len(), 2);
        assert!(said(0).contains("because Claude Code ended"), "{}", said(0));
        assert_eq!(told[1].1["state"]["stopReason"], "error");
    });
}

/// Section 9.4 and 3.1 row 17: a subagent in the foreground goes with the work that was
/// stopped, one in the background asks on.
#[test]
fn given_a_reported_cancel_when_subagents_want_a_tool_then_only_those_that_run_on_may_ask() {
    for (begun, background) in [(true, false), (false, false), (true, true)] {
        for client in [native(), json!({})] {
            with(&client, |scene| {
                if begun {
                    begins(scene, background);
                }
                scene.cancel();
                scene.says([words::result(words::with(
                    json!({ "terminal_reason": "aborted_tools" }),
                    words::of(&[1]),
                ))]);
                told(scene);
                scene.says([may("q1", "ls")]);
                let kinds: Vec<String> = scene.editor();
                let asked = kinds.iter().any(|it| it.starts_with("REQUEST"));
                assert_eq!(asked, background, "{kinds:?}");
                if background {
                    return assert_eq!(scene.desk.host.answers, [json!(null); 0]);
                }
                assert_eq!(told(scene), [], "no card");
                let denied = json!({ "behavior": "deny", "toolUseID": "ls",
                                     "message": "The user cancelled this prompt." });
                let answer = json!({ "subtype": "success", "request_id": "q1",
                                     "response": denied });
                assert_eq!(scene.desk.host.answers, [answer]);
            });
        }
    }
}

/// Text of the main thread stays where it was.
#[test]
fn given_child_sessions_when_the_main_thread_speaks_then_the_session_itself_is_told() {
    with(&native(), |scene| {
        scene.says([
            words::start("msg_1"),
            words::text_block(0),
            words::text(0, "Hi."),
        ]);
        assert_eq!(told(scene), [root(chunk("Hi.", "msg_1"))]);
    });
}
