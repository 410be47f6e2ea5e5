//! Stored rows while a turn runs and after it ended (Maka adapter, sections 20 and 26.13):
//! read on the feed's own subscription from the right cut, and all once more at the end.

use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn end_turn(turn: &Turn) -> String {
    format!("{} end_turn", turn.prompt)
}

fn page_from(anchor: &str, cursor: &str, through: u64) -> String {
    format!("page feed-1 durable newer from {anchor} cursor {cursor} through {through}")
}

fn text_row(turn: &Turn, sequence: u64, id: &str, text: &str) -> Value {
    words::durable(sequence, &words::assistant(&turn.id, id, text))
}

/// A turn on a session that has rows through 7 already.
fn running_after_seven(scene: &mut Scene) -> Turn {
    let prompt = scene.prompt("hello");
    scene.open_with(&Value::Null, &json!(7), &json!({}));
    let asked = scene.asked("turn.start");
    let id = asked.input["turnId"].as_str().unwrap().to_owned();
    let turn = Turn {
        prompt,
        id,
        run: "run-1".to_owned(),
    };
    let started = scene.started(&turn);
    scene.result(&asked, &started);
    scene.host();
    turn
}

fn announced(scene: &mut Scene, turn: &Turn) {
    scene.event(
        turn,
        &json!({ "type": "tool_start", "toolName": "Bash", "activityKind": "command" }),
    );
    scene.event(
        turn,
        &json!({ "type": "tool_result", "status": "completed" }),
    );
}

/// W1: two pages by cursor; the second is asked for after the first was taken in.
#[test]
fn given_an_advance_when_read_then_pages_come_one_by_one_from_the_cut() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.advanced(63);
        assert_eq!(scene.host(), [page_from("7", "null", 63)]);
        scene.page(&[text_row(&turn, 16, "m1", "one")], Some("next"));
        assert_eq!(scene.editor(), ["says m1: \"one\""]);
        assert_eq!(scene.host(), [page_from("null", "next", 63)]);
        scene.page(
            &[
                text_row(&turn, 40, "m2", "two"),
                text_row(&turn, 56, "m3", "three"),
            ],
            None,
        );
        assert_eq!(scene.editor(), ["says m2: \"two\"", "says m3: \"three\""]);
        scene.advanced(64);
        assert_eq!(scene.host(), [page_from("63", "null", 64)]);
        assert_eq!(scene.count("subscription.open"), 1);
    });
}

/// W2, 27.8: a row revised behind the cut is seen by the final reread alone; rows of other
/// turns are passed over; the turn's own end ends the reading.
#[test]
fn given_a_row_revised_behind_the_cut_when_the_turn_ends_then_the_final_reread_shows_it() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.advanced(20);
        scene.page(&[text_row(&turn, 16, "m1", "one")], None);
        scene.now(&turn, "completed");
        assert_eq!(
            scene.host(),
            [page_from("7", "null", 20), page_from("7", "null", 20)]
        );
        assert_eq!(scene.editor(), ["says m1: \"one\""]);
        let other = words::durable(8, &words::assistant("other", "x", "not ours"));
        let end = words::durable(18, &words::turn_state(&turn.id, "completed", &Value::Null));
        scene.page(
            &[other, text_row(&turn, 16, "m1", "one and more"), end],
            Some("next"),
        );
        assert_eq!(
            scene.editor(),
            ["says m1: \" and more\"".to_owned(), end_turn(&turn)]
        );
        assert_eq!(scene.host(), NOTHING);
    });
}

/// Nothing durable of the turn: nothing to read.
#[test]
fn given_no_row_after_the_cut_when_the_turn_ends_then_it_is_answered_at_once() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.now(&turn, "completed");
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.editor(), [end_turn(&turn)]);
    });
}

/// W5: advances during a read become one further read.
#[test]
fn given_advances_during_a_read_when_it_is_done_then_one_read_follows() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        for through in [20, 21, 22] {
            scene.advanced(through);
        }
        assert_eq!(scene.host(), [page_from("7", "null", 20)]);
        scene.page(&[text_row(&turn, 16, "m1", "one")], None);
        assert_eq!(scene.host(), [page_from("20", "null", 22)]);
        scene.page(&[], None);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// W6: the end during a read becomes the final reread after it.
