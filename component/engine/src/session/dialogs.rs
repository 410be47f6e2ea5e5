//! Questions of the Host to the user: shown on their card, asked, answered or withdrawn.
//!
//! The Host module decides what is asked and what is void; it tells so before a Stop is
//! sent. Invariants: the card goes out before the question; nothing is asked of a turn that
//! is being stopped; what the user did not say is never taken for an answer.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::editor::Waiter;
use crate::host::dialog::{Dialog, Means, Reply};
use crate::host::{Command, Heard, SessionKey};
use crate::plumbing::Core;
use crate::projection::{Asking, ToolFact};
use crate::rpc::Number;

use super::{Session, Sessions, State};

/// The questions of one session, in the order in which they came.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Dialogs {
    open: Vec<Open>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    dialog: Dialog,
    stage: Stage,
}

#[derive(Debug, Serialize, Deserialize)]
enum Stage {
    /// The editor is slow: its card waits, and so does the question.
    Waiting,
    /// The editor asks the user.
    Asked(Number),
}

impl Dialogs {
    fn take(&mut self, id: &str) -> Option<Open> {
        let at = self.open.iter().position(|open| open.dialog.id == id)?;
        Some(self.open.remove(at))
    }
}

impl Session {
    /// Whether something of this turn is shown to the user: a prompt's own turn, or another
    /// client's that is looked at.
    fn shows(&self, turn_id: &str) -> bool {
        let prompt = self.running.as_ref();
        self.state == State::Owned
            && prompt.is_some_and(|prompt| prompt.turn_id() == turn_id && prompt.open())
    }
}

impl Sessions {
    /// Whether the user can be asked like this.
    pub(super) fn means(&self, means: Means) -> bool {
        match means {
            Means::Choice => true,
            Means::Form => self.editor.client.forms,
            Means::Address => self.editor.client.addresses,
            Means::Switch => self.editor.client.switches,
        }
    }

    /// The Host needs an answer: first its card, then the question.
    pub(super) fn asks(&mut self, core: &mut Core<'_>, key: SessionKey, dialog: Dialog) -> Heard {
        // A Host that queues prompts itself keeps its cards too.
        if dialog.card.is_some() || self.habits.queues {
            return self.asks_with_card(core, key, dialog);
        }
        let shown = |sessions: &Sessions| {
            let session = sessions.open.get(&key);
            !sessions.ending && session.is_some_and(|session| session.shows(&dialog.turn_id))
        };
        if !shown(self) {
            return Heard::Fine;
        }
        let asking = Asking::pending(&dialog.id, &dialog.kind);
        let fact = ToolFact::Asks {
            id: &dialog.tool_id,
            asking: &asking,
            own_card: dialog.own_card,
        };
        let heard = self.shown(core, Some(key), |projection| projection.tool(fact));
        // The card may have been one too many.
        if shown(self)
            && let Some(session) = self.open.get_mut(&key)
        {
            session.dialogs.open.push(Open {
                dialog,
                stage: Stage::Waiting,
            });
            self.ask_waiting(core, key);
        }
        heard
    }

    /// The Host keeps the card itself, and has shown it.
    fn asks_with_card(&mut self, core: &mut Core<'_>, key: SessionKey, dialog: Dialog) -> Heard {
        let ending = self.ending;
        if let Some(session) = self.open.get_mut(&key)
            && session.state == State::Owned
            && !ending
        {
            session.dialogs.open.push(Open {
                dialog,
                stage: Stage::Waiting,
            });
            self.ask_waiting(core, key);
        }
        Heard::Fine
    }

    /// Asks what waits, once the cards are out.
    pub(super) fn ask_waiting(&mut self, core: &mut Core<'_>, key: SessionKey) {
        if self.editor.slow() {
            return;
        }
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        for Open { dialog, stage } in &mut session.dialogs.open {
            if matches!(stage, Stage::Waiting) {
                let waiter = Waiter::Dialog {
                    session: key,
                    dialog: dialog.id.clone(),
                };
                let place = dialog.inside.as_deref().unwrap_or(&session.id);
                let number = self.editor.ask_user(core, place, dialog, waiter);
                *stage = Stage::Asked(number);
            }
        }
    }

    /// The Host needs no answer any more.
    pub(super) fn withdrawn(&mut self, core: &mut Core<'_>, key: SessionKey, id: &str) {
        let open = self
            .open
            .get_mut(&key)
            .and_then(|session| session.dialogs.take(id));
        if let Some(Open {
            stage: Stage::Asked(number),
            ..
        }) = open
        {
            self.editor.withdraw(core, number);
        }
    }

    /// The editor answered. To turn away is no answer: it ends the turn, unless the Host
    /// wants to hear it.
    pub fn replied(&mut self, waiter: Waiter, reply: Reply) {
        let Waiter::Dialog {
            session: key,
            dialog,
        } = waiter;
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        let Some(Open { dialog, .. }) = session.dialogs.take(&dialog) else {
            return;
        };
        if matches!(reply, Reply::Cancelled) && !dialog.cancel_is_answer {
            self.turned_away(key, &dialog.turn_id);
        } else {
            self.commands.push_back(Command::Answer {
                session: key,
                dialog: dialog.id,
                reply,
            });
        }
    }

    fn turned_away(&mut self, key: SessionKey, turn_id: &str) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        match &mut session.running {
            // Another client's turn is stopped as a cancel of the editor would.
            Some(prompt) if prompt.turn_id() == turn_id && prompt.ticket().is_some() => {
                prompt.cancel();
                self.commands.push_back(Command::Stop { session: key });
            }
            _ => self
                .commands
                .push_back(Command::StopForeign { session: key }),
        }
    }
}
