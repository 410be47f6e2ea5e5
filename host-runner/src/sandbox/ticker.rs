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
        Ticker::with(IDLE_TICKS, move || engine.increment_epoch())
    }

    fn with(idle_ticks: u32, step: impl Fn() + Send + 'static) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared {
            running: AtomicU32::new(0),
            asleep: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let handle = thread::Builder::new().name("epoch".into()).spawn({
            let shared = shared.clone();
            move || tick(idle_ticks, step, &shared)
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

fn tick(idle_ticks: u32, step: impl Fn(), shared: &Shared) {
    let mut idle = 0;
    while !shared.ended.load(Ordering::SeqCst) {
        thread::sleep(EPOCH_TICK);
        step();
        idle = if shared.running.load(Ordering::SeqCst) == 0 {
            idle + 1
        } else {
            0
        };
        if idle >= idle_ticks {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    #[test]
    fn given_a_sleeping_ticker_when_a_call_runs_then_it_ticks_and_sleeps_again_after_it() {
        let (told, steps) = channel();
        let ticker = Ticker::with(1, move || {
            let _ = told.send(());
        })
        .unwrap();
        let asleep = || ticker.shared.asleep.load(Ordering::SeqCst);
        for _ in 0..3 {
            while !asleep() {
                thread::yield_now();
            }
            while steps.try_recv().is_ok() {}
            let running = ticker.running();
            for _ in 0..3 {
                steps
                    .recv_timeout(Duration::from_secs(10))
                    .expect("it ticks");
            }
            drop(running);
        }
        drop(ticker);
        while steps.recv_timeout(Duration::from_secs(10)) != Err(RecvTimeoutError::Disconnected) {}
    }
}
