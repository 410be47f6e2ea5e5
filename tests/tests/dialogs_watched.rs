//! Questions of another client's turn in a session that was loaded or resumed (Maka adapter,
//! sections 21.2, 21.6 and 23): this user may answer too, and nothing is stopped unless this
//! user says so.

#[path = "support/loads.rs"]
mod loads;

use airlock_tests::scripted_host::{Scene, Turn, words};
use loads::{NOTHING, each_way, known, resume, theirs};
use serde_json::{Value, json};

fn pending(scene: &Scene, turn: &Turn, id: &str, kind: &str) -> Value {
    words::pending(&scene.session, &turn.id, id, &words::request(kind))
}

/// A resumed session in which another client's turn begins to ask.
fn watched(scene: &mut Scene, kind: &str) -> (Turn, Value) {
    resume(scene);
    known(scene);
    scene.open();
    let turn = theirs("t1");
    scene.now(&turn, "running");
    scene.editor();
    scene.host();
    let told = pending(scene, &turn, "i1", kind);
    scene.pending(&turn, std::slice::from_ref(&told));
    (turn, told)
}

/// 26.2 N22, N23: asked once, answered here; the card is shown.
#[test]
fn given_a_watched_turn_that_asks_when_answered_here_then_the_host_gets_the_answer() {
    each_way(|scene| {
        let (turn, told) = watched(scene, "permission");
        scene.confirm(&told);
        scene.pending(&turn, std::slice::from_ref(&told));
        let said = scene.editor();
        assert_eq!(said[0], "card t1 pending");
        assert!(said[1].starts_with("asks 1 t1 Authorize Bash"), "{said:?}");
        assert_eq!(said.len(), 2);
        scene.choose("allow_once");
        let outcome = json!({ "kind": "permission_answer", "decision": "allow" });
        let answer = scene.takes_answer(&told, &outcome);
        assert_eq!(answer["decision"], "allow");
        assert_eq!(scene.editor(), ["card t1 → in_progress"]);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// 26.2 N43: a question that was pending when the session was resumed is asked once.
#[test]
fn given_a_question_that_is_pending_when_resumed_then_it_is_asked_and_answered_once() {
    each_way(|scene| {
        resume(scene);
        known(scene);
        let turn = theirs("t1");
        let told = pending(scene, &turn, "i1", "permission");
        let root = scene.told(&turn, "waiting_for_user");
        scene.open_with(&root, &Value::Null, &json!({ "pending": [told] }));
        scene.confirm(&told);
        scene.pending(&turn, std::slice::from_ref(&told));
        let said = scene.editor();
        let asks = said.iter().filter(|line| line.starts_with("asks 1 t1"));
        assert_eq!(asks.count(), 1, "{said:?}");
        scene.choose("reject_once");
        let outcome = json!({ "kind": "permission_answer", "decision": "deny" });
        assert_eq!(scene.takes_answer(&told, &outcome)["decision"], "deny");
        assert_eq!(scene.count("interaction.query"), 1);
    });
}

/// 26.2 N49: what cannot be shown here is left to the other client.
#[test]
fn given_a_watched_turn_that_asks_what_cannot_be_shown_when_heard_then_it_goes_on() {
    each_way(|scene| {
        let (turn, told) = watched(scene, "question");
        scene.pending(&turn, std::slice::from_ref(&told));
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// An answer that does not fit stops nobody's turn.
#[test]
fn given_a_watched_turn_when_the_answer_does_not_fit_then_it_goes_on_unanswered() {
    each_way(|scene| {
        let (turn, told) = watched(scene, "permission");
        scene.confirm(&told);
        scene.reply(&json!({ "outcome": { "outcome": "maybe" } }));
        scene.editor();
        scene.pending(&turn, std::slice::from_ref(&told));
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("turn.stop"), 0);
        assert_eq!(scene.count("interaction.answer"), 0);
    });
}

/// 26.4 I9: to turn away ends the turn, whoever began it; it is no denial.
#[test]
fn given_a_watched_turn_when_the_user_turns_away_then_it_is_stopped_and_nothing_is_answered() {
    each_way(|scene| {
        let (_, told) = watched(scene, "permission");
        scene.confirm(&told);
        scene.reply(&json!({ "outcome": { "outcome": "cancelled" } }));
        let stop = scene.asked("turn.stop");
        assert_eq!(stop.input["turnId"], "t1");
        assert_eq!(scene.count("turn.stop"), 1);
        assert_eq!(scene.count("interaction.answer"), 0);
    });
}

/// 26.2 N53, N81 to N83; race 25: fenced before the Stop, through its failure, until the
/// Host shows the end.
#[test]
fn given_a_watched_turn_whose_stop_fails_when_it_asks_again_then_nobody_is_asked() {
    each_way(|scene| {
        let (turn, told) = watched(scene, "permission");
        scene.confirm(&told);
        scene.editor();
        scene.cancel();
        assert_eq!(scene.editor(), ["withdraws 1"]);
        let stop = scene.asked("turn.stop");
        scene.error(&stop, "internal_failure", "no");
        scene.choose("allow_once");
        let more = pending(scene, &turn, "i2", "permission");
        scene.pending(&turn, &[told.clone(), more.clone()]);
        // The first is resolved elsewhere: that lifts nothing.
        scene.pending(&turn, std::slice::from_ref(&more));
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("interaction.query"), 1);
        assert_eq!(scene.count("interaction.answer"), 0);
    });
}
