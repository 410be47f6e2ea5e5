//! `host-runner prompt`: a small ACP v1 client, for one prompt without an
//! editor. It stands at the far end of a socket pair whose near end is the
//! agent, and may touch that socket, its two writers, the terminal and the
//! interrupt signal. Invariant: stdout gets the answer and nothing else (or,
//! with `json`, the agent's messages and nothing else); all that a person
//! might want besides goes to stderr.

mod client;
mod console;
mod view;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use anyhow::Result;

pub use console::{Console, Event};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Options {
    /// Working folder of the session; absolute.
    pub cwd: PathBuf,
    /// Print every message of the agent, one JSON line each, instead of the answer.
    pub json: bool,
    /// The prompt.
    pub text: String,
}

/// Exit code: the turn came to its end.
pub const DONE: u8 = 0;
/// Exit code: no answer, or one that says what went wrong.
pub const FAILED: u8 = 1;
/// Exit code: the agent refused.
pub const REFUSED: u8 = 2;
/// Exit code: the agent ran out of tokens or of requests.
pub const EXHAUSTED: u8 = 3;
/// Exit code: cancelled, as shells say it of an interrupt.
pub const CANCELLED: u8 = 130;

/// Sends the prompt over `stream`, shows what comes back, and gives the exit
/// code. An interrupt (Ctrl-C) cancels the turn, a second one leaves at once.
///
/// # Errors
/// Writing to `out` fails, or the interrupt signal cannot be watched. Errors of
/// the agent are no errors here: they are said on `err` and give [`FAILED`].
pub fn run(
    stream: UnixStream,
    options: Options,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8> {
    run_on(stream, options, out, err, Console::real()?)
}

/// As [`run`], with another person at another terminal.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    stream: UnixStream,
    options: Options,
    out: &mut dyn Write,
    err: &mut dyn Write,
    console: Console,
) -> Result<u8> {
    client::Client::new(
        stream,
        options,
        view::View::new(out, err, &console),
        console,
    )?
    .run()
}
