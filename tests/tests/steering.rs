//! Messages for a turn that runs (Claude adapter, section 8; Maka protocol, section 3.4):
//! `_session/steering` becomes `turn.message.submit`, once, and only while the turn runs.

use airlock_engine::limits;
use airlock_tests::scripted_host::{Scene, Turn, each_way, link};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];
const INJECTED: &str = r#"{"outcome":"injected"}"#;
const NEW_TURN: &str = r#"{"outcome":"startedNewTurn"}"#;
const NO_TURN: &str = r#"{"outcome":"promptRequired","reason":"noRunningTurn"}"#;

/// The editor steers; the id of its request.
fn steer(scene: &mut Scene, prompt: &Value, meta: &Value) -> u64 {
    let mut params = json!({ "sessionId": scene.session, "prompt": prompt });
    if !meta.is_null() {
        params["_meta"] = meta.clone();
    }
    let id = scene.desk.request("_session/steering", &params);
    scene.settle();
    id
}

fn say(scene: &mut Scene, text: &str) -> u64 {
    let prompt = json!([{ "type": "text", "text": text }]);
    steer(scene, &prompt, &Value::Null)
}

fn prompt_required() -> Value {
    json!({ "steering": { "idleBehavior": "promptRequired" } })
}

/// The prompt that was asked for runs.
fn runs(scene: &mut Scene, prompt: u64) -> Turn {
    if scene.desk.host.waiting().contains(&"subscription.open") {
        scene.open();
    }
    let asked = scene.asked("turn.start");
    let turn = Turn {
        prompt,
        id: asked.input["turnId"].as_str().unwrap().to_owned(),
        run: "run-1".to_owned(),
    };
    let started = scene.started(&turn);
    scene.result(&asked, &started);
    turn
}

#[test]
fn given_a_running_turn_when_steered_then_the_host_gets_it_once_and_the_turn_goes_on() {
    each_way(|scene| {
        let turn = scene.running("go");
        scene.host();
        let id = say(scene, "left");
        assert_eq!(scene.host(), ["submit current_turn \"left\""]);
        assert_eq!(scene.editor(), NOTHING);
        let asked = scene.asked("turn.message.submit");
        let message = asked.input["messageId"].clone();
        assert_eq!(message.as_str().unwrap().len(), 36);
        assert_eq!(
            asked.input,
            json!({ "originHostEpoch": "epoch-1", "sessionId": scene.session, "messageId": message,
                    "content": { "text": "left" }, "placement": "current_turn" })
        );
        scene.result(
            &asked,
            &json!({ "disposition": "steering", "queueRevision": 1 }),
        );
        assert_eq!(scene.editor(), [format!("{id} {INJECTED}")]);
        scene.text(&turn, "m1", 0, "Left it is");
        scene.now(&turn, "completed");
        assert_eq!(
            scene.editor(),
            [
                "says m1: \"Left it is\"".to_owned(),
                format!("{} end_turn", turn.prompt)
            ]
        );
    });
}

/// A message before the Host has admitted the turn would start one of its own.
#[test]
fn given_a_turn_on_its_way_when_steered_then_the_message_waits_for_its_admission() {
    each_way(|scene| {
        let turn = scene.dispatched("go");
        scene.host();
        say(scene, "one");
        say(scene, "two");
        assert_eq!(scene.host(), NOTHING);
        scene.now(&turn, "running");
        assert_eq!(
            scene.host(),
            ["submit current_turn \"one\"", "submit current_turn \"two\""]
        );
    });
}

#[test]
fn given_no_running_turn_when_steered_then_a_turn_is_started_or_the_answer_says_so() {
    each_way(|scene| {
        let said = json!([{ "type": "text", "text": "hello" }]);
        let id = steer(scene, &said, &prompt_required());
        assert_eq!(scene.editor(), [format!("{id} {NO_TURN}")]);
        assert_eq!(scene.host(), NOTHING);
        for meta in [Value::Null, json!({ "steering": { "idleBehavior": 7 } })] {
            let id = steer(scene, &said, &meta);
            assert_eq!(scene.editor(), [format!("{id} {NEW_TURN}")]);
            let turn = runs(scene, id);
            scene.text(&turn, "m1", 0, "Hi");
            scene.now(&turn, "completed");
            assert_eq!(scene.editor(), ["says m1: \"Hi\""], "answered once");
        }
        assert_eq!(scene.count("turn.message.submit"), 0);
    });
}

