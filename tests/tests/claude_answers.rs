//! How a prompt is answered: whose result it is, and what that says (Claude adapter, section
//! 7, rows of 3.2).

use airlock_tests::scripted_cli::words::{
    self, aborted, assistant_of, by_itself, done, echo, life, of, requesting, result, state,
    tool_result, with,
};
use airlock_tests::scripted_cli::{Scene, answer_frames, each_way};
use serde_json::{Value, json};

/// The process answers the interrupt: it has nothing of what was taken back.
fn nothing_queued(scene: &mut Scene) {
    scene.replies("interrupt", &json!({ "still_queued": [] }));
}

/// Section 7: what a result says is what the editor is told.
#[test]
fn given_a_result_when_it_says_why_it_ended_then_the_editor_is_told_that() {
    let cases = [
        (json!({ "stop_reason": "max_tokens" }), "max_tokens"),
        (json!({ "stop_reason": "refusal" }), "refusal"),
        (json!({ "subtype": "error_max_turns" }), "max_turn_requests"),
        (
            json!({ "subtype": "error_max_budget_usd" }),
            "max_turn_requests",
        ),
        (json!({ "stop_reason": "stop_sequence" }), "end_turn"),
        (json!({ "stop_reason": null }), "end_turn"),
    ];
    for (says, wanted) in cases {
        each_way(|scene| {
            let prompt = scene.working("Working");
            scene.says([with(done(1), says.clone())]);
            assert_eq!(scene.answer(prompt).as_deref(), Some(wanted), "{says}");
        });
    }
}

/// 3.2: a task's result changes nothing of the user's turn, and says where it comes from.
#[test]
fn given_a_tasks_result_when_it_says_max_tokens_then_the_users_turn_still_ends_well() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        let report = with(by_itself(), json!({ "stop_reason": "max_tokens" }));
        scene.says([result(report), done(1)]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        let origins: Vec<Value> = scene
            .desk
            .updates()
            .map(|update| update["_meta"]["_claude/origin"]["kind"].clone())
            .filter(|kind| !kind.is_null())
            .collect();
        assert_eq!(origins, [json!("task-notification")]);
    });
}

/// 3.2: a command has no echo; its result is its own though an earlier prompt was taken back.
#[test]
fn given_a_prompt_that_was_taken_back_when_a_command_has_its_result_then_that_is_the_commands() {
    each_way(|scene| {
        scene.desk.host.takes_back = Some(true);
        let first = scene.prompt("one");
        scene.cancel();
        assert_eq!(scene.answer(first).as_deref(), Some("cancelled"));
        nothing_queued(scene);
        let command = scene.prompt("/compact");
        scene.says([result(json!({})), state("idle")]);
        assert_eq!(scene.answer(command).as_deref(), Some("end_turn"));
    });
}

/// 3.2: while the prompt may still come, a result without names is taken for its.
#[test]
fn given_a_prompt_that_may_still_come_when_a_result_names_nobody_then_the_command_waits() {
    each_way(|scene| {
        scene.desk.host.takes_back = Some(false);
        scene.prompt("one");
        scene.cancel();
        let command = scene.prompt("/compact");
        scene.says([aborted(json!({}))]);
        assert_eq!(scene.answer(command), None);
        scene.says([result(json!({})), state("idle")]);
        assert_eq!(scene.answer(command).as_deref(), Some("end_turn"));
    });
}

/// 3.2: begun, failed, told as cancelled: nothing is left that would take the next result.
#[test]
fn given_an_orphan_that_failed_when_the_next_prompt_has_its_result_then_it_is_answered() {
    each_way(|scene| {
        scene.desk.host.takes_back = Some(false);
        scene.prompt("one");
        scene.cancel();
        let failed = json!({ "is_error": true, "subtype": "error_during_execution" });
        scene.says([life(1, "started"), result(failed), life(1, "cancelled")]);
        nothing_queued(scene);
        let next = scene.prompt("/compact");
        scene.says([result(json!({}))]);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
    });
}

/// 3.2: many orphans share one result.
#[test]
fn given_many_orphans_when_one_result_ends_them_all_then_the_next_prompt_is_not_touched() {
    each_way(|scene| {
        scene.desk.host.takes_back = Some(false);
        for text in ["one", "two", "three"] {
            scene.prompt(text);
        }
        scene.cancel();
        scene.says([life(1, "started"), life(2, "started"), life(3, "started")]);
        scene.says([aborted(of(&[1, 2, 3]))]);
        nothing_queued(scene);
        let next = scene.prompt("four");
        scene.says([requesting(&[4]), echo(4)]);
        scene.says(answer_frames("msg_4", &["Fourth"]));
        scene.says([done(4), state("idle")]);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
        let told = scene.editor();
        let shown = told.iter().filter(|it| it.starts_with("agent_message"));
        assert_eq!(shown.count(), 1, "{told:?}");
    });
}

