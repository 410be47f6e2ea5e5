//! Processes that are measured from outside: the program itself, spoken to as an editor
//! does, and what the system says of a process.
//!
//! It touches pipes and `/proc`. Invariant: what was started has ended when its owner lets
//! go of it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Measured;

/// The program as people get it. Under cargo it is built first; a benchmark that was started
/// by hand takes what lies there.
///
/// # Errors
/// When it cannot be built, or is not there.
pub fn program() -> Measured<PathBuf> {
    if let Some(cargo) = std::env::var_os("CARGO") {
        // Both packages, so that cargo sees the features with which all is built already.
        let built = Command::new(cargo)
            .args([
                "build",
                "--quiet",
                "--release",
                "--locked",
                "--bin",
                "host-runner",
            ])
            .args(["--package", "host-runner", "--package", "airlock-tests"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()?;
        if !built.success() {
            return Err("host-runner cannot be built".into());
        }
    }
    let own = std::env::current_exe()?;
    let folder = own.ancestors().find(|folder| folder.ends_with("release"));
    let program = folder
        .map(|folder| folder.join("host-runner"))
        .filter(|path| path.exists());
    Ok(program.ok_or("host-runner is not where cargo builds this benchmark")?)
}

/// An ACP agent on its stdin and stdout.
pub struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Agent {
    /// Starts it.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(program: &Path, args: &[&str]) -> Measured<Agent> {
        let (child, input, output) = piped(Command::new(program).args(args))?;
        Ok(Agent {
            child,
            input,
            output: BufReader::new(output),
            asked: 0,
        })
    }

    /// Asks, and does not wait for the answer.
    ///
    /// # Errors
    /// When the agent is gone.
    pub fn ask(&mut self, method: &str, params: &Value) -> Measured<()> {
        self.asked += 1;
        let asked =
            json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        Ok(self.input.write_all(format!("{asked}\n").as_bytes())?)
    }

    /// The answer to what was asked last, and how many messages came before it.
    ///
    /// # Errors
    /// When it is an error, or the agent is gone.
    pub fn answer(&mut self) -> Measured<(Value, u64)> {
        // Looking for this in a line is cheaper than reading it; updates have no id.
        let mark = format!(r#""id":{}"#, self.asked);
        let mut line = String::new();
        for before in 0.. {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                break;
            }
            if line.contains(&mark) {
                let answer: Value = serde_json::from_str(&line)?;
                let result = answer.get("result").ok_or(line)?;
                return Ok((result.clone(), before));
            }
        }
        Err("the agent ended without an answer".into())
    }

    /// Asks and waits.
    ///
    /// # Errors
    /// As [`Agent::answer`].
    pub fn get(&mut self, method: &str, params: &Value) -> Measured<Value> {
        self.ask(method, params)?;
        Ok(self.answer()?.0)
    }

    /// Begins the conversation.
    ///
    /// # Errors
    /// As [`Agent::answer`].
    pub fn initialize(&mut self) -> Measured<Value> {
        self.get(
            "initialize",
            &json!({ "protocolVersion": 1, "clientCapabilities": {} }),
        )
    }

    /// Opens a session; its id.
    ///
    /// # Errors
    /// As [`Agent::answer`].
    pub fn session(&mut self) -> Measured<Value> {
        let made = self.get("session/new", &json!({ "cwd": "/tmp", "mcpServers": [] }))?;
        Ok(made["sessionId"].clone())
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a program with pipes for stdin and stdout.
///
/// # Errors
/// When it does not start.
pub fn piped(command: &mut Command) -> Measured<(Child, ChildStdin, ChildStdout)> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    match (child.stdin.take(), child.stdout.take()) {
        (Some(input), Some(output)) => Ok((child, input, output)),
        _ => Err("a process has no pipes".into()),
    }
}

/// Processor time that a process has used, in milliseconds, once it has nothing to do: the
/// system adds a running thread up only when it stops.
///
/// # Errors
/// When the process is gone, or the system does not say.
pub fn processor(process: u32) -> Measured<f64> {
    let mut before = threads(process)?;
    loop {
        thread::sleep(Duration::from_millis(10));
        let now = threads(process)?;
        if now == before {
            return Ok(now as f64 / 1e6);
        }
        before = now;
    }
}

/// Nanoseconds of all threads that live.
fn threads(process: u32) -> Measured<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end between two looks.
        let said = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        sum += said
            .split(' ')
            .next()
            .and_then(|spent| spent.parse::<u64>().ok())
            .unwrap_or(0);
    }
    Ok(sum)
}

/// Resident memory in bytes.
///
/// # Errors
/// When the process is gone, or the system does not say.
pub fn resident(process: u32) -> Measured<f64> {
    memory(process, "VmRSS:")
}

/// The most resident memory so far, in bytes.
///
/// # Errors
/// When the process is gone, or the system does not say.
pub fn highest(process: u32) -> Measured<f64> {
    memory(process, "VmHWM:")
}

fn memory(process: u32, which: &str) -> Measured<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(which));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kibibytes
        .ok_or("the system does not tell resident memory")?
        .parse::<f64>()?
        * 1024.0)
}
