//! Which models a gateway has, and what the picker shows of it (Claude adapter, section 16).

use airlock_engine::{Effect, HostArrival, HostDeparture, Input, Origin};
use airlock_tests::Say;
use airlock_tests::scripted_cli::{answer, words};
use serde_json::{Value, json};

use super::claude_kit;
use super::world::{CWD, World};

/// A gateway, asked with these header fields.
fn set(world: &mut World, url: &str, headers: Value) {
    let way = json!({ "providerId": "main", "apiType": "anthropic", "baseUrl": url,
                      "headers": headers });
    assert_eq!(world.asks("providers/set", &way), json!({}));
}

fn gate(world: &mut World) {
    set(world, "https://gate.example", json!({}));
}

/// A model of the gateway, as the program tells of it.
fn model(id: &str, name: &str, about: &str) -> Value {
    json!({ "value": id, "resolvedModel": id, "displayName": name, "description": about,
            "supportsEffort": true, "supportedEffortLevels": ["low", "high"],
            "supportsAutoMode": true })
}

fn one() -> Value {
    model("claude-gate-one", "Gate One", "From gateway")
}

/// A model that the program has a row for, and one that the gateway describes itself.
fn three() -> Vec<Value> {
    let known = model(
        "claude-sonnet-5-5",
        "Sonnet 5.5",
        "From gateway (claude-sonnet-5-5)",
    );
    let own = model("claude-own", "Own", "Ours");
    [known, one(), own].into()
}

/// A world whose gateway is known to have these, each time that it is asked.
fn world(way: usize, known: &[Vec<Value>]) -> World {
    let mut world = World::with(&json!({}), &json!({ "HOME": "/srv/home" }), way);
    let mut greeting = claude_kit::greeting();
    // How much of its context a row has is no matter of the gateway's.
    greeting["models"][3]["resolvedModel"] = json!("claude-sonnet-5-5[1m]");
    world.desk.host.greeting = Some(greeting);
    world.desk.host.settings = Some(claude_kit::settings(json!({})));
    world.desk.host.gateway = Some(known.iter().cloned().collect());
    world
}

fn begin(world: &mut World) -> Value {
    world.asks("session/new", &json!({ "cwd": CWD, "mcpServers": [] }))
}

/// The values of the picker, and the current one.
fn picker(options: &Value) -> (Vec<String>, String) {
    let model = claude_kit::option(options, "model");
    let text = |it: &Value| it.as_str().expect("a text").to_owned();
    let values = model["options"].as_array().expect("values").iter();
    let values = values.map(|it| text(&it["value"])).collect();
    (values, text(&model["currentValue"]))
}

/// What the picker shows of each update since `from` lines were told.
fn pickers(world: &World, from: usize) -> Vec<(Vec<String>, String)> {
    let got = world.got();
    let updates = got.iter().skip(from).map(|it| &it["params"]["update"]);
    updates
        .filter(|it| it["sessionUpdate"] == "config_option_update")
        .map(|it| picker(&it["configOptions"]))
        .collect()
}

fn shows(values: &[&str], current: &str) -> (Vec<String>, String) {
    let values = values.iter().map(|it| (*it).to_owned()).collect();
    (values, current.to_owned())
}

fn of_gate() -> (Vec<String>, String) {
    shows(
        &["default", "sonnet", "claude-gate-one", "claude-own"],
        "default",
    )
}

fn of_claude() -> (Vec<String>, String) {
    shows(&["default", "opus", "fable", "sonnet", "haiku"], "default")
}

