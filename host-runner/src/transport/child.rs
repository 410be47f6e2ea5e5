//! Channels to child processes: agent programs, tool servers.
//!
//! A child leads a process group of its own, so that what it starts can be ended with it.
//! Its standard input and output are the channel, its stderr is diagnosis. It touches the
//! program that [`crate::grants::Grants`] names and signals no group but that one.
//! Invariant: the group's number is signalled only while its leader is not reaped, so a
//! number that the system gave to somebody else is never signalled.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::flow::{self, Alive, Mode, Stopped, Written};
use super::limits;
use super::mailbox::Feed;
use super::outbox::Outbox;
use super::spawner;
use super::supervisor::{Lifeline, Supervisor};
use crate::grants::Program;
use crate::words::{Command, Ending, HostArrival, HostRefusal, Inherit};

/// What an opening channel needs.
pub(super) struct Opening {
    pub(super) feed: Feed,
    pub(super) outbox: Outbox,
    pub(super) stopped: Stopped,
    /// Lives until the process and its group are gone.
    pub(super) alive: Alive,
    pub(super) supervisor: Supervisor,
}

/// Starts a granted program; the answer comes through the feed.
pub(super) fn open(program: Program, command: Command, opening: Opening) -> Group {
    let group = Group::default();
    let ours = group.clone();
    spawner::run(move || {
        let feed = opening.feed.clone();
        if let Err(refusal) = start(&program, &command, opening, &ours) {
            feed.opening(HostArrival::Refused(refusal));
        }
    });
    group
}

/// Runs on the spawning thread.
fn start(
    program: &Program,
    command: &Command,
    opening: Opening,
    group: &Group,
) -> Result<(), HostRefusal> {
    if !Path::new(&command.cwd).is_absolute() {
        return Err(HostRefusal::Failed(format!(
            "The working folder {:?} is not an absolute path.",
            command.cwd
        )));
    }
    let (mut child, lifeline) = spawn(program, command, &opening.supervisor)?;
    let pipes = Pipes::take(&mut child).map_err(|error| {
        drop(child.kill());
        drop(child.wait());
        HostRefusal::Failed(error.to_string())
    })?;
    opening.feed.opening(HostArrival::Opened(vec![(
        "pid".to_owned(),
        child.id().to_string(),
    )]));
    group.runs(pid_of(&child));
    if let Err(error) = run(child, pipes, lifeline, opening, group) {
        // Without its threads nobody would hear the child: it goes, and the feed with it.
        tracing::error!("no thread for a child process: {error}");
        group.signal(Signal::KILL);
    }
    Ok(())
}

fn spawn(
    program: &Program,
    command: &Command,
    supervisor: &Supervisor,
) -> Result<(process::Child, Option<Lifeline>), HostRefusal> {
    let path = program.locate()?;
    let attempt = |lifeline: Option<&Lifeline>| {
        let mut prepared = prepare(&path, program, command, lifeline.cloned());
        match lifeline {
            Some(lifeline) => lifeline.start(&mut prepared),
            None => prepared.spawn(),
        }
    };
    let mut lifeline = supervisor.lifeline();
    let mut started = attempt(lifeline.as_ref());
    let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if lifeline.is_some() && started.as_ref().is_err_and(broken) {
        // Somebody ended the supervisor. Its place can be filled.
        supervisor.lost();
        lifeline = supervisor.lifeline();
        started = attempt(lifeline.as_ref());
    }
    match started {
        Ok(child) => Ok((child, lifeline)),
        Err(error) => Err(refusal(&error, program, command)),
    }
}

/// The system reports a missing program and a missing folder alike.
fn refusal(error: &io::Error, program: &Program, command: &Command) -> HostRefusal {
    if !Path::new(&command.cwd).is_dir() {
        return HostRefusal::NoFolder;
    }
    if error.kind() != io::ErrorKind::NotFound {
        return HostRefusal::Failed(format!("{} did not start: {error}", program.path.display()));
    }
    HostRefusal::Absent
}

/// What a program needs to start, and nothing that opens doors.
const MINIMAL: [&str; 7] = ["PATH", "HOME", "TMPDIR", "LANG", "USER", "SHELL", "TERM"];

