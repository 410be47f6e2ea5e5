//! Lists of rows and of the tests that show them: how they are read and held to the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What stands for a row.
pub enum Row<'a> {
    /// These tests show it.
    Tests(Vec<&'a str>),
    /// None does, and a sentence says why.
    Reason,
}

/// Rows of a list; `split` tells the name of a row from what stands for it.
///
/// # Panics
/// When one is there twice, or without anything.
pub fn rows<'a>(
    list: &'a str,
    mut split: impl FnMut(&'a str) -> (&'a str, &'a str),
) -> BTreeMap<&'a str, Row<'a>> {
    let mut rows = BTreeMap::new();
    let lines = list.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (id, rest) = split(line);
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
        assert!(rows.insert(id, row).is_none(), "{id} is there twice");
    }
    rows
}

/// Tests that a list names and that do not exist.
pub fn unknown(rows: &BTreeMap<&str, Row<'_>>) -> Vec<String> {
    let tests = test_names();
    let mut unknown = Vec::new();
    for (id, row) in rows {
        if let Row::Tests(names) = row {
            let missing = names.iter().filter(|name| !tests.contains(**name));
            unknown.extend(missing.map(|name| format!("{id} {name}")));
        }
    }
    unknown
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
