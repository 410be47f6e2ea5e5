//! Frames of a feed, in sequence, to facts.
//!
//! Invariant: a frame is handled only if it is the next one of the feed's Host process;
//! anything else, and any text that does not join, makes the feed recover.

use alloc::string::ToString;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use crate::effect::Level;
use crate::host::{Fact, Heard, SessionKey};
use crate::limits;
use crate::projection::{Call, Speaker, Stream, ToolFact};

use super::aside;
use super::feed::Feed;
use super::interactions::Pending;
use super::results;
use super::turn::Turn;
use super::wire::{self, current as w, current::kind};
use super::{Cx, Due, Maka, failure};

impl Maka {
    /// A frame with a subscription id. Those of a feed that was let go are ignored.
    pub(super) fn frame(&mut self, cx: &mut Cx<'_, '_>, frame: &w::Frame<'_>, line: &[u8]) {
        let Some(key) = self.subscriptions.get(&*frame.subscription_id).copied() else {
            return;
        };
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let past = attached.reading.of_past();
        if let Feed::Hydrating { frames, hydration } = &mut attached.feed {
            // Its pages will fail from now on: that is not what is wrong with it.
            if frame.kind == kind::CLOSED {
                return self.closed(cx, key, &frame.reason);
            }
            if hydration.overrun {
                return;
            }
            if frames.len() as u64 >= limits::MAKA_HELD_FRAMES {
                // The pages go on; what comes meanwhile is read from the store after them.
                if past {
                    hydration.overrun = true;
                    frames.clear();
                    return;
                }
                return self.recover(cx, key, "slow_consumer");
            }
            if let Ok(line) = core::str::from_utf8(line) {
                frames.push_back(line.to_string());
            }
            return;
        }
        self.in_sequence(cx, key, frame);
    }

    /// Handles the frames that came while stored rows were read.
    pub(super) fn replay_held(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        number: u64,
        frames: impl Iterator<Item = alloc::string::String>,
    ) {
        let mut lane = wire::Lane::default();
        for line in frames {
            // One of them may break the feed, or end what it was wanted for.
            match self.feeds.get_mut(&key) {
                Some(attached) if attached.number == number => {
                    // It may also have to wait for stored rows again.
                    if let Feed::Hydrating { frames, .. } = &mut attached.feed {
                        frames.push_back(line);
                        continue;
                    }
                }
                _ => return,
            }
            if let Some(frame) = lane.frame(line.as_bytes(), &mut Vec::new()) {
                self.in_sequence(cx, key, &frame);
            }
        }
    }

    fn in_sequence(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, frame: &w::Frame<'_>) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if frame.host_epoch != attached.epoch {
            return self.recover(cx, key, "host_epoch_changed");
        }
        if frame.sequence != attached.next_sequence {
            return self.recover(cx, key, "sequence_gap");
        }
        attached.next_sequence += 1;
        if attached.unproven && frame.kind != kind::CLOSED {
            attached.unproven = false;
            let due = Due::Recovered {
                session: key,
                feed: attached.number,
            };
            attached.proving = Some(cx.arm(due, limits::MAKA_RECOVERED_MS));
        }
        match &*frame.kind {
            kind::DELTA => {
                if let Some(delta) = &frame.delta {
                    self.delta(cx, key, delta);
                }
            }
            kind::EVENT => {
                if let Some(event) = frame.event {
                    self.event(cx, key, event);
                }
            }
            kind::ADVANCED => {
                let Some(attached) = self.feeds.get_mut(&key) else {
                    return;
                };
                attached.watermark = Some(frame.through_sequence);
                self.read_on(cx, key);
            }
            kind::PROJECTION => {
                match frame
                    .snapshot
                    .map(|text| serde_json::from_str::<w::Snapshot<'_>>(text.get()))
                {
                    Some(Ok(snapshot)) => self.next_snapshot(cx, key, &snapshot),
                    _ => self.recover(cx, key, "projection_revision_invalid"),
                }
            }
            kind::CLOSED => self.closed(cx, key, &frame.reason),
            kind::DOMAIN_CHANGED => self.domain_changed(cx, key, &frame.domain),
            _ => {}
        }
    }

    /// The Host closed the subscription itself: there is nothing to close.
    fn closed(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, reason: &str) {
        if let Some(subscription) = self.feeds.get_mut(&key).and_then(|a| a.subscription.take()) {
            self.subscriptions.remove(&subscription);
        }
        if reason == "slow_consumer" {
            self.recover(cx, key, "slow_consumer");
        } else {
            if let Some(attached) = self.feeds.get_mut(&key) {
                attached.observer = None;
            }
            self.feed_failed(cx, key, failure::subscription(reason));
        }
    }

    /// Whether a frame is about our turn and somebody still looks at it.
    fn ours(&self, key: SessionKey, turn_id: &str) -> bool {
        self.feeds
            .get(&key)
            .and_then(|attached| attached.turn.as_ref())
            .is_some_and(|turn| turn.observed() && turn.id == turn_id)
    }

