//! What commands in the background print, in editors with terminals.

use airlock_engine::limits;
use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use super::kit::{agreed, calls, told, with};

const PATH: &str = "/out/t1.output";

/// The result of a command that runs on, and writes there.
pub fn runs_on(call: &str, task: &str, path: &str) -> Value {
    let text = format!(
        "Command running in background with ID: {task}. Output is being written to: {path}. \
         You will be notified when it completes."
    );
    let structured = json!({ "stdout": "", "stderr": "", "backgroundTaskId": task });
    words::with(
        words::tool_result(call, &text),
        json!({ "tool_use_result": structured }),
    )
}

fn terminals() -> Value {
    json!({ "_meta": { "terminal_output": true } })
}

fn frame(subtype: &str, more: Value) -> Value {
    let task = json!({ "task_id": "t1", "tool_use_id": "bash" });
    words::system(subtype, words::with(task, more))
}

fn begins(scene: &mut Scene) {
    scene.says([
        calls("msg_1", "bash", "Bash", &json!({ "command": "sleep 9" })),
        frame(
            "task_started",
            json!({ "task_type": "local_bash", "description": "Sleep",
                    "is_backgrounded": true }),
        ),
        runs_on("bash", "t1", PATH),
    ]);
    told(scene);
}

fn writes(scene: &mut Scene, bytes: &[u8]) {
    let content = scene.desk.files.content.entry(PATH.to_owned()).or_default();
    content.extend_from_slice(bytes);
}

fn ends(scene: &mut Scene) {
    scene.says([frame(
        "task_updated",
        json!({ "patch": { "status": "completed" } }),
    )]);
}

/// What came to the terminal: its output, and how it closed.
fn terminal(scene: &mut Scene) -> Vec<Value> {
    let all = told(scene).into_iter();
    let metas = all.map(|(_, it)| it["_meta"].clone());
    metas
        .filter_map(|meta| {
            let exit = meta.get("terminal_exit").cloned();
            let data = meta["terminal_output"].get("data").cloned();
            exit.or(data)
        })
        .collect()
}

fn exit() -> Value {
    json!({ "terminal_id": "bash", "exit_code": null, "signal": null })
}

/// Section 12
#[test]
fn given_a_command_in_the_background_when_it_prints_then_that_is_shown_until_it_ends() {
    with(&terminals(), |scene| {
        begins(scene);
        writes(scene, b"one\n");
        scene.wait(limits::CLAUDE_OUTPUT_MS - 1);
        assert_eq!(terminal(scene), [""; 0]);
        scene.wait(1);
        assert_eq!(terminal(scene), ["one\n"]);
        scene.wait(limits::CLAUDE_OUTPUT_MS);
        assert_eq!(terminal(scene), [""; 0], "nothing new");
        writes(scene, "zw\u{f6}lf".as_bytes().split_at(3).0);
        scene.wait(limits::CLAUDE_OUTPUT_MS);
        writes(scene, "zw\u{f6}lf".as_bytes().split_at(3).1);
        assert_eq!(terminal(scene), ["zw"], "half a character waits");
        ends(scene);
        assert_eq!(terminal(scene), [json!("\u{f6}lf"), exit()]);
        assert_eq!(scene.desk.files.open(), 0);
        scene.wait(10_000);
        assert_eq!(terminal(scene), [""; 0]);
    });
}

/// 256 KiB a look; past 1 MiB only the end, and that is said.
#[test]
fn given_much_output_when_looked_at_then_it_comes_in_parts_and_the_middle_may_be_left_out() {
    let size = |scene: &mut Scene| {
        let all = terminal(scene);
        all.iter()
            .map(|it| it.as_str().unwrap().len() as u64)
            .sum::<u64>()
    };
    with(&terminals(), |scene| {
        begins(scene);
        let much = usize::try_from(limits::CLAUDE_OUTPUT_READ).unwrap() + 10;
        writes(scene, &vec![b'x'; much]);
        scene.wait(limits::CLAUDE_OUTPUT_MS);
        assert_eq!(size(scene), limits::CLAUDE_OUTPUT_READ);
        scene.wait(limits::CLAUDE_OUTPUT_MS);
        assert_eq!(size(scene), 10);
    });
    let mut scene = Scene::plain();
    scene.desk.capabilities = terminals();
    scene.begin();
    scene.prompt("one");
    scene.takes(1, &words::NEW);
    begins(&mut scene);
    let more = limits::CLAUDE_OUTPUT_BACKLOG + 1;
    writes(&mut scene, &vec![b'x'; usize::try_from(more).unwrap()]);
    scene.wait(limits::CLAUDE_OUTPUT_MS);
    let left = more - limits::CLAUDE_OUTPUT_READ;
    let all = terminal(&mut scene);
    assert_eq!(all[0], format!("\n[{left} bytes of output left out]\n"));
    let rest: usize = all[1..].iter().map(|it| it.as_str().unwrap().len()).sum();
    assert_eq!(rest as u64, limits::CLAUDE_OUTPUT_READ);
}

