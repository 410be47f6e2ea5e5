//! The edge with real sockets and processes. Each test waits for facts, never for time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use super::super::{EditorPipe, Mailbox, Ports, limits, raise_end};
use crate::discovery;
use crate::grants::{Grants, Program, ToolServers};
use crate::words::{
    AcpArrival, AcpDeparture, Command, Effect, Ending, HostArrival, HostDeparture, HostRefusal,
    Inherit, Input, Request, Target,
};

/// Long enough for a machine that is busy; a test that passes never waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ports with a far end for the editor.
struct Edge {
    mailbox: Mailbox,
    ports: Ports,
    editor: UnixStream,
    /// What came in the same round as a text that was waited for.
    left: RefCell<Vec<Input>>,
}

impl Edge {
    fn new(grants: Grants) -> Edge {
        let mailbox = Mailbox::new();
        let (near, editor) = UnixStream::pair().unwrap();
        editor.set_read_timeout(Some(PATIENCE)).unwrap();
        let ports = Ports::new(mailbox.clone(), EditorPipe::over(near).unwrap(), grants).unwrap();
        Edge {
            mailbox,
            ports,
            editor,
            left: RefCell::default(),
        }
    }

    /// `/bin/sh` as program `sh`.
    fn with_shell() -> Edge {
        Edge::new(Grants::none().with_program("sh", Program::at("/bin/sh")))
    }

    /// A Host in this process, whose connections come through the receiver.
    fn with_host() -> (Edge, Receiver<UnixStream>) {
        let (give, take) = channel();
        (
            Edge::new(Grants::none().with_embedded(move |stream| drop(give.send(stream)))),
            take,
        )
    }

    fn open(&mut self, channel: u32, target: Target) {
        self.host(channel, HostDeparture::Open(target));
    }

    fn shell(&mut self, channel: u32, script: &str) {
        self.open(channel, Target::Process(shell(script)));
    }

    fn host(&mut self, channel: u32, departure: HostDeparture) {
        self.ports.carry(Effect::Host((channel, departure)));
    }

    fn send(&mut self, channel: u32, bytes: &[u8]) {
        self.host(channel, HostDeparture::Bytes(bytes.to_vec()));
    }

    /// Takes rounds until one has what is looked for; everything up to the end of that one.
    fn until(&self, found: impl Fn(&Input) -> bool) -> Vec<Input> {
        let mut all = self.left.take();
        if all.iter().any(&found) {
            return all;
        }
        loop {
            let round = self.mailbox.round(Some(Instant::now() + PATIENCE));
            assert!(!round.is_empty(), "nothing more came after {all:?}");
            let done = round.iter().any(&found);
            all.extend(round);
            if done {
                return all;
            }
        }
    }

    /// What comes on a channel up to its end, without `drained`, with bytes joined.
    fn to_the_end(&self, channel: u32) -> Vec<HostArrival> {
        let ends = |arrival: &HostArrival| {
            matches!(arrival, HostArrival::Ended(_) | HostArrival::Refused(_))
        };
        let all = self.until(
            |input| matches!(input, Input::Host((of, arrival)) if *of == channel && ends(arrival)),
        );
        let mut joined: Vec<HostArrival> = Vec::new();
        for input in all {
            match (input, joined.last_mut()) {
                (Input::Host((of, _)), _) if of != channel => {}
                (Input::Host((_, HostArrival::Drained(_))), _) => {}
                (Input::Host((_, HostArrival::Bytes(more))), Some(HostArrival::Bytes(bytes))) => {
                    bytes.extend(more)
                }
                (Input::Host((_, arrival)), _) => joined.push(arrival),
                _ => {}
            }
        }
        joined
    }

    /// Waits for bytes with this text, and gives all that came joined.
    fn text(&self, channel: u32, wanted: &str) -> String {
        let mut text = String::new();
        while !text.contains(wanted) {
            let is_bytes = |input: &Input| matches!(input, Input::Host((of, HostArrival::Bytes(_))) if *of == channel);
            for input in self.until(is_bytes) {
                match input {
                    Input::Host((of, HostArrival::Bytes(bytes))) if of == channel => {
                        text.push_str(&String::from_utf8(bytes).unwrap());
                    }
                    Input::Host((_, HostArrival::Opened(_) | HostArrival::Drained(_))) => {}
                    other => self.left.borrow_mut().push(other),
                }
            }
        }
        text
    }

    fn opened(&self, channel: u32) -> Vec<(String, String)> {
        let opened = |input: &Input| matches!(input, Input::Host((of, HostArrival::Opened(_))) if *of == channel);
        match self.until(opened).into_iter().find(opened) {
            Some(Input::Host((_, HostArrival::Opened(facts)))) => facts,
            other => panic!("{other:?}"),
        }
    }

    /// The processes whose numbers a script wrote, as its first line.
    fn processes(&self, channel: u32) -> Vec<Process> {
        let text = self.text(channel, "\n");
        let line = text.lines().next().unwrap();
        line.split_whitespace()
            .map(|number| Process::of(number.parse().unwrap()))
            .collect()
    }

    fn nothing_waits(&self) -> bool {
        self.mailbox.round(Some(Instant::now())).is_empty()
    }
}

fn shell(script: &str) -> Command {
    Command {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        inherit: Inherit::Minimal,
        env: Vec::new(),
        cwd: "/".to_owned(),
    }
}

fn host(name: &str) -> Target {
    Target::Host(name.to_owned())
}

fn refused(refusal: HostRefusal) -> Vec<HostArrival> {
    vec![HostArrival::Refused(refusal)]
}

/// A process that may be anybody's child, known for certain.
struct Process(OwnedFd);

impl Process {
    fn of(number: i32) -> Process {
        Process(pidfd_open(Pid::from_raw(number).unwrap(), PidfdFlags::empty()).unwrap())
    }

    fn ends(&self) -> bool {
        self.ends_within(PATIENCE)
    }

    fn lives(&self) -> bool {
        !self.ends_within(Duration::ZERO)
    }

    fn ends_within(&self, patience: Duration) -> bool {
        let timeout = Timespec::try_from(patience).unwrap();
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timeout)).unwrap() == 1
    }
}

mod editor;
mod hosts;
mod processes;
mod roles;
