//! The embedded Host: a small Runtime Host with a scripted model, for trying
//! Airlock with nothing installed and for testing it against a Host that can
//! be made to fail. It stands at the far end of a socket pair and speaks the
//! Maka wire, epoch 39, written a second time on purpose (see `wire`). It may
//! touch its socket, its script, and its own state folder; it runs no program,
//! opens no file that a prompt names, and knows nothing of the engine.
//! Invariant: what it writes has the shapes and the order of a real Host; a
//! test replays recorded clients against it and compares.

mod catalog;
mod clock;
mod connection;
mod ending;
mod faults;
mod gate;
mod ids;
mod inputs;
mod interactions;
mod models;
mod operations;
mod outbox;
mod play;
mod requests;
mod rows;
mod script;
mod session;
mod shape;
mod stepped;
mod store;
mod subscription;
mod tool_output;
mod tools;
mod transcript;
mod turns;
mod uploads;
mod wire;
mod world;

use std::os::unix::net::UnixStream;
use std::sync::Arc;

pub use clock::Clock;
pub use faults::{Fault, Faults};
pub use stepped::{Heard, Line};
pub use world::{Options, World};

/// Serves one connection on threads of its own, and returns at once. The
/// connection ends when the client ends it, breaks the protocol, or a fault strikes.
pub fn serve(stream: UnixStream, world: Arc<World>) {
    std::thread::spawn(move || connection::run(stream, &world));
}
