//! Which executable is started, how, and what is said when there is none.

use std::fs;

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::place::{CLAUDE, Place};

fn end_turn() -> Value {
    json!("end_turn")
}

#[test]
fn given_an_executable_when_a_prompt_is_sent_then_its_answer_comes() {
    let place = Place::new();
    let (mut editor, session) = place.session();
    let prompt = editor.prompt(&session, "hello");

    assert_eq!(editor.answer(prompt)["result"]["stopReason"], end_turn());
    assert_eq!(editor.text(), "Hello.");
    assert_eq!(editor.end(), Some(0));
    place.group().ends();
}

#[test]
fn given_an_environment_when_it_starts_then_it_is_the_users_without_what_would_disturb_it() {
    let place = Place::new();
    let mut program = place.program(&["--claude", CLAUDE]);
    program
        .env("NODE_OPTIONS", "--inspect")
        .env("DEBUG", "*")
        .env("ANTHROPIC_API_KEY", "sk-1")
        .env("MINE", "1");
    let mut editor = Editor::of(&mut program);
    editor.session_in(place.cwd());

    let seen = place.left("environment");
    let has = |variable: &str| seen.lines().any(|line| line == variable);
    assert!(has("ANTHROPIC_API_KEY=sk-1") && has("MINE=1"), "{seen}");
    assert!(has("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"), "{seen}");
    assert!(!seen.contains("NODE_OPTIONS="), "{seen}");
    assert!(
        !seen.lines().any(|line| line.starts_with("DEBUG=")),
        "{seen}"
    );
    let words = place.left("words");
    assert!(
        words.starts_with("--output-format\nstream-json\n--verbose\n"),
        "{words}"
    );
    assert!(place.group().lives(), "it leads a group");
}

#[test]
fn given_variables_that_change_what_is_done_when_it_starts_then_its_arguments_say_so() {
    let place = Place::new();
    let mut program = place.program(&["--claude", CLAUDE]);
    program
        .env("MAX_THINKING_TOKENS", "4000")
        .env("CLAUDE_CODE_THINKING_DISPLAY", "omitted")
        .env("IS_SANDBOX", "1");
    let mut editor = Editor::of(&mut program);
    editor.session_in(place.cwd());

    let words = place.left("words");
    let has = |word: &str| words.lines().any(|line| line == word);
    assert!(has("--max-thinking-tokens=4000"), "{words}");
    assert!(has("--thinking-display=omitted"), "{words}");
    assert!(has("--allow-dangerously-skip-permissions"), "{words}");
}

#[test]
fn given_root_outside_of_a_sandbox_when_it_starts_then_permissions_cannot_be_skipped() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let mut program = place.program(&["--claude", CLAUDE]);
    let mut editor = Editor::of(program.env_remove("IS_SANDBOX"));
    editor.session_in(place.cwd());
    let words = place.left("words");
    assert!(
        !words.contains("--allow-dangerously-skip-permissions"),
        "{words}"
    );
}

#[test]
fn given_an_executable_by_variable_or_on_the_path_when_a_session_begins_then_it_is_found() {
    let place = Place::new();
    let by_variable = |place: &Place| {
        let mut program = place.program(&[]);
        program.env("CLAUDE_CODE_EXECUTABLE", CLAUDE);
        program
    };
    let on_the_path = |place: &Place| {
        fs::create_dir(place.path("bin")).expect("a folder");
        std::os::unix::fs::symlink(CLAUDE, place.path("bin/claude")).expect("a link");
        let path = std::env::var("PATH").expect("a path");
        let mut program = place.program(&[]);
        program.env("PATH", format!("{}:{path}", place.path("bin").display()));
        program
    };
    for program in [by_variable(&place), on_the_path(&place)].iter_mut() {
        let mut editor = Editor::of(program);
        editor.session_in(place.cwd());
        assert_eq!(editor.end(), Some(0));
    }
}

#[test]
fn given_a_script_for_node_when_a_session_begins_then_node_runs_it() {
    let place = Place::new();
    let script = place.script("cli.mjs", "no shell could read this (");
    fs::create_dir(place.path("bin")).expect("a folder");
    // Its first argument is the script.
    let node = format!("#!/bin/sh\necho \"$1\" > script\nshift\nexec {CLAUDE} \"$@\"\n");
    place.script("bin/node", &node);
    let mut program = place.program(&["--claude", "cli.mjs"]);
    let path = std::env::var("PATH").expect("a path");
    program.env("PATH", format!("{}:{path}", place.path("bin").display()));
    let mut editor = Editor::of(&mut program);
    editor.session_in(place.cwd());

    assert_eq!(place.left("script").trim(), script);
    assert!(place.left("words").starts_with("--output-format\n"));
}

#[test]
fn given_no_executable_when_a_session_is_asked_for_then_the_answer_says_how_to_install_it() {
    let place = Place::new();
    let mut editor = place.editor("/nowhere/claude");
    let id = editor.ask(
        "session/new",
        json!({ "cwd": place.cwd(), "mcpServers": [] }),
    );

    let answer = editor.answer(id);
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("npm install -g @anthropic-ai/claude-code"),
        "{answer}"
    );
    assert!(message.contains("--claude PATH") && message.contains("CLAUDE_CODE_EXECUTABLE"));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn given_cli_when_started_then_the_program_becomes_the_executable() {
    let place = Place::new();
    let mut program = place.program(&["--claude", CLAUDE, "--cli", "auth", "--help", "--", "x"]);
    let output = program
        .stdin(std::process::Stdio::null())
        .output()
        .expect("it starts");

    assert!(output.status.success());
    assert_eq!(place.left("words"), "auth\n--help\n--\nx\n");

    let mut program = place.program(&["--claude", "/nowhere/claude", "--cli", "auth"]);
    let output = program.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("/nowhere/claude cannot be started"), "{said}");
}
