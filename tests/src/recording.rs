//! Recorded wire traffic, read from the JSON lines under `recordings/`.
//!
//! Reads files of this package and nothing else. Invariant: the text of a frame is the
//! text that was on the wire, byte for byte; nothing is parsed and written again.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::value::RawValue;

/// One frame as it was on the wire.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its number in the recording.
    pub n: u64,
    /// Its text, without the line end.
    pub text: String,
    /// Its text, parsed.
    pub value: Value,
}

impl Frame {
    /// The operation of a request or a response.
    pub fn operation(&self) -> Option<&str> {
        self.value["operation"].as_str()
    }

    /// The id of a request or a response.
    pub fn request_id(&self) -> Option<&str> {
        self.value["requestId"].as_str()
    }

    /// `kind` of a notification or a handshake frame.
    pub fn kind(&self) -> Option<&str> {
        self.value["kind"].as_str()
    }

    /// For people: number and operation or kind.
    pub fn title(&self) -> String {
        let name = self.operation().or(self.kind()).unwrap_or("?");
        match self.value["input"]["kind"].as_str() {
            Some(kind) => format!("{} {name} {kind}", self.n),
            None => format!("{} {name}", self.n),
        }
    }
}

/// One thing that happened while the recording was made.
#[derive(Clone, Debug)]
pub enum Step {
    /// The client said this.
    Client(Frame),
    /// The Host said this.
    Host(Frame),
    /// A connection was made.
    Opened,
    /// A connection ended.
    Closed,
}

/// A recording, in the order of the wire.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Name of its file, without the ending.
    pub name: String,
    /// What happened.
    pub steps: Vec<Step>,
}

impl Recording {
    /// Reads the recording whose file name starts with `number`.
    ///
    /// # Panics
    /// When there is not exactly one such file, or it cannot be read.
    pub fn open(number: &str) -> Recording {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recordings/maka-epoch39");
        let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .map(|entry| entry.expect("a folder entry").path())
            .filter(|path| {
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                name.starts_with(&format!("{number}-")) && name.ends_with(".jsonl")
            })
            .collect();
        assert_eq!(
            found.len(),
            1,
            "recordings named {number}-*.jsonl: {found:?}"
        );
        let path = found.remove(0);
        let text = std::fs::read_to_string(&path).expect("a readable recording");
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Recording {
            steps: text.lines().filter_map(step).collect(),
            name,
        }
    }

    /// The frame with this number.
    ///
    /// # Panics
    /// When there is none.
    pub fn frame(&self, n: u64) -> &Frame {
        let found = self.steps.iter().find_map(|step| match step {
            Step::Client(frame) | Step::Host(frame) if frame.n == n => Some(frame),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{} has no frame {n}", self.name))
    }

    /// Everything that the client said.
    pub fn client_frames(&self) -> impl Iterator<Item = &Frame> {
        self.steps.iter().filter_map(|step| match step {
            Step::Client(frame) => Some(frame),
            _ => None,
        })
    }

    /// Everything that the Host said.
    pub fn host_frames(&self) -> impl Iterator<Item = &Frame> {
        self.steps.iter().filter_map(|step| match step {
            Step::Host(frame) => Some(frame),
            _ => None,
        })
    }
}

/// One line of the file; notes of the recorder say nothing about the wire.
fn step(line: &str) -> Option<Step> {
    #[derive(serde::Deserialize)]
    struct Entry<'a> {
        n: u64,
        dir: Option<&'a str>,
        event: Option<&'a str>,
        #[serde(borrow)]
        frame: Option<&'a RawValue>,
    }
    let entry: Entry<'_> = serde_json::from_str(line).expect("a line of a recording");
    match (entry.frame, entry.dir, entry.event) {
        (Some(raw), Some(dir), _) => {
            let text = raw.get().to_owned();
            let value = serde_json::from_str(&text).expect("a frame");
            let frame = Frame {
                n: entry.n,
                text,
                value,
            };
            Some(if dir == "c2h" {
                Step::Client(frame)
            } else {
                Step::Host(frame)
            })
        }
        (_, _, Some("socket_connected")) => Some(Step::Opened),
        (_, _, Some("socket_closed")) => Some(Step::Closed),
        _ => None,
    }
}
