//! Recordings played step by step: what a Host answers to repeats and mistakes (11), a
//! subscription closed for a slow reader (19), a connection lost in mid turn (20), and a
//! lost answer to `turn.start` (21).

use airlock_tests::recorded_host::Shelf;
use airlock_tests::{Desk, RecordedHost, Recording};
use serde_json::{Value, json};

/// Rows of recording 11, which its client never read: those of the same prompt in
/// recording 02, under the ids of 11.
fn rows_of_hello(turn: &str, message: &str) -> Vec<String> {
    let row = |kind: &str, more: Value| {
        let mut row = json!({ "type": kind, "id": format!("00000000-0000-4000-8000-0000000{:05}", kind.len()),
            "turnId": turn, "ts": 1_796_027_169_340_u64 });
        row.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        row.to_string()
    };
    vec![
        row("user", json!({ "text": "SCENARIO:hello go" })),
        row(
            "turn_state",
            json!({ "status": "running", "partialOutputRetained": false }),
        ),
        row(
            "assistant",
            json!({ "id": message, "modelId": "mock-model",
                "text": "Hello from the mock model. 你好 🚀 End of text.",
                "thinking": { "text": "I should greet the user. 思考 🧠 done." } }),
        ),
        row("token_usage", json!({ "input": 120, "output": 34 })),
        row(
            "turn_state",
            json!({ "status": "completed", "partialOutputRetained": true }),
        ),
        row("system_note", json!({ "kind": "session_resume" })),
    ]
}

/// Recording 11 without the repeats of its client: Airlock never sends a start twice.
fn recording_11() -> Desk<RecordedHost> {
    let mut host = RecordedHost::new(Recording::open("11"))
        .without(&[16, 23])
        .stepwise();
    let rows = rows_of_hello("daabff3d-5148-4106-89dd-1c6bc11f5c83", &message_of("11"));
    for (sequence, row) in rows.iter().enumerate() {
        host = host.with_row(sequence as u64, row);
    }
    Desk::new(host)
}

fn message_of(number: &str) -> String {
    let recording = Recording::open(number);
    let mut ids = recording
        .host_frames()
        .filter_map(|frame| frame.value["delta"]["messageId"].as_str());
    ids.next().unwrap().to_owned()
}

#[test]
fn given_recording_11_when_its_prompt_is_sent_once_then_it_is_started_once_and_ends() {
    let mut desk = recording_11();
    let session = desk.new_session();
    let id = desk.prompt(&session, "SCENARIO:hello go");
    assert_eq!(desk.answer(id)["result"]["stopReason"], "end_turn");
    desk.run_until_quiet();
    assert_eq!(desk.times_asked("turn.start"), 1);
    insta::assert_snapshot!("11_started_once", desk.conversation());
    assert_eq!(
        desk.host.report().never_came,
        [
            "53 turn.start",
            "57 turn.start",
            "61 turn.query",
            "65 turn.start",
            "69 session.create",
            "73 session.create",
            "76 subscription.close"
        ]
    );
}

#[test]
fn given_the_refusals_of_recording_11_when_a_start_gets_them_then_each_is_mapped_and_the_session_goes_on()
 {
    let mut desk = recording_11();
    let session = desk.new_session();
    // 24: same id, other content. 66: no such session.
    for (n, code, host_code) in [
        (24, -32603, "operation_conflict"),
        (66, -32602, "not_found"),
    ] {
        desk.host.answer_next("turn.start", n);
        let id = desk.prompt(&session, "refused");
        let answer = desk.answer(id);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(
            answer["error"]["data"],
            json!({ "source": "runtime_host", "operation": "turn.start", "code": host_code })
        );
    }
    let id = desk.prompt(&session, "SCENARIO:hello go");
    assert_eq!(desk.answer(id)["result"]["stopReason"], "end_turn");
    assert_eq!(desk.times_asked("turn.stop"), 0);
    insta::assert_snapshot!("11_refused_starts", desk.conversation());
}

#[test]
fn given_the_refusal_of_a_create_in_recording_11_when_a_session_is_asked_for_then_the_error_carries_its_id()
 {
    let mut desk = recording_11();
    desk.initialize();
    desk.host.answer_next("session.create", 74);
    let id = desk.request(
        "session/new",
        &json!({ "cwd": "/srv/maka-work", "mcpServers": [] }),
    );
    let answer = desk.answer(id);
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["data"]["operation"], "session.create");
    assert_eq!(answer["error"]["data"]["code"], "operation_conflict");
    let session = answer["error"]["data"]["sessionId"]
        .as_str()
        .expect("the id that was tried")
        .to_owned();
    // It never became ours.
    let id = desk.prompt(&session, "hello");
    assert_eq!(
        desk.answer(id)["error"]["data"]["reason"],
        "unknown_session"
    );
}

