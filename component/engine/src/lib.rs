//! The Airlock adapter: what an editor asks in ACP becomes what a Host is asked in its own
//! protocol, and what the Host does becomes what the editor shows.
//!
//! # The law
//! **One call handles its inputs in order; every effect is carried out, in order, before
//! the next call; a call that traps had no effects.** The same configuration, seed and
//! inputs give the same effects, natively and in wasm.
//!
//! The engine is a state machine without I/O, clock, randomness, thread or async: time
//! and seed come in as data. [`Engine::handle`] is its only verb.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[doc(hidden)]
pub mod admission;
mod config;
#[doc(hidden)]
pub mod editor;
mod effect;
mod fault;
#[doc(hidden)]
pub mod host;
mod ids;
mod input;
#[doc(hidden)]
pub mod json;
pub mod limits;
mod line;
mod plumbing;
#[doc(hidden)]
pub mod projection;
mod rpc;
mod scan;
mod session;
mod snapshot;
mod stamp;

pub use config::{Agent, Config, HostChoice, HostKind, PlannedFault, PlannedFaultKind};
pub use effect::{
    AcpDeparture, Command, Effect, FileDeparture, HostDeparture, Inherit, Level, Request, Target,
};
pub use fault::Fault;
pub use input::{
    AcpArrival, Channel, Ending, FileArrival, FileFacts, FileKind, FileRefusal, Handle,
    HostArrival, HostRefusal, Input, Instant, Origin, Root, Timer,
};

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::plumbing::{Core, Due, Lasting};
use host::Command as HostCommand;
use host::claude::{self, Claude};
use host::maka::{self, Maka};
use host::{Cx, Module};
use line::{Line, Lines};
use rpc::{Bad, Message, RpcError, envelope, error};
use session::Sessions;

/// One ACP connection.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    state: State,
}

/// Everything that outlives a call; what a snapshot holds.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    version: u32,
    lasting: Lasting,
    sessions: Sessions,
    host: Module,
    deadline: Option<Timer>,
    done: bool,
}

impl Engine {
    /// Starts anew; `seed` is exactly 32 random bytes, from which all identifiers come.
    ///
    /// # Errors
    /// [`Fault::Config`] when the configuration or the seed cannot be used.
    pub fn open(config: &str, seed: &[u8]) -> Result<Engine, Fault> {
        let config = Config::read(config)?;
        let seed = <[u8; 32]>::try_from(seed)
            .map_err(|_| Fault::Config("the seed must be 32 bytes long".to_string()))?;
        let mut lasting = Lasting::new(seed);
        let client = lasting.ids.uuid();
        let mut sign_ins = Vec::new();
        let (host, habits, extension) = match config.host.kind {
            HostKind::Maka => {
                let maka = Maka::new(&config.host.name, client);
                (Module::Maka(maka.into()), maka::HABITS, maka::EXTENSION)
            }
            HostKind::Claude => {
                Claude::checked(&config.host).map_err(Fault::Config)?;
                let claude = Claude::new(&config.host);
                sign_ins = claude.sign_ins();
                let claude = Module::Claude(claude.into());
                (claude, claude::HABITS, claude::EXTENSION)
            }
        };
        let mut sessions = Sessions::new(extension, habits);
        sessions.editor.sign_ins = sign_ins;
        let state = State {
            version: snapshot::VERSION,
            lasting,
            sessions,
            host,
            deadline: None,
            done: false,
        };
        Ok(Engine { config, state })
    }

    /// Takes over from another instance. Channels and handles that no longer exist are
    /// reported as ended right after.
    ///
    /// # Errors
    /// [`Fault::Config`], or [`Fault::State`] when the state is of another version or damaged.
    pub fn restore(config: &str, state: &[u8]) -> Result<Engine, Fault> {
        let config = Config::read(config)?;
        let state = snapshot::read(state)?;
        Ok(Engine { config, state })
    }

    /// Everything that [`Engine::restore`] needs. Changes nothing.
    pub fn snapshot(&self) -> Vec<u8> {
        snapshot::write(&self.state)
    }

