//! How a `claude` process is started (Claude adapter, Part 2.1).
//!
//! Pure. Invariant: the order of the arguments is fixed, so that the same session gives the
//! same process.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::environment::{Environment, Thinking};
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
    thinking(&mut args, environment);
    args.push("--permission-prompt-tool=stdio".to_string());
    if start.resume {
        args.push(format!("--resume={}", start.session_id));
    }
    if !start.asks {
        args.push("--disallowedTools=AskUserQuestion".to_string());
    }
    args.push("--tools=default".to_string());
    if !start.setup.servers.is_empty() {
        args.push("--mcp-config".to_string());
        args.push(servers(&start.setup.servers));
    }
    args.push("--setting-sources=user,project,local".to_string());
    args.push(format!("--permission-mode={}", start.mode));
    if environment.may_bypass() {
        args.push("--allow-dangerously-skip-permissions".to_string());
    }
    args.push("--include-partial-messages".to_string());
    for folder in &start.setup.folders {
        args.push(format!("--add-dir={folder}"));
    }
    if !start.resume {
        args.push(format!("--session-id={}", start.session_id));
    }
    args.extend(words(&["--replay-user-messages", ""]));
    let set = |name: &str, value: &str| (name.to_string(), Some(value.to_string()));
    // What a prompt changed is known only where the program keeps what was before.
    let keeps = start.setup.client.extras.file_reports;
    let keeps = keeps.then(|| set("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true"));
    Command {
        program: start.program.to_string(),
        args,
        inherit: Inherit::All,
        env: [
            set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
            set("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1"),
            set("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"),
            set("CLAUDE_CODE_ENTRYPOINT", "sdk-ts"),
            ("NODE_OPTIONS".to_string(), None),
            ("DEBUG".to_string(), None),
        ]
        .into_iter()
        .chain(keeps)
        .chain(environment.routed())
        .collect(),
        cwd: start.setup.cwd.clone(),
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

/// `{"mcpServers": {...}}` as the program reads it.
fn servers(servers: &[McpServer]) -> String {
    let mut all = Object::new();
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
    // Texts alone: serialising them cannot fail.
    serde_json::to_string(&object! { "mcpServers": all }).unwrap_or_default()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}
