//! A session that goes on in another file than that of its id, and where a process that takes
//! another's place goes on from.

use airlock_tests::scripted_cli::Scene;
use airlock_tests::scripted_cli::words::{self, aborted, of, with};
use serde_json::{Value, json};

use super::kit::*;

const NEW: &str = "311daea7-89db-4273-b986-2bf25919c19e";
const OTHER: &str = "22222222-2222-4222-8222-222222222222";

/// The conversation begins anew, under another id, as recorded (slash-clear.v1).
fn clears(scene: &mut Scene) {
    scene.prompt("/clear");
    let number = scene.desk.host.users.len();
    let under = |frame: Value| with(frame, json!({ "session_id": NEW }));
    scene.says([
        words::state("running"),
        words::life(number, "started"),
        json!({ "type": "conversation_reset", "trigger": "clear" }),
        under(words::init(&words::NEW)),
        under(words::echo(number)),
        under(words::done(number)),
        words::life(number, "completed"),
        words::state("idle"),
    ]);
}

/// A turn with an answer of the model.
fn answered(scene: &mut Scene, text: &str) {
    scene.prompt(text);
    let number = scene.desk.host.users.len();
    scene.takes(number, &words::NEW);
    scene.streams(&format!("msg_{number}"), &["Yes"]);
    scene.says([words::done(number), words::state("idle")]);
}

/// The id under which the process with this number began.
fn own(scene: &Scene, number: usize) -> String {
    let all = &scene.desk.host.started[number];
    let id = all.iter().find_map(|it| it.strip_prefix("--session-id="));
    id.expect("an id of its own").to_owned()
}

/// A session whose plan was carried out anew; the id of its file.
fn begun_anew(scene: &mut Scene) -> String {
    scene.prompt("one");
    chosen(scene, 1);
    scene.says([aborted(of(&[1]))]);
    done(scene, 1);
    let (session, own) = (scene.session.clone(), own(scene, 1));
    stored(scene, &session, "before");
    stored(scene, &own, "behind");
    own
}

fn listed(scene: &mut Scene) -> Vec<(Value, Value)> {
    let id = scene.desk.request("session/list", &json!({ "cwd": CWD }));
    scene.settle();
    let answer = answer(scene, id).expect("an answer");
    let all = answer["result"]["sessions"].as_array().expect("sessions");
    all.iter()
        .map(|it| (it["sessionId"].clone(), it["title"].clone()))
        .collect()
}

#[test]
fn given_a_cleared_conversation_when_a_provider_is_set_then_the_new_one_goes_on() {
    every_way(|scene| {
        answered(scene, "one");
        clears(scene);
        answered(scene, "two");
        reroute(scene, "first");
        assert!(started_with(scene, 1, &format!("--resume={NEW}")));
    });
}

/// Whether there is a file yet is not known, and to take one up that is not there fails.
#[test]
fn given_a_conversation_that_was_just_cleared_when_a_provider_is_set_then_one_begins() {
    every_way(|scene| {
        answered(scene, "one");
        clears(scene);
        reroute(scene, "first");
        assert!(!started_with(scene, 1, "--resume="));
        assert!(![NEW, &scene.session].contains(&own(scene, 1).as_str()));
    });
}

#[test]
fn given_a_session_that_began_anew_when_listed_then_it_is_there_once_as_it_is_now() {
    every_way(|scene| {
        let own = begun_anew(scene);
        let session = scene.session.clone();
        assert_eq!(listed(scene), [(json!(session), json!("one"))]);
        // It stays so in another process; behind its end its file says what it is.
        reroute(scene, "first");
        assert!(started_with(scene, 2, &format!("--resume={own}")));
        assert_eq!(listed(scene), [(json!(session), json!("one"))]);
        scene.close();
        assert_eq!(listed(scene), [(json!(session), json!("behind"))]);
        // A name goes to the file that is listed.
        rename(scene, "Mine");
        assert_eq!(listed(scene), [(json!(session), json!("Mine"))]);
        asks(scene, "session/delete", json!({}));
        assert_eq!(listed(scene), []);
        for id in [own, session] {
            let path = format!("{PROJECT}/{id}.jsonl");
            assert!(!scene.desk.files.content.contains_key(&path), "{id}");
        }
    });
}

