//! A load or resume of a session that is open here already (Claude adapter, section 4).

use airlock_engine::HostArrival;
use airlock_engine::Input;
use airlock_tests::Say;
use serde_json::{Value, json};

use super::world::{CWD, ID, World};

fn open(world: &mut World) {
    world.recorded();
    let resume = world.resume(ID);
    world.result(resume);
}

#[test]
fn given_a_live_session_when_loaded_then_its_process_stays_and_the_past_is_shown() {
    let mut world = World::plain();
    open(&mut world);
    let load = world.load(ID);
    world.result(load);
    assert_eq!(world.desk.host.started.len(), 1);
    assert!(!world.texts().is_empty());
    world.desk.prompt(ID, "go on");
    world.settle();
    assert_eq!(world.desk.host.users.len(), 1);
    assert_eq!(world.desk.files.open(), 0);
}

/// What the process says waits until the past has been shown.
#[test]
fn given_a_live_session_when_loaded_then_its_process_does_not_speak_among_the_past() {
    let mut world = World::plain();
    open(&mut world);
    let prompt = world.desk.prompt(ID, "one");
    world.settle();
    let params = json!({ "sessionId": ID, "cwd": CWD, "mcpServers": [] });
    let load = world.desk.request("session/load", &params);
    while world.texts().is_empty() {
        assert!(world.desk.step());
    }
    let uuid = world.desk.host.users[0]["uuid"].clone();
    let text = json!({ "type": "assistant", "uuid": "f", "message": { "id": "msg_live",
        "content": [{ "type": "text", "text": "live" }] } });
    let result = json!({ "type": "result", "subtype": "success", "user_message_uuids": [uuid],
        "usage": { "output_tokens": 1 } });
    let echo = json!({ "type": "user", "isReplay": true, "uuid": uuid });
    let said = [echo, text, result].map(|frame| Say::Line(frame.to_string()));
    world.desk.host_says(said);
    world.settle();
    world.result(load);
    assert_eq!(
        world.texts().last().map(String::as_str),
        Some("agent_message: live")
    );
    assert_eq!(world.result(prompt)["stopReason"], "end_turn");
}

/// Other servers or folders need another process; open prompts are answered, the mode is kept.
#[test]
fn given_a_live_session_when_loaded_with_other_folders_then_its_process_is_replaced() {
    let mut world = World::plain();
    open(&mut world);
    let mode = json!({ "sessionId": ID, "modeId": "acceptEdits" });
    let set = world.request("session/set_mode", &mode);
    world.result(set);
    let prompt = world.desk.prompt(ID, "one");
    world.settle();
    let params = json!({ "sessionId": ID, "cwd": CWD, "mcpServers": [],
                         "additionalDirectories": ["/srv/more"] });
    let load = world.request("session/load", &params);
    world.result(load);
    assert_eq!(world.result(prompt)["stopReason"], "cancelled");
    assert_eq!(world.desk.host.started.len(), 2);
    assert!(world.started_with(1, "--add-dir=/srv/more"));
    assert!(world.started_with(1, &format!("--resume={ID}")));
    assert!(world.started_with(1, "--permission-mode=acceptEdits"));
    assert_eq!(world.desk.channels().len(), 1);
    let next = world.desk.prompt(ID, "two");
    world.settle();
    assert_eq!(world.desk.host.users.len(), 2);
    assert_eq!(world.answer(next), None);
    // The order of servers makes no difference.
    let again = world.request("session/load", &params);
    world.result(again);
    assert_eq!(world.desk.host.started.len(), 2);
}

/// What the user allowed is not taken back by another process, unless the client does.
#[test]
fn given_everything_allowed_when_loaded_with_other_folders_then_it_stays_unless_refused() {
    let refused = json!({ "allowDangerouslySkipPermissions": false });
    for (options, stays) in [(json!({}), true), (refused, false)] {
        let mut world = World::plain();
        open(&mut world);
        let all = json!({ "sessionId": ID, "modeId": "bypassPermissions" });
        let set = world.request("session/set_mode", &all);
        world.result(set);
        let params = json!({ "sessionId": ID, "cwd": CWD, "mcpServers": [],
                             "additionalDirectories": ["/srv/more"],
                             "_meta": { "claudeCode": { "options": options } } });
        let load = world.request("session/load", &params);
        world.result(load);
        let all = world.started_with(1, "--permission-mode=bypassPermissions");
        assert_eq!((world.desk.host.started.len(), all), (2, stays));
    }
}

/// Nothing was said in it: there is no file, and nothing to show.
#[test]
fn given_a_session_that_was_never_prompted_when_loaded_then_it_goes_on() {
    let mut world = World::plain();
    let new = world.request("session/new", &json!({ "cwd": CWD, "mcpServers": [] }));
    let id = world.result(new)["sessionId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let load = world.load(&id);
    world.result(load);
    assert_eq!(world.desk.host.started.len(), 1);
    let params = json!({ "sessionId": id, "cwd": CWD, "additionalDirectories": ["/srv/more"] });
    let resume = world.request("session/resume", &params);
    world.result(resume);
    assert_eq!(world.desk.host.started.len(), 2);
    assert!(world.started_with(1, &format!("--session-id={id}")));
    assert_eq!(world.shown(), Vec::<Value>::new());
}

/// "Load this one again": the sentence of a session whose process is gone.
#[test]
fn given_a_session_whose_process_died_when_loaded_then_a_new_one_takes_it_up() {
    let mut world = World::plain();
    open(&mut world);
    let channel = world.desk.channels()[0];
    let died = Input::Host(channel, HostArrival::Exited(Some(1)));
    world.desk.arrives(died);
    world.desk.host_says([Say::Close]);
    world.settle();
    let prompt = world.desk.prompt(ID, "one");
    world.settle();
    assert_eq!(world.error(prompt)["code"], -32603);
    let load = world.load(ID);
    world.result(load);
    assert_eq!(world.desk.host.started.len(), 2);
    world.desk.prompt(ID, "two");
    world.settle();
    assert_eq!(world.desk.host.users.len(), 1);
}

/// A load that nobody waits for takes nothing from a session that was open before it.
#[test]
fn given_a_live_session_when_its_load_is_cancelled_then_it_goes_on() {
    for folders in [json!([]), json!(["/srv/more"])] {
        let mut world = World::plain();
        open(&mut world);
        let params = json!({ "sessionId": ID, "cwd": CWD, "mcpServers": [],
                             "additionalDirectories": folders });
        let load = world.desk.request("session/load", &params);
        for _ in 0..5 {
            world.desk.step();
        }
        world
            .desk
            .notify("$/cancel_request", &json!({ "requestId": load }));
        world.settle();
        assert_eq!(world.error(load)["code"], -32800);
        world.desk.prompt(ID, "go on");
        world.settle();
        assert_eq!(world.desk.host.users.len(), 1, "{folders}");
        assert_eq!(world.desk.files.open(), 0);
    }
}
