//! Rows of the adapter's conformance list about turns that no other test shows
//! (Maka adapter, sections 26.1, 26.2 and 26.13): prompts that share a feed, a page that
//! is late, long reads, turns of other clients.

use airlock_tests::scripted_host::{Scene, Turn, each_way, words};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn cancelled(prompt: u64) -> String {
    format!("{prompt} cancelled")
}

/// The prompt's turn is started and ends.
fn starts_and_ends(scene: &mut Scene, prompt: u64) {
    let asked = scene.asked("turn.start");
    let turn = Turn {
        prompt,
        id: asked.input["turnId"].as_str().unwrap().to_owned(),
        run: "run-1".to_owned(),
    };
    let started = scene.started(&turn);
    scene.result(&asked, &started);
    scene.now(&turn, "completed");
    assert_eq!(scene.editor(), [format!("{prompt} end_turn")]);
}

/// R10: two first prompts share one feed; the second is sent when the first has ended.
#[test]
fn given_two_prompts_before_a_feed_when_it_opens_then_they_share_it_one_after_the_other() {
    each_way(|scene| {
        let (first, second) = (scene.prompt("one"), scene.prompt("two"));
        assert_eq!(scene.host(), ["open"]);
        scene.open();
        assert_eq!(scene.count("turn.start"), 1);
        starts_and_ends(scene, first);
        starts_and_ends(scene, second);
        let close = scene.close();
        assert_eq!(scene.editor(), [format!("{close} {{}}")]);
        assert_eq!(scene.count("subscription.open"), 1);
        assert_eq!(scene.count("subscription.close"), 1);
    });
}

/// R21: the request itself is taken back while its feed is being opened.
#[test]
fn given_an_opening_under_way_when_its_request_is_cancelled_then_the_late_feed_starts_nothing() {
    each_way(|scene| {
        let prompt = scene.prompt("hello");
        scene.host();
        scene.cancel_request(prompt);
        assert_eq!(scene.editor(), [cancelled(prompt)]);
        scene.open();
        assert_eq!(scene.host(), ["close feed-1"]);
        scene.wait(60_000);
        assert_eq!(scene.host(), NOTHING);
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// R22: the other prompt takes the opening over, and is the only one that is started.
#[test]
fn given_two_prompts_before_a_feed_when_the_first_is_cancelled_then_only_the_second_starts() {
    each_way(|scene| {
        let (first, second) = (scene.prompt("one"), scene.prompt("two"));
        scene.cancel_request(first);
        assert_eq!(scene.editor(), [cancelled(first)]);
        assert_eq!(scene.host(), ["open"]);
        scene.open();
        starts_and_ends(scene, second);
        assert_eq!(scene.count("subscription.open"), 1);
        assert_eq!(scene.count("subscription.close"), 0);
        assert_eq!(scene.count("turn.start"), 1);
    });
}

/// R14: the record of an announced result is being read when the editor cancels.
#[test]
fn given_a_page_under_way_when_cancelled_then_one_stop_and_the_late_page_is_ignored() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.event(&turn, &json!({ "type": "tool_start", "toolName": "Bash" }));
        scene.event(
            &turn,
            &json!({ "type": "tool_result", "status": "completed" }),
        );
        scene.advanced(3);
        let page = scene.asked("session.transcript.page");
        scene.editor();
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), [format!("stop {} run-1", turn.id)]);
        let stop = scene.asked("turn.stop");
        let told = scene.told(&turn, "cancelled");
        scene.result(&stop, &told);
        assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
        let row = words::durable(2, &words::tool_result(&turn.id, "t1", "late"));
        scene.result(&page, &words::page(&[row], None));
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.host(), NOTHING);
    });
}

/// W8: the end of the editor waits for no page, be the turn over or not.
#[test]
fn given_a_page_under_way_when_the_editor_leaves_then_cancelled_and_the_end_waits_for_no_page() {
    for over in [true, false] {
        each_way(|scene| {
            let turn = scene.running("hello");
            scene.advanced(3);
            let page = scene.asked("session.transcript.page");
            if over {
                scene.result(&page, &words::page(&[], None));
                scene.now(&turn, "completed");
                scene.asked("session.transcript.page");
            }
            scene.hang_up();
            if !over {
                let stop = scene.asked("turn.stop");
                let told = scene.told(&turn, "cancelled");
                scene.result(&stop, &told);
            }
            assert_eq!(scene.editor(), [cancelled(turn.prompt)]);
            assert_eq!(scene.desk.done, Some(0));
            assert_eq!(scene.count("turn.stop"), usize::from(!over));
        });
    }
}

/// W3, W4: a page for every result, from where the last one ended; one scan at the end.
#[test]
fn given_results_one_after_another_when_read_then_a_page_each_and_one_scan_at_the_end() {
    for results in [1_024_u64, 2_048] {
        let mut scene = Scene::plain();
        scene.begin();
        let turn = scene.running("hello");
        let row =
            |at: u64| words::durable(at, &words::tool_result(&turn.id, &format!("t{at}"), "x"));
        for at in 1..=results {
            scene.advanced(at);
            let asked = scene.asked("session.transcript.page");
            let before = (at > 1).then(|| at - 1);
            assert_eq!(asked.input["anchorSequence"], json!(before));
            assert_eq!(asked.input["cursor"], Value::Null);
            assert_eq!(asked.input["throughSequence"], at);
            scene.result(&asked, &words::page(&[row(at)], None));
        }
        assert_eq!(scene.editor().len() as u64, results, "each is shown once");
        scene.now(&turn, "completed");
        let middle = results / 2;
        let (first, second): (Vec<u64>, Vec<u64>) = (1..=results).partition(|at| *at <= middle);
        let rows = |span: &[u64]| span.iter().map(|at| row(*at)).collect::<Vec<_>>();
        scene.page(&rows(&first), Some("more"));
        scene.page(&rows(&second), None);
        assert_eq!(scene.editor(), [format!("{} end_turn", turn.prompt)]);
        assert_eq!(scene.count("session.transcript.page") as u64, results + 2);
    }
}

/// R40 to R43, N53, N54: a turn of another client whose Stop fails: what it asks is never
/// asked here, and a close stops it again.
#[test]
fn given_a_stop_of_another_clients_turn_that_fails_when_closed_then_it_is_stopped_again() {
    each_way(|scene| {
        let turn = scene.running("hello");
        scene.now(&turn, "completed");
        let foreign = words::turn(&scene.session, "other", "run-9", "running", &Value::Null);
        let asks = |scene: &mut Scene, kind: &str| {
            let line = scene.root_line(&foreign, &[words::interaction("other", kind)]);
            scene.says([line]);
        };
        asks(scene, "permission");
        scene.editor();
        scene.host();
        scene.cancel();
        assert_eq!(scene.host(), ["stop other run-9"]);
        let stop = scene.asked("turn.stop");
        scene.error(&stop, "internal_failure", "no");
        asks(scene, "question");
        assert_eq!(scene.editor(), NOTHING);
        assert_eq!(scene.host(), NOTHING);
        let close = scene.close();
        assert_eq!(scene.host(), ["stop other run-9"]);
        let stop = scene.asked("turn.stop");
        let told = words::turn(&scene.session, "other", "run-9", "cancelled", &Value::Null);
        scene.result(&stop, &told);
        assert_eq!(scene.editor(), [format!("{close} {{}}")]);
    });
}
