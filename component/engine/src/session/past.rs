//! Turns that are over, as the Host has stored them: shown once, in order.
//!
//! Texts come whole and go out at once; only tools need to be put together. Invariant: what
//! is kept is one turn's tools within their budget, however long the past is.

use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::host::{Command, Fact, SessionKey};
use crate::plumbing::Core;
use crate::projection::{End, Projection, ToolFact, Update};

use super::{Feed, Session, Sessions};
use crate::editor::Editor;

/// The turn that is being shown.
#[derive(Debug, Serialize, Deserialize)]
pub struct Past {
    turn_id: String,
    tools: Projection,
}

impl Past {
    fn new(turn_id: &str, cwd: &str) -> Past {
        Past {
            turn_id: turn_id.to_string(),
            tools: Projection::new(turn_id).within(cwd),
        }
    }

    /// A tool's call or result. A turn may have more of them than one prompt may show; those
    /// that are out long ago make room.
    fn tool(&mut self, fact: ToolFact<'_>, cwd: &str) {
        if self.tools.nearly_full() {
            self.tools = Projection::new(&self.turn_id).within(cwd);
        }
        // What does not fit all the same is left out; the rest of the past goes on.
        if self.tools.tool(fact).is_err() {
            self.tools = Projection::new(&self.turn_id).within(cwd);
        }
    }

    fn show(&mut self, core: &mut Core<'_>, editor: &mut Editor, session_id: &str) {
        self.tools
            .drain(&mut |update| editor.update(core, session_id, &update));
    }
}

impl Sessions {
    /// Something about a turn that is over.
    pub(super) fn past(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        turn_id: &str,
        fact: Fact<'_>,
    ) {
        if self.ending || self.open.get(&key).is_none_or(Session::closing) {
            return;
        }
        let current = |it: &Session| it.past.as_ref().is_some_and(|it| it.turn_id == turn_id);
        if !self.open.get(&key).is_some_and(current) {
            self.past_over(core, key, End::Cancelled);
        }
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        let Session { id, cwd, past, .. } = session;
        let past = past.get_or_insert_with(|| Past::new(turn_id, cwd));
        match fact {
            Fact::TextIs {
                speaker,
                message_id,
                text,
            } if !text.is_empty() => {
                let update = Update::Message {
                    speaker,
                    message_id,
                    text,
                    meta: None,
                };
                self.editor.update(core, id, &update);
            }
            Fact::Tool(fact) => {
                past.tool(fact, cwd);
                past.show(core, &mut self.editor, id);
            }
            _ => {}
        }
        if self.editor.slow() && session.feed == Feed::Flowing {
            session.feed = Feed::Paused;
            self.commands.push_back(Command::Pause { session: key });
        }
    }

    /// Nothing more comes of that turn: its cards are closed.
    pub(super) fn past_over(&mut self, core: &mut Core<'_>, key: SessionKey, end: End) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        let Some(mut past) = session.past.take() else {
            return;
        };
        if self.ending || session.closing() {
            return;
        }
        // A result that is missing in the record is only missing on its card.
        let _known = past.tools.finish(end);
        past.show(core, &mut self.editor, &session.id);
    }
}
