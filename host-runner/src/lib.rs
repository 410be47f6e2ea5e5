//! Runs the Airlock component.
pub mod discovery;
pub mod files;
pub mod grants;
pub mod sandbox;
pub mod transport;
pub use sandbox::words;
