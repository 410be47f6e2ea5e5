//! The embedded Host, met over a socket pair as its client meets it.
//! One file a behaviour; `client` is the test's own client.

mod client;
mod replay;
mod shapes;
