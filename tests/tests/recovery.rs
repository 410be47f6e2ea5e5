//! What a Host or a wire may do wrong in mid turn: lost frames, rewritten text, text that
//! only the transcript has, lost connections, a Host that is gone for good (Maka adapter,
//! sections 16, 18 and 20; issue, accepted 5).

use airlock_tests::{Desk, RecordedHost, Recording};
use serde_json::{Value, json};

const HELLO: &str = "SCENARIO:hello please";
const WHOLE: &str = "Hello from the mock model. 你好 🚀 End of text.";

/// A prompt of recording 02 of which `Hello from the mock mode` was shown.
fn streaming(host: RecordedHost) -> (Desk<RecordedHost>, String, u64) {
    let mut desk = Desk::new(host.stepwise());
    let session = desk.new_session();
    let id = desk.prompt(&session, HELLO);
    desk.host_speaks = false;
    while desk.step() {}
    desk.host_plays_until(|frame| frame["operation"] == "subscription.open");
    while desk.step() {}
    desk.host_plays_until(|frame| frame["delta"]["text"] == "k mode");
    desk.take();
    (desk, session, id)
}

fn recorded() -> RecordedHost {
    RecordedHost::new(Recording::open("02"))
}

fn answer(desk: &mut Desk<RecordedHost>, id: u64) -> Value {
    let said = desk.take();
    let found = said
        .into_iter()
        .find(|it| it["id"] == id && it.get("method").is_none());
    found.unwrap_or_else(|| panic!("no answer:\n{}", desk.conversation()))
}

fn text(desk: &Desk<RecordedHost>) -> String {
    desk.shown("agent_message_chunk")
        .into_iter()
        .map(|(_, text)| text)
        .collect()
}

#[test]
fn given_a_lost_frame_when_the_sequence_jumps_then_the_session_is_opened_again_and_no_text_is_lost()
{
    let (mut desk, _, id) = streaming(recorded());
    desk.host.lose_frame();
    desk.host_speaks = true;
    desk.run_until_quiet();
    desk.advance(5_000);
    assert_eq!(answer(&mut desk, id)["result"]["stopReason"], "end_turn");
    assert_eq!(text(&desk), WHOLE);
    assert_eq!(desk.times_asked("subscription.open"), 2);
    assert_eq!(
        desk.times_asked("hello"),
        1,
        "the connection is as good as before"
    );
    assert_eq!(desk.times_asked("turn.start"), 1);
}

#[test]
fn given_a_lost_connection_in_mid_turn_when_it_comes_back_then_the_turn_ends_whole() {
    let (mut desk, _, id) = streaming(recorded());
    let lost = desk.host.drop_connection();
    desk.host_says([lost]);
    desk.host_speaks = true;
    desk.advance(5_000);
    assert_eq!(answer(&mut desk, id)["result"]["stopReason"], "end_turn");
    assert_eq!(text(&desk), WHOLE);
    assert_eq!(
        (desk.times_asked("hello"), desk.times_asked("turn.start")),
        (2, 1)
    );
}

#[test]
fn given_a_host_that_is_gone_in_mid_turn_when_it_stays_away_then_the_prompt_has_an_answer_within_5_seconds()
 {
    let (mut desk, session, id) = streaming(recorded());
    let lost = desk.host.leave();
    desk.host_says([lost]);
    desk.host_speaks = true;
    desk.advance(5_000);
    let answer = answer(&mut desk, id);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    // Cancel and close need no Host.
    desk.cancel(&session);
    let close = desk.request("session/close", &json!({ "sessionId": session }));
    desk.advance(5_000);
    assert!(
        desk.take().iter().any(|it| it["id"] == close),
        "{}",
        desk.conversation()
    );
    desk.hang_up();
    desk.advance(5_000);
    assert_eq!(desk.done, Some(0));
}

#[test]
fn given_a_host_that_was_gone_when_it_is_back_then_the_connection_makes_a_session_again() {
    let mut desk = Desk::new(recorded().stepwise());
    desk.host.leave();
    desk.initialize();
    let id = desk.request(
        "session/new",
        &json!({ "cwd": "/srv/maka-work", "mcpServers": [] }),
    );
    desk.advance(20_000);
    assert_eq!(
        answer(&mut desk, id)["error"]["data"]["code"],
        "connection_failed"
    );
    desk.host.come_back();
    let id = desk.request(
        "session/new",
        &json!({ "cwd": "/srv/maka-work", "mcpServers": [] }),
    );
    desk.advance(20_000);
    assert!(answer(&mut desk, id)["result"]["sessionId"].is_string());
}

/// Row 2 of recording 02 with another text.
fn assistant(text: &str) -> String {
    let recording = Recording::open("02");
    let opened = &recording.frame(52).value["result"]["transcript"]["durable"];
    let rows = airlock_tests::recorded_host::rows_of(opened);
    let row = rows
        .iter()
        .find(|row| row.contains("\"type\":\"assistant\""))
        .unwrap();
    let mut row: Value = serde_json::from_str(row).unwrap();
    row["text"] = json!(text);
    row.to_string()
}

#[test]
fn given_a_transcript_that_has_more_text_than_was_streamed_when_the_turn_ends_then_the_rest_is_shown_first()
 {
    let mut desk = Desk::new(
        recorded()
            .with_row(2, &assistant(&format!("{WHOLE} And more.")))
            .stepwise(),
    );
    let session = desk.new_session();
    let id = desk.prompt(&session, HELLO);
    assert_eq!(desk.answer(id)["result"]["stopReason"], "end_turn");
    assert_eq!(text(&desk), format!("{WHOLE} And more."));
}

#[test]
fn given_a_transcript_that_says_otherwise_than_the_stream_when_read_then_the_prompt_fails_and_never_ends_well()
 {
    for rewritten in ["Hello from another model.", "Hello", ""] {
        let mut desk = Desk::new(recorded().with_row(2, &assistant(rewritten)).stepwise());
        let session = desk.new_session();
        let id = desk.prompt(&session, HELLO);
        desk.advance(5_000);
        let answer = answer(&mut desk, id);
        assert_eq!(answer["error"]["code"], -32603, "{rewritten:?}: {answer}");
        assert_eq!(
            answer["error"]["data"],
            json!({ "source": "adapter", "code": "unsupported_stream_revision" }),
            "{rewritten:?}"
        );
        // The session is still ours.
        assert_eq!(desk.close_session(&session)["result"], json!({}));
    }
}
