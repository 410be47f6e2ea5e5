//! How a session asks for permissions: the modes, which of them are offered, and which is the
//! first (Claude adapter, sections 4 and 5).
//!
//! Pure. Invariants: a mode that allows more than the user chose is never taken from a
//! project's own files; one that cannot be had is replaced by one that allows less.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::settings::Settings;
use crate::session::options::Value;

/// Asks before each change.
pub const MANUAL: &str = "default";
/// Edits files without asking.
pub const EDITS: &str = "acceptEdits";
/// Claude decides.
pub const AUTO: &str = "auto";
/// Never asks.
pub const BYPASS: &str = "bypassPermissions";
/// Plans, changes nothing.
pub const PLAN: &str = "plan";
/// Refuses what it would have to ask for: taken, but not offered.
const SILENT: &str = "dontAsk";

const ALL: [(&str, &str, &str); 5] = [
    (MANUAL, "Manual", "Always ask before making changes"),
    (EDITS, "Accept edits", "Automatically accept all file edits"),
    (PLAN, "Plan", "Create a plan before making changes"),
    (AUTO, "Auto", "Claude handles permission decisions"),
    (BYPASS, "Bypass permissions", "Accepts all permissions"),
];

/// What of the modes may be chosen.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Modes {
    auto: bool,
    bypass: bool,
}

/// The first mode of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct First {
    /// Which.
    pub mode: String,
    /// The user wanted another one, and is to be told.
    pub instead: bool,
}

impl Modes {
    /// As settings and environment allow.
    pub fn new(settings: &Settings<'_>, environment: &Environment) -> Modes {
        Modes {
            auto: !settings.no_auto(),
            bypass: environment.may_bypass() && !settings.no_bypass(),
        }
    }

    /// Whether it may be chosen.
    pub fn allows(self, mode: &str) -> bool {
        mode == SILENT || self.offers(mode)
    }

    /// Whether it is on the list.
    pub fn offers(self, mode: &str) -> bool {
        match mode {
            AUTO => self.auto,
            BYPASS => self.bypass,
            _ => ALL.iter().any(|(id, _, _)| *id == mode),
        }
    }

    /// As they are offered; `current` is among them.
    pub fn values(self, current: &str) -> Vec<Value> {
        let offered = ALL.iter().filter(|(id, _, _)| self.offers(id));
        let mut values: Vec<Value> = offered.map(value).collect();
        if values.iter().all(|value| value.id != current) {
            let known = ALL.iter().find(|(id, _, _)| *id == current).map(value);
            values.push(known.unwrap_or_else(|| {
                Value {
                    id: current.to_owned(),
                    name: if current == SILENT {
                        "Don't ask"
                    } else {
                        current
                    }
                    .to_string(),
                    about: None,
                }
            }));
        }
        values
    }

    /// The mode that a session begins with: as the settings say, else Claude decides where it
    /// can. `able` is whether the model can decide.
    pub fn first(self, chosen: Option<&str>, able: bool) -> First {
        let chosen = chosen.and_then(named).filter(|mode| self.allows(mode));
        let (mode, instead) = match chosen {
            Some(AUTO) if !able => (EDITS, true),
            Some(mode) => (mode, false),
            None if self.auto && able => (AUTO, false),
            None => (MANUAL, false),
        };
        First {
            mode: mode.to_string(),
            instead,
        }
    }
}

/// A mode as it is offered, whether it is offered or not.
pub fn value_of(mode: &str) -> Value {
    let none = Modes {
        auto: false,
        bypass: false,
    };
    let offered = none.values(mode).into_iter().find(|it| it.id == mode);
    offered.unwrap_or_default()
}

fn value(&(id, name, about): &(&str, &str, &str)) -> Value {
    Value {
        id: id.to_string(),
        name: name.to_string(),
        about: Some(about.to_string()),
    }
}

/// The mode that a word in the settings means.
pub fn named(word: &str) -> Option<&'static str> {
    Some(match word.trim().to_ascii_lowercase().as_str() {
        "default" | "manual" => MANUAL,
        "acceptedits" => EDITS,
        "plan" => PLAN,
        "auto" => AUTO,
        "bypasspermissions" | "bypass" => BYPASS,
        "dontask" => SILENT,
        _ => return None,
    })
}

/// Whether a mode allows what the user would have been asked.
pub fn escalates(mode: &str) -> bool {
    matches!(mode, AUTO | BYPASS)
}
