//! Requests to the Host: which are on their way, which wait for a slot or a connection.
//!
//! Invariants: at most [`limits::MAKA_IN_FLIGHT`] are on their way; a request that timed
//! out keeps its slot until its answer comes; every request is answered once, if only by
//! the loss of the connection.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::host::{PlanEntry, SessionKey, Skill};
use crate::input::Timer;
use crate::limits;
use crate::rpc::Ticket;

use super::upload::Upload;

/// Number of a request; `r<number>` on the wire.
pub type CallId = u64;

/// What an answer is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Purpose {
    /// The Host lives, or is ready.
    Status,
    /// A session for the editor.
    Create { ticket: Ticket, session_id: String },
    /// A page of models, of the reading with this number.
    Models(u64),
    /// A page of sessions.
    List { ticket: Ticket },
    /// A session's name and options.
    Title { session: SessionKey },
    /// A session's record, for a change of its options.
    Current { session: SessionKey },
    /// A change of its options.
    Commit { session: SessionKey },
    /// A session's record, for its deletion.
    Find { ticket: Ticket },
    /// Its deletion.
    Remove { ticket: Ticket },
    /// A feed.
    Open { session: SessionKey, feed: u64 },
    /// Rows of a feed.
    Page {
        session: SessionKey,
        feed: u64,
        walk: u64,
    },
    /// A session to be taken in.
    Look { ticket: Ticket },
    /// A feed is closed.
    Leave,
    /// A turn.
    Start {
        session: SessionKey,
        turn_id: String,
    },
    /// What became of a turn.
    Query {
        session: SessionKey,
        turn_id: String,
    },
    /// The end of our turn.
    Stop {
        session: SessionKey,
        turn_id: String,
    },
    /// The end of another client's turn.
    StopForeign { session: SessionKey },
    /// A question to the user, or how it was resolved.
    Interaction {
        session: SessionKey,
        interaction: String,
    },
    /// The user's answer.
    Answer {
        session: SessionKey,
        interaction: String,
    },
    /// A message for a running turn.
    Message { ticket: Ticket },
    /// A step of an upload.
    Ingest(Upload),
    /// The plan, with what the pages before proposed.
    Plan {
        session: SessionKey,
        proposed: Vec<PlanEntry>,
        page: u64,
    },
    /// How full the context is.
    Context { session: SessionKey },
    /// What the session cost, when its context is known.
    Cost {
        session: SessionKey,
        used: u64,
        size: u64,
    },
    /// What a prompt may name, with what the pages before listed.
    Skills {
        session_id: String,
        known: Vec<Skill>,
    },
    /// Nobody waits for the answer.
    Nobody,
}

impl Purpose {
    /// Whether it may use the slots kept for control.
    fn control(&self) -> bool {
        !matches!(
            self,
            Purpose::Create { .. }
                | Purpose::Models(_)
                | Purpose::List { .. }
                | Purpose::Title { .. }
                | Purpose::Current { .. }
                | Purpose::Commit { .. }
                | Purpose::Find { .. }
                | Purpose::Remove { .. }
                | Purpose::Page { .. }
                | Purpose::Look { .. }
                | Purpose::Message { .. }
                | Purpose::Ingest(_)
        ) && !self.aside()
    }

    /// Whether nothing waits for it but a panel of the editor.
    fn aside(&self) -> bool {
        matches!(
            self,
            Purpose::Plan { .. }
                | Purpose::Context { .. }
                | Purpose::Cost { .. }
                | Purpose::Skills { .. }
        )
    }

    /// Whether it means nothing on another connection.
    fn bound(&self) -> bool {
        matches!(
            self,
            Purpose::Page { .. } | Purpose::Leave | Purpose::Nobody | Purpose::Status
        ) || self.aside()
    }
}

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Its number.
    pub id: CallId,
    /// Its operation.
    pub operation: String,
    /// What its answer is for.
    pub purpose: Purpose,
    /// When it has waited long enough.
    pub timer: Option<Timer>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Waiting {
    call: Call,
    #[serde(with = "crate::snapshot::bytes")]
    line: Vec<u8>,
}

/// The table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Calls {
    next: CallId,
    flight: BTreeMap<CallId, Call>,
    waiting: VecDeque<Waiting>,
}

impl Calls {
    /// A fresh number.
    pub fn number(&mut self) -> CallId {
        self.next += 1;
        self.next
    }

    /// Queues a request; [`Calls::pull`] gives it back when it may go.
    pub fn push(&mut self, call: Call, line: Vec<u8>) {
        self.waiting.push_back(Waiting { call, line });
    }

    /// The next request that may go now.
    pub fn pull(&mut self) -> Option<Vec<u8>> {
        let used = self.flight.len() as u64;
        let ordinary = used < limits::MAKA_IN_FLIGHT - limits::MAKA_CONTROL_SLOTS;
        let any = used < limits::MAKA_IN_FLIGHT;
        let at = self
            .waiting
            .iter()
            .position(|w| ordinary || (any && w.call.purpose.control()))?;
        let Waiting { call, line } = self.waiting.remove(at)?;
        self.flight.insert(call.id, call);
        Some(line)
    }

