//! The names and numbers of the Maka wire, epoch 39, as the embedded Host
//! writes them. Written a second time on purpose: nothing here comes from the
//! engine, so that a mistake there is not repeated here. Invariant: every
//! limit of the protocol that this Host keeps stands in this file.
//!
//! Source: traffic recorded from a real Host (`tests/recordings/maka-epoch39`).

use std::time::Duration;

/// The one epoch this Host speaks. Must be equal on both sides.
pub(crate) const EPOCH: u64 = 39;
pub(crate) const COMPOSITION: &str = "maka.interactive";
pub(crate) const COMPOSITION_REVISION: &str = "3";
pub(crate) const SNAPSHOT_SCHEMA: u64 = 4;

/// Longest message in bytes, without its newline.
pub(crate) const MESSAGE_BYTES: usize = 786_432;
/// A client that says nothing for this long is closed.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(5);
/// Requests a connection may have in flight, and one more `host.status`.
pub(crate) const IN_FLIGHT: usize = 64;
pub(crate) const SUBSCRIPTIONS: usize = 16;

/// Frames and bytes that may wait for one subscriber before it is evicted.
pub(crate) const SUBSCRIBER_FRAMES: usize = 32;
pub(crate) const SUBSCRIBER_BYTES: usize = 256 * 1024;
/// Answers that may wait before the Host stops reading requests.
pub(crate) const WRITER_FRAMES: usize = 64;
/// Waiting bytes of answers and notifications at which the connection ends.
pub(crate) const WRITER_BYTES: usize = 2 * 1024 * 1024;

/// Longest text of one delta, in bytes.
pub(crate) const DELTA_BYTES: usize = 16 * 1024;
/// Longest chunk of one tool output event, in bytes.
pub(crate) const TOOL_CHUNK_BYTES: usize = 24_576;

/// Rows above this are stored in chunks and carry a digest.
pub(crate) const CHUNKED_ROW_BYTES: usize = 64 * 1024;
pub(crate) const PAGE_FRAGMENTS: usize = 256;

pub(crate) const CATALOG_PAGE: usize = 32;
pub(crate) const CATALOG_PAGE_BYTES: usize = 48 * 1024;
pub(crate) const PREVIEW_BYTES: usize = 4 * 1024;
pub(crate) const TITLE_BYTES: usize = 320;

pub(crate) const UPLOADS: usize = 16;
pub(crate) const STAGED_BYTES: u64 = 128 * 1024 * 1024;
pub(crate) const ATTACHMENT_BYTES: u64 = 52_428_800;
pub(crate) const CHUNK_BYTES: usize = 49_152;

/// Messages that may wait behind a running turn.
pub(crate) const QUEUE: usize = 64;

/// Operation errors, by code.
pub(crate) mod code {
    pub(crate) const NOT_FOUND: &str = "not_found";
    pub(crate) const ARCHIVED: &str = "session_archived";
    pub(crate) const BUSY: &str = "session_busy";
    pub(crate) const CONFLICT: &str = "operation_conflict";
    pub(crate) const INVALID: &str = "invalid_request";
    pub(crate) const RESOLVED: &str = "already_resolved";
    pub(crate) const UNAVAILABLE: &str = "operation_unavailable";
    pub(crate) const UNKNOWN: &str = "outcome_unknown";
}

/// An operation's error: a declared code and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

pub(crate) fn refuse<T>(code: &'static str, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        code,
        message: message.into(),
    })
}

/// The length of a text as the wire counts it.
pub(crate) fn utf16(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

/// The longest prefix of `text` that is at most `bytes` long and ends between characters.
pub(crate) fn prefix(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
