//! The variables of the embedder's environment that change what is done (Claude adapter,
//! section 1). They come by the configuration; of a secret only that it is set.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::models::Model;
use super::route::Route;
use crate::json::Object;
use crate::projection::path::absolute;

/// No variable of a user: a client does not want permissions to be turned off.
const NO_BYPASS: &str = "AIRLOCK_NO_BYPASS";

/// What of the environment matters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Environment {
    all: BTreeMap<String, String>,
    route: Option<Route>,
    /// What the gateway has that it leads to, as far as that is known.
    gateway: Vec<Model>,
}

/// How the model is to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// As the program thinks best.
    Unset,
    /// Not at all.
    Off,
    /// With this many tokens.
    Budget(u64),
}

impl Environment {
    /// As the configuration gives it.
    pub fn read(all: &BTreeMap<String, String>) -> Environment {
        Environment {
            all: all.clone(),
            ..Environment::default()
        }
    }

    /// `MAX_THINKING_TOKENS`: 0 turns it off; what is no number counts as unset.
    pub fn thinking(&self) -> Thinking {
        match self.get("MAX_THINKING_TOKENS").map(str::parse) {
            Some(Ok(0)) => Thinking::Off,
            Some(Ok(tokens)) => Thinking::Budget(tokens),
            _ => Thinking::Unset,
        }
    }

    /// `CLAUDE_CODE_THINKING_DISPLAY`, where it says something known.
    pub fn thinking_display(&self) -> Option<&str> {
        self.get("CLAUDE_CODE_THINKING_DISPLAY")
            .filter(|it| matches!(*it, "summarized" | "omitted"))
    }

    /// Whether everything may be allowed: not for root, unless something else confines it.
    pub fn may_bypass(&self) -> bool {
        let may = self.get("AIRLOCK_IS_ROOT").is_none() || self.get("IS_SANDBOX").is_some();
        may && self.get(NO_BYPASS).is_none()
    }

    /// The models that `CLAUDE_MODEL_CONFIG` allows, if not all.
    pub fn models(&self) -> Option<Vec<String>> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Config {
            available_models: Option<Vec<String>>,
        }
        let config = self.get("CLAUDE_MODEL_CONFIG")?;
        let config: Config = serde_json::from_str(config).unwrap_or_default();
        config.available_models
    }

    /// The models that `CLAUDE_MODEL_CONFIG` puts in the place of others, as settings have it.
    pub fn model_overrides(&self) -> Option<Object> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Config {
            model_overrides: Option<Object>,
        }
        let config: Config =
            serde_json::from_str(self.get("CLAUDE_MODEL_CONFIG")?).unwrap_or_default();
        config.model_overrides
    }

    /// Whether somebody already told the program what runs it.
    pub fn has_entrypoint(&self) -> bool {
        self.get("CLAUDE_CODE_ENTRYPOINT").is_some()
    }

    /// The same, where permissions may not be turned off.
    #[must_use]
    pub fn without_bypass(mut self) -> Environment {
        self.all.insert(NO_BYPASS.into(), "1".into());
        self
    }

    /// The user's own folder, where it was told.
    pub fn home(&self) -> Option<&str> {
        self.get("HOME")
    }

    /// Where the program keeps its sessions and settings: `CLAUDE_CONFIG_DIR`, else `.claude`
    /// in `HOME`.
    pub fn config_folder(&self) -> Option<String> {
        let home = || {
            Some(format!(
                "{}/.claude",
                self.get("HOME")?.trim_end_matches('/')
            ))
        };
        let named = self.get("CLAUDE_CONFIG_DIR").map(String::from);
        named.or_else(home).filter(|folder| absolute(folder))
    }

    /// Where models come from, if the editor says so.
    pub fn route(&self) -> Option<&Route> {
        self.route.as_ref()
    }

    /// The editor says so now.
    pub fn set_route(&mut self, route: Option<Route>) {
        self.route = route;
        self.gateway = Vec::new();
    }

    /// The models of the gateway, as far as they are known.
    pub fn gateway(&self) -> &[Model] {
        &self.gateway
    }

    /// It has these.
    pub fn set_gateway(&mut self, models: Vec<Model>) {
        self.gateway = models;
    }

    /// What of its own a process gets, so that it goes that way.
    pub fn routed(&self) -> Vec<(String, Option<String>)> {
        self.route
            .as_ref()
            .map(Route::variables)
            .unwrap_or_default()
    }

    /// Whether nobody sits in front of this machine.
    pub fn is_remote(&self) -> bool {
        let signs = [
            "NO_BROWSER",
            "SSH_CONNECTION",
            "SSH_CLIENT",
            "SSH_TTY",
            "CLAUDE_CODE_REMOTE",
        ];
        signs.iter().any(|name| self.get(name).is_some())
    }

    /// `--hide-claude-auth`: nobody is to work with a subscription.
    pub fn hides_subscriptions(&self) -> bool {
        self.get("AIRLOCK_HIDE_CLAUDE_AUTH").is_some()
    }

    /// A variable, where it says something.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.get(name)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.all
            .get(name)
            .map(|value| value.as_str().trim())
            .filter(|it| !it.is_empty())
    }

    /// For tests.
    #[cfg(test)]
    pub fn of(name: &str, value: &str) -> Environment {
        Environment::read(&[(name.into(), value.into())].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_thinking_tokens_when_read_then_nought_is_off_and_no_number_is_unset() {
        let read = |value| Environment::of("MAX_THINKING_TOKENS", value).thinking();
        assert_eq!(
            ["0", "4000", "many", " "].map(read),
            [
                Thinking::Off,
                Thinking::Budget(4000),
                Thinking::Unset,
                Thinking::Unset
            ]
        );
    }
}
