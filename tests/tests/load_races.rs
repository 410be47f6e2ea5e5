//! A load and what may come across it: a close, a cancel, the end of input, a slow editor, a
//! flood of the turn that runs (Maka adapter, sections 14, 15, 23 and 27.27).

#[path = "support/loads.rs"]
mod loads;

use airlock_engine::{Input, Origin, limits};
use airlock_tests::scripted_host::{Scene, each_way_bare, words};
use loads::{NOTHING, begin, done, each_way, known, load, resume, rows, theirs};
use serde_json::{Value, json};

fn unknown(id: u64) -> String {
    format!(r#"{id} error -32002 {{"reason":"unknown_session","sessionId":"stored"}}"#)
}

fn cancelled(id: u64) -> String {
    format!("{id} error -32800 null")
}

fn said(turn: &str, message: &str, text: &str) -> Vec<Value> {
    vec![
        words::assistant(turn, message, text),
        words::turn_state(turn, "completed", &json!({})),
    ]
}

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The Host is asked for the session.
    Catalog,
    /// The file system is asked for the folder.
    Folder,
    /// The feed is being opened.
    Opening,
    /// The past is being read.
    Reading,
}

const PHASES: [Phase; 4] = [
    Phase::Catalog,
    Phase::Folder,
    Phase::Opening,
    Phase::Reading,
];

/// A load that has got there.
fn load_until(scene: &mut Scene, phase: Phase) -> u64 {
    let id = load(scene);
    if phase == Phase::Catalog {
        return id;
    }
    scene.desk.files_answer = phase != Phase::Folder;
    known(scene);
    if phase == Phase::Reading {
        scene.open_with(&Value::Null, &json!(3), &json!({}));
        scene.page(&rows(0, &said("t1", "a", "One.")), Some("more"));
        assert_eq!(scene.editor(), ["says a: \"One.\""]);
    }
    id
}

/// What the Host still had to say comes after all.
fn late(scene: &mut Scene, phase: Phase) {
    scene.desk.files_answer = true;
    match phase {
        Phase::Catalog => known(scene),
        Phase::Folder => scene.settle(),
        Phase::Opening => scene.open_with(&Value::Null, &json!(3), &json!({})),
        Phase::Reading => scene.page(&rows(2, &said("t2", "b", "Two.")), None),
    }
}

/// N25: a close wins over a load at each of its phases; what comes late is let go.
#[test]
fn given_a_load_at_each_phase_when_closed_then_the_load_is_unknown_and_nothing_is_kept() {
    for phase in PHASES {
        each_way(|scene| {
            let id = load_until(scene, phase);
            let waiting = load(scene);
            let close = scene
                .desk
                .request("session/close", &json!({ "sessionId": "stored" }));
            scene.settle();
            assert_eq!(
                scene.editor(),
                [unknown(id), unknown(waiting), done(close)],
                "{phase:?}"
            );
            late(scene, phase);
            assert_eq!(scene.editor(), NOTHING, "{phase:?}");
            let opened = scene.count("subscription.open");
            assert_eq!(opened, usize::from(phase as u8 >= Phase::Opening as u8));
            assert_eq!(scene.count("subscription.close"), opened, "{phase:?}");
            let prompt = scene.prompt("hello");
            assert_eq!(scene.editor(), [unknown(prompt)]);
            // After a close, everything is told again.
            let id = load(scene);
            known(scene);
            scene.open_with(&Value::Null, &json!(1), &json!({}));
            scene.page(&rows(0, &said("t1", "a", "One.")), None);
            assert_eq!(scene.editor(), ["says a: \"One.\"".to_owned(), done(id)]);
        });
    }
}

/// N71 to N76: a load that the editor takes back is let go at each of its phases, and may be
/// tried again: then what was told is not told again.
#[test]
fn given_a_load_at_each_phase_when_its_request_is_cancelled_then_let_go_and_a_retry_works() {
    for phase in PHASES {
        each_way(|scene| {
            let id = load_until(scene, phase);
            scene.cancel_request(id);
            assert_eq!(scene.editor(), [cancelled(id)], "{phase:?}");
            late(scene, phase);
            assert_eq!(scene.editor(), NOTHING, "{phase:?}");
            let opened = scene.count("subscription.open");
            assert_eq!(scene.count("subscription.close"), opened, "{phase:?}");
            let id = load(scene);
            known(scene);
            scene.open_with(&Value::Null, &json!(3), &json!({}));
            let first = if phase == Phase::Reading { 2 } else { 0 };
            scene.host();
            let all = [said("t1", "a", "One."), said("t2", "b", "Two.")].concat();
            scene.page(&rows(first, &all[first as usize..]), None);
            let told = scene.editor();
            assert_eq!(told.last(), Some(&done(id)));
            let texts = scene.desk.shown("agent_message_chunk");
            let wanted = [("a", "One."), ("b", "Two.")];
            assert_eq!(
                texts,
                wanted.map(|(id, text)| (id.to_owned(), text.to_owned()))
            );
        });
    }
}

