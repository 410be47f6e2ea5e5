//! An editor that is shown everything, a session of its, and what is asked of both.

use airlock_tests::scripted_cli::words::{self, life, of, result, state, with};
use airlock_tests::scripted_cli::{self, Scene, config};
use serde_json::{Value, json};

use super::claude_kit;

pub const CWD: &str = "/srv/maka-work";
pub const PROJECT: &str = "/srv/home/.claude/projects/-srv-maka-work";
pub const PLAN: &str = "1. Do it";

const AGREED: [&str; 5] = [
    "asyncTasks",
    "agentFileChangeReport",
    "backgroundSubagents",
    "sessionIndex",
    "sessionFailure",
];

/// A scene with a session.
pub fn scene(way: usize) -> Scene {
    let environment = json!({ "environment": { "HOME": "/srv/home" } });
    let mut all = config();
    all["host"] = with(all["host"].clone(), environment);
    let mut scene = Scene::configured(way, &all);
    let air = json!({ "version": 1, "capabilities": AGREED });
    scene.desk.capabilities = json!({ "_meta": { "jetbrains": { "air": air } } });
    scene.desk.host.greeting = Some(claude_kit::greeting());
    let wanted = json!({ "showClearContextOnPlanAccept": true });
    scene.desk.host.settings = Some(claude_kit::settings(wanted));
    let here = format!("{CWD}/hello.txt");
    scene.desk.files.content.insert(here, b"hello".to_vec());
    scene.begin();
    scene.desk.take();
    scene
}

/// Plays it in every way; what was said may not differ.
pub fn every_way(play: impl Fn(&mut Scene)) {
    scripted_cli::every_way(|way| {
        let mut scene = scene(way);
        play(&mut scene);
        scene.desk.record()
    });
}

/// The editor asks for this; its id.
pub fn asks(scene: &mut Scene, method: &str, params: Value) -> u64 {
    let params = with(json!({ "sessionId": scene.session }), params);
    let id = scene.desk.request(method, &params);
    scene.settle();
    id
}

/// The answer to this request.
pub fn answer(scene: &Scene, id: u64) -> Option<Value> {
    let got = scene.desk.log.iter();
    let got = got.filter_map(|line| line.strip_prefix("< "));
    let mut got = got.map(|line| serde_json::from_str::<Value>(line).unwrap());
    got.find(|it| it.get("method").is_none() && it["id"] == id)
}

/// Models come from this gateway from now on.
pub fn reroute(scene: &mut Scene, name: &str) {
    let url = format!("https://{name}.example");
    let params = json!({ "providerId": "main", "apiType": "anthropic", "baseUrl": url });
    scene.desk.request("providers/set", &params);
    scene.settle();
}

pub fn rename(scene: &mut Scene, title: &str) -> u64 {
    asks(scene, "_session/rename", json!({ "title": title }))
}

pub fn mode(scene: &mut Scene, mode: &str) -> u64 {
    asks(scene, "session/set_mode", json!({ "modeId": mode }))
}

pub fn steer(scene: &mut Scene, text: &str) -> u64 {
    let prompt = json!([{ "type": "text", "text": text }]);
    asks(scene, "_session/steering", json!({ "prompt": prompt }))
}

/// A prompt whose files are to be reported.
pub fn reporting(scene: &mut Scene, text: &str) -> u64 {
    let request = json!({ "version": 1, "requestId": format!("files-{text}") });
    let air = json!({ "version": 1, "agentFileChangeReportRequest": request });
    let params = json!({ "_meta": { "jetbrains": { "air": air } },
                         "prompt": [{ "type": "text", "text": text }] });
    asks(scene, "session/prompt", params)
}

/// The file reports that were told, each with its state.
pub fn reports(scene: &Scene) -> Vec<(Value, Value)> {
    let got = scene.desk.log.iter().filter(|it| it.starts_with("< "));
    let got = got.map(|line| serde_json::from_str::<Value>(&line[2..]).unwrap());
    let key = "/params/update/_meta/jetbrains/air/agentFileChangeReport";
    let told = got.filter_map(|it| it.pointer(key).cloned());
    told.map(|it| (it["requestId"].clone(), it["status"].clone()))
        .collect()
}