#[test]
fn given_a_lost_start_when_the_host_never_admitted_it_then_the_prompt_fails_without_a_stop() {
    let mut desk = recording_11();
    let session = desk.new_session();
    desk.host.answer_next("turn.start", 14);
    desk.host.hold("turn.start");
    let id = desk.prompt(&session, "lost");
    desk.run_until_quiet();
    assert_eq!(desk.times_asked("turn.start"), 1);
    // 62: "Turn was not admitted".
    desk.host.answer_next("turn.query", 62);
    let lost = desk.host.drop_connection();
    desk.host_says([lost]);
    desk.advance(5_000);
    let said = desk.take();
    let answer = said.iter().find(|it| it["id"] == id).expect("an answer");
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["data"]["operation"], "turn.start");
    assert_eq!(answer["error"]["data"]["code"], "request_interrupted");
    assert_eq!(answer["error"]["data"]["dispatch"], "dispatched");
    assert_eq!(
        (
            desk.times_asked("turn.start"),
            desk.times_asked("turn.stop")
        ),
        (1, 0)
    );
    insta::assert_snapshot!("11_lost_start_absent", desk.conversation());
}

#[test]
fn given_a_lost_start_of_recording_21_when_the_turn_is_found_running_then_it_is_stopped_once_and_the_prompt_fails()
 {
    let mut desk = Desk::new(RecordedHost::new(Recording::open("21")).stepwise());
    let session = desk.new_session();
    let id = desk.prompt(&session, "SCENARIO:hello");
    desk.run_until_quiet();
    assert_eq!(desk.times_asked("turn.start"), 1);
    desk.advance(5_000);
    let said = desk.take();
    let answer = said.iter().find(|it| it["id"] == id).expect("an answer");
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["data"]["code"], "request_interrupted");
    assert_eq!(
        (
            desk.times_asked("turn.start"),
            desk.times_asked("turn.stop")
        ),
        (1, 1)
    );
    insta::assert_snapshot!("21_lost_start_found", desk.conversation());
    // Airlock asks once; the recorded client asked until the Turn was over, and then
    // sent the start again.
    assert_eq!(
        desk.host.report().never_came,
        [
            "18 turn.query",
            "20 turn.query",
            "28 turn.query",
            "30 turn.start"
        ]
    );
}

#[test]
fn given_a_lost_start_of_recording_21_when_cancelled_before_it_is_found_then_the_answer_is_cancelled()
 {
    let mut desk = Desk::new(RecordedHost::new(Recording::open("21")).stepwise());
    let session = desk.new_session();
    let id = desk.prompt(&session, "SCENARIO:hello");
    desk.run_until_quiet();
    desk.cancel(&session);
    desk.advance(5_000);
    let said = desk.take();
    let answer = said.iter().find(|it| it["id"] == id).expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    assert_eq!(
        (
            desk.times_asked("turn.start"),
            desk.times_asked("turn.stop")
        ),
        (1, 1)
    );
}

#[test]
fn given_recording_20_when_the_connection_is_lost_in_mid_turn_then_the_text_goes_on_without_a_gap_or_a_repeat()
 {
    // 46 and 50 free the overlay, which Airlock has read with the open.
    let mut desk = Desk::new(RecordedHost::new(Recording::open("20")).stepwise());
    let session = desk.new_session();
    let id = desk.prompt(&session, "SCENARIO:slow");
    desk.run_until_quiet();
    desk.advance(2_000);
    desk.cancel(&session);
    desk.run_until_quiet();
    let said = desk.take();
    let answer = said.iter().find(|it| it["id"] == id).expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    assert_eq!(desk.times_asked("turn.stop"), 1);
    assert_eq!(desk.times_asked("hello"), 2);
    insta::assert_snapshot!("20_reconnect", desk.conversation());
    let shown = desk.shown("agent_message_chunk");
    let recorded = recorded_text("20");
    assert_eq!(shown.len(), 1);
    assert!(recorded.starts_with(&shown[0].1), "{shown:?}\n{recorded}");
    assert!(
        shown[0].1.contains("chunk 18 "),
        "nothing after the reconnect: {shown:?}"
    );
}

/// The one message of a recording, put together by offset.
fn recorded_text(number: &str) -> String {
    let mut text: Vec<u16> = Vec::new();
    for frame in Recording::open(number).host_frames() {
        let delta = &frame.value["delta"];
        if delta["kind"] == "text" {
            let start = delta["startOffset"].as_u64().unwrap() as usize;
            // What lies between two connections is known from the overlay.
            text.resize(text.len().max(start), u16::from(b'?'));
            text.truncate(start);
            text.extend(delta["text"].as_str().unwrap().encode_utf16());
        }
    }
    let gaps = String::from_utf16(&text).unwrap();
    let mut whole = String::new();
    let mut number = 0;
    while whole.len() < gaps.len() {
        whole.push_str(&format!("chunk {number} "));
        number += 1;
    }
    whole.truncate(gaps.len());
    whole
}

