//! `session/load` and `session/resume` (Maka adapter, section 23): what is checked, what is
//! told, in which order, and what becomes of a load that fails or that nobody wants any more.

use airlock_engine::limits;
use airlock_tests::conversation::CWD;
use airlock_tests::scripted_host::{Scene, words};
use serde_json::{Value, json};

#[path = "support/loads.rs"]
mod loads;

use loads::{
    NOTHING, ask, done, each_way, found, item, known, load, resume, rows, story, theirs, told_story,
};

/// Loads a session whose past is one story.
fn loaded(scene: &mut Scene) {
    let id = load(scene);
    known(scene);
    scene.open_with(&Value::Null, &json!(3), &json!({}));
    scene.page(&rows(0, &story("t1")), None);
    assert_eq!(scene.editor(), [told_story("t1"), vec![done(id)]].concat());
    scene.host();
}

/// N24, 26.13 W1: question, thought, answer and tools of every turn, in order; a tool that
/// was never finished is closed as its turn ended; rows of no turn are passed over.
#[test]
fn given_a_stored_session_when_loaded_then_its_past_is_told_in_order_and_it_is_owned() {
    each_way(|scene| {
        let id = load(scene);
        assert_eq!(
            scene.host(),
            [
                "hello",
                r#"session.catalog.query {"kind":"get","sessionId":"stored"}"#
            ]
        );
        known(scene);
        assert_eq!(scene.host(), ["connection.catalog.query", "open"]);
        scene.open_with(&Value::Null, &json!(12), &json!({}));
        assert_eq!(
            scene.host(),
            ["page feed-1 durable newer from null cursor null through 12"]
        );
        let note = json!({ "type": "system_note", "id": "n", "ts": 1, "kind": "session_start" });
        let first = [
            story("t1"),
            vec![note],
            vec![
                words::user("t2", "t2-u", "List."),
                words::turn_state("t2", "running", &json!({})),
                words::tool_call("t2", "b1"),
                words::tool_result("t2", "b1", "files"),
            ],
        ]
        .concat();
        scene.page(&rows(0, &first), Some("more"));
        assert_eq!(
            scene.host(),
            ["page feed-1 durable newer from null cursor more through 12"]
        );
        let second = [
            words::tool_call("t2", "b2"),
            words::assistant("t2", "t2-a", "Stopped."),
            words::turn_state("t2", "aborted", &json!({ "abortSource": "user_stop" })),
            words::user("t3", "t3-u", "Still?"),
        ];
        scene.page(&rows(9, &second), None);
        let mut wanted = told_story("t1");
        wanted.extend(
            [
                "asks t2-u: \"List.\"",
                "card b1 in_progress \"Input preview (not full input): {\\\"command\\\":\\\"ls\\\"}\"",
                "card b1 → completed \"files\"",
                "card b2 in_progress \"Input preview (not full input): {\\\"command\\\":\\\"ls\\\"}\"",
                "says t2-a: \"Stopped.\"",
                "card b2 → failed",
                "asks t3-u: \"Still?\"",
            ]
            .map(str::to_owned),
        );
        wanted.push(done(id));
        assert_eq!(scene.editor(), wanted);
        // It is owned from here on, and its feed is kept.
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        assert_eq!(scene.editor(), [format!("{} end_turn", turn.prompt)]);
        assert_eq!(scene.count("subscription.open"), 1);
        scene.close();
        assert_eq!(scene.count("subscription.close"), 1);
    });
}

/// N24: another load tells everything again, on the same feed; a resume tells nothing.
#[test]
fn given_a_loaded_session_when_loaded_again_then_told_again_and_when_resumed_then_not() {
    each_way(|scene| {
        loaded(scene);
        let id = load(scene);
        known(scene);
        assert_eq!(
            scene.host()[2..],
            ["page feed-1 durable newer from null cursor null through 3"]
        );
        scene.page(&rows(0, &story("t1")), None);
        assert_eq!(scene.editor(), [told_story("t1"), vec![done(id)]].concat());
        scene.host();
        let id = resume(scene);
        known(scene);
        assert_eq!(scene.editor(), [done(id)]);
        assert_eq!(scene.count("subscription.open"), 1);
        assert_eq!(scene.count("session.transcript.page"), 2);
    });
}

