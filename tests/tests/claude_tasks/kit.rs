//! Editors that show subagents in one way or another, and what the process says of them.

use airlock_tests::scripted_cli::{Scene, every_way, words};
use serde_json::{Value, json};

/// The call that begins the subagent.
pub const CALL: &str = "call";
/// The subagent.
pub const AGENT: &str = "agent";

/// A client that knows child sessions.
pub fn native() -> Value {
    json!({ "subagents": {} })
}

/// A client that agreed on these extensions.
pub fn agreed(names: &[&str]) -> Value {
    let air = json!({ "version": 1, "capabilities": names });
    json!({ "_meta": { "jetbrains": { "air": air } } })
}

/// Plays a scene with such a client, whose first prompt is being answered, in every way.
pub fn with(client: &Value, play: impl Fn(&mut Scene)) {
    every_way(|way| {
        let mut scene = Scene::in_way(way);
        scene.desk.capabilities = client.clone();
        scene.begin();
        scene.prompt("one");
        scene.takes(1, &words::NEW);
        scene.desk.take();
        play(&mut scene);
        scene.desk.record()
    });
}

/// What the editor was told since it was last looked at, each with its session; the session
/// itself is `root`. Figures, commands and, but of subagents, options are left out.
pub fn told(scene: &mut Scene) -> Vec<(String, Value)> {
    let root = scene.session.clone();
    let all = scene.desk.take().into_iter();
    let updates = all.filter(|it| it["method"] == "session/update");
    updates
        .map(|it| {
            let text = it["params"].to_string().replace(&root, "root");
            let params: Value = serde_json::from_str(&text).unwrap();
            let session = params["sessionId"].as_str().unwrap().to_owned();
            (session, params["update"].clone())
        })
        .filter(|(session, update)| {
            let kind = update["sessionUpdate"].as_str().unwrap();
            let beside = [
                "usage_update",
                "available_commands_update",
                "session_info_update",
            ];
            let quiet = beside.contains(&kind);
            !quiet && (session != "root" || kind != "config_option_update")
        })
        .collect()
}

/// Something that was told of the session itself.
pub fn root(update: Value) -> (String, Value) {
    ("root".to_owned(), update)
}

/// Something that was told in the subagent's session.
pub fn inside(update: Value) -> (String, Value) {
    (AGENT.to_owned(), update)
}

/// `subagent_update` with another state.
pub fn state(state: Value) -> (String, Value) {
    root(json!({ "sessionUpdate": "subagent_update", "sessionId": AGENT, "state": state }))
}

/// What the process was asked of this kind.
pub fn requests(scene: &Scene, subtype: &str) -> Vec<Value> {
    let lines = scene.desk.to_host.iter();
    let all = lines.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|it| it["request"]["subtype"] == subtype)
        .map(|it| it["request"].clone())
        .collect()
}

/// The call that begins a subagent.
pub fn launches() -> Value {
    let input = json!({ "description": "Look", "prompt": "Read it",
                        "subagent_type": "general-purpose" });
    calls("msg_1", CALL, "Agent", &input)
}

/// A whole message in which this tool is called.
pub fn calls(message: &str, id: &str, name: &str, input: &Value) -> Value {
    let block = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    words::assistant_of(message, &json!([block]))
}

/// The same of a subagent.
pub fn of_agent(frame: Value) -> Value {
    words::with(
        frame,
        json!({ "parent_tool_use_id": CALL, "agent_id": AGENT }),
    )
}

/// A frame about the subagent's task.
pub fn task(subtype: &str, more: Value) -> Value {
    let task = json!({ "task_id": AGENT, "run_id": "run-1", "tool_use_id": CALL });
    words::system(subtype, words::with(task, more))
}

/// The subagent begins.
pub fn started(background: bool) -> Value {
    task(
        "task_started",
        json!({ "task_type": "local_agent", "description": "Look", "prompt": "Read it",
                "subagent_type": "general-purpose", "is_backgrounded": background }),
    )
}

/// The subagent's call and its beginning.
pub fn begins(scene: &mut Scene, background: bool) {
    scene.says([launches(), started(background)]);
}

/// How the subagent's task is now.
pub fn updated(status: &str) -> Value {
    task("task_updated", json!({ "patch": { "status": status } }))
}

/// The end of the subagent's task.
pub fn notified(status: &str, summary: &str) -> Value {
    task(
        "task_notification",
        json!({ "status": status, "summary": summary }),
    )
}

/// A hook in the subagent.
pub fn hook(event: &str, more: Value) -> Value {
    let input = words::with(json!({ "hook_event_name": event, "agent_id": AGENT }), more);
    let asked = json!({ "subtype": "hook_callback", "callback_id": "hook", "input": input });
    json!({ "type": "control_request", "request_id": format!("hook-{event}"), "request": asked })
}

/// The subagent wants to use a tool.
pub fn may(request: &str, tool: &str) -> Value {
    let asked = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": tool,
                        "agent_id": AGENT, "input": { "command": "ls" } });
    json!({ "type": "control_request", "request_id": request, "request": asked })
}

/// Text in a message.
pub fn chunk(text: &str, message: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "messageId": message,
            "content": { "type": "text", "text": text } })
}

/// The same of a subagent.
pub fn chunk_of_agent(text: &str, message: &str) -> Value {
    let meta = json!({ "_meta": { "claudeCode": { "parentToolUseId": CALL } } });
    words::with(chunk(text, message), meta)
}
