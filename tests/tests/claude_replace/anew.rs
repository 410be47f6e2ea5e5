//! A plan that is carried out anew, while others wait for the process that made it.

use airlock_tests::scripted_cli::Scene;
use airlock_tests::scripted_cli::words::{self, aborted, of, result};
use serde_json::json;

use super::kit::*;

/// The overview comes to the program's own words: nobody can make it any more.
#[test]
fn given_an_overview_that_is_made_when_a_plan_begins_anew_then_its_prompt_is_answered() {
    every_way(|scene| {
        let overview = making(scene, "/mcp reconnect mini");
        scene.prompt("two");
        chosen(scene, 2);
        assert_eq!(scene.answer(overview), None);
        scene.editor();
        scene.says([aborted(of(&[2]))]);
        let told = scene.editor();
        let shown = r#"agent_message_chunk "Own words" cli-1"#.to_owned();
        assert_eq!(told[..2], [shown, format!("{overview} end_turn")]);
        // The command is not said to the fresh process.
        let plan = format!("Implement the following plan:\n\n{PLAN}");
        assert_eq!(said(scene), ["/mcp reconnect mini", "two", plan.as_str()]);
    });
}

/// One result ends the turn that planned and another one, whose files were asked for.
#[test]
fn given_a_report_that_waits_when_a_plan_begins_anew_then_its_prompt_is_answered_without() {
    every_way(|scene| {
        scene.desk.host.by_hand("rewind_files");
        scene.prompt("one");
        let second = reporting(scene, "two");
        chosen(scene, 1);
        scene.says([words::echo(2)]);
        scene.says([result(of(&[1, 2]))]);
        assert_eq!(scene.answer(second).as_deref(), Some("end_turn"));
        assert_eq!(reports(scene), [(json!("files-two"), json!("unavailable"))]);
        assert_eq!(scene.desk.host.started.len(), 2);
    });
}

/// What the planning prompt asked for, the fresh process tells.
#[test]
fn given_a_prompt_whose_files_are_asked_for_when_it_is_carried_out_anew_then_they_are_told() {
    every_way(|scene| {
        scene.desk.host.by_hand("rewind_files");
        let prompt = reporting(scene, "one");
        chosen(scene, 1);
        scene.says([aborted(of(&[1]))]);
        done(scene, 1);
        assert_eq!(scene.answer(prompt), None);
        let files = json!({ "canRewind": true, "filesChanged": ["/srv/maka-work/a"] });
        scene.replies("rewind_files", &files);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        assert_eq!(reports(scene), [(json!("files-one"), json!("reported"))]);
    });
}

/// A goal is the process's, and the fresh one has none.
#[test]
fn given_a_goal_when_a_plan_begins_anew_then_the_editor_hears_that_there_is_none() {
    every_way(|scene| {
        scene.prompt("one");
        let value = json!({ "condition": "Ship it" });
        scene.says([json!({ "type": "active_goal", "value": value })]);
        chosen(scene, 1);
        scene.desk.take();
        scene.says([aborted(of(&[1]))]);
        let told = updates(scene, "session_info_update");
        let goals = told
            .iter()
            .filter_map(|it| it.pointer("/_meta/jetbrains/air/goal").cloned());
        assert_eq!(goals.collect::<Vec<_>>(), [json!(null)]);
    });
}

/// A name and settings that wait are for the fresh process; the one under way is refused.
#[test]
fn given_names_and_settings_when_a_plan_begins_anew_then_each_is_answered_once() {
    every_way(|scene| {
        scene.desk.host.by_hand("rename_session");
        scene.desk.host.by_hand("set_permission_mode");
        scene.prompt("one");
        let first = rename(scene, "Mine");
        let set = mode(scene, "plan");
        let waits = mode(scene, "acceptEdits");
        chosen(scene, 1);
        scene.desk.host.by_hand("get_settings");
        scene.says([aborted(of(&[1]))]);
        let refused = answer(scene, set).expect("an answer");
        assert_eq!(refused["error"]["data"]["code"], "begins_anew");
        let second = rename(scene, "Yours");
        let settings = scene.desk.host.settings.clone().expect("settings");
        scene.replies("get_settings", &settings);
        assert_eq!([scene.answer(first), scene.answer(second)], [None, None]);
        scene.replies("rename_session", &json!({}));
        scene.replies("rename_session", &json!({}));
        scene.replies("set_permission_mode", &json!({ "mode": "acceptEdits" }));
        let all = [first, second, waits].map(|id| scene.answer(id));
        assert_eq!(all, [(); 3].map(|()| Some("done".to_owned())));
    });
}

/// Work in the background ends with the process that did it.
#[test]
fn given_work_in_the_background_when_a_plan_begins_anew_then_it_is_told_to_have_failed() {
    every_way(|scene| {
        scene.prompt("one");
        let task = json!({ "task_id": "t1", "run_id": "r1", "tool_use_id": "bash",
            "task_type": "local_bash", "description": "Sleep", "is_backgrounded": true });
        scene.says([words::system("task_started", task)]);
        chosen(scene, 1);
        scene.desk.take();
        scene.says([aborted(of(&[1]))]);
        let over = updates(scene, "async_task_state_update");
        let states: Vec<_> = over.iter().map(|it| it["state"].clone()).collect();
        assert_eq!(states, [json!("failed")]);
    });
}

