//! Runs the Airlock component.
pub mod sandbox;
pub use sandbox::words;
