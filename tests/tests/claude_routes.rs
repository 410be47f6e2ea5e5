//! What an editor asks of Claude Code besides sessions and their turns: signing in and out,
//! who is signed in, where models come from (Claude adapter, sections 2, 3, 4, 15 and 16).

use airlock_engine::{Effect, HostArrival, HostDeparture, Input};
use airlock_tests::desk::Ran;
use airlock_tests::scripted_cli::{ScriptedCli, words};
use airlock_tests::{Cut, Desk, Say};
use serde_json::{Value, json};

const CWD: &str = "/srv/work";

/// An editor that has initialized, and a Claude Code without sessions.
struct World {
    desk: Desk<ScriptedCli>,
    welcome: Value,
}

impl World {
    fn new() -> World {
        World::with(&json!({}), &json!({ "HOME": "/srv/home" }), 0)
    }

    fn with(capabilities: &Value, environment: &Value, way: usize) -> World {
        let config = json!({
            "agent": { "name": "airlock", "title": "Airlock", "version": "0.0.0",
                       "command": "/opt/host-runner" },
            "host": { "kind": "claude", "name": "claude", "environment": environment } });
        let mut desk = Desk::with_config(ScriptedCli::default(), &config);
        desk.host_speaks = false;
        desk.restoring = way == 1;
        desk.batching = way == 3;
        let mut desk = match way {
            2 => desk.cut(Cut::Bytes(1)),
            3 => desk.cut(Cut::Read),
            _ => desk,
        };
        desk.host.asides = [
            ("auth logout", ran("Successfully logged out.\n", "", 0)),
            (
                "auth status --json",
                ran(
                    r#"{ "loggedIn": false, "authMethod": "none", "apiProvider": "firstParty" }"#,
                    "",
                    1,
                ),
            ),
        ]
        .map(|(words, ran)| (words.to_owned(), ran))
        .into();
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        let id = desk.request("initialize", &params);
        let welcome = desk.answer(id)["result"].clone();
        World { desk, welcome }
    }

    fn settle(&mut self) {
        while self.desk.step() {}
    }

    fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.desk.request(method, params);
        self.settle();
        id
    }

    fn got(&self) -> Vec<Value> {
        let got = self.desk.log.iter();
        let got = got.filter_map(|line| line.strip_prefix("< "));
        got.map(|line| serde_json::from_str(line).expect("checked before"))
            .collect()
    }

    fn answer(&self, id: u64) -> Option<Value> {
        let mut got = self.got().into_iter();
        got.find(|it| it.get("method").is_none() && it["id"] == id)
    }

    fn result(&self, id: u64) -> Value {
        let answer = self.answer(id);
        let answer = answer.unwrap_or_else(|| panic!("no answer:\n{}", self.desk.log.join("\n")));
        assert_eq!(answer["error"], Value::Null);
        answer["result"].clone()
    }

    fn error(&self, id: u64) -> Value {
        self.answer(id).expect("an answer")["error"].clone()
    }

    /// A request that is to succeed.
    fn asks(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.result(id)
    }

    fn new_session(&mut self) -> String {
        let result = self.asks("session/new", &json!({ "cwd": CWD, "mcpServers": [] }));
        result["sessionId"].as_str().expect("an id").to_owned()
    }

    /// Who the editor was told is signed in, each time.
    fn statuses(&self) -> Vec<Value> {
        let got = self.got().into_iter();
        let told = got.filter(|it| it["method"] == "_auth/status_update");
        told.map(|it| it["params"]["authStatus"].clone()).collect()
    }

    /// A variable of the process with this number.
    fn variable(&self, number: usize, name: &str) -> Option<Option<String>> {
        let all = &self.desk.host.variables[number];
        let found = all.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    fn provider(&mut self) -> Value {
        self.asks("providers/list", &json!({}))["providers"][0].clone()
    }

    /// The process that was started last says these frames.
    fn says(&mut self, frames: &[Value]) {
        let prompt = self.desk.host.users.last().map(|it| it["uuid"].to_string());
        let line = |frame: &Value| match &prompt {
            Some(prompt) => frame.to_string().replace("\"@1\"", prompt),
            None => frame.to_string(),
        };
        let said: Vec<Say> = frames.iter().map(|frame| Say::Line(line(frame))).collect();
        self.desk.host_says(said);
        self.settle();
    }
}

