//! Questions and answers that do not fit (Maka adapter, section 21.2 and the limits of section
//! 2): the turn is stopped, the prompt says why, nothing is answered.

use airlock_tests::scripted_host::{Scene, each_way, each_way_bare, each_way_with_forms, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// With an editor that shows forms.
fn adapter_error(code: &str, kind: &str) -> String {
    format!(
        r#"error -32603 {{"source":"adapter","code":"{code}","kind":"{kind}","interactionId":"i1"}}"#
    )
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

/// What the Host takes, section 2: at each limit, and one more.
#[test]
fn given_answers_at_the_hosts_limits_when_given_then_one_more_is_not_answered() {
    let envelope = r#"{"kind":"question","answers":[""]}"#.len();
    // A control character takes six bytes of JSON.
    let most = (8192 - envelope) / 6;
    let table = [
        ("x".repeat(2048), true),
        ("x".repeat(2049), false),
        (format!("{}é", "x".repeat(2046)), true),
        (format!("{}é", "x".repeat(2047)), false),
        ("\u{1}".repeat(most), true),
        ("\u{1}".repeat(most + 1), false),
    ];
    for (text, taken) in table {
        each_way_with_forms(|scene| {
            let (turn, _) = scene.asking("question");
            scene.reply(&json!({ "action": "accept", "content": { "q0": text } }));
            if taken {
                let answer = scene.asked("interaction.answer").input["answer"].clone();
                assert_eq!(answer, json!({ "kind": "question", "answers": [text] }));
                assert!(answer.to_string().len() <= 8192);
            } else {
                let error = adapter_error("invalid_interaction_answer", "question");
                scene.stopped_with(&turn, &error);
            }
        });
    }
}

/// Characters that the editor is told to allow, section 2.
#[test]
fn given_one_to_three_questions_when_asked_then_the_longest_answers_fit_together() {
    for (count, most) in [(1, 512), (2, 512), (3, 452)] {
        let mut scene = Scene::plain();
        scene.begin_with_forms();
        let question = json!({ "question": "?", "options": [{ "label": "a" }, { "label": "b" }] });
        let questions = vec![question; count];
        let request = json!({ "kind": "question", "toolUseId": "t1", "questions": questions });
        scene.asking_for("i1", &request);
        let asked = scene.asked_user();
        let properties = asked["params"]["requestedSchema"]["properties"].clone();
        let properties = properties.as_object().unwrap().clone();
        assert_eq!(properties.len(), count);
        for (name, property) in &properties {
            assert_eq!(property["maxLength"], most, "{name} of {count}");
        }
        let longest = "\u{1}".repeat(most);
        let content: Value = properties
            .keys()
            .map(|name| (name.clone(), json!(longest)))
            .collect();
        scene.reply(&json!({ "action": "accept", "content": content }));
        let answer = scene.asked("interaction.answer").input["answer"].to_string();
        assert!(answer.len() <= 8192, "{count}: {}", answer.len());
    }
}
