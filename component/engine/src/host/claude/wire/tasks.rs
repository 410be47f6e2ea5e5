//! Frames about work beside a turn: `task_started`, `task_progress`, `task_updated`,
//! `task_notification`, `background_tasks_changed`; and what a hook says of a subagent.
//!
//! Everything is borrowed from the line. Invariant: as in the module around it, what cannot
//! be read is as if it had not come.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

type Text<'a> = Option<Cow<'a, str>>;

/// A frame about one task, or the list of all in the background.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaskFrame<'a> {
    /// Which frame.
    #[serde(borrow)]
    pub subtype: Cow<'a, str>,
    /// Which task.
    #[serde(borrow)]
    pub task_id: Text<'a>,
    /// Which of its runs: a subagent can be taken up again.
    #[serde(borrow)]
    pub run_id: Text<'a>,
    /// The call that began it.
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// `local_agent`, `local_bash`, ...
    #[serde(borrow)]
    pub task_type: Text<'a>,
    /// For people.
    #[serde(borrow)]
    pub description: Text<'a>,
    /// Of a subagent.
    #[serde(borrow)]
    pub subagent_type: Text<'a>,
    /// What a subagent is told.
    #[serde(borrow)]
    pub prompt: Text<'a>,
    /// The turn does not wait for it.
    pub is_backgrounded: bool,
    /// It is to be shown beside what is said alone.
    pub skip_transcript: bool,
    /// `task_updated`.
    #[serde(borrow)]
    pub patch: Option<&'a RawValue>,
    /// `task_notification`.
    #[serde(borrow)]
    pub status: Text<'a>,
    /// What came of it.
    #[serde(borrow)]
    pub summary: Text<'a>,
    /// What it used last.
    #[serde(borrow)]
    pub last_tool_name: Text<'a>,
    /// What it took.
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
    /// The file that it writes to.
    #[serde(borrow)]
    pub output_file: Text<'a>,
    /// `background_tasks_changed`: all that run in the background.
    #[serde(borrow)]
    pub tasks: Option<Vec<&'a RawValue>>,
}

/// What of a task is another than before.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Patch<'a> {
    /// `running`, `completed`, ...
    #[serde(borrow)]
    pub status: Text<'a>,
    /// For people.
    #[serde(borrow)]
    pub description: Text<'a>,
    /// The turn does not wait for it any more.
    pub is_backgrounded: Option<bool>,
}

/// What a task took.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaskUsage {
    /// Tokens.
    pub total_tokens: u64,
    /// Calls.
    pub tool_uses: u64,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// What a hook says of the subagent in which it was called.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AgentHook<'a> {
    /// `SubagentStart`, `PreToolUse`, ...
    #[serde(borrow)]
    pub hook_event_name: Cow<'a, str>,
    /// Which subagent; none for the session itself.
    #[serde(borrow)]
    pub agent_id: Text<'a>,
    /// What kind of subagent.
    #[serde(borrow)]
    pub agent_type: Text<'a>,
    /// How it asks for permissions.
    #[serde(borrow)]
    pub permission_mode: Text<'a>,
    /// How hard it thinks.
    #[serde(borrow)]
    pub effort: Option<Effort<'a>>,
}

/// How hard somebody thinks.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Effort<'a> {
    /// `low`, ...
    #[serde(borrow)]
    pub level: Text<'a>,
}

impl<'a> TaskFrame<'a> {
    /// Reads a line that is known to be a frame of these kinds.
    pub fn read(line: &'a [u8]) -> TaskFrame<'a> {
        serde_json::from_slice(line).unwrap_or_default()
    }
}

/// Whether a `system` frame is about tasks.
pub fn is_about_tasks(subtype: &str) -> bool {
    subtype.starts_with("task_") || subtype == "background_tasks_changed"
}
