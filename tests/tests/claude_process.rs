//! The process from its start to its end, however it ends, and what of the editor's waits for
//! it: each request has one answer (Claude adapter, sections 7 and 2.1; the section 6).

use airlock_engine::{Effect, HostArrival, HostDeparture, HostRefusal};
use airlock_tests::scripted_cli::words::{
    NEW, aborted, assistant_of, can_use_tool, done, life, of, result, state, system, text,
};
use airlock_tests::scripted_cli::{Scene, answer_frames, each_way};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn said(text: &str) -> String {
    format!("agent_message_chunk {} msg_1", Value::from(text))
}

/// Asks for a session; nothing has answered yet.
fn asks_for_session(scene: &mut Scene) -> u64 {
    scene.desk.initialize();
    let params = json!({ "cwd": "/srv/work", "mcpServers": [] });
    let id = scene.desk.request("session/new", &params);
    scene.settle();
    scene.editor();
    id
}

fn error_of(scene: &Scene, id: u64) -> String {
    let answer = scene.answer(id);
    answer.unwrap_or_else(|| panic!("no answer to {id}: {}", scene.log()))
}

#[test]
fn given_no_program_when_a_session_is_made_then_the_error_says_how_to_install_it() {
    let mut scene = Scene::plain();
    scene.desk.host.refusal = Some(HostRefusal::Absent);
    let new = asks_for_session(&mut scene);
    let error = error_of(&scene, new);
    assert!(
        error.contains("npm install -g @anthropic-ai/claude-code"),
        "{error}"
    );
    assert_eq!(scene.desk.armed(), [0; 0]);
}

/// The fault of the request, and not of Claude Code (section 4).
#[test]
fn given_a_folder_that_is_not_there_when_a_session_is_made_then_the_request_is_to_blame() {
    let mut scene = Scene::plain();
    scene.desk.host.refusal = Some(HostRefusal::NoFolder);
    let new = asks_for_session(&mut scene);
    assert_eq!(
        error_of(&scene, new),
        "error -32602 Invalid params: `cwd` does not exist on the machine running the agent: /srv/work"
    );
    assert_eq!(scene.desk.armed(), [0; 0]);
}

/// Tools are told apart by the names of their servers.
#[test]
fn given_servers_without_a_name_of_their_own_when_a_session_is_made_then_they_are_refused() {
    let server =
        |name: &str| json!({ "name": name, "command": "/bin/mine", "args": [], "env": [] });
    let rows = [
        (vec![server("one"), server("one")], true),
        (vec![server("")], true),
        (vec![server(" ")], true),
        (vec![server("one"), server("two")], false),
    ];
    for (servers, refused) in rows {
        each_way(|scene| {
            let params = json!({ "cwd": "/srv/work", "mcpServers": servers });
            let id = scene.desk.request("session/new", &params);
            scene.settle();
            let expected = match refused {
                true => {
                    "error -32602 Each MCP server needs a name of its own. \
                     Name them in this agent's settings."
                }
                false => "done",
            };
            assert_eq!(scene.answer(id).as_deref(), Some(expected), "{params}");
        });
    }
}

/// The issue, section 1: a wedged start.
#[test]
fn given_a_silent_start_when_a_minute_has_passed_then_the_request_is_answered_and_it_is_killed() {
    let mut scene = Scene::plain();
    scene.desk.host.greeting = None;
    let new = asks_for_session(&mut scene);
    scene.process(HostArrival::Diagnostic(b"waiting for a lock".to_vec()));
    scene.wait(59_999);
    assert_eq!(scene.answer(new), None);
    scene.wait(1);
    let error = error_of(&scene, new);
    assert!(
        error.contains("in time") && error.contains("waiting for a lock"),
        "{error}"
    );
    assert_eq!(scene.desk.channels(), [0; 0]);
    assert_eq!(scene.desk.armed(), [0; 0]);
}

#[test]
fn given_a_refused_greeting_when_it_does_not_leave_then_it_is_killed() {
    let mut scene = Scene::plain();
    scene.desk.host.by_hand("initialize");
    scene.desk.host.obedient = false;
    let new = asks_for_session(&mut scene);
    let asked = scene.desk.host.take("initialize").expect("it was greeted");
    let refused = json!({ "type": "control_response", "response": { "subtype": "error",
        "request_id": asked["request_id"], "error": "no such model" } });
    scene.says([refused]);
    assert!(error_of(&scene, new).contains("no such model"));
    assert_eq!(scene.desk.channels().len(), 1);
    scene.wait(2_000);
    assert_eq!(scene.desk.channels(), [0; 0]);
}