fn ran(out: &str, said: &str, code: i32) -> Ran {
    Ran {
        out: out.to_owned(),
        said: said.to_owned(),
        code: Some(code),
    }
}

fn api_key() -> Value {
    json!({ "kind": "api_key", "label": "Anthropic API key", "detail": "ANTHROPIC_API_KEY" })
}

fn ids(methods: &Value) -> Vec<&str> {
    let methods = methods.as_array().expect("a list").iter();
    methods
        .map(|it| it["id"].as_str().expect("an id"))
        .collect()
}

/// Section 3: what is offered, to whom.
#[test]
fn given_what_a_client_can_do_when_it_initializes_then_it_is_offered_the_ways_it_can_go() {
    let home = json!({ "HOME": "/srv/home" });
    let plain = World::with(&json!({}), &home, 0);
    assert_eq!(plain.welcome["authMethods"], json!([]));
    let capabilities = &plain.welcome["agentCapabilities"];
    assert_eq!(capabilities["auth"], json!({ "logout": {} }));
    assert_eq!(capabilities["providers"], json!({}));
    assert_eq!(capabilities["sessionCapabilities"]["fork"], json!({}));
    let mine = json!({ "claudeCode": { "promptQueueing": true }, "authStatus": {} });
    assert_eq!(capabilities["_meta"], mine);

    let terminal = json!({ "auth": { "terminal": true } });
    let methods = World::with(&terminal, &home, 0).welcome["authMethods"].clone();
    let login = json!({
        "id": "claude-ai-login", "name": "Claude subscription",
        "description": "Sign in with a Claude subscription",
        "type": "terminal", "args": ["--cli", "auth", "login", "--claudeai"] });
    assert_eq!(methods[0], login);
    assert_eq!(
        methods[1]["args"],
        json!(["--cli", "auth", "login", "--console"])
    );
    assert_eq!(ids(&methods), ["claude-ai-login", "console-login"]);

    let meta = json!({ "_meta": { "terminal-auth": true } });
    let methods = World::with(&meta, &home, 0).welcome["authMethods"].clone();
    let start = json!({ "terminal-auth": {
        "command": "/opt/host-runner", "args": ["--cli", "auth", "login", "--claudeai"],
        "label": "Claude subscription" } });
    assert_eq!(methods[0]["_meta"], start);

    for sign in [
        "NO_BROWSER",
        "SSH_CONNECTION",
        "SSH_CLIENT",
        "SSH_TTY",
        "CLAUDE_CODE_REMOTE",
    ] {
        let remote = json!({ "HOME": "/srv/home", sign: "1" });
        let methods = World::with(&terminal, &remote, 0).welcome["authMethods"].clone();
        assert_eq!(ids(&methods), ["claude-login"], "{sign}");
        assert_eq!(methods[0]["args"], json!(["--cli"]));
    }

    let gateway = json!({ "auth": { "_meta": { "gateway": true } } });
    let methods = World::with(&gateway, &home, 0).welcome["authMethods"].clone();
    assert_eq!(ids(&methods), ["gateway", "gateway-bedrock"]);
    assert_eq!(
        methods[0]["_meta"],
        json!({ "gateway": { "protocol": "anthropic" } })
    );
    assert_eq!(
        methods[1]["_meta"],
        json!({ "gateway": { "protocol": "bedrock" } })
    );

    let hidden = json!({ "HOME": "/srv/home", "AIRLOCK_HIDE_CLAUDE_AUTH": "1" });
    let methods = World::with(&terminal, &hidden, 0).welcome["authMethods"].clone();
    assert_eq!(ids(&methods), ["console-login"]);
}

