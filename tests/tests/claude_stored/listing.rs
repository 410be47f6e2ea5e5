//! `session/list`.

use airlock_engine::FileRefusal;
use serde_json::{Value, json};

use super::world::{CWD, ID, OTHER, PROJECT, PROJECTS, World, answer_row, each_way, prompt_row};

fn id(number: u64) -> String {
    format!("{number:08}-0000-4000-8000-000000000000")
}

fn ids(result: &Value) -> Vec<String> {
    let sessions = result["sessions"].as_array().expect("a list");
    let ids = sessions
        .iter()
        .map(|it| it["sessionId"].as_str().expect("an id"));
    ids.map(str::to_owned).collect()
}

/// Section 2: the whole answer, newest first.
#[test]
fn given_stored_sessions_when_listed_then_each_has_its_name_folder_and_date() {
    each_way(|world| {
        world.recorded();
        let named = format!(
            "{}{}{}",
            prompt_row("First  words\nof it"),
            answer_row("Yes"),
            json!({ "type": "ai-title", "aiTitle": "Made up" })
        );
        world.stored(OTHER, &named);
        let elsewhere = format!("{PROJECTS}/-srv-else/{}.jsonl", id(3));
        world.file(&elsewhere, &prompt_row("Else").replace(CWD, "/srv/else"));
        world.dated(&format!("{PROJECT}/{ID}.jsonl"), 1_796_027_000_000);
        world.dated(&format!("{PROJECT}/{OTHER}.jsonl"), 1_796_027_000_002);
        world.dated(&elsewhere, 1_796_027_000_001);
        let all = world.request("session/list", &json!({}));
        let (first, second, third) = (
            json!({ "sessionId": OTHER, "cwd": CWD, "title": "Made up",
                    "updatedAt": "2026-11-30T08:23:20.002Z" }),
            json!({ "sessionId": id(3), "cwd": "/srv/else", "title": "Else",
                    "updatedAt": "2026-11-30T08:23:20.001Z" }),
            json!({ "sessionId": ID, "cwd": CWD, "title": "Edit it [[mock:edit]]",
                    "updatedAt": "2026-11-30T08:23:20.000Z" }),
        );
        assert_eq!(
            world.result(all),
            json!({ "sessions": [first, second, third] })
        );
        let here = world.request("session/list", &json!({ "cwd": CWD }));
        assert_eq!(world.result(here), json!({ "sessions": [first, third] }));
        world.is_tidy();
    });
}

/// Two folders can have one name; a folder matches exactly.
#[test]
fn given_folders_of_one_name_when_one_is_listed_then_the_other_is_not() {
    let mut world = World::plain();
    world.stored(&id(1), &prompt_row("Mine"));
    world.stored(&id(2), &prompt_row("Not mine").replace(CWD, "/srv.work"));
    let list = world.request("session/list", &json!({ "cwd": CWD }));
    assert_eq!(ids(&world.result(list)), [id(1)]);
}

/// What cannot be listed is left out and said.
#[test]
fn given_files_that_are_no_sessions_when_listed_then_they_are_left_out() {
    let mut world = World::plain();
    world.stored(&id(1), &prompt_row("Good"));
    world.stored(&id(2), "not JSON\n");
    world.stored(&id(3), "");
    world.stored(
        &id(4),
        &prompt_row("Aside").replace("\"isSidechain\":false", "\"isSidechain\":true"),
    );
    world.stored(
        &id(5),
        &prompt_row("No folder").replace("\"cwd\"", "\"was\""),
    );
    world.stored(&id(6), &prompt_row("Unreadable"));
    world.desk.files.refused.insert(
        format!("{PROJECT}/{}.jsonl", id(6)),
        FileRefusal::Error("EACCES".to_owned()),
    );
    world.stored("notes", &prompt_row("Not a session"));
    world.file(
        &format!("{PROJECT}/{}.txt", id(7)),
        &prompt_row("Not a session"),
    );
    world.file(
        &format!("{PROJECTS}/stray.jsonl"),
        &prompt_row("Not a session"),
    );
    let list = world.request("session/list", &json!({}));
    assert_eq!(ids(&world.result(list)), [id(1)]);
    // One that cannot even be looked at is not among the names.
    let notes: Vec<&str> = world
        .desk
        .notes
        .iter()
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(notes, ["4 stored sessions could not be listed"]);
    world.is_tidy();
}

#[test]
fn given_nothing_stored_when_listed_then_the_list_is_empty() {
    let mut world = World::plain();
    for params in [
        json!({}),
        json!({ "cwd": CWD }),
        json!({ "cwd": "/srv/gone" }),
    ] {
        let list = world.request("session/list", &params);
        assert_eq!(world.result(list), json!({ "sessions": [] }));
    }
}

/// Section 2: pages of 1,000, cursor `offset:<n>`.
#[test]
fn given_many_sessions_when_listed_then_pages_follow_each_other() {
    let mut world = World::plain();
    for number in 0..2_001 {
        world.stored(&id(number), &prompt_row("One"));
        world.dated(&format!("{PROJECT}/{}.jsonl", id(number)), 2_001 - number);
    }
    let mut cursor = Value::Null;
    let mut all = Vec::new();
    for (length, next) in [
        (1_000, json!("offset:1000")),
        (1_000, json!("offset:2000")),
        (1, Value::Null),
    ] {
        let list = world.request("session/list", &json!({ "cursor": cursor }));
        let page = world.result(list);
        let ids = ids(&page);
        assert_eq!(ids.len(), length);
        assert_eq!(page["nextCursor"], next);
        all.extend(ids);
        cursor = next;
    }
    assert_eq!(all, (0..2_001).map(id).collect::<Vec<_>>());
    let list = world.request("session/list", &json!({ "cursor": "offset:5000" }));
    assert_eq!(world.result(list), json!({ "sessions": [] }));
    world.is_tidy();
}

#[test]
fn given_a_bad_cursor_or_folder_when_listed_then_the_params_are_refused() {
    let mut world = World::plain();
    let table = [
        json!({ "cursor": "offset:" }),
        json!({ "cursor": "offset:-1" }),
        json!({ "cursor": "offset:+1" }),
        json!({ "cursor": "offset:99999999999999999999999" }),
        json!({ "cursor": "page:1" }),
        json!({ "cursor": "" }),
        json!({ "cwd": "relative" }),
    ];
    for params in table {
        let list = world.request("session/list", &params);
        assert_eq!(world.error(list)["code"], -32602, "{params}");
    }
}

/// Of a large file only its beginning and its end are read.
#[test]
fn given_a_large_file_when_listed_then_64_kib_at_each_end_are_read() {
    let mut world = World::plain();
    let mut rows = prompt_row("First");
    while rows.len() < 3 << 20 {
        rows.push_str(&answer_row("More"));
    }
    rows.push_str(&json!({ "type": "custom-title", "customTitle": "Mine" }).to_string());
    rows.push('\n');
    world.stored(OTHER, &rows);
    let list = world.request("session/list", &json!({}));
    assert_eq!(world.result(list)["sessions"][0]["title"], "Mine");
    let size = rows.len() as u64;
    assert_eq!(
        world.reads(),
        [(0, 64 << 10), (size - (64 << 10), 64 << 10)]
    );
    world.is_tidy();
}
