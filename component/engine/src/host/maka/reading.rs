//! Reading stored rows: while a turn runs, after it ended, and when a feed is recovered.
//!
//! Invariants: one walk at a time, on the feed's own subscription; the cut moves only
//! when every page of a walk was taken in; after a recovery a walk starts at the cut of the
//! turn's admission; the finale reads everything from there once more, because the Host
//! may have revised a row behind the cut.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::effect::Level;
use crate::host::{Fact, SessionKey};
use crate::limits;
use crate::object;
use crate::projection::{Call, Speaker, ToolFact};

use super::calls::Purpose;
use super::feed::Feed;
use super::interactions::Pending;
use super::results;
use super::transcript::{Overlay, Rising};
use super::turn::{Ended, Finale};
use super::wire::current::{Page, Row, op};
use super::{Answer, Cx, Maka, failure};

/// What was read, and what is being read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reading {
    /// The cut of the turn's admission.
    from: Option<u64>,
    /// Through which row everything was taken in.
    consumed: Option<u64>,
    walk: Option<Walk>,
}

/// Pages from a cut to a watermark.
#[derive(Debug, Serialize, Deserialize)]
struct Walk {
    through: u64,
    anchor: Option<u64>,
    cursor: Option<String>,
    rows: Rising,
    finale: bool,
}

/// What a recovered feed reads before its frames are handled.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Hydration {
    /// The watermark of the opening.
    through: Option<u64>,
    overlay: Overlay,
    overlay_cursor: Option<String>,
    /// Ids of overlay rows: they stand for the durable rows of the same id.
    overlaid: BTreeSet<String>,
    rows: Vec<String>,
    /// Questions to the user that were pending.
    pub asked: Vec<Pending>,
    /// The stored end of our turn, if one was read.
    ended: Option<Ended>,
}

impl Hydration {
    /// At the opening.
    pub fn new(through: Option<u64>) -> Hydration {
        Hydration {
            through,
            ..Hydration::default()
        }
    }
}

impl Reading {
    /// A turn is sent with this cut.
    pub fn begin(&mut self, cut: Option<u64>) {
        *self = Reading {
            from: cut,
            consumed: cut,
            walk: None,
        };
    }

    /// The subscription is gone: what was begun on it is void.
    pub fn interrupt(&mut self) {
        self.walk = None;
        self.consumed = self.from;
    }
}

impl Maka {
    /// Begins to read what became durable since the last time, if anything did.
    pub(super) fn read_on(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(turn) = attached.turn.as_mut().filter(|turn| turn.observed()) else {
            return;
        };
        if !matches!(attached.feed, Feed::Live) || attached.reading.walk.is_some() {
            return;
        }
        let finale = turn.finale == Finale::Due;
        let from = if finale {
            attached.reading.from
        } else {
            attached.reading.consumed
        };
        match attached.watermark {
            Some(through) if Some(through) > from => {
                if finale {
                    turn.finale = Finale::Reading;
                }
                self.walk(cx, key, from, through, finale);
            }
            _ if finale => {
                turn.finale = Finale::Done;
                self.progress(cx, key);
            }
            _ => {}
        }
    }

    fn walk(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        anchor: Option<u64>,
        through: u64,
        finale: bool,
    ) {
        if let Some(attached) = self.feeds.get_mut(&key) {
            let rows = Rising::default();
            attached.reading.walk = Some(Walk {
                through,
                anchor,
                cursor: None,
                rows,
                finale,
            });
            self.ask_page(cx, key);
        }
    }

    fn ask_page(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get(&key) else {
            return;
        };
        let Some(walk) = &attached.reading.walk else {
            return;
        };
        let anchor = if walk.cursor.is_some() {
            None
        } else {
            walk.anchor
        };
        let input = object! {
            "subscriptionId": attached.subscription, "source": "durable", "direction": "newer",
            "throughSequence": walk.through, "cursor": walk.cursor, "anchorSequence": anchor,
            "maxBytes": limits::MAKA_PAGE,
        };
        let purpose = Purpose::Page {
            session: key,
            feed: attached.number,
        };
        self.call(cx, op::PAGE, input, purpose, Some(limits::MAKA_READ_MS));
    }

