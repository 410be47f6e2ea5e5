//! `session/delete`: for good, with `session.remove`; archiving is something else.

use airlock_tests::scripted_host::{Scene, each_way, each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// The editor deletes a session; the id of its request.
fn delete(scene: &mut Scene, session: &str) -> u64 {
    let params = json!({ "sessionId": session });
    let request = scene.desk.request("session/delete", &params);
    scene.settle();
    request
}

/// The Host knows the session, at this revision.
fn found(scene: &mut Scene, session: &str, revision: u64) {
    let asked = scene.asked("session.catalog.query");
    assert_eq!(asked.input, json!({ "kind": "get", "sessionId": session }));
    let item = words::configured(session, revision, &json!({}));
    scene.result(&asked, &json!({ "kind": "session", "session": item }));
}

/// The Host deletes it.
fn removed(scene: &mut Scene, session: &str, revision: u64) {
    let asked = scene.asked("session.remove");
    assert_eq!(
        asked.input,
        json!({ "sessionId": session, "expectedRevision": revision })
    );
    scene.result(&asked, &json!({ "kind": "removed", "sessionId": session }));
}

fn error(request: u64, number: i32, operation: &str, rest: &str) -> String {
    format!(
        r#"{request} error {number} {{"source":"runtime_host","operation":"{operation}",{rest}}}"#
    )
}

#[test]
fn given_the_capabilities_when_told_then_deletion_is_among_them() {
    each_way_bare(|scene| {
        let answer = scene.desk.initialize();
        let capabilities = &answer["result"]["agentCapabilities"]["sessionCapabilities"];
        assert_eq!(capabilities["delete"], json!({}));
    });
}

/// Any session of the list can be deleted; nothing is archived.
#[test]
fn given_a_session_that_is_not_open_when_deleted_then_removed_on_its_revision() {
    each_way(|scene| {
        let request = delete(scene, "other");
        found(scene, "other", 5);
        assert_eq!(scene.editor(), NOTHING);
        removed(scene, "other", 5);
        assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        assert_eq!(
            scene.host(),
            [
                r#"session.catalog.query {"kind":"get","sessionId":"other"}"#,
                r#"session.remove {"sessionId":"other","expectedRevision":5}"#,
            ]
        );
    });
}

/// ACP: what is not there is deleted already. An id that no session can have is not sent.
#[test]
fn given_no_such_session_when_deleted_then_it_succeeds() {
    each_way(|scene| {
        let request = delete(scene, "gone");
        let asked = scene.asked("session.catalog.query");
        scene.result(&asked, &json!({ "kind": "session", "session": null }));
        assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        // Somebody else was faster.
        let request = delete(scene, "other");
        found(scene, "other", 5);
        let asked = scene.asked("session.remove");
        scene.error(&asked, "not_found", "no");
        assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        scene.host();
        for id in ["", "../x", "a b", &"x".repeat(129)] {
            let request = delete(scene, id);
            assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        }
        assert_eq!(scene.host(), NOTHING);
    });
}

#[test]
fn given_conflicts_when_a_session_is_deleted_then_two_are_gone_over_and_the_third_is_told() {
    each_way(|scene| {
        let request = delete(scene, "other");
        for revision in [5, 6] {
            found(scene, "other", revision);
            scene.conflict("session.remove");
        }
        found(scene, "other", 7);
        removed(scene, "other", 7);
        assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        scene.host();
        let request = delete(scene, "other");
        for revision in [7, 8, 9] {
            found(scene, "other", revision);
            scene.conflict("session.remove");
        }
        let conflict = r#""code":"revision_conflict","attempts":3"#;
        assert_eq!(
            scene.editor(),
            [error(request, -32603, "session.remove", conflict)]
        );
        assert_eq!(scene.host().len(), 6);
    });
}

#[test]
fn given_a_session_that_the_host_does_not_delete_when_told_then_the_editor_is_and_nothing_resent() {
    for fate in [
        "session_busy",
        "commit_outcome_unknown",
        "lost",
        "silence",
        "garbage",
    ] {
        each_way(|scene| {
            let request = delete(scene, "other");
            found(scene, "other", 5);
            scene.host();
            let rest = match fate {
                "lost" => {
                    scene.lose();
                    r#""code":"request_interrupted","reason":"connection_lost","dispatch":"dispatched""#
                }
                "silence" => {
                    scene.wait(29_999);
                    assert_eq!(scene.editor(), NOTHING);
                    scene.wait(1);
                    r#""code":"request_interrupted","reason":"timeout","dispatch":"dispatched""#
                }
                "garbage" => {
                    let asked = scene.asked("session.remove");
                    scene.result(&asked, &json!(7));
                    r#""code":"internal_failure""#
                }
                _ => {
                    let asked = scene.asked("session.remove");
                    scene.error(&asked, fate, "no");
                    &format!(r#""code":"{fate}""#)
                }
            };
            assert_eq!(
                scene.editor(),
                [error(request, -32603, "session.remove", rest)]
            );
            scene.wait(60_000);
            assert_eq!(scene.count("session.remove"), 1);
        });
    }
}

#[test]
fn given_a_session_that_cannot_be_read_when_deleted_then_told_and_not_removed() {
    for (answer, rest) in [
        (
            json!({ "kind": "page" }),
            r#""code":"catalog_read_failure","reason":"invalid_projection""#,
        ),
        (
            json!([]),
            r#""code":"catalog_read_failure","reason":"invalid_projection""#,
        ),
    ] {
        each_way(|scene| {
            let request = delete(scene, "other");
            let asked = scene.asked("session.catalog.query");
            scene.result(&asked, &answer);
            assert_eq!(
                scene.editor(),
                [error(request, -32603, "session.remove", rest)]
            );
            assert_eq!(scene.count("session.remove"), 0);
        });
    }
    each_way(|scene| {
        let request = delete(scene, "other");
        let asked = scene.asked("session.catalog.query");
        scene.error(&asked, "persistence_failed", "no");
        let rest = r#""code":"persistence_failed""#;
        assert_eq!(
            scene.editor(),
            [error(request, -32603, "session.catalog.query", rest)]
        );
    });
}

/// An open session is closed first: its turn is stopped, its feed let go, then it is removed.
#[test]
fn given_a_running_turn_when_its_session_is_deleted_then_stopped_closed_and_removed() {
    each_way(|scene| {
        let session = scene.session.clone();
        let turn = scene.running("hello");
        let waiting = scene.prompt("again");
        scene.host();
        let request = delete(scene, &session);
        // It is nobody's from here on.
        let late = scene.prompt("late");
        assert!(scene.answer(late).unwrap().contains("unknown_session"));
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        let stop = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&stop, &told);
        assert_eq!(scene.count("subscription.close"), 1);
        found(scene, &session, 5);
        removed(scene, &session, 5);
        let answers = scene.editor();
        let find = |id: u64| {
            answers
                .iter()
                .find(|it| it.starts_with(&format!("{id} ")))
                .cloned()
        };
        assert_eq!(
            find(turn.prompt),
            Some(format!("{} cancelled", turn.prompt))
        );
        assert_eq!(find(waiting), Some(format!("{waiting} cancelled")));
        assert_eq!(answers.last(), Some(&format!("{request} {{}}")));
        assert_eq!(scene.desk.unanswered(), [""; 0]);
    });
}

/// What could not be closed is not deleted; the session is unowned anyway, as after a close.
#[test]
fn given_a_stop_that_fails_when_the_session_is_deleted_then_told_and_not_removed() {
    each_way(|scene| {
        let session = scene.session.clone();
        scene.running("hello");
        let request = delete(scene, &session);
        let stop = scene.asked("turn.stop");
        scene.error(&stop, "internal_failure", "no");
        let told = error(request, -32603, "turn.stop", r#""code":"internal_failure""#);
        assert_eq!(scene.editor().last(), Some(&told));
        assert_eq!(scene.count("session.catalog.query"), 0);
        // Then as a session of the list.
        let request = delete(scene, &session);
        found(scene, &session, 5);
        removed(scene, &session, 5);
        assert_eq!(scene.editor(), [format!("{request} {{}}")]);
    });
}

/// Deletions and closes of one session at once are each answered once.
#[test]
fn given_a_session_that_is_being_closed_when_deleted_twice_then_both_wait_for_the_close() {
    each_way(|scene| {
        let session = scene.session.clone();
        let turn = scene.running("hello");
        scene.editor();
        let close = scene.close();
        let first = delete(scene, &session);
        let second = delete(scene, &session);
        assert_eq!(scene.count("session.catalog.query"), 0);
        let stop = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&stop, &told);
        found(scene, &session, 5);
        found(scene, &session, 5);
        removed(scene, &session, 5);
        let asked = scene.asked("session.remove");
        scene.error(&asked, "not_found", "no");
        assert_eq!(
            scene.editor(),
            [
                format!("{} cancelled", turn.prompt),
                format!("{close} {{}}"),
                format!("{first} {{}}"),
                format!("{second} {{}}"),
            ]
        );
    });
}

/// At the end nothing more is removed.
#[test]
fn given_a_session_being_deleted_when_the_editor_hangs_up_then_nothing_more_is_sent() {
    each_way(|scene| {
        let request = delete(scene, "other");
        scene.hang_up();
        let rest = r#""code":"registry_closed""#;
        assert_eq!(
            scene.editor(),
            [error(request, -32603, "session.remove", rest)]
        );
        assert_eq!(scene.count("session.remove"), 0);
        assert_eq!(scene.desk.done, Some(0));
    });
}

/// A file of the editor may ask for anything.
#[test]
fn given_params_that_cannot_be_read_when_deleted_or_set_then_refused() {
    let rows: [(&str, Value); 6] = [
        ("session/delete", json!({})),
        ("session/delete", json!({ "sessionId": 7 })),
        ("session/set_mode", json!({ "sessionId": "s" })),
        (
            "session/set_mode",
            json!({ "sessionId": "s", "modeId": true }),
        ),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "x" }),
        ),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "value": "x" }),
        ),
    ];
    each_way(|scene| {
        for (method, params) in &rows {
            let request = scene.desk.request(method, params);
            scene.settle();
            let line = scene.answer(request).unwrap();
            assert!(
                line.starts_with(&format!("{request} error -32602")),
                "{line}"
            );
        }
        assert_eq!(scene.host(), NOTHING);
    });
}
