//! Subagents as calls of a tool: what is shown of what they say (section 6.1).

use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use super::kit::{
    CALL, agreed, begins, calls, chunk_of_agent, inside, native, notified, of_agent, requests,
    root, started, told, updated, with,
};

fn said(scene: &mut Scene) -> Vec<Value> {
    begins(scene, false);
    scene.says([
        words::start_in("msg_2", Some(CALL)),
        words::text_in(0, "One ", Some(CALL)),
        of_agent(words::assistant("msg_2", "One two.")),
    ]);
    let all = told(scene).into_iter();
    let said = all.filter(|(_, it)| it["sessionUpdate"] == "agent_message_chunk");
    said.map(|(session, it)| {
        let parent = &it["_meta"]["claudeCode"]["parentToolUseId"];
        json!([session, it["content"]["text"], parent])
    })
    .collect()
}

fn forwarded(scene: &Scene) -> Value {
    requests(scene, "initialize")[0]["forwardSubagentText"].clone()
}

#[test]
fn given_an_ordinary_client_when_a_subagent_speaks_then_what_streams_is_shown_and_no_more() {
    with(&json!({}), |scene| {
        assert_eq!(said(scene), [json!(["root", "One ", CALL])]);
        assert_eq!(forwarded(scene), false);
    });
}

#[test]
fn given_a_client_of_transcripts_when_a_subagent_speaks_then_all_stands_below_its_call() {
    with(
        &json!({ "_meta": { "subagent-transcript": true } }),
        |scene| {
            let all = [json!(["root", "One ", CALL]), json!(["root", "two.", CALL])];
            assert_eq!(said(scene), all);
            assert_eq!(forwarded(scene), true);
        },
    );
}

#[test]
fn given_the_extensions_without_sessions_when_a_subagent_speaks_then_only_its_call_is_shown() {
    with(&agreed(&[]), |scene| {
        assert_eq!(said(scene), [json!(null); 0]);
        assert_eq!(forwarded(scene), false);
    });
}

/// Section 9.5: a delta that was dropped comes with the whole copy, where that is shown.
#[test]
fn given_a_dropped_delta_when_the_window_closes_then_the_block_comes_whole_where_copies_do() {
    let play = |scene: &mut Scene| {
        begins(scene, false);
        scene.cancel();
        let aborted = json!({ "terminal_reason": "aborted_streaming" });
        scene.says([words::result(words::with(aborted, words::of(&[1])))]);
        scene.says([
            words::start_in("msg_2", Some(CALL)),
            words::text_in(0, "One ", Some(CALL)),
            words::requesting(&[]),
            words::text_in(0, "two ", Some(CALL)),
            of_agent(words::assistant("msg_2", "One two three.")),
        ]);
        let all = told(scene).into_iter();
        let said = all.filter(|(_, it)| it["sessionUpdate"] == "agent_message_chunk");
        said.map(|(_, it)| it["content"]["text"].clone())
            .collect::<Vec<_>>()
    };
    let transcript = json!({ "_meta": { "subagent-transcript": true } });
    with(&transcript, |scene| {
        assert_eq!(play(scene), ["One two three."])
    });
    with(&json!({}), |scene| assert_eq!(play(scene), ["two "]));
}

/// Scenario subagent-late-child-update: the report of a subagent ends its call and no other; a
/// call of its that has a result later ends then, below it.
#[test]
fn given_a_subagent_that_is_over_when_a_call_of_its_has_a_result_then_its_card_ends_there() {
    let of = json!({ "claudeCode": { "toolName": "Bash", "parentToolUseId": CALL } });
    let late = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "ls",
                       "status": "completed", "rawOutput": "a", "_meta": of,
                       "content": [{ "type": "content",
                           "content": { "type": "text", "text": "```console\na\n```" } }] });
    for (client, expected) in [(json!({}), root(late.clone())), (native(), inside(late))] {
        with(&client, |scene| {
            begins(scene, false);
            let input = json!({ "command": "ls" });
            scene.says([of_agent(calls("msg_2", "ls", "Bash", &input))]);
            told(scene);
            scene.says([
                updated("completed"),
                notified("completed", "Done."),
                words::tool_result(CALL, "Done."),
            ]);
            let ended = told(scene).into_iter();
            let mut ended = ended.filter(|(_, it)| it["toolCallId"] == "ls");
            assert_eq!(ended.next(), None, "it runs on");
            let result = of_agent(words::tool_result("ls", "a"));
            scene.says([result.clone(), result]);
            assert_eq!(told(scene), std::slice::from_ref(&expected));
        });
    }
}

/// Row D11: with a subagent goes what it said. What it says when it is taken up again is new,
/// though it begins like what broke off.
#[test]
fn given_a_subagent_that_broke_off_when_it_is_taken_up_again_then_all_that_it_says_is_shown() {
    with(&json!({}), |scene| {
        begins(scene, true);
        scene.says([
            words::start_in("msg_2", Some(CALL)),
            words::text_in(0, "One ", Some(CALL)),
            updated("killed"),
            notified("stopped", ""),
        ]);
        told(scene);
        scene.says([
            words::with(started(true), json!({ "run_id": "run-2" })),
            words::start_in("msg_3", Some(CALL)),
            words::text_in(0, "One two.", Some(CALL)),
        ]);
        assert_eq!(told(scene), [root(chunk_of_agent("One two.", "msg_3"))]);
    });
}
