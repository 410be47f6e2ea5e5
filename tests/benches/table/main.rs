//! The benchmark: one table of speed and memory, goal beside figure. Nothing is asserted
//! but that the work was done and that memory is bounded; a figure is for people to judge.
//!
//! `cargo bench --package airlock-tests --bench table` prints all of it; words after `--`
//! choose rows (`engine`, `start`, `memory`, `flood`, `crowd`, `count`). It measures by starting
//! things and may touch nothing of theirs but their pipes and `/proc`. Invariant: the
//! same Host, written by hand in [`host`], stands behind every figure of a streamed delta.
//!
//! The machine's clock may be shared. So calls are timed one by one and the median is
//! shown, what is compared runs in turns, processes are measured in processor time, and
//! the last rows count instructions.

mod count;
mod crowd;
mod engine;
mod flood;
mod host;
mod process;
mod relay;
mod session;
mod start;
mod table;

use std::env;
use std::process::ExitCode;

use table::Table;

/// What a measurement gives, or a sentence why it cannot be had.
type Measured<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    // Cargo says `--bench` to every benchmark.
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        [relay::RELAY, how, socket] => relay::run(how, socket),
        [count::HEARD, engine, chunks] => count::hear(engine, chunks),
        _ => print(&words),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bench: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Measures what is wanted, all without a word, and prints the table.
fn print(wanted: &[&str]) -> Measured<()> {
    type Part = (&'static str, fn(&mut Table) -> Measured<()>);
    const PARTS: [Part; 6] = [
        ("engine", engine::rows),
        ("start", start::rows),
        ("memory", start::memory_rows),
        ("flood", flood::rows),
        ("crowd", crowd::rows),
        ("count", count::rows),
    ];
    if let Some(unknown) = wanted
        .iter()
        .find(|word| PARTS.iter().all(|(name, _)| name != *word))
    {
        return Err(format!("there are no rows named {unknown}").into());
    }
    let mut table = Table::default();
    for (name, rows) in PARTS {
        if wanted.is_empty() || wanted.contains(&name) {
            eprintln!("measuring: {name}");
            rows(&mut table)?;
        }
    }
    print!("{table}");
    Ok(())
}
