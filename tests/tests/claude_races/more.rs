//! Scenarios behind a cancel that were not recorded (Claude adapter, 3.1 rows 8, 11, 15 to 18,
//! and what section 9 says of requests, results and streams besides).
//!
//! Pure. Invariant: as in `post_cancel`, each side has its order and waits for the other.

use airlock_tests::scripted_cli::post_cancel::{
    answered, begun, says, scenario, stopped, streamed, taken, turn,
};
use airlock_tests::scripted_cli::words::{
    NEW, OLD, aborted, assistant_of, block_stop, by_itself, can_use_tool, done, echo, interrupted,
    life, of, requesting, start, state, stop, task_over, task_started, text, text_block, thought,
    thought_block, tool_block, tool_result, with,
};
use airlock_tests::scripted_cli::{Act, Scenario, Step};
use serde_json::{Value, json};

use super::world::{Whose, Work};

/// A scenario with what is said in it.
pub type Told = (Scenario, Vec<Work>);

/// All of them.
pub const MORE: [fn() -> Told; 7] = [
    thought_ahead_of_its_echo,
    held_follow_up,
    tool_of_abandoned_work,
    asked_when_cancelled,
    own_cycle_that_asks_on,
    two_taken_together,
    turn_that_ends_well,
];

fn editor(more: &[Act]) -> Vec<Act> {
    let mut acts = vec![Act::Prompt("one", "one")];
    acts.extend(more);
    acts
}

fn work(message: &'static str, text: &'static str, whose: Whose) -> Work {
    Work {
        message,
        text,
        whose,
    }
}

fn second() -> Work {
    work("msg_2", "Second answer", Whose::Prompt(2))
}

fn second_turn() -> Vec<Step> {
    turn(2, "msg_2", &["Second ", "answer"])
}

fn interrupt() -> [Step; 2] {
    let receipt = json!({ "still_queued": [] });
    [
        Step::Asked("interrupt"),
        Step::Replies("interrupt", receipt),
    ]
}

fn cancel_then_two() -> Vec<Act> {
    editor(&[Act::Cancel, Act::Prompt("two", "two")])
}

/// Rows 8 and 11: the next prompt thinks before its echo, at a process without markers.
fn thought_ahead_of_its_echo() -> Told {
    let mut cli = begun(&OLD);
    cli.extend(stopped(&[]));
    cli.push(Step::Prompt(2));
    let copy = json!([{ "type": "thinking", "thinking": "I think.", "signature": "s" }]);
    cli.extend(says([
        life(2, "started"),
        requesting(&[]),
        start("msg_2"),
        thought_block(0),
        thought(0, "I "),
        echo(2),
        thought(0, "think."),
        assistant_of("msg_2", &copy),
        block_stop(0),
        text_block(1),
        text(1, "Yes."),
        assistant_of("msg_2", &json!([{ "type": "text", "text": "Yes." }])),
        stop(),
        done(2),
        state("idle"),
    ]));
    let works = vec![
        work("msg_1", "Working, stopping", Whose::Prompt(1)),
        work("msg_2", "I think.Yes.", Whose::Prompt(2)),
    ];
    (
        scenario("thought_ahead_of_its_echo", cli, cancel_then_two()),
        works,
    )
}

/// Rows 15 and 16: the follow-up of a turn that waits for its subagent.
fn held_follow_up() -> Told {
    let mut cli = taken(&NEW);
    cli.push(Step::Says(task_started("toolu_agent", true)));
    cli.extend(streamed("msg_1", &["First ", "done"]));
    cli.extend(says([
        done(1),
        life(1, "completed"),
        task_over("toolu_agent", "completed"),
        requesting(&[]),
        start("msg_f"),
        text_block(0),
        text(0, "It says"),
    ]));
    cli.extend(interrupt());
    cli.extend(says([
        text(0, ", stopping"),
        aborted(by_itself()),
        state("idle"),
    ]));
    cli.extend(second_turn());
    let works = vec![
        work("msg_1", "First done", Whose::Held(1)),
        work("msg_f", "It says, stopping", Whose::Own),
        second(),
    ];
    (scenario("held_follow_up", cli, cancel_then_two()), works)
}

/// Row 17: abandoned work wants a tool.
fn tool_of_abandoned_work() -> Told {
    let mut cli = begun(&NEW);
    cli.push(Step::Prompt(2));
    cli.extend(stopped(&[]));
    cli.extend(says([life(2, "started"), requesting(&[2]), echo(2)]));
    cli.extend(tool("toolu_a"));
    cli.push(Step::Says(can_use_tool("q1", "toolu_a", json!({}))));
    cli.push(Step::Answered("q1"));
    cli.extend(says([
        refused("toolu_a"),
        done(2),
        life(2, "completed"),
        state("idle"),
    ]));
    cli.extend(turn(3, "msg_3", &["Third ", "answer"]));
    let works = vec![
        work("msg_1", "Working, stopping", Whose::Prompt(1)),
        work("msg_3", "Third answer", Whose::Prompt(3)),
    ];
    let acts = editor(&[
        Act::Prompt("two", "two"),
        Act::Cancel,
        Act::Prompt("three", "three"),
    ]);
    let mut scenario = scenario("tool_of_abandoned_work", cli, acts);
    scenario.takes_back = Some(false);
    (scenario, works)
}

