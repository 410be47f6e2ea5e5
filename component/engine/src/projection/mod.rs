//! What a turn shows: messages that grow, tool cards that change, and their budgets.
//!
//! Pure functions over small state: a Host module reports facts, an encoder drains updates.
//! It touches nothing else, and knows no Host and no ACP version. One projection lives as
//! long as one turn.
//!
//! Invariant: what an editor ends up showing does not depend on how often the projection is
//! drained. Drained after every fact, each change is one update; drained seldom, the text of
//! a message joins into one update, and a card goes out once with all that the skipped ones
//! would have carried. Nothing is lost either way.

mod ask;
mod buffer;
mod fact;
mod live;
mod message;
pub mod patch;
pub mod path;
mod report;
mod tool;
mod update;
pub mod utf16;

pub use ask::{AskStatus, Asking};
pub use fact::{Call, Change, Details, End, Outcome, Place, Stream, ToolFact, ToolKind};
pub use report::{Compacted, Hint, Report, Shown};
pub use update::{Facts, LiveOutput, Meta, NewestOutput, Piece, Status, Steps, ToolCard, Update};

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::limits;
use message::Message;
use tool::Tool;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speaker {
    /// The user, in turns that this editor did not ask for.
    User,
    /// The agent, to the user.
    Agent,
    /// The agent, to itself.
    Thought,
}

/// Why a turn can no longer be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// Text is missing between what is known and what came. Nothing was taken in, and the
    /// message goes on once the missing part has been read.
    StreamGap,
    /// Text came again and was another.
    StreamConflict,
    /// The Host rewrote text that an editor may already show.
    UnsupportedStreamRevision,
    /// The tools of the turn are more, or larger, than may be shown.
    ToolPresentationCapacity,
    /// A result was announced and is not in the record of the completed turn.
    ToolResultMissing,
}

impl Failure {
    /// The code for the error's data (adapter specification, sections 4 and 18 to 20).
    pub fn code(self) -> &'static str {
        match self {
            // A plain error of the stream: no code of its own.
            Failure::StreamGap | Failure::StreamConflict => "internal_failure",
            Failure::UnsupportedStreamRevision => "unsupported_stream_revision",
            Failure::ToolPresentationCapacity => "tool_presentation_capacity",
            Failure::ToolResultMissing => "tool_result_missing",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::StreamGap => {
                "Part of a message did not arrive, so the turn was stopped; send the prompt again."
            }
            Failure::StreamConflict => {
                "The Host sent two different versions of a message, so the turn was stopped; \
                 send the prompt again."
            }
            Failure::UnsupportedStreamRevision => {
                "The Host rewrote a message that was already shown, which ACP cannot express, \
                 so the turn was stopped; send the prompt again."
            }
            Failure::ToolPresentationCapacity => {
                "The turn used more tools, or tools with more output, than can be shown, so it \
                 was stopped; split the task into smaller prompts."
            }
            Failure::ToolResultMissing => {
                "A tool ended, but its result is not in the Host's record; send the prompt again."
            }
        })
    }
}

impl core::error::Error for Failure {}

/// What one turn shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Projection {
    turn_id: String,
    /// The session's folder; empty where it is not known.
    folder: String,
    messages: Vec<Message>,
    answers: BTreeMap<String, u32>,
    thoughts: BTreeMap<String, u32>,
    asked: BTreeMap<String, u32>,
    tools: Vec<Tool>,
    tool_ids: BTreeMap<String, u32>,
    /// What waits to be drained, in the order in which it began to wait.
    pending: Vec<Pending>,
    /// Units of text that wait.
    held_text: u64,
    /// Units that cards keep only because they wait.
    held_cards: u64,
    /// Units retained for all tools.
    retained: u64,
    failure: Option<Failure>,
}

/// A place in `messages` or `tools`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Pending {
    Message(u32),
    Tool(u32),
}

