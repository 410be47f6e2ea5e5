//! What an editor and we agree on beyond ACP, in words that know no version of it.
//!
//! Plain data. Invariant: without an agreement all of it is off.

use serde::{Deserialize, Serialize};

/// What an editor and we agreed on beyond ACP. All of it is off, unless `on`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)]
pub struct Extras {
    /// Anything at all: it is told what changed and nothing twice, and gets what has no
    /// words in ACP.
    pub on: bool,
    /// It shows changes of files as patches.
    pub patches: bool,
    /// It shows what a tool is called with by itself: no copy of that stands on the card.
    pub shows_input: bool,
    /// It shows failures of a session as records.
    pub failures: bool,
    /// It marks the recommended value of an option: no row stands for that.
    pub recommended: bool,
    /// It shows work in the background.
    pub tasks: bool,
    /// It asks which files a prompt changed.
    pub file_reports: bool,
    /// It shows subagents as sessions.
    pub children: bool,
    /// It opens the file of a plan by itself.
    pub plan_files: bool,
    /// It gives instructions of the user's.
    pub instructions: bool,
    /// A prompt is over though subagents run on in the background.
    pub background: bool,
    /// It wants to know where the past ends.
    pub replay_end: bool,
    /// It keeps an index of sessions.
    pub index: bool,
    /// It asks about many sessions at once.
    pub batches: bool,
}
