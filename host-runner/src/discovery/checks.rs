//! Owner, kind and mode of the files on the way to a Host.
//!
//! It touches the file system by looking and reading. Invariant: content is read from the
//! file that was checked, not from its path a second time.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, lstat, open};
use rustix::io::Errno;
use rustix::process::Uid;

use super::Problem;

/// Whose files are trusted.
pub(super) struct Ground {
    pub(super) user: Uid,
    /// The account's home, from the password database.
    pub(super) home: Option<PathBuf>,
}

impl Ground {
    /// The user of this process.
    pub(super) fn own() -> Ground {
        Ground {
            user: rustix::process::geteuid(),
            home: super::account_home(),
        }
    }

    /// A regular file of the user that nobody else can touch: its text. `what` starts a
    /// sentence.
    pub(super) fn file(&self, path: &Path, at_most: u64, what: &str) -> Result<String, Problem> {
        // Looked at first: opening a FIFO or a device could already do something.
        self.check(path, &look(path)?, Kind::File, what)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty()).map_err(|error| failed(path, error))?;
        let stat = fstat(&file).map_err(|error| failed(path, error))?;
        self.check(path, &stat, Kind::File, what)?;
        let mut text = String::new();
        File::from(file)
            .take(at_most + 1)
            .read_to_string(&mut text)
            .map_err(|error| {
                Problem::Failed(format!("{what} {} cannot be read: {error}", path.display()))
            })?;
        if text.len() as u64 > at_most {
            return Err(Problem::Failed(format!(
                "{what} {} is larger than {at_most} bytes.",
                path.display()
            )));
        }
        Ok(text)
    }

    /// A folder of the user that nobody else can touch.
    pub(super) fn folder(&self, path: &Path, what: &str) -> Result<(), Problem> {
        self.check(path, &look(path)?, Kind::Folder, what)
    }

    /// A folder in which nobody else can replace a file of the user: `/tmp` will do.
    pub(super) fn shared_folder(&self, path: &Path, what: &str) -> Result<(), Problem> {
        let path = path.canonicalize().map_err(|error| failed(path, error))?;
        let stat = look(&path)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        let trusted = Uid::from_raw(stat.st_uid) == self.user || stat.st_uid == 0;
        let closed = !mode.intersects(Mode::WGRP | Mode::WOTH) || mode.contains(Mode::SVTX);
        if trusted && closed {
            return Ok(());
        }
        Err(Problem::Insecure(format!(
            "{what} {} lets other users replace what is in it; use a socket in a folder of your own.",
            path.display()
        )))
    }

    /// A socket of the user that nobody else can touch.
    pub(super) fn socket(&self, path: &Path, what: &str) -> Result<(), Problem> {
        self.check(path, &look(path)?, Kind::Socket, what)
    }

    fn check(&self, path: &Path, stat: &Stat, kind: Kind, what: &str) -> Result<(), Problem> {
        let path = path.display();
        if FileType::from_raw_mode(stat.st_mode) != kind.file_type() {
            return Err(Problem::Insecure(format!(
                "{what} {path} is not {}.",
                kind.name()
            )));
        }
        if Uid::from_raw(stat.st_uid) != self.user {
            return Err(Problem::Insecure(format!(
                "{what} {path} belongs to user {}, not to you.",
                stat.st_uid
            )));
        }
        let mode = Mode::from_raw_mode(stat.st_mode);
        if mode.intersects(Mode::RWXG | Mode::RWXO) {
            return Err(Problem::Insecure(format!(
                "{what} {path} is open to other users (mode {:04o}); it must have mode {}.",
                mode.bits() & 0o7777,
                kind.mode(),
            )));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Kind {
    File,
    Folder,
    Socket,
}

impl Kind {
    fn file_type(self) -> FileType {
        match self {
            Kind::File => FileType::RegularFile,
            Kind::Folder => FileType::Directory,
            Kind::Socket => FileType::Socket,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::File => "a regular file",
            Kind::Folder => "a folder",
            Kind::Socket => "a socket",
        }
    }

    fn mode(self) -> &'static str {
        match self {
            Kind::File | Kind::Socket => "0600",
            Kind::Folder => "0700",
        }
    }
}

/// What is at the path itself, links not followed.
fn look(path: &Path) -> Result<Stat, Problem> {
    lstat(path).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: impl Into<io::Error>) -> Problem {
    let error = error.into();
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT | Errno::NOTDIR) => Problem::Absent,
        // Opened with NOFOLLOW: it became a link after it was looked at.
        Some(Errno::LOOP) => Problem::Insecure(format!("{} is a symbolic link.", path.display())),
        _ => Problem::Failed(format!("{}: {error}", path.display())),
    }
}

/// Signs of life.
pub(super) mod is {
    use std::path::Path;

    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    /// A process of this number is there, whoever's.
    pub(in super::super) fn process(pid: i32) -> bool {
        Pid::from_raw(pid)
            .is_some_and(|pid| matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM)))
    }

    /// Somebody holds a lock on this file. Read from the system's list: trying the lock
    /// would, for a moment, take it from a Host that is just starting.
    #[cfg(target_os = "linux")]
    pub(in super::super) fn locked(path: &Path) -> bool {
        let Ok(stat) = rustix::fs::lstat(path) else {
            return false;
        };
        let Ok(locks) = std::fs::read_to_string("/proc/locks") else {
            return false;
        };
        let number = format!(":{}", stat.st_ino);
        let device = format!(
            "{:02x}:{:02x}",
            rustix::fs::major(stat.st_dev),
            rustix::fs::minor(stat.st_dev)
        );
        // `1: FLOCK  ADVISORY  WRITE 7821 fd:00:1234 0 EOF`; waiters have `->` after the number.
        locks.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let waits = words.get(1) == Some(&"->");
            !waits
                && words.get(3) == Some(&"WRITE")
                && words
                    .get(5)
                    .is_some_and(|place| place.strip_suffix(&number) == Some(&device))
        })
    }
    /// Elsewhere there is no such list.
    #[cfg(not(target_os = "linux"))]
    pub(in super::super) fn locked(_: &Path) -> bool {
        false
    }
}
