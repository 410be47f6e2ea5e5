//! The queue of turns and the cancel window: who is answered when, and what of the stream
//! belongs to work that was stopped (Claude adapter, section 9).
//!
//! Pure: it is told what happened in the order of the wire, and says what is to be settled.
//! Nothing else decides whether output is shown. The rules, each with its test in
//! `tests/claude_turns.rs`, but D1 and D2 in `tests/claude_texts.rs`:
//!
//! | rule | what |
//! |---|---|
//! | W1 | a cancel opens the window and takes down every prompt received before it |
//! | W2 | a queued prompt is cancelled at once, and its output is due for dropping |
//! | W3 | a running turn is cancelled at its result, else at idle, at the next echo, after 30 s |
//! | W4 | the next prompt's echo closes the window |
//! | W5 | a request that does not belong to the stopped work closes it, if requests name theirs |
//! | H1 | it belongs while the stopped turn, or what Claude did by itself, has not ended |
//! | H2 | it belongs while a result of an abandoned prompt is due |
//! | H3 | it belongs if it names a stopped prompt |
//! | H4 | it belongs if it names a prompt that is not over |
//! | D1 | before the report, what the interrupt flushes is shown; its whole copy is not |
//! | D2 | after the report, nothing is shown until the window closes |
//! | O1 | a result is owned by the prompts that it names |
//! | O2 | a result of stopped work never settles a later prompt |
//! | O3 | a result of work that Claude began itself settles no prompt |
//!
//! Invariant: every prompt is settled exactly once.

mod steers;

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use steers::Steer;

/// The turns of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Turns {
    /// In the order in which they were sent; settled ones are gone.
    queue: Vec<Turn>,
    /// Claude works by itself.
    own: bool,
    /// A result came, and the idle that belongs to it has not.
    idle_due: bool,
    /// How often the editor cancelled.
    cancels: u64,
    window: Window,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Turn {
    uuid: String,
    phase: Phase,
    /// Messages into it that have not had their result.
    steers: Vec<Steer>,
    /// It has a result, but waits for such a message.
    answered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Phase {
    /// Written to the process.
    Queued,
    /// The process says that it took it.
    Started,
    /// The process says that it is done with it, whatever else is still to come.
    Dropped,
    /// Echoed: what streams is its.
    Active,
    /// It has its result, and waits for the subagents that it left behind.
    Held,
}

/// What was stopped, until it cannot be mistaken for something else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Window {
    open: bool,
    /// The prompts that were cancelled.
    stopped: BTreeSet<String>,
    /// What Claude did by itself was cancelled, and is not over.
    own: bool,
    /// Of the prompts, the abandoned ones whose result may still come.
    orphans: BTreeMap<String, Orphan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Orphan {
    /// The process may have it, or not; abandoned by this cancel.
    Pending(u64),
    /// The process works on it.
    Started,
    /// It was cancelled after it had started.
    Zombie,
}

/// What becomes of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It is shown.
    Closed,
    /// The window is open, and the editor does not know yet that the work ended (D1).
    Unreported,
    /// The window is open, and the editor was told (D2).
    Reported,
}

/// A prompt that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Which.
    pub uuid: String,
    /// How.
    pub how: How,
}

/// How a prompt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As the result that just came says.
    Result,
    /// As a result said that came before.
    HeldResult,
    /// Cancelled; the result that just came says what it took.
    Stopped,
    /// Cancelled.
    Cancelled,
    /// Cancelled after it was done; a result said what it took.
    HeldCancelled,
    /// The process went idle and said nothing of it.
    NoResult,
}

/// What a cancel has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cancelled {
    /// Over at once.
    pub settled: Vec<Settled>,
    /// To be taken back from the process.
    pub abandoned: Vec<String>,
    /// Still running: to be settled after 30 s at the latest.
    pub running: Vec<String>,
    /// Which cancel this is.
    pub number: u64,
}

/// What a result says of whose it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner<'a> {
    /// The prompts that it names.
    pub uuids: &'a [&'a str],
    /// It came of something else than a prompt.
    pub autonomous: bool,
    /// It is of work that was interrupted.
    pub aborted: bool,
    /// Subagents still run in the background.
    pub background: bool,
}

/// A state of a command that the process tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It waits there.
    Queued,
    /// Taken.
    Started,
    /// Taken back.
    Cancelled,
    /// Done, or not to be done at all.
    Over,
}

impl Turns {
    /// A prompt was written to the process.
    pub fn prompt(&mut self, uuid: &str) {
        self.queue.push(Turn {
            uuid: uuid.to_owned(),
            phase: Phase::Queued,
            steers: Vec::new(),
            answered: false,
        });
    }

