//! How turns end, and how what was asked for comes to nothing.
//!
//! Plain data. Invariant: an end says who has to do something, if anybody.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::Spent;
use super::more::Record;
use crate::json::Object;

/// Why a turn ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The agent is done.
    EndTurn,
    /// The model's answer became too long.
    MaxTokens,
    /// The agent took all steps that it may take.
    MaxTurnRequests,
    /// The model refuses.
    Refusal,
    /// It was cancelled.
    Cancelled,
}

/// How a turn ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// With a reason that an editor knows.
    Ended {
        /// The reason.
        ending: Ending,
        /// What it took, where the Host says.
        spent: Option<Spent>,
    },
    /// It failed, and the editor keeps failures as records.
    Recorded {
        /// The failure.
        record: Record,
        /// What it took, where the Host says.
        spent: Option<Spent>,
    },
    /// By itself, and everything stored was read.
    Completed,
    /// The Host says that it failed.
    Failed {
        class: String,
        message: Option<String>,
    },
    /// The Host stopped it, not asked by us.
    Aborted { source: String },
    /// Stopped as asked, or never admitted.
    Stopped,
    /// It could not be started or observed; if it was admitted, it was stopped.
    Broken { failure: Failure },
}

impl Outcome {
    /// Cancelled before anything was measured.
    pub fn cancelled() -> Outcome {
        Outcome::Ended {
            ending: Ending::Cancelled,
            spent: None,
        }
    }
}

/// Why something at the Host came to nothing, for people and for programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Who has to do something.
    pub blame: Blame,
    /// A sentence.
    pub message: String,
    /// The error's data: `source`, `operation`, `code`, ...
    pub data: Object,
}

/// Whose fault something was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blame {
    /// The request itself was at fault (`invalid_request`, `not_found`).
    Request,
    /// What it names is not there.
    Absent,
    /// The Host failed.
    Host,
    /// Somebody has to sign in first.
    SignedOut,
}