/// The recorded notice, in its place: before the answer of the first session; told once.
#[test]
fn given_sessions_when_they_begin_then_who_is_signed_in_is_told_once_and_when_it_changes() {
    for way in 0..4 {
        let mut world = World::with(&json!({}), &json!({ "HOME": "/srv/home" }), way);
        assert_eq!(world.statuses(), Vec::<Value>::new());
        world.new_session();
        let got = world.got();
        let at = |wanted: &dyn Fn(&Value) -> bool| got.iter().position(wanted);
        let told = at(&|it| it["method"] == "_auth/status_update").expect("it is told");
        let answered = at(&|it| it["result"].get("sessionId").is_some()).expect("an answer");
        assert!(told < answered, "way {way}");
        world.new_session();
        assert_eq!(world.statuses(), [api_key()]);
        world.desk.host.greeting = Some(json!({ "commands": [], "models": [], "account": {
            "tokenSource": "claude.ai", "email": "me@example.com", "organization": "Org",
            "subscriptionType": "max", "apiProvider": "firstParty" } }));
        world.new_session();
        let account = json!({ "kind": "account", "label": "Claude Max", "detail": "me@example.com",
            "account": { "email": "me@example.com", "organization": "Org", "plan": "max" } });
        assert_eq!(world.statuses(), [api_key(), account]);
        // No process beside the sessions was needed.
        assert_eq!(world.desk.host.ran, Vec::<String>::new());
    }
}

/// Section 15: subscriptions are refused where they are hidden, and nothing else is.
#[test]
fn given_hidden_subscriptions_when_a_session_begins_with_one_then_it_is_refused() {
    let environment = json!({ "HOME": "/srv/home", "AIRLOCK_HIDE_CLAUDE_AUTH": "1" });
    let mut world = World::with(&json!({}), &environment, 0);
    world.new_session();
    world.desk.host.greeting = Some(json!({ "account": {
        "tokenSource": "claude.ai", "subscriptionType": "pro" } }));
    let new = world.request("session/new", &json!({ "cwd": CWD, "mcpServers": [] }));
    let error = world.error(new);
    assert_eq!(error["code"], -32000);
    assert_eq!(
        error["data"],
        json!({ "reason": "claude_subscription_not_supported" })
    );
    assert_eq!(world.statuses(), [api_key()]);
    assert_eq!(world.desk.channels().len(), 1);
}

/// Section 4: why a session could not start, and who has to do something.
#[test]
fn given_a_process_that_cannot_start_when_it_says_why_then_the_error_says_it_too() {
    let table = [
        ("gateway_signin_required", -32000),
        ("org_pin_mismatch", -32000),
        ("org_config_refused", -32000),
        ("cwd_unavailable", -32602),
        ("anything_else", -32603),
    ];
    for (reason, code) in table {
        let mut world = World::new();
        world.desk.host.greeting = None;
        let new = world.request("session/new", &json!({ "cwd": CWD, "mcpServers": [] }));
        let result = words::result(
            json!({ "subtype": "error_during_execution", "is_error": true,
            "errors": ["Sign in at the gateway."], "startup_failure_reason": reason }),
        );
        world.says(&[result]);
        let error = world.error(new);
        assert_eq!(error["code"], code, "{reason}");
        assert_eq!(error["data"], json!({ "startupFailureReason": reason }));
        assert!(
            error["message"]
                .as_str()
                .expect("words")
                .contains("Sign in at the gateway.")
        );
        assert_eq!(world.desk.channels(), [0; 0]);
    }
}

/// Section 2: `authenticate` without a payload is accepted and does nothing; another method is
/// none [run].
#[test]
fn given_ways_to_sign_in_when_asked_for_then_known_ones_are_accepted_and_others_are_not() {
    let mut world = World::new();
    for method in ["gateway", "gateway-bedrock"] {
        assert_eq!(
            world.asks("authenticate", &json!({ "methodId": method })),
            json!({})
        );
    }
    for method in ["nope", "claude-ai-login", ""] {
        let id = world.request("authenticate", &json!({ "methodId": method }));
        let expected = json!({ "code": -32602,
            "message": format!("Invalid params: Unsupported authentication method: {method}"),
            "data": { "methodId": method } });
        assert_eq!(world.error(id), expected);
    }
    assert_eq!(world.statuses(), Vec::<Value>::new());
    world.new_session();
    assert_eq!(world.variable(0, "ANTHROPIC_BASE_URL"), None);
}

