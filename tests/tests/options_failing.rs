//! Options that cannot be set: each failure is told once and nothing is sent again
//! (Maka adapter, sections 4.2 and 9.3).

use airlock_engine::HostRefusal;
use airlock_tests::scripted_host::{each_way_bare, words};
use serde_json::json;

const NOTHING: [&str; 0] = [];

/// A level that the model does not have is the Host's business.
#[test]
fn given_a_level_that_the_model_lacks_when_set_then_the_host_decides() {
    each_way_bare(|scene| {
        scene.begin_with_options(&json!({ "model": "plain" }));
        let request = scene.set("thinking_level", &json!("high"));
        scene.current(7, &json!({ "model": "plain" }));
        let asked = scene.change();
        scene.error(&asked, "invalid_request", "no such level");
        let data = r#"{"source":"runtime_host","operation":"session.configuration.update","code":"invalid_request"}"#;
        assert_eq!(scene.editor(), [format!("{request} error -32602 {data}")]);
    });
}

/// R59: the session cannot be read.
#[test]
fn given_a_session_that_cannot_be_read_when_an_option_is_set_then_told_and_nothing_is_changed() {
    let data = |code: &str, more: &str| {
        format!(
            r#"{{"source":"runtime_host","operation":"session.configuration.update","code":"{code}"{more}}}"#
        )
    };
    let invalid = data("catalog_read_failure", r#","reason":"invalid_projection""#);
    let rows = [
        (
            json!({ "kind": "session", "session": null }),
            -32602,
            data("not_found", ""),
        ),
        (
            json!({ "kind": "page", "sessions": [] }),
            -32603,
            invalid.clone(),
        ),
        (json!("garbage"), -32603, invalid),
        (
            json!({ "kind": "session", "session": { "id": "s", "kind": "unsupported_legacy_record" } }),
            -32603,
            data("unsupported_session_projection", ""),
        ),
    ];
    for (answer, code, data) in rows {
        each_way_bare(|scene| {
            scene.begin_with_options(&json!({}));
            let request = scene.set("permission_mode", &json!("bypass"));
            let asked = scene.asked("session.catalog.query");
            scene.result(&asked, &answer);
            assert_eq!(scene.editor(), [format!("{request} error {code} {data}")]);
            assert_eq!(scene.count("session.configuration.update"), 0);
        });
    }
}

/// R60: a read that fails changes nothing either, and is not done again.
#[test]
fn given_a_session_whose_read_fails_when_an_option_is_set_then_told_and_nothing_is_changed() {
    for fate in ["persistence_failed", "lost", "silence", "unreachable"] {
        each_way_bare(|scene| {
            scene.begin_with_options(&json!({}));
            let told = if fate == "unreachable" {
                scene.lose();
                scene.desk.host.refusal = Some(HostRefusal::Absent);
                r#""connect","code":"connection_failed","reason":"absent""#
            } else {
                r#""session.catalog.query","code":"#
            };
            let request = scene.set("permission_mode", &json!("bypass"));
            let told = match fate {
                "unreachable" => {
                    scene.wait(3_500);
                    told.to_owned()
                }
                "lost" => {
                    scene.lose();
                    format!(
                        r#"{told}"request_interrupted","reason":"connection_lost","dispatch":"dispatched""#
                    )
                }
                "silence" => {
                    scene.wait(14_999);
                    assert_eq!(scene.editor(), NOTHING);
                    scene.wait(1);
                    format!(
                        r#"{told}"request_interrupted","reason":"timeout","dispatch":"dispatched""#
                    )
                }
                _ => {
                    let asked = scene.asked("session.catalog.query");
                    scene.error(&asked, fate, "no");
                    format!(r#"{told}"{fate}""#)
                }
            };
            let data = format!(r#"{{"source":"runtime_host","operation":{told}}}"#);
            assert_eq!(
                scene.editor(),
                [format!("{request} error -32603 {data}")],
                "{fate}"
            );
            scene.wait(60_000);
            let asked = scene.count("session.catalog.query");
            assert_eq!(asked, usize::from(fate != "unreachable"), "{fate}");
            assert_eq!(scene.count("session.configuration.update"), 0);
        });
    }
}

/// R60: typed refusals and a lost answer are told once, and nothing is sent again; the next
/// setting works.
#[test]
fn given_a_change_that_the_host_does_not_make_when_told_then_the_editor_is_and_nothing_is_resent() {
    let rows = [
        ("invalid_request", -32602),
        ("not_found", -32602),
        ("session_busy", -32603),
        ("operation_conflict", -32603),
        ("commit_outcome_unknown", -32603),
        ("lost", -32603),
        ("silence", -32603),
        ("garbage", -32603),
    ];
    for (fate, code) in rows {
        each_way_bare(|scene| {
            scene.begin_with_options(&json!({}));
            let request = scene.set("permission_mode", &json!("bypass"));
            scene.current(7, &json!({}));
            scene.host();
            let told = match fate {
                "lost" => {
                    scene.lose();
                    r#""code":"request_interrupted","reason":"connection_lost","dispatch":"dispatched""#
                }
                "silence" => {
                    scene.wait(29_999);
                    assert_eq!(scene.editor(), NOTHING);
                    scene.wait(1);
                    scene.change();
                    r#""code":"request_interrupted","reason":"timeout","dispatch":"dispatched""#
                }
                "garbage" => {
                    let asked = scene.change();
                    scene.result(&asked, &json!({ "kind": "committed" }));
                    r#""code":"internal_failure""#
                }
                _ => {
                    let asked = scene.change();
                    scene.error(&asked, fate, "no");
                    &format!(r#""code":"{fate}""#)
                }
            };
            let data = format!(
                r#"{{"source":"runtime_host","operation":"session.configuration.update",{told}}}"#
            );
            assert_eq!(
                scene.editor(),
                [format!("{request} error {code} {data}")],
                "{fate}"
            );
            scene.wait(60_000);
            assert_eq!(scene.count("session.configuration.update"), 1, "{fate}");
            let request = scene.set("permission_mode", &json!("bypass"));
            scene.wait(100);
            scene.current(7, &json!({}));
            scene.commit(8, &json!({ "permissionMode": "bypass" }));
            assert!(scene.answer(request).unwrap().contains("options bypass"));
        });
    }
}

/// Models that cannot be read do not undo a change: those known before are offered.
#[test]
fn given_models_that_cannot_be_read_when_an_option_was_set_then_the_change_is_told() {
    for fate in ["error", "silence", "lost"] {
        each_way_bare(|scene| {
            scene.begin_with_options(&json!({}));
            let request = scene.set("model", &json!("other/mock-model"));
            scene.current(7, &json!({}));
            let asked = scene.change();
            let item =
                words::configured(&scene.session, 8, &json!({ "llmConnectionSlug": "other" }));
            scene.result(&asked, &json!({ "kind": "committed", "session": item }));
            let asked = scene.asked("connection.catalog.query");
            match fate {
                "error" => scene.error(&asked, "internal_failure", "no"),
                "silence" => scene.wait(2_000),
                _ => scene.lose(),
            }
            let options = "options ask other/mock-model default agent default";
            assert_eq!(
                scene.editor(),
                [options.to_owned(), format!("{request} {options}")]
            );
        });
    }
}
