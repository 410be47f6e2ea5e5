//! The project's own commands. Each does its own set-up; none needs more than cargo and
//! rustup, but for `clients`, `claude` and `twins`, which say what they need.
//!
//! `cargo xtask try WORDS` · `cargo xtask test` · `cargo xtask lint` · `cargo xtask twins` ·
//! `cargo xtask clients` · `cargo xtask claude` · `cargo xtask mutate` · `cargo xtask bench` ·
//! `cargo xtask measure`

mod claude;
mod claude_rules;
mod clients;
mod mutate;
mod planted;
mod run;

use std::process::ExitCode;

use run::{Failed, cargo, ensure_wasm_target};

const HELP: &str = "\
cargo xtask COMMAND

  try [WORDS]   ask the embedded demonstration Host one thing, through the sandboxed component
  test          all tests that need nothing but the Rust registries
  lint          formatting, clippy and docs, warnings as errors
  twins         the component built by cargo-component equals the one built by cargo
                (needs cargo-component 0.21.1; `--install` builds it, some minutes)
  clients       real ACP clients against the program (needs npm and python3 with venv)
  claude        the real Claude Code behind the program, compared with recordings (needs npm and
                node; `--claude PATH` takes that executable; scenarios may be named)
  mutate        remove one rule after the other and show which test notices; plant bugs that
                only every order of events shows (`--alone` runs all other tests with each;
                a word: only what is in files whose path holds it)
  measure       what the adapter costs beside the Node adapter for Claude Code (needs npm and
                node; Linux)
  bench         the table of speed and memory (needs valgrind for the instruction counts)
";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    let outcome = match command.as_str() {
        "try" => try_it(&rest),
        "test" => test(&rest),
        "lint" => lint(),
        "twins" => twins(&rest),
        "clients" => clients::run(),
        "claude" => claude::run(&rest),
        "mutate" => mutate::run(&rest),
        "measure" => claude::measure(),
        "bench" => bench(&rest),
        _ => {
            print!("{HELP}");
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(why)) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The first thing a newcomer sees: an answer that streams through the component.
fn try_it(words: &[String]) -> Result<(), Failed> {
    ensure_wasm_target()?;
    let hello = [String::from("hello")];
    let words = if words.is_empty() { &hello[..] } else { words };
    let run = [
        "run",
        "--release",
        "--locked",
        "--package",
        "host-runner",
        "--",
    ];
    cargo(run)
        .args(["prompt", "--host", "embedded"])
        .args(words)
        .done()
}

fn test(rest: &[String]) -> Result<(), Failed> {
    ensure_wasm_target()?;
    cargo(["test", "--release", "--locked", "--workspace"])
        .args(rest)
        .done()
}

fn lint() -> Result<(), Failed> {
    ensure_wasm_target()?;
    cargo(["fmt", "--all", "--check"]).done()?;
    let everything = ["--release", "--locked", "--workspace"];
    cargo(["clippy"])
        .args(everything)
        .args(["--all-targets", "--", "-D", "warnings"])
        .done()?;
    // The guest shell is empty on every other target. It was built there, with what it needs.
    let guest = ["clippy", "--locked", "--package", "airlock-component"];
    let there = ["--profile", "component", "--target", "wasm32-wasip2"];
    cargo(guest)
        .args(there)
        .args(["--target-dir", "target/release/airlock-component"])
        .args(["--", "-D", "warnings"])
        .done()?;
    cargo(["doc", "--no-deps"])
        .args(everything)
        .env("RUSTDOCFLAGS", "-D warnings")
        .done()
}

fn twins(rest: &[String]) -> Result<(), Failed> {
    ensure_wasm_target()?;
    // The targets that cargo-component knows; it would fetch them unasked.
    let targets = ["target", "add", "wasm32-unknown-unknown", "wasm32-wasip1"];
    run::program("rustup").args(targets).done()?;
    if rest.iter().any(|word| word == "--install") {
        // It runs once, for a second: that it is built soon is worth more.
        let soon = ["--debug", "--version", "0.21.1", "--locked"];
        cargo(["install", "cargo-component"])
            .args(soon)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .done()?;
    }
    let only = [
        "--package",
        "airlock-tests",
        "--features",
        "cargo-component",
        "--test",
        "parity_cargo_component",
    ];
    cargo(["test", "--release", "--locked"]).args(only).done()
}

fn bench(rest: &[String]) -> Result<(), Failed> {
    ensure_wasm_target()?;
    let only = ["--package", "airlock-tests", "--bench", "table"];
    cargo(["bench", "--locked"]).args(only).args(rest).done()
}
