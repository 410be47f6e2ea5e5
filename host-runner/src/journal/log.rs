//! The journal in memory: a state that can be restored, and the calls since then.
//!
//! Invariant: [`Log::rebuild`] gives an instance that has seen exactly what was carried
//! out, or an error; it never carries anything out again.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::cut::Tails;
use crate::adapter::{Adapter, Factory, Failure};
use crate::limits;
use crate::words::{AcpArrival, Effect, HostArrival, Input, Instant};

/// The calls since a state.
pub struct Log {
    config: String,
    start: Start,
    /// Torn lines at `start`.
    tails: Tails,
    calls: Vec<Call>,
    bytes: u64,
}

/// The state that the calls start from.
enum Start {
    /// None: opened with this seed.
    Opened([u8; 32]),
    /// A snapshot that was restored once already, so it is known to be good.
    Snapshot(Instant, Vec<u8>),
}

struct Call {
    now: Instant,
    inputs: Vec<Input>,
    effects: u64,
}

/// Why an instance could not be brought back.
#[derive(Debug)]
pub enum Lost {
    /// Opening or restoring failed, or a call that went well before.
    Failed(Failure),
    /// A call gave other effects than the first time.
    Differs,
}

impl Log {
    /// From the opening of a connection.
    pub fn new(config: String, seed: [u8; 32]) -> Log {
        Log {
            config,
            start: Start::Opened(seed),
            tails: Tails::default(),
            calls: Vec::new(),
            bytes: 0,
        }
    }

    /// The configuration that every instance gets.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// Size, in bytes of input and a little for each call.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes a call whose effects are carried out.
    pub fn push(&mut self, now: Instant, inputs: Vec<Input>, effects: &[Effect]) {
        self.bytes += limits::JOURNAL_ENTRY_BYTES + inputs.iter().map(size).sum::<u64>();
        self.calls.push(Call {
            now,
            inputs,
            effects: fingerprint(effects),
        });
    }

    /// The beginnings of lines that are not complete yet.
    pub fn tails(&self) -> Tails {
        let mut tails = self.tails.clone();
        self.calls
            .iter()
            .flat_map(|call| &call.inputs)
            .for_each(|input| tails.pass(input));
        tails
    }

    /// From now on, start from this snapshot.
    pub fn restart(&mut self, now: Instant, state: Vec<u8>) {
        self.tails = self.tails();
        self.start = Start::Snapshot(now, state);
        self.calls.clear();
        self.calls.shrink_to(1024);
        self.bytes = 0;
    }

    /// A fresh instance in the state after the last call.
    ///
    /// # Errors
    /// [`Lost`]: the component does not repeat itself, or fails again.
    pub fn rebuild(&self, factory: &dyn Factory) -> Result<Box<dyn Adapter>, Lost> {
        let mut adapter = match &self.start {
            Start::Opened(seed) => factory.open(&self.config, seed).map_err(Lost::Failed)?,
            Start::Snapshot(now, state) => {
                let mut adapter = factory.restore(&self.config, state).map_err(Lost::Failed)?;
                // The contract's first call; what it asks for was asked for long ago.
                adapter.handle(*now, &[]).map_err(Lost::Failed)?;
                adapter
            }
        };
        for call in &self.calls {
            let effects = adapter
                .handle(call.now, &call.inputs)
                .map_err(Lost::Failed)?;
            if fingerprint(&effects) != call.effects {
                return Err(Lost::Differs);
            }
        }
        Ok(adapter)
    }
}

/// Only ever compared within one process.
fn fingerprint(effects: &[Effect]) -> u64 {
    let mut hasher = DefaultHasher::new();
    effects.hash(&mut hasher);
    hasher.finish()
}

fn size(input: &Input) -> u64 {
    match input {
        Input::Acp(AcpArrival::Bytes(bytes))
        | Input::Host((_, HostArrival::Bytes(bytes) | HostArrival::Diagnostic(bytes)))
        | Input::File((_, crate::words::FileArrival::Data((_, bytes)))) => bytes.len() as u64,
        _ => 0,
    }
}
