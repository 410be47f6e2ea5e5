//! Another provider: what is under way is left to end, what waits goes to the new process.

use airlock_engine::{Effect, HostDeparture};
use airlock_tests::scripted_cli::Scene;
use airlock_tests::scripted_cli::words::{self, with};
use serde_json::{Value, json};

use super::kit::*;

/// How many processes were started.
fn started(scene: &Scene) -> usize {
    scene.desk.host.started.len()
}

fn settings_come(scene: &mut Scene) {
    let settings = scene.desk.host.settings.clone().expect("settings");
    scene.replies("get_settings", &settings);
}

/// Nothing of the kind is cut off: the process is replaced when it is done.
#[test]
fn given_something_under_way_when_a_provider_is_set_then_it_ends_as_it_would_have() {
    every_way(|scene| {
        let prompt = making(scene, "/mcp reconnect mini");
        reroute(scene, "first");
        assert_eq!(started(scene), 1, "an overview is made");
        scene.replies("mcp_reconnect", &json!({}));
        scene.replies("mcp_status", &json!({ "mcpServers": [] }));
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        assert_eq!(started(scene), 2);
    });
    every_way(|scene| {
        scene.desk.host.by_hand("rewind_files");
        let prompt = reporting(scene, "one");
        done(scene, 1);
        reroute(scene, "first");
        assert_eq!(started(scene), 1, "files are reported");
        let files = json!({ "canRewind": true, "filesChanged": [] });
        scene.replies("rewind_files", &files);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        assert_eq!(reports(scene), [(json!("files-one"), json!("reported"))]);
        assert_eq!(started(scene), 2);
    });
    every_way(|scene| {
        scene.desk.host.by_hand("set_permission_mode");
        let set = mode(scene, "plan");
        reroute(scene, "first");
        assert_eq!(started(scene), 1, "a setting is on its way");
        scene.replies("set_permission_mode", &json!({ "mode": "plan" }));
        assert_eq!(scene.answer(set).as_deref(), Some("done"));
        assert!(started_with(scene, 1, "--permission-mode=plan"));
    });
    every_way(|scene| {
        let set = mode(scene, "bypassPermissions");
        assert_eq!(scene.answer(set).as_deref(), Some("done"));
        reroute(scene, "first");
        assert!(started_with(
            scene,
            1,
            "--permission-mode=bypassPermissions"
        ));
    });
    every_way(|scene| {
        scene.says([words::init(&words::NEW), words::requesting(&[])]);
        reroute(scene, "first");
        assert_eq!(started(scene), 1, "Claude works by itself");
        scene.says([words::result(words::by_itself())]);
        assert_eq!(started(scene), 2);
    });
}

/// A name that the old process did not confirm is asked for again.
#[test]
fn given_a_name_on_its_way_when_a_provider_is_set_then_the_new_process_is_asked_for_it() {
    every_way(|scene| {
        scene.desk.host.by_hand("rename_session");
        let named = rename(scene, "Mine");
        reroute(scene, "first");
        assert_eq!(scene.answer(named), None);
        let asked = json!({ "subtype": "rename_session", "title": "Mine" });
        assert_eq!(requests(scene, "rename_session"), [asked]);
        scene.replies("rename_session", &json!({}));
        assert_eq!(scene.answer(named).as_deref(), Some("done"));
    });
}

/// Work in the background may go on for ever: it is ended, and told to have ended.
#[test]
fn given_work_in_the_background_when_a_provider_is_set_then_it_is_told_to_have_failed() {
    every_way(|scene| {
        scene.prompt("one");
        let task = json!({ "task_id": "t1", "run_id": "r1", "tool_use_id": "bash",
            "task_type": "local_bash", "description": "Sleep", "is_backgrounded": true });
        scene.says([words::system("task_started", task)]);
        done(scene, 1);
        scene.desk.take();
        reroute(scene, "first");
        let over = updates(scene, "async_task_state_update");
        let states: Vec<_> = over.iter().map(|it| it["state"].clone()).collect();
        assert_eq!(states, [json!("failed")]);
        assert_eq!(started(scene), 2);
    });
}