impl Projection {
    /// A turn that shows nothing yet.
    pub fn new(turn_id: &str) -> Projection {
        Projection {
            turn_id: turn_id.to_owned(),
            folder: String::new(),
            messages: Vec::new(),
            answers: BTreeMap::new(),
            thoughts: BTreeMap::new(),
            asked: BTreeMap::new(),
            tools: Vec::new(),
            tool_ids: BTreeMap::new(),
            pending: Vec::new(),
            held_text: 0,
            held_cards: 0,
            retained: 0,
            failure: None,
        }
    }

    /// Relative paths count from this folder. Without one they are not shown.
    #[must_use]
    pub fn within(mut self, folder: &str) -> Projection {
        self.folder = folder.to_owned();
        self
    }

    /// A piece of a message came. `start` is its offset in UTF-16 units; what is already
    /// known must be equal. `reset` (at offset 0) begins the message anew: nothing is shown
    /// until it is complete.
    ///
    /// # Errors
    /// [`Failure::StreamGap`] for a `start` beyond the known text, which does not stay,
    /// [`Failure::StreamConflict`] where the known part differs; also any earlier failure.
    pub fn text_grew(
        &mut self,
        speaker: Speaker,
        message_id: &str,
        start: u64,
        text: &str,
        reset: bool,
    ) -> Result<(), Failure> {
        self.message(speaker, message_id, |message| {
            message.grew(start, text, reset)
        })
    }

    /// A message is complete: the marker at its end, `start` being its length.
    ///
    /// # Errors
    /// [`Failure::StreamGap`] for a `start` beyond the known text,
    /// [`Failure::UnsupportedStreamRevision`] where a text that began anew does not continue
    /// what was shown; also any earlier failure.
    pub fn text_completed(
        &mut self,
        speaker: Speaker,
        message_id: &str,
        start: u64,
    ) -> Result<(), Failure> {
        self.message(speaker, message_id, |message| message.completed(start))
    }

    /// The whole text of a message, from the durable record or an overlay.
    ///
    /// # Errors
    /// [`Failure::UnsupportedStreamRevision`] where it does not continue what was shown; also
    /// any earlier failure.
    pub fn text_is(
        &mut self,
        speaker: Speaker,
        message_id: &str,
        full: &str,
    ) -> Result<(), Failure> {
        self.message(speaker, message_id, |message| message.is(full))
    }

    /// Something is known of a tool.
    ///
    /// # Errors
    /// [`Failure::ToolPresentationCapacity`] past [`limits::PROMPT_TOOLS`] or
    /// [`limits::PROMPT_TOOL_UNITS`]; also any earlier failure.
    pub fn tool(&mut self, fact: ToolFact<'_>) -> Result<(), Failure> {
        self.alive()?;
        let at = match self.tool_ids.get(fact.id()) {
            Some(at) => *at,
            None => self.new_tool(fact.id())?,
        };
        self.change_tool(at, |tool, turn_id, folder| tool.take(fact, turn_id, folder))
    }

    /// The turn has ended, and its record was read: streams and tools that are still open
    /// are settled. What they show last is drained as ever.
    ///
    /// # Errors
    /// [`Failure::ToolResultMissing`] when the turn completed without a result that was
    /// announced, [`Failure::UnsupportedStreamRevision`] as in
    /// [`Projection::text_completed`]; also any earlier failure.
    pub fn finish(&mut self, end: End) -> Result<(), Failure> {
        self.alive()?;
        for at in 0..self.messages.len() as u32 {
            self.change_message(at, Message::settle)?;
        }
        for at in 0..self.tools.len() as u32 {
            self.change_tool(at, |tool, turn_id, _| tool.finish(turn_id))?;
        }
        if end.demands_results() && self.tools.iter().any(Tool::owes_result) {
            return self.fail(Failure::ToolResultMissing);
        }
        Ok(())
    }

