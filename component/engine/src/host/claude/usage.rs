//! How full the context is, and what a turn took (Claude adapter, sections 7 and 14).
//!
//! Invariant: a figure is told when it changed, and with every result.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire;
use crate::host::{Spent, Tokens, Usage};
use crate::json::Object;
use crate::object;

/// The figures of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Meter {
    /// Tokens of the last message of the main stream.
    last: Tokens,
    told: Option<u64>,
    model: Option<String>,
    /// Tokens that the context holds, where the process said so.
    size: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ByModel {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    context_window: Option<u64>,
}

impl ByModel {
    fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input_tokens,
            output: self.output_tokens,
            cached_read: self.cache_read_input_tokens,
            cached_write: self.cache_creation_input_tokens,
        }
    }
}

impl Meter {
    /// The process said how much the context holds.
    pub fn holds(&mut self, size: u64) {
        self.size = Some(size);
    }

    /// A message of the main stream began or went on; what is to be told.
    pub fn streamed(&mut self, usage: wire::Usage, model: Option<&str>) -> Option<Usage> {
        if let Some(model) = model.filter(|it| *it != "<synthetic>") {
            self.model = Some(model.to_string());
        }
        self.last = tokens(usage);
        let used = self.last.total();
        if self.told == Some(used) {
            return None;
        }
        self.told = Some(used);
        Some(self.usage(None, None))
    }

    /// A result; what is to be told, and what the turn took.
    pub fn result(
        &mut self,
        usage: wire::Usage,
        by_model: Option<&RawValue>,
        cost: Option<f64>,
        origin: Option<&RawValue>,
    ) -> (Usage, Spent) {
        let models: BTreeMap<String, ByModel> = wire::part(by_model);
        if let Some(size) = self.window(&models) {
            self.size = Some(size);
        }
        let spent = Spent {
            tokens: tokens(usage),
            meta: Some(quota(tokens(usage), &models)),
        };
        (self.usage(cost, origin), spent)
    }

    /// The account has limits, which are told with what there was before.
    pub fn limited(&self, limit: &RawValue) -> Usage {
        let mut usage = self.usage(None, None);
        let meta = usage.meta.get_or_insert_default();
        meta.set("_claude/rateLimit", limit);
        usage
    }

    /// The context is as good as empty, or as full as this.
    pub fn compacted(&mut self, tokens: u64) -> Usage {
        self.last = Tokens {
            input: tokens,
            ..Tokens::default()
        };
        self.told = Some(tokens);
        self.usage(None, None)
    }

    fn window(&self, models: &BTreeMap<String, ByModel>) -> Option<u64> {
        let mine = self.model.as_ref().and_then(|model| models.get(model));
        mine.or_else(|| models.values().next())?.context_window
    }

    fn usage(&self, cost: Option<f64>, origin: Option<&RawValue>) -> Usage {
        let mut meta = Object::new();
        if let Some(origin) = origin {
            meta.set("_claude/origin", origin);
        }
        if let Some(model) = &self.model {
            meta.set("_claude/model", model);
        }
        let large = self
            .model
            .as_ref()
            .is_some_and(|model| model.contains("1m"));
        Usage {
            used: self.last.total(),
            size: self.size.unwrap_or(if large { 1_000_000 } else { 200_000 }),
            cost_usd: cost,
            meta: Some(meta),
        }
    }
}

fn tokens(usage: wire::Usage) -> Tokens {
    Tokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cached_read: usage.cache_read_input_tokens,
        cached_write: usage.cache_creation_input_tokens,
    }
}

fn quota(tokens: Tokens, models: &BTreeMap<String, ByModel>) -> Object {
    let count = |tokens: Tokens| {
        object! {
            "totalTokens": tokens.total(), "inputTokens": tokens.input,
            "cachedInputTokens": tokens.cached_read, "cachedWriteTokens": tokens.cached_write,
            "outputTokens": tokens.output, "reasoningOutputTokens": 0,
        }
    };
    let models: Vec<Object> = models
        .iter()
        .map(|(model, figures)| {
            object! { "model": model, "token_count": count(figures.tokens()) }
        })
        .collect();
    object! { "quota": object! { "token_count": count(tokens), "model_usage": models } }
}
