//! The far ends of the engine, scripted for tests: a [`RecordedHost`] that plays what a
//! real Host once said, a [`Desk`] with an editor, a clock and a Host around one engine,
//! and an [`Oracle`] that knows what ACP allows.
//!
//! Nothing here may touch a socket, a real clock or wasmtime: what a test does is decided
//! by the test alone. Invariant: the same test gives the same bytes every time.

pub mod beyond;
pub mod conversation;
pub mod crowd;
pub mod desk;
pub mod meta;
pub mod names;
pub mod oracle;
pub mod recorded_host;
pub mod recording;
pub mod scripted_cli;
pub mod scripted_host;

pub use desk::{Absent, Cut, Desk, Peer};
pub use names::Names;
pub use oracle::Oracle;
pub use recorded_host::{RecordedHost, Report, Say};
pub use recording::Recording;

/// SHA-256 of a text, as lower-case hex.
pub fn sha256(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
