//! Updates to `session/update` notifications of ACP v1.
//!
//! Touches only the buffer that it is given. Invariant: each call writes one whole message
//! with its line end, and no line end inside; the order of the fields is fixed, so that the
//! same updates give the same bytes.

use alloc::vec::Vec;
use core::fmt::Write;

use serde::Serialize;

use super::report;
use crate::json;
use crate::projection::{Change, Piece, Speaker, Status, Stream, ToolCard, ToolKind, Update};

/// Writes one notification for the session. What the protocol has no words for stands in
/// `_meta` under the Host's `extension`.
pub fn update(session_id: &str, extension: &str, update: &Update<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"#);
    json::string(out, session_id);
    out.extend_from_slice(br#","update":{"sessionUpdate":"#);
    match update {
        Update::Message {
            speaker,
            message_id,
            text,
            meta,
        } => {
            message_chunk(*speaker, message_id, text, out);
            if let Some(meta) = meta {
                out.extend_from_slice(br#","_meta":"#);
                value(*meta, out);
            }
        }
        Update::Picture {
            speaker,
            message_id,
            mime_type,
            data,
        } => picture_chunk(*speaker, message_id, mime_type, data, out),
        Update::Report(card) => report::write(card, out),
        Update::Tool(card) => tool_call(card, extension, out),
    }
    out.extend_from_slice(b"}}}\n");
}

/// Any JSON value, on one line.
pub(super) fn value(value: &impl Serialize, out: &mut Vec<u8>) {
    // Names, numbers and texts: serialising them cannot fail.
    json::verbatim(out, &serde_json::to_string(value).unwrap_or_default());
}

fn picture_chunk(speaker: Speaker, id: &str, mime_type: &str, data: &str, out: &mut Vec<u8>) {
    chunk(speaker, out);
    out.extend_from_slice(br#"{"type":"image","data":"#);
    json::string(out, data);
    out.extend_from_slice(br#","mimeType":"#);
    json::string(out, mime_type);
    out.extend_from_slice(br#"},"messageId":"#);
    json::string(out, id);
}

fn message_chunk(speaker: Speaker, message_id: &str, text: &str, out: &mut Vec<u8>) {
    chunk(speaker, out);
    out.extend_from_slice(br#"{"type":"text","text":"#);
    json::string(out, text);
    out.extend_from_slice(br#"},"messageId":"#);
    json::string(out, message_id);
}

fn chunk(speaker: Speaker, out: &mut Vec<u8>) {
    out.extend_from_slice(match speaker {
        Speaker::User => br#""user_message_chunk","content":"#,
        Speaker::Agent => br#""agent_message_chunk","content":"#,
        Speaker::Thought => br#""agent_thought_chunk","content":"#,
    });
}

fn tool_call(card: &ToolCard<'_>, extension: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(if card.first {
        br#""tool_call""#
    } else {
        br#""tool_call_update""#
    });
    out.extend_from_slice(br#","toolCallId":"#);
    json::string(out, card.id);
    out.extend_from_slice(br#","title":"#);
    json::string(out, card.title);
    out.extend_from_slice(br#","kind":"#);
    json::string(out, kind(card.kind));
    out.extend_from_slice(br#","status":"#);
    json::string(out, status(card.status));
    out.extend_from_slice(br#","_meta":{"#);
    json::string(out, extension);
    out.push(b':');
    json::verbatim(out, &card.meta.json());
    out.push(b'}');
    if let Some(pieces) = &card.content {
        out.extend_from_slice(br#","content":["#);
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            content(piece, extension, out);
        }
        out.push(b']');
    }
    if let Some(places) = card.places {
        out.extend_from_slice(br#","locations":["#);
        for (at, place) in places.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(br#"{"path":"#);
            json::string(out, &place.path);
            if let Some(line) = place.line {
                let _ = write!(Plain(out), r#","line":{line}"#);
            }
            out.push(b'}');
        }
        out.push(b']');
    }
    if let Some(raw) = card.raw_input {
        out.extend_from_slice(br#","rawInput":"#);
        json::raw(out, raw);
    }
    if let Some(raw) = card.raw_output {
        out.extend_from_slice(br#","rawOutput":"#);
        json::raw(out, raw);
    }
}

fn content(piece: &Piece<'_>, extension: &str, out: &mut Vec<u8>) {
    if let Piece::Change(change) = piece {
        return diff(change, out);
    }
    out.extend_from_slice(br#"{"type":"content","content":{"type":"text","text":""#);
    // Writing into a buffer cannot fail.
    let _ = write!(json::Inside(out), "{piece}");
    out.push(b'"');
    if let Piece::Output {
        sequence,
        stream,
        redacted,
        ..
    } = piece
    {
        let stream = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        out.extend_from_slice(br#","_meta":{"#);
        json::string(out, extension);
        let _ = write!(
            Plain(out),
            r#":{{"sequence":{sequence},"stream":"{stream}","redacted":{redacted}}}}}"#
        );
    }
    out.extend_from_slice(b"}}");
}

fn diff(change: &Change, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"diff","path":"#);
    json::string(out, &change.path);
    if let Some(old) = &change.old {
        out.extend_from_slice(br#","oldText":"#);
        json::string(out, old);
    }
    out.extend_from_slice(br#","newText":"#);
    json::string(out, &change.new);
    out.push(b'}');
}

/// The word of ACP v1 for what a tool does.
pub fn kind(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        ToolKind::Other => "other",
    }
}

/// The word of ACP v1 for how far a tool is.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::InProgress => "in_progress",
        Status::Completed => "completed",
        Status::Failed => "failed",
    }
}

/// A place for `write!` of JSON itself.
struct Plain<'a>(&'a mut Vec<u8>);

impl Write for Plain<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
