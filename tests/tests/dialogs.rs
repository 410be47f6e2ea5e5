//! Questions of the Host to the user (Maka adapter, sections 21.2 to 21.6): checked, shown
//! on their card, asked, answered, and resolved by the Host's own word.

use airlock_tests::scripted_host::{Scene, Turn, each_way, each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// With an editor that shows forms.
fn each_way_with_forms(play: impl Fn(&mut Scene)) {
    each_way_bare(|scene| {
        scene.begin_with_forms();
        play(scene);
    });
}

fn adapter_error(code: &str, kind: &str) -> String {
    format!(
        r#"error -32603 {{"source":"adapter","code":"{code}","kind":"{kind}","interactionId":"i1"}}"#
    )
}

fn ends_well(scene: &mut Scene, turn: &Turn) {
    scene.now(turn, "completed");
    assert_eq!(
        scene.editor().last(),
        Some(&format!("{} end_turn", turn.prompt))
    );
    assert_eq!(scene.count("turn.stop"), 0);
}

fn last_card(scene: &Scene) -> Value {
    scene.desk.updates().last().expect("a card")
}

/// 26.4 I1, I10: the exact card, request and answer of each choice, in order.
#[test]
fn given_a_permission_when_chosen_then_the_card_comes_first_and_the_host_gets_that_answer() {
    let table = [
        ("allow_once", "allow", false),
        ("allow_always", "allow", true),
        ("reject_once", "deny", false),
    ];
    for (kind, decision, remember) in table {
        each_way(|scene| {
            let (turn, told) = scene.asking("permission");
            assert_eq!(
                scene.editor(),
                [
                    "card t1 pending".to_owned(),
                    "asks 1 t1 Authorize Bash: Allow once (allow_once), \
                     Allow for this Turn (allow_always), Reject (reject_once)"
                        .to_owned()
                ]
            );
            assert_eq!(scene.host().last().unwrap(), "look i1");
            let card = last_card(scene);
            assert_eq!(card["title"], "Awaiting permission");
            let pending = json!({ "id": "i1", "kind": "permission", "status": "pending" });
            assert_eq!(card["_meta"]["maka"]["interaction"], pending);
            scene.choose(kind);
            let outcome = json!({ "kind": "permission_answer", "reviewer": "user",
                "decision": decision, "rememberForTurn": remember, "committedAt": 1 });
            let answer = scene.takes(&told, &outcome);
            assert_eq!(
                answer,
                json!({ "kind": "permission", "decision": decision, "rememberForTurn": remember })
            );
            assert_eq!(scene.editor(), ["card t1 → in_progress"]);
            assert_eq!(
                last_card(scene)["_meta"]["maka"]["interaction"],
                json!({ "id": "i1", "kind": "permission", "status": "answered", "decision": decision })
            );
            scene.pending(&turn, &[]);
            ends_well(scene, &turn);
            assert_eq!(scene.count("interaction.query"), 1);
        });
    }
}

/// 26.4 I10: the choice for the whole turn only where the Host allows it.
#[test]
fn given_permissions_that_may_not_be_remembered_when_asked_then_there_are_two_choices() {
    let prompts = [
        json!({ "kind": "tool_permission", "toolName": "Bash", "rememberForTurnAllowed": false }),
        json!({ "kind": "tool_permission", "toolName": "Bash" }),
        json!({ "kind": "sandbox_escalation", "toolName": "Bash", "rememberForTurnAllowed": true,
                "availableDecisions": ["allow_once", "deny"] }),
    ];
    for prompt in prompts {
        each_way(|scene| {
            let request = json!({ "kind": "permission", "toolUseId": "t1", "prompt": prompt });
            let (_, told) = scene.asking_for("i1", &request);
            assert_eq!(
                scene.editor().last().unwrap(),
                "asks 1 t1 Authorize Bash: Allow once (allow_once), Reject (reject_once)"
            );
            scene.choose("reject_once");
            let answer = scene.takes(
                &told,
                &json!({ "kind": "permission_answer", "decision": "deny" }),
            );
            assert_eq!(
                answer,
                json!({ "kind": "permission", "decision": "deny", "rememberForTurn": false })
            );
        });
    }
}

/// Section 21.5, to the letter; the ids of options are not to be guessed (26.4 I7).
#[test]
fn given_each_kind_of_choice_when_asked_then_the_request_is_whole_and_its_ids_are_fresh() {
    let mut shown = Vec::new();
    for kind in ["permission", "sandbox_boundary", "client_capability"] {
        let mut scene = Scene::plain();
        scene.begin();
        scene.asking(kind);
        let mut asked = scene.asked_user();
        let mut ids = Vec::new();
        for option in asked["params"]["options"].as_array_mut().unwrap() {
            let id = option["optionId"].as_str().unwrap().to_owned();
            assert_eq!(
                (id.len(), id.matches('-').count()),
                (36, 4),
                "no UUID: {id}"
            );
            ids.push(id);
            option["optionId"] = json!("…");
        }
        ids.sort();
        ids.dedup();
        assert_eq!(
            ids.len(),
            asked["params"]["options"].as_array().unwrap().len()
        );
        asked["params"]["sessionId"] = json!("…");
        shown.push(serde_json::to_string_pretty(&asked).unwrap());
    }
    insta::assert_snapshot!("choices", shown.join("\n"));
}

/// 26.4 I8: the card is the question's own, and ends as the Host says.
#[test]
fn given_a_sandbox_boundary_when_decided_then_its_own_card_ends_with_the_hosts_outcome() {
    let table = [
        ("allow_always", "allow", "approved", "completed"),
        ("allow_always", "allow", "conflict", "failed"),
        ("reject_once", "deny", "denied", "failed"),
    ];
    for (kind, decision, status, shown) in table {
        each_way(|scene| {
            let (turn, told) = scene.asking("sandbox_boundary");
            assert_eq!(scene.editor()[0], "card i1 pending");
            scene.choose(kind);
            let outcome = json!({ "kind": "sandbox_boundary_decision", "decision": decision,
                                  "status": status, "committedAt": 1 });
            let answer = scene.takes(&told, &outcome);
            assert_eq!(
                answer,
                json!({ "kind": "sandbox_boundary", "decision": decision })
            );
            assert_eq!(scene.editor(), [format!("card i1 → {shown}")]);
            let card = last_card(scene);
            assert_eq!(
                card["_meta"]["maka"]["interaction"],
                json!({ "id": "i1", "kind": "sandbox_boundary", "status": "answered",
                        "decision": decision, "outcomeStatus": status })
            );
            assert_eq!(card.get("content"), None);
            scene.pending(&turn, &[]);
            ends_well(scene, &turn);
        });
    }
}

/// 26.4 I7: bound to the exact target.
#[test]
fn given_a_client_capability_when_decided_then_the_host_gets_that_decision() {
    for (kind, decision) in [("allow_always", "allow"), ("reject_once", "deny")] {
        each_way(|scene| {
            let (turn, told) = scene.asking("client_capability");
            scene.choose(kind);
            let outcome = json!({ "kind": "client_capability_decision", "decision": decision });
            let answer = scene.takes(&told, &outcome);
            assert_eq!(
                answer,
                json!({ "kind": "client_capability", "decision": decision })
            );
            scene.pending(&turn, &[]);
            ends_well(scene, &turn);
        });
    }
}

/// 26.4 I2, I5: trimmed, blank and missing answers, and none at all.
#[test]
fn given_questions_when_accepted_or_declined_then_the_host_gets_a_text_or_null_for_each() {
    let questions = ["One?", "Two?", "Three?"].map(|question| {
        json!({ "question": question, "options": [{ "label": "Yes" }, { "label": "No" }] })
    });
    let request = json!({ "kind": "question", "toolUseId": "t1", "questions": questions });
    let table = [
        (
            json!({ "action": "accept", "content": { "q0": "  Yes\n", "q2": "\u{feff} own words" } }),
            json!(["Yes", null, "own words"]),
        ),
        (
            json!({ "action": "accept", "content": { "q1": " \t" } }),
            json!([null, null, null]),
        ),
        (json!({ "action": "accept" }), json!([null, null, null])),
        (
            json!({ "action": "accept", "content": null }),
            json!([null, null, null]),
        ),
        (
            json!({ "action": "decline", "content": { "q0": "ignored" } }),
            json!([null, null, null]),
        ),
    ];
    for (reply, answers) in table {
        each_way_with_forms(|scene| {
            let (turn, told) = scene.asking_for("i1", &request);
            assert_eq!(scene.editor(), ["card t1 pending", "form 1 t1: q0, q1, q2"]);
            scene.reply(&reply);
            let outcome = json!({ "kind": "question_answer", "answers": answers });
            let answer = scene.takes(&told, &outcome);
            assert_eq!(answer, json!({ "kind": "question", "answers": answers }));
            scene.pending(&turn, &[]);
            ends_well(scene, &turn);
        });
    }
}

/// Section 21.3, to the letter (26.4 I2): hints, no enum, nothing required.
#[test]
fn given_a_question_when_asked_then_the_form_is_whole() {
    let mut scene = Scene::plain();
    scene.begin_with_forms();
    scene.asking("question");
    let mut asked = scene.asked_user();
    asked["params"]["sessionId"] = json!("…");
    insta::assert_snapshot!("question", serde_json::to_string_pretty(&asked).unwrap());
}

/// 26.4 I6, I18: what was not offered, or is too long, ends the turn without an answer.
#[test]
fn given_answers_that_do_not_fit_when_given_then_the_turn_is_stopped_and_nothing_is_answered() {
    let long = "é".repeat(1025);
    let wide = "\u{1}".repeat(1400);
    let table = [
        (
            "permission",
            json!({ "outcome": { "outcome": "selected", "optionId": "0" } }),
        ),
        (
            "permission",
            json!({ "outcome": { "outcome": "selected" } }),
        ),
        ("permission", json!({ "outcome": { "outcome": "maybe" } })),
        ("permission", json!({ "outcome": "selected" })),
        ("permission", json!({})),
        ("permission", json!(null)),
        ("sandbox_boundary", json!({ "action": "accept" })),
        ("question", json!({ "action": "later" })),
        ("question", json!({})),
        (
            "question",
            json!({ "action": "accept", "content": { "q1": "no such" } }),
        ),
        (
            "question",
            json!({ "action": "accept", "content": { "q00": "no such" } }),
        ),
        (
            "question",
            json!({ "action": "accept", "content": { "colour": "Red" } }),
        ),
        (
            "question",
            json!({ "action": "accept", "content": { "q0": 1 } }),
        ),
        (
            "question",
            json!({ "action": "accept", "content": { "q0": null } }),
        ),
        (
            "question",
            json!({ "action": "accept", "content": ["Red"] }),
        ),
        (
            "question",
            json!({ "action": "accept", "content": { "q0": long } }),
        ),
        (
            "question",
            json!({ "action": "accept", "content": { "q0": wide } }),
        ),
    ];
    for (kind, reply) in table {
        each_way_with_forms(|scene| {
            let (turn, _) = scene.asking(kind);
            scene.reply(&reply);
            scene.stopped_with(&turn, &adapter_error("invalid_interaction_answer", kind));
            assert_eq!(scene.count("subscription.close"), 0, "the feed stays");
        });
    }
}

/// 26.4 I5, I9: to turn away is no answer and no denial.
#[test]
fn given_a_user_who_turns_away_when_asked_then_the_turn_is_cancelled_and_nothing_is_answered() {
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    let table = [
        ("permission", cancelled.clone()),
        ("sandbox_boundary", cancelled.clone()),
        ("client_capability", cancelled),
        (
            "question",
            json!({ "action": "cancel", "content": { "q0": "Red" } }),
        ),
    ];
    for (kind, reply) in table {
        each_way_with_forms(|scene| {
            let (turn, _) = scene.asking(kind);
            scene.editor();
            scene.reply(&reply);
            assert_eq!(scene.editor(), NOTHING, "nothing is left to withdraw");
            scene.stopped_with(&turn, "cancelled");
        });
    }
}

/// 26.4 I11: a client that answers that it cannot; any other error is a failure.
#[test]
fn given_an_editor_that_fails_when_asked_then_the_code_says_why() {
    for (code, told) in [
        (-32601, "unsupported_interaction"),
        (-32603, "interaction_failed"),
    ] {
        each_way(|scene| {
            let (turn, _) = scene.asking("permission");
            let id = scene.asked_user()["id"].clone();
            let error = json!({ "code": code, "message": "no" });
            scene
                .desk
                .send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            scene.settle();
            scene.stopped_with(&turn, &adapter_error(told, "permission"));
        });
    }
}

/// 26.4 I19: the Host's words on it must be the same everywhere.
#[test]
fn given_a_question_whose_identity_changes_when_checked_then_invalid_and_stopped() {
    let changes = [
        ("interactionId", json!("i2")),
        ("sessionId", json!("other")),
        ("turnId", json!("other")),
        ("runId", json!("run-2")),
        ("request", words::request("sandbox_boundary")),
    ];
    for (key, value) in changes {
        each_way(|scene| {
            let turn = scene.running("hello");
            let told = words::pending(
                &scene.session,
                &turn.id,
                "i1",
                &words::request("permission"),
            );
            scene.pending(&turn, std::slice::from_ref(&told));
            let asked = scene.asked("interaction.query");
            let mut other = told;
            other[key] = value.clone();
            scene.result(&asked, &other);
            assert_eq!(scene.editor(), NOTHING);
            scene.stopped_with(&turn, &adapter_error("invalid_interaction", "permission"));
        });
    }
}

/// The same meaning in another order is the same.
#[test]
fn given_the_same_request_in_another_order_when_checked_then_it_is_asked() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let told = words::pending(
            &scene.session,
            &turn.id,
            "i1",
            &words::request("permission"),
        );
        scene.pending(&turn, std::slice::from_ref(&told));
        let asked = scene.asked("interaction.query");
        let request = r#"{"toolUseId":"t1","kind":"permission"}"#;
        let mut short = told.clone();
        short["request"] = json!("REQUEST");
        let whole = asked.result(&short);
        let prompt = &told["request"]["prompt"];
        let request = request.replace("}", &format!(r#","prompt":{prompt}}}"#));
        scene.says([whole.replace(r#""REQUEST""#, &request)]);
        assert_eq!(scene.editor().len(), 2);
    });
}

/// What is wrong with it at first sight: nothing is asked of the Host either.
#[test]
fn given_questions_that_cannot_be_read_when_shown_then_invalid_and_stopped() {
    let broken = [
        ("permission", json!({ "kind": "permission" })),
        ("sandbox_boundary", json!({ "kind": "sandbox_boundary" })),
        (
            "client_capability",
            json!({ "kind": "client_capability", "toolUseId": "t1" }),
        ),
        (
            "question",
            json!({ "kind": "question", "toolUseId": "t1", "questions": [] }),
        ),
        ("question", json!({ "kind": "question", "toolUseId": "t1" })),
    ];
    for (kind, request) in broken {
        each_way_with_forms(|scene| {
            let turn = scene.running("hello");
            let told = words::pending(&scene.session, &turn.id, "i1", &request);
            scene.pending(&turn, &[told]);
            assert_eq!(scene.count("interaction.query"), 0);
            scene.stopped_with(&turn, &adapter_error("invalid_interaction", kind));
        });
    }
    each_way(|scene| {
        let turn = scene.running("hello");
        let told = words::pending("another", &turn.id, "i1", &words::request("permission"));
        scene.pending(&turn, &[told]);
        scene.stopped_with(&turn, &adapter_error("invalid_interaction", "permission"));
    });
}

/// 26.4 I19: the Host's failure, in its own words.
#[test]
fn given_a_host_that_refuses_when_checked_or_answered_then_its_data_is_told() {
    for operation in ["interaction.query", "interaction.answer"] {
        each_way(|scene| {
            let turn = scene.running("hello");
            let told = words::pending(
                &scene.session,
                &turn.id,
                "i1",
                &words::request("permission"),
            );
            scene.pending(&turn, std::slice::from_ref(&told));
            if operation == "interaction.answer" {
                scene.confirm(&told);
                scene.choose("allow_once");
            }
            let asked = scene.asked(operation);
            scene.error(&asked, "internal_failure", "no");
            let stop = scene.asked("turn.stop");
            let root = scene.told(&turn, "cancelled");
            scene.result(&stop, &root);
            assert_eq!(
                scene.answer(turn.prompt).unwrap(),
                format!(
                    r#"{} error -32603 {{"source":"runtime_host","operation":"{operation}","code":"internal_failure"}}"#,
                    turn.prompt
                )
            );
        });
    }
}

/// Limits, section 2: 16 at once, and not one more.
#[test]
fn given_16_questions_when_a_17th_comes_then_all_are_withdrawn_and_the_turn_is_stopped() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let request = words::request("permission");
        let told = |at: usize| {
            let id = if at == 17 {
                "i1".to_owned()
            } else {
                format!("x{at}")
            };
            words::pending(&scene.session, &turn.id, &id, &request)
        };
        let all: Vec<Value> = (1..=17).map(told).collect();
        scene.pending(&turn, &all[..16]);
        for told in &all[..16] {
            scene.confirm(told);
        }
        let asked = scene.editor();
        assert_eq!(
            asked.iter().filter(|line| line.starts_with("asks")).count(),
            16
        );
        scene.pending(&turn, &all);
        let withdrawn: Vec<String> = (1..=16).map(|at| format!("withdraws {at}")).collect();
        assert_eq!(scene.editor(), withdrawn);
        assert_eq!(scene.count("interaction.query"), 16);
        scene.stopped_with(
            &turn,
            &adapter_error("interaction_capacity_exceeded", "permission"),
        );
    });
}