/// N27: pages come one after another, an empty one and a torn row included.
#[test]
fn given_many_pages_when_loaded_then_each_is_read_after_the_one_before() {
    each_way(|scene| {
        let id = load(scene);
        known(scene);
        scene.open_with(&Value::Null, &json!(3), &json!({}));
        scene.page(&[], Some("c0"));
        let story = story("t1");
        for (at, row) in story.iter().enumerate() {
            let fragment = words::durable(at as u64, row);
            let last = at + 1 == story.len();
            let next = format!("c{}", at + 1);
            scene.page(&[fragment], (!last).then_some(&*next));
        }
        assert_eq!(scene.editor(), [told_story("t1"), vec![done(id)]].concat());
        assert_eq!(scene.count("session.transcript.page"), 5);
    });
}

#[test]
fn given_an_empty_session_when_loaded_then_nothing_is_read() {
    each_way(|scene| {
        let id = load(scene);
        known(scene);
        scene.open();
        assert_eq!(scene.editor(), [done(id)]);
        assert_eq!(scene.count("session.transcript.page"), 0);
    });
}

/// N32: missing, archived, elsewhere; nothing is opened and nothing is owned.
#[test]
fn given_a_session_that_cannot_be_loaded_when_asked_then_refused_before_any_feed() {
    each_way(|scene| {
        let mut archived = item(scene);
        archived["isArchived"] = json!(true);
        let elsewhere = words::session(&json!(scene.session), &json!("/elsewhere"));
        let operation = r#""source":"runtime_host","operation":"session.catalog.query""#;
        for method in ["session/load", "session/resume"] {
            for (session, data) in [
                (
                    json!(null),
                    format!("{{{operation},\"code\":\"not_found\"}}"),
                ),
                (
                    archived.clone(),
                    format!("{{{operation},\"code\":\"archived\"}}"),
                ),
                (
                    elsewhere.clone(),
                    r#"{"field":"cwd","reason":"session_cwd_mismatch"}"#.to_owned(),
                ),
            ] {
                let id = ask(scene, method, CWD);
                let asked = scene.asked("session.catalog.query");
                scene.result(&asked, &found(&session));
                assert_eq!(scene.editor(), [format!("{id} error -32602 {data}")]);
            }
        }
        let prompt = scene.prompt("hello");
        let answer = scene.answer(prompt).unwrap();
        assert!(answer.contains("unknown_session"), "{answer}");
        assert_eq!(scene.count("subscription.open"), 0);
    });
}

/// Section 23, step 1: what is wrong with the request itself is told without the Host; an id
/// that the Host would hang up on is simply not there.
#[test]
fn given_params_that_cannot_be_used_when_loaded_then_refused_without_the_host() {
    each_way(|scene| {
        for (params, wanted) in [
            (
                json!({ "sessionId": "s", "cwd": "w", "mcpServers": [] }),
                "must_be_absolute",
            ),
            (
                json!({ "sessionId": "s", "cwd": format!("/{}", "w".repeat(4096)), "mcpServers": [] }),
                "too_large",
            ),
            (
                json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [], "additionalDirectories": ["/x"] }),
                "additionalDirectories",
            ),
            (
                json!({ "sessionId": "s", "cwd": "/w",
                        "mcpServers": [{ "name": "m", "command": "c", "args": [], "env": [] }] }),
                "mcpServers",
            ),
            (
                json!({ "sessionId": "not an id", "cwd": "/w", "mcpServers": [] }),
                "not_found",
            ),
            (json!({ "sessionId": "s", "mcpServers": [] }), "-32602"),
        ] {
            for method in ["session/load", "session/resume"] {
                let id = scene.desk.request(method, &params);
                scene.settle();
                let answer = scene.answer(id).unwrap();
                assert!(answer.contains(wanted), "{answer}");
                assert!(answer.contains("-32602"), "{answer}");
            }
        }
        assert_eq!(scene.host(), NOTHING);
    });
}

