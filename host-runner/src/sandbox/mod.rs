//! The sandbox around the component: compile or load, audit, instantiate, limit, call.
//!
//! The only files that name wasmtime. They carry words across and read inside none.
//! Invariant: a component is linked only after its imports were checked (`audit`), gets
//! one store of its own a connection, and every call has a deadline and a memory limit.

mod audit;
mod cache;
mod engine_config;
mod in_place;
mod instance;
mod load;
mod ticker;
pub mod words;

pub use audit::{EXPORT, IMPORTS};
pub use load::Sandbox;

use std::time::Duration;

use crate::limits;

/// What an instance may use. The values of [`crate::limits`], unless a test wants less.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: u64,
    /// Deadline of a call without bytes.
    pub deadline: Duration,
    /// Deadline of `open`, `restore` and `snapshot` of a small state.
    pub deadline_state: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory: limits::MEMORY_BYTES,
            deadline: limits::DEADLINE,
            deadline_state: limits::DEADLINE_STATE,
        }
    }
}
