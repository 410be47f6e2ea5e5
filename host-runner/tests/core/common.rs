//! The puppet component, and the program under test.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The puppet (tests/puppet), built once a test run with a cargo of its own.
pub fn puppet() -> &'static Path {
    static PUPPET: OnceLock<PathBuf> = OnceLock::new();
    PUPPET.get_or_init(|| {
        let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("puppet");
        let status = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--locked",
                "--package",
                "airlock-puppet",
            ])
            .args([
                "--profile",
                "component",
                "--target",
                "wasm32-wasip2",
                "--target-dir",
            ])
            .arg(&target_dir)
            .env_remove("CARGO_BUILD_TARGET")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .status()
            .expect("cargo starts");
        assert!(status.success(), "the puppet does not build");
        target_dir.join("wasm32-wasip2/component/airlock_puppet.wasm")
    })
}

/// The puppet's bytes.
pub fn puppet_bytes() -> Vec<u8> {
    std::fs::read(puppet()).expect("the puppet is there")
}

/// A folder for one test, with everything that the program may write.
pub struct Bench {
    pub folder: TempDir,
}

/// How a program ended.
#[derive(Debug, PartialEq)]
pub struct End {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The program, running as an agent.
pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Bench {
    pub fn new() -> Bench {
        Bench {
            folder: tempfile::tempdir().expect("a folder for the test"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with these words, in an environment of its own: no Host of the user's,
    /// no setting, a compiled puppet shared between tests.
    pub fn program<W: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_host-runner"));
        command
            .args(words)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env(
                "XDG_CACHE_HOME",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
            )
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end with this input.
    pub fn run<W: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
        input: &str,
    ) -> End {
        let mut child = self.program(words).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that refuses to start does not read.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("the program ends");
        End {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Starts the puppet as an agent, with more words.
    pub fn agent(&self, words: &[&str]) -> Agent {
        let mut command = self.program(["--host", "embedded", "--component"]);
        command.arg(puppet()).args(words).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Agent {
            child,
            stdin,
            stdout,
        }
    }
}

impl Agent {
    pub fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin
            .write_all(line.as_bytes())
            .and_then(|()| stdin.write_all(b"\n"))
            .expect("it reads");
    }

    /// The next line it says; empty at the end.
    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Closes stdin and waits.
    pub fn end(mut self) -> ExitStatus {
        self.stdin = None;
        self.child.wait().expect("it ends")
    }

    /// Waits, with stdin open.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
