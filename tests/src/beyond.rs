//! Updates of the AIR extensions, which the official schema does not know: what fields each
//! has, and of which kind.
//!
//! Pure. Invariant: a field that is not on the list, or that is missing, is refused.

use serde_json::Value;

/// What a field is.
#[derive(Clone, Copy)]
enum Is {
    Text,
    Flag,
    Object,
    OneOf(&'static [&'static str]),
}

/// A field; whether it may be absent.
type Field = (&'static str, Is, bool);

const SPAWNED: &[Field] = &[
    ("subagentSessionId", Is::Text, false),
    ("name", Is::Text, false),
    ("task", Is::Text, false),
    ("prompt", Is::Text, true),
    ("capabilities", Is::Object, false),
];
const STATE: &[Field] = &[
    ("subagentSessionId", Is::Text, false),
    (
        "state",
        Is::OneOf(&["completed", "failed", "cancelled", "disconnected"]),
        false,
    ),
];
const TASK: &[Field] = &[
    ("asyncTaskId", Is::Text, false),
    ("name", Is::Text, false),
    ("taskType", Is::Text, false),
    ("description", Is::Text, false),
    ("showInTranscript", Is::Flag, false),
    ("canStop", Is::Flag, false),
    ("toolCallId", Is::Text, true),
];
const PROGRESS: &[Field] = &[
    ("asyncTaskId", Is::Text, false),
    ("description", Is::Text, true),
    ("summary", Is::Text, true),
    ("lastToolName", Is::Text, true),
    ("usage", Is::Object, true),
    ("outputFilePath", Is::Text, true),
    ("toolCallId", Is::Text, true),
];
const TASK_STATE: &[Field] = &[
    ("asyncTaskId", Is::Text, false),
    (
        "state",
        Is::OneOf(&["running", "paused", "completed", "failed", "stopped"]),
        false,
    ),
    ("summary", Is::Text, true),
];

/// Whether this is an update of the extensions.
///
/// # Panics
/// When it is, and its fields are not those that it has.
pub fn is_update(params: &Value, line: &str) -> bool {
    let update = &params["update"];
    let fields = match update["sessionUpdate"].as_str() {
        Some("subagent_spawned") => SPAWNED,
        Some("subagent_state_update") => STATE,
        Some("async_task_spawned") => TASK,
        Some("async_task_progress") => PROGRESS,
        Some("async_task_state_update") => TASK_STATE,
        _ => return false,
    };
    assert!(params["sessionId"].is_string(), "of no session: {line}");
    let update = update.as_object().expect("an update is an object");
    for name in update.keys().filter(|name| *name != "sessionUpdate") {
        let known = fields.iter().any(|(field, ..)| field == name);
        assert!(known, "field {name} has no place here: {line}");
    }
    for (name, is, optional) in fields {
        let fits = match (update.get(*name), is) {
            (None, _) => *optional,
            (Some(value), Is::Text) => value.is_string(),
            (Some(value), Is::Flag) => value.is_boolean(),
            (Some(value), Is::Object) => value.is_object(),
            (Some(value), Is::OneOf(words)) => words.iter().any(|word| value == word),
        };
        assert!(fits, "field {name} is missing or wrong: {line}");
    }
    true
}
