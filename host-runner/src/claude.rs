//! Claude Code as this machine has it: which executable, and what of the environment the
//! component is told.
//!
//! Reads the environment, and nothing else. Invariant: the component learns only of
//! variables that are on the list here, and of secrets only that they are set
//! ([`crate::journal::redacted`] sees to that).

use std::ffi::OsString;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use anyhow::{Error, anyhow};
use serde_json::{Map, Value};

use crate::args::Options;
use crate::grants::Program;
use crate::words::HostRefusal;

/// Under which name the executable is granted.
pub const NAME: &str = "claude";

/// How it is installed.
const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";

/// Variables that change what the component does.
const KNOWN: [&str; 20] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "AWS_REGION",
    "CLAUDE_AGENT_ACP_PROTOCOL",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_REMOTE",
    "CLAUDE_CODE_THINKING_DISPLAY",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_MODEL_CONFIG",
    "CLOUD_ML_REGION",
    "HOME",
    "IS_SANDBOX",
    "MAX_THINKING_TOKENS",
    "NO_BROWSER",
];

/// Variables of which it matters only whether they are set: where somebody came from is
/// nobody's business.
const PRESENT: [&str; 3] = ["SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY"];

/// Says that this program runs as root. No variable of a user: the engine reads it so.
const IS_ROOT: &str = "AIRLOCK_IS_ROOT";

/// Says that nobody is to work with a subscription. No variable of a user either.
const HIDES_SUBSCRIPTIONS: &str = "AIRLOCK_HIDE_CLAUDE_AUTH";

/// Files that need an interpreter.
const SCRIPTS: [&str; 6] = ["cjs", "js", "jsx", "mjs", "ts", "tsx"];

/// The executable that the options name, else the environment, else the one on `PATH`.
#[must_use]
pub fn executable(options: &Options) -> Program {
    let named = options
        .claude
        .clone()
        .or_else(|| std::env::var_os("CLAUDE_CODE_EXECUTABLE").map(PathBuf::from))
        .filter(|path| !path.as_os_str().is_empty());
    program(named.unwrap_or_else(|| NAME.into()))
}

/// A word without a slash is looked for on `PATH`. A path is meant from here, not from the
/// folder of a session.
fn from_here(named: PathBuf) -> PathBuf {
    if named.components().count() > 1 {
        std::path::absolute(&named).unwrap_or(named)
    } else {
        named
    }
}

fn program(named: PathBuf) -> Program {
    let path = from_here(named);
    let extension = path.extension().and_then(|it| it.to_str());
    if extension.is_some_and(|it| SCRIPTS.contains(&it)) {
        return Program {
            script: std::path::absolute(&path).ok(),
            ..Program::at("node")
        };
    }
    Program::at(path)
}

/// What the component is told of the environment.
#[must_use]
pub fn environment(options: &Options) -> Map<String, Value> {
    let root = rustix::process::geteuid().is_root();
    let mut told = told(|name| std::env::var_os(name), root);
    if options.hide_claude_auth {
        told.insert(HIDES_SUBSCRIPTIONS.into(), "1".into());
    }
    told
}

/// How an editor starts this program again, for somebody to sign in in a terminal: as it was
/// started, where that can be known.
#[must_use]
pub fn command() -> String {
    let own = std::env::current_exe().map(|path| path.display().to_string());
    own.unwrap_or_default()
}

/// What comes first behind that command: the executable that was named at start.
#[must_use]
pub fn arguments(options: &Options) -> Vec<String> {
    let named = options.claude.clone().map(from_here);
    named.map_or_else(Vec::new, |path| {
        vec!["--claude".into(), path.display().to_string()]
    })
}

fn told(variable: impl Fn(&str) -> Option<OsString>, root: bool) -> Map<String, Value> {
    let mut told = Map::new();
    for name in KNOWN {
        if let Some(value) = variable(name) {
            told.insert(name.into(), value.to_string_lossy().into());
        }
    }
    for name in PRESENT {
        if variable(name).is_some_and(|value| !value.is_empty()) {
            told.insert(name.into(), "set".into());
        }
    }
    if root {
        told.insert(IS_ROOT.into(), "1".into());
    }
    told
}

/// Where Claude Code keeps its sessions. Made where it is not there yet, as the program would
/// at its first session: a folder can only be granted when it exists.
#[must_use]
pub fn sessions() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let config = named("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let config = config.or_else(|| Some(Path::new(&named("HOME")?).join(".claude")))?;
    let sessions = config.join("projects");
    if let Err(error) = std::fs::create_dir_all(&sessions) {
        tracing::warn!("{} cannot be made: {error}", sessions.display());
    }
    Some(sessions)
}

