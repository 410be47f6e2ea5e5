//! How each tool of Claude Code looks on its card (adapter specification, section 6.3).
//!
//! Pure: an input in, a look out; one file a family of tools. Invariant: a tool, an input or
//! a result that nobody foresaw still gives a card, with the tool's name and its text.

pub mod agent;
pub mod blocks;
pub mod commands;
pub mod fields;
pub mod files;
pub mod memory;
mod search;
mod talk;
mod web;

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use crate::projection::{Place, Shown, ToolKind};
use blocks::{Content, fence};
use fields::Fields;

/// What a card shows of a call.
#[derive(Debug)]
pub struct Look {
    /// For people.
    pub title: String,
    /// What it does.
    pub kind: ToolKind,
    /// What stands on the card until there is a result.
    pub content: Vec<Shown>,
    /// Where it works; `None` for tools that never say.
    pub places: Option<Vec<Place>>,
}

/// What a card shows of a result. What is `None` stays.
#[derive(Debug)]
pub struct Ending {
    /// Another title.
    pub title: Option<String>,
    /// Other content.
    pub content: Option<Vec<Shown>>,
}

/// Whether a tool has no card, since it only says what the plan is.
pub fn is_hidden(name: &str) -> bool {
    matches!(
        name,
        "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet"
    )
}

/// Whether a tool runs a command, which may have a terminal.
pub fn is_command(name: &str) -> bool {
    matches!(name, "Bash" | "PowerShell")
}

/// What a card shows of a call whose input is known so far.
pub fn look(name: &str, input: &Fields<'_>, cwd: &str) -> Look {
    match name {
        name if is_command(name) => commands::look(input),
        "Read" => files::read(input, cwd),
        "Write" => files::write(input, cwd),
        "Edit" => files::edit(input, cwd),
        "Glob" => search::glob(input, cwd),
        "Grep" => search::grep(input),
        "WebFetch" => web::fetch(input),
        "WebSearch" => web::search(input),
        "Agent" | "Task" => agent::look(input),
        "EnterPlanMode" => talk::enter_plan(),
        "ExitPlanMode" => talk::exit_plan(input),
        "AskUserQuestion" => talk::question(input),
        "Skill" => talk::skill(input),
        "ReportFindings" => talk::findings(input),
        other => Look {
            title: if other.is_empty() {
                "Unknown Tool"
            } else {
                other
            }
            .to_owned(),
            kind: ToolKind::Other,
            content: Vec::new(),
            places: None,
        },
    }
}

/// What a card shows of a result.
pub fn ending(
    name: &str,
    content: &Content<'_>,
    is_error: bool,
    structured: Option<&RawValue>,
) -> Ending {
    if is_error {
        return Ending {
            title: None,
            content: content.shown(fence),
        };
    }
    match name {
        name if is_command(name) => commands::ended(content, is_error, structured),
        "Read" => files::was_read(content, structured),
        // The diff on the card says it better.
        "Write" | "Edit" | "Skill" => Ending {
            title: None,
            content: None,
        },
        "WebSearch" => web::found(content, structured),
        "Agent" | "Task" => agent::reported(content, structured),
        "ExitPlanMode" => talk::left_plan(),
        _ => Ending {
            title: None,
            content: content.shown(str::to_owned),
        },
    }
}
