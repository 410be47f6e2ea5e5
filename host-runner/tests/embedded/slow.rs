//! A client that does not read: joined deltas, eviction, and that the
//! connection and everyone else live on.

use serde_json::{Value, json};

use crate::client::{Client, scripted};

fn mock_model() -> Value {
    serde_json::from_str(include_str!("mock-model.json")).expect("the script is JSON")
}

/// Recording 19 by its facts: frames without a gap, then `slow_consumer` as the
/// last one; the same connection opens again and finds the turn running.
#[test]
fn given_a_paused_reader_when_a_tool_floods_then_it_is_evicted_and_can_come_back() {
    let world = scripted(&mock_model());
    let mut client = Client::connect(&world);
    let subscription = client.session("s1");
    // Not reading: the flood of 3,000 events fills the socket and then the queue.
    client.request(
        "turn.start",
        json!({"sessionId": "s1", "turnId": "t1", "content": {"text": "SCENARIO:bigbash"}}),
    );
    let mut watcher = Client::connect(&world);
    watcher.subscribe("s1");
    watcher.until(|frame| frame["event"]["type"] == "tool_result");

    let last = client.until(|frame| frame["kind"] == "subscription.closed");
    assert_eq!(last["reason"], "slow_consumer");
    let sequence: Vec<u64> = client
        .seen
        .iter()
        .filter(|frame| frame["subscriptionId"] == subscription)
        .filter_map(|frame| frame["sequence"].as_u64())
        .collect();
    assert_eq!(sequence, (1..=sequence.len() as u64).collect::<Vec<_>>());

    let opened = client.ok(
        "subscription.open",
        json!({"sessionId": "s1", "transcript": {"kind": "tail", "maxBytes": 16384}}),
    );
    assert_eq!(opened["snapshot"]["rootTurn"]["status"], "running");
    let run = &opened["snapshot"]["rootTurn"]["runId"];
    let stopped = client.ok(
        "turn.stop",
        json!({"sessionId": "s1", "turnId": "t1", "runId": run}),
    );
    assert_eq!(stopped["status"], "cancelled");
}

/// A client that reads is not evicted, however fast a script plays.
#[test]
fn given_a_reading_client_when_a_tool_floods_then_every_event_arrives() {
    let world = scripted(&mock_model());
    let mut client = Client::connect(&world);
    client.session("s1");
    client.start("s1", "t1", "SCENARIO:bigbash");
    client.until(|frame| frame["event"]["type"] == "tool_result");
    let outputs = client
        .seen
        .iter()
        .filter(|frame| frame["event"]["type"] == "tool_output_delta")
        .count();
    assert_eq!(outputs, 3_000);
}

#[test]
fn given_a_paused_reader_when_text_streams_then_deltas_are_joined_and_no_text_is_lost() {
    let world = scripted(
        &json!({"plays": [{"steps": [{"text": "abcdefghi ", "repeat": 3000, "chunk": 10}]}]}),
    );
    let mut client = Client::connect(&world);
    client.session("s1");
    client.request(
        "turn.start",
        json!({"sessionId": "s1", "turnId": "t1", "content": {"text": "go"}}),
    );
    let mut watcher = Client::connect(&world);
    watcher.until(|frame| frame["kind"] == "session.catalog.changed");
    loop {
        let turn = watcher.ok("turn.query", json!({"sessionId": "s1", "turnId": "t1"}));
        if turn["status"] == "completed" {
            break;
        }
    }
    client.until_terminal();
    let mut text = String::new();
    for frame in client
        .seen
        .iter()
        .filter(|frame| frame["delta"]["text"].is_string())
    {
        assert_eq!(frame["delta"]["startOffset"], text.len());
        text.push_str(frame["delta"]["text"].as_str().expect("text"));
    }
    assert_eq!(text, "abcdefghi ".repeat(3000));
}
