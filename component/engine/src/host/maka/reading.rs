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
use crate::host::SessionKey;
use crate::limits;
use crate::object;

use super::calls::Purpose;
use super::feed::{Attached, Feed};
use super::interactions::Pending;
use super::rows;
use super::transcript::{Overlay, Rising};
use super::turn::{Ended, Finale};
use super::wire::current::{Page, Row, op};
use super::wire::surrogates;
use super::{Answer, Cx, Maka, failure};

/// What was read, and what is being read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reading {
    /// The cut of the turn's admission.
    from: Option<u64>,
    /// Through which row everything was taken in.
    consumed: Option<u64>,
    walk: Option<Walk>,
    /// Counts walks, so that late pages are known.
    walks: u64,
}

/// In place of a walk's number: a page of the overlay.
const OVERLAY: u64 = 0;

/// Pages from a cut to a watermark.
#[derive(Debug, Serialize, Deserialize)]
struct Walk {
    through: u64,
    anchor: Option<u64>,
    cursor: Option<String>,
    rows: Rising,
    kind: Kind,
    /// A page is on its way.
    asked: bool,
    /// The editor is slow: the next page is not asked for.
    held: bool,
}

/// What a walk is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// What the session's turn stored meanwhile.
    Turn,
    /// Everything that it stored, after its end.
    Finale,
    /// What any turn stored: the session is looked at.
    Past,
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
    /// More frames came than may wait: the feed is had anew when all is read.
    pub overrun: bool,
    /// The feed was live before: of questions its frames tell.
    pub in_place: bool,
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
        self.from = cut;
        self.consumed = cut;
        self.walk = None;
    }

    /// The turn's first row is this one: nothing before it need be read again.
    pub fn begins_at(&mut self, sequence: u64) {
        let before = sequence.checked_sub(1);
        if before > self.from {
            self.from = before;
        }
    }

    /// From where the turn's rows are read.
    pub fn from(&self) -> Option<u64> {
        self.from
    }

    /// Whether what any turn stored is being read.
    pub fn of_past(&self) -> bool {
        self.walk
            .as_ref()
            .is_some_and(|walk| walk.kind == Kind::Past)
    }

    /// Whether that waits for a slow editor.
    pub fn held(&self) -> bool {
        self.walk.as_ref().is_some_and(|walk| walk.held)
    }

    /// Whether the next page waits from now on; whether it was to be asked for.
    pub fn hold_back(&mut self, held: bool) -> bool {
        match &mut self.walk {
            Some(walk) if walk.kind == Kind::Past => {
                let waited = core::mem::replace(&mut walk.held, held);
                waited && !held && !walk.asked
            }
            _ => false,
        }
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
            // What came before it is told first, and its user's words before its own.
            Some(through) if Some(through) > from && turn.unfound() => self.hold(cx, key),
            Some(through) if Some(through) > from => {
                if finale {
                    turn.finale = Finale::Reading;
                }
                let kind = if finale { Kind::Finale } else { Kind::Turn };
                self.walk(cx, key, from, through, kind);
            }
            _ if finale => self.finale_read(cx, key),
            _ => {}
        }
    }

    fn walk(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        anchor: Option<u64>,
        through: u64,
        kind: Kind,
    ) {
        if let Some(attached) = self.feeds.get_mut(&key) {
            let rows = Rising::default();
            attached.reading.walks += 1;
            attached.reading.walk = Some(Walk {
                through,
                anchor,
                cursor: None,
                rows,
                kind,
                asked: false,
                held: false,
            });
            self.ask_page(cx, key);
        }
    }

    pub(super) fn ask_page(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(walk) = &mut attached.reading.walk else {
            return;
        };
        walk.asked = true;
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
            walk: attached.reading.walks,
        };
        self.call(cx, op::PAGE, input, purpose, Some(limits::MAKA_READ_MS));
    }

    /// A page came.
    pub(super) fn page(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        (feed, walk): (u64, u64),
        answer: Answer<'_>,
    ) {
        let wanted = |it: &Attached| {
            it.number == feed
                && (walk == OVERLAY || it.reading.walk.is_some() && it.reading.walks == walk)
        };
        if !self.feeds.get(&key).is_some_and(wanted) {
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
        if walk == OVERLAY {
            self.hydrate_overlay(cx, key, Some(&page));
        } else {
            self.durable_page(cx, key, &page);
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
        walk.asked = false;
        let more = walk.cursor.is_some();
        let past = walk.kind == Kind::Past;
        let mut over = false;
        for (sequence, row) in rows {
            over |= self.row(cx, key, &row, Some(sequence)) && !past;
            // A row may break the turn, or the feed with it.
            if self
                .feeds
                .get(&key)
                .is_none_or(|attached| attached.number != number)
            {
                return;
            }
        }
        if !more || over {
            self.walked(cx, key);
        } else if self.feeds.get(&key).is_some_and(|it| !it.reading.held()) {
            self.ask_page(cx, key);
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
        if walk.kind == Kind::Finale
            && let Some(turn) = &attached.turn
            && turn.finale == Finale::Reading
        {
            return self.finale_read(cx, key);
        }
        self.progress(cx, key);
        self.read_on(cx, key);
    }

    /// Takes in a stored row, which has a number unless it is of the overlay; says whether it
    /// is the end of the session's turn.
    fn row(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        text: &[u8],
        sequence: Option<u64>,
    ) -> bool {
        let mended = surrogates::of_row(text);
        let text = mended.as_deref().unwrap_or(text);
        let Ok(row) = serde_json::from_slice::<Row<'_>>(text) else {
            cx.core
                .note(Level::Warn, "the Host stored a row that cannot be read");
            return false;
        };
        let Some(attached) = self.feeds.get_mut(&key) else {
            return false;
        };
        let Some(turn) = attached.turn.as_mut().filter(|it| it.id == row.turn_id) else {
            if attached.reading.of_past()
                && let Some(sequence) = sequence
            {
                self.past_row(cx, key, sequence, &row);
            }
            return false;
        };
        let over = ended(&row);
        turn.unread.read(&row, over.is_some());
        if let Some(sequence) = sequence {
            if turn.unfound() {
                attached.reading.begins_at(sequence);
            }
            if over.is_some() {
                turn.end_at = Some(sequence);
            }
            if let Feed::Hydrating { hydration, .. } = &mut attached.feed {
                if hydration.overlaid.contains(&*row.id) {
                    return false;
                }
                if over.is_some() {
                    hydration.ended.clone_from(&over);
                }
            }
            self.watched_row(cx, key, sequence);
        }
        if row.kind == "token_usage" {
            self.ask_context(cx, key);
        }
        let foreign = self.feeds.get(&key).is_some_and(Attached::watches);
        // The editor that wrote a prompt shows it already.
        if row.kind != "user" || foreign {
            rows::facts(&row, &mut |fact| {
                let _fine = cx.tell(key, fact);
            });
        }
        over.is_some()
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
                let purpose = Purpose::Page {
                    session: key,
                    feed,
                    walk: OVERLAY,
                };
                return self.call(cx, op::PAGE, input, purpose, Some(limits::MAKA_READ_MS));
            }
            let Ok(rows) = core::mem::take(&mut hydration.overlay).finish() else {
                return self.feed_failed(cx, key, failure::subscription("correlation_changed"));
            };
            for row in rows {
                let row = surrogates::of_row(&row).unwrap_or(row);
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

    pub(super) fn hydrate_durable(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let (from, kind) = match attached.untold() {
            Some(from) => (from, Kind::Past),
            None => (attached.reading.from, Kind::Turn),
        };
        match attached.watermark {
            Some(through) if Some(through) > from => self.walk(cx, key, from, through, kind),
            _ => self.hydrated(cx, key),
        }
    }

    /// Everything stored was taken in: the overlay's rows, then the frames that waited.
    fn hydrated(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let number = attached.number;
        let Feed::Hydrating {
            mut hydration,
            frames,
        } = core::mem::replace(&mut attached.feed, Feed::Live)
        else {
            return;
        };
        self.seeded(cx, key, false);
        for row in &hydration.rows {
            self.row(cx, key, row.as_bytes(), None);
        }
        if !self.turn_fits(cx, key, &hydration) {
            return;
        }
        self.told_all(cx, key);
        if !hydration.in_place {
            self.heed(cx, key, core::mem::take(&mut hydration.asked));
        }
        self.progress(cx, key);
        if hydration.overrun {
            return self.recover(cx, key, "slow_consumer");
        }
        self.replay_held(cx, key, number, frames.into_iter());
        self.look_on(cx, key);
    }

    /// Whether what was read fits to the session's turn, if there is one.
    fn turn_fits(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, read: &Hydration) -> bool {
        let is_root = self.root_is_ours(key);
        let Some(turn) = self.feeds.get_mut(&key).and_then(|it| it.turn.as_mut()) else {
            return true;
        };
        // The turn is not the session's root any more: then its end is stored, or the
        // snapshot and the rows do not fit together yet.
        if turn.seen_as_root && turn.ended.is_none() && !is_root {
            match &read.ended {
                Some(ended) => turn.end(ended.clone()),
                None => {
                    self.recover(cx, key, "projection_revision_invalid");
                    return false;
                }
            }
        }
        true
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
