//! WIT words to engine words and back, one function a type.

use airlock_engine as engine;

use crate::wit::airlock::adapter::{acp_io, file_io, host_io, types};
use crate::wit::exports::airlock::adapter::adapter as wit;

pub fn instant(at: types::Instant) -> engine::Instant {
    engine::Instant {
        monotonic: at.monotonic,
        wall: at.wall,
    }
}

pub fn fault(fault: engine::Fault) -> wit::Fault {
    match fault {
        engine::Fault::Config(why) => wit::Fault::Config(why),
        engine::Fault::State(why) => wit::Fault::State(why),
        engine::Fault::Finished => wit::Fault::Finished,
    }
}

pub fn input(input: wit::Input) -> engine::Input {
    match input {
        wit::Input::Acp(arrival) => engine::Input::Acp(acp(arrival)),
        wit::Input::Host((channel, arrival)) => engine::Input::Host(channel, host(arrival)),
        wit::Input::File((handle, arrival)) => engine::Input::File(handle, file(arrival)),
        wit::Input::Expired(timer) => engine::Input::Expired(timer),
        wit::Input::Poison(origin) => engine::Input::Poison(match origin {
            wit::Origin::Acp(line) => engine::Origin::Acp(line),
            wit::Origin::Host((channel, line)) => engine::Origin::Host(channel, line),
            wit::Origin::File(handle) => engine::Origin::File(handle),
            wit::Origin::Timer(timer) => engine::Origin::Timer(timer),
        }),
    }
}

fn ending(ending: types::Ending) -> engine::Ending {
    match ending {
        types::Ending::Eof => engine::Ending::Eof,
        types::Ending::Broken(why) => engine::Ending::Broken(why),
    }
}

fn acp(arrival: acp_io::Arrival) -> engine::AcpArrival {
    match arrival {
        acp_io::Arrival::Bytes(bytes) => engine::AcpArrival::Bytes(bytes),
        acp_io::Arrival::Drained(count) => engine::AcpArrival::Drained(count),
        acp_io::Arrival::Ended(why) => engine::AcpArrival::Ended(ending(why)),
    }
}

fn host(arrival: host_io::Arrival) -> engine::HostArrival {
    match arrival {
        host_io::Arrival::Opened(facts) => engine::HostArrival::Opened(facts),
        host_io::Arrival::Refused(refusal) => engine::HostArrival::Refused(match refusal {
            host_io::Refusal::NotAllowed => engine::HostRefusal::NotAllowed,
            host_io::Refusal::Absent => engine::HostRefusal::Absent,
            host_io::Refusal::NoFolder => engine::HostRefusal::NoFolder,
            host_io::Refusal::Stale => engine::HostRefusal::Stale,
            host_io::Refusal::Insecure(why) => engine::HostRefusal::Insecure(why),
            host_io::Refusal::Failed(why) => engine::HostRefusal::Failed(why),
        }),
        host_io::Arrival::Response((status, headers)) => {
            engine::HostArrival::Response(status, headers)
        }
        host_io::Arrival::Bytes(bytes) => engine::HostArrival::Bytes(bytes),
        host_io::Arrival::Diagnostic(bytes) => engine::HostArrival::Diagnostic(bytes),
        host_io::Arrival::Drained(count) => engine::HostArrival::Drained(count),
        host_io::Arrival::Exited(code) => engine::HostArrival::Exited(code),
        host_io::Arrival::Ended(why) => engine::HostArrival::Ended(ending(why)),
    }
}

fn facts(facts: file_io::Facts) -> engine::FileFacts {
    engine::FileFacts {
        kind: match facts.kind {
            file_io::Kind::File => engine::FileKind::File,
            file_io::Kind::Folder => engine::FileKind::Folder,
            file_io::Kind::Other => engine::FileKind::Other,
        },
        canonical_path: facts.canonical_path,
        size: facts.size,
        modified: facts.modified,
        identity: facts.identity,
    }
}

