//! The engine linked into this program, behind the same traits as the sandbox.
//!
//! For a debugger (`replay --native`) and for the tests that native and wasm give the same
//! effects. Translates words and nothing else; a panic counts as a trap.
//! Invariant: the only file of the runner that names the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use airlock_engine as engine;

use crate::adapter::{Adapter, Factory, Failure, Reason};
use crate::words;

/// Opens and restores native engines.
pub struct Native;

struct NativeAdapter(engine::Engine);

impl Factory for Native {
    fn open(&self, config: &str, seed: &[u8; 32]) -> Result<Box<dyn Adapter>, Failure> {
        let opened = guarded(|| engine::Engine::open(config, seed))?;
        Ok(Box::new(NativeAdapter(opened)))
    }

    fn restore(&self, config: &str, state: &[u8]) -> Result<Box<dyn Adapter>, Failure> {
        let restored = guarded(|| engine::Engine::restore(config, state))?;
        Ok(Box::new(NativeAdapter(restored)))
    }

    fn describe(&self) -> Result<String, Failure> {
        Ok(engine::describe())
    }
}

impl Adapter for NativeAdapter {
    fn handle(
        &mut self,
        now: words::Instant,
        inputs: &[words::Input],
    ) -> Result<Vec<words::Effect>, Failure> {
        let now = engine::Instant {
            monotonic: now.monotonic,
            wall: now.wall,
        };
        let inputs = inputs.iter().cloned().map(input).collect();
        let effects = guarded(|| self.0.handle(now, inputs))?;
        Ok(effects.into_iter().map(effect).collect())
    }

    fn snapshot(&mut self) -> Result<Vec<u8>, Failure> {
        guarded(|| Ok(self.0.snapshot()))
    }

    fn memory(&self) -> u64 {
        0 // shared with the whole program, and given back
    }
}

fn guarded<T>(call: impl FnOnce() -> Result<T, engine::Fault>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(fault)) => Err(Failure::Fault(match fault {
            engine::Fault::Config(why) => words::Fault::Config(why),
            engine::Fault::State(why) => words::Fault::State(why),
            engine::Fault::Finished => words::Fault::Finished,
        })),
        Err(panic) => {
            let words = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("without words");
            Err(Failure::Trapped(Reason::Other(format!(
                "it panicked: {words}"
            ))))
        }
    }
}

fn input(input: words::Input) -> engine::Input {
    match input {
        words::Input::Acp(arrival) => engine::Input::Acp(match arrival {
            words::AcpArrival::Bytes(bytes) => engine::AcpArrival::Bytes(bytes),
            words::AcpArrival::Drained(count) => engine::AcpArrival::Drained(count),
            words::AcpArrival::Ended(why) => engine::AcpArrival::Ended(ending(why)),
        }),
        words::Input::Host((channel, arrival)) => engine::Input::Host(channel, host(arrival)),
        words::Input::File((handle, arrival)) => engine::Input::File(handle, file(arrival)),
        words::Input::Expired(timer) => engine::Input::Expired(timer),
        words::Input::Poison(origin) => engine::Input::Poison(match origin {
            words::Origin::Acp(line) => engine::Origin::Acp(line),
            words::Origin::Host((channel, line)) => engine::Origin::Host(channel, line),
            words::Origin::File(handle) => engine::Origin::File(handle),
            words::Origin::Timer(timer) => engine::Origin::Timer(timer),
        }),
    }
}

fn ending(ending: words::Ending) -> engine::Ending {
    match ending {
        words::Ending::Eof => engine::Ending::Eof,
        words::Ending::Broken(why) => engine::Ending::Broken(why),
    }
}

fn host(arrival: words::HostArrival) -> engine::HostArrival {
    use engine::HostRefusal as To;
    use words::HostRefusal as Of;
    match arrival {
        words::HostArrival::Opened(facts) => engine::HostArrival::Opened(facts),
        words::HostArrival::Refused(refusal) => engine::HostArrival::Refused(match refusal {
            Of::NotAllowed => To::NotAllowed,
            Of::Absent => To::Absent,
            Of::NoFolder => To::NoFolder,
            Of::Stale => To::Stale,
            Of::Insecure(why) => To::Insecure(why),
            Of::Failed(why) => To::Failed(why),
        }),
        words::HostArrival::Response((status, headers)) => {
            engine::HostArrival::Response(status, headers)
        }
        words::HostArrival::Bytes(bytes) => engine::HostArrival::Bytes(bytes),
        words::HostArrival::Diagnostic(bytes) => engine::HostArrival::Diagnostic(bytes),
        words::HostArrival::Drained(count) => engine::HostArrival::Drained(count),
        words::HostArrival::Exited(code) => engine::HostArrival::Exited(code),
        words::HostArrival::Ended(why) => engine::HostArrival::Ended(ending(why)),
    }
}

