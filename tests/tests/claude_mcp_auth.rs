//! Signing in to the editor's MCP servers (Claude adapter, sections 2 and 11): address,
//! waiting, end, and when nobody is asked.

use airlock_tests::scripted_cli::{Scene, every_way, words};
use serde_json::{Value, json};

const URL: &str = "https://docs.example/authorize?state=1";
const NOTHING: [&str; 0] = [];

/// A session with a server by HTTP, in every way that may make no difference; the editor
/// shows addresses, and the test answers what is asked about servers.
fn each_way_with(capabilities: &Value, play: impl Fn(&mut Scene)) {
    every_way(|way| {
        let mut scene = Scene::in_way(way);
        scene.desk.capabilities = capabilities.clone();
        scene.desk.host.by_hand("mcp_status");
        scene.desk.host.by_hand("mcp_authenticate");
        scene.desk.initialize();
        let server = json!({ "type": "http", "name": "docs", "url": "https://docs.example",
                             "headers": [] });
        let params = json!({ "cwd": "/srv/maka-work", "mcpServers": [server] });
        let id = scene.desk.request("session/new", &params);
        let answer = scene.desk.answer(id);
        scene.session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
        scene.settle();
        scene.desk.take();
        play(&mut scene);
        scene.desk.record()
    });
}

fn each_way(play: impl Fn(&mut Scene)) {
    each_way_with(&json!({ "elicitation": { "url": {} } }), play);
}

/// The process says how the server is; another one is none of the editor's.
fn is(scene: &mut Scene, status: &str) {
    let servers = json!([{ "name": "docs", "status": status },
                         { "name": "other", "status": "needs-auth" }]);
    scene.replies("mcp_status", &json!({ "mcpServers": servers }));
}

/// The user is shown the address; the request.
fn shown(scene: &mut Scene) -> Value {
    is(scene, "needs-auth");
    scene.replies(
        "mcp_authenticate",
        &json!({ "authUrl": URL, "requiresUserAction": true, "callbackExpected": true }),
    );
    let all = scene.desk.take();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

/// What was asked of the process about servers, in order.
fn asked(scene: &Scene) -> Vec<Value> {
    let lines = scene.desk.to_host.iter();
    let all = lines.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    all.map(|it| it["request"].clone())
        .filter(|it| {
            it["subtype"]
                .as_str()
                .is_some_and(|it| it.starts_with("mcp_"))
        })
        .collect()
}

fn begun(scene: &mut Scene) -> Vec<String> {
    let mut init = words::init(&words::NEW);
    init["mcp_servers"] = json!([{ "name": "docs", "status": "needs-auth" }]);
    scene.desk.take();
    scene.says([init]);
    let all = scene.desk.take();
    let updates = all.iter().map(|it| &it["params"]["update"]);
    let chunks = updates.filter(|it| it["sessionUpdate"] == "agent_message_chunk");
    chunks
        .map(|it| it["content"]["text"].as_str().unwrap().to_owned())
        .collect()
}

fn notice() -> String {
    "**MCP server unavailable:** The MCP server docs needs you to sign in; its tools are missing."
        .to_owned()
}

#[test]
fn given_a_server_without_a_sign_in_when_the_user_signs_in_then_the_editor_hears_of_its_end() {
    each_way(|scene| {
        let request = shown(scene);
        let id = request["params"]["elicitationId"].clone();
        assert_eq!(id.as_str().unwrap().len(), 36);
        assert_eq!(
            (&request["method"], &request["params"]),
            (
                &json!("elicitation/create"),
                &json!({ "sessionId": scene.session, "mode": "url", "url": URL,
                         "message": "The MCP server docs needs you to sign in.",
                         "elicitationId": id })
            )
        );
        scene.wait(5_000);
        let status = json!({ "subtype": "mcp_status" });
        let authenticate = json!({ "subtype": "mcp_authenticate", "serverName": "docs" });
        let begin = [status.clone(), authenticate];
        assert_eq!(
            asked(scene),
            begin,
            "nobody waits before the user goes there"
        );
        assert_eq!(begun(scene), NOTHING, "a sign-in is under way");
        scene
            .desk
            .reply(&request["id"], &json!({ "action": "accept" }));
        scene.settle();
        scene.wait(999);
        assert_eq!(asked(scene).len(), 2);
        scene.wait(1);
        assert_eq!(asked(scene)[2], status);
        scene.wait(3_000);
        assert_eq!(asked(scene).len(), 3, "one question at a time");
        is(scene, "needs-auth");
        scene.wait(1_000);
        assert_eq!(asked(scene)[3..], [status]);
        assert_eq!(scene.desk.take(), [json!(null); 0]);
        is(scene, "connected");
        let complete = json!({ "jsonrpc": "2.0", "method": "elicitation/complete",
                               "params": { "elicitationId": id } });
        assert_eq!(scene.desk.take(), [complete]);
        scene.wait(3_000);
        assert_eq!(asked(scene).len(), 4, "it is not looked at any more");
    });
}

#[test]
fn given_a_user_that_never_signs_in_when_ten_minutes_are_over_then_nobody_looks_any_more() {
    each_way(|scene| {
        let request = shown(scene);
        scene
            .desk
            .reply(&request["id"], &json!({ "action": "accept" }));
        scene.settle();
        scene.wait(1_000);
        is(scene, "pending");
        scene.wait(598_000);
        is(scene, "needs-auth");
        assert_eq!(asked(scene).len(), 4);
        scene.wait(60_000);
        assert_eq!(asked(scene).len(), 4);
        assert_eq!(begun(scene), [notice()], "said once, and not asked again");
    });
}

#[test]
fn given_a_user_who_does_not_want_to_sign_in_when_asked_then_it_is_said_and_not_asked_again() {
    for reply in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
    ] {
        each_way(|scene| {
            let request = shown(scene);
            scene.desk.reply(&request["id"], &reply);
            scene.settle();
            scene.wait(5_000);
            assert_eq!(begun(scene), [notice()]);
            assert_eq!(begun(scene), NOTHING);
            assert_eq!(asked(scene).len(), 2);
        });
    }
}

