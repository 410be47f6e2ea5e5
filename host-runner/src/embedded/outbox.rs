//! What waits to be written to one connection. The Host's threads put frames
//! in, the connection's writer takes them out; nobody waits for the socket.
//! Touches no socket itself. Invariant: a subscription's frames leave numbered
//! from 1 without a gap, so the number is given when a frame leaves, not when
//! it comes.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

use super::clock::Deadline;
use super::wire::{
    DELTA_BYTES, IN_FLIGHT, Refusal, SUBSCRIBER_BYTES, SUBSCRIBER_FRAMES, WRITER_BYTES,
    WRITER_FRAMES,
};

/// Waiting frames of a subscription from which on its deltas are joined.
const CROWD: usize = SUBSCRIBER_FRAMES / 2;
/// How long a client that does not read holds a play up, once.
const PATIENCE: Duration = Duration::from_millis(250);

/// The queue of one connection and what it knows about its requests.
#[derive(Default)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    queue: VecDeque<Item>,
    plain_frames: usize,
    plain_bytes: usize,
    lanes: BTreeMap<String, Lane>,
    /// Subscriptions that are over here; closing one again is fine.
    retired: HashSet<String>,
    in_flight: HashSet<String>,
    /// Requests in flight whose answer a fault has swallowed.
    lost: usize,
    client_ended: bool,
    closed: bool,
    socket_is_full: bool,
    sent: u64,
    drop_after: Option<u64>,
}

enum Item {
    Plain(String),
    Frame {
        lane: String,
        body: Value,
        bytes: usize,
    },
}

/// One subscription's way out.
struct Lane {
    host_epoch: String,
    next_sequence: u64,
    frames: usize,
    bytes: usize,
    /// The client was seen not to read; until it does, nobody waits for it.
    stalled: bool,
    trouble: Trouble,
}

/// Faults armed for one subscription; the number is the frame they wait for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trouble {
    pub(crate) skip_at: Option<u64>,
    pub(crate) evict_at: Option<u64>,
}

/// What there is to write.
pub(crate) enum Next {
    Frame(String),
    Nothing,
    /// The connection is over.
    Over,
}

/// What became of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Queued,
    /// The subscription is over; forget it.
    Over,
}

impl Outbox {
    /// Takes a request in. `false`: the real Host would close the connection.
    pub(crate) fn admit(&self, request: &str, operation: &str) -> bool {
        let mut inner = self.lock();
        let reserve = usize::from(operation == "host.status");
        inner.in_flight.len() < IN_FLIGHT + reserve && inner.in_flight.insert(request.to_owned())
    }

    /// Queues the answer to a request.
    pub(crate) fn answer(&self, request: &str, operation: &str, result: Result<Value, Refusal>) {
        let frame = match result {
            Ok(result) => {
                json!({"requestId": request, "operation": operation, "ok": true, "result": result})
            }
            Err(refusal) => json!({"requestId": request, "operation": operation, "ok": false,
                "error": {"code": refusal.code, "message": refusal.message}}),
        };
        let mut inner = self.lock();
        inner.in_flight.remove(request);
        inner.plain(frame.to_string());
        self.changed.notify_all();
    }

    /// The answer to this request never comes.
    pub(crate) fn lose(&self) {
        self.lock().lost += 1;
        self.changed.notify_all();
    }

    /// Queues a notification that belongs to no subscription.
    pub(crate) fn notify(&self, frame: &Value) {
        self.lock().plain(frame.to_string());
        self.changed.notify_all();
    }

    /// Opens a subscription's lane.
    pub(crate) fn open(&self, lane: &str, host_epoch: &str, trouble: Trouble) {
        let lane_state = Lane {
            host_epoch: host_epoch.to_owned(),
            next_sequence: 1,
            frames: 0,
            bytes: 0,
            stalled: false,
            trouble,
        };
        self.lock().lanes.insert(lane.to_owned(), lane_state);
    }

    /// Arms faults on every lane that is open; tells whether there was one.
    pub(crate) fn trouble(&self, after: impl Fn(u64, &mut Trouble)) -> bool {
        let mut inner = self.lock();
        for lane in inner.lanes.values_mut() {
            after(
                lane.next_sequence - 1 + lane.frames as u64,
                &mut lane.trouble,
            );
        }
        !inner.lanes.is_empty()
    }

