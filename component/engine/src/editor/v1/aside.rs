//! Subagents and tasks in the background as ACP v1 has them: child sessions
//! (`subagent_update`, `session_message`), or the forms of the AIR extensions
//! (`subagent_spawned`, `async_task_spawned`, ...).
//!
//! Touches only the buffer that it is given. Invariant: a client gets one form of the two,
//! and only the form that it asked for.

use alloc::string::String;
use alloc::vec::Vec;

use super::answers::line;
use super::options::config_options;
use super::report;
use crate::host::Client;
use crate::host::aside::{News, Over, Progress, Subagent, TaskNews};
use crate::json::Object;
use crate::object;
use crate::projection::Shown;
use crate::rpc::error;

/// What is new of a subagent of this session. Some clients know child sessions by ACP's own
/// words, in which they can be stopped.
pub fn subagent(session_id: &str, subagent: &Subagent<'_>, client: Client, out: &mut Vec<u8>) {
    let Subagent { id, parent, news } = subagent;
    let owner = parent.unwrap_or(session_id);
    if let News::Set { options, meta } = news {
        let mut update = object! {
            "sessionUpdate": "config_option_update",
            "configOptions": config_options(options, client),
        };
        if let Some(meta) = meta {
            update.set("_meta", meta);
        }
        return send(id, &update, out);
    }
    match client.subagents {
        true => child(owner, id, news, out),
        false => spawned(owner, id, news, out),
    }
}

fn child(owner: &str, id: &str, news: &News<'_>, out: &mut Vec<u8>) {
    let state = match news {
        News::Began {
            title, kind, live, ..
        } => {
            let mut update = object! {
                "sessionUpdate": "subagent_update", "sessionId": id, "title": title,
            };
            if let Some(kind) = kind {
                update.set("description", kind);
            }
            if *live {
                update.set("capabilities", &object! { "cancel": object! {} });
            }
            update.set("state", &object! { "state": "running" });
            return send(owner, &update, out);
        }
        News::Told { message, text } => {
            let content = [Shown::Text(String::from(*text))];
            let sent = letter(message, owner, id, &content);
            let there = sent.clone().with("recipientMessageId", message);
            send(owner, &there, out);
            return send(id, &sent.with("senderMessageId", message), out);
        }
        News::Replied { message, content } => {
            let mut reply = String::from(*message);
            reply.push_str(":reply");
            return send(owner, &letter(&reply, id, owner, content), out);
        }
        News::Works => object! { "state": "running" },
        News::Waits => object! { "state": "requires_action" },
        News::Over(Over::Completed) => object! { "state": "idle", "stopReason": "end_turn" },
        News::Over(Over::Stopped) => object! { "state": "idle", "stopReason": "cancelled" },
        News::Over(Over::Failed) => object! {
            "state": "idle", "stopReason": "error",
            "error": object! { "code": error::INTERNAL, "message": "The subagent failed." },
        },
        News::Set { .. } => return,
    };
    let update = object! {
        "sessionUpdate": "subagent_update", "sessionId": id, "state": state,
    };
    send(owner, &update, out);
}

fn letter(message: &str, from: &str, to: &str, content: &[Shown]) -> Object {
    let blocks: Vec<Object> = content.iter().filter_map(report::block).collect();
    object! {
        "sessionUpdate": "session_message", "messageId": message,
        "senderSessionId": from, "recipientSessionId": to, "content": blocks,
    }
}

fn spawned(owner: &str, id: &str, news: &News<'_>, out: &mut Vec<u8>) {
    let state = match news {
        News::Began {
            title, task, live, ..
        } => {
            let mut update = object! {
                "sessionUpdate": "subagent_spawned", "subagentSessionId": id, "name": title,
                "task": task,
            };
            if *live {
                update.set("prompt", task);
            }
            update.set("capabilities", &object! {});
            return send(owner, &update, out);
        }
        News::Over(Over::Completed) => "completed",
        News::Over(Over::Failed) => "failed",
        News::Over(Over::Stopped) => "cancelled",
        // It has no words for these.
        News::Told { .. } | News::Works | News::Waits | News::Replied { .. } | News::Set { .. } => {
            return;
        }
    };
    let update = object! {
        "sessionUpdate": "subagent_state_update", "subagentSessionId": id, "state": state,
    };
    send(owner, &update, out);
}

/// What is new of a task in the background.
pub fn task(session_id: &str, id: &str, news: &TaskNews, out: &mut Vec<u8>) {
    let state = |state: &str, summary: Option<&String>| {
        let mut update = object! {
            "sessionUpdate": "async_task_state_update", "asyncTaskId": id, "state": state,
        };
        if let Some(summary) = summary {
            update.set("summary", summary);
        }
        update
    };
    let update = match news {
        TaskNews::Began {
            name,
            kind,
            about,
            alone,
            call,
        } => {
            let mut update = object! {
                "sessionUpdate": "async_task_spawned", "asyncTaskId": id, "name": name,
                "taskType": kind, "description": about, "showInTranscript": alone,
                "canStop": true,
            };
            if let Some(call) = call {
                update.set("toolCallId", call);
            }
            update
        }
        TaskNews::Progress(progress) => progressed(id, progress),
        TaskNews::Paused => state("paused", None),
        TaskNews::Works => state("running", None),
        TaskNews::Over(over, summary) => {
            let word = match over {
                Over::Completed => "completed",
                Over::Failed => "failed",
                Over::Stopped => "stopped",
            };
            state(word, summary.as_ref())
        }
    };
    send(session_id, &update, out);
}

fn progressed(id: &str, progress: &Progress) -> Object {
    let Progress {
        about,
        summary,
        tool,
        spent,
        output,
        call,
    } = progress;
    let mut update = object! { "sessionUpdate": "async_task_progress", "asyncTaskId": id };
    let texts = [
        ("description", about),
        ("summary", summary),
        ("lastToolName", tool),
        ("outputFilePath", output),
        ("toolCallId", call),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            update.set(name, text);
        }
    }
    if let Some((tokens, uses, milliseconds)) = spent {
        let usage = object! {
            "totalTokens": tokens, "toolUses": uses, "durationMs": milliseconds,
        };
        update.set("usage", &usage);
    }
    update
}

fn send(session_id: &str, update: &Object, out: &mut Vec<u8>) {
    line(
        &object! {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": object! { "sessionId": session_id, "update": update },
        },
        out,
    );
}
