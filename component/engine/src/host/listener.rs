//! Who hears the facts of a Host, and what every step of a Host module has at hand.
//!
//! Invariant: what is told is heard at once, in order.

use super::dialog::Means;
use super::{Command, Fact, SessionKey};
use crate::input::Timer;
use crate::plumbing::{Core, Due};

/// Hears the facts of a Host.
pub trait Listener {
    /// One fact; `session` where it is about one.
    fn fact(&mut self, core: &mut Core<'_>, session: Option<SessionKey>, fact: Fact<'_>) -> Heard;

    /// Whether the user can be asked in this way at all.
    fn can_ask(&self, means: Means) -> bool;

    /// What it wants done because of what it heard, in order. Taken after every line of the
    /// Host, so that the cut of its bytes makes no difference (rule R9).
    fn command(&mut self) -> Option<Command>;
}

/// The plumbing and who hears the facts, which every step of a Host module needs.
pub struct Cx<'c, 'a> {
    /// The plumbing.
    pub core: &'c mut Core<'a>,
    /// Who hears the facts.
    pub listener: &'c mut dyn Listener,
}

impl Cx<'_, '_> {
    /// A fact about a session.
    pub fn tell(&mut self, session: SessionKey, fact: Fact<'_>) -> Heard {
        self.listener.fact(self.core, Some(session), fact)
    }

    /// A fact about no session.
    pub fn answer(&mut self, fact: Fact<'_>) {
        let _fine = self.listener.fact(self.core, None, fact);
    }

    /// Arms a fresh timer, `after` milliseconds from now.
    pub fn arm(&mut self, due: impl Into<Due>, after: u64) -> Timer {
        self.core.arm(due.into(), after)
    }
}

/// What hearing a fact showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Heard {
    /// It fits.
    Fine,
    /// Something before it is missing: the Host module reads again from what is stored.
    Gap,
}
