//! What of a session can be set: from the Host's record to options, and from what an editor
//! wants to the configuration that the Host is sent.
//!
//! Pure. Invariants: a value that is not offered is refused before the Host is asked, except
//! a thinking level that only some models have; what is not changed is sent as it was read.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::host::Failure;
use crate::json::Object;
use crate::object;
use crate::session::options::{By, Category, Choice, Marks, Options, Setting, Value, Wanted};

use super::failure;
use super::models::Catalog;
use super::wire::current as w;

const PERMISSION: &str = "permission_mode";
const MODEL: &str = "model";
const THINKING: &str = "thinking_level";
const COLLABORATION: &str = "collaboration_mode";
const ORCHESTRATION: &str = "orchestration_mode";

/// Stands for no thinking level of the session's own.
const DEFAULT: &str = "default";

/// How a session is set, as the Host's record of it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    slug: String,
    model: String,
    thinking: Option<String>,
    permission: String,
    collaboration: String,
    orchestration: String,
}

/// One thing to be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// What the agent may do without asking.
    Permission(String),
    /// Connection and model.
    Model { slug: String, model: String },
    /// `None`: the model's own.
    Thinking(Option<String>),
    /// Whether it acts or plans.
    Collaboration(String),
    /// Whether other agents help.
    Orchestration(String),
}

impl Configuration {
    /// From a record of the catalog. `None` when it does not say all of it, as records of
    /// older Hosts do not.
    pub fn of(item: &w::CatalogItem<'_>) -> Option<Configuration> {
        if item.kind.is_some() {
            return None;
        }
        Some(Configuration {
            slug: item.llm_connection_slug.as_deref()?.to_string(),
            model: item.model.as_deref()?.to_string(),
            thinking: item.thinking_level.as_deref().map(ToString::to_string),
            permission: item.permission_mode.as_deref()?.to_string(),
            collaboration: item.collaboration_mode.as_deref()?.to_string(),
            orchestration: item.orchestration_mode.as_deref()?.to_string(),
        })
    }

    /// The same with one thing changed.
    #[must_use]
    pub fn with(mut self, change: Change) -> Configuration {
        match change {
            Change::Permission(value) => self.permission = value,
            Change::Model { slug, model } => (self.slug, self.model) = (slug, model),
            Change::Thinking(value) => self.thinking = value,
            Change::Collaboration(value) => self.collaboration = value,
            Change::Orchestration(value) => self.orchestration = value,
        }
        self
    }

    /// As the Host takes it: all five, always.
    pub fn wire(&self) -> Object {
        object! {
            "modelTarget": object! {
                "kind": "explicit", "connectionSlug": self.slug, "model": self.model
            },
            "thinkingLevel": self.thinking,
            "permissionMode": self.permission,
            "collaborationMode": self.collaboration,
            "orchestrationMode": self.orchestration,
        }
    }

    /// As an editor is shown it. The model stands before the thinking level, which is of
    /// the model; else the order is that of Maka's own adapter.
    pub fn options(&self, catalog: Option<&Catalog>) -> Options {
        let other = |id: &str| Category::Other(format!("_maka/{id}"));
        let mut all = alloc::vec![
            choice(
                PERMISSION,
                "Permission mode",
                other(PERMISSION),
                value(&self.permission),
                w::PERMISSION_MODES.map(value).into()
            ),
            choice(
                MODEL,
                "Model",
                Category::Model,
                self.model(catalog),
                catalog.map(models).unwrap_or_default()
            ),
        ];
        let levels = self.levels(catalog);
        if !levels.is_empty() {
            let default = value(DEFAULT);
            all.push(choice(
                THINKING,
                "Thinking level",
                Category::ThoughtLevel,
                value(self.thinking.as_deref().unwrap_or(DEFAULT)),
                core::iter::once(default).chain(levels).collect(),
            ));
        }
        all.push(choice(
            COLLABORATION,
            "Collaboration mode",
            Category::Mode,
            value(&self.collaboration),
            w::COLLABORATION_MODES.map(value).into(),
        ));
        all.push(choice(
            ORCHESTRATION,
            "Orchestration mode",
            other(ORCHESTRATION),
            value(&self.orchestration),
            w::ORCHESTRATION_MODES.map(value).into(),
        ));
        Options(all)
    }

