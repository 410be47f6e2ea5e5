//! What the whole program costs when a Host writes ten thousand deltas at once, beside
//! relays that only carry the same bytes.
//!
//! The floor is the relay that reads blocks and writes each line as one message, which is
//! the least that any adapter can do; the relay that writes whole blocks knows no lines.
//!
//! Invariant: all read the same bytes from a Unix socket and write to a pipe that is
//! emptied at once; only what they spend between the first delta and the last counts.

use std::env;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::json;

use super::Measured;
use super::host::Host;
use super::process::{Agent, piped, processor, program};
use super::relay::{BLOCKS, LINES, RELAY};
use super::session::CHUNK;
use super::table::{Table, Unit, share};

const DELTAS: u64 = 10_000;
const TURNS: usize = 9;

/// Adds the rows.
///
/// # Errors
/// When a process fails.
pub fn rows(table: &mut Table) -> Measured<()> {
    let program = program()?;
    let (mut whole, mut lines, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let (spent, deltas) = through_the_program(&program)?;
        whole.push(spent);
        lines.push(through_a_relay(LINES, &deltas)?);
        blocks.push(through_a_relay(BLOCKS, &deltas)?);
    }
    let [whole, lines, blocks] = [whole, lines, blocks].map(|spent| share(&spent, 0.5));
    table.plain("10,000 deltas, whole process", Unit::Millis, whole);
    table.plain(
        "10,000 deltas, relay of lines (the floor)",
        Unit::Millis,
        lines,
    );
    table.judged(
        "10,000 deltas, whole process / floor",
        Unit::Times,
        6.0,
        whole / lines,
    );
    table.plain("10,000 deltas, relay of blocks", Unit::Millis, blocks);
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
fn through_a_relay(how: &str, deltas: &[u8]) -> Measured<f64> {
    let folder = tempfile::tempdir()?;
    let (socket, listener) = listen(folder.path())?;
    let (mut child, _input, mut output) =
        piped(Command::new(env::current_exe()?).args([RELAY, how, &socket]))?;
    let (mut host, _) = listener.accept()?;
    let before = processor(child.id())?;
    let spent = thread::scope(|scope| {
        let writer = scope.spawn(|| host.write_all(deltas));
        let mut buffer = vec![0; CHUNK];
        let mut carried = 0;
        while carried < deltas.len() {
            match output.read(&mut buffer)? {
                0 => return Err("the relay ended early".into()),
                some => carried += some,
            }
        }
        writer.join().map_err(|_| "the Host by hand panicked")??;
        Measured::Ok(processor(child.id())? - before)
    });
    drop(host);
    child.wait()?;
    spent
}

/// A socket that nobody else can reach, as a Host's must be.
pub fn listen(folder: &Path) -> Measured<(String, UnixListener)> {
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
