//! Real ACP clients against the program and its embedded Host: what users start, and a
//! client that breaks the protocol on purpose. A missing part fails.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Failed, cargo, ensure_wasm_target, program, root};

/// npm packages, pinned.
const NPM: [&str; 2] = ["acpx@0.19.1", "@agentclientprotocol/sdk@2.4.0"];
/// Python packages, pinned.
const PIP: [&str; 2] = ["agent-client-protocol==0.12.1", "acplint==0.1.0"];

/// Installs the clients below `target/clients` and runs each.
///
/// # Errors
/// When a part is missing, or a client does not end as it should.
pub fn run() -> Result<(), Failed> {
    ensure_wasm_target()?;
    cargo(["build", "--release", "--locked", "--package", "host-runner"]).done()?;
    let folder = root().join("target/clients");
    fs::create_dir_all(&folder)?;
    install(&folder)?;
    let agent = root().join("target/release/host-runner");
    let agent = agent.to_string_lossy();
    acpx(&folder, &agent)?;
    sdk(&folder, &agent)?;
    python(&folder, &agent)?;
    hostile(&folder, &agent)?;
    println!("4 passed, 0 failed");
    Ok(())
}

fn install(folder: &Path) -> Result<(), Failed> {
    let quiet = ["install", "--silent", "--no-audit", "--no-fund", "--prefix"];
    program("npm").args(quiet).args([folder]).args(NPM).done()?;
    if !folder.join("venv").is_dir() {
        program("python3")
            .args(["-m", "venv", "venv"])
            .within(folder)
            .done()?;
    }
    program(folder.join("venv/bin/pip"))
        .args(["install", "--quiet"])
        .args(PIP)
        .done()
}

/// A home of its own: no client may find a user's settings.
fn home(folder: &Path) -> Result<PathBuf, Failed> {
    let home = folder.join("home");
    fs::create_dir_all(&home)?;
    Ok(home)
}

fn acpx(folder: &Path, agent: &str) -> Result<(), Failed> {
    let command = format!("{agent} --host embedded");
    let words = [
        "--agent",
        &command,
        "--cwd",
        "/tmp",
        "--approve-all",
        "exec",
        "hello",
    ];
    let run = program(folder.join("node_modules/.bin/acpx")).args(words);
    expect(
        "acpx 0.19.1",
        run.env("HOME", home(folder)?),
        &["demonstration", "Bash"],
    )
}

fn sdk(folder: &Path, agent: &str) -> Result<(), Failed> {
    // Node looks for packages beside the script.
    let script = folder.join("v1client.mjs");
    fs::copy(root().join("tests/clients/v1client.mjs"), &script)?;
    let run = program("node")
        .args([script.as_os_str()])
        .args([agent, "--host", "embedded"]);
    let wanted = [
        "INIT 1 airlock-embedded",
        "UPD agent_message_chunk",
        "STOP end_turn",
    ];
    expect("TypeScript SDK 2.4.0", run.within(folder), &wanted)
}

fn python(folder: &Path, agent: &str) -> Result<(), Failed> {
    let script = root().join("tests/clients/v1client.py");
    let run = program(folder.join("venv/bin/python")).args([script.as_os_str()]);
    let run = run.args([agent, "--host", "embedded"]);
    expect("Python SDK 0.12.1", run, &["INIT 1", "STOP end_turn"])
}

/// Its requests are not conformant, so its marks mean nothing: what counts is that the
/// process lives through all of it. It does not restart an agent that died.
fn hostile(folder: &Path, agent: &str) -> Result<(), Failed> {
    let report = folder.join("acplint.json");
    let words = [
        "--agent",
        agent,
        "--agent-args=--host embedded",
        "--cwd",
        "/tmp",
    ];
    let run = program(folder.join("venv/bin/acplint")).args(words);
    let run = run.args(["--timeout", "10", "--output", "json", "--output-file"]);
    let output = run
        .args([report.as_os_str()])
        .env("HOME", home(folder)?)
        .output()?;
    let told = fs::read_to_string(&report).unwrap_or_default();
    let died = [
        "exited",
        "BrokenPipe",
        "Broken pipe",
        "closed unexpectedly",
        "ProcessLookup",
    ];
    if told.is_empty() || died.iter().any(|word| told.contains(word)) {
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failed(format!(
            "acplint: the agent did not stay up\n{told}\n{printed}"
        )));
    }
    println!("acplint 0.1.0 (hostile): the process stayed up");
    Ok(())
}

fn expect(name: &str, run: crate::run::Run, wanted: &[&str]) -> Result<(), Failed> {
    let output = run.output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    let both = format!("{printed}\n{complained}");
    let missing: Vec<&&str> = wanted
        .iter()
        .filter(|word| !both.contains(**word))
        .collect();
    if !output.status.success() || !missing.is_empty() {
        return Err(Failed(format!(
            "{name}: {}, without {missing:?}\n{both}",
            output.status
        )));
    }
    println!("{name}: ok");
    Ok(())
}
