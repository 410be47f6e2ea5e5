//! What a Host tells that only some editors can be shown: those that have a place for it in
//! ACP, and those that agreed on more than ACP ([`super::Extras`]).
//!
//! Plain data. Whoever tells it knows that this editor can be shown it.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::projection::Compacted;

/// One such thing about a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum More {
    /// Something to know, once.
    Notice {
        /// How much it matters.
        severity: Severity,
        /// In a few words.
        title: String,
        /// All of it.
        text: Option<String>,
    },
    /// Something went wrong, or may.
    Record(Record),
    /// The context is made smaller.
    Compaction {
        /// The Host's id of it.
        id: String,
        /// How far it is.
        state: Compacting,
        /// What is left of the conversation, in words.
        summary: Option<String>,
        /// What it was worth.
        facts: Compacted,
    },
    /// A plan, in Markdown.
    Document {
        /// The Host's id of it.
        id: String,
        /// All of it.
        text: String,
    },
    /// What the user may want to say next.
    Suggestions(Vec<String>),
    /// What the session works towards; nothing any more.
    Goal(Option<Goal>),
    /// All of the past was told.
    PastEnd,
    /// Which files a prompt changed.
    Files(FileReport),
}

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    /// To know.
    Info,
    /// It may still go well.
    Warning,
    /// It did not go well.
    Error,
}

/// How far a compaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compacting {
    /// It runs.
    Runs,
    /// It is done.
    Done,
    /// Nothing came of it.
    Failed,
    /// It was stopped.
    Stopped,
}

/// An incident, as it stays among the messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Of this incident alone.
    pub id: String,
    /// A later one replaces an earlier one.
    pub revision: u64,
    /// What kind it is.
    pub trouble: Trouble,
    /// Whether something went wrong, or may.
    pub severity: Severity,
    /// All that the user is told.
    pub title: String,
    /// For programs.
    pub reason: Option<String>,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// Somebody may not do it.
    AccessDenied,
    /// Somebody has to sign in.
    AuthRequired,
    /// The request itself is at fault.
    BadRequest,
    /// The session may spend no more.
    BudgetExhausted,
    /// The context is full, or the turn too long.
    ContextExhausted,
    /// Something here.
    Internal,
    /// The model has too much to do.
    Overloaded,
    /// The model's provider.
    Provider,
    /// The account may use no more.
    QuotaExhausted,
    /// Too much at once.
    RateLimited,
    /// The Host is gone.
    TransportLost,
    /// Nobody knows; it is only said.
    Advisory,
}

/// What a session works towards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// In the user's words.
    pub objective: String,
    /// The Host's word for how it stands.
    pub status: String,
    /// How often it was looked at.
    pub iterations: Option<u64>,
    /// Why it is not reached yet.
    pub last_reason: Option<String>,
    /// Since when, Unix milliseconds.
    pub created_at: Option<u64>,
}

/// Which files a prompt changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReport {
    /// The editor's name for its question.
    pub request: String,
    /// The files, or why they are not known.
    pub found: Result<Files, Unknown>,
}

/// The files, as far as they are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Absolute.
    pub paths: Vec<String>,
    /// Whether some are left out.
    pub truncated: bool,
}

/// Why files are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unknown {
    /// The prompt was cancelled.
    Cancelled,
    /// The Host did not say in time.
    Timeout,
    /// What it said is no list.
    Invalid,
    /// The prompt failed, or the Host cannot say.
    Failed,
}
