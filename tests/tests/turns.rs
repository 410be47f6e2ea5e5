//! A turn and what may happen to it: cancel at each phase, close, the end of input, and
//! exactly one Stop whatever comes (Maka adapter, sections 13 to 15).

use airlock_tests::{Desk, RecordedHost, Recording};
use serde_json::{Value, json};

/// A Host that says nothing by itself.
fn desk(number: &str) -> Desk<RecordedHost> {
    let mut desk = Desk::new(RecordedHost::new(Recording::open(number)).stepwise());
    desk.host_speaks = false;
    desk
}

/// Initializes, opens a session and lets the Host answer what it is asked.
fn session(desk: &mut Desk<RecordedHost>) -> String {
    desk.host_speaks = true;
    let session = desk.new_session();
    desk.host_speaks = false;
    session
}

/// A prompt of recording 08 whose Turn runs and has shown `chunk 5`.
fn running(desk: &mut Desk<RecordedHost>, session: &str) -> u64 {
    let id = desk.prompt(session, "SCENARIO:slow go");
    quiet(desk);
    desk.host_plays_until(|frame| frame["operation"] == "subscription.open");
    quiet(desk);
    desk.host_plays_until(|frame| frame["delta"]["text"] == "chunk 5 ");
    id
}

/// Runs the engine until it waits; the Host says only its answers.
fn quiet(desk: &mut Desk<RecordedHost>) {
    while desk.step() {}
}

/// Lets the Host say all it has, until both are quiet.
fn settle(desk: &mut Desk<RecordedHost>) {
    desk.host_speaks = true;
    desk.run_until_quiet();
}

fn answer(desk: &mut Desk<RecordedHost>, id: u64) -> Option<Value> {
    desk.take()
        .into_iter()
        .find(|it| it["id"] == id && it.get("method").is_none())
}

#[test]
fn given_a_stop_under_way_when_its_answer_is_late_then_the_prompt_waits_for_it() {
    let mut desk = desk("08");
    let session = session(&mut desk);
    let id = running(&mut desk, &session);
    desk.host.hold("turn.stop");
    desk.cancel(&session);
    settle(&mut desk);
    assert_eq!(desk.times_asked("turn.stop"), 1);
    // The Turn has ended on the wire; the Stop has not been answered.
    assert_eq!(answer(&mut desk, id), None);
    let late = desk.host.release("turn.stop");
    desk.host_says(late);
    settle(&mut desk);
    assert_eq!(
        answer(&mut desk, id).unwrap()["result"]["stopReason"],
        "cancelled"
    );
}

#[test]
fn given_a_running_turn_when_cancelled_twice_and_closed_then_exactly_one_stop_goes_out() {
    let mut desk = desk("08");
    let session = session(&mut desk);
    let id = running(&mut desk, &session);
    desk.host.hold("turn.stop");
    desk.cancel(&session);
    desk.cancel(&session);
    desk.notify("$/cancel_request", &json!({ "requestId": id }));
    let close = desk.request("session/close", &json!({ "sessionId": session }));
    settle(&mut desk);
    assert_eq!(desk.times_asked("turn.stop"), 1);
    let late = desk.host.release("turn.stop");
    desk.host_says(late);
    settle(&mut desk);
    let said = desk.take();
    let of = |id: u64| said.iter().find(|it| it["id"] == id).unwrap();
    assert_eq!(of(id)["result"]["stopReason"], "cancelled");
    assert_eq!(of(close)["result"], json!({}));
    assert_eq!(desk.times_asked("turn.stop"), 1);
}

#[test]
fn given_a_cancelled_turn_when_more_text_comes_then_none_of_it_is_shown() {
    let mut desk = desk("08");
    let session = session(&mut desk);
    running(&mut desk, &session);
    desk.cancel(&session);
    settle(&mut desk);
    let shown = desk.shown("agent_message_chunk");
    assert_eq!(
        shown[0].1,
        "chunk 0 chunk 1 chunk 2 chunk 3 chunk 4 chunk 5 "
    );
}

#[test]
fn given_a_prompt_whose_session_is_not_attached_yet_when_cancelled_then_no_turn_is_started() {
    let mut desk = desk("08");
    let session = session(&mut desk);
    desk.host.hold("subscription.open");
    let id = desk.prompt(&session, "SCENARIO:slow go");
    settle(&mut desk);
    desk.cancel(&session);
    settle(&mut desk);
    let late = desk.host.release("subscription.open");
    desk.host_says(late);
    settle(&mut desk);
    assert_eq!(
        answer(&mut desk, id).unwrap()["result"]["stopReason"],
        "cancelled"
    );
    assert_eq!(
        (
            desk.times_asked("turn.start"),
            desk.times_asked("turn.stop")
        ),
        (0, 0)
    );
}

