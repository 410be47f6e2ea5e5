//! What can be made to go wrong, and that everything else goes on.

use host_runner::embedded::{Fault, Options};
use serde_json::{Value, json};

use crate::client::{Client, instant, scripted};

/// A turn that streams a word, waits to be stopped, and one that just ends.
fn script() -> Value {
    json!({"plays": [
        {"words": ["hold"], "steps": [{"text": "begun"}, {"wait": "turn.stop"}]},
        {"steps": [{"text": "all of it", "chunk": 3}]},
    ]})
}

#[test]
fn given_a_lost_response_when_the_turn_is_started_then_it_runs_and_a_query_finds_it() {
    let world = scripted(&script());
    let mut client = Client::connect(&world);
    client.session("s1");
    world.faults().lose_response("turn.start", 1);
    let lost = client.request(
        "turn.start",
        json!({"sessionId": "s1", "turnId": "t1", "content": {"text": "go"}}),
    );
    assert_eq!(client.until_terminal()["status"], "completed");
    let found = client.ok("turn.query", json!({"sessionId": "s1", "turnId": "t1"}));
    assert_eq!(found["status"], "completed");
    assert!(client.seen.iter().all(|frame| frame["requestId"] != lost));
}

#[test]
fn given_the_second_response_lost_when_two_are_asked_then_the_first_and_the_third_come() {
    let world = scripted(&script());
    let mut client = Client::connect(&world);
    world.faults().lose_response("host.status", 2);
    let ids: Vec<String> = (0..3)
        .map(|_| client.request("host.status", json!({})))
        .collect();
    client.answer(&ids[2]);
    let answered: Vec<&Value> = client
        .seen
        .iter()
        .map(|frame| &frame["requestId"])
        .collect();
    assert_eq!(answered, [&json!(ids[0]), &json!(ids[2])]);
}

#[test]
fn given_a_connection_to_be_dropped_when_its_frames_are_out_then_it_ends_and_the_turn_goes_on() {
    let world = scripted(&script());
    let mut client = Client::connect(&world);
    client.session("s1");
    world.faults().drop_connection(4);
    client.request(
        "turn.start",
        json!({"sessionId": "s1", "turnId": "t1", "content": {"text": "hold"}}),
    );
    client.seen.clear();
    while client.next().is_some() {}
    assert_eq!(client.seen.len(), 4);

    let mut again = Client::connect(&world);
    let turn = again.ok("turn.query", json!({"sessionId": "s1", "turnId": "t1"}));
    assert_eq!(turn["status"], "running");
}

#[test]
fn given_a_fault_for_the_next_connection_when_it_comes_then_only_that_one_is_cut() {
    let world = instant(Options {
        faults: vec![Fault::DropConnection { after: 1 }],
        ..Options::default()
    });
    let mut first = Client::connect(&world);
    first.ok("host.status", json!({}));
    assert_eq!(first.next(), None);
    let mut second = Client::connect(&world);
    second.ok("host.status", json!({}));
    second.ok("host.status", json!({}));
}

#[test]
fn given_a_subscription_to_be_closed_when_its_frames_are_out_then_it_ends_as_slow_consumer() {
    let world = scripted(&script());
    let mut client = Client::connect(&world);
    let subscription = client.session("s1");
    world.faults().close_subscription(3);
    client.request(
        "turn.start",
        json!({"sessionId": "s1", "turnId": "t1", "content": {"text": "go"}}),
    );
    let last = client.until(|frame| frame["kind"] == "subscription.closed");
    assert_eq!(last["reason"], "slow_consumer");
    assert_eq!(last["sequence"], 4);
    assert_eq!(last["subscriptionId"], subscription);
    assert_eq!(client.ok("host.status", json!({}))["state"], "ready");
    client.subscribe("s1");
}

#[test]
fn given_a_sequence_to_be_skipped_when_its_frames_are_out_then_there_is_one_gap() {
    let world = scripted(&script());
    let mut client = Client::connect(&world);
    client.session("s1");
    world.faults().skip_sequence(2);
    client.start("s1", "t1", "go");
    client.until_terminal();
    let sequence: Vec<u64> = client
        .seen
        .iter()
        .filter_map(|frame| frame["sequence"].as_u64())
        .collect();
    assert_eq!(sequence[..4], [1, 2, 4, 5]);
    assert!(sequence[2..].windows(2).all(|pair| pair[1] == pair[0] + 1));
}

