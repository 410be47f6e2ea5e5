//! The same recorded sessions natively and in the sandbox: the same effects, call by call.

#[path = "support/component.rs"]
mod component;
#[path = "support/words.rs"]
mod words;

use host_runner::adapter::Factory;
use host_runner::native::Native;
use host_runner::sandbox::{IMPORTS, Limits, Sandbox};

#[test]
fn given_every_recorded_session_when_run_natively_and_in_the_sandbox_then_the_effects_are_the_same()
{
    let sandbox = Sandbox::built_in(Limits::default()).expect("the built-in component");
    for number in words::SESSIONS {
        let session = words::session(number);
        let native = words::run(&Native, &session, false);
        assert_eq!(
            native, session.effects,
            "{number}: the desk and the runner's native adapter"
        );
        words::same(number, &native, &words::run(&sandbox, &session, false));
    }
}

#[test]
fn given_a_recorded_session_when_the_sandbox_is_swapped_before_every_call_then_the_effects_are_the_same()
 {
    let sandbox = Sandbox::built_in(Limits::default()).expect("the built-in component");
    for number in ["03", "08", "20"] {
        let session = words::session(number);
        words::same(
            number,
            &session.effects,
            &words::run(&sandbox, &session, true),
        );
    }
}

#[test]
fn given_both_engines_when_they_describe_themselves_then_they_say_the_same() {
    let sandbox = Sandbox::built_in(Limits::default()).expect("the built-in component");
    assert_eq!(Native.describe().unwrap(), sandbox.describe().unwrap());
}

#[test]
fn given_the_component_beside_the_program_when_decoded_then_it_imports_our_own_words_alone() {
    let file = component::beside_the_test("airlock.wasm");
    let world = component::world(&component::read(&file));
    let imports = world
        .lines()
        .filter_map(|line| line.trim().strip_prefix("import "));
    let imports: Vec<&str> = imports.map(|it| it.trim_end_matches(';')).collect();
    assert!(!imports.is_empty(), "{world}");
    for import in imports {
        assert!(IMPORTS.contains(&import), "it imports {import}");
    }
}
