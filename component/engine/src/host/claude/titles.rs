//! What a session is called (Claude adapter, section 14): a name that the model makes of the
//! first words, else these words.
//!
//! Invariants: the model is asked once a conversation, and never for one that has a name; what
//! is said by a command of the program's own is not what the user is after, unless nothing
//! else was said. As long as a session is open, a list has the name that its editor was told.
//!
//! Where a session begins a new conversation (`/clear`, a plan), a name of the user's stays, as
//! the program has it; one of the model's stays until there is another.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::control::Purpose;
use super::records::read;
use super::session::Session;
use super::stored::is_local;
use super::wire::part;
use crate::host::{Cx, Fact};
use crate::{limits, object, stamp};

/// How far the name is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Title {
    /// The model was not asked; the end of what was said so far.
    Wanted { said: String },
    /// There is one already: the editor is told it with the next prompt, or at a turn's end.
    Known { title: String },
    /// It was asked to name these words.
    Asked { words: String },
    /// It was asked to name a conversation that is over; what is to be named in its place, as
    /// far as that was said.
    Late { words: Option<String> },
    /// The name is that of a conversation that is over, until something is said. Whether the
    /// editor was told it once more.
    Past { told: bool },
    /// It made none: these words are to do, at the turn's end.
    Ours { words: String },
    /// There is one, or there will be none.
    Done,
}

impl Default for Title {
    fn default() -> Title {
        Title::Wanted {
            said: String::new(),
        }
    }
}

impl Title {
    /// Of a session that was stored; one without a name still gets it.
    #[must_use]
    pub fn stored(title: Option<String>) -> Title {
        title.map_or_else(Title::default, |title| Title::Known { title })
    }

    /// The process that was asked is gone.
    #[must_use]
    pub fn unasked(self) -> Title {
        match self {
            Title::Asked { words } | Title::Late { words: Some(words) } => Title::Ours { words },
            Title::Late { words: None } => Title::Past { told: true },
            other => other,
        }
    }

    /// The agent says this.
    pub fn said(&mut self, text: &str) {
        let Title::Wanted { said } = self else {
            return;
        };
        said.push_str(text);
        let most = limits::CLAUDE_TITLE_CONTEXT as usize;
        let from = said.char_indices().rev().nth(most - 1);
        if let Some((from, _)) = from {
            said.drain(..from);
        }
    }
}

impl Session {
    /// A prompt: the first that means something to the model names the session, unless it has
    /// a name.
    pub(super) fn title(&mut self, cx: &mut Cx<'_, '_>, words: &str) {
        self.title_known(cx);
        let local = words.strip_prefix('/').is_some_and(|rest| {
            let name = rest.split_whitespace().next().unwrap_or_default();
            is_local(name)
        });
        if local || words.trim().is_empty() {
            return;
        }
        let words = beginning(words);
        match self.title {
            Title::Wanted { .. } => {}
            Title::Past { .. } => self.named(cx, &one_line(&words)),
            Title::Late { words: None } => {
                self.named(cx, &one_line(&words));
                return self.title = Title::Late { words: Some(words) };
            }
            _ => return,
        }
        match self.is_live() {
            true => self.ask_title(cx, words),
            // Asked when somebody is there.
            false => self.title = Title::Ours { words },
        }
    }

    /// Another process is there: it is asked what the one before it did not say, and told the
    /// user's name for what it has stored nothing of.
    pub(super) fn title_again(&mut self, cx: &mut Cx<'_, '_>) {
        let title = self.remembered.title.as_ref();
        if let Some(title) = title.filter(|_| self.remembered.named && !self.stored) {
            let request = object! { "subtype": "rename_session", "title": title };
            self.request(cx, Purpose::Nothing, &request);
        }
        if let Title::Ours { words } = &mut self.title {
            let words = core::mem::take(words);
            self.ask_title(cx, words);
        }
    }

    /// Tells the name that it has, once.
    fn title_known(&mut self, cx: &mut Cx<'_, '_>) {
        if let Title::Known { title } = &mut self.title {
            let title = core::mem::take(title);
            self.title = Title::Done;
            self.tell_title(cx, title, true);
        }
    }

