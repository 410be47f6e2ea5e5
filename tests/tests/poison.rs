//! Inputs at which the engine trapped, given back after a restore: one owner gets an error,
//! nothing else is lost (house, section 7).

use airlock_engine::{Input, Origin};
use airlock_tests::{Desk, RecordedHost, Recording};
use serde_json::{Value, json};

/// A prompt of recording 02 of which `Hello from the mock mode` was shown.
fn streaming() -> (Desk<RecordedHost>, String, u64) {
    let mut desk = Desk::new(RecordedHost::new(Recording::open("02")).stepwise());
    let session = desk.new_session();
    let id = desk.prompt(&session, "SCENARIO:hello please");
    desk.host_speaks = false;
    while desk.step() {}
    desk.host_plays_until(|frame| frame["operation"] == "subscription.open");
    while desk.step() {}
    desk.host_plays_until(|frame| frame["delta"]["text"] == "k mode");
    desk.take();
    (desk, session, id)
}

fn text(desk: &Desk<RecordedHost>) -> String {
    let messages = desk.shown("agent_message_chunk");
    messages.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn given_a_line_of_the_editor_that_trapped_when_given_back_then_its_request_alone_gets_an_error() {
    let (mut desk, _, id) = streaming();
    let line = r#"{"jsonrpc":"2.0","id":"t","method":"session/list","params":{}}"#;
    desk.expects(line);
    desk.feed(Input::Poison(Origin::Acp(line.as_bytes().to_vec())));
    let said = desk.take();
    assert_eq!(said.len(), 1);
    assert_eq!(
        (&said[0]["id"], &said[0]["error"]["code"]),
        (&json!("t"), &json!(-32603))
    );
    desk.host_speaks = true;
    assert_eq!(desk.answer(id)["result"]["stopReason"], "end_turn");
    assert_eq!(desk.unanswered(), [""; 0]);
}

#[test]
fn given_a_line_without_a_readable_id_that_trapped_when_given_back_then_the_error_has_none() {
    let (mut desk, _, id) = streaming();
    for line in [&b"garbage \xff"[..], b"[]"] {
        desk.feed(Input::Poison(Origin::Acp(line.to_vec())));
        let codes: Vec<Value> = desk
            .take()
            .iter()
            .map(|it| it["error"]["code"].clone())
            .collect();
        assert_eq!(codes, [json!(-32603)]);
    }
    desk.host_speaks = true;
    assert_eq!(desk.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn given_a_line_of_the_host_that_trapped_when_given_back_then_the_channel_is_read_anew_and_nothing_is_lost()
 {
    let (mut desk, _, id) = streaming();
    desk.host.lose_frame();
    let channel = *desk.channels().last().unwrap();
    desk.feed(Input::Poison(Origin::Host(
        channel,
        b"{\"kind\":\"subscription.session_delta\"}".to_vec(),
    )));
    desk.host_speaks = true;
    desk.advance(5_000);
    let said = desk.take();
    let answer = said.iter().find(|it| it["id"] == id).expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(
        text(&desk),
        "Hello from the mock model. 你好 🚀 End of text."
    );
    assert_eq!(desk.times_asked("turn.start"), 1);
    assert_eq!(desk.times_asked("turn.stop"), 0);
}

#[test]
fn given_strangers_that_trapped_when_given_back_then_nothing_happens() {
    let (mut desk, _, id) = streaming();
    let asked = desk.to_host.len();
    for origin in [
        Origin::Host(4_000_000, Vec::new()),
        Origin::File(4_000_000),
        Origin::Timer(4_000_000),
    ] {
        desk.feed(Input::Poison(origin));
    }
    assert_eq!(desk.to_host.len(), asked);
    assert_eq!(desk.take(), [Value::Null; 0]);
    desk.host_speaks = true;
    assert_eq!(desk.answer(id)["result"]["stopReason"], "end_turn");
}
