//! Words to configuration, nothing more.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, anyhow};
use clap::Parser;

use host_runner::adapter::Factory;
use host_runner::args::{Cli, Command, Level, Options, Prompt, Replay};
use host_runner::claude;
use host_runner::connection;
use host_runner::journal::{Broken, Outcome, replay};
use host_runner::prompt;
use host_runner::transport::{EditorPipe, Mailbox, raise_end, supervisor};

/// Exit code when the component failed for good (`EX_SOFTWARE`).
const BROKEN: u8 = 70;

fn main() -> ExitCode {
    let Cli {
        command,
        cli,
        options,
    } = Cli::parse();
    log_to_stderr(options.log);
    if let Some(words) = cli {
        return failed(&claude::become_it(&options, &words));
    }
    let outcome = match command {
        Some(Command::Supervise(_)) => supervisor::main(),
        Some(Command::Prompt(what)) => prompt_once(what, &options),
        Some(Command::Replay(what)) => run_again(&what, &options),
        None if io::stdin().is_terminal() => Ok(introduce()),
        None => agent(&options),
    };
    outcome.map_or_else(|error| failed(&error), ExitCode::from)
}

fn agent(options: &Options) -> Result<u8> {
    let mailbox = Mailbox::new();
    raise_end(mailbox.clone()).context("signals cannot be handled")?;
    let editor = EditorPipe::stdio().context("stdin or stdout is closed")?;
    connection::serve(options, editor, mailbox)
}

/// The agent on a thread, and the small client at the far end of its pipe.
fn prompt_once(what: Prompt, options: &Options) -> Result<u8> {
    let here = std::env::current_dir().context("the current folder cannot be used")?;
    let question = prompt::Options {
        cwd: what.cwd.map_or(here.clone(), |cwd| here.join(cwd)),
        json: what.json,
        text: what.text.join(" "),
    };
    let (near, far) = UnixStream::pair().context("no socket pair")?;
    let editor = EditorPipe::over(near).context("no socket pair")?;
    thread::scope(|scope| {
        let agent = scope.spawn(|| connection::serve(options, editor, Mailbox::new()));
        let code = prompt::run(far, question, &mut io::stdout(), &mut io::stderr());
        agent.join().map_err(|_| anyhow!("the agent panicked"))??;
        code
    })
}

fn run_again(what: &Replay, options: &Options) -> Result<u8> {
    let name = what.recording.display();
    let file = File::open(&what.recording).with_context(|| format!("{name} cannot be read"))?;
    let factory: Box<dyn Factory> = if what.native {
        native()?
    } else {
        Box::new(connection::component(options)?)
    };
    let outcome = replay(BufReader::new(file), factory.as_ref())
        .with_context(|| format!("{name} cannot be run again"))?;
    // A reader that has seen enough may be gone.
    let _ = writeln!(io::stdout(), "{outcome}");
    Ok(u8::from(matches!(outcome, Outcome::Differs(_))))
}

#[cfg(feature = "native")]
fn native() -> Result<Box<dyn Factory>> {
    Ok(Box::new(host_runner::native::Native))
}

#[cfg(not(feature = "native"))]
fn native() -> Result<Box<dyn Factory>> {
    anyhow::bail!("this program was built without the feature `native`")
}

fn introduce() -> u8 {
    say(
        "host-runner connects editors to agent Hosts: an editor starts it and speaks ACP on stdin and stdout.\n\
         Try it without one: host-runner prompt \"hello\"   (options: host-runner --help)",
    );
    0
}

/// To people. Nobody has to listen.
fn say(words: &str) {
    let _ = writeln!(io::stderr(), "{words}");
}

fn log_to_stderr(level: Level) {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_max_level(level.0)
        .init();
}

fn failed(error: &anyhow::Error) -> ExitCode {
    say(&format!("host-runner: {error:#}"));
    ExitCode::from(if error.is::<Broken>() { BROKEN } else { 1 })
}