/// Section 7, process death: with several prompts and a permission open.
#[test]
fn given_open_prompts_and_a_question_when_the_process_dies_then_each_is_answered_once() {
    each_way(|scene| {
        let first = scene.working("Working");
        let second = scene.prompt("two");
        scene.says([can_use_tool("q1", "toolu_1", json!({}))]);
        assert_eq!(scene.desk.asking().len(), 1);
        scene.process(HostArrival::Diagnostic(b"out of memory".to_vec()));
        scene.dies(137);
        for prompt in [first, second] {
            let error = error_of(scene, prompt);
            assert!(error.starts_with("error -32603"), "{error}");
            assert!(
                error.contains("exited unexpectedly (exit code 137)"),
                "{error}"
            );
            assert!(error.contains("out of memory"), "{error}");
        }
        assert_eq!(scene.desk.asking(), NOTHING);
        let late = scene.prompt("three");
        assert!(error_of(scene, late).contains("session has ended"));
        let close = scene.close();
        assert_eq!(scene.answer(close).as_deref(), Some("done"));
        assert_eq!(scene.desk.armed(), [0; 0]);
    });
}

/// Section 2: as often as the editor likes. A session that never was is not known.
#[test]
fn given_a_session_that_was_closed_when_closed_again_then_that_is_fine() {
    each_way(|scene| {
        for _ in 0..3 {
            let close = scene.close();
            assert_eq!(scene.answer(close).as_deref(), Some("done"));
        }
        let late = scene.prompt("one");
        assert!(error_of(scene, late).starts_with("error -32002"));
        scene.session = "never".to_owned();
        let close = scene.close();
        assert!(error_of(scene, close).starts_with("error -32002"));
    });
}

/// The issue, section 6: a grandchild keeps the pipe open.
#[test]
fn given_a_grandchild_with_the_pipe_when_the_process_exits_then_prompts_are_answered_in_time() {
    let mut scene = Scene::plain();
    scene.begin();
    let prompt = scene.working("Working");
    scene.process(HostArrival::Exited(Some(1)));
    scene.says([text(0, ", still")]);
    assert_eq!(scene.editor(), [said("Working"), said(", still")]);
    scene.wait(2_000);
    assert!(error_of(&scene, prompt).contains("exit code 1"));
    assert_eq!(scene.desk.channels(), [0; 0]);
    assert_eq!(scene.desk.armed(), [0; 0]);
}

/// What was shown to run is shown to have ended.
#[test]
fn given_a_call_and_a_compaction_when_the_process_dies_then_both_are_told_to_have_failed() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        let block = json!({ "type": "tool_use", "id": "toolu_1", "name": "Bash",
                                        "input": { "command": "ls" } });
        let compacting = json!({ "status": "compacting", "uuid": "small" });
        scene.says([
            assistant_of("msg_1", &json!([block])),
            system("status", compacting),
        ]);
        scene.editor();
        scene.dies(1);
        let told = scene.editor();
        let ended = ["small", "toolu_1"].map(|id| {
            let card = format!("tool_call_update {id} failed");
            told.iter().position(|it| it.starts_with(&card))
        });
        let answer = told
            .iter()
            .position(|it| it.starts_with(&format!("{prompt} ")));
        assert!(
            ended.iter().all(|at| at.is_some() && *at < answer),
            "{told:?}"
        );
    });
}

/// A process that closes its pipe and lives on is ended.
#[test]
fn given_a_pipe_that_ends_when_the_process_lives_on_then_it_is_killed() {
    let mut scene = Scene::plain();
    scene.begin();
    let prompt = scene.working("Working");
    scene.desk.host_says([airlock_tests::Say::Close]);
    scene.settle();
    assert!(error_of(&scene, prompt).contains("exited unexpectedly"));
    let killed = scene.desk.calls.iter().flat_map(|call| &call.effects);
    let killed = killed
        .filter(|it| format!("{it:?}").contains("Close"))
        .count();
    assert_eq!(killed, 1);
}

/// Part 2: what is no JSON is ignored, whatever it is, and the rest goes on.
#[test]
fn given_garbage_on_stdout_when_it_comes_between_frames_then_nothing_is_lost() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        let garbage: [&[u8]; 8] = [
            b"npm WARN something\n",
            b"\n  \n",
            b"[]\n",
            b"{\"type\":7}\n",
            b"{\"type\":\"result\",\n",
            b"\xff\xfe\x00\n",
            b"{\"type\":\"nobody knows\",\"uuid\":{}}\n",
            b"{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":-1}}\n",
        ];
        for bytes in garbage {
            scene.desk.host_says_bytes(bytes);
            scene.settle();
        }
        scene.says([text(0, " on"), done(1), state("idle")]);
        let told = [said("Working"), said(" on"), format!("{prompt} end_turn")];
        assert_eq!(scene.editor(), told);
    });
}