/// What a process says of itself when it starts, the next one says too: the user has heard it.
#[test]
fn given_a_notice_that_was_told_when_another_process_gives_it_then_it_is_not_told_again() {
    let notice = |text: &str| {
        words::system(
            "informational",
            json!({ "level": "warning", "content": text }),
        )
    };
    every_way(|scene| {
        let told = |scene: &mut Scene, text: &str| {
            scene.desk.take();
            scene.says([notice(text)]);
            updates(scene, "session_info_update").len()
        };
        assert_eq!(told(scene, "Billed as before"), 1);
        assert_eq!(told(scene, "Billed as before"), 1, "it comes again");
        for name in ["first", "second"] {
            reroute(scene, name);
            assert_eq!(told(scene, "Billed as before"), 0, "{name}");
        }
        assert_eq!(told(scene, "Billed as before"), 1, "it comes again");
        assert_eq!(told(scene, "Billed otherwise"), 1);
    });
}

/// The new process says who is signed in, if no gateway is.
#[test]
fn given_a_plan_that_began_anew_when_a_provider_is_set_then_the_old_account_is_not_told() {
    every_way(|scene| {
        let account = json!({ "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty" });
        let greeting = scene.desk.host.greeting.take().expect("a greeting");
        scene.desk.host.greeting = Some(with(greeting, json!({ "account": account })));
        scene.prompt("one");
        chosen(scene, 1);
        scene.says([words::aborted(words::of(&[1]))]);
        done(scene, 1);
        reroute(scene, "first");
        let got = scene
            .desk
            .log
            .iter()
            .filter(|it| it.contains("status_update"));
        let kinds: Vec<String> = got
            .map(|line| serde_json::from_str::<Value>(&line[2..]).unwrap())
            .map(|it| it["params"]["authStatus"]["kind"].to_string())
            .collect();
        assert_eq!(kinds, ["\"api_key\"", "\"gateway\""]);
        assert_eq!(started(scene), 3);
    });
}

/// While the old process is there, nothing is started; the end answers all.
#[test]
fn given_the_end_while_a_process_is_replaced_then_what_waits_is_answered() {
    every_way(|scene| {
        scene.desk.host.obedient = false;
        reroute(scene, "first");
        assert_eq!(started(scene), 1);
        let prompt = scene.prompt("one");
        let steered = steer(scene, "more");
        let set = mode(scene, "plan");
        scene.desk.hang_up();
        scene.settle();
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        assert!(scene.answer(steered).is_some() && scene.answer(set).is_some());
        assert_eq!(scene.desk.unanswered(), Vec::<String>::new());
        assert_eq!(started(scene), 1);
    });
}

/// A message into a prompt that waits is cancelled with it, and begins nothing.
#[test]
fn given_a_cancel_while_a_process_is_replaced_then_nothing_of_before_begins() {
    every_way(|scene| {
        scene.desk.host.by_hand("get_settings");
        reroute(scene, "first");
        let prompt = scene.prompt("one");
        let steered = steer(scene, "more");
        scene.cancel();
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        assert!(scene.answer(steered).is_some());
        settings_come(scene);
        assert_eq!(said(scene), Vec::<String>::new());
        assert_eq!(scene.desk.unanswered(), Vec::<String>::new());
    });
}

/// What waits is said in the order in which it came.
#[test]
fn given_prompts_while_a_process_is_replaced_when_it_is_there_then_all_are_said_in_order() {
    every_way(|scene| {
        scene.desk.host.obedient = false;
        reroute(scene, "first");
        let first = scene.prompt("one");
        steer(scene, "more");
        let second = scene.prompt("two");
        assert_eq!(started(scene), 1);
        scene.wait(120_000);
        assert_eq!(started(scene), 2);
        assert_eq!(said(scene), ["one", "more", "two"]);
        done(scene, 1);
        done(scene, 3);
        assert_eq!(scene.answer(first).as_deref(), Some("end_turn"));
        assert_eq!(scene.answer(second).as_deref(), Some("end_turn"));
    });
}

