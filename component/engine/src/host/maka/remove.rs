//! Deleting sessions with `session.remove`, which archiving is not: the Host keeps nothing.
//!
//! Invariants: every request is answered once; a session that is not there counts as
//! deleted, as ACP wants it; at most [`limits::MAKA_CHANGES`] revisions are tried.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::host::{Fact, Failure};
use crate::limits;
use crate::object;
use crate::rpc::Ticket;

use super::calls::Purpose;
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Maka, failure};

/// Sessions that are being deleted, by request.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Removals(BTreeMap<Ticket, Removal>);

#[derive(Debug, Serialize, Deserialize)]
struct Removal {
    session_id: String,
    conflicts: u64,
}

impl Maka {
    /// `session/delete`.
    pub(super) fn remove(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, session_id: String) {
        // The Host would close the connection for any other id; it has no such session.
        if !w::entity_id(&session_id) {
            return cx.answer(Fact::Deleted { ticket });
        }
        let removal = Removal {
            session_id,
            conflicts: 0,
        };
        self.removals.0.insert(ticket, removal);
        self.read_for_removal(cx, ticket);
    }

    fn read_for_removal(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket) {
        if self.ending {
            return self.refuse_removal(cx, ticket, failure::closing(op::REMOVE));
        }
        let Some(removal) = self.removals.0.get(&ticket) else {
            return;
        };
        let input = object! { "kind": "get", "sessionId": removal.session_id };
        let timeout = Some(limits::MAKA_READ_MS);
        self.call(cx, op::CATALOG, input, Purpose::Find { ticket }, timeout);
    }

    /// The session was looked up.
    pub(super) fn found(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, answer: Answer<'_>) {
        if self.ending {
            return self.refuse_removal(cx, ticket, failure::closing(op::REMOVE));
        }
        let Some(removal) = self.removals.0.get(&ticket) else {
            return;
        };
        let found = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Catalog<'_>>(result.get()).ok(),
            _ => return self.refuse_removal(cx, ticket, answer.failure(op::CATALOG)),
        };
        let revision = match found.filter(|it| it.kind == "session").map(|it| it.session) {
            Some(Some(item)) => item.revision,
            Some(None) => return self.removed_for_good(cx, ticket),
            None => {
                let failure = failure::catalog_read(op::REMOVE, "invalid_projection");
                return self.refuse_removal(cx, ticket, failure);
            }
        };
        let input = object! { "sessionId": removal.session_id, "expectedRevision": revision };
        let timeout = Some(limits::MAKA_CHANGE_MS);
        self.call(cx, op::REMOVE, input, Purpose::Remove { ticket }, timeout);
    }

    /// The session was deleted, or not.
    pub(super) fn removed(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, answer: Answer<'_>) {
        let changed = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Changed<'_>>(result.get()).ok(),
            _ => None,
        };
        let Some(removal) = self.removals.0.get_mut(&ticket) else {
            return;
        };
        match (changed, &answer) {
            (Some(changed), _) if changed.kind == w::CONFLICT => {
                removal.conflicts += 1;
                if removal.conflicts < limits::MAKA_CHANGES {
                    self.read_for_removal(cx, ticket);
                } else {
                    self.refuse_removal(cx, ticket, failure::revision_conflict(op::REMOVE));
                }
            }
            (Some(changed), _) if changed.kind == "removed" => self.removed_for_good(cx, ticket),
            (_, Answer::Error(error)) if error.code == "not_found" => {
                self.removed_for_good(cx, ticket);
            }
            _ => self.refuse_removal(cx, ticket, answer.failure(op::REMOVE)),
        }
    }

    fn removed_for_good(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket) {
        self.removals.0.remove(&ticket);
        cx.answer(Fact::Deleted { ticket });
    }

    fn refuse_removal(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, failure: Failure) {
        self.removals.0.remove(&ticket);
        cx.answer(Fact::Refused { ticket, failure });
    }
}
