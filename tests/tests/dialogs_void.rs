//! Questions of the Host that nobody needs to answer any more (Maka adapter, sections 21.2
//! and 21.6): answered elsewhere, closed, withdrawn, fenced, or interrupted by a lost
//! connection or a slow editor.

use airlock_engine::{AcpDeparture, Effect, HostDeparture};
use airlock_tests::scripted_host::{Scene, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

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
            scene.last_card()["_meta"]["maka"]["interaction"],
            json!({ "id": "i1", "kind": "permission", "status": "closed", "reason": "timed_out" })
        );
        scene.pending(&turn, &[]);
        scene.ends_well(&turn);
    });
}

/// 26.4 I13: asked once, however often the snapshot shows it; another client's answer
/// withdraws the question, and ours comes too late.
#[test]
fn given_another_clients_answer_when_asked_here_then_withdrawn_and_the_late_answer_ignored() {
    each_way(|scene| {
        let (turn, told) = scene.asking("permission");
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
        scene.ends_well(&turn);
        assert_eq!(scene.count("interaction.answer"), 0);
        assert_eq!(scene.count("interaction.query"), 2);
    });
}

/// 26.4 I14; race 25: the Host's outcome counts, and nothing fails.
#[test]
fn given_an_answer_that_comes_second_when_refused_then_the_hosts_outcome_is_shown() {
    each_way(|scene| {
        let (turn, told) = scene.asking("sandbox_boundary");
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
        scene.ends_well(&turn);
    });
}

/// It leaves the snapshot before its answer is told: one outcome is shown.
#[test]
fn given_an_answer_on_its_way_when_the_question_leaves_the_snapshot_then_its_outcome_is_shown_once()
{
    each_way(|scene| {
        let (turn, told) = scene.asking("permission");
        scene.choose("allow_once");
        scene.pending(&turn, &[]);
        scene.editor();
        scene.takes_answer(
            &told,
            &json!({ "kind": "permission_answer", "decision": "allow" }),
        );
        assert_eq!(scene.editor(), ["card t1 → in_progress"]);
        assert_eq!(scene.count("interaction.query"), 1);
        // A snapshot that is late shows it once more.
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.pending(&turn, &[]);
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("interaction.query"), 1);
        scene.ends_well(&turn);
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
        scene.ends_well(&turn);
    });
}

/// In the order of the effects.
fn withdrawn_before_stopped(scene: &Scene) {
    let effects = scene.desk.calls.iter().flat_map(|call| &call.effects);
    let mut seen = Vec::new();
    for effect in effects {
        let (name, bytes) = match effect {
            Effect::Acp(AcpDeparture::Bytes(bytes)) => ("$/cancel_request", bytes),
            Effect::Host(_, HostDeparture::Bytes(bytes)) => ("turn.stop", bytes),
            _ => continue,
        };
        if String::from_utf8_lossy(bytes).contains(name) {
            seen.push(name);
        }
    }
    assert_eq!(seen, ["$/cancel_request", "turn.stop"]);
}

/// It is there again before it was checked: a snapshot that was out of order asks nothing.
#[test]
fn given_a_question_that_is_there_again_when_checked_then_it_is_asked() {
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
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.confirm(&told);
        assert_eq!(scene.editor().len(), 2);
        assert_eq!(scene.count("interaction.query"), 1);
    });
}

/// Race 12: another client's turn is that client's, whatever this editor can show.
#[test]
fn given_another_clients_question_when_shown_then_it_is_left_alone() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        scene.editor();
        scene.host();
        let session = scene.session.clone();
        let root = words::turn(&session, "other", "run-1", "waiting_for_user", &Value::Null);
        let told = words::pending(&session, "other", "i1", &words::request("permission"));
        for pending in [std::slice::from_ref(&told), &[]] {
            let line = scene.root_line(&root, pending);
            scene.says([line]);
        }
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// A Host that shows the end and the question at once: the end counts.
#[test]
fn given_a_snapshot_with_the_end_and_the_question_when_shown_then_withdrawn_and_answered() {
    each_way(|scene| {
        let (turn, told) = scene.asking("permission");
        scene.editor();
        let root = scene.told(&turn, "failed");
        let line = scene.root_line(&root, &[told]);
        scene.says([line]);
        let said = scene.editor();
        assert_eq!(said[0], "withdraws 1");
        assert!(said.last().unwrap().contains("runtime_error"), "{said:?}");
        assert_eq!(scene.desk.asking(), [""; 0]);
    });
}

