//! The edge: what carries bytes between the component and the world.
//!
//! Threads at the edges, no async: each pipe and socket has a reader thread that fills
//! the [`mailbox`], and a writer thread that empties an outbox. `drive` only ever calls
//! [`Mailbox::round`] and [`Ports::carry`]; neither touches a pipe, so neither blocks on
//! one. Invariant: nothing here reads inside a message (rule R3), and nothing is opened
//! that [`crate::grants::Grants`] does not name (rule R8).

mod child;
mod flow;
mod http;
pub mod limits;
pub mod mailbox;
mod outbox;
pub mod ports;
mod signals;
mod spawner;
mod stdio;
pub mod supervisor;
mod unix;

pub use mailbox::Mailbox;
pub use ports::Ports;
pub use signals::raise_end;
pub use stdio::EditorPipe;
