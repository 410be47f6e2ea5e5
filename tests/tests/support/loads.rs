//! What tests of `session/load` and of turns of other clients have in common.
#![allow(dead_code, reason = "each test file uses a part")]

use airlock_tests::conversation::CWD;
use airlock_tests::scripted_host::{Scene, Turn, each_way_bare, words};
use serde_json::{Value, json};

pub const NOTHING: [&str; 0] = [];

/// Initializes; no session is made.
pub fn begin(scene: &mut Scene) {
    scene.desk.initialize();
    scene.session = "stored".to_owned();
    scene.settle();
    scene.editor();
    scene.host();
}

pub fn each_way(play: impl Fn(&mut Scene)) {
    each_way_bare(|scene| {
        begin(scene);
        play(scene);
    });
}

pub fn ask(scene: &mut Scene, method: &str, cwd: &str) -> u64 {
    let params = json!({ "sessionId": scene.session, "cwd": cwd, "mcpServers": [] });
    let id = scene.desk.request(method, &params);
    scene.settle();
    id
}

pub fn load(scene: &mut Scene) -> u64 {
    ask(scene, "session/load", CWD)
}

pub fn resume(scene: &mut Scene) -> u64 {
    ask(scene, "session/resume", CWD)
}

/// The Host's record of the session.
pub fn item(scene: &Scene) -> Value {
    words::session(&json!(scene.session), &json!(CWD))
}

pub fn found(item: &Value) -> Value {
    json!({ "kind": "session", "session": item })
}

/// The Host knows the session.
pub fn known(scene: &mut Scene) {
    let asked = scene.asked("session.catalog.query");
    let result = found(&item(scene));
    scene.result(&asked, &result);
}

/// A turn of another client.
pub fn theirs(id: &str) -> Turn {
    Turn {
        prompt: 0,
        id: id.to_owned(),
        run: format!("run-{id}"),
    }
}

pub fn done(id: u64) -> String {
    format!("{id} {{}}")
}

/// A page of these rows, from this number on.
pub fn rows(from: u64, rows: &[Value]) -> Vec<Value> {
    let numbered = (from..).zip(rows);
    numbered.map(|(at, row)| words::durable(at, row)).collect()
}

/// A turn that is over: a question, a thought and an answer.
pub fn story(turn: &str) -> Vec<Value> {
    let mut answer = words::assistant(turn, &format!("{turn}-a"), "An answer.");
    answer["thinking"] = json!({ "text": "A thought." });
    vec![
        words::user(turn, &format!("{turn}-u"), "A question."),
        words::turn_state(turn, "running", &json!({})),
        answer,
        words::turn_state(turn, "completed", &json!({})),
    ]
}

pub fn told_story(turn: &str) -> Vec<String> {
    vec![
        format!("asks {turn}-u: \"A question.\""),
        format!("thinks {turn}-a: \"A thought.\""),
        format!("says {turn}-a: \"An answer.\""),
    ]
}
