//! Sessions whose conversation goes on in another file than that of the id under which the
//! editor knows them: behind `/clear`, and behind a plan that was carried out anew.
//!
//! Pure. Invariants: every session is listed once; what a session leaves behind goes with it.
//! It is known as long as the connection lasts (`docs/claude-transcripts.md`).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::limits;

/// All of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Moved {
    /// Where each session goes on.
    now: BTreeMap<String, String>,
    /// Whose every file is that has another id.
    of: BTreeMap<String, String>,
}

impl Moved {
    /// A session goes on there.
    pub fn goes_on(&mut self, id: &str, file: &str) {
        let known = self.now.get(id).is_some_and(|it| it == file);
        if known || self.of.len() as u64 >= limits::CLAUDE_MOVED {
            return;
        }
        self.now.insert(id.to_owned(), file.to_owned());
        self.of.insert(file.to_owned(), id.to_owned());
    }

    /// A session will go on there, when something was said: the file is its own already.
    pub fn begins(&mut self, id: &str, file: &str) {
        if (self.of.len() as u64) < limits::CLAUDE_MOVED && !self.of.contains_key(file) {
            self.of.insert(file.to_owned(), id.to_owned());
        }
    }

    /// The id of the file in which a session goes on.
    pub fn file<'a>(&'a self, id: &'a str) -> &'a str {
        self.now.get(id).map_or(id, String::as_str)
    }

    /// The session that goes on in this file, if one does.
    pub fn session<'a>(&'a self, file: &'a str) -> Option<&'a str> {
        match self.of.get(file) {
            Some(id) => (self.file(id) == file).then_some(id.as_str()),
            None => (!self.now.contains_key(file)).then_some(file),
        }
    }

    /// All files of a session, by their ids; that of its own id first.
    pub fn files(&self, id: &str) -> Vec<String> {
        let others = self.of.iter().filter(|(_, it)| *it == id);
        let others = others.map(|(file, _)| file.clone());
        core::iter::once(id.to_owned()).chain(others).collect()
    }

    /// It is gone.
    pub fn forget(&mut self, id: &str) {
        self.now.remove(id);
        self.of.retain(|_, it| it != id);
    }
}
