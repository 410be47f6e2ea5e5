//! A fast lane for the one frame that comes by the thousand: a piece of a message, in the
//! order in which the Host writes its fields. Everything else is left to serde.
//!
//! Pure. Invariant: what the lane takes, serde would have read as the same frame. It is
//! worth its lines because a streamed delta spends more than half of its time in being
//! read, and in wasm each of the many small calls of that also looks at the deadline.

use alloc::borrow::Cow;

use super::current::{Delta, Frame, kind};
use crate::json;

/// Reads a frame of the Host, in any order of fields.
pub fn frame(line: &str) -> Option<Frame<'_>> {
    delta(line).or_else(|| serde_json::from_str(line).ok())
}

fn delta(line: &str) -> Option<Frame<'_>> {
    let mut lane = Lane(line);
    lane.word(r#"{"kind":""#)?;
    lane.word(kind::DELTA)?;
    lane.word(r#"","hostEpoch":""#)?;
    let host_epoch = lane.text()?;
    lane.word(r#","subscriptionId":""#)?;
    let subscription_id = lane.text()?;
    lane.word(r#","sequence":"#)?;
    let sequence = lane.number()?;
    lane.word(r#","sessionId":""#)?;
    let session_id = lane.text()?;
    lane.word(r#","delta":{"kind":""#)?;
    let speaker = lane.text()?;
    lane.word(r#","turnId":""#)?;
    let turn_id = lane.text()?;
    lane.word(r#","runId":""#)?;
    let run_id = lane.text()?;
    lane.word(r#","messageId":""#)?;
    let message_id = lane.text()?;
    lane.word(r#","startOffset":"#)?;
    let start_offset = lane.number()?;
    lane.word(r#","text":"#)?;
    let text = lane.last_text()?;
    Some(Frame {
        kind: kind::DELTA.into(),
        host_epoch: host_epoch.into(),
        subscription_id: subscription_id.into(),
        sequence,
        session_id: session_id.into(),
        delta: Some(Delta {
            kind: speaker.into(),
            turn_id: turn_id.into(),
            run_id: run_id.into(),
            message_id: message_id.into(),
            start_offset,
            text,
            reset: false,
            complete: false,
        }),
        ..Frame::default()
    })
}

/// What is left of the line.
struct Lane<'a>(&'a str);

impl<'a> Lane<'a> {
    fn word(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    /// A text without escapes, up to and with its closing quote.
    fn text(&mut self) -> Option<&'a str> {
        let (text, rest) = self.0.split_at_checked(json::literal(self.0.as_bytes()))?;
        self.0 = rest.strip_prefix('"')?;
        Some(text)
    }

    /// A number as JSON writes it, and short enough to be sure that it fits.
    fn number(&mut self) -> Option<u64> {
        const SURE: usize = 18;
        let bytes = self.0.as_bytes();
        let length = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let padded = length > 1 && bytes[0] == b'0';
        if length == 0 || length > SURE || padded {
            return None;
        }
        let (digits, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(
            digits
                .bytes()
                .fold(0, |number, digit| number * 10 + u64::from(digit - b'0')),
        )
    }

    /// The text with which the frame ends, quotes and all.
    fn last_text(&mut self) -> Option<Cow<'a, str>> {
        let quoted = self.0.strip_suffix("}}")?;
        let inside = quoted.strip_prefix('"')?.strip_suffix('"')?;
        if json::literal(inside.as_bytes()) == inside.len() {
            return Some(Cow::Borrowed(inside));
        }
        // Escapes, or no text at all: serde knows, from the quote on.
        serde_json::from_str(quoted).ok().map(Cow::Owned)
    }
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
        serde_json::from_str(line).ok().map(|frame| said(&frame))
    }

    fn line(sequence: &str, text: &str) -> String {
        format!(
            r#"{{"kind":"subscription.session_delta","hostEpoch":"e","subscriptionId":"s-1","sequence":{sequence},"sessionId":"7","delta":{{"kind":"text","turnId":"t","runId":"r","messageId":"m","startOffset":0,"text":"{text}"}}}}"#
        )
    }

    #[test]
    fn given_the_hosts_order_when_read_then_the_lane_takes_it_and_serde_agrees() {
        for text in ["", "plain text", "思考 – 🧠", r#"a\"b\n\u0041\ud83e\udde0"#] {
            let line = line("12", text);
            let taken = delta(&line).map(|frame| said(&frame));
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
            assert!(delta(&line).is_none(), "{line}");
            assert_eq!(
                frame(&line).map(|frame| said(&frame)),
                by_serde(&line),
                "{line}"
            );
        }
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
            if let Some(taken) = delta(&line) {
                prop_assert_eq!(Some(said(&taken)), by_serde(&line));
            }
        }
    }
}
