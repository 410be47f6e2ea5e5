//! The Maka Runtime Host: JSON lines over one shared connection, one feed a session.
//!
//! This file routes; each concern has a file: the connection (`link`), requests
//! (`calls`), feeds and their recovery (`feed`), frames (`frames`), stored rows
//! (`transcript`, `reading`), turns (`turn`, `turns`), attachments (`parcel`, `looking`,
//! `upload`, `delivery`, `steering`), sessions (`catalog`, `remove`), their options
//! (`options`, `configure`, `models`), questions to the user (`interactions`, `questions`,
//! `forms`).
//!
//! Invariant: whatever the Host sends, or fails to send, every command is answered.

pub mod failure;
pub mod results;
pub mod wire;

mod aside;
mod calls;
mod catalog;
mod configure;
mod delivery;
mod feed;
pub mod forms;
mod frames;
mod history;
mod interactions;
mod link;
mod load;
mod looking;
mod models;
mod options;
mod outage;
mod parcel;
pub mod questions;
mod reading;
mod remove;
mod rows;
mod slots;
mod steering;
mod transcript;
mod turn;
mod turns;
mod unread;
mod upload;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::effect::Level;
pub use crate::host::Cx;
use crate::host::{Command, Fact, Failure, Habits, SessionKey};
use crate::input::{Channel, FileArrival, HostArrival, Timer};
use crate::limits;
use crate::rpc::Ticket;

use calls::{Call, CallId, Calls, Purpose};
use catalog::Listing;
use configure::Settings;
use feed::Attached;
use link::Link;
use load::Load;
use models::Models;
use outage::Outage;
use parcel::{Parcel, ParcelId};
use remove::Removals;
use slots::Slots;
use steering::Message;
use wire::current::{self as w, OperationError, op};

/// What the sessions have to know.
pub const HABITS: Habits = Habits {
    queues: false,
    blocks: false,
    mcp: false,
    folders: false,
    history: true,
    switches: false,
    terse: false,
    instructed: false,
    errands: false,
    closes_again: false,
    extras: false,
};

/// Under which name the Host's own facts stand in `_meta`.
pub const EXTENSION: &str = "maka";

/// What the module waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Due {
    /// The connection opens, greets and becomes ready in time.
    Connect,
    /// The next attempt to connect.
    Backoff,
    /// Is the Host ready now?
    Poll,
    /// Does the Host still live?
    Probe,
    /// The connection counts as stable.
    Stable,
    /// An answer comes in time.
    Call(CallId),
    /// The next attempt to recover a feed.
    Recover { session: SessionKey, feed: u64 },
    /// A recovered feed counts as live.
    Recovered { session: SessionKey, feed: u64 },
    /// The next question what became of a turn.
    Admission { session: SessionKey },
    /// Names and options of sessions may have changed.
    Titles,
    /// The connection is gone for so long that it is told.
    Outage,
}

