//! Builds the component with a cargo of its own and compiles it ahead of time, so that one
//! binary is all there is to install and the first start is as fast as the tenth.
//!
//! Leaves in `OUT_DIR`: `airlock.wasm`, `airlock.cwasm`; and, for embedders, a copy of the
//! first beside the program (`target/release/airlock.wasm`).

#[path = "src/sandbox/engine_config.rs"]
mod engine_config;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

const TARGET: &str = "wasm32-wasip2";

/// What the component is made of, from the workspace's folder.
const SOURCES: [&str; 7] = [
    "wit",
    "component/Cargo.toml",
    "component/src",
    "component/engine/Cargo.toml",
    "component/engine/src",
    "Cargo.toml",
    "Cargo.lock",
];

fn main() -> Result<()> {
    let workspace = variable("CARGO_MANIFEST_DIR")?.join("..");
    for source in SOURCES {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(source).display()
        );
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/sandbox/engine_config.rs");

    if let Err(error) = make(&workspace) {
        println!("cargo::error={}", format!("{error:#}").replace('\n', " "));
    }
    Ok(())
}

fn make(workspace: &Path) -> Result<()> {
    let out = variable("OUT_DIR")?;
    ensure_target()?;
    // `OUT_DIR` is `<profile folder>/build/<package>/out`. This script is built more than once
    // (clippy has its own); what it builds is there once.
    let profile = out
        .ancestors()
        .nth(3)
        .context("OUT_DIR is not where it used to be")?;
    let wasm = fs::read(build(workspace, &profile.join("airlock-component"))?)?;
    let compiled = compile(&wasm)?;
    fs::write(out.join("airlock.wasm"), &wasm)?;
    fs::write(out.join("airlock.cwasm"), compiled)?;
    beside_the_program(profile, &wasm)
}

fn ensure_target() -> Result<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .context("rustc does not start")?;
    let folder = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
    if !asked.status.success() || !folder.is_dir() {
        bail!(
            "the Rust target {TARGET} is missing, and the component is built for it; \
             `cargo xtask try` adds it, and so does `rustup target add {TARGET}`"
        );
    }
    Ok(())
}

/// The nested cargo: a target folder of its own (the outer one is locked), and none of the
/// outer build's flags (they are for another machine, or for clippy).
fn build(workspace: &Path, target_dir: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_the_outer_build) {
            cargo.env_remove(name);
        }
    }
    let status = cargo
        .args([
            "build",
            "--package",
            "airlock-component",
            "--target",
            TARGET,
        ])
        .args(["--profile", "component", "--locked", "--manifest-path"])
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target_dir)
        .status()
        .context("cargo does not start")?;
    if !status.success() {
        bail!("the component does not build (its errors are above)");
    }
    Ok(target_dir
        .join(TARGET)
        .join("component")
        .join("airlock_component.wasm"))
}

fn is_of_the_outer_build(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_ENCODED_RUSTDOCFLAGS",
        "CARGO_TARGET_DIR",
        "CARGO_PRIMARY_PACKAGE",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "TARGET",
        "OUT_DIR",
        "CLIPPY_ARGS",
    ];
    const PREFIXES: [&str; 8] = [
        "CARGO_BUILD_",
        "CARGO_CFG_",
        "CARGO_FEATURE_",
        "CARGO_MANIFEST_",
        "CARGO_PKG_",
        "CARGO_PROFILE_",
        "CARGO_TARGET_",
        "CLIPPY_",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// For the kind of machine the program is built for, not for the building one.
fn compile(wasm: &[u8]) -> Result<Vec<u8>> {
    let target = env::var("TARGET")?;
    engine_config::engine_config(Some(&target))
        .and_then(|config| wasmtime::Engine::new(&config))
        .and_then(|engine| engine.precompile_component(wasm))
        .map_err(|error| anyhow!("the component cannot be compiled for {target}: {error:#}"))
}

/// For embedders.
fn beside_the_program(folder: &Path, wasm: &[u8]) -> Result<()> {
    let draft = folder.join(format!("airlock.wasm.{}", std::process::id()));
    fs::write(&draft, wasm)?;
    fs::rename(&draft, folder.join("airlock.wasm"))?;
    Ok(())
}

fn variable(name: &str) -> Result<PathBuf> {
    env::var_os(name)
        .map(PathBuf::from)
        .with_context(|| format!("{name} is not set"))
}