    /// Handles inputs in order and gives what is to be carried out, in order.
    ///
    /// # Errors
    /// [`Fault::Finished`] after [`Effect::Done`].
    pub fn handle(&mut self, now: Instant, inputs: Vec<Input>) -> Result<Vec<Effect>, Fault> {
        if self.state.done {
            return Err(Fault::Finished);
        }
        let Engine { config, state } = self;
        let State {
            lasting,
            sessions,
            host,
            deadline,
            done,
            ..
        } = state;
        let core = Core::new(now, lasting);
        let mut call = Call {
            config,
            core,
            sessions,
            host,
            deadline,
            done,
        };
        for input in inputs {
            if *call.done {
                break;
            }
            call.input(input);
        }
        Ok(call.core.into_effects())
    }
}

/// The rooms during a call.
struct Call<'a> {
    config: &'a Config,
    core: Core<'a>,
    sessions: &'a mut Sessions,
    host: &'a mut Module,
    deadline: &'a mut Option<Timer>,
    done: &'a mut bool,
}

impl Call<'_> {
    fn input(&mut self, input: Input) {
        match input {
            Input::Acp(AcpArrival::Bytes(bytes)) => self.acp_bytes(&bytes),
            Input::Acp(AcpArrival::Drained(count)) => {
                self.sessions.editor.drained(count);
                self.sessions.flush(&mut self.core);
            }
            Input::Acp(AcpArrival::Ended(_)) => self.editor_ended(),
            Input::Host(channel, arrival) => {
                self.planned_host_fault(&arrival);
                self.host(|host, cx| host.arrival(cx, channel, arrival));
            }
            Input::File(handle, arrival) => self.file(handle, Some(arrival)),
            Input::Expired(timer) => self.expired(timer),
            Input::Poison(origin) => self.poison(origin),
        }
        self.carry_out();
        if self.host.ended() {
            self.finish();
        }
    }

    /// Lines of the editor, in any cut. What one line asks of the Host is carried out before
    /// the next is read, so that the cut makes no difference.
    fn acp_bytes(&mut self, bytes: &[u8]) {
        let mut lines = core::mem::take(&mut self.sessions.editor.lines);
        lines.push(bytes, limits::ACP_LINE, |line| {
            match line {
                Line::TooLong => self.too_long(),
                Line::Whole(line) => self.acp_line(line),
            }
            self.carry_out();
        });
        self.sessions.editor.lines = lines;
    }

    fn too_long(&mut self) {
        let sentence = "A message is longer than 32 MiB and was skipped.";
        let error = RpcError::new(error::INVALID_REQUEST, sentence);
        self.sessions.editor.error(&mut self.core, None, &error);
    }

    fn acp_line(&mut self, line: &[u8]) {
        self.planned_fault(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match envelope::read(line) {
            Ok(Message::Request { id, method, params }) => {
                let Some(ticket) = self.sessions.editor.inbound.admit(id.get()) else {
                    let sentence = "This id is already used by a request that is still open.";
                    let error = RpcError::new(error::INVALID_REQUEST, sentence);
                    return self
                        .sessions
                        .editor
                        .error(&mut self.core, Some(id.get()), &error);
                };
                match self.sessions.editor.ask(&method, params) {
                    Ok(ask) => {
                        self.sessions
                            .ask(&mut self.core, &self.config.agent, ticket, ask);
                    }
                    Err(error) => self.sessions.editor.refuse(&mut self.core, ticket, &error),
                }
            }
            Ok(Message::Notification { method, params }) => {
                if let Some(tell) = self.sessions.editor.tell(&method, params) {
                    self.sessions.tell(&mut self.core, tell);
                }
            }
            Ok(Message::Response { id, outcome }) => {
                if let Some((waiter, reply)) = self.sessions.editor.replied(id.get(), outcome) {
                    self.sessions.replied(waiter, reply);
                }
            }
            Err(Bad::Parse) => {
                let error = RpcError::new(error::PARSE, "Parse error");
                self.sessions.editor.error(&mut self.core, None, &error);
            }
            Err(Bad::Invalid(id)) => {
                let error = RpcError::new(error::INVALID_REQUEST, "Invalid request");
                self.sessions.editor.error(&mut self.core, id, &error);
            }
        }
    }

    /// The editor is gone: what is ours is stopped, in bounded time.
    fn editor_ended(&mut self) {
        if self.sessions.ending() {
            return;
        }
        *self.deadline = Some(self.core.arm(Due::Shutdown, limits::SHUTDOWN_MS));
        self.sessions.shut_down(&mut self.core);
    }

    fn expired(&mut self, timer: Timer) {
        match self.core.due(timer) {
            Some(Due::Shutdown) => self.host(Module::end_now),
            Some(due) => self.host(|host, cx| host.due(cx, due)),
            None => {}
        }
    }

    fn file(&mut self, handle: Handle, arrival: Option<FileArrival>) {
        if let Some(owner) = self.core.file_owner(handle) {
            self.host(|host, cx| host.file(cx, owner, handle, arrival));
        }
    }

    /// The smallest answer to an input that trapped.
    fn poison(&mut self, origin: Origin) {
        match origin {
            Origin::Acp(line) => {
                self.core
                    .note(Level::Error, "a message of the editor could not be handled");
                // Its beginning may have come in an earlier call.
                self.sessions.editor.lines = Lines::default();
                self.acp_poison(&line);
            }
            Origin::Host(channel, _) => self.host(|host, cx| host.poisoned(cx, channel)),
            Origin::File(handle) => self.file(handle, None),
            Origin::Timer(timer) => match self.core.due(timer) {
                Some(Due::Shutdown) => self.finish(),
                Some(due) => self.host(|host, cx| host.timer_poisoned(cx, due)),
                None => {}
            },
        }
    }

    /// A request is answered, and so is what is no message; a notification wants no answer,
    /// and an answer that cannot be read counts as a refusal.
    fn acp_poison(&mut self, line: &[u8]) {
        let id = match envelope::read(line) {
            Ok(Message::Notification { .. }) => return,
            Ok(Message::Response { id, .. }) => {
                let refused = Err(RawValue::NULL);
                if let Some((waiter, reply)) = self.sessions.editor.replied(id.get(), refused) {
                    self.sessions.replied(waiter, reply);
                }
                return;
            }
            Ok(Message::Request { id, .. }) => Some(id.get()),
            Err(_) => core::str::from_utf8(line).ok().and_then(envelope::id_of),
        };
        let error = RpcError::new(
            error::INTERNAL,
            "This message could not be handled; nothing else is affected.",
        );
        self.sessions.editor.error(&mut self.core, id, &error);
    }

    fn host(&mut self, step: impl FnOnce(&mut Module, &mut Cx<'_, '_>)) {
        let mut cx = Cx {
            core: &mut self.core,
            listener: &mut *self.sessions,
        };
        step(self.host, &mut cx);
    }

    /// Hands the sessions' commands to the Host until there are none.
    fn carry_out(&mut self) {
        while let Some(command) = self.sessions.commands.pop_front() {
            let command: HostCommand = command;
            self.host(|host, cx| host.command(cx, command));
        }
    }

    fn finish(&mut self) {
        if core::mem::replace(self.done, true) {
            return;
        }
        if let Some(timer) = self.deadline.take() {
            self.core.disarm(timer);
        }
        self.core.effect(Effect::Acp(AcpDeparture::Finish));
        self.core.effect(Effect::Done(0));
    }

    fn planned_host_fault(&self, arrival: &HostArrival) {
        if let HostArrival::Bytes(bytes) = arrival {
            self.planned_fault(bytes);
        }
    }

    /// Fails on purpose where the configuration says so: tests of the embedder's rescue.
    fn planned_fault(&self, bytes: &[u8]) {
        let Some(planned) = &self.config.fault else {
            return;
        };
        if memchr::memmem::find(bytes, planned.marker.as_bytes()).is_none() {
            return;
        }
        match planned.kind {
            PlannedFaultKind::Trap => panic!("planned by the configuration"),
            PlannedFaultKind::Spin => loop {
                core::hint::spin_loop();
            },
            PlannedFaultKind::Grow => {
                let mut hoard: Vec<Vec<u8>> = Vec::new();
                loop {
                    hoard.push(alloc::vec![1; 1 << 20]);
                }
            }
        }
    }
}

/// Name, version, ACP versions, Hosts and their epochs, as JSON.
pub fn describe() -> String {
    format!(
        r#"{{"name":"airlock","version":"{}","acp":[{}],"hosts":{{"maka":{{"epochs":[{}]}},"claude":{{"recorded":["{}"]}}}}}}"#,
        env!("CARGO_PKG_VERSION"),
        editor::v1::answers::VERSION,
        maka::wire::current::EPOCH,
        claude::RECORDED,
    )
}
