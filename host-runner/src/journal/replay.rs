//! Runs a recording again and compares every effect, bit for bit.
//!
//! Invariant: nothing is carried out; inputs that trapped are left out, since the
//! recording holds what was done instead.

use std::fmt;
use std::io::BufRead;

use anyhow::{Context, Result, anyhow, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::Value;

use super::{parse, record, text};
use crate::adapter::{Adapter, Factory};
use crate::words::{Effect, Input, Instant};

/// What came of a replay.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// Every call gave the recorded effects.
    Equal {
        /// Calls that were made.
        calls: u64,
        /// Effects that were compared.
        effects: u64,
        /// Inputs that had trapped, and were left out.
        trapped: u64,
        /// The last line is torn: the recording process was killed. Everything before counts.
        torn: bool,
    },
    /// The first call that gave something else.
    Differs(Box<Difference>),
}

/// Where a replay left the recording.
#[derive(Debug, PartialEq)]
pub struct Difference {
    /// Line of the recording, from 1.
    pub line: u64,
    /// Number of the call, from 1.
    pub call: u64,
    /// Number of the effect in the call, from 1.
    pub effect: usize,
    /// What the recording has there, if anything.
    pub expected: Option<Value>,
    /// What the adapter gave there, if anything.
    pub got: Option<Value>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Equal {
                calls,
                effects,
                trapped,
                torn,
            } => {
                write!(f, "equal: {calls} calls, {effects} effects")?;
                if *trapped > 0 {
                    write!(f, ", {trapped} inputs left out that had trapped")?;
                }
                if *torn {
                    f.write_str("; the last line is torn and was left out")?;
                }
                Ok(())
            }
            Outcome::Differs(difference) => {
                let Difference {
                    line,
                    call,
                    effect,
                    expected,
                    got,
                } = &**difference;
                let show = |value: &Option<Value>| {
                    value
                        .as_ref()
                        .map_or_else(|| "nothing".into(), Value::to_string)
                };
                write!(
                    f,
                    "different: call {call} (line {line}), effect {effect}\n  expected: {}\n  got:      {}",
                    show(expected),
                    show(got)
                )
            }
        }
    }
}

/// The first line of a recording.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "airlock-recording")]
    version: u64,
    config: String,
    seed: String,
}

/// Every other line.
#[derive(Deserialize)]
struct Line {
    at: (u64, u64),
    #[serde(default)]
    inputs: Vec<Value>,
    #[serde(default)]
    effects: Vec<Value>,
    #[serde(default)]
    restored: bool,
    trapped: Option<Value>,
}

/// Runs the recording with adapters of this factory.
///
/// # Errors
/// When the recording cannot be read, or the adapter fails: the sentence says where.
pub fn replay(recording: impl BufRead, factory: &dyn Factory) -> Result<Outcome> {
    let mut lines = recording.split(b'\n');
    let head = lines.next().context("the recording is empty")??;
    let head: Head = serde_json::from_slice(&head).context("this is no Airlock recording")?;
    ensure!(
        head.version == record::VERSION,
        "this recording has format {}, and this program knows format {}",
        head.version,
        record::VERSION
    );
    let seed = BASE64
        .decode(&head.seed)
        .ok()
        .and_then(|seed| <[u8; 32]>::try_from(seed).ok());
    let seed = seed.context("the recording's seed is not 32 bytes")?;
    let mut adapter = factory.open(&head.config, &seed)?;

    let (mut calls, mut effects, mut trapped, mut torn) = (0, 0, 0, false);
    let mut lines = (2..).zip(lines).peekable();
    while let Some((number, line)) = lines.next() {
        let line: Line = match serde_json::from_slice(&line?) {
            Ok(line) => line,
            Err(error) if error.is_eof() && lines.peek().is_none() => {
                torn = true;
                break;
            }
            Err(error) => bail!("line {number} of the recording cannot be read: {error}"),
        };
        if line.trapped.is_some() {
            trapped += 1;
            continue;
        }
        calls += 1;
        let got = run(&line, &mut adapter, factory, &head.config)
            .with_context(|| format!("line {number} of the recording (call {calls})"))?;
        effects += got.len() as u64;
        if let Some((effect, expected, got)) = first_difference(&line.effects, &got) {
            let difference = Difference {
                line: number,
                call: calls,
                effect,
                expected,
                got,
            };
            return Ok(Outcome::Differs(Box::new(difference)));
        }
    }
    Ok(Outcome::Equal {
        calls,
        effects,
        trapped,
        torn,
    })
}

fn run(
    line: &Line,
    adapter: &mut Box<dyn Adapter>,
    factory: &dyn Factory,
    config: &str,
) -> Result<Vec<Effect>> {
    let now = Instant {
        monotonic: line.at.0,
        wall: line.at.1,
    };
    if line.restored {
        let state = adapter.snapshot()?;
        *adapter = factory.restore(config, &state)?;
    }
    let inputs: Vec<Input> = line
        .inputs
        .iter()
        .cloned()
        .map(parse::input)
        .collect::<Result<_>>()?;
    adapter
        .handle(now, &inputs)
        .map_err(|failure| anyhow!("{failure}"))
}

fn first_difference(
    expected: &[Value],
    got: &[Effect],
) -> Option<(usize, Option<Value>, Option<Value>)> {
    let got: Vec<Value> = got.iter().map(text::effect).collect();
    let at = (0..expected.len().max(got.len())).find(|at| expected.get(*at) != got.get(*at))?;
    Some((at + 1, expected.get(at).cloned(), got.get(at).cloned()))
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
