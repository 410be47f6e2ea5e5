//! How a scene has to end, whatever happened in it: what the tests of many orders share.
//!
//! Touches nothing. Invariant: what is asked for here holds for every order of events.

use std::fmt::Debug;

use serde_json::Value;

use super::{Scene, Turn};

impl Scene {
    /// The turn ends, the prompt is answered so, and nothing had to be stopped.
    ///
    /// # Panics
    /// When it is not so.
    pub fn ends_well(&mut self, turn: &Turn) {
        self.now(turn, "completed");
        let told = self.editor();
        assert_eq!(told.last(), Some(&format!("{} end_turn", turn.prompt)));
        assert_eq!(self.count("turn.stop"), 0);
    }

    /// The last card that the editor was sent.
    ///
    /// # Panics
    /// When there is none.
    pub fn last_card(&self) -> Value {
        self.desk.updates().last().expect("a card")
    }

    /// What happened, for the message of a failure.
    pub fn story(&self, events: &dyn Debug) -> String {
        let told = self.desk.log.join("\n");
        format!("{events:?}\n{told}\n{:#?}", self.desk.to_host)
    }

    /// The answer of the prompt, and that all is over: every request has its answer, no turn
    /// was started twice, nothing was stopped more than once a connection, and nothing of the
    /// turn was shown behind its answer.
    ///
    /// # Panics
    /// When it is not so.
    pub fn settled(&self, prompt: u64, losses: usize, events: &dyn Debug) -> String {
        let story = || self.story(events);
        assert!(self.desk.unanswered().is_empty(), "unanswered: {}", story());
        let answer = self
            .answer(prompt)
            .unwrap_or_else(|| panic!("no answer: {}", story()));
        assert!(self.count("turn.start") <= 1, "started twice: {}", story());
        let stops = self.count("turn.stop");
        assert!(stops <= 1 + losses, "{stops} stops: {}", story());
        let answered = format!(r#""id":{prompt},"#);
        let mut lines = self.desk.log.iter();
        lines.find(|line| {
            line.starts_with("< ") && line.contains(&answered) && !line.contains(r#""method":"#)
        });
        let late =
            lines.any(|line| line.contains("agent_message_chunk") || line.contains("tool_call"));
        assert!(!late, "shown after the answer: {}", story());
        let answer = answer.split_once(' ').map_or("", |(_, answer)| answer);
        answer.to_owned()
    }

    /// What the agent has said so far; it is always the beginning of `text`.
    ///
    /// # Panics
    /// When it is not.
    pub fn said_of(&self, text: &str, events: &dyn Debug) -> String {
        let shown = self.desk.shown("agent_message_chunk").into_iter();
        let shown: String = shown.map(|(_, text)| text).collect();
        assert!(
            text.starts_with(&shown),
            "shown {shown}: {}",
            self.story(events)
        );
        shown
    }

    /// The editor is gone: the end has come, and nothing is left behind.
    ///
    /// # Panics
    /// When it is not so.
    pub fn gone(&self, events: &dyn Debug) {
        let story = || self.story(events);
        assert_eq!(self.desk.done, Some(0), "{}", story());
        assert!(self.desk.channels().is_empty(), "{}", story());
        assert!(self.desk.left_armed.is_empty(), "{}", story());
    }
}
