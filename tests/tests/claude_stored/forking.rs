//! `session/fork`: what is copied, up to where, and what becomes of it.

use airlock_engine::{FileRefusal, HostRefusal};
use serde_json::{Value, json};

use super::world::{
    CWD, ID, OTHER, PROJECT, TURNS, World, answer_row, each_way, prompt_row, queued_row,
};

fn params(id: &str) -> Value {
    json!({ "sessionId": id, "cwd": CWD, "mcpServers": [] })
}

/// Forks at a message.
fn at(id: &str, point: &Value) -> Value {
    let mut params = params(id);
    params["_meta"] = json!({ "jetbrains": { "air": { "fork": point } } });
    params
}

fn fork(world: &mut World, params: &Value) -> u64 {
    world.request("session/fork", params)
}

fn rows(world: &World, id: &str) -> Vec<Value> {
    let content = &world.desk.files.content[&format!("{PROJECT}/{id}.jsonl")];
    let content = std::str::from_utf8(content).expect("text");
    assert!(content.ends_with('\n'));
    let rows = content.lines().map(serde_json::from_str);
    rows.map(|row| row.expect("JSON")).collect()
}

/// The texts of the rows, in order.
fn texts(world: &World, id: &str) -> Vec<String> {
    let rows = rows(world, id);
    let texts = rows.iter().filter_map(|row| {
        let text = row["message"]["content"][0]["text"].as_str();
        text.or(row["customTitle"].as_str()).map(str::to_owned)
    });
    texts.collect()
}

fn forked(world: &World, request: u64) -> String {
    let id = world.result(request)["sessionId"].clone();
    id.as_str().expect("an id").to_owned()
}

/// Section 2; rows as Claude Code's own forks have them, and where they come from.
#[test]
fn given_a_stored_session_when_forked_then_its_rows_stand_under_a_new_id_and_a_process_has_it() {
    each_way(|world| {
        world.recorded();
        let request = fork(world, &params(ID));
        let id = forked(world, request);
        assert_ne!(id, ID);
        let said = ["user", "assistant", "system", "attachment"];
        let source = TURNS.lines().map(serde_json::from_str::<Value>);
        let expected = source.map(|row| row.expect("JSON")).filter(|row| {
            said.contains(&row["type"].as_str().expect("a kind")) && row["uuid"].is_string()
        });
        let mut expected: Vec<Value> = expected
            .map(|mut row| {
                row["forkedFrom"] = json!({ "sessionId": ID, "messageUuid": row["uuid"] });
                row["sessionId"] = json!(id);
                row
            })
            .collect();
        let title = "Edit it [[mock:edit]] (fork)";
        expected.push(json!({ "type": "custom-title", "customTitle": title, "sessionId": id }));
        assert_eq!(rows(world, &id), expected);
        assert_eq!(
            world.desk.files.content[&format!("{PROJECT}/{ID}.jsonl")],
            TURNS.as_bytes()
        );
        // It is answered as a new session is, and works as one.
        let result = world.result(request);
        assert_eq!(result["modes"]["currentModeId"], "default");
        assert_eq!(result["configOptions"][0]["id"], "mode");
        assert_eq!(world.desk.host.started.len(), 1);
        assert!(world.started_with(0, &format!("--resume={id}")));
        world.desk.prompt(&id, "go on");
        world.settle();
        assert_eq!(world.desk.host.users[0]["session_id"], *id);
        let list = world.request("session/list", &json!({ "cwd": CWD }));
        let listed = world.result(list);
        let names = listed["sessions"].as_array().expect("a list").iter();
        let names: Vec<&Value> = names.map(|it| &it["title"]).collect();
        assert!(names.contains(&&json!(title)) && names.len() == 2);
        // Its name is told with the first prompt, and the model is not asked for another one.
        let shown = world.shown();
        let told: Vec<&Value> = shown.iter().map(|it| &it["title"]).collect();
        assert_eq!(told, [title]);
        assert_eq!(world.desk.host.times_asked("generate_session_title"), 0);
        assert_eq!(world.desk.files.open(), 0);
    });
}

