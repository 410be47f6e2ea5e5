//! An editor that stops reading (rule R7): output is held back in bounded memory, the feed
//! is let go past the bound and read again later, no text is lost or doubled, and nothing
//! that the editor asks is delayed.

use airlock_engine::limits;
use airlock_tests::scripted_host::{Scene, Turn, words};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// UTF-16 units of one delta.
const PIECE: u64 = 16_000;

fn piece() -> String {
    "0123456789abcdef".repeat(1_000)
}

/// Scenes of many MiB are played in one way; the ways of a cut are shown elsewhere.
fn slow() -> (Scene, Turn) {
    let mut scene = Scene::batched();
    scene.begin();
    let turn = scene.running("hello");
    scene.now(&turn, "running");
    scene.desk.editor_reads = false;
    (scene, turn)
}

/// Pieces of the answer until `wanted` holds; gives the length of all that was said.
fn flood(scene: &mut Scene, turn: &Turn, from: u64, wanted: impl Fn(&Scene) -> bool) -> u64 {
    let mut length = from;
    for _ in 0..2_000 {
        if wanted(scene) {
            return length;
        }
        scene.text(turn, "m1", length, &piece());
        length += PIECE;
    }
    panic!("2,000 pieces, and it was not so");
}

/// The feed was closed by the engine.
fn let_go(scene: &Scene) -> bool {
    scene.count("subscription.close") == 1
}

/// Answers a walk over one row that is too long for a page.
fn pages(scene: &mut Scene, row: &str) {
    let mut from = 0;
    while from < row.len() {
        let to = row.len().min(from + (500 << 10));
        let slice = json!({ "kind": "durable", "sequence": 4, "byteOffset": from, "totalBytes": row.len(),
                            "payloadDigest": null, "data": STANDARD.encode(&row[from..to]) });
        let next = (to < row.len()).then(|| format!("c{to}"));
        scene.page(&[slice], next.as_deref());
        from = to;
    }
}

fn shown(scene: &Scene) -> u64 {
    let texts = scene.desk.shown("agent_message_chunk");
    texts.iter().map(|(_, text)| text.len() as u64).sum()
}

#[test]
fn given_a_slow_editor_when_a_flood_comes_then_waiting_and_memory_are_bounded_and_the_feed_is_let_go()
 {
    let (mut scene, turn) = slow();
    let length = flood(&mut scene, &turn, 0, let_go);
    assert!(
        scene.desk.waiting() <= limits::ACP_WAITING + (64 << 10),
        "{}",
        scene.desk.waiting()
    );
    assert!(shown(&scene) < length);
    let held = scene.desk.state_size();
    // More of the old feed is ignored: nothing grows any more.
    for _ in 0..50 {
        let line = scene.text_line(&turn, "m1", length, &piece());
        scene.says([line]);
    }
    assert_eq!(scene.desk.state_size(), held);
    assert_eq!(scene.count("subscription.open"), 1);
}

#[test]
fn given_a_feed_let_go_when_the_editor_reads_again_then_it_is_opened_and_nothing_is_lost_or_doubled()
 {
    let (mut scene, turn) = slow();
    let length = flood(&mut scene, &turn, 0, let_go);
    scene.host();
    scene.desk.editor_reads = true;
    scene.settle();
    assert_eq!(scene.host(), ["open"]);
    let whole = piece().repeat(usize::try_from(length / PIECE).unwrap() + 3);
    let root = scene.told(&turn, "completed");
    scene.open_with(&root, &json!(5), &json!({}));
    let row = words::assistant(&turn.id, "m1", &whole).to_string();
    for _ in 0..2 {
        pages(&mut scene, &row);
    }
    assert_eq!(
        scene.desk.shown("agent_message_chunk"),
        [("m1".to_owned(), whole)]
    );
    assert_eq!(
        scene.answer(turn.prompt),
        Some(format!("{} end_turn", turn.prompt))
    );
    assert_eq!(scene.count("turn.stop"), 0);
}

/// A cancel is not delayed, whether the feed still flows or was let go.
#[test]
fn given_a_slow_editor_when_it_cancels_then_the_stop_goes_at_once_and_the_answer_follows() {
    for gone in [false, true] {
        let (mut scene, turn) = slow();
        flood(&mut scene, &turn, 0, |scene| {
            if gone {
                let_go(scene)
            } else {
                scene.desk.waiting() > limits::ACP_WAITING
            }
        });
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)], "{gone}");
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} cancelled", turn.prompt))
        );
        scene.desk.editor_reads = true;
        let next = scene.running("again");
        scene.now(&next, "completed");
        assert_eq!(
            scene.answer(next.prompt),
            Some(format!("{} end_turn", next.prompt))
        );
    }
}

/// Nor are a close and the end.
#[test]
fn given_a_slow_editor_when_it_closes_or_leaves_then_both_come_to_their_end() {
    for leaves in [false, true] {
        let (mut scene, turn) = slow();
        flood(&mut scene, &turn, 0, let_go);
        let request = (!leaves).then(|| scene.close());
        if leaves {
            scene.hang_up();
        }
        let asked = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&asked, &told);
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} cancelled", turn.prompt))
        );
        match request {
            Some(request) => assert_eq!(scene.answer(request), Some(format!("{request} {{}}"))),
            None => assert_eq!(scene.desk.done, Some(0)),
        }
    }
}

