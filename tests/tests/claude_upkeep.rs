//! What a session of Claude Code looks after by itself: another model that answers, settings
//! that somebody changes, a context that is made smaller while nobody works (Claude adapter,
//! sections 5, 6, 14, 15).

use airlock_tests::scripted_cli::words::{
    self, done, echo, event, life, requesting, result, start, state, system, with,
};
use airlock_tests::scripted_cli::{Scene, each_way};
use serde_json::{Value, json};

mod claude_kit;
use claude_kit::{greeting, settings, values};

fn opened(effective: Value) -> Scene {
    let mut scene = Scene::plain();
    scene.desk.host.greeting = Some(greeting());
    scene.desk.host.settings = Some(settings(effective));
    scene.begin();
    scene.desk.take();
    scene
}

/// The options that the editor was told since.
fn told(scene: &mut Scene) -> Vec<String> {
    let all = scene.desk.take();
    let updates = all.iter().map(|it| &it["params"]["update"]);
    updates
        .filter(|it| it["sessionUpdate"] == "config_option_update")
        .map(|it| values(&it["configOptions"]))
        .collect()
}

fn fell_back(more: Value) -> Value {
    let own = json!({ "trigger": "refusal", "direction": "retry", "request_id": null,
                      "original_model": "claude-opus-5-5", "fallback_model": "claude-sonnet-5-5",
                      "content": "Opus declined; Sonnet answers." });
    system("model_refusal_fallback", with(own, more))
}

/// Section 6: it is said, and the picker shows the model that answers now.
#[test]
fn given_a_model_that_declines_when_another_answers_then_it_is_told_and_the_picker_follows() {
    let mut scene = opened(json!({}));
    scene.working("w");
    scene.says([fell_back(json!({ "scope": "session" }))]);
    let log = scene.log();
    let line = log
        .lines()
        .find(|line| line.contains("Model fallback"))
        .unwrap();
    let message: Value = serde_json::from_str(line.strip_prefix("< ").unwrap()).unwrap();
    let update = &message["params"]["update"];
    assert_eq!(
        update["content"]["text"],
        "**Model fallback:** Opus declined; Sonnet answers."
    );
    assert_eq!(
        update["_meta"],
        json!({ "claudeCode": { "kind": "model_refusal_fallback", "level": "warning" } })
    );
    let options = told(&mut scene);
    assert!(options[0].contains("model=sonnet"), "{options:?}");
}

/// Only a subagent's answer came from it: nothing is set. Older programs say no scope.
#[test]
fn given_a_fallback_of_a_subagent_when_told_then_the_picker_stays_and_without_a_scope_it_follows() {
    for (scope, follows) in [(json!({ "scope": "local" }), false), (json!({}), true)] {
        let mut scene = opened(json!({}));
        scene.working("w");
        scene.desk.take();
        scene.says([fell_back(scope)]);
        assert!(scene.log().contains("Model fallback"));
        assert_eq!(!told(&mut scene).is_empty(), follows);
    }
}

/// Words of our own where the program has none; a frame that cannot be read says nothing.
#[test]
fn given_a_fallback_without_words_when_told_then_they_are_made_of_the_models() {
    each_way(|scene| {
        scene.working("w");
        scene.says([fell_back(json!({ "content": "" }))]);
        let words = "claude-opus-5-5 declined this request; claude-sonnet-5-5 answers instead.";
        assert!(scene.log().contains(words), "{}", scene.log());
        scene.says([system(
            "model_refusal_fallback",
            json!({ "original_model": 7 }),
        )]);
        assert_eq!(scene.log().matches("Model fallback").count(), 1);
    });
}

/// Section 15: settings are looked at again at a prompt, a minute after they were read; what
/// is offered changes, what is chosen does not.
#[test]
fn given_settings_that_changed_when_a_prompt_comes_a_minute_later_then_what_is_offered_follows() {
    let mut scene = opened(json!({}));
    let changed = json!({ "availableModels": ["opus"], "permissions": {
        "disableBypassPermissionsMode": "disable", "defaultMode": "plan" } });
    scene.desk.host.settings = Some(settings(changed));
    scene.wait(59_999);
    scene.prompt("one");
    assert_eq!(scene.desk.host.times_asked("get_settings"), 1);
    scene.wait(1);
    scene.desk.take();
    scene.prompt("two");
    assert_eq!(scene.desk.host.times_asked("get_settings"), 2);
    let all = scene.desk.take();
    let update = all.iter().map(|it| &it["params"]["update"]);
    let mut told = update.filter(|it| it["sessionUpdate"] == "config_option_update");
    let options = &told.next().expect("the options")["configOptions"];
    assert!(
        values(options).starts_with("mode=auto model="),
        "{}",
        values(options)
    );
    let text = options.to_string();
    assert!(!text.contains("bypassPermissions"), "{text}");
    assert!(!text.contains("haiku"), "{text}");
    // Nothing new: nothing is told.
    scene.wait(60_000);
    scene.prompt("three");
    assert_eq!(scene.desk.host.times_asked("get_settings"), 3);
    let again = scene.desk.take();
    assert!(!json!(again).to_string().contains("config_option_update"));
}