/// Sections 4 and 17: set up as a new session is.
#[test]
fn given_what_a_client_says_to_the_program_when_forked_then_the_copy_is_set_up_with_it() {
    let more = json!({
        "additionalDirectories": ["/srv/more"],
        "systemPrompt": { "mode": "append", "content": [{ "type": "text", "text": "Be brief" }] },
        "_meta": { "claudeCode": { "options": { "model": "haiku" }, "emitRawSDKMessages": true },
                   "additionalRoots": ["/srv/root"], "disableBuiltInTools": true,
                   "jetbrains": { "air": { "customInstructions": "And kind" } } } });
    let mut said = Vec::new();
    for method in ["session/fork", "session/new"] {
        let mut world = World::agreeing(&["customInstructions"]);
        world.recorded();
        let mut params = params(ID);
        for (name, value) in more.as_object().expect("fields") {
            params[name] = value.clone();
        }
        let request = world.request(method, &params);
        let id = forked(&world, request);
        let started = world.desk.host.started[0].iter();
        let own = |it: &&String| !it.contains(&id) && !it.starts_with("--permission-mode");
        let args: Vec<String> = started.filter(own).cloned().collect();
        assert!(args.contains(&"--model=haiku".to_owned()), "{args:?}");
        let greeting: Value = serde_json::from_str(&world.desk.to_host[0].1).expect("JSON");
        let told = greeting["request"]["appendSystemPrompt"].to_string();
        assert!(
            told.contains("Be brief") && told.contains("And kind"),
            "{told}"
        );
        let raw = world
            .got()
            .iter()
            .any(|it| it["method"] == "_claude/sdkMessage");
        said.push((args, greeting["request"].clone(), raw));
    }
    assert_eq!(said[0], said[1]);
}

/// Section 4: in the same words as for a new session.
#[test]
fn given_a_relative_folder_when_forked_then_the_error_is_that_of_a_new_session() {
    let mut world = World::plain();
    world.recorded();
    for (field, value) in [
        ("cwd", json!("relative")),
        ("additionalDirectories", json!(["relative"])),
        ("systemPrompt", json!({ "mode": "other", "content": [] })),
    ] {
        let mut params = params(ID);
        params[field] = value;
        let new = world.request("session/new", &params);
        let request = fork(&mut world, &params);
        assert_eq!(world.error(request), world.error(new), "{field}");
        assert_eq!(world.error(new)["code"], -32602);
    }
    assert_eq!(world.desk.host.started.len(), 0);
}

/// A part of a session is an extension: to others the key means nothing.
#[test]
fn given_a_client_without_the_extensions_when_it_names_a_message_then_all_is_kept() {
    let mut world = World::plain();
    told_twice(&mut world);
    let request = fork(
        &mut world,
        &at(OTHER, &json!({ "version": 1, "messageId": "m1" })),
    );
    let id = forked(&world, request);
    assert_eq!(texts(&world, &id).len(), 9);
}

/// Section 2: unknown id. Nothing is started or written for it.
#[test]
fn given_no_such_session_when_forked_then_it_is_not_found() {
    let mut world = World::plain();
    for id in [
        "00000000-0000-4000-8000-000000000000",
        "../../etc/passwd",
        "",
    ] {
        let request = fork(&mut world, &params(id));
        let expected = json!({ "code": -32002, "message": "Resource not found",
                               "data": { "sessionId": id } });
        assert_eq!(world.error(request), expected);
    }
    let mut nowhere = params(ID);
    nowhere["cwd"] = json!("/srv/nowhere");
    let request = fork(&mut world, &nowhere);
    assert_eq!(
        world.error(request)["data"],
        json!({ "cwd": "/srv/nowhere" })
    );
    assert_eq!(world.desk.host.started.len(), 0);
    assert_eq!(world.desk.files.content.len(), 1);
    world.is_tidy();
}

/// The program stores a session when something is said in it, its bookkeeping first, and takes
/// up none without a row of the conversation.
#[test]
fn given_a_session_without_a_past_when_forked_then_the_fork_is_a_new_one_without_a_file() {
    let bookkeeping = json!({ "type": "ai-title", "aiTitle": "Named" }).to_string() + "\n";
    for (said, written) in [
        (false, None),
        (true, None),
        (true, Some("")),
        (true, Some(&*bookkeeping)),
    ] {
        let mut world = World::agreeing(&[]);
        let new = world.request("session/new", &json!({ "cwd": CWD, "mcpServers": [] }));
        let source = forked(&world, new);
        if said {
            world.desk.prompt(&source, "go on");
            world.settle();
        }
        if let Some(written) = written {
            world.stored(&source, written);
        }
        let files = world.desk.files.content.len();
        let request = fork(&mut world, &params(&source));
        let id = forked(&world, request);
        assert_ne!(id, source);
        assert_eq!(world.desk.files.content.len(), files);
        assert!(world.started_with(1, &format!("--session-id={id}")));
        assert!(!world.started_with(1, &format!("--resume={id}")));
        world.desk.prompt(&id, "something else");
        world.settle();
        assert_eq!(world.desk.host.users.len(), 1 + usize::from(said));
        // None of its messages is stored, either.
        let point = json!({ "version": 1, "messageId": "m1" });
        let request = fork(&mut world, &at(&source, &point));
        assert_eq!(world.error(request)["code"], -32602);
        assert_eq!(world.desk.host.started.len(), 2);
        assert_eq!(world.desk.files.open(), 0);
    }
}

