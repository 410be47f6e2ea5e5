//! The context is made smaller: shown as a card of its own (Claude adapter, section 6.3).
//!
//! Invariant: a compaction that was shown to begin is shown to end.

use alloc::borrow::ToOwned;

use serde::Deserialize;

use super::session::Session;
use super::turns::Gate;
use super::wire::{Frame, part};
use crate::host::{Cx, Fact};
use crate::json::Object;
use crate::object;
use crate::projection::{Report, Status, ToolKind};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Facts {
    trigger: Option<alloc::string::String>,
    pre_tokens: Option<u64>,
    post_tokens: Option<u64>,
    duration_ms: Option<u64>,
}

impl Session {
    /// `status` `compacting`.
    pub(super) fn compacting(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        if self.compaction.is_some() || self.turns.gate() == Gate::Reported {
            return;
        }
        let id = frame.uuid.clone().into_owned();
        self.compaction = Some(id.clone());
        let begun = Report {
            first: true,
            title: Some("Compact conversation".to_owned()),
            kind: Some(ToolKind::Think),
            status: Some(Status::InProgress),
            ..card(&id)
        };
        self.tell(cx, Fact::Card(begun.into()));
    }

    /// It ended: well, with an error, or because it was stopped.
    pub(super) fn compacted(&mut self, cx: &mut Cx<'_, '_>, well: bool) {
        let Some(id) = self.compaction.take() else {
            return;
        };
        let ended = Report {
            status: Some(if well {
                Status::Completed
            } else {
                Status::Failed
            }),
            ..card(&id)
        };
        self.compaction_told = Some(id);
        self.tell(cx, Fact::Card(ended.into()));
    }

    /// `compact_boundary`: what it was worth.
    pub(super) fn compact_boundary(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        self.compacted(cx, true);
        let facts: Facts = part(frame.compact_metadata);
        if let Some(id) = self.compaction_told.take() {
            let mut raw = Object::new();
            if let Some(trigger) = &facts.trigger {
                raw.set("trigger", trigger);
            }
            for (name, value) in [
                ("preTokens", facts.pre_tokens),
                ("postTokens", facts.post_tokens),
                ("durationMs", facts.duration_ms),
            ] {
                if let Some(value) = value {
                    raw.set(name, &value);
                }
            }
            let told = Report {
                raw_output: serde_json::value::to_raw_value(&raw).ok(),
                ..card(&id)
            };
            self.tell(cx, Fact::Card(told.into()));
        }
        let usage = self.meter.compacted(facts.post_tokens.unwrap_or_default());
        self.tell(cx, Fact::Usage(usage));
    }
}

fn card(id: &str) -> Report {
    Report {
        id: id.to_owned(),
        meta: Some(object! { "claudeCode": object! { "toolName": "compact" } }),
        ..Report::default()
    }
}
