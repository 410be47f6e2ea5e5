//! Streamed text against its whole copy: every text reaches the editor once (Claude adapter,
//! sections 6.1 and 9.5).
//!
//! Pure. The whole copy of a block comes behind its stream. What streamed is compared with
//! it by its place and not by ids, which gateways leave out. Invariant: of a block, the editor
//! gets its text exactly once, or nothing of it while it belongs to stopped work.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::wire::{Block, Event, Message, part};
use crate::projection::Speaker;

/// All streams of a session: the main one, and one for each subagent, by its tool use.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Texts {
    streams: BTreeMap<String, Stream>,
    /// Of subagents too, what did not stream is shown.
    whole: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Stream {
    message_id: String,
    /// What streamed since the last whole copy.
    blocks: Vec<Streamed>,
    /// Text of a stream that broke off, which the next one may say again.
    broken: Vec<Streamed>,
    /// The message streamed to its end: the next one is another.
    complete: bool,
    /// Something was dropped: the rest of the block comes from its whole copy.
    latched: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Streamed {
    index: u64,
    thought: bool,
    text: String,
}

/// Text to show.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Who says it.
    pub speaker: Speaker,
    /// In which message.
    pub message_id: String,
    /// What is new.
    pub text: Cow<'a, str>,
}

/// The main stream, as a key.
pub const MAIN: &str = "";

impl Texts {
    /// Nothing was said yet. `whole` is whether whole copies of what subagents say are shown.
    pub fn new(whole: bool) -> Texts {
        Texts {
            streams: BTreeMap::new(),
            whole,
        }
    }

    /// A streamed event; `dropped` when it belongs to stopped work. `fallback` names a message
    /// that has no id of its own.
    pub fn streamed<'a>(
        &mut self,
        key: &str,
        event: &'a Event<'a>,
        dropped: bool,
        fallback: &str,
    ) -> Option<Piece<'a>> {
        let latches = key == MAIN || self.whole;
        let stream = self.streams.entry(key.to_owned()).or_default();
        match &*event.kind {
            "message_start" => {
                let message: Message<'_> = part(event.message);
                stream.begin(message.id.as_deref().unwrap_or(fallback));
                None
            }
            "message_stop" => {
                stream.broken.clear();
                stream.complete = true;
                None
            }
            "content_block_start" => {
                let block = event.content_block.as_ref()?;
                let (thought, text) = said(block)?;
                stream.grow(latches, event.index, thought, text, dropped, fallback)
            }
            "content_block_delta" => {
                let delta = event.delta.as_ref()?;
                let (thought, text) = match &*delta.kind {
                    "text_delta" => (false, &*delta.text),
                    "thinking_delta" => (true, &*delta.thinking),
                    _ => return None,
                };
                stream.grow(latches, event.index, thought, text, dropped, fallback)
            }
            _ => None,
        }
    }

    /// Whether what streams now is dropped until the whole copy comes.
    pub fn latched(&self, key: &str) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.latched)
    }

    /// The whole copy of blocks: what of it did not stream. With `dropped` nothing is shown,
    /// but it is done with.
    pub fn whole<'a>(
        &mut self,
        key: &str,
        message: &Message<'a>,
        dropped: bool,
        fallback: &str,
    ) -> Vec<Piece<'a>> {
        let stream = self.streams.entry(key.to_owned()).or_default();
        let mut streamed = core::mem::take(&mut stream.blocks);
        stream.latched = false;
        stream.broken.clear();
        if dropped {
            return Vec::new();
        }
        let mut pieces = Vec::new();
        for block in message.blocks() {
            let Some((thought, _)) = said(&block) else {
                continue;
            };
            let text = if thought { block.thinking } else { block.text };
            let mut known = streamed.iter();
            let known = known.position(|it| it.thought == thought && text.starts_with(&it.text));
            let mut id = message.id.as_deref();
            let rest = match known {
                Some(at) => {
                    // The blocks before it have no copy here.
                    let known = streamed.drain(..=at).next_back();
                    id = id.or(Some(&stream.message_id));
                    cut(text, known.map_or(0, |known| known.text.len()))
                }
                None => text,
            };
            if !rest.is_empty() {
                pieces.push(Piece {
                    speaker: speaker(thought),
                    message_id: id.unwrap_or(fallback).to_owned(),
                    text: rest,
                });
            }
        }
        pieces
    }

    /// A turn is over: what streams from here on belongs to nothing before it.
    pub fn over(&mut self) {
        if let Some(stream) = self.streams.get_mut(MAIN) {
            *stream = Stream {
                latched: stream.latched,
                ..Stream::default()
            };
        }
    }

    /// A subagent is done.
    pub fn forget(&mut self, key: &str) {
        self.streams.remove(key);
    }
}

