//! The configuration: JSON, given once at `open` and again at `restore`.
//!
//! ```json
//! { "agent": { "name": "airlock", "title": "Airlock", "version": "0.1.0" },
//!   "host":  { "kind": "maka", "name": "maka" } }
//! ```
//! `host.kind` says which protocol is spoken, `host.name` which entry of the embedder's
//! grant table is opened. Unknown keys are ignored, so that an older component runs
//! under a newer embedder.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use crate::fault::Fault;

/// What an embedder says about itself and the Host.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// What the editor is told in `initialize`.
    pub agent: Agent,
    /// Which Host to use.
    pub host: HostChoice,
    /// For tests of the embedder's rescue only: where to fail on purpose.
    #[serde(default)]
    pub fault: Option<PlannedFault>,
}

/// What the editor is told in `initialize` (`agentInfo`).
#[derive(Clone, Debug, Deserialize)]
pub struct Agent {
    /// Machine name.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Version of the embedder.
    pub version: String,
    /// How people start the embedder themselves, to sign in; empty if they cannot.
    #[serde(default)]
    pub command: String,
    /// What comes first behind that command, so that it signs in to the same Host.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// Which Host to use.
#[derive(Clone, Debug, Deserialize)]
pub struct HostChoice {
    /// Which protocol is spoken.
    pub kind: HostKind,
    /// Entry of the embedder's grant table; for [`HostKind::Claude`] the name of a program.
    pub name: String,
    /// Environment variables that change what is done, by name; of a secret only that it is
    /// set. Which ones: `host/claude/environment.rs`.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// The protocols of Hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostKind {
    /// Maka Runtime Host; the embedded Host speaks it too.
    Maka,
    /// Claude Code, a process for each session.
    Claude,
}

/// A failure on purpose: the first line, from either side, that contains `marker`.
#[derive(Clone, Debug, Deserialize)]
pub struct PlannedFault {
    /// Text to look for in a line.
    pub marker: String,
    /// What to do then.
    pub kind: PlannedFaultKind,
}

/// What a planned failure does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannedFaultKind {
    /// Panic.
    Trap,
    /// Never return.
    Spin,
    /// Take memory without end.
    Grow,
}

impl Config {
    /// Reads the JSON.
    ///
    /// # Errors
    /// [`Fault::Config`] with a sentence that names the key.
    pub fn read(json: &str) -> Result<Config, Fault> {
        serde_json::from_str(json).map_err(|e| Fault::Config(e.to_string()))
    }
}