#[test]
fn given_recording_19_when_the_host_closes_the_slow_subscription_then_it_is_opened_again_and_the_card_is_whole()
 {
    let mut desk = Desk::new(recording_19());
    let session = desk.new_session();
    let id = desk.prompt(&session, "SCENARIO:bigbash");
    desk.run_until_quiet();
    desk.advance(2_000);
    assert_eq!(desk.times_asked("subscription.open"), 2);
    let cards: Vec<Value> = desk
        .updates()
        .filter(|it| it["toolCallId"].is_string())
        .collect();
    let last = cards.last().expect("a card");
    assert_eq!(last["status"], "completed", "the durable result is shown");
    assert!(
        last["content"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("20000")
    );
    // The recording ends here, in mid turn.
    desk.cancel(&session);
    assert_eq!(desk.answer(id)["result"]["stopReason"], "cancelled");
    insta::assert_snapshot!("19_slow_consumer", desk.conversation());
    let report = desk.host.report();
    assert_eq!(
        (report.unanswered, report.never_came),
        (Vec::new(), Vec::new())
    );
}

/// Recording 19 with the rows that its client did not read to the end: it read the last
/// 8 KiB of the tool's result.
fn recording_19() -> RecordedHost {
    let recording = Recording::open("19");
    let turn = "3429188c-0608-43a5-af7e-411a97744817";
    let start = recording
        .host_frames()
        .find(|frame| frame.value["event"]["type"] == "tool_start")
        .unwrap();
    let tool = start.value["event"]["toolUseId"]
        .as_str()
        .unwrap()
        .to_owned();
    let reopened = &recording.frame(322).value["result"]["transcript"];
    let size = |part: &str| {
        let fragment = &reopened[part]["fragments"][0];
        (
            fragment["byteOffset"].as_u64().unwrap(),
            fragment["totalBytes"].as_u64().unwrap(),
        )
    };
    let user = json!({ "type": "user", "id": "00000000-0000-4000-8000-000000000001", "turnId": turn,
        "ts": 1_796_027_437_300_u64, "text": "SCENARIO:bigbash" });
    let state = json!({ "type": "turn_state", "id": "00000000-0000-4000-8000-000000000002", "turnId": turn,
        "ts": 1_796_027_437_300_u64, "status": "running", "partialOutputRetained": false });
    let call = json!({ "type": "tool_call", "id": tool, "turnId": turn, "ts": 1_796_027_437_400_u64,
        "toolName": "Bash", "activityKind": "command", "args": { "command": "seq 1 20000" } });
    let (durable_at, durable_size) = size("durable");
    let (overlay_at, overlay_size) = size("overlay");
    let mut host = RecordedHost::new(recording.clone())
        .with_row(0, &user.to_string())
        .with_row(1, &state.to_string())
        .with_row(2, &call.to_string())
        .stepwise();
    let head = |length: u64, output: &str| {
        let start = format!(
            r#"{{"type":"tool_result","id":"00000000-0000-4000-8000-000000000003","turnId":"{turn}","ts":1796027437600,"toolUseId":"{tool}","isError":false,"content":{{"kind":"terminal","cwd":"/srv/maka-work","cmd":"seq 1 20000",{output}"#
        );
        // Numbers before those that were recorded, to the byte.
        format!("{start}{}", "7".repeat(length as usize - start.len()))
    };
    let rows = host.rows();
    let durable = head(
        durable_at,
        r#""status":"completed","exitCode":0,"output":{"mode":"pipes","stdout":""#,
    );
    rows.supply(Shelf::Durable, 3, 0, durable_size, durable.as_bytes());
    let overlay = Shelf::Overlay(
        recording.frame(322).value["result"]["subscriptionId"]
            .as_str()
            .unwrap()
            .to_owned(),
    );
    for (index, row) in [&user, &call].into_iter().enumerate() {
        let row = row.to_string();
        rows.supply(
            overlay.clone(),
            index as u64,
            0,
            row.len() as u64,
            row.as_bytes(),
        );
    }
    let head = head(
        overlay_at,
        r#""exitCode":0,"output":{"mode":"pipes","stderr":"","stderrTruncated":false,"redacted":false,"latestStream":"stdout","stdout":""#,
    );
    rows.supply(overlay, 2, 0, overlay_size, head.as_bytes());
    host
}
