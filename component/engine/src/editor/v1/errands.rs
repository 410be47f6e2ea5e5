//! Forks, signing in and out, providers of models, in ACP v1 words: requests read, answers and
//! the notice of an account written.
//!
//! Pure. Invariant: a request is read whole or refused with what is wrong with it.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::answers::{line, raw};
use super::decode::{OfSession, read};
use super::{air, place};
use crate::config::Agent;
use crate::editor::Ask;
use crate::host::{
    Account, Client, Errand, ForkPoint, Gateway, Habits, Person, Provider, SignIn, SignInBy,
};
use crate::json::Object;
use crate::object;
use crate::rpc::RpcError;

/// Reads a request; `None` if the method is none of these.
pub fn request(
    method: &str,
    params: Option<&RawValue>,
    habits: Habits,
) -> Option<Result<Ask, RpcError>> {
    let errand = match method {
        "session/fork" => fork(method, params, habits),
        "authenticate" => read(method, params).map(sign_in),
        "logout" => read(method, params).map(|Nothing {}| Errand::SignOut),
        "providers/list" => read(method, params).map(|Nothing {}| Errand::Providers),
        "providers/set" => read(method, params).map(set_provider),
        "providers/disable" => {
            read(method, params).map(|params: Disable<'_>| Errand::DropProvider {
                id: params.provider_id.into_owned(),
            })
        }
        _ => return None,
    };
    Some(errand.map(Ask::Errand))
}

#[derive(Deserialize)]
struct Nothing {}

/// A session that goes on from another one is set up as any other.
fn fork(method: &str, params: Option<&RawValue>, habits: Habits) -> Result<Errand, RpcError> {
    #[derive(Deserialize)]
    struct More<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let OfSession { session_id } = read(method, params)?;
    let More { meta } = read(method, params)?;
    Ok(Errand::Fork {
        session_id: session_id.into_owned(),
        setup: place::read(method, params, habits)?,
        point: point(meta),
    })
}

/// `jetbrains.air.fork`. One that cannot be read means the whole session.
fn point(meta: Option<&RawValue>) -> Option<ForkPoint> {
    #[derive(Deserialize)]
    struct Air<'a> {
        #[serde(borrow)]
        fork: Point<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Point<'a> {
        version: u64,
        #[serde(borrow)]
        message_id: Cow<'a, str>,
        #[serde(borrow, default)]
        message_fingerprint: Option<&'a RawValue>,
        #[serde(borrow, default)]
        message_occurrence: Option<&'a RawValue>,
    }
    let Air { fork: point } = serde_json::from_str(air::of(meta)?.get()).ok()?;
    if point.version != 1 || point.message_id.trim().is_empty() {
        return None;
    }
    let text = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).ok();
    let print = point.message_fingerprint.and_then(text);
    let occurrence = point.message_occurrence;
    Some(ForkPoint {
        message_id: point.message_id.into_owned(),
        fingerprint: print.and_then(|it| it.strip_prefix("sha256:").map(ToOwned::to_owned)),
        occurrence: occurrence.and_then(|raw| raw.get().parse().ok()),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authenticate<'a> {
    #[serde(borrow)]
    method_id: Cow<'a, str>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

fn sign_in(params: Authenticate<'_>) -> Errand {
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow)]
        gateway: Way<'a>,
    }
    let meta = params
        .meta
        .and_then(|meta| serde_json::from_str(meta.get()).ok());
    Errand::SignIn {
        method: params.method_id.into_owned(),
        gateway: meta.map(|Meta { gateway }| gateway.owned()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetProvider<'a> {
    #[serde(borrow)]
    provider_id: Cow<'a, str>,
    #[serde(borrow)]
    api_type: Cow<'a, str>,
    #[serde(borrow)]
    base_url: Cow<'a, str>,
    #[serde(borrow, default)]
    headers: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    #[serde(default, rename = "_meta")]
    meta: Option<Object>,
}

fn set_provider(params: SetProvider<'_>) -> Errand {
    let SetProvider {
        provider_id,
        api_type,
        base_url,
        headers,
        meta,
    } = params;
    Errand::SetProvider {
        id: provider_id.into_owned(),
        api: api_type.into_owned(),
        gateway: Way { base_url, headers }.owned(),
        more: meta,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Disable<'a> {
    #[serde(borrow)]
    provider_id: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Way<'a> {
    #[serde(borrow)]
    base_url: Cow<'a, str>,
    #[serde(borrow, default)]
    headers: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
}

impl Way<'_> {
    fn owned(self) -> Gateway {
        let fields = self.headers.unwrap_or_default().into_iter();
        Gateway {
            url: self.base_url.into_owned(),
            headers: fields
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        }
    }
}

/// `authMethods`: those of the ways that this client can go.
pub fn sign_ins(all: &[SignIn], client: &Client, agent: &Agent) -> Vec<Object> {
    all.iter()
        .filter_map(|way| {
            let mut method = object! {
                "id": way.id, "name": way.name, "description": way.about,
            };
            match &way.by {
                SignInBy::Terminal(args) => {
                    if !client.signs_in && !client.signs_in_meta {
                        return None;
                    }
                    method.set("type", "terminal");
                    method.set("args", args);
                    if client.signs_in_meta {
                        // The whole of a command, where `args` goes behind the editor's own.
                        let whole: Vec<&String> = agent.arguments.iter().chain(args).collect();
                        let terminal = object! {
                            "command": agent.command, "args": whole, "label": way.name,
                        };
                        method.set("_meta", &object! { "terminal-auth": terminal });
                    }
                }
                SignInBy::Gateway(protocol) => {
                    if !client.gateways {
                        return None;
                    }
                    let gateway = object! { "protocol": protocol };
                    method.set("_meta", &object! { "gateway": gateway });
                }
            }
            Some(method)
        })
        .collect()
}

/// Result of `providers/list`.
pub fn providers(all: &[Provider]) -> Box<RawValue> {
    let providers: Vec<Object> = all
        .iter()
        .map(|provider| {
            let current = provider.current.as_ref();
            object! {
                "providerId": provider.id, "supported": provider.supported,
                "required": provider.required,
                "current": current.map(|(api, url)| object! { "apiType": api, "baseUrl": url }),
            }
        })
        .collect();
    raw(&object! { "providers": providers })
}

/// `_auth/status_update`.
pub fn signed_in(account: &Account, out: &mut Vec<u8>) {
    let mut status = object! { "kind": account.kind, "label": account.label };
    if let Some(detail) = &account.detail {
        status.set("detail", detail);
    }
    if let Some(person) = &account.person {
        status.set("account", &about(person));
    }
    if let Some(vendor) = &account.vendor {
        status.set("vendor", vendor);
    }
    let message = object! {
        "jsonrpc": "2.0", "method": "_auth/status_update",
        "params": object! { "authStatus": status },
    };
    line(&message, out);
}

fn about(person: &Person) -> Object {
    let mut about = Object::new();
    for (name, value) in [
        ("email", &person.email),
        ("organization", &person.organization),
        ("plan", &person.plan),
    ] {
        if let Some(value) = value {
            about.set(name, value);
        }
    }
    about
}
