//! Channels to Hosts: a Unix socket, or a pair whose far end is in this process.
//!
//! It touches the socket that [`crate::discovery`] found and checked, and no other.
//! Invariant: nothing is written before the peer is known to run under our own user.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use rustix::net::Shutdown;

use super::flow::{self, Living, Mode, Stopped, Written};
use super::mailbox::Feed;
use super::outbox::Outbox;
use crate::discovery::{self, Problem};
use crate::grants::{FarEnd, HostGrant};
use crate::words::{Ending, HostArrival, HostRefusal};

/// What an opening channel needs.
pub(super) struct Opening {
    pub(super) feed: Feed,
    pub(super) outbox: Outbox,
    pub(super) stopped: Stopped,
    /// The writer is one of them until everything up to `finish` is written.
    pub(super) living: Living,
}

/// Opens a channel to a granted Host on a thread of its own.
pub(super) fn open(name: &str, host: HostGrant, opening: Opening) {
    let feed = opening.feed.clone();
    let started = flow::thread(name, move || {
        let feed = opening.feed.clone();
        let opened = match host {
            HostGrant::Maka(options) => find(&options),
            HostGrant::InProcess(far_end) => pair(far_end),
        };
        match opened {
            Ok((stream, facts)) => run(stream, facts, opening),
            Err(problem) => feed.opening(HostArrival::Refused(refusal(problem))),
        }
    });
    if let Err(error) = started {
        feed.opening(HostArrival::Refused(HostRefusal::Failed(error.to_string())));
    }
}

type Facts = Vec<(String, String)>;

/// Finds a registered Host, checks it, and connects to it.
fn find(options: &discovery::Options) -> Result<(UnixStream, Facts), Problem> {
    let found = discovery::find(options)?;
    let stream = connect_to(&found.endpoint)?;
    discovery::check_peer(&stream)?;
    Ok((stream, found.facts()))
}

/// Makes a socket pair and gives the far end away, on a thread that it may keep.
fn pair(far_end: FarEnd) -> Result<(UnixStream, Facts), Problem> {
    let failed = |error: io::Error| Problem::Failed(error.to_string());
    let (near, far) = UnixStream::pair().map_err(failed)?;
    thread::Builder::new()
        .name("far end".to_owned())
        .spawn(move || far_end(far))
        .map_err(failed)?;
    Ok((near, vec![("endpoint".to_owned(), "in-process".to_owned())]))
}

/// Connects. This may wait as long as the Host's backlog is full: on this channel's own
/// thread, so that nobody else waits, and the component gives up when it wants to.
fn connect_to(path: &Path) -> Result<UnixStream, Problem> {
    UnixStream::connect(path).map_err(|error| match error.kind() {
        // The socket was there a moment ago, when it was checked.
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Problem::Stale,
        _ => Problem::Failed(format!("{}: {error}", path.display())),
    })
}

/// Carries bytes both ways until the end. The calling thread becomes the reader.
fn run(stream: UnixStream, facts: Facts, opening: Opening) {
    let Opening {
        feed,
        outbox,
        stopped,
        living,
    } = opening;
    feed.opening(HostArrival::Opened(facts));
    let writer = stream
        .set_nonblocking(true)
        .and_then(|()| stream.try_clone())
        .and_then(|output| {
            let (feed, outbox, stopped) = (feed.clone(), outbox.clone(), stopped.clone());
            let alive = living.enter();
            flow::thread("host out", move || {
                match flow::write_out(&output, Mode::NonBlocking, &outbox, &stopped, &feed) {
                    Written::Finished => drop(rustix::net::shutdown(&output, Shutdown::Write)),
                    Written::Stopped => {}
                    // What the Host said before it went still comes, then its end.
                    Written::Broken(why) => {
                        tracing::debug!("a Host takes no more: {why}");
                        outbox.close();
                    }
                }
                drop(alive);
            })
        });
    match writer {
        Ok(()) => {
            if let Some(ending) = flow::read_in(&stream, &stopped, &feed) {
                feed.end(ending);
            }
        }
        Err(error) => feed.end(Ending::Broken(error.to_string())),
    }
    outbox.close();
}

fn refusal(problem: Problem) -> HostRefusal {
    match problem {
        Problem::Absent => HostRefusal::Absent,
        Problem::Stale => HostRefusal::Stale,
        Problem::Insecure(which) => HostRefusal::Insecure(which),
        Problem::Failed(why) => HostRefusal::Failed(why),
    }
}
