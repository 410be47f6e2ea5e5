//! Sixteen feeds for any number of sessions: the least recently used one in which nothing
//! runs gives way (Maka adapter, sections 16.1; protocol, section 3.2).

use airlock_engine::limits;
use airlock_tests::conversation::CWD;
use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::{Value, json};

/// That many sessions; making one costs no feed (R8).
fn sessions(scene: &mut Scene, count: usize) -> Vec<String> {
    let mut sessions = vec![scene.session.clone()];
    while sessions.len() < count {
        let params = json!({ "cwd": "/w", "mcpServers": [] });
        let id = scene.desk.request("session/new", &params);
        scene.settle();
        let made = scene.answer(id).unwrap();
        let (_, result) = made.split_once(' ').unwrap();
        let result: Value = serde_json::from_str(result).unwrap();
        sessions.push(result["sessionId"].as_str().unwrap().to_owned());
    }
    assert_eq!(scene.count("subscription.open"), 0);
    sessions
}

/// A feed of one of the sessions; frames are written for it from now on.
struct Open {
    session: String,
    feed: String,
    turn: Turn,
}

fn look_at(scene: &mut Scene, open: &Open) {
    scene.session.clone_from(&open.session);
    scene.feed.clone_from(&open.feed);
    (scene.sequence, scene.revision) = (0, 1);
}

/// A turn runs in each of the sessions.
fn all_running(scene: &mut Scene, sessions: &[String]) -> Vec<Open> {
    let run = |session: &String| {
        scene.session.clone_from(session);
        let turn = scene.running("hello");
        Open {
            session: session.clone(),
            feed: scene.feed.clone(),
            turn,
        }
    };
    sessions.iter().map(run).collect()
}

fn complete(scene: &mut Scene, open: &Open) {
    look_at(scene, open);
    scene.now(&open.turn, "completed");
    let answer = scene.answer(open.turn.prompt);
    assert_eq!(answer, Some(format!("{} end_turn", open.turn.prompt)));
}

/// Acceptance 5: the 17th session takes the feed of the one that was used longest ago, after
/// it is closed; that one gets another when it is used again.
#[test]
fn given_sixteen_idle_feeds_when_another_is_needed_then_the_least_recently_used_gives_way() {
    each_way(|scene| {
        let sessions = sessions(scene, 17);
        let open = all_running(scene, &sessions[..16]);
        for open in open.iter().rev() {
            complete(scene, open);
        }
        // They ended in reverse: the sixteenth is the one used longest ago.
        scene.host();
        scene.desk.host.by_hand("subscription.close");
        scene.session.clone_from(&sessions[16]);
        let prompt = scene.prompt("hello");
        assert_eq!(
            scene.host(),
            ["close feed-16"],
            "no open before there is room"
        );
        let asked = scene.asked("subscription.close");
        scene.result(&asked, &json!({ "subscriptionId": "feed-16" }));
        assert_eq!(scene.host(), ["open"]);
        scene.open();
        scene.asked("turn.start");
        assert_eq!(scene.answer(prompt), None);
        scene.desk.host.by_itself("subscription.close");
        // The sixteenth is used again: the fifteenth gives way.
        scene.session.clone_from(&sessions[15]);
        scene.host();
        scene.prompt("again");
        assert_eq!(scene.host(), ["close feed-15", "open"]);
    });
}

/// The error names the reason, and comes only when every feed is needed.
#[test]
fn given_sixteen_running_turns_when_another_is_prompted_then_refused_with_the_reason() {
    each_way(|scene| {
        let sessions = sessions(scene, 17);
        let open = all_running(scene, &sessions[..16]);
        scene.session.clone_from(&sessions[16]);
        let prompt = scene.prompt("hello");
        assert_eq!(
            scene.answer(prompt).unwrap(),
            format!(
                r#"{prompt} error -32603 {{"source":"runtime_host","operation":"subscription.open","code":"operation_conflict"}}"#
            )
        );
        let line = scene.desk.log.last().unwrap();
        assert!(
            line.contains("A turn runs in each of 16 sessions"),
            "{line}"
        );
        assert_eq!(scene.count("subscription.open"), 16);
        assert_eq!(scene.count("subscription.close"), 0);
        // One ends: there is room.
        complete(scene, &open[7]);
        scene.session.clone_from(&sessions[16]);
        scene.host();
        let turn = scene.running("again");
        assert_eq!(
            scene.host(),
            [
                "close feed-8".to_owned(),
                "open".to_owned(),
                format!("start {} \"again\"", turn.id)
            ]
        );
        assert_eq!(limits::MAKA_FEEDS, 16);
    });
}

/// 16.1: a close makes room as well.
#[test]
fn given_sixteen_running_turns_when_one_session_is_closed_then_there_is_room() {
    each_way(|scene| {
        let sessions = sessions(scene, 17);
        let open = all_running(scene, &sessions[..16]);
        look_at(scene, &open[0]);
        scene.close();
        let asked = scene.asked("turn.stop");
        let stopped = scene.told(&open[0].turn, "cancelled");
        scene.result(&asked, &stopped);
        scene.session.clone_from(&sessions[16]);
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        assert_eq!(
            scene.answer(turn.prompt),
            Some(format!("{} end_turn", turn.prompt))
        );
    });
}

