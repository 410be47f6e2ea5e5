//! What Claude Code says, frame by frame, in the words of its wire (Claude adapter, Part 2).
//!
//! Pure. `@1` stands for the id of the first prompt, `@2` for that of the second; whoever
//! says a frame puts them in, and gives every frame its own id. Invariant: nothing here
//! decides when something is said.

use serde_json::{Value, json};

/// The model that answers.
pub const MODEL: &str = "claude-opus-5-5";

/// What a version of the program can do that the tests are about.
pub const NEW: [&str; 3] = [
    "interrupt_receipt_v1",
    "msg_lifecycle_v1",
    "request_marker_lists_v1",
];

/// The same without requests that name their prompts.
pub const OLD: [&str; 2] = ["interrupt_receipt_v1", "msg_lifecycle_v1"];

/// The id of a prompt, by its number.
pub fn id(prompt: usize) -> String {
    format!("@{prompt}")
}

/// `value` with these keys too.
#[must_use]
pub fn with(mut value: Value, more: Value) -> Value {
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

/// A `system` frame.
pub fn system(subtype: &str, more: Value) -> Value {
    with(json!({ "type": "system", "subtype": subtype }), more)
}

/// What it is and can do.
pub fn init(capabilities: &[&str]) -> Value {
    system(
        "init",
        json!({ "cwd": "/", "tools": ["Bash"], "mcp_servers": [], "model": MODEL,
                "permissionMode": "default", "slash_commands": [],
                "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "2.1.318",
                "output_style": "default", "skills": [], "plugins": [],
                "capabilities": capabilities }),
    )
}

/// `running` or `idle`.
pub fn state(state: &str) -> Value {
    system("session_state_changed", json!({ "state": state }))
}

/// How far it is with a prompt.
pub fn life(prompt: usize, state: &str) -> Value {
    json!({ "type": "command_lifecycle", "command_uuid": id(prompt), "state": state })
}

/// It asks the model, for these prompts.
pub fn requesting(prompts: &[usize]) -> Value {
    let ids: Vec<String> = prompts.iter().map(|it| id(*it)).collect();
    let status = system("status", json!({ "status": "requesting" }));
    if ids.is_empty() {
        return status;
    }
    with(status, json!({ "user_message_uuids": ids }))
}

/// A prompt comes back.
pub fn echo(prompt: usize) -> Value {
    json!({ "type": "user", "message": { "role": "user", "content": [] },
            "parent_tool_use_id": null, "uuid": id(prompt), "isReplay": true,
            "origin": { "kind": "human" } })
}

/// An event of the model's API, in the main stream or in that of a tool use.
pub fn event(event: &Value, parent: Option<&str>) -> Value {
    json!({ "type": "stream_event", "event": event, "parent_tool_use_id": parent })
}

fn message(id: &str, content: Value, output: u64) -> Value {
    json!({ "id": id, "type": "message", "role": "assistant", "model": MODEL,
            "content": content, "stop_reason": null, "stop_sequence": null,
            "usage": { "input_tokens": 10, "output_tokens": output,
                       "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 } })
}

/// A message begins.
pub fn start(id: &str) -> Value {
    start_in(id, None)
}

/// The same in the stream of a tool use.
pub fn start_in(id: &str, parent: Option<&str>) -> Value {
    let message = message(id, json!([]), 1);
    event(
        &json!({ "type": "message_start", "message": message }),
        parent,
    )
}

/// A block begins.
pub fn block(index: u64, block: &Value) -> Value {
    block_in(index, block, None)
}

/// The same in the stream of a tool use.
pub fn block_in(index: u64, block: &Value, parent: Option<&str>) -> Value {
    let event_ = json!({ "type": "content_block_start", "index": index, "content_block": block });
    event(&event_, parent)
}

/// A block of text begins.
pub fn text_block(index: u64) -> Value {
    block(index, &json!({ "type": "text", "text": "" }))
}

/// A block of thoughts begins.
pub fn thought_block(index: u64) -> Value {
    block(index, &json!({ "type": "thinking", "thinking": "" }))
}

/// A block uses a tool.
pub fn tool_block(index: u64, id: &str, name: &str) -> Value {
    block(
        index,
        &json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
    )
}

/// Text grows.
pub fn text(index: u64, text: &str) -> Value {
    text_in(index, text, None)
}

/// The same in the stream of a tool use.
pub fn text_in(index: u64, text: &str, parent: Option<&str>) -> Value {
    let delta = json!({ "type": "text_delta", "text": text });
    event(
        &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        parent,
    )
}

/// A thought grows.
pub fn thought(index: u64, thought: &str) -> Value {
    let delta = json!({ "type": "thinking_delta", "thinking": thought });
    event(
        &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        None,
    )
}

/// A block ends.
pub fn block_stop(index: u64) -> Value {
    event(
        &json!({ "type": "content_block_stop", "index": index }),
        None,
    )
}

/// A message ends.
pub fn stop() -> Value {
    event(&json!({ "type": "message_stop" }), None)
}

/// The whole copy of a block of text.
pub fn assistant(id: &str, text: &str) -> Value {
    assistant_of(id, &json!([{ "type": "text", "text": text }]))
}

/// The whole copy of these blocks.
pub fn assistant_of(id: &str, content: &Value) -> Value {
    json!({ "type": "assistant", "message": message(id, content.clone(), 5),
            "parent_tool_use_id": null })
}

/// What Claude writes into the history when it is interrupted.
pub fn interrupted() -> Value {
    let content = json!([{ "type": "text", "text": "[Request interrupted by user]" }]);
    json!({ "type": "user", "message": { "role": "user", "content": content },
            "parent_tool_use_id": null })
}

/// The result of a tool.
pub fn tool_result(id: &str, content: &str) -> Value {
    let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": content }]);
    json!({ "type": "user", "message": { "role": "user", "content": content },
            "parent_tool_use_id": null })
}

/// A result that names no prompt.
pub fn result(more: Value) -> Value {
    let usage = json!({ "input_tokens": 10, "output_tokens": 5,
                        "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 });
    let by_model = json!({ MODEL: { "inputTokens": 10, "outputTokens": 5,
                                    "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0,
                                    "costUSD": 0.01, "contextWindow": 200_000 } });
    with(
        json!({ "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1,
                "duration_api_ms": 1, "num_turns": 1, "result": "", "stop_reason": "end_turn",
                "total_cost_usd": 0.01, "usage": usage, "modelUsage": by_model,
                "permission_denials": [] }),
        more,
    )
}

/// Of these prompts.
pub fn of(prompts: &[usize]) -> Value {
    let ids: Vec<String> = prompts.iter().map(|it| id(*it)).collect();
    json!({ "user_message_uuid": ids.last(), "user_message_uuids": ids })
}

/// Of work that no prompt began.
pub fn by_itself() -> Value {
    json!({ "origin": { "kind": "task-notification" } })
}

/// The result of a prompt.
pub fn done(prompt: usize) -> Value {
    result(of(&[prompt]))
}

/// The result of work that was interrupted.
pub fn aborted(more: Value) -> Value {
    let why = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null";
    let nothing = json!({ "input_tokens": 0, "output_tokens": 0,
                          "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 });
    result(with(
        json!({ "subtype": "error_during_execution", "is_error": true, "errors": [why],
                "stop_reason": null, "terminal_reason": "aborted_streaming",
                "usage": nothing }),
        more,
    ))
}

/// A subagent of this tool use begins.
pub fn task_started(tool: &str, background: bool) -> Value {
    system(
        "task_started",
        json!({ "task_id": "ag1", "tool_use_id": tool, "description": "d",
                "subagent_type": "general-purpose", "is_backgrounded": background,
                "task_type": "local_agent" }),
    )
}

/// It is over.
pub fn task_over(tool: &str, status: &str) -> Value {
    system(
        "task_notification",
        json!({ "task_id": "ag1", "tool_use_id": tool, "status": status,
                "output_file": "", "summary": status }),
    )
}

/// It asks whether a tool may be used.
pub fn can_use_tool(request: &str, tool: &str, more: Value) -> Value {
    let asked = with(
        json!({ "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash",
                "input": { "command": "ls" }, "tool_use_id": tool }),
        more,
    );
    json!({ "type": "control_request", "request_id": request, "request": asked })
}
