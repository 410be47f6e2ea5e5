//! Keeps one connection's adapter alive: a trap, a limit or a missed deadline costs the
//! one line that caused it, and nothing else.
//!
//! The rescue: restore the last snapshot into a fresh instance, run the journal again with
//! its effects compared and dropped, feed the failed call again piece by piece, and give
//! the piece that fails back as `poison`, which its owner gets an error for.
//! Invariant: the effects that leave here are those of calls that went well, each once.

use std::fmt;

use super::Recorder;
use super::cut::{Muted, pieces};
use super::log::{Log, Lost};
use crate::adapter::{Adapter, Factory, Failure, Reason};
use crate::limits;
use crate::words::{AcpArrival, Effect, Input, Instant};

/// An adapter that survives its instances.
pub struct Keeper {
    factory: Box<dyn Factory>,
    adapter: Box<dyn Adapter>,
    log: Log,
    muted: Muted,
    recorder: Option<Recorder>,
    /// Doubles when a snapshot failed, so that a bad state is not tried again and again.
    patience: u64,
    /// Memory past which a fresh instance is worth its while.
    swap_at: u64,
}

/// An instance that took over from a snapshot, and what it said first.
struct Fresh {
    adapter: Box<dyn Adapter>,
    effects: Vec<Effect>,
}