/// Nobody waits for the answer of a turn that steering started: its failure is shown.
#[test]
fn given_a_turn_that_steering_started_when_it_fails_or_is_cancelled_then_shown_or_silent() {
    each_way(|scene| {
        let id = say(scene, "hello");
        let turn = runs(scene, id);
        scene.editor();
        scene.now(&turn, "failed");
        let told = scene.editor();
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with("says ") && told[0].contains("runtime_error"),
            "{told:?}"
        );
        let id = say(scene, "again");
        let turn = runs(scene, id);
        scene.editor();
        scene.cancel();
        let asked = scene.asked("turn.stop");
        let stopped = scene.told(&turn, "cancelled");
        scene.result(&asked, &stopped);
        assert_eq!(scene.editor(), NOTHING);
    });
}

#[test]
fn given_a_turn_that_never_runs_when_steered_then_the_message_starts_one_or_is_given_back() {
    each_way(|scene| {
        let turn = scene.dispatched("go");
        let first = say(scene, "one");
        let said = json!([{ "type": "text", "text": "two" }]);
        let second = steer(scene, &said, &prompt_required());
        let asked = scene.asked("turn.start");
        scene.error(&asked, "session_busy", "busy");
        let data = r#"{"source":"runtime_host","operation":"turn.start","code":"session_busy"}"#;
        assert_eq!(
            scene.editor(),
            [
                format!("{first} {NEW_TURN}"),
                format!("{second} {NO_TURN}"),
                format!("{} error -32603 {data}", turn.prompt),
            ]
        );
        let next = runs(scene, first);
        scene.now(&next, "completed");
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.count("turn.message.submit"), 0);
    });
}

/// The editor wants everything to end: nothing is started for what it said before.
#[test]
fn given_a_message_that_waits_when_cancelled_or_closed_then_given_back() {
    for closes in [false, true] {
        each_way(|scene| {
            let turn = scene.dispatched("go");
            let id = say(scene, "one");
            let close = if closes {
                Some(scene.close())
            } else {
                scene.cancel();
                None
            };
            let asked = scene.asked("turn.start");
            scene.error(&asked, "session_busy", "busy");
            let mut told = vec![
                format!("{id} {NO_TURN}"),
                format!("{} cancelled", turn.prompt),
            ];
            told.extend(close.map(|close| format!("{close} {{}}")));
            assert_eq!(scene.editor(), told);
            assert_eq!(scene.count("turn.start"), 1);
        });
    }
    // While the Stop is under way, none runs.
    each_way(|scene| {
        let turn = scene.running("go");
        scene.cancel();
        let said = json!([{ "type": "text", "text": "two" }]);
        let id = steer(scene, &said, &prompt_required());
        assert_eq!(scene.editor(), [format!("{id} {NO_TURN}")]);
        let id = say(scene, "three");
        assert_eq!(scene.editor(), [format!("{id} {NEW_TURN}")]);
        let asked = scene.asked("turn.stop");
        let stopped = scene.told(&turn, "cancelled");
        scene.result(&asked, &stopped);
        assert_eq!(scene.editor(), [format!("{} cancelled", turn.prompt)]);
        runs(scene, id);
    });
}

