//! Compatibility epoch 39: every name of the wire that Airlock uses, and nothing else.
//!
//! Frames are borrowed from the line. Unknown fields are ignored: the Host is trusted to
//! speak its own epoch, and what it adds does no harm.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

mod artifact;
mod aside;
mod catalog;
mod feed;
mod interaction;
mod options;
mod transcript;

pub use artifact::{Ingested, attachment_of, begin, chunk, content, finish, likeness};
pub use aside::{
    Context, PlanItem, PlanStep, PlanSteps, Plans, ProviderRetry, Skill, SkillInvocation, Skills,
    Usage, UsageSummary,
};
pub use catalog::{Catalog, CatalogItem, Model, ModelItem, Models, RelayProfile, Workspace};
pub use feed::{Bootstrap, Delta, Event, Opened, Record, Snapshot, Turn};
pub use interaction::{
    ClientCapability, Interaction, InteractionKind, InteractionOutcome, Interactions, Permission,
    PermissionPrompt, Question, QuestionOption, Questions, SandboxBoundary, interaction_kind,
};
pub use options::{
    COLLABORATION_MODES, CONFLICT, Changed, ORCHESTRATION_MODES, PERMISSION_MODES, THINKING_LEVELS,
};
pub use transcript::{Fragment, Page, Row, Thinking};

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
    /// `subscription.session_domain_changed`.
    #[serde(borrow, default)]
    pub domain: Cow<'a, str>,
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
    /// Something of the session changed that no frame tells.
    pub const DOMAIN_CHANGED: &str = "subscription.session_domain_changed";
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
    /// Set options of a session.
    pub const CONFIGURE: &str = "session.configuration.update";
    /// Delete a session.
    pub const REMOVE: &str = "session.remove";
    /// List models.
    pub const MODELS: &str = "connection.catalog.query";
    /// List plans.
    pub const PLAN: &str = "plan.query";
    /// How full is the context?
    pub const CONTEXT: &str = "context.diagnostics.query";
    /// What did it cost?
    pub const USAGE: &str = "usage.query";
    /// List what a prompt may name.
    pub const SKILLS: &str = "skill.catalog.invocable.query";
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
    /// How is a question to the user?
    pub const INTERACTION: &str = "interaction.query";
    /// Answer a question to the user.
    pub const ANSWER: &str = "interaction.answer";
    /// Say something to a turn that runs.
    pub const SUBMIT: &str = "turn.message.submit";
    /// Upload an attachment.
    pub const INGEST: &str = "artifact.ingest";
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
    /// What became of the skills that the prompt names.
    #[serde(borrow, default)]
    pub skill_invocation: SkillInvocation<'a>,
}

/// Result of `turn.message.submit`.
#[derive(Deserialize)]
pub struct Submitted<'a> {
    /// `steering`, `followup` or `turn_started`.
    #[serde(borrow)]
    pub disposition: Cow<'a, str>,
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

/// Whether this names a skill: the Host closes the connection on anything else.
pub fn skill_id(id: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric())
            && part
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || "._-".contains(one))
    };
    id.len() <= 512 && id.split(':').all(part)
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
