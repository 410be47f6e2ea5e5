//! The life of a turn: repeats, stops at each place, questions, what waits behind it.

use serde_json::{Value, json};

use crate::client::{Client, scripted};
use crate::transcript::rows;

fn script() -> Value {
    json!({"plays": [
        {"words": ["hold"], "steps": [{"text": "begun"}, {"wait": "turn.stop"}]},
        {"words": ["tool"], "steps": [{"tool": "Bash", "args": {"command": "sleep"},
            "outputs": [{"stdout": "started\n"}], "progress": ["1/2"]}, {"text": "end"}]},
        {"words": ["stuck"], "steps": [{"tool": "Bash", "args": {"command": "sleep"},
            "outputs": [{"stdout": "started\n"}, {"stdout": "never\n", "after": 86400000}]}]},
        {"words": ["ask"], "steps": [
            {"question": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]},
            {"text": "You said {answers}."}]},
        {"words": ["first"], "steps": [{"text": "once. ", "firstTurn": true}, {"text": "always"}]},
        {"steps": [{"text": "answer to {prompt}"}]},
    ]})
}

#[test]
fn given_a_running_turn_when_another_is_started_then_the_session_is_busy() {
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    client.start("s1", "t1", "hold");
    let code = client.refused(
        "turn.start",
        json!({"sessionId": "s1", "turnId": "t2", "content": {"text": "x"}}),
    );
    assert_eq!(code, "session_busy");
    client.sees(|frame| frame["delta"]["text"] == "begun");
    let item = client.ok(
        "session.catalog.query",
        json!({"kind": "get", "sessionId": "s1"}),
    );
    let remove = json!({"sessionId": "s1", "expectedRevision": item["session"]["revision"]});
    assert_eq!(client.refused("session.remove", remove), "session_busy");
}

#[test]
fn given_a_turn_that_waits_when_stopped_twice_at_once_then_both_stops_give_its_one_end() {
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    let turn = client.start("s1", "t1", "hold");
    client.sees(|frame| frame["delta"]["text"] == "begun");
    let stop = json!({"sessionId": "s1", "turnId": "t1", "runId": turn["runId"]});
    let (first, second) = (
        client.request("turn.stop", stop.clone()),
        client.request("turn.stop", stop),
    );
    let (first, second) = (client.answer(&first), client.answer(&second));
    assert_eq!(first["result"]["status"], "cancelled");
    assert_eq!(first["result"]["abortSource"], "renderer.stop_button");
    assert_eq!(first["result"], second["result"]);
}

#[test]
fn given_a_turn_not_yet_playing_when_stopped_then_it_ends_without_a_message() {
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    for at in 0..20 {
        let id = format!("t{at}");
        let turn = client.start("s1", &id, "hold");
        let stop = json!({"sessionId": "s1", "turnId": id, "runId": turn["runId"]});
        assert_eq!(client.ok("turn.stop", stop)["status"], "cancelled");
    }
}

#[test]
fn given_a_running_tool_when_stopped_then_it_has_a_cancelled_result_before_the_end() {
    // This one must really wait, or the tool would end at once.
    let real = host_runner::embedded::World::new(host_runner::embedded::Options {
        script: Some(script_file(&script())),
        ..Default::default()
    })
    .expect("the Host starts");
    let mut client = Client::connect(&real);
    client.session("s1");
    let turn = client.start("s1", "t1", "stuck");
    client.sees(|frame| frame["event"]["chunk"] == "started\n");
    client.ok(
        "turn.stop",
        json!({"sessionId": "s1", "turnId": "t1", "runId": turn["runId"]}),
    );
    let rows = rows(&mut client, "s1");
    let result = rows
        .iter()
        .find(|row| row["type"] == "tool_result")
        .expect("a result");
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"]["status"], "cancelled");
    assert_eq!(result["content"]["output"]["stdout"], "started\n");
    let kinds: Vec<&str> = rows.iter().filter_map(|row| row["type"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "user",
            "turn_state",
            "tool_call",
            "tool_result",
            "turn_state",
            "system_note",
            "system_note"
        ]
    );
}

fn script_file(script: &Value) -> std::path::PathBuf {
    let (_, path) = tempfile::NamedTempFile::new()
        .expect("a file")
        .keep()
        .expect("it stays");
    std::fs::write(&path, script.to_string()).expect("it is written");
    path
}

#[test]
fn given_a_question_when_the_turn_is_stopped_then_it_is_closed_and_cannot_be_answered() {
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    let turn = client.start("s1", "t1", "ask");
    let shown = client.sees(|frame| frame["snapshot"]["interactions"]["pending"][0].is_object());
    let question = shown["snapshot"]["interactions"]["pending"][0]["interactionId"].clone();
    client.ok(
        "turn.stop",
        json!({"sessionId": "s1", "turnId": "t1", "runId": turn["runId"]}),
    );
    let place = json!({"sessionId": "s1", "interactionId": question});
    let closed = client.ok("interaction.query", place);
    assert_eq!(closed["status"], "closed");
    assert_eq!(closed["outcome"]["reason"], "turn_stopped");
    let answer = json!({"sessionId": "s1", "interactionId": question, "answer": {"kind": "question", "answers": ["A"]}});
    assert_eq!(
        client.refused("interaction.answer", answer),
        "already_resolved"
    );
    let terminal = client
        .seen
        .iter()
        .rev()
        .find(|frame| frame["snapshot"].is_object())
        .expect("a projection");
    assert_eq!(terminal["snapshot"]["interactions"]["pending"], json!([]));
}

