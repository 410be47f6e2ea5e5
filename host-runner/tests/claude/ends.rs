//! The editor's side goes away, or lets a session go: no process is left.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::place::{CLAUDE, Place, request};

#[test]
fn given_a_process_that_never_greets_when_the_editor_goes_then_it_ends() {
    let place = Place::new();
    place.script("silent", "");
    let mut editor = place.editor(CLAUDE);
    let asked = place.ask(&mut editor);
    editor.close_stdin();

    assert!(editor.answer(asked).get("error").is_some());
    assert_eq!(editor.end(), Some(0));
    place.group().ends();
}

#[test]
fn given_a_session_at_rest_when_the_editor_goes_then_its_process_ends() {
    let place = Place::new();
    let (mut editor, _session) = place.session();
    assert_eq!(editor.end(), Some(0));
    place.group().ends();
}

#[test]
fn given_turns_of_every_kind_when_the_editor_goes_then_the_groups_end_and_the_prompt_is_answered() {
    for kind in ["slow", "tool", "deaf"] {
        let place = Place::new();
        let (mut editor, _session, prompt) = place.in_turn(kind);
        let group = place.group();
        editor.close_stdin();

        let answer = editor.answer(prompt);
        assert_eq!(
            answer["result"]["stopReason"],
            json!("cancelled"),
            "{kind}: {answer}"
        );
        assert_eq!(editor.end(), Some(0), "{kind}");
        group.ends();
    }
}

#[test]
fn given_a_turn_when_nobody_reads_any_more_then_the_group_ends() {
    let place = Place::new();
    let (mut editor, _session, _prompt) = place.in_turn("tool");
    let group = place.group();
    editor.close_stdout();

    assert!(editor.end().is_some(), "it ended by itself");
    group.ends();
}

#[test]
fn given_an_open_permission_when_the_editor_goes_then_the_prompt_is_answered_and_the_group_ends() {
    let place = Place::new();
    let (mut editor, _session, prompt) = place.in_turn("ask");
    request(&mut editor, "session/request_permission");
    editor.close_stdin();

    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("cancelled")
    );
    assert_eq!(editor.end(), Some(0));
    place.group().ends();
}

#[test]
fn given_a_cancelled_turn_that_is_still_stopping_when_the_editor_goes_then_the_group_ends() {
    let place = Place::new();
    let (mut editor, session, prompt) = place.in_turn("tool");
    editor.tell("session/cancel", json!({ "sessionId": session }));
    editor.close_stdin();

    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("cancelled")
    );
    assert_eq!(editor.end(), Some(0));
    place.group().ends();
}

/// Nothing that runs in the program can do this: the system and the supervisor do.
#[test]
#[cfg(target_os = "linux")]
fn given_a_tool_in_the_group_when_the_program_is_killed_then_the_group_ends() {
    let place = Place::new();
    let (editor, _session, _prompt) = place.in_turn("tool");
    let group = place.group();
    let program = i32::try_from(editor.pid()).ok().and_then(Pid::from_raw);
    kill_process(program.expect("a number"), Signal::KILL).expect("it lives");

    group.ends();
}

#[test]
fn given_a_session_when_it_is_closed_then_its_process_ends_and_another_session_goes_on() {
    let (first, second) = (Place::new(), Place::new());
    let (mut editor, closed) = first.session();
    let open = editor.session_in(second.cwd());
    let prompt = editor.prompt(&closed, "tool");
    editor.wait_for_text();
    let close = editor.ask("session/close", json!({ "sessionId": closed }));

    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("cancelled")
    );
    assert_eq!(editor.answer(close)["result"], json!({}));
    first.group().ends();
    let prompt = editor.prompt(&open, "hello");
    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("end_turn")
    );
    assert!(second.group().lives());
}

#[test]
fn given_a_wrapper_that_forks_when_the_editor_goes_then_both_processes_end() {
    let place = Place::new();
    // Not the last command, so the shell stays.
    let text = format!("#!/bin/sh\necho $$ > leader\n{CLAUDE} \"$@\"\nexit $?\n");
    let wrapper = place.script("wrapper", &text);
    let mut editor = place.editor(&wrapper);
    let session = editor.session_in(place.cwd());
    let prompt = editor.prompt(&session, "hello");
    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("end_turn")
    );
    let prompt = editor.prompt(&session, "tool");
    let leader = crate::place::Group::of(&place.left("leader"));
    editor.close_stdin();

    assert_eq!(
        editor.answer(prompt)["result"]["stopReason"],
        json!("cancelled")
    );
    assert_eq!(editor.end(), Some(0));
    leader.ends();
}