/// A tool with a name keeps it.
#[test]
fn given_a_tool_that_runs_when_it_asks_then_its_title_stays() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
        let told = words::pending(
            &scene.session,
            &turn.id,
            "i1",
            &words::request("permission"),
        );
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.confirm(&told);
        let card = last_card(scene);
        assert_eq!(
            (&card["title"], &card["status"]),
            (&json!("Bash"), &json!("pending"))
        );
    });
}

/// Two questions of one turn, answered in the other order.
#[test]
fn given_two_questions_when_answered_in_another_order_then_each_gets_its_own() {
    each_way_with_forms(|scene| {
        let turn = scene.running("hello");
        let one = words::pending(&scene.session, &turn.id, "i1", &words::request("question"));
        let two = words::pending(
            &scene.session,
            &turn.id,
            "i2",
            &words::request("sandbox_boundary"),
        );
        scene.pending(&turn, &[one.clone(), two.clone()]);
        scene.confirm(&one);
        scene.confirm(&two);
        scene.choose("allow_always");
        scene.desk.reply(
            &json!(1),
            &json!({ "action": "accept", "content": { "q0": "Red" } }),
        );
        scene.settle();
        let outcome = json!({ "kind": "sandbox_boundary_decision", "decision": "allow" });
        assert_eq!(scene.takes(&two, &outcome)["kind"], "sandbox_boundary");
        let outcome = json!({ "kind": "question_answer", "answers": ["Red"] });
        assert_eq!(scene.takes(&one, &outcome)["answers"], json!(["Red"]));
        scene.pending(&turn, &[]);
        ends_well(scene, &turn);
    });
}

/// Capabilities (V1-3; 26.4 I11): only an object of `elicitation.form` offers forms.
#[test]
fn given_capabilities_of_every_form_when_a_question_comes_then_only_an_object_offers_forms() {
    let table = [
        (json!({}), false),
        (Value::Null, false),
        (json!({ "elicitation": null }), false),
        (json!({ "elicitation": {} }), false),
        (json!({ "elicitation": { "url": {} } }), false),
        (json!({ "elicitation": { "form": null } }), false),
        (json!({ "elicitation": { "form": true } }), false),
        (json!({ "elicitation": { "form": {} } }), true),
        (
            json!({ "fs": 3, "elicitation": { "form": { "x": 1 }, "url": 7 } }),
            true,
        ),
    ];
    for (capabilities, offered) in table {
        each_way_bare(|scene| {
            scene.desk.capabilities = capabilities.clone();
            scene.begin();
            let turn = scene.running("hello");
            let told = words::pending(&scene.session, &turn.id, "i1", &words::request("question"));
            scene.pending(&turn, &[told]);
            assert_eq!(scene.count("interaction.query"), usize::from(offered));
            assert_eq!(scene.count("turn.stop"), usize::from(!offered));
        });
    }
}
