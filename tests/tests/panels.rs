//! What an editor's panels show besides the conversation: the plan, how full the context is,
//! what can be typed after a slash, and that the Host tries the model again.

use airlock_tests::scripted_host::{Scene, each_way, each_way_bare, words};
use serde_json::{Value, json};

/// The updates for panels that the editor got since it was last looked at.
fn updates(scene: &mut Scene) -> Vec<Value> {
    let lines = scene.editor().into_iter();
    lines
        .filter_map(|line| serde_json::from_str(line.split_once(' ')?.1).ok())
        .collect()
}

fn step(title: &str, status: &str) -> Value {
    json!({ "id": title, "title": title, "description": "", "status": status })
}

fn plans(next: &Value, active: &Value, items: &[Value]) -> Value {
    json!({ "kind": "page", "sessionId": "s", "storeVersion": 4, "latestProposalId": "p2",
            "activeExecutionId": active, "items": items, "nextCursor": next })
}

fn proposal(id: &str, steps: &[Value]) -> Value {
    json!({ "kind": "proposal", "proposal": { "proposalId": id, "steps": steps } })
}

fn execution(id: &str, steps: &[Value]) -> Value {
    json!({ "kind": "execution", "execution": { "executionId": id, "steps": steps } })
}

fn plan_changed(scene: &mut Scene) {
    let line = scene.frame("session_domain_changed", &json!({ "domain": "plan" }));
    scene.says([line]);
}

#[test]
fn given_a_plan_under_way_when_it_changes_then_all_its_steps_are_shown() {
    each_way(|scene| {
        scene.running("go");
        plan_changed(scene);
        let asked = scene.asked("plan.query");
        assert_eq!(
            asked.input,
            json!({ "kind": "list_start", "sessionId": scene.session })
        );
        let items = [
            proposal("p2", &[step("other", "")]),
            execution("e0", &[step("old", "completed")]),
            execution(
                "e1",
                &[
                    step("one", "completed"),
                    step("two", "skipped"),
                    step("three", "in_progress"),
                    step("four", "pending"),
                ],
            ),
        ];
        scene.result(&asked, &plans(&Value::Null, &json!("e1"), &items));
        let entry = |content: &str, status: &str| json!({ "content": content, "priority": "medium", "status": status });
        assert_eq!(
            updates(scene),
            [json!({ "sessionUpdate": "plan", "entries": [
                entry("one", "completed"), entry("two", "completed"),
                entry("three", "in_progress"), entry("four", "pending"),
            ] })]
        );
    });
}

#[test]
fn given_a_proposal_on_a_page_before_the_last_when_the_plan_changes_then_its_steps_are_shown() {
    each_way(|scene| {
        scene.running("go");
        plan_changed(scene);
        let first = scene.asked("plan.query");
        let items = [
            proposal("p1", &[step("older", "")]),
            proposal("p2", &[step("newest", "")]),
        ];
        scene.result(&first, &plans(&json!({ "at": 2 }), &Value::Null, &items));
        let second = scene.asked("plan.query");
        assert_eq!(
            second.input,
            json!({ "kind": "list_continue", "sessionId": scene.session, "storeVersion": 4,
                    "cursor": { "at": 2 } })
        );
        assert_eq!(updates(scene), [Value::Null; 0]);
        scene.result(&second, &plans(&Value::Null, &Value::Null, &[]));
        assert_eq!(
            updates(scene),
            [json!({ "sessionUpdate": "plan", "entries": [
                { "content": "newest", "priority": "medium", "status": "pending" }
            ] })]
        );
    });
}

