//! Questions that a real Host asked, from the prompt to its end. What the editor gets is in
//! the snapshots; each was read line by line against the facts.

use airlock_tests::conversation::second_answer;
use airlock_tests::{Desk, RecordedHost, Recording};
use serde_json::{Value, json};

/// One prompt of a recording up to the question; the desk, the prompt's id, the question.
fn asked(number: &str) -> (Desk<RecordedHost>, u64, Value) {
    let host = RecordedHost::new(Recording::open(number)).without(second_answer(number));
    let mut desk = Desk::new(host.stepwise());
    desk.capabilities = json!({ "elicitation": { "form": {} } });
    let session = desk.new_session();
    let id = desk.prompt(&session, &recorded_prompt(number));
    let asked = desk.run_until(|it| it.get("id").is_some() && it.get("method").is_some());
    (desk, id, asked)
}

fn ends_well(desk: &mut Desk<RecordedHost>, id: u64) {
    let answer = desk.answer(id);
    desk.run_until_quiet();
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(desk.times_asked("turn.stop"), 0);
    assert_eq!(desk.times_asked("interaction.query"), 1);
    assert_eq!(desk.times_asked("interaction.answer"), 1);
    let report = desk.host.report();
    assert_eq!(report.unanswered, [""; 0]);
    assert_eq!(report.violations, [""; 0]);
}

/// The first frame of the recorded client with this operation.
fn recorded(number: &str, operation: &str) -> Value {
    let recording = Recording::open(number);
    let mut frames = recording.client_frames();
    let frame = frames.find(|frame| frame.operation() == Some(operation));
    frame.unwrap().value["input"].clone()
}

fn recorded_prompt(number: &str) -> String {
    let start = recorded(number, "turn.start");
    start["content"]["text"].as_str().unwrap().to_owned()
}

/// The conversation without what opens every session.
fn from_the_prompt(desk: &Desk<RecordedHost>) -> String {
    let all = desk.conversation();
    let lines = all
        .lines()
        .skip_while(|line| !line.contains("session/prompt"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What Airlock answered is what the recorded client answered.
fn answered_as_recorded(desk: &Desk<RecordedHost>, number: &str) {
    let answers = desk.to_host.iter().filter_map(|(_, line)| {
        let frame: Value = serde_json::from_str(line).unwrap();
        (frame["operation"] == "interaction.answer").then(|| frame["input"]["answer"].clone())
    });
    assert_eq!(
        answers.collect::<Vec<_>>(),
        [recorded(number, "interaction.answer")["answer"].clone()]
    );
}

/// 26.4 I1.
#[test]
fn given_a_recorded_question_when_answered_then_the_turn_goes_on_with_the_answer() {
    let (mut desk, id, asked) = asked("05");
    assert_eq!(asked["method"], "elicitation/create");
    desk.reply(
        &asked["id"],
        &json!({ "action": "accept", "content": { "q0": "Blue" } }),
    );
    ends_well(&mut desk, id);
    answered_as_recorded(&desk, "05");
    insta::assert_snapshot!("05_question_answered", from_the_prompt(&desk));
}

fn decided(number: &str, kind: &str, name: &str) {
    let (mut desk, id, asked) = asked(number);
    assert_eq!(asked["method"], "session/request_permission");
    let options = asked["params"]["options"].as_array().unwrap();
    let option = options.iter().find(|it| it["kind"] == kind).unwrap();
    desk.reply(
        &asked["id"],
        &json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } }),
    );
    ends_well(&mut desk, id);
    answered_as_recorded(&desk, number);
    insta::assert_snapshot!(name, from_the_prompt(&desk));
}

/// 26.4 I8.
#[test]
fn given_a_recorded_sandbox_boundary_when_allowed_then_its_card_is_completed() {
    decided("06", "allow_always", "06_sandbox_boundary_allowed");
}

/// 26.4 I8.
#[test]
fn given_a_recorded_sandbox_boundary_when_rejected_then_its_card_has_failed() {
    decided("07", "reject_once", "07_sandbox_boundary_rejected");
}
