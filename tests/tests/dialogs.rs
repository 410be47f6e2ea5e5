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

/// A running turn that asks; everything up to the question is told.
fn asking(scene: &mut Scene, kind: &str) -> (Turn, Value) {
    asking_for(scene, "i1", &words::request(kind))
}

fn asking_for(scene: &mut Scene, id: &str, request: &Value) -> (Turn, Value) {
    let turn = scene.running("hello");
    let told = words::pending(&scene.session, &turn.id, id, request);
    scene.pending(&turn, std::slice::from_ref(&told));
    scene.confirm(&told);
    (turn, told)
}

/// The Host takes the answer that the editor gave; with what was answered.
fn takes(scene: &mut Scene, told: &Value, outcome: &Value) -> Value {
    let asked = scene.asked("interaction.answer");
    assert_eq!(asked.input["interactionId"], told["interactionId"]);
    assert_eq!(asked.input["sessionId"], json!(scene.session));
    scene.result(&asked, &words::resolved(told, "answered", outcome));
    asked.input["answer"].clone()
}

/// The turn is stopped once, and the prompt has this answer.
fn stopped_with(scene: &mut Scene, turn: &Turn, answer: &str) {
    let asked = scene.asked("turn.stop");
    assert_eq!(asked.input["runId"], "run-1");
    let told = scene.told(turn, "cancelled");
    scene.result(&asked, &told);
    assert_eq!(
        scene.answer(turn.prompt),
        Some(format!("{} {answer}", turn.prompt))
    );
    assert_eq!(scene.count("turn.stop"), 1);
    assert_eq!(scene.count("interaction.answer"), 0);
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
            let (turn, told) = asking(scene, "permission");
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
            let answer = takes(scene, &told, &outcome);
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
            let (_, told) = asking_for(scene, "i1", &request);
            assert_eq!(
                scene.editor().last().unwrap(),
                "asks 1 t1 Authorize Bash: Allow once (allow_once), Reject (reject_once)"
            );
            scene.choose("reject_once");
            let answer = takes(
                scene,
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
        asking(&mut scene, kind);
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
            let (turn, told) = asking(scene, "sandbox_boundary");
            assert_eq!(scene.editor()[0], "card i1 pending");
            scene.choose(kind);
            let outcome = json!({ "kind": "sandbox_boundary_decision", "decision": decision,
                                  "status": status, "committedAt": 1 });
            let answer = takes(scene, &told, &outcome);
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
            let (turn, told) = asking(scene, "client_capability");
            scene.choose(kind);
            let outcome = json!({ "kind": "client_capability_decision", "decision": decision });
            let answer = takes(scene, &told, &outcome);
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
            let (turn, told) = asking_for(scene, "i1", &request);
            assert_eq!(scene.editor(), ["card t1 pending", "form 1 t1: q0, q1, q2"]);
            scene.reply(&reply);
            let outcome = json!({ "kind": "question_answer", "answers": answers });
            let answer = takes(scene, &told, &outcome);
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
    asking(&mut scene, "question");
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
            let (turn, _) = asking(scene, kind);
            scene.reply(&reply);
            stopped_with(
                scene,
                &turn,
                &adapter_error("invalid_interaction_answer", kind),
            );
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
            let (turn, _) = asking(scene, kind);
            scene.editor();
            scene.reply(&reply);
            assert_eq!(scene.editor(), NOTHING, "nothing is left to withdraw");
            stopped_with(scene, &turn, "cancelled");
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
            let (turn, _) = asking(scene, "permission");
            let id = scene.asked_user()["id"].clone();
            let error = json!({ "code": code, "message": "no" });
            scene
                .desk
                .send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            scene.settle();
            stopped_with(scene, &turn, &adapter_error(told, "permission"));
        });
    }
}