#[test]
fn given_a_command_that_ended_before_its_result_when_that_comes_then_all_is_shown_at_once() {
    with(&terminals(), |scene| {
        writes(scene, b"quick\n");
        scene.says([
            calls("msg_1", "bash", "Bash", &json!({ "command": "sleep 0" })),
            frame(
                "task_started",
                json!({ "task_type": "local_bash", "is_backgrounded": true }),
            ),
        ]);
        ends(scene);
        told(scene);
        scene.says([runs_on("bash", "t1", PATH)]);
        let all = terminal(scene);
        assert_eq!(all[1..], [json!("quick\n"), exit()]);
    });
}

#[test]
fn given_a_file_that_is_not_there_or_not_allowed_when_the_command_ends_then_its_terminal_does() {
    with(&terminals(), |scene| {
        begins(scene);
        scene.wait(3 * limits::CLAUDE_OUTPUT_MS);
        ends(scene);
        assert_eq!(terminal(scene), [exit()]);
    });
}

#[test]
fn given_a_command_in_the_background_when_the_session_closes_then_nothing_is_left_open() {
    with(&terminals(), |scene| {
        begins(scene);
        writes(scene, b"one\n");
        scene.wait(limits::CLAUDE_OUTPUT_MS);
        scene.close();
        let before = scene.desk.files.log.len();
        scene.wait(10_000);
        assert_eq!(scene.desk.files.log.len(), before);
        assert_eq!(scene.desk.files.open(), 0);
    });
}

/// Section 6: the terminal closes on the screen, too.
#[test]
fn given_a_command_in_the_background_when_the_conversation_is_reset_then_its_terminal_ends() {
    with(&terminals(), |scene| {
        begins(scene);
        scene.says([json!({ "type": "conversation_reset" })]);
        assert_eq!(terminal(scene), [exit()]);
        assert_eq!(scene.desk.files.open(), 0);
    });
}

#[test]
fn given_a_client_without_terminals_when_a_command_prints_then_no_file_is_read() {
    with(&json!({}), |scene| {
        begins(scene);
        scene.wait(10_000);
        assert!(scene.desk.files.log.is_empty());
    });
}

/// Another provider takes the process away, and with it what runs in the background: the user
/// reads why, on the card that began it and beside, in every form.
#[test]
fn given_a_command_in_the_background_when_a_provider_is_set_then_the_user_reads_why_it_ended() {
    const WHY: &str = "\"Sleep\" ended, because another provider was set. \
                       Ask for it again if you still need it.";
    let text = json!({ "type": "content", "content": { "type": "text", "text": WHY } });
    let card = |more: Value| {
        let card = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "bash",
                           "status": "failed", "content": [text] });
        words::with(card, more)
    };
    let named = json!({ "claudeCode": { "toolName": "Bash" } });
    let shown = json!({ "type": "terminal", "terminalId": "bash" });
    let said = json!({ "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": format!("**Task ended:** {WHY}") } });
    let over = json!({ "sessionUpdate": "async_task_state_update", "asyncTaskId": "t1",
                       "state": "failed", "summary": WHY });
    let with_exit = words::with(named.clone(), json!({ "terminal_exit": exit() }));
    let rows = [
        (
            json!({}),
            vec![card(json!({ "_meta": named })), said.clone()],
        ),
        (
            terminals(),
            vec![
                card(json!({ "_meta": with_exit, "content": [shown, text] })),
                said.clone(),
            ],
        ),
        (agreed(&["asyncTasks"]), vec![card(json!({})), said, over]),
    ];
    for (client, expected) in rows {
        with(&client, |scene| {
            begins(scene);
            scene.says([words::done(1), words::state("idle")]);
            told(scene);
            let params = json!({ "providerId": "main", "apiType": "anthropic",
                                 "baseUrl": "https://first.example" });
            scene.desk.request("providers/set", &params);
            scene.settle();
            let mut shown: Vec<Value> = told(scene).into_iter().map(|(_, it)| it).collect();
            for it in &mut shown {
                it.as_object_mut().unwrap().remove("messageId");
            }
            shown.retain(|it| it.get("sessionUpdate").is_some());
            assert_eq!(shown, expected, "{client}");
        });
    }
}
