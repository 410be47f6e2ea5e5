//! What may be handed to a component, and so into a recording, of the environment: secrets
//! only as "set".
//!
//! Message content is not touched: a recording holds it by design, and `--help` says so.
//! Invariant: [`redacted`] is applied before the component sees the configuration, so a
//! recording and its replay know exactly as much as the component did.

use serde_json::{Map, Value};

/// What stands for a secret.
const SET: &str = "set";

/// Words in a variable's name that make its value a secret. `MAX_THINKING_TOKENS` is none.
const SECRET: [&str; 7] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "CREDENTIALS",
];

/// Replaces secrets in the environment that a configuration tells of, and names and
/// passwords in its addresses.
pub fn redacted(mut config: Map<String, Value>) -> Map<String, Value> {
    let host = config.get_mut("host");
    let environment = host.and_then(|host| host.get_mut("environment"));
    if let Some(Value::Object(environment)) = environment {
        for (name, value) in environment.iter_mut() {
            if is_secret(name) && !value.is_null() {
                *value = SET.into();
            } else if let Some(address) = value.as_str().and_then(without_login) {
                *value = address.into();
            }
        }
    }
    config
}

/// An address without the login in it; `None` when there is none.
fn without_login(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (_login, host) = rest[..end].rsplit_once('@')?;
    Some(format!("{scheme}://{host}{}", &rest[end..]))
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.split('_').any(|word| SECRET.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn given_secrets_in_the_environment_when_redacted_then_only_that_they_are_set_is_known() {
        let Value::Object(config) = json!({
            "agent": { "name": "API_KEY" },
            "host": { "environment": {
                "HOME": "/home/me", "ANTHROPIC_API_KEY": "sk-1", "github_token": "t", "UNSET_KEY": null,
                "MAX_THINKING_TOKENS": "9", "BASE_URL": "https://me:pw@x.test/a@b", "PLAIN_URL": "https://x.test/a@b",
            } },
        }) else {
            unreachable!()
        };
        assert_eq!(
            Value::Object(redacted(config)),
            json!({
                "agent": { "name": "API_KEY" },
                "host": { "environment": {
                    "HOME": "/home/me", "ANTHROPIC_API_KEY": "set", "github_token": "set", "UNSET_KEY": null,
                    "MAX_THINKING_TOKENS": "9", "BASE_URL": "https://x.test/a@b", "PLAIN_URL": "https://x.test/a@b",
                } },
            })
        );
    }
}
