//! What only some clients of ACP v1 are shown ([`More`]), as updates of their session.
//!
//! Touches only the buffer that it is given. Invariant: each call writes one whole message.

use alloc::vec::Vec;

use super::air;
use super::answers::session_update;
use crate::host::Extras;
use crate::host::more::{Compacting, More, Severity};
use crate::json::Object;
use crate::object;

/// Writes one notification for the session.
pub fn update(session_id: &str, more: &More, extras: Extras, out: &mut Vec<u8>) {
    session_update(session_id, &body(more, extras), out);
}

fn body(more: &More, extras: Extras) -> Object {
    match more {
        More::Notice {
            severity,
            title,
            text,
        } => {
            let mut notice = object! {
                "sessionUpdate": "notice", "severity": word(*severity), "title": title,
            };
            if let Some(text) = text {
                notice.set("description", text);
            }
            notice
        }
        More::Compaction {
            id,
            state,
            summary,
            facts,
        } => {
            let status = match state {
                Compacting::Runs => "in_progress",
                Compacting::Done => "completed",
                Compacting::Failed => "failed",
                Compacting::Stopped => "cancelled",
            };
            let mut update = object! {
                "sessionUpdate": "compaction_update", "compactionId": id, "status": status,
            };
            if let Some(summary) = summary {
                let text = object! { "type": "text", "text": summary };
                update.set("summary", &[text]);
            }
            if let Some(error) = &facts.error {
                update.set("error", error);
            }
            if extras.on {
                // ACP has a field for the error.
                let mut facts = facts.clone();
                facts.error = None;
                update.set("_meta", &air::meta(air::compaction(&facts)));
            }
            update
        }
        More::Document { id, text } => object! {
            "sessionUpdate": "plan_update",
            "plan": object! { "type": "markdown", "planId": id, "content": text },
        },
        More::Suggestions(texts) => {
            let texts: Vec<Object> = texts.iter().map(|it| object! { "text": it }).collect();
            info(object! { "promptSuggestions": object! { "suggestions": texts } })
        }
        More::Record(record) => info(air::meta(air::record(record))),
        More::Goal(goal) => info(air::meta(air::goal(goal.as_ref()))),
        More::PastEnd => info(air::meta(object! { "loadReplayEnd": true })),
        More::Files(report) => info(air::meta(air::files(report))),
    }
}

fn info(meta: Object) -> Object {
    object! { "sessionUpdate": "session_info_update", "_meta": meta }
}

/// The word for how much something matters.
pub fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}
