//! The index of sessions (AIR `sessionIndex`, `sessionBatchGet`): rows, names, the archive,
//! changes that are told.

use airlock_engine::FileRefusal;
use airlock_tests::Say;
use serde_json::{Value, json};

use super::world::{
    CWD, ID, OTHER, PROJECT, PROJECTS, World, answer_row, each_way_agreeing, prompt_row, queued_row,
};

const INDEX: [&str; 2] = ["sessionIndex", "sessionBatchGet"];

fn row(listed: &Value, id: &str) -> Value {
    let mut rows = listed["sessions"].as_array().expect("rows").iter();
    rows.find(|it| it["sessionId"] == id)
        .cloned()
        .unwrap_or_default()
}

fn air(row: &Value) -> Value {
    row["_meta"]["jetbrains"]["air"].clone()
}

fn ids(listed: &Value) -> Vec<String> {
    let rows = listed["sessions"].as_array().expect("rows").iter();
    rows.map(|it| it["sessionId"].as_str().expect("an id").to_owned())
        .collect()
}

fn listed(world: &mut World, wanted: &Value) -> Value {
    let params = json!({ "cwd": CWD, "_meta": { "jetbrains": { "air": { "list": wanted } } } });
    let list = world.request("session/list", &params);
    world.result(list)
}

fn asks(world: &mut World, method: &str, params: &Value) -> Value {
    let id = world.request(method, params);
    world.result(id)
}

fn of(id: &str) -> Value {
    json!({ "sessionId": id })
}

/// What the editor was told of changes.
fn changes(world: &World) -> Vec<Value> {
    let got = world.got().into_iter();
    let told = got.filter(|it| it["method"] == "_session/list/changes");
    told.map(|it| it["params"].clone()).collect()
}

fn stamped(row: &str, at: &str, model: &str) -> String {
    let mut row: Value = serde_json::from_str(row).expect("JSON");
    row["timestamp"] = json!(at);
    if row["type"] == "assistant" {
        row["message"]["model"] = json!(model);
    }
    format!("{row}\n")
}

/// The recorded row: what is stored, and what a session does that is open here.
#[test]
fn given_an_index_when_listed_then_rows_say_more_and_other_clients_are_not_told() {
    let rows = [
        stamped(&prompt_row("One"), "2026-11-30T08:00:00.000Z", ""),
        stamped(
            &answer_row("Yes"),
            "2026-11-30T08:00:01.000Z",
            "claude-opus-5-5",
        ),
        stamped(&prompt_row("Two"), "2026-11-30T08:00:02.000Z", ""),
        stamped(&answer_row("No"), "2026-11-30T08:00:03.000Z", "<synthetic>"),
    ];
    let mut plain = World::plain();
    plain.stored(OTHER, &rows.concat());
    let list = plain.request("session/list", &json!({ "cwd": CWD }));
    assert!(row(&plain.result(list), OTHER).get("_meta").is_none());

    let mut world = World::agreeing(&INDEX);
    world.stored(OTHER, &rows.concat());
    let stored = json!({ "version": 1, "archived": false,
        "lastPromptAt": "2026-11-30T08:00:02.000Z", "model": "claude-opus-5-5" });
    let list = listed(&mut world, &json!({}));
    assert_eq!(air(&row(&list, OTHER)), stored);

    let resume = world.resume(OTHER);
    world.result(resume);
    let mut open = stored.clone();
    open["state"] = json!("idle");
    let list = listed(&mut world, &json!({}));
    assert_eq!(air(&row(&list, OTHER)), open);
    world.desk.prompt(OTHER, "go on");
    world.settle();
    open["state"] = json!("running");
    let list = listed(&mut world, &json!({}));
    assert_eq!(air(&row(&list, OTHER)), open);
    let uuid = world.desk.host.users[0]["uuid"].clone();
    let asked = json!({ "type": "control_request", "request_id": "q", "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": "ls" },
        "tool_use_id": "t" } });
    world.desk.host_says([Say::Line(asked.to_string())]);
    world.settle();
    open["state"] = json!("requires_action");
    let list = listed(&mut world, &json!({}));
    assert_eq!(air(&row(&list, OTHER)), open);
    let withdrawn = json!({ "type": "control_cancel_request", "request_id": "q" });
    let result = json!({ "type": "result", "subtype": "success", "user_message_uuids": [uuid],
        "total_cost_usd": 0.5, "usage": { "output_tokens": 1 } });
    let said = [withdrawn, result].map(|frame| Say::Line(frame.to_string()));
    world.desk.host_says(said);
    world.settle();
    open["state"] = json!("idle");
    open["lastTurnEndedAt"] = json!("2026-11-30T08:23:20.000Z");
    open["cost"] = json!({ "amount": 0.5, "currency": "USD" });
    let list = listed(&mut world, &json!({}));
    assert_eq!(air(&row(&list, OTHER)), open);
}

