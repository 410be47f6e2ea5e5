//! The loop of the runner on virtual time: one round of arrivals, one call, its effects.
//!
//! Invariant: effects are carried out in order before the next call, as the law says.

use airlock_engine::{
    AcpArrival, AcpDeparture, Channel, Effect, Ending, Engine, HostArrival, HostDeparture, Input,
    Timer,
};

use super::stream::Stream;
use super::{Call, Desk, Peer, Ran};
use crate::recorded_host::Say;

/// One channel as the engine sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Wire {
    /// Bytes of the engine that have no line end yet.
    pub(super) tail: Vec<u8>,
    /// What the Host said and the engine has not read.
    pub(super) incoming: Stream,
    pub(super) reading: bool,
    /// Comes after the last byte.
    pub(super) ending: Option<Ending>,
    pub(super) taken: u64,
}

impl<P: Peer> Desk<P> {
    pub(super) fn next_timer(&self) -> Option<(Timer, u64)> {
        self.timers
            .iter()
            .map(|(timer, due)| (*timer, *due))
            .min_by_key(|(timer, due)| (*due, *timer))
    }

    pub(super) fn pass(&mut self, until: u64) {
        self.now.wall += until - self.now.monotonic;
        self.now.monotonic = until;
    }

    pub(super) fn listening(&self) -> Option<Channel> {
        self.wires
            .iter()
            .rev()
            .find(|(_, it)| it.reading && it.ending.is_none())
            .map(|(id, _)| *id)
    }

    /// One round of arrivals: the editor's first, then at most one chunk a channel.
    pub(super) fn round(&mut self) -> Vec<Input> {
        let mut inputs: Vec<Input> = Vec::new();
        if let Some(chunk) = self.from_editor.chunk() {
            inputs.push(Input::Acp(AcpArrival::Bytes(chunk)));
        } else if let Some(ending) = self.editor_ended.take() {
            inputs.push(Input::Acp(AcpArrival::Ended(ending)));
        }
        if self.editor_reads && self.drained < self.sent {
            self.drained = self.sent;
            inputs.push(Input::Acp(AcpArrival::Drained(self.sent)));
        }
        if !self.batching && !inputs.is_empty() {
            return inputs;
        }
        if self.batching {
            inputs.extend(self.arrivals.drain(..));
        } else if let Some(arrival) = self.arrivals.pop_front() {
            return vec![arrival];
        }
        let mut gone = Vec::new();
        for (channel, wire) in &mut self.wires {
            if !wire.reading {
                continue;
            }
            if let Some(chunk) = wire.incoming.chunk() {
                inputs.push(Input::Host(*channel, HostArrival::Bytes(chunk)));
            } else if let Some(ending) = wire.ending.take() {
                inputs.push(Input::Host(*channel, HostArrival::Ended(ending)));
                gone.push(*channel);
            }
            if !self.batching && !inputs.is_empty() {
                break;
            }
        }
        for channel in gone {
            self.wires.remove(&channel);
        }
        inputs
    }

