//! What can be set, looked at again: when settings were changed outside, when a gateway says
//! which models it has, and when a fresh process takes the place of another one.
//!
//! Pure. Invariant: what is chosen stays chosen; only what is offered changes.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::super::environment::Environment;
use super::super::models::{DEFAULT, Models};
use super::super::modes::Modes;
use super::super::settings::Settings;
use super::{Change, Panel};

impl Panel {
    /// The settings are these now. Whether the editor is offered something else.
    pub fn settings_are(&mut self, settings: &Settings<'_>, environment: &Environment) -> bool {
        let before = self.options();
        self.only = settings.models().or_else(|| environment.models());
        self.models_are(environment);
        self.modes = Modes::new(settings, environment);
        self.clears = settings.clears();
        self.options() != before
    }

    /// The gateway has other models. Whether the editor is offered something else.
    pub fn gateway_is(&mut self, environment: &Environment) -> bool {
        let before = self.options();
        self.models_are(environment);
        self.options() != before
    }

    fn models_are(&mut self, environment: &Environment) {
        let all = self.all.clone();
        self.models = Models::new(all, environment.gateway(), self.only.as_deref());
    }

    /// Whether the model of before is there, where it is one that is offered at all.
    fn has_still(&self, before: &Panel) -> bool {
        let known = |panel: &Panel| panel.models.find(&before.model).is_some();
        known(self) || !known(before)
    }

    /// What a fresh process has to be told so that all but the mode is as before.
    pub fn as_before(&mut self, before: &Panel) -> Vec<Change> {
        let chosen = |id: &str| Some(id.to_owned()).filter(|id| id != DEFAULT);
        let changes = [
            (self.model != before.model && self.has_still(before))
                .then(|| Change::Model(before.model.clone())),
            (self.effort != before.effort).then(|| Change::Effort(chosen(&before.effort))),
            (self.fast != before.fast).then_some(Change::Fast(before.fast)),
            (before.ultracode.filter(|on| self.ultracode != Some(*on))).map(Change::Ultracode),
            (self.agent != before.agent).then(|| Change::Agent(chosen(&before.agent))),
        ];
        let changes: Vec<Change> = changes.into_iter().flatten().collect();
        for change in &changes {
            let _fits_as_before = self.made(change.clone());
        }
        changes
    }
}
