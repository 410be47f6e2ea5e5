//! Faults on demand: what a Host, a machine or a network does to a client at
//! the worst moment. Armed from the script, or by a test through
//! [`World::faults`]. Touches the world's connections only. Invariant: a fault
//! strikes once and then is gone.

use serde::Deserialize;

use super::world::{State, World};

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The operation is carried out, its answer never comes. `nth` counts the
    /// answers to that operation from now, from 1.
    LoseResponse {
        /// Name of the operation; any when absent.
        #[serde(default)]
        operation: Option<String>,
        /// Which answer.
        #[serde(default = "first")]
        nth: u64,
    },
    /// The answer to the next such operation comes late.
    Delay {
        /// Name of the operation.
        operation: String,
        /// How late, in milliseconds.
        ms: u64,
    },
    /// The oldest connection (or, if there is none, the next) is cut after this many more frames.
    DropConnection {
        /// Frames that are still written.
        #[serde(default)]
        after: u64,
    },
    /// Open subscriptions (or, if there is none, the next) end as `slow_consumer`.
    CloseSubscription {
        /// Frames of the subscription that still come.
        #[serde(default)]
        after: u64,
    },
    /// Open subscriptions (or, if there is none, the next) lose one sequence number.
    SkipSequence {
        /// Frames of the subscription that still come before the gap.
        #[serde(default)]
        after: u64,
    },
    /// A new Host on the same root: another host epoch, running turns failed,
    /// every connection and subscription gone.
    Restart {
        /// Frames that are still written, to whomever.
        #[serde(default)]
        after: u64,
    },
}

fn first() -> u64 {
    1
}

/// A test's hand on the world's faults.
pub struct Faults<'a>(pub(crate) &'a World);

impl Faults<'_> {
    /// Arms any fault.
    pub fn arm(&self, fault: Fault) {
        self.0.arm(fault);
    }

    /// The answer to the `nth` request of this operation from now never comes.
    pub fn lose_response(&self, operation: &str, nth: u64) {
        self.arm(Fault::LoseResponse {
            operation: Some(operation.to_owned()),
            nth,
        });
    }

    /// The next answer to this operation comes `ms` milliseconds late.
    pub fn delay(&self, operation: &str, ms: u64) {
        self.arm(Fault::Delay {
            operation: operation.to_owned(),
            ms,
        });
    }

    /// Cuts the oldest connection after this many more frames.
    pub fn drop_connection(&self, after: u64) {
        self.arm(Fault::DropConnection { after });
    }

    /// Ends open subscriptions as `slow_consumer` after this many more frames.
    pub fn close_subscription(&self, after: u64) {
        self.arm(Fault::CloseSubscription { after });
    }

    /// Leaves a gap in the sequence of open subscriptions after this many more frames.
    pub fn skip_sequence(&self, after: u64) {
        self.arm(Fault::SkipSequence { after });
    }

    /// Restarts the Host.
    pub fn restart(&self) {
        self.arm(Fault::Restart { after: 0 });
    }
}

/// What an armed fault does to an answer.
pub(crate) enum Fate {
    Send,
    Lose,
    Late(u64),
}

impl State {
    /// Looks up, and uses up, what is armed for an answer to this operation.
    pub(crate) fn fate(&mut self, operation: &str) -> Fate {
        for at in 0..self.pending_faults.len() {
            match &mut self.pending_faults[at] {
                Fault::LoseResponse {
                    operation: name,
                    nth,
                } if name.as_deref().is_none_or(|name| name == operation) => {
                    *nth = nth.saturating_sub(1);
                    if *nth == 0 {
                        self.pending_faults.remove(at);
                        return Fate::Lose;
                    }
                }
                Fault::Delay {
                    operation: name,
                    ms,
                } if name == operation => {
                    let ms = *ms;
                    self.pending_faults.remove(at);
                    return Fate::Late(ms);
                }
                _ => {}
            }
        }
        Fate::Send
    }

    /// A frame was written: tells whether the Host must be restarted now.
    pub(crate) fn counts_frame(&mut self) -> bool {
        let due = self.pending_faults.iter_mut().position(|fault| {
            if let Fault::Restart { after } = fault {
                *after = after.saturating_sub(1);
                *after == 0
            } else {
                false
            }
        });
        due.map(|at| self.pending_faults.remove(at)).is_some()
    }

    /// Arms a fault where it strikes, or keeps it until there is such a place.
    pub(crate) fn place(&mut self, fault: Fault) {
        let waits = match &fault {
            Fault::DropConnection { after } => match self.connections.values().next() {
                Some(outbox) => {
                    outbox.close_after(*after);
                    false
                }
                None => true,
            },
            Fault::CloseSubscription { after } => {
                !self.trouble(|sent, trouble| trouble.evict_at = Some(sent + after))
            }
            Fault::SkipSequence { after } => {
                !self.trouble(|sent, trouble| trouble.skip_at = Some(sent + after))
            }
            Fault::LoseResponse { .. } | Fault::Delay { .. } | Fault::Restart { .. } => true,
        };
        if waits {
            self.pending_faults.push(fault);
        }
    }

    fn trouble(&self, arm: impl Fn(u64, &mut super::outbox::Trouble)) -> bool {
        let mut any = false;
        for outbox in self.connections.values() {
            any |= outbox.trouble(&arm);
        }
        any
    }
}
