//! The Host's side, one room a Host. Knows no ACP version.

pub mod maka;