    /// Prompts that are not over.
    pub fn unsettled(&self) -> impl Iterator<Item = &str> {
        self.queue.iter().map(|turn| turn.uuid.as_str())
    }

    /// The prompt that the process works on, if any.
    pub fn front(&self) -> Option<&str> {
        let of = |phase| self.queue.iter().find(move |turn| turn.phase == phase);
        let front = of(Phase::Active).or_else(|| of(Phase::Started))?;
        Some(&front.uuid)
    }

    /// Whether anything runs that a message could be meant for.
    pub fn busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether something streams, of a prompt or by itself.
    pub fn active(&self) -> bool {
        self.own || self.queue.iter().any(|turn| turn.phase == Phase::Active)
    }

    /// Whether output is shown.
    pub fn gate(&self) -> Gate {
        match (self.window.open, self.active()) {
            (false, _) => Gate::Closed,
            (true, true) => Gate::Unreported,
            (true, false) => Gate::Reported,
        }
    }

    /// The editor cancels (W1, W2).
    pub fn cancel(&mut self) -> Cancelled {
        self.cancels += 1;
        let mut cancelled = Cancelled {
            number: self.cancels,
            ..Cancelled::default()
        };
        self.window.open = true;
        self.window.own |= self.own;
        for mut turn in core::mem::take(&mut self.queue) {
            self.window.stopped.insert(turn.uuid.clone());
            turn.answered = false;
            let steers = core::mem::take(&mut turn.steers);
            cancelled.abandoned.extend(self.stop_steers(steers));
            let how = match turn.phase {
                Phase::Active => {
                    cancelled.running.push(turn.uuid.clone());
                    self.queue.push(turn);
                    continue;
                }
                // Its follow-up runs.
                Phase::Held if self.own => {
                    cancelled.running.push(turn.uuid.clone());
                    self.queue.push(turn);
                    continue;
                }
                Phase::Held => How::HeldCancelled,
                Phase::Queued | Phase::Started | Phase::Dropped => {
                    let orphan = match turn.phase {
                        Phase::Started => Some(Orphan::Started),
                        Phase::Queued => Some(Orphan::Pending(self.cancels)),
                        _ => None,
                    };
                    if let Some(orphan) = orphan {
                        self.window.orphans.insert(turn.uuid.clone(), orphan);
                    }
                    cancelled.abandoned.push(turn.uuid.clone());
                    How::Cancelled
                }
            };
            cancelled.settled.push(Settled {
                uuid: turn.uuid,
                how,
            });
        }
        cancelled
    }

    /// The editor stops what Claude does by itself, and no prompt with it. Which cancel this is;
    /// `None` where a prompt runs, so that there is nothing of the kind to interrupt.
    pub fn cancel_own(&mut self) -> Option<u64> {
        let runs = |turn: &Turn| matches!(turn.phase, Phase::Active | Phase::Started);
        if self.queue.iter().any(runs) {
            return None;
        }
        self.cancels += 1;
        self.window.open = true;
        self.window.own |= self.own;
        Some(self.cancels)
    }

    /// The process answered the interrupt of this cancel: of what was abandoned by then and
    /// not begun, only these are still with it.
    pub fn receipt(&mut self, cancel: u64, still_queued: &[&str]) {
        self.window.orphans.retain(|uuid, state| match state {
            Orphan::Pending(by) if *by <= cancel => still_queued.contains(&uuid.as_str()),
            _ => true,
        });
    }

    /// The process tells how far it is with a prompt.
    pub fn lifecycle(&mut self, uuid: &str, life: Life) {
        if let Some(turn) = self.queue.iter_mut().find(|turn| turn.uuid == uuid) {
            match (turn.phase, life) {
                (Phase::Queued, Life::Started) => turn.phase = Phase::Started,
                (Phase::Queued | Phase::Started, Life::Cancelled | Life::Over) => {
                    turn.phase = Phase::Dropped;
                }
                _ => {}
            }
            return;
        }
        if self.steer_life(uuid, life) {
            return;
        }
        let orphans = &mut self.window.orphans;
        let Some(orphan) = orphans.get_mut(uuid) else {
            return;
        };
        match (*orphan, life) {
            (Orphan::Pending(_), Life::Started) => *orphan = Orphan::Started,
            (Orphan::Started, Life::Cancelled) => *orphan = Orphan::Zombie,
            (Orphan::Pending(_), Life::Cancelled) | (_, Life::Over) => {
                orphans.remove(uuid);
            }
            _ => {}
        }
    }

    /// The process asks a model; `named` where its requests name their prompts (W5).
    pub fn requesting(&mut self, uuids: &[&str], named: bool) {
        self.idle_due = false;
        if self.window.open && named && !self.belongs(uuids) {
            self.window = Window::default();
        }
        let of_prompt = self.queue.iter().any(|turn| match turn.phase {
            Phase::Active => true,
            // A request that names nothing may be of any prompt.
            Phase::Queued | Phase::Started if !named => true,
            _ => turn.named(uuids),
        });
        if !self.window.open && !of_prompt {
            self.own = true;
        }
    }

