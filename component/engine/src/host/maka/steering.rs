//! Messages for a turn of ours that runs: `turn.message.submit` (Maka protocol, section 3.4).
//!
//! Invariants: nothing is submitted before the Host has admitted the turn, because it would
//! start one of its own; a message is submitted at most once; what the turn does not outlive
//! is given back.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::calls::Purpose;
use super::feed::check;
use super::parcel::{Goal, ParcelId, text_fits};
use super::turn::{Admission, Stop};
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Maka, failure};
use crate::admission::Content;
use crate::host::{Fact, SessionKey};
use crate::limits;
use crate::object;
use crate::rpc::Ticket;

/// A message that waits for its turn to be admitted.
#[derive(Debug, Serialize, Deserialize)]
pub struct Message {
    session: SessionKey,
    content: Content,
}

impl Maka {
    /// A message for the session's turn.
    pub(super) fn steer(
        &mut self,
        cx: &mut Cx<'_, '_>,
        session: SessionKey,
        ticket: Ticket,
        content: Content,
    ) {
        let attached = self.feeds.get(&session);
        let Some(attached) = attached.filter(|attached| attached.turn.is_some()) else {
            let _fine = cx.tell(session, Fact::Unsteered { ticket, content });
            return;
        };
        if let Err(failure) = check(&attached.session_id, &content) {
            return cx.answer(Fact::Refused { ticket, failure });
        }
        self.messages.insert(ticket, Message { session, content });
        self.steer_on(cx, session);
    }

    /// Sends what waits, if the turn runs.
    pub(super) fn steer_on(&mut self, cx: &mut Cx<'_, '_>, session: SessionKey) {
        if self.messages.is_empty() {
            return;
        }
        let runs = self
            .feeds
            .get(&session)
            .and_then(|attached| attached.turn.as_ref())
            .is_some_and(|turn| {
                matches!(turn.admission, Admission::Admitted { .. })
                    && turn.ended.is_none()
                    && matches!(turn.stop, Stop::No)
            });
        if !runs {
            return;
        }
        for (ticket, content) in self.waiting_messages(session) {
            if content.attachments.is_empty() && text_fits(&content.text) {
                self.submit(cx, session, ticket, &content.text, None, &[]);
                continue;
            }
            let Some(session_id) = self.feeds.get(&session).map(|it| it.session_id.clone()) else {
                return;
            };
            let parcel = self.admit(Goal::Message { session, ticket }, &session_id, content);
            self.prepare(cx, parcel);
        }
    }

    /// The turn is over: what was not sent is given back.
    pub(super) fn unsteer(&mut self, cx: &mut Cx<'_, '_>, session: SessionKey) {
        for (ticket, content) in self.waiting_messages(session) {
            let _fine = cx.tell(session, Fact::Unsteered { ticket, content });
        }
        let of_session =
            |goal: &Goal| matches!(goal, Goal::Message { session: of, .. } if *of == session);
        let parcels: Vec<ParcelId> = self
            .parcels
            .iter()
            .filter(|(_, parcel)| of_session(&parcel.goal))
            .map(|(id, _)| *id)
            .collect();
        for id in parcels {
            self.fail(cx, id, failure::turn_over());
        }
    }

    fn waiting_messages(&mut self, session: SessionKey) -> Vec<(Ticket, Content)> {
        let tickets: Vec<Ticket> = self
            .messages
            .iter()
            .filter(|(_, message)| message.session == session)
            .map(|(ticket, _)| *ticket)
            .collect();
        tickets
            .into_iter()
            .filter_map(|ticket| Some((ticket, self.messages.remove(&ticket)?.content)))
            .collect()
    }

    /// Sends a message whose attachments the Host has.
    pub(super) fn submit(
        &mut self,
        cx: &mut Cx<'_, '_>,
        session: SessionKey,
        ticket: Ticket,
        text: &str,
        display: Option<&str>,
        attachments: &[Box<RawValue>],
    ) {
        let Some(attached) = self.feeds.get(&session) else {
            return;
        };
        let epoch = self.link.epoch().unwrap_or(&attached.epoch);
        let input = object! {
            "originHostEpoch": epoch,
            "sessionId": attached.session_id,
            "messageId": cx.core.uuid(),
            "content": w::content(text, display, attachments),
            "placement": "current_turn",
        };
        let timeout = Some(limits::MAKA_SUBMIT_MS);
        self.call(cx, op::SUBMIT, input, Purpose::Message { ticket }, timeout);
    }

    /// `turn.message.submit` was answered, or never will be.
    pub(super) fn submitted(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, answer: Answer<'_>) {
        let told = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Submitted<'_>>(result.get()).ok(),
            _ => None,
        };
        let running = match told.as_ref().map(|told| &*told.disposition) {
            Some("steering") => true,
            // The turn ended meanwhile, and the Host goes on with the message by itself.
            Some("followup" | "turn_started") => false,
            _ => {
                let failure = answer.failure(op::SUBMIT);
                return cx.answer(Fact::Refused { ticket, failure });
            }
        };
        cx.answer(Fact::Steered { ticket, running });
    }
}
