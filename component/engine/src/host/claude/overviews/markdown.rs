//! Servers and use, as Markdown (Claude adapter, section 14).
//!
//! Pure. Invariants: what the program does not say is left out; names of servers and errors
//! cannot end the line that they stand on.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::wire::part;
use super::Verb;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Servers<'a> {
    #[serde(borrow)]
    mcp_servers: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Server<'a> {
    name: String,
    #[serde(borrow, default)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(borrow, default)]
    tools: Option<Vec<&'a RawValue>>,
}

fn all(answer: Option<&RawValue>) -> Vec<Server<'_>> {
    let Servers { mcp_servers } = part(answer);
    let rows = mcp_servers.into_iter();
    rows.filter_map(|row| serde_json::from_str(row.get()).ok())
        .collect()
}

/// The names of all servers.
pub fn names(answer: Option<&RawValue>) -> Vec<String> {
    all(answer).into_iter().map(|server| server.name).collect()
}

/// A line for each server.
pub fn servers(answer: Option<&RawValue>) -> String {
    let all = all(answer);
    if all.is_empty() {
        return "No MCP servers are configured.".to_string();
    }
    let mut lines = Vec::from(["## MCP servers".to_string(), String::new()]);
    for server in all {
        let status = match &*server.status {
            "needs-auth" => "needs authentication",
            "" => "unknown",
            other => other,
        };
        let mut line = format!("- **{}**: {}", plain(&server.name), plain(status));
        if let Some(scope) = &server.scope {
            line += &format!(" ({})", plain(scope));
        }
        match server.tools.map_or(0, |tools| tools.len()) {
            0 => {}
            1 => line += ", 1 tool",
            tools => line += &format!(", {tools} tools"),
        }
        let error = server
            .error
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        if let Some(error) = error.filter(|error: &String| !error.is_empty()) {
            line += &format!(": {}", plain(&error));
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// A line for each server that something was done with.
pub fn done(verb: Verb, done: &[(String, Option<Result<(), String>>)]) -> String {
    let (past, infinitive) = match verb {
        Verb::Reconnect => ("Reconnected", "reconnect"),
        Verb::Enable => ("Enabled", "enable"),
        Verb::Disable => ("Disabled", "disable"),
    };
    let line = |(name, came): &(String, Option<Result<(), String>>)| {
        let name = plain(name);
        match came {
            Some(Ok(())) => format!("- {past} **{name}**."),
            Some(Err(why)) => format!("- Could not {infinitive} **{name}**: {}", plain(why)),
            None => format!("- Could not {infinitive} **{name}**: Claude Code did not answer."),
        }
    };
    done.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage<'a> {
    #[serde(borrow)]
    session: Option<&'a RawValue>,
    subscription_type: Option<String>,
    #[serde(borrow)]
    rate_limits: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spent<'a> {
    total_cost_usd: Option<f64>,
    total_api_duration_ms: Option<f64>,
    total_duration_ms: Option<f64>,
    total_lines_added: Option<u64>,
    total_lines_removed: Option<u64>,
    #[serde(borrow)]
    model_usage: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ByModel {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD")]
    cost_usd: Option<f64>,
}

#[derive(Deserialize)]
struct Limit {
    utilization: f64,
    #[serde(default)]
    resets_at: Option<String>,
}

/// What was used; `None` where the answer says nothing of the session.
pub fn usage(answer: Option<&RawValue>) -> Option<String> {
    let usage: Usage<'_> = part(answer);
    let spent: Spent<'_> = part(Some(usage.session?));
    let mut lines = Vec::from(["## Usage".to_string(), String::new()]);
    if let Some(cost) = spent.total_cost_usd {
        lines.push(format!("- **Total cost:** ${cost:.4}"));
    }
    if let Some(time) = spent.total_api_duration_ms {
        lines.push(format!("- **Time at the API:** {}", seconds(time)));
    }
    if let Some(time) = spent.total_duration_ms {
        lines.push(format!("- **Time of the session:** {}", seconds(time)));
    }
    if let (Some(added), Some(removed)) = (spent.total_lines_added, spent.total_lines_removed) {
        lines.push(format!(
            "- **Code changes:** {added} lines added, {removed} lines removed"
        ));
    }
    if let Some(plan) = usage.subscription_type {
        lines.push(format!("- **Plan:** {}", plain(&plan)));
    }
    let models: BTreeMap<String, ByModel> = part(spent.model_usage);
    if !models.is_empty() {
        lines.extend([
            String::new(),
            "| Model | Input | Output | Cache read | Cache write | Cost |".to_string(),
            "|---|---:|---:|---:|---:|---:|".to_string(),
        ]);
        for (model, it) in models {
            let cost = it
                .cost_usd
                .map_or_else(String::new, |cost| format!("${cost:.4}"));
            lines.push(format!(
                "| {} | {} | {} | {} | {} | {cost} |",
                plain(&model),
                it.input_tokens,
                it.output_tokens,
                it.cache_read_input_tokens,
                it.cache_creation_input_tokens,
            ));
        }
    }
    let limits: BTreeMap<String, &RawValue> = part(usage.rate_limits);
    let read = |(name, raw): (&String, &&RawValue)| -> Option<String> {
        let limit: Limit = serde_json::from_str(raw.get()).ok()?;
        let name = match name.as_str() {
            "five_hour" => "5 hours".to_string(),
            "seven_day" => "7 days".to_string(),
            other => plain(&other.replace('_', " ")),
        };
        let resets = limit
            .resets_at
            .map_or_else(String::new, |at| format!(", resets {}", plain(&at)));
        Some(format!(
            "- **{name}:** {:.0}% used{resets}",
            limit.utilization
        ))
    };
    let limits: Vec<String> = limits.iter().filter_map(read).collect();
    if !limits.is_empty() {
        lines.extend([String::new(), "### Limits".to_string(), String::new()]);
        lines.extend(limits);
    }
    Some(lines.join("\n"))
}

fn seconds(milliseconds: f64) -> String {
    format!("{:.0} s", milliseconds / 1000.0)
}

/// On one line.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
