//! `cargo component build` gives the same component as plain cargo: the same world, only
//! our own imports, the same effects on every recorded session.
//!
//! Not part of the README's test command: cargo-component takes minutes to install.
//! Where the feature `cargo-component` is on, a missing tool fails.

#[path = "support/component.rs"]
mod component;
#[path = "support/words.rs"]
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

use host_runner::sandbox::{IMPORTS, Limits, Sandbox};

#[test]
fn given_both_ways_to_build_when_compared_then_world_and_effects_are_the_same() {
    let plain = component::beside_the_test("airlock.wasm");
    let other = cargo_component();
    let (plain, other) = (component::read(&plain), component::read(&other));
    let (plain_world, other_world) = (component::world(&plain), component::world(&other));
    assert_eq!(plain_world, other_world);
    let imports: Vec<&str> = other_world
        .lines()
        .filter_map(|line| line.trim().strip_prefix("import "))
        .collect();
    assert!(!imports.is_empty());
    for import in imports {
        assert!(
            IMPORTS.contains(&import.trim_end_matches(';')),
            "it imports {import}"
        );
    }

    let sandbox = Sandbox::from_bytes(&other, Limits::default()).expect("the other build loads");
    for number in words::SESSIONS {
        let session = words::session(number);
        words::same(
            number,
            &session.effects,
            &words::run(&sandbox, &session, false),
        );
    }
}

/// Builds with cargo-component into a folder of its own; the file.
fn cargo_component() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = component::beside_the_test("cargo-component");
    let mut cargo = Command::new("cargo");
    // The flags of the build that runs this test are not for the component.
    for (name, _) in std::env::vars() {
        if name.starts_with("CARGO_") && name != "CARGO_HOME"
            || name.starts_with("RUST") && name != "RUSTUP_HOME"
        {
            cargo.env_remove(name);
        }
    }
    let status = cargo
        .args([
            "component",
            "build",
            "--package",
            "airlock-component",
            "--profile",
            "component",
            "--locked",
        ])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir"])
        .arg(&target)
        .current_dir(tests.parent().expect("the workspace"))
        .status()
        .expect("cargo starts");
    assert!(
        status.success(),
        "`cargo component build` fails; `cargo xtask twins --install` brings the tool and its targets"
    );
    target.join("wasm32-unknown-unknown/component/airlock_component.wasm")
}
