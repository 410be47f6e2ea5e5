//! Streamed text against its whole copy, and what of it is shown around a cancel (Claude
//! adapter, sections 6.1, 9.4, 9.5, rows of 3.3): every text once.

use airlock_tests::scripted_cli::words::{
    NEW, OLD, aborted, assistant, assistant_of, block_in, block_stop, by_itself, done, echo, event,
    interrupted, life, of, requesting, result, start, start_in, state, stop, task_over,
    task_started, text, text_block, text_in, thought, thought_block,
};
use airlock_tests::scripted_cli::{Scene, answer_frames, each_way};
use serde_json::{Value, json};

const NOTHING: [&str; 0] = [];

fn said(text: &str, id: &str) -> String {
    format!("agent_message_chunk {} {id}", Value::from(text))
}

fn thinks(text: &str, id: &str) -> String {
    format!("agent_thought_chunk {} {id}", Value::from(text))
}

/// A first prompt that is taken.
fn taken(scene: &mut Scene) -> u64 {
    let prompt = scene.prompt("one");
    scene.takes(1, &NEW);
    prompt
}

/// A first prompt that streams, is cancelled, and has its aborted result.
fn cancelled(scene: &mut Scene) {
    let prompt = scene.working("Working");
    scene.cancel();
    scene.replies("interrupt", &json!({ "still_queued": [] }));
    scene.says([aborted(of(&[1])), life(1, "cancelled")]);
    let told = [said("Working", "msg_1"), format!("{prompt} cancelled")];
    assert_eq!(scene.editor(), told);
}

/// 3.3: no delta.
#[test]
fn given_a_message_that_does_not_stream_when_its_copy_comes_then_it_is_shown_whole() {
    each_way(|scene| {
        taken(scene);
        let thinking = json!({ "type": "thinking", "thinking": "Hm.", "signature": "s" });
        let both = json!([thinking, { "type": "text", "text": "Yes." }]);
        scene.says([assistant_of("msg_1", &both)]);
        assert_eq!(
            scene.editor(),
            [thinks("Hm.", "msg_1"), said("Yes.", "msg_1")]
        );
    });
}

/// 3.3: all streamed, and what is empty vanishes.
#[test]
fn given_blocks_that_streamed_when_their_copies_come_then_nothing_more_is_shown() {
    each_way(|scene| {
        taken(scene);
        let thinking = json!([{ "type": "thinking", "thinking": "Hm.", "signature": "s" }]);
        scene.says([start("msg_1"), thought_block(0), thought(0, "")]);
        scene.says([
            thought(0, "Hm."),
            assistant_of("msg_1", &thinking),
            block_stop(0),
        ]);
        scene.says([
            text_block(1),
            text(1, "Yes"),
            text(1, "."),
            assistant("msg_1", "Yes."),
        ]);
        scene.says([assistant("msg_1", ""), block_stop(1), stop()]);
        let told = [
            thinks("Hm.", "msg_1"),
            said("Yes", "msg_1"),
            said(".", "msg_1"),
        ];
        assert_eq!(scene.editor(), told);
    });
}

/// 3.3: a cut stream, and ids that differ.
#[test]
fn given_a_stream_that_was_cut_when_the_copy_comes_then_only_the_tail_is_shown() {
    each_way(|scene| {
        taken(scene);
        scene.says([start("msg_1"), text_block(0), text(0, "Half")]);
        scene.says([assistant("msg_x", "Half and half")]);
        assert_eq!(
            scene.editor(),
            [said("Half", "msg_1"), said(" and half", "msg_x")]
        );
    });
}

/// 3.3: per block type, in order; a block whose copy is another does not hide the next.
#[test]
fn given_a_copy_of_many_blocks_when_some_streamed_then_each_is_found_by_type_and_order() {
    each_way(|scene| {
        taken(scene);
        scene.says([
            start("msg_1"),
            text_block(0),
            text(0, "A"),
            text_block(1),
            text(1, "B"),
        ]);
        let copy = json!([
            { "type": "thinking", "thinking": "A", "signature": "s" },
            { "type": "text", "text": "C" },
            { "type": "text", "text": "B." }
        ]);
        scene.says([assistant_of("msg_1", &copy)]);
        let told = [
            said("A", "msg_1"),
            said("B", "msg_1"),
            thinks("A", "msg_1"),
            said("C", "msg_1"),
            said(".", "msg_1"),
        ];
        assert_eq!(scene.editor(), told);
    });
}