/// 26.4 I12: only its outcome is shown.
#[test]
fn given_a_permission_that_is_closed_already_when_checked_then_nobody_is_asked() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let told = words::pending(
            &scene.session,
            &turn.id,
            "i1",
            &words::request("permission"),
        );
        scene.pending(&turn, std::slice::from_ref(&told));
        let outcome = json!({ "kind": "closure", "reason": "timed_out", "committedAt": 1 });
        scene.confirm(&words::resolved(&told, "closed", &outcome));
        assert_eq!(
            scene.editor(),
            ["card t1 in_progress \"Progress: Interaction closed: timed_out\""]
        );
        assert_eq!(
            last_card(scene)["_meta"]["maka"]["interaction"],
            json!({ "id": "i1", "kind": "permission", "status": "closed", "reason": "timed_out" })
        );
        scene.pending(&turn, &[]);
        ends_well(scene, &turn);
    });
}

/// 26.4 I13: asked once, however often the snapshot shows it; another client's answer
/// withdraws the question, and ours comes too late.
#[test]
fn given_another_clients_answer_when_asked_here_then_withdrawn_and_the_late_answer_ignored() {
    each_way(|scene| {
        let (turn, told) = asking(scene, "permission");
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.pending(&turn, std::slice::from_ref(&told));
        assert_eq!(scene.editor().len(), 2, "one card, one question");
        let number = scene.asked_user()["id"].clone();
        scene.pending(&turn, &[]);
        assert_eq!(scene.editor(), [format!("withdraws {number}")]);
        scene.choose("allow_once");
        scene.choose("reject_once");
        let outcome = json!({ "kind": "permission_answer", "decision": "deny" });
        scene.confirm(&words::resolved(&told, "answered", &outcome));
        assert_eq!(scene.editor(), ["card t1 → in_progress"]);
        ends_well(scene, &turn);
        assert_eq!(scene.count("interaction.answer"), 0);
        assert_eq!(scene.count("interaction.query"), 2);
    });
}

/// 26.4 I14; race 25: the Host's outcome counts, and nothing fails.
#[test]
fn given_an_answer_that_comes_second_when_refused_then_the_hosts_outcome_is_shown() {
    each_way(|scene| {
        let (turn, told) = asking(scene, "sandbox_boundary");
        scene.choose("allow_always");
        let asked = scene.asked("interaction.answer");
        scene.error(&asked, "already_resolved", "no");
        scene.editor();
        let outcome = json!({ "kind": "closure", "reason": "timed_out" });
        scene.confirm(&words::resolved(&told, "closed", &outcome));
        assert_eq!(
            scene.editor(),
            ["card i1 → failed \"Interaction closed: timed_out\""]
        );
        scene.pending(&turn, &[]);
        ends_well(scene, &turn);
    });
}

/// It leaves the snapshot before its answer is told: one outcome is shown.
#[test]
fn given_an_answer_on_its_way_when_the_question_leaves_the_snapshot_then_its_outcome_is_shown_once()
{
    each_way(|scene| {
        let (turn, told) = asking(scene, "permission");
        scene.choose("allow_once");
        scene.pending(&turn, &[]);
        scene.editor();
        takes(
            scene,
            &told,
            &json!({ "kind": "permission_answer", "decision": "allow" }),
        );
        assert_eq!(scene.editor(), ["card t1 → in_progress"]);
        assert_eq!(scene.count("interaction.query"), 1);
        // A snapshot that is late shows it once more.
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.pending(&turn, &[]);
        assert_eq!(scene.editor(), NOTHING);
        ends_well(scene, &turn);
    });
}

/// It leaves the snapshot while it is checked: nobody is asked.
#[test]
fn given_a_question_that_leaves_the_snapshot_when_still_checked_then_nobody_is_asked() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let told = words::pending(
            &scene.session,
            &turn.id,
            "i1",
            &words::request("permission"),
        );
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.pending(&turn, &[]);
        scene.confirm(&told);
        assert_eq!(scene.editor(), NOTHING);
        let outcome = json!({ "kind": "permission_answer", "decision": "allow" });
        scene.confirm(&words::resolved(&told, "answered", &outcome));
        assert_eq!(scene.editor(), ["card t1 in_progress"]);
        ends_well(scene, &turn);
    });
}

