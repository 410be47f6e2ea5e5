//! The compiler is the largest part of a build, and both the build script and the program
//! need it. Cargo builds it once only while both see its packages with equal features.

use std::process::Command;

#[test]
fn given_any_command_when_cargo_resolves_then_the_compiler_is_built_once() {
    for packages in [
        ["--package", "host-runner"],
        ["--workspace", "--all-features"],
    ] {
        let output = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--duplicates",
                "--locked",
                "--depth",
                "0",
                "--prefix",
                "none",
            ])
            .args(["--edges", "normal,build,dev"])
            .args(packages)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .output()
            .expect("cargo starts");
        let tree = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let twice: Vec<&str> = tree
            .lines()
            .filter(|line| line.starts_with("cranelift") || line.starts_with("wasmtime"))
            .collect();
        assert!(
            twice.is_empty(),
            "{packages:?}: built twice: {twice:?}; a dependency has features in [dependencies] of \
             host-runner/Cargo.toml that it has not in [build-dependencies], or the reverse \
             (`cargo tree -e features` tells)"
        );
    }
}
