//! The context is made smaller (Claude adapter, section 6.3): told as such to editors that
//! show it, else as a card of its own.
//!
//! Invariant: a compaction that was shown to begin is shown to end.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::session::Session;
use super::turns::Gate;
use super::wire::{Frame, part};
use crate::host::more::{Compacting, More};
use crate::host::{Client, Cx, Fact};
use crate::json::Object;
use crate::object;
use crate::projection::{Compacted, Hint, Report, Shown, Status, ToolKind};

/// As it is said, and in other letters as it is stored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Facts {
    trigger: Option<String>,
    #[serde(alias = "preTokens")]
    pre_tokens: Option<u64>,
    #[serde(alias = "postTokens")]
    post_tokens: Option<u64>,
    #[serde(alias = "durationMs")]
    duration_ms: Option<u64>,
}

/// What a compaction was worth.
pub fn facts(metadata: Option<&RawValue>) -> Compacted {
    let facts: Facts = part(metadata);
    Compacted {
        trigger: facts.trigger,
        before: facts.pre_tokens,
        after: facts.post_tokens,
        took_ms: facts.duration_ms,
        error: None,
    }
}

/// One of the past, which is over: as such, or as a card with its summary. `None` for an editor
/// that knows neither.
pub fn past(client: Client, id: &str, summary: String, facts: Compacted) -> Option<Fact<'static>> {
    let facts = worded(facts);
    if client.compactions {
        return Some(Fact::More(More::Compaction {
            id: id.to_owned(),
            state: Compacting::Done,
            summary: Some(summary),
            facts,
        }));
    }
    client.extras.on.then(|| {
        let card = Report {
            status: Some(Status::Completed),
            content: Some(Vec::from([Shown::Text(summary)])),
            hints: Vec::from([Hint::Compaction(facts)]),
            ..card(id, Compacting::Runs)
        };
        Fact::Card(card.into())
    })
}

impl Session {
    /// `status` `compacting`.
    pub(super) fn compacting(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        if self.compaction.is_some() || self.turns.gate() == Gate::Reported {
            return;
        }
        let id = frame.uuid.clone().into_owned();
        self.compaction = Some(id.clone());
        self.more.summary = None;
        self.tell_compaction(cx, &id, Compacting::Runs, Compacted::default());
    }

    /// It ended: well, or with an error.
    pub(super) fn compacted(&mut self, cx: &mut Cx<'_, '_>, well: bool, error: Option<&str>) {
        let state = if well {
            Compacting::Done
        } else {
            Compacting::Failed
        };
        self.compaction_over(cx, state, error);
    }

    /// It was stopped.
    pub(super) fn compaction_stopped(&mut self, cx: &mut Cx<'_, '_>) {
        self.compaction_over(cx, Compacting::Stopped, None);
    }

    fn compaction_over(&mut self, cx: &mut Cx<'_, '_>, state: Compacting, error: Option<&str>) {
        let Some(id) = self.compaction.take() else {
            return;
        };
        let facts = Compacted {
            error: error.map(ToOwned::to_owned),
            ..Compacted::default()
        };
        self.tell_compaction(cx, &id, state, facts);
        self.compaction_told = Some(id);
    }

    /// `compact_boundary`: what it was worth.
    pub(super) fn compact_boundary(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        self.compacted(cx, true, None);
        let facts = facts(frame.compact_metadata);
        let after = facts.after;
        if let Some(id) = self.compaction_told.take() {
            self.tell_compaction(cx, &id, Compacting::Done, facts);
        }
        let usage = self.meter.compacted(after.unwrap_or_default());
        self.tell(cx, Fact::Usage(usage));
    }

    fn tell_compaction(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: &str,
        state: Compacting,
        facts: Compacted,
    ) {
        let client = self.setup.client;
        if client.compactions {
            let done = state == Compacting::Done;
            let more = More::Compaction {
                id: id.to_owned(),
                state,
                summary: self.more.summary.take_if(|_| done),
                facts: worded(facts),
            };
            return self.tell(cx, Fact::More(more));
        }
        let card = if client.extras.on {
            lean(id, state, worded(facts))
        } else {
            plain(id, state, &facts)
        };
        self.tell(cx, Fact::Card(card.into()));
    }
}

/// The program says `auto`.
fn worded(facts: Compacted) -> Compacted {
    let trigger = facts.trigger.map(|trigger| match trigger.as_str() {
        "auto" => "automatic".to_owned(),
        _ => trigger,
    });
    Compacted { trigger, ..facts }
}

/// The card of an editor that agreed on more than ACP.
fn lean(id: &str, state: Compacting, facts: Compacted) -> Report {
    let told = facts.trigger.is_some() || facts.before.is_some();
    let failed = facts.error.as_ref();
    let failed = failed.map(|error| Shown::Text(format!("Compaction failed: {error}")));
    let mut card = Report {
        content: failed.map(|shown| Vec::from([shown])),
        hints: Vec::from([Hint::Compaction(facts)]),
        ..card(id, state)
    };
    if !card.first {
        card.meta = None;
        card.status = card.status.filter(|_| !told);
    }
    card
}

/// The card of every other editor.
fn plain(id: &str, state: Compacting, facts: &Compacted) -> Report {
    let mut card = card(id, state);
    let mut raw = Object::new();
    if let Some(trigger) = &facts.trigger {
        raw.set("trigger", trigger);
    }
    for (name, value) in [
        ("preTokens", facts.before),
        ("postTokens", facts.after),
        ("durationMs", facts.took_ms),
    ] {
        if let Some(value) = value {
            raw.set(name, &value);
        }
    }
    if state == Compacting::Done && !raw.is_empty() {
        card.status = None;
        card.raw_output = serde_json::value::to_raw_value(&raw).ok();
    }
    card
}

fn card(id: &str, state: Compacting) -> Report {
    let first = state == Compacting::Runs;
    let status = match state {
        Compacting::Runs => Status::InProgress,
        Compacting::Done => Status::Completed,
        Compacting::Failed | Compacting::Stopped => Status::Failed,
    };
    Report {
        id: id.to_owned(),
        first,
        title: first.then(|| "Compact conversation".to_owned()),
        kind: first.then_some(ToolKind::Think),
        status: Some(status),
        meta: Some(object! { "claudeCode": object! { "toolName": "compact" } }),
        ..Report::default()
    }
}
