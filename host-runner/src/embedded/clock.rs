//! The embedded Host's clock: what time it is and how long a pause lasts.
//! The only file of `embedded/` that reads the system's clock. Invariant: the
//! time it tells never runs backwards, so row times are in order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where the embedded Host takes its time from.
#[derive(Debug)]
pub enum Clock {
    /// Real time: a pause of the script is a pause.
    System(AtomicU64),
    /// For tests: a pause takes no time, and moves this clock (milliseconds
    /// since 1970) by its length.
    Instant(AtomicU64),
    /// For tests that want every frame in its place: as above, and a play goes on only
    /// when a [`Line`](super::Line) is listened to.
    Stepped(AtomicU64),
}

/// When the clock of a test begins.
const BEGINNING: u64 = 1_796_000_000_000;

impl Clock {
    /// Real time.
    pub fn system() -> Clock {
        Clock::System(AtomicU64::new(0))
    }

    /// No waiting: pauses only move the clock.
    pub fn instant() -> Clock {
        Clock::Instant(AtomicU64::new(BEGINNING))
    }

    /// No waiting and no threads of their own will: step by step.
    pub fn stepped() -> Clock {
        Clock::Stepped(AtomicU64::new(BEGINNING))
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> u64 {
        match self {
            Clock::System(last) => {
                let real = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |since| since.as_millis() as u64);
                last.fetch_max(real, Ordering::Relaxed).max(real)
            }
            Clock::Instant(now) | Clock::Stepped(now) => now.load(Ordering::Relaxed),
        }
    }

    /// How long a caller that wants to pause for `ms` must really wait now.
    pub(crate) fn pause(&self, ms: u64) -> Duration {
        match self {
            Clock::System(_) => Duration::from_millis(ms),
            Clock::Instant(now) | Clock::Stepped(now) => {
                now.fetch_add(ms, Ordering::Relaxed);
                Duration::ZERO
            }
        }
    }
}

/// The end of a pause.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(duration: Duration) -> Deadline {
        Deadline(Instant::now() + duration)
    }

    /// Zero when it has passed.
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
