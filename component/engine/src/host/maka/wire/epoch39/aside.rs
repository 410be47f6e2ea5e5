//! What the Host knows besides the conversation: plans, context, costs, skills.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Result of `plan.query`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plans<'a> {
    /// `page`, or `revision_changed`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// Goes with the cursor.
    #[serde(borrow, default)]
    pub store_version: Option<&'a RawValue>,
    /// The proposal that was made last.
    #[serde(borrow, default)]
    pub latest_proposal_id: Option<Cow<'a, str>>,
    /// The plan that is carried out.
    #[serde(borrow, default)]
    pub active_execution_id: Option<Cow<'a, str>>,
    /// Proposals and executions.
    #[serde(borrow, default)]
    pub items: Vec<PlanItem<'a>>,
    /// For the next page; goes back as it came.
    #[serde(borrow, default)]
    pub next_cursor: Option<&'a RawValue>,
}

/// A proposal or an execution.
#[derive(Deserialize)]
pub struct PlanItem<'a> {
    /// A plan that was proposed.
    #[serde(borrow, default)]
    pub proposal: Option<PlanSteps<'a>>,
    /// A plan that is or was carried out.
    #[serde(borrow, default)]
    pub execution: Option<PlanSteps<'a>>,
}

/// The steps of either.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanSteps<'a> {
    /// Of the proposal.
    #[serde(borrow, default)]
    pub proposal_id: Cow<'a, str>,
    /// Of the execution.
    #[serde(borrow, default)]
    pub execution_id: Cow<'a, str>,
    /// In order.
    #[serde(borrow, default)]
    pub steps: Vec<PlanStep<'a>>,
}

/// One step.
#[derive(Deserialize)]
pub struct PlanStep<'a> {
    /// For people.
    #[serde(borrow, default)]
    pub title: Cow<'a, str>,
    /// Executions: `pending`, `in_progress`, `completed`, `skipped`.
    #[serde(borrow, default)]
    pub status: Cow<'a, str>,
}

/// Result of `context.diagnostics.query`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// Tokens of the last request.
    #[serde(default)]
    pub input_tokens: Option<u64>,
    /// Tokens that the model takes.
    #[serde(default)]
    pub context_window: Option<u64>,
}

/// Result of `usage.query` for a summary.
#[derive(Deserialize)]
pub struct Usage {
    /// Totals.
    pub summary: UsageSummary,
}

/// Totals of a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageSummary {
    /// US dollars.
    #[serde(default)]
    pub total_cost_usd: Option<f64>,
}

/// Result of `skill.catalog.invocable.query`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skills<'a> {
    /// `page`, or `revision_changed`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// Goes with the cursor.
    #[serde(borrow, default)]
    pub revision: Cow<'a, str>,
    /// Skills; what cannot be read as one is left out by whoever reads them.
    #[serde(borrow, default)]
    pub items: Vec<&'a RawValue>,
    /// For the next page; goes back as it came.
    #[serde(borrow, default)]
    pub next_cursor: Option<&'a RawValue>,
}

/// A skill that a prompt may name.
#[derive(Deserialize)]
pub struct Skill<'a> {
    /// What a turn names it by.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// For people.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// What it does.
    #[serde(borrow, default)]
    pub description: Cow<'a, str>,
}

/// What became of the skills that a prompt names.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SkillInvocation<'a> {
    /// Those that could not be loaded; their shape is not told, so they are read leniently.
    #[serde(borrow, default)]
    pub failed: Vec<&'a RawValue>,
}

/// The model's provider does not answer as it should, and the Host tries again.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRetry<'a> {
    /// `scheduled` or `started`.
    #[serde(borrow)]
    pub phase: Cow<'a, str>,
    /// Which attempt.
    pub attempt: u64,
    /// Of how many.
    pub max_attempts: u64,
    /// `scheduled`: until it starts.
    #[serde(default)]
    pub delay_ms: Option<u64>,
    /// `network`, `provider_unavailable`, `rate_limit`, `timeout`, `unknown`, ...
    #[serde(borrow, default)]
    pub reason: Cow<'a, str>,
}
