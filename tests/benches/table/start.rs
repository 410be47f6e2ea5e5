//! How long the program takes to answer, and how much memory it holds.
//!
//! Invariant: the first start is not shown; it reads the program from the disk.

use std::time::Instant;

use super::Measured;
use super::process::{Agent, processor, program, resident};
use super::table::{Table, Unit, share};

const RUNS: usize = 30;
const SESSIONS: u32 = 50;
const MEBIBYTE: f64 = 1024.0 * 1024.0;
const EMBEDDED: [&str; 2] = ["--host", "embedded"];

/// Adds the rows of starting.
///
/// # Errors
/// When the program fails.
pub fn rows(table: &mut Table) -> Measured<()> {
    let program = program()?;
    let (mut elapsed, mut spent) = (Vec::new(), Vec::new());
    for _ in 0..=RUNS {
        let start = Instant::now();
        let mut agent = Agent::start(&program, &EMBEDDED)?;
        agent.initialize()?;
        elapsed.push(start.elapsed().as_secs_f64() * 1e3);
        spent.push(processor(agent.id())?);
    }
    let (elapsed, spent) = (&elapsed[1..], &spent[1..]);
    table.judged(
        "start to `initialize`, p50",
        Unit::Millis,
        20.0,
        share(elapsed, 0.5),
    );
    table.plain(
        "start to `initialize`, p90",
        Unit::Millis,
        share(elapsed, 0.9),
    );
    table.plain(
        "start to `initialize`, processor time, p50",
        Unit::Millis,
        share(spent, 0.5),
    );
    Ok(())
}

/// Adds the rows of memory.
///
/// # Errors
/// When the program fails.
pub fn memory_rows(table: &mut Table) -> Measured<()> {
    let mut agent = Agent::start(&program()?, &EMBEDDED)?;
    agent.initialize()?;
    let first = resident(agent.id())?;
    table.judged(
        "memory after `initialize`",
        Unit::Mebibytes,
        25.0,
        first / MEBIBYTE,
    );
    // The first session also opens the connection to the Host.
    agent.session()?;
    let before = resident(agent.id())?;
    for _ in 0..SESSIONS {
        agent.session()?;
    }
    let each = (resident(agent.id())? - before) / f64::from(SESSIONS) / 1024.0;
    table.plain("memory, each further session", Unit::Kibibytes, each);
    Ok(())
}
