//! What the whole program costs when a Host writes ten thousand deltas at once, beside a
//! relay that only carries the same bytes: the floor, since nobody can do less.
//!
//! Invariant: both read the same bytes from a Unix socket and write to a pipe that is
//! emptied at once; only what they spend between the first delta and the last counts.

use std::env;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::json;

use super::Measured;
use super::host::Host;
use super::process::{Agent, piped, processor, program};
use super::session::CHUNK;
use super::table::{Table, Unit, share};

/// The word that makes this benchmark a relay: `--relay SOCKET`.
pub const RELAY: &str = "--relay";

const DELTAS: u64 = 10_000;
const TURNS: usize = 9;

/// Adds the rows.
///
/// # Errors
/// When a process fails.
pub fn rows(table: &mut Table) -> Measured<()> {
    let program = program()?;
    let (mut whole, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let (spent, deltas) = through_the_program(&program)?;
        whole.push(spent);
        floor.push(through_the_relay(deltas)?);
    }
    let (whole, floor) = (share(&whole, 0.5), share(&floor, 0.5));
    table.plain(
        "10,000 deltas, plain relay (the floor)",
        Unit::Millis,
        floor,
    );
    table.plain("10,000 deltas, whole process", Unit::Millis, whole);
    table.judged(
        "10,000 deltas, whole process / floor",
        Unit::Times,
        6.0,
        whole / floor,
    );
    Ok(())
}

/// Milliseconds of the processor, and the bytes that were carried.
fn through_the_program(program: &Path) -> Measured<(f64, Vec<u8>)> {
    let folder = tempfile::tempdir()?;
    let (socket, listener) = listen(folder.path())?;
    let (running, runs) = channel();
    let (go, gone) = channel();
    let host = thread::spawn(move || serve(&listener, &running, &gone).map_err(|e| e.to_string()));

    let mut agent = Agent::start(program, &["--host", "maka", "--maka-socket", &socket])?;
    agent.initialize()?;
    let session = agent.session()?;
    let prompt = [json!({ "type": "text", "text": "go" })];
    agent.ask(
        "session/prompt",
        &json!({ "sessionId": session, "prompt": prompt }),
    )?;
    runs.recv()?;
    let before = processor(agent.id())?;
    go.send(())?;
    let (answer, updates) = agent.answer()?;
    let spent = processor(agent.id())? - before;
    if (updates, &answer["stopReason"]) != (DELTAS, &json!("end_turn")) {
        return Err(format!("{DELTAS} deltas became {updates} updates and {answer}").into());
    }
    drop(agent);
    Ok((
        spent,
        host.join().map_err(|_| "the Host by hand panicked")??,
    ))
}

/// Plays the Host, and writes all deltas at once when told to go.
fn serve(listener: &UnixListener, running: &Sender<()>, go: &Receiver<()>) -> Measured<Vec<u8>> {
    let (mut output, _) = listener.accept()?;
    let mut host = Host::default();
    let mut deltas = Vec::new();
    for line in BufReader::new(output.try_clone()?).lines() {
        let line = line?;
        output.write_all(host.answer(&line)?.as_bytes())?;
        if line.contains("turn.start") {
            deltas = host.deltas(DELTAS);
            running.send(())?;
            go.recv()?;
            output.write_all(&deltas)?;
            output.write_all(host.completed().as_bytes())?;
        }
    }
    Ok(deltas)
}

/// The same for a relay.
fn through_the_relay(deltas: Vec<u8>) -> Measured<f64> {
    let folder = tempfile::tempdir()?;
    let (socket, listener) = listen(folder.path())?;
    let (mut child, _input, mut output) =
        piped(Command::new(env::current_exe()?).args([RELAY, &socket]))?;
    let (mut host, _) = listener.accept()?;
    let before = processor(child.id())?;
    let (length, mut carried) = (deltas.len(), 0);
    // Stays open until the relay was measured.
    let host = thread::spawn(move || host.write_all(&deltas).map(|()| host));
    let mut buffer = vec![0; CHUNK];
    while carried < length {
        match output.read(&mut buffer)? {
            0 => return Err("the relay ended early".into()),
            some => carried += some,
        }
    }
    let spent = processor(child.id())? - before;
    drop(host.join());
    child.wait()?;
    Ok(spent)
}

/// Carries bytes from a socket to stdout.
///
/// # Errors
/// When either fails.
pub fn relay(socket: &str) -> Measured<()> {
    let mut input = UnixStream::connect(socket)?;
    // Past the line buffer of the standard library.
    let mut output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; CHUNK];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            some => output.write_all(&buffer[..some])?,
        }
    }
}

/// A socket that nobody else can reach, as a Host's must be.
fn listen(folder: &Path) -> Measured<(String, UnixListener)> {
    let path = folder.join("host.sock");
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok((
        path.to_str()
            .ok_or("the temporary folder has no plain name")?
            .to_owned(),
        listener,
    ))
}
