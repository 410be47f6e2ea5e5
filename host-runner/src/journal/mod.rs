//! What happened, kept so that it can happen again: in memory to survive a trap
//! ([`Keeper`]), on disk to be run again elsewhere ([`Recorder`], [`replay`]).
//!
//! May touch adapters through their traits, and the recording file. Reads inside no
//! message: it knows line ends and nothing else.
//! Invariant: the journal holds exactly the calls whose effects were carried out since the
//! state it starts from.

mod cut;
mod keeper;
mod log;
mod parse;
mod record;
mod redact;
mod replay;
mod text;

pub use keeper::{Broken, Keeper};
pub use record::Recorder;
pub use redact::redacted;
pub use replay::{Outcome, replay};

#[cfg(test)]
mod words_tests;
