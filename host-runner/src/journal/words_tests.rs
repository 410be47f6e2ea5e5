//! Every word of the contract as JSON: one table for inputs, one for effects.

use serde_json::{Value, json};

use super::{parse, text};
use crate::words::*;

fn facts() -> FileFacts {
    FileFacts {
        kind: FileKind::Folder,
        canonical_path: "/a".into(),
        size: u64::MAX,
        modified: 7,
        identity: "1:2".into(),
    }
}

fn host(arrival: HostArrival) -> Input {
    Input::Host((3, arrival))
}

fn file(arrival: FileArrival) -> Input {
    Input::File((4, arrival))
}

#[test]
fn given_every_input_when_written_then_it_is_as_documented_and_reads_back_the_same() {
    let pairs = vec![("k".to_owned(), "v".to_owned())];
    let facts_json = json!({
        "kind": "folder", "canonical-path": "/a", "size": u64::MAX, "modified": 7, "identity": "1:2",
    });
    for (input, expected) in [
        (
            Input::Acp(AcpArrival::Bytes("a\u{e9}\n".into())),
            json!({ "acp": { "bytes": "a\u{e9}\n" } }),
        ),
        (
            Input::Acp(AcpArrival::Bytes(vec![0xff, 0x0a])),
            json!({ "acp": { "bytes": { "base64": "/wo=" } } }),
        ),
        (
            Input::Acp(AcpArrival::Drained(u64::MAX)),
            json!({ "acp": { "drained": u64::MAX } }),
        ),
        (
            Input::Acp(AcpArrival::Ended(Ending::Eof)),
            json!({ "acp": { "ended": "eof" } }),
        ),
        (
            Input::Acp(AcpArrival::Ended(Ending::Broken("why".into()))),
            json!({ "acp": { "ended": { "broken": "why" } } }),
        ),
        (
            host(HostArrival::Opened(pairs.clone())),
            json!({ "host": [3, { "opened": [["k", "v"]] }] }),
        ),
        (
            host(HostArrival::Refused(HostRefusal::NotAllowed)),
            json!({ "host": [3, { "refused": "not-allowed" }] }),
        ),
        (
            host(HostArrival::Refused(HostRefusal::Absent)),
            json!({ "host": [3, { "refused": "absent" }] }),
        ),
        (
            host(HostArrival::Refused(HostRefusal::NoFolder)),
            json!({ "host": [3, { "refused": "no-folder" }] }),
        ),
        (
            host(HostArrival::Refused(HostRefusal::Stale)),
            json!({ "host": [3, { "refused": "stale" }] }),
        ),
        (
            host(HostArrival::Refused(HostRefusal::Insecure("m".into()))),
            json!({ "host": [3, { "refused": { "insecure": "m" } }] }),
        ),
        (
            host(HostArrival::Refused(HostRefusal::Failed("m".into()))),
            json!({ "host": [3, { "refused": { "failed": "m" } }] }),
        ),
        (
            host(HostArrival::Response((200, pairs))),
            json!({ "host": [3, { "response": [200, [["k", "v"]]] }] }),
        ),
        (
            host(HostArrival::Bytes(b"x".to_vec())),
            json!({ "host": [3, { "bytes": "x" }] }),
        ),
        (
            host(HostArrival::Diagnostic(b"x".to_vec())),
            json!({ "host": [3, { "diagnostic": "x" }] }),
        ),
        (
            host(HostArrival::Drained(9)),
            json!({ "host": [3, { "drained": 9 }] }),
        ),
        (
            host(HostArrival::Exited(None)),
            json!({ "host": [3, { "exited": null }] }),
        ),
        (
            host(HostArrival::Exited(Some(-1))),
            json!({ "host": [3, { "exited": -1 }] }),
        ),
        (
            host(HostArrival::Ended(Ending::Eof)),
            json!({ "host": [3, { "ended": "eof" }] }),
        ),
        (
            file(FileArrival::Facts(facts())),
            json!({ "file": [4, { "facts": facts_json }] }),
        ),
        (
            file(FileArrival::Refused(FileRefusal::NotAllowed)),
            json!({ "file": [4, { "refused": "not-allowed" }] }),
        ),
        (
            file(FileArrival::Refused(FileRefusal::NotRegular)),
            json!({ "file": [4, { "refused": "not-regular" }] }),
        ),
        (
            file(FileArrival::Refused(FileRefusal::Error("ENOENT".into()))),
            json!({ "file": [4, { "refused": { "error": "ENOENT" } }] }),
        ),
        (
            file(FileArrival::Data((5, b"x".to_vec()))),
            json!({ "file": [4, { "data": [5, "x"] }] }),
        ),
        (
            file(FileArrival::Entries(vec![("n".into(), facts())])),
            json!({ "file": [4, { "entries": [["n", facts_json]] }] }),
        ),
        (file(FileArrival::Done), json!({ "file": [4, "done"] })),
        (Input::Expired(8), json!({ "expired": 8 })),
        (
            Input::Poison(Origin::Acp(b"l".to_vec())),
            json!({ "poison": { "acp": "l" } }),
        ),
        (
            Input::Poison(Origin::Host((3, b"l".to_vec()))),
            json!({ "poison": { "host": [3, "l"] } }),
        ),
        (
            Input::Poison(Origin::File(4)),
            json!({ "poison": { "file": 4 } }),
        ),
        (
            Input::Poison(Origin::Timer(8)),
            json!({ "poison": { "timer": 8 } }),
        ),
    ] {
        let written = text::input(&input);
        assert_eq!(written, expected);
        let read: Value = serde_json::from_str(&written.to_string()).unwrap();
        assert_eq!(parse::input(read).unwrap(), input);
    }
}

