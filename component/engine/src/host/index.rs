//! Lists of sessions, and what an editor that keeps an index of them asks and is told beyond
//! a plain list.
//!
//! Words only. Invariant: no ACP version and no Host is named here.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// One page of sessions.
#[derive(Clone, Debug)]
pub struct ListPage {
    /// In the Host's order.
    pub sessions: Vec<ListItem>,
    /// For the next page.
    pub next_cursor: Option<String>,
}

/// One listed session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListItem {
    /// Session id.
    pub id: String,
    /// Absolute working folder.
    pub cwd: String,
    /// Name for people.
    pub title: String,
    /// ISO 8601, UTC, milliseconds; absent when it cannot be written.
    pub updated_at: Option<String>,
    /// For an index, where one was asked for.
    pub row: Option<IndexRow>,
}

/// What of the index is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexQuery {
    /// Rows of a page, if a page is wanted.
    pub limit: Option<u64>,
    /// Which sessions.
    pub shown: Shown,
    /// These sessions alone.
    pub ids: Option<Vec<String>>,
}

/// Which sessions are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shown {
    /// All.
    All,
    /// Those in the archive.
    Archived,
    /// Those that are not.
    Unarchived,
}

impl Shown {
    /// Whether one is shown that is in the archive, or not.
    pub fn shows(self, archived: bool) -> bool {
        match self {
            Shown::All => true,
            Shown::Archived => archived,
            Shown::Unarchived => !archived,
        }
    }
}

/// What a row of the index says beyond that of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexRow {
    /// It is in the archive.
    pub archived: bool,
    /// When the user said something last: ISO 8601.
    pub last_prompt_at: Option<String>,
    /// Which model answered last.
    pub model: Option<String>,
    /// The session that it is a fork of.
    pub forked_from: Option<String>,
    /// What it does, where it is open here.
    pub standing: Option<Standing>,
}

/// What a session does that is open here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Whether it works, waits for the user, or for nothing.
    pub state: State,
    /// When its last turn ended: ISO 8601.
    pub ended_at: Option<String>,
    /// US dollars so far.
    pub cost_usd: Option<f64>,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Nothing.
    Idle,
    /// It works.
    Running,
    /// It waits for the user.
    Asking,
}
