//! A fast lane for the one frame that comes by the thousand: the next piece of a message.
//! It differs from the piece before in two numbers and in its text, so the rest is compared
//! instead of read.
//!
//! Touches nothing but what it remembers. Invariant: what the lane takes, serde would have
//! read as the same frame, so it may be forgotten at any time. It is worth its lines because
//! a streamed delta spends more than half of its time in being read, and in wasm each loop
//! of that also looks at the deadline.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::current::{Delta, Frame, kind};
use super::surrogates;
use crate::{json, scan};

/// Messages that can grow by turns and still be read fast.
const MESSAGES: usize = 8;

/// The messages that grew last, the newest of them first.
#[derive(Debug, Default)]
pub struct Lane(Vec<Message>);

/// What all pieces of a message have in common.
#[derive(Debug)]
struct Message {
    /// The line up to its first number.
    head: String,
    /// From there to its second number.
    middle: String,
    host_epoch: String,
    subscription_id: String,
    session_id: String,
    speaker: String,
    turn_id: String,
    run_id: String,
    message_id: String,
}

/// What differs.
struct Piece<'a> {
    sequence: u64,
    start_offset: u64,
    text: Cow<'a, str>,
}

impl Lane {
    /// Reads a frame of the Host, in any order of fields; one that has to be mended first is
    /// read from `room`.
    pub fn frame<'a>(&'a mut self, line: &'a [u8], room: &'a mut Vec<u8>) -> Option<Frame<'a>> {
        let mut known = self.0.iter().enumerate();
        let found = known.find_map(|(at, message)| Some((at, message.piece(line)?)));
        if let Some((at, piece)) = found {
            self.0.swap(0, at);
            return Some(self.0[0].frame(piece));
        }
        let line = match surrogates::of_frame(line) {
            Some(mended) => {
                *room = mended;
                room
            }
            None => line,
        };
        let frame = by_serde(line)?;
        self.learn(&frame, line);
        Some(frame)
    }

    fn learn(&mut self, frame: &Frame<'_>, line: &[u8]) {
        let Some(delta) = &frame.delta else { return };
        let message = Message::of(frame, delta);
        if message.piece(line).is_some() {
            self.0.truncate(MESSAGES - 1);
            self.0.insert(0, message);
        }
    }
}

impl Message {
    /// As the Host writes it, if nothing in it needs an escape.
    fn of(frame: &Frame<'_>, delta: &Delta<'_>) -> Message {
        Message {
            head: format!(
                r#"{{"kind":"{}","hostEpoch":"{}","subscriptionId":"{}","sequence":"#,
                kind::DELTA,
                frame.host_epoch,
                frame.subscription_id,
            ),
            middle: format!(
                r#","sessionId":"{}","delta":{{"kind":"{}","turnId":"{}","runId":"{}","messageId":"{}","startOffset":"#,
                frame.session_id, delta.kind, delta.turn_id, delta.run_id, delta.message_id,
            ),
            host_epoch: frame.host_epoch.to_string(),
            subscription_id: frame.subscription_id.to_string(),
            session_id: frame.session_id.to_string(),
            speaker: delta.kind.to_string(),
            turn_id: delta.turn_id.to_string(),
            run_id: delta.run_id.to_string(),
            message_id: delta.message_id.to_string(),
        }
    }

    /// What the line adds to this message, if that is what it does.
    fn piece<'a>(&self, line: &'a [u8]) -> Option<Piece<'a>> {
        let rest = scan::after(line, self.head.as_bytes())?;
        let (sequence, rest) = number(rest)?;
        let rest = scan::after(rest, self.middle.as_bytes())?;
        let (start_offset, rest) = number(rest)?;
        let text = text(rest.strip_prefix(br#","text":"#)?.strip_suffix(b"}}")?)?;
        Some(Piece {
            sequence,
            start_offset,
            text,
        })
    }

    fn frame<'a>(&'a self, piece: Piece<'a>) -> Frame<'a> {
        let Piece {
            sequence,
            start_offset,
            text,
        } = piece;
        Frame {
            kind: kind::DELTA.into(),
            host_epoch: self.host_epoch.as_str().into(),
            subscription_id: self.subscription_id.as_str().into(),
            sequence,
            session_id: self.session_id.as_str().into(),
            delta: Some(Delta {
                kind: self.speaker.as_str().into(),
                turn_id: self.turn_id.as_str().into(),
                run_id: self.run_id.as_str().into(),
                message_id: self.message_id.as_str().into(),
                start_offset,
                text,
                reset: false,
                complete: false,
            }),
            ..Frame::default()
        }
    }
}

fn by_serde(line: &[u8]) -> Option<Frame<'_>> {
    // serde would read an array into a structure, field by field.
    let object = line.trim_ascii_start().starts_with(b"{");
    // Looked at as text once: else serde_json looks at each of its strings by itself.
    let text = str::from_utf8(line).ok().filter(|_| object)?;
    serde_json::from_str(text).ok()
}

/// A number as JSON writes it, and short enough to be sure that it fits; and what follows.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    const SURE: usize = 18;
    let (mut number, mut length) = (0, 0);
    while let Some(digit) = bytes.get(length).map(|byte| byte.wrapping_sub(b'0'))
        && digit <= 9
        && length <= SURE
    {
        number = number * 10 + u64::from(digit);
        length += 1;
    }
    let padded = length > 1 && bytes[0] == b'0';
    if length == 0 || length > SURE || padded {
        return None;
    }
    Some((number, &bytes[length..]))
}