/// What was said in it is stored, but not there.
#[test]
fn given_a_live_session_of_another_folder_when_forked_then_it_is_not_found() {
    let mut world = World::plain();
    world.file("/srv/else/hello.txt", "");
    world.recorded();
    let resume = world.resume(ID);
    world.result(resume);
    let mut elsewhere = params(ID);
    elsewhere["cwd"] = json!("/srv/else");
    let request = fork(&mut world, &elsewhere);
    assert_eq!(world.error(request)["code"], -32002);
    let close = world.request("session/close", &json!({ "sessionId": ID }));
    world.result(close);
    world.is_tidy();
}

/// Two messages of the model with one text, between prompts.
fn told_twice(world: &mut World) {
    let row = |text: &str, id: &str| {
        answer_row(text)
            .replace(&format!("msg-{text}"), id)
            .replace(&format!("a-{text}"), &format!("row-{id}"))
    };
    let parts = [
        prompt_row("One"),
        row("Same", "m1"),
        prompt_row("Two"),
        // A message of two blocks, each in a row of its own.
        row("Al", "m2"),
        row("one", "m2"),
        prompt_row("Three"),
        row("Same", "m3"),
        prompt_row("Four"),
    ];
    world.stored(OTHER, &parts.concat());
}

/// The public description of the extension: by id, with the suffix of a part too; by text
/// where no message has the id; a point that cannot be read means all of it.
#[test]
fn given_a_message_when_forked_there_then_all_up_to_it_is_kept() {
    let print = |text: &str| format!("sha256:{}", airlock_tests::sha256(text));
    let all = ["One", "Same", "Two", "Al", "one", "Three", "Same", "Four"];
    let gone = json!("gone");
    let table = [
        (json!({ "version": 1, "messageId": "m1" }), 2),
        (json!({ "version": 1, "messageId": "m2" }), 5),
        (json!({ "version": 1, "messageId": "m2:segment:7" }), 5),
        (json!({ "version": 1, "messageId": "row-m3" }), 7),
        (json!({ "version": 1, "messageId": "u-Two" }), 3),
        (
            json!({ "version": 1, "messageId": gone, "messageFingerprint": print("Alone") }),
            5,
        ),
        (
            json!({ "version": 1, "messageId": gone, "messageFingerprint": print("Alone"),
                 "messageOccurrence": 9 }),
            5,
        ),
        (
            json!({ "version": 1, "messageId": gone, "messageFingerprint": print("Same"),
                 "messageOccurrence": 1 }),
            2,
        ),
        (
            json!({ "version": 1, "messageId": gone, "messageFingerprint": print("Same"),
                 "messageOccurrence": 2 }),
            7,
        ),
        (
            json!({ "version": 1, "messageId": "m3", "messageFingerprint": print("Alone") }),
            7,
        ),
        (json!({ "version": 2, "messageId": "m1" }), 8),
        (json!({ "version": 1, "messageId": " " }), 8),
        (json!({ "version": 1 }), 8),
    ];
    for (point, kept) in table {
        let mut world = World::agreeing(&[]);
        told_twice(&mut world);
        let request = fork(&mut world, &at(OTHER, &point));
        let id = forked(&world, request);
        let mut expected: Vec<String> = all[..kept].iter().map(|it| (*it).to_owned()).collect();
        expected.push("One (fork)".to_owned());
        assert_eq!(texts(&world, &id), expected, "{point}");
        assert_eq!(world.desk.files.open(), 0);
    }
}

/// Its row has an id of its own, which no editor is told; the row is copied as it is.
#[test]
fn given_a_prompt_that_waited_for_a_turn_when_forked_there_then_all_up_to_it_is_kept() {
    let queued = queued_row(&json!({ "source_uuid": "sent", "commandMode": "prompt",
                                     "prompt": "Two" }));
    let mut world = World::agreeing(&[]);
    let history = [
        prompt_row("One"),
        answer_row("Yes"),
        queued.clone(),
        answer_row("No"),
    ];
    world.stored(OTHER, &history.concat());
    let point = json!({ "version": 1, "messageId": "sent" });
    let request = fork(&mut world, &at(OTHER, &point));
    let id = forked(&world, request);
    let mut expected: Value = serde_json::from_str(&queued).expect("JSON");
    expected["forkedFrom"] = json!({ "sessionId": OTHER, "messageUuid": expected["uuid"] });
    expected["sessionId"] = json!(id);
    let rows = rows(&world, &id);
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[2], expected);
}

