//! A context that is made smaller while nobody works (Claude adapter, section 14): a provider
//! that keeps it for an hour would let the next prompt pay for all of it again.
//!
//! Invariant: it is done at most once between two prompts of the user's, and never while one
//! is open.

use super::Due;
use super::prompt;
use super::session::{Session, Stage};
use crate::host::Cx;
use crate::{limits, object};

impl Session {
    /// Nothing runs any more: time begins.
    pub(super) fn rests(&mut self, cx: &mut Cx<'_, '_>) {
        if self.idle.is_none()
            && !self.rested
            && self.stage == Stage::Live
            && !self.works()
            && self.meter.worth_compacting()
        {
            let due = Due::Compact(self.channel);
            self.idle = Some(cx.arm(due, limits::CLAUDE_IDLE_MS));
        }
    }

    /// The user works again, or the session ends.
    pub(super) fn wakes(&mut self, cx: &mut Cx<'_, '_>) {
        self.rested = false;
        if let Some(timer) = self.idle.take() {
            cx.core.disarm(timer);
        }
    }

    /// Whether Claude does anything, by itself and in the background too.
    fn works(&self) -> bool {
        self.turns.busy() || self.turns.active() || self.tasks.subagents_run()
    }

    /// Nobody worked for so long.
    pub(super) fn compact(&mut self, cx: &mut Cx<'_, '_>) {
        self.idle = None;
        if self.stage != Stage::Live || self.works() {
            return;
        }
        self.rested = true;
        let uuid = cx.core.uuid();
        let words = object! { "type": "text", "text": "/compact" };
        let line = prompt::message(&self.id, &uuid, &[words], None);
        self.send(cx, &uuid, true, &line);
        self.turns.prompt(&uuid);
    }
}
