//! Compatibility epoch 39: every name of the wire that Airlock uses, and nothing else.
//!
//! Frames are borrowed from the line. Unknown fields are ignored: the Host is trusted to
//! speak its own epoch, and what it adds does no harm.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// This epoch's number. Both sides must have the same.
pub const EPOCH: u64 = 39;
/// The only protocol version there is.
pub const PROTOCOL: u64 = 0;
/// The only composition that Airlock speaks to.
pub const COMPOSITION: &str = "maka.interactive";

/// The first frame of a client.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello<'a> {
    /// `hello`.
    pub kind: &'a str,
    /// Random, one a process.
    pub client_instance_id: &'a str,
    /// Lowest protocol version.
    pub protocol_min: u64,
    /// Highest protocol version.
    pub protocol_max: u64,
    /// [`EPOCH`].
    pub compatibility_epoch: u64,
    /// [`COMPOSITION`].
    pub composition_id: &'a str,
}

/// An answer to `hello`: `accepted`, `incompatible` or `draining`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greeting<'a> {
    /// Which of the three.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// State root of the Host.
    #[serde(borrow, default)]
    pub root_id: Option<Cow<'a, str>>,
    /// New with every Host process.
    #[serde(borrow, default)]
    pub host_epoch: Cow<'a, str>,
    /// The Host's epoch.
    #[serde(default)]
    pub compatibility_epoch: u64,
    /// The Host's composition.
    #[serde(borrow, default)]
    pub composition_id: Cow<'a, str>,
    /// `starting`, `containing`, `recovering`, `ready`, `draining`.
    #[serde(borrow, default)]
    pub state: Cow<'a, str>,
}

/// A request: exactly these three keys.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request<'a, T: Serialize> {
    /// Chosen by us, unique while in flight.
    pub request_id: &'a str,
    /// [`op`].
    pub operation: &'a str,
    /// Its input.
    pub input: T,
}

/// Any frame of the Host after the greeting, as far as it can be told at a glance. Texts
/// that are absent are empty: only a plain `Cow` is borrowed by serde, not one inside an
/// `Option`, and this is the hottest type of the engine.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frame<'a> {
    /// Notifications and subscription frames.
    #[serde(borrow, default)]
    pub kind: Cow<'a, str>,
    /// Answers.
    #[serde(borrow, default)]
    pub request_id: Cow<'a, str>,
    /// Answers: what was asked.
    #[serde(borrow, default)]
    pub operation: Cow<'a, str>,
    /// Answers: whether there is a result.
    #[serde(default)]
    pub ok: bool,
    /// Answers.
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    /// Answers.
    #[serde(borrow, default)]
    pub error: Option<OperationError<'a>>,
    /// Subscription frames.
    #[serde(borrow, default)]
    pub host_epoch: Cow<'a, str>,
    /// Subscription frames.
    #[serde(borrow, default)]
    pub subscription_id: Cow<'a, str>,
    /// Subscription frames: from 1, without a gap.
    #[serde(default)]
    pub sequence: u64,
    /// Many.
    #[serde(borrow, default)]
    pub session_id: Cow<'a, str>,
    /// `subscription.session_projection`.
    #[serde(borrow, default)]
    pub snapshot: Option<&'a RawValue>,
    /// `subscription.session_delta`.
    #[serde(borrow, default)]
    pub delta: Option<Delta<'a>>,
    /// `subscription.session_event`.
    #[serde(borrow, default)]
    pub event: Option<&'a RawValue>,
    /// `subscription.transcript_advanced`.
    #[serde(default)]
    pub through_sequence: u64,
    /// `subscription.closed`.
    #[serde(borrow, default)]
    pub reason: Cow<'a, str>,
}

/// Names of the frames without a request.
pub mod kind {
    /// The whole snapshot, anew.
    pub const PROJECTION: &str = "subscription.session_projection";
    /// A message grew.
    pub const DELTA: &str = "subscription.session_delta";
    /// Something about a tool.
    pub const EVENT: &str = "subscription.session_event";
    /// Rows became durable.
    pub const ADVANCED: &str = "subscription.transcript_advanced";
    /// The last frame of a subscription.
    pub const CLOSED: &str = "subscription.closed";
    /// A session of the catalog changed.
    pub const CATALOG_CHANGED: &str = "session.catalog.changed";
}

/// Names of the operations.
pub mod op {
    /// Is it alive?
    pub const STATUS: &str = "host.status";
    /// Make a session.
    pub const CREATE: &str = "session.create";
    /// List sessions, or get one.
    pub const CATALOG: &str = "session.catalog.query";
    /// List models.
    pub const MODELS: &str = "connection.catalog.query";
    /// Open a feed.
    pub const OPEN: &str = "subscription.open";
    /// Close a feed.
    pub const CLOSE: &str = "subscription.close";
    /// Read durable or overlay rows.
    pub const PAGE: &str = "session.transcript.page";
    /// Let the Host forget an overlay.
    pub const RELEASE: &str = "session.transcript.overlay.release";
    /// Start a turn.
    pub const START: &str = "turn.start";
    /// What became of a turn?
    pub const QUERY: &str = "turn.query";
    /// Stop a turn.
    pub const STOP: &str = "turn.stop";
}

