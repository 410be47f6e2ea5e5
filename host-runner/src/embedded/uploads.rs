//! `artifact.ingest`: attachments that come in chunks. Touches only what is
//! staged in memory. Invariant: an attachment is committed whole and with the
//! digest that its beginning announced, or not at all.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::ids;
use super::wire::{CHUNK_BYTES, Refusal, STAGED_BYTES, UPLOADS, code, refuse};
use super::world::{State, existing};

/// Uploads by connection and id; they end with their connection.
#[derive(Default)]
pub(crate) struct Uploads(BTreeMap<(u64, String), Upload>);

struct Upload {
    begin: Value,
    bytes: Vec<u8>,
    stage: Stage,
}

enum Stage {
    Open,
    Committed(Value),
    Aborted,
}

impl Uploads {
    pub(crate) fn forget(&mut self, connection: u64) {
        self.0.retain(|(owner, _), _| *owner != connection);
    }

    fn open(&self) -> impl Iterator<Item = &Upload> {
        self.0
            .values()
            .filter(|upload| matches!(upload.stage, Stage::Open))
    }
}

/// `artifact.ingest`
pub(crate) fn ingest(state: &mut State, connection: u64, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    let id = input["uploadId"].as_str().unwrap_or_default().to_owned();
    let key = (connection, id.clone());
    if input["kind"] == "begin" {
        return begin(&mut state.uploads, key, input);
    }
    let Some(upload) = state.uploads.0.get_mut(&key) else {
        return refuse(code::NOT_FOUND, "Attachment upload was not found");
    };
    if upload.begin["sessionId"] != input["sessionId"] {
        return refuse(
            code::CONFLICT,
            "Attachment upload belongs to another Session",
        );
    }
    match input["kind"].as_str() {
        Some("chunk") => chunk(upload, &id, input),
        Some("commit") => commit(upload, &id, &mut session.attachments),
        _ => abort(upload, &id),
    }
}

fn begin(uploads: &mut Uploads, key: (u64, String), input: &Value) -> Result<Value, Refusal> {
    if let Some(upload) = uploads.0.get(&key) {
        if upload.begin != *input || !matches!(upload.stage, Stage::Open) {
            return refuse(code::CONFLICT, "Attachment upload identity is in use");
        }
        return Ok(
            json!({"kind": "upload_opened", "uploadId": key.1, "nextOffset": upload.bytes.len()}),
        );
    }
    let staged: u64 = uploads.open().map(|upload| total(&upload.begin)).sum();
    if uploads.open().count() >= UPLOADS || staged + total(input) > STAGED_BYTES {
        return refuse(code::CONFLICT, "Attachment upload capacity is exhausted");
    }
    let opened = json!({"kind": "upload_opened", "uploadId": key.1, "nextOffset": 0});
    uploads.0.insert(
        key,
        Upload {
            begin: input.clone(),
            bytes: Vec::new(),
            stage: Stage::Open,
        },
    );
    Ok(opened)
}

fn chunk(upload: &mut Upload, id: &str, input: &Value) -> Result<Value, Refusal> {
    let data = STANDARD
        .decode(input["chunkBase64"].as_str().unwrap_or_default())
        .unwrap_or_default();
    if data.is_empty() || data.len() > CHUNK_BYTES {
        return refuse(code::INVALID, "Attachment chunk is not canonical base64");
    }
    let offset = input["offset"].as_u64().unwrap_or_default() as usize;
    let end = offset + data.len();
    let known = upload.bytes.len();
    let repeated = end <= known && upload.bytes[offset..end] == data[..];
    let next = offset == known && end as u64 <= total(&upload.begin);
    match upload.stage {
        Stage::Open if repeated => {}
        Stage::Open if next => upload.bytes.extend(data),
        _ => {
            return refuse(
                code::CONFLICT,
                "Attachment chunk does not continue the upload",
            );
        }
    }
    Ok(json!({"kind": "chunk_accepted", "uploadId": id, "nextOffset": end}))
}

fn commit(upload: &mut Upload, id: &str, attachments: &mut Vec<Value>) -> Result<Value, Refusal> {
    let attachment = match &upload.stage {
        Stage::Committed(attachment) => attachment.clone(),
        Stage::Aborted => return refuse(code::CONFLICT, "Attachment upload was aborted"),
        Stage::Open if (upload.bytes.len() as u64) < total(&upload.begin) => {
            return refuse(code::CONFLICT, "Attachment upload is incomplete");
        }
        Stage::Open if upload.begin["contentSha256"] != ids::digest(&upload.bytes) => {
            return refuse(code::CONFLICT, "Attachment content digest does not match");
        }
        Stage::Open => {
            let attachment = attachment(&upload.begin);
            upload.stage = Stage::Committed(attachment.clone());
            upload.bytes = Vec::new();
            attachments.push(attachment.clone());
            attachment
        }
    };
    Ok(json!({"kind": "committed", "uploadId": id, "attachment": attachment}))
}

fn abort(upload: &mut Upload, id: &str) -> Result<Value, Refusal> {
    if matches!(upload.stage, Stage::Committed(_)) {
        return refuse(code::CONFLICT, "Attachment upload was committed");
    }
    upload.stage = Stage::Aborted;
    upload.bytes = Vec::new();
    Ok(json!({"kind": "upload_aborted", "uploadId": id}))
}

fn attachment(begin: &Value) -> Value {
    json!({
        "kind": kind(begin["mimeType"].as_str().unwrap_or_default(), begin["name"].as_str().unwrap_or_default()),
        "name": begin["name"],
        "mimeType": begin["mimeType"],
        "bytes": begin["totalBytes"],
        "ref": {"kind": "session_file", "sessionId": begin["sessionId"], "relativePath": ids::attachment()},
    })
}

/// The Host decides what an attachment is; plain text is nothing special.
fn kind(mime: &str, name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match (mime, extension) {
        (mime, _) if mime.starts_with("image/") => "image",
        ("application/pdf", _) | (_, "pdf") => "pdf",
        (_, "doc" | "docx" | "odt" | "rtf") => "doc",
        (_, "rs" | "ts" | "js" | "py" | "go" | "c" | "h" | "cpp" | "java" | "sh") => "code",
        _ => "other",
    }
}

fn total(begin: &Value) -> u64 {
    begin["totalBytes"].as_u64().unwrap_or_default()
}
