//! Subagents as calls of a tool: what is shown of what they say (section 6.1).

use airlock_tests::scripted_cli::{Scene, words};
use serde_json::{Value, json};

use super::kit::{CALL, agreed, begins, of_agent, requests, told, with};

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