impl Stream {
    fn begin(&mut self, id: &str) {
        let before = core::mem::take(&mut self.blocks);
        // Only what broke off is said again, and may break off again before it is all said.
        if core::mem::take(&mut self.complete) {
            self.broken.clear();
        } else {
            for block in before {
                let same = |it: &Streamed| it.index == block.index && it.thought == block.thought;
                if !self.broken.iter().any(same) {
                    self.broken.push(block);
                }
            }
        }
        self.message_id = id.to_owned();
        self.latched = false;
    }

    fn grow<'a>(
        &mut self,
        latches: bool,
        index: u64,
        thought: bool,
        text: &'a str,
        dropped: bool,
        fallback: &str,
    ) -> Option<Piece<'a>> {
        if text.is_empty() {
            return None;
        }
        if dropped || self.latched {
            // Unless it has a whole copy that will be shown.
            self.latched = self.latched || latches;
            return None;
        }
        // Some gateways begin in mid message.
        if self.message_id.is_empty() {
            fallback.clone_into(&mut self.message_id);
        }
        let at = self
            .blocks
            .iter()
            .position(|it| it.index == index && it.thought == thought);
        let at = at.unwrap_or_else(|| {
            self.blocks.push(Streamed {
                index,
                thought,
                text: String::new(),
            });
            self.blocks.len() - 1
        });
        let new = self.again(at, text);
        self.blocks[at].text.push_str(text);
        let new = new?;
        Some(Piece {
            speaker: speaker(thought),
            message_id: self.message_id.clone(),
            text: new,
        })
    }

    /// What of the text is new, where a stream that broke off had already said some of it.
    fn again<'a>(&mut self, at: usize, text: &'a str) -> Option<Cow<'a, str>> {
        let Streamed {
            index,
            thought,
            text: so_far,
        } = &self.blocks[at];
        let same = |it: &Streamed| it.index == *index && it.thought == *thought;
        let Some(known) = self.broken.iter().position(same) else {
            return Some(Cow::Borrowed(text));
        };
        let before = &self.broken[known].text;
        let rest = &before[so_far.len()..];
        if let Some(new) = text.strip_prefix(rest) {
            self.broken.remove(known);
            return (!new.is_empty()).then_some(Cow::Borrowed(new));
        }
        if rest.starts_with(text) {
            return None;
        }
        // It says something else this time: from its beginning.
        let mut whole = so_far.clone();
        whole.push_str(text);
        self.broken.remove(known);
        Some(Cow::Owned(whole))
    }
}

fn speaker(thought: bool) -> Speaker {
    if thought {
        Speaker::Thought
    } else {
        Speaker::Agent
    }
}

/// The text of a block that is shown as text, and whether it is a thought.
fn said<'a>(block: &'a Block<'_>) -> Option<(bool, &'a str)> {
    match &*block.kind {
        "text" => Some((false, &*block.text)),
        "thinking" => Some((true, &*block.thinking)),
        _ => None,
    }
}

fn cut(text: Cow<'_, str>, length: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[length..]),
        Cow::Owned(text) => Cow::Owned(text[length..].to_owned()),
    }
}