#[test]
fn given_a_session_that_began_anew_when_forked_then_what_it_is_now_is_copied() {
    every_way(|scene| {
        begun_anew(scene);
        asks(
            scene,
            "session/fork",
            json!({ "cwd": CWD, "mcpServers": [] }),
        );
        let copies: Vec<String> = listed(scene)
            .into_iter()
            .map(|(_, title)| title.as_str().unwrap_or_default().to_owned())
            .collect();
        assert!(copies.contains(&"behind (fork)".to_owned()), "{copies:?}");
    });
}

fn fork(scene: &mut Scene) -> Value {
    let id = asks(
        scene,
        "session/fork",
        json!({ "cwd": CWD, "mcpServers": [] }),
    );
    answer(scene, id).expect("an answer")
}

/// The first text of the rows in the file of a fork, and of which session they are a copy;
/// none without a file.
fn copied(scene: &Scene, fork: &Value) -> Option<(Value, Value)> {
    let id = fork["result"]["sessionId"].as_str().expect("a session");
    let path = format!("{PROJECT}/{id}.jsonl");
    let content = scene.desk.files.content.get(&path)?;
    let mut rows = serde_json::Deserializer::from_slice(content).into_iter::<Value>();
    let row = rows.next().expect("a row").expect("JSON");
    let text = row["message"]["content"][0]["text"].clone();
    Some((text, row["forkedFrom"]["sessionId"].clone()))
}

/// The program has not written yet what it was told to do, or its bookkeeping alone: the user
/// sees the conversation in which it was planned.
#[test]
fn given_a_plan_that_just_began_anew_when_forked_then_the_conversation_before_it_is_copied() {
    for written in [
        None,
        Some("{\"type\":\"ai-title\",\"aiTitle\":\"Named\"}\n"),
    ] {
        every_way(|scene| {
            let session = scene.session.clone();
            scene.prompt("one");
            stored(scene, &session, "before");
            chosen(scene, 1);
            scene.says([aborted(of(&[1]))]);
            if let Some(row) = written {
                let path = format!("{PROJECT}/{}.jsonl", own(scene, 1));
                let content = row.as_bytes().to_vec();
                scene.desk.files.content.insert(path, content);
            }
            let fork = fork(scene);
            let expected = (json!("before"), json!(session));
            assert_eq!(copied(scene, &fork), Some(expected));
            let id = fork["result"]["sessionId"].as_str().expect("an id");
            assert!(started_with(scene, 2, &format!("--resume={id}")));
        });
    }
}

#[test]
fn given_a_plan_that_goes_on_in_another_process_when_forked_then_its_past_is_still_known() {
    every_way(|scene| {
        let session = scene.session.clone();
        let own = begun_anew(scene);
        reroute(scene, "first");
        let path = format!("{PROJECT}/{own}.jsonl");
        scene.desk.files.content.remove(&path);
        let fork = fork(scene);
        let expected = (json!("before"), json!(session));
        assert_eq!(copied(scene, &fork), Some(expected));
    });
}

/// The user let go of what was before.
#[test]
fn given_a_conversation_that_was_just_cleared_when_forked_then_the_fork_has_no_past() {
    every_way(|scene| {
        let session = scene.session.clone();
        begun_anew(scene);
        clears(scene);
        stored(scene, &session, "before");
        let fork = fork(scene);
        assert_eq!(copied(scene, &fork), None);
        assert!(!started_with(scene, 2, "--resume="));
    });
}

/// It has that one's past, as the client's options say.
#[test]
fn given_a_session_that_goes_on_as_another_one_when_forked_first_then_that_is_copied() {
    every_way(|scene| {
        stored(scene, OTHER, "other");
        let options = json!({ "resume": OTHER, "forkSession": true });
        let meta = json!({ "claudeCode": { "options": options } });
        let new = json!({ "cwd": CWD, "mcpServers": [], "_meta": meta });
        let id = scene.desk.request("session/new", &new);
        scene.settle();
        let made = answer(scene, id).expect("a session")["result"]["sessionId"].clone();
        let session = made.as_str().expect("an id").to_owned();
        scene.session.clone_from(&session);
        let fork = fork(scene);
        let expected = (json!("other"), json!(session));
        assert_eq!(copied(scene, &fork), Some(expected));
    });
}