/// The folder is compared as it really is; one that is gone, by its name.
#[test]
fn given_a_folder_by_another_name_when_loaded_then_the_real_one_counts() {
    each_way(|scene| {
        let id = ask(scene, "session/resume", &format!("{CWD}/../maka-work/./"));
        known(scene);
        scene.open();
        assert_eq!(scene.editor(), [done(id)]);
    });
}

/// N44, N45, 20: what the turn that runs has said so far comes after the past, once, and
/// what it says meanwhile comes after that.
#[test]
fn given_a_turn_that_runs_when_loaded_then_past_then_present_and_nothing_twice() {
    each_way(|scene| {
        let turn = theirs("t2");
        let id = load(scene);
        known(scene);
        let root = scene.told(&turn, "running");
        let partial = words::overlay(1, &words::assistant("t2", "t2-a", "partial"));
        let question = words::overlay(0, &words::user("t2", "t2-u", "More."));
        let more = json!({ "overlayMessageCount": 2,
                           "overlay": words::page(&[partial, question], None) });
        scene.open_with(&root, &json!(4), &more);
        // Said while the past is read: it waits.
        scene.text(&turn, "t2-a", 3, "tial live");
        assert_eq!(scene.editor(), NOTHING);
        let past = [story("t1"), vec![words::user("t2", "t2-u", "More.")]].concat();
        scene.page(&rows(0, &past), None);
        let mut wanted = told_story("t1");
        wanted.push("asks t2-u: \"More.\"".to_owned());
        wanted.push("says t2-a: \"partial\"".to_owned());
        wanted.push(done(id));
        wanted.push("says t2-a: \" live\"".to_owned());
        assert_eq!(scene.editor(), wanted);
        scene.now(&turn, "completed");
        assert_eq!(scene.count("turn.start"), 0);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// N33: of a turn that runs, a resume tells only what comes.
#[test]
fn given_a_turn_that_runs_when_resumed_then_only_what_comes_is_told() {
    each_way(|scene| {
        let turn = theirs("t2");
        let id = resume(scene);
        known(scene);
        let root = scene.told(&turn, "running");
        let partial = words::overlay(0, &words::assistant("t2", "t2-a", "almost"));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[partial], None) });
        scene.open_with(&root, &json!(5), &more);
        let past = [
            story("t1"),
            vec![
                words::user("t2", "t2-u", "More."),
                words::tool_call("t2", "b1"),
            ],
        ]
        .concat();
        scene.page(&rows(0, &past), None);
        assert_eq!(scene.editor(), [done(id)]);
        scene.text(&turn, "t2-a", 6, " done");
        // The tool that runs since before is known by its name.
        scene.advanced(6);
        scene.page(&rows(6, &[words::tool_result("t2", "b1", "files")]), None);
        assert_eq!(
            scene.editor(),
            ["says t2-a: \" done\"", "card b1 → completed \"files\""]
        );
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// N31: what a resume knew and did not show is told by a load.
#[test]
fn given_a_turn_of_which_only_the_end_was_shown_when_loaded_then_it_is_told_whole() {
    each_way(|scene| {
        let turn = theirs("t1");
        let id = resume(scene);
        known(scene);
        let root = scene.told(&turn, "running");
        let partial = words::overlay(0, &words::assistant("t1", "a", "hel"));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[partial], None) });
        scene.open_with(&root, &json!(0), &more);
        scene.page(&rows(0, &[words::user("t1", "u", "Greet.")]), None);
        scene.text(&turn, "a", 3, "lo");
        assert_eq!(scene.editor(), [done(id), "says a: \"lo\"".to_owned()]);
        scene.advanced(1);
        scene.page(&rows(1, &[words::assistant("t1", "a", "hello")]), None);
        let id = load(scene);
        known(scene);
        let all = [
            words::user("t1", "u", "Greet."),
            words::assistant("t1", "a", "hello"),
        ];
        scene.page(&rows(0, &all), None);
        assert_eq!(
            scene.editor(),
            [
                "asks u: \"Greet.\"".to_owned(),
                "says a: \"hello\"".to_owned(),
                done(id)
            ]
        );
    });
}

