//! The index of sessions (AIR `sessionIndex`), in ACP v1 words: requests read, rows and their
//! changes written.
//!
//! Pure. Invariant: a client that did not agree on the index is told that its methods are not
//! there, and gets none of its keys.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::air;
use super::answers::{line, raw};
use super::decode::{OfSession, read};
use super::setup;
use crate::editor::Ask;
use crate::host::{Errand, Extras, IndexQuery, IndexRow, ListItem, Shown, State};
use crate::json::Object;
use crate::limits;
use crate::object;
use crate::rpc::RpcError;

/// Reads a request; `None` if the method is none of these, or not of this client's.
pub fn request(
    method: &str,
    params: Option<&RawValue>,
    extras: Extras,
) -> Option<Result<Ask, RpcError>> {
    let errand = match method {
        // "Done", as editors say it that have no archive of their own.
        "session/delete" if extras.on && !extras.index => {
            read(method, params).map(|of| archived(of, true))
        }
        "session/list" if extras.on => read(method, params).and_then(|it| list(it, extras)),
        "_session/batch_get" if extras.batches => read(method, params).map(batch),
        "_session/rename" if extras.index => read(method, params).and_then(rename),
        "_session/archive" if extras.index => read(method, params).map(|of| archived(of, true)),
        "_session/unarchive" if extras.index => read(method, params).map(|of| archived(of, false)),
        "_session/list/subscribe" if extras.index => read(method, params).and_then(subscribe),
        "_session/list/unsubscribe" if extras.index => {
            read(method, params).map(|it: Subscription<'_>| Errand::Unwatch {
                watch: it.subscription_id.into_owned(),
            })
        }
        _ => return None,
    };
    Some(errand.map(Ask::Errand))
}

fn archived(of: OfSession<'_>, archived: bool) -> Errand {
    Errand::Archive {
        session_id: of.session_id.into_owned(),
        archived,
    }
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    cursor: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// `_meta.jetbrains.air.list`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wanted<'a> {
    #[serde(borrow)]
    limit: Option<&'a RawValue>,
    #[serde(borrow)]
    archived: Option<Cow<'a, str>>,
    /// Other checkouts of the folder are not looked for.
    #[serde(rename = "includeWorktrees")]
    _include_worktrees: Option<bool>,
}

fn list(params: List<'_>, extras: Extras) -> Result<Errand, RpcError> {
    #[derive(Default, Deserialize)]
    struct Keys<'a> {
        #[serde(borrow, default)]
        list: Option<&'a RawValue>,
    }
    if let Some(cwd) = &params.cwd {
        setup::folder(cwd)?;
    }
    let keys = air::of(params.meta).filter(|_| extras.index);
    let keys: Keys<'_> = keys
        .and_then(|it| serde_json::from_str(it.get()).ok())
        .unwrap_or_default();
    let wanted: Wanted<'_> = match keys.list.filter(|it| it.get() != "null") {
        Some(list) => serde_json::from_str(list.get()).map_err(|why| {
            RpcError::params("session/list", &format!("the list it wants: {why}"))
        })?,
        None => Wanted::default(),
    };
    let limit = match wanted.limit.map(RawValue::get).filter(|it| *it != "null") {
        None => extras.index.then_some(limits::INDEX_PAGE.0),
        Some(text) => match text.parse::<u64>() {
            Ok(limit @ 1..) => Some(limit.min(limits::INDEX_PAGE.1)),
            _ => {
                let sentence = "The limit of a list is a whole number, at least 1.";
                return Err(RpcError::field("limit", "out_of_range", sentence));
            }
        },
    };
    let shown = match wanted.archived.as_deref() {
        None | Some("unarchived") => Shown::Unarchived,
        Some("archived") => Shown::Archived,
        Some("all") => Shown::All,
        Some(_) => {
            let sentence = "A list shows unarchived sessions, archived ones, or all.";
            return Err(RpcError::field("archived", "unsupported", sentence));
        }
    };
    Ok(Errand::Index {
        cwd: params.cwd.map(Cow::into_owned),
        cursor: params.cursor.map(Cow::into_owned),
        query: IndexQuery {
            limit,
            shown,
            ids: None,
        },
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Batch {
    session_ids: Vec<String>,
}

fn batch(params: Batch) -> Errand {
    Errand::Index {
        cwd: None,
        cursor: None,
        query: IndexQuery {
            limit: None,
            shown: Shown::All,
            ids: Some(params.session_ids),
        },
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rename<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    title: Cow<'a, str>,
}

fn rename(params: Rename<'_>) -> Result<Errand, RpcError> {
    let words: Vec<&str> = params.title.split_whitespace().collect();
    let mut title = words.join(" ");
    if title.is_empty() {
        let sentence = "A session's name has at least one letter.";
        return Err(RpcError::field("title", "required", sentence));
    }
    let most = limits::SESSION_TITLE as usize;
    if title.chars().count() > most {
        title = title.chars().take(most - 1).collect();
        title.push('…');
    }
    Ok(Errand::Rename {
        session_id: params.session_id.into_owned(),
        title,
    })
}

#[derive(Deserialize)]
struct Subscribe<'a> {
    #[serde(borrow)]
    cwd: Cow<'a, str>,
}

fn subscribe(params: Subscribe<'_>) -> Result<Errand, RpcError> {
    setup::folder(&params.cwd)?;
    Ok(Errand::Watch {
        cwd: params.cwd.into_owned(),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subscription<'a> {
    #[serde(borrow)]
    subscription_id: Cow<'a, str>,
}

/// Result of `_session/list/subscribe`.
pub fn watched(watch: &str) -> Box<RawValue> {
    raw(&object! { "subscriptionId": watch })
}

/// `_session/list/changes`.
pub fn changed(watch: &str, sessions: &[ListItem], removed: &[String], out: &mut Vec<u8>) {
    let sessions: Vec<Object> = sessions.iter().map(|item| session(item, true)).collect();
    let message = object! {
        "jsonrpc": "2.0", "method": "_session/list/changes",
        "params": object! {
            "subscriptionId": watch, "sessions": sessions, "removed": removed,
        },
    };
    line(&message, out);
}

/// A row of a list, for a client of the index with what that says besides.
pub fn session(item: &ListItem, indexed: bool) -> Object {
    let mut session = object! {
        "sessionId": item.id, "cwd": item.cwd, "title": item.title
    };
    if let Some(at) = &item.updated_at {
        session.set("updatedAt", at);
    }
    if let Some(row) = item.row.as_ref().filter(|_| indexed) {
        session.set("_meta", &air::meta(about(row)));
    }
    session
}

fn about(row: &IndexRow) -> Object {
    let mut about = object! { "archived": row.archived };
    for (name, text) in [
        ("lastPromptAt", &row.last_prompt_at),
        ("model", &row.model),
        ("forkedFrom", &row.forked_from),
    ] {
        if let Some(text) = text {
            about.set(name, text);
        }
    }
    if let Some(standing) = &row.standing {
        let state = match standing.state {
            State::Idle => "idle",
            State::Running => "running",
            State::Asking => "requires_action",
        };
        about.set("state", state);
        if let Some(at) = &standing.ended_at {
            about.set("lastTurnEndedAt", at);
        }
        if let Some(usd) = standing.cost_usd {
            about.set("cost", &object! { "amount": usd, "currency": "USD" });
        }
    }
    about
}
