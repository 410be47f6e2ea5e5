//! The feed of one session: opened by the first prompt, kept, recovered when it breaks.
//!
//! Invariants: at most one subscription a session; a subscription that comes too late is
//! closed once; frames that come while stored rows are read wait their turn; a feed that
//! breaks is opened at most [`limits::MAKA_RECOVERIES`] times without a live frame.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::admission::Content;
use crate::host::{Failure, Outcome, SessionKey};
use crate::input::Timer;
use crate::limits;
use crate::object;
use crate::rpc::Ticket;

use super::calls::Purpose;
use super::history::Observer;
use super::interactions::Interactions;
use super::load::Loading;
use super::parcel::{Goal, text_fits};
use super::reading::{Hydration, Reading};
use super::turn::{Admission, Stop, Turn};
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Due, Maka, failure};

/// What is attached to one session.
#[derive(Debug, Serialize, Deserialize)]
pub struct Attached {
    /// On the wire.
    pub session_id: String,
    /// The feed.
    pub feed: Feed,
    /// Counts openings, so that late answers are known.
    pub number: u64,
    /// The subscription, while there is one.
    pub subscription: Option<String>,
    /// What the next frame must say.
    pub next_sequence: u64,
    /// What the last snapshot said.
    pub revision: u64,
    /// Revision of the session's record, once a snapshot said it.
    pub metadata: Option<u64>,
    /// Which Host process sends it.
    pub epoch: String,
    /// Through which stored row the session goes.
    pub watermark: Option<u64>,
    /// The current or last turn of the session.
    pub root: Option<Root>,
    /// Our turn, or another client's that is looked at.
    pub turn: Option<Turn>,
    /// Reading stored rows.
    pub reading: Reading,
    /// Questions to the user.
    pub interactions: Interactions,
    /// Openings without a live frame.
    pub attempts: u64,
    /// Whether the first frame after a recovery is still to come.
    pub unproven: bool,
    /// Runs from that frame until the feed counts as live.
    pub proving: Option<Timer>,
    /// Stops of other clients' turns that are on their way.
    pub foreign_stops: u64,
    /// Why the last Stop failed, for `session/close`.
    pub stop_failure: Option<Failure>,
    /// `session/close` waits.
    pub closing: Option<Ticket>,
    /// Set while everything that happens in the session is told.
    pub observer: Option<Observer>,
    /// `session/load` or `session/resume` waits.
    pub load: Option<Loading>,
    /// When it was used last, counted in uses.
    pub used: u64,
    /// Whether the Host was asked how full the context is.
    pub context_asked: bool,
    /// The look at its plan that is under way.
    pub plan: PlanLook,
}

/// A feed.
#[derive(Debug, Serialize, Deserialize)]
pub enum Feed {
    /// Not opened.
    None,
    /// To be opened when the Host has room for another feed.
    Queued,
    /// `subscription.open` is on its way.
    Opening,
    /// Open, but stored rows are read first; its frames wait.
    Hydrating {
        hydration: Box<Hydration>,
        frames: VecDeque<String>,
    },
    /// Frames are handled as they come.
    Live,
    /// Between two attempts to recover.
    Pausing { timer: Timer },
    /// Given up for a slow editor.
    Paused,
}

/// A look at a session's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanLook {
    /// None is under way.
    None,
    /// The Host was asked.
    Asked,
    /// The plan has changed since.
    Stale,
}

/// A turn as the snapshot shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// Its id.
    pub turn_id: String,
    /// Its run.
    pub run_id: String,
    /// Whether it still goes on.
    pub live: bool,
}

impl Attached {
    pub fn new(session_id: String) -> Attached {
        Attached {
            session_id,
            feed: Feed::None,
            number: 0,
            subscription: None,
            next_sequence: 0,
            revision: 0,
            metadata: None,
            epoch: String::new(),
            watermark: None,
            root: None,
            turn: None,
            reading: Reading::default(),
            interactions: Interactions::default(),
            attempts: 0,
            unproven: false,
            proving: None,
            foreign_stops: 0,
            stop_failure: None,
            closing: None,
            observer: None,
            load: None,
            used: 0,
            context_asked: false,
            plan: PlanLook::None,
        }
    }

