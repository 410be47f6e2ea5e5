//! The durable transcript: pages, fragments of rows, and the rows.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A page of rows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<'a> {
    /// Slices of rows.
    #[serde(borrow, default)]
    pub fragments: Vec<Fragment<'a>>,
    /// For the next page.
    #[serde(borrow, default)]
    pub next_cursor: Option<Cow<'a, str>>,
}

/// A slice of a row.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fragment<'a> {
    /// Durable rows: counted from 0.
    #[serde(default)]
    pub sequence: Option<u64>,
    /// Overlay rows: counted from 0.
    #[serde(default)]
    pub message_index: Option<u64>,
    /// Where the slice begins, bytes.
    pub byte_offset: u64,
    /// Of the whole row, bytes.
    pub total_bytes: u64,
    /// `sha256:<hex>` of the whole row, for rows that the store keeps in chunks.
    #[serde(borrow, default)]
    pub payload_digest: Option<Cow<'a, str>>,
    /// Base64.
    #[serde(borrow)]
    pub data: Cow<'a, str>,
}

/// A stored row; the fields of the kinds that Airlock shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row<'a> {
    /// `user`, `assistant`, `tool_call`, `tool_result`, `turn_state`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Message id, or tool use id.
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    /// Of which turn.
    #[serde(borrow, default)]
    pub turn_id: Cow<'a, str>,
    /// `user`, `assistant`.
    #[serde(borrow, default)]
    pub text: Option<Cow<'a, str>>,
    /// `user`: what people see in place of the text.
    #[serde(borrow, default)]
    pub display_text: Option<Cow<'a, str>>,
    /// `assistant`.
    #[serde(borrow, default)]
    pub thinking: Option<Thinking<'a>>,
    /// `tool_call`.
    #[serde(borrow, default)]
    pub tool_name: Option<Cow<'a, str>>,
    /// `tool_call`.
    #[serde(borrow, default)]
    pub display_name: Option<Cow<'a, str>>,
    /// `tool_call`.
    #[serde(borrow, default)]
    pub activity_kind: Option<Cow<'a, str>>,
    /// `tool_call`.
    #[serde(borrow, default)]
    pub operation_id: Option<Cow<'a, str>>,
    /// `tool_call`.
    #[serde(borrow, default)]
    pub step_id: Option<Cow<'a, str>>,
    /// `tool_call`: the tool use that called it.
    #[serde(borrow, default)]
    pub parent_tool_call_id: Option<Cow<'a, str>>,
    /// `tool_call`.
    #[serde(borrow, default)]
    pub args: Option<&'a RawValue>,
    /// `tool_result`.
    #[serde(borrow, default)]
    pub tool_use_id: Option<Cow<'a, str>>,
    /// `tool_result`.
    #[serde(default)]
    pub is_error: bool,
    /// `tool_result`.
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    /// `tool_result`.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// `turn_state`.
    #[serde(borrow, default)]
    pub status: Option<Cow<'a, str>>,
    /// `turn_state`.
    #[serde(borrow, default)]
    pub error_class: Option<Cow<'a, str>>,
    /// `turn_state`.
    #[serde(borrow, default)]
    pub abort_source: Option<Cow<'a, str>>,
}

/// The thinking of an assistant row.
#[derive(Deserialize)]
pub struct Thinking<'a> {
    /// Whole text.
    #[serde(borrow, default)]
    pub text: Cow<'a, str>,
}
