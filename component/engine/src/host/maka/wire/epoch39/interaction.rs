//! Questions of the Host to the user. This epoch has no forms.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Questions to the user.
#[derive(Default, Deserialize)]
pub struct Interactions<'a> {
    /// At most 16.
    #[serde(borrow, default)]
    pub pending: Vec<Interaction<'a>>,
}

/// A question to the user, pending or resolved: also the result of `interaction.query` and
/// `interaction.answer`.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interaction<'a> {
    /// Its id.
    #[serde(borrow)]
    pub interaction_id: Cow<'a, str>,
    /// Of which session.
    #[serde(borrow, default)]
    pub session_id: Option<Cow<'a, str>>,
    /// Of which turn.
    #[serde(borrow)]
    pub turn_id: Cow<'a, str>,
    /// Of which run.
    #[serde(borrow)]
    pub run_id: Cow<'a, str>,
    /// What is asked: one of [`kind`](interaction_kind), told by its `kind`.
    #[serde(borrow)]
    pub request: &'a RawValue,
    /// `pending`, `answered`, `closed`.
    #[serde(borrow)]
    pub status: Cow<'a, str>,
    /// How it was resolved.
    #[serde(borrow, default)]
    pub outcome: Option<InteractionOutcome<'a>>,
}

/// Names of what is asked.
pub mod interaction_kind {
    /// May a tool run?
    pub const PERMISSION: &str = "permission";
    /// Up to three questions.
    pub const QUESTION: &str = "question";
    /// May the sandbox become wider?
    pub const SANDBOX_BOUNDARY: &str = "sandbox_boundary";
    /// May a client's capability be used?
    pub const CLIENT_CAPABILITY: &str = "client_capability";
}

/// The part of every request that says what it is.
#[derive(Deserialize)]
pub struct InteractionKind<'a> {
    /// One of [`interaction_kind`].
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
}

/// `permission`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permission<'a> {
    /// Of which tool.
    #[serde(borrow)]
    pub tool_use_id: Cow<'a, str>,
    /// All of it; see [`PermissionPrompt`].
    #[serde(borrow)]
    pub prompt: &'a RawValue,
}

/// What of a permission's prompt is understood.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionPrompt<'a> {
    /// `tool_permission`, `sandbox_escalation`, `additional_permissions`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// The tool's name.
    #[serde(borrow)]
    pub tool_name: Cow<'a, str>,
    /// `tool_permission`: the answer may hold for the rest of the turn.
    pub remember_for_turn_allowed: bool,
}

/// `question`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Questions<'a> {
    /// Of which tool.
    #[serde(borrow)]
    pub tool_use_id: Cow<'a, str>,
    /// One to three.
    #[serde(borrow)]
    pub questions: Vec<Question<'a>>,
}

/// One question.
#[derive(Deserialize)]
pub struct Question<'a> {
    /// The question.
    #[serde(borrow)]
    pub question: Cow<'a, str>,
    /// Two or three suggestions.
    #[serde(borrow, default)]
    pub options: Vec<QuestionOption<'a>>,
}

/// A suggested answer.
#[derive(Deserialize)]
pub struct QuestionOption<'a> {
    /// The answer.
    #[serde(borrow)]
    pub label: Cow<'a, str>,
    /// More about it.
    #[serde(borrow, default)]
    pub description: Option<Cow<'a, str>>,
}

/// `sandbox_boundary`; it names no tool.
#[derive(Deserialize)]
pub struct SandboxBoundary<'a> {
    /// Files and network.
    #[serde(borrow)]
    pub expansion: &'a RawValue,
    /// Why, in the model's words.
    #[serde(borrow, default)]
    pub justification: Cow<'a, str>,
}

/// `client_capability`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapability<'a> {
    /// Of which tool.
    #[serde(borrow)]
    pub tool_use_id: Cow<'a, str>,
    /// What exactly.
    #[serde(borrow)]
    pub target: &'a RawValue,
}

/// How a question was resolved; the fields of all kinds together.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InteractionOutcome<'a> {
    /// Closures: why.
    #[serde(borrow)]
    pub reason: Option<Cow<'a, str>>,
    /// `allow` or `deny`.
    #[serde(borrow)]
    pub decision: Option<Cow<'a, str>>,
    /// Forms: `accept`, `decline`, `cancel`.
    #[serde(borrow)]
    pub action: Option<Cow<'a, str>>,
    /// Boundaries: `approved`, `denied`, `conflict`.
    #[serde(borrow)]
    pub status: Option<Cow<'a, str>>,
}
