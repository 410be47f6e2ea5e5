//! What waits to be written to one peer.
//!
//! Filled by [`super::Ports`], emptied by one writer thread. It touches nothing but memory.
//! Invariant: bytes leave in the order in which they came; after `finish` nothing is added,
//! after `close` nothing is written.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::limits;

/// A queue of bytes for one writer thread. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Outbox(Arc<(Mutex<Queue>, Condvar)>);

#[derive(Default)]
struct Queue {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes in `chunks`.
    waiting: u64,
    phase: Phase,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// What is there will be written, then the peer sees the end.
    Finishing,
    /// What is there is thrown away.
    Closed,
}

/// What a writer thread does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Write this.
    Write(Vec<u8>),
    /// Everything is written: tell the peer that no more comes.
    Finish,
    /// Stop at once.
    Close,
}

/// Why bytes were not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// After `finish` or `close`.
    Over,
    /// More than [`limits::OUTBOX`] bytes wait.
    Full,
}

impl Outbox {
    /// Queues bytes; never waits.
    pub(super) fn send(&self, bytes: Vec<u8>) -> Result<(), NotTaken> {
        let mut queue = self.lock();
        if queue.phase != Phase::Open {
            return Err(NotTaken::Over);
        }
        let waiting = queue.waiting.saturating_add(bytes.len() as u64);
        if waiting > limits::OUTBOX {
            return Err(NotTaken::Full);
        }
        if !bytes.is_empty() {
            queue.waiting = waiting;
            queue.chunks.push_back(bytes);
            self.0.1.notify_all();
        }
        Ok(())
    }

    /// Nothing more will be queued.
    pub(super) fn finish(&self) {
        let mut queue = self.lock();
        if queue.phase == Phase::Open {
            queue.phase = Phase::Finishing;
            self.0.1.notify_all();
        }
    }

    /// Throws away what waits.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.phase = Phase::Closed;
        queue.chunks.clear();
        queue.waiting = 0;
        self.0.1.notify_all();
    }

    /// Waits for work.
    pub(super) fn next(&self) -> Next {
        let mut queue = self.lock();
        loop {
            if queue.phase == Phase::Closed {
                return Next::Close;
            }
            if let Some(chunk) = queue.chunks.pop_front() {
                queue.waiting -= chunk.len() as u64;
                return Next::Write(chunk);
            }
            if queue.phase == Phase::Finishing {
                return Next::Finish;
            }
            queue = self.0.1.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