#[test]
fn given_a_question_when_answered_then_the_play_knows_the_answer_and_the_same_may_be_said_again() {
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    client.start("s1", "t1", "ask");
    let shown = client.sees(|frame| frame["snapshot"]["interactions"]["pending"][0].is_object());
    let question = shown["snapshot"]["interactions"]["pending"][0]["interactionId"].clone();
    let answer = |text: &str| json!({"sessionId": "s1", "interactionId": question, "answer": {"kind": "question", "answers": [text]}});
    let wrong = json!({"sessionId": "s1", "interactionId": question,
        "answer": {"kind": "sandbox_boundary", "decision": "allow"}});
    assert_eq!(
        client.refused("interaction.answer", wrong),
        "operation_conflict"
    );
    let answered = client.ok("interaction.answer", answer("something else"));
    assert_eq!(answered["outcome"]["answers"], json!(["something else"]));
    client.until_terminal();
    assert_eq!(
        client.ok("interaction.answer", answer("something else")),
        answered
    );
    assert_eq!(
        client.refused("interaction.answer", answer("A")),
        "already_resolved"
    );
    let rows = rows(&mut client, "s1");
    let said = rows
        .iter()
        .find(|row| row["type"] == "assistant")
        .expect("a message");
    assert_eq!(said["text"], "You said something else.");
}

#[test]
fn given_a_tool_with_progress_when_it_runs_then_progress_and_output_come_between_start_and_result()
{
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    client.start("s1", "t1", "tool");
    client.until_terminal();
    let events: Vec<&str> = client
        .seen
        .iter()
        .filter_map(|frame| frame["event"]["type"].as_str())
        .collect();
    assert_eq!(
        events,
        [
            "tool_start",
            "tool_progress",
            "tool_output_delta",
            "tool_result"
        ]
    );
}

#[test]
fn given_a_follow_up_when_the_turn_ends_then_a_turn_of_the_hosts_own_plays_it() {
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    let turn = client.start("s1", "t1", "hold");
    let message = |id: &str| {
        json!({"originHostEpoch": turn_epoch(&client.seen), "sessionId": "s1", "messageId": id,
            "content": {"text": "later"}, "placement": "next_turn"})
    };
    let submit = message("m1");
    let queued = client.ok("turn.message.submit", submit.clone());
    assert_eq!(
        queued,
        json!({"disposition": "followup", "queueRevision": 1})
    );
    assert_eq!(client.ok("turn.message.submit", submit.clone()), queued);
    let mut other = submit;
    other["content"]["text"] = json!("changed");
    assert_eq!(
        client.refused("turn.message.submit", other),
        "operation_conflict"
    );
    client.ok(
        "turn.stop",
        json!({"sessionId": "s1", "turnId": "t1", "runId": turn["runId"]}),
    );
    let next = client.until(|frame| frame["snapshot"]["rootTurn"]["status"] == "completed");
    assert_ne!(next["snapshot"]["rootTurn"]["turnId"], "t1");
    assert_eq!(next["snapshot"]["queue"]["followup"], json!([]));
}

fn turn_epoch(seen: &[Value]) -> Value {
    let frame = seen
        .iter()
        .find(|frame| frame["hostEpoch"].is_string())
        .expect("a frame of a subscription");
    frame["hostEpoch"].clone()
}

#[test]
fn given_an_idle_session_when_a_message_is_submitted_then_it_starts_a_turn() {
    let world = scripted(&script());
    let mut client = Client::connect(&world);
    client.session("s1");
    let started = client.ok(
        "turn.message.submit",
        json!({"originHostEpoch": world.host_epoch(), "sessionId": "s1",
        "messageId": "m1", "content": {"text": "now"}, "placement": "current_turn"}),
    );
    assert_eq!(started["disposition"], "turn_started");
    assert_eq!(client.until_terminal()["turnId"], started["turnId"]);
    let stale = json!({"originHostEpoch": "an earlier one", "sessionId": "s1", "messageId": "m2",
        "content": {"text": "now"}, "placement": "current_turn"});
    assert_eq!(
        client.refused("turn.message.submit", stale),
        "outcome_unknown"
    );
}

#[test]
fn given_text_for_the_first_turn_when_a_second_turn_is_played_then_it_is_not_said_again() {
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    for turn in ["t1", "t2"] {
        client.start("s1", turn, "first");
        client.until_terminal();
    }
    let rows = rows(&mut client, "s1");
    let said: Vec<&Value> = rows
        .iter()
        .filter(|row| row["type"] == "assistant")
        .map(|row| &row["text"])
        .collect();
    assert_eq!(said, ["once. always", "always"]);
}

#[test]
fn given_an_attachment_of_another_session_when_a_turn_starts_then_it_is_refused() {
    let mut client = Client::connect(&scripted(&script()));
    client.session("s1");
    let foreign = json!([{"kind": "other", "name": "a", "mimeType": "text/plain", "bytes": 1,
        "ref": {"kind": "session_file", "sessionId": "s2", "relativePath": "attachment-1"}}]);
    let code = client.refused(
        "turn.start",
        json!({"sessionId": "s1", "turnId": "t1",
        "content": {"text": "x", "attachments": foreign}}),
    );
    assert_eq!(code, "operation_conflict");
}