/// N77 to N80: a load of a session of ours that is taken back leaves the prompt, its feed and
/// the ownership.
#[test]
fn given_a_prompt_that_runs_when_a_load_is_cancelled_then_the_prompt_goes_on() {
    each_way_bare(|scene| {
        scene.begin();
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        scene.text(&turn, "m", 0, "Hel");
        scene.advanced(1);
        let id = load(scene);
        known(scene);
        // A page for the prompt, which is not waited for any more, and one for the load.
        assert_eq!(scene.count("session.transcript.page"), 2);
        scene.text(&turn, "m", 3, "lo");
        scene.cancel_request(id);
        // Frames were held back: they are had anew.
        let row = words::overlay(0, &words::assistant(&turn.id, "m", "Hello"));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &Value::Null, &more);
        scene.now(&turn, "completed");
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} end_turn", turn.prompt))
        );
        assert_eq!(
            scene.desk.shown("agent_message_chunk"),
            [("m".to_owned(), "Hello".to_owned())]
        );
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// Section 15: the end of input answers a load at each of its phases, and leaves nothing.
#[test]
fn given_a_load_at_each_phase_when_input_ends_then_answered_and_the_end_is_clean() {
    for phase in PHASES {
        each_way(|scene| {
            let id = load_until(scene, phase);
            let waiting = load(scene);
            scene.hang_up();
            let closing = r#""operation":"subscription.open","code":"registry_closed""#;
            let other = r#""operation":"session.catalog.query","code":"registry_closed""#;
            for id in [id, waiting] {
                let answer = scene.answer(id).unwrap();
                assert!(
                    answer.contains(closing) || answer.contains(other),
                    "{answer}"
                );
            }
            assert_eq!(scene.desk.done, Some(0), "{phase:?}");
            assert_eq!(scene.desk.left_armed, [0; 0], "{phase:?}");
        });
    }
}

/// N26: a load waits for a close that runs, and then begins anew.
#[test]
fn given_a_close_that_waits_for_its_stop_when_loaded_then_the_load_waits_for_the_close() {
    each_way_bare(|scene| {
        scene.begin();
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        let close = scene.close();
        scene.editor();
        scene.host();
        let id = load(scene);
        assert_eq!(scene.host(), NOTHING);
        let asked = scene.asked("turn.stop");
        let stopped = scene.told(&turn, "cancelled");
        scene.result(&asked, &stopped);
        assert_eq!(
            scene.editor(),
            [format!("{} cancelled", turn.prompt), done(close)]
        );
        known(scene);
        scene.open();
        assert_eq!(scene.editor(), [done(id)]);
        assert_eq!(scene.count("subscription.open"), 2);
    });
}

/// A session that is gone while its load waits for a close is not there; the close that comes
/// meanwhile takes the load with it.
#[test]
fn given_a_load_behind_a_close_when_closed_again_then_the_load_is_unknown() {
    each_way_bare(|scene| {
        scene.begin();
        let turn = scene.running("hello");
        scene.now(&turn, "running");
        let close = scene.close();
        let id = load(scene);
        let again = scene.close();
        assert!(scene.answer(id).unwrap().contains("unknown_session"));
        let asked = scene.asked("turn.stop");
        let stopped = scene.told(&turn, "cancelled");
        scene.result(&asked, &stopped);
        assert_eq!(scene.answer(close), Some(done(close)));
        assert_eq!(scene.answer(again), Some(done(again)));
        assert_eq!(scene.count("session.catalog.query"), 0);
    });
}

/// A delete wins as a close does, and goes on to delete.
#[test]
fn given_a_load_when_its_session_is_deleted_then_the_load_is_unknown_and_it_is_deleted() {
    each_way(|scene| {
        let id = load_until(scene, Phase::Reading);
        let delete = scene
            .desk
            .request("session/delete", &json!({ "sessionId": "stored" }));
        scene.settle();
        assert_eq!(scene.editor(), [unknown(id)]);
        assert_eq!(scene.count("subscription.close"), 1);
        known(scene);
        let asked = scene.asked("session.remove");
        scene.result(&asked, &json!({ "kind": "removed", "sessionId": "stored" }));
        assert_eq!(scene.editor(), [done(delete)]);
    });
}