#[test]
fn given_a_gateway_that_says_its_models_when_a_session_is_made_then_no_others_are_offered() {
    for way in 0..4 {
        let mut world = world(way, &[three()]);
        gate(&mut world);
        let made = begin(&mut world);
        assert_eq!(picker(&made["configOptions"]), of_gate(), "way {way}");
        let rows = claude_kit::option(&made["configOptions"], "model")["options"].clone();
        let own = json!({ "value": "claude-own", "name": "Own", "description": "Ours" });
        assert_eq!(rows[3], own);
        let session = &made["sessionId"];
        let choose =
            |value: &str| json!({ "sessionId": session, "configId": "model", "value": value });
        let answer = world.asks("session/set_config_option", &choose("claude-gate-one"));
        let options = &answer["configOptions"];
        assert_eq!(picker(options).1, "claude-gate-one");
        let efforts = claude_kit::option(options, "effort")["options"].clone();
        let efforts = efforts.as_array().expect("efforts").iter();
        let efforts: Vec<&Value> = efforts.map(|it| &it["value"]).collect();
        assert_eq!(efforts, ["default", "low", "high"]);
        let refused = world.request("session/set_config_option", &choose("fable"));
        assert_eq!(world.error(refused)["code"], -32602);
    }
}

/// What the gateway says late is told; what is told is asked for once.
#[test]
fn given_a_gateway_that_takes_its_time_when_it_has_answered_then_running_sessions_are_told() {
    for way in 0..4 {
        let mut world = world(way, &[vec![], vec![], three(), vec![]]);
        gate(&mut world);
        let made = begin(&mut world);
        assert_eq!(picker(&made["configOptions"]), of_claude());
        let from = world.got().len();
        world.desk.advance(3_999);
        assert_eq!(world.desk.host.times_asked("models"), 2);
        assert_eq!(pickers(&world, from), []);
        world.desk.advance(1);
        assert_eq!(pickers(&world, from), [of_gate()], "way {way}");
        world.desk.advance(7_000);
        assert_eq!(world.desk.host.times_asked("models"), 4);
        assert_eq!(world.got().len(), from + 1);
        assert_eq!(picker(&begin(&mut world)["configOptions"]), of_gate());
        // It was told to end, and did.
        world.desk.advance(1_000);
        world.settle();
        assert_eq!(world.desk.channels().len(), 2);
        assert_eq!(world.desk.armed(), [0; 0]);
        assert_eq!(world.desk.host.inquiries.len(), 1);
    }
}

/// Section 5: a model that is current stays, and what settings leave out is left out.
#[test]
fn given_a_model_and_settings_when_a_gateway_says_its_models_then_both_still_count() {
    let mut world = world(0, &[vec![], three()]);
    let chosen = claude_kit::settings(json!({ "model": "opus" }));
    world.desk.host.settings = Some(chosen);
    gate(&mut world);
    begin(&mut world);
    let allowed = json!({ "availableModels": ["claude-gate-one", "fable"] });
    world.desk.host.settings = Some(claude_kit::settings(allowed));
    begin(&mut world);
    let from = world.got().len();
    world.desk.advance(1_000);
    let current = shows(
        &["default", "sonnet", "claude-gate-one", "claude-own", "opus"],
        "opus",
    );
    let allowed = shows(&["default", "claude-gate-one", "fable"], "default");
    assert_eq!(pickers(&world, from), [current, allowed]);
}

#[test]
fn given_a_gateway_that_says_nothing_when_its_time_is_over_then_all_is_as_it_was() {
    let mut world = world(0, &[]);
    world.desk.host.obedient = false;
    gate(&mut world);
    let made = begin(&mut world);
    assert_eq!(picker(&made["configOptions"]), of_claude());
    let from = world.got().len();
    world.desk.advance(12_000);
    assert_eq!(world.desk.host.times_asked("models"), 4);
    assert_eq!(world.desk.channels().len(), 2);
    // It does not end by itself.
    world.desk.advance(4_000);
    assert_eq!(world.desk.channels().len(), 1);
    assert_eq!(world.got().len(), from);
    assert_eq!(world.desk.armed(), [0; 0]);
}

/// The default row is nobody's choice of a model.
#[test]
fn given_a_model_that_only_the_default_row_stands_for_when_a_gateway_has_it_then_it_is_offered() {
    let opus = model("claude-opus-5-5", "Opus 5.5", "From gateway");
    let mut world = world(0, &[vec![opus]]);
    let greeting = world.desk.host.greeting.as_mut().expect("a greeting");
    greeting["models"].as_array_mut().expect("models").remove(1);
    gate(&mut world);
    let made = begin(&mut world);
    let both = shows(&["default", "claude-opus-5-5"], "default");
    assert_eq!(picker(&made["configOptions"]), both);
}

