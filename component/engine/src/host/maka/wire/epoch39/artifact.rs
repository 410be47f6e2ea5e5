//! Attachments: uploading them, and what a turn says with them.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Object;
use crate::object;

/// Result of `artifact.ingest`, all kinds together.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ingested<'a> {
    /// `upload_opened`, `chunk_accepted`, `committed`, `upload_aborted`.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// `upload_opened` and `chunk_accepted`: from where to go on.
    #[serde(default)]
    pub next_offset: Option<u64>,
    /// `committed`: what a turn has to say, word for word.
    #[serde(borrow, default)]
    pub attachment: Option<&'a RawValue>,
}

/// A committed attachment, as far as it is checked.
#[derive(Deserialize)]
struct Attachment<'a> {
    #[serde(borrow, rename = "ref")]
    reference: Reference<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    session_id: Cow<'a, str>,
}

/// Whether a turn of this session may refer to it.
pub fn attachment_of(attachment: &RawValue, session_id: &str) -> bool {
    serde_json::from_str::<Attachment<'_>>(attachment.get()).is_ok_and(|it| {
        it.reference.kind == "session_file" && it.reference.session_id == session_id
    })
}

/// `begin` of an upload.
pub fn begin(
    session_id: &str,
    upload_id: &str,
    name: &str,
    mime_type: &str,
    total_bytes: u64,
    content_sha256: &str,
) -> Object {
    object! {
        "kind": "begin", "sessionId": session_id, "uploadId": upload_id, "name": name,
        "mimeType": mime_type, "totalBytes": total_bytes, "contentSha256": content_sha256
    }
}

/// One chunk of an upload.
pub fn chunk(session_id: &str, upload_id: &str, offset: u64, chunk_base64: &str) -> Object {
    object! {
        "kind": "chunk", "sessionId": session_id, "uploadId": upload_id, "offset": offset,
        "chunkBase64": chunk_base64
    }
}

/// `commit` or `abort` of an upload.
pub fn finish(kind: &str, session_id: &str, upload_id: &str) -> Object {
    object! { "kind": kind, "sessionId": session_id, "uploadId": upload_id }
}

/// What an attachment will look like at most, to know its size before it is uploaded.
pub fn likeness(session_id: &str, name: &str, mime_type: &str, bytes: u64) -> Object {
    object! {
        "kind": "image", "name": name, "mimeType": mime_type, "bytes": bytes,
        "ref": object! {
            "kind": "session_file", "sessionId": session_id,
            "relativePath": "attachment-00000000000000000000000000000000"
        }
    }
}

/// The content of a turn or a message. Empty lists are left out: the Host refuses them.
pub fn content(text: &str, display: Option<&str>, attachments: &[Box<RawValue>]) -> Object {
    let mut content = object! { "text": text };
    if let Some(display) = display {
        content.set("displayText", display);
    }
    if !attachments.is_empty() {
        content.set("attachments", attachments);
    }
    content
}
