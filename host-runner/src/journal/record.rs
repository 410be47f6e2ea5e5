//! Writes a connection down, call by call, as JSON lines.
//!
//! The drive never waits for the disk: lines go to a writer thread. Each line is written
//! whole, so what a killed process leaves behind can be replayed up to its last line.
//! Invariant: a recording never replaces a file, and only its owner may read it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::text;
use crate::adapter::Reason;
use crate::limits;
use crate::words::{Effect, Input, Instant};

/// Version of the format: the first line's `airlock-recording`.
pub const VERSION: u64 = 1;

/// An open recording.
pub struct Recorder {
    lines: Option<Sender<Vec<u8>>>,
    waiting: Arc<AtomicU64>,
    written: Receiver<()>,
}

impl Recorder {
    /// Creates the file and writes the first line: what a replay starts from. `describe`
    /// is what the component says of itself.
    ///
    /// # Errors
    /// A sentence when the file exists already or cannot be created.
    pub fn create(path: &Path, config: &str, seed: &[u8; 32], describe: &str) -> Result<Recorder> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .with_context(|| {
                format!(
                    "the recording {} cannot be created (it never replaces a file)",
                    path.display()
                )
            })?;
        let head = json!({
            "airlock-recording": VERSION,
            "describe": serde_json::from_str::<Value>(describe).unwrap_or_else(|_| describe.into()),
            "config": config,
            "seed": BASE64.encode(seed),
        });
        // Before anything is served, so that even a killed process leaves a recording behind.
        file.write_all(format!("{head}\n").as_bytes())
            .with_context(|| format!("the recording {} cannot be written", path.display()))?;
        let (lines, queue) = channel();
        let waiting = Arc::new(AtomicU64::new(0));
        let (end, written) = channel();
        thread::Builder::new().name("record".into()).spawn({
            let waiting = waiting.clone();
            move || {
                write(file, &queue, &waiting);
                let _ = end.send(());
            }
        })?;
        Ok(Recorder {
            lines: Some(lines),
            waiting,
            written,
        })
    }

    /// A call and what came of it.
    pub fn call(&mut self, now: Instant, inputs: &[Input], effects: &[Effect]) {
        if self.lines.is_some() {
            self.line(&json!({
                "at": at(now),
                "inputs": inputs.iter().map(text::input).collect::<Vec<_>>(),
                "effects": effects.iter().map(text::effect).collect::<Vec<_>>(),
            }));
        }
    }

    /// An input that killed the instance, so that a replay leaves it out.
    pub fn trapped(&mut self, now: Instant, input: &Input, reason: &Reason) {
        self.line(&json!({
            "at": at(now),
            "trapped": { "input": text::input(input), "reason": reason.to_string() },
        }));
    }

    /// A fresh instance took over; these were the effects of its first, empty call.
    pub fn restored(&mut self, now: Instant, effects: &[Effect]) {
        self.line(&json!({
            "at": at(now),
            "restored": true,
            "effects": effects.iter().map(text::effect).collect::<Vec<_>>(),
        }));
    }

    /// Waits until everything is written, but not for ever: the end has a time limit too.
    pub fn finish(mut self) {
        self.lines = None;
        if self.written.recv_timeout(limits::RECORD_END).is_err() {
            tracing::error!("the end of the recording is missing: the disk is too slow");
        }
    }

    fn line(&mut self, value: &Value) {
        let Some(lines) = &self.lines else { return };
        let mut line = value.to_string().into_bytes();
        line.push(b'\n');
        let size = line.len() as u64;
        if self.waiting.fetch_add(size, Ordering::Relaxed) + size > limits::RECORD_WAITING_BYTES {
            tracing::error!("the recording stops here: the disk is too slow");
            self.lines = None;
        } else if lines.send(line).is_err() {
            self.lines = None; // the writer has said why
        }
    }
}

fn at(now: Instant) -> Value {
    json!([now.monotonic, now.wall])
}

fn write(mut file: File, lines: &Receiver<Vec<u8>>, waiting: &AtomicU64) {
    while let Ok(line) = lines.recv() {
        if let Err(error) = file.write_all(&line) {
            tracing::error!("the recording stops here: {error}");
            return;
        }
        waiting.fetch_sub(line.len() as u64, Ordering::Relaxed);
    }
}
