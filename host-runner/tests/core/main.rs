//! The runner's core, from outside: sandbox, rescue, recordings, command line. One binary,
//! because each one links the compiler.

mod build_once;
mod command_line;
mod common;
mod hostile;
mod recording;
mod rescue;
mod sandbox;
