//! The limits and the races of Maka's own adapter, each with the tests that show it here.
//!
//! `limits.txt` and `races.txt` are the lists. Invariant: every row is there once, and every
//! constant and test that is named exists.

#[path = "support/listed.rs"]
mod listed;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use listed::Row;

const LIMITS: &str = include_str!("../limits.txt");
const RACES: &str = include_str!("../races.txt");

/// The rows of the adapter's table of limits (section 2).
const ROWS: [&str; 44] = [
    "ACP protocol version answered",
    "cwd length",
    "ACP list cursor, encoded",
    "Host list cursor inside it",
    "Host list revision",
    "Config CAS attempts",
    "Resource links per prompt",
    "Bytes per linked file",
    "Sniffed prefix",
    "Upload chunk",
    "Turn text (Host)",
    "Turn content (Host)",
    "Attachment name / MIME / path (Host)",
    "Admission query attempts",
    "Admission query timeout",
    "Admission waits between attempts",
    "`turn.stop` timeout",
    "`turn.start` timeout",
    "upload request timeout (prompt)",
    "Private route request timeout",
    "Artifact abort on close / prune",
    "Artifact upload tracking",
    "Copy (branch/revision) retry",
    "Tool presentation per tool",
    "Tool auxiliary text",
    "Tool presentation per prompt",
    "Tool identities per prompt",
    "Raw input / raw output",
    "Agent-swarm result text",
    "Subscription bootstrap tail",
    "Transcript page",
    "Transcript range assembly",
    "Per-Turn event queue",
    "Recovery attempts without a live frame",
    "Recovery backoff",
    "Recovery counter reset",
    "Host subscriptions per connection",
    "Pending interactions per Session",
    "Published-interaction dedupe window",
    "Question answer",
    "Question `maxLength` shown",
    "Questions per request (Host)",
    "Plan refresh retries",
    "Copy-source `maxContributions`",
];

#[test]
fn given_the_table_of_limits_when_looked_through_then_each_has_a_constant_and_is_crossed() {
    let mut constants = BTreeSet::new();
    let rows = listed::rows(LIMITS, |line| {
        let (id, rest) = line.split_once(" | ").unwrap_or((line, ""));
        if rest.starts_with("- ") {
            return (id, rest);
        }
        let (named, tests) = rest.split_once(" | ").unwrap_or((rest, ""));
        named.split_whitespace().for_each(|name| {
            constants.insert((id, name));
        });
        (id, tests)
    });
    assert_eq!(
        rows.keys().copied().collect::<BTreeSet<_>>(),
        BTreeSet::from(ROWS)
    );
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../component/engine/src/limits.rs");
    let table = fs::read_to_string(table).unwrap();
    let mut missing = Vec::new();
    for (id, name) in &constants {
        if !table.contains(&format!("pub const {name}: ")) {
            missing.push(format!("{id} {name}"));
        }
    }
    assert_eq!(missing, [""; 0], "constants that do not exist");
    assert_eq!(listed::unknown(&rows), [""; 0], "tests that do not exist");
    let crossed = rows.values().filter(|row| matches!(row, Row::Tests(_)));
    let crossed = crossed.count();
    println!(
        "limits: {crossed} of {} are crossed, {} have a reason instead",
        rows.len(),
        rows.len() - crossed
    );
}

#[test]
fn given_the_hardest_races_when_looked_through_then_each_has_a_test() {
    let rows = listed::rows(RACES, |line| line.split_once(' ').unwrap_or((line, "")));
    let wanted: BTreeSet<String> = (1..=25).map(|number| number.to_string()).collect();
    let given: BTreeSet<String> = rows.keys().map(|id| (*id).to_owned()).collect();
    assert_eq!(given, wanted);
    assert!(rows.values().all(|row| matches!(row, Row::Tests(_))));
    assert_eq!(listed::unknown(&rows), [""; 0], "tests that do not exist");
    println!("races: {}, each with a test", rows.len());
}
