//! The recorded Host itself, checked against the recordings it plays.

use std::collections::VecDeque;

use airlock_tests::recorded_host::rows_of;
use airlock_tests::recording::{Recording, Step};
use airlock_tests::{RecordedHost, Say};
use serde_json::{Value, json};

/// Recordings whose rows are whole, so that a replay of the recorded client must give back
/// every recorded frame.
const WHOLE: [&str; 9] = ["02", "03", "04", "05", "06", "07", "08", "15", "17"];

#[test]
fn given_the_recorded_client_when_it_speaks_again_then_the_host_says_every_recorded_frame() {
    for number in WHOLE.iter().chain(&["11", "20", "21"]) {
        let recording = Recording::open(number);
        let (said, wanted, host) = replay(&recording, &|line| line.to_owned());
        assert_eq!(said.len(), wanted.len(), "{number}: number of frames");
        for (said, wanted) in said.iter().zip(&wanted) {
            assert_eq!(unsealed(said), unsealed(wanted), "{number}");
        }
        let report = host.report();
        assert_eq!(
            report,
            airlock_tests::Report {
                improvised: report.improvised.clone(),
                ..Default::default()
            }
        );
    }
}

#[test]
fn given_a_client_with_ids_of_its_own_when_it_speaks_then_only_its_ids_are_said() {
    for number in WHOLE {
        let recording = Recording::open(number);
        let renamed = rename(&recording);
        let swap = |line: &str| {
            renamed
                .iter()
                .fold(line.to_owned(), |line, (old, new)| line.replace(old, new))
        };
        let (said, wanted, _) = replay(&recording, &swap);
        assert_eq!(said.len(), wanted.len(), "{number}: number of frames");
        for (said, wanted) in said.iter().zip(&wanted) {
            let wanted: Value = serde_json::from_str(&swap(&wanted.to_string())).unwrap();
            assert_eq!(
                opened_rows(unsealed(said)),
                renamed_rows(opened_rows(unsealed(&wanted)), &swap),
                "{number}"
            );
        }
    }
}

#[test]
fn given_a_transcript_when_walked_either_way_with_any_budget_then_the_rows_are_the_same() {
    let (mut host, subscription) = reopened("15");
    let mut walks = Vec::new();
    for budget in [1_000_u64, 4_096, 30_000, 524_288] {
        for older in [true, false] {
            walks.push(walk(&mut host, &subscription, older, budget));
        }
    }
    let first = walks[0].clone();
    assert_eq!(first.len(), 6);
    assert!(first[2].contains("\"type\":\"assistant\""));
    for rows in walks {
        assert_eq!(rows, first);
    }
}

#[test]
fn given_a_page_request_past_the_watermark_or_with_a_bad_cursor_then_it_is_refused() {
    let (mut host, subscription) = reopened("02");
    let ask = |through: u64, cursor: &Value| {
        json!({ "requestId": "p", "operation": "session.transcript.page", "input": {
            "subscriptionId": subscription, "source": "durable", "direction": "newer",
            "throughSequence": through, "cursor": cursor, "anchorSequence": null, "maxBytes": 4096 } })
    };
    let mut code = |ask: Value| lines(host.line(&ask.to_string()))[0]["error"]["code"].clone();
    assert_eq!(code(ask(6, &Value::Null)), "invalid_request");
    assert_eq!(code(ask(5, &json!("rubbish"))), "invalid_request");
    assert_eq!(code(ask(5, &Value::Null)), Value::Null);
}

