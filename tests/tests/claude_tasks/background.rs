//! Tasks in the background (AIR, async tasks), what Claude does by itself, and calls that
//! end with what they began.

use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use super::kit::{agreed, calls, native, requests, root, told, with};

const TASK: &str = "t1";

fn air() -> Value {
    agreed(&["asyncTasks", "backgroundSubagents"])
}

fn frame(subtype: &str, more: Value) -> Value {
    let task = json!({ "task_id": TASK, "run_id": "run-1" });
    words::system(subtype, words::with(task, more))
}

fn started(more: Value) -> Value {
    let about = json!({ "task_type": "local_bash", "description": "Sleep",
                        "is_backgrounded": true });
    frame("task_started", words::with(about, more))
}

fn called() -> Value {
    started(json!({ "tool_use_id": "bash" }))
}

fn updated(status: &str) -> Value {
    frame("task_updated", json!({ "patch": { "status": status } }))
}

fn list(tasks: &[&str]) -> Value {
    let tasks: Vec<Value> = tasks
        .iter()
        .map(|id| json!({ "task_id": id, "task_type": "local_bash", "description": "Sleep" }))
        .collect();
    words::system("background_tasks_changed", json!({ "tasks": tasks }))
}

fn spawned(more: Value) -> (String, Value) {
    root(words::with(
        json!({ "sessionUpdate": "async_task_spawned", "asyncTaskId": TASK, "name": "Sleep",
                "taskType": "shell", "description": "Sleep", "showInTranscript": false,
                "canStop": true }),
        more,
    ))
}

fn progress(more: Value) -> (String, Value) {
    root(words::with(
        json!({ "sessionUpdate": "async_task_progress", "asyncTaskId": TASK }),
        more,
    ))
}

fn state(state: &str, more: Value) -> (String, Value) {
    root(words::with(
        json!({ "sessionUpdate": "async_task_state_update", "asyncTaskId": TASK,
                "state": state }),
        more,
    ))
}

fn of_bash() -> Value {
    json!({ "toolCallId": "bash" })
}

/// `cancel-bg-after.air.v1`
#[test]
fn given_a_command_in_the_background_when_it_runs_and_ends_then_it_is_a_task_of_its_call() {
    with(&air(), |scene| {
        scene.says([list(&[TASK])]);
        assert_eq!(told(scene), [], "until its call is known");
        scene.says([called()]);
        assert_eq!(told(scene), [spawned(of_bash())]);
        let usage = json!({ "total_tokens": 5, "tool_uses": 1, "duration_ms": 20 });
        let on = json!({ "description": "Sleep", "summary": "half", "usage": usage,
                         "last_tool_name": "Read" });
        scene.says([
            frame("task_progress", on.clone()),
            frame("task_progress", on),
            updated("paused"),
            updated("paused"),
            updated("running"),
        ]);
        let usage = json!({ "totalTokens": 5, "toolUses": 1, "durationMs": 20 });
        assert_eq!(
            told(scene),
            [
                progress(json!({ "summary": "half", "lastToolName": "Read", "usage": usage })),
                state("paused", json!({})),
                state("running", json!({})),
            ]
        );
        scene.says([
            updated("completed"),
            frame(
                "task_notification",
                json!({ "status": "completed", "summary": "exit 0" }),
            ),
            list(&[]),
        ]);
        assert_eq!(told(scene), [state("completed", json!({}))]);
    });
}

#[test]
fn given_a_client_without_the_extension_when_a_task_runs_then_it_is_told_nothing_of_it() {
    for client in [json!({}), native(), agreed(&["backgroundSubagents"])] {
        with(&client, |scene| {
            scene.says([called(), updated("completed"), list(&[])]);
            assert_eq!(told(scene), []);
        });
    }
}

