//! One running turn, of a prompt or of another client: what it has shown, and what will
//! become of it.

use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::admission::Content;
use crate::editor::Editor;
use crate::plumbing::Core;
use crate::projection::{Failure, Projection};
use crate::rpc::Ticket;

/// A prompt behind a running one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// Its request.
    pub ticket: Ticket,
    /// What it says.
    pub content: Content,
}

/// A running prompt, or a turn of another client.
#[derive(Debug, Serialize, Deserialize)]
pub struct Prompt {
    /// Its request; another client's turn has none.
    ticket: Option<Ticket>,
    turn_id: String,
    projection: Projection,
    fate: Fate,
}

/// What will become of it. Cancelling wins over every failure.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Fate {
    /// What comes is known to the editor, or not to be shown.
    Seeding,
    /// It runs.
    Open,
    /// What the Host sent cannot be shown: the turn is being stopped.
    Unshowable(Failure),
    /// The editor wants it to end: nothing more is shown.
    Cancelled,
}

impl Prompt {
    /// Before anything was asked of the Host.
    pub fn new(ticket: Ticket, turn_id: &str, cwd: &str) -> Prompt {
        Prompt {
            ticket: Some(ticket),
            turn_id: turn_id.to_string(),
            projection: Projection::new(turn_id).within(cwd),
            fate: Fate::Open,
        }
    }

    /// A turn of another client; with `silent`, nothing is shown before [`Prompt::seeded`].
    pub fn foreign(turn_id: &str, cwd: &str, silent: bool) -> Prompt {
        Prompt {
            ticket: None,
            turn_id: turn_id.to_string(),
            projection: Projection::new(turn_id).within(cwd),
            fate: if silent { Fate::Seeding } else { Fate::Open },
        }
    }

    /// What was taken in so far is not shown; what comes is.
    pub fn seeded(&mut self) {
        if self.fate == Fate::Seeding {
            self.projection.drain(&mut |_| {});
            self.fate = Fate::Open;
        }
    }

    /// Its request; another client's turn has none.
    pub fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }

    /// Its turn.
    pub fn turn_id(&self) -> &str {
        &self.turn_id
    }

    /// The editor wants it to end.
    pub fn cancel(&mut self) {
        self.fate = Fate::Cancelled;
    }

    /// Whether the editor wanted it to end.
    pub fn cancelled(&self) -> bool {
        self.fate == Fate::Cancelled
    }

    /// Whether it goes on and is shown.
    pub fn open(&self) -> bool {
        self.fate == Fate::Open
    }

    /// Why it cannot be shown, if so.
    pub fn unshowable(&self) -> Option<Failure> {
        match &self.fate {
            Fate::Unshowable(failure) => Some(*failure),
            _ => None,
        }
    }

    /// What is accepted but not shown yet, UTF-16 units.
    pub fn held(&self) -> u64 {
        self.projection.held_units()
    }

    /// Takes something in while it runs.
    ///
    /// # Errors
    /// The first failure, once: from then on nothing is taken in.
    pub fn take(
        &mut self,
        into: impl FnOnce(&mut Projection) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if !matches!(self.fate, Fate::Open | Fate::Seeding) {
            return Ok(());
        }
        match into(&mut self.projection) {
            Err(Failure::StreamGap) => Err(Failure::StreamGap),
            Err(failure) => {
                self.fate = Fate::Unshowable(failure);
                Err(failure)
            }
            Ok(()) => Ok(()),
        }
    }

    /// Shows what is pending, unless the editor is slow.
    pub fn show(&mut self, core: &mut Core<'_>, editor: &mut Editor, session_id: &str) {
        if !editor.slow() && self.fate == Fate::Open {
            self.show_all(core, editor, session_id);
        }
    }

    /// Shows what is pending, come what may: at the end of a turn.
    pub fn show_all(&mut self, core: &mut Core<'_>, editor: &mut Editor, session_id: &str) {
        self.projection
            .drain(&mut |update| editor.update(core, session_id, &update));
    }

    /// Closes what is still open on the screen.
    ///
    /// # Errors
    /// When the turn says that it is complete, but something announced is missing.
    pub fn finish(&mut self, end: crate::projection::End) -> Result<(), Failure> {
        self.projection.finish(end)
    }
}
