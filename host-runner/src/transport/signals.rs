//! `SIGTERM` and `SIGINT` as the end of the editor.
//!
//! The component knows one orderly end: the editor is gone. A signal says the same, and
//! takes the same way through it. It touches the signal handlers of those two and of
//! `SIGHUP`. Invariant: a handler writes one byte to a pipe and does nothing else.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use super::{Mailbox, flow};

/// From now on `SIGTERM`, `SIGINT` and `SIGHUP` put the end of the editor before all that
/// waits in the mailbox, instead of ending the process.
///
/// # Errors
/// When the system gives no descriptors, threads or handlers.
pub fn raise_end(mailbox: Mailbox) -> io::Result<()> {
    for (signal, name) in [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT"), (SIGHUP, "SIGHUP")] {
        let (mut told, tell) = UnixStream::pair()?;
        let mailbox = mailbox.clone();
        flow::thread(name, move || {
            let mut byte = [0];
            while told.read(&mut byte).is_ok_and(|count| count > 0) {
                mailbox.interrupt(format!("Stopped by {name}."));
            }
        })?;
        pipe::register(signal, tell)?;
    }
    Ok(())
}
