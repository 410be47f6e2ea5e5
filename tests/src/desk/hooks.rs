//! What only tests of races need: arrivals and facts that a plain dialogue never sees.

use airlock_engine::{Input, Origin, Timer};

use super::{Desk, Peer};

impl<P: Peer> Desk<P> {
    /// An arrival that neither editor, Host, files nor clock bring by themselves.
    pub fn arrives(&mut self, input: Input) {
        if let Input::Poison(Origin::Timer(timer)) = &input {
            self.timers.remove(timer);
        }
        self.arrivals.push_back(input);
    }

    /// The editor sent this line earlier: its answer is to come.
    pub fn expect(&mut self, line: &str) {
        self.oracle.sent(line);
    }

    /// The Host says these bytes on the open channel, whatever they are.
    ///
    /// # Panics
    /// When no channel is open.
    pub fn host_says_bytes(&mut self, bytes: &[u8]) {
        let wire = self
            .wires
            .values_mut()
            .next_back()
            .expect("an open channel");
        wire.incoming.push(bytes);
    }

    /// The timers themselves, oldest first.
    pub fn timers(&self) -> Vec<Timer> {
        self.timers.keys().copied().collect()
    }

    /// Bytes of the engine's snapshot.
    pub fn state_size(&self) -> usize {
        self.engine.snapshot().len()
    }
}
