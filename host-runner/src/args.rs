//! The command line. Words to values, nothing more: what they mean is decided in
//! [`crate::config`].

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing::level_filters::LevelFilter;

/// What a component may ask for, as `--help` says it; [`crate::grants`] is the table itself.
const GRANTS: &str = "\
What the component may ask for; everything else is refused:
  Hosts: the one that --host names
  Programs: the Claude Code executable, when --host is claude
  Files: those that the editor names, read only, below the current folder, the home folder,
         $TMPDIR and /tmp, or only below the folders that --allow-files names;
         with --host claude the sessions that Claude Code stores (read, copied, named, deleted)
         and what its commands in the background print (read)
  Network: none";

/// Airlock connects editors that speak the Agent Client Protocol (ACP) to agent Hosts.
///
/// Without a command it is an ACP agent on stdin and stdout, for editors to start. All
/// decisions are made by a sandboxed WebAssembly component; this program only carries its
/// bytes, and opens for it nothing that its options do not name.
#[derive(Debug, Parser)]
#[command(
    name = "host-runner",
    version,
    max_term_width = 100,
    subcommand_help_heading = "Commands",
    after_long_help = GRANTS
)]
pub struct Cli {
    /// What to do instead of being an agent.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Become the Claude Code executable, with all arguments that follow. Editors sign in so,
    /// in a terminal: `--cli auth login`.
    #[arg(long, value_name = "ARGS", num_args = 0.., allow_hyphen_values = true)]
    pub cli: Option<Vec<OsString>>,

    /// Options of the agent.
    #[command(flatten)]
    pub options: Options,
}

/// What else the program does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send one prompt without an editor: the answer on stdout, progress and tool cards on
    /// stderr; the exit code says how it ended.
    Prompt(Prompt),
    /// Run a recording again and compare every effect: exit code 1 and the first difference
    /// when they are not equal.
    Replay(Replay),
    /// Ends child processes when the program that started this one is gone.
    #[command(hide = true)]
    Supervise(Supervise),
}

/// Which Host, and how to run.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Which Host answers. `auto` takes the one that another option names, else a running Maka
    /// Runtime Host, else the embedded demonstration.
    #[arg(
        long,
        global = true,
        value_enum,
        env = "AIRLOCK_HOST",
        default_value = "auto"
    )]
    pub host: HostArg,

    /// State root of the Maka Host [default: per platform].
    #[arg(long, global = true, value_name = "DIR", env = "AIRLOCK_MAKA_ROOT")]
    pub maka_root: Option<PathBuf>,

    /// Connect straight to this socket of a Maka Host; its owner and mode are still checked.
    #[arg(long, global = true, value_name = "PATH", env = "AIRLOCK_MAKA_SOCKET")]
    pub maka_socket: Option<PathBuf>,

    /// The Claude Code executable [default: $CLAUDE_CODE_EXECUTABLE, else `claude` on the PATH].
    #[arg(long, global = true, value_name = "PATH")]
    pub claude: Option<PathBuf>,

    /// Let nobody work with a Claude subscription: it is not offered as a way to sign in, and
    /// sessions that would use one are refused.
    #[arg(long, global = true)]
    pub hide_claude_auth: bool,

    /// Give agents only files below this folder, instead of those below the current folder,
    /// your home and the temporary folders; may be repeated. A link that leads out of it is
    /// refused.
    #[arg(long, global = true, value_name = "DIR")]
    pub allow_files: Vec<PathBuf>,

    /// What the embedded Host plays.
    #[arg(long, global = true, value_name = "FILE")]
    pub embedded_script: Option<PathBuf>,

    /// Where the embedded Host keeps its sessions [default: in memory].
    #[arg(long, global = true, value_name = "DIR")]
    pub embedded_state: Option<PathBuf>,

    /// Run this component instead of the built-in one.
    #[arg(long, global = true, value_name = "FILE.wasm")]
    pub component: Option<PathBuf>,

    /// Write configuration, seed, every input and every effect to this new file, for
    /// `replay`. It holds the content of all messages; only its owner may read it.
    #[arg(long, global = true, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// What is logged on stderr: off, error, warn, info, debug or trace.
    #[arg(
        long,
        global = true,
        value_name = "LEVEL",
        env = "AIRLOCK_LOG",
        default_value = "warn"
    )]
    pub log: Level,

    /// Where Hosts register, for tests: so that none meets a user's real Host.
    #[arg(long, global = true, value_name = "DIR", hide = true)]
    pub hosts_dir: Option<PathBuf>,

    /// Fail on purpose at the first line that contains MARKER, for tests of the rescue.
    #[arg(long, global = true, value_name = "KIND:MARKER", hide = true)]
    pub plan_fault: Option<PlannedFault>,
}

