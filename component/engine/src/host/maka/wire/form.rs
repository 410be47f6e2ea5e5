//! The request kind `form`. It came with epoch 108, so no module of an epoch speaks it yet;
//! it is the same in all that have it.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

/// `form`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Form<'a> {
    /// Of which tool.
    #[serde(borrow)]
    pub tool_use_id: Cow<'a, str>,
    /// What is asked, at most 2 KiB.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// Who asks.
    #[serde(borrow)]
    pub requester: Requester<'a>,
    /// At most 32.
    #[serde(borrow)]
    pub fields: Vec<FormField<'a>>,
}

/// Who asks.
#[derive(Deserialize)]
pub struct Requester<'a> {
    /// Its name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// Where it is from.
    #[serde(borrow, default)]
    pub source: Option<Cow<'a, str>>,
}

/// One field; the keys of all kinds together. Defaults and bounds are as the Host wrote them,
/// because their type depends on the kind.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormField<'a> {
    /// `string`, `number`, `integer`, `boolean`, `single_select`, `multi_select`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// Its key in the answer.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// For people.
    #[serde(borrow)]
    pub label: Cow<'a, str>,
    /// Whether an answer must have it.
    #[serde(default)]
    pub required: bool,
    /// More for people.
    #[serde(borrow, default)]
    pub description: Option<Cow<'a, str>>,
    /// A hint.
    #[serde(borrow, default)]
    pub default: Option<&'a RawValue>,
    /// `string`.
    #[serde(default)]
    pub min_length: Option<u64>,
    /// `string`.
    #[serde(default)]
    pub max_length: Option<u64>,
    /// `string`: `email`, `uri`, `date`, `date-time`.
    #[serde(borrow, default)]
    pub format: Option<Cow<'a, str>>,
    /// `number`, `integer`.
    #[serde(borrow, default)]
    pub minimum: Option<&'a RawValue>,
    /// `number`, `integer`.
    #[serde(borrow, default)]
    pub maximum: Option<&'a RawValue>,
    /// `single_select`, `multi_select`.
    #[serde(borrow, default)]
    pub options: Vec<FormOption<'a>>,
    /// `multi_select`.
    #[serde(default)]
    pub min_items: Option<u64>,
    /// `multi_select`.
    #[serde(default)]
    pub max_items: Option<u64>,
}

/// A value and what people call it.
#[derive(Deserialize)]
pub struct FormOption<'a> {
    /// In the answer.
    #[serde(borrow)]
    pub value: Cow<'a, str>,
    /// For people.
    #[serde(borrow)]
    pub label: Cow<'a, str>,
}