/// Where Claude Code keeps what commands in the background print. Made where it is not there
/// yet, for this user alone, as the program would.
#[must_use]
pub fn task_output() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let folder = task_folder(|name| std::env::var_os(name), user);
    let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
    if let Err(error) = made.or_else(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(error),
    }) {
        tracing::warn!("{} cannot be made: {error}", folder.display());
    }
    // A link, or somebody else's folder, is not what the program would use.
    let facts = std::fs::symlink_metadata(&folder).ok()?;
    (facts.is_dir() && facts.uid() == user).then_some(folder)
}

fn task_folder(variable: impl Fn(&str) -> Option<OsString>, user: u32) -> PathBuf {
    let named = |name| variable(name).filter(|value| !value.is_empty());
    let temporary = named("CLAUDE_CODE_TMPDIR").or_else(|| named("TMPDIR"));
    let temporary = temporary.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    temporary.join(format!("claude-{user}"))
}

/// Becomes the executable. Comes back only when that fails.
#[must_use]
pub fn become_it(options: &Options, words: &[OsString]) -> Error {
    let program = executable(options);
    let name = shown(&program).display().to_string();
    match program.locate() {
        Ok(path) => {
            let failed = std::process::Command::new(path)
                .args(&program.script)
                .args(words)
                .exec();
            Error::new(failed).context(format!("{name} cannot be started"))
        }
        Err(HostRefusal::Absent) => anyhow!(
            "Claude Code was not found ({name}). Install it with `{INSTALL}`, or name it with \
             --claude PATH or CLAUDE_CODE_EXECUTABLE."
        ),
        Err(HostRefusal::Failed(why)) => anyhow!(why),
        Err(other) => anyhow!("{name} cannot be started: {other:?}"),
    }
}

fn shown(program: &Program) -> &Path {
    program.script.as_deref().unwrap_or(&program.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_words_for_an_executable_when_read_then_paths_are_absolute_and_scripts_get_node() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(program("claude".into()), Program::at("claude"));
        assert_eq!(program("/opt/claude".into()), Program::at("/opt/claude"));
        assert_eq!(program("./claude".into()), Program::at(here.join("claude")));
        assert_eq!(
            program("bin/cli.mjs".into()),
            Program {
                script: Some(here.join("bin/cli.mjs")),
                ..Program::at("node")
            }
        );
    }

    #[test]
    fn given_folders_for_temporary_files_when_read_then_the_programs_own_comes_first() {
        let folder = |own: &'static str, all: &'static str| {
            task_folder(
                |name| match name {
                    "CLAUDE_CODE_TMPDIR" => Some(own.into()),
                    "TMPDIR" => Some(all.into()),
                    _ => None,
                },
                7,
            )
        };
        assert_eq!(folder("/own", "/all"), Path::new("/own/claude-7"));
        assert_eq!(folder("", "/all"), Path::new("/all/claude-7"));
        assert_eq!(folder("", ""), Path::new("/tmp/claude-7"));
    }

    #[test]
    fn given_hidden_subscriptions_when_told_then_the_component_hears_of_it_and_else_not() {
        let hidden = |hide_claude_auth| {
            let options = Options {
                hide_claude_auth,
                ..Options::default()
            };
            environment(&options).contains_key(HIDES_SUBSCRIPTIONS)
        };
        assert!(hidden(true) && !hidden(false));
    }

    #[test]
    fn given_a_named_executable_when_somebody_signs_in_then_it_is_named_again() {
        assert!(Path::new(&command()).is_absolute());
        assert_eq!(arguments(&Options::default()), [""; 0]);
        let options = Options {
            claude: Some("/opt/claude".into()),
            ..Options::default()
        };
        assert_eq!(arguments(&options), ["--claude", "/opt/claude"]);
    }

    #[test]
    fn given_an_environment_when_told_then_only_what_is_listed_is_and_of_a_login_that_there_is_one()
    {
        let variable = |name: &str| -> Option<OsString> {
            match name {
                "HOME" => Some("/home/me".into()),
                "PATH" | "AWS_SECRET_ACCESS_KEY" => Some("not told".into()),
                "SSH_CONNECTION" => Some("192.0.2.1 5 192.0.2.2 22".into()),
                "SSH_TTY" => Some("".into()),
                _ => None,
            }
        };
        let told = |root| Value::Object(told(variable, root));
        let user = serde_json::json!({ "HOME": "/home/me", "SSH_CONNECTION": "set" });
        assert_eq!(told(false), user);
        assert_eq!(told(true)["AIRLOCK_IS_ROOT"], "1");
    }
}
