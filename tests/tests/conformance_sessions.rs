//! Rows of the adapter's conformance list about sessions that are taken in while something
//! else goes on in them, where no other test shows them (Maka adapter, section 26.2): turns of
//! other clients, a prompt beside a load, a request that is taken back.

use airlock_tests::conversation::CWD;
use airlock_tests::scripted_host::{Scene, Turn, each_way, each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn ask(scene: &mut Scene, method: &str) -> u64 {
    let params = json!({ "sessionId": scene.session, "cwd": CWD, "mcpServers": [] });
    let id = scene.desk.request(method, &params);
    scene.settle();
    id
}

/// The Host knows the session, in this folder.
fn known_in(scene: &mut Scene, cwd: &str) {
    let asked = scene.asked("session.catalog.query");
    let item = words::session(&json!(scene.session), &json!(cwd));
    scene.result(&asked, &json!({ "kind": "session", "session": item }));
}

fn known(scene: &mut Scene) {
    known_in(scene, CWD);
}

/// A session that is not ours yet.
fn each_way_stored(play: impl Fn(&mut Scene)) {
    each_way_bare(|scene| {
        scene.desk.initialize();
        scene.session = "stored".to_owned();
        scene.settle();
        scene.editor();
        scene.host();
        play(scene);
    });
}

fn theirs(id: &str) -> Turn {
    Turn {
        prompt: 0,
        id: id.to_owned(),
        run: format!("run-{id}"),
    }
}

fn rows(from: u64, rows: &[Value]) -> Vec<Value> {
    let numbered = (from..).zip(rows);
    numbered.map(|(at, row)| words::durable(at, row)).collect()
}

fn done(id: u64) -> String {
    format!("{id} {{}}")
}

fn overlay(turn: &str, message: &str, text: &str) -> Value {
    let row = words::overlay(0, &words::assistant(turn, message, text));
    json!({ "overlayMessageCount": 1, "overlay": words::page(&[row], None) })
}

/// N22: another client's turn began on the idle feed of a session of ours, and asks
/// something: a load tells it from its beginning, and its question is left to its client.
#[test]
fn given_another_clients_turn_on_an_idle_feed_when_loaded_then_it_is_told_from_its_beginning() {
    each_way(|scene| {
        let ours = scene.running("hello");
        scene.now(&ours, "completed");
        let turn = theirs("t2");
        let root = scene.told(&turn, "waiting_for_user");
        let pending = [words::interaction("t2", "permission")];
        let line = scene.root_line(&root, &pending);
        scene.says([line]);
        scene.text(&turn, "a", 0, "so far");
        scene.editor();
        let id = ask(scene, "session/load");
        known(scene);
        let mut more = overlay("t2", "a", "so far");
        more["pending"] = json!(pending);
        scene.open_with(&root, &json!(0), &more);
        scene.page(&rows(0, &[words::user("t2", "u", "Go.")]), None);
        scene.text(&turn, "a", 6, " so good");
        assert_eq!(
            scene.editor(),
            [
                "asks u: \"Go.\"".to_owned(),
                "says a: \"so far\"".to_owned(),
                done(id),
                "says a: \" so good\"".to_owned(),
            ]
        );
        assert_eq!(scene.count("turn.stop"), 0);
        assert_eq!(scene.count("subscription.close"), 1);
    });
}

/// N43, N49 to N51: what another client's turn asks when it is taken in is left to that
/// client, whatever it is; nothing is stopped, and the turn is told on.
#[test]
fn given_another_clients_turn_that_asks_when_taken_in_then_nobody_is_asked_and_it_is_told() {
    for method in ["session/load", "session/resume"] {
        for kind in ["permission", "question", "form", "riddle"] {
            each_way_stored(|scene| {
                let turn = theirs("t1");
                let id = ask(scene, method);
                known(scene);
                let root = scene.told(&turn, "waiting_for_user");
                let mut more = overlay("t1", "a", "May I?");
                more["pending"] = json!([words::interaction("t1", kind)]);
                scene.open_with(&root, &json!(0), &more);
                scene.page(&rows(0, &[words::user("t1", "u", "Go.")]), None);
                let mut wanted = vec![
                    "asks u: \"Go.\"".to_owned(),
                    "says a: \"May I?\"".to_owned(),
                    done(id),
                ];
                if method == "session/resume" {
                    wanted.drain(..2);
                }
                assert_eq!(scene.editor(), wanted, "{kind}");
                scene.now(&turn, "running");
                scene.text(&turn, "a", 6, " Thanks.");
                assert_eq!(scene.editor(), ["says a: \" Thanks.\""]);
                scene.now(&turn, "failed");
                let asked = ["turn.stop", "interaction.query", "interaction.answer"];
                assert!(asked.iter().all(|it| scene.count(it) == 0));
                assert_eq!(scene.count("subscription.close"), 0);
            });
        }
    }
}

/// N18: taken in once more while a turn is told; that one and its successor are told in
/// order, each once.
#[test]
fn given_a_turn_that_is_observed_when_taken_in_again_and_another_follows_then_each_is_told_once() {
    each_way_stored(|scene| {
        let (first, second) = (theirs("t1"), theirs("t2"));
        let id = ask(scene, "session/resume");
        known(scene);
        let root = scene.told(&first, "running");
        scene.open_with(&root, &json!(0), &json!({}));
        let question = words::user("t1", "u1", "Go.");
        scene.page(&rows(0, std::slice::from_ref(&question)), None);
        scene.text(&first, "a", 0, "A1 ");
        let again = ask(scene, "session/resume");
        known(scene);
        scene.text(&first, "a", 3, "A2");
        assert_eq!(
            scene.editor(),
            [
                done(id),
                "says a: \"A1 \"".to_owned(),
                done(again),
                "says a: \"A2\"".to_owned()
            ]
        );
        let end = [
            words::assistant("t1", "a", "A1 A2"),
            words::turn_state("t1", "completed", &json!({})),
        ];
        scene.advanced(2);
        scene.page(&rows(1, &end), None);
        scene.now(&first, "completed");
        let all = [&[question][..], &end].concat();
        scene.page(&rows(0, &all), None);
        scene.now(&second, "admitted");
        scene.advanced(4);
        scene.now(&second, "running");
        let next = [
            words::user("t2", "u2", "And?"),
            words::turn_state("t2", "running", &json!({})),
        ];
        scene.page(&rows(3, &next), None);
        scene.text(&second, "b", 0, "B");
        assert_eq!(scene.editor(), ["asks u2: \"And?\"", "says b: \"B\""]);
        assert_eq!(scene.count("subscription.open"), 1);
    });
}

/// N73, N74: a resume that is taken back while its feed is being opened, or while what the
/// turn that runs has stored is read, is let go, and may be tried again.
#[test]
fn given_a_resume_at_each_phase_when_its_request_is_cancelled_then_let_go_and_a_retry_works() {
    for reading in [false, true] {
        each_way_stored(|scene| {
            let turn = theirs("t1");
            let root = scene.told(&turn, "running");
            let question = rows(0, &[words::user("t1", "u", "Go.")]);
            let id = ask(scene, "session/resume");
            known(scene);
            if reading {
                scene.open_with(&root, &json!(0), &json!({}));
            }
            scene.cancel_request(id);
            assert_eq!(scene.editor(), [format!("{id} error -32800 null")]);
            if reading {
                scene.page(&question, None);
            } else {
                scene.open_with(&root, &json!(0), &json!({}));
            }
            assert_eq!(scene.editor(), NOTHING);
            assert_eq!(scene.count("subscription.close"), 1);
            let id = ask(scene, "session/resume");
            known(scene);
            scene.open_with(&root, &json!(0), &json!({}));
            scene.page(&question, None);
            scene.text(&turn, "a", 0, "Here.");
            assert_eq!(scene.editor(), [done(id), "says a: \"Here.\"".to_owned()]);
            assert_eq!(scene.count("turn.stop"), 0);
        });
    }
}

/// N77, N79: a load and a prompt of a session of ours wait for one feed; either is taken
/// back, and the other has it.
#[test]
fn given_a_load_and_a_prompt_that_wait_for_a_feed_when_one_is_cancelled_then_the_other_has_it() {
    for load_goes in [true, false] {
        each_way(|scene| {
            let load = ask(scene, "session/load");
            known(scene);
            let prompt = scene.prompt("hello");
            assert_eq!(scene.count("subscription.open"), 1);
            scene.cancel_request(if load_goes { load } else { prompt });
            while scene.desk.host.waiting().contains(&"subscription.open") {
                scene.open();
            }
            if load_goes {
                let asked = scene.asked("turn.start");
                let turn = Turn {
                    prompt,
                    id: asked.input["turnId"].as_str().unwrap().to_owned(),
                    run: "run-1".to_owned(),
                };
                let started = scene.started(&turn);
                scene.result(&asked, &started);
                scene.now(&turn, "completed");
                assert_eq!(
                    scene.editor(),
                    [
                        format!("{load} error -32800 null"),
                        format!("{prompt} end_turn")
                    ]
                );
            } else {
                assert_eq!(scene.editor(), [format!("{prompt} cancelled"), done(load)]);
                assert_eq!(scene.count("turn.start"), 0);
            }
            let next = scene.running("again");
            scene.now(&next, "completed");
            assert_eq!(
                scene.answer(next.prompt),
                Some(format!("{} end_turn", next.prompt))
            );
        });
    }
}

/// N80: the prompt whose turn runs is taken back while a load reads the past: the load goes on.
#[test]
fn given_a_prompt_that_runs_when_it_is_cancelled_in_mid_load_then_the_load_goes_on() {
    for fails in [false, true] {
        each_way(|scene| {
            let turn = scene.running("hello");
            scene.now(&turn, "running");
            scene.advanced(2);
            let own = words::user(&turn.id, "u", "hello");
            let past = [
                words::user("t0", "u0", "Go."),
                words::assistant("t0", "a0", "Gone."),
            ];
            scene.page(&rows(2, std::slice::from_ref(&own)), None);
            let load = ask(scene, "session/load");
            known(scene);
            scene.page(&rows(0, &past[..1]), Some("more"));
            scene.cancel_request(turn.prompt);
            let stop = scene.asked("turn.stop");
            if fails {
                scene.error(&stop, "internal_failure", "no");
            } else {
                let told = scene.told(&turn, "cancelled");
                scene.result(&stop, &told);
                scene.now(&turn, "cancelled");
            }
            scene.page(&rows(1, &[past[1].clone(), own]), None);
            assert_eq!(
                scene.editor(),
                [
                    "asks u0: \"Go.\"".to_owned(),
                    format!("{} cancelled", turn.prompt),
                    "says a0: \"Gone.\"".to_owned(),
                    done(load)
                ]
            );
            assert_eq!(scene.count("turn.stop"), 1);
        });
    }
}
