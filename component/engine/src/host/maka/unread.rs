//! Tools that a turn's feed or rows told of, and whose stored results were not read.
//!
//! A Host says how far its store goes before it says that a turn has ended. Where it did
//! not, what it stored last is known only to a feed that is opened afresh: then one is, once
//! a turn, because a result that is never stored must not hold the turn up. Invariant: after
//! the stored end of a turn nothing is missed, since nothing of it is stored behind that.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::host::SessionKey;
use crate::limits;

use super::turn::{Finale, Turn};
use super::wire::current::Row;
use super::{Cx, Maka};

/// Tools of a turn without a stored result.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Unread {
    tools: BTreeSet<String>,
    /// The feed was opened afresh for them.
    looked: bool,
}

impl Unread {
    /// The feed tells of a tool.
    pub fn heard(&mut self, id: &str) {
        if (self.tools.len() as u64) < limits::PROMPT_TOOLS {
            self.tools.insert(id.to_string());
        }
    }

    /// A stored row of the turn was read.
    pub fn read(&mut self, row: &Row<'_>, end: bool) {
        match &*row.kind {
            _ if end => self.tools.clear(),
            "tool_call" => self.heard(&row.id),
            "tool_result" => {
                self.tools
                    .remove(row.tool_use_id.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }
}

impl Turn {
    /// Everything up to the watermark was read after the end. Whether that may not be all,
    /// so that the feed is to be opened afresh.
    pub fn read_out(&mut self) -> bool {
        let again = self.ours() && !self.unread.looked && !self.unread.tools.is_empty();
        self.unread.looked |= again;
        self.finale = if again { Finale::Due } else { Finale::Done };
        again
    }
}

impl Maka {
    /// The session's turn was read to the watermark after its end: it goes on, or the feed
    /// is opened afresh.
    pub(super) fn finale_read(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let turn = self.feeds.get_mut(&key).and_then(|it| it.turn.as_mut());
        if turn.is_some_and(Turn::read_out) {
            self.detach(cx, key);
            self.open(cx, key);
        } else {
            self.progress(cx, key);
        }
    }
}
