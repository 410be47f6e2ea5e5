//! The AIR extensions of ACP v1 (Claude adapter, sections 3 and 17): what a client agrees on
//! with us in `_meta.jetbrains.air`, and where what we say to it stands.
//!
//! Pure. Invariant: a client that did not agree gets no key of them.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::host::Extras;
use crate::json::Object;
use crate::object;
use crate::projection::{Compacted, Hint};

/// The version of the extensions.
const VERSION: u64 = 1;

/// What we can, in the order of the specification.
const OFFERED: [&str; 14] = [
    "sessionFailure",
    "agentFileChangeReport",
    "nativeSubagentSessions",
    "asyncTasks",
    "customInstructions",
    "recommendedValue",
    "diffPatch",
    "planFile",
    "backgroundSubagents",
    "sessionIndex",
    "sessionBatchGet",
    "sessionArchive",
    "sessionRename",
    "sessionListSubscribe",
];

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default)]
    jetbrains: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Jetbrains<'a> {
    #[serde(borrow, default)]
    air: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Declared<'a> {
    #[serde(borrow, default)]
    version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    capabilities: Option<&'a RawValue>,
}

/// What stands in `_meta.jetbrains.air` of a message of the client's.
pub fn of(meta: Option<&RawValue>) -> Option<&RawValue> {
    let Meta { jetbrains } = structure(meta)?;
    let Jetbrains { air } = structure(jetbrains)?;
    air.filter(|air| air.get().starts_with('{'))
}

/// What the client agrees on, from `clientCapabilities._meta`. A declaration of no version,
/// or of a list that is none, agrees on nothing; a name has to be exact.
pub fn read(meta: Option<&RawValue>) -> Extras {
    let declared: Declared<'_> = structure(of(meta)).unwrap_or_default();
    let version = declared.version.and_then(|it| whole(it.get()));
    let names: Option<Vec<&RawValue>> = declared
        .capabilities
        .and_then(|list| serde_json::from_str(list.get()).ok());
    let (Some(1..), Some(names)) = (version, names) else {
        return Extras::default();
    };
    let read = |raw: &&RawValue| -> Option<Cow<'_, str>> { serde_json::from_str(raw.get()).ok() };
    let names: Vec<Cow<'_, str>> = names.iter().filter_map(read).collect();
    let has = |name: &str| names.iter().any(|it| it == name);
    Extras {
        on: true,
        patches: has("diffPatch"),
        shows_input: has("rawInputRendering"),
        failures: has("sessionFailure"),
        recommended: has("recommendedValue"),
        tasks: has("asyncTasks"),
        file_reports: has("agentFileChangeReport"),
        children: has("nativeSubagentSessions"),
        plan_files: has("planFile"),
        instructions: has("customInstructions"),
        background: has("backgroundSubagents"),
        replay_end: has("loadReplayEnd"),
        index: has("sessionIndex"),
        batches: has("sessionBatchGet"),
    }
}

/// What we answer to a declaration.
pub fn offer() -> Object {
    object! {
        "capabilities": OFFERED,
        "goal": object! {
            "version": VERSION, "controlMethod": "_session/goal", "actions": ["set", "clear"],
        },
    }
}

/// Puts these keys into a message's `_meta`, beside what stands there already.
pub fn add(meta: &mut Object, keys: Object) {
    let mut jetbrains = meta.object("jetbrains").unwrap_or_default();
    let mut air = jetbrains.object("air").unwrap_or_default();
    air.set("version", &VERSION);
    for (name, value) in keys.fields() {
        air.set(name, value);
    }
    jetbrains.set("air", &air);
    meta.set("jetbrains", &jetbrains);
}

/// These keys alone, as a `_meta`.
pub fn meta(keys: Object) -> Object {
    let mut meta = Object::new();
    add(&mut meta, keys);
    meta
}