/// What came of a request.
pub enum Answer<'a> {
    /// Its result.
    Result(&'a RawValue),
    /// The Host's refusal.
    Error(OperationError<'a>),
    /// No answer; `dispatched` says whether the Host may have seen it.
    Lost {
        dispatched: bool,
        reason: &'static str,
    },
    /// Not sent: there is no connection, and this is why.
    Unreachable(&'a Failure),
}

impl Answer<'_> {
    /// Why there is no usable result.
    fn failure(&self, operation: &str) -> Failure {
        match self {
            Answer::Result(_) => failure::internal(operation),
            Answer::Error(error) => failure::operation(operation, &error.code, &error.message),
            Answer::Lost { dispatched, reason } => {
                failure::interrupted(operation, reason, *dispatched)
            }
            Answer::Unreachable(failure) => (*failure).clone(),
        }
    }
}

/// The module.
#[derive(Debug, Serialize, Deserialize)]
pub struct Maka {
    grant: String,
    client: String,
    link: Link,
    calls: Calls,
    feeds: BTreeMap<SessionKey, Attached>,
    subscriptions: BTreeMap<String, SessionKey>,
    listings: BTreeMap<u64, Listing>,
    loads: BTreeMap<u64, Load>,
    /// What a load that failed had told, by session: another one does not tell it again.
    told: BTreeMap<String, u64>,
    slots: Slots,
    parcels: BTreeMap<ParcelId, Parcel>,
    last_parcel: ParcelId,
    messages: BTreeMap<Ticket, Message>,
    models: Models,
    settings: Settings,
    removals: Removals,
    changed: BTreeSet<SessionKey>,
    naming: Option<Timer>,
    outage: Outage,
    ending: bool,
    ended: bool,
    /// What can be typed after a slash, by session.
    skills: BTreeMap<String, BTreeSet<String>>,
    #[serde(skip)]
    lane: wire::Lane,
}

impl Maka {
    /// `grant` is the Host's name on the embedder's table; `client` a fresh UUID.
    pub fn new(grant: &str, client: String) -> Maka {
        Maka {
            grant: grant.into(),
            client,
            link: Link::idle(),
            calls: Calls::default(),
            feeds: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            listings: BTreeMap::new(),
            loads: BTreeMap::new(),
            told: BTreeMap::new(),
            slots: Slots::default(),
            parcels: BTreeMap::new(),
            last_parcel: 0,
            messages: BTreeMap::new(),
            models: Models::default(),
            settings: Settings::default(),
            removals: Removals::default(),
            changed: BTreeSet::new(),
            naming: None,
            outage: Outage::default(),
            ending: false,
            ended: false,
            skills: BTreeMap::new(),
            lane: wire::Lane::default(),
        }
    }

    /// A command of the sessions.
    pub fn command(&mut self, cx: &mut Cx<'_, '_>, command: Command) {
        match command {
            Command::Create { ticket, setup } => self.create(cx, ticket, &setup.cwd),
            Command::List {
                ticket,
                cwd,
                cursor,
            } => self.list(cx, ticket, cwd, cursor),
            Command::Load {
                session,
                session_id,
                ticket,
                setup,
                replay,
            } => self.load(cx, session, session_id, ticket, setup.cwd, replay),
            // Its sessions are known by their ids.
            Command::Opened { .. } => {}
            Command::Abandon { session } => self.load_abandoned(cx, session),
            Command::Start {
                session,
                session_id,
                turn_id,
                content,
            } => {
                self.start(cx, session, session_id, turn_id, content);
            }
            Command::Steer {
                session,
                ticket,
                content,
            } => self.steer(cx, session, ticket, content),
            Command::Stop { session } => self.stop(cx, session),
            Command::StopForeign { session } => self.stop_foreign(cx, session),
            Command::StopSubagent { .. } => {}
            Command::StopTask { ticket, .. } => cx.answer(Fact::TaskStopped {
                ticket,
                stopped: false,
            }),
            Command::Answer {
                session,
                dialog,
                reply,
            } => self.reply(cx, session, &dialog, &reply),
            Command::Close {
                session,
                session_id,
                ticket,
            } => {
                self.forget_skills(&session_id);
                self.close(cx, session, ticket);
            }
            Command::Configure {
                ticket,
                session,
                session_id,
                setting,
            } => self.configure(cx, ticket, session, session_id, setting),
            // Its habits say that it does none: nobody asks.
            Command::Errand { .. } => {}
            Command::Delete { ticket, session_id } => self.remove(cx, ticket, session_id),
            Command::Pause { session } => self.pause(cx, session),
            Command::Resume { session } => self.resume(cx, session),
            Command::Shutdown => self.shut_down(cx),
        }
        self.pump(cx);
    }

    /// Something came on a channel.
    pub fn arrival(&mut self, cx: &mut Cx<'_, '_>, channel: Channel, arrival: HostArrival) {
        if self.link.channel() == Some(channel) {
            match arrival {
                HostArrival::Opened(facts) => self.opened_channel(cx, &facts),
                HostArrival::Refused(refusal) => self.refused_channel(cx, &refusal),
                HostArrival::Bytes(bytes) => self.bytes(cx, &bytes),
                HostArrival::Ended(_) => self.lost(cx, "connection_lost"),
                HostArrival::Diagnostic(_)
                | HostArrival::Drained(_)
                | HostArrival::Exited(_)
                | HostArrival::Response(..) => {}
            }
            self.pump(cx);
        }
    }

    /// A line of this channel trapped: whatever it meant is read again from the start.
    pub fn poisoned(&mut self, cx: &mut Cx<'_, '_>, channel: Channel) {
        if self.link.channel() == Some(channel) {
            cx.core.note(
                Level::Error,
                "a message of the Host could not be handled: reconnecting",
            );
            self.drop_link(cx, "poisoned_message");
            self.pump(cx);
        }
    }

    /// A timer is due.
    pub fn due(&mut self, cx: &mut Cx<'_, '_>, due: Due) {
        match due {
            Due::Connect => self.connect_overdue(cx),
            Due::Backoff => self.connect(cx),
            Due::Poll => self.poll(cx),
            Due::Probe => self.probe(cx),
            Due::Stable => self.link.stable(),
            Due::Call(id) => self.call_overdue(cx, id),
            Due::Recover { session, feed } => self.recover_now(cx, session, feed),
            Due::Recovered { session, feed } => self.recovered_for_good(session, feed),
            Due::Admission { session } => self.query_again(cx, session),
            Due::Titles => self.ask_titles(cx),
            Due::Outage => self.tell_outage(cx),
        }
        self.pump(cx);
    }

    /// A timer trapped: the connection starts afresh, and what waited for the timer alone
    /// goes on as after a failed attempt.
    pub fn timer_poisoned(&mut self, cx: &mut Cx<'_, '_>, due: Due) {
        self.drop_link(cx, "poisoned_timer");
        match due {
            Due::Call(id) => self.call_overdue(cx, id),
            Due::Recover { session, .. } => self.recover(cx, session, "connection_closed"),
            Due::Admission { session } => self.query_poisoned(cx, session),
            Due::Titles => self.naming = None,
            Due::Outage => self.outage_ends(cx),
            // The connection's own timers went with it.
            Due::Connect | Due::Backoff | Due::Poll | Due::Probe | Due::Stable => {}
            Due::Recovered { .. } => {}
        }
        self.pump(cx);
    }

    /// An answer about the folder of a listing; `None` when it trapped.
    pub fn folder(&mut self, cx: &mut Cx<'_, '_>, listing: u64, arrival: Option<FileArrival>) {
        self.folder_found(cx, listing, arrival);
        self.pump(cx);
    }

    /// Whether [`Fact::Ended`] was told.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The end may wait no longer: everything that is open is answered and let go.
    pub fn end_now(&mut self, cx: &mut Cx<'_, '_>) {
        self.ending = true;
        self.finish(cx);
    }

    /// Sends what may go, and connects when something wants to.
    fn pump(&mut self, cx: &mut Cx<'_, '_>) {
        if self.ending {
            self.check_ended(cx);
        }
        if self.ended {
            return;
        }
        self.fill_slots(cx);
        match self.link.ready() {
            Some(channel) => {
                while let Some(line) = self.calls.pull() {
                    cx.core.host_line(channel, &line);
                }
                if self.calls.outstanding() && self.link.unprobed() {
                    let timer = cx.arm(Due::Probe, limits::MAKA_PROBE_EVERY_MS);
                    self.link.set_probe(timer);
                }
            }
            None if self.calls.wanting() && self.link.is_idle() => self.connect(cx),
            None => {}
        }
    }

    /// Asks the Host; `timeout` in milliseconds.
    fn call(
        &mut self,
        cx: &mut Cx<'_, '_>,
        operation: &str,
        input: impl Serialize,
        purpose: Purpose,
        timeout: Option<u64>,
    ) {
        let id = self.calls.number();
        let line = w::request(&format!("r{id}"), operation, input);
        let timer = timeout.map(|after| cx.arm(Due::Call(id), after));
        self.calls.push(
            Call {
                id,
                operation: operation.into(),
                purpose,
                timer,
            },
            line,
        );
    }

    fn call_overdue(&mut self, cx: &mut Cx<'_, '_>, id: CallId) {
        if let Some((call, dispatched)) = self.calls.overdue(id) {
            let answer = Answer::Lost {
                dispatched,
                reason: "timeout",
            };
            self.answered(cx, &call.operation, call.purpose, answer);
        }
    }

    /// A frame with a request id.
    fn response(&mut self, cx: &mut Cx<'_, '_>, frame: &w::Frame<'_>) {
        let id = frame
            .request_id
            .strip_prefix('r')
            .and_then(|number| number.parse().ok());
        let Some(call) = id.and_then(|id| self.calls.answered(id)) else {
            cx.core
                .note(Level::Warn, "the Host answered a request that is not open");
            return;
        };
        if let Some(timer) = call.timer {
            cx.core.disarm(timer);
        }
        let answer = match (frame.ok, frame.result, &frame.error) {
            (true, Some(result), _) => Answer::Result(result),
            (false, _, Some(error)) => Answer::Error(error.clone()),
            _ => Answer::Lost {
                dispatched: true,
                reason: "invalid_frame",
            },
        };
        self.answered(cx, &call.operation, call.purpose, answer);
    }

    fn answered(&mut self, cx: &mut Cx<'_, '_>, op: &str, purpose: Purpose, answer: Answer<'_>) {
        match purpose {
            Purpose::Status => self.status(cx, answer),
            Purpose::Create { ticket, session_id } => self.created(cx, ticket, session_id, answer),
            Purpose::Models(reading) => self.models_page(cx, reading, answer),
            Purpose::List { ticket } => self.listed(cx, ticket, answer),
            Purpose::Title { session } => self.title(cx, session, answer),
            Purpose::Current { session } => self.current(cx, session, answer),
            Purpose::Commit { session } => self.committed(cx, session, answer),
            Purpose::Find { ticket } => self.found(cx, ticket, answer),
            Purpose::Remove { ticket } => self.removed(cx, ticket, answer),
            Purpose::Open { session, feed } => self.opened(cx, session, feed, answer),
            Purpose::Page {
                session,
                feed,
                walk,
            } => self.page(cx, session, (feed, walk), answer),
            Purpose::Look { ticket } => self.looked(cx, ticket, answer),
            // The slot that it held is taken by the next in `pump`.
            Purpose::Leave => {}
            Purpose::Start { session, turn_id } => self.started(cx, session, &turn_id, answer),
            Purpose::Query { session, turn_id } => self.queried(cx, session, &turn_id, answer),
            Purpose::Stop { session, turn_id } => self.stopped(cx, session, &turn_id, answer),
            Purpose::StopForeign { session } => self.stopped_foreign(cx, session, answer),
            Purpose::Interaction {
                session,
                interaction,
            } => self.interaction(cx, session, &interaction, answer),
            Purpose::Answer {
                session,
                interaction,
            } => self.answer_told(cx, session, &interaction, answer),
            Purpose::Message { ticket } => self.submitted(cx, ticket, answer),
            Purpose::Ingest(upload) => self.ingested(cx, &upload, answer),
            Purpose::Plan {
                session,
                proposed,
                page,
            } => self.plan(cx, session, proposed, page, &answer),
            Purpose::Context { session } => self.context(cx, session, &answer),
            Purpose::Cost {
                session,
                used,
                size,
            } => self.cost(cx, session, (used, size), &answer),
            Purpose::Skills { session_id, known } => {
                self.skills(cx, session_id, known, &answer);
            }
            Purpose::Nobody => {
                if let Answer::Error(error) = answer {
                    let text = format!("the Host refused {op}: {}", error.code);
                    cx.core.note(Level::Debug, text);
                }
            }
        }
    }

    /// One line of the Host.
    fn line(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let mut lane = core::mem::take(&mut self.lane);
        let mut room = Vec::new();
        match lane.frame(line, &mut room) {
            Some(frame) => self.told(cx, &frame, line),
            None => {
                cx.core.note(
                    Level::Error,
                    "the Host sent a line that cannot be read: reconnecting",
                );
                self.drop_link(cx, "invalid_frame");
            }
        }
        self.lane = lane;
    }

    fn told(&mut self, cx: &mut Cx<'_, '_>, frame: &w::Frame<'_>, line: &[u8]) {
        if !frame.request_id.is_empty() {
            self.response(cx, frame);
        } else if !frame.subscription_id.is_empty() {
            self.frame(cx, frame, line);
        } else if frame.kind == w::kind::CATALOG_CHANGED {
            self.catalog_changed(cx, &frame.session_id);
        }
    }

    /// Stops everything of ours and of the sessions that are attached.
    fn shut_down(&mut self, cx: &mut Cx<'_, '_>) {
        self.ending = true;
        let keys: Vec<SessionKey> = self.feeds.keys().copied().collect();
        for key in keys {
            self.stop(cx, key);
            self.stop_foreign(cx, key);
        }
    }

    /// Whether all stops are settled. A turn of which nobody can say whether it was admitted
    /// holds nothing up: there is nothing to stop.
    fn check_ended(&mut self, cx: &mut Cx<'_, '_>) {
        if !self.ended && self.feeds.values().all(Attached::may_end) {
            self.finish(cx);
        }
    }

    fn finish(&mut self, cx: &mut Cx<'_, '_>) {
        if core::mem::replace(&mut self.ended, true) {
            return;
        }
        let keys: Vec<SessionKey> = self.feeds.keys().copied().collect();
        for key in keys {
            self.give_up_turn(cx, key);
        }
        self.refuse_loads(cx);
        self.refuse_all(cx);
        self.hang_up(cx);
        for key in self.feeds.keys().copied().collect::<Vec<_>>() {
            self.detach(cx, key);
        }
        if let Some(timer) = self.naming.take() {
            cx.core.disarm(timer);
        }
        cx.answer(Fact::Ended);
    }
}

/// Every operation that Airlock may send, for the tests of the wire.
pub const OPERATIONS: [&str; 17] = [
    op::STATUS,
    op::CREATE,
    op::CATALOG,
    op::CONFIGURE,
    op::REMOVE,
    op::MODELS,
    op::OPEN,
    op::CLOSE,
    op::PAGE,
    op::RELEASE,
    op::START,
    op::QUERY,
    op::STOP,
    op::INTERACTION,
    op::ANSWER,
    op::INGEST,
    op::SUBMIT,
];
