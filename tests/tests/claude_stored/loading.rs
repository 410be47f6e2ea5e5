//! The way from `session/load` or `session/resume` to its answer.

use airlock_engine::{FileRefusal, HostRefusal};
use airlock_tests::Desk;
use airlock_tests::scripted_cli::ScriptedCli;
use serde_json::{Value, json};

use super::world::{CWD, ID, OTHER, PROJECT, World, config, each_way, prompt_row};

#[test]
fn given_an_editor_when_it_initializes_then_stored_sessions_are_offered() {
    let world = World::plain();
    let capabilities = world.got()[0]["result"]["agentCapabilities"].clone();
    assert_eq!(capabilities["loadSession"], true);
    for method in ["list", "resume", "delete", "close"] {
        assert_eq!(
            capabilities["sessionCapabilities"][method],
            json!({}),
            "{method}"
        );
    }
}

#[test]
fn given_a_stored_session_when_resumed_then_nothing_is_shown_and_prompts_go_on() {
    each_way(|world| {
        world.recorded();
        let resume = world.resume(ID);
        // The options, as `session/new` gives them; then what a prompt may begin with.
        let result = world.result(resume);
        assert_eq!(result["modes"]["currentModeId"], "default");
        assert_eq!(result["configOptions"][0]["id"], "mode");
        let told = world.got();
        let told = told[1..]
            .iter()
            .filter(|it| it["method"] != "_auth/status_update");
        let kinds: Vec<Value> = told
            .map(|it| it["params"]["update"]["sessionUpdate"].clone())
            .collect();
        assert_eq!(kinds, [Value::Null, json!("available_commands_update")]);
        assert_eq!(world.shown(), Vec::<Value>::new());
        assert_eq!(world.desk.host.started.len(), 1);
        assert!(world.started_with(0, &format!("--resume={ID}")));
        assert!(!world.started_with(0, &format!("--session-id={ID}")));
        world.desk.prompt(ID, "go on");
        world.settle();
        assert_eq!(world.desk.host.users.len(), 1);
        assert_eq!(world.desk.host.users[0]["session_id"], ID);
        assert_eq!(world.desk.files.open(), 0);
    });
}

/// The process starts while the history is shown; the answer needs both.
#[test]
fn given_a_slow_process_when_loaded_then_the_history_comes_first_and_the_answer_last() {
    let mut world = World::plain();
    world.recorded();
    world.desk.host.by_hand("initialize");
    let load = world.load(ID);
    assert!(!world.texts().is_empty());
    assert_eq!(world.answer(load), None);
    let shown = world.shown().len();
    let request = world.desk.host.take("initialize").expect("a greeting");
    let line = airlock_tests::scripted_cli::answer(&request, &json!({}));
    world.desk.host_says([airlock_tests::Say::Line(line)]);
    world.settle();
    world.result(load);
    assert_eq!(world.shown().len(), shown);
    world.is_tidy();
}

#[test]
fn given_slow_files_when_loaded_then_the_answer_waits_for_them() {
    let mut world = World::plain();
    world.recorded();
    world.desk.files_answer = false;
    let load = world.load(ID);
    world.desk.advance(120_000);
    assert_eq!(world.answer(load), None);
    assert_eq!(world.desk.host.started.len(), 0);
}

/// Section 2: unknown id. No process is started for it.
#[test]
fn given_no_such_session_when_loaded_or_resumed_then_it_is_not_found() {
    let mut world = World::plain();
    for id in [
        "00000000-0000-4000-8000-000000000000",
        "../../../etc/passwd",
        "",
    ] {
        for load in [world.load(id), world.resume(id)] {
            let expected = json!({ "code": -32002, "message": "Resource not found",
                                   "data": { "sessionId": id } });
            assert_eq!(world.error(load), expected);
        }
    }
    assert_eq!(world.desk.host.started.len(), 0);
    world.is_tidy();
}

/// A session belongs to its folder.
#[test]
fn given_another_folder_when_loaded_then_it_is_not_found_there_and_no_folder_is_an_error() {
    let mut world = World::plain();
    world.recorded();
    world.file("/srv/elsewhere/x", "");
    let in_folder = |cwd: &str| json!({ "sessionId": ID, "cwd": cwd, "mcpServers": [] });
    let load = world.request("session/load", &in_folder("/srv/elsewhere"));
    assert_eq!(world.error(load)["code"], -32002);
    for cwd in ["/srv/nowhere", "/srv/work/hello.txt"] {
        let load = world.request("session/load", &in_folder(cwd));
        assert_eq!(world.error(load)["code"], -32602);
        assert_eq!(world.error(load)["data"], json!({ "cwd": cwd }));
    }
    let load = world.request("session/load", &in_folder("relative"));
    assert_eq!(world.error(load)["code"], -32602);
    assert_eq!(world.desk.host.started.len(), 0);
}

