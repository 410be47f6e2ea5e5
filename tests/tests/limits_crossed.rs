//! Limits of section 2 of the Maka adapter, each at its value and one past it. `limits.txt`
//! says where each limit is crossed; here is what has no better place.

use airlock_engine::limits;
use airlock_tests::scripted_host::{Scene, Turn, each_way, link, words};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn size(limit: u64) -> usize {
    usize::try_from(limit).unwrap()
}

fn ask(scene: &mut Scene, method: &str, params: &Value) -> u64 {
    let id = scene.desk.request(method, params);
    scene.settle();
    id
}

/// A folder of 4,096 bytes is a folder, for every request that takes one.
#[test]
fn given_a_folder_at_the_bound_when_one_byte_longer_then_too_large() {
    for method in [
        "session/new",
        "session/load",
        "session/resume",
        "session/list",
    ] {
        for extra in [0, 1] {
            let mut scene = Scene::plain();
            scene.begin();
            let mut params =
                json!({ "cwd": format!("/{}", "w".repeat(size(limits::CWD) - 1 + extra)) });
            if method != "session/list" {
                params["mcpServers"] = json!([]);
            }
            if matches!(method, "session/load" | "session/resume") {
                params["sessionId"] = json!("s");
            }
            let id = ask(&mut scene, method, &params);
            let refused = format!(r#"{id} error -32602 {{"field":"cwd","reason":"too_large"}}"#);
            assert_eq!(scene.answer(id) == Some(refused), extra == 1, "{method}");
        }
    }
}

const REVISION: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn cursor(cursor: &Value) -> String {
    URL_SAFE_NO_PAD.encode(cursor.to_string())
}

/// A cursor whose text has this many bytes: a control character of a folder takes six.
fn cursor_of(bytes: usize) -> String {
    let of = |cwd: &str| json!({ "revision": REVISION, "cursor": "c", "cwd": cwd });
    let rest = bytes - of("/").to_string().len();
    let cwd = format!("/{}{}", "\u{1}".repeat(rest / 6), "w".repeat(rest % 6));
    assert_eq!(of(&cwd).to_string().len(), bytes);
    cursor(&of(&cwd))
}

/// Encoded cursors of 8,192 bytes, Host's cursors of 512 and revisions of 64 digits.
#[test]
fn given_a_cursor_at_its_bounds_when_one_byte_longer_then_invalid() {
    let longest = size(limits::LIST_CURSOR);
    let of_host = |bytes: usize| {
        cursor(&json!({ "revision": REVISION, "cursor": "c".repeat(bytes), "cwd": null }))
    };
    let of_revision = |text: &str| cursor(&json!({ "revision": text, "cursor": "c", "cwd": null }));
    // 8,193 bytes are no base64 at all.
    assert_eq!(cursor_of(longest / 4 * 3).len(), longest);
    assert_eq!(cursor_of(longest / 4 * 3 + 1).len(), longest + 2);
    for (cursor, works) in [
        (cursor_of(longest / 4 * 3), true),
        (cursor_of(longest / 4 * 3 + 1), false),
        (of_host(size(limits::HOST_CURSOR)), true),
        (of_host(size(limits::HOST_CURSOR) + 1), false),
        (of_host(1), true),
        (of_host(0), false),
        (of_revision(REVISION), true),
        (of_revision(&format!("{REVISION}0")), false),
        (of_revision(&REVISION[..REVISION.len() - 1]), false),
        (of_revision(&REVISION.replace('a', "A")), false),
    ] {
        let mut scene = Scene::plain();
        scene.begin();
        let id = ask(&mut scene, "session/list", &json!({ "cursor": cursor }));
        assert_eq!(
            scene.count("session.catalog.query"),
            usize::from(works),
            "{cursor}"
        );
        let told = scene.answer(id).unwrap_or_default();
        assert_eq!(told.contains("invalid_cursor"), !works, "{told}");
    }
}

/// A cursor of our own is never longer than one that we take.
#[test]
fn given_a_folder_that_makes_a_cursor_too_long_when_listed_then_told() {
    for (bytes, works) in [(6_144, true), (6_145, false)] {
        let mut scene = Scene::plain();
        scene.begin();
        let text = URL_SAFE_NO_PAD.decode(cursor_of(bytes)).unwrap();
        let whole: Value = serde_json::from_slice(&text).unwrap();
        let id = ask(&mut scene, "session/list", &json!({ "cwd": whole["cwd"] }));
        let asked = scene.asked("session.catalog.query");
        let page =
            json!({ "kind": "page", "revision": REVISION, "sessions": [], "nextCursor": "c" });
        scene.result(&asked, &page);
        let told = scene.answer(id).unwrap();
        assert_eq!(told.contains("cursor_too_large"), !works, "{told}");
        assert_eq!(told.contains("nextCursor"), works, "{told}");
    }
}

/// What a file is, its first 1,024 bytes say; the next one is not looked at.
#[test]
fn given_a_file_without_a_name_when_its_1025th_byte_is_odd_then_it_is_text_all_the_same() {
    let looked_at = size(limits::SNIFFED);
    for (odd, kind) in [
        (looked_at - 1, "application/octet-stream"),
        (looked_at, "text/plain"),
    ] {
        let mut content = vec![b'x'; looked_at + 1];
        content[odd] = 0;
        let here = json!({ "type": "resource", "resource": { "uri": "x:a", "blob": STANDARD.encode(&content) } });
        for block in [link("/w/a"), here] {
            let mut scene = Scene::plain();
            scene.begin();
            scene.put("/w/a", content.clone());
            let prompt = scene.blocks(&json!([block]));
            scene.open();
            let (begin, _) = scene.uploads("other");
            assert_eq!(begin["mimeType"], kind, "{odd} {block}");
            scene.ends(prompt);
        }
    }
}

/// A chunk holds 48 KiB; one byte more makes two of it.
#[test]
fn given_a_file_of_one_chunk_when_one_byte_longer_then_two_chunks() {
    for extra in [0, 1] {
        let mut scene = Scene::batched();
        scene.begin();
        scene.put("/w/a", vec![b'x'; size(limits::MAKA_CHUNK) + extra]);
        let prompt = scene.blocks(&json!([link("/w/a")]));
        scene.open();
        scene.uploads("other");
        // `begin` and `commit` are two more.
        assert_eq!(scene.count("artifact.ingest"), 3 + extra);
        scene.ends(prompt);
    }
}

/// Name and type of an attachment go as they are up to 512 and 256 bytes.
#[test]
fn given_a_name_and_a_type_at_their_bounds_when_one_byte_longer_then_shortened_or_left_out() {
    for extra in [0, 1] {
        let name = format!(
            "{}.rs",
            "n".repeat(size(limits::ATTACHMENT_NAME) - 3 + extra)
        );
        let kind = format!(
            "x-a/{}",
            "t".repeat(size(limits::ATTACHMENT_MIME) - 4 + extra)
        );
        let mut scene = Scene::plain();
        scene.begin();
        scene.put("/w/a", "hello");
        let block = json!({ "type": "resource_link", "uri": "file:///w/a", "name": name, "mimeType": kind });
        let prompt = scene.blocks(&json!([block]));
        scene.open();
        let (begin, _) = scene.uploads("other");
        let sent = begin["name"].as_str().unwrap();
        assert_eq!(sent == name, extra == 0, "{sent}");
        assert!(sent.len() <= size(limits::ATTACHMENT_NAME) && sent.ends_with(".rs"));
        let wanted = if extra == 0 { &*kind } else { "text/x-rust" };
        assert_eq!(begin["mimeType"], wanted);
        scene.ends(prompt);
    }
}

/// Eight attachments go, a ninth does not.
#[test]
fn given_as_many_attachments_as_may_be_when_one_more_then_refused() {
    for extra in [0, 1] {
        let mut scene = Scene::plain();
        scene.begin();
        scene.put("/w/a", "hello");
        let count = size(limits::ATTACHMENTS) + extra;
        let prompt = scene.blocks(&json!(vec![link("/w/a"); count]));
        if extra == 1 {
            let told = scene.answer(prompt).unwrap();
            assert!(told.contains("too_many_attachments"), "{told}");
            continue;
        }
        scene.open();
        for _ in 0..count {
            scene.uploads("other");
        }
        let content = scene.ends(prompt);
        assert_eq!(content["attachments"].as_array().unwrap().len(), count);
    }
}

/// The last of five questions for a lost start counts like the first; after 999 ms a question
/// may still be answered.
#[test]
fn given_four_questions_without_an_answer_when_the_fifth_has_one_then_it_counts() {
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.lose();
        // The wait for a connection counts.
        scene.wait(100);
        let mut waited = 100;
        let mut pause = limits::MAKA_ADMISSION_WAIT_MS;
        for asked in 1..limits::MAKA_ADMISSION_QUERIES {
            scene.wait(limits::MAKA_ADMISSION_QUERY_MS - waited + pause - 1);
            assert_eq!(scene.count("turn.query") as u64, asked);
            scene.wait(1);
            assert_eq!(scene.count("turn.query") as u64, asked + 1);
            pause *= 2;
            waited = 0;
        }
        scene.wait(limits::MAKA_ADMISSION_QUERY_MS - 1);
        assert_eq!(scene.answer(turn.prompt), None);
        scene.wait(1);
        let told = scene.answer(turn.prompt).unwrap();
        assert!(told.contains("outcome_unknown"), "{told}");
    });
    each_way(|scene| {
        let turn = scene.dispatched("hello");
        scene.lose();
        scene.wait(100);
        for _ in 1..limits::MAKA_ADMISSION_QUERIES {
            let asked = scene.asked("turn.query");
            scene.error(&asked, "internal_failure", "no");
            scene.wait(200);
        }
        scene.wait(limits::MAKA_ADMISSION_QUERY_MS - 1);
        let asked = scene.asked("turn.query");
        scene.error(&asked, "not_found", "Turn was not admitted");
        let told = scene.answer(turn.prompt).unwrap();
        assert!(told.contains("request_interrupted"), "{told}");
    });
}