#[test]
fn given_a_flood_on_stderr_when_the_process_dies_then_only_its_end_is_told() {
    let mut scene = Scene::plain();
    scene.begin();
    let size = scene.desk.state_size();
    let prompt = scene.prompt("one");
    for _ in 0..200 {
        scene.process(HostArrival::Diagnostic("ä".repeat(20_000).into_bytes()));
    }
    assert!(
        scene.desk.state_size() < size + 8_000,
        "{}",
        scene.desk.state_size()
    );
    scene.process(HostArrival::Diagnostic(b"the end".to_vec()));
    scene.dies(1);
    let error = error_of(&scene, prompt);
    assert!(
        error.contains("the end") && error.len() < 3_000,
        "{}",
        error.len()
    );
}

/// The issue, section 1: a line over 32 MiB is skipped and said.
#[test]
fn given_a_line_over_its_limit_when_it_ends_then_it_is_skipped_and_the_rest_goes_on() {
    let mut scene = Scene::in_way(3);
    scene.begin();
    let prompt = scene.working("Working");
    let long = vec![b'x'; (32 << 20) + 1];
    scene.desk.host_says_bytes(&long);
    scene.desk.host_says_bytes(b"\n");
    scene.settle();
    scene.says([done(1)]);
    assert_eq!(
        scene.editor(),
        [said("Working"), format!("{prompt} end_turn")]
    );
    let said = scene
        .desk
        .notes
        .iter()
        .filter(|(_, it)| it.contains("32 MiB"));
    assert_eq!(said.count(), 1);
}

/// Section 2.1: one that ignores its end of input and its signal is killed.
#[test]
fn given_a_process_that_does_not_leave_when_the_session_is_closed_then_it_is_killed_in_time() {
    let mut scene = Scene::plain();
    scene.begin();
    scene.desk.host.obedient = false;
    let prompt = scene.working("Working");
    let close = scene.close();
    assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
    scene.says([text(0, " late")]);
    scene.wait(1_999);
    assert_eq!(scene.desk.channels().len(), 1);
    scene.wait(1);
    assert_eq!(scene.desk.channels(), [0; 0]);
    assert_eq!(scene.answer(close).as_deref(), Some("done"));
    let told = [
        said("Working"),
        format!("{prompt} cancelled"),
        format!("{close} done"),
    ];
    assert_eq!(scene.editor(), told);
    assert_eq!(scene.desk.armed(), [0; 0]);
}

/// 9.6: the cancel is there before the process knows of the prompt; it may begin it all the
/// same, and nothing of it is shown.
#[test]
fn given_a_cancel_right_behind_the_prompt_when_the_process_begins_it_then_nothing_is_shown() {
    each_way(|scene| {
        scene.desk.host.takes_back = Some(false);
        let session = scene.session.clone();
        let prompt = scene.desk.prompt(&session, "one");
        scene.desk.cancel(&session);
        scene.settle();
        assert_eq!(scene.editor(), [format!("{prompt} cancelled")]);
        let asked = &scene.desk.host.asked;
        let end = asked.len() - 2;
        assert_eq!(asked[end..], ["cancel_async_message", "interrupt"]);
        scene.takes(1, &NEW);
        scene.says(answer_frames("msg_1", &["Never ", "seen"]));
        scene.replies("interrupt", &json!({ "still_queued": [] }));
        scene.says([aborted(of(&[1])), life(1, "cancelled"), state("idle")]);
        assert_eq!(scene.editor(), NOTHING);
        let next = scene.prompt("two");
        scene.takes(2, &NEW);
        scene.says([text(0, "Seen"), done(2)]);
        assert_eq!(scene.answer(next).as_deref(), Some("end_turn"));
    });
}

/// W3, 9.1 step 7: the interrupt is never answered.
#[test]
fn given_a_wedged_process_when_cancelled_twice_then_the_prompt_is_answered_after_30_s() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        scene.cancel();
        scene.wait(20_000);
        scene.cancel();
        scene.wait(9_999);
        assert_eq!(scene.answer(prompt), None);
        scene.wait(1);
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        scene.says([text(0, " late"), aborted(of(&[1])), state("idle")]);
        assert_eq!(
            scene.editor(),
            [said("Working"), format!("{prompt} cancelled")]
        );
    });
}