    fn ask_title(&mut self, cx: &mut Cx<'_, '_>, words: String) {
        if words.trim().is_empty() {
            return;
        }
        let request = object! {
            "subtype": "generate_session_title", "description": words.trim(), "persist": true,
        };
        self.request(cx, Purpose::Title, &request);
        self.title = Title::Asked { words };
    }

    /// The conversation begins anew (`/clear`). Its name is told again; what was said before
    /// gives it none.
    pub(super) fn title_reset(&mut self) {
        self.title = match (core::mem::take(&mut self.title), &self.remembered.title) {
            (Title::Asked { .. } | Title::Late { .. }, _) => Title::Late { words: None },
            (known @ Title::Known { .. }, _) if self.remembered.named => known,
            (_, Some(title)) if self.remembered.named => Title::stored(Some(title.clone())),
            (_, Some(_)) => Title::Past { told: false },
            (_, None) => Title::default(),
        };
    }

    /// A plan is carried out in a new conversation: where the model named the old one, it is
    /// asked what this is.
    pub(super) fn title_of_plan(&mut self, plan: &str) {
        if self.remembered.title.is_some() && !self.remembered.named {
            let words = beginning(plan);
            self.title = Title::Ours { words };
        }
    }

    /// The plan is not carried out after all.
    pub(super) fn title_of_before(&mut self) {
        if self.remembered.title.is_some() {
            self.title = Title::Done;
        }
    }

    /// `session_title_changed`: the user named it (`/rename`), or its name goes with it
    /// (`/clear`). Told with the next prompt or at the turn's end.
    pub(super) fn title_changed(&mut self, line: &[u8]) {
        let Changed { title } = read(line);
        let Some(title) = title.filter(|title| !title.trim().is_empty()) else {
            return;
        };
        self.remembered.named = true;
        if self.remembered.title.as_ref() != Some(&title) {
            self.title = Title::Known { title };
        } else if !matches!(self.title, Title::Known { .. }) {
            self.title = Title::Done;
        }
    }

    /// A turn is over.
    pub(super) fn title_due(&mut self, cx: &mut Cx<'_, '_>) {
        self.title_known(cx);
        match core::mem::replace(&mut self.title, Title::Done) {
            Title::Wanted { said } if !said.trim().is_empty() => self.ask_title(cx, said),
            // It has a name, if only of the conversation before.
            Title::Ours { .. } if self.remembered.title.is_some() => {}
            Title::Ours { words } => self.named(cx, &one_line(&words)),
            Title::Past { told } => {
                self.title = Title::Past { told: true };
                if let Some(title) = self.remembered.title.clone().filter(|_| !told) {
                    self.tell_title(cx, title, true);
                }
            }
            other => self.title = other,
        }
    }

    /// The model answered, or failed.
    pub(super) fn title_made(&mut self, cx: &mut Cx<'_, '_>, answer: Option<&RawValue>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Made {
            title: Option<String>,
        }
        let words = match core::mem::replace(&mut self.title, Title::Done) {
            Title::Asked { words } => words,
            Title::Late { words: Some(words) } => return self.ask_title(cx, words),
            Title::Late { words: None } => return self.title = Title::Past { told: true },
            other => return self.title = other,
        };
        let Made { title } = part(answer);
        match title.filter(|title| !title.trim().is_empty()) {
            Some(title) => self.named(cx, &title),
            None => {
                self.title = Title::Ours { words };
                if !self.turns.busy() {
                    self.title_due(cx);
                }
            }
        }
    }

    /// The name that it got.
    pub(super) fn named(&mut self, cx: &mut Cx<'_, '_>, title: &str) {
        let title: String = title.chars().take(limits::SESSION_TITLE as usize).collect();
        self.tell_title(cx, title, false);
    }

    fn tell_title(&mut self, cx: &mut Cx<'_, '_>, title: String, again: bool) {
        self.remembered.title = Some(title.clone());
        let updated_at = i64::try_from(cx.core.now.wall).ok().and_then(stamp::iso);
        let titled = Fact::Titled {
            title,
            updated_at,
            again,
        };
        self.tell(cx, titled);
    }
}

/// `session_title_changed`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Changed {
    title: Option<String>,
}

/// As much of it as the model is asked to name.
fn beginning(words: &str) -> String {
    let most = limits::CLAUDE_TITLE_CONTEXT as usize;
    words.chars().take(most).collect()
}

fn one_line(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ")
}