#[test]
fn given_the_end_during_a_read_when_it_is_done_then_the_final_reread_follows() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.advanced(20);
        scene.now(&turn, "completed");
        assert_eq!(scene.host(), [page_from("7", "null", 20)]);
        assert_eq!(scene.editor(), NOTHING);
        scene.page(&[text_row(&turn, 16, "m1", "one")], None);
        assert_eq!(scene.host(), [page_from("7", "null", 20)]);
        scene.page(&[text_row(&turn, 16, "m1", "one")], None);
        assert_eq!(
            scene.editor(),
            ["says m1: \"one\"".to_owned(), end_turn(&turn)]
        );
    });
}

/// W10: a cursor that does not advance breaks the turn, which has not ended: one Stop.
#[test]
fn given_a_cursor_that_stands_still_when_read_then_the_turn_is_stopped_with_correlation_changed() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.advanced(20);
        scene.page(&[text_row(&turn, 16, "m1", "one")], Some("same"));
        scene.page(&[], Some("same"));
        broken(scene, &turn, &["says m1: \"one\""]);
    });
}

fn broken(scene: &mut Scene, turn: &Turn, shown: &[&str]) {
    let data = r#"{"source":"runtime_host","operation":"subscription.open","code":"subscription_failure","reason":"correlation_changed"}"#;
    let asked = scene.asked("turn.stop");
    let told = scene.told(turn, "cancelled");
    scene.result(&asked, &told);
    let mut wanted: Vec<String> = shown.iter().map(|it| (*it).to_owned()).collect();
    wanted.push(format!("{} error -32603 {data}", turn.prompt));
    assert_eq!(scene.editor(), wanted);
    assert!(scene.host().contains(&"close feed-1".to_owned()));
    assert_eq!(scene.count("turn.stop"), 1);
}

/// Slices that do not join, and a digest that is wrong.
#[test]
fn given_torn_rows_when_read_then_the_turn_is_stopped_with_correlation_changed() {
    for torn in ["offset", "digest", "base64"] {
        each_way(|scene| {
            let turn = running_after_seven(scene);
            scene.advanced(20);
            let mut row = text_row(&turn, 16, "m1", "one");
            match torn {
                "offset" => row["byteOffset"] = json!(3),
                "digest" => row["payloadDigest"] = json!(format!("sha256:{}", "0".repeat(64))),
                _ => row["data"] = json!("#"),
            }
            scene.page(&[row], None);
            broken(scene, &turn, &[]);
        });
    }
}

/// A row cut over two pages comes out whole.
#[test]
fn given_a_row_cut_over_two_pages_when_read_then_it_is_shown_once_and_whole() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        let text = words::assistant(&turn.id, "m1", "long one").to_string();
        let slice = |from: usize, to: usize| {
            json!({ "kind": "durable", "sequence": 16, "byteOffset": from, "totalBytes": text.len(),
                    "payloadDigest": null, "data": STANDARD.encode(&text[from..to]) })
        };
        scene.advanced(20);
        scene.page(&[slice(0, 10)], Some("next"));
        assert_eq!(scene.editor(), NOTHING);
        scene.page(&[slice(10, text.len())], None);
        assert_eq!(scene.editor(), ["says m1: \"long one\""]);
    });
}

/// R11, 27.6: announced before its row.
#[test]
fn given_a_result_announced_before_its_row_when_it_becomes_durable_then_it_is_shown_and_end_turn() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        announced(scene, &turn);
        assert_eq!(scene.host(), NOTHING);
        scene.advanced(20);
        scene.now(&turn, "completed");
        scene.page(&[], None);
        scene.editor();
        let rows = [
            words::durable(9, &words::tool_call(&turn.id, "t1")),
            words::durable(10, &words::tool_result(&turn.id, "t1", "done")),
        ];
        scene.page(&rows, None);
        let told = scene.editor();
        assert!(
            told.iter().any(|line| line.contains("completed \"done\"")),
            "{told:?}"
        );
        assert_eq!(told.last(), Some(&end_turn(&turn)));
    });
}

