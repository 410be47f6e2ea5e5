//! How many feeds the Host holds for one connection, and who gives way.
//!
//! Invariants: at most [`limits::MAKA_FEEDS`] are open or on their way in either direction;
//! a session in which a turn runs, or that is being taken in, never gives way; one that
//! cannot have a feed because all others are of that kind is told so at once.

use alloc::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::host::SessionKey;
use crate::limits;

use super::feed::{Attached, Feed};
use super::{Cx, Maka, failure};

/// Who waits for a feed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Slots {
    /// Sessions, the first to come first.
    queue: VecDeque<SessionKey>,
    /// Counts uses of sessions.
    uses: u64,
}

impl Attached {
    /// Whether its feed may be taken away: nothing is going on.
    fn idle(&self) -> bool {
        matches!(self.feed, Feed::Live)
            && self.turn.is_none()
            && self.load.is_none()
            && self.closing.is_none()
            && self.foreign_stops == 0
            && !self.root.as_ref().is_some_and(|root| root.live)
    }
}

impl Maka {
    /// The session is used now.
    pub(super) fn used(&mut self, key: SessionKey) {
        if let Some(attached) = self.feeds.get_mut(&key) {
            self.slots.uses += 1;
            attached.used = self.slots.uses;
        }
    }

    /// Whether a feed may be opened at once. If not, it is opened when another one has given
    /// way, or cannot be had at all.
    pub(super) fn take_slot(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) -> bool {
        if self.held() < limits::MAKA_FEEDS {
            return true;
        }
        let Some(attached) = self.feeds.get_mut(&key) else {
            return false;
        };
        // Nobody has asked for anything: no reason to take another one's feed away.
        if attached.turn.is_none() && attached.load.is_none() {
            attached.feed = Feed::None;
            return false;
        }
        attached.feed = Feed::Queued;
        self.slots.queue.push_back(key);
        let all = self.feeds.iter();
        let idle = all
            .filter(|(_, it)| it.idle())
            .min_by_key(|(_, it)| it.used);
        if let Some(idle) = idle.map(|(key, _)| *key) {
            self.detach(cx, idle);
        } else if self.slots.queue.len() as u64 > self.calls.leaving() {
            self.feed_failed(cx, key, failure::no_room());
        }
        false
    }

    /// Opens feeds that have waited for others to give way.
    pub(super) fn fill_slots(&mut self, cx: &mut Cx<'_, '_>) {
        while self.held() < limits::MAKA_FEEDS {
            let Some(key) = self.slots.queue.pop_front() else {
                return;
            };
            if self.waits(key) {
                self.open_now(cx, key);
            }
        }
    }

    /// It does not wait any more.
    pub(super) fn leave_queue(&mut self, key: SessionKey) {
        self.slots.queue.retain(|waits| *waits != key);
    }

    fn waits(&self, key: SessionKey) -> bool {
        let attached = self.feeds.get(&key);
        attached.is_some_and(|it| matches!(it.feed, Feed::Queued))
    }

    /// Feeds that the Host holds, or may hold.
    fn held(&self) -> u64 {
        self.subscriptions.len() as u64 + self.calls.feeds()
    }
}
