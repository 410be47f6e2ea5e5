//! Questions of Claude Code that are forms (Claude adapter, section 11): of the model, of MCP
//! servers, and whether another model is to try.

use airlock_tests::scripted_cli::{Scene, each_way, words};
use serde_json::{Value, json};

/// The process asks; what the editor is asked.
fn asks(scene: &mut Scene, tool: &str, input: Value, more: Value) -> Value {
    let own = json!({ "tool_name": tool, "display_name": tool, "input": input });
    scene.desk.take();
    scene.says([words::can_use_tool(
        "ask-1",
        "toolu_1",
        words::with(own, more),
    )]);
    let all = scene.desk.take();
    let mut asked = all.into_iter().filter(|it| it.get("id").is_some());
    asked.next().unwrap_or_default()
}

/// What the process was answered last.
fn told(scene: &Scene) -> Value {
    scene.desk.host.answers.last().cloned().unwrap_or_default()
}

fn forms(scene: &mut Scene) {
    scene.desk.capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    scene.begin();
    scene.working("w");
}

fn questions(multi: bool) -> Value {
    json!({ "questions": [
        { "question": "Which color?", "header": "Color", "multiSelect": multi, "options": [
            { "label": "Red", "description": "red one" },
            { "label": "Blue, dark", "description": "", "preview": "###" } ] } ] })
}

/// Recording ask-user-question; section 11.
#[test]
fn given_questions_of_the_model_when_answered_then_the_tool_gets_the_answers() {
    let rows = [
        (
            false,
            json!({ "question_0": "Red" }),
            json!({ "Which color?": "Red" }),
            None,
        ),
        (
            false,
            json!({ "question_0_custom": " Green " }),
            json!({ "Which color?": "Green" }),
            None,
        ),
        (
            false,
            json!({ "question_0": "Red", "question_0_custom": "a bit" }),
            json!({ "Which color?": "Red" }),
            Some(json!({ "Which color?": { "notes": "a bit" } })),
        ),
        (
            true,
            json!({ "question_0": ["Red", "Blue, dark"], "question_0_custom": "Green" }),
            json!({ "Which color?": "Red, \"Blue, dark\", Green" }),
            None,
        ),
        (false, json!({ "other": 7 }), json!({}), None),
    ];
    for (multi, content, answers, notes) in rows {
        let mut scene = Scene::plain();
        forms(&mut scene);
        let asked = asks(&mut scene, "AskUserQuestion", questions(multi), json!({}));
        assert_eq!(asked["method"], "elicitation/create");
        if !multi {
            assert_eq!(
                asked["params"],
                json!({ "sessionId": scene.session, "toolCallId": "toolu_1", "mode": "form",
                    "message": "Which color?", "requestedSchema": { "type": "object", "properties": {
                        "question_0": { "type": "string", "title": "Color", "oneOf": [
                            { "const": "Red", "title": "Red", "description": "red one" },
                            { "const": "Blue, dark", "title": "Blue, dark",
                              "_meta": { "_claude/askUserQuestionOption": { "preview": "###" } } } ] },
                        "question_0_custom": { "type": "string", "title": "Other",
                            "description": "Type your own answer, or add a note to the option you chose above (optional)." } } } })
            );
        }
        scene.desk.reply(
            &asked["id"],
            &json!({ "action": "accept", "content": content }),
        );
        scene.settle();
        let mut input = questions(multi);
        input["answers"] = answers;
        if let Some(notes) = notes {
            input["annotations"] = notes;
        }
        assert_eq!(
            told(&scene)["response"],
            json!({ "behavior": "allow", "updatedInput": input, "toolUseID": "toolu_1" })
        );
    }
}

/// Section 11: not answered, with and without a process that tells the difference.
#[test]
fn given_questions_when_declined_skipped_or_turned_away_then_the_process_is_told_how() {
    let rows = [
        ("decline", Some("dismissed")),
        ("accept", Some("skipped")),
        ("cancel", None),
    ];
    for (action, unanswered) in rows {
        for able in [true, false] {
            let mut scene = Scene::plain();
            forms(&mut scene);
            let mut can = words::NEW.to_vec();
            can.extend(Some("ask_user_question_unanswered_v1").filter(|_| able));
            scene.says([words::init(&can)]);
            let asked = asks(&mut scene, "AskUserQuestion", questions(false), json!({}));
            scene.desk.reply(&asked["id"], &json!({ "action": action }));
            scene.settle();
            let said = told(&scene);
            match unanswered {
                Some(why) => {
                    let input = &said["response"]["updatedInput"];
                    assert_eq!(input["answers"], json!({}), "{action}");
                    let wanted = if able { json!(why) } else { json!(null) };
                    assert_eq!(input["unanswered"], wanted, "{action}");
                }
                None => assert_eq!(said["error"], "Tool use aborted"),
            }
        }
    }
}

/// Section 11: a client without forms.
#[test]
fn given_a_client_without_forms_when_started_then_questions_are_disallowed_and_denied() {
    each_way(|scene| {
        let no = "--disallowedTools=AskUserQuestion".to_owned();
        assert!(scene.desk.host.started[0].contains(&no));
        scene.working("w");
        assert_eq!(
            asks(scene, "AskUserQuestion", questions(false), json!({})),
            Value::Null
        );
        assert_eq!(told(scene)["response"]["behavior"], "deny");
    });
    let mut scene = Scene::plain();
    forms(&mut scene);
    let line = scene.desk.host.started[0].join(" ");
    assert!(!line.contains("AskUserQuestion"), "{line}");
}

