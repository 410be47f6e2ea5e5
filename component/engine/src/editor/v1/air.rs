//! The AIR extensions of ACP v1 (Claude adapter, sections 3 and 17): what a client agrees on
//! with us in `_meta.jetbrains.air`, and where what we say to it stands.
//!
//! Pure. Invariant: a client that did not agree gets no key of them.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::more;
use crate::admission::{Block, Content};
use crate::editor::Ask;
use crate::host::Extras;
use crate::host::dialog::Besides;
use crate::host::more::{FileReport, Goal, Record, Severity, Trouble, Unknown};
use crate::json::Object;
use crate::limits;
use crate::object;
use crate::projection::{Compacted, Hint};
use crate::rpc::RpcError;

/// The version of the extensions.
const VERSION: u64 = 1;

/// The request that sets a goal or takes it back.
pub const GOAL: &str = "_session/goal";

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

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    #[serde(borrow, default)]
    custom_instructions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    agent_file_change_report_request: Option<&'a RawValue>,
}

/// The user's own instructions for the model.
pub fn instructions(meta: Option<&RawValue>) -> Option<String> {
    let asked: Asked<'_> = structure(of(meta))?;
    let text: String = serde_json::from_str(asked.custom_instructions?.get()).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

/// The client's name for its question which files a prompt changes. One that is not as it
/// should be is ignored.
pub fn report_asked(meta: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Request<'a> {
        #[serde(borrow)]
        version: &'a RawValue,
        request_id: String,
    }
    let asked: Asked<'_> = structure(of(meta))?;
    let Request {
        version,
        request_id,
    } = structure(asked.agent_file_change_report_request)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-');
    let short = (1..=limits::REPORT_REQUEST).contains(&(request_id.len() as u64));
    (whole(version.get()) == Some(VERSION) && short && request_id.chars().all(fits))
        .then_some(request_id)
}

/// Params of `_session/goal`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoalAsked<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(default)]
    objective: Option<String>,
}

/// `_session/goal`: a goal is set by a word to the agent.
///
/// # Errors
/// An action that is none, or a goal without words.
pub fn goal_asked(asked: GoalAsked<'_>) -> Result<Ask, RpcError> {
    let words = match (&*asked.action, asked.objective.as_deref().map(str::trim)) {
        ("clear", _) => "/goal clear".into(),
        ("set", Some(objective)) if !objective.is_empty() => format!("/goal {objective}"),
        ("set", _) => {
            let sentence = "A goal needs an objective: say in words what is to be reached.";
            return Err(RpcError::field("objective", "required", sentence));
        }
        _ => {
            let sentence = "The action must be set or clear.";
            return Err(RpcError::field("action", "unsupported", sentence));
        }
    };
    Ok(Ask::Goal {
        session_id: asked.session_id.into_owned(),
        content: Content {
            blocks: [Block::Text(words)].into(),
            ..Content::default()
        },
    })
}

/// What we answer to a declaration.
pub fn offer() -> Object {
    object! {
        "capabilities": OFFERED,
        "goal": object! {
            "version": VERSION, "controlMethod": GOAL, "actions": ["set", "clear"],
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
    let figures = [
        ("preTokens", before),
        ("postTokens", after),
        ("durationMs", took_ms),
    ];
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

/// An incident (section 17, session failure).
pub fn record(record: &Record) -> Object {
    let (category, actions): (&str, &[&str]) = match record.trouble {
        Trouble::AccessDenied | Trouble::Overloaded | Trouble::Provider => ("service", &["retry"]),
        Trouble::AuthRequired => ("access", &["login"]),
        Trouble::BadRequest => ("request", &[]),
        Trouble::BudgetExhausted | Trouble::ContextExhausted => ("limit", &["new_session"]),
        Trouble::Internal => ("service", &["retry", "new_session"]),
        Trouble::QuotaExhausted => ("limit", &[]),
        Trouble::RateLimited => ("limit", &["retry"]),
        Trouble::TransportLost => ("connection", &["new_session"]),
        Trouble::Advisory => ("unknown", &[]),
    };
    // Where it may still go well, there is nothing to do.
    let actions = match record.severity {
        Severity::Error => actions,
        Severity::Info | Severity::Warning => &[],
    };
    let mut failure = object! {
        "id": record.id, "revision": record.revision, "category": category,
        "severity": more::word(record.severity), "title": record.title,
    };
    if let Some(reason) = &record.reason {
        failure.set("reason", reason);
    }
    failure.set("actions", actions);
    object! { "sessionFailure": failure }
}

/// What the session works towards.
pub fn goal(goal: Option<&Goal>) -> Object {
    let Some(goal) = goal else {
        return object! { "goal": () };
    };
    let mut snapshot = object! { "objective": goal.objective, "status": goal.status };
    if let Some(iterations) = goal.iterations {
        snapshot.set("iterations", &iterations);
    }
    if let Some(reason) = &goal.last_reason {
        snapshot.set("lastReason", reason);
    }
    if let Some(at) = goal.created_at {
        snapshot.set("createdAt", &at);
    }
    object! { "goal": snapshot.with("controlMethod", GOAL) }
}

/// Which files a prompt changed.
pub fn files(report: &FileReport) -> Object {
    let mut told = object! { "version": VERSION, "requestId": report.request };
    let status = if report.found.is_ok() {
        "reported"
    } else {
        "unavailable"
    };
    told.set("status", status);
    let (truncated, reason) = match &report.found {
        Ok(files) => {
            told.set("paths", &files.paths);
            (files.truncated, None)
        }
        Err(why) => {
            let reason = match why {
                Unknown::Cancelled => "cancelled",
                Unknown::Timeout => "timeout",
                Unknown::Invalid => "invalidOutput",
                Unknown::Failed => "providerError",
            };
            (false, Some(reason))
        }
    };
    // The Host sees what its own tools did, not what commands did.
    told.set("declaredComplete", &false);
    told.set("truncated", &truncated);
    if let Some(reason) = reason {
        told.set("reason", reason);
    }
    object! { "agentFileChangeReport": told }
}

/// A command that teaches the model something.
pub fn skill(path: Option<&str>) -> Object {
    let mut keys = object! { "kind": "skill" };
    if let Some(path) = path {
        keys.set("skillPath", path);
    }
    keys
}

/// A question with choices, with what stands beside it.
pub fn asked(besides: Option<&Besides>, mut params: Object) -> Object {
    let Some(title) = besides.and_then(|it| it.title.as_ref()) else {
        return params;
    };
    let mut permission = object! { "version": VERSION, "title": title };
    if let Some(why) = besides.and_then(|it| it.why.as_ref()) {
        permission.set("description", &format!("Reason: {why}"));
    }
    if besides.is_some_and(|it| it.default_to_no) {
        permission.set("defaultToNo", &true);
    }
    params.set("_meta", &meta(object! { "permission": permission }));
    params
}

/// A form with its fields for own answers marked, if it has any.
pub fn form(besides: Option<&Besides>, schema: &RawValue) -> Option<Object> {
    let own = &besides?.own_answers;
    let mut schema: Object = serde_json::from_str(schema.get()).ok()?;
    let mut properties = schema.object("properties").filter(|_| !own.is_empty())?;
    for (field, question) in own {
        if let Some(mut property) = properties.object(field) {
            let answer = object! { "questionId": question, "isCustomAnswer": true };
            let mut meta = object! { "_askUserQuestionCustomAnswer": answer };
            add(&mut meta, object! { "customAnswer": answer });
            property.set("_meta", &meta);
            properties.set(field, &property);
        }
    }
    schema.set("properties", &properties);
    Some(schema)
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
