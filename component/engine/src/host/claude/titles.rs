//! What a session is called (Claude adapter, section 14): a name that the model makes of the
//! first words, else these words.
//!
//! Invariants: the model is asked once a session, and never for one that has a name; what is
//! said by a command of the program's own is not what the user is after, unless nothing else
//! was said.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::control::Purpose;
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
            Title::Asked { words } => Title::Ours { words },
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
        if matches!(self.title, Title::Wanted { .. }) && !local {
            let most = limits::CLAUDE_TITLE_CONTEXT as usize;
            let words = words.chars().take(most).collect();
            match self.is_live() {
                true => self.ask_title(cx, words),
                // Asked when somebody is there.
                false => self.title = Title::Ours { words },
            }
        }
    }

    /// Another process is there: it is asked what the one before it did not say.
    pub(super) fn title_again(&mut self, cx: &mut Cx<'_, '_>) {
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

    /// The conversation begins anew. Its name stays, and is told again; what was said before
    /// gives it none.
    pub(super) fn title_reset(&mut self) {
        if !matches!(self.title, Title::Asked { .. }) {
            self.title = Title::stored(self.remembered.title.clone());
        }
    }

    /// A turn is over.
    pub(super) fn title_due(&mut self, cx: &mut Cx<'_, '_>) {
        self.title_known(cx);
        match core::mem::replace(&mut self.title, Title::Done) {
            Title::Wanted { said } if !said.trim().is_empty() => self.ask_title(cx, said),
            Title::Ours { words } => {
                let words: Vec<&str> = words.split_whitespace().collect();
                self.named(cx, &words.join(" "));
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
        let Title::Asked { words } = core::mem::replace(&mut self.title, Title::Done) else {
            return;
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