fn server_asks(scene: &mut Scene, request: Value) -> Value {
    let own = json!({ "subtype": "elicitation", "mcp_server_name": "mini", "message": "Who?" });
    scene.desk.take();
    scene.says([json!({ "type": "control_request", "request_id": "ask-1",
                        "request": words::with(own, request) })]);
    let all = scene.desk.take();
    all.into_iter()
        .find(|it| it.get("id").is_some())
        .unwrap_or_default()
}

/// Section 11: elicitations of MCP servers pass through.
#[test]
fn given_a_server_that_asks_when_answered_then_form_and_address_pass_through() {
    let schema = json!({ "type": "object", "properties": {
        "name": { "type": "string", "minLength": 1 }, "age": { "type": "integer" },
        "ok": { "type": "boolean" }, "kinds": { "type": "array", "items": { "type": "string", "enum": ["a"] } } },
        "required": ["name"] });
    let rows = [
        (
            json!({ "action": "accept", "content": { "name": "x", "age": 7 } }),
            json!({ "action": "accept", "content": { "name": "x", "age": 7 } }),
        ),
        (
            json!({ "action": "decline" }),
            json!({ "action": "decline" }),
        ),
        (json!({ "action": "cancel" }), json!({ "action": "cancel" })),
        (json!({ "action": "new" }), json!({ "action": "cancel" })),
    ];
    for (reply, answer) in rows {
        let mut scene = Scene::plain();
        forms(&mut scene);
        let asked = server_asks(
            &mut scene,
            json!({ "mode": "form", "requested_schema": schema }),
        );
        assert_eq!(
            asked["params"],
            json!({ "sessionId": scene.session, "mode": "form", "message": "Who?", "requestedSchema": schema })
        );
        scene.desk.reply(&asked["id"], &reply);
        scene.settle();
        assert_eq!(told(&scene)["response"], answer);
    }
    let mut scene = Scene::plain();
    forms(&mut scene);
    let request = json!({ "mode": "url", "url": "https://a.org/x", "elicitation_id": "e1" });
    let asked = server_asks(&mut scene, request);
    assert_eq!(
        asked["params"],
        json!({ "sessionId": scene.session, "mode": "url", "message": "Who?",
                "url": "https://a.org/x", "elicitationId": "e1" })
    );
    scene
        .desk
        .reply(&asked["id"], &json!({ "action": "accept" }));
    scene.settle();
    assert_eq!(
        told(&scene)["response"],
        json!({ "action": "accept", "content": {} })
    );
    scene.says([words::system(
        "elicitation_complete",
        json!({ "elicitation_id": "e1" }),
    )]);
    let done = scene.desk.take();
    assert_eq!(done[0]["method"], "elicitation/complete");
    assert_eq!(done[0]["params"], json!({ "elicitationId": "e1" }));
}

/// Section 11: what the editor cannot show is answered, and nobody waits.
#[test]
fn given_what_cannot_be_shown_when_a_server_asks_then_cancelled_at_once() {
    let odd = json!({ "type": "object", "properties": { "a": { "type": "object" } } });
    for (capable, request) in [
        (false, json!({ "mode": "form" })),
        (false, json!({ "mode": "url", "url": "https://a.org" })),
        (true, json!({ "mode": "url" })),
        (true, json!({ "requested_schema": odd })),
        (true, json!({ "requested_schema": 7 })),
    ] {
        let mut scene = Scene::plain();
        if capable {
            forms(&mut scene);
        } else {
            scene.begin();
            scene.working("w");
        }
        assert_eq!(server_asks(&mut scene, request), Value::Null);
        assert_eq!(told(&scene)["response"], json!({ "action": "cancel" }));
    }
}

/// Section 11: whether another model is to try; only a plain yes is one.
#[test]
fn given_a_refusal_with_a_fallback_when_asked_then_only_retry_is_a_yes() {
    let payload =
        json!({ "originalModel": "Fable", "fallbackModel": "Opus", "apiRefusalCategory": "cyber" });
    let rows = [
        (
            json!({ "action": "accept", "content": { "choice": "retry_fallback" } }),
            "retry_fallback",
        ),
        (
            json!({ "action": "accept", "content": { "choice": "x" } }),
            "cancelled",
        ),
        (json!({ "action": "accept" }), "cancelled"),
        (json!({ "action": "cancel" }), "cancelled"),
    ];
    for (reply, result) in rows {
        let mut scene = Scene::plain();
        forms(&mut scene);
        scene.desk.take();
        let dialog = json!({ "subtype": "request_user_dialog", "dialog_kind": "refusal_fallback_prompt", "payload": payload });
        scene
            .says([json!({ "type": "control_request", "request_id": "ask-1", "request": dialog })]);
        let asked = scene.desk.take().remove(0);
        assert_eq!(
            asked["params"]["message"],
            "Fable declined this request (cyber). Retry with Opus?"
        );
        scene.desk.reply(&asked["id"], &reply);
        scene.settle();
        assert_eq!(
            told(&scene)["response"],
            json!({ "behavior": "completed", "result": result })
        );
    }
    let mut scene = Scene::plain();
    forms(&mut scene);
    let dialog = json!({ "subtype": "request_user_dialog", "dialog_kind": "new", "payload": {} });
    scene.says([json!({ "type": "control_request", "request_id": "ask-2", "request": dialog })]);
    assert_eq!(told(&scene)["response"], json!({ "behavior": "cancelled" }));
}
