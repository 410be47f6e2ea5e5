//! Messages into a turn that runs (Claude adapter, section 8): the turn is over when they
//! are, too.
//!
//! | rule | what |
//! |---|---|
//! | S1 | a message joins the newest turn that is not over and was not stopped; one that waits for its subagents works again from the message's echo on |
//! | S2 | a result that does not name the turn's messages does not end it while they are out |
//! | S3 | a result that names the last of them does |
//! | S4 | else idle does, or the next prompt, after a result and with no message still out |
//! | S5 | a message that the process drops is not waited for |
//! | S6 | a cancel stops them with their turn, and takes back those that were not taken |
//!
//! Invariant: a message is forgotten with its turn.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Life, Orphan, Phase, Settled, Turn, Turns};

/// A message that a turn waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Steer {
    uuid: String,
    phase: Out,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Out {
    /// Written.
    Sent,
    /// The process says that it has it.
    Taken,
    /// Echoed: what streams is its.
    Echoed,
}

impl Turn {
    /// Whether one of these names it, or a message of its.
    pub(super) fn named(&self, uuids: &[&str]) -> bool {
        uuids.contains(&self.uuid.as_str()) || self.steers.iter().any(|it| it.is(uuids))
    }

    fn has_steer(&self, uuid: &str) -> bool {
        self.steers.iter().any(|it| it.uuid == uuid)
    }

    /// Whether the process has a message of its that it has not come to yet.
    pub(super) fn waits(&self) -> bool {
        self.steers.iter().any(|it| it.phase == Out::Taken)
    }
}

impl Steer {
    fn is(&self, uuids: &[&str]) -> bool {
        uuids.contains(&self.uuid.as_str())
    }
}

impl Turns {
    /// A message into running work is to be written. Whether there is such work (S1).
    pub fn steer(&mut self, uuid: &str) -> bool {
        let stopped = &self.window.stopped;
        let mut running = self.queue.iter_mut().rev();
        let turn = running.find(|turn| !stopped.contains(&turn.uuid));
        if let Some(turn) = turn {
            turn.steers.push(Steer {
                uuid: uuid.to_owned(),
                phase: Out::Sent,
            });
            return true;
        }
        false
    }

    /// A result came that names these: the turns that it ends, because no message of theirs
    /// is out any more (S2, S3).
    pub(super) fn without_steers(&mut self, uuids: &[&str]) -> Vec<String> {
        let stopped = &self.window.stopped;
        let mut over = Vec::new();
        for turn in self.queue.iter_mut().filter(|turn| turn.named(uuids)) {
            turn.steers.retain(|it| !it.is(uuids));
            if turn.phase == Phase::Held && !stopped.contains(&turn.uuid) {
                turn.phase = Phase::Active;
            }
            turn.answered = !turn.steers.is_empty() && !stopped.contains(&turn.uuid);
            if !turn.answered {
                over.push(turn.uuid.clone());
            }
        }
        over
    }

    /// A result that names nothing while a turn runs.
    pub(super) fn result_of_active(&mut self, background: bool) -> Vec<Settled> {
        for turn in &mut self.queue {
            turn.answered |= turn.phase == Phase::Active && !turn.steers.is_empty();
        }
        let over = |turn: &Turn| turn.phase == Phase::Active && !turn.answered;
        self.settle(over, background)
    }

    /// The process echoes a message of a turn. Whether it is one.
    pub(super) fn steer_echo(&mut self, uuid: &str) -> bool {
        let mut queue = self.queue.iter_mut();
        let held = queue.find(|turn| turn.phase == Phase::Held && turn.has_steer(uuid));
        if let Some(turn) = held {
            // Its own result is kept, for when none follows.
            turn.phase = Phase::Active;
            turn.answered = true;
            self.own = false;
        }
        self.steer_mut(uuid, |it| it.phase = Out::Echoed)
    }

    /// Which turns are named, by themselves or by a message.
    pub fn named(&self, uuids: &[&str]) -> Vec<String> {
        let named = self.queue.iter().filter(|turn| turn.named(uuids));
        named.map(|turn| turn.uuid.clone()).collect()
    }

    /// The process tells how far it is with a message of a turn. Whether it is one.
    pub(super) fn steer_life(&mut self, uuid: &str, life: Life) -> bool {
        match life {
            Life::Queued | Life::Started => self.steer_mut(uuid, |it| {
                if it.phase == Out::Sent {
                    it.phase = Out::Taken;
                }
            }),
            // S5. After its echo a result is still to come.
            Life::Cancelled | Life::Over => {
                let mut found = false;
                for turn in &mut self.queue {
                    found |= turn.steers.iter().any(|it| it.uuid == uuid);
                    let dropped = |it: &Steer| it.uuid == uuid && it.phase != Out::Echoed;
                    turn.steers.retain(|it| !dropped(it));
                }
                found
            }
        }
    }

    fn steer_mut(&mut self, uuid: &str, step: impl FnOnce(&mut Steer)) -> bool {
        let steers = self.queue.iter_mut().flat_map(|turn| &mut turn.steers);
        let mut steers = steers.filter(|it| it.uuid == uuid);
        steers.next().map(step).is_some()
    }

    /// A cancel takes a turn down: its messages with it (S6). Those that may have to be
    /// taken back.
    pub(super) fn stop_steers(&mut self, steers: Vec<Steer>) -> Vec<String> {
        let mut back = Vec::new();
        for Steer { uuid, phase } in steers {
            self.window.stopped.insert(uuid.clone());
            if phase != Out::Echoed {
                let pending = Orphan::Pending(self.cancels);
                self.window.orphans.insert(uuid.clone(), pending);
                back.push(uuid);
            }
        }
        back
    }

    /// Turns that have a result, but messages out.
    pub fn answered(&self) -> impl Iterator<Item = &str> {
        let answered = self.queue.iter().filter(|turn| turn.answered);
        answered.map(|turn| turn.uuid.as_str())
    }
}
