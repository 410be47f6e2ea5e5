//! `session/list`, `session/new` and names (Maka adapter, sections 7 and 8).

use airlock_tests::scripted_host::{Scene, each_way, each_way_bare, words};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// A revision as the Host writes it.
const REVISION: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn ask(scene: &mut Scene, params: &Value) -> u64 {
    let id = scene.desk.request("session/list", params);
    scene.settle();
    id
}

fn cursor(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn item(id: &str, cwd: &str) -> Value {
    words::session(&json!(id), &json!(cwd))
}

fn page(items: &[Value], next: Option<&str>) -> Value {
    json!({ "kind": "page", "revision": REVISION, "sessions": items, "nextCursor": next })
}

fn told(scene: &Scene, id: u64) -> Value {
    let found = scene
        .desk
        .log
        .iter()
        .filter_map(|line| line.strip_prefix("< "));
    let mut all = found.map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.find(|it| it["id"] == id && it.get("method").is_none())
        .expect("an answer")
}

/// R65: one page of the Host is one page of the editor, filtered by the folder as it
/// really is; the folder goes with the cursor.
#[test]
fn given_a_folder_when_listed_then_pages_are_filtered_and_the_cursor_carries_it() {
    each_way(|scene| {
        scene
            .desk
            .files
            .content
            .insert("/real/file".to_owned(), Vec::new());
        let id = ask(scene, &json!({ "cwd": "/real" }));
        let asked = scene.asked("session.catalog.query");
        assert_eq!(asked.input, json!({ "kind": "list_start" }));
        scene.result(&asked, &page(&[item("a", "/elsewhere")], Some("next")));
        let first = told(scene, id);
        assert_eq!(first["result"]["sessions"], json!([]));
        let next = first["result"]["nextCursor"].as_str().unwrap().to_owned();
        let id = ask(scene, &json!({ "cursor": next }));
        let asked = scene.asked("session.catalog.query");
        assert_eq!(
            asked.input,
            json!({ "kind": "list_continue", "revision": REVISION, "cursor": "next" })
        );
        let mut legacy = item("c", "/real");
        legacy["kind"] = json!("unsupported_legacy_record");
        let mut agent = item("d", "/real");
        agent["subagent"] = json!({ "parent": "b" });
        let mut undated = item("e", "/real");
        undated["lastUsedAt"] = json!(null);
        scene.result(
            &asked,
            &page(&[item("b", "/real"), legacy, agent, undated], None),
        );
        assert_eq!(
            told(scene, id)["result"],
            json!({ "sessions": [
                { "sessionId": "b", "cwd": "/real", "title": "New Chat", "updatedAt": "2026-11-30T08:26:09.767Z" },
                { "sessionId": "e", "cwd": "/real", "title": "New Chat" },
            ] })
        );
    });
}

/// R66 to R68.
#[test]
fn given_a_cursor_that_cannot_be_used_when_listed_then_refused_before_any_request() {
    each_way(|scene| {
        scene.host();
        let bad = [
            "garbage!".to_owned(),
            "x".repeat(8_193),
            cursor(&json!({ "revision": 7, "cursor": "c", "cwd": null })),
            cursor(&json!({ "revision": REVISION, "cursor": "c", "cwd": null, "more": 1 })),
            cursor(&json!({ "revision": "r", "cursor": "c", "cwd": null })),
            cursor(&json!({ "revision": REVISION, "cursor": "", "cwd": null })),
            cursor(&json!({ "revision": REVISION, "cursor": "c".repeat(513), "cwd": null })),
            cursor(&json!({ "revision": REVISION, "cursor": "c", "cwd": "relative" })),
            cursor(&json!({ "revision": REVISION, "cursor": "c", "cwd": "/a/../b" })),
            cursor(&json!([REVISION, "c", null])),
        ];
        for bad in bad {
            let id = ask(scene, &json!({ "cursor": bad }));
            let line = scene.answer(id).unwrap();
            assert!(line.starts_with(&format!("{id} error -32602")), "{line}");
            assert!(line.contains("invalid_cursor"), "{line}");
        }
        let other = cursor(&json!({ "revision": REVISION, "cursor": "c", "cwd": "/a" }));
        let id = ask(scene, &json!({ "cursor": other, "cwd": "/b" }));
        let line = scene.answer(id).unwrap();
        assert!(
            line.contains("cursor_cwd_mismatch") && line.contains("-32602"),
            "{line}"
        );
        assert_eq!(scene.host(), NOTHING);
    });
}

#[test]
fn given_a_catalog_that_changed_or_stands_still_when_listed_then_told() {
    each_way(|scene| {
        let cursor = cursor(&json!({ "revision": REVISION, "cursor": "same", "cwd": null }));
        let id = ask(scene, &json!({ "cursor": cursor }));
        let asked = scene.asked("session.catalog.query");
        scene.result(
            &asked,
            &json!({ "kind": "revision_changed", "revision": "new" }),
        );
        assert_eq!(
            scene.answer(id),
            Some(format!(r#"{id} error -32602 {{"reason":"stale_cursor"}}"#))
        );
        let id = ask(scene, &json!({ "cursor": cursor }));
        let asked = scene.asked("session.catalog.query");
        scene.result(&asked, &page(&[], Some("same")));
        let line = scene.answer(id).unwrap();
        assert!(
            line.contains("-32603") && line.contains("repeated_cursor"),
            "{line}"
        );
        let id = ask(scene, &json!({}));
        let asked = scene.asked("session.catalog.query");
        scene.error(&asked, "invalid_request", "no");
        let line = scene.answer(id).unwrap();
        assert!(
            line.contains("-32602") && line.contains("session.catalog.query"),
            "{line}"
        );
    });
}

/// The Host's own cursor, and ours around it, have an end.
#[test]
fn given_a_cursor_of_the_host_past_512_bytes_when_listed_then_told() {
    each_way(|scene| {
        for (length, works) in [(512, true), (513, false)] {
            let id = ask(scene, &json!({}));
            let asked = scene.asked("session.catalog.query");
            scene.result(&asked, &page(&[], Some(&"c".repeat(length))));
            let line = scene.answer(id).unwrap();
            assert_eq!(line.contains("nextCursor"), works, "{line}");
            assert_eq!(line.contains("cursor_too_large"), !works, "{line}");
        }
    });
}

/// A folder that is gone keeps its name, made plain.
#[test]
fn given_a_folder_that_is_gone_when_listed_then_its_name_is_the_filter() {
    each_way(|scene| {
        let id = ask(scene, &json!({ "cwd": "/gone/../w/./x/" }));
        let asked = scene.asked("session.catalog.query");
        scene.result(&asked, &page(&[item("a", "/w/x"), item("b", "/w")], None));
        let sessions = &told(scene, id)["result"]["sessions"];
        assert_eq!(sessions.as_array().unwrap().len(), 1);
        assert_eq!(sessions[0]["sessionId"], "a");
    });
}

/// R63: inputs of `session/new` are checked before the Host is asked.
#[test]
fn given_inputs_that_are_not_supported_when_a_session_is_made_then_refused_with_the_field() {
    each_way(|scene| {
        scene.host();
        for (params, field) in [
            (json!({ "cwd": "relative", "mcpServers": [] }), "cwd"),
            (
                json!({ "cwd": format!("/{}", "x".repeat(4_096)), "mcpServers": [] }),
                "cwd",
            ),
            (
                json!({ "cwd": "/w", "mcpServers": [{ "name": "m", "command": "/m", "args": [], "env": [] }] }),
                "mcpServers",
            ),
            (
                json!({ "cwd": "/w", "mcpServers": [], "additionalDirectories": ["/x"] }),
                "additionalDirectories",
            ),
        ] {
            let id = scene.desk.request("session/new", &params);
            scene.settle();
            let line = scene.answer(id).unwrap();
            assert!(line.starts_with(&format!("{id} error -32602")), "{line}");
            assert!(line.contains(field), "{line}");
        }
        assert_eq!(scene.host(), NOTHING);
    });
}

/// R64, R52.
#[test]
fn given_a_session_that_the_host_does_not_make_when_told_then_the_error_names_it_and_it_is_unknown()
{
    for (code, number) in [
        ("invalid_request", -32602),
        ("commit_outcome_unknown", -32603),
        ("operation_conflict", -32603),
    ] {
        each_way(|scene| {
            scene.desk.host.by_hand("session.create");
            let id = scene
                .desk
                .request("session/new", &json!({ "cwd": "/w", "mcpServers": [] }));
            scene.settle();
            let asked = scene.asked("session.create");
            scene.error(&asked, code, "no");
            let session = asked.input["sessionId"].as_str().unwrap().to_owned();
            let data = format!(
                r#"{{"source":"runtime_host","operation":"session.create","code":"{code}","sessionId":"{session}"}}"#
            );
            assert_eq!(
                scene.answer(id),
                Some(format!("{id} error {number} {data}"))
            );
            scene.session = session;
            let prompt = scene.prompt("hello");
            assert!(scene.answer(prompt).unwrap().contains("unknown_session"));
        });
    }
}

/// R53: the session stands, whatever becomes of the model's name.
#[test]
fn given_models_that_cannot_be_told_when_a_session_is_made_then_it_is_made_without_the_name() {
    for fate in ["error", "silence", "lost", "garbage"] {
        each_way_bare(|scene| {
            scene.desk.initialize();
            scene.desk.host.by_hand("connection.catalog.query");
            let id = scene
                .desk
                .request("session/new", &json!({ "cwd": "/w", "mcpServers": [] }));
            scene.settle();
            let asked = scene.asked("connection.catalog.query");
            match fate {
                "error" => scene.error(&asked, "internal_failure", "no"),
                "silence" => scene.wait(2_000),
                "lost" => scene.lose(),
                _ => scene.result(&asked, &json!(7)),
            }
            let made = told(scene, id);
            assert_eq!(
                made["result"]["_meta"],
                json!({ "maka": { "model": "mock-model" } }),
                "{fate}"
            );
            scene.session = made["result"]["sessionId"].as_str().unwrap().to_owned();
            let request = scene.close();
            assert_eq!(scene.answer(request), Some(format!("{request} {{}}")));
        });
    }
}

/// A change of the catalog: the name is asked for once, a second later, and told if new.
#[test]
fn given_changes_of_a_session_when_a_second_has_passed_then_its_new_name_is_told_once() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.host();
        let session = scene.session.clone();
        let changed =
            json!({ "kind": "session.catalog.changed", "revision": 2, "sessionId": session })
                .to_string();
        scene.says([changed.clone(), changed.clone()]);
        scene.wait(999);
        assert_eq!(scene.host(), NOTHING);
        scene.wait(1);
        for _ in 0..2 {
            let asked = scene.asked("session.catalog.query");
            assert_eq!(asked.input, json!({ "kind": "get", "sessionId": session }));
            let mut found = item(&session, "/srv/maka-work");
            found["name"] = json!("A title");
            scene.result(&asked, &json!({ "kind": "session", "session": found }));
            scene.says([changed.clone()]);
            scene.wait(1_000);
        }
        assert_eq!(scene.editor(), ["title \"A title\""]);
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [format!("{} end_turn", turn.prompt)]);
    });
}

