//! A model that declines, and another one that answers in its place (Claude adapter,
//! section 6): told, and the picker shows which model works now.
//!
//! Invariant: what only a subagent's answer came from changes no picker.

use alloc::borrow::Cow;
use alloc::format;

use serde::Deserialize;

use super::records::Notice;
use super::session::Session;
use super::turns::Gate;
use super::wire::Frame;
use crate::host::Cx;
use crate::host::more::Severity;
use crate::object;

/// The frame.
pub const FELL_BACK: &str = "model_refusal_fallback";

#[derive(Deserialize)]
struct FellBack<'a> {
    #[serde(borrow, default)]
    scope: Option<Cow<'a, str>>,
    #[serde(borrow)]
    original_model: Cow<'a, str>,
    #[serde(borrow)]
    fallback_model: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Cow<'a, str>,
}

impl Session {
    /// Another model answers in the place of one that declined.
    pub(super) fn fell_back(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>, line: &[u8]) {
        let Ok(told) = serde_json::from_slice::<FellBack<'_>>(line) else {
            return self.note(cx, "a fallback that cannot be read");
        };
        let (from, to) = (&told.original_model, &told.fallback_model);
        let words = match told.content.trim() {
            "" => format!("{from} declined this request; {to} answers instead."),
            words => words.into(),
        };
        if self.turns.gate() != Gate::Reported {
            let names = object! { "kind": FELL_BACK, "level": "warning" };
            self.notify(
                cx,
                Notice {
                    severity: Severity::Warning,
                    title: "Model fallback",
                    text: &words,
                    words: &format!("**Model fallback:** {words}"),
                    id: &frame.uuid,
                    meta: Some(object! { "claudeCode": names }),
                },
            );
        }
        if told.scope.as_deref() != Some("local") {
            self.model_runs(cx, Some(to), to);
        }
    }
}
