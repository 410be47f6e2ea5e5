//! What a session can be set to, in words that know no Host and no ACP version, and what
//! the editor was told of it.
//!
//! Touches the sessions and, for what changed, the editor. Invariants: the editor is told
//! of a change once, before the request that made it is answered; what it knows already is
//! not told again; a session that is being closed tells nothing.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::host::{Command, SessionKey};
use crate::plumbing::Core;
use crate::rpc::{RpcError, Ticket};

use super::{Sessions, State};

/// All options of a session, the most important first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options(pub Vec<Choice>);

/// One option: exactly one of its values is the current one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// For programs.
    pub id: String,
    /// For people.
    pub name: String,
    /// More for people.
    #[serde(default)]
    pub about: Option<String>,
    /// What it is about.
    pub category: Category,
    /// Id of the current value; always among the values.
    pub current: String,
    /// What can be chosen.
    pub values: Vec<Value>,
    /// Whether the values are [`ON`] and [`OFF`], so that an editor can show a switch.
    #[serde(default)]
    pub switch: bool,
    /// What editors show of it that agreed on more than ACP.
    #[serde(default)]
    pub marks: Marks,
}

/// What ACP has no words for in an option.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// The value that is best for most.
    pub recommended: Option<String>,
    /// What values come to, by their ids, in words that editors know.
    pub kinds: Vec<(String, String)>,
}

/// The value of a switch that is on.
pub const ON: &str = "on";
/// The value of a switch that is off.
pub const OFF: &str = "off";

/// What an option is about, as far as editors have a place of their own for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Category {
    /// How the agent works. One option at most: it is also the session's mode.
    Mode,
    /// Which model answers.
    Model,
    /// How long it thinks.
    ThoughtLevel,
    /// Something of the Host, by its own word.
    Other(String),
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// For programs.
    pub id: String,
    /// For people.
    pub name: String,
    /// More for people.
    pub about: Option<String>,
}

/// What an editor wants to be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Setting {
    /// An option, by its id.
    Option { id: String, value: Wanted },
    /// The session's mode, whichever option that is.
    Mode { value: String },
}

/// A value as an editor names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Wanted {
    /// By its id.
    Id(String),
    /// Of a switch.
    Switch(bool),
}

/// How it was asked for, which decides how it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// As an option: the answer lists all of them.
    Option,
    /// As the mode: the answer is empty.
    Mode,
}

/// What the editor knows of a session's options. Of all but the mode only a digest is kept:
/// a list of models is long, and there are many sessions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Told {
    options: Option<[u8; 32]>,
    mode: Option<String>,
}

impl Options {
    /// The option that is also the session's mode.
    pub fn mode(&self) -> Option<&Choice> {
        self.0.iter().find(|it| it.category == Category::Mode)
    }

    fn digest(&self) -> [u8; 32] {
        // Texts and lists only: serialising them cannot fail.
        Sha256::digest(serde_json::to_vec(self).unwrap_or_default()).into()
    }
}

impl Told {
    /// The editor is told all of this now.
    pub fn of(options: &Options) -> Told {
        Told {
            options: Some(options.digest()),
            mode: options.mode().map(|mode| mode.current.clone()),
        }
    }
}

impl Sessions {
    /// `session/set_config_option` and `session/set_mode`.
    pub(super) fn configure(
        &mut self,
        core: &mut Core<'_>,
        session_id: String,
        ticket: Ticket,
        setting: Setting,
    ) {
        match self.owned.get(&session_id).copied() {
            Some(session) => self.commands.push_back(Command::Configure {
                ticket,
                session,
                session_id,
                setting,
            }),
            None => {
                let unknown = RpcError::unknown_session(&session_id);
                self.editor.refuse(core, ticket, &unknown);
            }
        }
    }

    /// What was asked for is set.
    pub(super) fn configured(
        &mut self,
        core: &mut Core<'_>,
        session: Option<SessionKey>,
        ticket: Ticket,
        by: By,
        options: &Options,
    ) {
        if let Some(key) = session {
            let known = self.habits.terse.then_some(by);
            self.tell_options(core, key, options, known);
        }
        self.editor.configured(core, ticket, by, options);
    }

    /// The options as they are now; the editor is told what it does not know yet. Both
    /// notifications, because editors listen to one or the other.
    pub(super) fn options_are(&mut self, core: &mut Core<'_>, key: SessionKey, options: &Options) {
        self.tell_options(core, key, options, None);
    }

    /// `known` is what an answer that follows says, or its request said.
    fn tell_options(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        options: &Options,
        known: Option<By>,
    ) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        if session.state != State::Owned || self.ending {
            return;
        }
        let now = Told::of(options);
        let all = now.options != session.told.options && known != Some(By::Option);
        let mode = now
            .mode
            .as_ref()
            .filter(|mode| session.told.mode.as_ref() != Some(mode) && known != Some(By::Mode));
        // Editors of a terse Host are used to the mode first.
        let first = self.habits.terse;
        if let Some(mode) = mode.filter(|_| first) {
            self.editor.mode(core, &session.id, mode);
        }
        if all {
            self.editor.options(core, &session.id, options);
        }
        if let Some(mode) = mode.filter(|_| !first) {
            self.editor.mode(core, &session.id, mode);
        }
        session.told = now;
    }
}
