//! Judges a request before anything is done for it. Pure. Invariant: what the
//! real Host would close the connection for is never carried out.

use serde_json::Value;

use super::inputs::{OFFERED, OTHERS};

/// What the Host makes of a request's operation and input.
pub(crate) enum Verdict {
    /// Offered, and the input is well formed.
    Serve,
    /// Exists in the protocol, but this Host does not offer it.
    Unavailable,
    /// The real Host would close the connection.
    Malformed,
}

/// Judges the input of an operation.
pub(crate) fn judge(operation: &str, input: &Value) -> Verdict {
    if let Some((_, shape)) = OFFERED.iter().find(|(name, _)| *name == operation) {
        if shape.fits(input) && rules(operation, input) {
            Verdict::Serve
        } else {
            Verdict::Malformed
        }
    } else if OTHERS.contains(&operation) {
        if input.is_object() {
            Verdict::Unavailable
        } else {
            Verdict::Malformed
        }
    } else {
        Verdict::Malformed
    }
}

/// What shapes cannot say.
fn rules(operation: &str, input: &Value) -> bool {
    match operation {
        "session.transcript.page" => input["cursor"].is_null() || input["anchorSequence"].is_null(),
        "session.metadata.update" => input["patch"]
            .as_object()
            .is_some_and(|patch| !patch.is_empty()),
        "turn.start" | "turn.message.submit" => content_is_sound(input),
        _ => true,
    }
}

/// Text may be empty only next to skills; the whole content fits 52 KiB.
fn content_is_sound(input: &Value) -> bool {
    let content = &input["content"];
    let has_skills = input["skillIds"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    let size = serde_json::to_vec(content).map_or(usize::MAX, |bytes| bytes.len());
    (has_skills || content["text"] != "") && size <= 52 * 1024
}
