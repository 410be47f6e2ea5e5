//! One instance of a component in a store of its own: one ACP connection.
//!
//! Invariant: the store is dead after a trap, and says so ever after, since wasmtime does
//! not let anybody enter it again.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::{HasSelf, Linker, ResourceAny};
use wasmtime::{Engine, ResourceLimiter, Store, Trap};

use super::Limits;
use super::ticker::Ticker;
use super::words::exports::airlock::adapter::adapter::Guest;
use super::words::{
    AcpAdapter, AcpAdapterPre, AcpArrival, Effect, Fault, HostArrival, Input, Instant, airlock,
};
use crate::adapter::{Adapter, Failure, Reason};
use crate::limits;

/// Links the words of the world, and nothing else.
///
/// # Errors
/// When wasmtime refuses; never with the world of this build.
pub fn linker(engine: &Engine) -> wasmtime::Result<Linker<Held>> {
    let mut linker = Linker::new(engine);
    AcpAdapter::add_to_linker::<_, HasSelf<_>>(&mut linker, |held| held)?;
    Ok(linker)
}

/// A connection's adapter in wasm.
pub struct Instance {
    store: Store<Held>,
    guest: Guest,
    resource: Option<ResourceAny>,
    limits: Limits,
    ticker: Arc<Ticker>,
}

impl Instance {
    /// Instantiates, without a connection yet.
    ///
    /// # Errors
    /// When the component's start traps or wants more than the limits.
    pub fn new(
        pre: &AcpAdapterPre<Held>,
        limits: Limits,
        ticker: &Arc<Ticker>,
    ) -> Result<Instance, Failure> {
        let mut store = Store::new(pre.engine(), Held::new(limits.memory));
        store.limiter(|held| held);
        store.set_epoch_deadline(ticks(limits.deadline_state));
        let made = {
            let _running = ticker.running();
            pre.instantiate(&mut store)
        };
        let guest = match made {
            Ok(made) => made.airlock_adapter_adapter().clone(),
            Err(error) => return Err(trapped(&error, &mut store)),
        };
        Ok(Instance {
            store,
            guest,
            resource: None,
            limits,
            ticker: ticker.clone(),
        })
    }

    /// Starts a connection anew.
    ///
    /// # Errors
    /// [`Failure`] of the component.
    pub fn open(mut self, config: &str, seed: &[u8; 32]) -> Result<Instance, Failure> {
        let resource = self.call(self.limits.deadline_state, |guest, store| {
            guest.engine().call_open(store, config, seed)
        })?;
        self.resource = Some(resource);
        Ok(self)
    }

    /// Takes a connection over.
    ///
    /// # Errors
    /// [`Failure`] of the component.
    pub fn restore(mut self, config: &str, state: &[u8]) -> Result<Instance, Failure> {
        let deadline = self.limits.deadline_state + for_bytes(state.len());
        let resource = self.call(deadline, |guest, store| {
            guest.engine().call_restore(store, config, state)
        })?;
        self.resource = Some(resource);
        Ok(self)
    }

    /// What the component says of itself.
    ///
    /// # Errors
    /// [`Failure`] of the component.
    pub fn describe(&mut self) -> Result<String, Failure> {
        self.call(self.limits.deadline_state, |guest, store| {
            guest.call_describe(store).map(Ok)
        })
    }

    fn call<T>(
        &mut self,
        deadline: Duration,
        call: impl FnOnce(&Guest, &mut Store<Held>) -> wasmtime::Result<Result<T, Fault>>,
    ) -> Result<T, Failure> {
        let _running = self.ticker.running();
        self.store.set_epoch_deadline(ticks(deadline));
        match call(&self.guest, &mut self.store) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(fault)) => Err(Failure::Fault(fault)),
            Err(error) => Err(trapped(&error, &mut self.store)),
        }
    }

    fn resource(&self) -> ResourceAny {
        self.resource
            .expect("opened or restored before it is handed out")
    }
}

impl Adapter for Instance {
    fn handle(&mut self, now: Instant, inputs: &[Input]) -> Result<Vec<Effect>, Failure> {
        let bytes = inputs.iter().map(bytes_of).sum();
        let resource = self.resource();
        self.call(self.limits.deadline + for_bytes(bytes), |guest, store| {
            guest.engine().call_handle(store, resource, now, inputs)
        })
    }

    fn snapshot(&mut self) -> Result<Vec<u8>, Failure> {
        let resource = self.resource();
        let deadline = self.limits.deadline_state + for_bytes(self.memory() as usize);
        self.call(deadline, |guest, store| {
            guest.engine().call_snapshot(store, resource).map(Ok)
        })
    }

    fn memory(&self) -> u64 {
        self.store.data().memory
    }
}

/// What a store holds beside the instance: its limits, and what it said last.
pub struct Held {
    memory: u64,
    memory_limit: u64,
    refused_memory: bool,
    last_words: Option<String>,
}

impl Held {
    fn new(memory_limit: u64) -> Held {
        Held {
            memory: 0,
            memory_limit,
            refused_memory: false,
            last_words: None,
        }
    }
}

impl airlock::adapter::types::Host for Held {}
impl airlock::adapter::acp_io::Host for Held {}
impl airlock::adapter::host_io::Host for Held {}
impl airlock::adapter::file_io::Host for Held {}
impl airlock::adapter::last_words::Host for Held {
    fn tell(&mut self, message: String) {
        self.last_words = Some(message.chars().take(limits::LAST_WORDS_CHARS).collect());
    }
}

impl ResourceLimiter for Held {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired as u64 > self.memory_limit {
            self.refused_memory = true;
            // A trap, not a failed `memory.grow`: the allocator would only panic on it.
            return Err(wasmtime::Error::msg("memory limit"));
        }
        self.memory = desired as u64;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= limits::TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        limits::INSTANCES
    }

    fn tables(&self) -> usize {
        limits::TABLES
    }

    fn memories(&self) -> usize {
        limits::MEMORIES
    }
}

/// Why it trapped, in words for people.
fn trapped(error: &wasmtime::Error, store: &mut Store<Held>) -> Failure {
    let held = store.data_mut();
    if let Some(Trap::Interrupt) = error.downcast_ref::<Trap>() {
        return Failure::Trapped(Reason::Deadline);
    }
    let why = if held.refused_memory {
        format!(
            "it asked for more than {} MiB of memory",
            held.memory_limit >> 20
        )
    } else if let Some(words) = held.last_words.take() {
        format!("it panicked: {}", words.escape_debug())
    } else {
        match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => "it used up its stack".into(),
            Some(trap) => format!("it trapped: {trap}"),
            None => format!("it could not go on: {error:#}"),
        }
    };
    Failure::Trapped(Reason::Other(why))
}

/// Epoch ticks that cover the time; the first one may come at once.
fn ticks(time: Duration) -> u64 {
    time.as_millis().div_ceil(limits::EPOCH_TICK.as_millis()) as u64 + 1
}

fn for_bytes(bytes: usize) -> Duration {
    limits::DEADLINE_PER_MIB.mul_f64(bytes as f64 / f64::from(1 << 20))
}

fn bytes_of(input: &Input) -> usize {
    match input {
        Input::Acp(AcpArrival::Bytes(bytes))
        | Input::Host((_, HostArrival::Bytes(bytes) | HostArrival::Diagnostic(bytes))) => {
            bytes.len()
        }
        _ => 0,
    }
}