/// async-task-ends-before-tool-id, async-task-released-at-turn-end
#[test]
fn given_a_task_whose_call_nobody_told_when_it_or_the_turn_ends_then_it_is_shown_without() {
    with(&air(), |scene| {
        scene.says([started(json!({}))]);
        assert_eq!(told(scene), []);
        scene.says([frame(
            "task_notification",
            json!({ "status": "failed", "summary": "no" }),
        )]);
        assert_eq!(
            told(scene),
            [
                spawned(json!({ "showInTranscript": true })),
                state("failed", json!({ "summary": "no" })),
            ]
        );
    });
    with(&air(), |scene| {
        scene.says([
            started(json!({})),
            frame("task_progress", json!({ "summary": "half" })),
        ]);
        assert_eq!(told(scene), []);
        scene.says([words::result(words::of(&[1]))]);
        assert_eq!(
            told(scene),
            [
                spawned(json!({ "showInTranscript": true })),
                progress(json!({ "summary": "half" })),
            ]
        );
        scene.says([frame("task_progress", of_call())]);
        assert_eq!(told(scene), [progress(of_bash())]);
    });
}

fn of_call() -> Value {
    json!({ "tool_use_id": "bash" })
}

/// The list of what runs is the authority; a task's own word corrects it.
#[test]
fn given_a_task_that_leaves_the_list_when_its_own_word_comes_later_then_that_stands() {
    with(&air(), |scene| {
        scene.says([called(), list(&[TASK]), list(&[])]);
        assert_eq!(
            told(scene),
            [spawned(of_bash()), state("stopped", json!({}))]
        );
        scene.says([
            updated("completed"),
            updated("completed"),
            updated("failed"),
        ]);
        assert_eq!(told(scene), [state("completed", json!({}))]);
    });
}