/// 26.4 I15; section 21.6: withdrawn before the Stop goes out; a late answer is ignored.
#[test]
fn given_a_silent_user_when_cancelled_or_closed_then_withdrawn_first_and_then_stopped() {
    for close in [false, true] {
        each_way(|scene| {
            let (turn, _) = asking(scene, "permission");
            scene.editor();
            let closing = close.then(|| scene.close());
            if !close {
                scene.cancel();
            }
            assert_eq!(scene.editor(), ["withdraws 1"]);
            scene.choose("allow_once");
            stopped_with(scene, &turn, "cancelled");
            if let Some(closing) = closing {
                assert_eq!(scene.answer(closing), Some(format!("{closing} {{}}")));
            }
        });
    }
}

/// The same with `$/cancel_request` for the prompt, and at the end of the editor.
#[test]
fn given_a_silent_user_when_the_request_is_cancelled_or_the_editor_ends_then_withdrawn() {
    each_way(|scene| {
        let (turn, _) = asking(scene, "permission");
        scene.editor();
        scene.cancel_request(turn.prompt);
        assert_eq!(scene.editor(), ["withdraws 1"]);
        stopped_with(scene, &turn, "cancelled");
    });
    each_way(|scene| {
        let (turn, _) = asking(scene, "permission");
        scene.editor();
        scene.hang_up();
        assert_eq!(scene.editor(), ["withdraws 1"]);
        stopped_with(scene, &turn, "cancelled");
        assert_eq!(scene.desk.done, Some(0));
    });
}

/// The turn ends by itself: its question goes with it, and nothing waits for the outcome.
#[test]
fn given_an_open_question_when_the_turn_ends_then_withdrawn_and_answered() {
    for (status, answer) in [("completed", "end_turn"), ("cancelled", "cancelled")] {
        each_way(|scene| {
            let (turn, _) = asking(scene, "permission");
            scene.editor();
            scene.now(&turn, status);
            assert_eq!(
                scene.editor(),
                [
                    "withdraws 1".to_owned(),
                    "card t1 → failed".to_owned(),
                    format!("{} {answer}", turn.prompt)
                ]
            );
            assert_eq!(scene.count("turn.stop"), 0);
        });
    }
}

/// Races 12 and 25; section 21.6: after a Stop that failed the turn stays fenced, whatever
/// another prompt does, until the Host shows its end.
#[test]
fn given_a_stop_that_fails_when_the_turn_asks_again_then_nobody_is_asked() {
    each_way(|scene| {
        let (turn, told) = asking(scene, "permission");
        scene.cancel();
        scene.choose("allow_once");
        let asked = scene.asked("turn.stop");
        scene.error(&asked, "internal_failure", "no");
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} cancelled", turn.prompt))
        );
        let more = words::pending(
            &scene.session,
            &turn.id,
            "i2",
            &words::request("permission"),
        );
        scene.editor();
        scene.pending(&turn, &[told.clone(), more.clone()]);
        let next = scene.prompt("again");
        let start = scene.asked("turn.start");
        scene.error(&start, "session_busy", "busy");
        assert!(scene.answer(next).unwrap().contains("session_busy"));
        scene.editor();
        scene.pending(&turn, &[told, more]);
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("interaction.query"), 1);
        assert_eq!(scene.count("interaction.answer"), 0);
    });
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
            stopped_with(
                scene,
                &turn,
                &adapter_error("invalid_interaction", "permission"),
            );
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
            stopped_with(scene, &turn, &adapter_error("invalid_interaction", kind));
        });
    }
    each_way(|scene| {
        let turn = scene.running("hello");
        let told = words::pending("another", &turn.id, "i1", &words::request("permission"));
        scene.pending(&turn, &[told]);
        stopped_with(
            scene,
            &turn,
            &adapter_error("invalid_interaction", "permission"),
        );
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
        stopped_with(
            scene,
            &turn,
            &adapter_error("interaction_capacity_exceeded", "permission"),
        );
    });
}

