//! The hello and what ends a connection. The real Host never explains itself
//! with an error frame: a client that breaks the protocol sees the end of the
//! stream and nothing else.

use std::time::Duration;

use host_runner::embedded::Options;
use serde_json::{Value, json};

use crate::client::{Client, hello, instant};

#[test]
fn given_a_hello_of_this_epoch_when_it_comes_then_it_is_accepted_with_the_identity_of_the_host() {
    let world = instant(Options::default());
    let mut client = Client::raw(&world);
    client.send(&hello());
    let mut accepted = client.next().expect("an answer");
    assert_eq!(accepted["connectionId"].as_str().map(str::len), Some(36));
    accepted["connectionId"].take();
    assert_eq!(
        accepted,
        json!({"kind": "accepted", "rootId": world.root_id(), "hostEpoch": world.host_epoch(),
            "connectionId": null, "selectedProtocol": 0, "compatibilityEpoch": 39,
            "compositionId": "maka.interactive", "compositionRevision": "3", "state": "ready"})
    );
}

#[test]
fn given_a_hello_with_unknown_keys_and_crlf_when_it_comes_then_it_is_accepted() {
    let world = instant(Options::default());
    let mut client = Client::raw(&world);
    let mut greeting = hello();
    greeting["surface"] = json!("desktop");
    client.send_raw(format!("{greeting}\r\n").as_bytes());
    assert_eq!(client.next().expect("an answer")["kind"], "accepted");
}

#[test]
fn given_a_hello_that_does_not_fit_when_it_comes_then_it_is_told_what_would_and_the_host_closes() {
    let changes: [(&str, Value); 4] = [
        ("compatibilityEpoch", json!(40)),
        ("compatibilityEpoch", Value::Null),
        ("compositionId", json!("maka.other")),
        ("protocolMin", json!(1)),
    ];
    for (key, value) in changes {
        let world = instant(Options::default());
        let mut client = Client::raw(&world);
        let mut greeting = hello();
        if value.is_null() {
            greeting.as_object_mut().expect("an object").remove(key);
        } else {
            greeting[key] = value;
        }
        greeting["protocolMax"] = json!(2);
        client.send(&greeting);
        let answer = client.next().expect("an answer");
        assert_eq!(
            answer,
            json!({"kind": "incompatible", "hostEpoch": world.host_epoch(), "protocolMin": 0, "protocolMax": 0,
                "compatibilityEpoch": 39, "compositionId": "maka.interactive", "compositionRevision": "3",
                "state": "ready", "replacement": "blocked_by_residency"}),
            "{key}"
        );
        assert_eq!(client.next(), None, "{key}");
    }
}

#[test]
fn given_a_silent_client_when_the_handshake_time_is_over_then_the_host_closes_without_a_word() {
    let world = instant(Options {
        handshake: Duration::from_millis(20),
        ..Options::default()
    });
    assert_eq!(Client::raw(&world).next(), None);
}

#[test]
fn given_a_first_frame_that_is_no_hello_when_it_comes_then_the_host_closes_without_a_word() {
    let world = instant(Options::default());
    let mut client = Client::raw(&world);
    client.request("host.status", json!({}));
    assert_eq!(client.next(), None);
}

