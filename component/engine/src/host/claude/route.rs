//! Where models come from (Claude adapter, sections 2.1 and 16): the environment says at
//! first, and the editor may say otherwise. There is one provider, `main`.
//!
//! Pure. Invariant: what the editor says of a provider reaches a process whole or not at all,
//! and nothing of another provider beside it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::failure;
use crate::host::{Failure, Gateway, Provider};
use crate::json::Object;

/// The one provider.
pub const MAIN: &str = "main";

/// What a provider speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Api {
    /// Anthropic's own.
    Anthropic,
    /// Amazon Bedrock's.
    Bedrock,
    /// Google Vertex AI's, for this project and in this region.
    Vertex {
        /// The project.
        project: String,
        /// The region.
        region: String,
    },
}

/// Where models come from, because the editor says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    api: Api,
    gateway: Gateway,
}

impl Route {
    /// What the editor asks for with `providers/set`.
    pub fn read(
        id: &str,
        api: &str,
        gateway: Gateway,
        more: Option<&Object>,
    ) -> Result<Route, Failure> {
        if id != MAIN {
            return Err(failure::provider("providerId", id));
        }
        let api = match api {
            "anthropic" => Api::Anthropic,
            "bedrock" => Api::Bedrock,
            "vertex" => vertex(more).ok_or_else(failure::no_vertex)?,
            other => return Err(failure::provider("apiType", other)),
        };
        Route::checked(api, gateway)
    }

    /// What the editor asks for with `authenticate`.
    pub fn sign_in(method: &str, gateway: Gateway) -> Result<Route, Failure> {
        match method {
            "gateway" => Route::checked(Api::Anthropic, gateway),
            "gateway-bedrock" => Route::checked(Api::Bedrock, gateway),
            other => Err(failure::sign_in(other)),
        }
    }

    fn checked(api: Api, gateway: Gateway) -> Result<Route, Failure> {
        let rest = ["http://", "https://"].map(|scheme| gateway.url.strip_prefix(scheme));
        let host = rest.into_iter().flatten().next().unwrap_or_default();
        let clean = |text: &str| !text.chars().any(char::is_control);
        if host.is_empty() || host.starts_with('/') || !clean(&gateway.url) {
            return Err(failure::address(&gateway.url));
        }
        // A line break would make two header fields of one.
        let fields = &gateway.headers;
        let bad = |name: &str| name.is_empty() || name.contains(':') || !clean(name);
        if let Some((name, _)) = fields
            .iter()
            .find(|(name, value)| bad(name) || !clean(value))
        {
            return Err(failure::header(name));
        }
        Ok(Route { api, gateway })
    }

    /// Where it leads.
    pub fn url(&self) -> &str {
        &self.gateway.url
    }

    /// The variables of a process that goes this way, with those of other ways taken away.
    pub fn variables(&self) -> Vec<(String, Option<String>)> {
        let headers: Vec<String> = self.gateway.headers.iter().map(field).collect();
        let headers = (!headers.is_empty()).then(|| headers.join("\n"));
        let url = || Some(self.gateway.url.clone());
        // The program starts for nobody that has no token. Where a field of the editor's says
        // who asks, the blank one keeps the program's own out of its way; else a gateway that
        // asks nobody gets a word that means nothing.
        let proven = self.has(AUTHORIZATION) || self.has(KEY);
        let token = if proven { " " } else { "none" };
        let yes = || Some("1".to_owned());
        let mut set: Vec<(&str, Option<String>)> = match &self.api {
            Api::Anthropic => [
                ("ANTHROPIC_BASE_URL", url()),
                ("ANTHROPIC_AUTH_TOKEN", Some(token.to_owned())),
            ]
            .into(),
            Api::Bedrock => [
                ("CLAUDE_CODE_USE_BEDROCK", yes()),
                ("CLAUDE_CODE_SKIP_BEDROCK_AUTH", yes()),
                ("ANTHROPIC_BEDROCK_BASE_URL", url()),
            ]
            .into(),
            Api::Vertex { project, region } => [
                ("CLAUDE_CODE_USE_VERTEX", yes()),
                ("CLAUDE_CODE_SKIP_VERTEX_AUTH", yes()),
                ("ANTHROPIC_VERTEX_BASE_URL", url()),
                ("ANTHROPIC_VERTEX_PROJECT_ID", Some(project.clone())),
                ("CLOUD_ML_REGION", Some(region.clone())),
            ]
            .into(),
        };
        set.push(("ANTHROPIC_CUSTOM_HEADERS", headers));
        let taken = |name: &&str| !set.iter().any(|(known, _)| known == name);
        let away: Vec<&str> = WAYS.into_iter().filter(taken).collect();
        set.extend(away.into_iter().map(|name| (name, None)));
        let owned = set
            .into_iter()
            .map(|(name, value)| (name.to_string(), value));
        owned.collect()
    }

