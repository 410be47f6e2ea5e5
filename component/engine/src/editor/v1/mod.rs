//! ACP version 1.

pub mod encode;
