//! The rules of the table in `host/claude/turns.rs`, each by its name: who is settled when,
//! and what of the output belongs to stopped work (Claude adapter, section 9, rows of 3.1
//! and 3.2).

use airlock_engine::host::claude::turns::{Cancelled, Gate, How, Life, Owner, Settled, Turns};

const NONE: [Settled; 0] = [];

fn settled(uuid: &str, how: How) -> Settled {
    Settled {
        uuid: uuid.to_owned(),
        how,
    }
}

/// A result that names these prompts.
fn of<'a>(uuids: &'a [&'a str]) -> Owner<'a> {
    Owner {
        uuids,
        ..Owner::default()
    }
}

/// A result of work that Claude began itself.
fn by_itself() -> Owner<'static> {
    Owner {
        autonomous: true,
        ..Owner::default()
    }
}

/// The same while subagents run on.
fn background<'a>(uuids: &'a [&'a str]) -> Owner<'a> {
    Owner {
        background: true,
        ..of(uuids)
    }
}

/// A prompt that is echoed.
fn active(uuid: &str) -> Turns {
    let mut turns = Turns::default();
    turns.prompt(uuid);
    turns.running();
    turns.lifecycle(uuid, Life::Started);
    turns.requesting(&[uuid], true);
    assert_eq!(turns.echo(uuid), NONE);
    turns
}

/// W1: only what was received before the cancel is cancelled; the next prompt runs.
#[test]
fn given_a_prompt_behind_a_cancel_when_the_turn_ends_then_only_the_earlier_is_cancelled() {
    let mut turns = active("p1");
    assert_eq!(turns.gate(), Gate::Closed);
    let cancelled = turns.cancel();
    assert_eq!(turns.gate(), Gate::Unreported);
    turns.prompt("p2");
    assert_eq!(cancelled.running, ["p1"]);
    assert_eq!(cancelled.settled, NONE);
    assert_eq!(cancelled.abandoned, [""; 0]);
    assert_eq!(turns.result(of(&["p1"])), [settled("p1", How::Stopped)]);
    assert_eq!(turns.echo("p2"), NONE);
    assert_eq!(turns.result(of(&["p2"])), [settled("p2", How::Result)]);
    assert_eq!(turns.idle(), NONE);
}

/// W1: a cancel with nothing running opens the window too; the next prompt closes it (9.1).
#[test]
fn given_nothing_when_cancelled_then_the_window_is_open_until_the_next_prompt() {
    let mut turns = Turns::default();
    let nothing = Cancelled {
        number: 1,
        ..Cancelled::default()
    };
    assert_eq!(turns.cancel(), nothing);
    assert_eq!(turns.gate(), Gate::Reported);
    turns.prompt("p1");
    turns.echo("p1");
    assert_eq!(turns.gate(), Gate::Closed);
    assert_eq!(turns.result(of(&["p1"])), [settled("p1", How::Result)]);
}

/// W2, 3.1 rows 2 and 3: a queued prompt is settled at once, and taken back.
#[test]
fn given_a_queued_prompt_when_cancelled_then_it_is_settled_at_once_and_taken_back() {
    let mut turns = active("p1");
    turns.prompt("p2");
    let cancelled = turns.cancel();
    assert_eq!(cancelled.settled, [settled("p2", How::Cancelled)]);
    assert_eq!(cancelled.abandoned, ["p2"]);
    assert_eq!(turns.unsettled().collect::<Vec<_>>(), ["p1"]);
}

/// W2, 3.2: a prompt whose last frame has passed is cancelled, but nothing of it is due.
#[test]
fn given_a_dropped_prompt_when_cancelled_then_no_result_of_it_is_due() {
    let mut turns = active("p1");
    turns.prompt("p2");
    turns.lifecycle("p2", Life::Cancelled);
    assert_eq!(turns.cancel().settled, [settled("p2", How::Cancelled)]);
    turns.result(of(&["p1"]));
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Closed);
}

/// W3: at its result.
#[test]
fn given_a_cancelled_turn_when_its_result_comes_then_it_says_what_it_took() {
    let mut turns = active("p1");
    turns.cancel();
    assert_eq!(turns.result(of(&["p1"])), [settled("p1", How::Stopped)]);
    assert_eq!(turns.gate(), Gate::Reported);
    assert_eq!(turns.idle(), NONE);
}

/// W3, 3.1 row 19: at idle.
#[test]
fn given_a_cancelled_turn_when_the_process_goes_idle_then_it_is_cancelled() {
    let mut turns = active("p1");
    turns.cancel();
    assert_eq!(turns.idle(), [settled("p1", How::Cancelled)]);
}