/// A load finds the process that starts, and does not cancel what waits for it.
#[test]
fn given_a_load_while_a_process_is_replaced_then_what_waits_is_not_cancelled() {
    every_way(|scene| {
        scene.prompt("zero");
        done(scene, 1);
        let session = scene.session.clone();
        stored(scene, &session, "zero");
        scene.desk.host.by_hand("get_settings");
        reroute(scene, "first");
        let prompt = scene.prompt("one");
        let load = asks(
            scene,
            "session/load",
            json!({ "cwd": CWD, "mcpServers": [] }),
        );
        settings_come(scene);
        assert_eq!(scene.answer(load).as_deref(), Some("done"));
        done(scene, 2);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        assert_eq!(started(scene), 2);
    });
}

/// It is set as the old one was, and the editor hears what it can do.
#[test]
fn given_choices_when_a_provider_is_set_then_the_new_process_is_set_so_and_told_of() {
    every_way(|scene| {
        let params = json!({ "configId": "model", "value": "sonnet" });
        asks(scene, "session/set_config_option", params);
        reroute(scene, "first");
        let asked = json!({ "subtype": "set_model", "model": "sonnet" });
        assert_eq!(requests(scene, "set_model"), [asked]);
        // One that has no such model begins with its own.
        let greeting = scene.desk.host.greeting.as_mut().expect("a greeting");
        let models = greeting["models"].as_array_mut().expect("models");
        models.retain(|it| it["value"] != "sonnet");
        scene.desk.take();
        reroute(scene, "second");
        assert_eq!(requests(scene, "set_model"), Vec::<Value>::new());
        let told = scene.desk.take();
        let kind = |it: &Value| it["params"]["update"]["sessionUpdate"].clone();
        let kinds: Vec<Value> = told.iter().map(kind).filter(|it| !it.is_null()).collect();
        assert_eq!(kinds, ["config_option_update", "available_commands_update"]);
    });
}

/// A slow editor's process is read no faster because it is another one.
#[test]
fn given_a_slow_editor_when_a_provider_is_set_then_the_new_process_is_not_read_either() {
    let mut scene = scene(3);
    let prompt = scene.prompt("one");
    scene.takes(1, &words::NEW);
    reroute(&mut scene, "first");
    scene.desk.editor_reads = false;
    scene.desk.host.by_hand("get_settings");
    let piece = "x".repeat(1 << 20);
    let mut said = vec![words::start("msg_1"), words::text_block(0)];
    said.extend((0..24).map(|_| words::text(0, &piece)));
    scene.says(said);
    // It is not read, so its end is not heard.
    scene.cancel();
    scene.wait(30_000);
    let read = |scene: &Scene| {
        let effects = scene.desk.calls.iter().flat_map(|call| &call.effects);
        let read = effects.filter_map(|it| match it {
            Effect::Host(channel, HostDeparture::Read(on)) => Some((channel.to_string(), *on)),
            _ => None,
        });
        read.collect::<Vec<(String, bool)>>()
    };
    assert_eq!(started(&scene), 2);
    let fresh = scene.desk.channels().last().expect("a process").to_string();
    assert!(
        !read(&scene).contains(&(fresh.clone(), false)),
        "it has to greet"
    );
    settings_come(&mut scene);
    assert_eq!(read(&scene).last(), Some(&(fresh.clone(), false)));
    scene.desk.editor_reads = true;
    scene.settle();
    assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
    assert_eq!(read(&scene).last(), Some(&(fresh, true)));
}

/// The reason is told to all who wait, and to those who come later.
#[test]
fn given_a_new_process_that_cannot_start_when_something_waits_then_the_reason_is_told() {
    every_way(|scene| {
        scene.desk.host.by_hand("initialize");
        reroute(scene, "first");
        let prompt = scene.prompt("one");
        let set = mode(scene, "plan");
        scene.says([words::result(json!({ "subtype": "error_during_execution",
            "is_error": true, "errors": ["Sign in at the gateway."],
            "startup_failure_reason": "gateway_signin_required" }))]);
        let later = scene.prompt("two");
        for id in [prompt, set, later] {
            let answer = answer(scene, id).expect("an answer").to_string();
            assert!(answer.contains("Sign in at the gateway."), "{answer}");
        }
    });
}