/// The connection is lost at every step; the question is asked once and answered once.
#[test]
fn given_a_lost_connection_when_checked_asked_or_answered_then_it_goes_on_where_it_was() {
    for step in ["checked", "asked", "answered"] {
        each_way(|scene| {
            let turn = scene.running("hello");
            let told = words::pending(
                &scene.session,
                &turn.id,
                "i1",
                &words::request("permission"),
            );
            scene.pending(&turn, std::slice::from_ref(&told));
            if step != "checked" {
                scene.confirm(&told);
            }
            if step == "answered" {
                scene.choose("allow_once");
                scene.asked("interaction.answer");
            }
            scene.lose();
            scene.wait(200);
            let root = scene.told(&turn, "waiting_for_user");
            let more = json!({ "pending": [told] });
            scene.open_with(&root, &Value::Null, &more);
            if step == "checked" {
                scene.confirm(&told);
            }
            if step != "answered" {
                scene.choose("allow_once");
            }
            let answer = takes(
                scene,
                &told,
                &json!({ "kind": "permission_answer", "decision": "allow" }),
            );
            assert_eq!(answer["decision"], "allow");
            let asked = scene.editor();
            assert_eq!(
                asked.iter().filter(|line| line.starts_with("asks")).count(),
                1
            );
            scene.pending(&turn, &[]);
            ends_well(scene, &turn);
        });
    }
}

/// The answer's own answer is lost, and the Host had taken it: not given again.
#[test]
fn given_an_answer_whose_response_is_lost_when_the_host_took_it_then_its_outcome_is_shown() {
    each_way(|scene| {
        let (turn, told) = asking(scene, "sandbox_boundary");
        scene.choose("allow_always");
        scene.asked("interaction.answer");
        scene.lose();
        scene.wait(200);
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &Value::Null, &json!({}));
        let outcome = json!({ "kind": "sandbox_boundary_decision", "decision": "allow",
                              "status": "approved" });
        scene.confirm(&words::resolved(&told, "answered", &outcome));
        assert_eq!(scene.editor().last().unwrap(), "card i1 → completed");
        ends_well(scene, &turn);
        assert_eq!(scene.count("interaction.answer"), 1);
    });
}

/// 26.4 I16; rule R7: while the card waits for a slow editor nobody is asked; afterwards
/// the question is not lost.
#[test]
fn given_a_slow_editor_when_its_turn_asks_then_the_question_waits_for_its_card() {
    for close in [true, false] {
        let mut scene = Scene::batched();
        scene.begin();
        let turn = scene.running("hello");
        scene.desk.editor_reads = false;
        let megabyte = "x".repeat(16 << 10);
        let mut start = 0;
        while scene.desk.waiting() <= airlock_engine::limits::ACP_WAITING {
            scene.text(&turn, "m1", start, &megabyte);
            start += megabyte.len() as u64;
        }
        scene.editor();
        let told = words::pending(
            &scene.session,
            &turn.id,
            "i1",
            &words::request("permission"),
        );
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.confirm(&told);
        assert_eq!(scene.editor(), NOTHING);
        if close {
            scene.close();
            assert_eq!(scene.editor(), NOTHING);
            stopped_with(&mut scene, &turn, "cancelled");
        } else {
            scene.desk.editor_reads = true;
            scene.settle();
            let said = scene.editor();
            let last: Vec<&str> = said.iter().rev().take(2).map(String::as_str).collect();
            assert!(last[0].starts_with("asks 1 t1"), "{last:?}");
            assert_eq!(last[1], "card t1 pending");
        }
    }
}

/// A terminal tool is not reopened by its question (26.3, BETA).
#[test]
fn given_a_tool_that_ended_when_its_question_is_closed_then_only_its_data_changes() {
    each_way(|scene| {
        let (turn, told) = asking(scene, "permission");
        scene.event(
            &turn,
            &json!({ "type": "tool_result", "status": "errored", "durationMs": 3 }),
        );
        scene.editor();
        scene.pending(&turn, &[]);
        let outcome = json!({ "kind": "closure", "reason": "turn_stopped" });
        scene.confirm(&words::resolved(&told, "closed", &outcome));
        assert_eq!(scene.editor(), ["withdraws 1", "card t1 → failed"]);
        let card = last_card(scene);
        assert_eq!(card["_meta"]["maka"]["interaction"]["status"], "closed");
        assert_eq!(card.get("content"), None);
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
        assert_eq!(takes(scene, &two, &outcome)["kind"], "sandbox_boundary");
        let outcome = json!({ "kind": "question_answer", "answers": ["Red"] });
        assert_eq!(takes(scene, &one, &outcome)["answers"], json!(["Red"]));
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
