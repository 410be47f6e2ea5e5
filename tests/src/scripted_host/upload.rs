//! Attachments in a scene: files on the editor's side, uploads on the Host's.
//!
//! Invariant: the Host takes only what its protocol allows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Asked, Scene, Turn};

/// The digest as the Host writes it.
pub fn sha256(bytes: &[u8]) -> String {
    let hex: Vec<String> = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{}", hex.concat())
}

/// A content block that links a file, without a name of its own.
pub fn link(path: &str) -> Value {
    json!({ "type": "resource_link", "uri": format!("file://{path}"), "name": "" })
}

/// The reference that the Host gives for a `begin`.
pub fn reference(begin: &Value, kind: &str) -> Value {
    json!({ "kind": kind, "name": begin["name"], "mimeType": begin["mimeType"], "bytes": begin["totalBytes"],
            "ref": { "kind": "session_file", "sessionId": begin["sessionId"], "relativePath": "attachment-1" } })
}

impl Scene {
    /// A file is there.
    pub fn put(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        let files = &mut self.desk.files.content;
        files.insert(path.to_owned(), content.into());
    }

    /// The Host opens the upload that is asked for, from this offset.
    ///
    /// # Panics
    /// When none is.
    pub fn opens(&mut self, next: u64) -> Asked {
        let asked = self.asked("artifact.ingest");
        assert_eq!(asked.input["kind"], "begin");
        let opened = json!({ "kind": "upload_opened", "uploadId": asked.input["uploadId"], "nextOffset": next });
        self.result(&asked, &opened);
        asked
    }

    /// The Host takes chunks until it is asked to commit; what they hold, and that request.
    pub fn takes(&mut self) -> (Vec<u8>, Asked) {
        let mut bytes = Vec::new();
        loop {
            let asked = self.asked("artifact.ingest");
            if asked.input["kind"] == "commit" {
                return (bytes, asked);
            }
            bytes.extend(self.chunk(&asked));
        }
    }

    /// The Host takes this chunk.
    ///
    /// # Panics
    /// When it is none.
    pub fn chunk(&mut self, asked: &Asked) -> Vec<u8> {
        assert_eq!(asked.input["kind"], "chunk");
        let data = asked.input["chunkBase64"]
            .as_str()
            .expect("a chunk has data");
        let data = STANDARD.decode(data).expect("the data is base64");
        assert!((1..=49_152).contains(&data.len()));
        let offset = asked.input["offset"]
            .as_u64()
            .expect("a chunk has an offset");
        let next = offset + data.len() as u64;
        let accepted = json!({ "kind": "chunk_accepted", "uploadId": asked.input["uploadId"], "nextOffset": next });
        self.result(asked, &accepted);
        data
    }

    /// The Host commits.
    pub fn commits(&mut self, begin: &Asked, commit: &Asked, kind: &str) {
        let reference = reference(&begin.input, kind);
        let committed = json!({ "kind": "committed", "uploadId": begin.input["uploadId"], "attachment": reference });
        self.result(commit, &committed);
    }

    /// The whole upload that is asked for; its `begin` and its bytes.
    ///
    /// # Panics
    /// When they are not what it announced.
    pub fn uploads(&mut self, kind: &str) -> (Value, Vec<u8>) {
        let begin = self.opens(0);
        let (bytes, commit) = self.takes();
        self.commits(&begin, &commit, kind);
        assert_eq!(begin.input["contentSha256"], sha256(&bytes));
        assert_eq!(begin.input["totalBytes"], bytes.len());
        (begin.input, bytes)
    }

    /// The turn that is sent runs and ends; its content.
    ///
    /// # Panics
    /// When the prompt is not answered.
    pub fn ends(&mut self, prompt: u64) -> Value {
        let asked = self.asked("turn.start");
        let id = asked.input["turnId"]
            .as_str()
            .expect("a turn has an id")
            .to_owned();
        let run = "run-1".to_owned();
        let turn = Turn { prompt, id, run };
        let started = self.started(&turn);
        self.result(&asked, &started);
        self.now(&turn, "completed");
        let end = Some(format!("{prompt} end_turn"));
        assert_eq!(self.answer(prompt), end, "{:?}", self.desk.log);
        asked.input["content"].clone()
    }
}
