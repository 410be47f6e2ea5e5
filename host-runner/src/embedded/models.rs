//! The models of the embedded Host: one connection, `mock`, with two scripted
//! models. Pure data. Invariant: every model that the catalog lists as enabled
//! can be chosen, and no other.

use serde_json::{Value, json};

use super::session::Configuration;
use super::wire::{Refusal, code, refuse};

const SLUG: &str = "mock";
const CONNECTION: &str = "00000000-0000-4000-8000-000000000001";
const MODELS: [&str; 2] = ["mock-model", "mock-model-large"];
const REVISION: u64 = 1;

/// `connection.catalog.query`: one page holds everything.
pub(crate) fn query(input: &Value) -> Result<Value, Refusal> {
    if input["kind"] == "continue" {
        if input["revision"] != REVISION {
            return Ok(
                json!({"kind": "revision_changed", "expectedRevision": input["revision"],
                "actualRevision": REVISION}),
            );
        }
        return refuse(code::INVALID, "Connection catalog has no further page");
    }
    let mut items = vec![
        json!({"kind": "connection", "connectionIndex": 0, "connectionId": CONNECTION,
        "revision": 1, "slug": SLUG, "name": "Scripted models", "providerType": "openai-compatible",
        "enabled": true, "modelSource": "fallback", "modelsFetchedAt": 0,
        "enabledModelIdCount": MODELS.len(), "modelCount": MODELS.len()}),
    ];
    for (at, model) in MODELS.iter().enumerate() {
        items.push(json!({"kind": "enabled_model_id", "connectionIndex": 0, "itemIndex": at, "modelId": model}));
    }
    for (at, model) in MODELS.iter().enumerate() {
        items.push(
            json!({"kind": "model", "connectionIndex": 0, "itemIndex": at, "model": {"id": model}}),
        );
    }
    Ok(json!({"kind": "page", "revision": REVISION,
        "defaultTarget": {"connectionId": CONNECTION, "modelId": MODELS[0]},
        "connectionCount": 1, "items": items, "nextCursor": null}))
}

/// The model that a session is to use; the rest of the configuration is empty.
pub(crate) fn target(target: &Value) -> Result<Configuration, Refusal> {
    let (slug, model) = match target["kind"].as_str() {
        Some("explicit") => (
            target["connectionSlug"].as_str().unwrap_or_default(),
            target["model"].as_str().unwrap_or_default(),
        ),
        _ => (SLUG, MODELS[0]),
    };
    if slug != SLUG {
        return refuse(code::INVALID, "Session connection does not exist");
    }
    if !MODELS.contains(&model) {
        return refuse(code::INVALID, "Session model is not enabled");
    }
    Ok(Configuration {
        slug: slug.to_owned(),
        model: model.to_owned(),
        thinking_level: None,
        permission_mode: String::new(),
        collaboration_mode: String::new(),
        orchestration_mode: String::new(),
    })
}
