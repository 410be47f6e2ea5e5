//! What Claude Code writes and reads, one JSON object a line (Claude adapter, Part 2). The
//! only place that knows the names of fields.
//!
//! Everything is borrowed from the line. Invariant: an unknown field, kind or value spoils
//! nothing; what cannot be read is as if it had not come.

pub mod more;
pub mod tasks;

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

type Text<'a> = Option<Cow<'a, str>>;

/// A frame of the process: the fields of all kinds together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Frame<'a> {
    /// What it is.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// What it is, more closely.
    #[serde(borrow)]
    pub subtype: Cow<'a, str>,
    /// Of a user message the prompt's, else the frame's own.
    #[serde(borrow)]
    pub uuid: Cow<'a, str>,
    /// The tool use that its stream belongs to.
    #[serde(borrow)]
    pub parent_tool_use_id: Text<'a>,
    /// `stream_event`.
    #[serde(borrow)]
    pub event: Option<&'a RawValue>,
    /// `assistant`, `user`.
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    /// A prompt that comes back.
    #[serde(rename = "isReplay")]
    pub is_replay: bool,
    /// Where it comes from.
    #[serde(borrow)]
    pub origin: Option<&'a RawValue>,
    /// `status`.
    #[serde(borrow)]
    pub status: Text<'a>,
    /// `session_state_changed`, `command_lifecycle`.
    #[serde(borrow)]
    pub state: Text<'a>,
    /// `command_lifecycle`.
    #[serde(borrow)]
    pub command_uuid: Text<'a>,
    /// The prompts that a request or a result is about.
    #[serde(borrow)]
    pub user_message_uuids: Vec<Cow<'a, str>>,
    /// Likewise, one.
    #[serde(borrow)]
    pub user_message_uuid: Text<'a>,
    /// Under which id the program stores the session.
    #[serde(borrow)]
    pub session_id: Text<'a>,
    /// `control_request`, `control_cancel_request`.
    #[serde(borrow)]
    pub request_id: Text<'a>,
    /// `control_request`.
    #[serde(borrow)]
    pub request: Option<&'a RawValue>,
    /// `control_response`.
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
    /// `init`.
    #[serde(borrow)]
    pub capabilities: Vec<Cow<'a, str>>,
    /// `informational`, `local_command_output`.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    /// `informational`.
    #[serde(borrow)]
    pub level: Text<'a>,
    /// Tools.
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// The subagent whose frame it is.
    #[serde(borrow)]
    pub agent_id: Text<'a>,
    /// `user` with the result of a tool.
    #[serde(borrow)]
    pub tool_use_result: Option<&'a RawValue>,
    /// Likewise.
    #[serde(borrow)]
    pub tool_result_meta: Option<&'a RawValue>,
    /// `status`: how a compaction ended.
    #[serde(borrow)]
    pub compact_result: Text<'a>,
    /// Likewise: why it failed.
    #[serde(borrow)]
    pub compact_error: Text<'a>,
    /// `compact_boundary`.
    #[serde(borrow)]
    pub compact_metadata: Option<&'a RawValue>,
    /// `tool_progress`.
    #[serde(borrow)]
    pub elapsed_time_seconds: Option<&'a RawValue>,
    /// `tool_progress`.
    #[serde(borrow)]
    pub subagent_type: Text<'a>,
    /// `tool_progress`.
    #[serde(borrow)]
    pub subagent_retry: Option<&'a RawValue>,
    /// `memory_recall`.
    #[serde(borrow)]
    pub mode: Text<'a>,
    /// `memory_recall`.
    #[serde(borrow)]
    pub memories: Option<&'a RawValue>,
    /// `permission_denied`.
    #[serde(borrow)]
    pub decision_reason_type: Text<'a>,
    /// `permission_denied`.
    #[serde(borrow)]
    pub decision_reason: Text<'a>,
    /// `result`.
    pub is_error: bool,
    /// `result`: text.
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    /// `result`.
    #[serde(borrow)]
    pub errors: Vec<Cow<'a, str>>,
    /// `result`.
    #[serde(borrow)]
    pub stop_reason: Text<'a>,
    /// `result`.
    #[serde(borrow)]
    pub terminal_reason: Text<'a>,
    /// `result`: none where it only reports of tasks.
    pub num_turns: Option<u64>,
    /// `result`.
    #[serde(borrow)]
    pub startup_failure_reason: Text<'a>,
    /// `result`.
    pub total_cost_usd: Option<f64>,
    /// `result`.
    pub usage: Usage,
    /// `result`: figures by model.
    #[serde(borrow, rename = "modelUsage")]
    pub model_usage: Option<&'a RawValue>,
    /// `assistant`: what went wrong at the model's API.
    #[serde(borrow)]
    pub error: Text<'a>,
    /// `commands_changed`.
    #[serde(borrow)]
    pub commands: Option<&'a RawValue>,
    /// `status`.
    #[serde(borrow, rename = "permissionMode")]
    pub permission_mode: Text<'a>,
    /// `init`, `result`.
    #[serde(borrow)]
    pub fast_mode_state: Text<'a>,
    /// `init`.
    #[serde(borrow)]
    pub terminal_slash_commands: Option<&'a RawValue>,
    /// `elicitation_complete`.
    #[serde(borrow)]
    pub elicitation_id: Text<'a>,
}

