//! Files that the editor links, through the sandbox and the real file system, to a Host that
//! takes attachments.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::editor::Editor;
use crate::host::Host;

fn link(path: &Path) -> Value {
    let uri = format!("file://{}", path.display());
    json!({ "type": "resource_link", "uri": uri, "name": "" })
}

fn send(editor: &mut Editor, session: &str, blocks: Value) -> Value {
    let id = editor.ask(
        "session/prompt",
        json!({ "sessionId": session, "prompt": blocks }),
    );
    editor.answer_within(id, Duration::from_secs(30))
}

/// A Host whose turns are short, so that all of one is in the tail of its transcript.
fn host() -> Host {
    let script = json!({ "plays": [{ "steps": [{ "text": "ok" }] }] });
    Host::playing(Some(&script.to_string()))
}

/// What the Host stored of the session's first prompt.
fn stored(host: &Host, session: &str) -> Value {
    let stream = UnixStream::connect(host.socket()).expect("the Host is there");
    let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
    let mut ask = |message: Value| -> Value {
        writeln!(&stream, "{message}").expect("the Host reads");
        loop {
            let line = lines.next().expect("an answer").expect("a line");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["requestId"] == message["requestId"] {
                return answer;
            }
        }
    };
    ask(
        json!({ "kind": "hello", "clientInstanceId": "7e8821dc-4c8e-45f7-bdff-24c9c85e3cb4", "protocolMin": 0,
                "protocolMax": 0, "compatibilityEpoch": 39, "compositionId": "maka.interactive" }),
    );
    let opened = ask(json!({ "requestId": "r1", "operation": "subscription.open",
                "input": { "sessionId": session, "transcript": { "kind": "tail", "maxBytes": 16_384 } } }));
    let fragments = opened["result"]["transcript"]["durable"]["fragments"]
        .as_array()
        .unwrap_or_else(|| panic!("{opened}"));
    let rows = fragments.iter().map(|fragment| {
        let data = fragment["data"].as_str().expect("data");
        let row = STANDARD.decode(data).expect("base64");
        serde_json::from_slice::<Value>(&row).expect("a whole row")
    });
    let mut rows = rows.filter(|row| row["type"] == "user");
    rows.next().expect("a prompt")
}

#[test]
fn given_linked_files_when_prompted_then_the_host_has_their_bytes_and_the_turn_refers_to_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().canonicalize().expect("a path");
    let big: Vec<u8> = (0..300_000_u32).map(|at| (at * 31 % 251) as u8).collect();
    fs::write(base.join("big file.bin"), big).expect("a file");
    fs::write(base.join("notes.txt"), "hello").expect("a file");
    symlink(base.join("notes.txt"), base.join("alias")).expect("a link");
    let host = host();
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let session = editor.session();
    let image = json!({ "type": "image", "data": STANDARD.encode(b"\x89PNG\r\n\x1a\n"), "mimeType": "image/png" });
    let words = json!({ "type": "text", "text": "hello" });
    let big = json!({ "type": "resource_link", "name": "",
                      "uri": format!("file://{}/big%20file.bin", base.display()) });
    let blocks = json!([words, big, link(&base.join("alias")), image]);
    let answer = send(&mut editor, &session, blocks);
    assert_eq!(
        answer["result"],
        json!({ "stopReason": "end_turn" }),
        "{answer}"
    );
    // The Host compares each digest before it commits.
    let row = stored(&host, &session);
    let seen: Vec<Value> = row["attachments"]
        .as_array()
        .unwrap_or_else(|| panic!("{row}"))
        .iter()
        .map(|it| json!([it["name"], it["mimeType"], it["bytes"], it["ref"]["kind"]]))
        .collect();
    assert_eq!(
        seen,
        [
            json!([
                "big file.bin",
                "application/octet-stream",
                300_000,
                "session_file"
            ]),
            json!(["notes.txt", "text/plain", 5, "session_file"]),
            json!(["image-1.png", "image/png", 8, "session_file"]),
        ]
    );
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn given_what_is_no_file_or_lies_elsewhere_when_linked_then_refused_at_once_and_unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().canonicalize().expect("a path");
    let allowed = base.join("allowed");
    fs::create_dir(&allowed).expect("a folder");
    fs::write(allowed.join("a"), "fine").expect("a file");
    fs::write(base.join("secret"), "secret").expect("a file");
    symlink(base.join("secret"), allowed.join("out")).expect("a link");
    symlink(allowed.join("nowhere"), allowed.join("broken")).expect("a link");
    let fifo = allowed.join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(made.success());
    let large = fs::File::create(allowed.join("large")).expect("a file");
    large.set_len((50 << 20) + 1).expect("a sparse file");
    let host = host();
    let confined = allowed.to_string_lossy().into_owned();
    let words = ["--maka-socket", &host.socket(), "--allow-files", &confined];
    let mut editor = Editor::start(&words);
    let session = editor.session();
    for (path, reason, sentence) in [
        (fifo, "resource_not_file", "is not a file"),
        (allowed.clone(), "resource_not_file", "is not a file"),
        (allowed.join("broken"), "resource_unreadable", "ENOENT"),
        (allowed.join("out"), "resource_unreadable", "--allow-files"),
        (base.join("secret"), "resource_unreadable", "--allow-files"),
        (allowed.join("large"), "resource_too_large", "50 MiB"),
    ] {
        let answer = send(&mut editor, &session, json!([link(&path)]));
        assert_eq!(
            answer["error"]["data"],
            json!({ "field": "prompt", "reason": reason }),
            "{answer}"
        );
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(sentence), "{answer}");
    }
    let answer = send(&mut editor, &session, json!([link(&allowed.join("a"))]));
    assert_eq!(
        answer["result"],
        json!({ "stopReason": "end_turn" }),
        "{answer}"
    );
}

#[test]
fn given_a_text_longer_than_the_host_takes_when_prompted_then_it_arrives_as_a_file() {
    let host = host();
    let mut editor = Editor::start(&["--maka-socket", &host.socket()]);
    let session = editor.session();
    let text = "hello ".repeat(20_000);
    let blocks = json!([{ "type": "text", "text": text }]);
    let answer = send(&mut editor, &session, blocks);
    assert_eq!(
        answer["result"],
        json!({ "stopReason": "end_turn" }),
        "{answer}"
    );
    let row = stored(&host, &session);
    let attachment = &row["attachments"][0];
    assert_eq!(
        (&attachment["name"], &attachment["bytes"]),
        (&json!("prompt.txt"), &json!(120_000))
    );
}
