//! `turn.start` and what becomes of it (Maka adapter, section 12): sent once, and when its
//! answer is lost, only the Host's word on the turn itself counts.

use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::json;

const NOTHING: [&str; 0] = [];

fn stopped(scene: &mut Scene, turn: &Turn) {
    let asked = scene.asked("turn.stop");
    let told = scene.told(turn, "cancelled");
    scene.result(&asked, &told);
}

fn interrupted(prompt: u64) -> String {
    format!(
        r#"{prompt} error -32603 {{"source":"runtime_host","operation":"turn.start","code":"request_interrupted","reason":"connection_lost","dispatch":"dispatched"}}"#
    )
}

/// A turn whose `turn.start` was sent and lost; the connection is back.
fn lost(scene: &mut Scene) -> Turn {
    let turn = scene.dispatched("hello");
    scene.lose();
    scene.host();
    scene.wait(100);
    assert_eq!(
        scene.host(),
        ["hello".to_owned(), format!("query {}", turn.id)]
    );
    turn
}

/// R10: output before the answer to `turn.start` is shown, and the end may come first.
#[test]
fn given_output_before_the_start_is_answered_when_it_comes_then_it_is_shown() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.now(&turn, "running");
        scene.text(&turn, "m1", 0, "Hi");
        assert_eq!(scene.editor(), ["says m1: \"Hi\""]);
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [format!("{} end_turn", turn.prompt)]);
        let asked = scene.asked("turn.start");
        let started = scene.started(&turn);
        scene.result(&asked, &started);
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// Typed errors of `turn.start`: the prompt fails with them, nothing is stopped, the next works.
#[test]
fn given_a_refused_start_when_it_is_told_then_the_prompt_fails_with_it_and_the_next_works() {
    for (code, number) in [
        ("session_busy", -32603),
        ("session_archived", -32603),
        ("operation_conflict", -32603),
        ("invalid_request", -32602),
        ("not_found", -32602),
        ("host_draining", -32603),
    ] {
        each_way(|scene| {
            let turn = scene.dispatched("hello");
            let asked = scene.asked("turn.start");
            scene.host();
            scene.error(&asked, code, "no");
            let prompt = turn.prompt;
            let data =
                format!(r#"{{"source":"runtime_host","operation":"turn.start","code":"{code}"}}"#);
            assert_eq!(scene.editor(), [format!("{prompt} error {number} {data}")]);
            assert_eq!(scene.host(), NOTHING);
            let next = scene.running("again");
            scene.now(&next, "completed");
            assert_eq!(scene.editor(), [format!("{} end_turn", next.prompt)]);
            assert_eq!(scene.count("subscription.open"), 1);
        });
    }
}

#[test]
fn given_a_blocked_start_when_it_is_told_then_the_prompt_fails_and_nothing_is_stopped() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        let asked = scene.asked("turn.start");
        scene.result(
            &asked,
            &json!({ "kind": "blocked", "skillInvocation": { "failed": [] } }),
        );
        let data =
            r#"{"source":"runtime_host","operation":"turn.start","code":"blocked","skills":[]}"#;
        assert_eq!(
            scene.editor(),
            [format!("{} error -32603 {data}", turn.prompt)]
        );
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// 12.3, R28.
#[test]
fn given_a_lost_start_when_the_host_does_not_know_it_then_the_loss_is_told() {
    each_way(|scene| {
        let turn = lost(scene);
        let asked = scene.asked("turn.query");
        scene.error(&asked, "not_found", "Turn was not admitted");
        assert_eq!(scene.editor(), [interrupted(turn.prompt)]);
        scene.wait(60_000);
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.count("turn.start"), 1, "a turn is never sent twice");
    });
}

/// 12.3, R29.
#[test]
fn given_a_lost_start_when_it_has_ended_then_the_loss_is_told_without_a_stop() {
    for end in ["completed", "failed", "cancelled"] {
        each_way(|scene| {
            let turn = lost(scene);
            let asked = scene.asked("turn.query");
            let told = scene.told(&turn, end);
            scene.result(&asked, &told);
            assert_eq!(scene.editor(), [interrupted(turn.prompt)]);
            assert_eq!(scene.count("turn.stop"), 0);
        });
    }
}

