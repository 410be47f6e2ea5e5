//! A plan that is carried out in a context that begins anew (Claude adapter, section 10):
//! which answers offer it, what becomes of the process that planned, of prompts that wait, and
//! of cancels in every place.

use airlock_tests::scripted_cli::words::{
    self, aborted, done, echo, life, of, requesting, result, state,
};
use airlock_tests::scripted_cli::{self, Scene, answer_frames, each_way};
use serde_json::{Value, json};

mod claude_kit;

const PLAN: &str = "1. Do it\n2. Test it";

/// A scene whose user wants to be asked, in this way.
fn scene(way: usize) -> Scene {
    let mut scene = Scene::in_way(way);
    scene.desk.host.greeting = Some(claude_kit::greeting());
    let wanted = json!({ "showClearContextOnPlanAccept": true });
    scene.desk.host.settings = Some(claude_kit::settings(wanted));
    scene.begin();
    scene
}

/// Plays it in every way; what was said may not differ.
fn every_way(play: impl Fn(&mut Scene)) {
    scripted_cli::every_way(|way| {
        let mut scene = scene(way);
        play(&mut scene);
        scene.desk.record()
    });
}

/// The process has planned and asks; what the editor is asked.
fn asks(scene: &mut Scene, input: Value) -> Value {
    scene.desk.take();
    let exit =
        json!({ "tool_name": "ExitPlanMode", "display_name": "ExitPlanMode", "input": input });
    scene.says([words::can_use_tool("ask-1", "toolu_1", exit)]);
    let all = scene.desk.take();
    let mut asked = all.into_iter().filter(|it| it.get("id").is_some());
    asked.next().expect("a question")
}

fn names(asked: &Value) -> Vec<String> {
    let options = asked["params"]["options"].as_array().unwrap().iter();
    options
        .map(|it| format!("{}: {} ({})", it["optionId"], it["name"], it["kind"]).replace('"', ""))
        .collect()
}

fn choose(scene: &mut Scene, asked: &Value, option: &str) {
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    scene.desk.reply(&asked["id"], &outcome);
    scene.settle();
}

fn text(user: &Value) -> String {
    let text = user["message"]["content"][0]["text"].as_str();
    text.unwrap_or_default().to_owned()
}

/// The words of all messages that the processes got.
fn said(scene: &Scene) -> Vec<String> {
    scene.desk.host.users.iter().map(text).collect()
}

/// The turn is on its way, and the plan is to be carried out anew.
fn chosen(scene: &mut Scene) -> u64 {
    let prompt = scene.working("Planning");
    let asked = asks(scene, json!({ "plan": PLAN }));
    choose(scene, &asked, "exit-plan-clear-auto");
    prompt
}

fn mode(scene: &mut Scene, mode: &str) {
    let params = json!({ "sessionId": scene.session, "modeId": mode });
    scene.desk.request("session/set_mode", &params);
    scene.settle();
}

/// The old turn ends.
fn ends(scene: &mut Scene) {
    scene.says([aborted(of(&[1]))]);
}

/// The fresh process takes the plan and does it.
fn carries_out(scene: &mut Scene) {
    scene.says([state("running"), requesting(&[1]), echo(1)]);
    scene.says(answer_frames("msg_2", &["Done"]));
    scene.says([done(1), state("idle")]);
}

