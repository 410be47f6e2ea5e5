//! What happens behind a cancel, scenario by scenario (Claude adapter, section 3.1): what the
//! process says and waits for, and what the editor does. The traces in
//! `recordings/claude/postcancel` were made by the same scenarios.
//!
//! Pure. Invariant: a scenario says in which order each side acts, and what it waits for;
//! whoever plays it decides what comes first between the two.

use serde_json::{Value, json};

use super::scene::answer_frames;
use super::words::{
    NEW, OLD, aborted, assistant, assistant_of, block_in, block_stop, by_itself, done, echo, event,
    init, interrupted, life, of, requesting, result, start, start_in, state, stop, task_over,
    task_started, text, text_block, text_in, tool_block,
};

/// A step of the process.
#[derive(Clone, Debug)]
pub enum Step {
    /// It waits until it has got this many prompts.
    Prompt(usize),
    /// It waits until it is asked this.
    Asked(&'static str),
    /// It waits for an interrupt behind this prompt.
    Interrupted(usize),
    /// It waits until this prompt is taken back.
    TakenBack(usize),
    /// It answers what it was asked.
    Replies(&'static str, Value),
    /// It says this.
    Says(Value),
    /// It waits until this question of its own is answered.
    Answered(&'static str),
    /// It takes its time.
    Pause(u64),
}

/// What the editor does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// It sends a prompt, under this name and with these words.
    Prompt(&'static str, &'static str),
    /// It waits until this chunk is shown.
    Chunk(&'static str),
    /// It cancels.
    Cancel,
    /// It waits until the prompts of these names are answered.
    Answered(&'static [&'static str]),
    /// It takes its time.
    Pause(u64),
}

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// As the recordings name it.
    pub name: &'static str,
    /// What comes of taking a prompt back; `None`: a step says so.
    pub takes_back: Option<bool>,
    /// The process.
    pub cli: Vec<Step>,
    /// The editor.
    pub editor: Vec<Act>,
}

/// All of them.
pub const POST_CANCEL: [fn() -> Scenario; 18] = [
    flush_before_report,
    abandoned_dequeued,
    queued_dropped,
    followup_after_cancel,
    followup_ahead_of_new_prompt,
    || after_cancel("prompt_after_cancel_gap1", 1),
    || after_cancel("prompt_after_cancel_gap5", 5),
    || after_cancel("prompt_after_cancel_gap20", 20),
    followup_consolidated_only,
    abandoned_folded_into_followup,
    no_marker_window,
    echo_mid_block,
    subagent_stream_no_latch,
    own_cycle_cancelled,
    held_turn_cancelled,
    open_tool_never_ran,
    idle_only_cancel,
    wedged,
];

/// A turn streams; cancel; the interrupt flushes one more delta (3.1 row 1).
fn flush_before_report() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend(stopped(&[]));
    cli.push(Step::Says(state("idle")));
    cli.extend(turn(2, "msg_2", &["Second ", "answer"]));
    let editor = cancelling(&[Act::Prompt("two", "two"), Act::Answered(&["two"])]);
    scenario("flush_before_report", cli, editor)
}

/// A queued prompt that the process has taken already (3.1 row 2).
fn abandoned_dequeued() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend([Step::Prompt(2), Step::Says(life(2, "queued"))]);
    cli.extend(stopped(&[]));
    cli.extend([Step::Pause(30), Step::Says(life(2, "started"))]);
    let chunks = ["Answer to ", "a cancelled prompt"];
    cli.extend(answered(Some(2), "msg_orphan", &chunks, of(&[2])));
    cli.push(Step::Says(state("idle")));
    cli.extend(turn(3, "msg_3", &["Third ", "answer"]));
    let mut scenario = scenario("abandoned_dequeued", cli, two_then_three(200));
    scenario.takes_back = Some(false);
    scenario
}

/// A queued prompt that the process has not taken (3.1 row 3).
fn queued_dropped() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend([
        Step::Prompt(2),
        Step::Says(life(2, "queued")),
        Step::TakenBack(2),
        Step::Says(life(2, "cancelled")),
        Step::Replies("cancel_async_message", json!({ "cancelled": true })),
    ]);
    cli.extend(stopped(&[]));
    cli.push(Step::Says(state("idle")));
    cli.extend(turn(3, "msg_3", &["Third ", "answer"]));
    scenario("queued_dropped", cli, two_then_three(100))
}

/// What Claude does by itself after the report (3.1 row 4).
fn followup_after_cancel() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend(stopped(&[]));
    cli.push(Step::Pause(30));
    cli.extend(answered(
        None,
        "msg_follow",
        &["Follow-up ", "text"],
        by_itself(),
    ));
    cli.push(Step::Says(state("idle")));
    cli.extend(turn(2, "msg_2", &["Second ", "answer"]));
    let editor = cancelling(&[
        Act::Pause(250),
        Act::Prompt("two", "two"),
        Act::Answered(&["two"]),
    ]);
    scenario("followup_after_cancel", cli, editor)
}