/// W3: at the next echo.
#[test]
fn given_a_cancelled_turn_when_the_next_is_echoed_then_it_is_cancelled() {
    let mut turns = active("p1");
    turns.cancel();
    turns.prompt("p2");
    assert_eq!(turns.echo("p2"), [settled("p1", How::Cancelled)]);
    assert_eq!(turns.gate(), Gate::Closed);
}

/// W3: at the result of the next, if that has no echo.
#[test]
fn given_a_cancelled_turn_when_the_next_has_its_result_then_it_is_cancelled() {
    let mut turns = active("p1");
    turns.cancel();
    turns.prompt("p2");
    let both = [settled("p1", How::Cancelled), settled("p2", How::Result)];
    assert_eq!(turns.result(of(&["p2"])), both);
}

/// W3, 3.1 row 20: after 30 s; the late result does not settle the next prompt.
#[test]
fn given_a_wedged_process_when_the_time_is_up_then_the_late_result_settles_nobody() {
    let mut turns = active("p1");
    turns.cancel();
    assert_eq!(turns.backstop("p1"), [settled("p1", How::Cancelled)]);
    assert_eq!(turns.backstop("p1"), NONE);
    turns.prompt("p2");
    assert_eq!(turns.result(Owner::default()), NONE);
    assert_eq!(turns.idle(), NONE);
    turns.echo("p2");
    assert_eq!(turns.result(of(&["p2"])), [settled("p2", How::Result)]);
}

/// W4, 3.1 row 8: a prompt sent while the cancel is under way: its request holds, its echo
/// closes.
#[test]
fn given_an_open_window_when_the_next_prompt_is_echoed_then_it_closes() {
    let mut turns = active("p1");
    turns.cancel();
    turns.result(of(&["p1"]));
    turns.prompt("p2");
    turns.requesting(&["p2"], true);
    assert_eq!(turns.gate(), Gate::Reported);
    turns.echo("p2");
    assert_eq!(turns.gate(), Gate::Closed);
}

/// W4: the echo of a prompt that was cancelled closes nothing.
#[test]
fn given_an_abandoned_prompt_when_it_is_echoed_then_the_window_stays() {
    let mut turns = active("p1");
    turns.prompt("p2");
    turns.cancel();
    turns.result(of(&["p1"]));
    assert_eq!(turns.echo("p2"), NONE);
    assert_eq!(turns.gate(), Gate::Reported);
}

/// W5, 3.1 rows 4 and 5: a request of Claude's own closes the window, a queued prompt or not.
#[test]
fn given_a_reported_turn_when_claude_asks_by_itself_then_the_window_closes() {
    for queued in [false, true] {
        let mut turns = active("p1");
        turns.cancel();
        turns.result(of(&["p1"]));
        if queued {
            turns.prompt("p2");
        }
        turns.requesting(&[], true);
        assert_eq!(turns.gate(), Gate::Closed);
        // It is work of its own: a cancel has something to stop.
        turns.cancel();
        assert_eq!(turns.gate(), Gate::Unreported);
    }
}

/// W5, 3.1 row 9: not where requests do not name their prompts.
#[test]
fn given_a_process_without_markers_when_it_asks_then_the_window_stays() {
    let mut turns = active("p1");
    turns.cancel();
    turns.result(of(&["p1"]));
    turns.requesting(&[], false);
    assert_eq!(turns.gate(), Gate::Reported);
}

/// H1: a request before the stopped turn has reported is of that turn.
#[test]
fn given_a_cancelled_turn_when_a_request_comes_before_its_report_then_the_window_stays() {
    let mut turns = active("p1");
    turns.cancel();
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Unreported);
    turns.result(of(&["p1"]));
    assert_eq!(turns.gate(), Gate::Reported);
}

/// H1: nor has what Claude did by itself.
#[test]
fn given_a_cancelled_cycle_of_its_own_when_it_asks_on_then_the_window_stays_until_its_result() {
    let mut turns = Turns::default();
    turns.running();
    turns.requesting(&[], true);
    turns.cancel();
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Unreported);
    assert_eq!(turns.result(by_itself()), NONE);
    assert_eq!(turns.gate(), Gate::Reported);
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Closed);
}