/// A command of the program's own is over, and its overview is being made.
pub fn making(scene: &mut Scene, command: &str) -> u64 {
    for subtype in ["mcp_status", "mcp_reconnect", "get_usage"] {
        scene.desk.host.by_hand(subtype);
    }
    let prompt = scene.prompt(command);
    let number = scene.desk.host.users.len();
    let said = json!([{ "type": "text", "text": "Own words" }]);
    let mut whole = words::assistant_of("cli-1", &said);
    whole["message"]["model"] = json!("<synthetic>");
    scene.says([
        state("running"),
        life(number, "started"),
        whole,
        words::echo(number),
    ]);
    let nothing = json!({ "input_tokens": 0, "output_tokens": 0,
                          "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 });
    let done = with(of(&[number]), json!({ "num_turns": 0, "usage": nothing }));
    scene.says([
        result(done),
        life(number, "completed"),
        words::state("idle"),
    ]);
    prompt
}

/// The process takes this prompt, which plans; the user wants the plan in a fresh context.
pub fn chosen(scene: &mut Scene, number: usize) {
    scene.takes(number, &words::NEW);
    scene.desk.take();
    let input = json!({ "plan": PLAN });
    let exit =
        json!({ "tool_name": "ExitPlanMode", "display_name": "ExitPlanMode", "input": input });
    scene.says([words::can_use_tool("ask-1", "toolu_1", exit)]);
    let all = scene.desk.take();
    let asked = all.iter().find(|it| it.get("id").is_some());
    let asked = asked.expect("a question")["id"].clone();
    let outcome =
        json!({ "outcome": { "outcome": "selected", "optionId": "exit-plan-clear-auto" } });
    scene.desk.reply(&asked, &outcome);
    scene.settle();
}

/// This prompt is done by the process.
pub fn done(scene: &mut Scene, number: usize) {
    scene.says([
        state("running"),
        words::requesting(&[number]),
        words::echo(number),
        words::done(number),
        state("idle"),
    ]);
}

/// The words of all messages that the processes got.
pub fn said(scene: &Scene) -> Vec<String> {
    let users = scene.desk.host.users.iter();
    let text = |user: &Value| user["message"]["content"][0]["text"].clone();
    users
        .map(|user| text(user).as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Whether the process with this number was started with an argument that begins like this.
pub fn started_with(scene: &Scene, number: usize, argument: &str) -> bool {
    let all = &scene.desk.host.started[number];
    all.iter().any(|it| it.starts_with(argument))
}

/// What the process got on the channel that was opened last, of this kind.
pub fn requests(scene: &Scene, subtype: &str) -> Vec<Value> {
    let lines = scene.desk.to_host.iter();
    let all = lines.map(|(channel, line)| {
        let frame = serde_json::from_str::<Value>(line).unwrap();
        (channel.to_string(), frame["request"].clone())
    });
    let last = scene.desk.to_host.last().map(|(it, _)| it.to_string());
    all.filter(|(channel, it)| Some(channel) == last.as_ref() && it["subtype"] == subtype)
        .map(|(_, it)| it)
        .collect()
}

/// The updates of this kind that the editor was told, since it was last looked at.
pub fn updates(scene: &mut Scene, kind: &str) -> Vec<Value> {
    let all = scene.desk.take().into_iter();
    let all = all.map(|it| it["params"]["update"].clone());
    all.filter(|it| it["sessionUpdate"] == kind).collect()
}

/// The session was said something in, and has a file that says so.
pub fn stored(scene: &mut Scene, id: &str, text: &str) {
    let row = json!({ "type": "user", "uuid": format!("u-{text}"), "cwd": CWD,
        "isSidechain": false, "permissionMode": "default", "origin": { "kind": "human" },
        "message": { "role": "user", "content": [{ "type": "text", "text": text }] } });
    let content = format!("{row}\n").into_bytes();
    let path = format!("{PROJECT}/{id}.jsonl");
    scene.desk.files.content.insert(path, content);
}