/// 3.3: the stream may begin before the echo, and go on behind it.
#[test]
fn given_a_stream_ahead_of_its_echo_when_the_echo_comes_between_then_each_text_is_shown_once() {
    each_way(|scene| {
        let prompt = scene.prompt("one");
        scene.says([state("running"), life(1, "started"), requesting(&[1])]);
        let thinking = json!([{ "type": "thinking", "thinking": "Hm.", "signature": "s" }]);
        scene.says([start("msg_1"), thought_block(0), thought(0, "Hm."), echo(1)]);
        scene.says([
            assistant_of("msg_1", &thinking),
            text_block(1),
            text(1, "Yes."),
        ]);
        scene.says([assistant("msg_1", "Yes."), stop(), done(1)]);
        let told = [
            thinks("Hm.", "msg_1"),
            said("Yes.", "msg_1"),
            format!("{prompt} end_turn"),
        ];
        assert_eq!(scene.editor(), told);
    });
}

/// Section 3 of the issue: a stream that breaks off and starts again says nothing twice.
#[test]
fn given_a_stream_that_breaks_off_when_it_starts_again_then_only_what_is_new_is_shown() {
    each_way(|scene| {
        taken(scene);
        scene.says([start("msg_1"), text_block(0), text(0, "Hello wor")]);
        scene.says([start("msg_2"), text_block(0), text(0, "Hel")]);
        assert_eq!(scene.editor(), [said("Hello wor", "msg_1")]);
        scene.says([
            start("msg_3"),
            text_block(0),
            text(0, "Hello"),
            text(0, " world"),
        ]);
        scene.says([assistant("msg_3", "Hello world"), block_stop(0), stop()]);
        assert_eq!(scene.editor(), [said("ld", "msg_3")]);
    });
}

/// Likewise, where it says something else.
#[test]
fn given_a_stream_that_breaks_off_when_it_says_something_else_then_that_is_shown_whole() {
    each_way(|scene| {
        taken(scene);
        scene.says([start("msg_1"), text_block(0), text(0, "Hello wor")]);
        scene.says([start("msg_2"), text_block(0), text(0, "Hel"), text(0, "p!")]);
        scene.says([assistant("msg_2", "Help!")]);
        assert_eq!(
            scene.editor(),
            [said("Hello wor", "msg_1"), said("Help!", "msg_2")]
        );
    });
}

/// The next message of a turn may begin like the last one.
#[test]
fn given_a_whole_message_when_the_next_begins_like_it_then_both_are_shown_whole() {
    each_way(|scene| {
        taken(scene);
        scene.says(answer_frames("msg_1", &["Hello"]));
        scene.says(answer_frames("msg_2", &["Hello again"]));
        let told = [said("Hello", "msg_1"), said("Hello again", "msg_2")];
        assert_eq!(scene.editor(), told);
    });
}

/// 3.2: text of a cancelled turn is not taken for that of the next.
#[test]
fn given_a_cancelled_stream_when_the_next_turn_says_the_same_then_it_is_shown_whole() {
    for idle_only in [false, true] {
        each_way(|scene| {
            scene.working("Working");
            scene.cancel();
            scene.replies("interrupt", &json!({ "still_queued": [] }));
            if !idle_only {
                scene.says([aborted(of(&[1]))]);
            }
            scene.says([state("idle")]);
            scene.editor();
            let prompt = scene.prompt("two");
            scene.says([
                state("running"),
                life(2, "started"),
                requesting(&[2]),
                echo(2),
            ]);
            scene.says(answer_frames("msg_2", &["Working", " again"]));
            scene.says([done(2)]);
            let told = [
                said("Working", "msg_2"),
                said(" again", "msg_2"),
                format!("{prompt} end_turn"),
            ];
            assert_eq!(scene.editor(), told);
        });
    }
}

/// The issue, section 6: a gateway's messages have no id.
#[test]
fn given_messages_without_ids_when_they_stream_then_each_text_is_shown_once_under_one_id() {
    each_way(|scene| {
        taken(scene);
        let bare = |mut frame: Value| {
            for at in ["/message/id", "/event/message/id"] {
                if let Some(id) = frame.pointer_mut(at) {
                    *id = Value::Null;
                }
            }
            frame
        };
        scene.says([bare(start("")), text_block(0), text(0, "Half")]);
        scene.says([bare(assistant("", "Half and half")), stop(), done(1)]);
        let told = scene.editor();
        let id = told[0].rsplit(' ').next().expect("an id").to_owned();
        assert_eq!(told[..2], [said("Half", &id), said(" and half", &id)]);
        assert!(id.starts_with("frame-"), "{told:?}");
    });
}

