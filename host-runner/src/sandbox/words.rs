//! The words of the WIT contract, as Rust types.
//!
//! Everything outside `sandbox/` takes them from here, so that nothing else names wasmtime.
#![allow(missing_docs)]

wasmtime::component::bindgen!({
    world: "acp-adapter",
    path: "../wit",
    additional_derives: [PartialEq, Eq, Hash],
});

pub use airlock::adapter::acp_io::{Arrival as AcpArrival, Departure as AcpDeparture};
pub use airlock::adapter::file_io::{
    Arrival as FileArrival, Departure as FileDeparture, Facts as FileFacts, Handle,
    Kind as FileKind, Refusal as FileRefusal, Root,
};
pub use airlock::adapter::host_io::{
    Arrival as HostArrival, Channel, Command, Departure as HostDeparture, Inherit,
    Refusal as HostRefusal, Request, Target,
};
pub use airlock::adapter::types::{Ending, Instant, Timer};
pub use exports::airlock::adapter::adapter::{Effect, Fault, Input, Level, Origin};
