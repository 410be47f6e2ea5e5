//! What the engine costs for each delta, natively and in its sandbox.
//!
//! Invariant: both get the same chunks in turns, so that whatever else the machine does
//! slows both.

use host_runner::adapter::Factory;
use host_runner::native::Native;
use host_runner::sandbox::{Limits, Sandbox};

use super::Measured;
use super::host::LINE;
use super::session::Session;
use super::table::{Table, Unit, share};

/// Turns, each with this many deltas: some of each are timed in vain, because somebody
/// else had the processor meanwhile.
const TURNS: u64 = 20;
const DELTAS: u64 = 2_000;

/// Adds the rows.
///
/// # Errors
/// When an adapter fails.
pub fn rows(table: &mut Table) -> Measured<()> {
    let sandbox = Sandbox::built_in(Limits::default())?;
    let factories: [&dyn Factory; 2] = [&Native, &sandbox];
    let mut sessions = [Session::open(factories[0])?, Session::open(factories[1])?];
    // Microseconds a delta, call by call.
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for session in &mut sessions {
            session.prompt()?;
        }
        let [native, wasm] = &mut sessions;
        let chunks = native.chunks(DELTAS).into_iter().zip(wasm.chunks(DELTAS));
        let mut updates = [0, 0];
        for (native, wasm) in chunks {
            for (at, chunk) in [native, wasm].into_iter().enumerate() {
                let deltas = chunk.len() as f64 / LINE as f64;
                let (spent, shown) = sessions[at].stream(chunk)?;
                costs[at].push(spent.as_secs_f64() * 1e6 / deltas);
                updates[at] += shown.iter().filter(|byte| **byte == b'\n').count() as u64;
            }
        }
        if updates != [DELTAS, DELTAS] {
            return Err(format!("{DELTAS} deltas became {updates:?} updates").into());
        }
        for session in &mut sessions {
            session.end()?;
        }
    }
    let [native, wasm] = costs.map(|costs| share(&costs, 0.5));
    table.plain("engine, native, a delta", Unit::Micros, native);
    table.judged("engine, wasm, a delta", Unit::Micros, 2.5, wasm);
    table.judged("engine, wasm / native", Unit::Times, 1.7, wasm / native);
    Ok(())
}
