//! What the engine wants done. The words are those of the WIT contract.

use alloc::string::String;
use alloc::vec::Vec;

use crate::input::{Channel, Handle, Root, Timer};

/// One thing to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// To the editor.
    Acp(AcpDeparture),
    /// To a Host.
    Host(Channel, HostDeparture),
    /// To the files.
    File(Handle, FileDeparture),
    /// Arm a timer: due on the monotonic clock, in milliseconds.
    Arm(Timer, u64),
    /// Forget a timer.
    Disarm(Timer),
    /// A line for the log. Never carries message content.
    Note(Level, String),
    /// The engine has finished; the exit code.
    Done(u8),
}

/// How important a line for the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something failed that people should know of.
    Error,
    /// Something odd that was survived.
    Warn,
    /// What happens, in few words.
    Info,
    /// What happens, step by step.
    Debug,
}

/// What goes to the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcpDeparture {
    /// Whole messages with their line ends, joined.
    Bytes(Vec<u8>),
    /// Flush, then close.
    Finish,
}

/// Which environment a child process starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherit {
    /// The embedder's environment.
    All,
    /// Only what a program needs to start.
    Minimal,
}

/// A child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// A name from the grant table, or an absolute path that it allows.
    pub program: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Which environment it starts with.
    pub inherit: Inherit,
    /// Variables to set, or with `None` to remove.
    pub env: Vec<(String, Option<String>)>,
    /// Absolute path of the working folder.
    pub cwd: String,
}

/// One HTTP exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Absolute address.
    pub url: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
}

/// What a channel leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Host on the grant table, by name.
    Host(String),
    /// A child process.
    Process(Command),
    /// An HTTP exchange.
    Http(Request),
}

/// What goes out on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostDeparture {
    /// Open it.
    Open(Target),
    /// Whole messages with their line ends, joined.
    Bytes(Vec<u8>),
    /// Read on, or leave bytes with the peer.
    Read(bool),
    /// No more bytes from us.
    Finish,
    /// Ask a child process group to end.
    Terminate,
    /// Close at once.
    Close,
}

/// A file request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileDeparture {
    /// What is at this absolute path.
    Stat(Root, String),
    /// Open read-only, without blocking, regular files only.
    Open(Root, String),
    /// Offset and length, at most 65,536 bytes.
    Read(u64, u32),
    /// What a folder holds.
    Entries(Root, String),
    /// From, to.
    Copy(String, String),
    /// A new file with this content, at most 65,536 bytes; never over an existing one.
    Create(String, Vec<u8>),
    /// At the end of an existing file, at most 65,536 bytes.
    Append(String, Vec<u8>),
    /// Remove a file.
    Remove(String),
    /// Forget the handle.
    Close,
}
