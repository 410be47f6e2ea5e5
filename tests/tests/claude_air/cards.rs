//! Tool cards: what changed and nothing twice, each fact in one field.

use airlock_tests::scripted_cli::words;
use serde_json::{Value, json};

use crate::kit::{agreed, air, calls, card, hook, keys, plainly, streams, updates, with};

const FILE: &str = "/srv/maka-work/f.txt";

fn result(id: &str, content: &str, structured: &Value) -> Value {
    words::with(
        words::tool_result(id, content),
        json!({ "tool_use_result": structured }),
    )
}

/// Recording bash-allow.air: the terminal, the title of the command, no field twice.
#[test]
fn given_a_command_when_it_streams_and_ends_then_each_update_has_what_is_new() {
    with(&air(), |scene| {
        let pieces = [
            r#"{"command":"ls","descr"#,
            r#"iption":"List","tim"#,
            r#"eout":9}"#,
        ];
        streams(scene, "t", "Bash", &pieces);
        let printed = json!({ "stdout": "one", "stderr": "", "interrupted": false });
        scene.says([
            hook("h", "t", "PostToolUse", json!({ "tool_response": printed })),
            result("t", "one", &printed),
        ]);
        let terminal = json!([{ "type": "terminal", "terminalId": "t" }]);
        let meta = json!({ "claudeCode": { "toolName": "Bash" },
                           "terminal_info": { "terminal_id": "t" } });
        let input = json!({ "command": "ls", "description": "List", "timeout": 9 });
        let exit = json!({ "terminal_id": "t", "exit_code": 0, "signal": null });
        assert_eq!(
            updates(scene),
            [
                card(
                    true,
                    "t",
                    json!({ "name": "Bash", "status": "pending", "title": "Terminal",
                    "kind": "execute", "content": terminal, "_meta": meta })
                ),
                card(false, "t", json!({ "title": "ls" })),
                card(
                    false,
                    "t",
                    json!({ "_meta": keys(json!({ "commandTitle": "List" })) })
                ),
                card(false, "t", json!({ "rawInput": input })),
                card(
                    false,
                    "t",
                    json!({ "_meta": {
                    "terminal_output_delta": { "terminal_id": "t", "data": "one" } } })
                ),
                card(
                    false,
                    "t",
                    json!({ "status": "completed", "_meta": { "terminal_exit": exit } })
                ),
            ]
        );
    });
}

/// Section 6.3: an exit code is a number, even of a command that was stopped.
#[test]
fn given_commands_without_an_exit_code_when_they_end_then_it_is_a_number_all_the_same() {
    with(&air(), |scene| {
        scene.says([calls("t", "Bash", &json!({ "command": "ls" }))]);
        let mut stopped = words::tool_result("t", "killed");
        stopped["message"]["content"][0]["is_error"] = json!(true);
        scene.says([stopped]);
        let told = updates(scene).pop().unwrap();
        assert_eq!(told["_meta"]["terminal_exit"]["exit_code"], 1);
    });
}

/// Keys `subagent`, `skill`, `mcp`, `is_mcp_tool_call`; none of them for other clients.
#[test]
fn given_calls_of_special_tools_when_told_then_their_marks_stand_in_the_meta_of_air_alone() {
    let rows = [
        (
            "Task",
            json!({ "description": "d", "prompt": "p" }),
            keys(json!({ "subagent": true })),
        ),
        (
            "Skill",
            json!({ "skill": "verify" }),
            keys(json!({ "skill": { "name": "verify" } })),
        ),
        (
            "mcp__mini__add",
            json!({ "a": 2 }),
            words::with(
                json!({ "is_mcp_tool_call": true }),
                keys(json!({ "mcp": { "server": "mini", "tool": "add" } })),
            ),
        ),
    ];
    // A client without child sessions: the call itself is the card.
    let client = agreed(&["rawInputRendering"], json!({}));
    for (name, input, meta) in rows {
        let own = json!({ "claudeCode": { "toolName": name } });
        with(&client, |scene| {
            scene.says([calls("t", name, &input)]);
            let told = updates(scene);
            assert_eq!(told[0]["_meta"], words::with(own.clone(), meta.clone()));
            assert_eq!(told[0]["content"], json!([]), "the editor shows the input");
            assert_eq!(told[0]["rawInput"], input);
        });
        plainly(|scene| {
            scene.says([calls("t", name, &input)]);
            assert_eq!(updates(scene)[0]["_meta"], own);
        });
    }
}

