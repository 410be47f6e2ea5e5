//! Turns of other clients: after a load or a resume, all that happens in the session is told
//! (Maka adapter, sections 16 and 23).

use airlock_tests::conversation::CWD;
use airlock_tests::scripted_host::{Scene, Turn, each_way, each_way_bare, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

/// An idle session without any row, resumed: from now on it is looked at.
fn observed(play: impl Fn(&mut Scene)) {
    each_way_bare(|scene| {
        scene.desk.initialize();
        scene.session = "stored".to_owned();
        take_in(scene, "session/resume");
        scene.open();
        scene.editor();
        scene.host();
        play(scene);
    });
}

/// Asks for the session; the Host knows it.
fn take_in(scene: &mut Scene, method: &str) -> u64 {
    let params = json!({ "sessionId": scene.session, "cwd": CWD, "mcpServers": [] });
    let id = scene.desk.request(method, &params);
    scene.settle();
    let asked = scene.asked("session.catalog.query");
    let item = words::session(&json!(scene.session), &json!(CWD));
    scene.result(&asked, &json!({ "kind": "session", "session": item }));
    id
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

fn question(turn: &Turn) -> Vec<Value> {
    vec![
        words::user(&turn.id, &format!("{}-u", turn.id), "A question."),
        words::turn_state(&turn.id, "running", &json!({})),
    ]
}

fn asks(turn: &Turn) -> String {
    format!("asks {}-u: \"A question.\"", turn.id)
}

/// Another client's turn begins; its two first rows come after `through` others.
fn begins(scene: &mut Scene, turn: &Turn, first: u64) {
    scene.now(turn, "admitted");
    scene.advanced(first + 1);
    scene.now(turn, "running");
    scene.page(&rows(first, &question(turn)), None);
}

/// It says one message and ends; `first` is the number of the message's row.
fn ends(scene: &mut Scene, turn: &Turn, first: u64, message: &str, text: &str) {
    let all = [
        words::assistant(&turn.id, message, text),
        words::turn_state(&turn.id, "completed", &json!({})),
    ];
    scene.advanced(first);
    scene.page(&rows(first, &all[..1]), None);
    scene.advanced(first + 1);
    scene.page(&rows(first + 1, &all[1..]), None);
    scene.now(turn, "completed");
    scene.page(&rows(first, &all), None);
}

/// Every later turn, by any client; its user's words come first, though its own come before
/// the page with them.
#[test]
fn given_an_observed_session_when_another_client_starts_a_turn_then_it_is_told_live() {
    observed(|scene| {
        let turn = theirs("t1");
        scene.now(&turn, "admitted");
        scene.advanced(1);
        scene.now(&turn, "running");
        scene.text(&turn, "a", 0, "An ans");
        assert_eq!(scene.editor(), NOTHING, "the question is not known yet");
        scene.page(&rows(0, &question(&turn)), None);
        assert_eq!(
            scene.editor(),
            [asks(&turn), "says a: \"An ans\"".to_owned()]
        );
        scene.text(&turn, "a", 6, "wer");
        scene.event(
            &turn,
            &json!({ "type": "tool_start", "toolName": "Bash", "activityKind": "command" }),
        );
        assert_eq!(scene.editor(), ["says a: \"wer\"", "card t1 in_progress"]);
        scene.now(&turn, "failed");
        assert_eq!(scene.editor(), ["card t1 → failed"]);
        assert_eq!(scene.count("turn.start") + scene.count("turn.stop"), 0);
    });
}

/// One turn after another, each once, without a page read in vain.
#[test]
fn given_an_observed_session_when_turns_follow_each_other_then_each_is_told_once() {
    observed(|scene| {
        let (first, second) = (theirs("t1"), theirs("t2"));
        begins(scene, &first, 0);
        scene.text(&first, "a", 0, "One.");
        ends(scene, &first, 2, "a", "One.");
        begins(scene, &second, 4);
        ends(scene, &second, 6, "b", "Two.");
        assert_eq!(
            scene.editor(),
            [
                asks(&first),
                "says a: \"One.\"".to_owned(),
                asks(&second),
                "says b: \"Two.\"".to_owned()
            ]
        );
        let pages: Vec<String> = scene.host();
        let from: Vec<&str> = pages
            .iter()
            .filter(|line| line.starts_with("page"))
            .map(|line| line.split(" from ").nth(1).unwrap())
            .collect();
        assert_eq!(
            from,
            [
                "null cursor null through 1",
                "1 cursor null through 2",
                "2 cursor null through 3",
                "null cursor null through 3",
                "3 cursor null through 5",
                "5 cursor null through 6",
                "6 cursor null through 7",
                "3 cursor null through 7",
            ]
        );
    });
}

/// The turns of a session that was only made here are not told (as ever), until it is
/// taken in.
#[test]
fn given_a_session_of_ours_when_another_client_starts_a_turn_then_it_is_told_only_once_taken_in() {
    each_way(|scene| {
        let ours = scene.running("hello");
        scene.now(&ours, "completed");
        scene.editor();
        let turn = theirs("t1");
        scene.now(&turn, "running");
        scene.text(&turn, "a", 0, "so far");
        assert_eq!(scene.editor(), NOTHING);
        // What it has said so far is told only at an opening.
        let params = json!({ "sessionId": scene.session, "cwd": CWD, "mcpServers": [] });
        let id = scene.desk.request("session/resume", &params);
        scene.settle();
        let asked = scene.asked("session.catalog.query");
        let item = words::session(&json!(scene.session), &json!(CWD));
        scene.result(&asked, &json!({ "kind": "session", "session": item }));
        let partial = words::overlay(0, &words::assistant("t1", "a", "so far"));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[partial], None) });
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &Value::Null, &more);
        scene.text(&turn, "a", 6, " so good");
        assert_eq!(
            scene.editor(),
            [format!("{id} {{}}"), "says a: \" so good\"".to_owned()]
        );
        assert_eq!(scene.count("subscription.open"), 2);
        assert_eq!(scene.count("subscription.close"), 1);
    });
}

