//! What a running tool shows: progress and output, cut to the wire's size.
//! Touches the session through the stage. Invariant: the output that streamed
//! is the output of the result row.

use serde_json::{Value, json};

use super::ids;
use super::play::{Cut, Stage};
use super::rows::Call;
use super::script::{Output, Tool};
use super::wire::{TOOL_CHUNK_BYTES, prefix};

/// What a tool has shown so far.
#[derive(Default)]
pub(crate) struct Shown {
    stdout: String,
    stderr: String,
    latest: Option<&'static str>,
    sequence: u64,
}

impl Shown {
    /// The content of the result row.
    pub(crate) fn terminal(&self, call: &Call, cwd: &str, status: &str) -> Value {
        let command = call.args["command"].as_str().unwrap_or(&call.name);
        let mut output = json!({"mode": "pipes", "stdout": self.stdout, "stderr": self.stderr,
            "stdoutTruncated": false, "stderrTruncated": false, "redacted": false});
        if let Some(latest) = self.latest {
            output["latestStream"] = json!(latest);
        }
        let mut content = json!({"kind": "terminal", "cwd": cwd, "cmd": command, "status": status, "output": output});
        content["exitCode"] = json!(match status {
            "completed" => 0,
            "cancelled" => 130,
            _ => 1,
        });
        if status == "cancelled" {
            content["failureMessage"] = json!("Command cancelled");
        }
        content
    }
}

/// Plays what a tool shows while it runs.
pub(crate) fn play(stage: &Stage, tool: &Tool, call: &Call, shown: &mut Shown) -> Result<(), Cut> {
    for progress in &tool.progress {
        stage.show(|state, place| {
            let now = stage.world.clock.now();
            let event = json!({"type": "tool_progress", "id": ids::uuid(), "turnId": place.turn, "ts": now,
                "toolUseId": call.id, "chunk": progress});
            if let Some(session) = state.sessions.get_mut(&place.session) {
                session.event(&stage.run, &event);
            }
        })?;
    }
    for output in &tool.outputs {
        for round in 1..=output.repeat {
            emit(stage, output, round, call, shown)?;
        }
    }
    if tool.takes > 0 {
        stage.pause(tool.takes)
    } else {
        Ok(())
    }
}

fn emit(
    stage: &Stage,
    output: &Output,
    round: u64,
    call: &Call,
    shown: &mut Shown,
) -> Result<(), Cut> {
    if output.after > 0 {
        stage.pause(output.after)?;
    }
    let (stream, text) = output.text(round);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let chunk = prefix(rest, TOOL_CHUNK_BYTES);
        rest = &rest[chunk.len()..];
        shown.sequence += 1;
        shown.latest = Some(stream);
        let kept = if stream == "stdout" {
            &mut shown.stdout
        } else {
            &mut shown.stderr
        };
        kept.push_str(chunk);
        let sequence = shown.sequence;
        stage.show(|state, place| {
            let now = stage.world.clock.now();
            let event = json!({"type": "tool_output_delta", "id": ids::uuid(), "turnId": place.turn, "ts": now,
                "toolUseId": call.id, "seq": sequence, "stream": stream, "chunk": chunk, "redacted": false,
                "createdAt": now});
            if let Some(session) = state.sessions.get_mut(&place.session) {
                session.event(&stage.run, &event);
            }
        })?;
    }
    Ok(())
}
