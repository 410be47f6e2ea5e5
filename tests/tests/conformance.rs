//! The behaviours that Maka's own adapter is tested for, each with the test here that shows
//! the same, or with the reason why there is none.
//!
//! `conformance.txt` is the table: `ID test_name`, more tests behind it, or `ID - reason`.
//! Invariant: every id is there once, and every named test exists.

#[path = "support/listed.rs"]
mod listed;

use std::collections::BTreeSet;

use listed::Row;

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
    let rows = listed::rows(TABLE, |line| line.split_once(' ').unwrap_or((line, "")));
    let wanted: BTreeSet<String> = GROUPS
        .iter()
        .flat_map(|(letter, spans)| {
            let numbers = spans.iter().flat_map(|(first, last)| *first..=*last);
            numbers.map(move |number| format!("{letter}{number}"))
        })
        .collect();
    let given: BTreeSet<String> = rows.keys().map(|id| (*id).to_owned()).collect();
    let missing: Vec<_> = wanted.difference(&given).collect();
    let strange: Vec<_> = given.difference(&wanted).collect();
    assert!(missing.is_empty(), "rows without a line: {missing:?}");
    assert!(strange.is_empty(), "lines without a row: {strange:?}");

    let unknown = listed::unknown(&rows);
    assert_eq!(unknown, [""; 0], "tests that do not exist");

    let tested = rows.values().filter(|row| matches!(row, Row::Tests(_)));
    let tested = tested.count();
    println!(
        "conformance: {tested} of {} rows have a test, {} have a reason instead",
        rows.len(),
        rows.len() - tested
    );
}
