//! Ends what is left when the runner is killed.
//!
//! A runner that ends by itself ends its children first. One that is killed (`SIGKILL`)
//! cannot: Linux then signals its direct children, but not what those started. So a second
//! process, the same program in its `supervise` mode, holds one end of a socket (the
//! lifeline) and a list of process groups; when the other end closes, the runner is gone,
//! and the groups are told to end, then killed. It touches nothing but that socket and those
//! groups. A program that keeps its tools in groups of their own, as agents do, ends those
//! itself when it is told to; killed at once it could not.
//! Invariant: a group is on the list before its program runs its first instruction, and
//! off it before its number can be used again.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::net::SendFlags;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::limits;

/// The hidden subcommand that `main` gives to [`main`].
pub const SUBCOMMAND: &str = "supervise";

/// How this program starts its own supervisor.
#[must_use]
pub fn this_program() -> Command {
    // On Linux this reaches the running program even when an upgrade replaced its file.
    let program = if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe().unwrap_or_default()
    };
    let mut command = Command::new(program);
    // It needs nothing from the environment, so it gets nothing: no key, no credential.
    command.arg0("host-runner").arg(SUBCOMMAND).env_clear();
    command
}

/// The supervisor mode: reads the lifeline on standard input until it closes, then ends the
/// groups that are left.
pub fn main() -> ! {
    // What stops the runner must not stop the supervisor first. Caught, the signals do
    // nothing; in a child of its own they would be back, but it starts none.
    for signal in [
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGHUP,
    ] {
        drop(signal_hook::flag::register(
            signal,
            Arc::new(AtomicBool::new(false)),
        ));
    }
    end(groups_at_the_end(io::stdin().lock()));
    std::process::exit(0)
}

/// Tells the groups to end, and kills those that have not after [`limits::KILL_AFTER_LOOKS`].
fn end(mut groups: Vec<Pid>) {
    for group in &groups {
        let _ = kill_process_group(*group, Signal::TERM);
    }
    // They are nobody's children here, so that none is waited for: they are looked at. One
    // that is gone is not signalled again; its number may be somebody else's.
    for _ in 0..limits::KILL_AFTER_LOOKS {
        groups.retain(|group| test_kill_process_group(*group).is_ok());
        if groups.is_empty() {
            return;
        }
        std::thread::sleep(limits::LOOK_EVERY);
    }
    for group in groups {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Follows the lifeline to its end; the groups that are left on the list.
fn groups_at_the_end(mut lifeline: impl Read) -> Vec<Pid> {
    let mut groups = BTreeSet::new();
    // The group that was added since the last `BEGIN`.
    let mut newest = None;
    let mut record = [0; RECORD];
    while lifeline.read_exact(&mut record).is_ok() {
        let [what, number @ ..] = record;
        let group = i32::from_le_bytes(number);
        match what {
            BEGIN => newest = None,
            // 0 would be our own group, 1 everybody's.
            ADD if group > 1 => {
                groups.insert(group);
                newest = Some(group);
            }
            UNDO => drop(newest.take().map(|group| groups.remove(&group))),
            REMOVE => drop(groups.remove(&group)),
            _ => {}
        }
    }
    groups.into_iter().filter_map(Pid::from_raw).collect()
}

/// One record on the lifeline: what happened, and the number of a group where one is known.
const RECORD: usize = 5;
/// The runner is about to start a child.
const BEGIN: u8 = b'?';
/// The child, on its way into the program, leads this group.
const ADD: u8 = b'+';
/// It did not start, and only the child knew its number.
const UNDO: u8 = b'!';
/// The group is gone.
const REMOVE: u8 = b'-';

fn record(what: u8, group: Option<Pid>) -> [u8; RECORD] {
    let [a, b, c, d] = Pid::as_raw(group).to_le_bytes();
    [what, a, b, c, d]
}

/// The runner's side: starts the supervisor with the first child, tells it of each.
#[derive(Clone, Default)]
pub(super) struct Supervisor(Arc<Mutex<Option<Running>>>);

struct Running {
    start: Box<dyn Fn() -> Command + Send>,
    lifeline: Option<Lifeline>,
}

/// An open lifeline. Clones share it.
#[derive(Clone)]
pub(super) struct Lifeline {
    line: Arc<UnixStream>,
    /// Kept so that the process is known as ours.
    _process: Arc<Child>,
}

impl Supervisor {
    /// A supervisor that will be started by this command.
    pub(super) fn started_by(start: impl Fn() -> Command + Send + 'static) -> Supervisor {
        Supervisor(Arc::new(Mutex::new(Some(Running {
            start: Box::new(start),
            lifeline: None,
        }))))
    }

    /// The lifeline, with the supervisor started if it is not there. `None`: there is none,
    /// and only direct children die with a killed runner.
    pub(super) fn lifeline(&self) -> Option<Lifeline> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = running.as_mut()?;
        if running.lifeline.is_none() {
            match start((running.start)()) {
                Ok(lifeline) => running.lifeline = Some(lifeline),
                Err(error) => tracing::warn!(
                    "The supervisor of child processes could not start ({error}); if host-runner is \
                     killed, programs that its children started may stay."
                ),
            }
        }
        running.lifeline.clone()
    }

    /// The supervisor is gone: start another one next time.
    pub(super) fn lost(&self) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.as_mut() {
            running.lifeline = None;
        }
    }
}

fn start(mut command: Command) -> io::Result<Lifeline> {
    let (near, far) = UnixStream::pair()?;
    let process = command
        .stdin(OwnedFd::from(far))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .process_group(0)
        .spawn()?;
    Ok(Lifeline {
        line: Arc::new(near),
        _process: Arc::new(process),
    })
}

impl Lifeline {
    /// Starts a child whose `pre_exec` calls [`Lifeline::add_myself`]. Only the spawning
    /// thread does this, so that no two starts mix.
    ///
    /// # Errors
    /// When it does not start; then its group is off the list again.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<Child> {
        self.tell(record(BEGIN, None))?;
        command
            .spawn()
            .inspect_err(|_| drop(self.tell(record(UNDO, None))))
    }

    /// Puts the calling process's own group on the list. Called between fork and exec:
    /// system calls only, no allocation, no lock.
    pub(super) fn add_myself(&self) -> io::Result<()> {
        self.tell(record(ADD, Some(rustix::process::getpid())))
    }

    /// Takes a group off the list.
    pub(super) fn remove(&self, group: Pid) {
        drop(self.tell(record(REMOVE, Some(group))));
    }

    fn tell(&self, record: [u8; RECORD]) -> io::Result<()> {
        rustix::net::send(&*self.line, &record, FLAGS)?;
        Ok(())
    }
}

/// Else a supervisor that is gone would kill the child that tells it.
#[cfg(not(target_vendor = "apple"))]
const FLAGS: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const FLAGS: SendFlags = SendFlags::empty();

#[cfg(test)]
#[path = "supervisor_tests.rs"]
mod tests;
