//! What a session of before is called, and when the editor hears it (Claude adapter, section
//! 14; recordings `load-resume` and `slash-clear`).

use airlock_tests::Say;
use serde_json::{Value, json};

use super::world::{OTHER, World, answer_row, each_way, prompt_row};

const NONE: [&str; 0] = [];

fn row(kind: &str, field: &str, name: &str) -> String {
    let mut row = json!({ "type": kind, "sessionId": OTHER });
    row[field] = json!(name);
    row.to_string() + "\n"
}

fn made(name: &str) -> String {
    row("ai-title", "aiTitle", name)
}

/// The names that the editor was told.
fn titles(world: &World) -> Vec<String> {
    let all = world.shown().into_iter();
    let names = all.filter(|it| it["sessionUpdate"] == "session_info_update");
    names
        .map(|it| it["title"].as_str().expect("a title").to_owned())
        .collect()
}

/// How often the model was asked for one.
fn asked(world: &World) -> usize {
    world.desk.host.times_asked("generate_session_title")
}

fn prompts(world: &mut World) {
    world.desk.prompt(OTHER, "go on");
    world.settle();
}

fn says(world: &mut World, frames: &[Value]) {
    let lines = frames.iter().map(|frame| Say::Line(frame.to_string()));
    world.desk.host_says(lines.collect::<Vec<_>>());
    world.settle();
}

#[test]
fn given_a_stored_name_when_prompted_after_a_load_or_resume_then_it_is_told_and_nobody_is_asked() {
    for replay in [true, false] {
        each_way(|world| {
            world.stored(OTHER, &(prompt_row("One") + &made("Made")));
            let load = match replay {
                true => world.load(OTHER),
                false => world.resume(OTHER),
            };
            world.result(load);
            assert_eq!(titles(world), NONE);
            prompts(world);
            assert_eq!(titles(world), ["Made"]);
            prompts(world);
            assert_eq!(titles(world), ["Made"], "once is enough");
            assert_eq!(asked(world), 0);
        });
    }
}

/// As in a list: the beginning and the end of the file are looked at, and the user's name wins.
#[test]
fn given_a_long_file_when_resumed_then_the_users_name_at_its_beginning_is_found() {
    let long = answer_row(&"x".repeat(100_000));
    let mine = row("custom-title", "customTitle", "Mine");
    let mut world = World::plain();
    world.stored(
        OTHER,
        &[prompt_row("One"), mine, long, made("Made")].concat(),
    );
    let resume = world.resume(OTHER);
    world.result(resume);
    prompts(&mut world);
    assert_eq!(titles(&world), ["Mine"]);
    assert_eq!(asked(&world), 0);
}

#[test]
fn given_a_session_that_nobody_named_when_resumed_and_prompted_then_the_model_is_asked() {
    let mut world = World::plain();
    world.stored(OTHER, &prompt_row("One"));
    let resume = world.resume(OTHER);
    world.result(resume);
    prompts(&mut world);
    assert_eq!(asked(&world), 1);
    assert_eq!(titles(&world), NONE);
}

/// Recording `slash-clear`: the name stays, and is told again at the turn's end.
#[test]
fn given_a_name_when_the_conversation_begins_anew_then_it_is_told_again_and_nobody_is_asked() {
    each_way(|world| {
        world.stored(OTHER, &(prompt_row("One") + &made("Made")));
        let load = world.load(OTHER);
        world.result(load);
        prompts(world);
        says(
            world,
            &[
                json!({ "type": "conversation_reset" }),
                json!({ "type": "result", "subtype": "success", "usage": {} }),
            ],
        );
        assert_eq!(titles(world), ["Made"]);
        let idle = json!({ "type": "system", "subtype": "session_state_changed",
                           "state": "idle" });
        says(world, std::slice::from_ref(&idle));
        assert_eq!(titles(world), ["Made", "Made"]);
        prompts(world);
        says(world, &[idle]);
        assert_eq!(titles(world), ["Made", "Made"]);
        assert_eq!(asked(world), 0);
    });
}
