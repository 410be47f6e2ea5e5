//! Tools by which Claude talks to the user or sets itself up: plan mode, questions, skills,
//! findings.
//!
//! Pure. Invariant: what the user is to read and decide about is on the card.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::fields::Fields;
use super::{Ending, Look};
use crate::projection::{Shown, ToolKind};

/// Claude begins to plan.
pub fn enter_plan() -> Look {
    look("EnterPlanMode".into(), ToolKind::SwitchMode, None)
}

/// Claude shows its plan.
pub fn exit_plan(input: &Fields<'_>) -> Look {
    let plan = input.some("plan");
    look("Approve Plan".into(), ToolKind::SwitchMode, plan)
}

/// The plan was approved. The plan stays on the card.
pub fn left_plan() -> Ending {
    Ending {
        title: Some("Exited Plan Mode".into()),
        content: None,
    }
}

/// The user is asked.
pub fn question(input: &Fields<'_>) -> Look {
    let all = input.list("questions").unwrap_or_default();
    let all = all.into_iter().map(Fields::of);
    let all: Vec<String> = all.filter_map(|one| one.some("question")).collect();
    let title = match all.as_slice() {
        [only] => only.clone(),
        _ => "Asking for your input".into(),
    };
    let text = Some(all.join("\n")).filter(|text| !text.is_empty());
    look(title, ToolKind::Other, text)
}

/// A skill is loaded.
pub fn skill(input: &Fields<'_>) -> Look {
    let name = input.some("skill").or_else(|| input.some("command"));
    let title = name.map_or("Load skill".into(), |name| format!("Load skill: {name}"));
    look(title, ToolKind::Other, None)
}

/// A review tells what it found.
pub fn findings(input: &Fields<'_>) -> Look {
    let count = input.list("findings").map(|findings| findings.len());
    let title = count.map_or("Report findings".into(), |count| {
        format!("Report {count} findings")
    });
    look(title, ToolKind::Think, None)
}

fn look(title: String, kind: ToolKind, text: Option<String>) -> Look {
    Look {
        title,
        kind,
        content: text.map(Shown::Text).into_iter().collect(),
        places: None,
    }
}