#[test]
fn given_changes_during_a_look_at_the_plan_when_it_ends_then_one_more_look_shows_them_all() {
    each_way(|scene| {
        scene.running("go");
        for _ in 0..3 {
            plan_changed(scene);
        }
        assert_eq!(scene.count("plan.query"), 1);
        let first = scene.asked("plan.query");
        scene.result(&first, &plans(&Value::Null, &Value::Null, &[]));
        assert_eq!(scene.count("plan.query"), 2);
        let second = scene.asked("plan.query");
        let items = [proposal("p2", &[step("newest", "")])];
        scene.result(&second, &plans(&Value::Null, &Value::Null, &items));
        assert_eq!(scene.count("plan.query"), 2);
        let entries = json!([{ "content": "newest", "priority": "medium", "status": "pending" }]);
        assert_eq!(
            updates(scene),
            [
                json!({ "sessionUpdate": "plan", "entries": [] }),
                json!({ "sessionUpdate": "plan", "entries": entries }),
            ]
        );
    });
}

#[test]
fn given_a_look_at_the_plan_when_the_session_is_closed_then_nothing_of_it_is_shown() {
    each_way(|scene| {
        scene.running("go");
        plan_changed(scene);
        let asked = scene.asked("plan.query");
        scene.close();
        scene.editor();
        let items = [proposal("p2", &[step("late", "")])];
        scene.result(&asked, &plans(&Value::Null, &Value::Null, &items));
        assert_eq!(updates(scene), [Value::Null; 0]);
        assert_eq!(scene.count("plan.query"), 1);
    });
}

#[test]
fn given_a_host_that_refuses_or_loops_when_the_plan_changes_then_the_turn_does_not_mind() {
    each_way(|scene| {
        let turn = scene.running("go");
        plan_changed(scene);
        let asked = scene.asked("plan.query");
        scene.error(&asked, "operation_unavailable", "no plans here");
        plan_changed(scene);
        for _ in 0..8 {
            let asked = scene.asked("plan.query");
            scene.result(&asked, &plans(&json!("again"), &Value::Null, &[]));
        }
        assert_eq!(scene.count("plan.query"), 9, "no more pages are asked for");
        scene.editor();
        scene.text(&turn, "m", 0, "still here");
        assert_eq!(scene.editor(), ["says m: \"still here\""]);
    });
}

#[test]
fn given_a_counted_step_when_the_window_is_known_then_the_usage_is_shown_with_its_cost() {
    each_way(|scene| {
        let turn = scene.running("go");
        scene.advanced(1);
        let row = json!({ "type": "token_usage", "id": "u", "turnId": turn.id, "ts": 1,
                          "input": 120, "output": 34 });
        scene.page(&[words::durable(1, &row)], None);
        let asked = scene.asked("context.diagnostics.query");
        assert_eq!(asked.input, json!({ "sessionId": scene.session }));
        let context = json!({ "status": "available", "inputTokens": 120, "contextWindow": 1000 });
        scene.result(&asked, &context);
        let asked = scene.asked("usage.query");
        assert_eq!(
            asked.input,
            json!({ "kind": "summary", "query": { "range": "all", "sessionId": scene.session } })
        );
        let summary = json!({ "kind": "summary", "summary": { "totalCostUsd": 0.25 } });
        scene.result(&asked, &summary);
        assert_eq!(
            updates(scene),
            [
                json!({ "sessionUpdate": "usage_update", "used": 120, "size": 1000,
                     "cost": { "amount": 0.25, "currency": "USD" } })
            ]
        );
    });
}

#[test]
fn given_a_model_without_a_known_window_when_a_step_is_counted_then_nothing_is_claimed() {
    each_way(|scene| {
        let turn = scene.running("go");
        scene.advanced(1);
        let row = json!({ "type": "token_usage", "id": "u", "turnId": turn.id, "ts": 1 });
        scene.page(&[words::durable(1, &row)], None);
        let asked = scene.asked("context.diagnostics.query");
        scene.result(
            &asked,
            &json!({ "status": "available", "inputTokens": 120 }),
        );
        assert_eq!(scene.count("usage.query"), 0);
        assert_eq!(updates(scene), [Value::Null; 0]);
    });
}

