//! Every state of a session, a change of provider in it, something of each kind that is
//! asked of it then, and what may come in the middle: everybody is answered.

use airlock_tests::scripted_cli::{Scene, words};
use serde_json::json;

use super::kit::*;

type Act = (&'static str, fn(&mut Scene));

fn turn(scene: &mut Scene) {
    reporting(scene, "one");
    scene.takes(1, &words::NEW);
}

/// What the session does.
const STATES: [Act; 11] = [
    ("nothing", |_| {}),
    ("a turn", turn),
    ("an overview", |scene| {
        making(scene, "/mcp reconnect mini");
    }),
    ("a report of files", |scene| {
        scene.desk.host.by_hand("rewind_files");
        turn(scene);
        scene.says([words::done(1), words::state("idle")]);
    }),
    ("a setting", |scene| {
        scene.desk.host.by_hand("set_permission_mode");
        mode(scene, "plan");
    }),
    ("a name", |scene| {
        scene.desk.host.by_hand("rename_session");
        rename(scene, "Mine");
    }),
    ("work of its own", |scene| {
        scene.says([words::init(&words::NEW), words::requesting(&[])]);
    }),
    ("a plan that was chosen", |scene| {
        scene.prompt("one");
        chosen(scene, 1);
    }),
    ("a fresh process that starts", |scene| {
        scene.prompt("one");
        chosen(scene, 1);
        scene.desk.host.by_hand("get_settings");
        scene.says([words::aborted(words::of(&[1]))]);
    }),
    ("an old process that stays", |scene| {
        scene.desk.host.obedient = false;
        reroute(scene, "first");
    }),
    ("a routed process that starts", |scene| {
        scene.desk.host.by_hand("get_settings");
        reroute(scene, "first");
    }),
];

fn load(scene: &mut Scene, servers: serde_json::Value, replay: bool) {
    let session = scene.session.clone();
    stored(scene, &session, "one");
    let method = if replay {
        "session/load"
    } else {
        "session/resume"
    };
    asks(scene, method, json!({ "cwd": CWD, "mcpServers": servers }));
}

fn another() -> serde_json::Value {
    json!([{ "name": "mine", "command": "/bin/mine", "args": [], "env": [] }])
}

/// What comes then.
const CUTS: [Act; 9] = [
    ("nothing", |_| {}),
    ("a cancel", Scene::cancel),
    ("a close", |scene| {
        scene.close();
    }),
    ("a load", |scene| load(scene, json!([]), true)),
    ("a load of another kind", |scene| {
        load(scene, another(), true)
    }),
    ("a resumption of another kind", |scene| {
        load(scene, another(), false);
    }),
    ("the end", |scene| {
        scene.desk.hang_up();
        scene.settle();
    }),
    ("a death", |scene| scene.dies(1)),
    ("another provider", |scene| reroute(scene, "third")),
];

/// A turn that still runs ends, and whatever is silent runs out of time.
fn calms_down(scene: &mut Scene) {
    for _ in 0..8 {
        if scene.desk.channels().is_empty() || scene.desk.done.is_some() {
            break;
        }
        for number in 1..=scene.desk.host.users.len() {
            scene.says([
                words::echo(number),
                words::done(number),
                words::state("idle"),
            ]);
            if scene.desk.channels().is_empty() || scene.desk.done.is_some() {
                break;
            }
        }
        scene.wait(120_000);
    }
    scene.wait(120_000);
    // A process that was never asked to end may keep a name waiting: the editor lets go.
    if scene.desk.done.is_none() {
        let open = scene.desk.unanswered();
        let names = open.iter().all(|it| it.contains("_session/rename"));
        assert!(names, "{open:?}");
        scene.close();
        scene.wait(120_000);
    }
}

fn plays(way: usize, rerouted: bool) {
    for (state, begins) in STATES {
        for (cut, cuts) in CUTS {
            let mut scene = scene(way);
            begins(&mut scene);
            if rerouted {
                reroute(&mut scene, "second");
            }
            scene.prompt("two");
            steer(&mut scene, "more");
            mode(&mut scene, "acceptEdits");
            rename(&mut scene, "Theirs");
            cuts(&mut scene);
            calms_down(&mut scene);
            let open = scene.desk.unanswered();
            assert_eq!(open, Vec::<String>::new(), "{state}, then {cut}");
            assert_eq!(scene.desk.armed(), [0; 0], "{state}, then {cut}");
        }
    }
}

#[test]
fn given_any_state_when_a_provider_is_set_and_something_comes_then_everybody_is_answered() {
    plays(0, true);
}

#[test]
fn given_any_state_and_a_plain_session_when_something_comes_then_everybody_is_answered() {
    plays(0, false);
}

#[test]
fn given_any_state_that_is_restored_when_a_provider_is_set_then_everybody_is_answered() {
    plays(1, true);
}

#[test]
fn given_any_state_in_one_call_when_a_provider_is_set_then_everybody_is_answered() {
    plays(3, true);
}
