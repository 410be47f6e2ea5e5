//! The hardest races of a turn: each names what may happen at once, and every order of it
//! that the protocols allow is played (Maka adapter, section 27: races 1, 2, 6, 7, 11, 14).
//!
//! Whatever the order: each request has one answer, no text is lost or doubled, no turn is
//! started twice, nothing is stopped twice, `end_turn` is true, nothing is shown after the
//! answer, nothing hangs, and the session takes the next prompt.

mod explore;
mod host;

use explore::{Event, Explored, Played, Race, explore};
use host::{Life, RESULT, Step, TEXT};

use airlock_tests::scripted_host::Scene;

/// Virtual milliseconds after which everything has to be over: five queries of a second
/// each with their pauses, and the end of a connection.
const PATIENCE: u64 = 30_000;

/// Race 1: the answer of `turn.start` is lost, and what the recovery finds may be older than
/// the admission.
#[test]
fn given_a_lost_start_answer_when_everything_comes_in_any_order_then_only_facts_settle_it() {
    run(&Race {
        alphabet: vec![
            Event::Lose,
            Event::LoseAnswers,
            Event::QueryFails,
            Event::Cancel,
            Event::Timer,
            Event::Timer,
        ],
        plan: vec![Step::Root, Step::Text, Step::End],
        prepare: dispatched,
    });
}

/// Race 2: a cancel, a close and the editor's end, before and while the turn gets its run.
#[test]
fn given_a_cancel_before_the_run_is_known_when_all_comes_in_any_order_then_it_is_stopped_once() {
    run(&Race {
        alphabet: vec![
            Event::Cancel,
            Event::Cancel,
            Event::Close,
            Event::Leave,
            Event::Timer,
        ],
        plan: vec![Step::Root, Step::Text, Step::End],
        prepare: dispatched,
    });
}

/// Race 6: a tool's end, its record and the turn's end, in any order; that the record is
/// there is told before the end, behind it, or never.
#[test]
fn given_a_tool_whose_end_record_and_turn_end_race_when_read_then_the_card_is_whole() {
    run(&Race {
        alphabet: vec![Event::Cancel, Event::Evict],
        plan: vec![
            Step::Root,
            Step::ToolStart,
            Step::Text,
            Step::ToolEnd,
            Step::Durable,
            Step::End,
            Step::Silent,
        ],
        prepare: running,
    });
}

/// Race 7: the feed breaks while stored rows are read.
#[test]
fn given_a_feed_that_breaks_while_rows_are_read_when_it_recovers_then_nothing_is_doubled() {
    run(&Race {
        alphabet: vec![
            Event::Evict,
            Event::LoseAnswers,
            Event::Cancel,
            Event::Timer,
        ],
        plan: vec![Step::Root, Step::Text, Step::Durable, Step::End],
        prepare: running,
    });
}

/// Race 11: what cannot be shown, and an explicit cancel.
#[test]
fn given_a_rewrite_and_a_cancel_when_they_come_in_any_order_then_cancelled_wins() {
    run(&Race {
        alphabet: vec![Event::Cancel, Event::Close, Event::Evict, Event::Timer],
        plan: vec![
            Step::Root,
            Step::Text,
            Step::Rewrite,
            Step::Durable,
            Step::End,
        ],
        prepare: running,
    });
}

/// Race 14: the editor leaves while nobody can say what became of the turn.
#[test]
fn given_an_editor_that_leaves_when_a_query_has_no_answer_then_the_end_comes_in_time() {
    run(&Race {
        alphabet: vec![
            Event::Leave,
            Event::LoseAnswers,
            Event::Lose,
            Event::QueryFails,
            Event::Cancel,
            Event::Timer,
            Event::Timer,
        ],
        plan: vec![Step::Root, Step::Text, Step::End],
        prepare: dispatched,
    });
}

/// The feed is open, and `turn.start` waits at the Host.
fn dispatched(scene: &mut Scene, life: &mut Life) {
    life.answers(scene, "subscription.open");
}

/// The turn runs, and the editor's side knows it.
fn running(scene: &mut Scene, life: &mut Life) {
    dispatched(scene, life);
    life.admits(scene);
    life.does(scene, Step::Root);
    life.answers(scene, "turn.start");
}

fn run(race: &Race) {
    let Explored {
        orders,
        states,
        widest,
    } = explore(race, &check);
    println!("{orders} orders, {states} distinct states, up to {widest} events at once");
    assert!(states > 100, "only {states} states");
}

