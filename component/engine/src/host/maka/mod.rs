//! The Maka Runtime Host.

pub mod results;