/// The process that leaves, and one of another connection's: both go on where it is.
#[test]
fn given_a_session_that_began_anew_when_loaded_with_another_setup_then_it_goes_on_there() {
    for closes in [false, true] {
        every_way(|scene| {
            let own = begun_anew(scene);
            if closes {
                scene.close();
            }
            scene.desk.take();
            let servers =
                json!([{ "name": "mine", "command": "/bin/mine", "args": [], "env": [] }]);
            let params = json!({ "cwd": CWD, "mcpServers": servers });
            let load = asks(scene, "session/load", params);
            let shown = updates(scene, "user_message_chunk");
            let texts: Vec<Value> = shown
                .iter()
                .map(|it| it["content"]["text"].clone())
                .collect();
            assert_eq!(texts, [json!("behind")]);
            assert_eq!(scene.answer(load).as_deref(), Some("done"));
            assert!(started_with(scene, 2, &format!("--resume={own}")));
        });
    }
}

#[test]
fn given_a_session_that_began_anew_when_its_file_is_asked_for_by_its_own_id_then_it_is_open() {
    every_way(|scene| {
        let own = begun_anew(scene);
        let open = format!("session {} is open already", scene.session);
        let setup = json!({ "cwd": CWD, "mcpServers": [] });
        let load = with(setup.clone(), json!({ "sessionId": own }));
        let options = json!({ "claudeCode": { "options": { "resume": own } } });
        let new = with(setup, json!({ "_meta": options }));
        for (method, params) in [("session/load", load), ("session/new", new)] {
            let id = scene.desk.request(method, &params);
            scene.settle();
            let answer = answer(scene, id).expect("an answer").to_string();
            assert!(answer.contains(&open), "{answer}");
        }
        assert_eq!(scene.desk.host.started.len(), 2);
    });
}

/// Race: a session is being loaded, and a new one is to go on from the same file.
#[test]
fn given_a_load_under_way_when_a_new_session_is_to_go_on_from_there_then_it_is_open() {
    let mut scene = scene(0);
    stored(&mut scene, OTHER, "other");
    let load = json!({ "sessionId": OTHER, "cwd": CWD, "mcpServers": [] });
    let options = json!({ "claudeCode": { "options": { "resume": OTHER } } });
    let new = json!({ "cwd": CWD, "mcpServers": [], "_meta": options });
    scene.desk.request("session/load", &load);
    let new = scene.desk.request("session/new", &new);
    scene.settle();
    let answer = answer(&scene, new).expect("an answer").to_string();
    assert!(answer.contains("is open already"), "{answer}");
    assert_eq!(scene.desk.host.started.len(), 2);
}

/// What the client said of the beginning holds until something was said.
#[test]
fn given_a_session_that_goes_on_as_another_one_when_a_provider_is_set_first_then_it_still_does() {
    every_way(|scene| {
        let options = json!({ "resume": OTHER, "forkSession": true, "resumeSessionAt": "m1" });
        let meta = json!({ "claudeCode": { "options": options } });
        let new = json!({ "cwd": CWD, "mcpServers": [], "_meta": meta });
        let id = scene.desk.request("session/new", &new);
        scene.settle();
        let made = answer(scene, id).expect("a session")["result"]["sessionId"].clone();
        let session = made.as_str().expect("an id").to_owned();
        scene.close();
        scene.session.clone_from(&session);
        reroute(scene, "first");
        let resumed = format!("--resume={OTHER}");
        let asked = [
            resumed.as_str(),
            "--fork-session",
            "--resume-session-at=m1",
            &format!("--session-id={session}"),
        ];
        for argument in asked {
            assert!(started_with(scene, 2, argument), "{argument}");
        }
        answered(scene, "one");
        reroute(scene, "second");
        assert!(started_with(scene, 3, &format!("--resume={session}")));
        for argument in [resumed.as_str(), "--fork-session", "--resume-session-at=m1"] {
            assert!(!started_with(scene, 3, argument), "{argument}");
        }
    });
}

