//! What work takes: tokens, room in the context, money.
//!
//! Plain data.

use serde::{Deserialize, Serialize};

use crate::json::Object;

/// What a turn took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens.
    pub tokens: Tokens,
    /// Extension data, as it stands in `_meta`.
    pub meta: Option<Object>,
}

/// Tokens of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// That the model read.
    pub input: u64,
    /// That it wrote.
    pub output: u64,
    /// That it had read before.
    pub cached_read: u64,
    /// That it will not have to read again.
    pub cached_write: u64,
}

impl Tokens {
    /// All of them.
    pub fn total(self) -> u64 {
        let Tokens {
            input,
            output,
            cached_read,
            cached_write,
        } = self;
        [output, cached_read, cached_write]
            .into_iter()
            .fold(input, u64::saturating_add)
    }
}

/// How full the context is, and what the session cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// Tokens in the context.
    pub used: u64,
    /// Tokens that it holds.
    pub size: u64,
    /// US dollars so far, where the Host knows.
    pub cost_usd: Option<f64>,
    /// Extension data, as it stands in `_meta`.
    pub meta: Option<Object>,
}
