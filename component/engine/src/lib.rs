//! The Airlock adapter: what an editor asks in ACP becomes what a Host is asked in its own
//! protocol, and what the Host does becomes what the editor shows.
//!
//! # The law
//! **One call handles its inputs in order; every effect is carried out, in order, before
//! the next call; a call that traps had no effects.** The same configuration, seed and
//! inputs give the same effects, natively and in wasm.
//!
//! The engine is a state machine without I/O, clock, randomness, thread or async: time
//! and seed come in as data. [`Engine::handle`] is its only verb.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
#[doc(hidden)]
pub mod editor;
mod effect;
mod fault;
#[doc(hidden)]
pub mod host;
mod ids;
mod input;
#[doc(hidden)]
pub mod json;
pub mod limits;
mod line;
#[doc(hidden)]
pub mod projection;
mod snapshot;

pub use config::{Agent, Config, HostChoice, HostKind, PlannedFault, PlannedFaultKind};
pub use effect::{AcpDeparture, Command, Effect, FileDeparture, HostDeparture, Inherit, Level, Request, Target};
pub use fault::Fault;
pub use input::{
    AcpArrival, Channel, Ending, FileArrival, FileFacts, FileKind, FileRefusal, Handle, HostArrival,
    HostRefusal, Input, Instant, Origin, Root, Timer,
};

use alloc::string::String;
use alloc::vec::Vec;
use alloc::vec;

/// One ACP connection.
pub struct Engine {
    config: Config,
}

impl Engine {
    /// Starts anew; `seed` is exactly 32 random bytes.
    ///
    /// # Errors
    /// [`Fault::Config`] when the configuration or the seed cannot be used.
    pub fn open(config: &str, seed: &[u8]) -> Result<Engine, Fault> {
        let _ = seed;
        Ok(Engine { config: Config::read(config)? })
    }
    /// x
    pub fn restore(config: &str, state: &[u8]) -> Result<Engine, Fault> {
        let _ = state;
        Ok(Engine { config: Config::read(config)? })
    }
    /// x
    pub fn handle(&mut self, now: Instant, inputs: Vec<Input>) -> Result<Vec<Effect>, Fault> {
        let _ = now;
        let mut out = vec![];
        for input in inputs {
            match input {
                Input::Acp(AcpArrival::Bytes(b)) => out.push(Effect::Acp(AcpDeparture::Bytes(b))),
                Input::Acp(AcpArrival::Ended(_)) => { out.push(Effect::Acp(AcpDeparture::Finish)); out.push(Effect::Done(0)) }
                _ => {}
            }
        }
        Ok(out)
    }
    /// x
    pub fn snapshot(&self) -> Vec<u8> { let _ = &self.config; vec![] }
}

/// Name, version, ACP versions, Hosts and their epochs, as JSON.
pub fn describe() -> String {
    String::from(concat!(
        "{\"name\":\"airlock\",\"version\":\"", env!("CARGO_PKG_VERSION"),
        "\",\"acp\":[1],\"hosts\":{\"maka\":{\"epochs\":[39]}}}"
    ))
}
