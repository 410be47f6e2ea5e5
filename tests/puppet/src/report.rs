//! What arrived, as JSON: `{"host": [CHANNEL, WHAT]}`, `{"file": [HANDLE, WHAT]}`,
//! `{"expired": TIMER}`, `{"poison": ...}`.

use alloc::string::String;

use serde_json::{Value, json};

use crate::wit::airlock::adapter::file_io::{Arrival as File, Refusal as FileRefusal};
use crate::wit::airlock::adapter::host_io::{Arrival as Host, Refusal as HostRefusal};
use crate::wit::exports::airlock::adapter::adapter::{Input, Origin};

/// What to say about it, if anything.
pub fn arrival(input: &Input) -> Option<Value> {
    Some(match input {
        Input::Host((channel, arrival)) => json!({ "host": [channel, host(arrival)?] }),
        Input::File((handle, arrival)) => json!({ "file": [handle, file(arrival)] }),
        Input::Expired(timer) => json!({ "expired": timer }),
        Input::Acp(_) | Input::Poison(_) => return None,
    })
}

/// Whose input failed.
pub fn poison(origin: &Origin) -> Value {
    json!({ "poison": match origin {
        Origin::Acp(line) => json!({ "acp": text(line) }),
        Origin::Host((channel, line)) => json!({ "host": [channel, text(line)] }),
        Origin::File(handle) => json!({ "file": handle }),
        Origin::Timer(timer) => json!({ "timer": timer }),
    } })
}

fn host(arrival: &Host) -> Option<Value> {
    Some(match arrival {
        Host::Opened(_) => json!("opened"),
        Host::Refused(HostRefusal::NotAllowed) => json!("not-allowed"),
        Host::Refused(HostRefusal::Absent) => json!("absent"),
        Host::Refused(HostRefusal::NoFolder) => json!("no-folder"),
        Host::Refused(HostRefusal::Stale) => json!("stale"),
        Host::Refused(HostRefusal::Insecure(why)) => json!({ "insecure": why }),
        Host::Refused(HostRefusal::Failed(why)) => json!({ "failed": why }),
        Host::Response((status, _)) => json!({ "response": status }),
        Host::Bytes(bytes) => json!({ "bytes": text(bytes) }),
        Host::Diagnostic(bytes) => json!({ "diagnostic": text(bytes) }),
        // How bytes drain depends on the machine.
        Host::Drained(_) => return None,
        Host::Exited(code) => json!({ "exited": code }),
        Host::Ended(_) => json!("ended"),
    })
}

fn file(arrival: &File) -> Value {
    match arrival {
        File::Facts(facts) => json!({ "facts": facts.canonical_path }),
        File::Refused(FileRefusal::NotAllowed) => json!("not-allowed"),
        File::Refused(FileRefusal::NotRegular) => json!("not-regular"),
        File::Refused(FileRefusal::Error(name)) => json!({ "error": name }),
        File::Data((offset, bytes)) => json!({ "data": [offset, text(bytes)] }),
        File::Entries(entries) => json!({ "entries": entries.len() }),
        File::Done => json!("done"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
