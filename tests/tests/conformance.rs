//! The behaviours that Maka's own adapter is tested for, each with the test here that shows
//! the same, or with the reason why there is none.
//!
//! `conformance.txt` is the table: `ID test_name`, more tests behind it, or `ID - reason`.
//! Invariant: every id is there once, and every named test exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const TABLE: &str = include_str!("../conformance.txt");

/// The groups of the adapter's conformance list that concern this stage, and how many rows
/// each has: registry, later additions (load, resume, interactions), event and tool mapper,
/// interactions, stdio server, agent routes, configuration and domains, prompt content,
/// transcript channel.
const GROUPS: [(&str, &[(u32, u32)]); 10] = [
    ("R", &[(1, 72)]),
    ("N", &[(15, 19), (22, 54), (62, 64), (70, 83)]),
    ("M", &[(1, 21)]),
    ("I", &[(1, 19)]),
    ("S", &[(1, 24)]),
    ("A", &[(1, 10)]),
    ("F", &[(1, 4)]),
    ("D", &[(1, 3)]),
    ("B", &[(1, 5)]),
    ("W", &[(1, 10)]),
];

#[test]
fn given_the_conformance_list_when_counted_then_every_row_has_a_test_or_a_reason() {
    let rows = rows();
    let wanted: BTreeSet<String> = GROUPS
        .iter()
        .flat_map(|(letter, spans)| {
            let numbers = spans.iter().flat_map(|(first, last)| *first..=*last);
            numbers.map(move |number| format!("{letter}{number}"))
        })
        .collect();
    let given: BTreeSet<String> = rows.keys().cloned().collect();
    let missing: Vec<_> = wanted.difference(&given).collect();
    let strange: Vec<_> = given.difference(&wanted).collect();
    assert!(missing.is_empty(), "rows without a line: {missing:?}");
    assert!(strange.is_empty(), "lines without a row: {strange:?}");

    let tests = test_names();
    let mut unknown = Vec::new();
    for (id, row) in &rows {
        if let Row::Tests(names) = row {
            unknown.extend(
                names
                    .iter()
                    .filter(|name| !tests.contains(**name))
                    .map(|name| format!("{id} {name}")),
            );
        }
    }
    assert_eq!(unknown, [""; 0], "tests that do not exist");

    let tested = rows.values().filter(|row| matches!(row, Row::Tests(_)));
    let tested = tested.count();
    println!(
        "conformance: {tested} of {} rows have a test, {} have a reason instead",
        rows.len(),
        rows.len() - tested
    );
}

enum Row {
    Tests(Vec<&'static str>),
    Reason,
}

fn rows() -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    let lines = TABLE.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (id, rest) = line.split_once(' ').unwrap_or((line, ""));
        let row = match rest.strip_prefix("- ") {
            Some(reason) => {
                assert!(reason.len() > 20, "{id}: a reason is a sentence");
                Row::Reason
            }
            None => Row::Tests(rest.split_whitespace().collect()),
        };
        if let Row::Tests(names) = &row {
            assert!(!names.is_empty(), "{id} names no test");
        }
        assert!(
            rows.insert(id.to_owned(), row).is_none(),
            "{id} is there twice"
        );
    }
    rows
}

/// The names of all tests below the folders with tests.
fn test_names() -> BTreeSet<String> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    for folder in ["tests", "component/engine", "host-runner"] {
        collect(&project.join(folder), &mut names);
    }
    names
}

fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, names);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim_start) {
                is_test |= line.starts_with("#[test]");
                if let Some(rest) = line.strip_prefix("fn ") {
                    let name = rest.split(['(', '<']).next().unwrap_or_default();
                    if std::mem::take(&mut is_test) {
                        names.insert(name.trim_end().to_owned());
                    }
                }
            }
        }
    }
}
