//! Who is signed in (Claude adapter, section 15): from what a process says of itself when it
//! greets, from `claude auth status --json`, or because models come from a gateway.
//!
//! Pure. Invariant: whatever the program leaves out or adds, one of the five kinds comes out.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;

use serde::Deserialize;

use crate::host::{Account, Person};

type Text<'a> = Option<Cow<'a, str>>;

/// What the program says, in the words of both places.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Seen<'a> {
    /// `auth status`.
    logged_in: Option<bool>,
    /// `auth status`: `none`, `api_key`, `claude.ai`, `oauth_token`, ...
    #[serde(borrow)]
    auth_method: Text<'a>,
    /// The greeting: `none`, or where a login is kept.
    #[serde(borrow)]
    token_source: Text<'a>,
    /// Where an API key comes from.
    #[serde(borrow)]
    api_key_source: Text<'a>,
    /// `firstParty`, `bedrock`, `vertex`, ...
    #[serde(borrow)]
    api_provider: Text<'a>,
    #[serde(borrow)]
    email: Text<'a>,
    /// The greeting.
    #[serde(borrow)]
    organization: Text<'a>,
    /// `auth status`.
    #[serde(borrow)]
    org_name: Text<'a>,
    #[serde(borrow)]
    subscription_type: Text<'a>,
}

/// Who that is.
pub fn read(seen: &Seen<'_>) -> Account {
    let word = |text: &Text<'_>| -> Option<String> {
        let text = text.as_deref()?.trim();
        (!text.is_empty() && text != "none").then(|| text.to_owned())
    };
    let provider = word(&seen.api_provider).filter(|it| it != "firstParty");
    if let Some(provider) = provider {
        return external(&provider);
    }
    let key = word(&seen.api_key_source);
    let token = word(&seen.token_source);
    let method = word(&seen.auth_method).filter(|_| seen.logged_in == Some(true));
    let by_key = method.as_deref() == Some("api_key");
    if by_key || (key.is_some() && token.is_none() && method.is_none()) {
        return simple("api_key", "Anthropic API key", key);
    }
    if token.is_none() && method.is_none() {
        return nobody();
    }
    let person = Person {
        email: word(&seen.email),
        organization: word(&seen.organization).or_else(|| word(&seen.org_name)),
        plan: word(&seen.subscription_type),
    };
    let label = match &person.plan {
        Some(plan) => format!("Claude {}", capital(plan)),
        None => "Claude account".to_owned(),
    };
    Account {
        detail: person.email.clone().or(method).or(token),
        person: (person != Person::default()).then_some(person),
        ..simple("account", &label, None)
    }
}

/// Models come from a gateway of the editor's.
pub fn gateway(url: &str) -> Account {
    simple("gateway", "Custom gateway", Some(url.to_owned()))
}

/// Nobody is signed in.
pub fn nobody() -> Account {
    simple("none", "Not signed in", None)
}

/// Whether it is a person's own subscription, or at least their account.
pub fn is_subscription(account: &Account) -> bool {
    account.kind == "account"
}

/// Somebody else sells the models, and knows who is asking.
fn external(provider: &str) -> Account {
    let label = match provider {
        "bedrock" => "Amazon Bedrock",
        "vertex" => "Google Vertex AI",
        "foundry" => "Microsoft Foundry",
        other => other,
    };
    Account {
        vendor: Some(provider.to_owned()),
        ..simple("external", label, None)
    }
}

fn simple(kind: &str, label: &str, detail: Option<String>) -> Account {
    Account {
        kind: kind.to_owned(),
        label: label.to_owned(),
        detail,
        person: None,
        vendor: None,
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(json: &str) -> [String; 3] {
        let seen: Seen<'_> = serde_json::from_str(json).unwrap_or_default();
        let account = read(&seen);
        [
            account.kind,
            account.label,
            account.detail.unwrap_or_default(),
        ]
    }

    /// The first three are what version 2.1.318 says.
    #[test]
    fn given_what_the_program_says_when_read_then_each_has_its_kind() {
        let table = [
            (
                r#"{"tokenSource":"none","apiKeySource":"ANTHROPIC_API_KEY","apiProvider":"firstParty"}"#,
                ["api_key", "Anthropic API key", "ANTHROPIC_API_KEY"],
            ),
            (
                r#"{"loggedIn":true,"authMethod":"api_key","apiProvider":"firstParty","apiKeySource":"ANTHROPIC_API_KEY"}"#,
                ["api_key", "Anthropic API key", "ANTHROPIC_API_KEY"],
            ),
            (
                r#"{"loggedIn":false,"authMethod":"none","apiProvider":"firstParty"}"#,
                ["none", "Not signed in", ""],
            ),
            (
                r#"{"tokenSource":"claude.ai","email":"me@example.com","organization":"Org","subscriptionType":"max"}"#,
                ["account", "Claude Max", "me@example.com"],
            ),
            (
                r#"{"loggedIn":true,"authMethod":"claude.ai","email":"me@example.com","orgName":"Org"}"#,
                ["account", "Claude account", "me@example.com"],
            ),
            (
                r#"{"loggedIn":true,"authMethod":"oauth_token"}"#,
                ["account", "Claude account", "oauth_token"],
            ),
            (
                r#"{"tokenSource":"none","apiProvider":"bedrock"}"#,
                ["external", "Amazon Bedrock", ""],
            ),
            (r#"{"apiProvider":"other"}"#, ["external", "other", ""]),
            ("{}", ["none", "Not signed in", ""]),
            ("[1]", ["none", "Not signed in", ""]),
        ];
        for (said, expected) in table {
            assert_eq!(told(said), expected, "{said}");
        }
    }
}