    pub(crate) fn has_lane(&self, lane: &str) -> bool {
        self.lock().lanes.contains_key(lane)
    }

    /// How many subscriptions are open on this connection.
    pub(crate) fn lanes(&self) -> usize {
        self.lock().lanes.len()
    }

    /// Queues a frame for a subscription.
    pub(crate) fn frame(&self, lane: &str, body: Value) -> Delivery {
        let mut inner = self.lock();
        let delivery = inner.frame(lane, body);
        self.changed.notify_all();
        delivery
    }

    /// Gives the writer time to make room for a subscription. The real Host is
    /// slowed by its model and its tools; a script is not, and would evict a
    /// client that reads as fast as it can. Only a full socket is the client's
    /// fault, and is not waited for long.
    pub(crate) fn let_drain(&self, lane: &str) {
        let mut inner = self.lock();
        let mut patience: Option<Deadline> = None;
        while inner.is_crowded(lane) {
            patience = match (inner.socket_is_full, patience) {
                (true, None) => Some(Deadline::after(PATIENCE)),
                (true, some) => some,
                (false, _) => None,
            };
            let left = patience.map_or(PATIENCE, Deadline::left);
            if left.is_zero() {
                if let Some(lane) = inner.lanes.get_mut(lane) {
                    lane.stalled = true;
                }
                return;
            }
            let waited = self.changed.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    /// The writer says whether it has to wait for the client to read.
    pub(crate) fn set_socket_is_full(&self, full: bool) {
        self.lock().socket_is_full = full;
        self.changed.notify_all();
    }

    /// Ends a subscription with a last frame.
    pub(crate) fn evict(&self, lane: &str, reason: &str) {
        let mut inner = self.lock();
        inner.evict(lane, reason);
        self.changed.notify_all();
    }

    /// Ends a subscription silently, as its client asked. Frames that wait are dropped.
    pub(crate) fn retire(&self, lane: &str) {
        let mut inner = self.lock();
        inner.forget(lane);
        inner.retired.insert(lane.to_owned());
    }

    /// The client will send no more: answer what is in flight, then close.
    pub(crate) fn client_ended(&self) {
        let mut inner = self.lock();
        inner.client_ended = true;
        self.changed.notify_all();
    }

    /// Closes at once; nothing that waits is written.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Closes after this many more frames.
    pub(crate) fn close_after(&self, frames: u64) {
        let mut inner = self.lock();
        inner.drop_after = Some(inner.sent + frames);
        self.changed.notify_all();
    }

    /// Waits until there is room for answers. `false`: the connection is over.
    pub(crate) fn wait_for_room(&self) -> bool {
        let mut inner = self.lock();
        while !inner.closed && inner.plain_frames >= WRITER_FRAMES {
            inner = self
                .changed
                .wait(inner)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        !inner.closed
    }

    /// The next message to write; `None` when the connection is over.
    pub(crate) fn next(&self) -> Option<String> {
        let mut inner = self.lock();
        loop {
            match self.look(&mut inner) {
                Next::Frame(line) => return Some(line),
                Next::Over => return None,
                Next::Nothing => {}
            }
            inner = self
                .changed
                .wait(inner)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// The same for one who does not wait.
    pub(crate) fn poll(&self) -> Next {
        self.look(&mut self.lock())
    }

    fn look(&self, inner: &mut Inner) -> Next {
        if inner.closed || inner.drop_after.is_some_and(|last| inner.sent >= last) {
            inner.closed = true;
            self.changed.notify_all();
            return Next::Over;
        }
        if let Some(line) = inner.take() {
            inner.sent += 1;
            self.changed.notify_all();
            return Next::Frame(line);
        }
        if inner.client_ended && inner.in_flight.len() <= inner.lost {
            inner.closed = true;
            return Next::Over;
        }
        Next::Nothing
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Inner {
    fn plain(&mut self, line: String) {
        self.plain_frames += 1;
        self.plain_bytes += line.len();
        self.queue.push_back(Item::Plain(line));
        if self.plain_bytes > WRITER_BYTES {
            self.closed = true;
        }
    }

    fn frame(&mut self, name: &str, body: Value) -> Delivery {
        let bytes = body.to_string().len();
        let Some(lane) = self.lanes.get_mut(name) else {
            return Delivery::Over;
        };
        if lane.frames >= CROWD && self.coalesce(name, &body) {
            return Delivery::Queued;
        }
        let lane = self.lanes.get_mut(name).expect("the lane was just there");
        if lane.frames >= SUBSCRIBER_FRAMES || lane.bytes + bytes > SUBSCRIBER_BYTES {
            self.evict(name, "slow_consumer");
            return Delivery::Over;
        }
        lane.frames += 1;
        lane.bytes += bytes;
        self.queue.push_back(Item::Frame {
            lane: name.to_owned(),
            body,
            bytes,
        });
        Delivery::Queued
    }

    fn is_crowded(&self, lane: &str) -> bool {
        !self.closed
            && self
                .lanes
                .get(lane)
                .is_some_and(|lane| lane.frames >= CROWD && !lane.stalled)
    }

    /// Appends an assistant delta to the one that waits before it.
    fn coalesce(&mut self, name: &str, body: &Value) -> bool {
        let last = self.queue.iter_mut().rev().find_map(|item| match item {
            Item::Frame { lane, body, bytes } if lane == name => Some((body, bytes)),
            _ => None,
        });
        let Some((earlier, size)) = last else {
            return false;
        };
        let (old, new) = (&earlier["delta"], &body["delta"]);
        let plain = |delta: &Value| {
            delta.is_object() && delta.get("complete").is_none() && delta.get("reset").is_none()
        };
        let same = |key: &str| old[key] == new[key];
        if !(plain(old) && plain(new) && same("kind") && same("messageId") && same("runId")) {
            return false;
        }
        let (Some(head), Some(more)) = (old["text"].as_str(), new["text"].as_str()) else {
            return false;
        };
        if head.len() + more.len() > DELTA_BYTES {
            return false;
        }
        if let Value::String(head) = &mut earlier["delta"]["text"] {
            head.push_str(more);
        }
        // Escapes are not counted; they make it a little more.
        *size += more.len();
        if let Some(lane) = self.lanes.get_mut(name) {
            lane.bytes += more.len();
        }
        true
    }

    fn evict(&mut self, name: &str, reason: &str) {
        if let Some(lane) = self.forget(name) {
            let last = numbered(
                name,
                &lane,
                json!({"kind": "subscription.closed", "reason": reason}),
            );
            self.plain(last);
        }
    }

    fn forget(&mut self, name: &str) -> Option<Lane> {
        self.queue
            .retain(|item| !matches!(item, Item::Frame { lane, .. } if lane == name));
        self.lanes.remove(name)
    }

    fn take(&mut self) -> Option<String> {
        loop {
            let (name, body, bytes) = match self.queue.pop_front()? {
                Item::Plain(line) => {
                    self.plain_frames -= 1;
                    self.plain_bytes -= line.len();
                    return Some(line);
                }
                Item::Frame { lane, body, bytes } => (lane, body, bytes),
            };
            let Some(lane) = self.lanes.get_mut(&name) else {
                continue;
            };
            lane.frames -= 1;
            lane.bytes -= bytes;
            lane.stalled = false;
            if lane
                .trouble
                .evict_at
                .is_some_and(|at| lane.next_sequence > at)
            {
                self.evict(&name, "slow_consumer");
                continue;
            }
            if lane
                .trouble
                .skip_at
                .is_some_and(|at| lane.next_sequence > at)
            {
                lane.trouble.skip_at = None;
                lane.next_sequence += 1;
            }
            let line = numbered(&name, lane, body);
            lane.next_sequence += 1;
            return Some(line);
        }
    }
}

fn numbered(name: &str, lane: &Lane, mut body: Value) -> String {
    body["hostEpoch"] = json!(lane.host_epoch);
    body["subscriptionId"] = json!(name);
    body["sequence"] = json!(lane.next_sequence);
    body.to_string()
}
