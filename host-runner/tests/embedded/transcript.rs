//! Paging: budgets, directions, cursors, watermarks, the overlay.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::client::{Client, scripted};

/// Every durable row of a session, assembled from small pages in one direction.
pub fn rows(client: &mut Client, session: &str) -> Vec<Value> {
    let subscription = client.subscribe(session);
    let through = through(client, session);
    assemble(&walk(client, &subscription, &through, "newer", 700))
}

fn through(client: &mut Client, session: &str) -> Value {
    let opened = client.ok(
        "subscription.open",
        json!({"sessionId": session, "transcript": {"kind": "tail", "maxBytes": 2}}),
    );
    opened["transcript"]["throughSequence"].clone()
}

/// The fragments of a whole walk.
fn walk(
    client: &mut Client,
    subscription: &str,
    through: &Value,
    direction: &str,
    budget: u64,
) -> Vec<Value> {
    let mut fragments = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = client.ok("session.transcript.page", json!({"subscriptionId": subscription, "source": "durable",
            "direction": direction, "throughSequence": through, "cursor": cursor, "anchorSequence": null,
            "maxBytes": budget}));
        let got = page["fragments"].as_array().expect("fragments").clone();
        let bytes: u64 = got
            .iter()
            .map(|fragment| bytes(fragment).len() as u64)
            .sum();
        assert_eq!(page["rawBytes"], bytes);
        assert!(bytes <= budget);
        fragments.extend(got);
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return fragments;
        }
    }
}

fn bytes(fragment: &Value) -> Vec<u8> {
    STANDARD
        .decode(fragment["data"].as_str().expect("data"))
        .expect("base64")
}

fn assemble(fragments: &[Value]) -> Vec<Value> {
    let mut rows: Vec<Vec<u8>> = Vec::new();
    for fragment in fragments {
        let at = fragment["sequence"].as_u64().expect("a sequence") as usize;
        if rows.len() <= at {
            rows.resize(at + 1, Vec::new());
        }
        let row = &mut rows[at];
        row.resize(
            fragment["totalBytes"].as_u64().expect("a length") as usize,
            0,
        );
        let from = fragment["byteOffset"].as_u64().expect("an offset") as usize;
        let data = bytes(fragment);
        row[from..from + data.len()].copy_from_slice(&data);
    }
    rows.iter()
        .map(|row| serde_json::from_slice(row).expect("a row is JSON"))
        .collect()
}

fn long_session(client: &mut Client) -> (String, Value) {
    let subscription = client.session("s1");
    client.start("s1", "t1", "go");
    client.until_terminal();
    let through = through(client, "s1");
    (subscription, through)
}

fn long_script() -> Value {
    json!({"plays": [{"steps": [{"thinking": "思考 🧠"}, {"text": "0123456789", "repeat": 8000, "chunk": 8000}]}]})
}

#[test]
fn given_any_budget_when_walked_either_way_then_every_byte_comes_exactly_once() {
    let mut client = Client::connect(&scripted(&long_script()));
    let (subscription, through) = long_session(&mut client);
    let whole = assemble(&walk(
        &mut client,
        &subscription,
        &through,
        "newer",
        524_288,
    ));
    assert_eq!(whole.len() as u64, through.as_u64().expect("a number") + 1);
    for budget in [997, 4_096, 30_000, 524_288] {
        for direction in ["older", "newer"] {
            let fragments = walk(&mut client, &subscription, &through, direction, budget);
            let total: usize = fragments.iter().map(|fragment| bytes(fragment).len()).sum();
            let rows = assemble(&fragments);
            let size: usize = whole.iter().map(|row| row.to_string().len()).sum();
            assert_eq!((rows, total), (whole.clone(), size), "{direction} {budget}");
        }
    }
}

#[test]
fn given_a_row_stored_in_chunks_when_paged_then_its_digest_is_that_of_the_whole_row() {
    use sha2::Digest as _;
    let mut client = Client::connect(&scripted(&long_script()));
    let (subscription, through) = long_session(&mut client);
    let fragments = walk(&mut client, &subscription, &through, "newer", 524_288);
    let big = fragments
        .iter()
        .find(|fragment| fragment["totalBytes"].as_u64() > Some(65_536))
        .expect("a big row");
    let digest: String = sha2::Sha256::digest(bytes(big))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(big["payloadDigest"], format!("sha256:{digest}"));
    let small = fragments
        .iter()
        .filter(|fragment| fragment["totalBytes"].as_u64() < Some(65_536));
    assert!(
        small
            .into_iter()
            .all(|fragment| fragment["payloadDigest"].is_null())
    );
}

