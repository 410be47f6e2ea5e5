//! ACP v1 answers, errors and the small notifications, as lines.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::config::Agent;
use crate::editor::{Steered, StopReason};
use crate::host::more::Record;
use crate::host::{Client, Extras, Habits, ListPage, PlanEntry, PlanStatus, Skill, Spent, Usage};
use crate::json::Object;
use crate::object;
use crate::rpc::RpcError;
use crate::session::options::Options;

use super::{air, index, options};

/// The version that is spoken.
pub const VERSION: u16 = 1;

/// Result of `initialize`. No capability is claimed that is not there.
/// `extension` is the name under which the Host says what the protocol has no words for.
/// `sign_ins` are the ways to sign in that this client can go.
pub fn initialize(
    agent: &Agent,
    habits: Habits,
    extension: &str,
    client: Client,
    sign_ins: &[Object],
) -> Box<RawValue> {
    let mut capabilities = object! {
        "loadSession": habits.history,
        "promptCapabilities": object! { "image": true, "embeddedContext": true },
    };
    if habits.queues {
        let mine = object! { "promptQueueing": true };
        let mut meta = Object::new().with(extension, &mine);
        if habits.errands {
            meta.set("authStatus", &object! {});
        }
        capabilities.set("_meta", &meta);
    }
    if habits.errands {
        capabilities.set("auth", &object! { "logout": object! {} });
        capabilities.set("providers", &object! {});
    }
    if habits.mcp {
        capabilities.set("mcpCapabilities", &object! { "http": true, "sse": true });
    }
    let mut session = object! {};
    if habits.history {
        session.set("list", &object! {});
        session.set("resume", &object! {});
    }
    session.set("close", &object! {});
    if habits.history {
        session.set("delete", &object! {});
    }
    if habits.errands {
        session.set("fork", &object! {});
    }
    if habits.folders {
        session.set("additionalDirectories", &object! {});
    }
    if habits.instructed {
        let mode = object! { "override": object! {} };
        session.set("systemPrompt", &object! { "mode": mode });
    }
    if client.extras.on {
        session.set("subagents", &object! {});
    }
    capabilities.set("sessionCapabilities", &session);
    let mut meta = Object::new();
    if client.extras.on {
        air::add(&mut meta, air::offer());
    }
    meta.set("steering", &object! { "supported": true });
    raw(&object! {
        "protocolVersion": VERSION,
        "agentCapabilities": capabilities,
        "authMethods": sign_ins,
        "agentInfo": object! { "name": agent.name, "title": agent.title, "version": agent.version },
        "_meta": meta,
    })
}

/// Result of `session/new`; what the Host says of the session goes into `_meta`.
pub fn created(
    session_id: &str,
    options: Option<&Options>,
    client: Client,
    about: Option<Object>,
) -> Box<RawValue> {
    let mut result = object! { "sessionId": session_id };
    if let Some(options) = options {
        options::describe(&mut result, options, client);
    }
    if let Some(about) = about {
        result.set("_meta", &about);
    }
    raw(&result)
}

/// Result of `session/load` and `session/resume`.
pub fn loaded(options: Option<&Options>, client: Client) -> Box<RawValue> {
    let mut result = object! {};
    if let Some(options) = options {
        options::describe(&mut result, options, client);
    }
    raw(&result)
}

/// Result of `session/list`, and of `_session/batch_get`.
pub fn listed(page: &ListPage, indexed: bool) -> Box<RawValue> {
    let sessions = page.sessions.iter();
    let sessions: Vec<Object> = sessions.map(|item| index::session(item, indexed)).collect();
    let mut result = object! { "sessions": sessions };
    if let Some(cursor) = &page.next_cursor {
        result.set("nextCursor", cursor);
    }
    raw(&result)
}

/// Result of `session/prompt`.
pub fn stopped(reason: StopReason, spent: Option<&Spent>) -> Box<RawValue> {
    raw(&ended(reason, spent))
}

/// The same, and this went wrong.
pub fn recorded(reason: StopReason, spent: Option<&Spent>, record: &Record) -> Box<RawValue> {
    let mut result = ended(reason, spent);
    let mut meta = result.object("_meta").unwrap_or_default();
    air::add(&mut meta, air::record(record));
    result.set("_meta", &meta);
    raw(&result)
}

