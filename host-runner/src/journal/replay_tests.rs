//! What the keeper writes down runs again, whatever happened to it meanwhile.

use std::io::Cursor;

use super::*;
use crate::fake::{FakeFactory, acp, at};
use crate::journal::{Keeper, Recorder};

/// Records a keeper that was handed these lines, with a quiet moment after each.
fn recorded(lines: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    let recorder = Recorder::create(&path, "{}", &[7; 32], r#"{"name":"fake"}"#).unwrap();
    let factory = Box::new(FakeFactory::default());
    let (mut keeper, _) =
        Keeper::open(factory, "{}".into(), [7; 32], Some(recorder), at(0)).unwrap();
    for line in lines {
        keeper.handle(at(1), vec![acp(line)]).unwrap();
        keeper.quiet(at(2)).unwrap();
    }
    keeper.finish();
    std::fs::read(path).unwrap()
}

#[test]
fn given_traps_and_a_fresh_instance_when_run_again_then_the_effects_are_equal() {
    let recording = recorded(&[
        "a\n",
        "GROW 65\nha",
        "lf\n",
        "b\nTRAP 1\nc\n",
        "SPIN\n",
        "d\n",
    ]);
    let text = String::from_utf8(recording.clone()).unwrap();
    assert_eq!(text.matches(r#""restored":true"#).count(), 1, "{text}");
    let factory = FakeFactory::default();
    assert_eq!(
        replay(Cursor::new(recording), &factory).unwrap(),
        // The opening, six lines (one of them as three pieces), two poisons, one handover.
        Outcome::Equal {
            calls: 10,
            effects: 7,
            trapped: 2,
            torn: false
        }
    );
    assert_eq!(factory.0.restored.get(), 1, "the handover was made again");
}

#[test]
fn given_an_effect_too_few_when_run_again_then_the_difference_is_shown() {
    let recording = String::from_utf8(recorded(&["a\nb\n"])).unwrap();
    let changed = recording.replace(r#","inputs""#, r#","more":1,"inputs""#);
    assert!(
        matches!(
            replay(Cursor::new(changed), &FakeFactory::default()),
            Ok(Outcome::Equal { calls: 2, .. })
        ),
        "unknown keys are left alone"
    );
    let changed = recording.replace(r#",{"acp":{"bytes":"2 b\n"}}"#, "");
    assert_ne!(changed, recording);
    let outcome = replay(Cursor::new(changed), &FakeFactory::default()).unwrap();
    assert_eq!(
        outcome.to_string(),
        "different: call 2 (line 3), effect 2\n  expected: nothing\n  \
         got:      {\"acp\":{\"bytes\":\"2 b\\n\"}}"
    );
}

#[test]
fn given_a_line_that_cannot_be_read_when_run_again_then_the_sentence_names_it() {
    let mut recording = recorded(&["a\n"]);
    recording.extend_from_slice(b"{}\n{\"at\":[1,2]}\n");
    let error = replay(Cursor::new(recording), &FakeFactory::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("line 4 of the recording cannot be read: missing field `at`"),
        "{error}"
    );
}
