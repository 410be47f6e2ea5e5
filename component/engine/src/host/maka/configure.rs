//! Setting options: one after the other in a session, each compare-and-set on the revision
//! that was just read.
//!
//! Invariants: every request is answered once; a change that the Host may have seen is never
//! sent again; at most [`limits::MAKA_CHANGES`] revisions are tried; nothing is sent for a
//! session that was closed meanwhile, or at the end.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::host::{Fact, Failure, SessionKey};
use crate::limits;
use crate::object;
use crate::rpc::Ticket;
use crate::session::options::{By, Options, Setting};

use super::calls::Purpose;
use super::models::Waiting;
use super::options::{Change, Configuration};
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Maka, failure};

/// What is to be set, by session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Settings(BTreeMap<SessionKey, Queue>);

#[derive(Debug, Serialize, Deserialize)]
struct Queue {
    session_id: String,
    /// The first is under way.
    sets: VecDeque<Set>,
    /// The session was closed meanwhile.
    closed: bool,
    /// A read of the session was passed over, because it may be older than what is set.
    stale: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Set {
    ticket: Ticket,
    by: By,
    change: Change,
    conflicts: u64,
    /// As the Host stored it.
    committed: Option<Configuration>,
}

impl Settings {
    /// Whether something is being set, so that what was read now comes out of order. It is
    /// to be read again afterwards.
    pub fn pass_over(&mut self, key: SessionKey) -> bool {
        let queue = self.0.get_mut(&key);
        queue.is_some_and(|queue| {
            queue.stale = true;
            true
        })
    }
}

impl Maka {
    /// `session/set_config_option`, `session/set_mode`.
    pub(super) fn configure(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        key: SessionKey,
        session_id: String,
        setting: Setting,
    ) {
        if self.ending {
            let failure = failure::closing(op::CONFIGURE);
            return cx.answer(Fact::Refused { ticket, failure });
        }
        let (change, by) = match Change::read(setting, self.models.known.as_ref()) {
            Ok(read) => read,
            Err(failure) => return cx.answer(Fact::Refused { ticket, failure }),
        };
        let queue = self.settings.0.entry(key).or_insert_with(|| Queue {
            session_id,
            sets: VecDeque::new(),
            closed: false,
            stale: false,
        });
        queue.sets.push_back(Set {
            ticket,
            by,
            change,
            conflicts: 0,
            committed: None,
        });
        if queue.sets.len() == 1 {
            self.read_current(cx, key);
        }
    }

    /// What waits, and what is not sent yet, is not set any more.
    pub(super) fn forget_settings(&mut self, key: SessionKey) {
        if let Some(queue) = self.settings.0.get_mut(&key) {
            queue.closed = true;
        }
    }

    /// Why nothing more may be sent for the session.
    fn unwanted(&self, queue: &Queue) -> Option<Failure> {
        if self.ending {
            Some(failure::closing(op::CONFIGURE))
        } else if queue.closed {
            Some(failure::unknown_session(&queue.session_id))
        } else {
            None
        }
    }

    fn read_current(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(queue) = self.settings.0.get(&key) else {
            return;
        };
        if let Some(failure) = self.unwanted(queue) {
            return self.refuse_set(cx, key, failure);
        }
        let input = object! { "kind": "get", "sessionId": queue.session_id };
        let purpose = Purpose::Current { session: key };
        let timeout = Some(limits::MAKA_READ_MS);
        self.call(cx, op::CATALOG, input, purpose, timeout);
    }

    /// The session was read: the change goes on top of that.
    pub(super) fn current(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, answer: Answer<'_>) {
        let Some(queue) = self.settings.0.get(&key) else {
            return;
        };
        let Some(set) = queue.sets.front() else {
            return;
        };
        if let Some(failure) = self.unwanted(queue) {
            return self.refuse_set(cx, key, failure);
        }
        let found = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Catalog<'_>>(result.get()).ok(),
            _ => return self.refuse_set(cx, key, answer.failure(op::CATALOG)),
        };
        let item = match found.filter(|it| it.kind == "session").map(|it| it.session) {
            Some(Some(item)) => item,
            Some(None) => {
                let failure = failure::operation(op::CONFIGURE, "not_found", "");
                return self.refuse_set(cx, key, failure);
            }
            None => {
                let failure = failure::catalog_read(op::CONFIGURE, "invalid_projection");
                return self.refuse_set(cx, key, failure);
            }
        };
        let Some(now) = Configuration::of(&item) else {
            return self.refuse_set(cx, key, failure::legacy_session());
        };
        let input = object! {
            "sessionId": queue.session_id,
            "expectedRevision": item.revision,
            "configuration": now.with(set.change.clone()).wire(),
        };
        let purpose = Purpose::Commit { session: key };
        let timeout = Some(limits::MAKA_CHANGE_MS);
        self.call(cx, op::CONFIGURE, input, purpose, timeout);
    }

    /// The change was made, or not.
    pub(super) fn committed(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, answer: Answer<'_>) {
        let changed = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Changed<'_>>(result.get()).ok(),
            _ => None,
        };
        let queue = self.settings.0.get_mut(&key);
        let Some(set) = queue.and_then(|queue| queue.sets.front_mut()) else {
            return;
        };
        match changed {
            Some(changed) if changed.kind == w::CONFLICT => {
                set.conflicts += 1;
                if set.conflicts < limits::MAKA_CHANGES {
                    self.read_current(cx, key);
                } else {
                    self.refuse_set(cx, key, failure::revision_conflict(op::CONFIGURE));
                }
            }
            Some(changed) if changed.kind == "committed" => {
                set.committed = changed.session.as_ref().and_then(Configuration::of);
                if set.committed.is_some() {
                    self.read_models(cx, Waiting::Set(key));
                } else {
                    self.refuse_set(cx, key, failure::internal(op::CONFIGURE));
                }
            }
            // Never sent again: the Host may have made the change.
            _ => self.refuse_set(cx, key, answer.failure(op::CONFIGURE)),
        }
    }

    /// The models were read, or could not be: the change stands, and is told.
    pub(super) fn told_set(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let queue = self.settings.0.get_mut(&key);
        let Some(set) = queue.and_then(|queue| queue.sets.pop_front()) else {
            return;
        };
        if let Some(options) = set.committed.map(|it| self.options(&it)) {
            let Set { ticket, by, .. } = set;
            let fact = Fact::Configured {
                ticket,
                by,
                options,
            };
            let _fine = cx.tell(key, fact);
        }
        self.next_set(cx, key);
    }

    fn refuse_set(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, failure: Failure) {
        let queue = self.settings.0.get_mut(&key);
        if let Some(Set { ticket, .. }) = queue.and_then(|queue| queue.sets.pop_front()) {
            cx.answer(Fact::Refused { ticket, failure });
        }
        self.next_set(cx, key);
    }

    fn next_set(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(queue) = self.settings.0.get(&key) else {
            return;
        };
        if !queue.sets.is_empty() {
            return self.read_current(cx, key);
        }
        let stale = queue.stale;
        self.settings.0.remove(&key);
        if stale {
            self.look_again(cx, key);
        }
    }

    /// What a session can be set to, with the models as they are known.
    pub(super) fn options(&self, configuration: &Configuration) -> Options {
        configuration.options(self.models.known.as_ref())
    }
}
