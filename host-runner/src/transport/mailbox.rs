//! Where arrivals wait for the next round.
//!
//! Every source (the editor, each channel, the files) has a queue of its own, bounded by
//! [`limits::WAITING`]: a reader whose queue is full waits, which leaves the bytes with the
//! peer, and slows nobody else. It may touch nothing but memory. Invariant: a source's
//! arrivals leave in the order of the contract (opened or refused once, then what comes,
//! `ended` last, nothing after a close), and no source waits longer than one round for its
//! turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::limits;
use crate::words::{AcpArrival, Channel, Ending, FileArrival, Handle, HostArrival, Input};

/// The one meeting point of all edge threads and `drive`. Clones share it.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Something arrived.
    arrived: Condvar,
    /// Something was taken, resumed or closed: a waiting reader looks again.
    taken: Condvar,
}

impl Mailbox {
    /// An empty mailbox.
    #[must_use]
    pub fn new() -> Mailbox {
        Mailbox::default()
    }

    /// Waits until something is there, or until `until` (for ever with `None`), and takes
    /// one round of it: what the editor sent first (at most [`limits::ACP_ROUND`] bytes),
    /// then at most one chunk a channel, then answers about files. Empty only when `until`
    /// has passed.
    #[must_use]
    pub fn round(&self, until: Option<Instant>) -> Vec<Input> {
        let mut state = self.lock();
        loop {
            let inputs = state.take_round();
            if !inputs.is_empty() {
                self.0.taken.notify_all();
                return inputs;
            }
            state = match until {
                None => self
                    .0
                    .arrived
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    // The clock is read for waiting only; no value of it goes further.
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Vec::new();
                    }
                    let waited = self.0.arrived.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// The editor's side of the mailbox.
    pub(super) fn editor(&self) -> Feed {
        Feed {
            mailbox: self.clone(),
            source: SourceName::Editor,
        }
    }

    /// A new channel's side of the mailbox.
    pub(super) fn open(&self, channel: Channel) -> Feed {
        self.lock().channels.insert(channel, Source::default());
        Feed {
            mailbox: self.clone(),
            source: SourceName::Channel(channel),
        }
    }

    /// Lets a channel's bytes come (`true`) or leaves them with the peer. What ends a
    /// channel, and what a child says about itself, comes in either case.
    pub(super) fn read(&self, channel: Channel, reading: bool) {
        if let Some(source) = self.lock().channels.get_mut(&channel) {
            source.paused = !reading;
        }
        self.0.taken.notify_all();
        self.0.arrived.notify_all();
    }

    /// Forgets a channel: nothing of it arrives any more, whatever its threads still say.
    pub(super) fn close(&self, channel: Channel) {
        self.lock().channels.remove(&channel);
        self.0.taken.notify_all();
    }

    /// Puts the end of the editor before everything that waits: the program was told to end.
    pub(super) fn interrupt(&self, why: String) {
        let mut state = self.lock();
        state.editor.bytes.clear();
        state.editor.waiting = 0;
        state.editor.end(Ending::Broken(why));
        drop(state);
        self.0.taken.notify_all();
        self.0.arrived.notify_all();
    }

    /// The program ends: nothing arrives any more. Readers of channels go on and throw away
    /// what they read, so that no child is stuck in its last words; the editor's stops.
    pub(super) fn shut(&self) {
        let mut state = self.lock();
        *state = State {
            shut: true,
            editor_gone: true,
            ..State::default()
        };
        drop(state);
        self.0.taken.notify_all();
    }

    /// An answer about a file, unless the handle was closed meanwhile. Waits while too many
    /// of them wait for a round.
    pub(crate) fn file(&self, handle: Handle, arrival: FileArrival) {
        let full = |state: &mut State| !state.shut && state.files_waiting >= limits::FILES_ROUND;
        let waited = self.0.taken.wait_while(self.lock(), full);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if !state.shut && !state.closed_files.contains(&handle) {
            state.files_waiting += weight(&arrival);
            state.files.push_back((handle, arrival));
            self.0.arrived.notify_all();
        }
    }

    /// From now on no answer about this file arrives.
    pub(crate) fn close_file(&self, handle: Handle) {
        let mut state = self.lock();
        state.files.retain(|(of, _)| *of != handle);
        state.files_waiting = state.files.iter().map(|(_, arrival)| weight(arrival)).sum();
        state.closed_files.insert(handle);
        drop(state);
        self.0.taken.notify_all();
    }

    /// The files have seen the close as well: no late answer can come, forget the handle.
    pub(crate) fn file_closed(&self, handle: Handle) {
        self.lock().closed_files.remove(&handle);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One source's side of the mailbox, held by the threads that fill it. Everything said
/// after the source was closed, or after its end, is dropped.
#[derive(Clone)]
pub(super) struct Feed {
    mailbox: Mailbox,
    source: SourceName,
}

#[derive(Clone, Copy)]
enum SourceName {
    Editor,
    Channel(Channel),
}

impl Feed {
    /// Waits until there is room for more bytes and nobody paused the source. `false`: the
    /// source is gone, stop reading.
    pub(super) fn room(&self) -> bool {
        let mut state = self.mailbox.lock();
        loop {
            match state.source(self.source) {
                None => return state.shut && matches!(self.source, SourceName::Channel(_)),
                Some(source) if source.end.is_some() => return false,
                Some(source) if !source.is_full() => return true,
                Some(_) => {
                    let waited = self.mailbox.0.taken.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Whether [`Feed::room`] would wait now. A reader asks again between waiting for its
    /// pipe and reading from it, so that a pause takes hold at once.
    pub(super) fn is_full(&self) -> bool {
        let mut state = self.mailbox.lock();
        state
            .source(self.source)
            .is_some_and(|source| source.is_full())
    }

    /// Whether the component has been told of the end, or has closed the channel.
    pub(super) fn is_gone(&self) -> bool {
        self.mailbox.lock().source(self.source).is_none()
    }

    /// Bytes as they came, at most [`limits::CHUNK`] of them.
    pub(super) fn bytes(&self, bytes: &[u8]) {
        self.tell(|source| source.push_bytes(bytes));
    }

    /// How many bytes the peer has taken from the start.
    pub(super) fn drained(&self, bytes: u64) {
        self.tell(|source| source.drained = Some(bytes));
    }

    /// `opened` or `refused`; said once.
    pub(super) fn opening(&self, arrival: HostArrival) {
        self.tell(|source| source.opening = Some(arrival));
    }

    /// What a child said on stderr. Never waits: of what does not fit the end is kept.
    pub(super) fn diagnostic(&self, bytes: &[u8]) {
        self.tell(|source| source.push_diagnostic(bytes));
    }

    /// The child ended.
    pub(super) fn exited(&self, code: Option<i32>) {
        self.tell(|source| source.exited = Some(code));
    }

    /// Nothing more will come. The first end counts.
    pub(super) fn end(&self, ending: Ending) {
        self.tell(|source| source.end(ending));
    }

    fn tell(&self, say: impl FnOnce(&mut Source)) {
        let mut state = self.mailbox.lock();
        if let Some(source) = state.source(self.source)
            && source.end.is_none()
        {
            say(source);
            drop(state);
            self.mailbox.0.arrived.notify_all();
        }
    }
}

#[derive(Default)]
struct State {
    editor: Source,
    /// The editor's end was taken: nothing follows it.
    editor_gone: bool,
    channels: BTreeMap<Channel, Source>,
    files: VecDeque<(Handle, FileArrival)>,
    /// Bytes in `files`.
    files_waiting: usize,
    closed_files: BTreeSet<Handle>,
    /// The program ends.
    shut: bool,
}

impl State {
    fn source(&mut self, name: SourceName) -> Option<&mut Source> {
        match name {
            SourceName::Editor if self.editor_gone => None,
            SourceName::Editor => Some(&mut self.editor),
            SourceName::Channel(channel) => self.channels.get_mut(&channel),
        }
    }

    fn take_round(&mut self) -> Vec<Input> {
        let mut inputs = Vec::new();
        self.take_editor(&mut inputs);
        self.channels
            .retain(|channel, source| source.take_turn(*channel, &mut inputs));
        self.take_files(&mut inputs);
        inputs
    }

    fn take_editor(&mut self, inputs: &mut Vec<Input>) {
        if self.editor_gone {
            return;
        }
        let mut taken = 0;
        while taken < limits::ACP_ROUND
            && let Some(bytes) = self.editor.take_bytes()
        {
            taken += bytes.len();
            inputs.push(Input::Acp(AcpArrival::Bytes(bytes)));
        }
        if let Some(drained) = self.editor.drained.take() {
            inputs.push(Input::Acp(AcpArrival::Drained(drained)));
        }
        if self.editor.bytes.is_empty()
            && let Some(ending) = self.editor.end.take()
        {
            self.editor_gone = true;
            inputs.push(Input::Acp(AcpArrival::Ended(ending)));
        }
    }

    fn take_files(&mut self, inputs: &mut Vec<Input>) {
        let mut taken = 0;
        while taken < limits::FILES_ROUND
            && let Some((handle, arrival)) = self.files.pop_front()
        {
            taken += weight(&arrival);
            self.files_waiting -= weight(&arrival);
            inputs.push(Input::File((handle, arrival)));
        }
    }
}

/// Bytes of an answer about a file, roughly where only the number of facts counts.
fn weight(arrival: &FileArrival) -> usize {
    const FACTS: usize = 256;
    match arrival {
        FileArrival::Data((_, bytes)) => bytes.len(),
        FileArrival::Entries(entries) => entries.len() * FACTS,
        FileArrival::Facts(_) | FileArrival::Refused(_) | FileArrival::Done => FACTS,
    }
}

/// What waits of one source.
#[derive(Default)]
struct Source {
    opening: Option<HostArrival>,
    bytes: VecDeque<Vec<u8>>,
    /// Bytes in `bytes`.
    waiting: usize,
    diagnostic: Vec<u8>,
    /// Bytes of stderr that came before those in `diagnostic` and did not fit.
    left_out: u64,
    drained: Option<u64>,
    exited: Option<Option<i32>>,
    end: Option<Ending>,
    paused: bool,
}

impl Source {
    fn is_full(&self) -> bool {
        self.paused || self.waiting >= limits::WAITING
    }

    /// Joins small chunks, so that a peer that writes line by line costs no more rounds
    /// than one that writes in bulk.
    fn push_bytes(&mut self, bytes: &[u8]) {
        self.waiting += bytes.len();
        match self.bytes.back_mut() {
            Some(last) if last.len() + bytes.len() <= limits::CHUNK => {
                last.extend_from_slice(bytes)
            }
            _ => self.bytes.push_back(bytes.to_vec()),
        }
    }

    fn push_diagnostic(&mut self, bytes: &[u8]) {
        self.diagnostic.extend_from_slice(bytes);
        // The last words are the ones that say why it ended.
        let over = self.diagnostic.len().saturating_sub(limits::DIAGNOSTIC);
        self.diagnostic.drain(..over);
        self.left_out += over as u64;
    }

    fn end(&mut self, ending: Ending) {
        self.end.get_or_insert(ending);
    }

    fn take_bytes(&mut self) -> Option<Vec<u8>> {
        if self.paused {
            return None;
        }
        let bytes = self.bytes.pop_front()?;
        self.waiting -= bytes.len();
        Some(bytes)
    }

    /// One channel's turn. `false`: it said its last word.
    fn take_turn(&mut self, channel: Channel, inputs: &mut Vec<Input>) -> bool {
        let mut say = |arrival| inputs.push(Input::Host((channel, arrival)));
        if let Some(opening) = self.opening.take() {
            let refused = matches!(opening, HostArrival::Refused(_));
            say(opening);
            if refused {
                return false;
            }
        }
        if let Some(bytes) = self.take_bytes() {
            say(HostArrival::Bytes(bytes));
        }
        if self.left_out > 0 {
            let note = format!(
                "\n[{} bytes left out]\n",
                std::mem::take(&mut self.left_out)
            );
            say(HostArrival::Diagnostic(note.into_bytes()));
        }
        if !self.diagnostic.is_empty() {
            say(HostArrival::Diagnostic(std::mem::take(
                &mut self.diagnostic,
            )));
        }
        if let Some(drained) = self.drained.take() {
            say(HostArrival::Drained(drained));
        }
        // The exit waits for the bytes that came before it, unless nobody takes those.
        if (self.bytes.is_empty() || self.paused)
            && let Some(code) = self.exited.take()
        {
            say(HostArrival::Exited(code));
        }
        if self.bytes.is_empty()
            && let Some(ending) = self.end.take()
        {
            say(HostArrival::Ended(ending));
            return false;
        }
        true
    }
}

#[cfg(test)]
#[path = "mailbox_tests.rs"]
mod tests;
