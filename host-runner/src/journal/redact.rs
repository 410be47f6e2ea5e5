//! What may be handed to a component, and so into a recording, of the environment: secrets
//! only as "set".
//!
//! Message content is not touched: a recording holds it by design, and `--help` says so.
//! Invariant: [`redacted`] is applied before the component sees the configuration, so a
//! recording and its replay know exactly as much as the component did.

use serde_json::{Map, Value};

/// What stands for a secret.
const SET: &str = "set";

/// Parts of a variable's name that make its value a secret.
const SECRET: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Replaces secrets in the `env` object of a configuration.
pub fn redacted(mut config: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Object(env)) = config.get_mut("env") {
        for (name, value) in env.iter_mut() {
            if is_secret(name) && !value.is_null() {
                *value = SET.into();
            }
        }
    }
    config
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn given_secrets_in_the_environment_when_redacted_then_only_that_they_are_set_is_known() {
        let Value::Object(config) = json!({
            "host": { "name": "API_KEY" },
            "env": { "HOME": "/home/me", "ANTHROPIC_API_KEY": "sk-1", "github_token": "t", "UNSET_KEY": null },
        }) else {
            unreachable!()
        };
        assert_eq!(
            Value::Object(redacted(config)),
            json!({
                "host": { "name": "API_KEY" },
                "env": { "HOME": "/home/me", "ANTHROPIC_API_KEY": "set", "github_token": "set", "UNSET_KEY": null },
            })
        );
    }
}
