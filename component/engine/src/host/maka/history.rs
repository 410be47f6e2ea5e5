//! Sessions that are looked at: everything that happens in them is told, whoever asked for
//! it. Turns that run are told live, one at a time; whatever else is stored is told from
//! the store, in order.
//!
//! Invariants: a row is told once (a mark says through which row everything was told, so
//! that memory does not grow with the transcript); a turn of another client is never
//! stopped because it cannot be looked at.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::effect::Level;
use crate::host::{Blame, Fact, Failure, SessionKey};
use crate::limits;
use crate::projection::End;

use super::feed::{Attached, Feed};
use super::reading::Hydration;
use super::rows;
use super::turn::{Seeding, Turn, Watch};
use super::wire::current::Row;
use super::{Cx, Due, Maka};

/// Looks at everything that happens in a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observer {
    /// Through which row everything was told.
    pub mark: Option<u64>,
    /// The turn that ran last: what is stored of it behind the mark was told live.
    last: Option<String>,
}

impl Observer {
    /// From this row on.
    pub fn after(mark: Option<u64>) -> Observer {
        Observer { mark, last: None }
    }

    /// Everything through this row was told.
    pub fn told_through(&mut self, row: Option<u64>) {
        self.mark = self.mark.max(row);
    }

    /// A turn was told live, to its end.
    pub fn told_turn(&mut self, turn: &Turn) {
        self.told_through(turn.end_at);
        self.last = Some(turn.id.clone());
    }
}

impl Attached {
    /// Whether everything that happens in the session is told.
    pub fn looked_at(&self) -> bool {
        self.observer.is_some() || self.load.is_some()
    }

    /// Whether a turn of another client is looked at.
    pub fn watches(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.ours())
    }

    /// Everything stored was told, unless it is of a turn that goes on.
    pub fn told_so_far(&mut self) {
        let runs = self.root.as_ref().is_some_and(|root| root.live);
        let sent = self.turn.as_ref().is_some_and(Turn::dispatched);
        if let Some(observer) = self.observer.as_mut().filter(|_| !runs && !sent) {
            observer.told_through(self.watermark);
        }
    }

    /// After which row stored rows are to be read before frames are handled, of any turn.
    /// `None` where only those of our turn are.
    pub fn untold(&self) -> Option<Option<u64>> {
        let mark = self.observer.as_ref()?.mark;
        Some(match &self.turn {
            Some(Turn {
                watch: Some(watch), ..
            }) if watch.seeding != Seeding::Over => None,
            Some(turn) if turn.dispatched() => mark.min(self.reading.from()),
            _ => mark,
        })
    }
}

impl Maka {
    /// Frames wait while stored rows are read, on the same feed.
    pub(super) fn hold(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        attached.reading.interrupt();
        if let Some(turn) = &mut attached.turn {
            turn.reread();
        }
        let mut hydration = Hydration::new(attached.watermark);
        hydration.in_place = true;
        attached.feed = Feed::Hydrating {
            hydration: Box::new(hydration),
            frames: VecDeque::new(),
        };
        self.hydrate_durable(cx, key);
    }

    /// Does what is due while the feed is live and no turn of the session runs that is told.
    pub(super) fn look_on(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get(&key) else {
            return;
        };
        if !matches!(attached.feed, Feed::Live) || attached.closing.is_some() || self.ending {
            return;
        }
        if attached.load.as_ref().is_some_and(|load| !load.begun) {
            return self.load_live(cx, key);
        }
        match &attached.turn {
            Some(turn) if turn.ours() => return self.dispatch(cx, key),
            Some(_) => return,
            None => self.adopt(cx, key),
        }
        let behind = |it: &Attached| it.observer.as_ref().is_some_and(|o| it.watermark > o.mark);
        if self.feeds.get(&key).is_some_and(behind) {
            self.hold(cx, key);
        }
    }

    /// Looks at the turn that runs, if nobody does yet.
    pub(super) fn adopt(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let (Some(observer), Some(root), None) =
            (&attached.observer, &attached.root, &attached.turn)
        else {
            return;
        };
        if !root.live || observer.last.as_ref() == Some(&root.turn_id) {
            return;
        }
        let seeding = match &attached.load {
            Some(load) if !load.replay => Seeding::UntilRead,
            Some(load) => load.told.map_or(Seeding::Over, Seeding::Through),
            None => Seeding::Over,
        };
        let (turn_id, run_id) = (root.turn_id.clone(), root.run_id.clone());
        attached.reading.begin(observer.mark);
        attached.turn = Some(Turn::watched(turn_id.clone(), run_id, seeding));
        self.began(cx, key, &turn_id, seeding);
    }