    /// A page came.
    pub(super) fn page(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        feed: u64,
        answer: Answer<'_>,
    ) {
        if self
            .feeds
            .get(&key)
            .is_none_or(|attached| attached.number != feed)
        {
            return;
        }
        let page = match &answer {
            Answer::Result(result) => serde_json::from_str::<Page<'_>>(result.get()).ok(),
            // A Host that lives but does not answer this: the feed is had anew.
            Answer::Lost {
                reason: "timeout", ..
            } => {
                return self.recover(cx, key, "page_timeout");
            }
            // The feed is lost with the connection, and recovers.
            Answer::Lost { .. } => return,
            _ => None,
        };
        let Some(page) = page else {
            return self.feed_failed(cx, key, answer.failure(op::PAGE));
        };
        match self
            .feeds
            .get(&key)
            .map(|attached| attached.reading.walk.is_some())
        {
            Some(true) => self.durable_page(cx, key, &page),
            _ => self.hydrate_overlay(cx, key, Some(&page)),
        }
    }

    fn durable_page(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, page: &Page<'_>) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let number = attached.number;
        let Some(walk) = &mut attached.reading.walk else {
            return;
        };
        let next = page.next_cursor.as_deref();
        let stuck = next.is_some() && next == walk.cursor.as_deref();
        let Some(rows) = walk.rows.take(page).ok().filter(|_| !stuck) else {
            return self.feed_failed(cx, key, failure::subscription("correlation_changed"));
        };
        walk.cursor = next.map(ToString::to_string);
        let more = walk.cursor.is_some();
        let mut over = false;
        for (_, row) in rows {
            over |= self.row(cx, key, &row, false);
            // A row may break the turn, or the feed with it.
            if self
                .feeds
                .get(&key)
                .is_none_or(|attached| attached.number != number)
            {
                return;
            }
        }
        if more && !over {
            self.ask_page(cx, key);
        } else {
            self.walked(cx, key);
        }
    }

    /// Every page of the walk was taken in.
    fn walked(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(walk) = attached.reading.walk.take() else {
            return;
        };
        attached.reading.consumed = Some(walk.through);
        if matches!(attached.feed, Feed::Hydrating { .. }) {
            return self.hydrated(cx, key);
        }
        if walk.finale
            && let Some(turn) = &mut attached.turn
            && turn.finale == Finale::Reading
        {
            turn.finale = Finale::Done;
        }
        self.progress(cx, key);
        self.read_on(cx, key);
    }

