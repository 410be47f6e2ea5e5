//! What works beside a session's own turn: subagents, and tasks in the background; in words
//! that no Host and no ACP version owns.
//!
//! Plain data. Invariant: the id of a subagent's session or of a task is told before
//! anything else is told of it.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Client;
use crate::json::Object;
use crate::projection::Shown;
use crate::session::options::Options;

/// How an editor shows subagents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subagents {
    /// As calls of a tool; what they say streams below these.
    #[default]
    Calls,
    /// As calls of a tool; what they say is not shown.
    Quiet,
    /// As calls of a tool; all that they say stands below these, streamed or not.
    Transcript,
    /// As sessions of their own.
    Sessions {
        /// Each can be stopped, and outlives what the session's own turn is stopped for.
        alone: bool,
    },
}

impl Subagents {
    /// As the editor says that it can.
    pub fn of(client: &Client) -> Subagents {
        match client {
            Client {
                subagents: true, ..
            } => Subagents::Sessions { alone: true },
            Client { extras, .. } if extras.children => Subagents::Sessions { alone: false },
            Client {
                transcripts: true, ..
            } => Subagents::Transcript,
            Client { extras, .. } if extras.on => Subagents::Quiet,
            _ => Subagents::Calls,
        }
    }

    /// Whether they are sessions.
    pub fn sessions(self) -> bool {
        matches!(self, Subagents::Sessions { .. })
    }

    /// Whether what they say is shown whole where it did not stream.
    pub fn whole(self) -> bool {
        matches!(self, Subagents::Transcript | Subagents::Sessions { .. })
    }
}

/// A subagent that is a session of its own.
#[derive(Debug)]
pub struct Subagent<'a> {
    /// Its session.
    pub id: &'a str,
    /// The subagent that began it; none for one that the session itself began.
    pub parent: Option<&'a str>,
    /// What is new of it.
    pub news: News<'a>,
}

/// What is new of a subagent.
#[derive(Debug)]
pub enum News<'a> {
    /// It works; told once.
    Began {
        /// For people.
        title: &'a str,
        /// What kind of subagent it is, where that is known.
        kind: Option<&'a str>,
        /// What it is to do.
        task: &'a str,
        /// It is not of the past: it can be stopped.
        live: bool,
    },
    /// It was told what to do, under this id.
    Told {
        /// Stands for the message.
        message: &'a str,
        /// What it was told.
        text: &'a str,
    },
    /// It goes on.
    Works,
    /// It waits for the user.
    Waits,
    /// It is done, or was stopped.
    Over(Over),
    /// What it came to, in answer to this message.
    Replied {
        /// What it was told under.
        message: &'a str,
        /// Its report.
        content: Vec<Shown>,
    },
    /// What it is set to.
    Set {
        /// As far as that is known.
        options: Options,
        /// Extension data, as it stands in `_meta`.
        meta: Option<Object>,
    },
}

/// How work in the background ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Over {
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Stopped,
}

/// A task in the background that is no subagent.
#[derive(Debug)]
pub struct Task<'a> {
    /// Its id.
    pub id: &'a str,
    /// What is new of it.
    pub news: TaskNews,
}

/// What is new of a task.
#[derive(Debug)]
pub enum TaskNews {
    /// It runs; told once.
    Began {
        /// For people.
        name: String,
        /// What it is: `shell`, `workflow`, `monitor`, ...
        kind: String,
        /// More for people.
        about: String,
        /// Nothing else shows it.
        alone: bool,
        /// The call that began it.
        call: Option<String>,
    },
    /// How far it is; what is `None` stays.
    Progress(Progress),
    /// It waits.
    Paused,
    /// It goes on.
    Works,
    /// It is over.
    Over(Over, Option<String>),
}

/// How far a task is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// What it does.
    pub about: Option<String>,
    /// What came of it so far.
    pub summary: Option<String>,
    /// The tool that it used last.
    pub tool: Option<String>,
    /// Tokens, uses of tools, milliseconds.
    pub spent: Option<(u64, u64, u64)>,
    /// The file that it writes to.
    pub output: Option<String>,
    /// The call that began it.
    pub call: Option<String>,
}

impl Progress {
    /// Takes over what is new; gives that alone.
    #[must_use]
    pub fn grow(&mut self, new: Progress) -> Progress {
        fn news<T: Clone + PartialEq>(known: &mut Option<T>, new: Option<T>) -> Option<T> {
            let new = new.filter(|new| known.as_ref() != Some(new))?;
            *known = Some(new.clone());
            Some(new)
        }
        Progress {
            about: news(&mut self.about, new.about),
            summary: news(&mut self.summary, new.summary),
            tool: news(&mut self.tool, new.tool),
            spent: news(&mut self.spent, new.spent),
            output: news(&mut self.output, new.output),
            call: news(&mut self.call, new.call),
        }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Progress::default()
    }
}
