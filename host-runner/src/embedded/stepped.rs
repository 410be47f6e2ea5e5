//! A connection without a socket, for tests that want every frame in its place: lines in,
//! lines out, and the Host does nothing but what it is asked for. Touches the world as a
//! connection of `connection` does, by the same functions. Invariant: between two calls
//! nothing changes in a Host whose clock is [`Clock::Stepped`](super::Clock).

use std::sync::Arc;

use super::connection::{self, Greeting};
use super::operations;
use super::outbox::{Next, Outbox};
use super::session::Waiter;
use super::world::World;

/// What a client hears next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A frame, without its line end.
    Frame(String),
    /// All is quiet until the client says something.
    Quiet,
    /// The Host has ended the connection.
    Ended,
}

/// A connection that is stepped.
pub struct Line {
    world: Arc<World>,
    outbox: Arc<Outbox>,
    state: State,
}

enum State {
    /// Nothing was said yet.
    Fresh,
    /// The greeting waits to be heard.
    Greeted {
        reply: String,
        accepted: bool,
    },
    Open(u64),
    Ended,
}

impl Line {
    /// Connects without a word.
    pub fn connect(world: &Arc<World>) -> Line {
        Line {
            world: world.clone(),
            outbox: Arc::default(),
            state: State::Fresh,
        }
    }

    /// The client says a line.
    pub fn say(&mut self, line: &str) {
        self.world.gate.settle();
        match &self.state {
            State::Fresh => {
                self.state = match connection::greeting(&self.world, line.as_bytes()) {
                    Some(Greeting { reply, accepted }) => State::Greeted { reply, accepted },
                    None => State::Ended,
                }
            }
            State::Open(connection) => {
                let connection = *connection;
                match connection::request(line.as_bytes(), &self.outbox) {
                    Some((waiter, input, verdict)) => {
                        let waiter = Waiter {
                            connection,
                            ..waiter
                        };
                        operations::serve(&self.world, waiter, &input, &verdict);
                    }
                    None => self.end(),
                }
                self.world.gate.settle();
            }
            // A client that does not wait for the greeting.
            State::Greeted { .. } => self.end(),
            State::Ended => {}
        }
    }

    /// What the client hears next; plays go on, step by step, until there is something.
    pub fn hear(&mut self) -> Heard {
        self.world.gate.settle();
        if let State::Greeted { reply, accepted } = &self.state {
            let frame = Heard::Frame(reply.clone());
            self.state = if *accepted {
                State::Open(self.world.lock().connect(self.outbox.clone()))
            } else {
                State::Ended
            };
            return frame;
        }
        loop {
            if matches!(self.state, State::Ended) {
                return Heard::Ended;
            }
            match self.outbox.poll() {
                Next::Frame(frame) => {
                    self.world.frame_sent();
                    return Heard::Frame(frame);
                }
                Next::Over => self.end(),
                Next::Nothing if self.world.gate.step() => {}
                Next::Nothing => return Heard::Quiet,
            }
        }
    }

    /// The client goes.
    pub fn end(&mut self) {
        self.world.gate.settle();
        if let State::Open(connection) = self.state {
            self.outbox.close();
            self.world.lock().disconnect(connection);
        }
        self.state = State::Ended;
    }
}