    fn model(&self, catalog: Option<&Catalog>) -> Value {
        let connection = catalog.and_then(|it| it.connection(&self.slug));
        Value {
            id: model_id(&self.slug, &self.model),
            name: self.model.clone(),
            about: connection.map(ToString::to_string),
        }
    }

    /// The thinking levels of the model. This epoch's catalog tells them only where the
    /// user declared them; of the other models all are offered, since the Host takes them.
    fn levels(&self, catalog: Option<&Catalog>) -> Vec<Value> {
        let mut models = catalog.into_iter().flat_map(Catalog::all);
        let found = models.find(|(slug, _, model)| *slug == self.slug && model.id == self.model);
        let declared = found.and_then(|(_, _, model)| model.levels.as_ref());
        let has = |level: &&str| declared.is_none_or(|it| it.iter().any(|known| known == level));
        w::THINKING_LEVELS
            .into_iter()
            .filter(has)
            .map(value)
            .collect()
    }
}

impl Change {
    /// What an editor wants, checked as far as that needs no Host.
    ///
    /// # Errors
    /// When the option or its value is not offered.
    pub fn read(setting: Setting, catalog: Option<&Catalog>) -> Result<(Change, By), Failure> {
        match setting {
            Setting::Option { id, value } => {
                let Wanted::Id(value) = value else {
                    return Err(failure::setting("value"));
                };
                let change = Change::of(&id, value, catalog)?;
                Ok((change.ok_or_else(|| failure::setting("value"))?, By::Option))
            }
            Setting::Mode { value } => {
                let change = Change::of(COLLABORATION, value, catalog)?;
                Ok((change.ok_or_else(|| failure::setting("modeId"))?, By::Mode))
            }
        }
    }

    /// `None` for a value that is not offered.
    fn of(id: &str, value: String, catalog: Option<&Catalog>) -> Result<Option<Change>, Failure> {
        let known = |values: &[&str]| values.contains(&value.as_str());
        Ok(match id {
            PERMISSION => known(&w::PERMISSION_MODES).then_some(Change::Permission(value)),
            THINKING if value == DEFAULT => Some(Change::Thinking(None)),
            THINKING => known(&w::THINKING_LEVELS).then_some(Change::Thinking(Some(value))),
            COLLABORATION => known(&w::COLLABORATION_MODES).then_some(Change::Collaboration(value)),
            ORCHESTRATION => known(&w::ORCHESTRATION_MODES).then_some(Change::Orchestration(value)),
            MODEL => {
                let mut models = catalog.into_iter().flat_map(Catalog::all);
                let found = models.find(|(slug, _, model)| model_id(slug, &model.id) == value);
                found.map(|(slug, _, model)| Change::Model {
                    slug: slug.to_string(),
                    model: model.id.clone(),
                })
            }
            _ => return Err(failure::setting("configId")),
        })
    }
}

/// Every model that can be chosen. Two connections may have the same, so each says where.
fn models(catalog: &Catalog) -> Vec<Value> {
    let of = |(slug, connection, model): (&str, &str, &super::models::Model)| Value {
        id: model_id(slug, &model.id),
        name: model.name.as_ref().unwrap_or(&model.id).clone(),
        about: Some(connection.to_string()),
    };
    catalog.all().map(of).collect()
}

fn model_id(slug: &str, model: &str) -> String {
    format!("{slug}/{model}")
}

/// A current value that is not offered, or not any more, stands first.
fn choice(
    id: &str,
    name: &str,
    category: Category,
    current: Value,
    mut values: Vec<Value>,
) -> Choice {
    let id_of_current = current.id.clone();
    if values.iter().all(|it| it.id != current.id) {
        values.insert(0, current);
    }
    Choice {
        id: id.to_string(),
        name: name.to_string(),
        about: None,
        switch: false,
        category,
        current: id_of_current,
        values,
        marks: Marks::default(),
    }
}

fn value(id: &str) -> Value {
    Value {
        id: id.to_string(),
        name: name(id),
        about: None,
    }
}

/// Words of the wire as people read them; a model's id stays as it is.
fn name(id: &str) -> String {
    if id == "xhigh" {
        return "Extra high".to_string();
    }
    let word = id.bytes().all(|byte| byte.is_ascii_lowercase());
    let mut letters = id.chars();
    match letters.next().filter(|_| word) {
        Some(first) => first.to_ascii_uppercase().to_string() + letters.as_str(),
        None => id.to_string(),
    }
}