/// What was said while a turn ran is said, too.
#[test]
fn given_a_prompt_that_waited_for_a_turn_when_listed_then_its_row_counts_as_one() {
    let mut world = World::agreeing(&INDEX);
    let prompt = json!({ "commandMode": "prompt", "origin": { "kind": "human" },
                         "prompt": [{ "type": "text", "text": "Said meanwhile" }] });
    let notification = json!({ "commandMode": "task-notification", "prompt": "Done",
                               "origin": { "kind": "task-notification" } });
    let later = queued_row(&notification).replace("2026-12-01", "2026-12-02");
    world.stored(OTHER, &(queued_row(&prompt) + &later));
    let list = listed(&mut world, &json!({}));
    let row = row(&list, OTHER);
    assert_eq!(row["title"], "Said meanwhile");
    assert_eq!(air(&row)["lastPromptAt"], "2026-12-01T02:49:01.558Z");
}

#[test]
fn given_a_fork_when_listed_in_an_index_then_its_row_says_of_what() {
    let mut world = World::agreeing(&INDEX);
    world.recorded();
    let params = json!({ "sessionId": ID, "cwd": CWD, "mcpServers": [] });
    let fork = asks(&mut world, "session/fork", &params);
    let list = listed(&mut world, &json!({}));
    let id = fork["sessionId"].as_str().expect("an id");
    assert_eq!(air(&row(&list, id))["forkedFrom"], ID);
    assert_eq!(air(&row(&list, ID)).get("forkedFrom"), None);
}

/// The public description: `limit`, `archived`, what is refused.
#[test]
fn given_an_index_when_a_page_is_wanted_then_it_is_as_long_and_of_that_kind() {
    let id = |number: u64| format!("{number:08}-0000-4000-8000-000000000000");
    let mut world = World::agreeing(&INDEX);
    for number in 0..120 {
        world.stored(&id(number), &prompt_row("One"));
    }
    for (limit, length) in [
        (Value::Null, 50),
        (json!(1), 1),
        (json!(100), 100),
        (json!(5000), 100),
    ] {
        let page = listed(&mut world, &json!({ "limit": limit }));
        assert_eq!(ids(&page).len(), length, "{limit}");
        assert_eq!(page["nextCursor"], format!("offset:{length}"));
    }
    assert_eq!(asks(&mut world, "_session/archive", &of(&id(7))), json!({}));
    // Once more changes nothing.
    assert_eq!(asks(&mut world, "_session/archive", &of(&id(7))), json!({}));
    let archived = listed(&mut world, &json!({ "archived": "archived" }));
    assert_eq!(ids(&archived), [id(7)]);
    assert_eq!(air(&archived["sessions"][0])["archived"], true);
    let count = |world: &mut World, archived: &str| {
        let first = listed(world, &json!({ "archived": archived, "limit": 100 }));
        let params = json!({ "cwd": CWD, "cursor": first["nextCursor"],
            "_meta": { "jetbrains": { "air": { "list": { "archived": archived } } } } });
        ids(&first).len() + ids(&asks(world, "session/list", &params)).len()
    };
    assert_eq!(
        (count(&mut world, "unarchived"), count(&mut world, "all")),
        (119, 120)
    );
    assert_eq!(
        asks(&mut world, "_session/unarchive", &of(&id(7))),
        json!({})
    );
    assert_eq!(
        asks(&mut world, "_session/unarchive", &of(&id(7))),
        json!({})
    );
    assert_eq!(count(&mut world, "unarchived"), 120);
    for wanted in [
        json!({ "limit": 0 }),
        json!({ "limit": -1 }),
        json!({ "limit": 1.5 }),
        json!({ "limit": "9" }),
        json!({ "limit": true }),
        json!({ "archived": "some" }),
        json!({ "archived": true }),
        json!({ "includeWorktrees": 1 }),
    ] {
        let params = json!({ "_meta": { "jetbrains": { "air": { "list": wanted } } } });
        let list = world.request("session/list", &params);
        assert_eq!(world.error(list)["code"], -32602, "{wanted}");
    }
    world.is_tidy();
}

