//! Signing in and out, and who is signed in.

use airlock_engine::{Effect, HostDeparture};
use airlock_tests::desk::Ran;
use airlock_tests::scripted_cli::words;
use serde_json::{Value, json};

use super::world::{CWD, World, api_key, ids, ran};

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
        "command": "/opt/host-runner",
        "args": ["--claude", "/opt/claude", "--cli", "auth", "login", "--claudeai"],
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
    let meta = json!({ "gateway": { "baseUrl": "https://gate.example", "headers": { "x-api-key": "s" } } });
    world.asks(
        "authenticate",
        &json!({ "methodId": "gateway", "_meta": meta }),
    );
    let gateway = json!({ "kind": "gateway", "label": "Custom gateway",
                          "detail": "https://gate.example" });
    assert_eq!(world.statuses(), std::slice::from_ref(&gateway));
    world.new_session();
    let set = |value: &str| Some(Some(value.to_owned()));
    assert_eq!(
        world.variable(0, "ANTHROPIC_BASE_URL"),
        set("https://gate.example")
    );
    assert_eq!(
        world.variable(0, "ANTHROPIC_CUSTOM_HEADERS"),
        set("x-api-key: s")
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