/// The same while a prompt waits that was sent right behind the cancel (3.1 row 5).
fn followup_ahead_of_new_prompt() -> Scenario {
    after_cancel("followup_ahead_of_new_prompt", 0)
}

/// A prompt so many milliseconds behind the cancel (3.1 row 21).
fn after_cancel(name: &'static str, gap: u64) -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend([
        Step::Asked("interrupt"),
        Step::Replies("interrupt", json!({ "still_queued": [] })),
        Step::Prompt(2),
    ]);
    cli.extend(says([
        life(2, "queued"),
        assistant("msg_1", "Working"),
        block_stop(0),
        stop(),
        aborted(of(&[1])),
        life(1, "cancelled"),
    ]));
    cli.push(Step::Pause(30));
    cli.extend(answered(
        None,
        "msg_follow",
        &["Follow-up ", "ahead"],
        by_itself(),
    ));
    cli.push(Step::Says(life(2, "started")));
    cli.extend(answered(Some(2), "msg_2", &["Second ", "answer"], of(&[2])));
    cli.push(Step::Says(state("idle")));
    let mut editor = vec![
        Act::Prompt("p1", "one"),
        Act::Chunk("Working"),
        Act::Cancel,
        Act::Pause(gap),
    ];
    editor.extend([
        Act::Prompt("p2", "two"),
        Act::Answered(&["p1", "p2"]),
        Act::Pause(200),
    ]);
    scenario(name, cli, editor)
}

/// A follow-up that does not stream (3.1 row 6).
fn followup_consolidated_only() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend(stopped(&[]));
    cli.push(Step::Pause(30));
    cli.extend(says([
        requesting(&[]),
        assistant("msg_follow", "Follow-up not streamed"),
        result(by_itself()),
        state("idle"),
    ]));
    let editor = cancelling(&[Act::Pause(250)]);
    scenario("followup_consolidated_only", cli, editor)
}

/// A follow-up that takes an abandoned prompt with it (3.1 row 7).
fn abandoned_folded_into_followup() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend([Step::Prompt(2), Step::Says(life(2, "queued"))]);
    cli.extend(stopped(&["@2"]));
    let held = "held because an orphan result is due";
    cli.extend([Step::Pause(20), Step::Says(requesting(&[]))]);
    cli.extend(says(answer_frames("msg_f", &[held])));
    let folded = result(super::words::with(by_itself(), of(&[2])));
    cli.extend(says([
        life(2, "started"),
        folded,
        life(2, "completed"),
        state("idle"),
    ]));
    cli.extend(turn(3, "msg_3", &["Third ", "answer"]));
    let editor = two_then_three(200);
    let mut scenario = scenario("abandoned_folded_into_followup", cli, editor);
    scenario.takes_back = Some(false);
    scenario
}

/// A process whose requests do not name their prompts (3.1 row 9).
fn no_marker_window() -> Scenario {
    let mut cli = begun(&OLD);
    cli.extend(stopped(&[]));
    cli.push(Step::Pause(30));
    cli.extend(answered(
        None,
        "msg_follow",
        &["Lost ", "follow-up"],
        by_itself(),
    ));
    cli.push(Step::Says(state("idle")));
    cli.extend(turn(2, "msg_2", &["Second ", "answer"]));
    let editor = cancelling(&[
        Act::Pause(250),
        Act::Prompt("two", "two"),
        Act::Answered(&["two"]),
    ]);
    scenario("no_marker_window", cli, editor)
}

/// The echo comes in the middle of a block (3.1 row 10).
fn echo_mid_block() -> Scenario {
    let mut cli = begun(&OLD);
    cli.extend(stopped(&[]));
    cli.extend([Step::Says(state("idle")), Step::Prompt(2)]);
    cli.extend(says([
        state("running"),
        life(2, "queued"),
        life(2, "started"),
        start("msg_2"),
        text_block(0),
        text(0, "First "),
    ]));
    cli.push(Step::Pause(20));
    cli.extend(says([
        echo(2),
        text(0, "block."),
        assistant("msg_2", "First block."),
        block_stop(0),
        text_block(1),
        text(1, "Second "),
        text(1, "block."),
        assistant("msg_2", "Second block."),
        block_stop(1),
        stop(),
        done(2),
        life(2, "completed"),
        state("idle"),
    ]));
    let editor = cancelling(&[
        Act::Pause(60),
        Act::Prompt("two", "two"),
        Act::Answered(&["two"]),
    ]);
    scenario("echo_mid_block", cli, editor)
}