/// A process that goes elsewhere still has other models.
#[test]
fn given_a_turn_that_runs_when_a_gateway_says_its_models_then_its_process_keeps_its_own() {
    for way in 0..4 {
        let mut world = world(way, &[three()]);
        let made = begin(&mut world);
        let session = made["sessionId"].as_str().expect("an id").to_owned();
        let prompt = world.desk.prompt(&session, "one");
        world.settle();
        let from = world.got().len();
        gate(&mut world);
        assert_eq!(world.desk.host.times_asked("models"), 1);
        assert_eq!(pickers(&world, from), [], "way {way}");
        // The process that ends the turn is not the last that was opened.
        let channel = world.desk.channels()[0];
        let uuid = world.desk.host.users[0]["uuid"].to_string();
        let said = [words::echo(1), words::done(1)].map(|it| format!("{it}\n"));
        let said = said.concat().replace("\"@1\"", &uuid).into_bytes();
        let bytes = HostArrival::Bytes(said);
        world.desk.arrives(Input::Host(channel, bytes));
        world.settle();
        assert_eq!(world.result(prompt)["stopReason"], "end_turn");
        assert_eq!(pickers(&world, from), [of_gate()], "way {way}");
    }
}

/// What a process is set to that takes another one's place is told when it is there.
#[test]
fn given_a_process_that_is_being_replaced_when_a_gateway_says_its_models_then_they_are_told_once() {
    for way in 0..4 {
        let mut world = world(way, &[vec![], three()]);
        let made = begin(&mut world);
        let mode = json!({ "sessionId": made["sessionId"], "modeId": "plan" });
        world.asks("session/set_mode", &mode);
        world.desk.host.by_hand("set_permission_mode");
        let from = world.got().len();
        gate(&mut world);
        assert!(world.desk.host.waits("set_permission_mode"));
        world.desk.advance(1_000);
        assert_eq!(world.desk.host.times_asked("models"), 2);
        assert_eq!(pickers(&world, from), [], "way {way}");
        let request = world.desk.host.take("set_permission_mode");
        let request = request.expect("a mode");
        let line = answer(&request, &json!({ "mode": "plan" }));
        world.desk.host_says([Say::Line(line)]);
        world.settle();
        assert_eq!(pickers(&world, from), [of_gate()], "way {way}");
    }
}

/// As many as the program asks for.
#[test]
fn given_more_models_than_are_taken_when_a_gateway_says_them_then_the_rest_is_left_out() {
    let many = |count: usize| (0..count).map(|at| model(&format!("claude-{at}"), "Any", ""));
    for (count, offered) in [(1_000, 1_001), (1_001, 1_001)] {
        let mut world = world(0, &[many(count).collect()]);
        gate(&mut world);
        let made = begin(&mut world);
        assert_eq!(picker(&made["configOptions"]).0.len(), offered);
    }
}

/// Nothing of one gateway is offered at another, and only one is asked.
#[test]
fn given_another_gateway_when_it_is_set_then_the_models_of_the_first_are_not_offered() {
    for way in 0..4 {
        let mut world = world(way, &[three()]);
        gate(&mut world);
        let made = begin(&mut world);
        assert_eq!(picker(&made["configOptions"]), of_gate());
        let from = world.got().len();
        set(&mut world, "https://other.example", json!({}));
        assert_eq!(pickers(&world, from), [of_claude()], "way {way}");
        assert_eq!(world.desk.host.inquiries.len(), 2);
        assert_eq!(world.desk.channels().len(), 2);
        let from = world.got().len();
        let off = json!({ "providerId": "main" });
        world.asks("providers/disable", &off);
        assert_eq!(world.desk.channels().len(), 1, "nobody is asked");
        world.desk.advance(20_000);
        assert_eq!(world.desk.host.inquiries.len(), 2);
        assert_eq!(pickers(&world, from), [], "nothing else is offered");
    }
}

