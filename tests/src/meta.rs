//! The keys of `_meta` that are agreed on with clients of Claude Code, as `docs/claude-meta.md`
//! has them.
//!
//! Pure. Every [`Desk`](crate::Desk) with Claude Code at its far end holds what both sides say to
//! that table: so each key that any test makes the engine say, or hopes that it reads, has a row.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value};

/// The document.
pub const DOCUMENT: &str = include_str!("../../docs/claude-meta.md");

/// Where the keys of the AIR extensions stand; theirs are written with a dot alone.
const AIR: [&str; 2] = ["jetbrains", "air"];
/// Keys below this one are keys of their own.
const OWN: &str = "claudeCode";

static KNOWN: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| rows().flat_map(|row| named(&row[0])).collect());

/// The rows of the table, by cells.
///
/// # Panics
/// When one has not four.
pub fn rows() -> impl Iterator<Item = [String; 4]> {
    let lines = DOCUMENT.lines().filter(|line| line.starts_with("| `"));
    lines.map(|line| {
        let cells = line.trim_matches('|').split('|');
        let cells: Vec<String> = cells.map(|cell| cell.trim().to_owned()).collect();
        <[String; 4]>::try_from(cells).unwrap_or_else(|_| panic!("four cells: {line}"))
    })
}

/// The keys that the first cell of a row is about.
pub fn named(cell: &str) -> Vec<String> {
    let names = cell.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// Every key that has a row.
pub fn known() -> &'static BTreeSet<String> {
    &KNOWN
}

/// The keys of a line that have no row. What a line is about that says nothing of ACP is not
/// looked at: frames that are handed on as they came, and what tools were given and gave.
pub fn unknown(line: &str) -> Vec<String> {
    if !line.contains("\"_meta\"") {
        return Vec::new();
    }
    let mut keys = BTreeSet::new();
    if let Ok(message) = serde_json::from_str::<Value>(line)
        && message["method"] != "_claude/sdkMessage"
    {
        collect(&message, &mut keys);
    }
    keys.into_iter()
        .filter(|key| !KNOWN.contains(key))
        .collect()
}

fn collect(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| collect(one, keys)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("_meta", Value::Object(meta)) => keys_of(meta, keys),
                    ("rawInput" | "rawOutput" | "_meta", _) => {}
                    _ => collect(value, keys),
                }
            }
        }
        _ => {}
    }
}

fn keys_of(meta: &Map<String, Value>, keys: &mut BTreeSet<String>) {
    for (name, value) in meta {
        let air = (name == AIR[0])
            .then(|| value[AIR[1]].as_object())
            .flatten();
        let own = value.as_object().filter(|_| name == OWN);
        match (air, own) {
            (Some(air), _) => keys.extend(air.keys().map(|key| format!(".{key}"))),
            (_, Some(own)) => keys.extend(own.keys().map(|key| format!("{OWN}.{key}"))),
            _ => {
                keys.insert(name.clone());
            }
        }
    }
}