/// One prompt without an editor.
#[derive(Args, Debug)]
pub struct Prompt {
    /// Working folder of the session [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,

    /// Print every ACP message that comes back, one JSON line each, instead of the answer.
    #[arg(long)]
    pub json: bool,

    /// The prompt; several words are joined.
    #[arg(required = true, value_name = "TEXT")]
    pub text: Vec<String>,
}

/// A recording to run again.
#[derive(Args, Debug)]
pub struct Replay {
    /// What `--record` wrote.
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,

    /// Run the adapter natively, for a debugger, instead of in its sandbox.
    #[arg(long)]
    pub native: bool,
}

/// Words for the supervisor; only this program writes them.
#[derive(Args, Debug)]
pub struct Supervise {
    /// Passed on.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<String>,
}

/// `--host`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HostArg {
    /// What is there.
    #[default]
    Auto,
    /// The demonstration inside this program; needs nothing.
    Embedded,
    /// A Maka Runtime Host on its Unix socket.
    Maka,
    /// Claude Code, one process a session.
    Claude,
}

/// `--log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(pub LevelFilter);

impl Default for Level {
    fn default() -> Level {
        Level(LevelFilter::WARN)
    }
}

impl std::str::FromStr for Level {
    type Err = String;

    fn from_str(word: &str) -> Result<Level, String> {
        word.parse()
            .map(Level)
            .map_err(|_| "the levels are off, error, warn, info, debug and trace".to_owned())
    }
}

/// `--plan-fault`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// `trap`, `spin` or `grow`.
    pub kind: String,
    /// Text to look for.
    pub marker: String,
}

impl std::str::FromStr for PlannedFault {
    type Err = String;

    fn from_str(words: &str) -> Result<PlannedFault, String> {
        match words.split_once(':') {
            Some((kind @ ("trap" | "spin" | "grow"), marker)) if !marker.is_empty() => {
                Ok(PlannedFault {
                    kind: kind.into(),
                    marker: marker.into(),
                })
            }
            _ => Err("a planned fault is trap:MARKER, spin:MARKER or grow:MARKER".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn given_the_command_line_when_clap_checks_itself_then_it_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn given_options_on_either_side_of_a_command_when_parsed_then_both_count() {
        let words = [
            "host-runner",
            "--host",
            "embedded",
            "prompt",
            "--log",
            "info",
            "a",
            "b",
        ];
        let cli = Cli::try_parse_from(words).unwrap();
        assert_eq!(cli.options.host, HostArg::Embedded);
        assert_eq!(cli.options.log, Level(LevelFilter::INFO));
        let Some(Command::Prompt(prompt)) = cli.command else {
            panic!("a prompt")
        };
        assert_eq!(prompt.text, ["a", "b"]);
    }

    #[test]
    fn given_folders_on_either_side_of_a_command_when_parsed_then_all_count() {
        let words = ["host-runner", "--allow-files", "/a", "--allow-files", "/b"];
        let cli = Cli::try_parse_from(words).unwrap();
        assert_eq!(
            cli.options.allow_files,
            [PathBuf::from("/a"), PathBuf::from("/b")]
        );
    }

    #[test]
    fn given_a_planned_fault_when_parsed_then_kind_and_marker_are_told_apart() {
        let fault: PlannedFault = "spin:a:b".parse().unwrap();
        assert_eq!(
            fault,
            PlannedFault {
                kind: "spin".into(),
                marker: "a:b".into()
            }
        );
        for wrong in ["spin", "spin:", "burn:x"] {
            assert!(wrong.parse::<PlannedFault>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn given_words_after_cli_when_parsed_then_all_of_them_are_the_executables() {
        let ours = ["host-runner", "--host", "claude", "--claude", "/c", "--cli"];
        let theirs = [
            "auth", "prompt", "--help", "--host", "x", "--", "-p", "--cli",
        ];
        let cli = Cli::try_parse_from(ours.iter().chain(&theirs)).unwrap();
        assert_eq!(cli.options.claude, Some("/c".into()));
        assert_eq!(cli.cli, Some(theirs.map(OsString::from).to_vec()));
        assert!(cli.command.is_none());
        let none = Cli::try_parse_from(["host-runner", "--cli"]).unwrap();
        assert_eq!(none.cli, Some(vec![]));
    }

    #[test]
    fn given_help_when_shown_then_test_options_are_not_in_it() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("--maka-socket") && help.contains("AIRLOCK_HOST"));
        assert!(!help.contains("--hosts-dir") && !help.contains("--plan-fault"));
        assert!(!help.contains("supervise"));
    }
}
