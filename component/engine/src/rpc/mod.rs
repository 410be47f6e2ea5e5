//! JSON-RPC 2.0 as ACP uses it: one message a line, no batches, ids of any type.
//!
//! Nothing here knows a method name.

pub mod envelope;
pub mod error;
pub mod inbound;
pub mod outbound;

pub use envelope::{Bad, Message};
pub use error::RpcError;
pub use inbound::{Inbound, Ticket};
pub use outbound::{Number, Outbound};