/// 3.2: idle without a result fails the running turn; nothing is left waiting.
#[test]
fn given_no_result_when_the_process_goes_idle_then_the_prompt_fails_with_a_sentence() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        scene.says([state("idle")]);
        let answer = scene.answer(prompt).expect("an answer");
        assert!(answer.starts_with("error -32603"), "{answer}");
        assert!(answer.contains("without a result"), "{answer}");
        assert!(scene.log().contains(r#""errorKind":"no_result""#));
    });
}

fn call(id: &str, kind: &str) -> Value {
    let block = json!([{ "type": kind, "id": id, "name": "Bash", "input": { "command": "ls" } }]);
    assistant_of("msg_1", &block)
}

/// Section 7: a tool that the program was to run has no result; the turn is not done.
#[test]
fn given_a_tool_without_a_result_when_the_turn_is_told_to_be_done_then_it_failed() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        scene.says([call("toolu_1", "tool_use"), done(1), state("idle")]);
        let answer = scene.answer(prompt).expect("an answer");
        assert!(answer.starts_with("error -32603"), "{answer}");
        let log = scene.log();
        assert!(
            log.contains(r#""errorKind":"incomplete_tool_call""#),
            "{log}"
        );
        // It counts for no later turn.
        let next = scene.prompt("two");
        scene.says([requesting(&[2]), echo(2), done(2), state("idle")]);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
    });
}

/// The same with a result, with a tool of a server's, and in turns that ended otherwise.
#[test]
fn given_tools_that_are_done_or_a_turn_that_is_not_when_it_ends_then_it_ends_so() {
    let rows = [
        (
            vec![call("toolu_1", "tool_use"), tool_result("toolu_1", "ok")],
            done(1),
            "end_turn",
        ),
        (
            vec![call("srvtoolu_1", "server_tool_use")],
            done(1),
            "end_turn",
        ),
        (
            vec![call("toolu_1", "tool_use")],
            with(done(1), json!({ "stop_reason": "max_tokens" })),
            "max_tokens",
        ),
        (
            vec![call("toolu_1", "tool_use")],
            with(done(1), json!({ "subtype": "error_max_turns" })),
            "max_turn_requests",
        ),
    ];
    for (frames, end, wanted) in rows {
        each_way(|scene| {
            let prompt = scene.working("Working");
            scene.says(frames.clone());
            scene.says([end.clone(), state("idle")]);
            assert_eq!(scene.answer(prompt).as_deref(), Some(wanted));
        });
    }
}

/// Section 7, as recorded (`err-401`): somebody has to sign in, and nothing else is said.
#[test]
fn given_a_key_that_is_refused_when_the_turn_fails_then_authentication_is_required() {
    for (text, error) in [
        (
            "Invalid API key \u{b7} Fix external API key",
            "authentication_failed",
        ),
        ("Invalid API key \u{b7} Please run /login", "unknown"),
    ] {
        each_way(|scene| {
            let prompt = scene.working("Working");
            let mut whole = assistant_of("msg_1", &json!([{ "type": "text", "text": text }]));
            whole["error"] = json!(error);
            let failed =
                json!({ "is_error": true, "result": text, "terminal_reason": "api_error" });
            scene.says([whole, with(done(1), failed), state("idle")]);
            let answer = scene.answer(prompt).expect("an answer");
            assert_eq!(answer, "error -32000 Authentication required");
        });
    }
}

/// 3.1 row 16, as far as v1 has it: a held turn goes on by itself, and is stopped before that
/// showed anything.
#[test]
fn given_a_held_turn_when_its_follow_up_is_cancelled_at_once_then_nothing_of_that_is_shown() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        scene.says([words::task_started("toolu_agent", true), done(1)]);
        scene.says([words::task_over("toolu_agent", "completed")]);
        scene.editor();
        scene.says([requesting(&[])]);
        scene.cancel();
        assert_eq!(scene.editor(), [""; 0], "its follow-up runs");
        nothing_queued(scene);
        let whole = assistant_of("msg_2", &json!([{ "type": "text", "text": "Late" }]));
        scene.says([whole, aborted(by_itself()), state("idle")]);
        assert_eq!(scene.editor(), [format!("{prompt} cancelled")]);
    });
}