/// H2, 3.1 row 7: a request while the result of an abandoned prompt is due may be its.
#[test]
fn given_an_abandoned_prompt_when_its_result_is_due_then_a_request_holds_the_window() {
    let mut turns = active("p1");
    turns.prompt("p2");
    let number = turns.cancel().number;
    turns.receipt(number, &["p2"]);
    turns.result(of(&["p1"]));
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Reported);
    let folded = Owner {
        uuids: &["p2"],
        ..by_itself()
    };
    assert_eq!(turns.result(folded), NONE);
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Closed);
}

/// H2: what the receipt does not name is not due any more; what came later is.
#[test]
fn given_a_receipt_when_it_names_nothing_then_only_what_it_knew_of_is_forgotten() {
    let mut turns = active("p1");
    turns.prompt("p2");
    let first = turns.cancel().number;
    turns.prompt("p3");
    turns.cancel();
    turns.receipt(first, &[]);
    turns.result(of(&["p1"]));
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Reported, "p3 may still come");
    turns.receipt(first + 1, &[]);
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Closed);
}

/// H2: what was begun may come whatever the receipt says, until its result, its last frame
/// or idle.
#[test]
fn given_a_begun_orphan_when_it_ends_then_the_window_may_close() {
    type End = fn(&mut Turns);
    let ends: [End; 4] = [
        |turns| assert_eq!(turns.result(of(&["p2"])), NONE),
        |turns| assert_eq!(turns.result(Owner::default()), NONE),
        |turns| turns.lifecycle("p2", Life::Over),
        |turns| assert_eq!(turns.idle(), NONE),
    ];
    for end in ends {
        let mut turns = active("p1");
        turns.prompt("p2");
        let number = turns.cancel().number;
        turns.lifecycle("p2", Life::Started);
        turns.receipt(number, &[]);
        turns.result(of(&["p1"]));
        turns.requesting(&[], true);
        assert_eq!(turns.gate(), Gate::Reported);
        end(&mut turns);
        turns.requesting(&[], true);
        assert_eq!(turns.gate(), Gate::Closed);
    }
}

/// H3: a request that names a stopped prompt is of stopped work.
#[test]
fn given_a_request_that_names_a_stopped_prompt_when_reported_then_the_window_stays() {
    let mut turns = active("p1");
    turns.cancel();
    turns.result(of(&["p1"]));
    turns.requesting(&["p1"], true);
    assert_eq!(turns.gate(), Gate::Reported);
}

/// H4: a request that names a prompt which is not over leaves the closing to its echo.
#[test]
fn given_a_request_that_names_a_waiting_prompt_when_reported_then_its_echo_closes() {
    let mut turns = active("p1");
    turns.cancel();
    turns.result(of(&["p1"]));
    turns.prompt("p2");
    turns.requesting(&["p2"], true);
    assert_eq!(turns.gate(), Gate::Reported);
}

/// O1, 3.2: a result that names several settles them all, and no other.
#[test]
fn given_two_prompts_in_one_turn_when_the_result_names_both_then_both_are_settled() {
    let mut turns = active("p1");
    turns.prompt("p2");
    turns.prompt("p3");
    let both = [settled("p1", How::Result), settled("p2", How::Result)];
    assert_eq!(turns.result(of(&["p1", "p2"])), both);
    assert_eq!(turns.unsettled().collect::<Vec<_>>(), ["p3"]);
}

/// O1: a result that names nobody is the running turn's, else that of a command without echo.
#[test]
fn given_a_result_without_names_when_it_comes_then_the_running_turn_or_a_command_has_it() {
    let mut turns = active("p1");
    turns.prompt("p2");
    let nameless = Owner::default();
    assert_eq!(turns.result(nameless), [settled("p1", How::Result)]);
    assert_eq!(turns.result(nameless), [settled("p2", How::Result)]);
    assert_eq!(turns.result(nameless), NONE);
}

/// O2, 3.2: a stamped result takes the orphan that it names, not the oldest.
#[test]
fn given_two_orphans_when_a_result_names_one_then_the_other_is_still_due() {
    let mut turns = active("p1");
    turns.prompt("p2");
    turns.prompt("p3");
    turns.cancel();
    turns.result(of(&["p1"]));
    assert_eq!(turns.result(of(&["p3"])), NONE);
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Reported);
    assert_eq!(turns.result(of(&["p2"])), NONE);
    turns.requesting(&[], true);
    assert_eq!(turns.gate(), Gate::Closed);
}

