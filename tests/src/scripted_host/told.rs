//! What the editor and the Host were told, one short line each, so that tests compare
//! whole outputs.
//!
//! Pure. Invariant: every message gives exactly one line.

use serde_json::Value;

/// A message to the editor.
pub fn editor(message: &Value) -> String {
    if let Some(error) = message.get("error") {
        return format!(
            "{} error {} {}",
            message["id"],
            error["code"],
            plain(&error["data"])
        );
    }
    if let Some(result) = message.get("result") {
        if let Some(options) = result["configOptions"].as_array()
            && result.get("sessionId").is_none()
        {
            return format!("{} options {}", message["id"], settings(options));
        }
        let reason = result["stopReason"].as_str().map(str::to_owned);
        return format!(
            "{} {}",
            message["id"],
            reason.unwrap_or_else(|| plain(result))
        );
    }
    if let Some(asked) = request(message) {
        return asked;
    }
    let update = &message["params"]["update"];
    let text = |key: &str| update[key].as_str().unwrap_or("-");
    match text("sessionUpdate") {
        "agent_message_chunk" => {
            format!("says {}: {}", text("messageId"), update["content"]["text"])
        }
        "user_message_chunk" => {
            format!("asks {}: {}", text("messageId"), update["content"]["text"])
        }
        "agent_thought_chunk" => format!(
            "thinks {}: {}",
            text("messageId"),
            update["content"]["text"]
        ),
        "tool_call" => format!(
            "card {} {}{}",
            text("toolCallId"),
            text("status"),
            output(update)
        ),
        "tool_call_update" => format!(
            "card {} → {}{}",
            text("toolCallId"),
            text("status"),
            output(update)
        ),
        "config_option_update" => format!(
            "options {}",
            settings(update["configOptions"].as_array().expect("options"))
        ),
        "current_mode_update" => format!("mode {}", text("currentModeId")),
        "session_info_update" => format!("title {}", update["title"]),
        other => format!("{other} {update}"),
    }
}

/// A question to the user, and its withdrawal.
fn request(message: &Value) -> Option<String> {
    let (id, params) = (&message["id"], &message["params"]);
    match message["method"].as_str()? {
        "session/request_permission" => {
            let options = params["options"].as_array()?.iter();
            let options: Vec<String> = options
                .map(|it| format!("{} ({})", plain(&it["name"]), plain(&it["kind"])))
                .collect();
            let card = &params["toolCall"];
            let (tool, title) = (plain(&card["toolCallId"]), plain(&card["title"]));
            Some(format!("asks {id} {tool} {title}: {}", options.join(", ")))
        }
        "elicitation/create" => {
            let fields = params["requestedSchema"]["properties"].as_object()?;
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            let tool = plain(&params["toolCallId"]);
            Some(format!("form {id} {tool}: {}", names.join(", ")))
        }
        "$/cancel_request" => Some(format!("withdraws {}", params["requestId"])),
        _ => None,
    }
}

/// A request to the Host.
pub fn host(frame: &Value) -> String {
    let Some(operation) = frame["operation"].as_str() else {
        return plain(&frame["kind"]);
    };
    let input = &frame["input"];
    let text = |key: &str| plain(&input[key]);
    match operation {
        "turn.start" => format!("start {} {}", text("turnId"), input["content"]["text"]),
        "turn.query" => format!("query {}", text("turnId")),
        "turn.stop" => format!("stop {} {}", text("turnId"), text("runId")),
        "subscription.open" => "open".to_owned(),
        "subscription.close" => format!("close {}", text("subscriptionId")),
        "session.transcript.overlay.release" => format!("release {}", text("subscriptionId")),
        "session.transcript.page" => format!(
            "page {} {} {} from {} cursor {} through {}",
            text("subscriptionId"),
            text("source"),
            text("direction"),
            text("anchorSequence"),
            text("cursor"),
            text("throughSequence")
        ),
        "interaction.query" => format!("look {}", text("interactionId")),
        "interaction.answer" => format!("answer {} {}", text("interactionId"), input["answer"]),
        "turn.message.submit" => {
            format!("submit {} {}", text("placement"), input["content"]["text"])
        }
        "artifact.ingest" => {
            let more = match text("kind").as_str() {
                "begin" => format!(
                    " {} {} {}",
                    text("name"),
                    text("mimeType"),
                    text("totalBytes")
                ),
                "chunk" => format!(" at {}", text("offset")),
                _ => String::new(),
            };
            format!("ingest {}{more}", text("kind"))
        }
        "host.status" | "connection.catalog.query" => operation.to_owned(),
        _ => format!("{operation} {input}"),
    }
}

/// The current values, in order.
fn settings(options: &[Value]) -> String {
    let current = options.iter().map(|it| plain(&it["currentValue"]));
    current.collect::<Vec<_>>().join(" ")
}

fn output(update: &Value) -> String {
    let shown = update["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = shown
        .filter_map(|it| it["content"]["text"].as_str())
        .collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!(" {:?}", texts.join("|"))
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