#[test]
fn given_a_start_under_way_when_cancelled_then_the_stop_waits_for_the_run_and_names_it() {
    let mut desk = desk("08");
    let session = session(&mut desk);
    let id = desk.prompt(&session, "SCENARIO:slow go");
    quiet(&mut desk);
    desk.host_plays_until(|frame| frame["operation"] == "subscription.open");
    quiet(&mut desk);
    assert_eq!(desk.times_asked("turn.start"), 1);
    desk.cancel(&session);
    quiet(&mut desk);
    assert_eq!(desk.times_asked("turn.stop"), 0, "no run is known yet");
    settle(&mut desk);
    assert_eq!(
        answer(&mut desk, id).unwrap()["result"]["stopReason"],
        "cancelled"
    );
    assert_eq!(desk.times_asked("turn.stop"), 1);
    let (_, stop) = desk
        .to_host
        .iter()
        .find(|(_, line)| line.contains("\"turn.stop\""))
        .unwrap();
    let stop: Value = serde_json::from_str(stop).unwrap();
    assert_eq!(
        stop["input"]["runId"],
        "377230e6-6b35-4411-ba97-ba38d6deb6b8"
    );
    assert_eq!(desk.shown("agent_message_chunk"), []);
}

#[test]
fn given_an_idle_session_when_cancelled_then_nothing_is_asked_and_the_next_prompt_works() {
    let mut desk = Desk::new(RecordedHost::new(Recording::open("02")).stepwise());
    let session = desk.new_session();
    desk.cancel(&session);
    desk.cancel("nobody");
    desk.run_until_quiet();
    assert_eq!(desk.times_asked("turn.stop"), 0);
    let id = desk.prompt(&session, "SCENARIO:hello please");
    assert_eq!(desk.answer(id)["result"]["stopReason"], "end_turn");
}

#[test]
fn given_the_end_of_input_in_mid_turn_when_it_comes_then_the_turn_is_stopped_and_the_end_is_clean()
{
    let mut desk = desk("08");
    let session = session(&mut desk);
    let id = running(&mut desk, &session);
    desk.hang_up();
    settle(&mut desk);
    assert_eq!(desk.times_asked("turn.stop"), 1);
    assert_eq!(
        answer(&mut desk, id).unwrap()["result"]["stopReason"],
        "cancelled"
    );
    assert_eq!((desk.done, desk.finished()), (Some(0), true));
}

#[test]
fn given_the_end_of_input_when_the_host_never_answers_the_stop_then_the_end_comes_within_5_seconds()
{
    let mut desk = desk("08");
    let session = session(&mut desk);
    let id = running(&mut desk, &session);
    desk.host.hold("turn.stop");
    desk.hang_up();
    settle(&mut desk);
    assert_eq!(desk.done, None);
    desk.advance(5_000);
    assert_eq!((desk.done, desk.finished()), (Some(0), true));
    assert_eq!(
        answer(&mut desk, id).unwrap()["result"]["stopReason"],
        "cancelled"
    );
}

#[test]
fn given_a_closed_session_when_used_then_it_is_unknown_and_nothing_more_is_shown_of_it() {
    let mut desk = desk("08");
    let session = session(&mut desk);
    running(&mut desk, &session);
    let shown = desk.updates().count();
    desk.request("session/close", &json!({ "sessionId": session }));
    let late = desk.prompt(&session, "late");
    settle(&mut desk);
    assert_eq!(
        answer(&mut desk, late).unwrap()["error"]["data"]["reason"],
        "unknown_session"
    );
    assert_eq!(desk.updates().count(), shown);
    assert_eq!(desk.unanswered(), [""; 0]);
}

#[test]
fn given_a_second_prompt_while_one_runs_when_both_end_then_each_has_one_answer() {
    let mut desk = desk("08");
    let session = session(&mut desk);
    let first = running(&mut desk, &session);
    let second = desk.prompt(&session, "second");
    quiet(&mut desk);
    desk.cancel(&session);
    settle(&mut desk);
    let said = desk.take();
    let of = |id: u64| said.iter().filter(|it| it["id"] == id).collect::<Vec<_>>();
    assert_eq!(of(first).len(), 1);
    assert_eq!(of(second).len(), 1, "{}", desk.conversation());
    assert_eq!(of(first)[0]["result"]["stopReason"], "cancelled");
    assert_eq!(of(second)[0]["result"]["stopReason"], "cancelled");
    assert_eq!(desk.times_asked("turn.start"), 1);
}