/// 12.3, R30.
#[test]
fn given_a_lost_start_when_it_runs_then_one_stop_and_then_the_loss_is_told() {
    each_way(|scene| {
        let turn = lost(scene);
        let asked = scene.asked("turn.query");
        let told = scene.told(&turn, "running");
        scene.result(&asked, &told);
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        assert_eq!(scene.editor(), NOTHING);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [interrupted(turn.prompt)]);
        let next = scene.running("again");
        scene.now(&next, "completed");
        assert_eq!(scene.editor(), [format!("{} end_turn", next.prompt)]);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// 12.2: pauses of 25, 50, 100 and 200 ms; 12.3, R31.
#[test]
fn given_a_lost_start_when_five_questions_fail_then_nobody_can_say() {
    each_way(|scene| {
        let turn = lost(scene);
        for pause in [25, 50, 100, 200] {
            let asked = scene.asked("turn.query");
            scene.error(&asked, "internal_failure", "no");
            scene.wait(pause - 1);
            assert_eq!(scene.host(), NOTHING, "{pause}");
            scene.wait(1);
            assert_eq!(scene.host(), [format!("query {}", turn.id)], "{pause}");
            assert_eq!(scene.editor(), NOTHING);
        }
        let asked = scene.asked("turn.query");
        scene.error(&asked, "internal_failure", "no");
        let told = scene.editor();
        let head = format!(
            r#"{} error -32603 {{"source":"runtime_host","operation":"turn.query","code":"outcome_unknown","reason":"admission_query_failed","attempts":5"#,
            turn.prompt
        );
        assert!(told.len() == 1 && told[0].starts_with(&head), "{told:?}");
        let request = scene.close();
        assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        scene.host();
        scene.wait(60_000);
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// 12.2: a question may take 1 s, the wait for a connection included.
#[test]
fn given_a_lost_start_when_questions_are_never_answered_then_told_after_five_seconds_and_pauses() {
    each_way(|scene| {
        let turn = lost(scene);
        scene.wait(5_274);
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("turn.query"), 5);
        scene.wait(1);
        let told = scene.editor();
        assert!(
            told[0].starts_with(&format!("{} error -32603", turn.prompt)),
            "{told:?}"
        );
        assert!(told[0].contains("outcome_unknown"), "{told:?}");
        assert_eq!(scene.count("turn.query"), 5);
    });
}

/// 27.1: a late answer to the first question counts no more, the next one's does.
#[test]
fn given_a_lost_start_when_the_first_question_fails_and_the_second_finds_it_then_one_stop() {
    each_way(|scene| {
        let turn = lost(scene);
        let late = scene.asked("turn.query");
        scene.wait(1_025);
        let asked = scene.asked("turn.query");
        let told = scene.told(&turn, "running");
        scene.says([asked.result(&told), late.result(&told)]);
        assert_eq!(scene.count("turn.stop"), 1);
        stopped(scene, &turn);
        assert_eq!(scene.editor(), [interrupted(turn.prompt)]);
    });
}

/// A turn that the snapshot showed is admitted, whatever becomes of the answer.
#[test]
fn given_a_turn_seen_in_a_snapshot_when_its_start_is_lost_then_it_goes_on() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.now(&turn, "running");
        scene.text(&turn, "m1", 0, "Hel");
        scene.lose();
        scene.wait(100);
        let root = scene.told(&turn, "running");
        let row = words::overlay(0, &words::assistant(&turn.id, "m1", "Hello"));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
        scene.open_with(&root, &json!(null), &more);
        scene.text(&turn, "m1", 5, "!");
        scene.now(&turn, "completed");
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"Hel\"".to_owned(),
                "says m1: \"lo\"".to_owned(),
                "says m1: \"!\"".to_owned(),
                format!("{} end_turn", turn.prompt),
            ]
        );
        assert_eq!(
            (scene.count("turn.query"), scene.count("turn.stop")),
            (0, 0)
        );
    });
}

