//! The life of a tool's card: what is told of a call between its beginning and its end,
//! and the bounds (6.3 and 9.1 of the adapter specification).

mod claude_support;

use airlock_engine::host::claude::cards::{Asked, Cards, Ended, Progress, Setting, Told};
use airlock_engine::limits;
use claude_support::{CWD, card, cards, ok, raw, result, text, told};
use serde_json::{Value, json};

/// 6.3: title, kind and places of every tool.
/// 6.3: what stands on the card before there is a result.
/// 6.3: "Malformed" shapes fall back to the tool's name, and nothing is lost.
/// 6.3: what each kind of result puts onto the card.
/// 6.3: `terminal_exit {terminal_id, exit_code, signal:null}`, and what is not known is null.
#[test]
fn given_a_terminal_when_its_command_ends_then_the_exit_code_is_what_the_cli_said() {
    let table = [
        (r#""Exit code 3\nout""#, true, "null", json!(3)),
        (r#""Exit code -1""#, true, "null", json!(-1)),
        (
            r#""User refused permission to run tool""#,
            true,
            "null",
            Value::Null,
        ),
        (r#""out""#, false, r#"{"stdout":"out"}"#, json!(0)),
        (
            r#""out""#,
            false,
            r#"{"stdout":"out","interrupted":true}"#,
            Value::Null,
        ),
    ];
    for (content, is_error, structured, code) in table {
        let (content, structured) = (raw(content), raw(structured));
        let ended = Ended {
            is_error,
            structured: Some(&structured),
            ..ok(&content)
        };
        let told = result(&mut cards(true), "Bash", &json!({"command": "x"}), &ended);
        assert_eq!(told.len(), 2, "{content}");
        assert_eq!(told[0]["_meta"]["terminal_output"]["terminal_id"], "t");
        let exit = json!({ "terminal_id": "t", "exit_code": code, "signal": null });
        assert_eq!(told[1]["_meta"]["terminal_exit"], exit, "{content}");
        assert_eq!(told[1]["content"], Value::Null, "the terminal stays");
    }
}

#[test]
fn given_a_command_that_runs_on_when_it_ends_then_its_terminal_ends_once_and_late() {
    let mut cards = Cards::new(Setting {
        cwd: CWD.into(),
        terminals: true,
        terminal_deltas: true,
        ..Setting::default()
    });
    let (content, structured) = (raw(r#""Runs as b1""#), raw(r#"{"backgroundTaskId":"b1"}"#));
    let ended = Ended {
        structured: Some(&structured),
        ..ok(&content)
    };
    let names = json!({ "toolName": "Bash" });
    let update = |meta: Value| json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "_meta": meta });
    let delta = |data: &str| {
        update(json!({ "terminal_output_delta": { "terminal_id": "t", "data": data } }))
    };
    let mut completed = update(json!({ "claudeCode": names }));
    completed["status"] = "completed".into();
    let all = result(&mut cards, "Bash", &json!({}), &ended);
    assert_eq!(all, [delta("Runs as b1"), completed]);
    assert_eq!(told(|out| cards.terminal_grew("t", "x", out)), [delta("x")]);
    let exit = json!({ "terminal_id": "t", "exit_code": null, "signal": null });
    let over = update(json!({ "claudeCode": names, "terminal_exit": exit }));
    assert_eq!(told(|out| cards.terminal_ended("t", out)), [over]);
    assert!(told(|out| cards.terminal_ended("t", out)).is_empty());
    assert!(told(|out| cards.terminal_grew("t", "x", out)).is_empty());
}

/// 6.3: "an update with nothing new is not sent".
#[test]
fn given_a_call_that_is_told_again_when_nothing_is_new_then_nothing_is_sent() {
    let mut cards = cards(false);
    let input = raw(r#"{"command":"make"}"#);
    cards.began("", 0, "t", "Bash", None, &mut vec![]);
    assert_eq!(
        told(|out| cards.called("t", "Bash", &input, None, out)).len(),
        1
    );
    assert!(told(|out| cards.called("t", "Bash", &input, None, out)).is_empty());
    assert!(told(|out| cards.began("", 0, "t", "Bash", None, out)).is_empty());
    assert!(told(|out| cards.input_grew("", 0, r#"{"a":1,"#, out)).is_empty());
}

/// 6, `tool_progress`: `in_progress`, elapsed time; unknown ids fall back to the parent call.
#[test]
fn given_progress_when_told_then_only_a_call_that_runs_shows_it() {
    let mut cards = cards(false);
    let (input, elapsed) = (raw("{}"), raw("1.5"));
    let progress = Progress {
        elapsed: Some(&elapsed),
        subagent_type: Some("Explore"),
        subagent_retry: None,
    };
    cards.called("t", "Agent", &input, None, &mut vec![]);
    let mut shown = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "status": "in_progress",
        "_meta": { "claudeCode": {
            "toolName": "Agent",
            "toolResponse": { "elapsedTimeSeconds": 1.5, "subagentType": "Explore" },
        } },
    });
    let all = told(|out| cards.progress("child", Some("t"), &progress, out));
    assert_eq!(all, [shown.clone()]);
    shown.as_object_mut().unwrap().remove("status");
    assert_eq!(
        told(|out| cards.progress("t", None, &progress, out)),
        [shown]
    );
    assert!(told(|out| cards.progress("u", None, &progress, out)).is_empty());
    cards.denied("t", None, None, None, &mut vec![]);
    assert!(told(|out| cards.progress("t", None, &progress, out)).is_empty());
    cards.result("t", &ok(&input), &mut vec![]);
    assert!(told(|out| cards.progress("t", None, &progress, out)).is_empty());
}

/// 6, `system/permission_denied`: only for a known call; the result follows.
#[test]
fn given_a_call_that_the_cli_refuses_when_its_result_follows_then_both_are_shown() {
    let mut cards = cards(true);
    let input = raw(r#"{"command":"rm"}"#);
    let deny = |cards: &mut Cards| {
        told(|out| cards.denied("t", Some("rule"), Some("Denied by rule"), Some("No."), out))
    };
    assert!(deny(&mut cards).is_empty());
    cards.called("t", "Bash", &input, Some("p"), &mut vec![]);
    let response = json!({ "decisionReasonType": "rule", "decisionReason": "Denied by rule", "message": "No." });
    let names = json!({ "toolName": "Bash", "parentToolUseId": "p", "toolResponse": response });
    assert_eq!(
        deny(&mut cards),
        [json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "status": "failed",
            "content": text("Permission denied: Denied by rule"),
            "_meta": { "claudeCode": names },
        })]
    );
    let content = raw(r#""No.""#);
    let ended = Ended {
        is_error: true,
        ..ok(&content)
    };
    let exit = json!({ "terminal_id": "t", "exit_code": null, "signal": null });
    assert_eq!(
        told(|out| cards.result("t", &ended, out)),
        [
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "t",
                "_meta": {
                    "claudeCode": { "parentToolUseId": "p" },
                    "terminal_output": { "terminal_id": "t", "data": "No." },
                },
            }),
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "t",
                "content": [{ "type": "terminal", "terminalId": "t" }],
                "_meta": {
                    "claudeCode": { "toolName": "Bash", "parentToolUseId": "p" },
                    "terminal_exit": exit,
                },
            }),
        ]
    );
}

/// 10: "A permission request for an unseen call first sends its `tool_call`".
#[test]
fn given_a_question_about_a_call_that_was_not_seen_when_asked_then_its_card_comes_first() {
    let mut cards = cards(false);
    let input = raw(r#"{"file_path":"/w/f","old_string":"a","new_string":"b"}"#);
    let asked = Asked {
        id: "t",
        name: "Edit",
        input: &input,
        parent: Some("p"),
        blocked_path: Some("/w/f"),
        mcp_server: None,
    };
    let mut out = vec![];
    let report = card(&cards.asked(&asked, &mut out));
    let [Told::Card(first)] = out.as_slice() else {
        panic!("{out:?}")
    };
    assert!(first.first);
    let mut whole = card(first);
    assert_eq!(report, whole, "whole, and the blocked path only once");
    whole["locations"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "path": "/x" }));
    let elsewhere = Asked {
        blocked_path: Some("/x"),
        ..asked
    };
    assert_eq!(card(&cards.asked(&elsewhere, &mut out)), whole);
    assert_eq!(out.len(), 1, "the card is shown already");
}

