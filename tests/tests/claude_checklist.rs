//! What the reference adapter for Claude Code is tested for, each with the tests here that show
//! the same, or with the reason why there is none (Claude adapter, Part 3).
//!
//! `claude-checklist.txt` is the list. Invariant: every row is there once, and every test that
//! is named exists.

#[path = "support/listed.rs"]
mod listed;

use std::collections::BTreeSet;

use listed::Row;

const LIST: &str = include_str!("../claude-checklist.txt");

/// How many rows each part has: behind a cancel (3.1), turns (3.2), texts (3.3), scenarios and
/// other topics (3.5).
const PARTS: [(&str, u32); 5] = [("P", 22), ("T", 24), ("D", 11), ("S", 40), ("O", 24)];

#[test]
fn given_the_checklist_when_counted_then_every_row_has_a_test_or_a_reason() {
    let rows = listed::rows(LIST, |line| {
        let (row, rest) = line.split_once(" | ").unwrap_or((line, ""));
        let (id, what) = row.split_once(' ').unwrap_or((row, ""));
        assert!(!what.is_empty(), "{id} says nothing");
        (id, rest)
    });
    let numbered = |(part, count): &(&str, u32)| {
        let part = (*part).to_owned();
        (1..=*count).map(move |number| format!("{part}{number}"))
    };
    let wanted: BTreeSet<String> = PARTS.iter().flat_map(numbered).collect();
    let given: BTreeSet<String> = rows.keys().map(|id| (*id).to_owned()).collect();
    assert_eq!(given, wanted);
    assert_eq!(listed::unknown(&rows), [""; 0], "tests that do not exist");
    for (part, count) in PARTS {
        let of = rows.iter().filter(|(id, _)| id.starts_with(part));
        let tested = of.filter(|(_, row)| matches!(row, Row::Tests(_))).count();
        println!("{part}: {tested} of {count} rows have a test, the rest a reason");
    }
    let tested = rows.values().filter(|row| matches!(row, Row::Tests(_)));
    let tested = tested.count();
    println!(
        "checklist of Claude Code: {tested} of {} rows have a test, {} have a reason instead",
        rows.len(),
        rows.len() - tested
    );
}
