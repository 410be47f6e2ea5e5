//! Messages and thinking: what is shown, once, and what cannot be shown.
//! Adapter specification, sections 17 and 18; races 9 of section 27.

mod projection_support;

use airlock_engine::projection::{End, Failure, Projection, Speaker};
use projection_support::{drained, projection};
use serde_json::{Value, json};

use Speaker::{Agent, Thought};

fn said(text: &str, id: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, "messageId": id})
}

fn thought(text: &str, id: &str) -> Value {
    json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}, "messageId": id})
}

fn grew(projection: &mut Projection, start: u64, text: &str) -> Result<(), Failure> {
    projection.text_grew(Agent, "m", start, text, false)
}

/// M1: streams text and thinking, dedupes completions.
#[test]
fn given_streamed_text_and_thinking_when_completed_and_recorded_then_each_part_is_shown_once() {
    let mut projection = projection();
    projection
        .text_grew(Agent, "answer", 0, "hel", false)
        .unwrap();
    assert_eq!(drained(&mut projection), [said("hel", "answer")]);
    projection
        .text_grew(Agent, "answer", 3, "lo", false)
        .unwrap();
    assert_eq!(drained(&mut projection), [said("lo", "answer")]);
    projection
        .text_grew(Thought, "thought", 0, "hmm", false)
        .unwrap();
    assert_eq!(drained(&mut projection), [thought("hmm", "thought")]);

    projection.text_completed(Agent, "answer", 5).unwrap();
    projection.text_completed(Thought, "thought", 3).unwrap();
    projection.text_is(Agent, "answer", "hello").unwrap();
    projection.text_is(Thought, "thought", "hmm").unwrap();
    projection
        .text_grew(Agent, "answer", 0, "hello", false)
        .unwrap();
    projection.finish(End::Completed).unwrap();
    assert_eq!(drained(&mut projection), [] as [Value; 0]);
    assert_eq!(projection.failure(), None);
}

/// M2, M4: a record that does not continue what was shown, even the empty one, fails; the
/// failure stays; what was accepted before it is still shown.
#[test]
fn given_shown_text_when_the_record_does_not_continue_it_then_it_fails_for_good() {
    for speaker in [Agent, Thought] {
        for full in ["new", "ol", ""] {
            let mut projection = projection();
            projection.text_grew(speaker, "m", 0, "old", false).unwrap();
            let revision = Err(Failure::UnsupportedStreamRevision);
            assert_eq!(projection.text_is(speaker, "m", full), revision, "{full:?}");
            assert_eq!(projection.text_is(speaker, "m", "older"), revision);
            assert_eq!(
                projection.text_grew(speaker, "other", 0, "x", false),
                revision
            );
            assert_eq!(projection.text_completed(speaker, "m", 3), revision);
            assert_eq!(
                projection.tool(projection_support::started("t", "Shell")),
                revision
            );
            assert_eq!(projection.finish(End::Failed), revision);
            assert_eq!(drained(&mut projection).len(), 1);
            assert_eq!(drained(&mut projection).len(), 0);
        }
    }
}

/// M3: a record that continues the live text sends only the rest, and live text goes on
/// behind it.
#[test]
fn given_live_text_when_the_record_is_longer_then_only_the_rest_is_shown() {
    let mut projection = projection();
    grew(&mut projection, 0, "old").unwrap();
    assert_eq!(drained(&mut projection), [said("old", "m")]);
    projection.text_is(Agent, "m", "older").unwrap();
    assert_eq!(drained(&mut projection), [said("er", "m")]);
    grew(&mut projection, 3, "er!").unwrap();
    assert_eq!(drained(&mut projection), [said("!", "m")]);
}

/// M5: the end of a turn shows nothing by itself, and text that comes later is shown.
#[test]
fn given_a_finished_turn_when_text_comes_late_then_it_is_shown() {
    for end in [End::Completed, End::Failed, End::Cancelled] {
        let mut projection = projection();
        projection.finish(end).unwrap();
        assert_eq!(drained(&mut projection), [] as [Value; 0]);
        grew(&mut projection, 0, "late").unwrap();
        assert_eq!(drained(&mut projection), [said("late", "m")]);
    }
}

/// Section 18: a message without text or thinking is nothing to show, and no revision.
#[test]
fn given_an_unknown_message_when_the_record_is_empty_then_nothing_is_shown() {
    let mut projection = projection();
    projection.text_is(Thought, "m", "").unwrap();
    projection.text_is(Agent, "m", "a").unwrap();
    projection.text_is(Thought, "m", "").unwrap();
    assert_eq!(drained(&mut projection), [said("a", "m")]);
}

/// Section 18: thinking and text of one message share the id and are two streams.
#[test]
fn given_one_id_when_both_speak_then_their_texts_stay_apart() {
    let mut projection = projection();
    projection.text_grew(Thought, "m", 0, "hm", false).unwrap();
    projection.text_grew(Agent, "m", 0, "yes", false).unwrap();
    projection.text_grew(Thought, "m", 2, "m", false).unwrap();
    assert_eq!(
        drained(&mut projection),
        [thought("hmm", "m"), said("yes", "m")]
    );
}

