//! What Claude Code writes into a session's file, one JSON object a line
//! (`docs/claude-transcripts.md`). The only place that knows the names of its fields.
//!
//! Everything is borrowed from the line. Invariant: an unknown field or kind spoils nothing.

use alloc::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::wire::{Message, part};

type Text<'a> = Option<Cow<'a, str>>;

/// A row: the fields of all kinds together.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Row<'a> {
    /// What it is: `user`, `assistant`, `system`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// `system`.
    #[serde(borrow)]
    pub subtype: Text<'a>,
    /// Of a prompt also the message's.
    #[serde(borrow)]
    pub uuid: Text<'a>,
    /// It is a subagent's.
    pub is_sidechain: bool,
    /// The program wrote it to the model.
    pub is_meta: bool,
    /// It stands for what was before it.
    pub is_compact_summary: bool,
    /// `user`, `assistant`.
    #[serde(borrow)]
    pub message: Option<&'a RawValue>,
    /// `attachment`: what it is.
    #[serde(borrow)]
    attachment: Option<&'a RawValue>,
    /// What the user said while a turn ran: it has a row of another kind, and is read as one
    /// of `user`.
    #[serde(skip)]
    queued: Option<Queued<'a>>,
    /// `user` with the result of a tool: for programs.
    #[serde(borrow)]
    pub tool_use_result: Option<&'a RawValue>,
    /// `user`: where it comes from.
    #[serde(borrow)]
    pub origin: Option<&'a RawValue>,
    /// When it was written.
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    /// The row that it is a copy of.
    #[serde(borrow)]
    pub forked_from: Option<&'a RawValue>,
    /// The working folder.
    #[serde(borrow)]
    pub cwd: Text<'a>,
    /// `system`: the context was made smaller, and what that was worth.
    #[serde(borrow)]
    pub compact_metadata: Option<&'a RawValue>,
    /// `user`: how permissions were asked for then.
    #[serde(borrow)]
    pub permission_mode: Text<'a>,
    /// `custom-title`: the user named the session.
    #[serde(borrow)]
    pub custom_title: Text<'a>,
    /// `ai-title`: the model named it.
    #[serde(borrow)]
    pub ai_title: Text<'a>,
    /// `summary`, of older versions.
    #[serde(borrow)]
    pub summary: Text<'a>,
    /// `last-prompt`.
    #[serde(borrow)]
    pub last_prompt: Text<'a>,
}

impl<'a> Row<'a> {
    /// Reads a line; `None` if it is damaged.
    pub fn read(line: &'a [u8]) -> Option<Row<'a>> {
        let text = core::str::from_utf8(line).ok()?;
        // serde would read an array into a structure, field by field.
        if !text.trim_start().starts_with('{') {
            return None;
        }
        let row: Row<'a> = serde_json::from_str(text).ok()?;
        Some(row.unqueued())
    }

    /// What is said in it.
    pub fn message(&self) -> Message<'a> {
        match &self.queued {
            Some(queued) => Message {
                content: queued.prompt,
                ..Message::default()
            },
            None => part(self.message),
        }
    }

    /// The id of a prompt, as it was sent.
    pub fn prompt_id(&self) -> &str {
        let queued = self.queued.as_ref();
        let sent = queued.and_then(|it| it.source_uuid.as_deref());
        sent.or(self.uuid.as_deref()).unwrap_or_default()
    }

    /// As a row of `user`, if it is a prompt that waited for a turn.
    fn unqueued(mut self) -> Row<'a> {
        if self.kind != "attachment" {
            return self;
        }
        let queued: Queued<'a> = part(self.attachment);
        if queued.kind == "queued_command" && queued.command_mode.as_deref() == Some("prompt") {
            self.kind = "user".into();
            self.origin = queued.origin;
            self.is_meta |= queued.is_meta;
            self.queued = Some(queued);
        }
        self
    }
}

/// An attachment that is a prompt, or what else waited for a turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Queued<'a> {
    /// `queued_command`.
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    /// A text, or blocks.
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    /// The message's id, as it was sent: the row has another one.
    #[serde(borrow)]
    source_uuid: Text<'a>,
    /// `prompt`, `task-notification`, ...
    #[serde(borrow, rename = "commandMode")]
    command_mode: Text<'a>,
    /// Where it comes from.
    #[serde(borrow)]
    origin: Option<&'a RawValue>,
    /// The program or somebody else wrote it, to the model.
    #[serde(rename = "isMeta")]
    is_meta: bool,
}

/// What a tool's structured result may say of a subagent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OfAgent<'a> {
    /// Its id, as it stands in the name of its file.
    #[serde(borrow)]
    pub agent_id: Text<'a>,
}

/// Where a row of a fork comes from.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct From<'a> {
    /// The session.
    #[serde(borrow)]
    pub session_id: Text<'a>,
}

/// A picture in a prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Picture<'a> {
    /// Where it is.
    #[serde(borrow)]
    pub source: Source<'a>,
}

/// Where a picture is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Source<'a> {
    /// `image/png`, ...
    #[serde(borrow)]
    pub media_type: Text<'a>,
    /// Base64.
    #[serde(borrow)]
    pub data: Text<'a>,
}

/// Who an assistant message is by.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct By<'a> {
    /// The model, or `<synthetic>` where the program itself speaks.
    #[serde(borrow)]
    pub model: Text<'a>,
}
