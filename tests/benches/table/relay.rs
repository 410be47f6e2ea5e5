//! Programs that carry bytes from a socket to stdout and understand nothing.
//!
//! A relay of blocks writes what it read, and knows no messages. A relay
//! of lines writes every line by itself, as every program does that handles messages one by
//! one: the floor. Both read 64 KiB at once.
//! Invariant: what comes in goes out.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use super::Measured;
use super::session::CHUNK;

/// The word that makes this benchmark a relay: `--relay HOW SOCKET`.
pub const RELAY: &str = "--relay";
/// A line at a time.
pub const LINES: &str = "lines";
/// As it comes.
pub const BLOCKS: &str = "blocks";

/// Carries until the socket ends.
///
/// # Errors
/// When socket or stdout fails.
pub fn run(how: &str, socket: &str) -> Measured<()> {
    let mut input = BufReader::with_capacity(CHUNK, UnixStream::connect(socket)?);
    // Past the buffer of the standard library.
    let mut output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut line = Vec::new();
    loop {
        if how == LINES {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            output.write_all(&line)?;
        } else {
            let block = input.fill_buf()?;
            let length = block.len();
            if length == 0 {
                return Ok(());
            }
            output.write_all(block)?;
            input.consume(length);
        }
    }
}
