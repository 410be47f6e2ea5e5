//! Frames that only some editors are shown something of.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Text;

/// `prompt_suggestion`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Suggestion<'a> {
    /// What the user may want to say next.
    #[serde(borrow)]
    pub suggestion: Text<'a>,
}

/// `system/api_retry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Retry<'a> {
    /// Which attempt follows.
    pub attempt: u64,
    /// Of how many.
    pub max_retries: u64,
    /// The HTTP status; none where there was no answer.
    pub error_status: Option<u64>,
    /// What went wrong.
    #[serde(borrow)]
    pub error: Text<'a>,
}

/// `rate_limit_event`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RateLimit<'a> {
    /// All that is known of the limit.
    #[serde(borrow)]
    pub rate_limit_info: Option<&'a RawValue>,
}

/// The MCP servers of `system/init`, or of the answer to `mcp_status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Servers<'a> {
    /// All of them.
    #[serde(borrow, alias = "mcpServers")]
    pub mcp_servers: Vec<Server<'a>>,
}

/// One of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Server<'a> {
    /// Its name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// `connected`, `failed`, `needs-auth`, ...
    #[serde(borrow)]
    pub status: Cow<'a, str>,
}

/// `active_goal`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ActiveGoal<'a> {
    /// The goal; `null` for none any more.
    #[serde(borrow)]
    pub value: Option<GoalState<'a>>,
}

/// How a goal stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct GoalState<'a> {
    /// In the user's words.
    #[serde(borrow)]
    pub condition: Text<'a>,
    /// How often it was looked at.
    pub iterations: Option<u64>,
    /// Since when, Unix milliseconds.
    pub set_at: Option<u64>,
    /// Why it is not reached yet.
    #[serde(borrow)]
    pub last_reason: Text<'a>,
}

/// The answer to `rewind_files`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rewind<'a> {
    /// Whether it could be done.
    pub can_rewind: bool,
    /// The files that would be restored.
    #[serde(borrow)]
    pub files_changed: Option<Vec<Cow<'a, str>>>,
}

/// The skills in the answer to `get_context_usage`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Context<'a> {
    /// All of them.
    #[serde(borrow)]
    pub skills: Option<Skills<'a>>,
}

/// All skills.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Skills<'a> {
    /// One by one.
    #[serde(borrow)]
    pub skill_frontmatter: Vec<Skill<'a>>,
}

/// A skill.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Skill<'a> {
    /// Its name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// Its file, unless it is the program's own.
    #[serde(borrow)]
    pub path: Text<'a>,
}

/// What the `PostCompact` hook says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PostCompact<'a> {
    /// What is left of the conversation, in words.
    #[serde(borrow)]
    pub compact_summary: Text<'a>,
}
