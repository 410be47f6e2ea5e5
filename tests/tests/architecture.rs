//! Rules 1, 3, 4 and 8 of the house, "wasmtime only in sandbox/" and "the clock only in
//! drive.rs": read from `cargo metadata` and the sources, so that breaking one is a red
//! test and not a matter of taste.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// R1: the crates that the engine may use, each without std.
const ENGINE_CRATES: [&str; 7] = [
    "base64",
    "chrono",
    "memchr",
    "percent-encoding",
    "serde",
    "serde_json",
    "sha2",
];

#[test]
fn given_the_engine_when_its_dependencies_are_listed_then_they_are_on_the_list_and_without_std() {
    let metadata = metadata();
    let engine = package(&metadata, "airlock-engine");
    for dependency in engine["dependencies"].as_array().unwrap() {
        let name = dependency["name"].as_str().unwrap();
        if dependency["kind"] == "dev" {
            continue;
        }
        assert!(
            ENGINE_CRATES.contains(&name),
            "the engine may not use {name}"
        );
        assert_eq!(
            dependency["uses_default_features"], false,
            "{name}: default features bring std"
        );
        let features = dependency["features"].as_array().unwrap();
        assert!(!features.contains(&"std".into()), "{name}: std");
    }
    let root = source("component/engine/src/lib.rs");
    assert!(root.contains("#![no_std]") && root.contains("#![forbid(unsafe_code)]"));
    // no_std alone does not keep std out: a crate can name it again.
    every_line(
        "component/engine/src",
        &["extern crate std", "use std::", "std::"],
        &[],
    );
}

#[test]
fn given_the_engine_when_its_state_is_read_then_no_size_depends_on_the_machine() {
    // usize in a state or a snapshot would differ between wasm and native.
    let mut found = Vec::new();
    for (path, text) in sources("component/engine/src") {
        let mut inside = false;
        let mut saved = false;
        for (number, line) in text.lines().enumerate() {
            if line.contains("derive(") {
                saved = line.contains("Serialize");
            }
            if line.starts_with("pub struct")
                || line.starts_with("struct")
                || line.starts_with("pub enum")
                || line.starts_with("enum")
            {
                inside = saved && !line.ends_with(';');
                saved = false;
            }
            if line == "}" {
                inside = false;
            }
            if inside && code(line).contains("usize") {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert_eq!(found, [""; 0]);
    every_line("component/engine/src", &["HashMap", "HashSet"], &[]);
}

#[test]
fn given_the_shell_when_read_then_only_it_names_wit_bindgen_and_it_stays_small() {
    let counts = |line: &&str| !code(line).trim().is_empty();
    // What std would bring (allocator, panic, memory functions) translates nothing.
    let runtime = |path: &std::path::Path| path.ends_with("rt.rs");
    let shell: usize = sources("component/src")
        .iter()
        .filter(|(path, _)| !runtime(path))
        .map(|(_, text)| text.lines().filter(counts).count())
        .sum();
    assert!(
        shell <= 250,
        "R2: the guest shell has {shell} lines; it translates and nothing else"
    );
    every_line("component/engine/src", &["wit_bindgen", "wit-bindgen"], &[]);
    every_line("host-runner/src", &["wit_bindgen"], &[]);
}

#[test]
fn given_the_runner_when_read_then_its_loop_reads_no_message_and_names_no_engine() {
    // R3: drive, transport, sandbox, files and journal read inside no ACP and no Host message.
    let words = [
        "session/",
        "initialize\"",
        "jsonrpc",
        "requestId",
        "subscription.",
        "turn.start",
        "turn.stop",
        "sessionUpdate",
    ];
    for room in ["drive.rs", "transport", "sandbox", "files.rs", "journal"] {
        if Path::new(&root())
            .join("host-runner/src")
            .join(room)
            .exists()
        {
            every_line(&format!("host-runner/src/{room}"), &words, &[]);
        }
    }
    // R3: the engine is named only behind the feature `native`.
    let naming = files_with("host-runner/src", "airlock_engine");
    assert!(
        naming.iter().all(|file| file.ends_with("native.rs")),
        "{naming:?}"
    );
    let library = source("host-runner/src/lib.rs");
    let at = library
        .find("mod native")
        .expect("the room of the feature native");
    assert!(
        library[..at].trim_end().ends_with("pub") || library[..at].contains("feature = \"native\""),
        "mod native without its feature"
    );
    // The embedded Host and the prompt client sit at the far end of a pipe.
    for room in ["host-runner/src/embedded", "host-runner/src/prompt"] {
        if Path::new(&root()).join(room).exists() {
            every_line(
                room,
                &[
                    "airlock_engine",
                    "crate::drive",
                    "crate::sandbox",
                    "crate::journal",
                ],
                &[],
            );
        }
    }
}

#[test]
fn given_the_engines_rooms_when_read_then_editor_and_host_do_not_know_each_other() {
    // R4: they meet in session/ and projection/.
    every_line(
        "component/engine/src/editor",
        &["host::maka", "maka::", "subscription."],
        &[],
    );
    every_line(
        "component/engine/src/host",
        &[
            "editor::",
            "sessionUpdate",
            "session/update",
            "session/prompt",
            "jsonrpc",
        ],
        &[],
    );
    every_line(
        "component/engine/src/projection",
        &["editor::", "host::", "session::"],
        &[],
    );
}

#[test]
fn given_the_runner_when_read_then_wasmtime_is_named_in_its_sandbox_alone() {
    let naming = files_with("host-runner/src", "wasmtime");
    let outside: Vec<&String> = naming
        .iter()
        .filter(|file| !file.contains("/sandbox/"))
        .collect();
    assert_eq!(outside, Vec::<&String>::new());
    // R8: no WASI at run time.
    let metadata = metadata();
    let names: BTreeSet<&str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    for name in [
        "wasmtime-wasi",
        "wasmtime-wasi-http",
        "wasi-common",
        "tokio",
        "async-std",
    ] {
        assert!(!names.contains(name), "{name} is in the build");
    }
    // R8: the world imports words and last words, nothing else.
    let world = source("wit/world.wit");
    let imports: Vec<&str> = world
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("import "))
        .collect();
    assert_eq!(imports, ["import last-words;"]);
}

#[test]
fn given_the_runner_when_read_then_the_clock_is_read_in_drive_alone() {
    // The ticker and the mailbox only wait; what they wait for is named by others, and no
    // time goes from them to the engine. The far ends of a pipe have clocks of their own.
    every_line(
        "host-runner/src",
        &["Instant::now()", "SystemTime::now()", "UNIX_EPOCH"],
        &[
            "drive.rs",
            "sandbox/ticker.rs",
            "transport/mailbox.rs",
            "embedded/",
            "prompt/",
        ],
    );
    for room in ["component/src", "component/engine/src"] {
        every_line(room, &["Instant::now", "SystemTime"], &[]);
    }
}

#[test]
fn given_the_sources_when_measured_then_no_file_outgrows_one_idea() {
    let mut long = Vec::new();
    for room in ["component", "host-runner", "tests"] {
        for (path, text) in sources(room) {
            if text.lines().count() > 600 {
                long.push(format!(
                    "{}: {} lines",
                    path.display(),
                    text.lines().count()
                ));
            }
        }
    }
    assert_eq!(long, [""; 0]);
}

#[test]
fn given_the_sources_when_read_then_every_module_of_a_library_begins_with_its_paragraph() {
    let mut bare = Vec::new();
    for room in [
        "component/src",
        "component/engine/src",
        "host-runner/src",
        "tests/src",
    ] {
        for (path, text) in sources(room) {
            let name = path.display().to_string();
            // Shared with the build script, which takes it as a module of its own.
            if !text.trim_start().starts_with("//") && !is_test(&name) {
                bare.push(name);
            }
        }
    }
    assert_eq!(bare, [""; 0]);
}

fn root() -> String {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the workspace").display().to_string()
}

fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        out.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).expect("metadata is JSON")
}

