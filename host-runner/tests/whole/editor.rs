//! An editor that starts the program and speaks ACP with it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The promise: an answer, or a clean end, within this time.
pub const PROMISE: Duration = Duration::from_secs(5);

/// Whether stdout is read.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, closed: bool) {
        *self.closed.lock().expect("no panic") = closed;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let closed = self.closed.lock().expect("no panic");
        drop(
            self.changed
                .wait_while(closed, |closed| *closed)
                .expect("no panic"),
        );
    }
}

pub struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Dropping it closes the reading end, which closes stdout.
    lines: Option<Receiver<Value>>,
    closing: Option<std::os::unix::net::UnixStream>,
    reading: Arc<Gate>,
    heard: Vec<Value>,
    next_id: u64,
}

impl Editor {
    /// Starts the program and says hello.
    pub fn start(words: &[&str]) -> Editor {
        let mut program = Command::new(env!("CARGO_BIN_EXE_host-runner"));
        Editor::of(program.args(words))
    }

    /// Starts this program, in this environment, and says hello.
    pub fn of(program: &mut Command) -> Editor {
        // stdout is one end of a socket pair, so that a test can close it while a thread reads.
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let mut child = program
            .env_remove("AIRLOCK_HOST")
            .env_remove("AIRLOCK_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .spawn()
            .expect("the program starts");
        let stdin = child.stdin.take();
        let (told, lines) = channel();
        let reading = ours.try_clone().expect("a second handle");
        let gate = Arc::new(Gate::default());
        let passes = gate.clone();
        thread::spawn(move || {
            for line in BufReader::new(reading).lines() {
                passes.pass();
                let Ok(line) = line else { return };
                let message = serde_json::from_str(&line).expect("stdout carries ACP only");
                if told.send(message).is_err() {
                    return;
                }
            }
        });
        let (lines, closing) = (Some(lines), Some(ours));
        let mut editor = Editor {
            child,
            stdin,
            lines,
            closing,
            reading: gate,
            heard: Vec::new(),
            next_id: 1,
        };
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        let id = editor.ask("initialize", hello);
        assert_eq!(editor.answer(id)["result"]["protocolVersion"], json!(1));
        editor
    }

    pub fn session(&mut self) -> String {
        self.session_in("/tmp")
    }

    pub fn session_in(&mut self, cwd: &str) -> String {
        let id = self.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        let answer = self.answer(id);
        answer["result"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    pub fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.ask(
            "session/prompt",
            json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{message}").expect("the program reads");
    }

    /// The answer to a request, within the promise.
    pub fn answer(&mut self, id: u64) -> Value {
        self.answer_within(id, PROMISE)
    }

    pub fn answer_within(&mut self, id: u64, bound: Duration) -> Value {
        self.wait(bound, |message| {
            message["id"] == json!(id) && message.get("method").is_none()
        })
    }

    /// The first piece of the answer's text.
    pub fn wait_for_text(&mut self) {
        self.wait(PROMISE, |message| {
            message["params"]["update"]["sessionUpdate"] == json!("agent_message_chunk")
        });
    }

    /// The program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The first message that is wanted.
    pub fn wait(&mut self, bound: Duration, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(known) = self.heard.iter().find(|message| wanted(message)) {
            return known.clone();
        }
        let until = Instant::now() + bound;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self
                .lines
                .as_ref()
                .expect("stdout is open")
                .recv_timeout(left)
            {
                Ok(message) => {
                    self.heard.push(message.clone());
                    if wanted(&message) {
                        return message;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("nothing within {bound:?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without an answer"),
            }
        }
    }

    /// What the program says stays in the pipe, but for the little that was taken already.
    pub fn stop_reading(&self) {
        self.reading.set(true);
    }

    pub fn read_again(&self) {
        self.reading.set(false);
    }

    /// The most resident memory of the program so far, in bytes.
    pub fn highest_memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.pid());
        let status = std::fs::read_to_string(status).expect("it runs");
        let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|it| it.trim().strip_suffix(" kB"));
        kibibytes
            .expect("a figure")
            .parse::<u64>()
            .expect("a number")
            << 10
    }

    /// Everything the agent said as text, joined.
    pub fn text(&self) -> String {
        self.text_where(|_| true)
    }

    /// The same in one session.
    pub fn text_of(&self, session: &str) -> String {
        self.text_where(|message| message["params"]["sessionId"] == session)
    }

    fn text_where(&self, wanted: impl Fn(&Value) -> bool) -> String {
        self.heard
            .iter()
            .filter(|message| wanted(message))
            .map(|message| &message["params"]["update"])
            .filter(|update| update["sessionUpdate"] == json!("agent_message_chunk"))
            .filter_map(|update| update["content"]["text"].as_str().map(str::to_owned))
            .collect()
    }

    /// How many updates came so far.
    pub fn updates(&self) -> usize {
        self.heard
            .iter()
            .filter(|message| message.get("method").is_some())
            .count()
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub fn close_stdout(&mut self) {
        self.lines = None;
        if let Some(stream) = self.closing.take() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Closes stdin and waits for the end: its exit code, or none if it had to be killed.
    pub fn end(&mut self) -> Option<i32> {
        self.stdin = None;
        let pid = self.pid();
        let (told, ended) = channel::<()>();
        // Kills a program that breaks the promise, so that `wait` comes back.
        let guard = thread::spawn(move || {
            if ended.recv_timeout(PROMISE) == Err(RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
        });
        let status = self.child.wait().expect("it ends");
        drop(told);
        guard.join().expect("the guard ends");
        status.code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.stdin = None;
        self.reading.set(false);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