/// The share of the context that is used is in the words, and the choices come first.
#[test]
fn given_a_user_who_wants_it_when_a_plan_is_shown_then_a_fresh_context_is_offered_with_its_share() {
    every_way(|scene| {
        scene.working("Planning");
        scene.says([result(
            json!({ "usage": { "input_tokens": 30_000, "output_tokens": 0,
            "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 },
            "origin": { "kind": "task-notification" } }),
        )]);
        let start = words::start("msg_9");
        let usage = json!({ "input_tokens": 50_000, "output_tokens": 0,
                            "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 });
        let mut event = start["event"].clone();
        event["message"]["usage"] = usage;
        scene.says([words::event(&event, None)]);
        let asked = asks(scene, json!({ "plan": PLAN }));
        assert_eq!(
            names(&asked),
            [
                "exit-plan-default: Yes, manually approve edits (allow_once)",
                "exit-plan-clear-auto: Yes, clear context (25% used) and use auto mode (allow_always)",
                "exit-plan-clear-bypass: Yes, clear context (25% used) and bypass permissions (allow_always)",
                "exit-plan-auto: Yes, and use auto mode (allow_always)",
                "exit-plan-bypass: Yes, and bypass permissions (allow_always)",
                "reject: No, keep planning (reject_once)"
            ]
        );
    });
}

/// Without a plan there is nothing to begin anew with; without the wish it is not offered
/// (`claude_permissions`).
#[test]
fn given_no_plan_when_shown_then_a_fresh_context_is_not_offered() {
    every_way(|scene| {
        scene.working("Planning");
        let asked = asks(scene, json!({}));
        assert!(names(&asked).iter().all(|it| !it.contains("clear")));
    });
}

/// The whole of it: told no, ended, a fresh process under the same session, one answer.
#[test]
fn given_a_plan_when_carried_out_anew_then_a_fresh_process_gets_it_and_the_prompt_has_one_answer() {
    every_way(|scene| {
        let prompt = chosen(scene);
        let answer = &scene.desk.host.answers.last().unwrap()["response"];
        assert_eq!(answer["behavior"], "deny");
        assert_eq!(answer["interrupt"], true);
        assert_eq!(scene.desk.host.started.len(), 1);
        ends(scene);
        assert_eq!(scene.answer(prompt), None);
        let host = &scene.desk.host;
        assert_eq!(host.started.len(), 2);
        let fresh = &host.started[1];
        assert!(fresh.contains(&"--permission-mode=auto".to_owned()));
        let id = fresh.iter().find(|arg| arg.starts_with("--session-id="));
        assert!(
            !id.unwrap().contains(&scene.session),
            "it is another one to the program"
        );
        let plan = format!("Implement the following plan:\n\n{PLAN}");
        assert_eq!(said(scene), ["one", plan.as_str()]);
        assert_eq!(host.users[1]["session_id"], scene.session.as_str());
        scene.editor();
        carries_out(scene);
        assert_eq!(
            scene.editor(),
            [
                r#"agent_message_chunk "Done" msg_2"#.to_owned(),
                format!("{prompt} end_turn")
            ]
        );
        // The session goes on there.
        let next = scene.prompt("two");
        scene.says([requesting(&[3]), echo(3), done(3), state("idle")]);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
    });
}

/// The mode that was chosen is the first of the fresh process.
#[test]
fn given_bypass_when_carried_out_anew_then_the_fresh_process_is_told_so() {
    let mut scene = scene(0);
    scene.working("Planning");
    let asked = asks(&mut scene, json!({ "plan": PLAN }));
    choose(&mut scene, &asked, "exit-plan-clear-bypass");
    ends(&mut scene);
    let fresh = &scene.desk.host.started[1];
    assert!(
        fresh.contains(&"--permission-mode=bypassPermissions".to_owned()),
        "{fresh:?}"
    );
    let asked = scene.desk.host.asked.iter();
    assert_eq!(asked.filter(|it| *it == "set_permission_mode").count(), 1);
}

/// What the user had set holds in the fresh process too.
#[test]
fn given_options_when_carried_out_anew_then_they_are_set_again() {
    let mut scene = scene(0);
    for (id, value) in [("model", "sonnet"), ("effort", "low")] {
        let params = json!({ "sessionId": scene.session, "configId": id, "value": value });
        scene.desk.request("session/set_config_option", &params);
        scene.settle();
    }
    let before = scene.desk.to_host.len();
    chosen(&mut scene);
    ends(&mut scene);
    let lines = scene.desk.to_host[before..].iter();
    let fresh = lines.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    let asked: Vec<Value> = fresh
        .map(|it| it["request"].clone())
        .filter(|it| {
            matches!(
                it["subtype"].as_str(),
                Some("set_model" | "apply_flag_settings")
            )
        })
        .collect();
    assert_eq!(
        asked,
        [
            json!({ "subtype": "set_model", "model": "sonnet" }),
            json!({ "subtype": "apply_flag_settings", "settings": { "effortLevel": "low" } })
        ]
    );
}

/// Race: a prompt waited in the old process. It is taken back there, and goes to the fresh
/// one behind the plan; whatever the old one says of it.
#[test]
fn given_a_waiting_prompt_when_carried_out_anew_then_it_goes_to_the_fresh_process_once() {
    for told in ["nothing", "cancelled", "idle"] {
        every_way(|scene| {
            scene.desk.host.takes_back = Some(true);
            let prompt = scene.working("Planning");
            let second = scene.prompt("two");
            scene.says([life(2, "queued")]);
            let asked = asks(scene, json!({ "plan": PLAN }));
            choose(scene, &asked, "exit-plan-clear-auto");
            let taken = scene.desk.host.taken_back.clone();
            assert_eq!(taken, [scene.desk.host.users[1]["uuid"].clone()]);
            match told {
                "cancelled" => scene.says([life(2, "cancelled")]),
                // The turn has no result of its own.
                "idle" => scene.says([life(2, "cancelled"), state("idle")]),
                _ => {}
            }
            if told != "idle" {
                ends(scene);
            }
            let plan = format!("Implement the following plan:\n\n{PLAN}");
            assert_eq!(said(scene), ["one", "two", plan.as_str(), "two"], "{told}");
            carries_out(scene);
            assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"), "{told}");
            assert_eq!(scene.answer(second), None, "{told}");
            scene.says([requesting(&[2]), echo(2), done(2), state("idle")]);
            assert_eq!(scene.answer(second).as_deref(), Some("end_turn"), "{told}");
        });
    }
}

/// Race: a prompt comes while the fresh process starts: it waits for it.
#[test]
fn given_a_prompt_while_the_fresh_process_starts_then_it_waits_and_is_said_behind_the_plan() {
    every_way(|scene| {
        let prompt = chosen(scene);
        scene.desk.host.by_hand("get_settings");
        ends(scene);
        let second = scene.prompt("two");
        assert_eq!(said(scene), ["one"]);
        let settings = claude_kit::settings(json!({}));
        scene.replies("get_settings", &settings);
        let plan = format!("Implement the following plan:\n\n{PLAN}");
        assert_eq!(said(scene), ["one", plan.as_str(), "two"]);
        carries_out(scene);
        scene.says([requesting(&[3]), echo(3), done(3), state("idle")]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
        assert_eq!(scene.answer(second).as_deref(), Some("end_turn"));
    });
}

/// Section 9.1, step 1: a cancel before the old turn has ended means that nothing begins.
#[test]
fn given_a_cancel_before_the_old_turn_ended_when_it_ends_then_nothing_begins_anew() {
    every_way(|scene| {
        let prompt = chosen(scene);
        scene.cancel();
        ends(scene);
        scene.says([state("idle")]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        assert_eq!(scene.desk.host.started.len(), 1);
        assert_eq!(said(scene), ["one"]);
    });
}

/// What the user is told who did not let the plan begin.
const NOT_BEGUN: &str = "agent_message_chunk \"**Plan not begun:** You cancelled before the plan \
was begun: the conversation goes on where it was, with the plan in it.\" ";

/// Whether the process with this number goes on with the session's own conversation.
fn goes_on(scene: &Scene, number: usize) -> bool {
    let resume = format!("--resume={}", scene.session);
    let started = &scene.desk.host.started[number];
    started.contains(&resume) && started.contains(&"--permission-mode=plan".to_owned())
}

/// A cancel while the fresh process starts: all that waits is cancelled, and the session goes
/// on where it was, in the mode that it had.
#[test]
fn given_a_cancel_while_the_fresh_process_starts_then_the_session_goes_on_where_it_was() {
    every_way(|scene| {
        mode(scene, "plan");
        let prompt = chosen(scene);
        scene.desk.host.by_hand("get_settings");
        ends(scene);
        let second = scene.prompt("two");
        scene.editor();
        scene.cancel();
        let told = scene.editor();
        assert!(told[0].starts_with(NOT_BEGUN), "{told:?}");
        let both = [format!("{prompt} cancelled"), format!("{second} cancelled")];
        assert_eq!(told[1..3], both);
        assert_eq!(scene.desk.host.started.len(), 3);
        assert!(goes_on(scene, 2));
        let third = scene.prompt("three");
        scene.replies("get_settings", &claude_kit::settings(json!({})));
        assert_eq!(said(scene), ["one", "three"]);
        scene.says([requesting(&[2]), echo(2), done(2), state("idle")]);
        assert_eq!(scene.answer(third).as_deref(), Some("end_turn"));
    });
}

/// The fresh process is there, but has not taken the plan: it might drop it.
#[test]
fn given_a_cancel_before_the_fresh_process_takes_the_plan_then_the_session_goes_on_where_it_was() {
    every_way(|scene| {
        mode(scene, "plan");
        let prompt = chosen(scene);
        ends(scene);
        assert_eq!(said(scene).len(), 2);
        scene.says([life(2, "queued")]);
        scene.cancel();
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        assert!(goes_on(scene, 2));
        assert_eq!(scene.desk.channels().len(), 1);
    });
}

/// No two processes have the same conversation: the one that planned has to be gone.
#[test]
fn given_an_old_process_that_stays_when_the_plan_is_cancelled_then_it_goes_on_when_that_is_gone() {
    every_way(|scene| {
        mode(scene, "plan");
        scene.desk.host.obedient = false;
        chosen(scene);
        ends(scene);
        // The fresh one is gone at once.
        scene.desk.host.obedient = true;
        scene.cancel();
        let next = scene.prompt("two");
        assert_eq!(scene.desk.host.started.len(), 2);
        scene.wait(120_000);
        assert_eq!(scene.desk.host.started.len(), 3);
        assert!(goes_on(scene, 2));
        scene.says([requesting(&[3]), echo(3), done(3), state("idle")]);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
    });
}

/// A cancel when the fresh process works is a cancel as any other.
#[test]
fn given_a_cancel_while_the_plan_is_carried_out_then_it_is_interrupted_there() {
    every_way(|scene| {
        let prompt = chosen(scene);
        ends(scene);
        scene.says([state("running"), requesting(&[1]), echo(1)]);
        scene.cancel();
        scene.replies("interrupt", &json!({ "still_queued": [] }));
        scene.says([aborted(of(&[1])), state("idle")]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        assert_eq!(scene.desk.host.started.len(), 2);
    });
}

/// The old process is silent: after 30 s the fresh one is started all the same.
#[test]
fn given_an_old_turn_that_does_not_end_when_30_s_have_passed_then_the_plan_is_carried_out() {
    every_way(|scene| {
        let prompt = chosen(scene);
        scene.wait(29_999);
        assert_eq!(scene.desk.host.started.len(), 1);
        scene.wait(1);
        assert_eq!(scene.desk.host.started.len(), 2);
        carries_out(scene);
        assert_eq!(scene.answer(prompt).as_deref(), Some("end_turn"));
    });
}

/// The fresh process cannot be started: all that waits fails with a sentence.
#[test]
fn given_a_fresh_process_that_fails_when_started_then_every_prompt_is_told() {
    every_way(|scene| {
        let prompt = chosen(scene);
        scene.desk.host.refusal = Some(airlock_engine::HostRefusal::Absent);
        ends(scene);
        let answer = scene.answer(prompt).expect("an answer");
        assert!(answer.contains("Claude Code was not found"), "{answer}");
    });
}

/// A close in between answers everything, and both processes end.
#[test]
fn given_a_close_while_the_fresh_process_starts_then_the_prompt_is_cancelled_and_it_ends() {
    every_way(|scene| {
        let prompt = chosen(scene);
        scene.desk.host.by_hand("get_settings");
        ends(scene);
        let close = scene.close();
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        scene.wait(2_000);
        assert_eq!(scene.answer(close).as_deref(), Some("done"));
        assert!(scene.desk.channels().is_empty());
    });
}

/// What plain clients are offered is not touched: no wish, no choice.
#[test]
fn given_no_wish_when_a_plan_is_shown_then_only_the_known_choices_are_offered() {
    each_way(|scene| {
        scene.working("w");
        let asked = asks(scene, json!({ "plan": PLAN }));
        assert!(names(&asked).iter().all(|it| !it.contains("clear")));
    });
}