fn package(metadata: &Value, name: &str) -> Value {
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .find(|it| it["name"] == name)
        .unwrap_or_else(|| panic!("no package {name}"))
        .clone()
}

fn source(path: &str) -> String {
    let path = Path::new(&root()).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every Rust source below `room` (a folder, or one file), by path from the root; not what
/// cargo-component writes into the shell's folder and nobody compiles.
fn sources(room: &str) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::from(room)];
    while let Some(path) = open.pop() {
        let full = Path::new(&root()).join(&path);
        if full.is_dir() {
            let entries = std::fs::read_dir(&full).expect("a folder");
            let names = entries.map(|entry| entry.expect("an entry").file_name());
            open.extend(
                names
                    .filter(|name| name != "target" && name != "bindings.rs")
                    .map(|name| path.join(name)),
            );
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&full).expect("a source");
            found.insert(path, text);
        }
    }
    assert!(!found.is_empty(), "no sources in {room}");
    found
}

/// No line of code below `room` has one of these words, but in files whose path has one of
/// `excepted`. Tests of a module may.
fn every_line(room: &str, words: &[&str], excepted: &[&str]) {
    let mut found = Vec::new();
    for (path, text) in sources(room) {
        let name = path.display().to_string();
        if excepted.iter().any(|it| name.contains(it)) || is_test(&name) {
            continue;
        }
        for (number, line) in product(&text) {
            if words.iter().any(|word| code(line).contains(word)) {
                found.push(format!("{name}:{number}: {}", line.trim()));
            }
        }
    }
    assert_eq!(found, [""; 0], "{words:?}");
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/")
        || path.contains("_tests/")
        || path.ends_with("_tests.rs")
        || path.ends_with("/tests.rs")
}

fn files_with(room: &str, word: &str) -> Vec<String> {
    let with = sources(room).into_iter().filter(|(path, text)| {
        !is_test(&path.display().to_string())
            && product(text).any(|(_, line)| code(line).contains(word))
    });
    with.map(|(path, _)| path.display().to_string()).collect()
}

/// Lines before the tests of a module.
fn product(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
}

/// The line without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}