/// A prompt waits for the turn that runs, as it waits for one of ours.
#[test]
fn given_a_turn_of_another_client_when_prompted_then_the_prompt_waits_for_its_end() {
    observed(|scene| {
        let turn = theirs("t1");
        begins(scene, &turn, 0);
        let prompt = scene.prompt("mine");
        assert_eq!(scene.count("turn.start"), 0);
        ends(scene, &turn, 2, "a", "Done.");
        assert_eq!(
            scene.editor(),
            [asks(&turn), "says a: \"Done.\"".to_owned()]
        );
        let asked = scene.asked("turn.start");
        let mine = Turn {
            prompt,
            id: asked.input["turnId"].as_str().unwrap().to_owned(),
            run: "run-1".to_owned(),
        };
        let started = scene.started(&mine);
        scene.result(&asked, &started);
        scene.now(&mine, "running");
        scene.text(&mine, "m", 0, "Yours.");
        scene.now(&mine, "completed");
        assert_eq!(
            scene.editor(),
            [
                "says m: \"Yours.\"".to_owned(),
                format!("{prompt} end_turn")
            ]
        );
    });
}

/// R37: `session/cancel` stops the turn of another client and cancels what waits behind it;
/// how it ends is still told.
#[test]
fn given_a_turn_of_another_client_when_cancelled_then_one_stop_and_its_end_is_told() {
    observed(|scene| {
        let turn = theirs("t1");
        begins(scene, &turn, 0);
        scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
        let prompt = scene.prompt("mine");
        scene.editor();
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), ["stop t1 run-t1"]);
        assert_eq!(scene.editor(), [format!("{prompt} cancelled")]);
        let asked = scene.asked("turn.stop");
        let ended = scene.told(&turn, "cancelled");
        scene.result(&asked, &ended);
        scene.now(&turn, "cancelled");
        assert_eq!(scene.editor(), ["card t1 → failed"]);
        assert_eq!(scene.count("turn.stop"), 1);
    });
}

/// R38, R39: a close and the end of input stop it too, and wait for nothing else of it.
#[test]
fn given_a_turn_of_another_client_when_closed_or_ended_then_stopped_and_answered() {
    for end in [false, true] {
        observed(|scene| {
            let turn = theirs("t1");
            begins(scene, &turn, 0);
            scene.editor();
            let close = if end {
                scene.hang_up();
                0
            } else {
                scene.close()
            };
            assert_eq!(scene.count("turn.stop"), 1);
            scene.text(&turn, "a", 0, "late");
            assert_eq!(scene.editor(), NOTHING);
            let asked = scene.asked("turn.stop");
            let ended = scene.told(&turn, "cancelled");
            scene.result(&asked, &ended);
            if end {
                assert_eq!(scene.desk.done, Some(0));
                assert!(scene.desk.left_armed.is_empty());
            } else {
                assert_eq!(scene.editor(), [format!("{close} {{}}")]);
                assert_eq!(scene.count("subscription.close"), 1);
            }
        });
    }
}

