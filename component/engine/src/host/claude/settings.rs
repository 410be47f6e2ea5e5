//! What the process says of its settings (`get_settings`, Claude adapter, Part 2.2), as far
//! as it matters here.
//!
//! Pure; everything is borrowed. Invariant: a setting that cannot be read is as if it were
//! not there.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::modes;
use super::wire::part;

/// The answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Settings<'a> {
    #[serde(borrow)]
    effective: Option<&'a RawValue>,
    #[serde(borrow)]
    sources: Option<&'a RawValue>,
    #[serde(borrow)]
    applied: Option<&'a RawValue>,
}

/// What the session runs with.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Applied {
    /// The model's own id.
    pub model: Option<String>,
    /// Whether Claude was told to plan and split its work.
    pub ultracode_requested: bool,
    /// Whether it can be.
    pub ultracode_available: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    #[serde(borrow)]
    source: Cow<'a, str>,
    #[serde(borrow)]
    settings: Option<&'a RawValue>,
}

/// Any file's settings, or all of them together.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Values<'a> {
    #[serde(borrow)]
    permissions: Option<&'a RawValue>,
    #[serde(borrow)]
    effort_level: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    available_models: Option<&'a RawValue>,
    #[serde(borrow)]
    agent: Option<&'a RawValue>,
    #[serde(borrow)]
    show_clear_context_on_plan_accept: Option<&'a RawValue>,
    #[serde(borrow)]
    disable_auto_mode: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Permissions<'a> {
    #[serde(borrow)]
    default_mode: Option<&'a RawValue>,
    #[serde(borrow)]
    disable_bypass_permissions_mode: Option<&'a RawValue>,
    #[serde(borrow)]
    disable_auto_mode: Option<&'a RawValue>,
}

impl<'a> Settings<'a> {
    /// What the session runs with.
    pub fn applied(&self) -> Applied {
        part(self.applied)
    }

    /// How hard Claude is told to think.
    pub fn effort(&self) -> Option<String> {
        text(self.values().effort_level)
    }

    /// The model that somebody chose.
    pub fn model(&self) -> Option<String> {
        text(self.values().model)
    }

    /// The agent that somebody chose.
    pub fn agent(&self) -> Option<String> {
        text(self.values().agent)
    }

    /// The models that may be chosen, if not all.
    pub fn models(&self) -> Option<Vec<String>> {
        let raw = self.values().available_models?;
        serde_json::from_str(raw.get()).ok()
    }

    /// Whether the user wants to be asked if the context is to begin anew with a plan.
    pub fn clears(&self) -> bool {
        let asked = self.values().show_clear_context_on_plan_accept;
        asked.is_some_and(|raw| raw.get() == "true")
    }

    /// Whether Claude may not decide on permissions.
    pub fn no_auto(&self) -> bool {
        let values = self.values();
        let permissions: Permissions<'_> = part(values.permissions);
        disabled(values.disable_auto_mode) || disabled(permissions.disable_auto_mode)
    }

    /// Whether nobody may turn permissions off.
    pub fn no_bypass(&self) -> bool {
        let permissions: Permissions<'_> = part(self.values().permissions);
        disabled(permissions.disable_bypass_permissions_mode)
    }

    /// The first mode that somebody chose. Where a project's own files would let it do more,
    /// they do not count: who checks a project out has not chosen that.
    pub fn mode(&self) -> Option<String> {
        let effective: Permissions<'_> = part(self.values().permissions);
        let wanted = text(effective.default_mode);
        let sources: Vec<Source<'a>> = part(self.sources);
        let mut trusted = None;
        let mut refused = false;
        for source in &sources {
            let values: Values<'_> = part(source.settings);
            let permissions: Permissions<'_> = part(values.permissions);
            let Some(mode) = text(permissions.default_mode) else {
                continue;
            };
            let escalates = modes::named(&mode).is_some_and(modes::escalates);
            if escalates && matches!(&*source.source, "project" | "projectSettings") {
                refused |= Some(&mode) == wanted.as_ref();
            } else {
                trusted = Some(mode);
            }
        }
        if refused { trusted } else { wanted }
    }

    fn values(&self) -> Values<'a> {
        part(self.effective)
    }
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    let text: Cow<'_, str> = serde_json::from_str(raw?.get()).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn disabled(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "\"disable\"" || raw.get() == "true")
}
