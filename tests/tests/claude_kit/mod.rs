//! What a process with models of its own says at first, and what the tests of options,
//! permissions and steering read of the answers.
#![allow(dead_code, reason = "each test file takes what it needs")]

use airlock_tests::scripted_cli::words;
use serde_json::{Value, json};

/// The greeting of CLI 2.1.318, as far as it matters here.
pub fn greeting() -> Value {
    let levels = json!(["low", "medium", "high", "xhigh", "max"]);
    let model = |value: &str, id: &str, name: &str, about: &str| {
        json!({ "value": value, "resolvedModel": id, "displayName": name, "description": about,
                "supportsEffort": true, "supportedEffortLevels": levels,
                "supportsAdaptiveThinking": true, "supportsAutoMode": true })
    };
    let fast = |model: Value| words::with(model, json!({ "supportsFastMode": true }));
    let dot = "\u{b7}";
    json!({
        "commands": [],
        "agents": [
            { "name": "claude", "description": "Catch-all" },
            { "name": "Explore", "description": "Search", "model": "inherit" },
            { "name": "general-purpose", "description": "General" },
            { "name": "Plan", "description": "Plans", "model": "inherit" },
            { "name": "statusline-setup", "description": "Status line", "model": "sonnet" }
        ],
        "models": [
            fast(model("default", "claude-opus-5-5", "Default (recommended)",
                &format!("Use the default model (currently Opus 5.5) {dot} $4/$20 per Mtok"))),
            fast(model("opus", "claude-opus-5-5", "Opus",
                &format!("Opus 5.5 {dot} Best for everyday, complex tasks {dot} $4/$20 per Mtok"))),
            model("fable", "claude-fable-5-1", "Fable",
                &format!("Fable 5.1 {dot} Most capable {dot} $10/$50 per Mtok")),
            model("sonnet", "claude-sonnet-5-5", "Sonnet",
                &format!("Sonnet 5.5 {dot} Efficient for routine tasks {dot} $2/$10 per Mtok")),
            model("haiku", "claude-haiku-5-5", "Haiku", "Fastest for quick answers"),
        ],
        "current_permission_mode": "auto",
        "fast_mode_state": "off"
    })
}

/// What `get_settings` says when these settings hold.
pub fn settings(effective: Value) -> Value {
    json!({ "effective": effective, "sources": [], "applied": {
        "model": "claude-opus-5-5", "effort": "medium", "ultracode": false,
        "ultracodeRequested": false, "ultracodeAvailable": true } })
}

/// The option with this id.
pub fn option(options: &Value, id: &str) -> Value {
    let mut all = options.as_array().expect("options").iter();
    all.find(|it| it["id"] == id).cloned().unwrap_or_default()
}

/// `id=value` of every option.
pub fn values(options: &Value) -> String {
    let all = options.as_array().expect("options").iter();
    let told = all.map(|it| {
        let value = &it["currentValue"];
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={value}", it["id"].as_str().expect("an id"))
    });
    told.collect::<Vec<_>>().join(" ")
}

/// A hook tells that another model runs.
pub fn switched(model: &str, asked: &str, request: &str) -> Value {
    json!({ "type": "control_request", "request_id": request, "request": {
        "subtype": "hook_callback", "callback_id": "after-model", "input": {
            "hook_event_name": "PostModelSwitch", "from_model": "claude-opus-5-5",
            "to_model": model, "requested_model": asked, "source": "command" } } })
}

/// The process refuses a request.
pub fn refused(request: &Value, why: &str) -> Value {
    json!({ "type": "control_response", "response": { "subtype": "error",
            "request_id": request["request_id"], "error": why } })
}
