//! The models that a process offers, and which of them a name means (Claude adapter,
//! section 5).
//!
//! Pure. Invariant: a model is offered once; one that is not offered is shown while it is the
//! current one.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::session::options::Value;

/// The row that leaves the choice to the program.
pub const DEFAULT: &str = "default";

/// Between a model's name and the words about it.
const DOT: &str = " \u{b7} ";

/// A model, as the greeting has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Model {
    /// What it is set by.
    pub value: String,
    /// The model's own id.
    pub resolved_model: Option<String>,
    display_name: String,
    description: String,
    supports_effort: bool,
    supported_effort_levels: Vec<String>,
    supports_auto_mode: bool,
    supports_fast_mode: bool,
}

/// All of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Models(Vec<Model>);

impl Model {
    /// How hard it can be told to think.
    pub fn efforts(&self) -> &[String] {
        if self.supports_effort {
            &self.supported_effort_levels
        } else {
            &[]
        }
    }

    /// Whether it can be faster.
    pub fn fast(&self) -> bool {
        self.supports_fast_mode
    }

    /// Whether it decides on permissions itself.
    pub fn auto(&self) -> bool {
        self.supports_auto_mode
    }

    /// Whether it is set by its own id, and not by a name for it.
    pub fn by_id(&self) -> bool {
        self.value != DEFAULT && self.resolved_model.as_ref() == Some(&self.value)
    }

    fn is(&self, name: &str) -> bool {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        same(&self.value) || self.resolved_model.as_deref().is_some_and(same)
    }
}

impl Models {
    /// As the greeting lists them; where the models of a `gateway` are known, those and the
    /// default one. With `only`, no more than these and the default one; a name there that no
    /// row has is a row of its own: the program knows more than it lists.
    pub fn new(all: Vec<Model>, gateway: &[Model], only: Option<&[String]>) -> Models {
        let mut rows: Vec<Model> = Vec::new();
        for model in all {
            if !model.value.is_empty() && rows.iter().all(|row| row.value != model.value) {
                rows.push(model);
            }
        }
        if !gateway.is_empty() {
            let has = |row: &Model| gateway.iter().any(|model| row.stands_for(&model.value));
            rows.retain(|row| row.value == DEFAULT || has(row));
            for model in gateway {
                let stands = |row: &Model| row.value != DEFAULT && row.stands_for(&model.value);
                if !rows.iter().any(stands) {
                    rows.push(model.clone());
                }
            }
        }
        let Some(only) = only else {
            return Models(rows);
        };
        let named = |row: &Model| only.iter().any(|name| row.is(name) || row.called(name));
        let unknown: Vec<Model> = only
            .iter()
            .filter(|name| !rows.iter().any(|row| row.is(name) || row.called(name)))
            .map(|name| Model {
                value: name.clone(),
                display_name: name.clone(),
                ..Model::default()
            })
            .collect();
        rows.retain(|row| row.value == DEFAULT || named(row));
        rows.extend(unknown);
        Models(rows)
    }

    /// Whether there are none: then there is nothing to choose.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The row that this name means.
    pub fn find(&self, name: &str) -> Option<&Model> {
        let exact = self.0.iter().find(|row| row.value == name);
        exact
            .or_else(|| self.0.iter().find(|row| row.is(name)))
            .or_else(|| self.0.iter().find(|row| row.called(name)))
    }

    /// The row that the default one stands for.
    pub fn default_is(&self) -> Option<&str> {
        let default = self.0.iter().find(|row| row.value == DEFAULT)?;
        let model = plain(default.resolved_model.as_ref()?);
        let same = |row: &&Model| {
            let resolved = row.resolved_model.as_deref().map(plain);
            row.value != DEFAULT && resolved == Some(model)
        };
        self.0.iter().find(same).map(|row| row.value.as_str())
    }

    /// The row of a model that runs: the default one, if that is what it stands for.
    pub fn running(&self, model: &str) -> Option<&Model> {
        self.0.iter().find(|row| row.is(model))
    }

    /// As they are offered; `current` is among them.
    pub fn values(&self, current: &str) -> Vec<Value> {
        let mut values: Vec<Value> = self.0.iter().map(|row| self.shown(row)).collect();
        if values.iter().all(|value| value.id != current) {
            values.push(Value {
                id: current.to_owned(),
                name: current.to_owned(),
                about: None,
            });
        }
        values
    }

    fn shown(&self, row: &Model) -> Value {
        let about = if row.value == DEFAULT {
            self.behind(row).unwrap_or(&row.description)
        } else {
            &row.description
        };
        Value {
            id: row.value.clone(),
            name: row.name().to_string(),
            about: Some(about.to_owned()).filter(|about| !about.is_empty()),
        }
    }

    /// The name of the model that the default row stands for.
    fn behind(&self, row: &Model) -> Option<&str> {
        let resolved = row.resolved_model.as_ref()?;
        let same =
            |it: &&Model| it.value != DEFAULT && it.resolved_model.as_ref() == Some(resolved);
        let found = self.0.iter().find(same)?;
        Some(&found.display_name)
    }
}

/// A model's id, whatever the size of its context.
fn plain(id: &str) -> &str {
    id.trim_end_matches("[1m]").trim_end_matches("-1m")
}

impl Model {
    /// Whether this id is its own.
    fn stands_for(&self, id: &str) -> bool {
        let own = self.resolved_model.as_deref().unwrap_or(&self.value);
        plain(own) == plain(id)
    }

    /// With its version, where the words about it begin with that.
    pub(super) fn name(&self) -> &str {
        let first = self.description.split(DOT).next().unwrap_or_default();
        let rest = first.strip_prefix(self.display_name.as_str());
        match rest {
            Some(rest) if rest.starts_with(' ') && self.description.contains(DOT) => first,
            _ if self.display_name.is_empty() => &self.value,
            _ => &self.display_name,
        }
    }

    fn called(&self, name: &str) -> bool {
        self.display_name.eq_ignore_ascii_case(name) || self.name().eq_ignore_ascii_case(name)
    }
}