/// Likewise a turn that begins in mid message.
#[test]
fn given_a_turn_that_begins_in_mid_message_when_it_streams_then_its_text_has_its_own_id() {
    each_way(|scene| {
        taken(scene);
        scene.says(answer_frames("msg_1", &["First"]));
        scene.says([done(1), state("idle")]);
        scene.editor();
        scene.prompt("two");
        scene.says([
            state("running"),
            echo(2),
            text(0, "Second"),
            text(0, " text"),
        ]);
        scene.says([assistant("msg_2", "Second text"), done(2)]);
        let told = scene.editor();
        let id = told[0].rsplit(' ').next().expect("an id").to_owned();
        assert_eq!(told[..2], [said("Second", &id), said(" text", &id)]);
        assert!(id.starts_with("frame-") && told.len() == 3, "{told:?}");
    });
}

/// D1, 9.4: before the report, what the interrupt flushes is shown; the copy is not.
#[test]
fn given_a_cancel_when_the_interrupt_flushes_then_the_tail_is_shown_and_its_copy_is_not() {
    each_way(|scene| {
        let prompt = scene.working("Working");
        scene.cancel();
        scene.says([text(0, ", stopping")]);
        scene.says([
            assistant("msg_1", "Working, stopping, and more"),
            interrupted(),
        ]);
        scene.says([aborted(of(&[1]))]);
        let told = [
            said("Working", "msg_1"),
            said(", stopping", "msg_1"),
            format!("{prompt} cancelled"),
        ];
        assert_eq!(scene.editor(), told);
    });
}

/// D2, 9.4: after the report, nothing is shown until the window closes.
#[test]
fn given_a_report_when_stopped_work_goes_on_then_nothing_of_it_is_shown() {
    each_way(|scene| {
        cancelled(scene);
        scene.says([text(0, " late"), assistant("msg_1", "Working late")]);
        scene.says([
            start("msg_x"),
            thought_block(0),
            thought(0, "late"),
            text(1, "late"),
        ]);
        let late = json!([{ "type": "thinking", "thinking": "late", "signature": "s" }]);
        scene.says([assistant_of("msg_x", &late)]);
        assert_eq!(scene.editor(), NOTHING);
    });
}

/// 9.4: a subagent that runs on in the background is not part of what was stopped.
#[test]
fn given_a_background_subagent_when_the_work_is_reported_then_its_text_is_shown() {
    each_way(|scene| {
        let agent = Some("toolu_agent");
        let prompt = scene.working("Working");
        scene.says([task_started("toolu_agent", true), start_in("msg_s", agent)]);
        scene.cancel();
        scene.says([aborted(of(&[1]))]);
        scene.says([
            text_in(0, "still here", agent),
            task_over("toolu_agent", "completed"),
        ]);
        scene.says([text_in(0, "gone", agent)]);
        let told = [
            said("Working", "msg_1"),
            format!("{prompt} cancelled"),
            said("still here", "msg_s"),
        ];
        assert_eq!(scene.editor(), told);
    });
}

/// 9.5, 3.1 row 10: the window closes in mid block, and the block comes once, whole.
#[test]
fn given_an_echo_in_mid_block_when_the_window_closes_then_the_block_comes_whole_from_its_copy() {
    each_way(|scene| {
        cancelled(scene);
        scene.prompt("two");
        scene.says([start("msg_2"), text_block(0), text(0, "First "), echo(2)]);
        scene.says([
            text(0, "block."),
            assistant("msg_2", "First block."),
            block_stop(0),
        ]);
        scene.says([text_block(1), text(1, "Second "), text(1, "block.")]);
        scene.says([assistant("msg_2", "Second block.")]);
        let told = [
            said("First block.", "msg_2"),
            said("Second ", "msg_2"),
            said("block.", "msg_2"),
        ];
        assert_eq!(scene.editor(), told);
    });
}

/// 9.5, 3.1 row 11: the same with a thought.
#[test]
fn given_an_echo_in_mid_thought_when_the_window_closes_then_the_thought_comes_whole() {
    each_way(|scene| {
        cancelled(scene);
        scene.prompt("two");
        scene.says([start("msg_2"), thought_block(0), thought(0, "I "), echo(2)]);
        let copy = json!([{ "type": "thinking", "thinking": "I think.", "signature": "s" }]);
        scene.says([thought(0, "think."), assistant_of("msg_2", &copy)]);
        scene.says([text_block(1), text(1, "Yes."), assistant("msg_2", "Yes.")]);
        assert_eq!(
            scene.editor(),
            [thinks("I think.", "msg_2"), said("Yes.", "msg_2")]
        );
    });
}

