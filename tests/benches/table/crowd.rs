//! A hundred sessions on one connection with ten thousand deltas each (issue, accepted 5):
//! what that takes of memory, in the sandbox and as a whole process.
//!
//! Memory is no matter of the machine's mood, so it is not only shown: past the bound the
//! benchmark fails. Invariant: both play the same story, and every text is compared.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use airlock_tests::crowd::{Arrival, Carrier, Crowd, Departure, Heard, Host, WAVE, play};
use host_runner::adapter::{Adapter, Factory};
use host_runner::sandbox::{Limits, Sandbox};
use host_runner::words::{
    AcpArrival, AcpDeparture, Channel, Effect, HostArrival, HostDeparture, Input, Instant,
};
use serde_json::json;

use super::Measured;
use super::flood::listen;
use super::process::{highest, piped, program};
use super::session::CONFIG;
use super::table::{Table, Unit};

const SESSIONS: usize = 100;
const DELTAS: u64 = 10_000;
const BOUND: f64 = 100.0;
const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// Adds the rows.
///
/// # Errors
/// When anything is lost, or memory goes past its bound.
pub fn rows(table: &mut Table) -> Measured<()> {
    let sandbox = in_the_sandbox()?;
    let process = whole_process(&program()?)?;
    for (what, figure) in [("sandbox", sandbox), ("whole process", process)] {
        let what = format!("100 sessions × 10,000 deltas, memory of the {what} at most");
        table.judged(&what, Unit::Mebibytes, BOUND, figure);
        if figure > BOUND {
            return Err(format!("{what}: {figure:.1} MiB").into());
        }
    }
    Ok(())
}

fn in_the_sandbox() -> Measured<f64> {
    let sandbox = Sandbox::built_in(Limits::default())?;
    let mut crowd = Crowd::new(Boxed {
        adapter: sandbox.open(CONFIG, &[7; 32])?,
        channel: 0,
    });
    // The memory of an instance never shrinks: the last look shows the most.
    let mut most = 0;
    play(&mut crowd, SESSIONS, DELTAS, |boxed, _| {
        most = boxed.adapter.memory();
    });
    Ok(most as f64 / MEBIBYTE)
}

struct Boxed {
    adapter: Box<dyn Adapter>,
    channel: Channel,
}

impl Carrier for Boxed {
    fn carry(&mut self, now: u64, arrivals: Vec<Arrival>) -> Vec<Departure> {
        let channel = self.channel;
        let input = |arrival| match arrival {
            Arrival::Editor(bytes) => Input::Acp(AcpArrival::Bytes(bytes)),
            Arrival::Drained(count) => Input::Acp(AcpArrival::Drained(count)),
            Arrival::Opened => Input::Host((channel, HostArrival::Opened(Vec::new()))),
            Arrival::Host(bytes) => Input::Host((channel, HostArrival::Bytes(bytes))),
        };
        let inputs: Vec<Input> = arrivals.into_iter().map(input).collect();
        let now = Instant {
            monotonic: now,
            wall: 1_800_000_000_000 + now,
        };
        let effects = self
            .adapter
            .handle(now, &inputs)
            .expect("the adapter answers");
        let departure = |effect| match effect {
            Effect::Acp(AcpDeparture::Bytes(bytes)) => Some(Departure::Editor(bytes)),
            Effect::Host((_, HostDeparture::Bytes(bytes))) => Some(Departure::Host(bytes)),
            Effect::Host((channel, HostDeparture::Open(_))) => {
                self.channel = channel;
                Some(Departure::Open)
            }
            _ => None,
        };
        effects.into_iter().filter_map(departure).collect()
    }
}

/// The Host and the end of its socket, which two threads write to.
struct Talking {
    host: Host,
    output: UnixStream,
}

