//! The embedded Host, met over a socket pair as its client meets it.
//! One file a behaviour; `client` is the test's own client.

mod client;
mod faults;
mod handshake;
mod replay;
mod script;
mod sessions;
mod shapes;
mod slow;
mod stepped;
mod transcript;
mod turns;
mod uploads;