    fn delta(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, delta: &w::Delta<'_>) {
        if !self.ours(key, &delta.turn_id) {
            return;
        }
        let speaker = match &*delta.kind {
            "text" => Speaker::Agent,
            "thinking" => Speaker::Thought,
            _ => return,
        };
        let message_id = &*delta.message_id;
        let mut heard = Heard::Fine;
        if !delta.text.is_empty() || delta.reset {
            let (start, text) = (delta.start_offset, &*delta.text);
            let reset = delta.reset;
            heard = cx.tell(
                key,
                Fact::TextGrew {
                    speaker,
                    message_id,
                    start,
                    text,
                    reset,
                },
            );
        }
        if heard == Heard::Fine && delta.complete {
            let length = delta.start_offset + utf16(&delta.text);
            heard = cx.tell(
                key,
                Fact::TextCompleted {
                    speaker,
                    message_id,
                    length,
                },
            );
        }
        if heard == Heard::Gap {
            self.recover(cx, key, "sequence_gap");
        }
    }

    fn event(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, text: &RawValue) {
        let Ok(event) = serde_json::from_str::<w::Event<'_>>(text.get()) else {
            cx.core
                .note(Level::Warn, "the Host sent an event that cannot be read");
            return;
        };
        if !self.ours(key, &event.turn_id) {
            return;
        }
        let id = &*event.tool_use_id;
        let chunk = event.chunk.and_then(results::progress).unwrap_or_default();
        let fact = match &*event.kind {
            "tool_start" => ToolFact::Started {
                id,
                call: Call {
                    name: event.tool_name.as_deref().unwrap_or(id),
                    display_name: event.display_name.as_deref(),
                    kind: results::kind(event.activity_kind.as_deref()),
                    operation_id: event.operation_id.as_deref(),
                    step_id: event.step_id.as_deref(),
                    parent: None,
                    places: &[],
                },
            },
            "tool_output_delta" => ToolFact::Output {
                id,
                seq: event.seq.unwrap_or_default(),
                stream: match event.stream.as_deref() {
                    Some("stderr") => Stream::Stderr,
                    _ => Stream::Stdout,
                },
                chunk: &chunk,
                redacted: event.redacted,
            },
            "tool_progress" => ToolFact::Progress { id, text: &chunk },
            "tool_result_preview" => match event.content {
                Some(content) => ToolFact::Preview {
                    id,
                    json: content.get(),
                },
                None => return,
            },
            "tool_result" => ToolFact::Announced {
                id,
                errored: event.status.as_deref() == Some("errored"),
                duration_ms: event.duration_ms,
            },
            _ => return,
        };
        let announced = matches!(fact, ToolFact::Announced { .. });
        if let Some(turn) = self.feeds.get_mut(&key).and_then(|it| it.turn.as_mut()) {
            turn.unread.heard(id);
        }
        let _fine = cx.tell(key, Fact::Tool(fact));
        if announced {
            self.read_on(cx, key);
        }
    }

    fn next_snapshot(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, snapshot: &w::Snapshot<'_>) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if snapshot.projection_revision <= attached.revision {
            return self.recover(cx, key, "projection_revision_invalid");
        }
        attached.revision = snapshot.projection_revision;
        self.record(cx, key, &snapshot.session);
        self.snapshot(cx, key, snapshot);
        self.progress(cx, key);
    }

    /// Takes in what a snapshot says of turns and of questions to the user.
    pub(super) fn snapshot(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        snapshot: &w::Snapshot<'_>,
    ) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        attached.show_root(snapshot.root_turn.as_ref());
        let watermark = attached.watermark;
        let asked = snapshot
            .interactions
            .pending
            .iter()
            .map(Pending::of)
            .collect();
        let Some(turn) = attached.turn.as_mut().filter(|turn| turn.dispatched()) else {
            self.look_on(cx, key);
            return self.heed(cx, key, asked);
        };
        let ours = snapshot
            .root_turn
            .as_ref()
            .filter(|root| root.turn_id == turn.id);
        let retry = ours
            .and_then(|root| root.provider_retry.as_ref())
            .map(aside::retry)
            .filter(|notice| turn.notice.as_ref() != Some(notice));
        if let Some(notice) = &retry {
            turn.notice = Some(notice.clone());
        }
        let vanished = ours.is_none() && turn.seen_as_root && turn.ended.is_none();
        if let Some(root) = ours {
            turn.seen_as_root = true;
            turn.told(root);
            if turn.ended.is_some() && turn.end_at.is_none() {
                turn.end_at = watermark;
            }
        }
        if vanished && turn_goes_on(turn) {
            return self.recover(cx, key, "projection_revision_invalid");
        }
        if let Some(text) = retry {
            let _fine = cx.tell(key, Fact::Noticed { text });
        }
        self.heed(cx, key, asked);
    }

    /// The same for a feed whose stored rows are still to be read: nothing is decided yet.
    pub(super) fn snapshot_hydrating(&mut self, key: SessionKey, snapshot: &w::Snapshot<'_>) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        attached.show_root(snapshot.root_turn.as_ref());
        if let Feed::Hydrating { hydration, .. } = &mut attached.feed {
            let asked = snapshot.interactions.pending.iter();
            hydration.asked = asked.map(Pending::of).collect();
        }
        let Some(turn) = &mut attached.turn else {
            return;
        };
        if let Some(root) = snapshot
            .root_turn
            .as_ref()
            .filter(|root| root.turn_id == turn.id)
        {
            turn.seen_as_root = true;
            turn.told(root);
        }
    }
}

fn turn_goes_on(turn: &Turn) -> bool {
    turn.observed() && matches!(turn.stop, super::turn::Stop::No)
}

fn utf16(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}
