//! Subagents of the past, in each form that an editor may show.

use airlock_tests::Desk;
use airlock_tests::scripted_cli::ScriptedCli;
use serde_json::{Value, json};

use super::kit::{agreed, native};

const ID: &str = "37ce8b67-88ea-4286-a70e-2763e67cc82b";
const PROJECT: &str = "/srv/home/.claude/projects/-srv-work";
const TURNS: &str = include_str!("../../recordings/claude/stored/turns.jsonl");
const SUBAGENT: &str = include_str!("../../recordings/claude/stored/subagent.jsonl");

/// What is told of the subagent's call and of its session, when such a client loads the
/// recorded session; in few words.
fn loaded(client: &Value, with_file: bool) -> Vec<String> {
    let config = json!({ "agent": { "name": "airlock", "title": "Airlock", "version": "0.0.0" },
                         "host": { "kind": "claude", "name": "claude",
                                   "environment": { "HOME": "/srv/home" } } });
    let mut desk = Desk::with_config(ScriptedCli::default(), &config);
    desk.host_speaks = false;
    desk.capabilities = client.clone();
    let mut file = |path: String, content: &str| {
        desk.files.content.insert(path, content.as_bytes().to_vec());
    };
    file("/srv/work/hello.txt".into(), "first line\n");
    file(format!("{PROJECT}/{ID}.jsonl"), TURNS);
    if with_file {
        let agent = format!("{PROJECT}/{ID}/subagents/agent-a49bf3a82ae708e5e.jsonl");
        file(agent, SUBAGENT);
    }
    desk.initialize();
    let load = json!({ "sessionId": ID, "cwd": "/srv/work", "mcpServers": [] });
    desk.request("session/load", &load);
    while desk.step() {}
    let log = desk.log.iter().filter_map(|line| line.strip_prefix("< "));
    let messages = log.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let updates = messages.filter(|it| it["method"] == "session/update");
    let told = updates.filter_map(|it| {
        let session = it["params"]["sessionId"].as_str().unwrap();
        let update = &it["params"]["update"];
        let of = &update["_meta"]["claudeCode"]["parentToolUseId"];
        let text = update.to_string();
        let about = session != ID || text.contains("ubagent") || text.contains("session_message");
        let about = about || !of.is_null() || update["toolCallId"] == "toolu_mock_7_1";
        let session = session.replace(ID, "root");
        about.then(|| format!("{session} {}", words(update)))
    });
    told.map(|line| line.replace(ID, "root")).collect()
}

fn words(update: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let first = &update["content"][0];
    let parts = [
        text(&update["sessionUpdate"]),
        text(&update["toolCallId"]),
        text(&update["subagentSessionId"]),
        text(&update["state"]),
        text(&update["status"]),
        text(&update["name"]),
        text(&update["title"]),
        text(&update["messageId"]),
        text(&update["content"]["text"]),
        text(&first["text"]),
        text(&update["configOptions"][0]["currentValue"]),
    ];
    let parts = parts.into_iter().filter(|it| !it.is_empty());
    parts.collect::<Vec<_>>().join(" | ")
}

/// `load-resume` of a client that knows child sessions.
#[test]
fn given_child_sessions_when_a_session_is_loaded_then_its_subagents_are_sessions_again() {
    insta::assert_snapshot!(loaded(&native(), true).join("\n"));
}

/// `load-resume.air.v1`
#[test]
fn given_the_extension_when_a_session_is_loaded_then_its_subagents_are_spawned_again() {
    let client = agreed(&["nativeSubagentSessions"]);
    insta::assert_snapshot!(loaded(&client, true).join("\n"));
}

#[test]
fn given_a_client_of_transcripts_when_a_session_is_loaded_then_what_was_said_is_shown() {
    let client = json!({ "_meta": { "subagent-transcript": true } });
    insta::assert_snapshot!(loaded(&client, true).join("\n"));
}

/// A subagent whose file is gone: what it was told and what it said in the end is known.
#[test]
fn given_no_file_of_a_subagent_when_a_session_is_loaded_then_its_beginning_and_end_are_shown() {
    insta::assert_snapshot!(loaded(&native(), false).join("\n"));
}
