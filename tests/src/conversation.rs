//! What an editor usually does, and how a conversation is shown in a snapshot.
//!
//! Pure. Invariant: a snapshot shows every message, in order, one a line; what it
//! shortens, it says.

use serde_json::{Value, json};

use crate::desk::{Desk, Peer};
use crate::names::Names;

/// Folder in which the recordings were made.
pub const CWD: &str = "/srv/maka-work";

/// Longest line of a snapshot, in characters.
const LINE: usize = 1_200;
/// Longest run of like messages that is shown whole.
const RUN: usize = 6;

/// Where the recorded client answered a question once more, to see that it is refused: a
/// step to be left out.
pub fn second_answer(recording: &str) -> &'static [u64] {
    match recording {
        "05" => &[44],
        "06" | "07" => &[32],
        _ => &[],
    }
}

impl<P: Peer> Desk<P> {
    /// Initializes the connection.
    pub fn initialize(&mut self) -> Value {
        let id = self.request(
            "initialize",
            &json!({ "protocolVersion": 1, "clientCapabilities": self.capabilities }),
        );
        self.answer(id)
    }

    /// Initializes and opens a session; its id.
    ///
    /// # Panics
    /// When there is no session.
    pub fn new_session(&mut self) -> String {
        self.initialize();
        let id = self.request("session/new", &json!({ "cwd": CWD, "mcpServers": [] }));
        let answer = self.answer(id);
        let session = answer["result"]["sessionId"].as_str();
        session
            .unwrap_or_else(|| panic!("no session: {answer}"))
            .to_owned()
    }

    /// Sends a prompt of text; the id of the request.
    pub fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let block = json!([{ "type": "text", "text": text }]);
        self.request(
            "session/prompt",
            &json!({ "sessionId": session, "prompt": block }),
        )
    }

    /// The user allows what was asked last, if anything is asked.
    pub fn allow(&mut self) {
        let asked = self.take().into_iter();
        let mut asked = asked.filter(|it| it["method"] == "session/request_permission");
        if let Some(asked) = asked.next_back() {
            let id = &asked["params"]["options"][0]["optionId"];
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": id } });
            self.reply(&asked["id"], &outcome);
            self.run_until_quiet();
        }
    }

    /// Cancels what runs in the session.
    pub fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", &json!({ "sessionId": session }));
    }

    /// Closes the session; the answer.
    pub fn close_session(&mut self, session: &str) -> Value {
        let id = self.request("session/close", &json!({ "sessionId": session }));
        self.answer(id)
    }

    /// Requests that went to the Host, by operation (`hello` for the handshake), in order.
    pub fn asked(&self) -> Vec<String> {
        let frames = self
            .to_host
            .iter()
            .map(|(_, line)| serde_json::from_str(line).unwrap_or_default());
        let name = |frame: Value| {
            frame["operation"]
                .as_str()
                .or(frame["kind"].as_str())
                .map(str::to_owned)
        };
        frames.filter_map(name).collect()
    }

    /// How often the Host was asked this.
    pub fn times_asked(&self, operation: &str) -> usize {
        self.asked()
            .iter()
            .filter(|asked| *asked == operation)
            .count()
    }

    /// Steps of uploads that the Host was asked for, in order.
    pub fn asked_kinds(&self) -> Vec<String> {
        let frames = self
            .to_host
            .iter()
            .map(|(_, line)| serde_json::from_str(line).unwrap_or_default());
        let steps = frames.filter(|frame: &Value| frame["operation"] == "artifact.ingest");
        steps
            .filter_map(|frame| frame["input"]["kind"].as_str().map(str::to_owned))
            .collect()
    }

    /// The conversation for a snapshot: `>` from the editor, `<` to it.
    pub fn conversation(&self) -> String {
        let mut names = Names::default();
        let mut lines: Vec<String> = self
            .log
            .iter()
            .map(|line| shorten(&names.apply(line)))
            .collect();
        let mut at = 0;
        while at < lines.len() {
            let like = lines[at..]
                .iter()
                .take_while(|line| alike(&lines[at], line))
                .count();
            if like > RUN {
                let hidden = like - 3;
                lines.splice(
                    at + 2..at + 2 + hidden,
                    [format!("  ({hidden} more like these)")],
                );
            }
            at += like.clamp(1, 4);
        }
        lines.join("\n")
    }

    /// Text that the editor has shown of one kind (`agent_message_chunk`, ...), joined, by
    /// message.
    pub fn shown(&self, kind: &str) -> Vec<(String, String)> {
        let mut messages: Vec<(String, String)> = Vec::new();
        for update in self
            .updates()
            .filter(|update| update["sessionUpdate"] == kind)
        {
            let id = update["messageId"].as_str().unwrap_or_default();
            let text = update["content"]["text"].as_str().unwrap_or_default();
            match messages.iter_mut().find(|(known, _)| known == id) {
                Some((_, whole)) => whole.push_str(text),
                None => messages.push((id.to_owned(), text.to_owned())),
            }
        }
        messages
    }

    /// Every update that the editor has got.
    pub fn updates(&self) -> impl Iterator<Item = Value> {
        let got = self.log.iter().filter_map(|line| line.strip_prefix("< "));
        let messages = got.map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
        messages
            .filter(|it| it["method"] == "session/update")
            .map(|it| it["params"]["update"].clone())
    }
}

/// Updates of one tool card or one message.
fn alike(first: &str, other: &str) -> bool {
    let key = |line: &str| {
        let message: Value = serde_json::from_str(line.strip_prefix("< ")?.split(" …").next()?)
            .unwrap_or(Value::Null);
        let update = &message["params"]["update"];
        let of = update["toolCallId"]
            .as_str()
            .or(update["messageId"].as_str());
        of.map(|of| format!("{} {of}", update["sessionUpdate"]))
            .or_else(|| cut_key(line))
    };
    key(first).is_some() && key(first) == key(other)
}

/// A line that was shortened is no JSON any more: its head names it.
fn cut_key(line: &str) -> Option<String> {
    let start = line.find("\"sessionUpdate\":")?;
    let rest = &line[start..];
    let end = rest.match_indices('"').nth(7).map(|(at, _)| at)?;
    Some(rest[..end].to_owned())
}

fn shorten(line: &str) -> String {
    let count = line.chars().count();
    if count <= LINE {
        return line.to_owned();
    }
    let head: String = line.chars().take(LINE * 2 / 3).collect();
    let tail: String = line.chars().skip(count - LINE / 3).collect();
    format!("{head} … {} characters … {tail}", count - LINE)
}
