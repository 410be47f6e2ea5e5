//! Actions: `{"open": [CHANNEL, TARGET]}`, `{"send": [CHANNEL, TEXT]}`, `{"close": CHANNEL}`,
//! `{"file": [HANDLE, "stat" | "open" | "entries", ROOT, PATH]}`, `{"arm": [TIMER, DUE]}`,
//! `{"disarm": TIMER}`, `{"note": TEXT}`, `{"done": CODE}`, `{"fail": WHAT}` (from now on),
//! and `"trap"`, `"spin"`, `"grow"`, `"recurse"` (at once). A TARGET is `{"host": NAME}`,
//! `{"program": PATH}` or `{"url": ADDRESS}`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use crate::State;
use crate::wit::airlock::adapter::file_io::{Departure as File, Root};
use crate::wit::airlock::adapter::host_io::{Command, Departure as Host, Inherit, Request, Target};
use crate::wit::exports::airlock::adapter::adapter::{Effect, Level};

/// Does it, or panics: a test that asks for nonsense should notice.
pub fn act(state: &mut State, action: &Value, out: &mut Vec<Effect>) {
    match action.as_str() {
        Some("trap") => panic!("told to trap"),
        Some("spin") => spin(),
        Some("grow") => grow(),
        Some("recurse") => {
            recurse(&[0; 64]);
        }
        Some(other) => panic!("no action: {other}"),
        None => {}
    }
    let Some((name, value)) = action.as_object().and_then(|action| action.iter().next()) else {
        return;
    };
    let effect = match name.as_str() {
        "open" => Effect::Host((number(&value[0]), Host::Open(target(&value[1])))),
        "send" => Effect::Host((number(&value[0]), Host::Bytes(text(&value[1]).into_bytes()))),
        "close" => Effect::Host((number(value), Host::Close)),
        "file" => Effect::File((number(&value[0]), file(value))),
        "arm" => Effect::Arm((number(&value[0]), u64::from(number(&value[1])))),
        "disarm" => Effect::Disarm(number(value)),
        "note" => Effect::Note((Level::Info, text(value))),
        "done" => Effect::Done(number(value) as u8),
        "fail" => return state.fails.push(text(value)),
        other => panic!("no action: {other}"),
    };
    out.push(effect);
}

fn target(value: &Value) -> Target {
    if let Some(name) = value["host"].as_str() {
        Target::Host(name.to_owned())
    } else if let Some(program) = value["program"].as_str() {
        Target::Process(Command {
            program: program.to_owned(),
            args: Vec::new(),
            inherit: Inherit::All,
            env: Vec::new(),
            cwd: "/".to_owned(),
        })
    } else {
        Target::Http(Request {
            method: "GET".to_owned(),
            url: text(&value["url"]),
            headers: Vec::new(),
        })
    }
}

fn file(value: &Value) -> File {
    let root = match value[2].as_str() {
        Some("linked") => Root::Linked,
        Some("host-state") => Root::HostState,
        _ => Root::TaskOutput,
    };
    let path = text(&value[3]);
    match value[1].as_str() {
        Some("stat") => File::Stat((root, path)),
        Some("entries") => File::Entries((root, path)),
        _ => File::Open((root, path)),
    }
}

fn number(value: &Value) -> u32 {
    value.as_u64().expect("a number") as u32
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn spin() {
    let mut turns = 0_u64;
    loop {
        turns = core::hint::black_box(turns.wrapping_add(1));
    }
}

fn grow() {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        held.push(core::hint::black_box(alloc::vec![1; 1 << 20]));
    }
}

#[expect(unconditional_recursion, reason = "to use up the stack")]
fn recurse(above: &[u64; 64]) -> u64 {
    let mut here = *above;
    here[0] += 1;
    recurse(core::hint::black_box(&here)) + here[0]
}
