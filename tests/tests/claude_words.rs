//! Words of the user and of the program's own commands on their way through Claude Code
//! (Claude adapter, sections 6 and 7): what is typed elsewhere, what commands print, and
//! what a prompt becomes.

use airlock_engine::Engine;
use airlock_tests::scripted_cli::{Scene, config, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn typed(uuid: &str, more: Value) -> Value {
    let text = json!([{ "type": "text", "text": "And this?" },
                      { "type": "text", "text": "<system-reminder>x</system-reminder>" }]);
    words::with(
        json!({ "type": "user", "message": { "role": "user", "content": text },
                "parent_tool_use_id": null, "uuid": uuid, "isReplay": true,
                "origin": { "kind": "human" } }),
        more,
    )
}

/// Section 6: remote control.
#[test]
fn given_a_message_that_is_typed_elsewhere_when_echoed_then_the_editor_shows_it_as_the_users() {
    each_way(|scene| {
        scene.says([typed("remote-1", json!({}))]);
        let shown = "user_message_chunk \"And this?\" remote-1".to_owned();
        assert_eq!(scene.editor(), [shown]);
        scene.says([
            words::start("msg_1"),
            words::text_block(0),
            words::text(0, "Yes."),
        ]);
        assert_eq!(scene.editor(), ["agent_message_chunk \"Yes.\" msg_1"]);
    });
}

/// What this editor said comes back too, and so does what others than the user say.
#[test]
fn given_echoes_of_what_is_not_typed_elsewhere_when_they_come_then_nothing_is_shown() {
    each_way(|scene| {
        scene.prompt("one");
        scene.prompt("two");
        scene.cancel();
        scene.says([
            typed("@1", json!({})),
            words::state("idle"),
            typed("@2", json!({})),
            typed("task", json!({ "origin": { "kind": "task-notification" } })),
            typed("none", json!({ "origin": null })),
            typed("inner", json!({ "parent_tool_use_id": "call" })),
        ]);
        let told = scene.editor();
        let chunks = told.iter().filter(|it| it.contains("chunk"));
        assert_eq!(chunks.collect::<Vec<_>>(), NOTHING, "{told:?}");
    });
}

/// Section 6: what a command of the program's own printed, as a text or as its only block.
#[test]
fn given_what_a_command_printed_when_told_then_it_is_shown_without_its_marks() {
    let printed = "<local-command-stdout>Done.</local-command-stdout>";
    let block = |text: &str| json!({ "type": "text", "text": text });
    let rows = [
        (json!(printed), true),
        (json!([block(printed)]), true),
        (json!([block(printed), block("more")]), false),
        (json!([block("Not for the user.")]), false),
        (json!("Not for the user."), false),
    ];
    for (content, shown) in rows {
        each_way(|scene| {
            scene.says([
                json!({ "type": "user", "parent_tool_use_id": null, "uuid": "u-1",
                                "message": { "role": "user", "content": content } }),
            ]);
            let told = scene.editor();
            let wanted = "agent_message_chunk \"Done.\" u-1".to_owned();
            assert_eq!(told, if shown { vec![wanted] } else { vec![] }, "{content}");
        });
    }
}

fn sent(blocks: Value) -> Value {
    let mut scene = Scene::plain();
    scene.begin();
    let params = json!({ "sessionId": scene.session, "prompt": blocks });
    scene.desk.request("session/prompt", &params);
    scene.settle();
    scene.desk.host.users[0]["message"]["content"].clone()
}

/// Section 7: the command of an MCP server stands in the first text, wherever that is.
#[test]
fn given_a_command_of_a_server_behind_a_picture_when_sent_then_it_is_the_programs() {
    let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let content = sent(json!([image, text("/mcp:docs:find it"), text("/mcp:a:b")]));
    assert_eq!(content[1], text("/docs:find (MCP) it"));
    assert_eq!(content[2], text("/mcp:a:b"));
}

/// Section 7: a text in another character set.
#[test]
fn given_a_text_in_another_character_set_when_sent_then_it_is_decoded() {
    let blob = |mime_type: &str, blob: &str| {
        let resource = json!({ "uri": "file:///a.txt", "mimeType": mime_type, "blob": blob });
        sent(json!([{ "type": "resource", "resource": resource }]))[1]["text"].clone()
    };
    let context = "\n<context ref=\"file:///a.txt\">\na\u{e9}\n</context>";
    assert_eq!(blob("text/plain; charset=utf-16le", "YQDpAA=="), context);
    assert_eq!(blob("text/plain; charset=utf-16be", "AGEA6Q=="), context);
    assert_eq!(blob("text/plain; charset=latin1", "Yek="), context);
    assert_eq!(blob("text/plain", "YcOp"), context);
}

/// Section 1: a version of ACP that is none, or not served, is refused before anything.
#[test]
fn given_a_wanted_version_of_acp_when_opened_then_what_is_not_served_is_refused() {
    let open = |value: &str| {
        let mut config = config();
        config["host"]["environment"] = json!({ "CLAUDE_AGENT_ACP_PROTOCOL": value });
        let opened = Engine::open(&config.to_string(), &[0; 32]);
        opened.map(drop).map_err(|fault| fault.to_string())
    };
    for fine in ["auto", "v1", "", " "] {
        assert_eq!(open(fine), Ok(()));
    }
    let no = |why: &str| Err(format!("the configuration cannot be used: {why}"));
    assert_eq!(
        open("v3"),
        no("CLAUDE_AGENT_ACP_PROTOCOL is v3, which is no version. Set it to auto or v1.")
    );
    assert_eq!(
        open("v2"),
        no("CLAUDE_AGENT_ACP_PROTOCOL is v2, which is not served yet. Set it to auto or v1.")
    );
}

/// Section 6, `worker_shutting_down`: it is remembered, and told when the stream ends.
#[test]
fn given_a_process_that_is_shut_down_when_its_stream_ends_then_the_prompt_fails_with_that() {
    each_way(|scene| {
        let prompt = scene.working("w");
        scene.says([words::system(
            "worker_shutting_down",
            json!({ "reason": "host_exit" }),
        )]);
        assert_eq!(scene.answer(prompt), None);
        scene.dies(0);
        let words = "Claude Code was shut down while it worked. Start a new session or load this one again.";
        let error = scene.answer(prompt).unwrap();
        assert_eq!(error, format!("error -32603 {words}"));
    });
}
