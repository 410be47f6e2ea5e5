//! Bytes through a file descriptor: one loop in, one loop out.
//!
//! Every pipe and socket of the edge is read and written here and nowhere else. It touches
//! only the descriptors that it is given. Invariant: a loop ends by itself when the peer
//! ends, and at once when its [`Stop`] is dropped, however stuck the peer is.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::limits;
use super::mailbox::Feed;
use super::outbox::{Next, Outbox};
use crate::words::Ending;

/// Held by the owner of a link; dropping it ends the loops that hold the matching
/// [`Stopped`].
pub(super) struct Stop {
    _end: PipeWriter,
}

/// What a loop watches besides its pipe. Clones watch the same.
#[derive(Clone)]
pub(super) struct Stopped(Arc<PipeReader>);

/// A new pair.
///
/// # Errors
/// When the process has no descriptors left.
pub(super) fn stop() -> io::Result<(Stop, Stopped)> {
    let (watch, end) = io::pipe()?;
    Ok((Stop { _end: end }, Stopped(Arc::new(watch))))
}

/// Reads until the peer ends, the feed is gone (`None`), or `stopped` (`None`).
pub(super) fn read_in(input: &impl AsFd, stopped: &Stopped, feed: &Feed) -> Option<Ending> {
    let mut buffer = vec![0; limits::CHUNK];
    loop {
        if !feed.room() || !wait(input, PollFlags::IN, stopped) {
            return None;
        }
        if feed.is_full() {
            continue;
        }
        match rustix::io::read(input, &mut buffer[..]) {
            Ok(0) => return Some(Ending::Eof),
            Ok(count) => feed.bytes(&buffer[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            // How a terminal says that its other side is gone.
            Err(Errno::IO) => return Some(Ending::Eof),
            Err(error) => return Some(Ending::Broken(sentence("reading", error))),
        }
    }
}

/// Reads stderr until it ends or `stopped`; never holds the child back.
pub(super) fn read_diagnostics(input: &impl AsFd, stopped: &Stopped, feed: &Feed) {
    let mut buffer = vec![0; limits::CHUNK];
    while wait(input, PollFlags::IN, stopped) {
        match rustix::io::read(input, &mut buffer[..]) {
            Ok(0) => return,
            Ok(count) => feed.diagnostic(&buffer[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return,
        }
    }
}

/// How a descriptor takes bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Ours alone, and set so: a write never blocks.
    NonBlocking,
    /// Shared with whoever started us (stdout): asked before every write, and given only
    /// as much as a pipe with room takes without blocking.
    Blocking,
}

/// Why a writer loop ended.
pub(super) enum Written {
    /// Everything up to `finish` is with the peer.
    Finished,
    /// Closed or stopped.
    Stopped,
    /// The peer takes no more; the text is for people.
    Broken(String),
}

/// Writes what the outbox gives, and tells the feed how much the peer has taken.
pub(super) fn write_out(
    output: &impl AsFd,
    mode: Mode,
    outbox: &Outbox,
    stopped: &Stopped,
    feed: &Feed,
) -> Written {
    let mut taken = Taken {
        total: 0,
        told: 0,
        feed,
    };
    loop {
        let chunk = match outbox.next() {
            Next::Write(chunk) => chunk,
            Next::Finish => return Written::Finished,
            Next::Close => return Written::Stopped,
        };
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            if mode == Mode::Blocking && !wait(output, PollFlags::OUT, stopped) {
                return Written::Stopped;
            }
            let piece = match mode {
                Mode::NonBlocking => rest,
                Mode::Blocking => &rest[..rest.len().min(limits::BLOCKING_WRITE)],
            };
            match rustix::io::write(output, piece) {
                Ok(count) => {
                    rest = &rest[count..];
                    taken.add(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    taken.tell();
                    if !wait(output, PollFlags::OUT, stopped) {
                        return Written::Stopped;
                    }
                }
                Err(error) => return Written::Broken(sentence("writing", error)),
            }
        }
        taken.tell();
    }
}

/// What the peer has taken, told a chunk at a time: every telling costs a round.
struct Taken<'a> {
    total: u64,
    told: u64,
    feed: &'a Feed,
}

impl Taken<'_> {
    fn add(&mut self, count: usize) {
        self.total += count as u64;
        if self.total - self.told >= limits::CHUNK as u64 {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if self.told != self.total {
            self.told = self.total;
            self.feed.drained(self.total);
        }
    }
}

/// Waits until the descriptor is ready (an error counts: the next call shows it). `false`:
/// stopped.
fn wait(fd: &impl AsFd, flags: PollFlags, stopped: &Stopped) -> bool {
    loop {
        let mut fds = [
            PollFd::new(fd, flags),
            PollFd::new(&*stopped.0, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            // The next read or write says it better.
            Err(_) => return true,
        }
        if !fds[1].revents().is_empty() {
            return false;
        }
        if !fds[0].revents().is_empty() {
            return true;
        }
    }
}

fn sentence(doing: &str, error: Errno) -> String {
    format!("{doing} failed: {}", io::Error::from(error))
}

/// Starts an edge thread.
///
/// # Errors
/// When the system gives no more threads.
pub(super) fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // Linux keeps 15 bytes of a name.
    let name = name.chars().take(15).collect();
    thread::Builder::new()
        .name(name)
        .stack_size(limits::STACK)
        .spawn(body)
        .map(drop)
}

/// Counts what must be gone before the program ends. Clones share the count.
#[derive(Clone, Default)]
pub(super) struct Living(Arc<(Mutex<usize>, Condvar)>);

/// One of the living, until dropped.
pub(super) struct Alive(Living);

impl Living {
    /// One more.
    pub(super) fn enter(&self) -> Alive {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Alive(self.clone())
    }

    /// Waits until none is left, at most `patience`; whether that was reached.
    pub(super) fn wait_until_none(&self, patience: Duration) -> bool {
        let count = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .0
            .1
            .wait_timeout_while(count, patience, |count| *count > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        *self.0.0.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.0.1.notify_all();
    }
}
