//! The real Claude Code behind the program, with a mock model on loopback and a home of its
//! own: what an editor sees is compared with what was recorded (`tests/claude`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Failed, cargo, ensure_wasm_target, program, root};

/// Proprietary and large: installed here, never part of the project.
const PACKAGE: &str = "@anthropic-ai/claude-code";
/// The version that the recordings were made with.
const VERSION: &str = "2.1.318";

/// Installs it below `target/claude` unless `--claude PATH` names one, and plays the
/// scenarios that are named, or all. What was said is kept in the temporary folder where
/// something was different.
///
/// # Errors
/// When a part is missing, or an editor would see a difference that is not listed.
pub fn run(rest: &[String]) -> Result<(), Failed> {
    ensure_wasm_target()?;
    cargo(["build", "--release", "--locked", "--package", "host-runner"]).done()?;
    let folder = root().join("target/claude");
    let (claude, names) = match rest {
        [flag, path, names @ ..] if flag == "--claude" => (PathBuf::from(path), names),
        names => (installed(&folder)?, names),
    };
    warn_of_another_version(&claude)?;
    // Not below the project: Claude Code keeps settings and memory for the repository around.
    let runs = std::env::temp_dir().join(format!("airlock-claude-{}", std::process::id()));
    let play = |script: &str, names: &[String]| {
        program("node")
            .args([root().join("tests/claude").join(script)])
            .args([
                "--agent".as_ref(),
                root().join("target/release/host-runner").as_path(),
            ])
            .args(["--claude".as_ref(), claude.as_path()])
            .args(["--runs".as_ref(), runs.as_path()])
            .args(names)
            .done()
    };
    play("run.mjs", names)?;
    if names.is_empty() {
        // What the recordings do not hold.
        play("routes.mjs", &[])?;
    }
    // They are kept where something was different.
    fs::remove_dir_all(runs)?;
    Ok(())
}

/// The adapter that most people use today, and the Node it wants.
const PEER: [&str; 2] = ["@agentclientprotocol/claude-agent-acp@0.101.0", "node@22"];

/// What the adapter itself costs beside the peer's, on this machine (`measure.mjs`).
///
/// # Errors
/// When a part is missing, or a figure misses its goal.
pub fn measure() -> Result<(), Failed> {
    ensure_wasm_target()?;
    cargo(["build", "--release", "--locked", "--package", "host-runner"]).done()?;
    let folder = root().join("target/peer");
    let modules = folder.join("node_modules");
    let adapter = modules.join("@agentclientprotocol/claude-agent-acp/dist/index.js");
    let node = modules.join("node/bin/node");
    if !(adapter.is_file() && node.is_file()) {
        npm_install(&folder, &PEER)?;
    }
    let ours = root().join("target/release/host-runner");
    program("node")
        .args([root().join("tests/claude/measure.mjs")])
        .args(["--runs".as_ref(), folder.join("runs").as_path()])
        .args([format!("{} --host claude", ours.display())])
        .args([format!("{} {}", node.display(), adapter.display())])
        .done()
}

/// The executable, from npm.
fn installed(folder: &Path) -> Result<PathBuf, Failed> {
    let claude = folder.join("node_modules/.bin/claude");
    if version(&claude).is_ok_and(|it| it == VERSION) {
        return Ok(claude);
    }
    npm_install(folder, &[&format!("{PACKAGE}@{VERSION}")])?;
    Ok(claude)
}

fn npm_install(folder: &Path, packages: &[&str]) -> Result<(), Failed> {
    fs::create_dir_all(folder)?;
    program("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
        .args([folder])
        .args(packages)
        .done()
}

/// `2.1.318 (Claude Code)`, without the name.
fn version(claude: &Path) -> Result<String, Failed> {
    let output = program(claude).args(["--version"]).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(printed
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned())
}

fn warn_of_another_version(claude: &Path) -> Result<(), Failed> {
    let version = version(claude)?;
    if version != VERSION {
        println!("warning: this is Claude Code {version}, and the recordings are of {VERSION}");
    }
    Ok(())
}
