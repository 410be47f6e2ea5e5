//! Messages into a turn that runs (Claude adapter, section 8), on their way to the process.
//!
//! Invariant: a message is written once, or given back.

use alloc::borrow::ToOwned;

use super::session::Session;
use super::{failure, prompt};
use crate::admission::Content;
use crate::host::{Cx, Fact, Outcome, Spent};
use crate::rpc::Ticket;

impl Session {
    /// The editor says something to the turn that runs.
    pub fn steer(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, content: Content) {
        let blocks = match prompt::content(&content.blocks) {
            Ok(blocks) => blocks,
            Err(what) => {
                let failure = failure::unreadable(&what);
                return cx.answer(Fact::Refused { ticket, failure });
            }
        };
        let uuid = cx.core.uuid();
        if !self.stage.is_live() || !self.turns.steer(&uuid) {
            return self.tell(cx, Fact::Unsteered { ticket, content });
        }
        // While the user is being asked, the answer comes first.
        let asks = self.permissions.waiting();
        let priority = if asks { "later" } else { "now" };
        let line = prompt::message(&self.id, &uuid, &blocks, Some(priority));
        self.write(cx, &line);
        self.goal_asked(cx, &uuid, &prompt::words(&content.blocks));
        let running = true;
        self.tell(cx, Fact::Steered { ticket, running });
    }

    /// A result is not the last of its turn: what it took is kept until that is certain.
    pub(super) fn keep_answered(&mut self, outcome: &Outcome, spent: &Spent) {
        if let Outcome::Ended { ending, .. } = outcome {
            for uuid in self.turns.answered() {
                let held = (*ending, spent.clone());
                self.spent.insert(uuid.to_owned(), held);
            }
        }
    }
}