#[test]
fn given_a_running_task_when_the_editor_stops_it_then_it_is_stopped_once_and_said() {
    with(&air(), |scene| {
        scene.says([called()]);
        told(scene);
        let stop = |scene: &mut Scene, task: &str| {
            let params = json!({ "sessionId": scene.session, "asyncTaskId": task });
            let id = scene.desk.request("_session/async_task/stop", &params);
            scene.settle();
            let log = scene.desk.log.iter();
            let prefix = format!(r#"< {{"jsonrpc":"2.0","id":{id},"#);
            let answer = log.rev().find(|line| line.starts_with(&prefix));
            let answer = answer.unwrap().strip_prefix("< ").unwrap();
            serde_json::from_str::<Value>(answer).unwrap()["result"]["stopped"].clone()
        };
        assert_eq!(stop(scene, "other"), false);
        assert_eq!(stop(scene, TASK), true);
        assert_eq!(stop(scene, TASK), false, "it is over");
        let asked = json!({ "subtype": "stop_task", "task_id": TASK });
        assert_eq!(requests(scene, "stop_task"), [asked]);
        let told = told(scene);
        assert_eq!(told[0], state("stopped", json!({})));
        assert_eq!(told[1].1["content"]["text"], "Task stopped by user: Sleep.");
        assert_eq!(told.len(), 2);
    });
}

fn kinds(told: &[(String, Value)]) -> Vec<String> {
    let kind = |it: &Value| it["sessionUpdate"].as_str().unwrap().to_owned();
    told.iter().map(|(_, it)| kind(it)).collect()
}

/// `subagent-bg.air.v1`, `cancel-bg-after.air.v1`
#[test]
fn given_the_end_of_a_task_when_claude_goes_on_by_itself_then_that_is_a_task_too() {
    with(&air(), |scene| {
        scene.says([
            called(),
            words::result(words::of(&[1])),
            words::state("idle"),
        ]);
        scene.says([
            updated("completed"),
            frame(
                "task_notification",
                json!({ "status": "completed", "summary": "It is done" }),
            ),
        ]);
        told(scene);
        scene.says([words::state("running")]);
        let told_ = told(scene);
        assert_eq!(told_.len(), 1);
        let id = told_[0].1["asyncTaskId"].as_str().unwrap().to_owned();
        assert!(id.starts_with("autonomous-turn-"), "{id}");
        assert_eq!(
            told_[0],
            root(
                json!({ "sessionUpdate": "async_task_spawned", "asyncTaskId": id,
                         "name": "Claude is working", "taskType": "turn",
                         "description": "It is done", "showInTranscript": false,
                         "canStop": true })
            )
        );
        scene.says([words::requesting(&[])]);
        scene.streams("msg_9", &["Done."]);
        assert_eq!(kinds(&told(scene)), ["agent_message_chunk"]);
        scene.says([words::result(words::by_itself())]);
        let ended = json!({ "sessionUpdate": "async_task_state_update", "asyncTaskId": id,
                            "state": "completed" });
        assert_eq!(told(scene), [root(ended)]);
    });
}

/// What Claude does for a prompt is the prompt's.
#[test]
fn given_a_prompt_when_claude_works_then_that_is_no_task() {
    with(&air(), |scene| {
        scene.says([called(), updated("completed")]);
        scene.says([frame(
            "task_notification",
            json!({ "status": "completed", "summary": "It is done" }),
        )]);
        told(scene);
        scene.says([words::state("running")]);
        scene.streams("msg_1", &["For the prompt."]);
        assert_eq!(kinds(&told(scene)), ["agent_message_chunk"]);
    });
}

#[test]
fn given_what_claude_does_by_itself_when_the_editor_stops_it_then_it_is_interrupted() {
    with(&air(), |scene| {
        scene.says([words::result(words::of(&[1])), words::state("idle")]);
        scene.says([words::requesting(&[]), words::start("msg_2")]);
        let spawned = told(scene);
        let id = spawned[0].1["asyncTaskId"].clone();
        assert_eq!(spawned[0].1["description"], "Claude is working");
        let params = json!({ "sessionId": scene.session, "asyncTaskId": id });
        scene.desk.request("_session/async_task/stop", &params);
        scene.settle();
        assert_eq!(requests(scene, "interrupt").len(), 1);
        let ended = json!({ "sessionUpdate": "async_task_state_update", "asyncTaskId": id,
                            "state": "stopped" });
        assert_eq!(told(scene), [root(ended)]);
        let aborted = json!({ "terminal_reason": "aborted_streaming" });
        scene.says([words::result(words::with(aborted, words::by_itself()))]);
        assert_eq!(told(scene), []);
    });
}

/// A prompt that waits behind it is not what was stopped.
#[test]
fn given_a_prompt_behind_what_claude_does_by_itself_when_that_is_stopped_then_the_prompt_runs() {
    with(&air(), |scene| {
        scene.says([words::result(words::of(&[1])), words::state("idle")]);
        scene.says([words::requesting(&[]), words::start("msg_2")]);
        let id = told(scene)[0].1["asyncTaskId"].clone();
        let prompt = scene.prompt("two");
        let params = json!({ "sessionId": scene.session, "asyncTaskId": id });
        scene.desk.request("_session/async_task/stop", &params);
        scene.settle();
        assert_eq!(requests(scene, "interrupt").len(), 1);
        assert_eq!(requests(scene, "cancel_async_message").len(), 0);
        let aborted = json!({ "terminal_reason": "aborted_streaming" });
        scene.says([
            words::text_block(0),
            words::text(0, "stopped"),
            words::result(words::with(aborted, words::by_itself())),
        ]);
        assert_eq!(scene.answer(prompt), None);
        scene.takes(2, &words::NEW);
        told(scene);
        scene.streams("msg_3", &["Two."]);
        assert_eq!(kinds(&told(scene)), ["agent_message_chunk"]);
        scene.says([words::done(2)]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
    });
}

/// Section 6: the conversation begins anew, and what was shown of it ends first.
#[test]
fn given_a_monitor_that_runs_when_the_conversation_is_reset_then_its_card_ends() {
    with(&json!({}), |scene| {
        scene.says([
            calls("msg_1", "bash", "Monitor", &json!({})),
            started(json!({ "tool_use_id": "bash", "task_type": "monitor" })),
            words::tool_result("bash", "it runs"),
            calls("msg_2", "other", "Read", &json!({ "file_path": "/a" })),
        ]);
        told(scene);
        scene.says([json!({ "type": "conversation_reset" })]);
        let told: Vec<[Value; 2]> = told(scene)
            .into_iter()
            .map(|(_, it)| [it["toolCallId"].clone(), it["status"].clone()])
            .collect();
        let ended = |id: &str| [json!(id), json!("failed")];
        assert_eq!(
            told,
            [ended("bash"), ended("other"), [Value::Null, Value::Null]],
            "the cards, then the plan"
        );
    });
}

/// Section 12: calls of Monitor and Workflow stay in progress.
#[test]
fn given_calls_whose_work_goes_on_when_that_ends_then_so_do_they() {
    let table = [
        ("Monitor", "completed", "completed"),
        ("Workflow", "killed", "failed"),
    ];
    for (tool, end, expected) in table {
        with(&json!({}), |scene| {
            scene.says([
                calls("msg_1", "bash", tool, &json!({})),
                started(json!({ "tool_use_id": "bash", "task_type": "monitor" })),
                words::tool_result("bash", "it runs"),
            ]);
            let statuses = |scene: &mut Scene| {
                let all = told(scene).into_iter();
                let all = all.map(|(_, it)| it["status"].clone());
                all.filter(|it| !it.is_null()).collect::<Vec<_>>()
            };
            assert_eq!(statuses(scene), ["pending", "in_progress"], "{tool}");
            scene.says([updated(end)]);
            assert_eq!(statuses(scene), [expected], "{tool}");
        });
    }
}

/// Section 9.1: what runs on in the background is not closed with the turn.
#[test]
fn given_a_monitor_that_runs_when_the_prompt_is_cancelled_then_its_card_stays_open() {
    with(&json!({}), |scene| {
        scene.says([
            calls("msg_1", "bash", "Monitor", &json!({})),
            started(json!({ "tool_use_id": "bash", "task_type": "monitor" })),
            words::tool_result("bash", "it runs"),
            calls("msg_2", "other", "Read", &json!({ "file_path": "/a" })),
        ]);
        told(scene);
        scene.cancel();
        let aborted = json!({ "terminal_reason": "aborted_streaming" });
        scene.says([words::result(words::with(aborted, words::of(&[1])))]);
        let ended: Vec<Value> = told(scene)
            .into_iter()
            .map(|(_, it)| it["toolCallId"].clone())
            .collect();
        assert_eq!(ended, ["other"]);
    });
}

/// Section 10: the call of a question about the network ends with its answer.
#[test]
fn given_a_question_about_the_network_when_answered_then_its_call_is_over() {
    let reply = |option: &str| json!({ "outcome": { "outcome": "selected", "optionId": option } });
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    let table = [
        (Some(reply("allow-once")), "completed"),
        (Some(reply("reject")), "failed"),
        (Some(cancelled), "failed"),
        (None, "failed"),
    ];
    for (answer, expected) in table {
        with(&json!({}), |scene| {
            let asked = json!({ "subtype": "can_use_tool", "tool_name": "SandboxNetworkAccess",
                                "tool_use_id": "net", "input": { "host": "example.org" } });
            scene.says([json!({ "type": "control_request", "request_id": "q",
                                "request": asked })]);
            let all = scene.desk.take();
            let question = all
                .iter()
                .find(|it| it["method"] == "session/request_permission");
            let id = question.unwrap()["id"].clone();
            match &answer {
                Some(answer) => scene.desk.reply(&id, answer),
                None => {
                    scene.says([json!({ "type": "control_cancel_request", "request_id": "q" })]);
                }
            }
            scene.settle();
            let ended: Vec<Value> = told(scene)
                .into_iter()
                .map(|(_, it)| json!([it["toolCallId"], it["status"]]))
                .collect();
            assert_eq!(ended, [json!(["net", expected])]);
        });
    }
}

/// Section 17: `asyncTasks.backgrounded`, and the file that a command writes to.
#[test]
fn given_the_extension_when_a_command_goes_to_the_background_then_its_card_says_so() {
    let client = words::with(json!({}), air());
    with(&client, |scene| {
        scene.says([
            calls("msg_1", "bash", "Bash", &json!({ "command": "sleep 9" })),
            called(),
        ]);
        told(scene);
        scene.says([super::output::runs_on("bash", TASK, "/out/t1.output")]);
        let told = told(scene);
        assert_eq!(
            told[0],
            progress(json!({ "outputFilePath": "/out/t1.output" }))
        );
        let air = &told[1].1["_meta"]["jetbrains"]["air"];
        assert_eq!(air["asyncTasks"], json!({ "backgrounded": true }));
        assert_eq!(told[1].1["status"], "completed");
    });
}