    /// The root turn of a snapshot; its end lifts its fence.
    pub fn show_root(&mut self, turn: Option<&w::Turn<'_>>) {
        self.root = turn.map(Root::of);
        if let Some(root) = self.root.as_ref().filter(|root| !root.live) {
            self.interactions.lift(&root.turn_id);
        }
    }

    /// A turn of ours is forgotten: as the session's root it has ended, or a later cancel
    /// or close still finds it to be stopped.
    pub fn remember(&mut self, turn: &Turn) {
        let other = |root: &Root| root.turn_id != turn.id;
        if let Admission::Admitted { run_id } = &turn.admission
            && !self
                .root
                .as_ref()
                .is_some_and(|root| other(root) && root.live)
        {
            self.root = Some(Root {
                turn_id: turn.id.clone(),
                run_id: run_id.clone(),
                live: turn.ended.is_none(),
            });
        }
    }

    /// Whether nothing of it holds up the end.
    pub fn may_end(&self) -> bool {
        let settled = match &self.turn {
            None => true,
            Some(turn) if !turn.ours() => true,
            Some(turn) => {
                matches!(turn.admission, Admission::Unknown(_)) && !matches!(turn.stop, Stop::Sent)
            }
        };
        settled && self.foreign_stops == 0
    }
}

impl Maka {
    /// A prompt: attaches the session if need be, then sends the turn.
    pub(super) fn start(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        session_id: String,
        turn_id: String,
        content: Content,
    ) {
        let refusal = if self.ending {
            Err(failure::closing(op::START))
        } else {
            check(&session_id, &content)
        };
        if let Err(failure) = refusal {
            let outcome = Outcome::Broken { failure };
            let _fine = cx.tell(
                key,
                crate::host::Fact::Settled {
                    turn_id: &turn_id,
                    outcome,
                },
            );
            return;
        }
        let plain = content.attachments.is_empty() && text_fits(&content.text);
        let attached = self
            .feeds
            .entry(key)
            .or_insert_with(|| Attached::new(session_id.clone()));
        if plain {
            attached.turn = Some(Turn::new(turn_id, content.text));
            return self.wake(cx, key);
        }
        let goal = Goal::Turn { session: key };
        let parcel = self.admit(goal, &session_id, content);
        if let Some(attached) = self.feeds.get_mut(&key) {
            attached.turn = Some(Turn {
                parcel: Some(parcel),
                ..Turn::new(turn_id, String::new())
            });
        }
        self.prepare(cx, parcel);
    }

    /// Somebody uses the session: what is due for it is done now.
    pub(super) fn wake(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        self.used(key);
        match self.feeds.get_mut(&key) {
            Some(attached) if matches!(attached.feed, Feed::None | Feed::Pausing { .. }) => {
                if let Feed::Pausing { timer } = attached.feed {
                    cx.core.disarm(timer);
                }
                attached.attempts = 0;
                self.open(cx, key);
            }
            _ => self.look_on(cx, key),
        }
    }

    /// Opens the feed as soon as the Host has room for it. One that is on its way for
    /// somebody who does not want it any more serves as well.
    pub(super) fn open(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        if let Some(attached) = self.feeds.get_mut(&key)
            && self.calls.reopen(key, attached.number + 1)
        {
            attached.number += 1;
            attached.feed = Feed::Opening;
            return;
        }
        if self.take_slot(cx, key) {
            self.open_now(cx, key);
        }
    }

    pub(super) fn open_now(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        attached.feed = Feed::Opening;
        attached.number += 1;
        let feed = attached.number;
        let input = object! {
            "sessionId": attached.session_id,
            "transcript": object! { "kind": "tail", "maxBytes": limits::MAKA_TAIL },
        };
        self.call(
            cx,
            op::OPEN,
            input,
            Purpose::Open { session: key, feed },
            Some(limits::MAKA_READ_MS),
        );
    }