/// O2, 3.2: one result without names takes all that was begun; of the others, one.
#[test]
fn given_orphans_when_a_result_names_nobody_then_it_takes_what_was_begun_else_one() {
    let mut turns = active("p1");
    for prompt in ["p2", "p3", "p4", "p5"] {
        turns.prompt(prompt);
    }
    turns.cancel();
    turns.lifecycle("p2", Life::Started);
    turns.lifecycle("p3", Life::Started);
    turns.lifecycle("p3", Life::Cancelled);
    turns.result(of(&["p1"]));
    turns.prompt("p6");
    for _ in 0..3 {
        assert_eq!(turns.result(Owner::default()), NONE);
    }
    assert_eq!(
        turns.result(Owner::default()),
        [settled("p6", How::Result)],
        "nothing else is due"
    );
}

/// O2: what was interrupted settles no prompt that has not begun.
#[test]
fn given_a_waiting_prompt_when_an_interrupted_result_names_nobody_then_it_waits_on() {
    let mut turns = active("p1");
    turns.cancel();
    turns.idle();
    turns.prompt("p2");
    let aborted = Owner {
        aborted: true,
        ..Owner::default()
    };
    assert_eq!(turns.result(aborted), NONE);
    assert_eq!(turns.unsettled().collect::<Vec<_>>(), ["p2"]);
}

/// O3: work of Claude's own settles no prompt, unless it names one.
#[test]
fn given_work_of_its_own_when_its_result_comes_then_prompts_wait_unless_it_names_them() {
    let mut turns = active("p1");
    assert_eq!(turns.result(by_itself()), NONE);
    let named = Owner {
        uuids: &["p1"],
        ..by_itself()
    };
    assert_eq!(turns.result(named), [settled("p1", How::Result)]);
}

/// 3.2: idle without a result fails the running turn, and one that the process dropped.
#[test]
fn given_no_result_when_idle_then_the_turn_fails() {
    let mut turns = active("p1");
    turns.prompt("p2");
    turns.prompt("p3");
    turns.lifecycle("p2", Life::Over);
    let failed = [settled("p1", How::NoResult), settled("p2", How::NoResult)];
    assert_eq!(turns.idle(), failed);
    assert_eq!(turns.unsettled().collect::<Vec<_>>(), ["p3"]);
}

/// 3.2: an idle that a result owes does not fail the turn that began since.
#[test]
fn given_an_idle_that_is_owed_when_it_comes_then_it_fails_nobody() {
    let mut turns = active("p1");
    turns.result(of(&["p1"]));
    assert_eq!(turns.idle(), NONE);
    turns.prompt("p2");
    turns.echo("p2");
    assert_eq!(turns.result(by_itself()), NONE);
    assert_eq!(turns.idle(), NONE);
    assert_eq!(turns.idle(), [settled("p2", How::NoResult)]);
}

/// Section 7, hold: until the follow-up's result, idle, or the next echo.
#[test]
fn given_a_held_turn_when_its_wait_is_over_then_it_has_its_own_result() {
    type End = fn(&mut Turns) -> Vec<Settled>;
    let ends: [End; 3] = [
        |turns| turns.result(by_itself()),
        Turns::idle,
        |turns| {
            turns.prompt("p2");
            turns.echo("p2")
        },
    ];
    for end in ends {
        let mut turns = active("p1");
        assert_eq!(turns.result(background(&["p1"])), NONE);
        assert_eq!(turns.held().collect::<Vec<_>>(), ["p1"]);
        assert_eq!(end(&mut turns), [settled("p1", How::HeldResult)]);
    }
}

/// Section 8: it is not over, so it can be steered; then it ends with the message, else, where
/// the message comes to nothing, as it would have.
#[test]
fn given_a_held_turn_when_steered_then_it_ends_with_the_result_of_the_message() {
    let held = || {
        let mut turns = active("p1");
        turns.result(background(&["p1"]));
        assert!(turns.steer("s1"));
        turns.lifecycle("s1", Life::Started);
        turns
    };
    let whole = [settled("p1", How::Result)];
    let mut turns = held();
    assert_eq!(turns.result(by_itself()), NONE, "the message is out");
    assert_eq!(turns.idle(), NONE);
    turns.requesting(&["s1"], true);
    assert_eq!(turns.echo("s1"), NONE);
    assert_eq!(turns.held().count(), 0);
    assert_eq!(turns.result(of(&["s1"])), whole);
    // Folded into the follow-up.
    assert_eq!(held().result(of(&["s1"])), whole);
    // Subagents still run.
    let mut turns = held();
    turns.echo("s1");
    assert_eq!(turns.result(background(&["s1"])), NONE);
    assert_eq!(turns.idle(), [settled("p1", How::HeldResult)]);
    // Dropped.
    let mut turns = held();
    turns.lifecycle("s1", Life::Over);
    assert_eq!(turns.idle(), [settled("p1", How::HeldResult)]);
    // Cancelled.
    let cancelled = held().cancel();
    assert_eq!(cancelled.settled, [settled("p1", How::HeldCancelled)]);
    assert_eq!(cancelled.abandoned, ["s1"]);
    let mut turns = held();
    turns.echo("s1");
    let cancelled = turns.cancel();
    assert_eq!(
        (cancelled.settled, cancelled.running),
        (NONE.to_vec(), vec!["p1".to_owned()])
    );
}