    /// Whether a request belongs to the stopped work (H1 to H4).
    fn belongs(&self, uuids: &[&str]) -> bool {
        let Window {
            stopped,
            orphans,
            own,
            ..
        } = &self.window;
        let unsettled = |uuid: &str| self.queue.iter().any(|turn| turn.uuid == uuid);
        *own || stopped.iter().any(|uuid| unsettled(uuid))
            || !orphans.is_empty()
            || uuids.iter().any(|uuid| stopped.contains(*uuid))
            || self.queue.iter().any(|turn| turn.named(uuids))
    }

    /// A model began to answer.
    pub fn answering(&mut self) {
        if !self.window.open && self.queue.is_empty() {
            self.own = true;
        }
    }

    /// The process echoes a prompt: what follows is its (W3, W4).
    pub fn echo(&mut self, uuid: &str) -> Vec<Settled> {
        if self.steer_echo(uuid) {
            Vec::new()
        } else if self.queue.iter().any(|turn| turn.uuid == uuid) {
            self.activate(uuid)
        } else {
            Vec::new()
        }
    }

    /// What streams from here on is this prompt's: what was stopped or held is over.
    fn activate(&mut self, uuid: &str) -> Vec<Settled> {
        let Window { stopped, .. } = core::mem::take(&mut self.window);
        self.own = false;
        self.idle_due = false;
        let settled = drain(&mut self.queue, |turn| match turn.phase {
            _ if turn.uuid == uuid => None,
            Phase::Held if stopped.contains(&turn.uuid) => Some(How::HeldCancelled),
            Phase::Held if turn.waits() => None,
            Phase::Held => Some(How::HeldResult),
            Phase::Active if stopped.contains(&turn.uuid) => Some(How::Cancelled),
            Phase::Active if turn.answered && !turn.waits() => Some(How::HeldResult),
            _ => None,
        });
        if let Some(turn) = self.queue.iter_mut().find(|turn| turn.uuid == uuid) {
            turn.phase = Phase::Active;
        }
        settled
    }

    /// A result came (O1 to O3).
    pub fn result(&mut self, owner: Owner<'_>) -> Vec<Settled> {
        let named = |turn: &Turn| turn.named(owner.uuids);
        let settled = if self.queue.iter().any(named) {
            self.result_of(owner)
        } else if self.consume_named(owner.uuids) {
            Vec::new()
        } else if owner.autonomous {
            self.own_over(owner.background)
        } else if self.queue.iter().any(|turn| turn.phase == Phase::Active) {
            self.result_of_active(owner.background)
        } else if self.own {
            self.own_over(owner.background)
        } else if self.consume_one() || owner.aborted {
            Vec::new()
        } else {
            self.result_of_command(owner.background)
        };
        self.idle_due = true;
        settled
    }

    /// A result that names prompts which are not over (O1).
    fn result_of(&mut self, owner: Owner<'_>) -> Vec<Settled> {
        let mut settled = Vec::new();
        for uuid in owner.uuids {
            let stopped = self.window.stopped.contains(*uuid);
            let begins = |turn: &Turn| turn.uuid == *uuid && turn.phase != Phase::Active;
            if !stopped && self.queue.iter().any(begins) {
                settled.extend(self.activate(uuid));
            }
        }
        let over = self.without_steers(owner.uuids);
        settled.extend(self.settle(|turn| over.contains(&turn.uuid), owner.background));
        settled
    }

    /// A result that no prompt owns but one which has no echo, such as a command.
    fn result_of_command(&mut self, background: bool) -> Vec<Settled> {
        let waiting = |phase| self.queue.iter().find(|turn| turn.phase == phase);
        let first = waiting(Phase::Started)
            .or_else(|| waiting(Phase::Queued))
            .or_else(|| waiting(Phase::Dropped));
        let Some(uuid) = first.map(|turn| turn.uuid.clone()) else {
            return Vec::new();
        };
        let mut settled = self.activate(&uuid);
        settled.extend(self.settle(|turn| turn.uuid == uuid, background));
        settled
    }

    /// Whether the result is of stopped work that it names (O2).
    fn consume_named(&mut self, uuids: &[&str]) -> bool {
        let Window {
            stopped, orphans, ..
        } = &mut self.window;
        for uuid in uuids {
            orphans.remove(*uuid);
        }
        uuids.iter().any(|uuid| stopped.contains(*uuid))
    }