    /// Gives all that waits, in order. After a failure, that is what was accepted before it.
    pub fn drain(&mut self, emit: &mut dyn FnMut(Update<'_>)) {
        for pending in &self.pending {
            match *pending {
                Pending::Message(at) => {
                    let message = &mut self.messages[at as usize];
                    emit(Update::Message {
                        speaker: message.speaker,
                        message_id: &message.id,
                        text: message.unsent(),
                        meta: None,
                    });
                    message.drained();
                }
                Pending::Tool(at) => {
                    let tool = &mut self.tools[at as usize];
                    emit(Update::Tool(tool.card(&self.turn_id)));
                    tool.drained();
                }
            }
        }
        self.pending.clear();
        self.held_text = 0;
        self.held_cards = 0;
    }

    /// UTF-16 units that are kept only because they were not drained yet: message text,
    /// results and raw values of cards, and the last output of tools that ended.
    pub fn held_units(&self) -> u64 {
        self.held_text + self.held_cards
    }

    /// Whether another tool might not fit any more.
    pub fn nearly_full(&self) -> bool {
        self.tools.len() as u64 >= limits::PROMPT_TOOLS
            || self.retained + 2 * limits::TOOL_UNITS > limits::PROMPT_TOOL_UNITS
    }

    /// Why the turn can no longer be shown, once it cannot.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    fn alive(&self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }

    /// The first failure stays: nothing is accepted after it. A gap alone can be healed, by
    /// reading what is missing.
    fn fail(&mut self, failure: Failure) -> Result<(), Failure> {
        if failure != Failure::StreamGap {
            self.failure = Some(failure);
        }
        Err(failure)
    }

    fn message(
        &mut self,
        speaker: Speaker,
        id: &str,
        change: impl FnOnce(&mut Message) -> Result<u64, Failure>,
    ) -> Result<(), Failure> {
        self.alive()?;
        let ids = match speaker {
            Speaker::Agent => &mut self.answers,
            Speaker::Thought => &mut self.thoughts,
            Speaker::User => &mut self.asked,
        };
        // Nearly always it is the newest message that grows.
        let newest = self.messages.last();
        let known = match newest.filter(|newest| newest.speaker == speaker && newest.id == id) {
            Some(_) => Some(self.messages.len() as u32 - 1),
            None => ids.get(id).copied(),
        };
        let at = match known {
            Some(at) => at,
            None => {
                let at = self.messages.len() as u32;
                ids.insert(id.to_owned(), at);
                self.messages.push(Message::new(speaker, id));
                at
            }
        };
        self.change_message(at, change)
    }

    fn change_message(
        &mut self,
        at: u32,
        change: impl FnOnce(&mut Message) -> Result<u64, Failure>,
    ) -> Result<(), Failure> {
        let message = &mut self.messages[at as usize];
        let waited = !message.is_drained();
        match change(message) {
            Ok(0) => Ok(()),
            Ok(units) => {
                self.held_text += units;
                if !waited {
                    self.pending.push(Pending::Message(at));
                }
                Ok(())
            }
            Err(failure) => self.fail(failure),
        }
    }

    fn new_tool(&mut self, id: &str) -> Result<u32, Failure> {
        if self.tools.len() as u64 >= limits::PROMPT_TOOLS {
            self.fail(Failure::ToolPresentationCapacity)?;
        }
        let at = self.tools.len() as u32;
        self.tool_ids.insert(id.to_owned(), at);
        self.tools.push(Tool::new(id));
        Ok(at)
    }

    fn change_tool(
        &mut self,
        at: u32,
        change: impl FnOnce(&mut Tool, &str, &str) -> bool,
    ) -> Result<(), Failure> {
        let tool = &mut self.tools[at as usize];
        let (waited, retained, held) = (tool.waits(), tool.retained(), tool.held());
        let changed = change(tool, &self.turn_id, &self.folder);
        self.retained = self.retained + tool.retained() - retained;
        self.held_cards = self.held_cards + tool.held() - held;
        if self.retained > limits::PROMPT_TOOL_UNITS {
            return self.fail(Failure::ToolPresentationCapacity);
        }
        if changed && !waited {
            self.pending.push(Pending::Tool(at));
        }
        Ok(())
    }
}