#[test]
fn given_a_gateway_when_signed_in_there_then_processes_go_there_and_it_is_told() {
    let mut world = World::new();
    let meta =
        json!({ "gateway": { "baseUrl": "https://gate.example", "headers": { "x-key": "s" } } });
    world.asks(
        "authenticate",
        &json!({ "methodId": "gateway", "_meta": meta }),
    );
    let gateway = json!({ "kind": "gateway", "label": "Custom gateway",
                          "detail": "https://gate.example" });
    assert_eq!(world.statuses(), [gateway.clone()]);
    world.new_session();
    let set = |value: &str| Some(Some(value.to_owned()));
    assert_eq!(
        world.variable(0, "ANTHROPIC_BASE_URL"),
        set("https://gate.example")
    );
    assert_eq!(
        world.variable(0, "ANTHROPIC_CUSTOM_HEADERS"),
        set("x-key: s")
    );
    assert_eq!(world.variable(0, "ANTHROPIC_AUTH_TOKEN"), set(" "));
    assert_eq!(world.variable(0, "ANTHROPIC_API_KEY"), Some(None));
    // What the process says of its key is not who is signed in.
    assert_eq!(world.statuses(), [gateway]);
    let bad = json!({ "gateway": { "baseUrl": "gate.example" } });
    let id = world.request(
        "authenticate",
        &json!({ "methodId": "gateway", "_meta": bad }),
    );
    assert_eq!(
        world.error(id)["data"],
        json!({ "baseUrl": "gate.example" })
    );
}

/// Section 2: overrides are cleared, and who is signed in is asked anew.
#[test]
fn given_somebody_signed_in_when_they_sign_out_then_the_program_does_it_and_the_editor_hears() {
    for way in 0..4 {
        let mut world = World::with(&json!({}), &json!({ "HOME": "/srv/home" }), way);
        world.new_session();
        assert_eq!(world.asks("logout", &json!({})), json!({}));
        assert_eq!(world.desk.host.ran, ["auth logout", "auth status --json"]);
        let nobody = json!({ "kind": "none", "label": "Not signed in" });
        assert_eq!(world.statuses(), [api_key(), nobody]);
        assert_eq!(world.desk.armed(), [0; 0], "way {way}");
        // The session was not touched.
        assert_eq!(world.desk.host.started.len(), 1);
    }
}

#[test]
fn given_a_gateway_when_somebody_signs_out_then_models_come_from_where_they_came_at_first() {
    let mut world = World::new();
    let way =
        json!({ "providerId": "main", "apiType": "anthropic", "baseUrl": "https://gate.example" });
    world.asks("providers/set", &way);
    world.asks("logout", &json!({}));
    assert_eq!(
        world.provider()["current"]["baseUrl"],
        "https://api.anthropic.com"
    );
    world.new_session();
    assert_eq!(world.variable(0, "ANTHROPIC_BASE_URL"), None);
}

#[test]
fn given_a_program_that_cannot_sign_out_when_asked_to_then_the_error_has_its_words() {
    let mut world = World::new();
    let failed = ran("", "No network.\n", 1);
    world.desk.host.asides.insert("auth logout".into(), failed);
    let id = world.request("logout", &json!({}));
    let error = world.error(id);
    assert_eq!(error["code"], -32603);
    assert_eq!(error["data"]["stderr"], "No network.");
    assert_eq!(world.desk.host.ran, ["auth logout"]);

    // One that hangs is ended.
    let hangs = Ran {
        code: None,
        ..ran("", "Waiting", 0)
    };
    world.desk.host.asides.insert("auth logout".into(), hangs);
    let id = world.request("logout", &json!({}));
    world.desk.advance(29_999);
    assert_eq!(world.answer(id), None);
    world.desk.advance(1);
    assert_eq!(world.error(id)["data"]["stderr"], "Waiting");
    let closed = world.desk.calls.iter().flat_map(|call| &call.effects);
    let closed = closed.filter(|it| matches!(it, Effect::Host(_, HostDeparture::Close)));
    assert_eq!(closed.count(), 1);

    // One that is not there.
    world.desk.host.asides.clear();
    world.desk.host.refusal = Some(airlock_engine::HostRefusal::Absent);
    let id = world.request("logout", &json!({}));
    let said = world.error(id)["data"]["stderr"].to_string();
    assert!(said.contains("npm install"), "{said}");
}