/// 3.1 row 14: cancelled while nothing follows, it is over at once.
#[test]
fn given_a_held_turn_when_cancelled_then_it_is_over_at_once() {
    let mut turns = active("p1");
    turns.result(background(&["p1"]));
    let over = [settled("p1", How::HeldCancelled)];
    assert_eq!(turns.cancel().settled, over);
    assert_eq!(turns.gate(), Gate::Reported);
}

/// 3.1 row 15: while its follow-up runs, the tail comes first; it cannot hang either.
#[test]
fn given_a_held_turn_with_a_follow_up_when_cancelled_then_it_is_over_with_that() {
    let over = [settled("p1", How::HeldCancelled)];
    let follow_up = || {
        let mut turns = active("p1");
        turns.result(background(&["p1"]));
        turns.requesting(&[], true);
        let cancelled = turns.cancel();
        assert_eq!(cancelled.settled, NONE);
        assert_eq!(cancelled.running, ["p1"]);
        assert_eq!(turns.gate(), Gate::Unreported);
        turns
    };
    assert_eq!(follow_up().result(by_itself()), over);
    assert_eq!(follow_up().idle(), over);
    let mut wedged = follow_up();
    assert_eq!(wedged.backstop("p1"), over);
    assert_eq!(wedged.gate(), Gate::Reported);
}

/// A request without names is no work of Claude's own while a prompt may be meant.
#[test]
fn given_a_process_without_markers_when_a_prompt_is_cancelled_before_its_echo_then_it_is_dropped() {
    let mut turns = Turns::default();
    turns.prompt("p1");
    turns.lifecycle("p1", Life::Started);
    turns.requesting(&[], false);
    assert_eq!(turns.cancel().settled, [settled("p1", How::Cancelled)]);
    assert_eq!(turns.gate(), Gate::Reported);
}

/// 3.2: a turn begins under the id of its message, and under no other.
#[test]
fn given_two_prompts_when_the_second_begins_first_then_a_result_without_names_is_its() {
    type Begin = fn(&mut Turns, &str) -> Vec<Settled>;
    let begins: [Begin; 2] = [
        |turns, uuid| turns.echo(uuid),
        |turns, uuid| {
            turns.lifecycle(uuid, Life::Started);
            Vec::new()
        },
    ];
    for begin in begins {
        let mut turns = Turns::default();
        turns.prompt("p1");
        turns.prompt("p2");
        assert_eq!(begin(&mut turns, "of somebody else"), NONE);
        assert_eq!(turns.front(), None);
        assert_eq!(begin(&mut turns, "p2"), NONE);
        assert_eq!(turns.front(), Some("p2"));
        let nameless = Owner::default();
        assert_eq!(turns.result(nameless), [settled("p2", How::Result)]);
        assert_eq!(turns.unsettled().collect::<Vec<_>>(), ["p1"]);
    }
}

/// W2, 3.2: one that is cancelled between the end of the turn before and its own beginning
/// never begins.
#[test]
fn given_a_prompt_that_is_cancelled_while_the_turn_before_hands_over_then_it_never_begins() {
    for taken in [false, true] {
        let mut turns = active("p1");
        turns.prompt("p2");
        assert_eq!(turns.result(of(&["p1"])), [settled("p1", How::Result)]);
        if taken {
            turns.lifecycle("p2", Life::Started);
        }
        let cancelled = turns.cancel();
        assert_eq!(cancelled.settled, [settled("p2", How::Cancelled)]);
        assert_eq!(cancelled.abandoned, ["p2"]);
        assert_eq!(cancelled.running, [""; 0]);
        turns.lifecycle("p2", Life::Started);
        turns.requesting(&["p2"], true);
        assert_eq!(turns.echo("p2"), NONE);
        assert_eq!((turns.front(), turns.gate()), (None, Gate::Reported));
        assert_eq!(turns.result(of(&["p2"])), NONE);
        assert!(!turns.busy());
    }
}
