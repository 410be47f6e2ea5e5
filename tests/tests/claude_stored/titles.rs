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

/// Says what `/clear` brings, and ends its turn.
fn clears(world: &mut World, more: &[Value]) {
    let reset = json!({ "type": "conversation_reset" });
    let result = json!({ "type": "result", "subtype": "success", "usage": {} });
    says(world, &[&[reset], more, &[result, idle()]].concat());
}

fn idle() -> Value {
    json!({ "type": "system", "subtype": "session_state_changed", "state": "idle" })
}

/// Recording `slash-clear`: the name is told again at the turn's end. It is that of a
/// conversation that is over: the next prompt names the new one, as a list does, and the model
/// is asked.
#[test]
fn given_a_name_of_the_models_when_the_conversation_begins_anew_then_the_next_prompt_names_it() {
    each_way(|world| {
        world.stored(OTHER, &(prompt_row("One") + &made("Made")));
        let load = world.load(OTHER);
        world.result(load);
        prompts(world);
        assert_eq!(titles(world), ["Made"]);
        clears(world, &[]);
        assert_eq!(titles(world), ["Made", "Made"]);
        assert_eq!(asked(world), 0);
        prompts(world);
        assert_eq!(titles(world), ["Made", "Made", "go on"]);
        says(world, &[idle()]);
        prompts(world);
        assert_eq!(titles(world), ["Made", "Made", "go on"]);
        assert_eq!(asked(world), 1);
    });
}

/// As the program has it, which writes the user's name for the new conversation too.
#[test]
fn given_a_name_of_the_users_when_the_conversation_begins_anew_then_it_stays() {
    each_way(|world| {
        let mine = row("custom-title", "customTitle", "Mine");
        world.stored(OTHER, &(prompt_row("One") + &mine));
        let load = world.load(OTHER);
        world.result(load);
        prompts(world);
        let changed = json!({ "type": "system", "subtype": "session_title_changed",
                              "title": "Mine" });
        clears(world, &[changed.clone(), changed]);
        prompts(world);
        says(world, &[idle()]);
        assert_eq!(titles(world), ["Mine", "Mine"]);
        assert_eq!(asked(world), 0);
    });
}

/// `/rename`: what a list says, the editor is told.
#[test]
fn given_a_session_that_the_user_names_in_a_prompt_when_its_turn_ends_then_the_name_is_told() {
    each_way(|world| {
        world.stored(OTHER, &(prompt_row("One") + &made("Made")));
        let load = world.load(OTHER);
        world.result(load);
        prompts(world);
        let changed = json!({ "type": "system", "subtype": "session_title_changed",
                              "title": "Mine" });
        says(world, &[changed]);
        says(world, &[idle()]);
        assert_eq!(titles(world), ["Made", "Mine"]);
    });
}