/// 6.3: a hook after the result still tells the final diff; one of an unknown call nothing.
#[test]
fn given_a_hook_after_the_result_when_it_comes_then_the_diff_is_told_a_hunk_each() {
    let mut cards = cards(false);
    let input = json!({"file_path": "/w/f", "content": "x"});
    let content = raw(r#""done""#);
    result(&mut cards, "Write", &input, &ok(&content));
    let response = raw(r#"{"filePath":"/w/f","structuredPatch":[
        {"newStart":1,"lines":["-a","+b"," c","\\ No newline at end of file"]},
        {"newStart":9,"lines":["+d",7]},{"newStart":20,"lines":[]},5]}"#);
    let diff = |old: Value, new: &str| json!({ "type": "diff", "path": "/w/f", "oldText": old, "newText": new });
    let told_once = told(|out| cards.hooked("t", &response, out));
    let content = json!([diff("a\nc".into(), "b\nc"), diff(Value::Null, "d")]);
    assert_eq!(told_once[0]["content"], content);
    let places = json!([{ "path": "/w/f", "line": 1 }, { "path": "/w/f", "line": 9 }]);
    assert_eq!(told_once[0]["locations"], places);
    assert_eq!(told_once[0]["status"], Value::Null);
    let nothing = raw(r#"{"filePath":"/w/f","structuredPatch":[]}"#);
    let told_again = told(|out| cards.hooked("t", &nothing, out));
    assert_eq!(told_again[0]["content"], Value::Null);
    assert!(told(|out| cards.hooked("u", &response, out)).is_empty());
}

/// 6.3: a new file is all new text from the call on; neither result nor hook says it again.
#[test]
fn given_a_file_that_was_not_there_when_it_is_written_then_its_card_keeps_the_whole_text() {
    let mut cards = cards(false);
    let input = json!({"file_path": "/w/f", "content": "one\ntwo\n"});
    let called = raw(&input.to_string());
    let names = json!({ "claudeCode": { "toolName": "Write" } });
    let first = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "name": "Write", "title": "Write f",
        "kind": "edit", "status": "pending", "rawInput": input, "_meta": names,
        "locations": [{ "path": "/w/f" }],
        "content": [{ "type": "diff", "path": "/w/f", "oldText": null,
                      "newText": "one\ntwo\n" }],
    });
    assert_eq!(
        told(|out| cards.called("t", "Write", &called, None, out)),
        [first]
    );
    let response = json!({ "type": "create", "filePath": "/w/f", "content": "one\ntwo\n",
                           "structuredPatch": [], "originalFile": null });
    let hooked = raw(&response.to_string());
    let update = |meta: &Value| json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "_meta": meta });
    let meta = json!({ "claudeCode": { "toolName": "Write", "toolResponse": response } });
    assert_eq!(
        told(|out| cards.hooked("t", &hooked, out)),
        [update(&meta)],
        "no hunks: the diff stays"
    );
    let content = raw(r#""File created successfully at: /w/f""#);
    let mut over = update(&names);
    over["status"] = "completed".into();
    over["rawOutput"] = "File created successfully at: /w/f".into();
    assert_eq!(told(|out| cards.result("t", &ok(&content), out)), [over]);
}