/// Row 18, and section 10: a question is open when the editor cancels.
fn asked_when_cancelled() -> Told {
    let mut cli = taken(&NEW);
    cli.extend(tool("toolu_q"));
    cli.push(Step::Says(can_use_tool("q1", "toolu_q", json!({}))));
    cli.extend(interrupt());
    let withdrawn = json!({ "type": "control_cancel_request", "request_id": "q1" });
    cli.extend(says([
        withdrawn,
        interrupted(),
        aborted(with(
            of(&[1]),
            json!({ "terminal_reason": "aborted_tools" }),
        )),
        life(1, "cancelled"),
        state("idle"),
    ]));
    cli.extend(second_turn());
    let acts = cancel_then_two();
    (scenario("asked_when_cancelled", cli, acts), vec![second()])
}

/// H1: what Claude does by itself asks the model again before the interrupt reaches it.
fn own_cycle_that_asks_on() -> Told {
    let mut cli = taken(&NEW);
    cli.extend(streamed("msg_1", &["First ", "done"]));
    cli.extend(says([done(1), life(1, "completed"), state("idle")]));
    cli.extend(says([state("running"), requesting(&[])]));
    cli.extend(streamed("msg_o", &["By ", "itself"]));
    cli.extend(says([
        requesting(&[]),
        start("msg_p"),
        text_block(0),
        text(0, "Again"),
    ]));
    cli.extend(interrupt());
    cli.extend(says([
        text(0, ", stopping"),
        aborted(by_itself()),
        text(0, "after-report"),
        state("idle"),
    ]));
    cli.extend(second_turn());
    let works = vec![
        work("msg_1", "First done", Whose::Prompt(1)),
        work("msg_o", "By itself", Whose::Own),
        work("msg_p", "Again, stopping", Whose::Own),
        work("late", "after-report", Whose::Nobody),
        second(),
    ];
    (
        scenario("own_cycle_that_asks_on", cli, cancel_then_two()),
        works,
    )
}

/// O1, O2: two prompts share one turn and its result.
fn two_taken_together() -> Told {
    let mut cli = vec![Step::Prompt(2)];
    cli.extend(says([
        state("running"),
        life(1, "started"),
        life(2, "started"),
        airlock_tests::scripted_cli::words::init(&NEW),
        requesting(&[1, 2]),
        echo(1),
        echo(2),
        start("msg_1"),
        text_block(0),
        text(0, "Both"),
    ]));
    let receipt = json!({ "still_queued": [] });
    cli.extend([Step::Interrupted(2), Step::Replies("interrupt", receipt)]);
    cli.extend(says([
        aborted(of(&[1, 2])),
        life(1, "cancelled"),
        life(2, "cancelled"),
        state("idle"),
    ]));
    cli.extend(turn(3, "msg_3", &["Third ", "answer"]));
    let works = vec![
        work("msg_1", "Both", Whose::Both),
        work("msg_3", "Third answer", Whose::Prompt(3)),
    ];
    let acts = editor(&[
        Act::Prompt("two", "two"),
        Act::Cancel,
        Act::Prompt("three", "three"),
    ]);
    let mut scenario = scenario("two_taken_together", cli, acts);
    scenario.takes_back = Some(false);
    (scenario, works)
}

/// The interrupt comes too late: the turn ends well, and what follows is whole.
fn turn_that_ends_well() -> Told {
    let mut cli = taken(&NEW);
    cli.extend(streamed("msg_1", &["First ", "done"]));
    cli.extend(says([done(1), life(1, "completed"), state("idle")]));
    cli.extend(interrupt());
    cli.push(Step::Says(state("running")));
    cli.extend(answered(
        None,
        "msg_f",
        &["Follow-up ", "text"],
        by_itself(),
    ));
    cli.push(Step::Says(state("idle")));
    cli.extend(second_turn());
    let works = vec![
        work("msg_1", "First done", Whose::Prompt(1)),
        work("msg_f", "Follow-up text", Whose::Own),
        second(),
    ];
    (
        scenario("turn_that_ends_well", cli, cancel_then_two()),
        works,
    )
}

fn tool(id: &str) -> Vec<Step> {
    let input = json!({ "command": "ls", "description": "List" });
    let whole = json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": input }]);
    let frames = [
        start("msg_t"),
        tool_block(0, id, "Bash"),
        assistant_of("msg_t", &whole),
        block_stop(0),
        stop(),
    ];
    says(frames).collect()
}

/// A tool that was not allowed.
fn refused(id: &str) -> Value {
    let mut frame = tool_result(id, "The user cancelled this prompt.");
    frame["message"]["content"][0]["is_error"] = json!(true);
    frame
}