/// The model names what it is asked about; its names so far.
fn names(scene: &mut Scene, title: &str) {
    let made = json!({ "title": title });
    scene.replies("generate_session_title", &made);
}

/// The name that the editor was told last, which is that of the list.
fn called(scene: &mut Scene) -> Value {
    let got = scene.desk.log.iter().filter(|it| it.starts_with("< "));
    let got = got.map(|line| serde_json::from_str::<Value>(&line[2..]).unwrap());
    let got = got.map(|it| it["params"]["update"].clone());
    let told = got.filter(|it| it["sessionUpdate"] == "session_info_update");
    let mut titles = told.map(|it| it["title"].clone()).filter(Value::is_string);
    let told = titles.next_back().expect("a name was told");
    let session = scene.session.clone();
    assert_eq!(listed(scene), [(json!(session), told.clone())]);
    told
}

/// A session with a name of the model's, whose files are there.
fn with_a_name(scene: &mut Scene) {
    scene.desk.host.by_hand("generate_session_title");
    let session = scene.session.clone();
    stored(scene, &session, "one");
    scene.prompt("one");
    names(scene, "Made");
}

#[test]
fn given_a_name_of_the_models_when_a_plan_begins_anew_then_list_and_editor_have_the_same() {
    every_way(|scene| {
        with_a_name(scene);
        chosen(scene, 1);
        scene.says([aborted(of(&[1]))]);
        let own = own(scene, 1);
        stored(scene, &own, "behind");
        let asked = json!({ "subtype": "generate_session_title", "description": PLAN,
                            "persist": true });
        assert_eq!(requests(scene, "generate_session_title"), [asked]);
        assert_eq!(called(scene), "Made");
        done(scene, 1);
        assert_eq!(called(scene), "Made", "until there is another");
        names(scene, "Planned");
        assert_eq!(called(scene), "Planned");
    });
}

#[test]
fn given_a_name_of_the_models_when_the_plan_is_cancelled_then_it_stays() {
    every_way(|scene| {
        with_a_name(scene);
        chosen(scene, 1);
        scene.says([aborted(of(&[1]))]);
        scene.cancel();
        assert_eq!(called(scene), "Made");
        scene.prompt("two");
        assert_eq!(
            requests(scene, "generate_session_title"),
            Vec::<Value>::new()
        );
    });
}

/// The new file has it too: another connection will find it.
#[test]
fn given_a_name_of_the_users_when_a_plan_begins_anew_then_the_fresh_process_is_told_it() {
    every_way(|scene| {
        with_a_name(scene);
        rename(scene, "Mine");
        chosen(scene, 1);
        scene.says([aborted(of(&[1]))]);
        let own = own(scene, 1);
        stored(scene, &own, "behind");
        let named = json!({ "subtype": "rename_session", "title": "Mine" });
        assert_eq!(requests(scene, "rename_session"), [named]);
        assert_eq!(
            requests(scene, "generate_session_title"),
            Vec::<Value>::new()
        );
        done(scene, 1);
        assert_eq!(called(scene), "Mine");
    });
}

#[test]
fn given_a_name_when_the_conversation_is_cleared_then_list_and_editor_have_the_same() {
    every_way(|scene| {
        with_a_name(scene);
        done(scene, 1);
        clears(scene);
        assert_eq!(called(scene), "Made");
        stored(scene, NEW, "two words");
        assert_eq!(called(scene), "Made");
        scene.prompt("two  words");
        assert_eq!(called(scene), "two words");
        names(scene, "Second");
        assert_eq!(called(scene), "Second");
    });
}

/// Race: the model names the conversation before when there is another one.
#[test]
fn given_a_name_that_comes_behind_a_clear_when_it_is_there_then_it_names_nothing() {
    every_way(|scene| {
        scene.desk.host.by_hand("generate_session_title");
        let session = scene.session.clone();
        stored(scene, &session, "one");
        scene.prompt("one");
        done(scene, 1);
        clears(scene);
        stored(scene, NEW, "two");
        scene.prompt("two");
        assert_eq!(called(scene), "two");
        names(scene, "Old");
        assert_eq!(called(scene), "two");
        names(scene, "New");
        assert_eq!(called(scene), "New");
    });
}