    /// `subscription.open` was answered.
    pub(super) fn opened(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        feed: u64,
        answer: Answer<'_>,
    ) {
        let opened = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Opened<'_>>(result.get()).ok(),
            _ => None,
        };
        let wanted = self
            .feeds
            .get(&key)
            .is_some_and(|a| a.number == feed && matches!(a.feed, Feed::Opening));
        match opened {
            Some(opened) if !wanted => self.unsubscribe(cx, &opened.subscription_id),
            Some(opened) => self.attach(cx, key, &opened),
            None if !wanted => {}
            None => self.open_failed(cx, key, &answer),
        }
    }

    fn open_failed(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, answer: &Answer<'_>) {
        let passing = match answer {
            Answer::Lost { dispatched, .. } => *dispatched,
            Answer::Error(error) => matches!(&*error.code, "host_not_ready"),
            _ => false,
        };
        if passing {
            self.recover(cx, key, "connection_closed");
        } else {
            self.feed_failed(cx, key, answer.failure(op::OPEN));
        }
    }

    fn attach(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, opened: &w::Opened<'_>) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let subscription = opened.subscription_id.to_string();
        self.subscriptions.insert(subscription.clone(), key);
        attached.subscription = Some(subscription);
        attached.next_sequence = opened.next_sequence;
        attached.revision = opened.snapshot.projection_revision;
        attached.epoch = opened.host_epoch.to_string();
        let bootstrap = opened.transcript.as_ref();
        attached.watermark = bootstrap.and_then(|b| b.through_sequence);
        let overlaid = bootstrap.is_some_and(|b| b.overlay_message_count > 0);
        self.record(cx, key, &opened.snapshot.session);
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let goes_on = attached.turn.as_ref().is_some_and(Turn::dispatched);
        if goes_on || attached.looked_at() {
            attached.unproven = goes_on || attached.attempts > 0;
            let hydration = Box::new(Hydration::new(attached.watermark));
            attached.feed = Feed::Hydrating {
                hydration,
                frames: VecDeque::new(),
            };
            self.begin_load(cx, key);
            self.snapshot_hydrating(key, &opened.snapshot);
            self.adopt(cx, key);
            let first = bootstrap
                .and_then(|b| b.overlay.as_ref())
                .filter(|_| overlaid);
            self.hydrate_overlay(cx, key, first);
        } else {
            attached.feed = Feed::Live;
            if overlaid {
                self.release_overlay(cx, key);
            }
            self.snapshot(cx, key, &opened.snapshot);
            self.dispatch(cx, key);
            self.progress(cx, key);
        }
    }

    pub(super) fn release_overlay(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(id) = self.feeds.get(&key).and_then(|a| a.subscription.clone()) else {
            return;
        };
        let input = object! { "subscriptionId": id };
        self.call(cx, op::RELEASE, input, Purpose::Nobody, None);
    }

    fn unsubscribe(&mut self, cx: &mut Cx<'_, '_>, subscription: &str) {
        // At the end it goes with the connection.
        if self.link.ready().is_some() && !self.ended {
            let input = object! { "subscriptionId": subscription };
            // One that waits for its room does not wait for ever.
            let timeout = Some(limits::MAKA_READ_MS);
            self.call(cx, op::CLOSE, input, Purpose::Leave, timeout);
        }
    }

    /// Lets go of the subscription and of all reading on it.
    pub(super) fn detach(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        attached.number += 1;
        attached.reading.interrupt();
        if let Some(turn) = &mut attached.turn {
            turn.reread();
        }
        let before = core::mem::replace(&mut attached.feed, Feed::None);
        if let Feed::Pausing { timer } = before {
            cx.core.disarm(timer);
        }
        let queued = matches!(before, Feed::Queued);
        if let Some(timer) = attached.proving.take() {
            cx.core.disarm(timer);
        }
        if let Some(subscription) = attached.subscription.take() {
            self.subscriptions.remove(&subscription);
            self.unsubscribe(cx, &subscription);
        }
        if queued {
            self.leave_queue(key);
        }
    }

    /// The feed broke: opens another, if a turn of ours needs it.
    pub(super) fn recover(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, reason: &'static str) {
        let waits = self.feeds.get(&key).is_some_and(|it| it.reading.held());
        self.detach(cx, key);
        let ending = self.ending;
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        // A turn that is being stopped shows nothing more.
        let needed = |turn: &Turn| turn.breaking.is_none() && matches!(turn.stop, Stop::No);
        let looked_at = attached.looked_at() && attached.closing.is_none() && !ending;
        if !attached.turn.as_ref().is_some_and(needed) && !looked_at {
            return;
        }
        if waits {
            attached.feed = Feed::Paused;
            return;
        }
        if attached.attempts >= limits::MAKA_RECOVERIES {
            return self.feed_failed(cx, key, failure::subscription(reason));
        }
        let (first, longest) = limits::MAKA_RECOVERY_MS;
        let pause = match attached.attempts {
            0 => 0,
            n => first.saturating_mul(1 << (n - 1).min(16)).min(longest),
        };
        attached.attempts += 1;
        if pause == 0 {
            self.open(cx, key);
        } else {
            let due = Due::Recover {
                session: key,
                feed: attached.number,
            };
            let timer = cx.arm(due, pause);
            attached.feed = Feed::Pausing { timer };
        }
    }

    pub(super) fn recover_now(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, feed: u64) {
        let due = self
            .feeds
            .get(&key)
            .is_some_and(|a| a.number == feed && matches!(a.feed, Feed::Pausing { .. }));
        if due {
            self.open(cx, key);
        }
    }

    /// The first live frame after a recovery came a while ago.
    pub(super) fn recovered_for_good(&mut self, key: SessionKey, feed: u64) {
        if let Some(attached) = self.feeds.get_mut(&key)
            && attached.number == feed
        {
            attached.proving = None;
            attached.attempts = 0;
        }
    }

    /// The feed cannot be had again: the turn that needs it is given up.
    pub(super) fn feed_failed(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, failure: Failure) {
        self.detach(cx, key);
        if let Some(attached) = self.feeds.get_mut(&key) {
            attached.attempts = 0;
            if let Some(turn) = &mut attached.turn {
                turn.break_off(failure.clone());
            }
        }
        self.load_failed(cx, key, &failure);
        self.progress(cx, key);
        self.look_later(cx, key, &failure);
    }

    /// All feeds went with the connection.
    pub(super) fn feeds_lost(&mut self, cx: &mut Cx<'_, '_>) {
        let keys: Vec<SessionKey> = self.feeds.keys().copied().collect();
        for key in keys {
            let Some(attached) = self.feeds.get(&key) else {
                continue;
            };
            // An opening that waits for a connection goes on waiting.
            if attached.subscription.is_some() {
                self.recover(cx, key, "connection_closed");
            }
        }
    }

    /// The editor is slow: the Host would close the feed sooner or later, so we do.
    pub(super) fn pause(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let past = self.feeds.get_mut(&key).is_some_and(|it| {
            it.reading.hold_back(true);
            it.reading.of_past()
        });
        if past {
            return;
        }
        self.detach(cx, key);
        if let Some(attached) = self.feeds.get_mut(&key)
            && attached.turn.is_some()
        {
            attached.feed = Feed::Paused;
        }
    }

    /// The editor reads again: everything missed is read from what is stored.
    pub(super) fn resume(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if matches!(attached.feed, Feed::Paused) {
            self.open(cx, key);
        } else if attached.reading.hold_back(false) {
            self.ask_page(cx, key);
        }
    }

    /// `session/close`.
    pub(super) fn close(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, ticket: Ticket) {
        self.forget_load(key);
        self.forget_settings(key);
        match self.feeds.get_mut(&key) {
            None => {
                let closed = crate::host::Fact::Closed {
                    ticket,
                    failure: None,
                };
                let _fine = cx.tell(key, closed);
            }
            Some(attached) => {
                attached.closing = Some(ticket);
                attached.stop_failure = None;
                self.look_away(key);
                self.stop(cx, key);
                self.stop_foreign(cx, key);
                self.check_closed(cx, key);
            }
        }
    }

    /// Whether everything that `session/close` waits for is settled.
    pub(super) fn check_closed(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if attached.turn.is_some() || attached.foreign_stops > 0 {
            return;
        }
        let Some(ticket) = attached.closing.take() else {
            return;
        };
        let failure = attached.stop_failure.take();
        self.detach(cx, key);
        self.feeds.remove(&key);
        self.changed.remove(&key);
        let _fine = cx.tell(key, crate::host::Fact::Closed { ticket, failure });
    }
}

/// What the Host would close the connection for is refused here.
pub(super) fn check(session_id: &str, content: &Content) -> Result<(), Failure> {
    if !w::entity_id(session_id) {
        return Err(failure::internal(op::START));
    }
    if content.text.is_empty() {
        return Err(failure::prompt_rejected(
            "The prompt is empty. Write something first.",
        ));
    }
    Ok(())
}

impl Root {
    /// As the snapshot shows it.
    pub fn of(turn: &w::Turn<'_>) -> Root {
        Root {
            turn_id: turn.turn_id.to_string(),
            run_id: turn.run_id.to_string(),
            live: w::live(&turn.status),
        }
    }
}
