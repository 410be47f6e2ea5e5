//! What a client of ACP v1 says that it can do.
//!
//! Pure. Invariant: what is absent, `null` or not understood is not offered (V1-3).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::air;
use crate::editor::Client;

#[derive(Default, Deserialize)]
struct Capabilities<'a> {
    #[serde(borrow, default)]
    elicitation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    session: Option<&'a RawValue>,
    #[serde(borrow, default)]
    auth: Option<&'a RawValue>,
    #[serde(borrow, default)]
    plan: Option<&'a RawValue>,
    #[serde(borrow, default)]
    subagents: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// How people sign in.
#[derive(Default, Deserialize)]
struct Auth<'a> {
    #[serde(borrow, default)]
    terminal: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct AuthMeta<'a> {
    #[serde(borrow, default)]
    gateway: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default)]
    terminal_output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    terminal_output_delta: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "terminal-auth")]
    terminal_auth: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "subagent-transcript")]
    subagent_transcript: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Elicitation<'a> {
    #[serde(borrow, default)]
    form: Option<&'a RawValue>,
    #[serde(borrow, default)]
    url: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Session<'a> {
    #[serde(borrow, default)]
    config_options: Option<&'a RawValue>,
    #[serde(borrow, default)]
    notices: Option<&'a RawValue>,
    #[serde(borrow, default)]
    compaction: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct ConfigOptions<'a> {
    #[serde(borrow, default)]
    boolean: Option<&'a RawValue>,
}

/// Reads `clientCapabilities`.
pub fn read(text: Option<&RawValue>) -> Client {
    let capabilities: Capabilities<'_> = object(text).unwrap_or_default();
    let elicitation: Elicitation<'_> = object(capabilities.elicitation).unwrap_or_default();
    let meta: Meta<'_> = object(capabilities.meta).unwrap_or_default();
    let yes = |flag: Option<&RawValue>| flag.is_some_and(|flag| flag.get() == "true");
    let session: Session<'_> = object(capabilities.session).unwrap_or_default();
    let options: ConfigOptions<'_> = object(session.config_options).unwrap_or_default();
    let auth: Auth<'_> = object(capabilities.auth).unwrap_or_default();
    let auth_meta: AuthMeta<'_> = object(auth.meta).unwrap_or_default();
    Client {
        signs_in: yes(auth.terminal),
        signs_in_meta: yes(meta.terminal_auth),
        gateways: yes(auth_meta.gateway),
        forms: elicitation.form.is_some_and(is_object),
        terminals: yes(meta.terminal_output),
        terminal_deltas: yes(meta.terminal_output_delta),
        addresses: elicitation.url.is_some_and(is_object),
        switches: options.boolean.is_some_and(is_object),
        notices: session.notices.is_some_and(is_object),
        compactions: session.compaction.is_some_and(is_object),
        plans: capabilities.plan.is_some_and(is_object),
        subagents: capabilities.subagents.is_some_and(is_object),
        transcripts: yes(meta.subagent_transcript),
        extras: air::read(capabilities.meta),
    }
}

fn object<'a, T: Deserialize<'a>>(text: Option<&'a RawValue>) -> Option<T> {
    let text = text.filter(|text| is_object(text))?;
    serde_json::from_str(text.get()).ok()
}

/// A struct also reads from an array; capabilities are objects.
fn is_object(text: &RawValue) -> bool {
    text.get().starts_with('{')
}
