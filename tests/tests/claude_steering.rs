//! Messages into a turn of Claude Code that runs (Claude adapter, section 8).

use airlock_tests::scripted_cli::{Scene, answer_frames, each_way, words};
use serde_json::{Value, json};

/// The editor steers; the id of its request.
fn steer(scene: &mut Scene, text: &str, meta: Option<Value>) -> u64 {
    let prompt = json!([{ "type": "text", "text": text }]);
    let mut params = json!({ "sessionId": scene.session, "prompt": prompt });
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    let id = scene.desk.request("_session/steering", &params);
    scene.settle();
    id
}

/// What the request was answered with, once.
fn outcome(scene: &Scene, id: u64) -> Value {
    let start = format!("< {{\"jsonrpc\":\"2.0\",\"id\":{id},");
    let all: Vec<&String> = scene
        .desk
        .log
        .iter()
        .filter(|it| it.starts_with(&start))
        .collect();
    assert_eq!(all.len(), 1, "{all:?}");
    let line: Value = serde_json::from_str(&all[0][2..]).unwrap();
    line.get("result").or(line.get("error")).unwrap().clone()
}

fn prompt_required() -> Option<Value> {
    Some(json!({ "steering": { "idleBehavior": "promptRequired" } }))
}

/// Recording `steering`: the running work is aborted for the message, and the turn ends with
/// the message's result.
#[test]
fn given_a_running_turn_when_steered_then_it_ends_with_the_result_of_the_message() {
    each_way(|scene| {
        let prompt = scene.working("second0 ");
        let id = steer(scene, "steer me", None);
        assert_eq!(outcome(scene, id), json!({ "outcome": "injected" }));
        let message = scene.desk.host.users.last().unwrap().clone();
        assert_eq!(message["priority"], "now");
        assert_eq!(
            message["message"]["content"],
            json!([{ "type": "text", "text": "steer me" }])
        );
        assert_eq!(message["uuid"].as_str().unwrap().len(), 36);
        let first = words::result(words::with(
            words::of(&[1]),
            json!({ "terminal_reason": "aborted_streaming" }),
        ));
        scene.says([words::life(2, "queued"), first, words::life(1, "cancelled")]);
        assert_eq!(scene.answer(prompt), None);
        scene.says([
            words::life(2, "started"),
            words::init(&words::NEW),
            words::requesting(&[2]),
            words::echo(2),
        ]);
        scene.says(answer_frames("msg_2", &["Hello", " there"]));
        assert_eq!(scene.answer(prompt), None);
        scene.says([words::done(2)]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        scene.says([words::life(2, "completed"), words::state("idle")]);
        let told = scene.editor();
        assert!(
            told.contains(&"agent_message_chunk \"Hello\" msg_2".to_owned()),
            "{told:?}"
        );
        // The next prompt is a turn of its own.
        let next = scene.prompt("two");
        scene.takes(3, &words::NEW);
        scene.says([words::done(3), words::state("idle")]);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
    });
}

/// Section 8: a turn that waits for its subagents is not over.
#[test]
fn given_a_held_turn_when_steered_then_the_message_is_its_and_so_is_what_it_took() {
    each_way(|scene| {
        let prompt = scene.working("w");
        let agent = json!({ "task_id": "agent", "run_id": "run-1", "task_type": "local_agent",
                            "tool_use_id": "call", "description": "Look",
                            "is_backgrounded": true });
        scene.says([
            words::system("task_started", agent),
            words::result(words::of(&[1])),
        ]);
        assert_eq!(scene.answer(prompt), None);
        let id = steer(scene, "steer me", prompt_required());
        assert_eq!(outcome(scene, id), json!({ "outcome": "injected" }));
        scene.says([
            words::life(2, "started"),
            words::requesting(&[2]),
            words::echo(2),
        ]);
        scene.says(answer_frames("msg_2", &["Hello"]));
        let over = json!({ "task_id": "agent", "run_id": "run-1", "status": "completed",
                           "summary": "" });
        scene.says([
            words::system("task_notification", over),
            words::result(words::with(
                words::of(&[2]),
                json!({ "stop_reason": "max_tokens" }),
            )),
        ]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("max_tokens"));
    });
}

/// The message is folded into the running work: one result names both.
#[test]
fn given_a_message_that_is_folded_in_when_the_result_names_both_then_the_turn_ends() {
    each_way(|scene| {
        let prompt = scene.working("w");
        steer(scene, "left", None);
        scene.says([
            words::life(2, "queued"),
            words::life(2, "started"),
            words::echo(2),
        ]);
        scene.says([words::result(words::of(&[1, 2]))]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
    });
}

/// Section 8: a result that followed the echo, then idle; for programs whose results name
/// nothing.
#[test]
fn given_results_that_name_nothing_when_idle_follows_the_echo_then_the_turn_ends() {
    each_way(|scene| {
        let prompt = scene.working("w");
        steer(scene, "left", None);
        scene.says([
            words::echo(2),
            words::result(json!({ "stop_reason": "max_tokens" })),
        ]);
        assert_eq!(scene.answer(prompt), None);
        scene.says([words::state("idle")]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("max_tokens"));
    });
}

/// A message that the process has, but has not come to, keeps the turn through an idle; one
/// that it drops does not.
#[test]
fn given_an_idle_before_the_message_is_begun_when_it_is_taken_or_dropped_then_the_turn_waits_or_ends()
 {
    each_way(|scene| {
        let prompt = scene.working("w");
        steer(scene, "left", None);
        scene.says([
            words::life(2, "queued"),
            words::done(1),
            words::state("idle"),
        ]);
        assert_eq!(scene.answer(prompt), None);
        scene.says([
            words::life(2, "started"),
            words::requesting(&[2]),
            words::echo(2),
            words::done(2),
        ]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
    });
    for state in ["discarded", "cancelled", "refused"] {
        each_way(|scene| {
            let prompt = scene.working("w");
            steer(scene, "left", None);
            scene.says([
                words::life(2, "queued"),
                words::done(1),
                words::life(2, state),
            ]);
            assert_eq!(scene.answer(prompt), None, "{state}");
            scene.says([words::state("idle")]);
            assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"), "{state}");
        });
    }
}

/// Section 8: while the user is asked something, the message comes later.
#[test]
fn given_an_open_question_when_steered_then_the_message_is_for_later() {
    each_way(|scene| {
        scene.working("w");
        scene.says([words::can_use_tool("ask-1", "toolu_1", json!({}))]);
        steer(scene, "left", None);
        assert_eq!(scene.desk.host.users.last().unwrap()["priority"], "later");
    });
}

/// Row T4: of which turn the question is makes no difference; once it is answered, the work
/// goes on and the message comes at once.
#[test]
fn given_a_question_of_the_turn_before_when_steered_then_the_message_waits_until_it_is_answered() {
    each_way(|scene| {
        scene.working("w");
        scene.says([words::task_started("toolu_agent", true)]);
        scene.desk.take();
        let agent = json!({ "agent_id": "ag1" });
        scene.says([words::can_use_tool("ask-1", "toolu_1", agent)]);
        let all = scene.desk.take().into_iter();
        let mut asked = all.filter(|it| it["method"] == "session/request_permission");
        let question = asked.next().unwrap()["id"].clone();
        scene.says([words::done(1), words::state("idle")]);
        scene.prompt("two");
        scene.takes(2, &words::NEW);
        steer(scene, "left", None);
        let allow = json!({ "outcome": { "outcome": "selected", "optionId": "allow-once" } });
        scene.desk.reply(&question, &allow);
        scene.settle();
        steer(scene, "right", None);
        let priorities: Vec<&Value> = scene
            .desk
            .host
            .users
            .iter()
            .map(|it| &it["priority"])
            .collect();
        let none = Value::Null;
        assert_eq!(priorities, [&none, &none, &json!("later"), &json!("now")]);
    });
}

/// Section 8: nothing runs.
#[test]
fn given_nothing_that_runs_when_steered_then_a_turn_starts_or_is_asked_for() {
    each_way(|scene| {
        let id = steer(scene, "left", prompt_required());
        let reason = json!({ "outcome": "promptRequired", "reason": "noRunningTurn" });
        assert_eq!(outcome(scene, id), reason);
        assert!(scene.desk.host.users.is_empty());
        let id = steer(scene, "left", None);
        assert_eq!(outcome(scene, id), json!({ "outcome": "startedNewTurn" }));
        let message = scene.desk.host.users[0].clone();
        assert!(message.get("priority").is_none());
        scene.takes(1, &words::NEW);
        scene.says(answer_frames("msg_1", &["Left"]));
        scene.says([words::done(1), words::state("idle")]);
        let told = scene.editor();
        assert!(
            told.contains(&"agent_message_chunk \"Left\" msg_1".to_owned()),
            "{told:?}"
        );
        outcome(scene, id);
    });
}

/// A cancel takes the message down with its turn.
#[test]
fn given_a_steered_turn_when_cancelled_then_it_is_answered_once_and_the_message_shows_nothing() {
    each_way(|scene| {
        let prompt = scene.working("w");
        steer(scene, "left", None);
        scene.cancel();
        assert_eq!(scene.desk.host.times_asked("cancel_async_message"), 1);
        scene.says([words::aborted(words::of(&[1]))]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        scene.editor();
        // The process had begun it all the same.
        scene.says([words::life(2, "started"), words::requesting(&[2])]);
        scene.says(answer_frames("msg_2", &["secret"]));
        scene.says([
            words::done(2),
            words::life(2, "completed"),
            words::state("idle"),
        ]);
        assert_eq!(scene.editor(), Vec::<String>::new());
        let next = scene.prompt("three");
        scene.takes(3, &words::NEW);
        scene.says(answer_frames("msg_3", &["fine"]));
        scene.says([words::done(3), words::state("idle")]);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
        assert!(
            scene
                .editor()
                .contains(&"agent_message_chunk \"fine\" msg_3".to_owned())
        );
    });
    each_way(|scene| {
        // A cancelled turn takes no more messages.
        let prompt = scene.working("w");
        scene.cancel();
        let id = steer(scene, "left", prompt_required());
        assert_eq!(outcome(scene, id)["outcome"], "promptRequired");
        scene.says([words::aborted(words::of(&[1]))]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
    });
}

/// What the model cannot be shown is refused, and nothing is written.
#[test]
fn given_a_message_that_cannot_be_shown_when_steered_then_refused_by_name() {
    let mut scene = Scene::plain();
    scene.begin();
    scene.working("w");
    let before = scene.desk.host.users.len();
    let resource = json!({ "uri": "file:///a.bin", "mimeType": "application/zip", "blob": "AAAA" });
    let params = json!({ "sessionId": scene.session,
                         "prompt": [{ "type": "resource", "resource": resource }] });
    let id = scene.desk.request("_session/steering", &params);
    scene.settle();
    assert!(
        outcome(&scene, id)["message"]
            .as_str()
            .unwrap()
            .contains("file:///a.bin")
    );
    assert_eq!(scene.desk.host.users.len(), before);
}