/// A subagent's text has no whole copy that would be shown (3.1 row 12).
fn subagent_stream_no_latch() -> Scenario {
    let agent = "toolu_agent";
    let input = json!({ "description": "d", "prompt": "p", "subagent_type": "general-purpose" });
    let whole = json!([{ "type": "tool_use", "id": agent, "name": "Agent", "input": input }]);
    let mut cli = taken(&NEW);
    cli.extend(says([
        start("msg_1"),
        tool_block(0, agent, "Agent"),
        assistant_of("msg_1", &whole),
        block_stop(0),
        stop(),
        task_started(agent, false),
        start_in("msg_s", Some(agent)),
        block_in(0, &json!({ "type": "text", "text": "" }), Some(agent)),
        text_in(0, "Working", Some(agent)),
    ]));
    cli.extend([
        Step::Asked("interrupt"),
        Step::Replies("interrupt", json!({ "still_queued": [] })),
    ]);
    cli.extend(says([aborted(of(&[1])), life(1, "cancelled")]));
    cli.extend([
        Step::Pause(30),
        Step::Says(text_in(0, " lost-sub", Some(agent))),
        Step::Says(requesting(&[])),
        Step::Says(text_in(0, " kept-sub", Some(agent))),
        Step::Pause(10),
        Step::Says(state("idle")),
    ]);
    let editor = cancelling(&[Act::Pause(200)]);
    scenario("subagent_stream_no_latch", cli, editor)
}

/// What Claude does by itself is cancelled (3.1 row 13).
fn own_cycle_cancelled() -> Scenario {
    let mut cli = taken(&NEW);
    cli.extend(streamed("msg_1", &["First ", "done"]));
    cli.extend(says([done(1), life(1, "completed"), state("idle")]));
    cli.push(Step::Pause(50));
    cli.extend(says([
        state("running"),
        requesting(&[]),
        start("msg_auto"),
        text_block(0),
        text(0, "Working"),
    ]));
    cli.extend([
        Step::Asked("interrupt"),
        Step::Says(text(0, ", stopping")),
        Step::Replies("interrupt", json!({ "still_queued": [] })),
    ]);
    let late = json!({ "type": "content_block_delta", "index": 0,
                       "delta": { "type": "text_delta", "text": "after-report" } });
    cli.extend(says([
        assistant("msg_auto", "Working, stopping"),
        block_stop(0),
        stop(),
        aborted(by_itself()),
    ]));
    cli.extend([
        Step::Pause(20),
        Step::Says(event(&late, None)),
        Step::Says(state("idle")),
    ]);
    cli.extend(turn(2, "msg_2", &["Second ", "answer"]));
    let editor = vec![
        Act::Prompt("one", "one"),
        Act::Answered(&["one"]),
        Act::Chunk("Working"),
        Act::Cancel,
        Act::Pause(250),
        Act::Prompt("two", "two"),
        Act::Answered(&["two"]),
    ];
    scenario("own_cycle_cancelled", cli, editor)
}

/// A turn that is done, but waits for its subagent (3.1 row 14).
fn held_turn_cancelled() -> Scenario {
    let mut cli = taken(&NEW);
    cli.push(Step::Says(task_started("toolu_agent", true)));
    cli.extend(streamed("msg_1", &["Working"]));
    cli.extend(says([done(1), life(1, "completed")]));
    cli.extend([
        Step::Asked("interrupt"),
        Step::Replies("interrupt", json!({ "still_queued": [] })),
    ]);
    cli.extend(says([task_over("toolu_agent", "stopped"), state("idle")]));
    cli.extend(turn(2, "msg_2", &["Second ", "answer"]));
    let editor = vec![
        Act::Prompt("p1", "one"),
        Act::Chunk("Working"),
        Act::Pause(150),
        Act::Cancel,
        Act::Answered(&["p1"]),
        Act::Pause(100),
        Act::Prompt("two", "two"),
        Act::Answered(&["two"]),
    ];
    scenario("held_turn_cancelled", cli, editor)
}

/// A tool that was about to be used (3.1 row 18).
fn open_tool_never_ran() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend(says([block_stop(0), tool_block(1, "toolu_x", "Bash")]));
    cli.extend([
        Step::Asked("interrupt"),
        Step::Replies("interrupt", json!({ "still_queued": [] })),
    ]);
    cli.extend(says([
        interrupted(),
        stop(),
        aborted(of(&[1])),
        life(1, "cancelled"),
        state("idle"),
    ]));
    let editor = vec![
        Act::Prompt("p1", "one"),
        Act::Chunk("Working"),
        Act::Pause(50),
        Act::Cancel,
        Act::Answered(&["p1"]),
        Act::Pause(100),
    ];
    scenario("open_tool_never_ran", cli, editor)
}

