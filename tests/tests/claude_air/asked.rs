//! Questions: the smaller request, its presentation, previews of changes, own answers.

use airlock_engine::{Effect, FileArrival, FileDeparture, FileRefusal, Handle, Input};
use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use crate::kit::{agreed, air, calls, keys, plainly, with};

const FILE: &str = "/srv/maka-work/f.txt";

/// The process asks about a tool of its; what the editor is asked.
fn asks(scene: &mut Scene, tool: &str, input: &Value, more: Value) -> Value {
    scene.says([calls("t", tool, input)]);
    scene.desk.take();
    let own = json!({ "tool_name": tool, "display_name": tool, "input": input });
    scene.says([words::can_use_tool("ask-1", "t", words::with(own, more))]);
    let all = scene.desk.take();
    let mut asked = all.into_iter().filter(|it| it.get("id").is_some());
    asked.next().unwrap_or_default()["params"].clone()
}

/// Key `permission`; recordings bash-allow.air and mcp-tool.air: what the editor has already is
/// not asked about again.
#[test]
fn given_a_tool_when_air_is_asked_then_the_request_is_small_and_says_how_to_show_it() {
    let input = json!({ "command": "ls", "description": "List" });
    let more = json!({ "blocked_path": "/srv/maka-work/x", "decision_reason": " needs it ",
                       "default_to_no": true });
    with(&air(), |scene| {
        let asked = asks(scene, "Bash", &input, more.clone());
        let permission = json!({ "version": 1, "title": "ls",
                                 "description": "Reason: needs it", "defaultToNo": true });
        assert_eq!(asked["_meta"], keys(json!({ "permission": permission })));
        assert_eq!(
            asked["toolCall"],
            json!({ "toolCallId": "t", "title": "ls", "rawInput": input,
                    "locations": [{ "path": "/srv/maka-work/x" }] })
        );
    });
    with(&air(), |scene| {
        let server = json!({ "name": "mini", "source": "dynamic" });
        let asked = asks(
            scene,
            "mcp__mini__add",
            &json!({ "a": 2 }),
            json!({ "mcp_server": server }),
        );
        assert_eq!(
            asked["toolCall"],
            json!({ "toolCallId": "t", "title": "mcp__mini__add", "rawInput": { "a": 2 },
                    "_meta": { "claudeCode": { "mcpServer": server } } })
        );
        let permission = json!({ "version": 1, "title": "mcp__mini__add" });
        assert_eq!(asked["_meta"], keys(json!({ "permission": permission })));
    });
    plainly(|scene| {
        let asked = asks(scene, "Bash", &input, more.clone());
        assert_eq!(asked.get("_meta"), None);
        assert_eq!(asked["toolCall"]["status"], "pending");
    });
}

/// Permission presentation: a plan has a heading of its own, and so has an address.
#[test]
fn given_a_plan_when_air_is_asked_then_the_heading_asks_whether_it_is_ready() {
    with(&air(), |scene| {
        let input = json!({ "host": "example.test" });
        let asked = asks(scene, "SandboxNetworkAccess", &input, json!({}));
        assert_eq!(asked["toolCall"]["title"], "example.test");
        let permission = json!({ "version": 1, "title": "example.test" });
        assert_eq!(asked["_meta"], keys(json!({ "permission": permission })));
    });
    with(&air(), |scene| {
        let asked = asks(
            scene,
            "ExitPlanMode",
            &json!({ "plan": "# Plan" }),
            json!({}),
        );
        let permission = json!({ "version": 1, "title": "Ready to code?" });
        assert_eq!(asked["_meta"], keys(json!({ "permission": permission })));
        assert_eq!(asked["toolCall"]["title"], "Approve Plan");
    });
}

fn patch_of(asked: &Value) -> Value {
    let content = &asked["toolCall"]["content"][0];
    content["_meta"]["jetbrains"]["air"]["diffPatch"]["text"].clone()
}

/// Key `diffPatch`, recording edit-allow.air: a change is shown before it is made, as a patch
/// of the file that is there; the hook does not repeat it.
#[test]
fn given_a_change_when_air_is_asked_then_its_patch_is_shown_with_the_question() {
    let head = "diff --git a/srv/maka-work/f.txt b/srv/maka-work/f.txt\n";
    let edit = json!({ "file_path": FILE, "old_string": "b", "new_string": "B" });
    let write = json!({ "file_path": FILE, "content": "c\n" });
    let names = "--- a/srv/maka-work/f.txt\n+++ b/srv/maka-work/f.txt\n";
    let rows = [
        (
            "Edit",
            &edit,
            Some("a\nb\n"),
            format!("{head}{names}@@ -1,2 +1,2 @@\n a\n-b\n+B\n"),
        ),
        (
            "Write",
            &write,
            Some("a\n"),
            format!("{head}{names}@@ -1 +1 @@\n-a\n+c\n"),
        ),
        (
            "Write",
            &write,
            Some(""),
            format!("{head}{names}@@ -0,0 +1 @@\n+c\n"),
        ),
        (
            "Write",
            &write,
            None,
            format!(
                "{head}new file mode 100644\n--- /dev/null\n+++ b/srv/maka-work/f.txt\n@@ -0,0 +1 @@\n+c\n"
            ),
        ),
    ];
    for (tool, input, before, patch) in rows {
        with(&air(), |scene| {
            if let Some(before) = before {
                scene.desk.files.content.insert(FILE.into(), before.into());
            }
            let asked = asks(scene, tool, input, json!({}));
            assert_eq!(patch_of(&asked), patch);
            assert_eq!(scene.desk.files.open(), 0);
            let response = json!({ "filePath": FILE, "content": "c\n", "originalFile": before,
                "oldString": "b", "newString": "B", "replaceAll": false, "userModified": false,
                "structuredPatch": [{ "newStart": 2, "lines": ["-b", "+B"] }] });
            let tool_response = json!({ "tool_response": response });
            scene.says([crate::kit::hook("h", "t", "PostToolUse", tool_response)]);
            let told = crate::kit::updates(scene).pop().unwrap();
            assert_eq!(told.get("content"), None, "the editor has it");
        });
    }
}

