//! The words of the contract as JSON, for recordings: written here, read in [`super::parse`].
//!
//! A variant is an object with one key, or a string when it carries nothing; tuples are
//! arrays; bytes are a string when they are UTF-8, else `{"base64": ...}`.
//! Invariant: what is written here reads back as exactly the same words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::words::*;

/// Bytes: text where they are text.
pub fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": BASE64.encode(bytes) }),
    }
}

/// One input.
pub fn input(input: &Input) -> Value {
    match input {
        Input::Acp(arrival) => json!({ "acp": acp_arrival(arrival) }),
        Input::Host((channel, arrival)) => json!({ "host": [channel, host_arrival(arrival)] }),
        Input::File((handle, arrival)) => json!({ "file": [handle, file_arrival(arrival)] }),
        Input::Expired(timer) => json!({ "expired": timer }),
        Input::Poison(Origin::Acp(line)) => json!({ "poison": { "acp": bytes(line) } }),
        Input::Poison(Origin::Host((channel, line))) => {
            json!({ "poison": { "host": [channel, bytes(line)] } })
        }
        Input::Poison(Origin::File(handle)) => json!({ "poison": { "file": handle } }),
        Input::Poison(Origin::Timer(timer)) => json!({ "poison": { "timer": timer } }),
    }
}

/// One effect.
pub fn effect(effect: &Effect) -> Value {
    match effect {
        Effect::Acp(AcpDeparture::Bytes(sent)) => json!({ "acp": { "bytes": bytes(sent) } }),
        Effect::Acp(AcpDeparture::Finish) => json!({ "acp": "finish" }),
        Effect::Host((channel, departure)) => {
            json!({ "host": [channel, host_departure(departure)] })
        }
        Effect::File((handle, departure)) => json!({ "file": [handle, file_departure(departure)] }),
        Effect::Arm((timer, due)) => json!({ "arm": [timer, due] }),
        Effect::Disarm(timer) => json!({ "disarm": timer }),
        Effect::Note((level, text)) => json!({ "note": [level_name(*level), text] }),
        Effect::Done(code) => json!({ "done": code }),
    }
}

fn acp_arrival(arrival: &AcpArrival) -> Value {
    match arrival {
        AcpArrival::Bytes(came) => json!({ "bytes": bytes(came) }),
        AcpArrival::Drained(count) => json!({ "drained": count }),
        AcpArrival::Ended(why) => json!({ "ended": ending(why) }),
    }
}

fn ending(ending: &Ending) -> Value {
    match ending {
        Ending::Eof => json!("eof"),
        Ending::Broken(why) => json!({ "broken": why }),
    }
}

fn host_arrival(arrival: &HostArrival) -> Value {
    match arrival {
        HostArrival::Opened(facts) => json!({ "opened": facts }),
        HostArrival::Refused(refusal) => json!({ "refused": match refusal {
            HostRefusal::NotAllowed => json!("not-allowed"),
            HostRefusal::Absent => json!("absent"),
            HostRefusal::NoFolder => json!("no-folder"),
            HostRefusal::Stale => json!("stale"),
            HostRefusal::Insecure(why) => json!({ "insecure": why }),
            HostRefusal::Failed(why) => json!({ "failed": why }),
        } }),
        HostArrival::Response((status, headers)) => json!({ "response": [status, headers] }),
        HostArrival::Bytes(came) => json!({ "bytes": bytes(came) }),
        HostArrival::Diagnostic(said) => json!({ "diagnostic": bytes(said) }),
        HostArrival::Drained(count) => json!({ "drained": count }),
        HostArrival::Exited(code) => json!({ "exited": code }),
        HostArrival::Ended(why) => json!({ "ended": ending(why) }),
    }
}

fn file_arrival(arrival: &FileArrival) -> Value {
    match arrival {
        FileArrival::Facts(found) => json!({ "facts": facts(found) }),
        FileArrival::Refused(refusal) => json!({ "refused": match refusal {
            FileRefusal::NotAllowed => json!("not-allowed"),
            FileRefusal::NotRegular => json!("not-regular"),
            FileRefusal::Error(name) => json!({ "error": name }),
        } }),
        FileArrival::Data((offset, read)) => json!({ "data": [offset, bytes(read)] }),
        FileArrival::Entries(entries) => {
            let entries: Vec<Value> = entries
                .iter()
                .map(|(name, found)| json!([name, facts(found)]))
                .collect();
            json!({ "entries": entries })
        }
        FileArrival::Done => json!("done"),
    }
}

fn facts(facts: &FileFacts) -> Value {
    let kind = match facts.kind {
        FileKind::File => "file",
        FileKind::Folder => "folder",
        FileKind::Other => "other",
    };
    json!({
        "kind": kind,
        "canonical-path": facts.canonical_path,
        "size": facts.size,
        "modified": facts.modified,
        "identity": facts.identity,
    })
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warn",
        Level::Info => "info",
        Level::Debug => "debug",
    }
}

fn host_departure(departure: &HostDeparture) -> Value {
    match departure {
        HostDeparture::Open(target) => json!({ "open": match target {
            Target::Host(name) => json!({ "host": name }),
            Target::Process(command) => json!({ "process": {
                "program": command.program,
                "args": command.args,
                "inherit": match command.inherit { Inherit::All => "all", Inherit::Minimal => "minimal" },
                "env": command.env,
                "cwd": command.cwd,
            } }),
            Target::Http(request) => json!({ "http": {
                "method": request.method,
                "url": request.url,
                "headers": request.headers,
            } }),
        } }),
        HostDeparture::Bytes(sent) => json!({ "bytes": bytes(sent) }),
        HostDeparture::Read(on) => json!({ "read": on }),
        HostDeparture::Finish => json!("finish"),
        HostDeparture::Terminate => json!("terminate"),
        HostDeparture::Close => json!("close"),
    }
}

fn file_departure(departure: &FileDeparture) -> Value {
    match departure {
        FileDeparture::Stat((at, path)) => json!({ "stat": [root(*at), path] }),
        FileDeparture::Open((at, path)) => json!({ "open": [root(*at), path] }),
        FileDeparture::Read((offset, length)) => json!({ "read": [offset, length] }),
        FileDeparture::Entries((at, path)) => json!({ "entries": [root(*at), path] }),
        FileDeparture::Copy((old, new)) => json!({ "copy": [old, new] }),
        FileDeparture::Create((path, content)) => json!({ "create": [path, bytes(content)] }),
        FileDeparture::Append((path, content)) => json!({ "append": [path, bytes(content)] }),
        FileDeparture::Remove(path) => json!({ "remove": path }),
        FileDeparture::Close => json!("close"),
    }
}

fn root(root: Root) -> &'static str {
    match root {
        Root::Linked => "linked",
        Root::HostState => "host-state",
        Root::TaskOutput => "task-output",
    }
}
