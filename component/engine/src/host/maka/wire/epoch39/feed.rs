//! Subscriptions: what opening one gives, and what its frames carry.

use alloc::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Interactions, Page, ProviderRetry};

/// A message grew.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta<'a> {
    /// `text` or `thinking`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// Of which turn.
    #[serde(borrow)]
    pub turn_id: Cow<'a, str>,
    /// Of which run.
    #[serde(borrow)]
    pub run_id: Cow<'a, str>,
    /// Id of the later durable row.
    #[serde(borrow)]
    pub message_id: Cow<'a, str>,
    /// UTF-16 units.
    pub start_offset: u64,
    /// At most 16 KiB.
    #[serde(borrow)]
    pub text: Cow<'a, str>,
    /// Starts the message anew.
    #[serde(default)]
    pub reset: bool,
    /// The end of the message.
    #[serde(default)]
    pub complete: bool,
}

/// A tool event; the fields of all kinds together.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event<'a> {
    /// `tool_start`, `tool_output_delta`, `tool_progress`, `tool_result`,
    /// `tool_result_preview`, or one that Airlock does not show.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Of which turn.
    #[serde(borrow, default)]
    pub turn_id: Cow<'a, str>,
    /// Of which tool.
    #[serde(borrow, default)]
    pub tool_use_id: Cow<'a, str>,
    /// `tool_start`.
    #[serde(borrow, default)]
    pub tool_name: Option<Cow<'a, str>>,
    /// `tool_start`.
    #[serde(borrow, default)]
    pub display_name: Option<Cow<'a, str>>,
    /// `tool_start`.
    #[serde(borrow, default)]
    pub activity_kind: Option<Cow<'a, str>>,
    /// `tool_start`, `tool_result`.
    #[serde(borrow, default)]
    pub operation_id: Option<Cow<'a, str>>,
    /// `tool_start`: the message that called the tool.
    #[serde(borrow, default)]
    pub step_id: Option<Cow<'a, str>>,
    /// `tool_output_delta`: from 1.
    #[serde(default)]
    pub seq: Option<u64>,
    /// `tool_output_delta`: `stdout` or `stderr`.
    #[serde(borrow, default)]
    pub stream: Option<Cow<'a, str>>,
    /// `tool_output_delta`: text; `tool_progress`: text, or `{kind, text}`.
    #[serde(borrow, default)]
    pub chunk: Option<&'a RawValue>,
    /// `tool_output_delta`.
    #[serde(default)]
    pub redacted: bool,
    /// `tool_result`: `completed` or `errored`.
    #[serde(borrow, default)]
    pub status: Option<Cow<'a, str>>,
    /// `tool_result`.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// `tool_result_preview`.
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
}

/// The state of a session, whole.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot<'a> {
    /// Rises strictly within a subscription.
    pub projection_revision: u64,
    /// The session's own record.
    #[serde(default)]
    pub session: Record,
    /// The current or last turn.
    #[serde(borrow, default)]
    pub root_turn: Option<Turn<'a>>,
    /// Questions to the user.
    #[serde(borrow, default)]
    pub interactions: Interactions<'a>,
}

/// What a snapshot says of the session's record.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The revision of its item in the catalog; a turn changes it many times.
    #[serde(default)]
    pub metadata_revision: u64,
}

/// A turn, live or ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn<'a> {
    /// Chosen by the client.
    #[serde(borrow)]
    pub turn_id: Cow<'a, str>,
    /// Chosen by the Host.
    #[serde(borrow)]
    pub run_id: Cow<'a, str>,
    /// Live: `admitted`, `created`, `running`, `waiting_for_user`; else `completed`,
    /// `failed`, `cancelled`.
    #[serde(borrow)]
    pub status: Cow<'a, str>,
    /// Live: the Host tries the model again.
    #[serde(borrow, default)]
    pub provider_retry: Option<ProviderRetry<'a>>,
    /// `failed`.
    #[serde(borrow, default)]
    pub failure_class: Option<Cow<'a, str>>,
    /// `failed`.
    #[serde(borrow, default)]
    pub failure_message: Option<Cow<'a, str>>,
    /// `cancelled`.
    #[serde(borrow, default)]
    pub abort_source: Option<Cow<'a, str>>,
}

/// Result of `subscription.open`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened<'a> {
    /// Which Host process.
    #[serde(borrow)]
    pub host_epoch: Cow<'a, str>,
    /// The feed.
    #[serde(borrow)]
    pub subscription_id: Cow<'a, str>,
    /// Sequence of the first frame.
    pub next_sequence: u64,
    /// The state.
    #[serde(borrow)]
    pub snapshot: Snapshot<'a>,
    /// The tail of the transcript.
    #[serde(borrow, default)]
    pub transcript: Option<Bootstrap<'a>>,
}

/// The tail of the transcript.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap<'a> {
    /// The watermark.
    #[serde(default)]
    pub through_sequence: Option<u64>,
    /// Rows of the active turn that are not durable yet.
    #[serde(default)]
    pub overlay_message_count: u64,
    /// Their first page, newest first.
    #[serde(borrow, default)]
    pub overlay: Option<Page<'a>>,
}
