//! What a person sees of a turn. Writes to the two writers it was given and
//! keeps what it has shown of each tool. Invariant: text of an agent or a tool
//! cannot steer a terminal; its control characters are shown, not sent.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::Value;

use super::console::Console;

/// The two ways out.
pub(crate) struct View<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    out_is_terminal: bool,
    err_is_terminal: bool,
    /// The last thing written to each ended inside a line.
    out_open: bool,
    err_open: bool,
    /// The message of the answer's last text (null when it was not named);
    /// `None` before the first text.
    message: Option<Value>,
    /// A tool card came after the answer's last text.
    card_between: bool,
    tools: BTreeMap<String, Shown>,
    /// The card whose lines came last.
    card: String,
}

/// What a tool card has shown.
#[derive(Default)]
struct Shown {
    title: String,
    status: String,
    text: String,
    /// How often its text changed while it ran.
    changes: u32,
}

/// Lines of a card that are shown at once.
const CARD_LINES: usize = 20;

const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

impl<'a> View<'a> {
    pub(crate) fn new(
        out: &'a mut dyn Write,
        err: &'a mut dyn Write,
        console: &Console,
    ) -> View<'a> {
        View {
            out,
            err,
            out_is_terminal: console.out_is_terminal,
            err_is_terminal: console.err_is_terminal,
            out_open: false,
            err_open: false,
            message: None,
            card_between: false,
            tools: BTreeMap::new(),
            card: String::new(),
        }
    }

    /// A line of the agent, as it came.
    pub(crate) fn raw(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// A `session/update`. Kinds that say nothing to a person are left out.
    pub(crate) fn update(&mut self, update: &Value) -> io::Result<()> {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                self.answer(&update["messageId"], block_text(&update["content"]))
            }
            Some("agent_thought_chunk") => self.thought(block_text(&update["content"])),
            Some("tool_call" | "tool_call_update") => self.tool(update),
            Some("plan") => self.plan(update),
            _ => Ok(()),
        }
    }

    /// A sentence for the person.
    pub(crate) fn say(&mut self, sentence: &str) -> io::Result<()> {
        self.settle()?;
        let sentence = safe(sentence, self.err_is_terminal);
        writeln!(self.err, "{sentence}")
    }

    /// All that a question is about, since it is to be decided on.
    pub(crate) fn details(&mut self, content: &Value) -> io::Result<()> {
        for line in content_text(content).unwrap_or_default().lines() {
            self.say(&format!("    {line}"))?;
        }
        Ok(())
    }

    /// A question; the answer is typed behind it.
    pub(crate) fn ask(&mut self, question: &str) -> io::Result<()> {
        self.settle()?;
        let question = safe(question, self.err_is_terminal);
        write!(self.err, "{question}")?;
        self.err.flush()
    }

    /// Ends the answer with a newline, if it has not one of its own.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.settle_err()?;
        if self.out_open {
            writeln!(self.out)?;
            self.out_open = false;
        }
        self.out.flush()?;
        self.err.flush()
    }

    fn answer(&mut self, message: &Value, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.settle_err()?;
        let another = self.message.as_ref().is_some_and(|last| last != message);
        if another || self.message.is_some() && self.card_between {
            // A blank line sets two messages of one answer apart.
            self.out
                .write_all(if self.out_open { b"\n\n" } else { b"\n" })?;
        }
        self.card_between = false;
        self.message = Some(message.clone());
        self.out
            .write_all(safe(text, self.out_is_terminal).as_bytes())?;
        self.out_open = !text.ends_with('\n');
        self.out.flush()
    }

    fn thought(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if !self.err_open {
            self.settle()?;
        }
        let shown = safe(text, self.err_is_terminal);
        if self.err_is_terminal {
            write!(self.err, "{DIM}{shown}{PLAIN}")?;
        } else {
            self.err.write_all(shown.as_bytes())?;
        }
        self.err_open = !text.ends_with('\n');
        self.err.flush()
    }

    fn tool(&mut self, update: &Value) -> io::Result<()> {
        self.settle()?;
        let id = update["toolCallId"].as_str().unwrap_or_default().to_owned();
        let mut shown = self.tools.remove(&id).unwrap_or_default();
        let title = update["title"].as_str().unwrap_or(&shown.title).to_owned();
        let status = update["status"]
            .as_str()
            .unwrap_or(&shown.status)
            .to_owned();
        let text = content_text(&update["content"]);
        let replaced = text
            .as_ref()
            .is_some_and(|text| !text.starts_with(&shown.text));
        // The summary of a card that was followed live says nothing new.
        let followed = replaced && status == "completed" && shown.changes > 1;
        let news = match &text {
            Some(text) if !followed => text.strip_prefix(shown.text.as_str()).unwrap_or(text),
            _ => "",
        };
        let ended = is_end(&status) && !is_end(&shown.status);
        if title != shown.title || ended || !news.is_empty() && self.card != id {
            let line = format!(
                "[{}] {}",
                words(&status),
                title.lines().next().unwrap_or_default()
            );
            writeln!(self.err, "{}", safe(&line, self.err_is_terminal))?;
        }
        let lines = news.lines().count();
        for line in news.lines().take(CARD_LINES) {
            writeln!(self.err, "    {}", safe(line, self.err_is_terminal))?;
        }
        if lines > CARD_LINES {
            writeln!(self.err, "    ({} more lines)", lines - CARD_LINES)?;
        }
        shown.changes += u32::from(!news.is_empty());
        shown.title = title;
        shown.status = status;
        shown.text = text.unwrap_or(shown.text);
        self.card_between = true;
        self.card.clone_from(&id);
        self.tools.insert(id, shown);
        self.err.flush()
    }

    fn plan(&mut self, update: &Value) -> io::Result<()> {
        self.settle()?;
        for entry in update["entries"].as_array().into_iter().flatten() {
            let mark = match entry["status"].as_str() {
                Some("completed") => "x",
                Some("in_progress") => ">",
                _ => " ",
            };
            let line = format!("[{mark}] {}", entry["content"].as_str().unwrap_or_default());
            writeln!(self.err, "{}", safe(&line, self.err_is_terminal))?;
        }
        self.err.flush()
    }

    /// Brings stderr to the beginning of a line.
    fn settle(&mut self) -> io::Result<()> {
        self.settle_err()?;
        if self.out_open && self.out_is_terminal && self.err_is_terminal {
            writeln!(self.err)?;
            self.out_open = false;
        }
        Ok(())
    }

    fn settle_err(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.err_open) {
            writeln!(self.err)?;
        }
        Ok(())
    }
}

fn is_end(status: &str) -> bool {
    matches!(status, "completed" | "failed")
}

fn words(status: &str) -> &str {
    match status {
        "completed" => "done",
        "failed" => "failed",
        _ => "tool",
    }
}

fn block_text(block: &Value) -> &str {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default(),
        Some("resource_link") => block["uri"].as_str().unwrap_or_default(),
        _ => "",
    }
}

/// The text of a tool's content; `None` when the update does not speak of it.
fn content_text(content: &Value) -> Option<String> {
    let mut text = String::new();
    for item in content.as_array()? {
        match item["type"].as_str() {
            Some("content") => text.push_str(block_text(&item["content"])),
            Some("diff") => {
                text.push_str(&format!("edit of {}", item["path"].as_str().unwrap_or("?")))
            }
            _ => continue,
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Some(text)
}

/// Control characters could move the cursor, change the title, or worse.
fn safe(text: &str, terminal: bool) -> Cow<'_, str> {
    let harmless = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    if !terminal || text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let shown = |character: char| {
        if harmless(character) {
            character
        } else {
            '\u{fffd}'
        }
    };
    Cow::Owned(text.chars().map(shown).collect())
}
