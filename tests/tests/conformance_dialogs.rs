//! Rows of the adapter's conformance list about questions that no other test shows (Maka
//! adapter, sections 26.2 and 26.6): a fence that outlives an answer from elsewhere, editors
//! that cannot ask, and a load that fails beside a prompt that asks.

use airlock_tests::conversation::CWD;
use airlock_tests::scripted_host::{Scene, Turn, each_way, each_way_bare, words};
use serde_json::json;

const NOTHING: [&str; 0] = [];

/// N82: the Stop failed, and another client answers what was asked: what the turn asks next
/// is not asked here either.
#[test]
fn given_a_stop_that_failed_when_its_question_is_answered_elsewhere_then_the_turn_stays_fenced() {
    each_way(|scene| {
        let (turn, _) = scene.asking("permission");
        scene.cancel();
        let stop = scene.asked("turn.stop");
        scene.error(&stop, "internal_failure", "no");
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} cancelled", turn.prompt))
        );
        scene.editor();
        scene.pending(&turn, &[]);
        let request = words::request("permission");
        let next = words::pending(&scene.session, &turn.id, "i2", &request);
        scene.pending(&turn, &[next]);
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("interaction.query"), 1);
        assert_eq!(scene.count("interaction.answer"), 0);
    });
}

/// S2 to S6, as they became: an editor that answers that it knows no such method.
#[test]
fn given_an_editor_that_cannot_ask_when_asked_for_any_kind_then_unsupported_and_one_exact_stop() {
    let kinds = [
        "question",
        "permission",
        "sandbox_boundary",
        "client_capability",
    ];
    for kind in kinds {
        each_way_bare(|scene| {
            scene.begin_with_forms();
            let (turn, _) = scene.asking(kind);
            let id = scene.asked_user()["id"].clone();
            let error = json!({ "code": -32601, "message": "Method not found" });
            let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            scene.desk.send(&answer);
            scene.settle();
            let data = format!(
                r#"{{"source":"adapter","code":"unsupported_interaction","kind":"{kind}","interactionId":"i1"}}"#
            );
            scene.stopped_with(&turn, &format!("error -32603 {data}"));
        });
    }
}

/// How a load beside a prompt comes to nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// The session is in another folder.
    Elsewhere,
    /// The editor takes it back while the past is read.
    TakenBack,
}

fn fails(scene: &mut Scene, turn: &Turn, method: &str, fate: Fate) {
    let params = json!({ "sessionId": scene.session, "cwd": CWD, "mcpServers": [] });
    let id = scene.desk.request(method, &params);
    scene.settle();
    let asked = scene.asked("session.catalog.query");
    let folder = if fate == Fate::Elsewhere {
        "/elsewhere"
    } else {
        CWD
    };
    let item = words::session(&json!(scene.session), &json!(folder));
    scene.result(&asked, &json!({ "kind": "session", "session": item }));
    if fate == Fate::TakenBack {
        scene.asked("session.transcript.page");
        scene.cancel_request(id);
        // Frames were held back for it: the feed is had anew.
        let root = scene.told(turn, "running");
        scene.open_with(&root, &json!(0), &json!({}));
        let row = words::durable(0, &words::user(&turn.id, "u", "hello"));
        scene.page(&[row], None);
    }
    let answer = scene.answer(id).unwrap();
    assert!(answer.contains(" error "), "{answer}");
}

/// N15, N16, N19: a load or a resume comes to nothing while a prompt runs; what the prompt's
/// turn asks afterwards is asked as ever, and nothing was stopped.
#[test]
fn given_a_load_that_fails_while_a_prompt_runs_when_the_prompt_asks_then_it_is_asked_as_ever() {
    for (method, fate) in [
        ("session/load", Fate::Elsewhere),
        ("session/resume", Fate::Elsewhere),
        ("session/load", Fate::TakenBack),
    ] {
        each_way(|scene| {
            let turn = scene.running("hello");
            scene.now(&turn, "running");
            scene.advanced(0);
            let row = words::durable(0, &words::user(&turn.id, "u", "hello"));
            scene.page(&[row], None);
            fails(scene, &turn, method, fate);
            let request = words::request("permission");
            let told = words::pending(&scene.session, &turn.id, "i1", &request);
            scene.pending(&turn, std::slice::from_ref(&told));
            scene.confirm(&told);
            scene.choose("allow_once");
            let outcome = json!({ "kind": "permission_answer", "decision": "allow" });
            scene.takes_answer(&told, &outcome);
            scene.pending(&turn, &[]);
            scene.now(&turn, "failed");
            assert!(scene.answer(turn.prompt).unwrap().contains("runtime_error"));
            assert_eq!(scene.count("turn.stop"), 0);
        });
    }
}
