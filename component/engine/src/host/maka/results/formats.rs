//! One function for each kind of content of a durable tool result.
//!
//! Kinds and fields: `spec/maka-host-protocol.md` section 4.5; wording: adapter
//! specification, section 19.6.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::object::Object;
use super::{join, pretty, shortened};
use crate::limits;

/// The text of a result of this kind; `None` for a kind that is not known, or that lacks
/// what it is made of.
pub fn text(kind: &str, content: &Object<'_>) -> Option<String> {
    match kind {
        "text" => content.text("text"),
        "json" => content.raw("value").map(pretty::pretty),
        "terminal" | "shell_run" => Some(command(content)),
        "file_diff" => content.text("diff"),
        "file_write" => file_write(content),
        "summary" => content.text("summarized"),
        "image" => content
            .text("mimeType")
            .map(|mime| format!("{mime} image result")),
        "web_search" => Some(web_search(content)),
        "web_search_error" => content.text("message"),
        "subagent" | "rive_workflow" => content.text("summary"),
        "explore_agent" => ["report", "summary", "message"]
            .into_iter()
            .filter_map(|field| content.text(field))
            .find(|text| !text.is_empty()),
        "agent_swarm" => Some(agent_swarm(content)),
        "archived_tool_result" => content
            .text("status")
            .map(|status| format!("Archived tool result: {status}")),
        _ => None,
    }
}

/// A foreground command, or a background one, which has a `ref`.
fn command(content: &Object<'_>) -> String {
    let labelled = |label: &str, value: Option<String>| {
        value
            .filter(|value| !value.is_empty())
            .map(|value| format!("{label}{value}"))
    };
    let head = [
        labelled("$ ", content.text("cmd")),
        labelled("ref: ", content.text("ref")),
        labelled("cwd: ", content.text("cwd")),
        labelled("status: ", content.text("status")),
        labelled("exit: ", content.number("exitCode").map(ToOwned::to_owned)),
    ];
    let output = content.object("output");
    // The blank line between the parts is ours, so a line end at the end of one is left out.
    let output = |field: &str| {
        let text = output.as_ref()?.text(field)?;
        Some(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    };
    // A terminal has one screen and what scrolled off it, pipes have two streams.
    let terminal = join(
        [output("scrollback"), output("screen")]
            .into_iter()
            .flatten(),
        "\n",
    );
    let outputs = [
        labelled("stdout:\n", output("stdout")),
        labelled("stderr:\n", output("stderr")),
        labelled("terminal:\n", Some(terminal)),
    ];
    let head = join(head.into_iter().flatten(), "\n");
    join(
        [head].into_iter().chain(outputs.into_iter().flatten()),
        "\n\n",
    )
}

fn file_write(content: &Object<'_>) -> Option<String> {
    Some(format!(
        "Wrote {} bytes to {}",
        content.number("bytes")?,
        content.text("path")?
    ))
}

fn web_search(content: &Object<'_>) -> String {
    let field = |object: &Object<'_>, name: &str| object.text(name).unwrap_or_default();
    let head = format!(
        "Search {}: {}",
        field(content, "provider"),
        field(content, "query")
    );
    let rows = content.list("rows");
    let rows = rows.iter().filter_map(|row| Object::read(row)).map(|row| {
        join(
            ["title", "url", "snippet"].map(|name| field(&row, name)),
            "\n",
        )
    });
    join([head].into_iter().chain(rows), "\n\n")
}

/// Several agents: one line for all, and for each one a line and its summary.
fn agent_swarm(content: &Object<'_>) -> String {
    let rows = content.list("items");
    let items = || rows.iter().filter_map(|row| Object::read(row));
    let with = |status: &str| {
        items()
            .filter(|item| item.text("status").as_deref() == Some(status))
            .count()
    };
    let artifacts: usize = items().map(|item| item.list("artifactIds").len()).sum();
    let head = join(
        [
            format!(
                "Agent swarm: {}",
                content.text("status").unwrap_or_default()
            ),
            format!("{} items", items().count()),
            format!("{} completed", with("completed")),
            format!("{} failed", with("failed")),
            format!("{} cancelled", with("cancelled")),
            format!("{artifacts} artifacts"),
            content
                .number("durationMs")
                .map(|ms| format!("{ms} ms"))
                .unwrap_or_default(),
        ],
        " · ",
    );
    let blocks = items().map(|item| {
        let name = ["agentName", "profile", "itemId"]
            .into_iter()
            .find_map(|field| item.text(field))
            .unwrap_or_default();
        let line = format!("{name}: {}", item.text("status").unwrap_or_default());
        let summary = item.text("summary").unwrap_or_default();
        join(
            [line, shortened(&summary, limits::SWARM_SUMMARY_UNITS)],
            "\n",
        )
    });
    shortened(
        &join([head].into_iter().chain(blocks), "\n\n"),
        limits::SWARM_UNITS,
    )
}
