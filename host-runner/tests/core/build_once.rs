//! The compiler is the largest part of a build, and both the build script and the program
//! need it. Cargo builds it once only while both see its packages with equal features.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// Cargo's plan of a build. The flag is called unstable, and has been the same since 2019.
fn plan(words: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(words)
        .args([
            "--release",
            "--locked",
            "--unit-graph",
            "-Z",
            "unstable-options",
        ])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("a plan is JSON")
}

#[test]
fn given_the_projects_commands_when_cargo_plans_them_then_the_compiler_is_built_once() {
    for words in [
        &["build", "-p", "host-runner"][..],
        &["test", "--no-run", "--workspace"],
    ] {
        let mut built = BTreeMap::<String, u32>::new();
        for unit in plan(words)["units"].as_array().expect("a plan has units") {
            let package = unit["pkg_id"].as_str().expect("a package");
            let name = package.rsplit(['#', '/']).next().unwrap_or(package);
            if unit["mode"] == "build"
                && unit["target"]["kind"][0] == "lib"
                && (name.starts_with("cranelift") || name.starts_with("wasmtime"))
            {
                *built.entry(name.to_owned()).or_default() += 1;
            }
        }
        assert!(
            built
                .keys()
                .any(|name| name.starts_with("cranelift-codegen@")),
            "{built:?}"
        );
        built.retain(|_, times| *times > 1);
        assert!(
            built.is_empty(),
            "{words:?}: built twice: {built:?}; a dependency has features on one side of \
             host-runner/Cargo.toml ([dependencies], [build-dependencies]) and not on the other"
        );
    }
}