/// A row of 16 MiB is read; one that says to be a byte longer breaks the turn.
#[test]
fn given_a_row_at_the_bound_when_one_byte_longer_then_the_turn_is_stopped() {
    for extra in [0, 1] {
        let mut scene = Scene::plain();
        scene.begin();
        let turn = scene.running("hello");
        scene.advanced(3);
        let part = json!({ "kind": "durable", "sequence": 3, "byteOffset": 0, "payloadDigest": null,
                           "totalBytes": limits::MAKA_ROW + extra, "data": STANDARD.encode("{") });
        scene.page(&[part], Some("next"));
        assert_eq!(
            scene.count("session.transcript.page") as u64,
            2 - extra,
            "the next page is asked for"
        );
        assert_eq!(scene.count("turn.stop") as u64, extra);
        assert_eq!(scene.answer(turn.prompt), None);
    }
}

fn broken_after(scene: &mut Scene, milliseconds: u64) {
    let turn = scene.running("hello");
    scene.closed("slow_consumer");
    let root = scene.told(&turn, "running");
    scene.open_with(&root, &Value::Null, &json!({}));
    scene.text(&turn, "m1", 0, "x");
    scene.wait(milliseconds);
    scene.host();
    scene.closed("slow_consumer");
}

/// A feed has recovered for good after a second, and not a millisecond before.
#[test]
fn given_a_feed_that_lived_for_less_than_a_second_when_it_breaks_then_a_pause_comes_first() {
    each_way(|scene| {
        broken_after(scene, limits::MAKA_RECOVERED_MS - 1);
        assert_eq!(scene.host(), NOTHING);
        scene.wait(limits::MAKA_RECOVERY_MS.0);
        assert_eq!(scene.host(), ["open"]);
    });
    each_way(|scene| {
        broken_after(scene, limits::MAKA_RECOVERED_MS);
        assert_eq!(scene.host(), ["open"]);
    });
}