/// Section 17: an offset beyond the text is a gap, for text and for its end. It is the one
/// failure that does not stay: the Host module reads what is missing.
#[test]
fn given_known_text_when_a_piece_begins_behind_it_then_it_is_a_gap_that_can_be_filled() {
    let mut projection = projection();
    grew(&mut projection, 0, "ab").unwrap();
    assert_eq!(grew(&mut projection, 3, "d"), Err(Failure::StreamGap));
    assert_eq!(projection.failure(), None);
    projection.text_is(Agent, "m", "abcd").unwrap();
    assert_eq!(drained(&mut projection), [said("abcd", "m")]);

    let mut projection = projection_support::projection();
    assert_eq!(
        projection.text_completed(Agent, "m", 1),
        Err(Failure::StreamGap)
    );
}

/// Section 17: a gap takes nothing in, also where a reset lost its beginning.
#[test]
fn given_a_reset_without_its_beginning_when_it_comes_then_the_message_goes_on_as_before() {
    let mut projection = projection();
    grew(&mut projection, 0, "ab").unwrap();
    assert_eq!(
        projection.text_grew(Agent, "m", 1, "x", true),
        Err(Failure::StreamGap)
    );
    grew(&mut projection, 2, "c").unwrap();
    projection.finish(End::Completed).unwrap();
    assert_eq!(drained(&mut projection), [said("abc", "m")]);
}

/// Section 17: what repeats must be equal; the rest is new. Offsets are UTF-16 units.
#[test]
fn given_known_text_when_a_piece_overlaps_then_equal_parts_are_folded_and_others_fail() {
    let mut projection = projection();
    grew(&mut projection, 0, "a😀b").unwrap();
    grew(&mut projection, 1, "😀").unwrap();
    grew(&mut projection, 1, "😀bc").unwrap();
    grew(&mut projection, 0, "a😀bcd").unwrap();
    grew(&mut projection, 6, "e").unwrap();
    assert_eq!(drained(&mut projection), [said("a😀bcde", "m")]);

    for (start, text) in [(1, "xb"), (1, "😀x"), (2, "b"), (5, "x")] {
        let mut projection = projection.clone();
        assert_eq!(
            grew(&mut projection, start, text),
            Err(Failure::StreamConflict),
            "{text}"
        );
    }
}

/// Section 17: a reset begins anew; nothing is shown until the text is complete, and then
/// only if it continues what was shown.
#[test]
fn given_a_reset_when_the_new_text_is_complete_then_it_counts() {
    let mut projection = projection();
    grew(&mut projection, 0, "Hel").unwrap();
    projection.text_grew(Agent, "m", 0, "He", true).unwrap();
    grew(&mut projection, 2, "llo").unwrap();
    assert_eq!(
        grew(&mut projection.clone(), 6, "!"),
        Err(Failure::StreamGap)
    );
    assert_eq!(drained(&mut projection), [said("Hel", "m")]);

    let mut continued = projection.clone();
    continued.text_completed(Agent, "m", 5).unwrap();
    assert_eq!(drained(&mut continued), [said("lo", "m")]);
    grew(&mut continued, 5, "!").unwrap();
    assert_eq!(drained(&mut continued), [said("!", "m")]);

    let mut ended = projection.clone();
    ended.finish(End::Cancelled).unwrap();
    assert_eq!(drained(&mut ended), [said("lo", "m")]);

    let mut rewritten = projection.clone();
    rewritten.text_grew(Agent, "m", 0, "Ha", true).unwrap();
    let revision = Err(Failure::UnsupportedStreamRevision);
    assert_eq!(rewritten.clone().text_completed(Agent, "m", 2), revision);
    assert_eq!(rewritten.finish(End::Completed), revision);
    assert_eq!(drained(&mut rewritten), [] as [Value; 0]);
}

/// A record that comes in the middle of a reset tells the new text; pieces go on behind it.
#[test]
fn given_a_reset_when_the_record_comes_first_then_pieces_go_on_behind_it() {
    let mut projection = projection();
    grew(&mut projection, 0, "Hel").unwrap();
    projection.text_grew(Agent, "m", 0, "H", true).unwrap();
    projection.text_is(Agent, "m", "Hello").unwrap();
    grew(&mut projection, 5, "!").unwrap();
    projection.text_completed(Agent, "m", 6).unwrap();
    assert_eq!(drained(&mut projection), [said("Hello!", "m")]);
}

/// Rule R7: a slow editor gets all text, one chunk a message, in the order of first words.
#[test]
fn given_a_slow_editor_when_drained_late_then_one_chunk_a_message_and_the_count_is_kept() {
    let mut projection = projection();
    projection.text_grew(Agent, "a", 0, "1😀", false).unwrap();
    projection.text_grew(Agent, "b", 0, "2", false).unwrap();
    projection.text_grew(Agent, "a", 3, "3", false).unwrap();
    projection.text_grew(Agent, "a", 0, "1😀3", false).unwrap();
    assert_eq!(projection.held_units(), 5);
    assert_eq!(
        drained(&mut projection),
        [said("1😀3", "a"), said("2", "b")]
    );
    assert_eq!(projection.held_units(), 0);
}
