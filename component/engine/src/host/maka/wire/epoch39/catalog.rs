//! Sessions and models, as the catalogs tell them.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

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
    /// From 1; rises with every change.
    #[serde(default)]
    pub revision: u64,
    /// Where it works.
    #[serde(borrow, default)]
    pub workspace: Option<Workspace<'a>>,
    /// Name for people.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// Put away: it cannot be used.
    #[serde(default)]
    pub is_archived: bool,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub last_used_at: Option<i64>,
    /// Model id.
    #[serde(borrow, default)]
    pub model: Option<Cow<'a, str>>,
    /// Which connection the model is reached through.
    #[serde(borrow, default)]
    pub llm_connection_slug: Option<Cow<'a, str>>,
    /// `explore`, `ask`, `bypass`.
    #[serde(borrow, default)]
    pub permission_mode: Option<Cow<'a, str>>,
    /// Absent: the model's own.
    #[serde(borrow, default)]
    pub thinking_level: Option<Cow<'a, str>>,
    /// `agent`, `plan`.
    #[serde(borrow, default)]
    pub collaboration_mode: Option<Cow<'a, str>>,
    /// `default`, `swarm`, `graph`.
    #[serde(borrow, default)]
    pub orchestration_mode: Option<Cow<'a, str>>,
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
    /// All: which connection it belongs to.
    #[serde(default)]
    pub connection_index: u64,
    /// `connection`: whether its models can be chosen.
    #[serde(default)]
    pub enabled: bool,
    /// `connection`.
    #[serde(borrow, default)]
    pub slug: Option<Cow<'a, str>>,
    /// `connection`.
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
    /// `enabled_model_id`.
    #[serde(borrow, default)]
    pub model_id: Option<Cow<'a, str>>,
    /// `enabled_model_id`: what the user declared of it.
    #[serde(borrow, default)]
    pub relay_profile: Option<RelayProfile<'a>>,
    /// `model`.
    #[serde(borrow, default)]
    pub model: Option<Model<'a>>,
}

/// What the user declared of a model.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelayProfile<'a> {
    /// The thinking levels that it has.
    #[serde(borrow, default)]
    pub thinking_levels: Option<Vec<Cow<'a, str>>>,
}

/// A model that the provider lists.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model<'a> {
    /// As `enabled_model_id` names it.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// Name for people.
    #[serde(borrow, default)]
    pub display_name: Option<Cow<'a, str>>,
}
