//! `docs/claude-meta.md` says what stands in `_meta`, key by key: its table is held to the
//! tests, to what the peer was recorded to say, and to the engine's sources.
//!
//! That each key which the engine says has a row is checked by the desk of every test with
//! Claude Code (`airlock_tests::meta`).

#[path = "support/listed.rs"]
mod listed;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use airlock_tests::meta;
use listed::Row;

fn below(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

#[test]
fn given_the_table_of_meta_keys_when_read_then_each_names_tests_that_exist_or_a_reason() {
    let rows = meta::rows().map(|cells| {
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{cells:?}");
        let [key, place, _, tests] = cells;
        format!("{key}, {place}|{tests}")
    });
    let table = rows.collect::<Vec<_>>().join("\n");
    let rows = listed::rows(&table, |line| line.split_once('|').unwrap());
    assert_eq!(listed::unknown(&rows), [""; 0], "tests that do not exist");
    let tested = rows.values().filter(|row| matches!(row, Row::Tests(_)));
    println!("{} rows, {} with a test", rows.len(), tested.count());
    assert!(rows.len() > 50, "the table is read");
}

#[test]
fn given_lines_when_looked_through_then_each_key_without_a_row_is_found() {
    let table = [
        (r#"{"params":{"_meta":{"quota":{"new":1}}}}"#, &[][..]),
        (r#"{"params":{"rawInput":{"_meta":{"new":1}}}}"#, &[]),
        (r#"{"_meta":7}"#, &[]),
        (r#"{"a":[{"_meta":{"new":1,"quota":2}}]}"#, &["new"]),
        (
            r#"{"result":{"_meta":{"claudeCode":{"new":1,"toolName":""}}}}"#,
            &["claudeCode.new"],
        ),
        (
            r#"{"_meta":{"jetbrains":{"air":{"new":{"goal":1},"goal":1}}}}"#,
            &[".new"],
        ),
        (r#"{"_meta":{"jetbrains":{"goal":1}}}"#, &["jetbrains"]),
    ];
    for (line, unknown) in table {
        assert_eq!(meta::unknown(line), unknown, "{line}");
    }
}

/// What the peer was seen to say (`tests/recordings/claude/seen`) has a row, each key of it.
#[test]
fn given_the_keys_that_the_peer_says_when_looked_for_then_each_has_a_row() {
    let mut seen = BTreeSet::new();
    for file in fs::read_dir(below("recordings/claude/seen")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for path in text.lines().filter_map(|line| line.split("._meta.").nth(1)) {
            let path = path.split([':', ' ']).next().unwrap_or_default();
            let key = match path.strip_prefix("jetbrains.air.") {
                Some(rest) => format!(".{}", part(rest)),
                None => match path.strip_prefix("claudeCode.") {
                    Some(rest) => format!("claudeCode.{}", part(rest)),
                    None => part(path).to_owned(),
                },
            };
            seen.insert(key);
        }
    }
    let missing: Vec<_> = seen.difference(meta::known()).collect();
    assert_eq!(missing, [""; 0]);
    assert!(seen.len() > 25, "{seen:?}");
}

fn part(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
}

/// A row is about something that the engine knows.
#[test]
fn given_the_rows_when_looked_for_in_the_sources_then_each_key_is_there() {
    let mut sources = String::new();
    collect(&below("../component/engine/src"), &mut sources);
    let there = |key: &&String| {
        let name = key.rsplit('.').next().unwrap();
        // A field that is read has its name in snake case.
        let snake = name.chars().fold(String::new(), |mut all, c| {
            if c.is_ascii_uppercase() {
                all.push('_');
            }
            all.push(c.to_ascii_lowercase());
            all
        });
        let ways = [format!("\"{name}\""), format!(" {snake}: Option<")];
        ways.iter().any(|way| sources.contains(way.as_str()))
    };
    let gone: Vec<_> = meta::known().iter().filter(|key| !there(key)).collect();
    assert_eq!(gone, [""; 0]);
}

fn collect(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}