/// 9.1 step 8: each abandoned prompt is taken back, in order, before the interrupt.
#[test]
fn given_queued_prompts_when_cancelled_then_they_are_taken_back_before_the_interrupt() {
    each_way(|scene| {
        scene.working("Working");
        scene.prompt("two");
        scene.prompt("three");
        let before = scene.desk.to_host.len();
        scene.cancel();
        let sent: Vec<Value> = scene.desk.to_host[before..]
            .iter()
            .map(|(_, line)| serde_json::from_str::<Value>(line).expect("JSON")["request"].take())
            .collect();
        let uuid = |at: usize| scene.desk.host.users[at]["uuid"].clone();
        let wanted = [
            json!({ "subtype": "cancel_async_message", "message_uuid": uuid(1) }),
            json!({ "subtype": "cancel_async_message", "message_uuid": uuid(2) }),
            json!({ "subtype": "interrupt" }),
        ];
        assert_eq!(sent, wanted);
    });
}

/// The issue, section 6: exactly one stop reason a prompt, whatever is said twice.
#[test]
fn given_an_end_that_is_said_twice_when_it_comes_again_then_the_prompt_has_one_answer() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        scene.says([
            done(1),
            done(1),
            result(json!({})),
            state("idle"),
            state("idle"),
        ]);
        scene.cancel();
        scene.says([aborted(of(&[1])), state("idle")]);
        let answers = scene.told();
        let answers = answers
            .iter()
            .filter(|it| it.starts_with(&format!("{prompt} ")));
        assert_eq!(answers.count(), 1);
    });
}

/// The issue, section 6: `cancelled` is never told as `end_turn`, even where the turn had its
/// result behind the cancel; nor as an error.
#[test]
fn given_a_turn_that_ends_well_or_badly_behind_the_cancel_when_answered_then_it_is_cancelled() {
    for end in [
        done(1),
        result(json!({})),
        aborted(of(&[1])),
        aborted(json!({})),
    ] {
        each_way(|scene| {
            let prompt = scene.working("Working");
            scene.cancel();
            scene.says([end.clone()]);
            assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        });
    }
}

/// Work that was interrupted without a cancel of the editor is cancelled too (section 10).
#[test]
fn given_an_interrupted_turn_when_nobody_cancelled_then_it_is_told_as_cancelled() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        scene.says([aborted(of(&[1]))]);
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
    });
}

/// The issue, section 6: the editor leaves while a permission is open. Everybody is answered
/// at once; the process is asked to end, and the embedder sees to it that it does.
#[test]
fn given_an_open_permission_when_the_editor_leaves_then_all_is_answered_and_the_process_told() {
    for obedient in [true, false] {
        let mut scene = Scene::plain();
        scene.begin();
        let prompt = scene.working("Working");
        scene.says([can_use_tool("q1", "toolu_1", json!({}))]);
        assert_eq!(scene.desk.asking().len(), 1);
        scene.desk.host.obedient = obedient;
        scene.desk.hang_up();
        scene.settle();
        assert_eq!(scene.answer(prompt).as_deref(), Some("cancelled"));
        assert_eq!(scene.desk.done, Some(0), "{}", scene.log());
        assert_eq!(scene.desk.unanswered(), NOTHING);
        assert!(scene.desk.finished());
        let effects = scene.desk.calls.iter().flat_map(|call| &call.effects);
        let told = effects.filter_map(|effect| match effect {
            Effect::Host(_, it @ (HostDeparture::Terminate | HostDeparture::Finish)) => Some(it),
            _ => None,
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told, [&HostDeparture::Terminate, &HostDeparture::Finish]);
    }
}

/// 3.1 row 17: a tool of abandoned work is denied, and nobody is asked.
#[test]
fn given_abandoned_work_when_it_wants_a_tool_then_it_is_denied_and_nobody_is_asked() {
    each_way(|scene| {
        scene.working("Working");
        scene.cancel();
        scene.says([aborted(of(&[1])), can_use_tool("q1", "toolu_1", json!({}))]);
        let denied = json!({ "behavior": "deny", "toolUseID": "toolu_1",
                             "message": "The user cancelled this prompt." });
        let answer = json!({ "subtype": "success", "request_id": "q1", "response": denied });
        assert_eq!(scene.desk.host.answers, [answer]);
        assert_eq!(scene.desk.asking(), NOTHING);
        assert!(!scene.told().iter().any(|it| it.starts_with("tool_call")));
    });
}
