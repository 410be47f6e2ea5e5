//! What the beginning and the end of a session's file say of it: its folder, its name, how
//! permissions were asked for.
//!
//! Pure. Invariant: a damaged row, or half of one, is as if it were not there.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::wire::{Origin, part};
use super::rows::{By, From, Row};
use super::words;
use crate::limits;

/// What was seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glance {
    /// Where the session works.
    pub cwd: Option<String>,
    /// Modes of permission: the last one.
    pub mode: Option<String>,
    /// When the user said something last, as it is written there.
    pub prompted_at: Option<String>,
    /// Which model answered last.
    pub model: Option<String>,
    /// The session that it is a fork of.
    pub forked_from: Option<String>,
    /// Whether a subagent's conversation is all that there is.
    pub aside: bool,
    custom: Option<String>,
    generated: Option<String>,
    summary: Option<String>,
    first: Option<String>,
    last: Option<String>,
}

impl Glance {
    /// The beginning of a file, perhaps with half a row at the end.
    pub fn head(&mut self, bytes: &[u8], whole: bool) {
        let end = match memchr::memrchr(b'\n', bytes) {
            _ if whole => bytes.len(),
            Some(end) => end,
            None => 0,
        };
        self.rows(&bytes[..end]);
    }

    /// The end of a file, perhaps with half a row at the beginning.
    pub fn tail(&mut self, bytes: &[u8]) {
        if let Some(end) = memchr::memchr(b'\n', bytes) {
            self.rows(&bytes[end + 1..]);
        }
    }

    /// The name that somebody gave the session: the user, the model, an older version.
    pub fn name(&self) -> Option<String> {
        best(&[&self.custom, &self.generated, &self.summary])
    }

    /// Whether it was the user.
    pub fn is_named(&self) -> bool {
        best(&[&self.custom]).is_some()
    }

    /// The session's name, else what was said first.
    pub fn title(&self) -> Option<String> {
        self.name().or_else(|| best(&[&self.first, &self.last]))
    }

    fn rows(&mut self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Some(row) = Row::read(line) {
                self.see(&row);
            }
        }
    }

    /// A row.
    pub fn see(&mut self, row: &Row<'_>) {
        let owned = |text: &Option<Cow<'_, str>>| text.as_deref().map(ToOwned::to_owned);
        self.aside |= row.is_sidechain;
        self.cwd = self.cwd.take().or_else(|| owned(&row.cwd));
        for (known, new) in [
            (&mut self.custom, &row.custom_title),
            (&mut self.generated, &row.ai_title),
            (&mut self.last, &row.last_prompt),
            (&mut self.mode, &row.permission_mode),
        ] {
            *known = owned(new).or(known.take());
        }
        if let Some(from) = row.forked_from {
            let From { session_id } = part(Some(from));
            self.forked_from = session_id.map(Cow::into_owned);
        }
        if row.kind == "assistant" {
            let By { model } = part(row.message);
            let model = model.filter(|it| *it != "<synthetic>");
            self.model = model.map(Cow::into_owned).or(self.model.take());
        }
        let origin: Origin<'_> = part(row.origin);
        if row.kind == "user" && origin.kind == "human" {
            self.prompted_at = owned(&row.timestamp).or(self.prompted_at.take());
        }
        match &*row.kind {
            "summary" => self.summary = owned(&row.summary).or(self.summary.take()),
            "user" if self.first.is_none() && !row.is_meta && !row.is_compact_summary => {
                let message = row.message();
                let blocks = message.blocks();
                let mut texts = blocks.iter().filter(|block| block.kind == "text");
                self.first = texts
                    .find_map(|block| words::written(&block.text))
                    .map(Cow::into_owned);
            }
            _ => {}
        }
    }
}

/// The first of these that is not empty, on one line and not too long.
fn best(names: &[&Option<String>]) -> Option<String> {
    let mut names = names.iter().filter_map(|name| name.as_deref());
    let name = names.find(|it| !it.trim().is_empty())?;
    let words: Vec<&str> = name.split_whitespace().collect();
    let title = words.join(" ");
    let most = limits::SESSION_TITLE as usize;
    if title.chars().count() <= most {
        return Some(title);
    }
    let mut title: String = title.chars().take(most - 1).collect();
    title.push('…');
    Some(title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    const PROMPT: &str = r#"{"type":"user","cwd":"/w","permissionMode":"plan","message":{"role":"user","content":[{"type":"text","text":"First\n words"}]}}"#;

    #[test]
    fn given_rows_when_looked_at_then_the_best_name_wins() {
        let mut glance = Glance::default();
        glance.head(
            format!("{PROMPT}\nnot json\n[1]\n{{\"type\":\"us").as_bytes(),
            false,
        );
        assert_eq!(glance.title().as_deref(), Some("First words"));
        assert_eq!(glance.cwd.as_deref(), Some("/w"));
        assert_eq!(glance.mode.as_deref(), Some("plan"));
        let table = [
            (
                r#"{"type":"last-prompt","lastPrompt":"later"}"#,
                "First words",
            ),
            (r#"{"type":"summary","summary":"Old"}"#, "Old"),
            (r#"{"type":"ai-title","aiTitle":"Made"}"#, "Made"),
            (r#"{"type":"custom-title","customTitle":"Mine"}"#, "Mine"),
            (
                r#"{"type":"custom-title","customTitle":"Mine now"}"#,
                "Mine now",
            ),
            (r#"{"type":"ai-title","aiTitle":"Again"}"#, "Mine now"),
        ];
        for (row, title) in table {
            glance.tail(format!("half a row\n{row}\n").as_bytes());
            assert_eq!(glance.title().as_deref(), Some(title), "{row}");
        }
    }

    #[test]
    fn given_half_a_row_alone_when_looked_at_then_nothing_is_known() {
        let mut glance = Glance::default();
        glance.head(&PROMPT.as_bytes()[..40], false);
        glance.tail(PROMPT.as_bytes());
        assert_eq!(glance, Glance::default());
        glance.head(PROMPT.as_bytes(), true);
        assert_eq!(glance.title().as_deref(), Some("First words"));
    }

    #[test]
    fn given_a_long_name_when_told_then_it_is_cut() {
        let glance = Glance {
            custom: Some("é".repeat(300)),
            ..Glance::default()
        };
        let title = glance.title().unwrap_or_default();
        assert_eq!(title.chars().count(), 256);
        assert_eq!(
            title.chars().last().map(|it| it.to_string()).as_deref(),
            Some("…")
        );
    }
}