impl<'a> Frame<'a> {
    /// Reads a line.
    pub fn read(line: &'a [u8]) -> Option<Frame<'a>> {
        let text = core::str::from_utf8(line).ok()?;
        // serde would read an array into a structure, field by field.
        if !text.trim_start().starts_with('{') {
            return None;
        }
        match serde_json::from_str(text) {
            Ok(frame) => Some(frame),
            // A field of an unexpected type: what it is can still be told.
            Err(_) => Frame::bare(text),
        }
    }

    /// The least that lets the rest go on.
    fn bare(text: &'a str) -> Option<Frame<'a>> {
        #[derive(Deserialize)]
        struct Bare<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow, default)]
            subtype: Option<&'a RawValue>,
            #[serde(borrow, default)]
            state: Option<&'a RawValue>,
            #[serde(borrow, default)]
            request_id: Option<&'a RawValue>,
            #[serde(borrow, default)]
            is_error: Option<&'a RawValue>,
        }
        let bare: Bare<'a> = serde_json::from_str(text).ok()?;
        let text = |raw: Option<&'a RawValue>| -> Option<Cow<'a, str>> {
            let text: &'a str = raw?.get();
            let read: Option<Word<'a>> = serde_json::from_str(text).ok();
            read.map(|Word(word)| word)
        };
        Some(Frame {
            kind: bare.kind,
            subtype: text(bare.subtype).unwrap_or_default(),
            state: text(bare.state),
            request_id: text(bare.request_id),
            is_error: bare.is_error.is_some_and(|it| it.get() == "true"),
            ..Frame::default()
        })
    }

    /// Whether it is the result of work that was interrupted.
    pub fn aborted(&self) -> bool {
        let why = self.terminal_reason.as_deref();
        matches!(why, Some("aborted_streaming" | "aborted_tools"))
    }

    /// All prompts that it names.
    pub fn prompts(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.user_message_uuids.iter().map(AsRef::as_ref).collect();
        if let Some(one) = self.user_message_uuid.as_deref()
            && !all.contains(&one)
        {
            all.push(one);
        }
        all
    }
}

/// A text that is borrowed inside an `Option` too.
#[derive(Deserialize)]
pub struct Word<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// Where a message or a result comes from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Origin<'a> {
    /// `human`, `task-notification`, ...
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
}

/// Tokens, as the model's API counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read.
    #[serde(deserialize_with = "number")]
    pub input_tokens: u64,
    /// Written.
    #[serde(deserialize_with = "number")]
    pub output_tokens: u64,
    /// Read before.
    #[serde(deserialize_with = "number")]
    pub cache_read_input_tokens: u64,
    /// Kept for later.
    #[serde(deserialize_with = "number")]
    pub cache_creation_input_tokens: u64,
    /// For how long.
    pub cache_creation: Option<Kept>,
}

/// Tokens that are kept for later, by how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// For an hour.
    #[serde(deserialize_with = "number")]
    pub ephemeral_1h_input_tokens: u64,
    /// For five minutes.
    #[serde(deserialize_with = "number")]
    pub ephemeral_5m_input_tokens: u64,
}

/// A count that may be `null`.
fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Option::<u64>::deserialize(from).map(Option::unwrap_or_default)
}

/// An event of the model's API.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event<'a> {
    /// `message_start`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// `message_start`.
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    /// Which block.
    pub index: u64,
    /// `content_block_start`.
    #[serde(borrow)]
    pub content_block: Option<Block<'a>>,
    /// `content_block_delta`.
    #[serde(borrow)]
    pub delta: Option<Delta<'a>>,
    /// `message_delta`.
    pub usage: Option<Usage>,
}

/// What a block grows by.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Delta<'a> {
    /// `text_delta`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// `text_delta`.
    #[serde(borrow)]
    pub text: Cow<'a, str>,
    /// `thinking_delta`.
    #[serde(borrow)]
    pub thinking: Cow<'a, str>,
    /// `input_json_delta`.
    #[serde(borrow)]
    pub partial_json: Cow<'a, str>,
}

