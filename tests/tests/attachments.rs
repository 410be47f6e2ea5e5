//! What comes with a prompt besides text (Maka adapter, sections 10.1 and 26.12): linked files,
//! images and embedded resources become attachments of the session before the turn is sent.

use airlock_engine::{FileRefusal, limits};
use airlock_tests::scripted_host::{Scene, each_way, link, reference, sha256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0123456789";

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn refused(id: u64, reason: &str) -> String {
    format!(r#"{id} error -32602 {{"field":"prompt","reason":"{reason}"}}"#)
}

/// 26.12 B1
#[test]
fn given_two_text_blocks_when_sent_then_joined_by_a_paragraph_gap_alone() {
    each_way(|scene| {
        let prompt = scene.blocks(&json!([text("first"), text("second")]));
        scene.open();
        assert_eq!(scene.ends(prompt), json!({ "text": "first\n\nsecond" }));
        assert_eq!(scene.count("artifact.ingest"), 0);
    });
}

/// 26.12 B2: digest first, then the file again in chunks, then the turn with what the Host said.
#[test]
fn given_a_linked_text_file_when_sent_then_uploaded_first_and_referred_to() {
    each_way(|scene| {
        scene.put("/w/notes.txt", "hello");
        let prompt = scene.blocks(&json!([text("Read this."), link("/w/notes.txt")]));
        assert_eq!(scene.host(), ["open"]);
        scene.open();
        assert_eq!(
            scene.host(),
            ["ingest begin notes.txt text/plain 5"],
            "the turn waits"
        );
        let (begin, bytes) = scene.uploads("other");
        assert_eq!(bytes, b"hello");
        let id = begin["uploadId"].clone();
        assert_eq!(
            begin,
            json!({ "kind": "begin", "sessionId": scene.session, "uploadId": id, "name": "notes.txt",
                    "mimeType": "text/plain", "totalBytes": 5, "contentSha256": sha256(b"hello") })
        );
        assert_eq!(scene.host()[..2], ["ingest chunk at 0", "ingest commit"]);
        assert_eq!(
            scene.ends(prompt),
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
        scene.put("/w/a.bin", PNG);
        let block = json!({ "type": "resource_link", "uri": "file:///w/a.bin", "name": "shot",
                            "mimeType": "text/plain", "title": "T", "size": 1, "description": "D" });
        let prompt = scene.blocks(&json!([block]));
        scene.open();
        let (begin, bytes) = scene.uploads("image");
        assert_eq!(bytes, PNG);
        assert_eq!(
            (&begin["name"], &begin["mimeType"]),
            (&json!("shot"), &json!("image/png"))
        );
        assert_eq!(
            scene.ends(prompt),
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
            let (begin, bytes) = scene.uploads("other");
            assert_eq!(
                (&begin["name"], &begin["mimeType"]),
                (&json!(name), &json!(mime))
            );
            assert_eq!(bytes, content);
            references.push(reference(&begin, "other"));
        }
        assert_eq!(
            scene.ends(prompt),
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
    scene.put("/w/a.png", PNG);
    let prompt = scene.blocks(&json!([
        { "type": "image", "data": "", "mimeType": "image/png", "uri": "file:///w/a.png" }
    ]));
    scene.open();
    let (begin, bytes) = scene.uploads("image");
    assert_eq!((&begin["name"], &*bytes), (&json!("a.png"), PNG));
    scene.ends(prompt);
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
            scene.put("/w/a", "fine");
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
            scene.ends(next);
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
        scene.put("/w/big", vec![b'x'; 2_000]);
        scene.put("/w/folder/a", "");
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

#[test]
fn given_a_queued_prompt_with_a_link_when_cancelled_then_no_file_is_opened() {
    each_way(|scene| {
        let turn = scene.running("first");
        scene.put("/w/a", "hello");
        let queued = scene.blocks(&json!([link("/w/a")]));
        scene.cancel_request(queued);
        assert_eq!(scene.editor(), [format!("{queued} cancelled")]);
        scene.now(&turn, "completed");
        assert!(scene.desk.files.log.is_empty());
        assert_eq!(scene.count("artifact.ingest"), 0);
    });
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
            assert_eq!(scene.ends(prompt), json!({ "text": long }));
            continue;
        }
        let (begin, bytes) = scene.uploads("other");
        assert!(bytes == long.as_bytes());
        assert_eq!(
            (&begin["name"], &begin["mimeType"]),
            (&json!("prompt.txt"), &json!("text/plain"))
        );
        let content = scene.ends(prompt);
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
        scene.put("/w/a", "hello");
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
            scene.uploads("other");
        }
        let (begin, bytes) = scene.uploads("other");
        assert_eq!(begin["name"], "prompt.txt");
        assert!(bytes.ends_with(long.as_bytes()) && bytes.starts_with(b"file:///w/a\n\n"));
        let content = scene.ends(prompt);
        assert_eq!(content["attachments"].as_array().unwrap().len(), 8);
    }
}

/// What people see is most of the text again: it gives way before the text does.
#[test]
fn given_text_that_fits_once_but_not_twice_when_sent_with_a_file_then_without_the_display_text() {
    for (length, display) in [(26_000, true), (27_000, false)] {
        let mut scene = Scene::batched();
        scene.begin();
        scene.put("/w/a", "hello");
        let words = "y".repeat(length);
        let prompt = scene.blocks(&json!([text(&words), link("/w/a")]));
        scene.open();
        scene.uploads("other");
        let content = scene.ends(prompt);
        assert_eq!(content["text"], format!("{words}\n\nfile:///w/a"));
        assert_eq!(content.get("displayText").is_some(), display, "{length}");
    }
}
