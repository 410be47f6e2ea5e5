//! How a `claude` process is started (Claude adapter, Part 2.1).
//!
//! Pure. Invariant: the order of the arguments is fixed, so that the same session gives the
//! same process.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::environment::{Environment, Thinking};
use super::extras::Extras;
use crate::effect::{Command, Inherit};
use crate::host::{McpServer, Setup, Transport};
use crate::json::Object;
use crate::object;

/// What a process needs to know.
pub struct Start<'a> {
    /// The program on the embedder's table.
    pub program: &'a str,
    /// The session's id, new or known.
    pub session_id: &'a str,
    /// Where and with what.
    pub setup: &'a Setup,
    /// Whether the session is one that is stored.
    pub resume: bool,
    /// How permissions are asked for at first.
    pub mode: &'a str,
    /// Whether questions of the model can be shown.
    pub asks: bool,
    /// What the client says to the program alone.
    pub extras: &'a Extras,
    /// The session is another one's continuation.
    pub forked: Option<&'a str>,
}

/// The process.
pub fn command(start: &Start<'_>, environment: &Environment) -> Command {
    let mut args: Vec<String> = words(&[
        "--output-format",
        "stream-json",
        "--verbose",
        "--input-format",
        "stream-json",
    ]);
    let extras = start.extras;
    if extras.thinking.is_empty() {
        thinking(&mut args, environment);
    }
    args.extend(extras.thinking.iter().chain(&extras.model).cloned());
    args.push("--permission-prompt-tool=stdio".to_string());
    let resumed = Some(start.session_id).filter(|_| start.resume);
    if let Some(id) = start.forked.or(resumed) {
        args.push(format!("--resume={id}"));
    }
    let mut list = |name: &str, tools: Vec<&str>| {
        if !tools.is_empty() {
            args.push(format!("--{name}={}", tools.join(",")));
        }
    };
    list("allowedTools", all(&extras.allowed).collect());
    let questions = Some("AskUserQuestion").filter(|_| !start.asks);
    let disallowed = questions.into_iter().chain(all(&extras.disallowed));
    list("disallowedTools", disallowed.collect());
    let tools = extras.tools.as_deref().unwrap_or("default");
    args.push(format!("--tools={tools}"));
    let servers = servers(extras.servers.clone(), &start.setup.servers);
    if !servers.is_empty() {
        args.push("--mcp-config".to_string());
        args.push(json(&object! { "mcpServers": servers }));
    }
    let sources = extras.sources.as_deref().unwrap_or("user,project,local");
    args.push(format!("--setting-sources={sources}"));
    if extras.strict {
        args.push("--strict-mcp-config".to_string());
    }
    args.push(format!("--permission-mode={}", start.mode));
    if environment.may_bypass() && !extras.no_bypass {
        args.push("--allow-dangerously-skip-permissions".to_string());
    }
    args.extend(extras.before_partial.iter().cloned());
    args.push("--include-partial-messages".to_string());
    for folder in start.setup.folders.iter().chain(&extras.folders) {
        args.push(format!("--add-dir={folder}"));
    }
    args.extend(extras.behind_folders.iter().cloned());
    if start.forked.is_some() {
        args.push("--fork-session".to_string());
    }
    if let Some(at) = &extras.resume_at {
        args.push(format!("--resume-session-at={at}"));
    }
    if !start.resume || start.forked.is_some() {
        args.push(format!("--session-id={}", start.session_id));
    }
    args.extend(extras.last.iter().cloned());
    if let Some(settings) = settings(extras.settings.as_deref(), environment) {
        args.extend(["--settings".to_string(), settings]);
    }
    args.extend(extras.more.iter().cloned());
    args.extend(words(&["--replay-user-messages", ""]));
    Command {
        program: start.program.to_string(),
        args,
        inherit: Inherit::All,
        env: variables(start, environment),
        cwd: start.setup.cwd.clone(),
    }
}

fn all(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().map(String::as_str)
}

/// What the client wants is not allowed to be what the adapter cannot do without.
fn variables(start: &Start<'_>, environment: &Environment) -> Vec<(String, Option<String>)> {
    let extras = start.extras;
    let set = |name: &str, value: &str| (name.to_string(), Some(value.to_string()));
    let mut env: Vec<(String, Option<String>)> = Vec::new();
    if !environment.has_entrypoint() {
        env.push(set("CLAUDE_CODE_ENTRYPOINT", "sdk-ts"));
    }
    for (name, value) in &extras.env {
        env.retain(|(known, _)| known != name);
        env.push((name.clone(), value.clone()));
    }
    let ours = [
        set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
        set("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1"),
        set("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"),
        set("CLAUDE_AGENT_SDK_VERSION", super::RECORDED_SDK),
        ("NODE_OPTIONS".to_string(), None),
        ("DEBUG".to_string(), None),
    ];
    env.retain(|(name, _)| ours.iter().all(|(known, _)| known != name));
    env.extend(ours);
    // What a prompt changed is known only where the program keeps what was before.
    if start.setup.client.extras.file_reports {
        env.push(set("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true"));
    }
    env.extend(environment.routed());
    env
}

/// The client's settings, and the models that the environment puts in the place of others.
fn settings(given: Option<&str>, environment: &Environment) -> Option<String> {
    let overrides = environment.model_overrides();
    let Some(overrides) = overrides else {
        return given.map(String::from);
    };
    let ours = object! { "modelOverrides": overrides };
    match given.map(serde_json::from_str::<Object>) {
        None => Some(json(&ours)),
        Some(Ok(given)) => Some(json(&ours.merged(given))),
        // A file: what it says is the client's.
        Some(Err(_)) => given.map(String::from),
    }
}

fn thinking(args: &mut Vec<String>, environment: &Environment) {
    match environment.thinking() {
        Thinking::Unset => {}
        Thinking::Off => args.push("--thinking=disabled".to_string()),
        Thinking::Budget(tokens) => args.push(format!("--max-thinking-tokens={tokens}")),
    }
    if let Some(display) = environment.thinking_display() {
        args.push(format!("--thinking-display={display}"));
    }
}

/// As the program reads them; the editor's own win over those of its options.
fn servers(mut all: Object, servers: &[McpServer]) -> Object {
    for server in servers {
        let pairs = |pairs: &[(String, String)]| {
            let mut object = Object::new();
            for (name, value) in pairs {
                object.set(name, value);
            }
            object
        };
        let described = match &server.by {
            Transport::Stdio { command, args, env } => object! {
                "type": "stdio", "command": command, "args": args, "env": pairs(env),
            },
            Transport::Web { sse, url, headers } => object! {
                "type": if *sse { "sse" } else { "http" }, "url": url, "headers": pairs(headers),
            },
        };
        all.set(&server.name, &described);
    }
    all
}

fn json(object: &Object) -> String {
    // Texts alone: serialising them cannot fail.
    serde_json::to_string(object).unwrap_or_default()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