fn prepare(
    path: &Path,
    program: &Program,
    command: &Command,
    lifeline: Option<Lifeline>,
) -> process::Command {
    let mut prepared = process::Command::new(path);
    prepared
        .args(&program.script)
        .args(&command.args)
        .current_dir(&command.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if program.minimal_only || command.inherit == Inherit::Minimal {
        prepared.env_clear();
        for name in MINIMAL {
            if let Some(value) = std::env::var_os(name) {
                prepared.env(name, value);
            }
        }
    }
    for (name, value) in &command.env {
        match value {
            Some(value) => prepared.env(name, value),
            None => prepared.env_remove(name),
        };
    }
    let runner = rustix::process::getpid();
    #[cfg(target_os = "linux")]
    let when_killed = match lifeline {
        // The supervisor sees to it that it ends; told to, it can end what it has started.
        Some(_) => Signal::TERM,
        None => Signal::KILL,
    };
    let before_exec = move || {
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(when_killed))?;
        }
        // The runner may have been killed before that took hold.
        if rustix::process::getppid() != Some(runner) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        lifeline.as_ref().map_or(Ok(()), Lifeline::add_myself)
    };
    // SAFETY: runs in the forked child, where only what is async-signal-safe may be used.
    // The closure makes four system calls and touches the memory that it captured: no
    // allocation (an `Errno` becomes an `io::Error` by its number), no lock.
    unsafe {
        prepared.pre_exec(before_exec);
    }
    prepared
}

