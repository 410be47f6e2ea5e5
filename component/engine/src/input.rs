//! What the engine is told. The words are those of the WIT contract.

use alloc::string::String;
use alloc::vec::Vec;

/// A channel to a Host, chosen by the engine, never used twice.
pub type Channel = u32;
/// A file handle, chosen by the engine, never used twice.
pub type Handle = u32;
/// A timer, chosen by the engine.
pub type Timer = u32;

/// When the inputs of a call were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant {
    /// Milliseconds on a clock that never goes back.
    pub monotonic: u64,
    /// Milliseconds since 1970, UTC; may jump.
    pub wall: u64,
}

/// Why nothing more will come from a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The peer closed its side in order.
    Eof,
    /// The connection broke; the text is for people.
    Broken(String),
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Something came from the editor.
    Acp(AcpArrival),
    /// Something came on a channel.
    Host(Channel, HostArrival),
    /// A file request was answered.
    File(Handle, FileArrival),
    /// A timer is due.
    Expired(Timer),
    /// An input at which the engine trapped, given back after a restore.
    Poison(Origin),
}

/// Whose input trapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// One line from the editor, without its line end.
    Acp(Vec<u8>),
    /// One line from a Host (empty for any other arrival on that channel).
    Host(Channel, Vec<u8>),
    /// An answer about this file.
    File(Handle),
    /// This timer.
    Timer(Timer),
}

/// What came from the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcpArrival {
    /// Bytes; message boundaries need not be kept.
    Bytes(Vec<u8>),
    /// The editor has taken this many bytes, counted from the start.
    Drained(u64),
    /// The editor is gone.
    Ended(Ending),
}

/// Why a channel did not open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostRefusal {
    /// Not on the grant table.
    NotAllowed,
    /// Nothing is there.
    Absent,
    /// The folder in which the program should work is not there.
    NoFolder,
    /// Left behind by a Host that is gone.
    Stale,
    /// Owner, mode or kind of an endpoint is not as it must be.
    Insecure(String),
    /// The operating system refused.
    Failed(String),
}

/// What came on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostArrival {
    /// Open, with the facts that discovery found, by name.
    Opened(Vec<(String, String)>),
    /// Not open, and never will be.
    Refused(HostRefusal),
    /// Status and headers of an HTTP response.
    Response(u16, Vec<(String, String)>),
    /// Bytes; message boundaries need not be kept.
    Bytes(Vec<u8>),
    /// What a child process said on stderr.
    Diagnostic(Vec<u8>),
    /// Bytes taken by the pipe or socket, counted from the start.
    Drained(u64),
    /// The child process ended.
    Exited(Option<i32>),
    /// Nothing more will come.
    Ended(Ending),
}

/// On whose behalf a file is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A file or folder that the editor named.
    Linked,
    /// A Host's own stored sessions and settings.
    HostState,
    /// Output that a Host's background task writes.
    TaskOutput,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Anything else.
    Other,
}

/// About a path or an opened file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// What it is.
    pub kind: FileKind,
    /// Absolute path after symbolic links.
    pub canonical_path: String,
    /// Bytes.
    pub size: u64,
    /// Milliseconds since 1970.
    pub modified: u64,
    /// Changes when another file takes the path.
    pub identity: String,
}

/// Why there is no answer about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRefusal {
    /// Outside the granted folders.
    NotAllowed,
    /// A folder, FIFO, socket or device.
    NotRegular,
    /// The operating system's name of the error.
    Error(String),
}

/// An answer about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileArrival {
    /// To `stat` and `open`.
    Facts(FileFacts),
    /// Refused or failed.
    Refused(FileRefusal),
    /// To `read`: offset and content.
    Data(u64, Vec<u8>),
    /// To `entries`.
    Entries(Vec<(String, FileFacts)>),
    /// To `copy`, `create`, `append` or `remove`.
    Done,
}