/// Text that waits becomes one chunk, and the end of the turn is never dropped.
#[test]
fn given_text_that_waits_when_the_turn_ends_then_it_is_shown_whole_before_the_answer() {
    let (mut scene, turn) = slow();
    let length = flood(&mut scene, &turn, 0, |scene| {
        scene.desk.waiting() > limits::ACP_WAITING
    });
    let length = length + 2 * PIECE;
    scene.text(&turn, "m1", length - 2 * PIECE, &piece());
    scene.text(&turn, "m1", length - PIECE, &piece());
    assert_eq!(shown(&scene), length - 2 * PIECE);
    let chunks = scene.desk.updates().count();
    scene.now(&turn, "completed");
    assert_eq!(shown(&scene), length);
    assert_eq!(scene.desk.updates().count(), chunks + 1);
    assert_eq!(
        scene.answer(turn.prompt),
        Some(format!("{} end_turn", turn.prompt))
    );
}

/// The next prompt after a turn whose feed was let go opens another.
#[test]
fn given_a_turn_cancelled_while_its_feed_is_let_go_when_prompted_again_then_one_feed_is_opened() {
    let (mut scene, turn) = slow();
    flood(&mut scene, &turn, 0, let_go);
    scene.cancel();
    let asked = scene.asked("turn.stop");
    let told = scene.told(&turn, "cancelled");
    scene.result(&asked, &told);
    scene.desk.editor_reads = true;
    scene.settle();
    assert_eq!(scene.count("subscription.open"), 1);
    let next = scene.prompt("again");
    scene.open_with(&Value::Null, &Value::Null, &json!({}));
    scene.asked("turn.start");
    assert_eq!(scene.count("subscription.open"), 2);
    assert_eq!(scene.answer(next), None);
}

/// Accepted 6: half a minute in which the Host says 64 MiB and nothing is read. Whatever was
/// not shown by then waits at the Host.
fn half_a_minute(scene: &mut Scene, turn: &Turn) -> u64 {
    let mut length = 0;
    let mut most = 0;
    for second in 1..=30 {
        let mut lines = Vec::new();
        while length < second * (64 << 20) / 30 {
            lines.push(scene.text_line(turn, "m1", length, &piece()));
            length += PIECE;
        }
        scene.says(lines);
        scene.wait(1_000);
        assert!(scene.desk.waiting() <= limits::ACP_WAITING + (64 << 10));
        if second % 6 == 0 {
            most = most.max(scene.desk.state_size() as u64);
        }
    }
    // All of the turn's text that was taken in, and what names it.
    let bound = limits::ACP_WAITING + limits::HELD_TEXT + (1 << 20);
    assert!(most < bound, "{most} bytes of state, {bound} at most");
    assert!(let_go(scene));
    assert_eq!(scene.count("subscription.open"), 1, "not before it reads");
    assert_eq!(scene.answer(turn.prompt), None);
    length
}

/// It reads again, and then in another world cancels instead.
#[test]
fn given_an_editor_that_stops_for_30_s_when_it_goes_on_then_all_is_there_once_or_cancelled() {
    let (mut scene, turn) = slow();
    let length = half_a_minute(&mut scene, &turn);
    cancels(scene.fork(), &turn);
    scene.desk.editor_reads = true;
    scene.settle();
    // Messages of a real Host are shorter than a row may be.
    let rest = "and so it ended";
    let shown = shown(&scene);
    assert!(shown < length);
    let whole = piece().repeat(usize::try_from(shown / PIECE).unwrap() + 20) + rest;
    let root = scene.told(&turn, "completed");
    scene.open_with(&root, &json!(5), &json!({}));
    let row = words::assistant(&turn.id, "m1", &whole).to_string();
    for _ in 0..2 {
        pages(&mut scene, &row);
    }
    assert!(scene.desk.shown("agent_message_chunk") == [("m1".to_owned(), whole)]);
    assert_eq!(
        scene.answer(turn.prompt),
        Some(format!("{} end_turn", turn.prompt))
    );
}

fn cancels(mut scene: Scene, turn: &Turn) {
    scene.host();
    scene.cancel();
    assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
    let asked = scene.asked("turn.stop");
    let told = scene.told(turn, "cancelled");
    scene.result(&asked, &told);
    let before = shown(&scene);
    scene.desk.editor_reads = true;
    scene.settle();
    assert_eq!(
        scene.answer(turn.prompt),
        Some(format!("{} cancelled", turn.prompt))
    );
    assert_eq!(shown(&scene), before, "nothing after the cancel");
    let whole = piece().repeat(usize::try_from(before / PIECE).unwrap());
    assert!(scene.desk.shown("agent_message_chunk") == [("m1".to_owned(), whole)]);
    assert_eq!(scene.count("turn.stop"), 1);
}