/// The plan was not begun: the conversation that planned goes on, whatever takes its place.
#[test]
fn given_a_cancel_while_the_fresh_process_starts_when_a_provider_is_set_then_it_goes_on_there() {
    every_way(|scene| {
        scene.prompt("one");
        chosen(scene, 1);
        scene.desk.host.by_hand("get_settings");
        scene.says([aborted(of(&[1]))]);
        reroute(scene, "first");
        scene.cancel();
        reroute(scene, "second");
        let last = scene.desk.host.started.len() - 1;
        let resume = format!("--resume={}", scene.session);
        assert!(started_with(scene, last, &resume));
        let settings = scene.desk.host.settings.clone().expect("settings");
        let next = scene.prompt("two");
        scene.replies("get_settings", &settings);
        done(scene, 2);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
    });
}

/// Where the plan has not begun, what is stored is the conversation that planned.
#[test]
fn given_a_fresh_process_that_starts_when_forked_closed_or_loaded_otherwise_then_it_is_the_old_one()
{
    // It may have got the plan already, and not have taken it in.
    let at_that_moment = |scene: &mut Scene, there: bool| {
        scene.prompt("one");
        let session = scene.session.clone();
        stored(scene, &session, "one");
        chosen(scene, 1);
        if !there {
            scene.desk.host.by_hand("get_settings");
        }
        scene.says([aborted(of(&[1]))]);
    };
    let servers = json!([{ "name": "mine", "command": "/bin/mine", "args": [], "env": [] }]);
    let other = json!({ "cwd": CWD, "mcpServers": servers });
    every_way(|scene| {
        at_that_moment(scene, false);
        let fork = asks(
            scene,
            "session/fork",
            json!({ "cwd": CWD, "mcpServers": [] }),
        );
        let forked = answer(scene, fork).map_or_else(String::new, |it| it.to_string());
        assert!(!forked.contains("error"), "{forked}");
    });
    for (closes, there) in [(false, false), (true, false), (false, true), (true, true)] {
        every_way(|scene| {
            at_that_moment(scene, there);
            if closes {
                scene.close();
                scene.wait(2_000);
            }
            asks(scene, "session/load", other.clone());
            let last = scene.desk.host.started.len() - 1;
            let resume = format!("--resume={}", scene.session);
            assert!(started_with(scene, last, &resume), "{closes} {there}");
        });
    }
}

/// A fresh process goes the way that there is now, at once.
#[test]
fn given_another_provider_while_a_plan_ends_when_it_begins_anew_then_it_goes_there_at_once() {
    every_way(|scene| {
        let prompt = scene.prompt("one");
        chosen(scene, 1);
        reroute(scene, "first");
        scene.says([aborted(of(&[1]))]);
        done(scene, 1);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        assert_eq!(scene.desk.host.started.len(), 2);
        let url = (
            "ANTHROPIC_BASE_URL".to_owned(),
            Some("https://first.example".to_owned()),
        );
        assert!(scene.desk.host.variables[1].contains(&url));
    });
}

/// Race: a load while the fresh process starts finds it, and the plan is carried out.
#[test]
fn given_a_load_while_the_fresh_process_starts_then_the_plan_is_carried_out_all_the_same() {
    every_way(|scene| {
        let prompt = scene.prompt("one");
        chosen(scene, 1);
        scene.desk.host.by_hand("get_settings");
        scene.says([aborted(of(&[1]))]);
        let session = scene.session.clone();
        stored(scene, &session, "one");
        let load = asks(
            scene,
            "session/load",
            json!({ "cwd": CWD, "mcpServers": [] }),
        );
        assert_eq!(scene.answer(load), None);
        let settings = scene.desk.host.settings.clone().expect("settings");
        scene.replies("get_settings", &settings);
        assert_eq!(scene.answer(load).as_deref(), Some("done"));
        done(scene, 1);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        assert_eq!(scene.desk.host.started.len(), 2);
    });
}

/// Race: a load runs while the turn that planned ends: the fresh process answers it.
#[test]
fn given_a_load_while_the_turn_that_planned_ends_then_it_is_answered_by_the_fresh_process() {
    // Which comes first differs between the ways.
    for way in 0..4 {
        let scene = &mut scene(way);
        let prompt = scene.prompt("one");
        chosen(scene, 1);
        let session = scene.session.clone();
        stored(scene, &session, "one");
        let params = json!({ "sessionId": session, "cwd": CWD, "mcpServers": [] });
        let load = scene.desk.request("session/load", &params);
        scene.says([aborted(of(&[1]))]);
        assert_eq!(scene.answer(load).as_deref(), Some("done"));
        done(scene, 1);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
    }
}