/// An error answer of an operation.
#[derive(Clone, Debug, Deserialize)]
pub struct OperationError<'a> {
    /// One of the operation's declared codes.
    #[serde(borrow)]
    pub code: Cow<'a, str>,
    /// 1 to 1024 characters.
    #[serde(borrow, default)]
    pub message: Cow<'a, str>,
}

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
    /// The current or last turn.
    #[serde(borrow, default)]
    pub root_turn: Option<Turn<'a>>,
    /// Questions to the user.
    #[serde(borrow, default)]
    pub interactions: Interactions<'a>,
}

/// Questions to the user.
#[derive(Default, Deserialize)]
pub struct Interactions<'a> {
    /// At most 16.
    #[serde(borrow, default)]
    pub pending: Vec<Interaction<'a>>,
}

/// A question to the user.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interaction<'a> {
    /// Its id.
    #[serde(borrow)]
    pub interaction_id: Cow<'a, str>,
    /// Of which turn.
    #[serde(borrow)]
    pub turn_id: Cow<'a, str>,
    /// What is asked.
    #[serde(borrow)]
    pub request: InteractionRequest<'a>,
}

/// What is asked.
#[derive(Deserialize)]
pub struct InteractionRequest<'a> {
    /// `permission`, `question`, `form`, `sandbox_boundary`, `client_capability`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
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
    /// `assistant`.
    #[serde(borrow, default)]
    pub text: Option<Cow<'a, str>>,
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

/// Result of `turn.start`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started<'a> {
    /// `started` or `blocked`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// `started`.
    #[serde(borrow, default)]
    pub turn: Option<Turn<'a>>,
}

/// Result of `session.catalog.query`, all kinds together.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Catalog<'a> {
    /// `page`, `revision_changed`, `session`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// `page`: `sha256:<hex>`.
    #[serde(borrow, default)]
    pub revision: Option<Cow<'a, str>>,
    /// `page`.
    #[serde(borrow, default)]
    pub sessions: Vec<CatalogItem<'a>>,
    /// `page`.
    #[serde(borrow, default)]
    pub next_cursor: Option<Cow<'a, str>>,
    /// `session`.
    #[serde(borrow, default)]
    pub session: Option<CatalogItem<'a>>,
}

/// A session of the catalog.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogItem<'a> {
    /// `unsupported_legacy_record`, else absent.
    #[serde(borrow, default)]
    pub kind: Option<Cow<'a, str>>,
    /// Session id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Where it works.
    #[serde(borrow, default)]
    pub workspace: Option<Workspace<'a>>,
    /// Name for people.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub last_used_at: Option<i64>,
    /// Model id.
    #[serde(borrow, default)]
    pub model: Option<Cow<'a, str>>,
    /// Which connection the model is reached through.
    #[serde(borrow, default)]
    pub llm_connection_slug: Option<Cow<'a, str>>,
    /// A subagent's session, which is not for the user to open.
    #[serde(borrow, default)]
    pub subagent: Option<&'a RawValue>,
}

/// Where a session works.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workspace<'a> {
    /// Absolute path on the Host's machine.
    #[serde(borrow)]
    pub host_cwd: Cow<'a, str>,
}

/// Result of `connection.catalog.query`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Models<'a> {
    /// `page` or `revision_changed`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// Of the whole catalog.
    #[serde(default)]
    pub revision: u64,
    /// Connections, enabled model ids, models.
    #[serde(borrow, default)]
    pub items: Vec<ModelItem<'a>>,
    /// For the next page, as it is.
    #[serde(borrow, default)]
    pub next_cursor: Option<&'a RawValue>,
}

/// An item of the connection catalog.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelItem<'a> {
    /// `connection`, `enabled_model_id`, `model`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// `connection`.
    #[serde(borrow, default)]
    pub slug: Option<Cow<'a, str>>,
    /// `connection`.
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
}

/// Result of `host.status`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status<'a> {
    /// Which Host process.
    #[serde(borrow)]
    pub host_epoch: Cow<'a, str>,
    /// As in the greeting.
    #[serde(borrow)]
    pub state: Cow<'a, str>,
}

/// Whether an entity id can be sent: the Host closes the connection on any other.
pub fn entity_id(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Whether a turn of this status still goes on.
pub fn live(status: &str) -> bool {
    !matches!(status, "completed" | "failed" | "cancelled")
}

/// Encodes a request frame.
pub fn request<T: Serialize>(request_id: &str, operation: &str, input: T) -> Vec<u8> {
    // Strings and numbers only: serialising them cannot fail.
    serde_json::to_vec(&Request {
        request_id,
        operation,
        input,
    })
    .unwrap_or_default()
}

/// Encodes the first frame.
pub fn hello(client_instance_id: &str) -> Vec<u8> {
    serde_json::to_vec(&Hello {
        kind: "hello",
        client_instance_id,
        protocol_min: PROTOCOL,
        protocol_max: PROTOCOL,
        compatibility_epoch: EPOCH,
        composition_id: COMPOSITION,
    })
    .unwrap_or_default()
}