/// The Host refuses an empty text, so it is not asked; what is too long is tested with the
/// attachments that it becomes.
#[test]
fn given_a_prompt_without_text_when_sent_then_refused_before_any_request() {
    each_way(|scene| {
        for blocks in [json!([]), json!([{ "type": "text", "text": "" }])] {
            let prompt = scene.blocks(&blocks);
            let data = r#"{"field":"prompt","reason":"runtime_host_admission_rejected"}"#;
            assert_eq!(scene.editor(), [format!("{prompt} error -32602 {data}")]);
        }
        assert_eq!(scene.host(), NOTHING);
    });
}

/// What the Host knows of a turn whose start was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Absent,
    Running,
    Ended,
    Untold,
}

/// What the editor wants meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted {
    Nothing,
    Cancel,
    CancelRequest,
    Close,
}

/// 12.3, whole: every fact and every wish, the wish before or after the first question failed;
/// R28 to R32, 13.4 "start lost".
#[test]
fn given_a_lost_start_when_anything_is_known_and_wanted_then_as_the_table_says() {
    use Known::{Absent, Ended, Running, Untold};
    use Wanted::{Cancel, CancelRequest, Close, Nothing};
    let mut rows = 0;
    for known in [Absent, Running, Ended, Untold] {
        for wanted in [Nothing, Cancel, CancelRequest, Close] {
            for late in [false, true] {
                each_way(|scene| table_row(scene, known, wanted, late));
                rows += 1;
            }
        }
    }
    assert_eq!(rows, 32);
}

fn table_row(scene: &mut Scene, known: Known, wanted: Wanted, late: bool) {
    let turn = lost(scene);
    let mut close = None;
    let mut want = |scene: &mut Scene| match wanted {
        Wanted::Nothing => {}
        Wanted::Cancel => scene.cancel(),
        Wanted::CancelRequest => scene.cancel_request(turn.prompt),
        Wanted::Close => close = Some(scene.close()),
    };
    if !late {
        want(scene);
    }
    let failing = if known == Known::Untold { 5 } else { 1 };
    for _ in 0..failing {
        let asked = scene.asked("turn.query");
        scene.error(&asked, "internal_failure", "no");
        if late && failing == 1 {
            want(scene);
        }
        scene.wait(200);
    }
    if late && failing == 5 {
        // It is over already: the wish is for the next.
        want(scene);
    }
    match known {
        Known::Untold => {}
        Known::Absent => {
            let asked = scene.asked("turn.query");
            scene.error(&asked, "not_found", "Turn was not admitted");
        }
        Known::Running | Known::Ended => {
            let running = known == Known::Running;
            let asked = scene.asked("turn.query");
            let told = scene.told(&turn, if running { "running" } else { "completed" });
            scene.result(&asked, &told);
            if running {
                assert!(scene.answer(turn.prompt).is_none(), "waits for the Stop");
                stopped(scene, &turn);
            }
        }
    }
    let in_time = !(late && known == Known::Untold);
    let answer = scene.answer(turn.prompt).unwrap();
    if wanted != Wanted::Nothing && in_time {
        assert_eq!(answer, format!("{} cancelled", turn.prompt));
    } else if known == Known::Untold {
        assert!(answer.contains("outcome_unknown"), "{answer}");
    } else {
        assert_eq!(answer, interrupted(turn.prompt));
    }
    if let Some(close) = close {
        let answer = scene.answer(close).unwrap();
        if known == Known::Untold && in_time {
            assert!(answer.contains("outcome_unknown"), "{answer}");
        } else {
            assert_eq!(answer, format!("{close} {{}}"));
        }
    }
    let remains = scene
        .desk
        .notes
        .iter()
        .filter(|(_, note)| note.contains("remains unknown"));
    assert_eq!(remains.count(), usize::from(known == Known::Untold));
    assert_eq!(
        scene.count("turn.stop"),
        usize::from(known == Known::Running)
    );
    scene.host();
    scene.wait(60_000);
    assert_eq!(scene.host(), NOTHING, "nothing keeps running");
    assert_eq!(scene.count("turn.start"), 1);
    assert_eq!(
        scene.count("turn.query"),
        if known == Known::Untold { 5 } else { 2 }
    );
}