#[test]
fn given_ids_when_asked_for_at_once_then_those_that_are_there_are_told_wherever_they_are() {
    let mut world = World::agreeing(&INDEX);
    world.recorded();
    let elsewhere = format!("{PROJECTS}/-srv-else/{OTHER}.jsonl");
    world.file(&elsewhere, &prompt_row("Else").replace(CWD, "/srv/else"));
    asks(&mut world, "_session/archive", &of(OTHER));
    let unknown = "00000000-0000-4000-8000-000000000000";
    let asked = json!({ "sessionIds": [OTHER, unknown, "../x"] });
    let got = asks(&mut world, "_session/batch_get", &asked);
    assert_eq!(ids(&got), [OTHER]);
    assert_eq!(got["sessions"][0]["cwd"], "/srv/else");
    assert_eq!(air(&got["sessions"][0])["archived"], true);
    let none = asks(
        &mut world,
        "_session/batch_get",
        &json!({ "sessionIds": [] }),
    );
    assert_eq!(none, json!({ "sessions": [] }));
    let bad = world.request("_session/batch_get", &json!({}));
    assert_eq!(world.error(bad)["code"], -32602);
}

#[test]
fn given_a_stored_session_when_renamed_then_its_file_says_so_in_the_programs_words() {
    let mut world = World::agreeing(&INDEX);
    world.stored(OTHER, &prompt_row("First words"));
    let rename = json!({ "sessionId": OTHER, "title": " A  better\nname " });
    assert_eq!(asks(&mut world, "_session/rename", &rename), json!({}));
    let content = &world.desk.files.content[&format!("{PROJECT}/{OTHER}.jsonl")];
    let content = std::str::from_utf8(content).expect("text");
    let last: Value = serde_json::from_str(content.lines().last().expect("a row")).expect("JSON");
    let row = json!({ "type": "custom-title", "customTitle": "A better name", "sessionId": OTHER });
    assert_eq!(last, row);
    let list = listed(&mut world, &json!({}));
    assert_eq!(list["sessions"][0]["title"], "A better name");
    let long = json!({ "sessionId": OTHER, "title": "x".repeat(300) });
    asks(&mut world, "_session/rename", &long);
    let list = listed(&mut world, &json!({}));
    let title = list["sessions"][0]["title"]
        .as_str()
        .expect("a title")
        .to_owned();
    assert_eq!(
        (title.chars().count(), title.chars().last()),
        (256, Some('…'))
    );
    // No process was needed.
    assert_eq!(world.desk.host.started.len(), 0);
    let blank = world.request(
        "_session/rename",
        &json!({ "sessionId": OTHER, "title": " \n" }),
    );
    assert_eq!(world.error(blank)["data"]["field"], "title");
    world.is_tidy();
}

/// One that is open here is named by its process, which keeps the name.
#[test]
fn given_a_live_session_when_renamed_then_its_process_does_it_and_the_editor_hears() {
    each_way_agreeing(&INDEX, |world| {
        world.recorded();
        let resume = world.resume(ID);
        world.result(resume);
        world.desk.host.by_hand("rename_session");
        let params = json!({ "sessionId": ID, "title": "Mine" });
        let rename = world.request("_session/rename", &params);
        assert_eq!(world.answer(rename), None);
        let request = world.desk.host.take("rename_session").expect("it is asked");
        assert_eq!(request["request"]["title"], "Mine");
        let line = airlock_tests::scripted_cli::answer(&request, &json!({}));
        world.desk.host_says([Say::Line(line)]);
        world.settle();
        assert_eq!(world.result(rename), json!({}));
        let told = world.shown();
        let told = told.last().expect("an update");
        assert_eq!(told["sessionUpdate"], "session_info_update");
        assert_eq!(told["title"], "Mine");

        // One that the process refuses, and one that its end leaves open.
        let refused = world.request("_session/rename", &params);
        let request = world.desk.host.take("rename_session").expect("it is asked");
        let line = json!({ "type": "control_response", "response": { "subtype": "error",
            "request_id": request["request_id"], "error": "no" } });
        world.desk.host_says([Say::Line(line.to_string())]);
        world.settle();
        assert_eq!(world.error(refused)["code"], -32603);
        let open = world.request("_session/rename", &params);
        let close = world.request("session/close", &of(ID));
        assert_eq!(world.result(close), json!({}));
        assert_eq!(world.error(open)["code"], -32603);
    });
}

