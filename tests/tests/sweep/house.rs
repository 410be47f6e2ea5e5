//! The embedded Host at the desk: one connection at a time, frame by frame, and the faults
//! that it cannot have itself, since they strike on the way to it.
//!
//! Invariant: between two words of the engine the Host does one thing at most.

use std::sync::Arc;

use airlock_engine::{HostRefusal, Target};
use airlock_tests::{Peer, Say};
use serde_json::Value;

use crate::embedded::{Heard, Line, World};

/// The Host and what went over the wire.
pub struct House {
    pub world: Arc<World>,
    line: Option<Line>,
    /// What the engine said, the hello of each connection included.
    pub said: usize,
    /// What it heard, without the greetings.
    pub heard: usize,
    /// The operations that were answered, in order.
    pub answered: Vec<String>,
    /// Turns for which a Stop has arrived, in order.
    pub stopped: Vec<String>,
    /// The connection is gone when this many lines were said; the last one is not heard.
    pub cut_at: Option<usize>,
    /// How often nobody is there when a connection is wanted that is not the first.
    pub absent: usize,
    connected: usize,
    /// Steps that the Host takes while a lost connection is made anew.
    pub goes_on: usize,
}

impl House {
    pub fn new(world: Arc<World>) -> House {
        House {
            world,
            line: None,
            said: 0,
            heard: 0,
            answered: Vec::new(),
            stopped: Vec::new(),
            cut_at: None,
            absent: 0,
            connected: 0,
            goes_on: 0,
        }
    }
}

impl Peer for House {
    fn open(&mut self, _: &Target) -> Result<Vec<(String, String)>, HostRefusal> {
        if self.connected > 0 && self.absent > 0 {
            self.absent -= 1;
            return Err(HostRefusal::Absent);
        }
        if self.connected > 0 {
            self.world.go_on(self.goes_on);
        }
        self.connected += 1;
        self.line = Some(Line::connect(&self.world));
        let facts = [
            ("root-id", self.world.root_id().to_owned()),
            ("host-epoch", self.world.host_epoch()),
            ("compatibility-epoch", "39".to_owned()),
        ];
        Ok(facts.map(|(name, fact)| (name.to_owned(), fact)).to_vec())
    }

    fn line(&mut self, line: &str) -> Vec<Say> {
        self.said += 1;
        let Some(wire) = &mut self.line else {
            return Vec::new();
        };
        if self.cut_at == Some(self.said) {
            wire.end();
        } else {
            let frame: Value = serde_json::from_str(line).expect("the engine writes JSON");
            if frame["operation"] == "turn.stop" {
                self.stopped.push(frame["input"]["turnId"].to_string());
            }
            wire.say(line);
        }
        // What it says comes later, one frame at a time.
        Vec::new()
    }

    fn next(&mut self) -> Option<Say> {
        match self.line.as_mut()?.hear() {
            Heard::Quiet => None,
            Heard::Ended => {
                self.line = None;
                Some(Say::Close)
            }
            Heard::Frame(frame) => {
                let value: Value = serde_json::from_str(&frame).expect("the Host writes JSON");
                if value["kind"] != "accepted" {
                    self.heard += 1;
                }
                if let (Some(_), Some(operation)) =
                    (value["requestId"].as_str(), value["operation"].as_str())
                {
                    self.answered.push(operation.to_owned());
                }
                Some(Say::Line(frame))
            }
        }
    }

    fn closed(&mut self) {
        if let Some(mut line) = self.line.take() {
            line.end();
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.world.abandon();
    }
}
