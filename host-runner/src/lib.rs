//! Runs the Airlock component: bytes and time go in, effects come out and are carried out.
pub mod adapter;
pub mod limits;
pub mod sandbox;
pub use sandbox::words;