fn ended(reason: StopReason, spent: Option<&Spent>) -> Object {
    let mut result = object! {
        "stopReason": match reason {
            StopReason::EndTurn => "end_turn",
            StopReason::MaxTokens => "max_tokens",
            StopReason::MaxTurnRequests => "max_turn_requests",
            StopReason::Refusal => "refusal",
            StopReason::Cancelled => "cancelled",
        }
    };
    if let Some(Spent { tokens, meta }) = spent {
        let usage = object! {
            "inputTokens": tokens.input, "outputTokens": tokens.output,
            "cachedReadTokens": tokens.cached_read, "cachedWriteTokens": tokens.cached_write,
            "totalTokens": tokens.total(),
        };
        result.set("usage", &usage);
        if let Some(meta) = meta {
            result.set("_meta", meta);
        }
    }
    result
}

/// Result of `_session/steering`.
pub fn steered(steered: Steered) -> Box<RawValue> {
    raw(&match steered {
        Steered::Running => object! { "outcome": "injected" },
        Steered::NewTurn => object! { "outcome": "startedNewTurn" },
        Steered::NoTurn => object! { "outcome": "promptRequired", "reason": "noRunningTurn" },
    })
}

/// Result of `_session/async_task/stop`.
pub fn task_stopped(stopped: bool) -> Box<RawValue> {
    raw(&object! { "stopped": stopped })
}

/// Result of methods that only say yes.
pub fn empty() -> Box<RawValue> {
    raw(&object! {})
}

/// `plan`: all entries. ACP wants a priority, which no Host of ours gives.
pub fn plan(session_id: &str, entries: &[PlanEntry], out: &mut Vec<u8>) {
    let entries: Vec<Object> = entries
        .iter()
        .map(|entry| {
            let status = match entry.status {
                PlanStatus::Pending => "pending",
                PlanStatus::InProgress => "in_progress",
                PlanStatus::Completed => "completed",
            };
            object! { "content": entry.content, "status": status, "priority": "medium" }
        })
        .collect();
    let update = object! { "sessionUpdate": "plan", "entries": entries };
    session_update(session_id, &update, out);
}

/// `usage_update`.
pub fn usage(session_id: &str, usage: &Usage, out: &mut Vec<u8>) {
    let mut update = object! {
        "sessionUpdate": "usage_update", "used": usage.used, "size": usage.size
    };
    if let Some(cost) = usage.cost_usd {
        update.set("cost", &object! { "amount": cost, "currency": "USD" });
    }
    if let Some(meta) = &usage.meta {
        update.set("_meta", meta);
    }
    session_update(session_id, &update, out);
}

/// `available_commands_update`: all of them.
pub fn commands(session_id: &str, skills: &[Skill], extras: Extras, out: &mut Vec<u8>) {
    let commands: Vec<Object> = skills
        .iter()
        .map(|skill| {
            let mut command = object! {
                "name": skill.id, "description": skill.description,
                "input": skill.hint.as_ref().map(|hint| object! { "hint": hint }),
            };
            if extras.on && skill.teaches {
                command.set("_meta", &air::meta(air::skill(skill.path.as_deref())));
            }
            command
        })
        .collect();
    let update = object! {
        "sessionUpdate": "available_commands_update", "availableCommands": commands
    };
    session_update(session_id, &update, out);
}

/// `session_info_update`.
pub fn session_info(session_id: &str, title: &str, updated_at: Option<&str>, out: &mut Vec<u8>) {
    let mut update = object! { "sessionUpdate": "session_info_update", "title": title };
    if let Some(at) = updated_at {
        update.set("updatedAt", at);
    }
    session_update(session_id, &update, out);
}

pub(super) fn session_update(session_id: &str, update: &Object, out: &mut Vec<u8>) {
    line(
        &object! {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": object! { "sessionId": session_id, "update": update },
        },
        out,
    );
}

/// A result line. The id is written as it came.
pub fn result(id: &str, result: &RawValue, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result.get().as_bytes());
    out.extend_from_slice(b"}\n");
}

/// An error line; without an id that could be made out it says `null`.
pub fn error(id: Option<&str>, error: &RpcError, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.unwrap_or("null").as_bytes());
    out.extend_from_slice(b",\"error\":");
    out.extend_from_slice(raw(error).get().as_bytes());
    out.extend_from_slice(b"}\n");
}

/// A message as a line.
pub(super) fn line(message: &Object, out: &mut Vec<u8>) {
    out.extend_from_slice(raw(message).get().as_bytes());
    out.push(b'\n');
}

/// A result as JSON text.
pub(super) fn raw(value: &impl Serialize) -> Box<RawValue> {
    // Only maps with text keys are written here: serialising them cannot fail.
    to_raw_value(value).unwrap_or_default()
}