/// 6.3 and 5: EnterPlanMode changes the mode after success, once, and not for a subagent.
#[test]
fn given_plan_mode_when_entered_then_it_is_told_once_and_only_for_the_main_thread() {
    let input = raw("{}");
    for (parent, is_error, hook, times) in [
        (None, false, true, 1),
        (None, false, false, 1),
        (None, true, false, 0),
        (Some("p"), false, true, 0),
    ] {
        let mut cards = cards(false);
        let all = told(|out| {
            cards.called("t", "EnterPlanMode", &input, parent, out);
            if hook {
                cards.hooked("t", &input, out);
            }
            let ended = Ended {
                is_error,
                ..ok(&input)
            };
            cards.result("t", &ended, out);
        });
        let modes = all.iter().filter(|told| told["planMode"] == true).count();
        assert_eq!(modes, times, "{parent:?} {is_error} {hook}");
    }
}

/// 6.3: TaskUpdate and TaskList on the accumulated plan; TaskGet says nothing.
#[test]
fn given_tasks_when_they_are_renamed_deleted_and_listed_then_the_plan_follows() {
    let mut cards = cards(false);
    let mut calls = 0..;
    let mut act = |name: &str, input: &str, structured: &str| {
        let id = format!("t{}", calls.next().unwrap());
        let (input, structured) = (raw(input), raw(structured));
        let ended = Ended {
            structured: Some(&structured),
            ..ok(&input)
        };
        let mut all = told(|out| {
            cards.called(&id, name, &input, None, out);
            cards.result(&id, &ended, out);
        });
        assert!(all.len() <= 1, "{name}");
        let entries = all.pop().map(|plan| plan["entries"].clone());
        let entries = entries.map(|entries| entries.as_array().unwrap().clone());
        entries.map(|entries| {
            let line = |entry: &Value| format!("{} {}", entry["status"], entry["content"]);
            let lines: Vec<_> = entries.iter().map(line).collect();
            lines.join(", ").replace('"', "")
        })
    };
    let plan = |text: &str| Some(text.to_owned());
    let made = r#"{"task":{"id":"1","subject":"One"}}"#;
    assert_eq!(
        act("TaskCreate", r#"{"activeForm":"Doing"}"#, made),
        plan("pending One")
    );
    let started = r#"{"taskId":"1","status":"in_progress","subject":"Uno"}"#;
    assert_eq!(
        act("TaskUpdate", started, r#"{"success":true}"#),
        plan("in_progress Doing")
    );
    assert_eq!(
        act(
            "TaskUpdate",
            r#"{"taskId":"1","status":"completed"}"#,
            r#"{"success":false}"#
        ),
        None
    );
    assert_eq!(
        act("TaskUpdate", r#"{"taskId":"9","status":"completed"}"#, "{}"),
        None
    );
    assert_eq!(
        act("TaskGet", r#"{"taskId":"1"}"#, r#"{"task":{"id":"1"}}"#),
        None
    );
    let listed = r#"{"tasks":[{"id":"2","subject":"Two","status":"completed"},
        {"id":1,"subject":"Uno","status":"in_progress"},{"id":"3"}]}"#;
    assert_eq!(
        act("TaskList", "{}", listed),
        plan("completed Two, in_progress Doing")
    );
    let gone = r#"{"taskId":"2","status":"deleted"}"#;
    assert_eq!(
        act("TaskUpdate", gone, r#"{"success":true}"#),
        plan("in_progress Doing")
    );
}

/// 9.1: open calls are closed; those of a subagent that runs on are not.
#[test]
fn given_a_cancel_when_calls_are_open_then_each_is_closed_once_but_for_those_kept() {
    let mut cards = cards(true);
    let input = raw("{}");
    let mut out = vec![];
    cards.began("", 0, "never", "Bash", None, &mut out);
    cards.called("ran", "Read", &input, None, &mut out);
    cards.called("kept", "Read", &input, Some("agent"), &mut out);
    cards.called("hidden", "TaskList", &input, None, &mut out);
    cards.called("denied", "Read", &input, None, &mut out);
    cards.denied("denied", None, None, None, &mut out);
    let close = |cards: &mut Cards| told(|out| cards.close_all(|_, parent| parent.is_some(), out));
    let exit = json!({ "terminal_id": "never", "exit_code": null, "signal": null });
    assert_eq!(
        close(&mut cards),
        [
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "never",
                "status": "failed",
                "content": text("Claude stopped this tool call before it ran."),
                "_meta": { "terminal_exit": exit },
            }),
            json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": "ran",
                "status": "failed",
                "content": text("The turn was cancelled before this tool call returned a result."),
            }),
        ]
    );
    assert!(close(&mut cards).is_empty());
    assert!(cards.is_open("kept") && cards.known("ran") && !cards.is_open("ran"));
    let late = raw(r#""late""#);
    assert!(told(|out| cards.result("ran", &ok(&late), out)).is_empty());
    assert!(told(|out| cards.called("ran", "Read", &input, None, out)).is_empty());
}