/// Sixteen outcomes are remembered: a question whose outcome was shown is not asked anew, until
/// sixteen others came after it.
#[test]
fn given_a_question_that_was_answered_when_16_others_were_then_it_counts_as_new() {
    let answers = |scene: &mut Scene, turn: &Turn, id: &str| {
        let told = words::pending(&scene.session, &turn.id, id, &words::request("permission"));
        scene.pending(turn, std::slice::from_ref(&told));
        scene.confirm(&told);
        scene.choose("allow_once");
        scene.takes_answer(&told, &json!({ "decision": "allow" }));
        scene.pending(turn, &[]);
        told
    };
    for (others, again) in [
        (limits::MAKA_INTERACTIONS - 1, false),
        (limits::MAKA_INTERACTIONS, true),
    ] {
        let mut scene = Scene::plain();
        scene.begin();
        let turn = scene.running("hello");
        let first = answers(&mut scene, &turn, "first");
        for at in 0..others {
            answers(&mut scene, &turn, &format!("x{at}"));
        }
        let before = scene.count("interaction.query");
        scene.pending(&turn, &[first]);
        let asked = scene.count("interaction.query") - before;
        assert_eq!(asked, usize::from(again), "{others}");
    }
}

/// The Host is asked for tails and pages of exactly the size that it gives at most.
#[test]
fn given_a_feed_and_a_page_when_asked_for_then_with_the_most_that_the_host_gives() {
    let mut scene = Scene::plain();
    scene.begin();
    scene.prompt("hello");
    let asked = scene.asked("subscription.open");
    let tail = json!({ "kind": "tail", "maxBytes": 16 << 10 });
    assert_eq!(asked.input["transcript"], tail);
    assert_eq!(limits::MAKA_TAIL, 16 << 10);
    scene.desk.host.put_back(asked);
    scene.open();
    let asked = scene.asked("turn.start");
    let id = asked.input["turnId"].as_str().unwrap().to_owned();
    let turn = Turn {
        prompt: 0,
        id,
        run: "run-1".to_owned(),
    };
    let started = scene.started(&turn);
    scene.result(&asked, &started);
    scene.advanced(3);
    let asked = scene.asked("session.transcript.page");
    assert_eq!(asked.input["maxBytes"], limits::MAKA_PAGE);
    assert_eq!(limits::MAKA_PAGE, 512 << 10);
}