    pub(super) fn call(&mut self, inputs: Vec<Input>) {
        if self.restoring {
            let state = self.engine.snapshot();
            let restored = Engine::restore(&self.config, &state);
            self.engine = restored.unwrap_or_else(|e| panic!("a snapshot is refused: {e}"));
            let effects = self
                .engine
                .handle(self.now, Vec::new())
                .expect("a restored engine answers");
            self.carry_out(effects);
        }
        let effects = self
            .engine
            .handle(self.now, inputs.clone())
            .expect("the engine answers");
        self.calls.push(Call {
            now: self.now,
            inputs,
            effects: effects.clone(),
        });
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            assert!(self.done.is_none(), "an effect after the end: {effect:?}");
            match effect {
                Effect::Acp(AcpDeparture::Bytes(bytes)) => self.editor_gets(&bytes),
                Effect::Acp(AcpDeparture::Finish) => self.editor_finished = true,
                Effect::Host(channel, departure) => self.departs(channel, departure),
                Effect::File(handle, departure) => {
                    let answer = self
                        .files
                        .answer(handle, departure)
                        .filter(|_| self.files_answer);
                    self.arrivals
                        .extend(answer.map(|answer| Input::File(handle, answer)));
                }
                Effect::Arm(timer, due) => {
                    self.timers.insert(timer, due);
                }
                Effect::Disarm(timer) => {
                    self.timers.remove(&timer);
                }
                Effect::Note(level, text) => self.notes.push((level, text)),
                Effect::Done(code) => {
                    self.done = Some(code);
                    self.left_armed = self.armed();
                    self.timers.clear();
                }
            }
        }
    }

    fn editor_gets(&mut self, bytes: &[u8]) {
        assert!(!self.editor_finished, "bytes after the end of the stream");
        self.sent += bytes.len() as u64;
        assert!(
            bytes.ends_with(b"\n"),
            "no whole messages: {}",
            String::from_utf8_lossy(bytes)
        );
        for line in lines(&mut self.to_editor_tail, bytes) {
            self.oracle.said(&line);
            self.agreed(&line);
            self.log.push(format!("< {line}"));
            self.said.push_back(line);
        }
    }

    fn departs(&mut self, channel: Channel, departure: HostDeparture) {
        match departure {
            HostDeparture::Open(target) => {
                if let Some(ran) = self.host.runs(&target) {
                    return self.run(channel, ran);
                }
                let arrival = match self.host.open(&target) {
                    Ok(facts) => {
                        let mut wire = Wire {
                            reading: true,
                            ..Wire::default()
                        };
                        wire.incoming.cut = self.from_editor.cut;
                        self.wires.insert(channel, wire);
                        HostArrival::Opened(facts)
                    }
                    Err(refusal) => HostArrival::Refused(refusal),
                };
                self.arrivals.push_back(Input::Host(channel, arrival));
            }
            HostDeparture::Bytes(bytes) => {
                let Some(wire) = self.wires.get_mut(&channel) else {
                    return;
                };
                wire.taken += bytes.len() as u64;
                let taken = wire.taken;
                for line in lines(&mut wire.tail, &bytes) {
                    self.to_host.push((channel, line.clone()));
                    let said = self.host.line(&line);
                    self.hear(channel, said);
                }
                self.arrivals
                    .push_back(Input::Host(channel, HostArrival::Drained(taken)));
            }
            HostDeparture::Read(on) => {
                if let Some(wire) = self.wires.get_mut(&channel) {
                    wire.reading = on;
                }
            }
            HostDeparture::Finish | HostDeparture::Terminate
                if !self.wires.contains_key(&channel) => {}
            HostDeparture::Finish | HostDeparture::Terminate => {
                self.host.closed();
                if self.host.obeys()
                    && let Some(wire) = self.wires.get_mut(&channel)
                {
                    wire.ending = Some(Ending::Eof);
                }
            }
            HostDeparture::Close => {
                if self.wires.remove(&channel).is_some() {
                    self.host.closed();
                }
                self.arrivals
                    .retain(|it| !matches!(it, Input::Host(of, _) if *of == channel));
            }
        }
    }

    /// A process that runs by itself.
    fn run(&mut self, channel: Channel, ran: Ran) {
        let mut arrivals = vec![HostArrival::Opened(Vec::new())];
        if !ran.out.is_empty() {
            arrivals.push(HostArrival::Bytes(ran.out.into_bytes()));
        }
        if !ran.said.is_empty() {
            arrivals.push(HostArrival::Diagnostic(ran.said.into_bytes()));
        }
        if let Some(code) = ran.code {
            arrivals.push(HostArrival::Exited(Some(code)));
            arrivals.push(HostArrival::Ended(Ending::Eof));
        }
        let arrivals = arrivals.into_iter().map(|it| Input::Host(channel, it));
        self.arrivals.extend(arrivals);
    }

    pub(super) fn hear(&mut self, channel: Channel, said: Vec<Say>) {
        let Some(wire) = self.wires.get_mut(&channel) else {
            return;
        };
        for say in said {
            match say {
                Say::Line(line) => {
                    wire.incoming.push(line.as_bytes());
                    wire.incoming.push(b"\n");
                }
                Say::Close => wire.ending = Some(Ending::Broken("connection reset".to_owned())),
            }
        }
    }
}

/// Whole lines of `bytes`, after what `tail` holds.
fn lines(tail: &mut Vec<u8>, bytes: &[u8]) -> Vec<String> {
    tail.extend_from_slice(bytes);
    let Some(end) = tail.iter().rposition(|byte| *byte == b'\n') else {
        return Vec::new();
    };
    let whole: Vec<u8> = tail.drain(..=end).collect();
    let text = String::from_utf8(whole).expect("messages are UTF-8");
    text.strip_suffix('\n')
        .unwrap_or(&text)
        .split('\n')
        .map(str::to_owned)
        .collect()
}