/// A message of so many tokens, which the provider keeps for an hour or for five minutes.
fn kept(tokens: u64, hour: bool) -> Value {
    let mut event_ = start("msg_1")["event"].clone();
    let (hour, minutes) = if hour { (tokens, 0) } else { (0, tokens) };
    event_["message"]["usage"] = json!({ "input_tokens": 0, "output_tokens": 0,
        "cache_read_input_tokens": 0, "cache_creation_input_tokens": tokens,
        "cache_creation": { "ephemeral_1h_input_tokens": hour,
                            "ephemeral_5m_input_tokens": minutes } });
    event(&event_, None)
}

/// A turn that ends with a context of so many tokens, in one that holds `size`.
fn turn(scene: &mut Scene, tokens: u64, hour: bool, size: u64) {
    scene.prompt("one");
    let number = scene.desk.host.users.len();
    scene.says([
        state("running"),
        life(number, "started"),
        requesting(&[number]),
        echo(number),
    ]);
    let by_model = json!({ words::MODEL: { "inputTokens": 1, "outputTokens": 1,
        "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "contextWindow": size } });
    let ends = with(done(number), json!({ "modelUsage": by_model }));
    scene.says([kept(tokens, hour), ends, state("idle")]);
}

fn compacted(scene: &Scene) -> usize {
    let users = scene.desk.host.users.iter();
    let text = |it: &Value| it["message"]["content"][0]["text"].clone();
    users.filter(|it| text(it) == "/compact").count()
}

/// Section 14: 54 minutes, an hour of cache, 200,000 tokens (100,000 where no more than twice
/// that fits).
#[test]
fn given_a_large_context_when_nobody_works_for_54_minutes_then_it_is_made_smaller_once() {
    let rows = [
        (200_000, true, 1_000_000, 1),
        (199_999, true, 1_000_000, 0),
        (200_000, false, 1_000_000, 0),
        (100_000, true, 200_000, 1),
        (99_999, true, 200_000, 0),
    ];
    for (tokens, hour, size, wanted) in rows {
        each_way(|scene| {
            turn(scene, tokens, hour, size);
            scene.wait(54 * 60_000 - 1);
            assert_eq!(compacted(scene), 0);
            scene.wait(1);
            assert_eq!(compacted(scene), wanted, "{tokens} {hour} {size}");
            if wanted == 1 {
                let told = scene.told().len();
                scene.says([
                    state("running"),
                    life(2, "started"),
                    result(words::of(&[2])),
                    state("idle"),
                ]);
                scene.wait(54 * 60_000);
                assert_eq!(compacted(scene), 1, "once");
                // It is no prompt of the editor's: nothing is answered.
                assert_eq!(scene.told().len(), told);
            }
        });
    }
}

/// A prompt in between, and the end, put it off.
#[test]
fn given_a_large_context_when_the_user_comes_back_or_goes_then_it_is_left_as_it_is() {
    each_way(|scene| {
        turn(scene, 300_000, true, 1_000_000);
        scene.wait(50 * 60_000);
        scene.prompt("two");
        scene.wait(10 * 60_000);
        assert_eq!(compacted(scene), 0);
    });
    each_way(|scene| {
        turn(scene, 300_000, true, 1_000_000);
        scene.close();
        scene.wait(60 * 60_000);
        assert_eq!(compacted(scene), 0);
    });
    // Claude works all the same.
    each_way(|scene| {
        turn(scene, 300_000, true, 1_000_000);
        scene.says([words::task_started("toolu_1", true)]);
        scene.wait(60 * 60_000);
        assert_eq!(compacted(scene), 0);
    });
    each_way(|scene| {
        turn(scene, 300_000, true, 1_000_000);
        scene.says([words::init(&words::NEW), requesting(&[])]);
        scene.wait(60 * 60_000);
        assert_eq!(compacted(scene), 0);
    });
}

/// A client that shows notices gets one.
#[test]
fn given_a_client_with_notices_when_another_model_answers_then_it_is_a_notice() {
    let mut scene = Scene::plain();
    scene.desk.capabilities = json!({ "session": { "notices": {} } });
    scene.begin();
    scene.working("w");
    scene.desk.take();
    scene.says([fell_back(json!({ "scope": "local" }))]);
    let all = scene.desk.take();
    let updates: Vec<&Value> = all.iter().map(|it| &it["params"]["update"]).collect();
    assert_eq!(
        updates,
        [
            &json!({ "sessionUpdate": "notice", "severity": "warning", "title": "Model fallback",
                  "description": "Opus declined; Sonnet answers." })
        ]
    );
}