/// Other gateways are asked nothing: the program does not.
#[test]
fn given_bedrock_or_vertex_when_it_is_set_then_nobody_is_asked_for_models() {
    let mut world = world(0, &[three()]);
    for (api, meta) in [
        ("bedrock", json!({})),
        (
            "vertex",
            json!({ "claudeCode": { "vertex": { "projectId": "p", "region": "r" } } }),
        ),
    ] {
        let way = json!({ "providerId": "main", "apiType": api,
                          "baseUrl": "https://gate.example", "_meta": meta });
        world.asks("providers/set", &way);
        let made = begin(&mut world);
        assert_eq!(picker(&made["configOptions"]), of_claude(), "{api}");
    }
    assert_eq!(world.desk.host.inquiries, Vec::<Vec<_>>::new());
}

/// The program asks a gateway with the credential that it knows of, and for none of its own
/// models: one that it had a row for would get none.
#[test]
fn given_header_fields_when_a_gateway_is_asked_then_the_program_has_them_as_it_needs_them() {
    let table = [
        (json!({}), Some("none"), None),
        (json!({ "x-other": "s" }), Some("none"), None),
        (json!({ "X-Api-Key": " s " }), Some(" "), Some("s")),
        (json!({ "X-Api-Key": " " }), Some("none"), None),
        (json!({ "authorization": "Bearer s" }), Some("none"), None),
        (
            json!({ "Authorization": "Basic s", "x-api-key": "t" }),
            Some("none"),
            None,
        ),
    ];
    for (headers, token, key) in table {
        let mut world = World::new();
        set(&mut world, "https://gate.example", headers.clone());
        let [all] = world.desk.host.inquiries.as_slice() else {
            panic!("asked once");
        };
        let value = |name: &str| {
            let mut all = all.iter().rev();
            let (_, value) = all.find(|(known, _)| known == name).expect(name);
            value.as_deref()
        };
        assert_eq!(value("ANTHROPIC_AUTH_TOKEN"), token, "{headers}");
        assert_eq!(value("ANTHROPIC_API_KEY"), key, "{headers}");
        assert_eq!(value("ANTHROPIC_BASE_URL"), Some("https://gate.example"));
        assert_eq!(value("ANTHROPIC_CUSTOM_MODEL_OPTION"), None);
        for name in ["FABLE", "HAIKU", "OPUS", "SONNET"] {
            let name = format!("ANTHROPIC_DEFAULT_{name}_MODEL");
            assert_eq!(value(&name), Some("none"));
        }
        let time = "CLAUDE_CODE_GATEWAY_MODEL_DISCOVERY_TIMEOUT_MS";
        assert_eq!(value(time), Some("10000"));
    }
}

/// Whatever becomes of the process, sessions go on, and the end does not wait for it.
#[test]
fn given_a_process_that_knows_the_models_when_it_dies_or_all_ends_then_nobody_waits_for_it() {
    // It cannot be started.
    let mut lost = World::new();
    gate(&mut lost);
    assert_eq!(lost.desk.armed(), [0; 0]);
    lost.new_session();
    // It dies.
    let mut lost = world(0, &[vec![]]);
    gate(&mut lost);
    lost.desk.host_says([Say::Close]);
    lost.settle();
    assert_eq!(lost.desk.armed(), [0; 0]);
    lost.new_session();
    // Something of it cannot be handled.
    let mut lost = world(0, &[vec![]]);
    gate(&mut lost);
    let channel = *lost.desk.channels().last().expect("a process");
    lost.desk
        .arrives(Input::Poison(Origin::Host(channel, Vec::new())));
    lost.settle();
    assert_eq!(lost.desk.channels(), [0; 0]);
    lost.new_session();
    // All ends.
    let mut lost = world(0, &[vec![]]);
    lost.desk.host.obedient = false;
    gate(&mut lost);
    lost.desk.hang_up();
    lost.settle();
    assert_eq!(lost.desk.done, Some(0));
    let closed = lost.desk.calls.iter().flat_map(|call| &call.effects);
    let closed = closed.filter(|it| matches!(it, Effect::Host(_, HostDeparture::Close)));
    assert_eq!(closed.count(), 1);
}