/// N22, N23: a question of it is asked here as well, once; whoever answers first has answered.
#[test]
fn given_a_turn_of_another_client_when_it_asks_then_the_user_is_asked_here_too() {
    observed(|scene| {
        let turn = theirs("t1");
        begins(scene, &turn, 0);
        scene.editor();
        let told = words::pending(&scene.session, "t1", "i1", &words::request("permission"));
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.confirm(&told);
        let asks = scene.editor();
        assert_eq!(asks[0], "card t1 pending");
        assert!(asks[1].starts_with("asks 1 t1 Authorize Bash"), "{asks:?}");
        scene.choose("allow_once");
        let outcome = json!({ "kind": "permission_answer", "reviewer": "user",
            "decision": "allow", "rememberForTurn": false, "committedAt": 1 });
        scene.takes_answer(&told, &outcome);
        assert_eq!(scene.editor(), ["card t1 → in_progress"]);
        scene.pending(&turn, &[]);
        scene.text(&turn, "a", 0, "Thanks.");
        assert_eq!(scene.editor(), ["says a: \"Thanks.\""]);
        assert_eq!(
            scene.count("turn.stop") + scene.count("subscription.close"),
            0
        );
    });
}

/// N43: a question that was pending before the session was taken in is asked, once.
#[test]
fn given_a_turn_that_waits_for_the_user_when_resumed_then_its_question_is_asked() {
    each_way_bare(|scene| {
        scene.desk.initialize();
        scene.session = "stored".to_owned();
        let id = take_in(scene, "session/resume");
        let turn = theirs("t1");
        let told = words::pending(&scene.session, "t1", "i1", &words::request("permission"));
        let root = scene.told(&turn, "waiting_for_user");
        scene.open_with(&root, &Value::Null, &json!({ "pending": [told] }));
        scene.confirm(&told);
        let asks = scene.editor();
        assert!(asks.contains(&format!("{id} {{}}")), "{asks:?}");
        assert!(
            asks.last().unwrap().starts_with("asks 1 t1 Authorize Bash"),
            "{asks:?}"
        );
        // Another client answers: the question is taken back.
        scene.pending(&turn, &[]);
        assert_eq!(scene.count("interaction.answer"), 0);
        assert_eq!(scene.count("turn.stop"), 0);
    });
}

/// 13.1, N53: to turn away from its question ends the turn, as it ends one of ours.
#[test]
fn given_a_question_of_another_clients_turn_when_turned_away_then_that_turn_is_stopped_once() {
    observed(|scene| {
        let turn = theirs("t1");
        begins(scene, &turn, 0);
        let told = words::pending(&scene.session, "t1", "i1", &words::request("permission"));
        scene.pending(&turn, std::slice::from_ref(&told));
        scene.confirm(&told);
        scene.host();
        scene.reply(&json!({ "outcome": { "outcome": "cancelled" } }));
        assert_eq!(scene.host(), ["stop t1 run-t1"]);
        assert_eq!(scene.count("interaction.answer"), 0);
    });
}

/// N49, N50, R40: one that cannot be asked here is left to its own client.
#[test]
fn given_a_turn_of_another_client_when_it_asks_what_cannot_be_asked_then_it_is_left_alone() {
    observed(|scene| {
        let turn = theirs("t1");
        begins(scene, &turn, 0);
        scene.editor();
        for kind in ["permission", "question"] {
            let mut told = words::interaction("t1", kind);
            told["interactionId"] = json!(kind);
            scene.pending(&turn, &[told]);
        }
        scene.text(&turn, "a", 0, "Thanks.");
        assert_eq!(scene.editor(), ["says a: \"Thanks.\""]);
        assert_eq!(
            scene.count("turn.stop") + scene.count("subscription.close"),
            0
        );
    });
}

/// 16.5: the feed breaks while it is told; it goes on where it was.
#[test]
fn given_a_turn_of_another_client_when_the_feed_breaks_then_it_goes_on_without_loss() {
    observed(|scene| {
        let turn = theirs("t1");
        begins(scene, &turn, 0);
        scene.text(&turn, "a", 0, "Hel");
        scene.closed("slow_consumer");
        scene.host();
        let partial = words::overlay(0, &words::assistant("t1", "a", "Hello"));
        let more = json!({ "overlayMessageCount": 1, "overlay": words::page(&[partial], None) });
        let root = scene.told(&turn, "running");
        scene.open_with(&root, &json!(1), &more);
        scene.page(&rows(0, &question(&turn)), None);
        scene.text(&turn, "a", 5, "!");
        assert_eq!(
            scene.editor(),
            [
                asks(&turn),
                "says a: \"Hel\"".to_owned(),
                "says a: \"lo\"".to_owned(),
                "says a: \"!\"".to_owned()
            ]
        );
    });
}