/// Diff patch, fallbacks: what cannot be shown exactly is shown as well as it can be; the
/// question is asked all the same.
#[test]
fn given_files_that_are_no_patch_when_air_is_asked_then_the_standard_diff_or_a_word_stands_there() {
    let edit = json!({ "file_path": FILE, "old_string": "b", "new_string": "B" });
    let write = json!({ "file_path": FILE, "content": "c\n" });
    let long = vec![b'x'; 1_048_577];
    let twice = b"b b".to_vec();
    let diff =
        |old: &str| json!([{ "type": "diff", "path": FILE, "oldText": old, "newText": "c\n" }]);
    let notice = "This overwrites an existing file that cannot be shown.";
    let word = json!([{ "type": "content", "content": { "type": "text", "text": notice } }]);
    let slim = json!({ "file_path": FILE });
    let rows = [
        ("Edit", &edit, twice, Value::Null, &slim),
        ("Edit", &edit, b"\xff b".to_vec(), Value::Null, &slim),
        ("Edit", &edit, long.clone(), Value::Null, &slim),
        ("Write", &write, b"a\r\n".to_vec(), diff("a\r\n"), &slim),
        ("Write", &write, b"\xff".to_vec(), word.clone(), &write),
        ("Write", &write, long, word.clone(), &write),
    ];
    for (tool, input, before, content, raw) in rows {
        with(&air(), |scene| {
            scene.desk.files.content.insert(FILE.into(), before.clone());
            let asked = asks(scene, tool, input, json!({}));
            let call = &asked["toolCall"];
            assert_eq!(
                call.get("content").unwrap_or(&Value::Null),
                &content,
                "{tool}"
            );
            assert_eq!(&call["rawInput"], raw);
            assert_eq!(scene.desk.files.open(), 0);
        });
    }
    with(&air(), |scene| {
        scene
            .desk
            .files
            .refused
            .insert(FILE.into(), FileRefusal::NotAllowed);
        assert_eq!(
            asks(scene, "Write", &write, json!({}))["toolCall"]["content"],
            word
        );
    });
}

/// The file that was asked for last.
fn opened(scene: &Scene) -> Handle {
    let effects = scene.desk.calls.iter().flat_map(|call| &call.effects);
    let mut opened = effects.filter_map(|effect| match effect {
        Effect::File(handle, FileDeparture::Open(..)) => Some(*handle),
        _ => None,
    });
    opened.next_back().expect("a file was opened")
}

/// A question that is taken back while its file is read is not asked, and the file is closed.
#[test]
fn given_a_question_when_it_is_taken_back_while_its_file_is_read_then_nobody_is_asked() {
    let edit = json!({ "file_path": FILE, "old_string": "b", "new_string": "B" });
    for gone in [false, true] {
        with(&air(), |scene| {
            scene.desk.files.content.insert(FILE.into(), b"b".to_vec());
            scene.desk.files_answer = false;
            assert_eq!(asks(scene, "Edit", &edit, json!({})), Value::Null);
            if gone {
                scene.dies(1);
            } else {
                scene.says([json!({ "type": "control_cancel_request", "request_id": "ask-1" })]);
            }
            scene.desk.files_answer = true;
            let facts = FileArrival::Facts(scene.desk.files.facts_of(FILE));
            scene.desk.arrives(Input::File(opened(scene), facts));
            scene.settle();
            assert!(scene.desk.asking().is_empty());
            assert_eq!(scene.desk.files.open(), 0);
        });
    }
}

/// Key `customAnswer`, recording ask-user-question.air.
#[test]
fn given_questions_when_air_is_asked_then_the_fields_for_own_answers_are_marked() {
    let options = json!([{ "label": "Red", "description": "r" }]);
    let input =
        json!({ "questions": [{ "question": "Which?", "header": "Color", "options": options }] });
    let form = json!({ "elicitation": { "form": {} } });
    with(&agreed(&[], form.clone()), |scene| {
        let asked = asks(scene, "AskUserQuestion", &input, json!({}));
        let answer = json!({ "questionId": "question_0", "isCustomAnswer": true });
        let properties = &asked["requestedSchema"]["properties"];
        assert_eq!(
            properties["question_0_custom"]["_meta"],
            words::with(
                json!({ "_askUserQuestionCustomAnswer": answer }),
                keys(json!({ "customAnswer": answer }))
            )
        );
        assert_eq!(properties["question_0"].get("_meta"), None);
    });
    crate::kit::each_way_with(
        &form,
        |_| {},
        |scene| {
            scene.working("Let me");
            let asked = asks(scene, "AskUserQuestion", &input, json!({}));
            let properties = &asked["requestedSchema"]["properties"];
            assert_eq!(properties["question_0_custom"].get("_meta"), None);
        },
    );
}

/// Tool table: the card of questions has a heading of its own.
#[test]
fn given_a_single_question_when_its_card_is_told_then_its_heading_is_not_the_question() {
    let input = json!({ "questions": [{ "question": "Which?", "options": [{ "label": "Red" }] }] });
    let title = |scene: &mut Scene| {
        scene.says([calls("t", "AskUserQuestion", &input)]);
        crate::kit::updates(scene).pop().unwrap()["title"].clone()
    };
    with(&air(), |scene| {
        assert_eq!(title(scene), "Asking for your input")
    });
    plainly(|scene| assert_eq!(title(scene), "Which?"));
}