/// A text with its quotes.
fn text(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inside = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if json::is_literal(inside) {
        return str::from_utf8(inside).ok().map(Cow::Borrowed);
    }
    // Escapes, or no text at all: serde knows.
    serde_json::from_slice(quoted).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::{String, ToString};
    use proptest::prelude::*;

    /// Everything that a frame can say, for comparing.
    fn said(frame: &Frame<'_>) -> String {
        let delta = frame.delta.as_ref().map(|delta| {
            format!(
                "{:?}",
                (
                    &delta.kind,
                    &delta.turn_id,
                    &delta.run_id,
                    &delta.message_id,
                    delta.start_offset,
                    &delta.text,
                    delta.reset,
                    delta.complete,
                )
            )
        });
        let texts = [
            &frame.kind,
            &frame.request_id,
            &frame.operation,
            &frame.host_epoch,
        ]
        .map(ToString::to_string);
        let more =
            [&frame.subscription_id, &frame.session_id, &frame.reason].map(ToString::to_string);
        let raw = [frame.result, frame.snapshot, frame.event].map(|raw| raw.map(|it| it.get()));
        let error = frame.error.as_ref().map(|error| error.code.to_string());
        let numbers = (frame.ok, frame.sequence, frame.through_sequence);
        format!("{texts:?} {more:?} {raw:?} {error:?} {numbers:?} {delta:?}")
    }

    fn by_serde(line: &str) -> Option<String> {
        serde_json::from_slice(line.as_bytes())
            .ok()
            .map(|frame| said(&frame))
    }

    fn line(sequence: &str, text: &str) -> String {
        format!(
            r#"{{"kind":"subscription.session_delta","hostEpoch":"e","subscriptionId":"s-1","sequence":{sequence},"sessionId":"7","delta":{{"kind":"text","turnId":"t","runId":"r","messageId":"m","startOffset":0,"text":"{text}"}}}}"#
        )
    }

    /// A lane that has read the first piece of the message.
    fn lane() -> Lane {
        let mut lane = Lane::default();
        assert!(
            lane.frame(line("1", "first").as_bytes(), &mut Vec::new())
                .is_some()
        );
        assert_eq!(lane.0.len(), 1);
        lane
    }

    /// What the lane reads without serde.
    fn taken(lane: &Lane, line: &str) -> Option<String> {
        let message = &lane.0[0];
        let piece = message.piece(line.as_bytes())?;
        Some(said(&message.frame(piece)))
    }

    #[test]
    fn given_the_hosts_order_when_read_then_the_lane_takes_it_and_serde_agrees() {
        for text in ["", "plain text", "思考 – 🧠", r#"a\"b\n\u0041\ud83e\udde0"#] {
            let line = line("12", text);
            let taken = taken(&lane(), &line);
            assert!(taken.is_some(), "{line}");
            assert_eq!(taken, by_serde(&line));
        }
    }

    #[test]
    fn given_what_only_looks_alike_when_read_then_the_lane_leaves_it_to_serde() {
        for (sequence, text) in [
            ("012", "a"),
            ("1.0", "a"),
            ("1e3", "a"),
            ("-1", "a"),
            ("", "a"),
            ("18446744073709551616", "a"),
            ("1", "a\tb"),
            ("1", r"a\x"),
            ("1", r#"a","reset":true,"complete":"#),
            ("1", r#"a","text":"b"#),
        ] {
            let line = line(sequence, text);
            let mut lane = lane();
            assert!(taken(&lane, &line).is_none(), "{line}");
            let read = lane
                .frame(line.as_bytes(), &mut Vec::new())
                .map(|frame| said(&frame));
            assert_eq!(read, by_serde(&line), "{line}");
        }
    }

    #[test]
    fn given_names_with_quotes_when_learned_then_no_other_line_passes_for_theirs() {
        let mut lane = Lane::default();
        let line = line("1", "a").replace(r#""turnId":"t""#, r#""turnId":"t\",\"x\":\"y""#);
        assert!(lane.frame(line.as_bytes(), &mut Vec::new()).is_some());
        assert!(lane.0.is_empty());
    }

    #[test]
    fn given_more_messages_than_are_remembered_when_they_grow_by_turns_then_all_is_read() {
        let mut lane = Lane::default();
        for round in 0..3 {
            for message in 0..=MESSAGES {
                let id = format!(r#""messageId":"m{message}""#);
                let line = line("7", "x").replace(r#""messageId":"m""#, &id);
                let read = lane
                    .frame(line.as_bytes(), &mut Vec::new())
                    .map(|frame| said(&frame));
                assert_eq!(read, by_serde(&line), "round {round}");
            }
        }
        assert_eq!(lane.0.len(), MESSAGES);
    }

    proptest! {
        #[test]
        fn given_a_damaged_line_when_the_lane_takes_it_then_serde_agrees(
            sequence in "[0-9]{0,20}",
            text in "(\\PC|\\\\[nu\"0-9a-f]|[\\x00-\x20]){0,12}",
            cut in 0_usize..400,
            remove in 0_usize..3,
            insert in "(|[\\x00-\x7f]|\"|\\\\|[0-9]|,\"x\":1|\\PC)",
        ) {
            let mut line = line(&sequence, &text);
            let from = (0..=cut.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
            let from = from.unwrap_or(0);
            let to = (from + remove).min(line.len());
            if line.is_char_boundary(to) {
                line.replace_range(from..to, &insert);
            }
            if let Some(taken) = taken(&lane(), &line) {
                prop_assert_eq!(Some(taken), by_serde(&line));
            }
        }
    }
}
