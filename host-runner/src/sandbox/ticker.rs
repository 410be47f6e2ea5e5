//! The thread that moves the epoch on, by which running calls notice their deadline.
//!
//! It sleeps for good while no call was made for a second, so that an idle runner does
//! not wake up a hundred times a second. Invariant: while a [`Running`] lives, the epoch
//! moves on every tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, Thread};

use wasmtime::Engine;

use crate::limits::EPOCH_TICK;

/// Ticks without a call after which the thread sleeps.
const IDLE_TICKS: u32 = 100;

/// Handle of the thread, which ends with it.
pub struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

struct Shared {
    running: AtomicU32,
    asleep: AtomicBool,
    ended: AtomicBool,
}

/// A call is running.
pub struct Running<'a>(&'a Shared);

impl Ticker {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(engine: Engine) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared {
            running: AtomicU32::new(0),
            asleep: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let handle = thread::Builder::new().name("epoch".into()).spawn({
            let shared = shared.clone();
            move || tick(&engine, &shared)
        })?;
        Ok(Ticker {
            shared,
            thread: handle.thread().clone(),
        })
    }

    /// Keeps the epoch moving until the guard is dropped.
    pub fn running(&self) -> Running<'_> {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Running(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn tick(engine: &Engine, shared: &Shared) {
    let mut idle = 0;
    while !shared.ended.load(Ordering::SeqCst) {
        thread::sleep(EPOCH_TICK);
        engine.increment_epoch();
        idle = if shared.running.load(Ordering::SeqCst) == 0 {
            idle + 1
        } else {
            0
        };
        if idle >= IDLE_TICKS {
            // `asleep` before the second look at `running`: a call that begins in between
            // sees it and wakes us.
            shared.asleep.store(true, Ordering::SeqCst);
            while shared.running.load(Ordering::SeqCst) == 0 && !shared.ended.load(Ordering::SeqCst)
            {
                thread::park();
            }
            shared.asleep.store(false, Ordering::SeqCst);
            idle = 0;
        }
    }
}
