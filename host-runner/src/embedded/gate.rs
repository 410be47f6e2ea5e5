//! The gate of stepped plays: lets one play at a time take one step, so that a test sees
//! every frame of a turn before the next one is made. With another clock than
//! [`Clock::Stepped`](super::Clock) it stands open. Touches no state of the Host.
//! Invariant: while a test looks at the world, no play is on its way.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};

/// Where the plays wait for each other and for the test.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    is_closed: bool,
    next: u64,
    plays: BTreeMap<u64, Standing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// On its way: nobody looks.
    Playing,
    /// Has a step to take.
    Ready,
    /// Waits for its client; looks again when it is let.
    Waiting,
}

impl Gate {
    pub(crate) fn new(is_closed: bool) -> Gate {
        Gate {
            inner: Mutex::new(Inner {
                is_closed,
                ..Inner::default()
            }),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// A play begins; its ticket. Called before its thread runs, so that it is counted.
    pub(crate) fn enter(&self) -> u64 {
        let mut inner = self.lock();
        inner.next += 1;
        let ticket = inner.next;
        inner.plays.insert(ticket, Standing::Playing);
        ticket
    }

    /// A play is over.
    pub(crate) fn leave(&self, ticket: u64) {
        self.lock().plays.remove(&ticket);
        self.changed.notify_all();
    }

    /// A play has a step to take, and waits until it may.
    pub(crate) fn pass(&self, ticket: u64) {
        self.stand(ticket, Standing::Ready);
    }

    /// A play waits for its client, and looks again afterwards.
    pub(crate) fn linger(&self, ticket: u64) {
        self.stand(ticket, Standing::Waiting);
    }

    fn stand(&self, ticket: u64, how: Standing) {
        let mut inner = self.lock();
        if !inner.is_closed {
            return;
        }
        inner.plays.insert(ticket, how);
        self.changed.notify_all();
        while inner.is_closed && inner.plays.get(&ticket) != Some(&Standing::Playing) {
            inner = wait(&self.changed, inner);
        }
    }

    /// Waits until no play is on its way.
    pub(crate) fn settle(&self) {
        drop(self.settled());
    }

    /// Lets one play take one step, the oldest that has one. `false`: all wait.
    pub(crate) fn step(&self) -> bool {
        let waiting: Vec<u64> = {
            let mut inner = self.settled();
            let ready = inner.plays.iter().find(|(_, it)| **it == Standing::Ready);
            if let Some(ticket) = ready.map(|(ticket, _)| *ticket) {
                inner.plays.insert(ticket, Standing::Playing);
                self.changed.notify_all();
                drop(inner);
                self.settle();
                return true;
            }
            inner.plays.keys().copied().collect()
        };
        waiting.into_iter().any(|ticket| {
            self.lock().plays.insert(ticket, Standing::Playing);
            self.changed.notify_all();
            self.settled().plays.get(&ticket) != Some(&Standing::Waiting)
        })
    }

    /// Lets everything run from now on.
    pub(crate) fn open(&self) {
        self.lock().is_closed = false;
        self.changed.notify_all();
    }

    fn settled(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.lock();
        while inner.is_closed && inner.plays.values().any(|it| *it == Standing::Playing) {
            inner = wait(&self.changed, inner);
        }
        inner
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn wait<'a>(changed: &Condvar, inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
    changed
        .wait(inner)
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