/// 27.21: while the feed was away, it ended and others came and went; all is told, in order.
#[test]
fn given_an_observed_session_when_the_host_is_back_then_what_was_missed_is_told() {
    observed(|scene| {
        let (first, second, third) = (theirs("t1"), theirs("t2"), theirs("t3"));
        begins(scene, &first, 0);
        scene.text(&first, "a", 0, "On");
        scene.lose();
        scene.wait(100);
        let root = scene.told(&third, "running");
        scene.open_with(&root, &json!(9), &json!({}));
        let missed = [
            question(&first),
            vec![
                words::assistant("t1", "a", "One."),
                words::turn_state("t1", "completed", &json!({})),
            ],
            question(&second),
            vec![
                words::assistant("t2", "b", "Two."),
                words::turn_state("t2", "completed", &json!({})),
            ],
            question(&third),
        ]
        .concat();
        // First the turn that was told is brought to its end, then the rest.
        scene.page(&rows(0, &missed), None);
        scene.page(&rows(0, &missed[..4]), Some("more"));
        scene.page(&rows(8, &missed[8..]), None);
        scene.text(&third, "c", 0, "Three.");
        assert_eq!(
            scene.editor(),
            [
                asks(&first),
                "says a: \"On\"".to_owned(),
                "says a: \"e.\"".to_owned(),
                asks(&second),
                "says b: \"Two.\"".to_owned(),
                asks(&third),
                "says c: \"Three.\"".to_owned()
            ]
        );
    });
}

/// What cannot be shown of another client's turn is no reason to stop it (decision).
#[test]
fn given_a_turn_of_another_client_when_its_text_is_rewritten_then_it_is_not_stopped() {
    observed(|scene| {
        let turn = theirs("t1");
        begins(scene, &turn, 0);
        scene.text(&turn, "a", 0, "One.");
        scene.advanced(2);
        scene.page(&rows(2, &[words::assistant("t1", "a", "Two.")]), None);
        scene.text(&turn, "a", 4, " More.");
        scene.now(&turn, "failed");
        assert_eq!(scene.editor(), [asks(&turn), "says a: \"One.\"".to_owned()]);
        assert_eq!(scene.count("turn.stop"), 0);
        // The next one is told again.
        let next = theirs("t2");
        begins(scene, &next, 3);
        assert_eq!(scene.editor(), [asks(&next)]);
    });
}

/// The Host is away for long: looked for now and then, and nothing is missed.
#[test]
fn given_an_idle_observed_session_when_the_host_is_away_for_long_then_looked_for_now_and_then() {
    observed(|scene| {
        scene.desk.host.refusal = Some(airlock_engine::HostRefusal::Absent);
        scene.lose();
        scene.wait(10_000);
        scene.desk.host.refusal = None;
        scene.wait(30_000);
        let turn = theirs("t1");
        let ended = scene.told(&turn, "completed");
        scene.open_with(&ended, &json!(3), &json!({}));
        let missed = [
            question(&turn),
            vec![
                words::assistant("t1", "a", "One."),
                words::turn_state("t1", "completed", &json!({})),
            ],
        ]
        .concat();
        scene.page(&rows(0, &missed), None);
        assert_eq!(scene.editor(), [asks(&turn), "says a: \"One.\"".to_owned()]);
    });
}

/// A session that is removed at the Host is looked at no more.
#[test]
fn given_an_observed_session_when_it_is_removed_then_nobody_looks_for_it() {
    observed(|scene| {
        scene.closed("session_removed");
        scene.wait(120_000);
        assert_eq!(scene.count("subscription.open"), 1);
    });
}

/// Our prompt on an observed session is told once, and the turn after it too.
#[test]
fn given_an_observed_session_when_we_and_another_take_turns_then_each_is_told_once() {
    observed(|scene| {
        let mine = scene.running("hello");
        scene.now(&mine, "running");
        scene.advanced(1);
        scene.page(&rows(0, &question(&mine)), None);
        scene.text(&mine, "m", 0, "Mine.");
        scene.now(&mine, "failed");
        let answer = scene.answer(mine.prompt).unwrap();
        assert_eq!(scene.editor(), ["says m: \"Mine.\"".to_owned(), answer]);
        let turn = theirs("t2");
        begins(scene, &turn, 2);
        assert_eq!(scene.editor(), [asks(&turn)]);
    });
}