    /// A load tells the turn from its beginning, of which only the end was shown.
    pub(super) fn adopt_again(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let mark = attached.observer.as_ref().and_then(|it| it.mark);
        if let Some(turn) = &mut attached.turn
            && let Some(watch) = &mut turn.watch
            && watch.partial
        {
            let seeding = mark.map_or(Seeding::Over, Seeding::Through);
            *watch = Watch::new(seeding);
            attached.reading.begin(mark);
            let turn_id = turn.id.clone();
            self.began(cx, key, &turn_id, seeding);
        }
    }

    fn began(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, turn_id: &str, seeding: Seeding) {
        let silent = seeding != Seeding::Over;
        let _fine = cx.tell(key, Fact::Began { turn_id, silent });
    }

    /// What the editor is not to be shown was told; `all` of it, or what it has already.
    pub(super) fn seeded(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, all: bool) {
        let turn = self.feeds.get_mut(&key).and_then(|it| it.turn.as_mut());
        let Some(watch) = turn.and_then(|turn| turn.watch.as_mut()) else {
            return;
        };
        if matches!(watch.seeding, Seeding::Through(_)) || all && watch.seeding != Seeding::Over {
            watch.seeding = Seeding::Over;
            let _fine = cx.tell(key, Fact::Seeded);
        }
    }

    /// A stored row of the turn that is looked at comes next.
    pub(super) fn watched_row(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, sequence: u64) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if let Some(load) = &mut attached.load {
            load.told = load.told.max(Some(sequence));
        }
        let turn = attached.turn.as_mut();
        if let Some(watch) = turn.and_then(|turn| turn.watch.as_mut()) {
            watch.found = true;
            if matches!(watch.seeding, Seeding::Through(through) if sequence > through) {
                self.seeded(cx, key, false);
            }
        }
    }

    /// A stored row of a turn that is over, or of none.
    pub(super) fn past_row(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        sequence: u64,
        row: &Row<'_>,
    ) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(observer) = &mut attached.observer else {
            return;
        };
        if Some(sequence) <= observer.mark || row.turn_id.is_empty() {
            return;
        }
        // The turn that runs is looked at as soon as the one before it is settled.
        let live = attached.root.as_ref().filter(|root| root.live);
        if live.is_some_and(|root| root.turn_id == row.turn_id) {
            return;
        }
        observer.mark = Some(sequence);
        if let Some(load) = &mut attached.load {
            load.told = load.told.max(Some(sequence));
        }
        let turn_id = &*row.turn_id;
        if observer.last.as_deref() == Some(turn_id) {
            return;
        }
        if row.kind == "turn_state" {
            let end = match row.status.as_deref() {
                Some("completed") => End::Completed,
                Some("failed") => End::Failed,
                Some("aborted") => End::Cancelled,
                _ => return,
            };
            let _fine = cx.tell(key, Fact::PastOver { end });
            return;
        }
        rows::facts(row, &mut |fact| {
            let fact = Box::new(fact);
            let _fine = cx.tell(key, Fact::Past { turn_id, fact });
        });
    }

    /// Everything stored was told: a load is answered, and frames may follow.
    pub(super) fn told_all(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        self.seeded(cx, key, true);
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if attached.observer.is_none() {
            return;
        }
        attached.told_so_far();
        let end = End::Cancelled;
        let _fine = cx.tell(key, Fact::PastOver { end });
        self.load_done(cx, key);
    }

    /// Nobody looks at the session any more.
    pub(super) fn look_away(&mut self, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        attached.observer = None;
        if attached.watches() {
            attached.turn = None;
            attached.reading.interrupt();
        }
    }

    /// The feed of a session that is looked at was lost: if it may come back by itself, it
    /// is tried again after a while. What happened meanwhile is told then.
    pub(super) fn look_later(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, failure: &Failure) {
        let ending = self.ending;
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if attached.observer.is_none() || !matches!(attached.feed, Feed::None) || ending {
            return;
        }
        if failure.blame == Blame::Request {
            cx.core.note(Level::Warn, failure.message.clone());
            return self.look_away(key);
        }
        if attached.turn.is_none() && attached.closing.is_none() {
            let due = Due::Recover {
                session: key,
                feed: attached.number,
            };
            let timer = cx.arm(due, limits::MAKA_LOOK_AGAIN_MS);
            attached.feed = Feed::Pausing { timer };
        }
    }
}
