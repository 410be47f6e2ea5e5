//! What becomes of a turn or a message when its attachments are known, uploaded, or cannot
//! be had.
//!
//! Invariant: what waits for a parcel hears of it exactly once, and in this order: known,
//! uploaded.

use alloc::vec::Vec;

use super::feed::Feed;
use super::parcel::{Goal, ParcelId, content_fits};
use super::{Cx, Maka, failure};
use crate::host::{Fact, Failure};

impl Maka {
    /// All that can be known of a turn's attachments without the Host is known.
    pub(super) fn admitted(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) {
        match self.parcels.get(&id).map(|parcel| &parcel.goal) {
            Some(&Goal::Turn { session }) => self.wake(cx, session),
            // Its turn runs: the Host is there.
            Some(Goal::Message { .. }) => self.publish(cx, id),
            None => {}
        }
    }

    /// All attachments are the Host's: what waited for them goes.
    pub(super) fn published(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) {
        let Some(parcel) = self.parcels.remove(&id) else {
            return;
        };
        let references: Vec<_> = parcel
            .items
            .into_iter()
            .filter_map(|item| item.reference)
            .collect();
        // The Host's references may be longer than they were thought to be.
        if !content_fits(&parcel.text, parcel.display.as_deref(), &references) {
            let failure = failure::prompt_rejected(
                "The prompt is longer than 52 KiB with its attachments. Put the long part into a file.",
            );
            return self.undelivered(cx, parcel.goal, failure);
        }
        match parcel.goal {
            Goal::Turn { session } => {
                let Some(attached) = self.feeds.get_mut(&session) else {
                    return;
                };
                if let Some(turn) = &mut attached.turn {
                    turn.parcel = None;
                    turn.text = parcel.text;
                    turn.display = parcel.display;
                    turn.attachments = references;
                }
                if matches!(attached.feed, Feed::Live) {
                    self.dispatch(cx, session);
                }
            }
            Goal::Message { session, ticket } => {
                let display = parcel.display.as_deref();
                self.submit(cx, session, ticket, &parcel.text, display, &references);
            }
        }
    }

    /// The attachments cannot be had: what waited for them comes to nothing.
    pub(super) fn undelivered(&mut self, cx: &mut Cx<'_, '_>, goal: Goal, failure: Failure) {
        match goal {
            Goal::Turn { session } => {
                if let Some(turn) = self.feeds.get_mut(&session).and_then(|a| a.turn.as_mut()) {
                    turn.parcel = None;
                    turn.break_off(failure);
                }
                self.progress(cx, session);
            }
            Goal::Message { ticket, .. } => cx.answer(Fact::Refused { ticket, failure }),
        }
    }
}