fn file(arrival: words::FileArrival) -> engine::FileArrival {
    match arrival {
        words::FileArrival::Facts(found) => engine::FileArrival::Facts(facts(found)),
        words::FileArrival::Refused(refusal) => engine::FileArrival::Refused(match refusal {
            words::FileRefusal::NotAllowed => engine::FileRefusal::NotAllowed,
            words::FileRefusal::NotRegular => engine::FileRefusal::NotRegular,
            words::FileRefusal::Error(name) => engine::FileRefusal::Error(name),
        }),
        words::FileArrival::Data((offset, bytes)) => engine::FileArrival::Data(offset, bytes),
        words::FileArrival::Entries(entries) => engine::FileArrival::Entries(
            entries
                .into_iter()
                .map(|(name, found)| (name, facts(found)))
                .collect(),
        ),
        words::FileArrival::Done => engine::FileArrival::Done,
    }
}

fn facts(facts: words::FileFacts) -> engine::FileFacts {
    engine::FileFacts {
        kind: match facts.kind {
            words::FileKind::File => engine::FileKind::File,
            words::FileKind::Folder => engine::FileKind::Folder,
            words::FileKind::Other => engine::FileKind::Other,
        },
        canonical_path: facts.canonical_path,
        size: facts.size,
        modified: facts.modified,
        identity: facts.identity,
    }
}

fn effect(effect: engine::Effect) -> words::Effect {
    match effect {
        engine::Effect::Acp(departure) => words::Effect::Acp(match departure {
            engine::AcpDeparture::Bytes(bytes) => words::AcpDeparture::Bytes(bytes),
            engine::AcpDeparture::Finish => words::AcpDeparture::Finish,
        }),
        engine::Effect::Host(channel, departure) => {
            words::Effect::Host((channel, host_departure(departure)))
        }
        engine::Effect::File(handle, departure) => {
            words::Effect::File((handle, file_departure(departure)))
        }
        engine::Effect::Arm(timer, due) => words::Effect::Arm((timer, due)),
        engine::Effect::Disarm(timer) => words::Effect::Disarm(timer),
        engine::Effect::Note(level, text) => words::Effect::Note((
            match level {
                engine::Level::Error => words::Level::Error,
                engine::Level::Warn => words::Level::Warn,
                engine::Level::Info => words::Level::Info,
                engine::Level::Debug => words::Level::Debug,
            },
            text,
        )),
        engine::Effect::Done(code) => words::Effect::Done(code),
    }
}

fn host_departure(departure: engine::HostDeparture) -> words::HostDeparture {
    match departure {
        engine::HostDeparture::Open(to) => words::HostDeparture::Open(target(to)),
        engine::HostDeparture::Bytes(bytes) => words::HostDeparture::Bytes(bytes),
        engine::HostDeparture::Read(on) => words::HostDeparture::Read(on),
        engine::HostDeparture::Finish => words::HostDeparture::Finish,
        engine::HostDeparture::Terminate => words::HostDeparture::Terminate,
        engine::HostDeparture::Close => words::HostDeparture::Close,
    }
}

fn target(target: engine::Target) -> words::Target {
    match target {
        engine::Target::Host(name) => words::Target::Host(name),
        engine::Target::Process(command) => words::Target::Process(words::Command {
            program: command.program,
            args: command.args,
            inherit: match command.inherit {
                engine::Inherit::All => words::Inherit::All,
                engine::Inherit::Minimal => words::Inherit::Minimal,
            },
            env: command.env,
            cwd: command.cwd,
        }),
        engine::Target::Http(request) => words::Target::Http(words::Request {
            method: request.method,
            url: request.url,
            headers: request.headers,
        }),
    }
}

fn file_departure(departure: engine::FileDeparture) -> words::FileDeparture {
    match departure {
        engine::FileDeparture::Stat(at, path) => words::FileDeparture::Stat((root(at), path)),
        engine::FileDeparture::Open(at, path) => words::FileDeparture::Open((root(at), path)),
        engine::FileDeparture::Read(offset, length) => words::FileDeparture::Read((offset, length)),
        engine::FileDeparture::Entries(at, path) => words::FileDeparture::Entries((root(at), path)),
        engine::FileDeparture::Copy(old, new) => words::FileDeparture::Copy((old, new)),
        engine::FileDeparture::Create(path, bytes) => words::FileDeparture::Create((path, bytes)),
        engine::FileDeparture::Append(path, bytes) => words::FileDeparture::Append((path, bytes)),
        engine::FileDeparture::Remove(path) => words::FileDeparture::Remove(path),
        engine::FileDeparture::Close => words::FileDeparture::Close,
    }
}

fn root(root: engine::Root) -> words::Root {
    match root {
        engine::Root::Linked => words::Root::Linked,
        engine::Root::HostState => words::Root::HostState,
        engine::Root::TaskOutput => words::Root::TaskOutput,
    }
}
