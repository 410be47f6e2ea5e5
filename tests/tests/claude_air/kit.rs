//! An editor that agreed on the extensions, and what it is told.

use airlock_tests::scripted_cli::{Scene, each_way, every_way, words};
use serde_json::{Value, json};

/// Every name that a client may agree on.
pub const ALL: [&str; 13] = [
    "diffPatch",
    "rawInputRendering",
    "sessionFailure",
    "recommendedValue",
    "asyncTasks",
    "agentFileChangeReport",
    "nativeSubagentSessions",
    "planFile",
    "customInstructions",
    "backgroundSubagents",
    "loadReplayEnd",
    "sessionIndex",
    "sessionBatchGet",
];

/// A client that agrees on these names, and has these capabilities of ACP.
pub fn agreed(names: &[&str], acp: Value) -> Value {
    let air = json!({ "version": 1, "capabilities": names });
    let mut meta = acp["_meta"].clone();
    if meta.is_null() {
        meta = json!({});
    }
    meta["jetbrains"] = json!({ "air": air });
    words::with(acp, json!({ "_meta": meta }))
}

/// The client of the recordings.
pub fn air() -> Value {
    agreed(
        &ALL,
        json!({ "session": { "configOptions": { "boolean": {} }, "notices": {}, "compaction": {} },
                "plan": {}, "elicitation": { "form": {}, "url": {} },
                "_meta": { "terminal_output_delta": true } }),
    )
}

/// Keys of the extensions, as they stand in `_meta`.
pub fn keys(keys: Value) -> Value {
    let air = words::with(json!({ "version": 1 }), keys);
    json!({ "jetbrains": { "air": air } })
}

/// Plays a scene with such a client, whose first prompt is being answered, in every way.
pub fn with(client: &Value, play: impl Fn(&mut Scene)) {
    each_way_with(
        client,
        |_| {},
        |scene| {
            scene.working("Let me");
            scene.desk.take();
            play(scene);
        },
    );
}

/// Plays a scene with such a client and a process that is `set` in every way.
pub fn each_way_with(client: &Value, set: impl Fn(&mut Scene), play: impl Fn(&mut Scene)) {
    // The session that is made by itself belongs to a client without capabilities.
    every_way(|way| {
        let mut scene = Scene::in_way(way);
        scene.desk.capabilities = client.clone();
        set(&mut scene);
        scene.begin();
        play(&mut scene);
        scene.desk.record()
    });
}

/// The same for a client without capabilities.
pub fn plainly(play: impl Fn(&mut Scene)) {
    each_way(|scene| {
        scene.working("Let me");
        scene.desk.take();
        play(scene);
    });
}

/// What the editor was told since it was last looked at; figures, options and commands are
/// left out.
pub fn updates(scene: &mut Scene) -> Vec<Value> {
    let quiet = [
        "usage_update",
        "available_commands_update",
        "config_option_update",
    ];
    let all = scene.desk.take().into_iter();
    let updates = all.filter(|it| it["method"] == "session/update");
    updates
        .map(|it| it["params"]["update"].clone())
        .filter(|it| !quiet.contains(&it["sessionUpdate"].as_str().unwrap_or_default()))
        .collect()
}

/// The last update of this kind.
pub fn last(scene: &mut Scene, kind: &str) -> Value {
    let all = scene.desk.take().into_iter().rev();
    let mut updates = all.map(|it| it["params"]["update"].clone());
    updates
        .find(|it| it["sessionUpdate"] == kind)
        .unwrap_or_default()
}

/// What the process was asked of this kind, in order.
pub fn requests(scene: &Scene, subtype: &str) -> Vec<Value> {
    let lines = scene.desk.to_host.iter();
    let all = lines.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|it| it["request"]["subtype"] == subtype)
        .map(|it| it["request"].clone())
        .collect()
}

/// The whole message in which this tool is called.
pub fn calls(id: &str, name: &str, input: &Value) -> Value {
    let block = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    words::assistant_of("msg_1", &json!([block]))
}

/// A card, as it is told first or changed.
pub fn card(first: bool, id: &str, more: Value) -> Value {
    let kind = if first {
        "tool_call"
    } else {
        "tool_call_update"
    };
    words::with(json!({ "sessionUpdate": kind, "toolCallId": id }), more)
}

/// A hook of the process.
pub fn hook(request: &str, tool: &str, event: &str, more: Value) -> Value {
    let input = words::with(
        json!({ "hook_event_name": event, "tool_use_id": tool }),
        more,
    );
    let asked = json!({ "subtype": "hook_callback", "callback_id": "after-tool", "input": input });
    json!({ "type": "control_request", "request_id": request, "request": asked })
}

/// Streams the beginning of a call, its input in these pieces, and its whole copy.
pub fn streams(scene: &mut Scene, id: &str, name: &str, pieces: &[&str]) {
    let mut frames = vec![words::tool_block(1, id, name)];
    frames.extend(pieces.iter().map(|piece| {
        let delta = json!({ "type": "input_json_delta", "partial_json": piece });
        words::event(
            &json!({ "type": "content_block_delta", "index": 1, "delta": delta }),
            None,
        )
    }));
    let input: Value = serde_json::from_str(&pieces.concat()).unwrap();
    frames.push(calls(id, name, &input));
    scene.says(frames);
}