/// What the Host answers, what it refuses, and what it never answers.
#[test]
fn given_a_submitted_message_when_the_host_answers_then_the_outcome_is_told_once() {
    for disposition in ["followup", "turn_started"] {
        each_way(|scene| {
            scene.running("go");
            let id = say(scene, "late");
            let asked = scene.asked("turn.message.submit");
            scene.result(
                &asked,
                &json!({ "disposition": disposition, "turnId": "t" }),
            );
            assert_eq!(scene.editor(), [format!("{id} {NEW_TURN}")]);
        });
    }
    for (code, number) in [("operation_conflict", -32603), ("not_found", -32602)] {
        each_way(|scene| {
            scene.running("go");
            let id = say(scene, "late");
            let asked = scene.asked("turn.message.submit");
            scene.error(&asked, code, "no");
            let data = format!(
                r#"{{"source":"runtime_host","operation":"turn.message.submit","code":"{code}"}}"#
            );
            assert_eq!(scene.editor(), [format!("{id} error {number} {data}")]);
        });
    }
    each_way(|scene| {
        scene.running("go");
        let lost = say(scene, "one");
        let interrupted = |reason: &str| {
            format!(
                r#"error -32603 {{"source":"runtime_host","operation":"turn.message.submit","code":"request_interrupted","reason":"{reason}","dispatch":"dispatched"}}"#
            )
        };
        scene.wait(limits::MAKA_SUBMIT_MS - 1);
        assert_eq!(scene.editor(), NOTHING);
        scene.wait(1);
        assert_eq!(
            scene.editor(),
            [format!("{lost} {}", interrupted("timeout"))]
        );
        let lost = say(scene, "two");
        scene.lose();
        let told = scene.editor();
        assert_eq!(told, [format!("{lost} {}", interrupted("connection_lost"))]);
        assert_eq!(scene.count("turn.message.submit"), 2, "never sent again");
    });
}

#[test]
fn given_a_message_with_a_file_when_steered_then_uploaded_first() {
    each_way(|scene| {
        let turn = scene.running("go");
        scene.put("/w/a.txt", "hello");
        let id = steer(scene, &json!([link("/w/a.txt")]), &Value::Null);
        let (begin, _) = scene.uploads("other");
        let asked = scene.asked("turn.message.submit");
        assert_eq!(asked.input["content"]["text"], "file:///w/a.txt");
        assert_eq!(
            asked.input["content"]["attachments"][0]["name"],
            begin["name"]
        );
        scene.result(
            &asked,
            &json!({ "disposition": "steering", "queueRevision": 1 }),
        );
        assert_eq!(scene.editor(), [format!("{id} {INJECTED}")]);
        // A turn that ends during the upload cannot have it any more.
        let late = steer(scene, &json!([link("/w/a.txt")]), &Value::Null);
        scene.opens(0);
        scene.now(&turn, "completed");
        let data = r#"{"source":"adapter","code":"no_running_turn"}"#;
        assert_eq!(
            scene.editor(),
            [
                format!("{late} error -32603 {data}"),
                format!("{} end_turn", turn.prompt)
            ]
        );
        let chunk = scene.asked("artifact.ingest");
        scene.chunk(&chunk);
        assert_eq!(scene.desk.asked_kinds().last().unwrap(), "abort");
        assert_eq!(scene.desk.files.open(), 0);
    });
}

#[test]
fn given_a_message_that_cannot_be_sent_when_steered_then_refused() {
    let mut scene = Scene::plain();
    scene.begin();
    scene.running("go");
    scene.host();
    let nobody = json!({ "sessionId": "nobody", "prompt": [] });
    let id = scene.desk.request("_session/steering", &nobody);
    scene.settle();
    let told = scene.editor();
    assert!(
        told[0].starts_with(&format!("{id} error -32002")),
        "{told:?}"
    );
    let empty = steer(&mut scene, &json!([]), &Value::Null);
    let audio = json!([{ "type": "audio", "data": "", "mimeType": "audio/wav" }]);
    let audio = steer(&mut scene, &audio, &Value::Null);
    let refused = |id: u64, reason: &str| {
        format!(r#"{id} error -32602 {{"field":"prompt","reason":"{reason}"}}"#)
    };
    assert_eq!(
        scene.editor(),
        [
            refused(empty, "runtime_host_admission_rejected"),
            refused(audio, "unsupported_content_type")
        ]
    );
    assert_eq!(scene.host(), NOTHING);
}

/// The editor goes away while a message waits, and while one is under way.
#[test]
fn given_messages_when_the_editor_goes_then_all_are_answered_and_the_end_comes() {
    each_way(|scene| {
        scene.running("go");
        say(scene, "one");
        scene.hang_up();
        let asked = scene.asked("turn.stop");
        scene.error(&asked, "not_found", "gone");
        assert_eq!(scene.desk.done, Some(0));
        assert_eq!(scene.desk.unanswered(), NOTHING);
    });
}
