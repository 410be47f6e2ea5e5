//! Questions of the Host to the user.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;

/// Questions to the user.
#[derive(Default, Deserialize)]
pub struct Interactions<'a> {
    /// At most 16.
    #[serde(borrow, default)]
    pub pending: Vec<Interaction<'a>>,
}

/// A question to the user.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interaction<'a> {
    /// Its id.
    #[serde(borrow)]
    pub interaction_id: Cow<'a, str>,
    /// Of which turn.
    #[serde(borrow)]
    pub turn_id: Cow<'a, str>,
    /// What is asked.
    #[serde(borrow)]
    pub request: InteractionRequest<'a>,
}

/// What is asked.
#[derive(Deserialize)]
pub struct InteractionRequest<'a> {
    /// `permission`, `question`, `form`, `sandbox_boundary`, `client_capability`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
}