/// 512 frames wait while a recovered feed reads what is stored; with one more it is had anew.
#[test]
fn given_frames_at_the_bound_when_one_more_comes_while_rows_are_read_then_recovered_anew() {
    let mut scene = Scene::plain();
    scene.begin();
    let turn = scene.running("hello");
    scene.closed("slow_consumer");
    let root = scene.told(&turn, "running");
    scene.open_with(&root, &json!(3), &json!({}));
    for at in 0..limits::MAKA_HELD_FRAMES {
        scene.text(&turn, "m1", at, "x");
    }
    assert_eq!(scene.count("subscription.close"), 0);
    let more = scene.text_line(&turn, "m1", limits::MAKA_HELD_FRAMES, "x");
    let mut other = scene.fork();
    scene.says([more]);
    assert_eq!(scene.count("subscription.close"), 1);
    other.page(&[], None);
    let shown = other.desk.shown("agent_message_chunk");
    let shown: usize = shown.iter().map(|(_, text)| text.len()).sum();
    assert_eq!(shown as u64, limits::MAKA_HELD_FRAMES);
}

/// 4 Mi units are held for an editor that does not read; with one more the feed is let go.
#[test]
fn given_text_at_the_bound_when_a_slow_editor_holds_one_unit_more_then_the_feed_is_let_go() {
    let mut scene = Scene::batched();
    scene.begin();
    let turn = scene.running("hello");
    scene.desk.editor_reads = false;
    let piece = "x".repeat(64 << 10);
    let mut length = 0;
    let mut says = |scene: &mut Scene, text: &str| {
        scene.text(&turn, "m1", length, text);
        length += text.len() as u64;
    };
    while scene.desk.waiting() <= limits::ACP_WAITING {
        says(&mut scene, &piece);
    }
    for _ in 0..limits::HELD_TEXT / (64 << 10) {
        says(&mut scene, &piece);
    }
    assert_eq!(scene.count("subscription.close"), 0);
    says(&mut scene, "x");
    assert_eq!(scene.count("subscription.close"), 1);
}
