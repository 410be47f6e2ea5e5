//! Instructions that the engine executes for each delta, natively and in its sandbox, as
//! valgrind counts them: the figures that a busy machine does not change.
//!
//! Invariant: starting up and the Host by hand do not count, because two runs are compared
//! in which the same Host says the same, and the engine hears all of it or the first half.

use std::env;
use std::process::Command;

use host_runner::adapter::Factory;
use host_runner::native::Native;
use host_runner::sandbox::{Limits, Sandbox};

use super::Measured;
use super::host::LINE;
use super::session::{CHUNK, Session};
use super::table::{Table, Unit};

/// The word that makes this benchmark stream deltas and do nothing else:
/// `--heard native|wasm CHUNKS`.
pub const HEARD: &str = "--heard";

/// Chunks that the engine hears in the longer run.
const CHUNKS: usize = 20;

/// Adds the rows.
///
/// # Errors
/// When valgrind is there and fails.
pub fn rows(table: &mut Table) -> Measured<()> {
    let missing = Command::new("valgrind").arg("--version").output().is_err();
    for engine in ["native", "wasm"] {
        let what = format!("engine, {engine}, instructions a delta");
        if missing {
            table.words(&what, "valgrind is not installed".to_owned());
            continue;
        }
        let more = counted(engine, CHUNKS)? - counted(engine, CHUNKS / 2)?;
        let deltas = (CHUNKS / 2 * CHUNK) as f64 / LINE as f64;
        table.plain(&what, Unit::Instructions, more / deltas);
    }
    Ok(())
}

fn counted(engine: &str, chunks: usize) -> Measured<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args([HEARD, engine, &chunks.to_string()])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, number) = collected.ok_or_else(|| format!("valgrind counted nothing: {said}"))?;
    Ok(number.trim().parse()?)
}

/// The Host says all; the engine hears so many chunks of it.
///
/// # Errors
/// When the engine fails.
pub fn hear(engine: &str, chunks: &str) -> Measured<()> {
    let sandbox;
    let factory: &dyn Factory = match engine {
        "wasm" => {
            sandbox = Sandbox::built_in(Limits::default())?;
            &sandbox
        }
        _ => &Native,
    };
    let mut session = Session::open(factory)?;
    session.prompt()?;
    let said = session.chunks((CHUNKS * CHUNK / LINE) as u64 + 1);
    for chunk in said.into_iter().take(chunks.parse()?) {
        session.stream(chunk)?;
    }
    Ok(())
}
