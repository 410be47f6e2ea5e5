//! The loop: arrivals go to the adapter, its effects to their carriers, and timers fire.
//!
//! The only reader of the clock. Reads inside no message and never waits for a writer:
//! "carried out" means queued. Knows the edge (pipes, sockets, processes, files) only
//! through [`Edge`], and the adapter only through [`Keeper`].
//! Invariant: the effects of a call are carried out, in order, before the next call.

use std::collections::BTreeMap;
use std::time::{Duration, Instant as SystemInstant, SystemTime, UNIX_EPOCH};

use crate::journal::{Broken, Keeper};
use crate::limits;
use crate::words::{AcpArrival, Effect, Input, Instant, Level, Timer};

/// Everything outside: where inputs come from and effects go to.
pub trait Edge {
    /// One round of arrivals: all from the editor first, then at most one chunk a channel,
    /// then answers about files. Waits until something is there, or until `until` (for
    /// ever without one), and may come back with nothing.
    fn round(&mut self, until: Option<SystemInstant>) -> Vec<Input>;

    /// Carries out an `acp`, `host` or `file` effect, without waiting.
    fn carry(&mut self, effect: Effect);

    /// Ends everything within `grace`: what was queued for the editor is written, channels
    /// are closed, child process groups ended.
    fn shutdown(self, grace: Duration);
}

/// What time it is.
pub trait Clock {
    /// Now, in the adapter's words.
    fn now(&self) -> Instant;

    /// When the monotonic clock shows this, in milliseconds.
    fn at(&self, monotonic: u64) -> SystemInstant;
}

/// The machine's clock, counted from its creation.
pub struct SystemClock(SystemInstant);

impl SystemClock {
    /// Starts at zero.
    pub fn start() -> SystemClock {
        SystemClock(SystemInstant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Instant {
            monotonic: millis(self.0.elapsed()),
            wall: millis(wall),
        }
    }

    fn at(&self, monotonic: u64) -> SystemInstant {
        // A timer past the end of the machine's clock never fires; a century will do.
        let never = Duration::from_secs(100 * 365 * 24 * 60 * 60);
        self.0 + Duration::from_millis(monotonic).min(never)
    }
}

/// Drives a connection to its end and returns the exit code that the adapter asked for.
/// `first` are the effects of the call with which the keeper was opened.
///
/// # Errors
/// [`Broken`] when the adapter could not go on, or did not end when the editor had gone.
pub fn drive<E: Edge>(
    mut edge: E,
    clock: &dyn Clock,
    mut keeper: Keeper,
    first: Vec<Effect>,
) -> Result<u8, Broken> {
    let mut state = State::default();
    let outcome = state.run(&mut edge, clock, &mut keeper, first);
    let now = clock.now().monotonic;
    let spent = state
        .editor_gone
        .map_or(0, |since| now.saturating_sub(since));
    keeper.finish();
    edge.shutdown(limits::WHOLE_END.saturating_sub(Duration::from_millis(spent)));
    outcome
}

/// What the loop itself has to remember. Everything else is the adapter's.
#[derive(Default)]
struct State {
    /// When each timer is due, on the monotonic clock.
    timers: BTreeMap<Timer, u64>,
    /// The exit code, once the adapter is done.
    done: Option<u8>,
    /// When the editor's end was handed to the adapter.
    editor_gone: Option<u64>,
    /// When something arrived last.
    busy: u64,
}

impl State {
    fn run(
        &mut self,
        edge: &mut impl Edge,
        clock: &dyn Clock,
        keeper: &mut Keeper,
        first: Vec<Effect>,
    ) -> Result<u8, Broken> {
        self.carry_out(edge, first);
        loop {
            if let Some(code) = self.done {
                return Ok(code);
            }
            let inputs = edge.round(self.next_wake(keeper).map(|due| clock.at(due)));
            let now = clock.now();
            if !inputs.is_empty() {
                self.arrived(now, &inputs);
                self.carry_out(edge, keeper.handle(now, inputs)?);
            }
            self.fire(edge, keeper, now)?;
            if self.done.is_none() && now.monotonic >= self.quiet_from() && keeper.wants_quiet() {
                self.carry_out(edge, keeper.quiet(now)?);
            }
            if self.done.is_none() && self.end_due().is_some_and(|due| now.monotonic >= due) {
                return Err(Broken(
                    "the adapter did not end in time after the editor had gone".into(),
                ));
            }
        }
    }

    fn arrived(&mut self, now: Instant, inputs: &[Input]) {
        self.busy = now.monotonic;
        let ended = |input: &Input| matches!(input, Input::Acp(AcpArrival::Ended(_)));
        if self.editor_gone.is_none() && inputs.iter().any(ended) {
            self.editor_gone = Some(now.monotonic);
        }
    }

    /// Fires what is due, one call each, so that a timer that a call forgets or moves does
    /// not fire after all. What is armed meanwhile waits for the next round.
    fn fire(
        &mut self,
        edge: &mut impl Edge,
        keeper: &mut Keeper,
        now: Instant,
    ) -> Result<(), Broken> {
        let mut due: Vec<(u64, Timer)> = self
            .timers
            .iter()
            .filter(|(_, due)| **due <= now.monotonic)
            .map(|(timer, due)| (*due, *timer))
            .collect();
        due.sort_unstable();
        for (at, timer) in due {
            if self.done.is_none() && self.timers.get(&timer) == Some(&at) {
                self.timers.remove(&timer);
                self.busy = now.monotonic;
                self.carry_out(edge, keeper.handle(now, vec![Input::Expired(timer)])?);
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, edge: &mut impl Edge, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Acp(_) | Effect::Host(_) | Effect::File(_) => edge.carry(effect),
                Effect::Arm((timer, due)) => {
                    self.timers.insert(timer, due);
                }
                Effect::Disarm(timer) => {
                    self.timers.remove(&timer);
                }
                Effect::Note((level, text)) => note(level, &text),
                Effect::Done(code) => self.done = Some(code),
            }
        }
    }

    /// The next moment at which something is due without an arrival.
    fn next_wake(&self, keeper: &Keeper) -> Option<u64> {
        let quiet = keeper.wants_quiet().then(|| self.quiet_from());
        self.timers
            .values()
            .copied()
            .chain(quiet)
            .chain(self.end_due())
            .min()
    }

    fn quiet_from(&self) -> u64 {
        self.busy + millis(limits::QUIET)
    }

    fn end_due(&self) -> Option<u64> {
        self.editor_gone
            .map(|since| since + millis(limits::ADAPTER_END))
    }
}

fn note(level: Level, text: &str) {
    match level {
        Level::Error => tracing::error!(target: "component", "{text}"),
        Level::Warn => tracing::warn!(target: "component", "{text}"),
        Level::Info => tracing::info!(target: "component", "{text}"),
        Level::Debug => tracing::debug!(target: "component", "{text}"),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "drive_tests.rs"]
mod tests;
