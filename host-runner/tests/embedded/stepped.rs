//! A Host that does nothing but what it is asked for, met without a socket.

use std::sync::Arc;

use host_runner::embedded::{Clock, Heard, Line, Options, World};
use serde_json::{Value, json};

use crate::client::hello;

/// A Host that plays this script step by step, and a connection that was accepted.
fn stepped(script: &Value) -> (Arc<World>, Line) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), script.to_string()).expect("the script is written");
    let world = World::new(Options {
        script: Some(file.path().to_path_buf()),
        clock: Clock::stepped(),
        ..Options::default()
    })
    .expect("the Host starts");
    let mut line = Line::connect(&world);
    line.say(&hello().to_string());
    assert_eq!(frame(&mut line)["kind"], "accepted");
    (world, line)
}

fn frame(line: &mut Line) -> Value {
    match line.hear() {
        Heard::Frame(frame) => serde_json::from_str(&frame).expect("JSON"),
        other => panic!("no frame: {other:?}"),
    }
}

fn ask(line: &mut Line, operation: &str, input: &Value) {
    let request = json!({"requestId": operation, "operation": operation, "input": input});
    line.say(&request.to_string());
}

/// Everything until all is quiet.
fn rest(line: &mut Line) -> Vec<Value> {
    let mut frames = Vec::new();
    while let Heard::Frame(frame) = line.hear() {
        frames.push(serde_json::from_str(&frame).expect("JSON"));
    }
    assert_eq!(line.hear(), Heard::Quiet);
    frames
}

fn start(line: &mut Line) {
    let create = json!({"sessionId": "s1", "workspace": {"kind": "host_path", "path": "/"},
        "modelTarget": {"kind": "default"}});
    ask(line, "session.create", &create);
    let open = json!({"sessionId": "s1", "transcript": {"kind": "none"}});
    ask(line, "subscription.open", &open);
    rest(line);
    let content = json!({"text": "go"});
    let turn = json!({"sessionId": "s1", "turnId": "t1", "content": content});
    ask(line, "turn.start", &turn);
}

fn status(world: &World) -> String {
    world.turns()[0].2.clone()
}

#[test]
fn given_a_stepped_host_when_a_frame_is_heard_then_the_next_is_not_made_yet() {
    let script = json!({"plays": [{"steps": [{"text": "one two", "chunk": 4}]}]});
    let (world, mut line) = stepped(&script);
    start(&mut line);
    assert_eq!(status(&world), "running");
    while frame(&mut line)["delta"]["text"] != "one " {}
    assert_eq!(status(&world), "running");
    let frames = rest(&mut line);
    assert_eq!(frames[0]["delta"]["text"], "two");
    assert_eq!(status(&world), "completed");
    world.abandon();
}

#[test]
fn given_a_question_when_nobody_answers_then_quiet_and_when_answered_then_the_turn_goes_on() {
    let options = json!([{"label": "Red"}, {"label": "Blue"}]);
    let script = json!({"plays": [{"steps": [
        {"question": [{"question": "Which?", "options": options}]}, {"text": "{answers}"}]}]});
    let (world, mut line) = stepped(&script);
    start(&mut line);
    let frames = rest(&mut line);
    assert_eq!(status(&world), "waiting_for_user");
    let asked = frames.iter().rev().find_map(|frame| {
        let pending = &frame["snapshot"]["interactions"]["pending"][0];
        pending["interactionId"].as_str()
    });
    let answer = json!({"sessionId": "s1", "interactionId": asked.expect("a question"),
        "answer": {"kind": "question", "answers": ["Blue"]}});
    ask(&mut line, "interaction.answer", &answer);
    let frames = rest(&mut line);
    assert!(frames.iter().any(|frame| frame["delta"]["text"] == "Blue"));
    assert_eq!(status(&world), "completed");
    world.abandon();
}

#[test]
fn given_a_restart_when_a_turn_is_held_then_it_has_failed_and_the_line_has_ended() {
    let script = json!({"plays": [{"steps": [{"text": "one"}, {"wait": "turn.stop"}]}]});
    let (world, mut line) = stepped(&script);
    start(&mut line);
    rest(&mut line);
    world.faults().restart();
    assert_eq!(line.hear(), Heard::Ended);
    assert_eq!(status(&world), "failed");
    world.abandon();
}