struct Pipes {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Pipes {
    fn take(child: &mut process::Child) -> io::Result<Pipes> {
        let pipes = Pipes {
            stdin: piped(child.stdin.take())?,
            stdout: piped(child.stdout.take())?,
            stderr: piped(child.stderr.take())?,
        };
        // Our ends only: the child has descriptions of its own.
        for end in [&pipes.stdin, &pipes.stdout, &pipes.stderr] {
            rustix::fs::fcntl_setfl(end.as_fd(), OFlags::NONBLOCK)?;
        }
        Ok(pipes)
    }
}

fn piped(end: Option<impl Into<OwnedFd>>) -> io::Result<OwnedFd> {
    end.map(Into::into)
        .ok_or_else(|| io::Error::other("a pipe of the child is missing"))
}

fn pid_of(child: &process::Child) -> Pid {
    Pid::from_child(child)
}

/// Starts the four threads of a child.
fn run(
    mut child: process::Child,
    pipes: Pipes,
    lifeline: Option<Lifeline>,
    opening: Opening,
    group: &Group,
) -> io::Result<()> {
    let Opening {
        feed,
        outbox,
        stopped,
        alive,
        supervisor: _,
    } = opening;
    // First, so that the child is reaped whatever becomes of the others.
    flow::thread("child end", {
        let (feed, outbox, group) = (feed.clone(), outbox.clone(), group.clone());
        move || {
            let code = exit_of(&child);
            group.speaks_its_last(limits::LAST_WORDS);
            feed.exited(code);
            let ending = group.output_ends();
            group.reap(&mut child, lifeline.as_ref());
            feed.end(ending);
            outbox.close();
            drop(alive);
        }
    })?;
    flow::thread("child stdin", {
        let (feed, stopped) = (feed.clone(), stopped.clone());
        move || {
            let written =
                flow::write_out(&pipes.stdin, Mode::NonBlocking, &outbox, &stopped, &feed);
            if let Written::Broken(why) = written {
                // It may still speak. What it said, and its end, come by themselves.
                tracing::debug!("a child process takes no more: {why}");
                outbox.close();
            }
        }
    })?;
    flow::thread("child stderr", {
        let (feed, stopped, group) = (feed.clone(), stopped.clone(), group.clone());
        move || {
            flow::read_diagnostics(&pipes.stderr, &stopped, &feed);
            group.complains_no_more();
        }
    })?;
    flow::thread("child stdout", {
        let group = group.clone();
        move || {
            let ending = flow::read_in(&pipes.stdout, &stopped, &feed);
            drop(pipes.stdout);
            match ending {
                Some(ending) => group.falls_silent(ending),
                // Nobody listens any more: whoever closed the channel has killed the group.
                None => group.is_silent(Ending::Eof),
            }
        }
    })
}

/// Waits for the exit and leaves the child unreaped: its number stays its own.
fn exit_of(child: &process::Child) -> Option<i32> {
    loop {
        match waitid(
            WaitId::Pid(pid_of(child)),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        ) {
            Ok(Some(status)) => return status.exit_status(),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// A child's process group, from before it starts until after it is gone. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Group(Arc<(Mutex<Status>, Condvar)>);

#[derive(Default)]
struct Status {
    phase: Phase,
    /// How its output ended.
    silent: Option<Ending>,
    /// Its stderr ended.
    content: bool,
}

impl Status {
    fn may_speak(&self) -> bool {
        self.silent.is_none() && !self.is_over()
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Killed(_) | Phase::Gone)
    }
}

enum Phase {
    /// Not started yet; the signal that it gets when it is.
    Starting(Option<Signal>),
    /// Its leader runs.
    Running(Pid),
    /// Its leader ended, is not reaped, and may have left others.
    Left(Pid),
    /// Killed, not reaped.
    Killed(Pid),
    /// Reaped: the number may belong to somebody else.
    Gone,
}

impl Default for Phase {
    fn default() -> Phase {
        Phase::Starting(None)
    }
}

impl Group {
    /// Sends a signal to all of the group, now or as soon as it is there.
    pub(super) fn signal(&self, signal: Signal) {
        let mut status = self.lock();
        match &mut status.phase {
            Phase::Starting(wish) => {
                if *wish != Some(Signal::KILL) {
                    *wish = Some(signal);
                }
            }
            Phase::Running(group) | Phase::Left(group) | Phase::Killed(group) => {
                let group = *group;
                let _ = kill_process_group(group, signal);
                if signal == Signal::KILL {
                    status.phase = Phase::Killed(group);
                }
            }
            Phase::Gone => {}
        }
        self.0.1.notify_all();
    }

    fn runs(&self, group: Pid) {
        let mut status = self.lock();
        let Phase::Starting(wish) = status.phase else {
            return;
        };
        status.phase = Phase::Running(group);
        drop(status);
        if let Some(signal) = wish {
            self.signal(signal);
        }
    }

    /// Its output has ended. A child that can say nothing more is given time to go, then
    /// told to, then made to, so that its end always comes.
    fn falls_silent(&self, ending: Ending) {
        self.is_silent(ending);
        if !self.leader_goes_within(limits::TERMINATE_AFTER) {
            self.signal(Signal::TERM);
            if !self.leader_goes_within(limits::KILL_AFTER) {
                self.signal(Signal::KILL);
            }
        }
    }

    fn is_silent(&self, ending: Ending) {
        self.lock().silent.get_or_insert(ending);
        self.0.1.notify_all();
    }

    fn complains_no_more(&self) {
        self.lock().content = true;
        self.0.1.notify_all();
    }

    fn leader_goes_within(&self, patience: Duration) -> bool {
        let runs =
            |status: &mut Status| matches!(status.phase, Phase::Starting(_) | Phase::Running(_));
        let waited = self.0.1.wait_timeout_while(self.lock(), patience, runs);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Its leader has ended: waits a moment for the end of its output and of its complaints,
    /// so that in the ordinary case the exit is told after the last bytes of both.
    fn speaks_its_last(&self, patience: Duration) {
        let mut status = self.lock();
        if let Phase::Running(group) = status.phase {
            status.phase = Phase::Left(group);
            self.0.1.notify_all();
        }
        drop(self.0.1.wait_timeout_while(status, patience, |status| {
            status.may_speak() || !(status.content || status.is_over())
        }));
    }

    /// Waits until its output has ended (what its leader left running may hold the pipe),
    /// or until it is killed.
    fn output_ends(&self) -> Ending {
        let waited = self
            .0
            .1
            .wait_while(self.lock(), |status| status.may_speak());
        waited
            .unwrap_or_else(PoisonError::into_inner)
            .silent
            .clone()
            .unwrap_or(Ending::Eof)
    }

    /// Kills what is left of the group, which nobody can reach any more, and gives the
    /// number back.
    fn reap(&self, child: &mut process::Child, lifeline: Option<&Lifeline>) {
        let mut status = self.lock();
        let group = pid_of(child);
        let _ = kill_process_group(group, Signal::KILL);
        if let Some(lifeline) = lifeline {
            lifeline.remove(group);
        }
        drop(child.wait());
        status.phase = Phase::Gone;
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Status> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