/// What ACP has no words for on a card.
pub fn hint(meta: &mut Object, hint: &Hint) {
    let keys = match hint {
        Hint::CommandTitle(title) => object! { "commandTitle": title },
        Hint::Subagent => object! { "subagent": true },
        Hint::Skill { name, path } => {
            let mut skill = object! { "name": name };
            if let Some(path) = path {
                skill.set("path", path);
            }
            object! { "skill": skill }
        }
        Hint::Mcp { server, tool } => {
            meta.set("is_mcp_tool_call", &true);
            object! { "mcp": object! { "server": server, "tool": tool } }
        }
        Hint::Backgrounded => object! { "asyncTasks": object! { "backgrounded": true } },
        Hint::Compaction(compacted) => compaction(compacted),
    };
    add(meta, keys);
}

/// What making a context smaller was worth.
pub fn compaction(compacted: &Compacted) -> Object {
    let Compacted {
        trigger,
        before,
        after,
        took_ms,
        error,
    } = compacted;
    let mut facts = object! { "version": VERSION };
    if let Some(trigger) = trigger {
        facts.set("trigger", trigger);
    }
    let figures = [("preTokens", before), ("postTokens", after), ("durationMs", took_ms)];
    for (name, figure) in figures {
        if let Some(figure) = figure {
            facts.set(name, figure);
        }
    }
    if let Some(error) = error {
        facts.set("error", error);
    }
    object! { "contextCompaction": facts }
}

/// The `_meta` of a diff that is a patch.
pub fn patch(text: &str) -> Object {
    meta(object! {
        "diffPatch": object! { "version": VERSION, "format": "git_patch", "text": text },
    })
}

/// `1` and `1.0` are whole; other clients than AIR may write either.
fn whole(text: &str) -> Option<u64> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    digits.parse().ok()
}

/// A structure also reads from an array; what is agreed on stands in objects.
fn structure<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    let raw = raw.filter(|raw| raw.get().starts_with('{'))?;
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    fn declared(air: &str) -> Extras {
        let text = format!(r#"{{"jetbrains":{{"air":{air}}}}}"#);
        let raw = RawValue::from_string(text).unwrap();
        read(Some(&raw))
    }

    #[test]
    fn given_declarations_when_read_then_only_a_whole_version_and_exact_names_agree() {
        let names = r#""capabilities":["diffPatch","asyncTasks",7,"sessionfailure"]"#;
        let agreed = Extras {
            on: true,
            patches: true,
            tasks: true,
            ..Extras::default()
        };
        let table = [
            (format!(r#"{{"version":1,{names}}}"#), agreed),
            (format!(r#"{{"version":2,{names}}}"#), agreed),
            (format!(r#"{{"version":1.0,{names}}}"#), agreed),
            (format!(r#"{{"version":0,{names}}}"#), Extras::default()),
            (format!(r#"{{"version":-1,{names}}}"#), Extras::default()),
            (format!(r#"{{"version":1.5,{names}}}"#), Extras::default()),
            (format!(r#"{{"version":"1",{names}}}"#), Extras::default()),
            (format!("{{{names}}}"), Extras::default()),
            (String::from(r#"{"version":1}"#), Extras::default()),
            (
                String::from(r#"{"version":1,"capabilities":"diffPatch"}"#),
                Extras::default(),
            ),
            (String::from(r#"[1,["diffPatch"]]"#), Extras::default()),
            (
                String::from(r#"{"version":1,"capabilities":[]}"#),
                Extras {
                    on: true,
                    ..Extras::default()
                },
            ),
        ];
        for (air, expected) in table {
            assert_eq!(declared(&air), expected, "{air}");
        }
        assert_eq!(read(None), Extras::default());
    }

    #[test]
    fn given_a_meta_when_keys_are_added_then_what_stands_there_stays() {
        let mut meta = object! { "other": 1 };
        add(&mut meta, object! { "a": 1 });
        add(&mut meta, object! { "b": 2 });
        assert_eq!(
            serde_json::to_string(&meta).unwrap(),
            r#"{"other":1,"jetbrains":{"air":{"version":1,"a":1,"b":2}}}"#
        );
    }
}