#[test]
fn given_skills_of_the_host_when_a_session_is_made_then_they_can_be_typed() {
    each_way_bare(|scene| {
        scene.desk.host.by_hand("skill.catalog.invocable.query");
        scene.begin();
        let asked = scene.asked("skill.catalog.invocable.query");
        let items = json!([
            { "id": "review", "name": "Review", "description": "Looks at a change" },
            { "id": "not a skill" },
            { "name": "nameless" },
            7
        ]);
        let page = json!({ "kind": "page", "revision": "r", "items": items, "nextCursor": "c" });
        scene.result(&asked, &page);
        let asked = scene.asked("skill.catalog.invocable.query");
        assert_eq!(
            asked.input,
            json!({ "kind": "continue", "target": { "kind": "session", "sessionId": scene.session },
                    "revision": "r", "cursor": "c" })
        );
        let items = json!([{ "id": "a:b", "name": "" }]);
        let page = json!({ "kind": "page", "revision": "r", "items": items, "nextCursor": null });
        scene.result(&asked, &page);
        let command = |name: &str, description: &str| {
            json!({ "name": name, "description": description,
                    "input": { "hint": "what to do" } })
        };
        assert_eq!(
            updates(scene),
            [
                json!({ "sessionUpdate": "available_commands_update", "availableCommands": [
                command("review", "Looks at a change"), command("a:b", "a:b"),
            ] })
            ]
        );
    });
}

#[test]
fn given_a_known_skill_when_it_is_typed_first_then_the_turn_names_it() {
    for (typed, named) in [
        ("/review the last change", Some("review")),
        ("/review", Some("review")),
        ("/unknown the last change", None),
        ("please /review", None),
        ("/", None),
        ("review", None),
    ] {
        each_way_bare(|scene| {
            scene.desk.host.by_hand("skill.catalog.invocable.query");
            scene.begin();
            let asked = scene.asked("skill.catalog.invocable.query");
            let items = json!([{ "id": "review", "description": "Looks at a change" }]);
            let page =
                json!({ "kind": "page", "revision": "r", "items": items, "nextCursor": null });
            scene.result(&asked, &page);
            scene.dispatched(typed);
            let input = scene.asked("turn.start").input;
            assert_eq!(input["content"], json!({ "text": typed }));
            let wanted = named.map_or(Value::Null, |named| json!([named]));
            assert_eq!(input["skillIds"], wanted, "{typed}");
        });
    }
}

#[test]
fn given_a_skill_that_cannot_be_loaded_when_the_turn_is_blocked_then_the_answer_names_it() {
    each_way(|scene| {
        let turn = scene.dispatched("go");
        let asked = scene.asked("turn.start");
        let failed = json!([{ "id": "review", "reason": "gone" }, "other", 7]);
        scene.result(
            &asked,
            &json!({ "kind": "blocked", "skillInvocation": { "failed": failed } }),
        );
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!(
                "{} error -32603 {}",
                turn.prompt,
                json!({ "source": "runtime_host", "operation": "turn.start", "code": "blocked",
                        "skills": ["review", "other"] })
            ))
        );
    });
}

#[test]
fn given_a_provider_that_fails_when_the_host_tries_again_then_each_attempt_is_told_once() {
    each_way(|scene| {
        let turn = scene.running("go");
        let mut told = scene.told(&turn, "running");
        let scheduled = json!({ "phase": "scheduled", "attempt": 2, "maxAttempts": 10,
                                "delayMs": 1500, "reason": "rate_limit" });
        told["providerRetry"] = scheduled;
        scene.root(&told);
        scene.root(&told);
        told["providerRetry"] = json!({ "phase": "started", "attempt": 2, "maxAttempts": 10,
                                        "reason": "rate_limit" });
        scene.root(&told);
        let told = scene.editor();
        let texts: Vec<&str> = told
            .iter()
            .map(|line| line.split_once(": ").unwrap().1)
            .collect();
        assert!(told.iter().all(|line| line.starts_with("thinks ")));
        assert_eq!(
            texts,
            [
                "\"The model cannot be reached: the provider's rate limit is reached. \
                 Trying again in 2 s (attempt 2 of 10).\"",
                "\"The model cannot be reached: the provider's rate limit is reached. \
                 Trying again (attempt 2 of 10).\"",
            ]
        );
    });
}
