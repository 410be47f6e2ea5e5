//! The two JSON files by which a Host makes itself known.
//!
//! It touches nothing; it is given their text. Invariant: what it returns keeps the limits
//! of the Host's own reader (`spec` of the Runtime Host, sections 1.1 and 1.2). Keys that
//! it does not know are ignored, as the Host's reader does here.

use std::path::PathBuf;

use serde::Deserialize;

/// Who a state root is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) root_id: String,
    /// Device and inode of the folder, as decimal text.
    pub(super) identity: (String, String),
}

impl Marker {
    /// Reads a marker; the error is the end of a sentence.
    pub(super) fn read(text: &str) -> Result<Marker, String> {
        let wire: wire::Marker = serde_json::from_str(text).map_err(|error| error.to_string())?;
        expect(wire.schema_version == 1, "its schemaVersion is not 1")?;
        expect(
            wire.kind == "interactive",
            "its kind is not \"interactive\"",
        )?;
        expect(is_root_id(&wire.root_id), ROOT_ID)?;
        Ok(Marker {
            root_id: wire.root_id,
            identity: (wire.root_identity.dev, wire.root_identity.ino),
        })
    }
}

/// Where a Host is, and which.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Registration {
    pub(super) root_id: String,
    pub(super) host_epoch: String,
    pub(super) endpoint: PathBuf,
    pub(super) compatibility_epoch: u64,
    pub(super) state: String,
    pub(super) pid: i32,
}

const ROOT_ID: &str = "its rootId is not 64 lower-case hexadecimal digits";
const STATES: [&str; 5] = ["starting", "containing", "recovering", "ready", "draining"];

impl Registration {
    /// Reads a registration; the error is the end of a sentence.
    pub(super) fn read(text: &str) -> Result<Registration, String> {
        let wire: wire::Registration =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        expect(
            wire.kind == "maka-runtime-host",
            "its kind is not \"maka-runtime-host\"",
        )?;
        expect(wire.schema_version == 1, "its schemaVersion is not 1")?;
        expect(is_root_id(&wire.root_id), ROOT_ID)?;
        expect(
            (1..=128).contains(&units(&wire.host_epoch)),
            "its hostEpoch has not 1 to 128 characters",
        )?;
        expect(
            (1..=512).contains(&units(&wire.endpoint)),
            "its endpoint has not 1 to 512 characters",
        )?;
        expect(
            wire.compatibility_epoch <= 1_000_000,
            "its compatibilityEpoch is too large",
        )?;
        expect(
            STATES.contains(&wire.state.as_str()),
            "its state is not a known one",
        )?;
        expect(wire.pid > 0, "its pid is not a process number")?;
        Ok(Registration {
            root_id: wire.root_id,
            host_epoch: wire.host_epoch,
            endpoint: wire.endpoint.into(),
            compatibility_epoch: wire.compatibility_epoch,
            state: wire.state,
            pid: wire.pid,
        })
    }
}

fn expect(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(otherwise.to_owned())
    }
}

fn is_root_id(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Length as the Host's language counts it.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The names of the files.
mod wire {
    use super::Deserialize;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Marker {
        pub(super) schema_version: u64,
        pub(super) kind: String,
        pub(super) root_id: String,
        pub(super) root_identity: Identity,
    }

    #[derive(Deserialize)]
    pub(super) struct Identity {
        pub(super) dev: String,
        pub(super) ino: String,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Registration {
        pub(super) kind: String,
        pub(super) schema_version: u64,
        pub(super) root_id: String,
        pub(super) host_epoch: String,
        pub(super) endpoint: String,
        /// Hosts from before there was one have none.
        #[serde(default)]
        pub(super) compatibility_epoch: u64,
        pub(super) state: String,
        pub(super) pid: i32,
    }
}
