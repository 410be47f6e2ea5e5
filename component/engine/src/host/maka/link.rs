//! The one connection: lazy, shared, found again after a loss.
//!
//! Invariants: the first failure of a first attempt is told at once and forgotten; after a
//! loss it is tried again with pauses for [`limits::MAKA_GIVE_UP_MS`] and not longer;
//! nothing is sent before the Host is ready and is the one that discovery named.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::effect::{Effect, HostDeparture, Level, Target};
use crate::host::Failure;
use crate::input::{Channel, HostRefusal, Timer};
use crate::limits;
use crate::line::{Line, Lines};
use crate::object;

use super::calls::{Call, Purpose};
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Due, Maka, failure};

/// The connection's state.
#[derive(Debug, Serialize, Deserialize)]
pub struct Link {
    state: State,
    lines: Lines,
    /// What discovery found, to be held against the greeting.
    expected: Expected,
    /// Since when there is none, on the monotonic clock, if there was one.
    lost_at: Option<u64>,
    attempts: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum State {
    Idle,
    /// Asked for; `hello` follows.
    Opening {
        channel: Channel,
        overdue: Timer,
    },
    /// `hello` was sent.
    Greeting {
        channel: Channel,
        overdue: Timer,
    },
    /// Accepted, but the Host still recovers.
    Settling {
        channel: Channel,
        epoch: String,
        overdue: Timer,
        poll: Option<Timer>,
    },
    Ready {
        channel: Channel,
        epoch: String,
        stable: Timer,
        probe: Option<Timer>,
    },
    /// Between two attempts.
    Waiting {
        timer: Timer,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Expected {
    root_id: Option<String>,
    host_epoch: Option<String>,
}

impl Link {
    /// Not wanted yet.
    pub fn idle() -> Link {
        Link {
            state: State::Idle,
            lines: Lines::default(),
            expected: Expected::default(),
            lost_at: None,
            attempts: 0,
        }
    }

    /// The channel of the current attempt.
    pub fn channel(&self) -> Option<Channel> {
        match &self.state {
            State::Opening { channel, .. }
            | State::Greeting { channel, .. }
            | State::Settling { channel, .. }
            | State::Ready { channel, .. } => Some(*channel),
            State::Idle | State::Waiting { .. } => None,
        }
    }

    /// The channel, when requests may go.
    pub fn ready(&self) -> Option<Channel> {
        match &self.state {
            State::Ready { channel, .. } => Some(*channel),
            _ => None,
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// The Host process that is spoken to.
    pub fn epoch(&self) -> Option<&str> {
        match &self.state {
            State::Settling { epoch, .. } | State::Ready { epoch, .. } => Some(epoch),
            _ => None,
        }
    }

    /// Whether no probe is planned.
    pub fn unprobed(&self) -> bool {
        matches!(self.state, State::Ready { probe: None, .. })
    }

    /// A probe is planned.
    pub fn set_probe(&mut self, timer: Timer) {
        if let State::Ready { probe, .. } = &mut self.state {
            *probe = Some(timer);
        }
    }

    /// It has held long enough: pauses start anew.
    pub fn stable(&mut self) {
        self.attempts = 0;
    }

    /// Takes the state away with the timers that it had.
    fn take(&mut self) -> (State, Vec<Timer>) {
        let state = core::mem::replace(&mut self.state, State::Idle);
        let mut timers = Vec::new();
        match &state {
            State::Opening { overdue, .. } | State::Greeting { overdue, .. } => {
                timers.push(*overdue)
            }
            State::Settling { overdue, poll, .. } => {
                timers.push(*overdue);
                timers.extend(poll);
            }
            State::Ready { stable, probe, .. } => {
                timers.push(*stable);
                timers.extend(probe);
            }
            State::Waiting { timer } => timers.push(*timer),
            State::Idle => {}
        }
        (state, timers)
    }
}

/// The embedder's word for Maka's own Host; others speak its protocol too.
const MAKA: &str = "maka";

impl Maka {
    /// The Host that is used, for people.
    pub(super) fn host(&self) -> String {
        match self.grant.as_str() {
            MAKA => "Maka Runtime Host".to_string(),
            name => format!("Host \"{name}\""),
        }
    }

    /// Opens a channel to the Host.
    pub(super) fn connect(&mut self, cx: &mut Cx<'_, '_>) {
        self.leave_state(cx);
        let channel = cx.core.channel();
        let overdue = cx.arm(Due::Connect, limits::MAKA_CONNECT_MS);
        self.link.state = State::Opening { channel, overdue };
        self.link.lines = Lines::default();
        let target = Target::Host(self.grant.clone());
        cx.core
            .effect(Effect::Host(channel, HostDeparture::Open(target)));
    }

    pub(super) fn opened_channel(&mut self, cx: &mut Cx<'_, '_>, facts: &[(String, String)]) {
        let State::Opening { channel, .. } = self.link.state else {
            return;
        };
        let fact = |name: &str| {
            facts
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.clone())
        };
        if let Some(epoch) = fact("compatibility-epoch").and_then(|e| e.parse().ok())
            && epoch != w::EPOCH
        {
            return self.unusable(cx, failure::epoch(epoch));
        }
        self.link.expected = Expected {
            root_id: fact("root-id"),
            host_epoch: fact("host-epoch"),
        };
        self.leave_state(cx);
        let overdue = cx.arm(Due::Connect, limits::MAKA_HELLO_MS);
        self.link.state = State::Greeting { channel, overdue };
        cx.core.host_line(channel, &w::hello(&self.client));
    }

    pub(super) fn refused_channel(&mut self, cx: &mut Cx<'_, '_>, refusal: &HostRefusal) {
        let host = self.host();
        let failure = match refusal {
            HostRefusal::NotAllowed => failure::connect(
                "not_allowed",
                "This Host is not on the list of what Airlock may open.",
            ),
            HostRefusal::Absent | HostRefusal::NoFolder | HostRefusal::Stale
                if self.grant != MAKA =>
            {
                let sentence = format!("The {host} is not running. Start it again.");
                failure::connect("absent", &sentence)
            }
            HostRefusal::Absent | HostRefusal::NoFolder => failure::connect(
                "absent",
                "No Maka Runtime Host is running. Start Maka, or run host-runner with --host embedded.",
            ),
            HostRefusal::Stale => failure::connect(
                "stale",
                "The Maka Runtime Host that was registered is gone. Start Maka again.",
            ),
            HostRefusal::Insecure(why) => failure::connect(
                "insecure",
                &format!("The {host}'s files are not safe to use: {why}."),
            ),
            HostRefusal::Failed(why) => {
                failure::connect("failed", &format!("The {host} cannot be reached: {why}."))
            }
        };
        self.leave_state(cx);
        self.try_again(cx, failure);
    }

    pub(super) fn connect_overdue(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(channel) = self.link.channel() {
            self.leave_state(cx);
            cx.core.effect(Effect::Host(channel, HostDeparture::Close));
            let sentence = format!(
                "The {} did not answer in time. Look whether it is busy, or restart it.",
                self.host()
            );
            self.try_again(cx, failure::connect("timeout", &sentence));
        }
    }

    /// Bytes of the Host, in any cut.
    pub(super) fn bytes(&mut self, cx: &mut Cx<'_, '_>, bytes: &[u8]) {
        let channel = self.link.channel();
        let mut lines = core::mem::take(&mut self.link.lines);
        lines.push(bytes, limits::MAKA_FRAME, |line| {
            // A line may end the connection; those behind it mean nothing then.
            if self.link.channel() != channel || self.ended {
                return;
            }
            match (line, &self.link.state) {
                (Line::TooLong, _) => {
                    cx.core.note(
                        Level::Error,
                        "the Host sent a line that is too long: reconnecting",
                    );
                    self.drop_link(cx, "frame_too_large");
                }
                (Line::Whole(line), State::Greeting { .. }) => self.greeting(cx, line),
                (Line::Whole(line), _) => self.line(cx, line),
            }
            self.pump(cx);
            while let Some(command) = cx.listener.command() {
                self.command(cx, command);
            }
        });
        if self.link.channel() == channel {
            self.link.lines = lines;
        }
    }

    fn greeting(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let State::Greeting { channel, .. } = self.link.state else {
            return;
        };
        let Ok(greeting) = serde_json::from_slice::<w::Greeting<'_>>(line) else {
            let sentence =
                "What answers on the Maka Runtime Host's socket is not a Maka Runtime Host.";
            return self.unusable(cx, failure::connect("invalid_greeting", sentence));
        };
        if greeting.kind == "draining" {
            let sentence = format!("The {} is shutting down. Start it again.", self.host());
            return self.drop_attempt(cx, failure::connect("draining", &sentence));
        }
        if greeting.compatibility_epoch != w::EPOCH {
            return self.unusable(cx, failure::epoch(greeting.compatibility_epoch));
        }
        if greeting.kind != "accepted" {
            let sentence = "The Maka Runtime Host refused this version of Airlock. Update the older of the two.";
            return self.unusable(cx, failure::connect("incompatible", sentence));
        }
        let other = |expected: &Option<String>, told: &str| {
            expected.as_deref().is_some_and(|expected| expected != told)
        };
        if other(
            &self.link.expected.root_id,
            greeting.root_id.as_deref().unwrap_or_default(),
        ) || other(&self.link.expected.host_epoch, &greeting.host_epoch)
            || greeting.composition_id != w::COMPOSITION
        {
            let sentence = "The Maka Runtime Host that answers is not the one that is registered. Restart Maka.";
            return self.drop_attempt(cx, failure::connect("identity", sentence));
        }
        let epoch = greeting.host_epoch.to_string();
        self.leave_state(cx);
        if greeting.state == "ready" {
            self.make_ready(cx, channel, epoch);
        } else {
            let overdue = cx.arm(Due::Connect, limits::MAKA_READY_MS);
            let poll = Some(cx.arm(Due::Poll, limits::MAKA_READY_POLL_MS));
            self.link.state = State::Settling {
                channel,
                epoch,
                overdue,
                poll,
            };
        }
    }

    fn make_ready(&mut self, cx: &mut Cx<'_, '_>, channel: Channel, epoch: String) {
        let stable = cx.arm(Due::Stable, limits::MAKA_STABLE_MS);
        self.link.state = State::Ready {
            channel,
            epoch,
            stable,
            probe: None,
        };
        self.link.lost_at = None;
        self.outage_ends(cx);
        cx.core
            .note(Level::Info, format!("connected to the {}", self.host()));
    }

    /// Asks a Host that is not ready yet.
    pub(super) fn poll(&mut self, cx: &mut Cx<'_, '_>) {
        if let State::Settling { channel, poll, .. } = &mut self.link.state {
            *poll = None;
            let channel = *channel;
            self.send_status(cx, channel, None);
        }
    }

    /// Asks whether the Host still lives, while answers are outstanding.
    pub(super) fn probe(&mut self, cx: &mut Cx<'_, '_>) {
        if let State::Ready { channel, probe, .. } = &mut self.link.state {
            *probe = None;
            let channel = *channel;
            if self.calls.outstanding() {
                self.send_status(cx, channel, Some(limits::MAKA_PROBE_MS));
            }
        }
    }

    /// `host.status` has a slot of its own and waits for nothing.
    fn send_status(&mut self, cx: &mut Cx<'_, '_>, channel: Channel, timeout: Option<u64>) {
        let id = self.calls.number();
        let timer = timeout.map(|after| cx.arm(Due::Call(id), after));
        let line = w::request(&format!("r{id}"), op::STATUS, object! {});
        self.calls.sent(Call {
            id,
            operation: op::STATUS.into(),
            purpose: Purpose::Status,
            timer,
        });
        cx.core.host_line(channel, &line);
    }

    pub(super) fn status(&mut self, cx: &mut Cx<'_, '_>, answer: Answer<'_>) {
        let status = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Status<'_>>(result.get()).ok(),
            _ => None,
        };
        let Some(status) = status.filter(|s| Some(&*s.host_epoch) == self.link.epoch()) else {
            if self.link.channel().is_some() {
                cx.core
                    .note(Level::Warn, "the Host did not answer a probe: reconnecting");
                self.drop_link(cx, "connection_lost");
            }
            return;
        };
        if let State::Settling { channel, epoch, .. } = &self.link.state {
            let (channel, epoch) = (*channel, epoch.clone());
            if status.state == "ready" {
                self.leave_state(cx);
                self.make_ready(cx, channel, epoch);
            } else if status.state == "draining" {
                let sentence = format!("The {} is shutting down. Start it again.", self.host());
                self.drop_attempt(cx, failure::connect("draining", &sentence));
            } else {
                let timer = cx.arm(Due::Poll, limits::MAKA_READY_POLL_MS);
                if let State::Settling { poll, .. } = &mut self.link.state {
                    *poll = Some(timer);
                }
            }
        }
    }

    /// Closes the channel and goes on as after a loss.
    pub(super) fn drop_link(&mut self, cx: &mut Cx<'_, '_>, reason: &'static str) {
        if let Some(channel) = self.link.channel() {
            cx.core.effect(Effect::Host(channel, HostDeparture::Close));
        }
        self.lost(cx, reason);
    }

    /// The channel is gone.
    pub(super) fn lost(&mut self, cx: &mut Cx<'_, '_>, reason: &'static str) {
        let was_ready = self.link.ready().is_some();
        self.leave_state(cx);
        if was_ready {
            self.link.lost_at = Some(cx.core.now.monotonic);
            cx.core.note(
                Level::Warn,
                format!("the connection to the {} was lost", self.host()),
            );
        }
        let (calls, timers) = self.calls.lost();
        for timer in timers {
            cx.core.disarm(timer);
        }
        for call in calls {
            if let Some(timer) = call.timer {
                cx.core.disarm(timer);
            }
            if call.purpose != Purpose::Status {
                let answer = Answer::Lost {
                    dispatched: true,
                    reason,
                };
                self.answered(cx, &call.operation, call.purpose, answer);
            }
        }
        self.feeds_lost(cx);
        if was_ready {
            self.outage_begins(cx);
        }
        let sentence = format!(
            "The connection to the {} was lost and did not come back.",
            self.host()
        );
        self.try_again(cx, failure::connect("connection_lost", &sentence));
    }

    /// After a loss: a pause and another attempt, if anything wants one. Without a loss, or
    /// after too long: everything that waits is refused.
    fn try_again(&mut self, cx: &mut Cx<'_, '_>, failure: Failure) {
        let now = cx.core.now.monotonic;
        let patience = self.link.lost_at.map_or(0, |at| {
            at.saturating_add(limits::MAKA_GIVE_UP_MS)
                .saturating_sub(now)
        });
        if !self.calls.wanting() || self.ended {
            return;
        }
        if patience == 0 {
            cx.core.note(Level::Warn, failure.message.clone());
            return self.refuse_waiting(cx, &failure);
        }
        let (first, longest) = limits::MAKA_BACKOFF_MS;
        // The last attempt comes when patience ends, not a doubled pause after that.
        let pause = first
            .saturating_mul(1 << self.link.attempts.min(16))
            .min(longest)
            .min(patience);
        self.link.attempts += 1;
        let timer = cx.arm(Due::Backoff, pause);
        self.link.state = State::Waiting { timer };
    }

    /// The Host cannot be spoken to at all: trying again would not help.
    fn unusable(&mut self, cx: &mut Cx<'_, '_>, failure: Failure) {
        self.link.lost_at = None;
        self.drop_attempt(cx, failure);
    }

    fn drop_attempt(&mut self, cx: &mut Cx<'_, '_>, failure: Failure) {
        if let Some(channel) = self.link.channel() {
            cx.core.effect(Effect::Host(channel, HostDeparture::Close));
        }
        self.leave_state(cx);
        self.try_again(cx, failure);
    }

    /// Refuses everything that waits for a connection.
    fn refuse_waiting(&mut self, cx: &mut Cx<'_, '_>, failure: &Failure) {
        self.link.lost_at = None;
        self.link.attempts = 0;
        self.outage_ends(cx);
        for call in self.calls.hopeless() {
            if let Some(timer) = call.timer {
                cx.core.disarm(timer);
            }
            let answer = Answer::Unreachable(failure);
            self.answered(cx, &call.operation, call.purpose, answer);
        }
    }

    /// At the end: refuses everything that waits or is on its way.
    pub(super) fn refuse_all(&mut self, cx: &mut Cx<'_, '_>) {
        let (mut calls, timers) = self.calls.lost();
        for timer in timers {
            cx.core.disarm(timer);
        }
        calls.extend(self.calls.hopeless());
        for call in calls {
            if let Some(timer) = call.timer {
                cx.core.disarm(timer);
            }
            if call.purpose != Purpose::Status {
                let failure = failure::closing(&call.operation);
                let answer = Answer::Unreachable(&failure);
                self.answered(cx, &call.operation, call.purpose, answer);
            }
        }
    }

    /// At the end: closes the channel.
    pub(super) fn hang_up(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(channel) = self.link.channel() {
            cx.core.effect(Effect::Host(channel, HostDeparture::Close));
        }
        self.leave_state(cx);
        self.outage_ends(cx);
    }

    fn leave_state(&mut self, cx: &mut Cx<'_, '_>) {
        for timer in self.link.take().1 {
            cx.core.disarm(timer);
        }
    }
}