fn check(played: Played) {
    let Played {
        path,
        mut scene,
        mut life,
        prompt,
    } = played;
    let mut passed = 0;
    while scene.desk.done.is_none() && passed < PATIENCE {
        let connected = !scene.desk.channels().is_empty();
        if connected && life.lives_on(&mut scene) {
            continue;
        }
        if scene.desk.unanswered().is_empty() && scene.desk.host.waiting().is_empty() {
            break;
        }
        let next = scene.desk.armed().first().map_or(100, |next| *next.max(&1));
        scene.wait(next);
        passed += next;
    }
    let had = |event: Event| path.contains(&event);
    let losses = path
        .iter()
        .filter(|it| matches!(it, Event::Lose | Event::LoseAnswers))
        .count();
    let lossy = losses > 0;
    let ended = had(Event::Cancel) || had(Event::Close) || had(Event::Leave);
    let log = || scene.story(&path);
    let answer = scene.settled(prompt, losses, &path);
    let shown = scene.said_of(TEXT, &path);
    match &*answer {
        "end_turn" => {
            assert!(life.completed(), "it has not ended: {}", log());
            assert_eq!(shown, TEXT, "{}", log());
            if life.did(Step::ToolStart) {
                let results = scene
                    .desk
                    .log
                    .iter()
                    .filter(|line| line.contains("rawOutput"));
                let results: Vec<_> = results.collect();
                assert_eq!(results.len(), 1, "{}", log());
                assert!(results[0].contains(RESULT), "{}", log());
            }
        }
        "cancelled" => {
            assert!(ended, "nobody cancelled: {}", log());
            // What is admitted after our time is up cannot be stopped by anybody.
            let in_time = !(had(Event::Leave) && had(Event::Timer));
            assert!(lossy || !in_time || !life.live(), "an orphan: {}", log());
            // As long as the editor is there, what became of the turn is found out.
            let asked_to_stop = scene.count("turn.stop") > 0;
            let left = had(Event::Leave);
            assert!(
                left || asked_to_stop || !life.live(),
                "an orphan: {}",
                log()
            );
        }
        error => {
            let rewritten =
                life.did(Step::Rewrite) && error.contains("unsupported_stream_revision");
            let unknown = lossy
                && !seen_before_the_loss(&path)
                && (error.contains("request_interrupted")
                    || error.contains("outcome_unknown")
                    || error.contains("not_found"));
            assert!(rewritten || unknown, "{error}: {}", log());
            let stopped = scene.count("turn.stop") > 0;
            assert!(stopped || !life.live(), "an orphan: {}", log());
            assert!(
                !(rewritten && had(Event::Cancel) && cancelled_first(&path)),
                "cancelled wins: {}",
                log()
            );
        }
    }
    if had(Event::Leave) {
        scene.gone(&path);
    } else if !had(Event::Close) && !life.live() {
        goes_on(&mut scene, &mut life, &path);
    }
}

/// Whether the editor cancelled before the rewrite came.
fn cancelled_first(path: &[Event]) -> bool {
    let at = |event: Event| path.iter().position(|it| *it == event);
    match (at(Event::Cancel), at(Event::Does(Step::Rewrite))) {
        (Some(cancel), Some(rewrite)) => cancel < rewrite,
        (Some(_), None) => true,
        _ => false,
    }
}

/// Whether the feed showed the turn before any connection was lost: then the loss of an
/// answer says nothing new.
fn seen_before_the_loss(path: &[Event]) -> bool {
    let seen = path.iter().position(|it| *it == Event::Does(Step::Root));
    let lost = path
        .iter()
        .position(|it| matches!(it, Event::Lose | Event::LoseAnswers));
    seen.is_some_and(|seen| lost.is_none_or(|lost| seen < lost))
}

fn goes_on(scene: &mut Scene, life: &mut Life, path: &[Event]) {
    life.next_turn();
    let prompt = scene.prompt("again");
    for _ in 0..200 {
        let connected = !scene.desk.channels().is_empty();
        if !(connected && life.lives_on(scene)) {
            let next = scene.desk.armed().first().map_or(50, |next| *next.max(&1));
            scene.wait(next);
        }
        if scene.answer(prompt).is_some() {
            break;
        }
    }
    assert_eq!(
        scene.answer(prompt),
        Some(format!("{prompt} end_turn")),
        "{}",
        scene.story(&path)
    );
}
