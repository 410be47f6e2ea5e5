//! Tools that the model called, until their results are there (Claude adapter, section 7): a
//! turn that is told to be done, and has not got one of them, is not done.
//!
//! Invariant: only what the program itself runs counts; a server's tools have their results
//! in the message that calls them.

use alloc::borrow::ToOwned;

use super::failure;
use super::session::Session;
use super::wire::{Frame, Message};
use crate::host::{Ending, Outcome};
use crate::limits;

impl Session {
    /// The model calls these tools.
    pub(super) fn dispatch(&mut self, message: &Message<'_>) {
        for block in message.blocks() {
            let room = (self.dispatched.len() as u64) < limits::CLAUDE_OPEN_CALLS;
            if block.kind == "tool_use" && !block.id.is_empty() && room {
                self.dispatched.insert(block.id.as_ref().to_owned());
            }
        }
    }

    /// These tools are done.
    pub(super) fn returned(&mut self, message: &Message<'_>) {
        for block in message.blocks() {
            self.dispatched.remove(block.tool_use_id.as_ref());
        }
    }

    /// What a turn came to, of which `over` is whether it is over.
    pub(super) fn completed(&mut self, outcome: Outcome, frame: &Frame<'_>, over: bool) -> Outcome {
        if !over {
            return outcome;
        }
        let open = !core::mem::take(&mut self.dispatched).is_empty();
        let well = matches!(
            outcome,
            Outcome::Ended {
                ending: Ending::EndTurn,
                ..
            }
        );
        if open && well && frame.subtype == "success" {
            let failure = failure::incomplete();
            return Outcome::Broken { failure };
        }
        outcome
    }
}