/// The folder is the one that is really there, and one that may not be looked at is taken as
/// it is named.
#[test]
fn given_a_folder_behind_a_link_when_loaded_then_the_real_one_counts() {
    let mut world = World::plain();
    world.recorded();
    world.folder("/srv/link");
    let claimed = world.desk.files.claimed.get_mut("/srv/link").expect("it");
    claimed.canonical_path = CWD.to_owned();
    let params = json!({ "sessionId": ID, "cwd": "/srv/link", "mcpServers": [] });
    let load = world.request("session/load", &params);
    world.result(load);

    let mut world = World::plain();
    world.recorded();
    let refused = &mut world.desk.files.refused;
    refused.insert(CWD.to_owned(), FileRefusal::NotAllowed);
    let load = world.load(ID);
    world.result(load);
}

/// Section 4: the mode of the resumed transcript; everything is never allowed again unasked.
#[test]
fn given_a_mode_in_the_transcript_when_resumed_then_the_process_starts_in_it() {
    for (last, mode) in [("plan", "plan"), ("bypassPermissions", "auto")] {
        let mut world = World::plain();
        let row = prompt_row("One").replace("\"default\"", &format!("\"{last}\""));
        world.stored(OTHER, &format!("{}{row}", prompt_row("Before")));
        let resume = world.resume(OTHER);
        assert_eq!(world.result(resume)["modes"]["currentModeId"], mode);
        assert!(
            world.started_with(0, &format!("--permission-mode={mode}")),
            "{last}"
        );
    }
}

#[test]
fn given_no_program_when_loaded_then_the_error_says_so_and_nothing_stays_open() {
    let mut world = World::plain();
    world.recorded();
    world.desk.host.refusal = Some(HostRefusal::Absent);
    let load = world.load(ID);
    let error = world.error(load);
    assert_eq!(error["code"], -32603);
    assert!(
        error["message"]
            .as_str()
            .expect("words")
            .contains("npm install")
    );
    world.is_tidy();
    // It can be tried again.
    world.desk.host.refusal = None;
    let load = world.load(ID);
    world.result(load);
    world.is_tidy();
}

#[test]
fn given_files_that_may_not_be_read_when_asked_for_then_each_request_says_so() {
    let mut world = World::plain();
    world.recorded();
    let refused = &mut world.desk.files.refused;
    for path in [
        format!("{PROJECT}/{ID}.jsonl"),
        super::world::PROJECTS.to_owned(),
    ] {
        refused.insert(path, FileRefusal::NotAllowed);
    }
    let id = json!({ "sessionId": ID });
    let asked = [
        world.load(ID),
        world.resume(ID),
        world.request("session/list", &json!({})),
        world.request("session/delete", &id),
    ];
    for asked in asked {
        assert_eq!(world.error(asked)["data"]["reason"], "not_allowed");
    }
    assert_eq!(world.desk.host.started.len(), 0);
    world.is_tidy();
}

/// Nothing says where the files are.
#[test]
fn given_no_home_when_asked_for_then_the_error_says_what_to_set() {
    for environment in [json!({}), json!({ "HOME": "relative" })] {
        let mut desk = Desk::with_config(ScriptedCli::default(), &config(&environment));
        desk.initialize();
        let list = desk.request("session/list", &json!({}));
        let error = desk.answer(list)["error"].clone();
        assert!(
            error["message"]
                .as_str()
                .expect("words")
                .contains("CLAUDE_CONFIG_DIR")
        );
    }
}

#[test]
fn given_a_load_when_it_is_cancelled_or_closed_then_its_process_ends_and_its_file_is_closed() {
    for close in [false, true] {
        let mut world = World::plain();
        let row = prompt_row(&"x".repeat(60_000));
        world.stored(OTHER, &row.repeat(400));
        // The editor does not read: the load stands still in its middle.
        world.desk.editor_reads = false;
        let load = world.load(OTHER);
        assert_eq!(world.desk.files.open(), 1);
        let closed = close.then(|| world.request("session/close", &json!({ "sessionId": OTHER })));
        if !close {
            let request = json!({ "requestId": load });
            world.desk.notify("$/cancel_request", &request);
        }
        world.desk.editor_reads = true;
        world.settle();
        let code = if close { -32002 } else { -32800 };
        assert_eq!(world.error(load)["code"], code);
        closed
            .into_iter()
            .for_each(|closed| assert_eq!(world.result(closed), json!({})));
        assert_eq!(world.desk.channels(), [0; 0]);
        world.is_tidy();
        let again = world.load(OTHER);
        world.result(again);
    }
}

#[test]
fn given_a_load_when_the_editor_goes_then_all_is_answered_and_closed() {
    let mut world = World::plain();
    world.recorded();
    world.desk.host.by_hand("initialize");
    let load = world.load(ID);
    world.desk.files_answer = false;
    let list = world.request("session/list", &json!({}));
    world.desk.hang_up();
    world.settle();
    world.desk.advance(5_000);
    assert_eq!(world.desk.done, Some(0));
    assert_eq!(world.error(load)["code"], -32603);
    assert_eq!(world.error(list)["code"], -32603);
    assert_eq!(world.desk.files.open(), 0);
}