#[test]
fn given_a_logout_under_way_when_the_editor_goes_then_it_is_answered() {
    let mut world = World::new();
    let hangs = Ran {
        code: None,
        ..ran("", "", 0)
    };
    world.desk.host.asides.insert("auth logout".into(), hangs);
    let id = world.request("logout", &json!({}));
    world.desk.hang_up();
    world.settle();
    assert_eq!(world.error(id)["code"], -32603);
    assert_eq!(world.desk.done, Some(0));
}

/// Section 16 [run].
#[test]
fn given_an_environment_when_providers_are_listed_then_the_one_is_where_it_says() {
    let environment = json!({ "HOME": "/srv/home", "ANTHROPIC_BASE_URL": "http://127.0.0.1:8080" });
    let mut world = World::with(&json!({}), &environment, 0);
    let expected = json!({ "providers": [{
        "providerId": "main", "supported": ["anthropic", "bedrock", "vertex"], "required": false,
        "current": { "apiType": "anthropic", "baseUrl": "http://127.0.0.1:8080" } }] });
    assert_eq!(world.asks("providers/list", &json!({})), expected);
}

#[test]
fn given_a_provider_that_cannot_be_used_when_set_then_the_params_are_refused() {
    let mut world = World::new();
    let way = |id: &str, api: &str, url: &str| json!({ "providerId": id, "apiType": api, "baseUrl": url });
    let table = [
        (
            way("other", "anthropic", "https://a.example"),
            json!({ "providerId": "other" }),
        ),
        (
            way("main", "openai", "https://a.example"),
            json!({ "apiType": "openai" }),
        ),
        (
            way("main", "vertex", "https://a.example"),
            json!({ "apiType": "vertex" }),
        ),
        (
            way("main", "anthropic", "a.example"),
            json!({ "baseUrl": "a.example" }),
        ),
        (
            words::with(
                way("main", "anthropic", "https://a.example"),
                json!({ "headers": { "x": "a\r\nb: c" } }),
            ),
            json!({ "header": "x" }),
        ),
    ];
    for (params, data) in table {
        let id = world.request("providers/set", &params);
        let error = world.error(id);
        assert_eq!(error["code"], -32602, "{params}");
        assert_eq!(error["data"], data);
    }
    assert_eq!(
        world.provider()["current"]["baseUrl"],
        "https://api.anthropic.com"
    );
    // One that is not there is off already.
    assert_eq!(
        world.asks("providers/disable", &json!({ "providerId": "other" })),
        json!({})
    );
}

/// Section 16: between two turns, under the same id; what is asked meanwhile waits.
#[test]
fn given_a_turn_that_runs_when_a_provider_is_set_then_its_process_is_replaced_after_it() {
    for way in 0..4 {
        let mut world = World::with(&json!({}), &json!({ "HOME": "/srv/home" }), way);
        let session = world.new_session();
        let mode = json!({ "sessionId": session, "modeId": "acceptEdits" });
        world.asks("session/set_mode", &mode);
        let one = world.desk.prompt(&session, "one");
        world.settle();
        let vertex = json!({ "providerId": "main", "apiType": "vertex",
            "baseUrl": "https://gate.example",
            "_meta": { "claudeCode": { "vertex": { "projectId": "p", "region": "r" } } } });
        assert_eq!(world.asks("providers/set", &vertex), json!({}));
        let current = json!({ "apiType": "vertex", "baseUrl": "https://gate.example" });
        assert_eq!(world.provider()["current"], current);
        assert_eq!(world.desk.host.started.len(), 1, "the turn runs");
        world.says(&[words::echo(1), words::done(1)]);
        assert_eq!(world.result(one)["stopReason"], "end_turn");
        assert_eq!(world.desk.host.started.len(), 2, "way {way}");
        let started = &world.desk.host.started[1];
        assert!(started.contains(&format!("--resume={session}")));
        assert!(started.contains(&"--permission-mode=acceptEdits".to_owned()));
        let set = |value: &str| Some(Some(value.to_owned()));
        assert_eq!(world.variable(1, "CLOUD_ML_REGION"), set("r"));
        assert_eq!(
            world.variable(1, "ANTHROPIC_VERTEX_BASE_URL"),
            set("https://gate.example")
        );
        assert_eq!(world.variable(1, "ANTHROPIC_BASE_URL"), Some(None));
        let two = world.desk.prompt(&session, "two");
        world.settle();
        assert_eq!(world.desk.host.users.len(), 2);
        assert_eq!(world.answer(two), None);
        assert_eq!(world.desk.channels().len(), 1);
        // Once is enough.
        world.asks("providers/set", &vertex);
        assert_eq!(world.desk.host.started.len(), 2);
    }
}

