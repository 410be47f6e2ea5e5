//! The editor's end: ACP on a pair of descriptors.
//!
//! Standard input and output for an editor that started us; one end of a socket pair for a
//! client in the same process (`prompt`, tests). It touches those two descriptors only.
//! Invariant: what waits for the editor never holds up what comes from it, nor the end.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::fs::{FileType, Mode as Permissions, OFlags};
use rustix::net::Shutdown;

use super::flow::{self, Alive, Mode, Stop, Stopped, Written};
use super::mailbox::Feed;
use super::outbox::{NotTaken, Outbox};
use crate::words::Ending;

/// The same pipe once more, opened for us alone: it can be made non-blocking without anybody
/// else noticing, and then takes much more at a time. `None` where it is no pipe, or where
/// the system does not give it.
fn own_end(output: &OwnedFd) -> Option<OwnedFd> {
    let stat = rustix::fs::fstat(output).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Fifo {
        return None;
    }
    let path = format!("/proc/self/fd/{}", output.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(path, flags, Permissions::empty()).ok()
}

/// Where the editor is.
pub struct EditorPipe {
    input: OwnedFd,
    output: OwnedFd,
    mode: Mode,
}

impl EditorPipe {
    /// This process's standard input and output. Their modes are left as they are: they
    /// are shared with whoever started us.
    ///
    /// # Errors
    /// When one of them is closed.
    pub fn stdio() -> io::Result<EditorPipe> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(match own_end(&output) {
            Some(own) => EditorPipe {
                input,
                output: own,
                mode: Mode::NonBlocking,
            },
            None => EditorPipe::of(input, output),
        })
    }

    /// A socket with an ACP client at its far end.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn over(stream: UnixStream) -> io::Result<EditorPipe> {
        stream.set_nonblocking(true)?;
        Ok(EditorPipe {
            input: stream.try_clone()?.into(),
            output: stream.into(),
            mode: Mode::NonBlocking,
        })
    }

    /// Any two descriptors: read from `input`, write to `output`. Their modes are left as
    /// they are.
    #[must_use]
    pub fn of(input: OwnedFd, output: OwnedFd) -> EditorPipe {
        EditorPipe {
            input,
            output,
            mode: Mode::Blocking,
        }
    }

    /// Starts the two threads. `alive` lives until everything up to `finish` is written.
    pub(super) fn start(self, feed: Feed, alive: Alive) -> io::Result<EditorLink> {
        let EditorPipe {
            input,
            output,
            mode,
        } = self;
        let (stop, stopped) = flow::stop()?;
        let outbox = Outbox::default();
        flow::thread("editor in", {
            let (feed, stopped) = (feed.clone(), stopped.clone());
            move || {
                if let Some(ending) = flow::read_in(&input, &stopped, &feed) {
                    feed.end(ending);
                }
            }
        })?;
        flow::thread("editor out", {
            let (feed, outbox) = (feed.clone(), outbox.clone());
            move || {
                write_to_editor(&output, mode, &outbox, &stopped, &feed);
                drop(alive);
            }
        })?;
        Ok(EditorLink {
            outbox,
            feed,
            _stop: stop,
        })
    }
}

fn write_to_editor(output: &OwnedFd, mode: Mode, outbox: &Outbox, stopped: &Stopped, feed: &Feed) {
    match flow::write_out(output, mode, outbox, stopped, feed) {
        // On a socket the descriptor lives on in its reader, so closing it says nothing;
        // on a pipe this fails, and closing says it.
        Written::Finished => drop(rustix::net::shutdown(output, Shutdown::Write)),
        Written::Stopped => {}
        Written::Broken(why) => {
            outbox.close();
            feed.end(Ending::Broken(format!(
                "The editor takes no more output: {why}"
            )));
        }
    }
}

/// A running editor connection. Dropping it ends both threads.
pub(super) struct EditorLink {
    outbox: Outbox,
    feed: Feed,
    _stop: Stop,
}

impl EditorLink {
    /// Queues bytes.
    pub(super) fn send(&self, bytes: Vec<u8>) {
        match self.outbox.send(bytes) {
            Ok(()) => {}
            Err(NotTaken::Over) => tracing::debug!("output for an editor that is gone was dropped"),
            Err(NotTaken::Full) => {
                self.outbox.close();
                self.feed.end(Ending::Broken(
                    "The editor does not read: too much output waits for it.".to_owned(),
                ));
            }
        }
    }

    /// Flush, then close.
    pub(super) fn finish(&self) {
        self.outbox.finish();
    }

    /// Throw away what waits.
    pub(super) fn close(&self) {
        self.outbox.close();
    }
}