fn file(arrival: file_io::Arrival) -> engine::FileArrival {
    match arrival {
        file_io::Arrival::Facts(found) => engine::FileArrival::Facts(facts(found)),
        file_io::Arrival::Refused(refusal) => engine::FileArrival::Refused(match refusal {
            file_io::Refusal::NotAllowed => engine::FileRefusal::NotAllowed,
            file_io::Refusal::NotRegular => engine::FileRefusal::NotRegular,
            file_io::Refusal::Error(name) => engine::FileRefusal::Error(name),
        }),
        file_io::Arrival::Data((offset, bytes)) => engine::FileArrival::Data(offset, bytes),
        file_io::Arrival::Entries(entries) => engine::FileArrival::Entries(
            entries
                .into_iter()
                .map(|(name, found)| (name, facts(found)))
                .collect(),
        ),
        file_io::Arrival::Done => engine::FileArrival::Done,
    }
}

pub fn effect(effect: engine::Effect) -> wit::Effect {
    match effect {
        engine::Effect::Acp(departure) => wit::Effect::Acp(match departure {
            engine::AcpDeparture::Bytes(bytes) => acp_io::Departure::Bytes(bytes),
            engine::AcpDeparture::Finish => acp_io::Departure::Finish,
        }),
        engine::Effect::Host(channel, departure) => {
            wit::Effect::Host((channel, host_departure(departure)))
        }
        engine::Effect::File(handle, departure) => {
            wit::Effect::File((handle, file_departure(departure)))
        }
        engine::Effect::Arm(timer, due) => wit::Effect::Arm((timer, due)),
        engine::Effect::Disarm(timer) => wit::Effect::Disarm(timer),
        engine::Effect::Note(level, text) => wit::Effect::Note((
            match level {
                engine::Level::Error => wit::Level::Error,
                engine::Level::Warn => wit::Level::Warn,
                engine::Level::Info => wit::Level::Info,
                engine::Level::Debug => wit::Level::Debug,
            },
            text,
        )),
        engine::Effect::Done(code) => wit::Effect::Done(code),
    }
}

fn host_departure(departure: engine::HostDeparture) -> host_io::Departure {
    match departure {
        engine::HostDeparture::Open(target) => host_io::Departure::Open(match target {
            engine::Target::Host(name) => host_io::Target::Host(name),
            engine::Target::Process(command) => host_io::Target::Process(host_io::Command {
                program: command.program,
                args: command.args,
                inherit: match command.inherit {
                    engine::Inherit::All => host_io::Inherit::All,
                    engine::Inherit::Minimal => host_io::Inherit::Minimal,
                },
                env: command.env,
                cwd: command.cwd,
            }),
            engine::Target::Http(request) => host_io::Target::Http(host_io::Request {
                method: request.method,
                url: request.url,
                headers: request.headers,
            }),
        }),
        engine::HostDeparture::Bytes(bytes) => host_io::Departure::Bytes(bytes),
        engine::HostDeparture::Read(on) => host_io::Departure::Read(on),
        engine::HostDeparture::Finish => host_io::Departure::Finish,
        engine::HostDeparture::Terminate => host_io::Departure::Terminate,
        engine::HostDeparture::Close => host_io::Departure::Close,
    }
}

fn root(root: engine::Root) -> file_io::Root {
    match root {
        engine::Root::Linked => file_io::Root::Linked,
        engine::Root::HostState => file_io::Root::HostState,
        engine::Root::TaskOutput => file_io::Root::TaskOutput,
    }
}

fn file_departure(departure: engine::FileDeparture) -> file_io::Departure {
    match departure {
        engine::FileDeparture::Stat(at, path) => file_io::Departure::Stat((root(at), path)),
        engine::FileDeparture::Open(at, path) => file_io::Departure::Open((root(at), path)),
        engine::FileDeparture::Read(offset, len) => file_io::Departure::Read((offset, len)),
        engine::FileDeparture::Entries(at, path) => file_io::Departure::Entries((root(at), path)),
        engine::FileDeparture::Copy(old, new) => file_io::Departure::Copy((old, new)),
        engine::FileDeparture::Create(path, bytes) => file_io::Departure::Create((path, bytes)),
        engine::FileDeparture::Append(path, bytes) => file_io::Departure::Append((path, bytes)),
        engine::FileDeparture::Remove(path) => file_io::Departure::Remove(path),
        engine::FileDeparture::Close => file_io::Departure::Close,
    }
}
