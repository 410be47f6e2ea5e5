//! Subagents in the form of the AIR extensions (`nativeSubagentSessions`).

use airlock_tests::scripted_cli::words;
use serde_json::{Value, json};

use super::kit::{
    AGENT, CALL, agreed, begins, chunk_of_agent, inside, native, notified, of_agent, requests,
    root, told, updated, with,
};

fn air() -> Value {
    agreed(&["nativeSubagentSessions"])
}

fn ended(state: &str) -> (String, Value) {
    root(
        json!({ "sessionUpdate": "subagent_state_update", "subagentSessionId": AGENT,
                 "state": state }),
    )
}

/// `subagent.air.v1`
#[test]
fn given_the_extension_when_a_subagent_works_then_it_is_spawned_and_has_a_state() {
    with(&air(), |scene| {
        begins(scene, false);
        assert_eq!(
            told(scene),
            [root(json!({ "sessionUpdate": "subagent_spawned",
                          "subagentSessionId": AGENT, "name": "Look", "task": "Read it",
                          "prompt": "Read it", "capabilities": {} }))]
        );
        scene.says([of_agent(words::assistant("msg_2", "Here."))]);
        let told_ = told(scene);
        assert_eq!(
            told_.last(),
            Some(&inside(chunk_of_agent("Here.", "msg_2")))
        );
        scene.says([
            updated("completed"),
            notified("completed", "Here."),
            words::tool_result(CALL, "Here."),
        ]);
        assert_eq!(told(scene), [ended("completed")]);
    });
}

/// Section 9.1, step 4: this form ends all children with the turn (recorded with the peer).
#[test]
fn given_running_subagents_when_the_prompt_is_cancelled_then_they_end_at_once_and_once() {
    with(&air(), |scene| {
        begins(scene, false);
        told(scene);
        scene.cancel();
        assert_eq!(told(scene), [ended("cancelled")]);
        scene.says([updated("killed"), notified("stopped", "Look")]);
        assert_eq!(told(scene), []);
        assert!(requests(scene, "stop_task").is_empty());
    });
}

/// "The canonical field takes precedence when it is available."
#[test]
fn given_both_signals_when_a_subagent_begins_then_acps_own_form_is_used() {
    let both = words::with(air(), native());
    with(&both, |scene| {
        begins(scene, false);
        assert_eq!(told(scene)[0].1["sessionUpdate"], "subagent_update");
    });
}
