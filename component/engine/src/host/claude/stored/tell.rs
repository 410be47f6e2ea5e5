//! What the editor is shown of a stored row (Claude adapter, section 13).
//!
//! Touches the cards of the past alone. Invariant: what the program said to the model, or to
//! itself, is not shown as anybody's words.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::cards::{Cards, Ended, Setting, Told};
use super::super::compaction;
use super::super::wire::{Block, Message, Origin, part};
use super::children::Children;
use super::rows::{By, OfAgent, Picture, Row};
use super::{folder, words};
use crate::host::aside::Subagents;
use crate::host::more::More;
use crate::host::{Client, Fact, Said, Setup};
use crate::object;
use crate::projection::{Compacted, Speaker};

/// Said by the program where the model had nothing to say.
const SILENT: &str = "No response requested.";

/// What must be remembered of the rows before.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Telling {
    /// The calls and their cards.
    pub cards: Cards,
    /// Subagents that are shown as sessions.
    pub children: Children,
    /// What the editor shows.
    client: Client,
    /// What the compaction was worth whose summary is next.
    compacted: Compacted,
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
    /// Nothing was told yet of this session.
    pub fn new(setup: &Setup, id: &str) -> Telling {
        Telling {
            cards: Cards::new(Setting::of(setup, true)),
            children: Children::new(Subagents::of(&setup.client), id),
            client: setup.client,
            ..Telling::default()
        }
    }

    /// The subagent that this row ends.
    pub fn subagent(&self, row: &Row<'_>) -> Option<Subagent> {
        let of: OfAgent<'_> = part(row.tool_use_result);
        let id = of.agent_id.filter(|id| folder::is_agent(id))?;
        let message = row.message();
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
            "system" if row.compact_metadata.is_some() => {
                self.compacted = compaction::facts(row.compact_metadata);
            }
            _ => {}
        }
    }

    /// Nothing follows: what is open stays without a result.
    pub fn over(&mut self, tell: &mut dyn FnMut(Fact<'_>)) {
        let mut out = Vec::new();
        self.cards.close_all(|_, _| false, &mut out);
        self.told(out, tell);
        self.children.over(&|_| false, tell);
    }

    /// What a subagent did comes next.
    pub fn dives(&mut self, subagent: &Subagent, tell: &mut dyn FnMut(Fact<'_>)) {
        let Subagent { id, call } = subagent;
        let (parent, input) = (self.cards.parent(call), self.cards.input(call));
        self.children.dives(call, id, parent, input, tell);
    }

    fn user(&mut self, row: &Row<'_>, parent: Option<&str>, tell: &mut dyn FnMut(Fact<'_>)) {
        let message = row.message();
        let mut out = Vec::new();
        let blocks = message.blocks();
        for block in blocks.iter().filter(|block| block.kind == "tool_result") {
            self.result(block, row.tool_use_result, &mut out, tell);
        }
        self.told(out, tell);
        if let Some(parent) = parent {
            return self.task(row, parent, &blocks, tell);
        }
        if !self.is_shown(row, &blocks) {
            return;
        }
        let id = row.prompt_id();
        let speaker = if row.is_compact_summary {
            let facts = core::mem::take(&mut self.compacted);
            if let Some(fact) = compaction::past(self.client, id, summary(&blocks), facts) {
                return tell(fact);
            }
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

    /// What a subagent was told, where its session says that as a user's words.
    fn task(
        &self,
        row: &Row<'_>,
        call: &str,
        blocks: &[Block<'_>],
        tell: &mut dyn FnMut(Fact<'_>),
    ) {
        let words = self.children.shows() == (Subagents::Sessions { alone: false });
        let Some(child) = self.children.of(call).filter(|_| words && !row.is_meta) else {
            return;
        };
        let id = row.prompt_id();
        let texts = blocks.iter().filter(|block| block.kind == "text");
        for block in texts.filter(|block| !block.text.is_empty()) {
            self.said(Some(child), call, Speaker::User, id, &block.text, tell);
        }
    }

    /// A text of a subagent, in its session or below its call.
    fn said(
        &self,
        child: Option<&str>,
        call: &str,
        speaker: Speaker,
        id: &str,
        text: &str,
        tell: &mut dyn FnMut(Fact<'_>),
    ) {
        let fact = Fact::Said(Said {
            speaker,
            message_id: id,
            text,
            meta: Some(object! { "claudeCode": object! { "parentToolUseId": call } }),
        });
        match child {
            Some(id) => {
                let fact = fact.into();
                tell(Fact::Inside { id, fact });
            }
            None => tell(fact),
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
        let message = row.message();
        let by: By<'_> = part(row.message);
        let program = by.model.as_deref() == Some("<synthetic>");
        let fallback = row.uuid.as_deref().unwrap_or_default();
        let id = message.id.as_deref().unwrap_or(fallback);
        if let Some(call) = parent {
            self.children.says(call, by.model.as_deref(), tell);
        }
        for block in message.blocks() {
            let (speaker, text) = match &*block.kind {
                "text" => (Speaker::Agent, &*block.text),
                "thinking" => (Speaker::Thought, &*block.thinking),
                kind if kind.ends_with("tool_use") && !block.id.is_empty() => {
                    if let Some(input) = block.input {
                        let mut out = Vec::new();
                        self.cards
                            .called(&block.id, &block.name, input, parent, &mut out);
                        self.told(out, tell);
                        self.children.called(&block, parent, tell);
                    }
                    continue;
                }
                _ => continue,
            };
            // Of a subagent the report tells, unless all is shown that it said.
            let hidden = (parent.is_some() && !self.children.shows().whole())
                || text.trim().is_empty()
                || program && (text == SILENT || text.contains("Please run /login"));
            if let Some(call) = parent.filter(|_| !hidden) {
                let child = self.children.of(call);
                self.said(child, call, speaker, id, text, tell);
            } else if !hidden {
                tell(Fact::Said(Said {
                    speaker,
                    message_id: id,
                    text,
                    meta: None,
                }));
            }
        }
    }

    fn result(
        &mut self,
        block: &Block<'_>,
        structured: Option<&RawValue>,
        out: &mut Vec<Told>,
        tell: &mut dyn FnMut(Fact<'_>),
    ) {
        let agent = matches!(self.cards.name(&block.tool_use_id), Some("Agent" | "Task"));
        if agent
            && self.children.shows().sessions()
            && self.children.result(block, structured, tell)
        {
            self.cards.reveal(&block.tool_use_id, out);
        }
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

impl Telling {
    fn told(&self, all: Vec<Told>, tell: &mut dyn FnMut(Fact<'_>)) {
        for told in all {
            match told {
                Told::Card(report) => {
                    let parent = self.cards.parent(&report.id);
                    let child = parent.and_then(|call| self.children.of(call));
                    let fact = Fact::Card(report.into());
                    match child {
                        Some(id) => {
                            let fact = fact.into();
                            tell(Fact::Inside { id, fact });
                        }
                        None => tell(fact),
                    }
                }
                Told::Plan(entries) => tell(Fact::Plan { entries }),
                Told::Document { id, text } => tell(Fact::More(More::Document { id, text })),
                Told::PlanMode => {}
            }
        }
    }
}

/// What a compaction left of the rows before it.
fn summary(blocks: &[Block<'_>]) -> String {
    let texts = blocks.iter().filter(|block| block.kind == "text");
    let texts: Vec<_> = texts.filter_map(|it| words::written(&it.text)).collect();
    texts.join("\n\n")
}

/// The blocks as they are written; none for a bare text.
fn raws<'a>(message: &Message<'a>) -> Vec<Option<&'a RawValue>> {
    let raws: Vec<&'a RawValue> = part(message.content);
    if raws.is_empty() {
        return [None].into();
    }
    raws.into_iter().map(Some).collect()
}