/// Our start and another client's cross: the Host takes theirs, ours is told so, and theirs
/// is told.
#[test]
fn given_a_prompt_when_another_client_was_faster_then_refused_as_busy_and_theirs_is_told() {
    each_way(|scene| {
        resume(scene);
        known(scene);
        scene.open();
        scene.editor();
        let prompt = scene.prompt("mine");
        let asked = scene.asked("turn.start");
        let turn = theirs("t1");
        scene.now(&turn, "running");
        scene.advanced(0);
        scene.text(&turn, "a", 0, "Theirs.");
        scene.error(&asked, "session_busy", "busy");
        let answer = scene.answer(prompt).unwrap();
        assert!(answer.contains("session_busy"), "{answer}");
        assert_eq!(scene.editor(), [answer]);
        // The page for ours comes late, and is none for theirs.
        scene.page(&[], None);
        assert_eq!(scene.editor(), NOTHING);
        scene.page(&rows(0, &[words::user("t1", "u", "Go.")]), None);
        assert_eq!(scene.editor(), ["asks u: \"Go.\""]);
        // What it said before it was looked at is missing: the feed is had anew.
        scene.text(&turn, "a", 7, " More.");
        let row = words::overlay(0, &words::assistant("t1", "a", "Theirs. More."));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(0), &more);
        scene.page(&rows(0, &[words::user("t1", "u", "Go.")]), None);
        assert_eq!(scene.editor(), ["says a: \"Theirs. More.\""]);
    });
}

/// A turn that floods while the past is read: memory is bounded, the reading goes on, and
/// the flood is read from the store after it.
#[test]
fn given_a_flood_while_the_past_is_read_when_it_is_over_then_the_turn_is_read_anew() {
    let mut scene = Scene::batched();
    begin(&mut scene);
    let turn = theirs("t2");
    let id = load(&mut scene);
    known(&mut scene);
    let root = scene.told(&turn, "running");
    scene.open_with(&root, &json!(3), &json!({}));
    let mut length = 0;
    let mut size = 0;
    for at in 0..2 * limits::MAKA_HELD_FRAMES {
        scene.text(&turn, "b", length, "0123456789");
        length += 10;
        if at == limits::MAKA_HELD_FRAMES + 1 {
            size = scene.desk.state_size();
        }
    }
    assert_eq!(scene.desk.state_size(), size);
    assert_eq!(scene.count("subscription.open"), 1);
    let past = [said("t1", "a", "One."), vec![words::user("t2", "u", "Go.")]].concat();
    scene.page(&rows(0, &past), None);
    let wanted = [
        "says a: \"One.\"".to_owned(),
        "asks u: \"Go.\"".to_owned(),
        done(id),
    ];
    assert_eq!(scene.editor(), wanted);
    // The feed is closed and had anew: with the turn's text, and without the past.
    let whole = "0123456789".repeat(usize::try_from(length / 10).unwrap());
    let row = words::overlay(0, &words::assistant("t2", "b", &whole));
    let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) });
    scene.open_with(&root, &json!(2), &more);
    scene.page(&rows(2, &[words::user("t2", "u", "Go.")]), None);
    scene.text(&turn, "b", length, "!");
    assert_eq!(
        scene.desk.shown("agent_message_chunk")[1],
        ("b".to_owned(), format!("{whole}!"))
    );
    assert_eq!(scene.desk.shown("user_message_chunk").len(), 1);
}

/// Rule R7: an editor that does not read holds back the next page, and nothing else.
#[test]
fn given_a_slow_editor_when_a_long_past_is_told_then_pages_wait_and_nothing_is_lost() {
    let mut scene = Scene::batched();
    begin(&mut scene);
    let id = load(&mut scene);
    known(&mut scene);
    let count = 60_u64;
    scene.open_with(&Value::Null, &json!(count - 1), &json!({}));
    scene.desk.editor_reads = false;
    let text = "0123456789abcdef".repeat(24 << 10);
    let mut at = 0;
    while scene
        .desk
        .host
        .waiting()
        .contains(&"session.transcript.page")
    {
        let row = words::assistant("t1", &format!("m{at}"), &text);
        let next = format!("c{at}");
        scene.page(&[words::durable(at, &row)], Some(&next));
        at += 1;
        assert!(at < count, "the whole past was read");
    }
    assert!(scene.desk.waiting() <= limits::ACP_WAITING + (1 << 20));
    assert!(scene.desk.state_size() < 1 << 20);
    let pages = scene.count("session.transcript.page");
    // The feed breaks meanwhile: nothing is opened before the editor reads again.
    scene.closed("slow_consumer");
    assert_eq!(scene.count("subscription.open"), 1);
    scene.desk.editor_reads = true;
    scene.settle();
    scene.open_with(&Value::Null, &json!(count - 1), &json!({}));
    scene.host();
    while at < count {
        let row = words::assistant("t1", &format!("m{at}"), &text);
        let next = format!("c{at}");
        let last = at + 1 == count;
        scene.page(&[words::durable(at, &row)], (!last).then_some(&*next));
        at += 1;
    }
    assert_eq!(scene.answer(id), Some(done(id)));
    let shown = scene.desk.shown("agent_message_chunk");
    assert_eq!(shown.len() as u64, count);
    assert!(shown.iter().all(|(_, it)| *it == text));
    assert!(scene.count("session.transcript.page") > pages);
}