/// The user's name stands, whatever the model still says.
#[test]
fn given_a_name_that_the_model_makes_when_the_user_names_the_session_then_that_one_stays() {
    each_way_agreeing(&INDEX, |world| {
        world.recorded();
        let resume = world.resume(ID);
        world.result(resume);
        world.desk.host.by_hand("generate_session_title");
        world.desk.prompt(ID, "one");
        world.settle();
        let mine = json!({ "sessionId": ID, "title": "Mine" });
        asks(world, "_session/rename", &mine);
        let asked = world.desk.host.take("generate_session_title");
        let made = json!({ "title": "Made" });
        let line = airlock_tests::scripted_cli::answer(&asked.expect("it is asked"), &made);
        let idle = json!({ "type": "system", "subtype": "session_state_changed",
                           "state": "idle" });
        world
            .desk
            .host_says([Say::Line(line), Say::Line(idle.to_string())]);
        world.settle();
        let shown = world.shown();
        let told: Vec<&Value> = shown.iter().map(|it| &it["title"]).collect();
        assert_eq!(told, ["Mine"]);
    });
}

/// What goes into the archive is at rest.
#[test]
fn given_a_live_session_when_archived_then_it_is_closed_first_and_can_be_loaded_again() {
    let mut world = World::agreeing(&INDEX);
    world.recorded();
    let resume = world.resume(ID);
    world.result(resume);
    let prompt = world.desk.prompt(ID, "one");
    world.settle();
    assert_eq!(asks(&mut world, "_session/archive", &of(ID)), json!({}));
    assert_eq!(world.result(prompt)["stopReason"], "cancelled");
    assert_eq!(world.desk.channels(), [0; 0]);
    assert_eq!(ids(&listed(&mut world, &json!({}))), Vec::<String>::new());
    asks(&mut world, "_session/unarchive", &of(ID));
    let load = world.load(ID);
    world.result(load);
    // For good means the mark, too.
    asks(&mut world, "_session/archive", &of(ID));
    asks(&mut world, "session/delete", &of(ID));
    let left: Vec<&String> = world.desk.files.content.keys().collect();
    assert_eq!(left, ["/srv/work/hello.txt"]);
}

#[test]
fn given_sessions_that_are_not_there_when_changed_then_they_are_not_found() {
    let mut world = World::agreeing(&INDEX);
    world.recorded();
    for id in ["00000000-0000-4000-8000-000000000000", "../../etc/passwd"] {
        for method in ["_session/rename", "_session/archive", "_session/unarchive"] {
            let params = json!({ "sessionId": id, "title": "x" });
            let request = world.request(method, &params);
            assert_eq!(world.error(request)["code"], -32002, "{method}");
        }
    }
    let refusal = FileRefusal::Error("EROFS".to_owned());
    world
        .desk
        .files
        .refused
        .insert(format!("{PROJECT}/{ID}.archived"), refusal);
    let request = world.request("_session/archive", &of(ID));
    assert_eq!(world.error(request)["data"]["reason"], "EROFS");
    world.is_tidy();
}

/// Editors that agreed on something else than the index archive with "delete"; those that
/// agreed on nothing have none of its methods.
#[test]
fn given_a_client_without_an_index_when_it_asks_for_one_then_its_methods_are_not_there() {
    let mut world = World::plain();
    for method in [
        "_session/batch_get",
        "_session/rename",
        "_session/archive",
        "_session/unarchive",
        "_session/list/subscribe",
        "_session/list/unsubscribe",
    ] {
        let request = world.request(method, &json!({}));
        assert_eq!(world.error(request)["code"], -32601, "{method}");
    }
    let mut world = World::agreeing(&["diffPatch"]);
    world.recorded();
    assert_eq!(asks(&mut world, "session/delete", &of(ID)), json!({}));
    assert!(
        world
            .desk
            .files
            .content
            .contains_key(&format!("{PROJECT}/{ID}.jsonl"))
    );
    let list = world.request("session/list", &json!({ "cwd": CWD }));
    assert_eq!(world.result(list), json!({ "sessions": [] }));
}

