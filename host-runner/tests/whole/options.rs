//! Options, modes and deletion through the whole program, against the embedded Host.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::host::Host;

/// `id=current`, one an option.
fn current(options: &Value) -> Vec<String> {
    let options = options.as_array().expect("options").iter();
    let text = |it: &Value, key: &str| it[key].as_str().expect("text").to_owned();
    options
        .map(|it| format!("{}={}", text(it, "id"), text(it, "currentValue")))
        .collect()
}

#[test]
fn given_a_session_when_its_options_are_set_and_it_is_deleted_then_each_holds_at_the_host() {
    let host = Host::start();
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let made = editor.ask("session/new", json!({ "cwd": "/tmp", "mcpServers": [] }));
    let made = editor.answer(made)["result"].clone();
    let session = made["sessionId"].as_str().expect("a session").to_owned();
    assert_eq!(
        current(&made["configOptions"]),
        [
            "permission_mode=ask",
            "model=mock/mock-model",
            "thinking_level=default",
            "collaboration_mode=agent",
            "orchestration_mode=default",
        ]
    );
    assert_eq!(made["modes"]["currentModeId"], "agent");

    let mut set = Value::Null;
    for (id, value) in [
        ("model", "mock/mock-model-large"),
        ("thinking_level", "high"),
        ("permission_mode", "bypass"),
    ] {
        let params = json!({ "sessionId": session, "configId": id, "value": value });
        let asked = editor.ask("session/set_config_option", params);
        set = editor.answer(asked)["result"]["configOptions"].clone();
    }
    let mode = editor.ask(
        "session/set_mode",
        json!({ "sessionId": session, "modeId": "plan" }),
    );
    assert_eq!(editor.answer(mode)["result"], json!({}));
    let wanted = [
        "permission_mode=bypass",
        "model=mock/mock-model-large",
        "thinking_level=high",
        "collaboration_mode=agent",
        "orchestration_mode=default",
    ];
    assert_eq!(current(&set), wanted);

    // It works as it was set, and a model that is not offered is refused.
    let prompt = editor.prompt(&session, "hello");
    assert_eq!(
        editor.answer(prompt)["result"],
        json!({ "stopReason": "end_turn" })
    );
    let params = json!({ "sessionId": session, "configId": "model", "value": "mock/none" });
    let refused = editor.ask("session/set_config_option", params);
    assert_eq!(
        editor.answer(refused)["error"]["data"],
        json!({ "field": "value", "reason": "unsupported" })
    );

    let delete = editor.ask("session/delete", json!({ "sessionId": session }));
    assert_eq!(editor.answer(delete)["result"], json!({}));
    let list = editor.ask("session/list", json!({}));
    assert_eq!(editor.answer(list)["result"]["sessions"], json!([]));
    // What is not there is deleted already.
    let again = editor.ask("session/delete", json!({ "sessionId": session }));
    assert_eq!(editor.answer(again)["result"], json!({}));
    assert_eq!(editor.end(), Some(0));
}