#[test]
fn given_no_address_to_go_to_when_a_sign_in_is_wanted_then_it_is_only_said() {
    for answer in [
        json!({}),
        json!({ "authUrl": "", "requiresUserAction": true }),
        json!({ "authUrl": "file:///etc/passwd" }),
        json!({ "authUrl": 7 }),
    ] {
        each_way(|scene| {
            is(scene, "needs-auth");
            scene.replies("mcp_authenticate", &answer);
            assert_eq!(scene.desk.take(), [json!(null); 0]);
            assert_eq!(begun(scene), [notice()]);
        });
    }
}

#[test]
fn given_a_server_that_says_so_late_when_the_process_begins_then_the_user_is_asked_then() {
    each_way(|scene| {
        is(scene, "pending");
        assert_eq!(begun(scene), NOTHING);
        scene.replies("mcp_authenticate", &json!({ "authUrl": URL }));
        assert_eq!(scene.desk.asking().len(), 1);
    });
}

/// Section 9.1: what is open is taken back; who has gone to sign in is waited for.
#[test]
fn given_an_open_sign_in_when_cancelled_or_closed_then_it_is_withdrawn() {
    for close in [false, true] {
        each_way(|scene| {
            let request = shown(scene);
            match close {
                true => {
                    scene.close();
                }
                false => scene.cancel(),
            }
            let all = scene.desk.take();
            let withdrawn: Vec<&Value> = all
                .iter()
                .filter(|it| it["method"] == "$/cancel_request")
                .map(|it| &it["params"]["requestId"])
                .collect();
            assert_eq!(withdrawn, [&request["id"]]);
            scene.wait(5_000);
            assert_eq!(asked(scene).len(), 2);
        });
    }
    each_way(|scene| {
        let request = shown(scene);
        scene
            .desk
            .reply(&request["id"], &json!({ "action": "accept" }));
        scene.settle();
        scene.cancel();
        scene.wait(1_000);
        is(scene, "connected");
        let told = scene.editor();
        assert_eq!(
            told.last().map(String::as_str),
            Some("elicitation/complete")
        );
    });
    each_way(|scene| {
        let request = shown(scene);
        scene
            .desk
            .reply(&request["id"], &json!({ "action": "accept" }));
        scene.settle();
        scene.dies(1);
        scene.wait(5_000);
        assert_eq!(asked(scene).len(), 2, "nobody is there to be asked");
    });
}

#[test]
fn given_a_client_that_shows_no_addresses_when_a_sign_in_is_wanted_then_it_is_only_said() {
    each_way_with(&json!({ "elicitation": { "form": {} } }), |scene| {
        assert_eq!(begun(scene), [notice()]);
        assert_eq!(asked(scene), [json!(null); 0]);
    });
}