#[test]
fn given_a_frame_the_protocol_forbids_when_it_comes_then_the_host_closes_without_a_word() {
    let page = |cursor: &str, anchor: &str| {
        format!(
            r#"{{"requestId":"a","operation":"session.transcript.page","input":{{"subscriptionId":"s","source":"durable","direction":"newer","throughSequence":0,"cursor":{cursor},"anchorSequence":{anchor},"maxBytes":10}}}}"#
        )
    };
    let status =
        |input: &str| format!(r#"{{"requestId":"a","operation":"host.status","input":{input}}}"#);
    let table = [
        ("no JSON", "{nope}".to_owned()),
        ("an empty line", String::new()),
        ("invalid UTF-8 is tried below", "[]".to_owned()),
        ("an unknown operation", r#"{"requestId":"a","operation":"no.such.op","input":{}}"#.to_owned()),
        ("an unknown input key", status(r#"{"x":1}"#)),
        ("an extra envelope key", r#"{"requestId":"a","operation":"host.status","input":{},"extra":1}"#.to_owned()),
        ("a missing input", r#"{"requestId":"a","operation":"host.status"}"#.to_owned()),
        ("an empty request id", r#"{"requestId":"","operation":"host.status","input":{}}"#.to_owned()),
        (
            "an illegal session id",
            r#"{"requestId":"a","operation":"session.catalog.query","input":{"kind":"get","sessionId":"a b"}}"#.to_owned(),
        ),
        ("a second hello", hello().to_string()),
        (
            "an empty prompt",
            r#"{"requestId":"a","operation":"turn.start","input":{"sessionId":"s","turnId":"t","content":{"text":""}}}"#.to_owned(),
        ),
        (
            "an empty patch",
            r#"{"requestId":"a","operation":"session.metadata.update","input":{"sessionId":"s","expectedRevision":1,"patch":{}}}"#.to_owned(),
        ),
        ("a cursor with an anchor", page("\"c\"", "0")),
        ("a page of no bytes", page("null", "null").replace("10}", "0}")),
    ];
    for (what, line) in table {
        let world = instant(Options::default());
        let mut client = Client::connect(&world);
        client.send_raw(format!("{line}\n").as_bytes());
        assert_eq!(client.next(), None, "{what}");
    }
    let mut client = Client::connect(&instant(Options::default()));
    client.send_raw(b"{\"requestId\":\"\xff\"}\n");
    assert_eq!(client.next(), None, "invalid UTF-8");
}

#[test]
fn given_a_message_of_the_longest_length_when_it_comes_then_it_is_served_and_one_byte_more_is_not()
{
    let filler = |length: usize| {
        let frame = status_of_length(length);
        assert_eq!(frame.len(), length);
        format!("{frame}\n")
    };
    let world = instant(Options::default());
    let mut client = Client::connect(&world);
    client.send_raw(filler(786_432).as_bytes());
    assert_eq!(client.next().expect("an answer")["ok"], true);
    client.send_raw(filler(786_433).as_bytes());
    assert_eq!(client.next(), None);
}

/// White space is the only way to make a `host.status` long.
fn status_of_length(length: usize) -> String {
    let frame = r#"{"requestId":"a","operation":"host.status","input":{}}"#;
    format!("{}{}", " ".repeat(length - frame.len()), frame)
}

#[test]
fn given_64_requests_in_flight_when_a_status_follows_then_all_are_answered() {
    let world = instant(Options::default());
    let mut client = Client::connect(&world);
    let mut burst = queries(64);
    burst.push_str(r#"{"requestId":"status","operation":"host.status","input":{}}"#);
    burst.push('\n');
    client.send_raw(burst.as_bytes());
    client.answer("status");
    assert_eq!(client.seen.len(), 65);
}

#[test]
fn given_64_requests_in_flight_when_one_more_follows_then_the_host_closes() {
    let mut client = Client::connect(&instant(Options::default()));
    client.send_raw(queries(65).as_bytes());
    assert_eq!(client.next(), None);
}

#[test]
fn given_a_request_in_flight_when_its_id_is_used_again_then_the_host_closes() {
    let mut client = Client::connect(&instant(Options::default()));
    client.send_raw(queries(1).repeat(2).as_bytes());
    assert_eq!(client.next(), None);
}

fn queries(count: usize) -> String {
    let query = |at: usize| json!({"requestId": format!("q{at}"), "operation": "session.catalog.query", "input": {"kind": "list_start"}});
    (0..count).map(|at| format!("{}\n", query(at))).collect()
}

#[test]
fn given_requests_in_flight_when_the_client_ends_its_side_then_they_are_answered_before_the_end() {
    let world = instant(Options::default());
    let mut client = Client::connect(&world);
    client.send_raw(queries(3).as_bytes());
    client.half_close();
    let mut answers = 0;
    while client.next().is_some() {
        answers += 1;
    }
    assert_eq!(answers, 3);
}

#[test]
fn given_an_end_inside_a_line_when_it_comes_then_the_host_closes() {
    let mut client = Client::connect(&instant(Options::default()));
    client.send_raw(br#"{"requestId":"a","#);
    client.half_close();
    assert_eq!(client.next(), None);
}

#[test]
fn given_one_byte_at_a_time_when_a_request_comes_then_it_is_answered() {
    let mut client = Client::connect(&instant(Options::default()));
    for byte in queries(1).bytes() {
        client.send_raw(&[byte]);
    }
    assert_eq!(client.answer("q0")["ok"], true);
}

#[test]
fn given_an_operation_that_is_not_offered_when_asked_then_it_is_unavailable_and_the_connection_lives()
 {
    let mut client = Client::connect(&instant(Options::default()));
    assert_eq!(
        client.refused("skill.catalog.query", json!({"kind": "start"})),
        "operation_unavailable"
    );
    let status = client.ok("host.status", json!({}));
    assert_eq!(status["state"], "ready");
    assert_eq!(status["connections"], 1);
    let diagnostics = client.ok("host.diagnostics.query", json!({}));
    assert_eq!(diagnostics["compatibilityEpoch"], 39);
}