    /// A request that had no need to wait is on its way.
    pub fn sent(&mut self, call: Call) {
        self.flight.insert(call.id, call);
    }

    /// An answer came: frees the slot. `None` for a number that is not on its way.
    pub fn answered(&mut self, id: CallId) -> Option<Call> {
        self.flight.remove(&id)
    }

    /// A request waited long enough. On its way, its slot stays taken and nobody waits any
    /// more; not yet sent, it is taken back. The flag says whether it was sent.
    pub fn overdue(&mut self, id: CallId) -> Option<(Call, bool)> {
        if let Some(call) = self.flight.get_mut(&id) {
            let told = call.clone();
            // A feed that opens too late has to be closed.
            if !matches!(call.purpose, Purpose::Open { .. }) {
                call.purpose = Purpose::Nobody;
            }
            call.timer = None;
            return Some((told, true));
        }
        let at = self.waiting.iter().position(|w| w.call.id == id)?;
        self.waiting.remove(at).map(|w| (w.call, false))
    }

    /// Takes back a request that was not sent yet.
    pub fn withdraw(&mut self, unwanted: impl Fn(&Purpose) -> bool) -> Option<Call> {
        let at = self
            .waiting
            .iter()
            .position(|w| unwanted(&w.call.purpose))?;
        self.waiting.remove(at).map(|w| w.call)
    }

    /// The connection is gone: everything on its way, in order; and the timers of what was
    /// not sent and means nothing on another one.
    pub fn lost(&mut self) -> (Vec<Call>, Vec<Timer>) {
        let mut timers = Vec::new();
        self.waiting.retain(|w| {
            let bound = w.call.purpose.bound();
            timers.extend(w.call.timer.filter(|_| bound));
            !bound
        });
        let flight = core::mem::take(&mut self.flight);
        (flight.into_values().collect(), timers)
    }

    /// There will be no connection: everything that waits, in order.
    pub fn hopeless(&mut self) -> Vec<Call> {
        core::mem::take(&mut self.waiting)
            .into_iter()
            .map(|w| w.call)
            .collect()
    }

    /// An opening of this session that is still waited for counts as this one from now on;
    /// whether there is any.
    pub fn reopen(&mut self, key: SessionKey, number: u64) -> bool {
        let waiting = self.waiting.iter_mut().map(|waiting| &mut waiting.call);
        let mut all = self.flight.values_mut().chain(waiting);
        all.any(|call| match &mut call.purpose {
            Purpose::Open { session, feed } if *session == key && call.timer.is_some() => {
                *feed = number;
                true
            }
            _ => false,
        })
    }

    /// Feeds that the Host may hold besides those that are known to be open.
    pub fn feeds(&self) -> u64 {
        let waiting = self.waiting.iter().map(|waiting| &waiting.call);
        let all = self.flight.values().chain(waiting);
        let feeds = all.filter(|it| matches!(it.purpose, Purpose::Open { .. } | Purpose::Leave));
        feeds.count() as u64
    }

    /// Feeds that are being closed.
    pub fn leaving(&self) -> u64 {
        let waiting = self.waiting.iter().map(|waiting| &waiting.call);
        let all = self.flight.values().chain(waiting);
        all.filter(|it| it.purpose == Purpose::Leave).count() as u64
    }

    /// Whether something waits for a connection.
    pub fn wanting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether an answer other than a probe's is outstanding.
    pub fn outstanding(&self) -> bool {
        self.flight
            .values()
            .any(|call| call.purpose != Purpose::Status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn push(calls: &mut Calls, purpose: Purpose) -> CallId {
        let id = calls.number();
        calls.push(
            Call {
                id,
                operation: String::new(),
                purpose,
                timer: None,
            },
            vec![id as u8],
        );
        id
    }

    #[test]
    fn given_a_flood_of_listings_when_a_stop_comes_then_it_still_finds_a_slot() {
        let mut calls = Calls::default();
        for ticket in 0..70 {
            push(&mut calls, Purpose::List { ticket });
        }
        let mut sent = 0;
        while calls.pull().is_some() {
            sent += 1;
        }
        assert_eq!(sent, 60);
        let stop = push(&mut calls, Purpose::StopForeign { session: 1 });
        assert_eq!(calls.pull(), Some(vec![stop as u8]));
        for _ in 0..3 {
            push(&mut calls, Purpose::StopForeign { session: 1 });
            assert!(calls.pull().is_some());
        }
        push(&mut calls, Purpose::StopForeign { session: 1 });
        assert_eq!(calls.pull(), None, "64 are on their way");
    }

    #[test]
    fn given_a_request_on_its_way_when_overdue_then_its_slot_stays_taken() {
        let mut calls = Calls::default();
        let id = push(&mut calls, Purpose::List { ticket: 1 });
        calls.pull();
        let (call, sent) = calls.overdue(id).unwrap();
        assert_eq!((call.purpose, sent), (Purpose::List { ticket: 1 }, true));
        assert_eq!(calls.answered(id).unwrap().purpose, Purpose::Nobody);
        assert!(calls.answered(id).is_none());
    }
}