#[test]
fn given_requests_that_were_not_recorded_then_facts_answer_them_and_the_report_says_so() {
    let mut host = RecordedHost::new(Recording::open("05"));
    host.opened();
    let mut ask = |operation: &str, input: Value| {
        let request = json!({ "requestId": operation, "operation": operation, "input": input });
        lines(host.line(&request.to_string()))
    };
    // No word before hello.
    assert!(ask("host.status", json!({})).is_empty());
    let mut host = RecordedHost::new(Recording::open("05"));
    host.opened();
    let hello = json!({ "kind": "hello", "clientInstanceId": "c", "protocolMin": 0, "protocolMax": 0,
        "compatibilityEpoch": 39, "compositionId": "maka.interactive" });
    assert_eq!(lines(host.line(&hello.to_string()))[0]["kind"], "accepted");
    let mut ask = |operation: &str, input: Value| {
        let request = json!({ "requestId": operation, "operation": operation, "input": input });
        lines(host.line(&request.to_string()))
    };
    let session = "11111111-1111-4111-8111-111111111111";
    let turn = "22222222-2222-4222-8222-222222222222";
    ask(
        "session.create",
        json!({ "sessionId": session, "workspace": {}, "modelTarget": {} }),
    );
    let opened = ask(
        "subscription.open",
        json!({ "sessionId": session, "transcript": { "kind": "tail", "maxBytes": 16384 } }),
    );
    assert_eq!(
        opened[0]["result"]["snapshot"]["session"]["sessionId"],
        session
    );
    let started = ask(
        "turn.start",
        json!({ "sessionId": session, "turnId": turn, "content": { "text": "SCENARIO:question please" } }),
    );
    let pending = &started.last().unwrap()["snapshot"];
    assert_eq!(
        pending["interactions"]["pending"][0]["request"]["kind"],
        "question"
    );
    let run = pending["rootTurn"]["runId"].clone();
    let wrong = ask(
        "turn.stop",
        json!({ "sessionId": session, "turnId": turn, "runId": "x" }),
    );
    assert_eq!(wrong[0]["error"]["code"], "operation_conflict");
    let stopped = ask(
        "turn.stop",
        json!({ "sessionId": session, "turnId": turn, "runId": run }),
    );
    assert_eq!(stopped.len(), 2);
    assert_eq!(stopped[0]["snapshot"]["rootTurn"]["status"], "cancelled");
    assert_eq!(stopped[0]["snapshot"]["interactions"]["pending"], json!([]));
    assert_eq!(stopped[0]["sequence"], 21);
    assert_eq!(stopped[1]["result"]["abortSource"], "renderer.stop_button");
    assert_eq!(
        ask(
            "turn.query",
            json!({ "sessionId": session, "turnId": turn })
        )[0]["result"]["status"],
        "cancelled"
    );
    assert_eq!(
        ask("goal.query", json!({ "sessionId": session }))[0]["error"]["code"],
        "operation_unavailable"
    );
    let report = host.report();
    assert_eq!(
        report.improvised,
        ["turn.stop", "turn.stop", "turn.query", "goal.query"]
    );
    assert_eq!(report.unanswered.len(), 1);
    assert_eq!(
        report.never_came,
        [
            "35 interaction.query",
            "37 interaction.answer",
            "44 interaction.answer",
            "72 subscription.close",
            "75 subscription.open",
            "77 subscription.close"
        ]
    );
}

#[test]
fn given_a_lost_connection_when_the_session_is_opened_again_then_the_stream_goes_on_where_it_was() {
    let mut host = RecordedHost::new(Recording::open("02")).stepwise();
    let session = json!("bcbc78f5-ce9f-4620-a347-0b8ab51aa2bd");
    host.opened();
    let recording = Recording::open("02");
    host.line(HELLO);
    for n in [1, 4, 6] {
        host.line(&recording.frame(n).text);
    }
    host.play_until(|frame| {
        frame["delta"]["startOffset"] == 12 && frame["delta"]["kind"] == "text"
    });
    assert_eq!(host.drop_connection(), Say::Close);
    host.opened();
    host.line(HELLO);
    let open = json!({ "requestId": "o", "operation": "subscription.open", "input": {
        "sessionId": session, "transcript": { "kind": "tail", "maxBytes": 16384 } } });
    host.line(&open.to_string());
    let said = lines(host.play_until(|frame| frame["kind"] == "subscription.session_delta"));
    assert_eq!(said[0]["kind"], "accepted");
    let opened = &said[1]["result"];
    assert_eq!(opened["transcript"]["overlayMessageCount"], 1);
    let overlay = rows_of(&opened["transcript"]["overlay"]);
    let message: Value = serde_json::from_str(&overlay[0]).unwrap();
    assert_eq!(message["text"], "Hello from the moc");
    let next = said.last().unwrap();
    assert_eq!(next["subscriptionId"], opened["subscriptionId"]);
    assert_eq!(
        (&next["sequence"], &next["delta"]["startOffset"]),
        (&json!(1), &json!(18))
    );
}

const HELLO: &str = r#"{"kind":"hello","clientInstanceId":"c","protocolMin":0,"protocolMax":0,"compatibilityEpoch":39,"compositionId":"maka.interactive"}"#;

/// Replays the recorded client, its lines changed by `change`. Back come what the Host
/// said, what the recording says, and the Host.
fn replay(
    recording: &Recording,
    change: &dyn Fn(&str) -> String,
) -> (Vec<Value>, Vec<Value>, RecordedHost) {
    let mut host = RecordedHost::new(recording.clone());
    host.opened();
    let starts_with_hello = recording
        .steps
        .iter()
        .any(|step| matches!(step, Step::Client(it) if it.kind() == Some("hello")));
    if !starts_with_hello {
        host.line(HELLO);
    }
    let mut said = VecDeque::new();
    let mut wanted = Vec::new();
    for step in &recording.steps {
        match step {
            // A cursor is the Host's: a client sends the one it was given, which the two
            // transcripts have in common but for the seal.
            Step::Client(frame) => said.extend(lines(host.line(&change(&frame.text)))),
            Step::Host(frame) => wanted.push(frame.value.clone()),
            Step::Opened => drop(host.opened()),
            Step::Closed => {}
        }
    }
    (said.into_iter().collect(), wanted, host)
}