#[test]
fn given_a_cursor_that_was_changed_or_is_of_another_walk_when_used_then_it_is_refused() {
    let mut client = Client::connect(&scripted(&long_script()));
    let (subscription, through) = long_session(&mut client);
    let page = |subscription: &str, cursor: &Value, direction: &str, through: &Value| {
        json!({"subscriptionId": subscription, "source": "durable", "direction": direction,
            "throughSequence": through, "cursor": cursor, "anchorSequence": null, "maxBytes": 100})
    };
    let first = client.ok(
        "session.transcript.page",
        page(&subscription, &Value::Null, "older", &through),
    );
    let cursor = first["nextCursor"].clone();
    let forged = json!(forge(cursor.as_str().expect("a cursor")));
    let other = client.subscribe("s1");
    for (input, what) in [
        (page(&subscription, &forged, "older", &through), "forged"),
        (
            page(&subscription, &cursor, "newer", &through),
            "other direction",
        ),
        (
            page(&subscription, &cursor, "older", &json!(0)),
            "other watermark",
        ),
        (
            page(&other, &cursor, "older", &through),
            "other subscription",
        ),
        (
            page(&subscription, &Value::Null, "older", &json!(99)),
            "ahead of the session",
        ),
    ] {
        assert_eq!(
            client.refused("session.transcript.page", input),
            "invalid_request",
            "{what}"
        );
    }
    assert_eq!(
        client.refused(
            "session.transcript.page",
            page("unknown", &Value::Null, "older", &through)
        ),
        "not_found"
    );
}

/// Another place under the old signature.
fn forge(cursor: &str) -> String {
    let (text, signature) = cursor.split_once('.').expect("a signed cursor");
    let mut place: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).expect("base64"))
        .expect("a cursor is JSON");
    place["byteOffset"] = json!(1);
    format!("{}.{signature}", URL_SAFE_NO_PAD.encode(place.to_string()))
}

#[test]
fn given_a_running_turn_when_opened_then_the_overlay_holds_the_text_so_far_until_it_is_released() {
    let world =
        scripted(&json!({"plays": [{"steps": [{"text": "so far"}, {"wait": "turn.stop"}]}]}));
    let mut client = Client::connect(&world);
    client.session("s1");
    let turn = client.start("s1", "t1", "go");
    client.sees(|frame| frame["delta"]["text"] == "so far");
    let opened = client.ok(
        "subscription.open",
        json!({"sessionId": "s1", "transcript": {"kind": "tail", "maxBytes": 16384}}),
    );
    let transcript = &opened["transcript"];
    assert_eq!(transcript["overlayMessageCount"], 2);
    let rows: Vec<Value> = transcript["overlay"]["fragments"]
        .as_array()
        .expect("fragments")
        .iter()
        .map(|fragment| serde_json::from_slice(&bytes(fragment)).expect("a row"))
        .collect();
    assert_eq!(rows[0]["text"], "so far");
    assert_eq!(rows[1]["type"], "user");
    assert_eq!(
        opened["activeAssistantStreams"][0]["messageId"],
        rows[0]["id"]
    );

    let subscription = opened["subscriptionId"].clone();
    let page = json!({"subscriptionId": subscription, "source": "overlay", "direction": "newer",
        "throughSequence": transcript["throughSequence"], "cursor": null, "anchorSequence": null, "maxBytes": 1000});
    assert_eq!(
        client.ok("session.transcript.page", page.clone())["fragments"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    for _ in 0..2 {
        client.ok(
            "session.transcript.overlay.release",
            json!({"subscriptionId": subscription}),
        );
    }
    assert_eq!(
        client.refused("session.transcript.page", page),
        "invalid_request"
    );
    client.ok(
        "turn.stop",
        json!({"sessionId": "s1", "turnId": "t1", "runId": turn["runId"]}),
    );
}

#[test]
fn given_an_anchor_when_paged_then_it_is_not_part_of_the_page() {
    let mut client = Client::connect(&scripted(&long_script()));
    let (subscription, through) = long_session(&mut client);
    let page = |direction: &str, anchor: u64| {
        json!({"subscriptionId": subscription, "source": "durable", "direction": direction,
            "throughSequence": through, "cursor": null, "anchorSequence": anchor, "maxBytes": 524_288})
    };
    let sequences = |page: &Value| -> Vec<u64> {
        page["fragments"]
            .as_array()
            .expect("fragments")
            .iter()
            .filter_map(|one| one["sequence"].as_u64())
            .collect()
    };
    assert_eq!(
        sequences(&client.ok("session.transcript.page", page("newer", 3))),
        [4, 5]
    );
    assert_eq!(
        sequences(&client.ok("session.transcript.page", page("older", 2))),
        [1, 0]
    );
    let empty = client.ok("session.transcript.page", page("newer", 5));
    assert_eq!(
        (&empty["rawBytes"], &empty["nextCursor"]),
        (&json!(0), &Value::Null)
    );
}
