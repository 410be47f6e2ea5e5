//! Why a call gave no effects.

use alloc::string::String;
use core::fmt;

/// Why a call gave no effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The configuration cannot be used; the text says why.
    Config(String),
    /// The saved state is of another version, or damaged; the text says why.
    State(String),
    /// Called after [`crate::Effect::Done`].
    Finished,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Config(why) => write!(f, "the configuration cannot be used: {why}"),
            Fault::State(why) => write!(f, "the saved state cannot be used: {why}"),
            Fault::Finished => f.write_str("the adapter has finished"),
        }
    }
}

impl core::error::Error for Fault {}