/// 6.3: the synthetic call of a question of the CLI itself.
#[test]
fn given_a_call_without_a_result_when_it_is_answered_then_it_is_over() {
    for (completed, status) in [(true, "completed"), (false, "failed")] {
        let mut cards = cards(false);
        cards.called("t", "SandboxNetworkAccess", &raw("{}"), None, &mut vec![]);
        let all = told(|out| cards.settled("t", completed, out));
        assert_eq!(all.len(), 1);
        assert_eq!(all[0]["status"], status);
        assert!(!cards.is_open("t"));
        assert!(told(|out| cards.settled("t", completed, out)).is_empty());
    }
}

#[test]
fn given_more_calls_than_may_be_open_when_another_comes_then_the_oldest_is_closed() {
    let mut cards = cards(false);
    let (input, content) = (raw("{}"), raw(r#""x""#));
    for id in 0..limits::CLAUDE_OPEN_CALLS {
        cards.called(&id.to_string(), "Read", &input, None, &mut vec![]);
    }
    let all = told(|out| cards.called("more", "Read", &input, None, out));
    assert_eq!(all[0]["toolCallId"], "0");
    assert_eq!(all[0]["status"], "failed");
    assert_eq!(all[1]["toolCallId"], "more");
    for id in 1..limits::CLAUDE_OPEN_CALLS {
        cards.result(&id.to_string(), &ok(&content), &mut vec![]);
    }
    assert!(cards.is_open("more"));
    let known = (0..limits::CLAUDE_OPEN_CALLS).filter(|id| cards.known(&id.to_string()));
    assert_eq!(known.count() as u64, limits::CLAUDE_ENDED_CALLS);
    let size = serde_json::to_string(&cards).unwrap().len();
    assert!(size < 512 << 10, "{size}");
}