#[test]
fn given_no_such_message_when_forked_there_then_the_params_are_refused() {
    let print = format!("sha256:{}", airlock_tests::sha256("Same"));
    let gone = json!("gone");
    for point in [
        json!({ "version": 1, "messageId": gone }),
        // Nobody can say which of the two it is.
        json!({ "version": 1, "messageId": gone, "messageFingerprint": print }),
        json!({ "version": 1, "messageId": gone, "messageFingerprint": print,
                "messageOccurrence": 3 }),
        json!({ "version": 1, "messageId": "m1:segment:" }),
    ] {
        let mut world = World::agreeing(&[]);
        told_twice(&mut world);
        let request = fork(&mut world, &at(OTHER, &point));
        let error = world.error(request);
        assert_eq!(error["code"], -32602, "{point}");
        assert_eq!(error["data"], json!({ "messageId": point["messageId"] }));
        assert_eq!(world.desk.files.content.len(), 2);
        assert_eq!(world.desk.host.started.len(), 0);
        world.is_tidy();
    }
}

/// In memory that does not grow with the history: one row and one piece are kept.
#[test]
fn given_a_large_history_when_forked_then_it_is_written_piece_by_piece() {
    let mut world = World::plain();
    let mut history = prompt_row("First");
    while history.len() < 4 << 20 {
        history.push_str(&answer_row(&"More of it. ".repeat(500)));
    }
    history.push_str("{ half a row");
    world.stored(OTHER, &history);
    let id = world.desk.request("session/fork", &params(OTHER));
    let mut largest = 0;
    while world.desk.step() {
        largest = largest.max(world.desk.state_size());
    }
    assert!(largest < 400 << 10, "{largest} bytes of state");
    let fork = forked(&world, id);
    let count = history.lines().count();
    // Without the half row, with the name.
    assert_eq!(rows(&world, &fork).len(), count);
    world.is_tidy();
}

/// Half a copy is worse than none.
#[test]
fn given_a_disk_that_is_full_when_forked_then_the_error_says_so_and_nothing_stays() {
    let mut world = World::plain();
    let history = answer_row(&"More of it. ".repeat(20_000));
    world.stored(OTHER, &format!("{}{history}", prompt_row("First")));
    world.desk.files.room = Some(2);
    let request = fork(&mut world, &params(OTHER));
    assert_eq!(world.error(request)["data"]["reason"], "ENOSPC");
    let left: Vec<&String> = world.desk.files.content.keys().collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(world.desk.host.started.len(), 0);
    world.is_tidy();
}

#[test]
fn given_files_or_a_program_that_cannot_be_used_when_forked_then_the_error_says_so() {
    let mut world = World::plain();
    world.recorded();
    let file = format!("{PROJECT}/{ID}.jsonl");
    let refusal = FileRefusal::NotAllowed;
    world.desk.files.refused.insert(file.clone(), refusal);
    let request = fork(&mut world, &params(ID));
    assert_eq!(world.error(request)["data"]["reason"], "not_allowed");
    world.desk.files.refused.remove(&file);
    world.desk.host.refusal = Some(HostRefusal::Absent);
    let request = fork(&mut world, &params(ID));
    assert_eq!(world.error(request)["data"]["code"], "start_failed");
    world.is_tidy();
}

/// A session that is open here is forked as it is asked for permissions now.
#[test]
fn given_a_live_session_when_forked_then_both_go_on_and_the_mode_is_taken_over() {
    let mut world = World::plain();
    world.recorded();
    let load = world.resume(ID);
    world.result(load);
    let mode = json!({ "sessionId": ID, "modeId": "acceptEdits" });
    let set = world.request("session/set_mode", &mode);
    world.result(set);
    let request = fork(&mut world, &params(ID));
    let id = forked(&world, request);
    assert!(world.started_with(1, "--permission-mode=acceptEdits"));
    assert_eq!(world.desk.channels().len(), 2);
    for session in [ID, &id] {
        let close = world.request("session/close", &json!({ "sessionId": session }));
        assert_eq!(world.result(close), json!({}));
    }
    world.is_tidy();
}

#[test]
fn given_a_fork_under_way_when_the_editor_goes_then_it_is_answered_and_half_of_it_is_removed() {
    let mut world = World::plain();
    let history = answer_row(&"More of it. ".repeat(20_000));
    world.stored(OTHER, &format!("{}{history}", prompt_row("First")));
    let request = world.desk.request("session/fork", &params(OTHER));
    while world.desk.files.content.len() < 3 {
        assert!(world.desk.step());
    }
    world.desk.hang_up();
    world.settle();
    assert_eq!(world.error(request)["code"], -32603);
    assert_eq!(world.desk.files.content.len(), 2);
    assert_eq!(world.desk.files.open(), 0);
    assert_eq!(world.desk.done, Some(0));
}