fn lines(said: Vec<Say>) -> Vec<Value> {
    let text = said.into_iter().filter_map(|say| match say {
        Say::Line(line) => Some(line),
        Say::Close => None,
    });
    text.map(|line| serde_json::from_str(&line).unwrap())
        .collect()
}

/// Without the seals of cursors, which only the real Host can write.
fn unsealed(frame: &Value) -> Value {
    let mut frame = frame.clone();
    for at in [
        "/result/nextCursor",
        "/result/transcript/durable/nextCursor",
        "/result/transcript/overlay/nextCursor",
    ] {
        if let Some(cursor) = frame.pointer_mut(at)
            && cursor.is_string()
        {
            *cursor = json!("a cursor");
        }
    }
    frame
}

/// Rows as text in place of base64 and of digests, so that ids in them can be compared.
fn opened_rows(mut frame: Value) -> Value {
    for at in [
        "/result",
        "/result/transcript/durable",
        "/result/transcript/overlay",
    ] {
        let Some(page) = frame
            .pointer_mut(at)
            .filter(|page| page["fragments"].is_array())
        else {
            continue;
        };
        let rows = rows_of(page);
        for (fragment, row) in page["fragments"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .zip(rows)
        {
            fragment["data"] = json!(row);
            if fragment["payloadDigest"].is_string() {
                fragment["payloadDigest"] = json!("a digest");
            }
        }
    }
    frame
}

fn renamed_rows(mut frame: Value, swap: &dyn Fn(&str) -> String) -> Value {
    for at in [
        "/result",
        "/result/transcript/durable",
        "/result/transcript/overlay",
    ] {
        let Some(page) = frame
            .pointer_mut(at)
            .filter(|page| page["fragments"].is_array())
        else {
            continue;
        };
        for fragment in page["fragments"].as_array_mut().unwrap() {
            fragment["data"] = json!(swap(fragment["data"].as_str().unwrap()));
        }
    }
    frame
}

/// New names for the ids that the recorded client chose.
fn rename(recording: &Recording) -> Vec<(String, String)> {
    let mut ids = Vec::new();
    for step in &recording.steps {
        let Step::Client(frame) = step else { continue };
        for id in [
            &frame.value["requestId"],
            &frame.value["input"]["sessionId"],
            &frame.value["input"]["turnId"],
        ] {
            let Some(id) = id.as_str() else { continue };
            if !ids.iter().any(|(old, _)| old == id) {
                ids.push((
                    id.to_owned(),
                    format!("aaaaaaaa-aaaa-4aaa-8aaa-{:012}", ids.len()),
                ));
            }
        }
    }
    ids
}

/// A Host whose session was opened again after its Turn.
fn reopened(number: &str) -> (RecordedHost, String) {
    let recording = Recording::open(number);
    let mut host = RecordedHost::new(recording.clone());
    host.opened();
    host.line(HELLO);
    let mut subscription = String::new();
    for step in &recording.steps {
        let Step::Client(frame) = step else { continue };
        let said = lines(host.line(&frame.text));
        for frame in said {
            if frame["operation"] == "subscription.open" {
                subscription = frame["result"]["subscriptionId"]
                    .as_str()
                    .unwrap()
                    .to_owned();
            }
        }
        let mut opens = recording.steps.iter().filter_map(|step| match step {
            Step::Client(it) if it.operation() == Some("subscription.open") => Some(it.n),
            _ => None,
        });
        if opens.nth(1) == Some(frame.n) {
            break;
        }
    }
    (host, subscription)
}

/// All rows, put together from pages of this budget.
fn walk(host: &mut RecordedHost, subscription: &str, older: bool, budget: u64) -> Vec<String> {
    let mut rows: std::collections::BTreeMap<u64, std::collections::BTreeMap<u64, String>> =
        Default::default();
    let mut cursor = Value::Null;
    for turn in 0.. {
        let ask = json!({ "requestId": format!("w{turn}"), "operation": "session.transcript.page", "input": {
            "subscriptionId": subscription, "source": "durable", "direction": if older { "older" } else { "newer" },
            "throughSequence": 5, "cursor": cursor, "anchorSequence": null, "maxBytes": budget } });
        let page = lines(host.line(&ask.to_string())).remove(0)["result"].clone();
        assert!(page["rawBytes"].as_u64().unwrap() <= budget);
        for (fragment, text) in page["fragments"]
            .as_array()
            .unwrap()
            .iter()
            .zip(rows_of(&page))
        {
            let row = rows
                .entry(fragment["sequence"].as_u64().unwrap())
                .or_default();
            row.insert(fragment["byteOffset"].as_u64().unwrap(), text);
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    rows.into_values()
        .map(|parts| parts.into_values().collect())
        .collect()
}