#[test]
fn given_every_effect_when_written_then_it_is_as_documented() {
    let command = Command {
        program: "p".into(),
        args: vec!["a".into()],
        inherit: Inherit::Minimal,
        env: vec![("K".into(), Some("v".into())), ("L".into(), None)],
        cwd: "/".into(),
    };
    let request = Request {
        method: "GET".into(),
        url: "u".into(),
        headers: vec![("h".into(), "v".into())],
    };
    let host = |departure| Effect::Host((3, departure));
    let file = |departure| Effect::File((4, departure));
    for (effect, expected) in [
        (
            Effect::Acp(AcpDeparture::Bytes(b"x\n".to_vec())),
            json!({ "acp": { "bytes": "x\n" } }),
        ),
        (
            Effect::Acp(AcpDeparture::Finish),
            json!({ "acp": "finish" }),
        ),
        (
            host(HostDeparture::Open(Target::Host("maka".into()))),
            json!({ "host": [3, { "open": { "host": "maka" } }] }),
        ),
        (
            host(HostDeparture::Open(Target::Process(command))),
            json!({ "host": [3, { "open": { "process": {
                "program": "p", "args": ["a"], "inherit": "minimal",
                "env": [["K", "v"], ["L", null]], "cwd": "/",
            } } }] }),
        ),
        (
            host(HostDeparture::Open(Target::Http(request))),
            json!({ "host": [3, { "open": { "http": {
                "method": "GET", "url": "u", "headers": [["h", "v"]],
            } } }] }),
        ),
        (
            host(HostDeparture::Bytes(vec![0x80])),
            json!({ "host": [3, { "bytes": { "base64": "gA==" } }] }),
        ),
        (
            host(HostDeparture::Read(false)),
            json!({ "host": [3, { "read": false }] }),
        ),
        (
            host(HostDeparture::Finish),
            json!({ "host": [3, "finish"] }),
        ),
        (
            host(HostDeparture::Terminate),
            json!({ "host": [3, "terminate"] }),
        ),
        (host(HostDeparture::Close), json!({ "host": [3, "close"] })),
        (
            file(FileDeparture::Stat((Root::Linked, "/a".into()))),
            json!({ "file": [4, { "stat": ["linked", "/a"] }] }),
        ),
        (
            file(FileDeparture::Open((Root::HostState, "/a".into()))),
            json!({ "file": [4, { "open": ["host-state", "/a"] }] }),
        ),
        (
            file(FileDeparture::Read((1, 2))),
            json!({ "file": [4, { "read": [1, 2] }] }),
        ),
        (
            file(FileDeparture::Entries((Root::TaskOutput, "/a".into()))),
            json!({ "file": [4, { "entries": ["task-output", "/a"] }] }),
        ),
        (
            file(FileDeparture::Copy(("/a".into(), "/b".into()))),
            json!({ "file": [4, { "copy": ["/a", "/b"] }] }),
        ),
        (
            file(FileDeparture::Create(("/a".into(), b"x".to_vec()))),
            json!({ "file": [4, { "create": ["/a", "x"] }] }),
        ),
        (
            file(FileDeparture::Append(("/a".into(), vec![0xff]))),
            json!({ "file": [4, { "append": ["/a", { "base64": "/w==" }] }] }),
        ),
        (
            file(FileDeparture::Remove("/a".into())),
            json!({ "file": [4, { "remove": "/a" }] }),
        ),
        (file(FileDeparture::Close), json!({ "file": [4, "close"] })),
        (Effect::Arm((1, 2)), json!({ "arm": [1, 2] })),
        (Effect::Disarm(1), json!({ "disarm": 1 })),
        (
            Effect::Note((Level::Warn, "w".into())),
            json!({ "note": ["warn", "w"] }),
        ),
        (Effect::Done(7), json!({ "done": 7 })),
    ] {
        assert_eq!(text::effect(&effect), expected);
    }
}

#[test]
fn given_what_no_recording_has_when_read_then_the_sentence_names_it() {
    for (value, sentence) in [
        (json!({ "tcp": {} }), "`tcp` is no input"),
        (
            json!({ "acp": { "bytes": 5 } }),
            "a variant has one key, and this is 5",
        ),
        (
            json!({ "acp": { "bytes": { "base64": "!" } } }),
            "bytes are not base64",
        ),
        (
            json!({ "host": [3] }),
            "a value is of the wrong kind: invalid length 1, expected a tuple of size 2",
        ),
        (
            json!({ "host": [3, { "gone": 1 }] }),
            "`gone` is no arrival from a Host",
        ),
        (json!({ "file": [4, { "facts": {} }] }), "`kind` is missing"),
        (
            json!({ "expired": -1 }),
            "a value is of the wrong kind: invalid value: integer `-1`, expected u32",
        ),
    ] {
        assert_eq!(parse::input(value).unwrap_err().to_string(), sentence);
    }
}