/// Key `skill.path`, from what the process says of its skills.
#[test]
fn given_skills_with_files_when_one_is_loaded_then_its_file_is_told() {
    let client = agreed(&[], json!({}));
    with(&client, |scene| {
        let skills = json!({ "skills": { "skillFrontmatter": [
            { "name": "mine", "path": "/srv/skills/mine/SKILL.md", "source": "userSettings" } ] } });
        // The answer that came by itself knew of none.
        scene.desk.host.by_hand("get_context_usage");
        scene.says([json!({ "type": "system", "subtype": "commands_changed", "commands": [] })]);
        scene.replies("get_context_usage", &skills);
        scene.desk.take();
        scene.says([calls("t", "Skill", &json!({ "skill": "mine" }))]);
        let skill = json!({ "name": "mine", "path": "/srv/skills/mine/SKILL.md" });
        let air = &updates(scene)[0]["_meta"]["jetbrains"]["air"];
        assert_eq!(air["skill"], skill);
    });
}

/// Without `rawInputRendering` one copy of what the user is to read stands on the card.
#[test]
fn given_input_to_read_when_the_editor_does_not_show_it_then_the_card_does() {
    let input = json!({ "description": "d", "prompt": "look" });
    with(&agreed(&[], json!({})), |scene| {
        scene.says([calls("t", "Task", &input)]);
        let text = json!([{ "type": "content", "content": { "type": "text", "text": "look" } }]);
        assert_eq!(updates(scene)[0]["content"], text);
    });
}

/// Recording edit-allow.air: the text of files is in the diff alone; a result that nothing
/// shows is `rawOutput`; what was read is not copied.
#[test]
fn given_read_and_edit_when_they_end_then_no_fact_stands_in_two_fields() {
    with(&air(), |scene| {
        let read = json!({ "file_path": FILE });
        let edit = json!({ "replace_all": false, "file_path": FILE, "old_string": "b",
                           "new_string": "B" });
        scene.says([calls("r", "Read", &read), calls("e", "Edit", &edit)]);
        let answer = json!({ "filePath": FILE, "oldString": "b", "newString": "B",
            "originalFile": "a\nb\n", "userModified": false, "replaceAll": false,
            "structuredPatch": [{ "oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2,
                                  "lines": [" a", "-b", "+B"] }] });
        let text = json!({ "type": "text", "file": { "filePath": FILE, "content": "a\nb\n",
            "numLines": 2, "startLine": 1, "totalLines": 2 } });
        scene.says([
            result("r", "1\ta\n2\tb", &text),
            hook("h", "e", "PostToolUse", json!({ "tool_response": answer })),
            result("e", "updated", &answer),
        ]);
        let patch = "diff --git a/srv/maka-work/f.txt b/srv/maka-work/f.txt\n--- a/srv/maka-work/f.txt\n+++ b/srv/maka-work/f.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
        let patch = json!({ "version": 1, "format": "git_patch", "text": patch });
        let diff = json!([{ "type": "diff", "path": FILE, "oldText": null, "newText": "",
                            "_meta": keys(json!({ "diffPatch": patch })) }]);
        let snippet = json!([{ "type": "diff", "path": FILE, "oldText": "b", "newText": "B" }]);
        let name = |name: &str| json!({ "claudeCode": { "toolName": name } });
        assert_eq!(
            updates(scene),
            [
                card(
                    true,
                    "r",
                    json!({ "name": "Read", "status": "pending", "title": "Read f.txt",
                    "kind": "read", "content": [], "rawInput": read, "_meta": name("Read"),
                    "locations": [{ "path": FILE, "line": 1 }] })
                ),
                card(
                    true,
                    "e",
                    json!({ "name": "Edit", "status": "pending", "title": "Edit f.txt",
                    "kind": "edit", "content": snippet, "_meta": name("Edit"),
                    "rawInput": { "replace_all": false, "file_path": FILE },
                    "locations": [{ "path": FILE }] })
                ),
                card(false, "r", json!({ "status": "completed" })),
                card(
                    false,
                    "e",
                    json!({ "content": diff, "locations": [{ "path": FILE, "line": 1 }] })
                ),
                card(
                    false,
                    "e",
                    json!({ "status": "completed", "rawOutput": "updated" })
                ),
            ]
        );
    });
}