/// 9.5: the next message resets the latch, though no copy came.
#[test]
fn given_a_latched_stream_when_the_next_message_begins_then_it_streams() {
    each_way(|scene| {
        cancelled(scene);
        scene.prompt("two");
        scene.says([
            start("msg_2"),
            text_block(0),
            text(0, "lost"),
            echo(2),
            text(0, " too"),
        ]);
        scene.says([start("msg_3"), text_block(0), text(0, "Shown")]);
        assert_eq!(scene.editor(), [said("Shown", "msg_3")]);
    });
}

/// 9.5, 3.1 row 12: a subagent's stream has no copy, and is not latched.
#[test]
fn given_a_subagents_stream_when_the_window_closes_in_mid_block_then_the_rest_streams() {
    each_way(|scene| {
        let agent = Some("toolu_agent");
        cancelled(scene);
        let block = json!({ "type": "text", "text": "" });
        scene.says([start_in("msg_s", agent), block_in(0, &block, agent)]);
        scene.says([
            text_in(0, "lost", agent),
            requesting(&[]),
            text_in(0, "kept", agent),
        ]);
        assert_eq!(scene.editor(), [said("kept", "msg_s")]);
    });
}

/// 3.3: a subagent's next message may begin like its last.
#[test]
fn given_a_subagents_messages_when_one_begins_like_the_last_then_both_are_shown() {
    each_way(|scene| {
        let agent = Some("toolu_agent");
        taken(scene);
        let stop_in =
            || airlock_tests::scripted_cli::words::event(&json!({ "type": "message_stop" }), agent);
        scene.says([
            start_in("msg_a", agent),
            text_in(0, "Look", agent),
            stop_in(),
        ]);
        scene.says([
            start_in("msg_b", agent),
            text_in(0, "Look here", agent),
            stop_in(),
        ]);
        assert_eq!(
            scene.editor(),
            [said("Look", "msg_a"), said("Look here", "msg_b")]
        );
        let meta = |update: Value| update["_meta"]["claudeCode"]["parentToolUseId"].clone();
        let parents: Vec<Value> = scene.desk.updates().map(meta).collect();
        assert_eq!(parents.iter().filter(|it| *it == "toolu_agent").count(), 2);
    });
}

/// Section 2.4: the report of a background task in mid stream cuts nothing.
#[test]
fn given_a_tasks_report_in_mid_stream_when_the_copy_comes_then_nothing_is_shown_twice() {
    each_way(|scene| {
        taken(scene);
        scene.says([start("msg_1"), text_block(0), text(0, "Half")]);
        let mut report = result(by_itself());
        report["num_turns"] = json!(0);
        scene.says([report, text(0, " done"), assistant("msg_1", "Half done")]);
        assert_eq!(
            scene.editor(),
            [said("Half", "msg_1"), said(" done", "msg_1")]
        );
    });
}

/// 3.1 row 9: without markers a follow-up is lost until the next echo (accepted).
#[test]
fn given_a_process_without_markers_when_it_goes_on_by_itself_then_that_is_lost_until_the_echo() {
    each_way(|scene| {
        let prompt = scene.prompt("one");
        scene.takes(1, &OLD);
        scene.cancel();
        scene.says([aborted(of(&[1])), requesting(&[])]);
        scene.says(answer_frames("msg_f", &["Lost"]));
        assert_eq!(scene.editor(), [format!("{prompt} cancelled")]);
        scene.says([result(by_itself()), state("idle")]);
        scene.prompt("two");
        scene.says([echo(2)]);
        scene.says(answer_frames("msg_2", &["Second"]));
        assert_eq!(scene.editor(), [said("Second", "msg_2")]);
    });
}

/// 3.3: thoughts that say nothing, in the stream and in the copy.
#[test]
fn given_thoughts_that_are_empty_or_missing_when_told_then_nothing_of_them_is_shown() {
    each_way(|scene| {
        scene.prompt("one");
        scene.takes(1, &NEW);
        scene.editor();
        let nothing = event(
            &json!({ "type": "content_block_delta", "index": 0,
                     "delta": { "type": "thinking_delta" } }),
            None,
        );
        let copy = json!([{ "type": "thinking", "thinking": "", "signature": "s" }]);
        scene.says([
            start("msg_1"),
            thought_block(0),
            thought(0, ""),
            nothing,
            assistant_of("msg_1", &copy),
            block_stop(0),
        ]);
        assert_eq!(scene.editor(), [""; 0]);
    });
}
