//! The upload of an attachment, step by step (Maka adapter, section 10.2): two readings, one
//! chunk after the other, and an abort whenever it comes to nothing.

use airlock_engine::{FileRefusal, Input, Origin, limits};
use airlock_tests::scripted_host::{Asked, Scene, each_way, link};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

const NOTHING: [&str; 0] = [];

fn refused(id: u64, reason: &str) -> String {
    format!(r#"{id} error -32602 {{"field":"prompt","reason":"{reason}"}}"#)
}

/// 10.2: 48 KiB a chunk, each after the one before was taken, never the whole file.
#[test]
fn given_a_large_file_when_uploaded_then_in_chunks_that_follow_each_other() {
    let content: Vec<u8> = (0..150_000_u32).map(|at| (at * 31 % 251) as u8).collect();
    let mut scene = Scene::batched();
    scene.desk.restoring = true;
    scene.begin();
    scene.put("/w/big.bin", content.clone());
    let prompt = scene.blocks(&json!([link("/w/big.bin")]));
    scene.open();
    let (_, bytes) = scene.uploads("other");
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
    scene.ends(prompt);
    assert_eq!(scene.desk.files.open(), 0);
}

#[test]
fn given_an_empty_file_when_uploaded_then_begun_and_committed_alone() {
    each_way(|scene| {
        scene.put("/w/empty.txt", "");
        let prompt = scene.blocks(&json!([link("/w/empty.txt")]));
        scene.open();
        let (_, bytes) = scene.uploads("other");
        assert_eq!((bytes.len(), scene.count("artifact.ingest")), (0, 2));
        scene.ends(prompt);
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
            scene.put("/w/a", content.clone());
            let here = json!({ "type": "resource", "resource": { "uri": "x:a", "blob": STANDARD.encode(&content) } });
            let prompt = scene.blocks(&json!([if linked { link("/w/a") } else { here }]));
            scene.open();
            let begin = scene.opens(next);
            let (bytes, commit) = scene.takes();
            assert!(bytes == content[next as usize..], "{next} {linked}");
            scene.commits(&begin, &commit, "other");
            scene.ends(prompt);
        }
    }
    let mut scene = Scene::plain();
    scene.begin();
    scene.put("/w/a", "hello");
    let prompt = scene.blocks(&json!([link("/w/a")]));
    scene.open();
    let begin = scene.asked("artifact.ingest");
    scene.commits(&begin, &begin, "other");
    assert_eq!(scene.count("artifact.ingest"), 1, "no chunk, no commit");
    scene.ends(prompt);
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
            scene.ends(next);
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
            let (begin, bytes) = scene.uploads("other");
            assert_eq!(begin["uploadId"], asked.input["uploadId"]);
            assert_eq!(bytes, b"hello");
            scene.ends(prompt);
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
        scene.opens(0);
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
        ("shorter before", |s| s.put("/w/a", "hell"), false),
        ("longer before", |s| s.put("/w/a", "hello!"), false),
        ("touched", |s| claim(s, |facts| facts.modified += 1), false),
        (
            "replaced",
            |s| claim(s, |facts| facts.identity.push('x')),
            false,
        ),
        ("gone", |s| gone(s), false),
        ("shorter", |s| s.put("/w/a", "hell"), true),
        ("longer", |s| s.put("/w/a", "hello!"), true),
        ("other content", |s| s.put("/w/a", "HELLO"), true),
    ];
    for (what, change, opened) in changes {
        each_way(|scene| {
            scene.put("/w/a", "hello");
            let prompt = scene.blocks(&json!([link("/w/a")]));
            if opened {
                scene.open();
                change(scene);
                scene.opens(0);
                while scene.desk.host.waiting().contains(&"artifact.ingest") {
                    let asked = scene.asked("artifact.ingest");
                    if asked.input["kind"] != "chunk" {
                        break;
                    }
                    scene.chunk(&asked);
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
    scene.put("/w/a", "hello");
    let prompt = scene.blocks(&json!([link("/w/a")]));
    scene.open();
    if step != "begin" {
        scene.opens(0);
    }
    if step == "commit" {
        let asked = scene.asked("artifact.ingest");
        scene.chunk(&asked);
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
    scene.put("/w/a", "hello");
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
fn given_an_answer_about_a_file_that_traps_when_given_back_then_only_that_prompt_fails() {
    let mut scene = Scene::plain();
    scene.begin();
    scene.put("/w/a", "hello");
    scene.desk.files_answer = false;
    let prompt = scene.blocks(&json!([link("/w/a")]));
    scene.desk.arrives(Input::Poison(Origin::File(1)));
    scene.settle();
    assert_eq!(scene.editor(), [refused(prompt, "resource_unreadable")]);
    let next = scene.prompt("again");
    scene.open();
    scene.ends(next);
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

/// Nothing is begun only to be aborted.
#[test]
fn given_a_begin_that_was_not_sent_yet_when_cancelled_then_it_never_is() {
    each_way(|scene| {
        let (prompt, _) = at_step(scene, "begin");
        scene.lose();
        scene.cancel();
        assert_eq!(scene.editor(), [format!("{prompt} cancelled")]);
        scene.wait(60_000);
        assert_eq!(scene.count("artifact.ingest"), 1);
        given_up(scene, false);
    });
}

/// Host limits: 16 open uploads; the others wait for one to end.
#[test]
fn given_more_uploads_than_the_host_takes_when_begun_then_the_rest_wait_for_room() {
    let mut scene = Scene::plain();
    scene.begin();
    scene.running("go");
    scene.put("/w/a", "hello");
    for _ in 0..18 {
        let params = json!({ "sessionId": scene.session, "prompt": [link("/w/a")] });
        scene.desk.request("_session/steering", &params);
        scene.settle();
    }
    assert_eq!(scene.count("artifact.ingest"), 16);
    let mut first = Vec::new();
    for _ in 0..2 {
        let begin = scene.asked("artifact.ingest");
        scene.commits(&begin, &begin, "other");
        first.push(begin.input["uploadId"].clone());
    }
    assert_eq!(scene.count("artifact.ingest"), 18);
    let failed = scene.asked("artifact.ingest");
    scene.error(&failed, "operation_conflict", "no");
    assert_eq!(scene.count("artifact.ingest"), 18, "none waits any more");
    assert_eq!(scene.count("turn.message.submit"), 2);
}

/// Host limits: 128 MiB announced together.
#[test]
fn given_more_bytes_than_the_host_stages_when_begun_then_the_rest_wait_for_room() {
    let size = 45 << 20;
    let mut scene = Scene::batched();
    scene.begin();
    scene.running("go");
    scene.put("/w/big", vec![7; size]);
    for _ in 0..3 {
        let params = json!({ "sessionId": scene.session, "prompt": [link("/w/big")] });
        scene.desk.request("_session/steering", &params);
        scene.settle();
    }
    assert_eq!(scene.count("artifact.ingest"), 2);
    let begin = scene.asked("artifact.ingest");
    assert_eq!(begin.input["totalBytes"], size);
    scene.error(&begin, "operation_conflict", "no");
    assert_eq!(scene.count("artifact.ingest"), 3);
}

/// What the Host says of an attachment goes into the turn word for word, if it fits.
#[test]
fn given_a_reference_that_makes_the_content_too_long_when_committed_then_the_turn_is_not_sent() {
    let mut scene = Scene::batched();
    scene.begin();
    scene.put("/w/a", "hello");
    let text = "x".repeat(48_000);
    let prompt = scene.blocks(&json!([{ "type": "text", "text": text }, link("/w/a")]));
    scene.open();
    let begin = scene.asked("artifact.ingest");
    let attachment = json!({ "kind": "other", "ref": { "kind": "session_file", "sessionId": scene.session,
                             "relativePath": "p".repeat(6_000) } });
    let committed = json!({ "kind": "committed", "attachment": attachment });
    scene.result(&begin, &committed);
    assert_eq!(
        scene.editor(),
        [refused(prompt, "runtime_host_admission_rejected")]
    );
    assert_eq!(scene.count("turn.start"), 0);
}