/// Diff patch: without it, and where no exact patch can be made, the hunks stand there.
#[test]
fn given_a_change_that_is_no_patch_when_the_hook_comes_then_the_hunks_are_shown() {
    let hunks = json!([{ "oldStart": 1, "newStart": 1, "lines": ["-b", "+B"] }]);
    let answer = |original: &str, modified: bool| {
        json!({ "filePath": FILE, "oldString": "b", "newString": "B", "originalFile": original,
                "userModified": modified, "replaceAll": false, "structuredPatch": hunks })
    };
    let rows = [
        (air(), answer("b\r\n", false)),
        (air(), answer("b\n", true)),
        (
            agreed(&["rawInputRendering"], json!({})),
            answer("b\n", false),
        ),
    ];
    for (client, answer) in rows {
        with(&client, |scene| {
            let input = json!({ "file_path": FILE, "old_string": "b x", "new_string": "B x" });
            scene.says([
                calls("e", "Edit", &input),
                hook("h", "e", "PostToolUse", json!({ "tool_response": answer })),
            ]);
            let told = updates(scene).pop().unwrap();
            let hunk = json!([{ "type": "diff", "path": FILE, "oldText": "b", "newText": "B" }]);
            assert_eq!(told["content"], hunk);
        });
    }
}

/// Key `toolResponse`: of what a tool answers, `status` and `isAsync` alone.
#[test]
fn given_answers_of_tools_when_the_hook_comes_then_only_the_markers_are_told() {
    with(&air(), |scene| {
        scene.says([calls("t", "Agentless", &json!({ "a": 1 }))]);
        scene.desk.take();
        let answer = json!({ "status": "async_launched", "isAsync": true, "more": "text" });
        scene.says([hook(
            "h",
            "t",
            "PostToolUse",
            json!({ "tool_response": answer }),
        )]);
        let markers = json!({ "toolResponse": { "status": "async_launched", "isAsync": true } });
        assert_eq!(
            updates(scene),
            [card(
                false,
                "t",
                json!({ "_meta": { "claudeCode": markers } })
            )]
        );
        scene.says([hook(
            "i",
            "t",
            "PostToolUse",
            json!({ "tool_response": { "more": 1 } }),
        )]);
        assert_eq!(updates(scene), Vec::<Value>::new());
    });
}

/// Section 6.3: NotebookEdit is an edit of a cell.
#[test]
fn given_a_cell_when_it_is_edited_then_the_card_is_an_edit_of_it() {
    let input = json!({ "notebook_path": "/srv/maka-work/n.ipynb", "cell_id": "c1",
                        "new_source": "x = 1" });
    with(&agreed(&[], json!({})), |scene| {
        scene.says([calls("t", "NotebookEdit", &input)]);
        let told = updates(scene).pop().unwrap();
        assert_eq!(
            (&told["kind"], &told["title"]),
            (&json!("edit"), &json!("Edit cell c1 in n.ipynb"))
        );
        assert_eq!(told["content"][0]["content"]["text"], "```\nx = 1\n```");
    });
    plainly(|scene| {
        scene.says([calls("t", "NotebookEdit", &input)]);
        let told = updates(scene).pop().unwrap();
        assert_eq!(
            (&told["kind"], &told["title"]),
            (&json!("other"), &json!("NotebookEdit"))
        );
    });
}

