//! The Maka wire: one module an epoch, because the wire is closed-schema and every
//! incompatible change raises the epoch. Everything outside takes the names from here.

pub mod epoch39;
pub mod form;
mod lane;
pub mod surrogates;

pub use epoch39 as current;
pub use lane::Lane;