/// The same story with pipes in between; the most resident memory of the process.
fn whole_process(program: &Path) -> Measured<f64> {
    let folder = tempfile::tempdir()?;
    let (socket, listener) = listen(folder.path())?;
    let words = ["--host", "maka", "--maka-socket", &socket, "--log", "off"];
    let (mut child, mut input, output) = piped(std::process::Command::new(program).args(words))?;
    let (hear, heard) = channel();
    let editor = thread::spawn(move || listen_to(BufReader::new(output), &hear));
    let mut asked = 0;
    let mut ask = |method: &str, params: serde_json::Value| -> Measured<u64> {
        asked += 1;
        let line = json!({ "jsonrpc": "2.0", "id": asked, "method": method, "params": params });
        writeln!(input, "{line}")?;
        Ok(asked)
    };
    ask(
        "initialize",
        json!({ "protocolVersion": 1, "clientCapabilities": {} }),
    )?;
    heard.recv()?;
    ask("session/new", json!({ "cwd": "/tmp", "mcpServers": [] }))?;
    let (stream, _) = listener.accept()?;
    let talking = Arc::new(Mutex::new(Talking {
        host: Host::default(),
        output: stream.try_clone()?,
    }));
    let (start, started) = channel();
    let shared = talking.clone();
    thread::spawn(move || serve(stream, &shared, &start).map_err(|e| e.to_string()));
    let mut sessions = vec![made(&heard)?];
    while sessions.len() < SESSIONS {
        ask("session/new", json!({ "cwd": "/tmp", "mcpServers": [] }))?;
        sessions.push(made(&heard)?);
    }
    for wave in sessions.chunks(WAVE) {
        for session in wave {
            let prompt = json!([{ "type": "text", "text": "go" }]);
            ask(
                "session/prompt",
                json!({ "sessionId": session, "prompt": prompt }),
            )?;
            started.recv()?;
        }
        let mut bytes = Vec::new();
        for delta in 1..=DELTAS {
            let mut talking = talking.lock().map_err(|_| "a thread panicked")?;
            for session in wave {
                talking.host.delta(session, &mut bytes);
            }
            if bytes.len() > 64 << 10 || delta == DELTAS {
                talking.output.write_all(&bytes)?;
                bytes.clear();
            }
        }
        for session in wave {
            let mut talking = talking.lock().map_err(|_| "a thread panicked")?;
            let end = talking.host.completed(session);
            talking.output.write_all(end.as_bytes())?;
        }
        for _ in wave {
            let answer = heard.recv()?;
            if answer["result"]["stopReason"] != "end_turn" {
                return Err(format!("a turn did not end well: {answer}").into());
            }
        }
    }
    let most = highest(child.id())? / MEBIBYTE;
    drop(input);
    child.wait()?;
    let said = editor.join().map_err(|_| "the editor panicked")?;
    let talking = talking.lock().map_err(|_| "a thread panicked")?;
    for session in &sessions {
        if said.of(session) != Some(talking.host.said(session)) {
            return Err("text was lost or doubled".into());
        }
    }
    Ok(most)
}

/// The editor: tells answers, in order, and keeps what was said.
fn listen_to(mut output: impl BufRead, hear: &Sender<serde_json::Value>) -> Heard {
    let mut heard = Heard::default();
    let mut line = String::new();
    while output.read_line(&mut line).is_ok_and(|read| read > 0) {
        if let Some(answer) = heard.line(&line) {
            let _nobody_waits = hear.send(answer);
        }
        line.clear();
    }
    heard
}

fn made(heard: &Receiver<serde_json::Value>) -> Measured<String> {
    let answer = heard.recv()?;
    let made = answer["result"]["sessionId"].as_str();
    Ok(made.ok_or("no session was made")?.to_owned())
}

/// Answers the program's lines, and tells of each turn that starts.
fn serve(stream: UnixStream, talking: &Mutex<Talking>, start: &Sender<()>) -> Measured<()> {
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let mut talking = talking.lock().map_err(|_| "a thread panicked")?;
        let answer = talking.host.answer(&line);
        talking.output.write_all(answer.as_bytes())?;
        if line.contains(r#""operation":"turn.start""#) {
            start.send(())?;
        }
    }
    Ok(())
}