/// N29, N30: what a prompt of ours has shown is not told again by a load.
#[test]
fn given_a_prompt_that_runs_when_loaded_then_its_text_is_not_doubled() {
    each_way(|scene| {
        loaded(scene);
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.text(&turn, "m1", 0, "live");
        scene.advanced(6);
        let own = [
            words::user(&turn.id, "u2", "hello"),
            words::turn_state(&turn.id, "running", &json!({})),
            words::assistant(&turn.id, "m1", "live"),
        ];
        scene.page(&rows(4, &own), None);
        assert_eq!(scene.editor(), ["says m1: \"live\""]);
        let id = load(scene);
        known(scene);
        scene.text(&turn, "m2", 0, "more");
        let all = [story("t1"), own.to_vec()].concat();
        scene.page(&rows(0, &all), None);
        let mut wanted = told_story("t1");
        wanted.push(done(id));
        wanted.push("says m2: \"more\"".to_owned());
        assert_eq!(scene.editor(), wanted);
        scene.now(&turn, "failed");
        assert!(scene.answer(turn.prompt).unwrap().contains("runtime_error"));
    });
}

/// N24, step 5: the answer tells what can be set, as it is by then; what the editor knows
/// from it is not told again, and both notifications follow what changes later.
#[test]
fn given_a_session_with_options_when_loaded_then_the_answer_has_them_as_they_are_by_then() {
    each_way(|scene| {
        let id = load(scene);
        let asked = scene.asked("session.catalog.query");
        let item = words::configured("stored", 1, &json!({}));
        scene.result(&asked, &found(&item));
        scene.open_with(&Value::Null, &json!(3), &json!({}));
        // Somebody sets another mode while the past is told.
        let changed = json!({ "kind": "session.catalog.changed", "sessionId": "stored" });
        scene.says([changed.to_string()]);
        scene.wait(limits::MAKA_TITLES_MS);
        let asked = scene.asked("session.catalog.query");
        let item = words::configured("stored", 2, &json!({ "collaborationMode": "plan" }));
        scene.result(&asked, &found(&item));
        scene.page(&rows(0, &story("t1")), None);
        assert!(scene.answer(id).is_some());
        let line = scene.desk.log.last().unwrap().strip_prefix("< ").unwrap();
        let result = &serde_json::from_str::<Value>(line).unwrap()["result"];
        assert_eq!(result["modes"]["currentModeId"], "plan");
        let ids = result["configOptions"].as_array().unwrap().iter();
        let ids: Vec<&str> = ids.map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids[..2], ["permission_mode", "model"]);
        assert!(ids.contains(&"collaboration_mode"), "{ids:?}");
        scene.editor();
        for (mode, told) in [("plan", 0), ("agent", 2)] {
            scene.says([changed.to_string()]);
            scene.wait(limits::MAKA_TITLES_MS);
            let asked = scene.asked("session.catalog.query");
            let item = words::configured("stored", 3, &json!({ "collaborationMode": mode }));
            scene.result(&asked, &found(&item));
            assert_eq!(scene.editor().len(), told);
        }
        let set =
            json!({ "sessionId": "stored", "configId": "collaboration_mode", "value": "plan" });
        scene.desk.request("session/set_config_option", &set);
        scene.settle();
        scene.asked("session.catalog.query");
    });
}

/// Concurrent loads of one session wait for each other.
#[test]
fn given_two_loads_at_once_when_the_first_is_done_then_the_second_begins() {
    each_way(|scene| {
        let first = load(scene);
        let second = resume(scene);
        assert_eq!(scene.count("session.catalog.query"), 1);
        known(scene);
        scene.open();
        assert_eq!(scene.editor(), [done(first)]);
        known(scene);
        assert_eq!(scene.editor(), [done(second)]);
    });
}
