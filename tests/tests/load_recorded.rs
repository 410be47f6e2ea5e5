//! What a load tells of a recorded session is what was shown live.

use airlock_tests::conversation::CWD;
use airlock_tests::{Desk, RecordedHost, Recording};
use serde_json::{Value, json};

/// Texts and cards as an editor ends up showing them, without what only the present has.
fn view(updates: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for update in updates {
        let key = match update["sessionUpdate"].as_str() {
            Some(kind @ ("agent_message_chunk" | "agent_thought_chunk")) => {
                json!([kind, update["messageId"]])
            }
            Some("tool_call" | "tool_call_update") => json!(["card", update["toolCallId"]]),
            _ => continue,
        };
        let at = match all.iter().position(|it| it["key"] == key) {
            Some(at) => at,
            None => {
                all.push(json!({ "key": key, "text": "" }));
                all.len() - 1
            }
        };
        let shown = &mut all[at];
        if let Some(text) = update["content"]["text"].as_str() {
            let whole = shown["text"].as_str().unwrap_or_default().to_owned() + text;
            shown["text"] = json!(whole);
        }
        for part in [
            "title",
            "kind",
            "status",
            "content",
            "rawInput",
            "rawOutput",
        ] {
            if key[0] == "card" && !update[part].is_null() {
                shown[part] = update[part].clone();
            }
        }
    }
    all
}

/// The text of the recorded prompt.
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

#[test]
fn given_a_recorded_session_when_loaded_then_the_past_is_what_was_shown_live() {
    for number in ["02", "03", "04", "15"] {
        let mut desk = Desk::new(RecordedHost::new(Recording::open(number)).stepwise());
        let session = desk.new_session();
        let prompt = desk.prompt(&session, &recorded_prompt(number));
        assert_eq!(desk.answer(prompt)["result"]["stopReason"], "end_turn");
        desk.run_until_quiet();
        let live: Vec<Value> = desk.updates().collect();
        let params = json!({ "sessionId": session, "cwd": CWD, "mcpServers": [] });
        let id = desk.request("session/load", &params);
        let answer = desk.answer(id);
        assert!(answer["result"].is_object(), "{number}: {answer}");
        let all: Vec<Value> = desk.updates().collect();
        let past = &all[live.len()..];
        assert_eq!(past[0]["sessionUpdate"], "user_message_chunk", "{number}");
        assert_eq!(view(past), view(&live), "{number}");
        assert_eq!(desk.times_asked("subscription.open"), 1);
        assert_eq!(desk.host.report().violations, [""; 0]);
    }
}