    /// Whether the result can be one of those that are due.
    fn consume_one(&mut self) -> bool {
        let orphans = &mut self.window.orphans;
        let before = orphans.len();
        orphans.retain(|_, state| matches!(state, Orphan::Pending(_)));
        if orphans.len() == before {
            return orphans.pop_first().is_some();
        }
        true
    }

    /// What Claude did by itself is done (O3).
    fn own_over(&mut self, background: bool) -> Vec<Settled> {
        self.own = false;
        self.window.own = false;
        if background {
            // Their own follow-up is still to come.
            let stopped = &self.window.stopped;
            return drain(&mut self.queue, |turn| {
                let held = turn.phase == Phase::Held && stopped.contains(&turn.uuid);
                held.then_some(How::HeldCancelled)
            });
        }
        self.release()
    }

    /// Prompts that waited for their subagents.
    fn release(&mut self) -> Vec<Settled> {
        let stopped = &self.window.stopped;
        drain(&mut self.queue, |turn| {
            let how = if stopped.contains(&turn.uuid) {
                How::HeldCancelled
            } else {
                How::HeldResult
            };
            (turn.phase == Phase::Held && turn.steers.is_empty()).then_some(how)
        })
    }

    fn settle(&mut self, which: impl Fn(&Turn) -> bool, background: bool) -> Vec<Settled> {
        let stopped = &self.window.stopped;
        if background {
            for turn in &mut self.queue {
                if which(turn) && !stopped.contains(&turn.uuid) {
                    turn.phase = Phase::Held;
                }
            }
        }
        drain(&mut self.queue, |turn| {
            let how = if stopped.contains(&turn.uuid) {
                How::Stopped
            } else {
                How::Result
            };
            (turn.phase != Phase::Held && which(turn)).then_some(how)
        })
    }

    /// A fresh process begins with this prompt, and gets these that the old one did not take.
    pub fn begin_anew(&mut self, first: &str, waiting: &[&str]) -> Vec<Settled> {
        let old = core::mem::take(self);
        self.cancels = old.cancels;
        for uuid in core::iter::once(&first).chain(waiting) {
            self.prompt(uuid);
        }
        let gone = old.queue.into_iter();
        gone.filter(|turn| turn.uuid != first && !waiting.contains(&turn.uuid.as_str()))
            .map(|turn| Settled {
                how: match turn.phase {
                    Phase::Held => How::HeldResult,
                    _ => How::NoResult,
                },
                uuid: turn.uuid,
            })
            .collect()
    }

    /// Which prompts wait for their subagents.
    pub fn held(&self) -> impl Iterator<Item = &str> {
        let held = self.queue.iter().filter(|turn| turn.phase == Phase::Held);
        held.map(|turn| turn.uuid.as_str())
    }

    /// The process works again.
    pub fn running(&mut self) {
        self.idle_due = false;
    }

    /// The process has nothing more to do (W3).
    pub fn idle(&mut self) -> Vec<Settled> {
        self.own = false;
        self.window.own = false;
        // What it had begun can have no result any more.
        let orphans = &mut self.window.orphans;
        orphans.retain(|_, state| matches!(state, Orphan::Pending(_)));
        let due = core::mem::take(&mut self.idle_due);
        let stopped = &self.window.stopped;
        drain(&mut self.queue, |turn| match turn.phase {
            Phase::Active if stopped.contains(&turn.uuid) => Some(How::Cancelled),
            Phase::Active if turn.answered && turn.waits() => None,
            Phase::Active if turn.answered => Some(How::HeldResult),
            Phase::Active if !due => Some(How::NoResult),
            Phase::Dropped => Some(How::NoResult),
            Phase::Held if stopped.contains(&turn.uuid) => Some(How::HeldCancelled),
            Phase::Held if turn.waits() => None,
            Phase::Held => Some(How::HeldResult),
            _ => None,
        })
    }

    /// A cancelled turn has waited long enough (W3).
    pub fn backstop(&mut self, uuid: &str) -> Vec<Settled> {
        let settled = drain(&mut self.queue, |turn| {
            let how = match turn.phase {
                Phase::Held => How::HeldCancelled,
                _ => How::Cancelled,
            };
            (turn.uuid == uuid).then_some(how)
        });
        if !settled.is_empty() {
            self.own = false;
            let orphans = &mut self.window.orphans;
            orphans.insert(uuid.to_owned(), Orphan::Started);
        }
        settled
    }
}

fn drain(queue: &mut Vec<Turn>, mut how: impl FnMut(&Turn) -> Option<How>) -> Vec<Settled> {
    let mut settled = Vec::new();
    queue.retain(|turn| match how(turn) {
        Some(how) => {
            settled.push(Settled {
                uuid: turn.uuid.clone(),
                how,
            });
            false
        }
        None => true,
    });
    settled
}
