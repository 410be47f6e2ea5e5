//! What comes with a prompt besides text (Maka adapter, sections 10 and 26.12): linked files,
//! images and embedded resources become attachments of the session before the turn is sent.

use airlock_engine::{FileRefusal, Input, Origin, limits};
use airlock_tests::scripted_host::{Asked, Scene, each_way};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const NOTHING: [&str; 0] = [];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0123456789";

fn sha256(bytes: &[u8]) -> String {
    let hex: Vec<String> = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{}", hex.concat())
}

fn put(scene: &mut Scene, path: &str, content: impl Into<Vec<u8>>) {
    scene
        .desk
        .files
        .content
        .insert(path.to_owned(), content.into());
}

fn link(path: &str) -> Value {
    json!({ "type": "resource_link", "uri": format!("file://{path}"), "name": "" })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn refused(id: u64, reason: &str) -> String {
    format!(r#"{id} error -32602 {{"field":"prompt","reason":"{reason}"}}"#)
}

/// The reference that the Host gives for a `begin`.
fn reference(begin: &Value, kind: &str) -> Value {
    json!({ "kind": kind, "name": begin["name"], "mimeType": begin["mimeType"], "bytes": begin["totalBytes"],
            "ref": { "kind": "session_file", "sessionId": begin["sessionId"], "relativePath": "attachment-1" } })
}

/// The Host opens the upload that is asked for, from this offset.
fn opens(scene: &mut Scene, next: u64) -> Asked {
    let asked = scene.asked("artifact.ingest");
    assert_eq!(asked.input["kind"], "begin");
    let opened =
        json!({ "kind": "upload_opened", "uploadId": asked.input["uploadId"], "nextOffset": next });
    scene.result(&asked, &opened);
    asked
}

/// The Host takes chunks until it is asked to commit; what they hold, and that request.
fn takes(scene: &mut Scene) -> (Vec<u8>, Asked) {
    let mut bytes = Vec::new();
    loop {
        let asked = scene.asked("artifact.ingest");
        if asked.input["kind"] == "commit" {
            return (bytes, asked);
        }
        bytes.extend(chunk(scene, &asked));
    }
}

/// The Host takes this chunk.
fn chunk(scene: &mut Scene, asked: &Asked) -> Vec<u8> {
    assert_eq!(asked.input["kind"], "chunk");
    let data = STANDARD
        .decode(asked.input["chunkBase64"].as_str().unwrap())
        .unwrap();
    assert!((1..=49_152).contains(&data.len()));
    let next = asked.input["offset"].as_u64().unwrap() + data.len() as u64;
    let accepted = json!({ "kind": "chunk_accepted", "uploadId": asked.input["uploadId"], "nextOffset": next });
    scene.result(asked, &accepted);
    data
}

/// The Host commits.
fn commits(scene: &mut Scene, begin: &Asked, commit: &Asked, kind: &str) {
    let reference = reference(&begin.input, kind);
    let committed = json!({ "kind": "committed", "uploadId": begin.input["uploadId"], "attachment": reference });
    scene.result(commit, &committed);
}

/// The whole upload that is asked for; its `begin` and its bytes.
fn uploads(scene: &mut Scene, kind: &str) -> (Value, Vec<u8>) {
    let begin = opens(scene, 0);
    let (bytes, commit) = takes(scene);
    commits(scene, &begin, &commit, kind);
    assert_eq!(begin.input["contentSha256"], sha256(&bytes));
    assert_eq!(begin.input["totalBytes"], bytes.len());
    (begin.input, bytes)
}

/// The turn that is sent runs and ends; its content.
fn ends(scene: &mut Scene, prompt: u64) -> Value {
    let asked = scene.asked("turn.start");
    let turn = airlock_tests::scripted_host::Turn {
        prompt,
        id: asked.input["turnId"].as_str().unwrap().to_owned(),
        run: "run-1".to_owned(),
    };
    let started = scene.started(&turn);
    scene.result(&asked, &started);
    scene.now(&turn, "completed");
    assert_eq!(
        scene.answer(prompt),
        Some(format!("{prompt} end_turn")),
        "{:?}",
        scene.desk.log
    );
    asked.input["content"].clone()
}

/// 26.12 B1
#[test]
fn given_two_text_blocks_when_sent_then_joined_by_a_paragraph_gap_alone() {
    each_way(|scene| {
        let prompt = scene.blocks(&json!([text("first"), text("second")]));
        scene.open();
        assert_eq!(ends(scene, prompt), json!({ "text": "first\n\nsecond" }));
        assert_eq!(scene.count("artifact.ingest"), 0);
    });
}

/// 26.12 B2: digest first, then the file again in chunks, then the turn with what the Host said.
#[test]
fn given_a_linked_text_file_when_sent_then_uploaded_first_and_referred_to() {
    each_way(|scene| {
        put(scene, "/w/notes.txt", "hello");
        let prompt = scene.blocks(&json!([text("Read this."), link("/w/notes.txt")]));
        assert_eq!(scene.host(), ["open"]);
        scene.open();
        assert_eq!(
            scene.host(),
            ["ingest begin notes.txt text/plain 5"],
            "the turn waits"
        );
        let (begin, bytes) = uploads(scene, "other");
        assert_eq!(bytes, b"hello");
        let id = begin["uploadId"].clone();
        assert_eq!(
            begin,
            json!({ "kind": "begin", "sessionId": scene.session, "uploadId": id, "name": "notes.txt",
                    "mimeType": "text/plain", "totalBytes": 5, "contentSha256": sha256(b"hello") })
        );
        assert_eq!(scene.host()[..2], ["ingest chunk at 0", "ingest commit"]);
        assert_eq!(
            ends(scene, prompt),
            json!({ "text": "Read this.\n\nfile:///w/notes.txt", "displayText": "Read this.",
                    "attachments": [reference(&begin, "other")] })
        );
        assert_eq!(scene.desk.files.open(), 0);
    });
}

/// 26.12 B3
#[test]
fn given_a_link_alone_whose_bytes_are_an_image_when_sent_then_its_bytes_decide() {
    each_way(|scene| {
        put(scene, "/w/a.bin", PNG);
        let block = json!({ "type": "resource_link", "uri": "file:///w/a.bin", "name": "shot",
                            "mimeType": "text/plain", "title": "T", "size": 1, "description": "D" });
        let prompt = scene.blocks(&json!([block]));
        scene.open();
        let (begin, bytes) = uploads(scene, "image");
        assert_eq!(bytes, PNG);
        assert_eq!(
            (&begin["name"], &begin["mimeType"]),
            (&json!("shot"), &json!("image/png"))
        );
        assert_eq!(
            ends(scene, prompt),
            json!({ "text": "file:///w/a.bin", "displayText": "",
                    "attachments": [reference(&begin, "image")] })
        );
    });
}

/// Issue 3, section 2: what Maka's own adapter refuses.
#[test]
fn given_images_and_embedded_resources_when_sent_then_they_are_attachments_in_order() {
    each_way(|scene| {
        let prompt = scene.blocks(&json!([
            text("Compare."),
            { "type": "image", "data": STANDARD.encode(PNG), "mimeType": "image/jpeg" },
            { "type": "image", "data": STANDARD.encode(PNG).trim_end_matches('='), "mimeType": "image/png",
              "uri": "zed:///shots/one%20two.png?x#y" },
            { "type": "resource", "resource": { "uri": "file:///w/main.rs#L1-4", "text": "fn main() {}" } },
            { "type": "resource", "resource": { "uri": "zed:///", "blob": "AAEC", "mimeType": "application/x-thing" } },
        ]));
        scene.open();
        let mut references = Vec::new();
        for (name, mime, content) in [
            ("image-1.png", "image/png", PNG),
            ("one two.png", "image/png", PNG),
            ("main.rs", "text/x-rust", b"fn main() {}"),
            ("resource", "application/x-thing", &[0, 1, 2]),
        ] {
            let (begin, bytes) = uploads(scene, "other");
            assert_eq!(
                (&begin["name"], &begin["mimeType"]),
                (&json!(name), &json!(mime))
            );
            assert_eq!(bytes, content);
            references.push(reference(&begin, "other"));
        }
        assert_eq!(
            ends(scene, prompt),
            json!({ "text": "Compare.\n\n[image-1.png]\n\nzed:///shots/one%20two.png?x#y\n\n\
                             file:///w/main.rs#L1-4\n\nzed:///",
                    "displayText": "Compare.", "attachments": references })
        );
    });
}

/// Some editors send an image by reference, its data empty.
#[test]
fn given_an_image_without_data_when_it_names_a_file_then_that_is_attached() {
    let mut scene = Scene::plain();
    scene.begin();
    put(&mut scene, "/w/a.png", PNG);
    let prompt = scene.blocks(&json!([
        { "type": "image", "data": "", "mimeType": "image/png", "uri": "file:///w/a.png" }
    ]));
    scene.open();
    let (begin, bytes) = uploads(&mut scene, "image");
    assert_eq!((&begin["name"], &*bytes), (&json!("a.png"), PNG));
    ends(&mut scene, prompt);
}

/// 26.12 B4, B5 and R9; section 10.1, in the order of its checks.
#[test]
fn given_blocks_that_cannot_be_sent_when_sent_then_refused_before_any_work() {
    let nine = |block: Value| Value::Array(vec![block; 9]);
    let uri = |uri: &str| json!([{ "type": "resource_link", "uri": uri, "name": "x" }]);
    let audio = json!({ "type": "audio", "data": "", "mimeType": "audio/wav" });
    let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
    let mut mixed = vec![link("/w/a"); 4];
    mixed.extend(vec![image; 5]);
    let mut many_and_audio = vec![link("/w/a"); 9];
    many_and_audio.push(audio.clone());
    for (blocks, reason) in [
        (json!([audio, text("x")]), "unsupported_content_type"),
        (json!([{ "type": "video" }]), "unsupported_content_type"),
        (nine(link("/w/a")), "too_many_attachments"),
        (json!(mixed), "too_many_attachments"),
        (json!(many_and_audio), "too_many_attachments"),
        (uri("https://example.org/a"), "unsupported_resource_uri"),
        (uri("file://server/a"), "unsupported_resource_uri"),
        (uri("file:///a?b"), "unsupported_resource_uri"),
        (uri("file:///a#b"), "unsupported_resource_uri"),
        (uri("no uri"), "invalid_resource_uri"),
        (uri("file:///a%2Fb"), "invalid_resource_uri"),
        (uri("file:///a%zz"), "invalid_resource_uri"),
        (uri("file:///a%00"), "invalid_resource_uri"),
        (
            json!([{ "type": "image", "data": "?", "mimeType": "image/png" }]),
            "invalid_content",
        ),
        (
            json!([{ "type": "resource", "resource": { "uri": "a:b", "blob": "?" } }]),
            "invalid_content",
        ),
        (
            json!([{ "type": "resource", "resource": { "uri": "a:b" } }]),
            "invalid_content",
        ),
    ] {
        let mut scene = Scene::plain();
        scene.begin();
        let prompt = scene.blocks(&blocks);
        assert_eq!(scene.editor(), [refused(prompt, reason)], "{blocks}");
        assert_eq!(scene.host(), NOTHING);
        assert!(scene.desk.files.log.is_empty());
    }
}

/// 10.1: files are opened before the Host is asked anything.
#[test]
fn given_a_file_that_cannot_be_attached_when_opened_then_refused_before_any_request() {
    for (refusal, reason, sentence) in [
        (
            FileRefusal::NotRegular,
            "resource_not_file",
            "b is not a file",
        ),
        (
            FileRefusal::Error("ENOENT".into()),
            "resource_unreadable",
            "ENOENT",
        ),
        (
            FileRefusal::Error("ELOOP".into()),
            "resource_unreadable",
            "ELOOP",
        ),
        (
            FileRefusal::NotAllowed,
            "resource_unreadable",
            "--allow-files",
        ),
    ] {
        each_way(|scene| {
            put(scene, "/w/a", "fine");
            scene
                .desk
                .files
                .refused
                .insert("/w/b".to_owned(), refusal.clone());
            let prompt = scene.blocks(&json!([link("/w/a"), link("/w/b")]));
            assert_eq!(scene.editor(), [refused(prompt, reason)]);
            assert!(scene.desk.log.last().unwrap().contains(sentence));
            assert_eq!(scene.host(), NOTHING);
            assert_eq!(scene.desk.files.open(), 0, "the first is closed again");
            let next = scene.prompt("without");
            scene.open();
            ends(scene, next);
        });
    }
}

/// 26.12 B4: a folder; B5: 50 MiB and one byte more.
#[test]
fn given_a_folder_or_too_large_a_file_when_opened_then_refused_and_the_limit_itself_is_taken() {
    for (size, reason) in [
        (limits::ATTACHMENT, None),
        (limits::ATTACHMENT + 1, Some("resource_too_large")),
    ] {
        let mut scene = Scene::plain();
        scene.begin();
        put(&mut scene, "/w/big", vec![b'x'; 2_000]);
        put(&mut scene, "/w/folder/a", "");
        let folder = scene.blocks(&json!([link("/w/folder")]));
        assert_eq!(scene.editor(), [refused(folder, "resource_not_file")]);
        let mut facts = scene.desk.files.facts_of("/w/big");
        facts.size = size;
        scene.desk.files.claimed.insert("/w/big".to_owned(), facts);
        let prompt = scene.blocks(&json!([link("/w/big")]));
        match reason {
            Some(reason) => assert_eq!(scene.editor(), [refused(prompt, reason)]),
            None => {
                // Not as long as it says: found out by the first reading.
                scene.open();
                assert_eq!(scene.editor(), [refused(prompt, "resource_changed")]);
            }
        }
        assert_eq!(scene.count("artifact.ingest"), 0);
        assert_eq!(scene.desk.files.open(), 0);
    }
}

/// 10.2: 48 KiB a chunk, each after the one before was taken, never the whole file.
#[test]
fn given_a_large_file_when_uploaded_then_in_chunks_that_follow_each_other() {
    let content: Vec<u8> = (0..150_000_u32).map(|at| (at * 31 % 251) as u8).collect();
    let mut scene = Scene::batched();
    scene.desk.restoring = true;
    scene.begin();
    put(&mut scene, "/w/big.bin", content.clone());
    let prompt = scene.blocks(&json!([link("/w/big.bin")]));
    scene.open();
    let (_, bytes) = uploads(&mut scene, "other");
    assert_eq!(bytes, content);
    let asked: Vec<String> = scene
        .host()
        .into_iter()
        .filter(|line| line.starts_with("ingest"))
        .collect();
    assert_eq!(
        asked,
        [
            "ingest begin big.bin application/octet-stream 150000",
            "ingest chunk at 0",
            "ingest chunk at 49152",
            "ingest chunk at 98304",
            "ingest chunk at 147456",
            "ingest commit",
        ]
    );
    assert!(
        scene.desk.state_size() < 64 << 10,
        "no file is kept in the state: {}",
        scene.desk.state_size()
    );
    ends(&mut scene, prompt);
    assert_eq!(scene.desk.files.open(), 0);
}

#[test]
fn given_an_empty_file_when_uploaded_then_begun_and_committed_alone() {
    each_way(|scene| {
        put(scene, "/w/empty.txt", "");
        let prompt = scene.blocks(&json!([link("/w/empty.txt")]));
        scene.open();
        let (_, bytes) = uploads(scene, "other");
        assert_eq!((bytes.len(), scene.count("artifact.ingest")), (0, 2));
        ends(scene, prompt);
    });
}

/// 10.2, 4: the Host may have it already, whole or in part.
#[test]
fn given_an_upload_that_the_host_has_already_when_begun_then_only_the_rest_is_sent() {
    let content: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
    for next in [1, 49_152, 60_000, 99_999, 100_000] {
        for linked in [true, false] {
            let mut scene = Scene::batched();
            scene.begin();
            put(&mut scene, "/w/a", content.clone());
            let here = json!({ "type": "resource", "resource": { "uri": "x:a", "blob": STANDARD.encode(&content) } });
            let prompt = scene.blocks(&json!([if linked { link("/w/a") } else { here }]));
            scene.open();
            let begin = opens(&mut scene, next);
            let (bytes, commit) = takes(&mut scene);
            assert!(bytes == content[next as usize..], "{next} {linked}");
            commits(&mut scene, &begin, &commit, "other");
            ends(&mut scene, prompt);
        }
    }
    let mut scene = Scene::plain();
    scene.begin();
    put(&mut scene, "/w/a", "hello");
    let prompt = scene.blocks(&json!([link("/w/a")]));
    scene.open();
    let begin = scene.asked("artifact.ingest");
    commits(&mut scene, &begin, &begin, "other");
    assert_eq!(scene.count("artifact.ingest"), 1, "no chunk, no commit");
    ends(&mut scene, prompt);
    assert_eq!(scene.desk.files.open(), 0);
}

/// 10.2: what the Host may not answer; the upload is aborted if it may be open.
#[test]
fn given_a_wrong_answer_to_a_step_when_it_comes_then_the_prompt_fails_and_the_upload_is_aborted() {
    let other = json!({ "kind": "committed", "attachment": { "ref": { "kind": "session_file", "sessionId": "other" } } });
    for (step, result, aborts) in [
        (
            "begin",
            json!({ "kind": "upload_opened", "nextOffset": 6 }),
            true,
        ),
        ("begin", json!({ "kind": "upload_opened" }), true),
        ("begin", json!({ "kind": "surprise" }), true),
        ("begin", other.clone(), false),
        (
            "chunk",
            json!({ "kind": "chunk_accepted", "nextOffset": 4 }),
            true,
        ),
        ("chunk", json!({ "kind": "committed" }), false),
        ("commit", other, false),
        (
            "commit",
            json!({ "kind": "upload_opened", "nextOffset": 0 }),
            true,
        ),
    ] {
        let mut scene = Scene::plain();
        let (prompt, asked) = at_step(&mut scene, step);
        scene.result(&asked, &result);
        let data =
            r#"{"source":"runtime_host","operation":"artifact.ingest","code":"internal_failure"}"#;
        assert_eq!(scene.editor(), [format!("{prompt} error -32603 {data}")]);
        given_up(&mut scene, aborts);
    }
}

/// 4.3: errors of the Host carry the operation `artifact.ingest`.
#[test]
fn given_a_refused_step_when_told_then_the_prompt_fails_with_it_and_an_open_upload_is_aborted() {
    for (step, code, number, aborts) in [
        ("begin", "operation_conflict", -32603, false),
        ("begin", "invalid_request", -32602, false),
        ("chunk", "operation_conflict", -32603, true),
        ("commit", "operation_conflict", -32603, true),
        ("commit", "persistence_failed", -32603, true),
    ] {
        each_way(|scene| {
            let (prompt, asked) = at_step(scene, step);
            scene.error(&asked, code, "no");
            let data = format!(
                r#"{{"source":"runtime_host","operation":"artifact.ingest","code":"{code}"}}"#
            );
            assert_eq!(scene.editor(), [format!("{prompt} error {number} {data}")]);
            given_up(scene, aborts);
            let next = scene.prompt("again");
            ends(scene, next);
        });
    }
}

/// R70 to R72 and 13.4: at every step; the request in flight is answered first, then aborted.
#[test]
fn given_an_upload_when_cancelled_or_closed_at_a_step_then_aborted_and_no_turn_is_started() {
    type End = fn(&mut Scene, u64) -> Option<u64>;
    let ends: [End; 3] = [
        |scene, _| {
            scene.cancel();
            None
        },
        |scene, prompt| {
            scene.cancel_request(prompt);
            None
        },
        |scene, _| Some(scene.close()),
    ];
    for end in ends {
        for step in ["begin", "chunk", "commit"] {
            each_way(|scene| {
                let (prompt, asked) = at_step(scene, step);
                let close = end(scene, prompt);
                let mut told = vec![format!("{prompt} cancelled")];
                told.extend(close.map(|id| format!("{id} {{}}")));
                assert_eq!(scene.editor(), told);
                assert!(!scene.desk.asked_kinds().contains(&"abort".to_owned()));
                let opened = json!({ "kind": "upload_opened", "nextOffset": 0 });
                let taken = json!({ "kind": "chunk_accepted", "nextOffset": 5 });
                match step {
                    "begin" => scene.result(&asked, &opened),
                    "chunk" => scene.result(&asked, &taken),
                    _ => scene.error(&asked, "operation_conflict", "no"),
                }
                given_up(scene, true);
            });
        }
    }
}

/// A commit that was not stopped in time leaves nothing to abort.
#[test]
fn given_a_cancelled_upload_when_its_commit_succeeds_then_nothing_more_is_asked() {
    let mut scene = Scene::plain();
    let (_, asked) = at_step(&mut scene, "commit");
    scene.cancel();
    let committed = json!({ "kind": "committed", "attachment": {} });
    scene.result(&asked, &committed);
    given_up(&mut scene, false);
}

/// 27.18: nobody knows whether the Host holds something; it is aborted by the id that we chose.
#[test]
fn given_a_step_that_is_never_answered_when_its_time_is_up_then_aborted_and_told() {
    for step in ["begin", "chunk", "commit"] {
        for cancelled in [false, true] {
            each_way(|scene| {
                let (prompt, asked) = at_step(scene, step);
                if cancelled {
                    scene.cancel();
                }
                scene.wait(limits::MAKA_INGEST_MS - 1);
                assert!(!scene.desk.asked_kinds().contains(&"abort".to_owned()));
                scene.wait(1);
                let data = r#"{"source":"runtime_host","operation":"artifact.ingest","code":"request_interrupted","reason":"timeout","dispatch":"dispatched"}"#;
                let told = if cancelled {
                    format!("{prompt} cancelled")
                } else {
                    format!("{prompt} error -32603 {data}")
                };
                assert_eq!(scene.editor(), [told]);
                given_up(scene, true);
                let abort = scene.asked("artifact.ingest");
                assert_eq!(abort.input["uploadId"], asked.input["uploadId"]);
                scene.says([asked.error("operation_conflict", "late")]);
                assert_eq!(scene.editor(), NOTHING);
            });
        }
    }
}

/// The Host forgets uploads with their connection (27.18): they begin anew under the same id.
#[test]
fn given_a_connection_lost_at_any_step_when_it_is_back_then_the_upload_begins_anew() {
    for step in ["begin", "chunk", "commit"] {
        each_way(|scene| {
            let (prompt, asked) = at_step(scene, step);
            scene.lose();
            scene.wait(100);
            scene.open();
            let (begin, bytes) = uploads(scene, "other");
            assert_eq!(begin["uploadId"], asked.input["uploadId"]);
            assert_eq!(bytes, b"hello");
            ends(scene, prompt);
            assert!(!scene.desk.asked_kinds().contains(&"abort".to_owned()));
            assert_eq!(scene.desk.files.open(), 0);
        });
    }
}

/// Its time at the Host ran out (5 minutes), or the connection was lost between two steps.
#[test]
fn given_an_upload_that_the_host_forgot_when_it_goes_on_then_it_begins_anew_at_most_eight_times() {
    let mut scene = Scene::plain();
    let (prompt, mut asked) = at_step(&mut scene, "chunk");
    for _ in 0..limits::MAKA_RECOVERIES {
        scene.error(&asked, "not_found", "Attachment upload was not found");
        opens(&mut scene, 0);
        asked = scene.asked("artifact.ingest");
    }
    assert_eq!(scene.editor(), NOTHING);
    scene.error(&asked, "not_found", "Attachment upload was not found");
    let told = scene.editor();
    assert!(
        told[0].starts_with(&format!("{prompt} error -32602")),
        "{told:?}"
    );
    given_up(&mut scene, false);
}

/// 27.19: found by length, time, identity, or the digest of the second reading.
#[test]
fn given_a_file_that_changes_between_its_readings_when_found_out_then_told_and_aborted() {
    type Change = fn(&mut Scene);
    let changes: [(&str, Change, bool); 8] = [
        ("shorter before", |s| put(s, "/w/a", "hell"), false),
        ("longer before", |s| put(s, "/w/a", "hello!"), false),
        ("touched", |s| claim(s, |facts| facts.modified += 1), false),
        (
            "replaced",
            |s| claim(s, |facts| facts.identity.push('x')),
            false,
        ),
        ("gone", |s| gone(s), false),
        ("shorter", |s| put(s, "/w/a", "hell"), true),
        ("longer", |s| put(s, "/w/a", "hello!"), true),
        ("other content", |s| put(s, "/w/a", "HELLO"), true),
    ];
    for (what, change, opened) in changes {
        each_way(|scene| {
            put(scene, "/w/a", "hello");
            let prompt = scene.blocks(&json!([link("/w/a")]));
            if opened {
                scene.open();
                change(scene);
                opens(scene, 0);
                while scene.desk.host.waiting().contains(&"artifact.ingest") {
                    let asked = scene.asked("artifact.ingest");
                    if asked.input["kind"] != "chunk" {
                        break;
                    }
                    chunk(scene, &asked);
                }
            } else {
                change(scene);
                scene.open();
            }
            assert_eq!(
                scene.editor(),
                [refused(prompt, "resource_changed")],
                "{what}"
            );
            given_up(scene, opened);
        });
    }
}

fn claim(scene: &mut Scene, change: impl Fn(&mut airlock_engine::FileFacts)) {
    let mut facts = scene.desk.files.facts_of("/w/a");
    change(&mut facts);
    scene.desk.files.claimed.insert("/w/a".to_owned(), facts);
}

fn gone(scene: &mut Scene) {
    let refusal = FileRefusal::Error("ENOENT".to_owned());
    scene.desk.files.refused.insert("/w/a".to_owned(), refusal);
}

/// A prompt of one file of five bytes whose upload waits at this step.
fn at_step(scene: &mut Scene, step: &str) -> (u64, Asked) {
    if scene.session.is_empty() {
        scene.begin();
    }
    put(scene, "/w/a", "hello");
    let prompt = scene.blocks(&json!([link("/w/a")]));
    scene.open();
    if step != "begin" {
        opens(scene, 0);
    }
    if step == "commit" {
        let asked = scene.asked("artifact.ingest");
        chunk(scene, &asked);
    }
    let asked = scene.asked("artifact.ingest");
    assert_eq!(asked.input["kind"], step);
    scene.editor();
    (prompt, asked)
}

/// Nothing is left of an upload: at most one abort was sent, the file is closed, no turn.
fn given_up(scene: &mut Scene, aborts: bool) {
    let kinds = scene.desk.asked_kinds();
    let aborted = kinds.iter().filter(|kind| *kind == "abort").count();
    assert_eq!(aborted, usize::from(aborts), "{kinds:?}");
    assert_eq!(scene.count("turn.start"), 0);
    assert_eq!(scene.desk.files.open(), 0);
    assert_eq!(scene.desk.unanswered(), NOTHING);
}

/// 13.4: while files are looked at, nothing is asked of the Host, and handles are closed.
#[test]
fn given_files_that_are_looked_at_when_cancelled_then_cancelled_and_closed_without_the_host() {
    let mut scene = Scene::plain();
    scene.begin();
    put(&mut scene, "/w/a", "hello");
    let params = json!({ "sessionId": scene.session, "prompt": [link("/w/a"), link("/w/a")] });
    // Call by call: the prompt, the facts, the first bytes, the next file.
    for calls in 1..5 {
        let prompt = scene.desk.request("session/prompt", &params);
        for _ in 0..calls {
            scene.desk.step();
        }
        scene.cancel();
        assert_eq!(scene.editor(), [format!("{prompt} cancelled")]);
        assert_eq!((scene.desk.files.open(), scene.host().len()), (0, 0));
    }
}

#[test]
fn given_a_queued_prompt_with_a_link_when_cancelled_then_no_file_is_opened() {
    each_way(|scene| {
        let turn = scene.running("first");
        put(scene, "/w/a", "hello");
        let queued = scene.blocks(&json!([link("/w/a")]));
        scene.cancel_request(queued);
        assert_eq!(scene.editor(), [format!("{queued} cancelled")]);
        scene.now(&turn, "completed");
        assert!(scene.desk.files.log.is_empty());
        assert_eq!(scene.count("artifact.ingest"), 0);
    });
}

#[test]
fn given_an_answer_about_a_file_that_traps_when_given_back_then_only_that_prompt_fails() {
    let mut scene = Scene::plain();
    scene.begin();
    put(&mut scene, "/w/a", "hello");
    scene.desk.files_answer = false;
    let prompt = scene.blocks(&json!([link("/w/a")]));
    scene.desk.arrives(Input::Poison(Origin::File(1)));
    scene.settle();
    assert_eq!(scene.editor(), [refused(prompt, "resource_unreadable")]);
    let next = scene.prompt("again");
    scene.open();
    ends(&mut scene, next);
}

/// The editor's end: nothing is asked any more, the connection's end frees what is staged.
#[test]
fn given_an_upload_when_the_editor_goes_then_the_end_comes_at_once() {
    let mut scene = Scene::plain();
    at_step(&mut scene, "chunk");
    scene.hang_up();
    assert_eq!(scene.desk.done, Some(0));
    assert_eq!((scene.count("turn.start"), scene.desk.files.open()), (0, 0));
}

/// Issue 3: text that the Host would refuse becomes a file, and the text says so.
#[test]
fn given_text_at_the_hosts_limit_and_past_it_when_sent_then_past_it_it_is_a_file() {
    let limit = usize::try_from(limits::MAKA_TURN_TEXT).unwrap();
    for (long, attached) in [
        ("x".repeat(limit), false),
        ("x".repeat(limit + 1), true),
        ("ü".repeat(limit / 2 + 1), true),
        // 52 KiB as JSON: `{"text":"…"}` takes 11, a control character six.
        ("\u{1}".repeat((52 * 1024 - 11) / 6), false),
        ("\u{1}".repeat((52 * 1024 - 11) / 6 + 1), true),
    ] {
        let mut scene = Scene::batched();
        scene.begin();
        let prompt = scene.prompt(&long);
        scene.open();
        if !attached {
            assert_eq!(ends(&mut scene, prompt), json!({ "text": long }));
            continue;
        }
        let (begin, bytes) = uploads(&mut scene, "other");
        assert!(bytes == long.as_bytes());
        assert_eq!(
            (&begin["name"], &begin["mimeType"]),
            (&json!("prompt.txt"), &json!("text/plain"))
        );
        let content = ends(&mut scene, prompt);
        let text = content["text"].as_str().unwrap();
        assert!(text.len() < 2_000 && long.starts_with(text.split('…').next().unwrap()));
        assert!(text.contains("attached as prompt.txt"), "{text}");
        assert_eq!(content["attachments"], json!([reference(&begin, "other")]));
        assert_eq!(content.get("displayText"), None);
    }
}

/// The text's file comes after the others, and there must be a place for it.
#[test]
fn given_long_text_and_attachments_when_sent_then_it_is_the_last_or_refused() {
    let long = "y".repeat(50_000);
    for (count, fits) in [(7, true), (8, false)] {
        let mut scene = Scene::batched();
        scene.begin();
        put(&mut scene, "/w/a", "hello");
        let mut blocks = vec![link("/w/a"); count];
        blocks.push(text(&long));
        let prompt = scene.blocks(&json!(blocks));
        if !fits {
            let told = scene.editor();
            assert_eq!(told, [refused(prompt, "runtime_host_admission_rejected")]);
            assert_eq!((scene.host().len(), scene.desk.files.open()), (0, 0));
            continue;
        }
        scene.open();
        for _ in 0..count {
            uploads(&mut scene, "other");
        }
        let (begin, bytes) = uploads(&mut scene, "other");
        assert_eq!(begin["name"], "prompt.txt");
        assert!(bytes.ends_with(long.as_bytes()) && bytes.starts_with(b"file:///w/a\n\n"));
        let content = ends(&mut scene, prompt);
        assert_eq!(content["attachments"].as_array().unwrap().len(), 8);
    }
}