/// R44 to R47: a name that cannot be had disturbs nothing, and a closed session has none.
#[test]
fn given_a_name_that_fails_or_comes_late_when_the_session_goes_on_or_closes_then_nothing_is_told() {
    each_way(|scene| {
        let turn = scene.running("hello");
        let session = scene.session.clone();
        let changed =
            json!({ "kind": "session.catalog.changed", "revision": 2, "sessionId": session })
                .to_string();
        scene.says([changed.clone()]);
        scene.wait(1_000);
        let asked = scene.asked("session.catalog.query");
        scene.error(&asked, "internal_failure", "no");
        scene.text(&turn, "m1", 0, "Hi");
        scene.now(&turn, "completed");
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"Hi\"".to_owned(),
                format!("{} end_turn", turn.prompt)
            ]
        );
        scene.says([changed]);
        scene.wait(1_000);
        let asked = scene.asked("session.catalog.query");
        let request = scene.close();
        assert_eq!(scene.editor(), [format!("{request} {{}}")]);
        scene.result(
            &asked,
            &json!({ "kind": "session", "session": item(&session, "/w") }),
        );
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// The folder as it really is, or why it cannot be looked at.
#[test]
fn given_a_folder_behind_a_link_or_out_of_reach_when_listed_then_the_real_one_or_the_errno_is_told()
{
    use airlock_engine::{FileArrival, FileFacts, FileKind, FileRefusal, Input};
    let facts = FileArrival::Facts(FileFacts {
        kind: FileKind::Folder,
        canonical_path: "/real".to_owned(),
        size: 0,
        modified: 0,
        identity: String::new(),
    });
    let refused = |name: &str| FileArrival::Refused(FileRefusal::Error(name.to_owned()));
    for (arrival, kept) in [
        (facts, Ok("real")),
        (refused("ENOENT"), Ok("link")),
        (refused("ENOTDIR"), Ok("link")),
        (FileArrival::Refused(FileRefusal::NotAllowed), Ok("link")),
        (refused("EACCES"), Err("EACCES")),
        (refused("ELOOP"), Err("ELOOP")),
    ] {
        each_way(|scene| {
            scene.desk.files_answer = false;
            let id = ask(scene, &json!({ "cwd": "/link" }));
            scene.desk.arrives(Input::File(1, arrival.clone()));
            scene.settle();
            match kept {
                Ok(kept) => {
                    let asked = scene.asked("session.catalog.query");
                    let items = [item("real", "/real"), item("link", "/link")];
                    scene.result(&asked, &page(&items, None));
                    let sessions = told(scene, id)["result"]["sessions"].clone();
                    assert_eq!(
                        (
                            sessions.as_array().unwrap().len(),
                            &sessions[0]["sessionId"]
                        ),
                        (1, &json!(kept))
                    );
                }
                Err(errno) => {
                    let data = format!(
                        r#"{{"source":"filesystem","operation":"cwd.realpath","code":"{errno}"}}"#
                    );
                    assert_eq!(scene.answer(id), Some(format!("{id} error -32603 {data}")));
                    assert_eq!(scene.count("session.catalog.query"), 0);
                }
            }
        });
    }
}