/// No result comes of the cancelled turn (3.1 row 19).
fn idle_only_cancel() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend([
        Step::Asked("interrupt"),
        Step::Replies("interrupt", json!({ "still_queued": [] })),
        Step::Says(state("idle")),
    ]);
    cli.extend(turn(2, "msg_2", &["Second ", "answer"]));
    let editor = cancelling(&[
        Act::Pause(100),
        Act::Prompt("two", "two"),
        Act::Answered(&["two"]),
    ]);
    scenario("idle_only_cancel", cli, editor)
}

/// The interrupt is never answered (3.1 row 20).
fn wedged() -> Scenario {
    let mut cli = begun(&NEW);
    cli.extend([Step::Asked("interrupt"), Step::Pause(31_500)]);
    cli.extend(says([
        aborted(of(&[1])),
        life(1, "cancelled"),
        state("idle"),
    ]));
    cli.extend(turn(2, "msg_2", &["Second ", "answer"]));
    let editor = cancelling(&[
        Act::Pause(2_500),
        Act::Prompt("two", "two"),
        Act::Answered(&["two"]),
    ]);
    scenario("wedged", cli, editor)
}

/// A scenario in which nothing comes of taking a prompt back by itself.
pub fn scenario(name: &'static str, cli: Vec<Step>, editor: Vec<Act>) -> Scenario {
    Scenario {
        name,
        takes_back: None,
        cli,
        editor,
    }
}

fn cancelling(more: &[Act]) -> Vec<Act> {
    let mut editor = vec![
        Act::Prompt("p1", "one"),
        Act::Chunk("Working"),
        Act::Cancel,
        Act::Answered(&["p1"]),
    ];
    editor.extend(more);
    editor
}

fn two_then_three(pause: u64) -> Vec<Act> {
    vec![
        Act::Prompt("p1", "one"),
        Act::Chunk("Working"),
        Act::Prompt("p2", "two"),
        Act::Pause(80),
        Act::Cancel,
        Act::Answered(&["p1", "p2"]),
        Act::Pause(pause),
        Act::Prompt("three", "three"),
        Act::Answered(&["three"]),
    ]
}

/// It says these frames.
pub fn says(frames: impl IntoIterator<Item = Value>) -> impl Iterator<Item = Step> {
    frames.into_iter().map(Step::Says)
}

/// The first prompt is taken.
pub fn taken(capabilities: &[&str]) -> Vec<Step> {
    let mut steps = vec![Step::Prompt(1)];
    steps.extend(says([
        state("running"),
        life(1, "queued"),
        life(1, "started"),
        init(capabilities),
        requesting(&[1]),
        echo(1),
    ]));
    steps
}

/// The first prompt is taken, and its answer begins.
pub fn begun(capabilities: &[&str]) -> Vec<Step> {
    let mut steps = taken(capabilities);
    steps.extend(says([start("msg_1"), text_block(0), text(0, "Working")]));
    steps
}

/// The first prompt is interrupted.
pub fn stopped(still_queued: &[&str]) -> Vec<Step> {
    let mut steps = vec![
        Step::Asked("interrupt"),
        Step::Says(text(0, ", stopping")),
        Step::Replies("interrupt", json!({ "still_queued": still_queued })),
    ];
    steps.extend(says([
        assistant("msg_1", "Working, stopping"),
        interrupted(),
        block_stop(0),
        stop(),
        aborted(of(&[1])),
        life(1, "cancelled"),
    ]));
    steps
}

/// A whole answer: of a prompt, or of work that no prompt began.
pub fn answered(prompt: Option<usize>, id: &str, chunks: &[&str], whose: Value) -> Vec<Step> {
    let named: Vec<usize> = prompt.into_iter().collect();
    let mut steps = vec![Step::Says(requesting(&named))];
    steps.extend(prompt.map(|prompt| Step::Says(echo(prompt))));
    steps.extend(streamed(id, chunks));
    steps.push(Step::Says(result(whose)));
    steps.extend(prompt.map(|prompt| Step::Says(life(prompt, "completed"))));
    steps
}

/// A message streams, a little at a time.
pub fn streamed(id: &str, chunks: &[&str]) -> Vec<Step> {
    let mut steps = Vec::new();
    for frame in answer_frames(id, chunks) {
        let grows = frame["event"]["type"] == "content_block_delta";
        steps.push(Step::Says(frame));
        if grows {
            steps.push(Step::Pause(5));
        }
    }
    steps
}

/// A whole turn.
pub fn turn(prompt: usize, id: &str, chunks: &[&str]) -> Vec<Step> {
    let mut steps = vec![Step::Prompt(prompt)];
    steps.extend(says([
        state("running"),
        life(prompt, "queued"),
        life(prompt, "started"),
    ]));
    steps.extend(answered(Some(prompt), id, chunks, of(&[prompt])));
    steps.push(Step::Says(state("idle")));
    steps
}