/// 26.4 I15; section 21.6: withdrawn before the Stop goes out; a late answer is ignored.
#[test]
fn given_a_silent_user_when_cancelled_or_closed_then_withdrawn_first_and_then_stopped() {
    for close in [false, true] {
        each_way(|scene| {
            let (turn, _) = scene.asking("permission");
            scene.editor();
            let closing = close.then(|| scene.close());
            if !close {
                scene.cancel();
            }
            assert_eq!(scene.editor(), ["withdraws 1"]);
            withdrawn_before_stopped(scene);
            scene.choose("allow_once");
            scene.stopped_with(&turn, "cancelled");
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
        let (turn, _) = scene.asking("permission");
        scene.editor();
        scene.cancel_request(turn.prompt);
        assert_eq!(scene.editor(), ["withdraws 1"]);
        scene.stopped_with(&turn, "cancelled");
    });
    each_way(|scene| {
        let (turn, _) = scene.asking("permission");
        scene.editor();
        scene.hang_up();
        assert_eq!(scene.editor(), ["withdraws 1"]);
        scene.stopped_with(&turn, "cancelled");
        assert_eq!(scene.desk.done, Some(0));
    });
}

/// The turn ends by itself: its question goes with it, and nothing waits for the outcome.
#[test]
fn given_an_open_question_when_the_turn_ends_then_withdrawn_and_answered() {
    for (status, answer) in [("completed", "end_turn"), ("cancelled", "cancelled")] {
        each_way(|scene| {
            let (turn, _) = scene.asking("permission");
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

/// Races 12 and 25; 26.2 N81, N83; section 21.6: after a Stop that failed the turn stays fenced, whatever
/// another prompt does, until the Host shows its end.
#[test]
fn given_a_stop_that_fails_when_the_turn_asks_again_then_nobody_is_asked() {
    each_way(|scene| {
        let (turn, told) = scene.asking("permission");
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
            let answer = scene.takes_answer(
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
            scene.ends_well(&turn);
        });
    }
}

/// The answer's own answer is lost, and the Host had taken it: not given again.
#[test]
fn given_an_answer_whose_response_is_lost_when_the_host_took_it_then_its_outcome_is_shown() {
    each_way(|scene| {
        let (turn, told) = scene.asking("sandbox_boundary");
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
        scene.ends_well(&turn);
        assert_eq!(scene.count("interaction.answer"), 1);
    });
}

/// 26.4 I16, I17; rule R7: while the card waits for a slow editor nobody is asked, and a
/// cancel or a close is as quick as ever; afterwards the question is not lost.
#[test]
fn given_a_slow_editor_when_its_turn_asks_then_the_question_waits_for_its_card() {
    for end in ["close", "cancel", "read"] {
        let mut scene = Scene::batched();
        scene.begin();
        let turn = scene.running("hello");
        scene.desk.editor_reads = false;
        let piece = "x".repeat(16 << 10);
        let mut start = 0;
        while scene.desk.waiting() <= airlock_engine::limits::ACP_WAITING {
            scene.text(&turn, "m1", start, &piece);
            start += piece.len() as u64;
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
        if end != "read" {
            if end == "close" {
                scene.close();
            } else {
                scene.cancel();
            }
            assert_eq!(scene.editor(), NOTHING);
            scene.stopped_with(&turn, "cancelled");
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
        let (turn, told) = scene.asking("permission");
        scene.event(
            &turn,
            &json!({ "type": "tool_result", "status": "errored", "durationMs": 3 }),
        );
        scene.editor();
        scene.pending(&turn, &[]);
        let outcome = json!({ "kind": "closure", "reason": "turn_stopped" });
        scene.confirm(&words::resolved(&told, "closed", &outcome));
        assert_eq!(scene.editor(), ["withdraws 1", "card t1 → failed"]);
        let card = scene.last_card();
        assert_eq!(card["_meta"]["maka"]["interaction"]["status"], "closed");
        assert_eq!(card.get("content"), None);
    });
}
