//! `docs/claude-meta.md` says what stands in `_meta`, key by key: its table is held to the
//! tests, and to the names that are agreed on.

#[path = "support/listed.rs"]
mod listed;

use listed::Row;

const DOCUMENT: &str = include_str!("../../docs/claude-meta.md");

/// The rows without their heads, as `KEY WHERE|TESTS`.
fn table() -> String {
    let rows = DOCUMENT.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 4, "four cells: {line}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "empty: {line}");
        format!("{}, {}|{}", cells[0], cells[1], cells[3])
    };
    rows.map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn given_the_table_of_meta_keys_when_read_then_each_names_tests_that_exist_or_a_reason() {
    let table = table();
    let rows = listed::rows(&table, |line| line.split_once('|').unwrap());
    assert_eq!(listed::unknown(&rows), [""; 0], "tests that do not exist");
    let tested = rows.values().filter(|row| matches!(row, Row::Tests(_)));
    println!("{} keys, {} with a test", rows.len(), tested.count());
    assert!(rows.len() > 30, "the table is read");
}

/// Every key that is written for AIR has a row.
#[test]
fn given_the_keys_that_are_written_when_looked_for_then_each_has_a_row() {
    let table = table();
    let source = include_str!("../../component/engine/src/editor/v1/air.rs");
    let source = source.split("#[cfg(test)]").next().unwrap();
    let keys = [
        "goal",
        "diffPatch",
        "permission",
        "recommendedValue",
        "agentFileChangeReport",
        "sessionFailure",
        "commandTitle",
        "subagent",
        "skill",
        "mcp",
        "contextCompaction",
        "customAnswer",
        "kind",
        "skillPath",
    ];
    for key in keys {
        assert!(table.contains(&format!("`.{key}`")), "no row for {key}");
    }
    let written = [
        "goal",
        "sessionFailure",
        "commandTitle",
        "contextCompaction",
        "customAnswer",
    ];
    for key in written {
        assert!(
            source.contains(&format!("\"{key}\"")),
            "{key} is not written"
        );
    }
}
