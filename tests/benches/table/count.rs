//! Instructions that the native engine executes for each delta, as valgrind counts them:
//! the one figure that a busy machine does not change.
//!
//! Invariant: starting up does not count, because two lengths are compared.

use std::env;
use std::process::Command;

use host_runner::native::Native;

use super::Measured;
use super::session::Session;
use super::table::{Table, Unit};

/// The word that makes this benchmark stream deltas and do nothing else: `--deltas NUMBER`.
pub const DELTAS: &str = "--deltas";

const FEW: u64 = 2_000;

/// Adds the row.
///
/// # Errors
/// When valgrind is there and fails.
pub fn rows(table: &mut Table) -> Measured<()> {
    let what = "engine, native, instructions a delta";
    if Command::new("valgrind").arg("--version").output().is_err() {
        table.words(what, "valgrind is not installed".to_owned());
        return Ok(());
    }
    let more = counted(2 * FEW)? - counted(FEW)?;
    table.plain(what, Unit::Instructions, more / FEW as f64);
    Ok(())
}

fn counted(deltas: u64) -> Measured<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args([DELTAS, &deltas.to_string()])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, number) = collected.ok_or_else(|| format!("valgrind counted nothing: {said}"))?;
    Ok(number.trim().parse()?)
}

/// Streams so many deltas through the native engine.
///
/// # Errors
/// When it fails.
pub fn deltas(number: &str) -> Measured<()> {
    let mut session = Session::open(&Native)?;
    session.prompt()?;
    for chunk in session.chunks(number.parse()?) {
        session.stream(chunk)?;
    }
    session.end()
}