/// The public description: the answer first; what was there is told when it changes, whole;
/// nothing after the end of a subscription.
#[test]
fn given_a_subscription_when_sessions_change_then_their_rows_are_told() {
    each_way_agreeing(&INDEX, |world| {
        world.recorded();
        world.stored(OTHER, &prompt_row("One"));
        let subscribed = asks(world, "_session/list/subscribe", &json!({ "cwd": CWD }));
        let subscription = subscribed["subscriptionId"].clone();
        world.desk.advance(60_000);
        assert_eq!(changes(world), Vec::<Value>::new());
        // It grows; another comes; one goes.
        world.stored(
            OTHER,
            &format!("{}{}", prompt_row("One"), answer_row("Yes")),
        );
        let third = "33333333-3333-4333-8333-333333333333";
        world.stored(third, &prompt_row("Three"));
        world
            .desk
            .files
            .content
            .remove(&format!("{PROJECT}/{ID}.jsonl"));
        world.desk.advance(2_000);
        let told = changes(world);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["subscriptionId"], subscription);
        assert_eq!(told[0]["removed"], json!([ID]));
        let mut changed = ids(&told[0]);
        changed.sort();
        assert_eq!(changed, [OTHER, third]);
        assert_eq!(air(&told[0]["sessions"][0])["archived"], false);
        // The archive, and what a session does.
        asks(world, "_session/archive", &of(third));
        world.desk.advance(2_000);
        let told = changes(world);
        assert_eq!(ids(&told[1]), [third]);
        assert_eq!(air(&told[1]["sessions"][0])["archived"], true);
        let resume = world.resume(OTHER);
        world.result(resume);
        world.desk.advance(2_000);
        let told = changes(world);
        assert_eq!(air(&told[2]["sessions"][0])["state"], "idle");
        world.desk.advance(10_000);
        assert_eq!(changes(world).len(), 3);
        let end = json!({ "subscriptionId": subscription });
        assert_eq!(asks(world, "_session/list/unsubscribe", &end), json!({}));
        assert_eq!(asks(world, "_session/list/unsubscribe", &end), json!({}));
        world.stored(OTHER, &prompt_row("Other"));
        world.desk.advance(10_000);
        assert_eq!(changes(world).len(), 3);
        assert_eq!(world.desk.armed(), [0; 0]);
        world.is_tidy();
    });
}

/// What cannot be seen just now is not gone; a folder that is gone is.
#[test]
fn given_a_subscription_when_the_folder_cannot_be_seen_for_a_while_then_nothing_is_gone() {
    let mut world = World::agreeing(&INDEX);
    world.recorded();
    asks(
        &mut world,
        "_session/list/subscribe",
        &json!({ "cwd": CWD }),
    );
    let refused = |world: &mut World, refusal| {
        let refused = &mut world.desk.files.refused;
        refused.insert(PROJECT.to_owned(), refusal);
        world.desk.advance(4_000);
    };
    refused(&mut world, FileRefusal::Error("EMFILE".to_owned()));
    assert_eq!(changes(&world), Vec::<Value>::new());
    world.desk.files.refused.clear();
    world.desk.advance(4_000);
    assert_eq!(changes(&world), Vec::<Value>::new());
    refused(&mut world, FileRefusal::Error("ENOENT".to_owned()));
    assert_eq!(changes(&world)[0]["removed"], json!([ID]));
}

#[test]
fn given_too_many_subscriptions_or_a_folder_that_is_none_when_subscribed_then_it_is_refused() {
    let mut world = World::agreeing(&INDEX);
    for params in [
        json!({}),
        json!({ "cwd": 1 }),
        json!({ "cwd": "x" }),
        json!({ "cwd": "" }),
    ] {
        let request = world.request("_session/list/subscribe", &params);
        assert_eq!(world.error(request)["code"], -32602, "{params}");
    }
    for _ in 0..128 {
        asks(
            &mut world,
            "_session/list/subscribe",
            &json!({ "cwd": "/srv/gone" }),
        );
    }
    let request = world.request("_session/list/subscribe", &json!({ "cwd": CWD }));
    assert_eq!(
        world.error(request)["data"]["reason"],
        "too_many_subscriptions"
    );
    world.desk.hang_up();
    world.settle();
    assert_eq!(world.desk.done, Some(0));
    assert_eq!(world.desk.left_armed, [0; 0]);
}