/// Sections 7 and 14: what a turn took stands in its answer, by model too; how full the context
/// is, and what all of it cost, is told beside it. A prompt that never began took nothing.
#[test]
fn given_a_turn_when_it_is_over_then_its_answer_says_what_it_took() {
    let count = |input: u64, read: u64, write: u64, output: u64| {
        json!({ "totalTokens": input + read + write + output, "inputTokens": input,
                "cachedInputTokens": read, "cachedWriteTokens": write, "outputTokens": output,
                "reasoningOutputTokens": 0 })
    };
    let usage = json!({ "input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 3,
                        "cache_creation_input_tokens": 2 });
    let model = |input: u64, window: u64| {
        json!({ "inputTokens": input, "outputTokens": 5, "cacheReadInputTokens": 3,
                "cacheCreationInputTokens": 2, "costUSD": 0.5, "contextWindow": window })
    };
    let models = json!({ "claude-haiku-5-5": model(1, 200_000), words::MODEL: model(6, 500_000) });
    let took = json!({ "usage": usage, "modelUsage": models, "total_cost_usd": 0.5 });
    let told = json!({ "usage": { "inputTokens": 7, "outputTokens": 5, "cachedReadTokens": 3,
                                  "cachedWriteTokens": 2, "totalTokens": 17 },
        "_meta": { "quota": { "token_count": count(7, 3, 2, 5), "model_usage": [
            { "model": "claude-haiku-5-5", "token_count": count(1, 3, 2, 5) },
            { "model": words::MODEL, "token_count": count(6, 3, 2, 5) } ] } } });
    for (cancels, reason) in [(false, "end_turn"), (true, "cancelled")] {
        each_way(|scene| {
            let prompt = scene.working("Working");
            let queued = scene.prompt("two");
            scene.desk.take();
            if cancels {
                scene.cancel();
                scene.says([with(aborted(of(&[1])), took.clone())]);
            } else {
                scene.says([with(done(1), took.clone())]);
            }
            let all = scene.desk.take();
            let answer = |id: u64| {
                all.iter()
                    .find(|it| it["id"] == id)
                    .map(|it| it["result"].clone())
            };
            let whole = with(json!({ "stopReason": reason }), told.clone());
            assert_eq!(answer(prompt), Some(whole));
            let nothing = cancels.then(|| json!({ "stopReason": "cancelled" }));
            assert_eq!(answer(queued), nothing);
            let figures = all.iter().map(|it| &it["params"]["update"]);
            let figures: Vec<_> = figures
                .filter(|it| it["sessionUpdate"] == "usage_update")
                .collect();
            let full = json!({ "sessionUpdate": "usage_update", "used": 11, "size": 500_000,
                               "cost": { "amount": 0.5, "currency": "USD" },
                               "_meta": { "_claude/model": words::MODEL } });
            assert_eq!(figures, [&full]);
        });
    }
}

/// As recorded (`err-400`): nothing was measured, so there is no figure to tell.
#[test]
fn given_no_message_of_the_model_when_the_turn_fails_then_no_use_is_told() {
    each_way(|scene| {
        scene.prompt("one");
        scene.takes(1, &words::NEW);
        let failed = json!({ "is_error": true, "result": "API Error: 400" });
        scene.says([with(done(1), failed), state("idle")]);
        assert!(!scene.log().contains("usage_update"), "{}", scene.log());
    });
}

/// 3.2: a session that is not there.
#[test]
fn given_a_session_that_is_not_there_when_prompted_then_refused_and_nothing_is_sent() {
    each_way(|scene| {
        let prompt = json!({ "sessionId": "5add9296-d101-4379-9348-a33f8b0894a4",
                             "prompt": [{ "type": "text", "text": "one" }] });
        let id = scene.desk.request("session/prompt", &prompt);
        scene.settle();
        let answer = scene.answer(id).expect("an answer");
        assert!(answer.starts_with("error -32002"), "{answer}");
        assert!(scene.desk.host.users.is_empty());
    });
}

/// 3.2: the turn of a session that is closed ends before the close is answered, though the
/// editor reads nothing of it for a while.
#[test]
fn given_an_editor_that_does_not_read_when_a_session_is_closed_then_its_turn_ends_first() {
    let mut scene = Scene::plain();
    scene.begin();
    let prompt = scene.working("Working");
    scene.desk.editor_reads = false;
    let piece = "x".repeat(64_000);
    for _ in 0..200 {
        scene.says([words::text(0, &piece)]);
    }
    let close = scene.close();
    scene.wait(2_000);
    scene.desk.editor_reads = true;
    scene.settle();
    let told = scene.told();
    let at = |id: u64| told.iter().position(|it| it.starts_with(&format!("{id} ")));
    assert_eq!(
        told[at(prompt).expect("the prompt's")],
        format!("{prompt} cancelled")
    );
    assert_eq!(
        told[at(close).expect("the close's")],
        format!("{close} done")
    );
    assert!(at(prompt) < at(close), "{:?}", &told[told.len() - 3..]);
}