    /// Takes in a stored row; says whether it is the end of our turn.
    fn row(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, text: &[u8], overlay: bool) -> bool {
        let Ok(row) = serde_json::from_slice::<Row<'_>>(text) else {
            cx.core
                .note(Level::Warn, "the Host stored a row that cannot be read");
            return false;
        };
        let Some(attached) = self.feeds.get_mut(&key) else {
            return false;
        };
        if attached
            .turn
            .as_ref()
            .is_none_or(|turn| turn.id != row.turn_id)
        {
            return false;
        }
        if let Feed::Hydrating { hydration, .. } = &mut attached.feed
            && !overlay
        {
            if hydration.overlaid.contains(&*row.id) {
                return false;
            }
            if let Some(ended) = ended(&row) {
                hydration.ended = Some(ended);
            }
        }
        if row.kind == "turn_state" {
            return ended(&row).is_some();
        }
        self.show(cx, key, &row);
        false
    }

    fn show(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, row: &Row<'_>) {
        match &*row.kind {
            "assistant" => {
                let message_id = &*row.id;
                let thinking = row.thinking.as_ref().map_or("", |thinking| &thinking.text);
                for (speaker, text) in [
                    (Speaker::Thought, thinking),
                    (Speaker::Agent, row.text.as_deref().unwrap_or_default()),
                ] {
                    let _fine = cx.tell(
                        key,
                        Fact::TextIs {
                            speaker,
                            message_id,
                            text,
                        },
                    );
                }
            }
            "tool_call" => {
                let name = row.tool_name.as_deref().unwrap_or(&row.id);
                let kind = results::kind(row.activity_kind.as_deref());
                let places = row.args.map(|args| results::places(kind, args));
                let fact = ToolFact::Called {
                    id: &row.id,
                    call: Call {
                        name,
                        display_name: row.display_name.as_deref(),
                        kind,
                        operation_id: row.operation_id.as_deref(),
                        step_id: row.step_id.as_deref(),
                        parent: row.parent_tool_call_id.as_deref(),
                        places: places.as_deref().unwrap_or_default(),
                    },
                    args: row.args.and_then(|args| results::raw_input(name, args)),
                    input_preview: row.args.and_then(|args| results::input_preview(name, args)),
                };
                let _fine = cx.tell(key, Fact::Tool(fact));
            }
            "tool_result" => {
                let (Some(id), Some(content)) = (row.tool_use_id.as_deref(), row.content) else {
                    return;
                };
                let formatted = results::result(content, row.is_error);
                let fact = ToolFact::Result {
                    id,
                    outcome: formatted.outcome,
                    text: formatted.text,
                    raw: content,
                    duration_ms: row.duration_ms,
                    details: formatted.details,
                };
                let _fine = cx.tell(key, Fact::Tool(fact));
            }
            "token_usage" => self.ask_context(cx, key),
            _ => {}
        }
    }

    /// Takes in a page of the overlay, and asks for the next; without any, or after the
    /// last, the durable rows follow.
    pub(super) fn hydrate_overlay(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        page: Option<&Page<'_>>,
    ) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let feed = attached.number;
        let Feed::Hydrating { hydration, .. } = &mut attached.feed else {
            return;
        };
        if let Some(page) = page {
            let next = page.next_cursor.as_deref();
            let stuck = next.is_some() && next == hydration.overlay_cursor.as_deref();
            if stuck || hydration.overlay.take(page).is_err() {
                return self.feed_failed(cx, key, failure::subscription("correlation_changed"));
            }
            hydration.overlay_cursor = next.map(ToString::to_string);
            if hydration.overlay_cursor.is_some() {
                let input = object! {
                    "subscriptionId": attached.subscription, "source": "overlay",
                    "direction": "older", "throughSequence": hydration.through,
                    "cursor": hydration.overlay_cursor, "anchorSequence": None::<u64>,
                    "maxBytes": limits::MAKA_PAGE,
                };
                let purpose = Purpose::Page { session: key, feed };
                return self.call(cx, op::PAGE, input, purpose, Some(limits::MAKA_READ_MS));
            }
            let Ok(rows) = core::mem::take(&mut hydration.overlay).finish() else {
                return self.feed_failed(cx, key, failure::subscription("correlation_changed"));
            };
            for row in rows {
                let Ok(text) = String::from_utf8(row) else {
                    continue;
                };
                if let Some(id) = row_id(&text) {
                    hydration.overlaid.insert(id);
                }
                hydration.rows.push(text);
            }
            self.release_overlay(cx, key);
        }
        self.hydrate_durable(cx, key);
    }

    fn hydrate_durable(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let from = attached.reading.from;
        match attached.watermark {
            Some(through) if Some(through) > from => self.walk(cx, key, from, through, false),
            _ => self.hydrated(cx, key),
        }
    }

    /// Everything stored was taken in: the overlay's rows, then the frames that waited.
    fn hydrated(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let number = attached.number;
        let Feed::Hydrating { hydration, frames } =
            core::mem::replace(&mut attached.feed, Feed::Live)
        else {
            return;
        };
        for row in &hydration.rows {
            self.row(cx, key, row.as_bytes(), true);
        }
        let Some(turn) = self
            .feeds
            .get_mut(&key)
            .and_then(|attached| attached.turn.as_mut())
        else {
            return;
        };
        let is_root = turn.seen_as_root;
        // The turn is not the session's root any more: then its end is stored, or the
        // snapshot and the rows do not fit together yet.
        if is_root && turn.ended.is_none() && !self.root_is_ours(key) {
            match hydration.ended {
                Some(ended) => {
                    if let Some(turn) = self.feeds.get_mut(&key).and_then(|a| a.turn.as_mut()) {
                        turn.end(ended);
                    }
                }
                None => return self.recover(cx, key, "projection_revision_invalid"),
            }
        }
        self.heed(cx, key, hydration.asked);
        self.progress(cx, key);
        self.replay_held(cx, key, number, frames.into_iter());
    }

    fn root_is_ours(&self, key: SessionKey) -> bool {
        self.feeds
            .get(&key)
            .is_some_and(|attached| match (&attached.root, &attached.turn) {
                (Some(root), Some(turn)) => root.turn_id == turn.id,
                _ => false,
            })
    }
}

/// The stored end of a turn.
fn ended(row: &Row<'_>) -> Option<Ended> {
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or("unknown").to_string();
    match (&*row.kind, row.status.as_deref()) {
        ("turn_state", Some("completed")) => Some(Ended::Completed),
        ("turn_state", Some("failed")) => Some(Ended::Failed {
            class: text(&row.error_class),
            message: None,
        }),
        ("turn_state", Some("aborted")) => Some(Ended::Aborted {
            source: text(&row.abort_source),
        }),
        _ => None,
    }
}

fn row_id(text: &str) -> Option<String> {
    let row: Row<'_> = serde_json::from_str(text).ok()?;
    Some(row.id.into_owned())
}
