//! What the editor is shown of a stored row (Claude adapter, section 13).
//!
//! Touches the cards of the past alone. Invariant: what the program said to the model, or to
//! itself, is not shown as anybody's words.

use alloc::string::ToString;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::cards::{Cards, Ended, Setting, Told};
use super::super::wire::{Block, Message, Origin, part};
use super::rows::{By, OfAgent, Picture, Row};
use super::{folder, words};
use crate::host::more::More;
use crate::host::{Fact, Said};
use crate::projection::Speaker;

/// Said by the program where the model had nothing to say.
const SILENT: &str = "No response requested.";

/// What must be remembered of the rows before.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Telling {
    /// The calls and their cards.
    pub cards: Cards,
    /// A command is next that runs in the program itself.
    local: bool,
}

/// A subagent whose calls come before the row that tells of its end.
#[derive(Debug, PartialEq, Eq)]
pub struct Subagent {
    /// Its id.
    pub id: alloc::string::String,
    /// The call that began it.
    pub call: alloc::string::String,
}

impl Telling {
    /// Nothing was told yet.
    pub fn new(setting: Setting) -> Telling {
        Telling {
            cards: Cards::new(setting),
            local: false,
        }
    }

    /// The subagent that this row ends.
    pub fn subagent(&self, row: &Row<'_>) -> Option<Subagent> {
        let of: OfAgent<'_> = part(row.tool_use_result);
        let id = of.agent_id.filter(|id| folder::is_agent(id))?;
        let message: Message<'_> = part(row.message);
        let blocks = message.blocks();
        let call = blocks.iter().find(|block| block.kind == "tool_result")?;
        let call = call.tool_use_id.to_string();
        let begun = matches!(self.cards.name(&call), Some("Agent" | "Task"));
        begun.then(|| Subagent {
            id: id.into_owned(),
            call,
        })
    }

    /// A row of the session, or of the subagent that `parent` called.
    pub fn row(&mut self, row: &Row<'_>, parent: Option<&str>, tell: &mut dyn FnMut(Fact<'_>)) {
        // Older versions kept subagents in the session's own file, without saying whose.
        if row.is_sidechain && parent.is_none() {
            return;
        }
        match &*row.kind {
            "user" => self.user(row, parent, tell),
            "assistant" => self.assistant(row, parent, tell),
            _ => {}
        }
    }

    /// Nothing follows: what is open stays without a result.
    pub fn over(&mut self, tell: &mut dyn FnMut(Fact<'_>)) {
        let mut out = Vec::new();
        self.cards.close_all(|_| false, &mut out);
        told(out, tell);
    }

    fn user(&mut self, row: &Row<'_>, parent: Option<&str>, tell: &mut dyn FnMut(Fact<'_>)) {
        let message: Message<'_> = part(row.message);
        let mut out = Vec::new();
        let blocks = message.blocks();
        for block in blocks.iter().filter(|block| block.kind == "tool_result") {
            self.result(block, row.tool_use_result, &mut out);
        }
        told(out, tell);
        if parent.is_some() || !self.is_shown(row, &blocks) {
            return;
        }
        let id = row.uuid.as_deref().unwrap_or_default();
        let speaker = if row.is_compact_summary {
            Speaker::Agent
        } else {
            Speaker::User
        };
        for (raw, block) in raws(&message).into_iter().zip(&blocks) {
            match &*block.kind {
                "text" => {
                    if let Some(text) = words::written(&block.text) {
                        tell(Fact::Said(Said {
                            speaker,
                            message_id: id,
                            text: &text,
                            meta: None,
                        }));
                    }
                }
                "image" => {
                    let Picture { source } = part(raw);
                    if let (Some(mime_type), Some(data)) = (&source.media_type, &source.data) {
                        tell(Fact::Picture {
                            speaker,
                            message_id: id,
                            mime_type,
                            data,
                        });
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether these are the user's words, or stand for them.
    fn is_shown(&mut self, row: &Row<'_>, blocks: &[Block<'_>]) -> bool {
        if row.is_meta {
            let caveat = |block: &Block<'_>| block.text.starts_with("<local-command-caveat>");
            self.local |= blocks.iter().any(caveat);
            return false;
        }
        let command = |block: &Block<'_>| block.text.trim_start().starts_with("<command-");
        if blocks.iter().any(command) && core::mem::take(&mut self.local) {
            return false;
        }
        let origin: Origin<'_> = part(row.origin);
        matches!(&*origin.kind, "" | "human")
    }

    fn assistant(&mut self, row: &Row<'_>, parent: Option<&str>, tell: &mut dyn FnMut(Fact<'_>)) {
        let message: Message<'_> = part(row.message);
        let by: By<'_> = part(row.message);
        let program = by.model.as_deref() == Some("<synthetic>");
        let fallback = row.uuid.as_deref().unwrap_or_default();
        let id = message.id.as_deref().unwrap_or(fallback);
        for block in message.blocks() {
            let (speaker, text) = match &*block.kind {
                "text" => (Speaker::Agent, &*block.text),
                "thinking" => (Speaker::Thought, &*block.thinking),
                kind if kind.ends_with("tool_use") && !block.id.is_empty() => {
                    if let Some(input) = block.input {
                        let mut out = Vec::new();
                        self.cards
                            .called(&block.id, &block.name, input, parent, &mut out);
                        told(out, tell);
                    }
                    continue;
                }
                _ => continue,
            };
            // Of a subagent the report tells.
            let hidden = parent.is_some()
                || text.trim().is_empty()
                || program && (text == SILENT || text.contains("Please run /login"));
            if !hidden {
                tell(Fact::Said(Said {
                    speaker,
                    message_id: id,
                    text,
                    meta: None,
                }));
            }
        }
    }

    fn result(&mut self, block: &Block<'_>, structured: Option<&RawValue>, out: &mut Vec<Told>) {
        // The peer shows what was read as the model got it.
        let read = self.cards.name(&block.tool_use_id) == Some("Read");
        let ended = Ended {
            content: block.content,
            is_error: block.is_error,
            structured: structured.filter(|_| !read),
            ..Ended::default()
        };
        self.cards.result(&block.tool_use_id, &ended, out);
    }
}

/// The blocks as they are written; none for a bare text.
fn raws<'a>(message: &Message<'a>) -> Vec<Option<&'a RawValue>> {
    let raws: Vec<&'a RawValue> = part(message.content);
    if raws.is_empty() {
        return [None].into();
    }
    raws.into_iter().map(Some).collect()
}

fn told(all: Vec<Told>, tell: &mut dyn FnMut(Fact<'_>)) {
    for told in all {
        match told {
            Told::Card(report) => tell(Fact::Card(report.into())),
            Told::Plan(entries) => tell(Fact::Plan { entries }),
            Told::Document { id, text } => tell(Fact::More(More::Document { id, text })),
            Told::PlanMode => {}
        }
    }
}