/// The same without a break: the page that waited is asked for when the editor reads.
#[test]
fn given_a_slow_editor_when_it_reads_again_then_the_next_page_is_asked_for() {
    let mut scene = Scene::batched();
    begin(&mut scene);
    let id = load(&mut scene);
    known(&mut scene);
    scene.open_with(&Value::Null, &json!(99), &json!({}));
    scene.desk.editor_reads = false;
    let text = "0123456789abcdef".repeat(24 << 10);
    let mut at = 0;
    while scene
        .desk
        .host
        .waiting()
        .contains(&"session.transcript.page")
    {
        let row = words::assistant("t1", &format!("m{at}"), &text);
        scene.page(&[words::durable(at, &row)], Some(&format!("c{at}")));
        at += 1;
    }
    scene.desk.editor_reads = true;
    scene.settle();
    scene.page(&rows(at, &said("t1", "last", "Two.")), None);
    assert_eq!(scene.answer(id), Some(done(id)));
    assert_eq!(scene.count("subscription.open"), 1);
}

/// Section 7 of the house: an answer about the folder that traps refuses that load only.
#[test]
fn given_a_folder_that_traps_when_loaded_then_that_load_is_refused() {
    each_way(|scene| {
        scene.desk.files_answer = false;
        let id = load(scene);
        known(scene);
        scene.desk.arrives(Input::Poison(Origin::File(1)));
        scene.settle();
        assert_eq!(
            scene.editor(),
            [format!(
                r#"{id} error -32603 {{"source":"filesystem","operation":"cwd.realpath","code":"internal_failure"}}"#
            )]
        );
    });
}

/// Memory does not grow with the past: digests and a mark are not even needed.
#[test]
fn given_a_long_past_when_loaded_then_the_state_stays_as_small_as_it_was() {
    let mut scene = Scene::batched();
    begin(&mut scene);
    let id = load(&mut scene);
    known(&mut scene);
    let turns = 2_000_u64;
    scene.open_with(&Value::Null, &json!(turns * 4 - 1), &json!({}));
    let mut largest = 0;
    for turn in 0..turns {
        let name = format!("t{turn}");
        let tool = format!("b{turn}");
        let all = [
            words::user(&name, &format!("u{turn}"), "Again."),
            words::tool_call(&name, &tool),
            words::tool_result(&name, &tool, &"x".repeat(1_000)),
            words::turn_state(&name, "completed", &json!({})),
        ];
        let next = format!("c{turn}");
        let last = turn + 1 == turns;
        scene.page(&rows(turn * 4, &all), (!last).then_some(&*next));
        if turn == 10 {
            largest = scene.desk.state_size();
        }
    }
    assert_eq!(scene.answer(id), Some(done(id)));
    assert!(
        scene.desk.state_size() < largest + 1_000,
        "{largest} → {}",
        scene.desk.state_size()
    );
    assert_eq!(scene.desk.shown("user_message_chunk").len() as u64, turns);
}

/// One turn with more tools than a prompt may show is told all the same.
#[test]
fn given_a_past_turn_with_more_tools_than_a_prompt_may_have_when_loaded_then_all_are_told() {
    let mut scene = Scene::batched();
    begin(&mut scene);
    let id = load(&mut scene);
    known(&mut scene);
    let tools = limits::PROMPT_TOOLS + 10;
    scene.open_with(&Value::Null, &json!(tools * 2 - 1), &json!({}));
    for at in 0..tools {
        let tool = format!("b{at}");
        let pair = [
            words::tool_call("t1", &tool),
            words::tool_result("t1", &tool, &"x".repeat(2_000)),
        ];
        let next = format!("c{at}");
        let last = at + 1 == tools;
        scene.page(&rows(at * 2, &pair), (!last).then_some(&*next));
    }
    assert_eq!(scene.answer(id), Some(done(id)));
    let ended = scene
        .desk
        .updates()
        .filter(|it| it["status"] == "completed");
    assert_eq!(ended.count() as u64, tools);
}