#[test]
fn given_a_delay_when_an_answer_is_late_then_later_requests_are_answered_before_it() {
    let script = json!({"plays": [{"steps": [{"text": "x"}]}]});
    let world = scripted(&script);
    let mut client = Client::connect(&world);
    world.faults().delay("host.status", 1_000);
    let late = client.request("host.status", json!({}));
    assert_eq!(client.answer(&late)["ok"], true);
}

#[test]
fn given_a_restart_when_a_turn_runs_then_it_has_failed_and_all_connections_are_gone() {
    let world = scripted(&script());
    let mut client = Client::connect(&world);
    client.session("s1");
    let turn = client.start("s1", "t1", "hold");
    client.sees(|frame| frame["delta"]["text"].is_string());
    let before = world.host_epoch();
    world.faults().restart();
    while client.next().is_some() {}

    let mut again = Client::connect(&world);
    assert_ne!(world.host_epoch(), before);
    let found = again.ok("turn.query", json!({"sessionId": "s1", "turnId": "t1"}));
    assert_eq!(found["status"], "failed");
    assert_eq!(found["failureClass"], "app_restarted");
    assert_eq!(found["runId"], turn["runId"]);
    again.subscribe("s1");
    again.start("s1", "t2", "go");
    assert_eq!(again.until_terminal()["status"], "completed");
}

#[test]
fn given_a_restart_after_frames_when_they_are_out_then_the_connection_ends_there() {
    let world = instant(Options {
        faults: vec![Fault::Restart { after: 2 }],
        ..Options::default()
    });
    let before = world.host_epoch();
    let mut client = Client::connect(&world);
    let ids: Vec<String> = (0..2)
        .map(|_| client.request("host.status", json!({})))
        .collect();
    client.answer(&ids[1]);
    assert_eq!(client.next(), None);
    assert_ne!(world.host_epoch(), before);
    Client::connect(&world).ok("host.status", json!({}));
}

#[test]
fn given_any_answer_to_be_lost_when_operations_differ_then_their_answers_are_counted_together() {
    let world = instant(Options {
        faults: vec![Fault::LoseResponse {
            operation: None,
            nth: 2,
        }],
        ..Options::default()
    });
    let mut client = Client::connect(&world);
    let list = json!({"kind": "list_start"});
    let ids = [
        client.request("host.status", json!({})),
        client.request("session.catalog.query", list),
        client.request("host.status", json!({})),
    ];
    client.answer(&ids[2]);
    let answered = client.seen.iter().map(|frame| &frame["requestId"]);
    assert_eq!(
        answered.collect::<Vec<_>>(),
        [&json!(ids[0]), &json!(ids[2])]
    );
}

#[test]
fn given_a_fault_in_the_script_when_its_step_is_reached_then_it_strikes() {
    let world = scripted(&json!({"plays": [{"steps": [
        {"text": "before"}, {"fault": {"kind": "close_subscription"}}, {"text": "after"}]}]}));
    let mut client = Client::connect(&world);
    client.session("s1");
    client.request(
        "turn.start",
        json!({"sessionId": "s1", "turnId": "t1", "content": {"text": "go"}}),
    );
    let last = client.until(|frame| frame["kind"] == "subscription.closed");
    assert_eq!(last["reason"], "slow_consumer");
}

#[test]
fn given_a_rewrite_when_it_is_announced_then_the_stream_is_reset_and_the_row_has_the_new_text() {
    let world = scripted(&json!({"plays": [
        {"words": ["quietly"], "steps": [{"text": "first draft", "chunk": 100}, {"rewrite": "second"}]},
        {"steps": [{"text": "first draft", "chunk": 100}, {"rewrite": "second", "announce": true}]}]}));
    let mut client = Client::connect(&world);
    client.session("s1");
    client.start("s1", "t1", "aloud");
    client.until_terminal();
    let deltas: Vec<(Value, Value, Value)> = client
        .seen
        .iter()
        .filter(|frame| frame["delta"].is_object())
        .map(|frame| {
            (
                frame["delta"]["startOffset"].clone(),
                frame["delta"]["text"].clone(),
                frame["delta"]["reset"].clone(),
            )
        })
        .collect();
    assert_eq!(
        deltas,
        [
            (json!(0), json!("first draft"), Value::Null),
            (json!(0), json!("second"), json!(true)),
            (json!(6), json!(""), Value::Null)
        ]
    );
    client.seen.clear();
    client.start("s1", "t2", "quietly");
    client.until_terminal();
    assert!(
        client
            .seen
            .iter()
            .all(|frame| frame["delta"]["reset"].is_null())
    );
    let got = client.ok(
        "session.catalog.query",
        json!({"kind": "get", "sessionId": "s1"}),
    );
    assert_eq!(got["session"]["lastMessagePreview"], "second");
}