/// The connection cannot go on; a sentence for people.
#[derive(Debug, PartialEq)]
pub struct Broken(pub String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

impl Keeper {
    /// Opens a connection and makes the contract's first call.
    ///
    /// # Errors
    /// [`Broken`] when the configuration cannot be used or the component fails.
    pub fn open(
        factory: Box<dyn Factory>,
        config: String,
        seed: [u8; 32],
        recorder: Option<Recorder>,
        now: Instant,
    ) -> Result<(Keeper, Vec<Effect>), Broken> {
        let starting = |failure: Failure| Broken(format!("the adapter does not start: {failure}"));
        let mut adapter = factory.open(&config, &seed).map_err(starting)?;
        let effects = adapter.handle(now, &[]).map_err(starting)?;
        let mut keeper = Keeper {
            factory,
            adapter,
            log: Log::new(config, seed),
            muted: Muted::default(),
            recorder,
            patience: 1,
            swap_at: limits::MEMORY_SWAP_BYTES,
        };
        keeper.keep(now, Vec::new(), &effects);
        Ok((keeper, effects))
    }

    /// Handles inputs; the effects are to be carried out, in order.
    ///
    /// # Errors
    /// [`Broken`] when the adapter failed and could not be brought back.
    pub fn handle(&mut self, now: Instant, mut inputs: Vec<Input>) -> Result<Vec<Effect>, Broken> {
        self.muted.drop_rest(&mut inputs);
        match self.adapter.handle(now, &inputs) {
            Ok(effects) => {
                self.keep(now, inputs, &effects);
                if self.log.bytes() >= limits::JOURNAL_BYTES * self.patience {
                    self.snapshot(now)?;
                }
                Ok(effects)
            }
            Err(Failure::Trapped(reason)) => self.rescue(now, inputs, &reason),
            Err(Failure::Fault(fault)) => Err(Broken(Failure::Fault(fault).to_string())),
        }
    }

    /// Whether a quiet moment would be put to use.
    pub fn wants_quiet(&self) -> bool {
        self.log.bytes() >= limits::JOURNAL_QUIET_BYTES * self.patience
            || self.memory() > self.swap_at
    }

    /// Bytes of memory that the running instance holds.
    pub fn memory(&self) -> u64 {
        self.adapter.memory()
    }

    /// Uses a quiet moment: a snapshot, and a fresh instance when this one has grown large.
    ///
    /// # Errors
    /// As [`Keeper::handle`].
    pub fn quiet(&mut self, now: Instant) -> Result<Vec<Effect>, Broken> {
        if !self.wants_quiet() {
            return Ok(Vec::new());
        }
        let large = self.memory() > self.swap_at;
        let Some(fresh) = self.snapshot(now)? else {
            if large {
                self.swap_at = self.swap_at.saturating_mul(2);
            }
            return Ok(Vec::new());
        };
        if !large {
            return Ok(Vec::new());
        }
        tracing::debug!(
            "a fresh instance takes over: {} MiB instead of {} MiB",
            fresh.adapter.memory() >> 20,
            self.memory() >> 20
        );
        self.swap_at = limits::MEMORY_SWAP_BYTES.max(fresh.adapter.memory().saturating_mul(2));
        self.adapter = fresh.adapter;
        if let Some(recorder) = &mut self.recorder {
            recorder.restored(now, &fresh.effects);
        }
        Ok(fresh.effects)
    }

    /// Ends the recording.
    pub fn finish(self) {
        if let Some(recorder) = self.recorder {
            recorder.finish();
        }
    }

    fn keep(&mut self, now: Instant, inputs: Vec<Input>, effects: &[Effect]) {
        if let Some(recorder) = &mut self.recorder {
            recorder.call(now, &inputs, effects);
        }
        self.log.push(now, inputs, effects);
    }

    /// Makes the journal start from now, and returns the instance that proved the snapshot
    /// good. Without one, the older snapshot stays.
    fn snapshot(&mut self, now: Instant) -> Result<Option<Fresh>, Broken> {
        let proved = match self.adapter.snapshot() {
            Ok(state) => self.prove(now, &state).map(|fresh| (state, fresh)),
            Err(failure) => {
                self.adapter = self.rebuild()?;
                Err(failure)
            }
        };
        match proved {
            Ok((state, fresh)) => {
                self.log.restart(now, state);
                self.patience = 1;
                Ok(Some(fresh))
            }
            Err(failure) => {
                tracing::warn!("no snapshot was taken, the older one stays: {failure}");
                self.patience = self.patience.saturating_mul(2);
                Ok(None)
            }
        }
    }

    /// A snapshot that cannot be restored is no snapshot.
    fn prove(&self, now: Instant, state: &[u8]) -> Result<Fresh, Failure> {
        let mut adapter = self.factory.restore(self.log.config(), state)?;
        let effects = adapter.handle(now, &[])?;
        Ok(Fresh { adapter, effects })
    }

    fn rescue(
        &mut self,
        now: Instant,
        inputs: Vec<Input>,
        reason: &Reason,
    ) -> Result<Vec<Effect>, Broken> {
        tracing::warn!("the component failed and is started again: {reason}");
        self.adapter = self.rebuild()?;
        let pieces = pieces(inputs);
        // One piece that ran past the deadline would only do so again.
        let hopeless = (*reason == Reason::Deadline && pieces.len() == 1).then(|| reason.clone());
        let mut carried = Vec::new();
        for piece in pieces {
            let tried = match &hopeless {
                Some(reason) => Err(Failure::Trapped(reason.clone())),
                None => self.adapter.handle(now, std::slice::from_ref(&piece)),
            };
            match tried {
                Ok(effects) => {
                    self.keep(now, vec![piece], &effects);
                    carried.extend(effects);
                }
                Err(Failure::Trapped(reason)) => {
                    carried.extend(self.poison(now, piece, &reason)?);
                }
                Err(fault) => return Err(Broken(fault.to_string())),
            }
        }
        // The journal is known to lead to trouble; start afresh behind it.
        self.snapshot(now)?;
        Ok(carried)
    }

    /// Gives the failing piece back to its owner.
    fn poison(
        &mut self,
        now: Instant,
        piece: Input,
        reason: &Reason,
    ) -> Result<Vec<Effect>, Broken> {
        if let Input::Acp(AcpArrival::Ended(_)) = piece {
            return Err(Broken(format!(
                "the component failed when the editor had gone: {reason}"
            )));
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.trapped(now, &piece, reason);
        }
        self.adapter = self.rebuild()?;
        let poison = Input::Poison(self.log.tails().origin(&piece));
        self.muted.mark(&piece);
        match self.adapter.handle(now, std::slice::from_ref(&poison)) {
            Ok(effects) => {
                self.keep(now, vec![poison], &effects);
                Ok(effects)
            }
            Err(second) => Err(Broken(format!(
                "the component failed twice in the same state, so this connection ends; \
                 first: {reason}; then, while it answered that failure: {second}"
            ))),
        }
    }

    fn rebuild(&self) -> Result<Box<dyn Adapter>, Broken> {
        self.log.rebuild(self.factory.as_ref()).map_err(|lost| {
            Broken(match lost {
                Lost::Differs => "the component failed, and could not be brought back: run \
                                  again, the same inputs gave other effects, so it is not \
                                  deterministic"
                    .into(),
                Lost::Failed(failure) => {
                    format!("the component failed, and could not be brought back: {failure}")
                }
            })
        })
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