/// 27.6: the Host never says that the record is there. Only a fresh opening tells how far
/// the store goes; from there everything is read before the prompt has its answer.
#[test]
fn given_an_end_without_any_advance_when_a_tool_has_no_record_yet_then_read_afresh_first() {
    for announces in [true, false] {
        each_way(|scene| {
            let turn = running_after_seven(scene);
            if announces {
                announced(scene, &turn);
            } else {
                scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
            }
            scene.host();
            scene.now(&turn, "completed");
            assert_eq!(scene.answer(turn.prompt), None);
            assert_eq!(scene.host(), ["close feed-1", "open"]);
            let root = scene.told(&turn, "completed");
            scene.open_with(&root, &json!(10), &json!({}));
            let rows = [
                words::durable(9, &words::tool_call(&turn.id, "t1")),
                words::durable(10, &words::tool_result(&turn.id, "t1", "done")),
            ];
            scene.page(&rows, None);
            let told = scene.editor();
            assert!(
                told.iter().any(|line| line.contains("completed \"done\"")),
                "{told:?}"
            );
            scene.page(&rows, None);
            assert_eq!(scene.editor(), [end_turn(&turn)]);
            assert_eq!(scene.count("subscription.open"), 2);
        });
    }
}

/// 20.5: an announced result that never becomes durable prevents `end_turn`; it is looked
/// for on one fresh feed, and no more.
#[test]
fn given_a_result_announced_and_never_durable_when_the_turn_ends_then_tool_result_missing() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        announced(scene, &turn);
        scene.advanced(20);
        scene.page(&[], None);
        scene.now(&turn, "completed");
        scene.page(&[], None);
        let root = scene.told(&turn, "completed");
        scene.open_with(&root, &json!(20), &json!({}));
        scene.page(&[], None);
        scene.page(&[], None);
        assert_eq!(scene.count("subscription.open"), 2);
        let told = scene.editor();
        let data = r#"{"source":"adapter","code":"tool_result_missing"}"#;
        assert_eq!(
            told.last(),
            Some(&format!("{} error -32603 {data}", turn.prompt)),
            "{told:?}"
        );
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// R12: started and never announced. The stored end says that nothing more is stored.
#[test]
fn given_a_card_without_a_result_when_the_turn_completes_then_it_is_closed_and_end_turn() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
        scene.advanced(8);
        let end = [words::durable(
            8,
            &words::turn_state(&turn.id, "completed", &json!({})),
        )];
        scene.page(&end, None);
        scene.now(&turn, "completed");
        scene.page(&end, None);
        assert_eq!(scene.count("subscription.open"), 1);
        let told = scene.editor();
        assert!(told[told.len() - 2].contains("→ failed"), "{told:?}");
        assert_eq!(told.last(), Some(&end_turn(&turn)));
    });
}

/// 20.4: a page that the Host refuses.
#[test]
fn given_a_page_that_fails_when_read_then_the_turn_is_stopped_with_the_hosts_error() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.advanced(20);
        let asked = scene.asked("session.transcript.page");
        scene.error(&asked, "internal_failure", "no");
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        let data = r#"{"source":"runtime_host","operation":"session.transcript.page","code":"internal_failure"}"#;
        assert_eq!(
            scene.editor(),
            [format!("{} error -32603 {data}", turn.prompt)]
        );
        let next = scene.running("again");
        scene.now(&next, "completed");
        assert_eq!(scene.editor(), [end_turn(&next)]);
    });
}

/// R11 the other way round: the row is durable before the result is announced.
#[test]
fn given_a_row_before_its_result_is_announced_when_read_then_shown_once_and_end_turn() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
        scene.advanced(20);
        let rows = [
            words::durable(9, &words::tool_call(&turn.id, "t1")),
            words::durable(10, &words::tool_result(&turn.id, "t1", "done")),
        ];
        scene.page(&rows, None);
        scene.event(
            &turn,
            &json!({ "type": "tool_result", "status": "completed" }),
        );
        let told = scene.editor();
        let results = told.iter().filter(|line| line.contains("\"done\"")).count();
        assert_eq!(results, 1, "{told:?}");
        scene.now(&turn, "completed");
        scene.page(&rows, None);
        assert_eq!(scene.editor(), [end_turn(&turn)]);
    });
}

/// A row that cannot be read is passed over; kinds that are not shown too.
#[test]
fn given_rows_that_cannot_be_read_when_read_then_the_others_are_shown() {
    each_way(|scene| {
        let turn = running_after_seven(scene);
        scene.advanced(20);
        let rows = [
            words::durable(8, &json!("text")),
            words::durable(9, &json!({ "type": 7 })),
            words::durable(
                10,
                &json!({ "type": "system_note", "id": "n", "turnId": turn.id }),
            ),
            words::durable(
                11,
                &json!({ "type": "tool_result", "id": "x", "turnId": turn.id }),
            ),
            text_row(&turn, 12, "m1", "one"),
        ];
        scene.page(&rows, None);
        assert_eq!(scene.editor(), ["says m1: \"one\""]);
    });
}