/// A turn of another client that runs keeps its session's feed too, and so does a load.
#[test]
fn given_sixteen_feeds_when_another_client_uses_one_then_that_one_does_not_give_way() {
    each_way(|scene| {
        let sessions = sessions(scene, 17);
        let open = all_running(scene, &sessions[..16]);
        for open in &open {
            complete(scene, open);
        }
        look_at(scene, &open[0]);
        let theirs = Turn {
            prompt: 0,
            id: "t1".to_owned(),
            run: "r1".to_owned(),
        };
        scene.sequence = 1;
        scene.revision = 2;
        scene.now(&theirs, "running");
        scene.session.clone_from(&sessions[16]);
        scene.host();
        scene.prompt("hello");
        assert_eq!(scene.host(), ["close feed-2", "open"]);
    });
}

/// A session that is looked at and gave way is told from where it was, when it is used again.
#[test]
fn given_an_observed_session_that_gave_way_when_used_again_then_what_was_missed_is_told_first() {
    each_way(|scene| {
        let sessions = sessions(scene, 17);
        let params = json!({ "sessionId": scene.session, "cwd": CWD, "mcpServers": [] });
        let id = scene.desk.request("session/resume", &params);
        scene.settle();
        let asked = scene.asked("session.catalog.query");
        let item = words::session(&json!(scene.session), &json!(CWD));
        scene.result(&asked, &json!({ "kind": "session", "session": item }));
        scene.open();
        assert_eq!(scene.answer(id), Some(format!("{id} {{}}")));
        let others = all_running(scene, &sessions[1..16]);
        scene.session.clone_from(&sessions[16]);
        scene.host();
        let last = scene.running("hello");
        assert_eq!(scene.host()[..2], ["close feed-1", "open"]);
        scene.now(&last, "completed");
        complete(scene, &others[0]);
        scene.editor();
        scene.session.clone_from(&sessions[0]);
        let prompt = scene.prompt("mine");
        let ended = words::turn(&scene.session, "t1", "r1", "completed", &json!({}));
        scene.open_with(&ended, &json!(1), &json!({}));
        assert_eq!(scene.desk.host.take("turn.start").map(|it| it.input), None);
        let missed = [
            words::durable(0, &words::user("t1", "u", "Missed?")),
            words::durable(1, &words::turn_state("t1", "completed", &json!({}))),
        ];
        scene.page(&missed, None);
        assert_eq!(scene.editor(), ["asks u: \"Missed?\""]);
        scene.asked("turn.start");
        assert_eq!(scene.answer(prompt), None);
    });
}

/// A feed that was asked for and never answered in time still takes the Host's room; if it
/// comes after all, it is closed.
#[test]
fn given_an_opening_that_comes_after_its_time_when_answered_then_it_is_closed() {
    each_way(|scene| {
        let turn = scene.prompt("hello");
        let late = scene.asked("subscription.open");
        scene.wait(limits::MAKA_READ_MS);
        scene.host();
        let answer = scene.opening(&late, &Value::Null, &Value::Null, &json!({}));
        scene.says([answer]);
        assert_eq!(scene.host(), ["close feed-1"]);
        scene.open();
        scene.asked("turn.start");
        assert_eq!(scene.answer(turn), None);
    });
}

/// The room of a feed whose closing is never confirmed is taken all the same, in the end.
#[test]
fn given_a_close_that_is_never_answered_when_a_prompt_waits_for_its_room_then_not_for_ever() {
    each_way(|scene| {
        let sessions = sessions(scene, 17);
        for open in &all_running(scene, &sessions[..16]) {
            complete(scene, open);
        }
        scene.desk.host.by_hand("subscription.close");
        scene.session.clone_from(&sessions[16]);
        let prompt = scene.prompt("hello");
        scene.wait(limits::MAKA_READ_MS - 1);
        assert_eq!(scene.count("subscription.open"), 16);
        scene.wait(1);
        scene.open();
        scene.asked("turn.start");
        assert_eq!(scene.answer(prompt), None);
    });
}

/// One that was refused does not take the place of one that waits for a feed to be closed.
#[test]
fn given_a_refused_prompt_when_another_waits_for_a_feed_that_is_closed_then_it_gets_it() {
    each_way(|scene| {
        let sessions = sessions(scene, 18);
        let open = all_running(scene, &sessions[..16]);
        scene.session.clone_from(&sessions[16]);
        let refused = scene.prompt("hello");
        assert!(scene.answer(refused).is_some());
        scene.desk.host.by_hand("subscription.close");
        look_at(scene, &open[0]);
        scene.close();
        let asked = scene.asked("turn.stop");
        let stopped = scene.told(&open[0].turn, "cancelled");
        scene.result(&asked, &stopped);
        scene.session.clone_from(&sessions[17]);
        let waits = scene.prompt("hello");
        assert_eq!(scene.answer(waits), None, "a feed is being closed");
        let asked = scene.asked("subscription.close");
        scene.result(&asked, &json!({ "subscriptionId": "feed-1" }));
        scene.open();
        scene.asked("turn.start");
        assert_eq!(scene.answer(waits), None);
    });
}
