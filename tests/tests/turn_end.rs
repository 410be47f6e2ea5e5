//! How a turn ends and what the editor is told (Maka adapter, sections 17, 18, 20.5).

use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::json;

const NOTHING: [&str; 0] = [];

fn stopped(scene: &mut Scene, turn: &Turn) {
    let asked = scene.asked("turn.stop");
    let told = scene.told(turn, "cancelled");
    scene.result(&asked, &told);
}

fn revised(prompt: u64) -> String {
    format!(r#"{prompt} error -32603 {{"source":"adapter","code":"unsupported_stream_revision"}}"#)
}

/// The next prompt of the session works on the same feed.
fn next_works(scene: &mut Scene) {
    let next = scene.running("again");
    scene.now(&next, "completed");
    assert_eq!(scene.editor(), [format!("{} end_turn", next.prompt)]);
}

#[test]
fn given_a_failed_turn_when_it_ends_then_the_reason_is_told() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.text(&turn, "m1", 0, "Hi");
        scene.now(&turn, "failed");
        let data = r#"{"source":"runtime_host","failureClass":"runtime_error","message":"boom"}"#;
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"Hi\"".to_owned(),
                format!("{} error -32603 {data}", turn.prompt)
            ]
        );
        assert!(
            scene
                .desk
                .log
                .iter()
                .any(|line| line.contains("(runtime_error): boom"))
        );
        assert_eq!(scene.count("turn.stop"), 0);
        next_works(scene);
    });
}

#[test]
fn given_a_turn_that_the_host_aborts_when_it_ends_then_cancelled() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "cancelled");
        assert_eq!(scene.editor(), [format!("{} cancelled", turn.prompt)]);
        assert_eq!(scene.count("turn.stop"), 0);
        next_works(scene);
    });
}

/// R16, R17: a turn that did not complete is not read again, and its open card is closed.
#[test]
fn given_an_open_card_when_the_turn_fails_or_is_aborted_then_it_is_closed_without_a_reread() {
    let failed =
        r#"error -32603 {"source":"runtime_host","failureClass":"runtime_error","message":"boom"}"#;
    for (end, answer) in [("failed", failed), ("cancelled", "cancelled")] {
        each_way(|scene| {
            let turn = scene.running("hello");
            scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
            scene.advanced(3);
            scene.asked("session.transcript.page");
            scene.editor();
            scene.host();
            scene.now(&turn, end);
            assert_eq!(
                scene.editor(),
                [
                    "card t1 → failed".to_owned(),
                    format!("{} {answer}", turn.prompt)
                ]
            );
            assert_eq!(scene.host(), NOTHING);
        });
    }
}

/// 27.9: text that was shown is never rewritten; the turn is stopped once.
#[test]
fn given_a_rewritten_row_when_read_then_one_stop_the_error_and_the_next_prompt_works() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.text(&turn, "m1", 0, "Hello");
        scene.advanced(3);
        scene.host();
        let row = words::durable(2, &words::assistant(&turn.id, "m1", "Howdy"));
        scene.page(&[row], None);
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        scene.text(&turn, "m1", 5, " there");
        stopped(scene, &turn);
        assert_eq!(
            scene.editor(),
            ["says m1: \"Hello\"".to_owned(), revised(turn.prompt)]
        );
        assert_eq!(scene.count("turn.stop"), 1);
        next_works(scene);
    });
}

/// A row shorter than what was shown is a rewrite too.
#[test]
fn given_a_shortened_row_in_the_final_reread_when_read_then_the_error_and_no_stop() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.text(&turn, "m1", 0, "Hello");
        scene.advanced(3);
        scene.page(
            &[words::durable(
                2,
                &words::assistant(&turn.id, "m1", "Hello"),
            )],
            None,
        );
        scene.now(&turn, "completed");
        scene.page(
            &[words::durable(2, &words::assistant(&turn.id, "m1", "Hell"))],
            None,
        );
        assert_eq!(
            scene.editor(),
            ["says m1: \"Hello\"".to_owned(), revised(turn.prompt)]
        );
        assert_eq!(scene.count("turn.stop"), 0);
        next_works(scene);
    });
}

/// R9: what cannot be shown is stopped before the next line is read, however they are cut.
#[test]
fn given_a_conflict_and_the_end_in_one_read_when_heard_then_the_cut_makes_no_difference() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let lines = [
            scene.text_line(&turn, "m1", 0, "Hello"),
            scene.text_line(&turn, "m1", 0, "Howdy"),
        ];
        let root = scene.told(&turn, "cancelled");
        let end = scene.root_line(&root, &[]);
        scene.host();
        scene.says(lines.into_iter().chain([end]));
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        stopped(scene, &turn);
        let data = r#"{"source":"adapter","code":"internal_failure"}"#;
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"Hello\"".to_owned(),
                format!("{} error -32603 {data}", turn.prompt)
            ]
        );
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// R9: the next prompt starts when the one before it has ended, not at the end of a read.
#[test]
fn given_a_waiting_prompt_when_the_end_and_more_come_in_one_read_then_the_cut_makes_no_difference()
{
    each_way(|scene| {
        let turn = scene.running("one");
        scene.prompt("two");
        let root = scene.told(&turn, "completed");
        let end = scene.root_line(&root, &[]);
        let foreign = words::turn(&scene.session, "other", "run-9", "running", &json!({}));
        let more = [
            end,
            scene.root_line(&foreign, &[]),
            scene.frame("transcript_advanced", &json!({ "throughSequence": 7 })),
        ];
        scene.says(more);
        let asked = scene.asked("turn.start");
        scene.error(&asked, "session_busy", "busy");
        scene.host();
    });
}

/// 17: a message that begins anew may only continue what was shown.
#[test]
fn given_a_message_that_begins_anew_when_complete_then_only_an_extension_is_shown() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.text(&turn, "m1", 0, "Hel");
        let delta = |scene: &mut Scene, text: &str, start: u64, key: &str| {
            let mut delta = json!({ "kind": "text", "turnId": turn.id, "runId": "run-1", "messageId": "m1",
                                    "startOffset": start, "text": text });
            delta[key] = json!(true);
            let line = scene.frame("session_delta", &json!({ "delta": delta }));
            scene.says([line]);
        };
        delta(scene, "Hello", 0, "reset");
        assert_eq!(scene.editor(), ["says m1: \"Hel\""]);
        delta(scene, "", 5, "complete");
        assert_eq!(scene.editor(), ["says m1: \"lo\""]);
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [format!("{} end_turn", turn.prompt)]);
    });
}
