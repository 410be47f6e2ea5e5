//! Who may sit at the far end of the Host channels.
//!
//! Pure. Invariant: a peer speaks only when it is spoken to, or when the desk says that
//! all is quiet.

use airlock_engine::{HostRefusal, Target};
use serde_json::Value;

use crate::recorded_host::{RecordedHost, Say};

/// The far end of the Host channels, one connection at a time.
pub trait Peer {
    /// The engine opens a channel.
    ///
    /// # Errors
    /// Why it may not.
    fn open(&mut self, target: &Target) -> Result<Vec<(String, String)>, HostRefusal>;

    /// The engine said this line.
    fn line(&mut self, line: &str) -> Vec<Say>;

    /// When all is quiet: what the Host says by itself.
    fn next(&mut self) -> Option<Say>;

    /// The engine closed its end.
    fn closed(&mut self);

    /// A process that runs by itself from its beginning to its end, if the target is one.
    fn runs(&mut self, _: &Target) -> Option<Ran> {
        None
    }

    /// Whether it ends when it is asked to.
    fn obeys(&self) -> bool {
        true
    }
}

/// What came of a process that ran by itself.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// On its stdout.
    pub out: String,
    /// On its stderr.
    pub said: String,
    /// Its exit code; `None`: it hangs.
    pub code: Option<i32>,
}

impl Peer for RecordedHost {
    fn open(&mut self, _: &Target) -> Result<Vec<(String, String)>, HostRefusal> {
        if self.is_away() {
            Err(HostRefusal::Absent)
        } else {
            Ok(self.opened())
        }
    }

    fn line(&mut self, line: &str) -> Vec<Say> {
        RecordedHost::line(self, line)
    }

    fn next(&mut self) -> Option<Say> {
        self.next_frame()
    }

    fn closed(&mut self) {
        self.drop_connection();
    }
}

/// A Host that plays frame by frame.
pub trait Playing: Peer {
    /// Everything up to and with the first frame that `wanted` accepts.
    fn play_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Say>;
}

impl Playing for RecordedHost {
    fn play_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Say> {
        RecordedHost::play_until(self, wanted)
    }
}

/// No Host at all.
#[derive(Clone, Copy, Debug)]
pub struct Absent;

impl Peer for Absent {
    fn open(&mut self, _: &Target) -> Result<Vec<(String, String)>, HostRefusal> {
        Err(HostRefusal::Absent)
    }

    fn line(&mut self, line: &str) -> Vec<Say> {
        panic!("said to nobody: {line}")
    }

    fn next(&mut self) -> Option<Say> {
        None
    }

    fn closed(&mut self) {}
}
