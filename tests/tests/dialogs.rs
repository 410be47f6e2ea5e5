//! Questions of the Host to the user (Maka adapter, sections 21.2 to 21.6): checked, shown
//! on their card, asked, answered, and resolved by the Host's own word.

use airlock_tests::scripted_host::{Scene, each_way, each_way_with_forms, words};
use serde_json::json;

const NOTHING: [&str; 0] = [];

/// With an editor that shows forms.
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
            let card = scene.last_card();
            assert_eq!(card["title"], "Awaiting permission");
            let pending = json!({ "id": "i1", "kind": "permission", "status": "pending" });
            assert_eq!(card["_meta"]["maka"]["interaction"], pending);
            scene.choose(kind);
            let outcome = json!({ "kind": "permission_answer", "reviewer": "user",
                "decision": decision, "rememberForTurn": remember, "committedAt": 1 });
            let answer = scene.takes_answer(&told, &outcome);
            assert_eq!(
                answer,
                json!({ "kind": "permission", "decision": decision, "rememberForTurn": remember })
            );
            assert_eq!(scene.editor(), ["card t1 → in_progress"]);
            assert_eq!(
                scene.last_card()["_meta"]["maka"]["interaction"],
                json!({ "id": "i1", "kind": "permission", "status": "answered", "decision": decision })
            );
            scene.pending(&turn, &[]);
            scene.ends_well(&turn);
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
            let answer = scene.takes_answer(
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
            let answer = scene.takes_answer(&told, &outcome);
            assert_eq!(
                answer,
                json!({ "kind": "sandbox_boundary", "decision": decision })
            );
            assert_eq!(scene.editor(), [format!("card i1 → {shown}")]);
            let card = scene.last_card();
            assert_eq!(
                card["_meta"]["maka"]["interaction"],
                json!({ "id": "i1", "kind": "sandbox_boundary", "status": "answered",
                        "decision": decision, "outcomeStatus": status })
            );
            assert_eq!(card.get("content"), None);
            scene.pending(&turn, &[]);
            scene.ends_well(&turn);
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
            let answer = scene.takes_answer(&told, &outcome);
            assert_eq!(
                answer,
                json!({ "kind": "client_capability", "decision": decision })
            );
            scene.pending(&turn, &[]);
            scene.ends_well(&turn);
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
            let answer = scene.takes_answer(&told, &outcome);
            assert_eq!(answer, json!({ "kind": "question", "answers": answers }));
            scene.pending(&turn, &[]);
            scene.ends_well(&turn);
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
        let card = scene.last_card();
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
        assert_eq!(
            scene.takes_answer(&two, &outcome)["kind"],
            "sandbox_boundary"
        );
        let outcome = json!({ "kind": "question_answer", "answers": ["Red"] });
        assert_eq!(
            scene.takes_answer(&one, &outcome)["answers"],
            json!(["Red"])
        );
        scene.pending(&turn, &[]);
        scene.ends_well(&turn);
    });
}
