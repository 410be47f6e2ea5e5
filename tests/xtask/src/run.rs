//! Running programs: the words, where, and a sentence when one fails.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Why a command of the project failed.
#[derive(Debug)]
pub struct Failed(pub String);

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        Failed(error.to_string())
    }
}

/// A program to run.
pub struct Run(Command);

/// Cargo, the one that runs this.
pub fn cargo<'a>(words: impl IntoIterator<Item = &'a str>) -> Run {
    program(std::env::var_os("CARGO").unwrap_or("cargo".into())).args(words)
}

/// Any program, in the project's folder.
pub fn program(name: impl AsRef<OsStr>) -> Run {
    let mut command = Command::new(name);
    command.current_dir(root());
    Run(command)
}

impl Run {
    /// More words.
    pub fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Run {
        self.0.args(words);
        self
    }

    /// A variable of the environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Run {
        self.0.env(name, value);
        self
    }

    /// Another folder.
    pub fn within(mut self, folder: &Path) -> Run {
        self.0.current_dir(folder);
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When it cannot be started or does not succeed.
    pub fn done(mut self) -> Result<(), Failed> {
        let status = self.0.status().map_err(|error| self.unstartable(&error))?;
        if status.success() {
            Ok(())
        } else {
            Err(Failed(format!("{:?}: {status}", self.0)))
        }
    }

    /// Runs it to its end and keeps what it printed, whatever its end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn output(mut self) -> Result<Output, Failed> {
        self.0.output().map_err(|error| self.unstartable(&error))
    }

    fn unstartable(&self, error: &std::io::Error) -> Failed {
        Failed(format!(
            "{} cannot be started: {error}",
            self.0.get_program().to_string_lossy()
        ))
    }
}

/// The project's folder.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.ancestors().nth(2).unwrap_or(&here).to_path_buf()
}

/// Adds the target of the component where it is missing.
///
/// # Errors
/// When rustup is missing or cannot add it.
pub fn ensure_wasm_target() -> Result<(), Failed> {
    let listed = program("rustup")
        .args(["target", "list", "--installed"])
        .output()?;
    if String::from_utf8_lossy(&listed.stdout)
        .lines()
        .any(|line| line == "wasm32-wasip2")
    {
        return Ok(());
    }
    program("rustup")
        .args(["target", "add", "wasm32-wasip2"])
        .done()
}
