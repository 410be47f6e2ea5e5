//! Runs the Airlock component: bytes and time go in, effects come out and are carried out.
pub mod adapter;
pub mod args;
pub mod claude;
pub mod config;
pub mod connection;
pub mod discovery;
pub mod drive;
pub mod embedded;
#[cfg(test)]
mod fake;
pub mod files;
pub mod grants;
pub mod journal;
pub mod limits;
#[cfg(feature = "native")]
pub mod native;
pub mod prompt;
pub mod sandbox;
pub mod transport;
pub use sandbox::words;