/// Recording exit-plan-approve.air: an approved plan is a document of its own; the file of a
/// plan stands for it, where the editor opens it.
#[test]
fn given_a_plan_when_it_is_approved_then_it_is_a_document_and_its_file_is_named() {
    let input = json!({ "plan": "# Plan\n", "planFilePath": "/srv/plans/p.md" });
    let plans = json!({ "plan": {} });
    let rows = [
        (
            agreed(&["planFile", "rawInputRendering"], plans.clone()),
            json!({ "planFilePath": "/srv/plans/p.md" }),
        ),
        (agreed(&["rawInputRendering"], plans), input.clone()),
    ];
    for (client, shown) in rows {
        with(&client, |scene| {
            scene.says([calls("t", "ExitPlanMode", &input)]);
            scene.says([result("t", "User has approved", &json!({ "plan": null }))]);
            let document =
                json!({ "type": "markdown", "planId": "plan-mode:t", "content": "# Plan" });
            assert_eq!(
                updates(scene),
                [
                    card(
                        true,
                        "t",
                        json!({ "name": "ExitPlanMode", "status": "pending",
                        "title": "Approve Plan", "kind": "switch_mode", "content": [],
                        "rawInput": shown, "_meta": { "claudeCode": { "toolName": "ExitPlanMode" } } })
                    ),
                    card(
                        false,
                        "t",
                        json!({ "status": "completed", "title": "Exited Plan Mode" })
                    ),
                    json!({ "sessionUpdate": "plan_update", "plan": document }),
                ]
            );
        });
    }
}

/// A plan that was turned down: why is `rawOutput` alone, and there is no document.
#[test]
fn given_a_plan_when_it_is_turned_down_then_the_reason_is_no_text_of_the_card() {
    with(&air(), |scene| {
        scene.says([calls("t", "ExitPlanMode", &json!({ "plan": "# Plan" }))]);
        scene.desk.take();
        let mut no = words::tool_result("t", "No, keep planning");
        no["message"]["content"][0]["is_error"] = json!(true);
        scene.says([no]);
        assert_eq!(
            updates(scene),
            [card(
                false,
                "t",
                json!({ "status": "failed", "rawOutput": "No, keep planning" })
            )]
        );
    });
}

/// Tool table: a plan that repeats the one before is not sent to AIR.
#[test]
fn given_the_same_todos_twice_when_told_then_air_gets_them_once() {
    let todos = json!({ "todos": [{ "content": "a", "status": "pending" }] });
    let play = |scene: &mut airlock_tests::scripted_cli::Scene| {
        scene.says([
            calls("a", "TodoWrite", &todos),
            calls("b", "TodoWrite", &todos),
        ]);
        updates(scene).len()
    };
    with(&air(), |scene| assert_eq!(play(scene), 1));
    plainly(|scene| assert_eq!(play(scene), 2));
}

/// Keys `nonExecutionKind`, `userFeedback`: for every client.
#[test]
fn given_calls_that_did_not_run_when_their_results_come_then_the_reason_is_told() {
    let refused = |scene: &mut airlock_tests::scripted_cli::Scene| {
        scene.says([calls("t", "Other", &json!({ "a": 1 }))]);
        scene.desk.take();
        let mut result = words::tool_result("t", "no");
        result["message"]["content"][0]["is_error"] = json!(true);
        let about = json!([{ "id": "t", "non_execution_kind": "user-rejected",
                             "user_feedback": "not now" }]);
        scene.says([words::with(result, json!({ "tool_result_meta": about }))]);
        updates(scene).pop().unwrap()["_meta"]["claudeCode"].clone()
    };
    let reason = json!({ "nonExecutionKind": "user-rejected", "userFeedback": "not now" });
    with(&air(), |scene| assert_eq!(refused(scene), reason));
    plainly(|scene| {
        let named = words::with(json!({ "toolName": "Other" }), reason.clone());
        assert_eq!(refused(scene), named);
    });
}

/// Plan file: a plan whose call named no file gets the one that the program tells at the end.
#[test]
fn given_a_plan_without_a_file_when_the_result_names_one_then_the_editor_is_told() {
    let file = json!({ "planFilePath": "/srv/plans/p.md" });
    let rows = [
        (
            json!({ "plan": "# Plan", "filePath": "/srv/plans/p.md" }),
            Some(&file),
        ),
        (json!({ "plan": null, "filePath": "/srv/plans/p.md" }), None),
    ];
    for (told, shown) in rows {
        with(&air(), |scene| {
            scene.says([calls("t", "ExitPlanMode", &json!({}))]);
            scene.desk.take();
            scene.says([result("t", "User has approved", &told)]);
            assert_eq!(updates(scene)[0].get("rawInput"), shown);
        });
    }
}