/// A message of the model, or of a user.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    /// The API's id; some gateways give none.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// Which model.
    #[serde(borrow)]
    pub model: Text<'a>,
    /// Blocks, or a text.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    /// Tokens.
    pub usage: Option<Usage>,
}

impl<'a> Message<'a> {
    /// Its blocks; a bare text is one.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        let Some(content) = self.content else {
            return Vec::new();
        };
        let raw: &'a str = content.get();
        if let Ok(Word(text)) = serde_json::from_str(raw) {
            return [Block {
                kind: "text".into(),
                text,
                ..Block::default()
            }]
            .into();
        }
        let raws: Vec<&'a RawValue> = serde_json::from_str(raw).unwrap_or_default();
        let read = |raw: &'a RawValue| serde_json::from_str(raw.get()).ok();
        raws.into_iter().filter_map(read).collect()
    }

    /// Its content, where that is a text and nothing else.
    pub fn only_text(&self) -> Option<Cow<'a, str>> {
        let mut blocks = self.blocks();
        let block = blocks.pop()?;
        (blocks.is_empty() && block.kind == "text").then_some(block.text)
    }
}

/// A block of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    /// `text`, `thinking`, `tool_use`, `tool_result`.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// `text`.
    #[serde(borrow)]
    pub text: Cow<'a, str>,
    /// `thinking`.
    #[serde(borrow)]
    pub thinking: Cow<'a, str>,
    /// `tool_use`.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// `tool_use`.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// `tool_use`.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    /// `tool_result`.
    #[serde(borrow)]
    pub tool_use_id: Cow<'a, str>,
    /// `tool_result`.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    /// `tool_result`.
    pub is_error: bool,
}

/// What is said of a tool's result beside it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResultMeta<'a> {
    /// Of which tool use.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Why it did not run.
    #[serde(borrow)]
    pub non_execution_kind: Text<'a>,
    /// What the user said to it.
    #[serde(borrow)]
    pub user_feedback: Option<&'a RawValue>,
}

/// A request, ours or theirs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Request<'a> {
    /// What is asked.
    #[serde(borrow)]
    pub subtype: Cow<'a, str>,
    /// `can_use_tool`.
    #[serde(borrow)]
    pub tool_name: Cow<'a, str>,
    /// `can_use_tool`.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    /// `can_use_tool`.
    #[serde(borrow)]
    pub tool_use_id: Cow<'a, str>,
    /// `can_use_tool`: the subagent that asks.
    #[serde(borrow)]
    pub agent_id: Text<'a>,
    /// `can_use_tool`.
    #[serde(borrow)]
    pub permission_suggestions: Option<&'a RawValue>,
    /// `can_use_tool`.
    #[serde(borrow)]
    pub blocked_path: Text<'a>,
    /// `can_use_tool`.
    #[serde(borrow)]
    pub mcp_server: Option<&'a RawValue>,
    /// `can_use_tool`: the tool for people.
    #[serde(borrow)]
    pub display_name: Text<'a>,
    /// `can_use_tool`: the user's own rule that says so.
    #[serde(borrow)]
    pub matched_ask_rule: Option<&'a RawValue>,
    /// `can_use_tool`: why it is asked.
    #[serde(borrow)]
    pub decision_reason: Text<'a>,
    /// `can_use_tool`.
    pub suppress_always_allow_rule: bool,
    /// `can_use_tool`.
    pub default_to_no: bool,
    /// `request_user_dialog`.
    #[serde(borrow)]
    pub dialog_kind: Text<'a>,
    /// `request_user_dialog`.
    #[serde(borrow)]
    pub payload: Option<&'a RawValue>,
}

/// `elicitation`: an MCP server asks the user.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Elicitation<'a> {
    /// For people.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// `form` or `url`.
    #[serde(borrow)]
    pub mode: Text<'a>,
    /// Of `url`.
    #[serde(borrow)]
    pub url: Text<'a>,
    /// Of `url`.
    #[serde(borrow)]
    pub elicitation_id: Text<'a>,
    /// Of `form`.
    #[serde(borrow)]
    pub requested_schema: Option<&'a RawValue>,
}

/// An answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Response<'a> {
    /// `success` or `error`.
    #[serde(borrow)]
    pub subtype: Cow<'a, str>,
    /// To which request.
    #[serde(borrow)]
    pub request_id: Cow<'a, str>,
    /// What it says.
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
    /// Why not.
    #[serde(borrow)]
    pub error: Text<'a>,
}

/// The answer to an interrupt.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Receipt<'a> {
    /// Prompts that the process still has.
    #[serde(borrow)]
    pub still_queued: Option<Vec<Cow<'a, str>>>,
}

/// Reads a part of a frame; what cannot be read is empty.
pub fn part<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}