#[test]
fn given_a_process_that_is_being_replaced_when_it_is_asked_something_then_that_waits_or_is_cancelled()
 {
    let mut world = World::new();
    let session = world.new_session();
    world.desk.host.by_hand("initialize");
    let way =
        json!({ "providerId": "main", "apiType": "anthropic", "baseUrl": "https://gate.example" });
    world.asks("providers/set", &way);
    // Nothing was said in it: there is nothing to resume.
    assert!(world.desk.host.started[1].contains(&format!("--session-id={session}")));
    let one = world.desk.prompt(&session, "one");
    let mode = json!({ "sessionId": session, "modeId": "plan" });
    let set = world.desk.request("session/set_mode", &mode);
    world.settle();
    world.desk.cancel(&session);
    world.settle();
    assert_eq!(world.result(one)["stopReason"], "cancelled");
    let two = world.desk.prompt(&session, "two");
    world.settle();
    assert_eq!(world.answer(set), None);
    let request = world.desk.host.take("initialize").expect("a greeting");
    let greeting = world.desk.host.greeting.clone().expect("one");
    let line = airlock_tests::scripted_cli::answer(&request, &greeting);
    world.desk.host_says([Say::Line(line)]);
    world.settle();
    assert_eq!(world.result(set), json!({}));
    assert_eq!(world.desk.host.users.len(), 1);
    assert_eq!(world.answer(two), None);
    let close = world.request("session/close", &json!({ "sessionId": session }));
    assert_eq!(world.result(close), json!({}));
    assert_eq!(world.result(two)["stopReason"], "cancelled");
    assert_eq!(world.desk.unanswered(), Vec::<String>::new());
}

#[test]
fn given_a_new_process_that_does_not_come_up_when_prompts_wait_then_they_are_answered() {
    let mut world = World::new();
    let session = world.new_session();
    world.desk.host.by_hand("initialize");
    let way =
        json!({ "providerId": "main", "apiType": "anthropic", "baseUrl": "https://gate.example" });
    world.asks("providers/set", &way);
    let one = world.desk.prompt(&session, "one");
    world.settle();
    let channel = *world.desk.channels().last().expect("a process");
    world
        .desk
        .arrives(Input::Host(channel, HostArrival::Exited(Some(1))));
    world.desk.host_says([Say::Close]);
    world.settle();
    assert_eq!(world.error(one)["code"], -32603);
    assert_eq!(world.desk.unanswered(), Vec::<String>::new());
}

/// Every method of section 2 (v1) is served: with params that mean nothing it may be refused,
/// but never as one that is not there.
#[test]
fn given_the_methods_of_the_reference_when_each_is_asked_for_then_none_is_unknown() {
    let served = [
        "authenticate",
        "logout",
        "session/new",
        "session/load",
        "session/resume",
        "session/fork",
        "session/list",
        "session/close",
        "session/delete",
        "session/set_mode",
        "session/set_config_option",
        "session/prompt",
        "providers/list",
        "providers/set",
        "providers/disable",
        "_session/steering",
    ];
    let mut world = World::new();
    for method in served {
        let id = world.request(method, &json!({}));
        let code = world.answer(id).expect("an answer")["error"]["code"].clone();
        assert_ne!(code, -32601, "{method}");
    }
    // The one that the peer does not have either [run].
    for method in ["session/set_model", "nosuch/method"] {
        let id = world.request(method, &json!({}));
        let error = world.error(id);
        assert_eq!(error["code"], -32601);
        assert_eq!(error["data"], json!({ "method": method }));
    }
}
