//! Recorded sessions, from the editor's request to its answer. What the editor gets is in
//! the snapshots; each was read line by line against the facts.

use airlock_tests::{Desk, RecordedHost, Recording, Report};
use serde_json::{Value, json};

/// What Airlock asks a Host besides what the recorded client asked: the models after
/// `session.create`, titles, and the transcript after every advance.
fn expected(report: &Report) -> &Report {
    for improvised in &report.improvised {
        assert!(
            [
                "connection.catalog.query start",
                "session.catalog.query get",
                "session.transcript.page durable newer"
            ]
            .iter()
            .any(|known| improvised.starts_with(known)),
            "improvised: {improvised}"
        );
    }
    assert_eq!(report.unanswered, [""; 0]);
    assert_eq!(report.violations, [""; 0]);
    report
}

/// One prompt of a recording, to its answer.
fn play(number: &str, text: &str) -> (Desk<RecordedHost>, String, Value) {
    let mut desk = Desk::new(RecordedHost::new(Recording::open(number)).stepwise());
    let session = desk.new_session();
    let id = desk.prompt(&session, text);
    let answer = desk.answer(id);
    // The session's name is asked for a little later.
    desk.advance(2_000);
    (desk, session, answer)
}

/// The assistant rows of a recording, as text.
fn recorded_text(number: &str) -> Vec<String> {
    let mut texts = std::collections::BTreeMap::<String, String>::new();
    let mut order = Vec::new();
    for frame in Recording::open(number).host_frames() {
        let delta = &frame.value["delta"];
        if delta["kind"] == "text" {
            let id = delta["messageId"].as_str().unwrap().to_owned();
            if !order.contains(&id) {
                order.push(id.clone());
            }
            texts
                .entry(id)
                .or_default()
                .push_str(delta["text"].as_str().unwrap());
        }
    }
    order.iter().map(|id| texts[id].clone()).collect()
}

fn shown_text(desk: &Desk<RecordedHost>) -> Vec<String> {
    desk.shown("agent_message_chunk")
        .into_iter()
        .map(|(_, text)| text)
        .collect()
}

#[test]
fn given_text_and_thinking_when_prompted_then_both_stream_and_the_turn_ends() {
    let (desk, _, answer) = play("02", "SCENARIO:hello please");
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(shown_text(&desk), recorded_text("02"));
    let thoughts: Vec<String> = desk
        .shown("agent_thought_chunk")
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(thoughts, ["I should greet the user. 思考 🧠 done."]);
    insta::assert_snapshot!("02_text_and_thinking", desk.conversation());
    // The recorded client looked again; Airlock knows already.
    assert_eq!(
        expected(&desk.host.report()).never_came,
        [
            "46 turn.query",
            "48 subscription.close",
            "51 subscription.open",
            "53 subscription.close"
        ]
    );
}

#[test]
fn given_a_bash_tool_when_prompted_then_its_card_streams_output_and_ends_with_the_result() {
    let (desk, _, answer) = play("03", "SCENARIO:bash please");
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(shown_text(&desk), recorded_text("03"));
    insta::assert_snapshot!("03_bash_tool", desk.conversation());
    assert_eq!(
        expected(&desk.host.report()).never_came,
        [
            "69 turn.query",
            "71 subscription.close",
            "74 subscription.open",
            "76 subscription.close"
        ]
    );
}

#[test]
fn given_read_and_write_tools_when_prompted_then_each_has_its_card() {
    let (desk, _, answer) = play("04", &recorded_prompt("04"));
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(shown_text(&desk), recorded_text("04"));
    insta::assert_snapshot!("04_read_and_write", desk.conversation());
    assert_eq!(expected(&desk.host.report()).never_came.len(), 4);
}

/// Maka adapter 21.1: nothing answered or approved, one exact Stop, the session usable.
fn interaction(number: &str, name: &str) {
    let (mut desk, session, answer) = play(number, &recorded_prompt(number));
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["data"]["code"], "unsupported_interaction");
    assert_eq!(desk.times_asked("turn.stop"), 1);
    assert_eq!(
        desk.times_asked("interaction.answer") + desk.times_asked("interaction.query"),
        0
    );
    assert_eq!(desk.close_session(&session)["result"], json!({}));
    insta::assert_snapshot!(name, desk.conversation());
}

/// This editor shows no forms; those that do are in `recorded_dialogs`.
#[test]
fn given_a_question_when_it_comes_up_then_the_turn_is_stopped_and_the_prompt_says_why() {
    interaction("05", "05_question");
}

#[test]
fn given_a_running_turn_when_cancelled_then_one_stop_goes_out_and_the_answer_is_cancelled() {
    let mut desk = Desk::new(RecordedHost::new(Recording::open("08")).stepwise());
    let session = desk.new_session();
    let id = desk.prompt(&session, "SCENARIO:slow go");
    desk.run_until(|message| message["params"]["update"]["content"]["text"] == "chunk 5 ");
    desk.cancel(&session);
    let answer = desk.answer(id);
    desk.run_until_quiet();
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    assert_eq!(desk.times_asked("turn.stop"), 1);
    insta::assert_snapshot!("08_cancel", desk.conversation());
}

#[test]
fn given_a_text_of_90_kilobytes_when_prompted_then_it_arrives_whole() {
    let (desk, _, answer) = play("15", "SCENARIO:big go");
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(shown_text(&desk), recorded_text("15"));
    insta::assert_snapshot!("15_big_text", desk.conversation());
    expected(&desk.host.report());
}

#[test]
fn given_a_provider_error_when_prompted_then_the_prompt_fails_with_its_words() {
    let (desk, _, answer) = play("17", &recorded_prompt("17"));
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(
        answer["error"]["data"]["failureClass"],
        "invalid_request_error"
    );
    assert_eq!(
        answer["error"]["data"]["message"],
        "mock says bad request (code=invalid_request_error, status=400)"
    );
    assert_eq!(desk.times_asked("turn.stop"), 0);
    insta::assert_snapshot!("17_provider_error", desk.conversation());
    expected(&desk.host.report());
}

#[test]
fn given_a_title_that_the_host_made_when_the_session_changes_then_the_editor_is_told_once() {
    let mut desk = Desk::new(RecordedHost::new(Recording::open("02")).stepwise());
    let session = desk.new_session();
    let titled = Recording::open("26");
    desk.host
        .answer_next_from("session.catalog.query", titled.frame(19));
    let id = desk.prompt(&session, "SCENARIO:hello please");
    desk.answer(id);
    desk.advance(10_000);
    let titles: Vec<Value> = desk
        .updates()
        .filter(|it| it["sessionUpdate"] == "session_info_update")
        .collect();
    assert_eq!(
        titles,
        [
            json!({ "sessionUpdate": "session_info_update", "title": "Mock title", "updatedAt": "2026-11-30T08:33:10.025Z" })
        ]
    );
}

fn recorded_prompt(number: &str) -> String {
    let recording = Recording::open(number);
    let mut starts = recording
        .client_frames()
        .filter(|frame| frame.operation() == Some("turn.start"));
    starts.next().unwrap().value["input"]["content"]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}
