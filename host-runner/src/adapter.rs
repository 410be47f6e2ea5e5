//! What the runner drives: an adapter that takes inputs and gives effects, wherever it runs.
//!
//! Two things stand behind these traits: the component in its sandbox ([`crate::sandbox`])
//! and, behind the feature `native`, the engine linked into this program
//! (`crate::native`). `drive` and `journal` know nothing else of either.
//! Invariant: a call that fails had no effects, and after [`Failure::Trapped`] the
//! instance is never called again.

use std::fmt;

use crate::words::{Effect, Fault, Input, Instant};

/// One ACP connection's adapter.
pub trait Adapter {
    /// Handles the inputs in order and returns what is to be carried out.
    ///
    /// # Errors
    /// [`Failure`]: nothing of this call may be carried out.
    fn handle(&mut self, now: Instant, inputs: &[Input]) -> Result<Vec<Effect>, Failure>;

    /// Everything that [`Factory::restore`] needs. Changes nothing.
    ///
    /// # Errors
    /// [`Failure::Trapped`]: this instance is dead.
    fn snapshot(&mut self) -> Result<Vec<u8>, Failure>;

    /// Bytes of memory that the instance holds. They never shrink; a fresh instance starts anew.
    fn memory(&self) -> u64;
}

/// Makes adapters of one kind.
pub trait Factory {
    /// Starts anew.
    ///
    /// # Errors
    /// [`Failure`] when the configuration cannot be used or the instance fails.
    fn open(&self, config: &str, seed: &[u8; 32]) -> Result<Box<dyn Adapter>, Failure>;

    /// Takes over from another instance.
    ///
    /// # Errors
    /// [`Failure`] when the state cannot be used or the instance fails.
    fn restore(&self, config: &str, state: &[u8]) -> Result<Box<dyn Adapter>, Failure>;

    /// What the adapter says of itself: JSON with name, version, ACP versions and Hosts.
    ///
    /// # Errors
    /// [`Failure`] when the instance fails.
    fn describe(&self) -> Result<String, Failure>;
}

/// Why a call gave no effects.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// It trapped, ran into a limit, or past its deadline. The instance is dead.
    Trapped(Reason),
    /// It answered, with a fault of the contract.
    Fault(Fault),
}

/// What killed an instance.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// It ran longer than the deadline of the call.
    Deadline,
    /// Anything else, as half a sentence: "it panicked: ...".
    Other(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Deadline => f.write_str("it did not come back within the deadline of a call"),
            Reason::Other(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Trapped(reason) => write!(f, "the component failed: {reason}"),
            Failure::Fault(Fault::Config(why)) => {
                write!(f, "the component cannot use its configuration: {why}")
            }
            Failure::Fault(Fault::State(why)) => {
                write!(f, "the component cannot use the saved state: {why}")
            }
            Failure::Fault(Fault::Finished) => {
                f.write_str("the component was called after it had finished")
            }
        }
    }
}

impl std::error::Error for Failure {}
