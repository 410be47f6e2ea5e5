//! A folder with a session in it, and what its process left there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::editor::{Editor, PROMISE};

/// Where the stand-in is.
pub const CLAUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/claude/claude.sh");

/// Long enough for a machine that is busy; a test that passes never waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Place(TempDir);

impl Place {
    pub fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn cwd(&self) -> &str {
        self.0.path().to_str().expect("text")
    }

    /// The program, told where the stand-in is by nothing but these words.
    pub fn program(&self, words: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_host-runner"));
        program
            .args(["--host", "claude"])
            .args(words)
            .current_dir(self.cwd())
            .env("HOME", self.cwd())
            .env_remove("CLAUDE_CODE_EXECUTABLE");
        program
    }

    /// An editor with a program that runs this executable.
    pub fn editor(&self, executable: &str) -> Editor {
        Editor::of(&mut self.program(&["--claude", executable]))
    }

    /// An editor with a session of the stand-in.
    pub fn session(&self) -> (Editor, String) {
        let mut editor = self.editor(CLAUDE);
        let session = editor.session_in(self.cwd());
        (editor, session)
    }

    /// An editor in the middle of a turn that this prompt began.
    pub fn in_turn(&self, prompt: &str) -> (Editor, String, u64) {
        let (mut editor, session) = self.session();
        let prompt = editor.prompt(&session, prompt);
        editor.wait_for_text();
        (editor, session, prompt)
    }

    /// Asks for a session and waits until its process is there, which says nothing.
    pub fn ask(&self, editor: &mut Editor) -> u64 {
        let id = editor.ask(
            "session/new",
            json!({ "cwd": self.cwd(), "mcpServers": [] }),
        );
        self.group();
        id
    }

    /// What the process left in a file, as soon as it is there.
    pub fn left(&self, name: &str) -> String {
        let path = self.path(name);
        eventually(|| {
            fs::read_to_string(&path)
                .ok()
                .filter(|it| it.ends_with('\n'))
        })
        .unwrap_or_else(|| panic!("no {name}"))
    }

    /// The number of the process.
    pub fn group(&self) -> Group {
        Group(number(&self.left("group")))
    }

    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        path.to_str().expect("text").to_owned()
    }
}

/// A process, and the group that it leads.
#[derive(Clone, Copy)]
pub struct Group(Pid);

impl Group {
    pub fn of(number_in_a_file: &str) -> Group {
        Group(number(number_in_a_file))
    }

    pub fn kill(self) {
        kill_process(self.0, Signal::KILL).expect("it lives");
    }

    /// Whether a member is there. One that nobody waited for yet counts, so this is asked
    /// until it is not.
    pub fn lives(self) -> bool {
        test_kill_process_group(self.0) != Err(Errno::SRCH)
    }

    /// Waits until no member is left, as long as the program promises.
    #[track_caller]
    pub fn ends(self) {
        let over = eventually(|| (!self.lives()).then_some(()));
        assert!(over.is_some(), "the group of {:?} is still there", self.0);
    }
}

fn number(text: &str) -> Pid {
    let number = text.trim().parse().expect("a number");
    Pid::from_raw(number).expect("a process")
}

/// Asks again and again, for as long as is promised and a bit, as machines are busy.
fn eventually<T>(fact: impl Fn() -> Option<T>) -> Option<T> {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = fact();
        if found.is_some() || Instant::now() > until {
            return found;
        }
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The request of the agent by this method.
pub fn request(editor: &mut Editor, method: &str) -> Value {
    editor.wait(PROMISE, |message| message["method"] == json!(method))
}
