//! The plumbing that all rooms share: time, effects, identifiers, timers, file handles.
//!
//! Invariant: effects are in the order in which they were asked for; neighbouring bytes
//! to the same place are joined, so that one crossing carries them all.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::effect::{AcpDeparture, Effect, FileDeparture, HostDeparture, Level};
use crate::host::{claude, maka};
use crate::ids::Ids;
use crate::input::{Channel, Handle, Instant, Timer};

/// Room for what a full chunk of a Host becomes, so that it is not moved while it grows.
const ROOM: usize = 64 << 10;

/// What of the plumbing outlives a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lasting {
    /// Source of identifiers.
    pub ids: Ids,
    next_channel: Channel,
    next_timer: Timer,
    timers: BTreeMap<Timer, Due>,
    next_handle: Handle,
    files: BTreeMap<Handle, FileOwner>,
}

/// Who waits for a timer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Due {
    /// The Maka module.
    Maka(maka::Due),
    /// The Claude module.
    Claude(claude::Due),
    /// The end may wait no longer.
    Shutdown,
}

/// Who waits for a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileOwner {
    /// The Maka module's listing, for the folder filter.
    List(u64),
    /// The Maka module's load, for the folder.
    Load(u64),
    /// The Maka module's parcel of attachments.
    Parcel(u64),
    /// A job of the Claude module.
    Claude(u64),
    /// A session of the Claude module that shows a change before it is made.
    Preview(Channel, u64),
}

impl From<maka::Due> for Due {
    fn from(due: maka::Due) -> Due {
        Due::Maka(due)
    }
}

impl From<claude::Due> for Due {
    fn from(due: claude::Due) -> Due {
        Due::Claude(due)
    }
}

impl Lasting {
    /// All empty.
    pub fn new(seed: [u8; 32]) -> Lasting {
        Lasting {
            ids: Ids::new(seed),
            next_channel: 1,
            next_timer: 1,
            timers: BTreeMap::new(),
            next_handle: 1,
            files: BTreeMap::new(),
        }
    }
}

/// The plumbing during a call.
pub struct Core<'a> {
    /// When the inputs of this call were seen.
    pub now: Instant,
    lasting: &'a mut Lasting,
    effects: Vec<Effect>,
}

impl<'a> Core<'a> {
    /// At the start of a call.
    pub fn new(now: Instant, lasting: &'a mut Lasting) -> Core<'a> {
        Core {
            now,
            lasting,
            effects: Vec::new(),
        }
    }

    /// At the end of a call.
    pub fn into_effects(self) -> Vec<Effect> {
        self.effects
    }

    /// A fresh UUID.
    pub fn uuid(&mut self) -> String {
        self.lasting.ids.uuid()
    }

    /// A fresh channel.
    pub fn channel(&mut self) -> Channel {
        let channel = self.lasting.next_channel;
        self.lasting.next_channel += 1;
        channel
    }

    /// Asks for a file.
    pub fn file(&mut self, owner: FileOwner, departure: FileDeparture) -> Handle {
        let handle = self.lasting.next_handle;
        self.lasting.next_handle += 1;
        self.lasting.files.insert(handle, owner);
        self.effects.push(Effect::File(handle, departure));
        handle
    }

    /// Asks something more of an open file.
    pub fn file_again(&mut self, handle: Handle, owner: FileOwner, departure: FileDeparture) {
        self.lasting.files.insert(handle, owner);
        self.effects.push(Effect::File(handle, departure));
    }

    /// Lets go of an open file; no answer comes any more.
    pub fn file_close(&mut self, handle: Handle) {
        self.lasting.files.remove(&handle);
        self.effects
            .push(Effect::File(handle, FileDeparture::Close));
    }

    /// Takes away who waits for this file.
    pub fn file_owner(&mut self, handle: Handle) -> Option<FileOwner> {
        self.lasting.files.remove(&handle)
    }

    /// Arms a fresh timer, `after` milliseconds from now.
    pub fn arm(&mut self, due: Due, after: u64) -> Timer {
        let timer = self.lasting.next_timer;
        self.lasting.next_timer += 1;
        self.lasting.timers.insert(timer, due);
        self.effects
            .push(Effect::Arm(timer, self.now.monotonic.saturating_add(after)));
        timer
    }

    /// Disarms a timer that may already have gone off.
    pub fn disarm(&mut self, timer: Timer) {
        if self.lasting.timers.remove(&timer).is_some() {
            self.effects.push(Effect::Disarm(timer));
        }
    }

    /// Takes away who waits for this timer.
    pub fn due(&mut self, timer: Timer) -> Option<Due> {
        self.lasting.timers.remove(&timer)
    }

    /// Writes to the editor: `write` appends whole lines. Gives the number of bytes.
    pub fn acp(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u64 {
        if !matches!(
            self.effects.last(),
            Some(Effect::Acp(AcpDeparture::Bytes(_)))
        ) {
            let bytes = Vec::with_capacity(ROOM);
            self.effects.push(Effect::Acp(AcpDeparture::Bytes(bytes)));
        }
        let Some(Effect::Acp(AcpDeparture::Bytes(bytes))) = self.effects.last_mut() else {
            return 0;
        };
        let before = bytes.len();
        write(bytes);
        let written = (bytes.len() - before) as u64;
        if bytes.is_empty() {
            self.effects.pop();
        }
        written
    }

    /// Writes one line, without its end, to a channel.
    pub fn host_line(&mut self, channel: Channel, line: &[u8]) {
        let bytes = match self.effects.last_mut() {
            Some(Effect::Host(last, HostDeparture::Bytes(bytes))) if *last == channel => bytes,
            _ => {
                self.effects
                    .push(Effect::Host(channel, HostDeparture::Bytes(Vec::new())));
                match self.effects.last_mut() {
                    Some(Effect::Host(_, HostDeparture::Bytes(bytes))) => bytes,
                    _ => return,
                }
            }
        };
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }

    /// Anything else.
    pub fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// A line for the log; never message content.
    pub fn note(&mut self, level: Level, text: impl Into<String>) {
        self.effects.push(Effect::Note(level, text.into()));
    }
}