    /// The variables of a process that asks there which models there are. None where the
    /// program asks nobody.
    pub fn inquiry(&self) -> Option<Vec<(String, Option<String>)>> {
        if self.api != Api::Anthropic {
            return None;
        }
        // A blank token asks nobody. In the question, other than in messages, a field of the
        // editor's comes in the place of the program's own; a key alone is a credential too.
        let mut fields = self.gateway.headers.iter();
        let key = fields.find(|(name, _)| name.eq_ignore_ascii_case(KEY));
        let key = key.filter(|(_, value)| !value.trim().is_empty() && !self.has(AUTHORIZATION));
        let token = if key.is_some() { " " } else { "none" };
        let mut all = self.variables();
        for (name, value) in &mut all {
            match name.as_str() {
                "ANTHROPIC_AUTH_TOKEN" => *value = Some(token.to_owned()),
                "ANTHROPIC_API_KEY" => *value = key.map(|(_, key)| key.trim().to_owned()),
                _ => {}
            }
        }
        Some(all)
    }

    /// Whether the editor has a header field of this name.
    fn has(&self, name: &str) -> bool {
        let mut fields = self.gateway.headers.iter();
        fields.any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// Header fields that say who asks.
const AUTHORIZATION: &str = "authorization";
const KEY: &str = "x-api-key";

/// All variables that say where models come from, and who asks.
const WAYS: [&str; 13] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "CLOUD_ML_REGION",
];

/// `providers/list`.
pub fn provider(route: Option<&Route>, environment: &Environment) -> Provider {
    let current = match route {
        Some(Route { api, gateway }) => {
            let api = match api {
                Api::Anthropic => "anthropic",
                Api::Bedrock => "bedrock",
                Api::Vertex { .. } => "vertex",
            };
            (api.to_owned(), gateway.url.clone())
        }
        None => native(environment),
    };
    Provider {
        id: MAIN.to_owned(),
        supported: ["anthropic", "bedrock", "vertex"].map(String::from).into(),
        required: false,
        current: Some(current),
    }
}

/// Where models come from if the editor says nothing.
fn native(environment: &Environment) -> (String, String) {
    let is_set = |name| {
        environment
            .value(name)
            .is_some_and(|it| !matches!(it, "0" | "false"))
    };
    let (api, variable, usual) = if is_set("CLAUDE_CODE_USE_BEDROCK") {
        let region = environment.value("AWS_REGION").unwrap_or("us-east-1");
        let usual = format!("https://bedrock-runtime.{region}.amazonaws.com");
        ("bedrock", "ANTHROPIC_BEDROCK_BASE_URL", usual)
    } else if is_set("CLAUDE_CODE_USE_VERTEX") {
        let region = environment.value("CLOUD_ML_REGION").unwrap_or("us-east5");
        let usual = format!("https://{region}-aiplatform.googleapis.com");
        ("vertex", "ANTHROPIC_VERTEX_BASE_URL", usual)
    } else {
        let usual = "https://api.anthropic.com".to_owned();
        ("anthropic", "ANTHROPIC_BASE_URL", usual)
    };
    let url = environment.value(variable).map_or(usual, ToOwned::to_owned);
    (api.to_owned(), url)
}

/// `claudeCode.vertex {projectId, region}`.
fn vertex(more: Option<&Object>) -> Option<Api> {
    #[derive(Deserialize)]
    struct More {
        #[serde(rename = "claudeCode")]
        mine: Mine,
    }
    #[derive(Deserialize)]
    struct Mine {
        vertex: Vertex,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Vertex {
        project_id: String,
        region: String,
    }
    // It was read as JSON: writing it again cannot fail.
    let more = serde_json::to_string(more?).ok()?;
    let More { mine } = serde_json::from_str(&more).ok()?;
    let Vertex { project_id, region } = mine.vertex;
    let named = !project_id.trim().is_empty() && !region.trim().is_empty();
    named.then_some(Api::Vertex {
        project: project_id,
        region,
    })
}

fn field((name, value): &(String, String)) -> String {
    format!("{name}: {value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(url: &str, headers: &[(&str, &str)]) -> Gateway {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        Gateway {
            url: url.into(),
            headers: headers.iter().map(owned).collect(),
        }
    }

    /// Claude Code 2.1.318 takes a blank token for none, unless a header field says who asks.
    #[test]
    fn given_a_gateway_with_a_key_of_its_own_when_a_process_starts_then_its_token_is_blank() {
        for (name, token) in [
            ("Authorization", " "),
            ("X-Api-Key", " "),
            ("x-key", "none"),
        ] {
            let way = gateway("https://gate.example", &[(name, "s")]);
            let variables = Route::sign_in("gateway", way).unwrap().variables();
            let set = ("ANTHROPIC_AUTH_TOKEN".to_owned(), Some(token.to_owned()));
            assert!(variables.contains(&set), "{name}");
        }
    }

    #[test]
    fn given_a_gateway_when_a_process_starts_then_it_has_that_way_and_no_other() {
        let way = gateway("https://gate.example/v1", &[("x-key", "s"), ("x-b", "t")]);
        let route = Route::sign_in("gateway", way).unwrap();
        let variables = route.variables();
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_deref())
        };
        assert_eq!(
            value("ANTHROPIC_BASE_URL"),
            Some(Some("https://gate.example/v1"))
        );
        assert_eq!(value("ANTHROPIC_AUTH_TOKEN"), Some(Some("none")));
        assert_eq!(
            value("ANTHROPIC_CUSTOM_HEADERS"),
            Some(Some("x-key: s\nx-b: t"))
        );
        for other in [
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLOUD_ML_REGION",
        ] {
            assert_eq!(value(other), Some(None), "{other}");
        }
        let names = variables.len();
        let way = gateway("https://gate.example", &[]);
        let bedrock = Route::sign_in("gateway-bedrock", way).unwrap().variables();
        assert_eq!(bedrock.len(), names);
        let has = |name: &str, value: Option<&str>| {
            bedrock.contains(&(name.into(), value.map(ToOwned::to_owned)))
        };
        assert!(has("CLAUDE_CODE_USE_BEDROCK", Some("1")) && has("ANTHROPIC_AUTH_TOKEN", None));
        assert!(has("ANTHROPIC_CUSTOM_HEADERS", None));
    }

    #[test]
    fn given_an_address_or_a_header_that_is_none_when_read_then_it_is_refused() {
        for url in [
            "",
            "gate.example",
            "https://",
            "http:///x",
            "ftp://x",
            "https://a\nb",
        ] {
            let route = Route::sign_in("gateway", gateway(url, &[]));
            assert!(route.is_err(), "{url}");
        }
        for header in [("", "x"), ("a:b", "x"), ("a", "x\ny"), ("a\r", "x")] {
            let way = gateway("https://gate.example", &[header]);
            assert!(Route::sign_in("gateway", way).is_err(), "{header:?}");
        }
    }

    #[test]
    fn given_an_environment_when_asked_for_the_provider_then_it_is_the_one_in_use() {
        let table = [
            ("HOME", "/h", "anthropic", "https://api.anthropic.com"),
            ("ANTHROPIC_BASE_URL", "http://x", "anthropic", "http://x"),
            (
                "CLAUDE_CODE_USE_BEDROCK",
                "1",
                "bedrock",
                "https://bedrock-runtime.us-east-1.amazonaws.com",
            ),
            (
                "CLAUDE_CODE_USE_VERTEX",
                "true",
                "vertex",
                "https://us-east5-aiplatform.googleapis.com",
            ),
            (
                "CLAUDE_CODE_USE_VERTEX",
                "0",
                "anthropic",
                "https://api.anthropic.com",
            ),
        ];
        for (name, value, api, url) in table {
            let current = provider(None, &Environment::of(name, value)).current;
            assert_eq!(current, Some((api.into(), url.into())), "{name}");
        }
    }
}
