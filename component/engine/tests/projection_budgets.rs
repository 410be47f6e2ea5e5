//! The budgets of tool cards: for one tool, for a turn, for raw values.
//! Adapter specification, section 19.5; races 23 and 24 of section 27.

mod projection_support;

use airlock_engine::limits;
use airlock_engine::projection::{Call, End, Failure, Outcome, Projection, ToolFact, utf16};
use projection_support::{
    announced, chunk, drained, output, projection, raw, result, started, text,
};
use serde_json::{Value, json};

const CAPACITY: Result<(), Failure> = Err(Failure::ToolPresentationCapacity);

/// What a tool that only has output keeps of it: the budget without its title and its
/// extension data.
fn room(id: &str, meta: &str) -> usize {
    limits::TOOL_UNITS as usize - id.len() - meta.len()
}

const META: &str =
    r#"{"turnId":"T","redacted":false,"output":{"sequence":1,"stream":"stdout","redacted":false}}"#;

fn texts(update: &Value) -> Vec<&str> {
    update["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["content"]["text"].as_str().unwrap())
        .collect()
}

/// M15: live output and result stay within their budgets, in whole characters.
#[test]
fn given_too_much_in_long_characters_when_shown_then_it_is_cut_in_whole_characters() {
    let long = "😀".repeat(limits::TOOL_UNITS as usize);
    let mut projection = projection();
    projection.tool(output("t", 1, &long)).unwrap();
    let updates = drained(&mut projection);
    // The room is odd, so one unit more than needed is dropped.
    let kept = room("t", META) as u64 / 2 * 2;
    let dropped = 2 * limits::TOOL_UNITS - kept;
    assert_eq!(
        updates[0]["content"],
        json!([
            text(&format!("[{dropped} earlier output characters truncated]")),
            chunk(
                &format!("[stdout] {}", "😀".repeat(kept as usize / 2)),
                1,
                "stdout",
                false
            )
        ])
    );
    let live = &updates[0]["_meta"]["maka"];
    assert_eq!(live["liveOutputTruncated"], true);
    assert_eq!(live["liveOutputDroppedChars"], dropped);
    assert_eq!(live["liveOutputMissingChunks"], 0);

    let stored = raw(&serde_json::to_string(&json!({"kind": "text", "text": long})).unwrap());
    projection.tool(result("t", &long, &stored)).unwrap();
    let updates = drained(&mut projection);
    let shown = texts(&updates[0])[0];
    let cut = shown.strip_suffix("\n[Result truncated]").unwrap();
    // 19 units are for the mark, and the last half character goes too.
    assert_eq!(cut, "😀".repeat((limits::TOOL_UNITS as usize - 19) / 2));
    let meta = &updates[0]["_meta"]["maka"];
    assert_eq!(meta["resultTruncated"], true);
    assert_eq!(
        meta["resultDroppedChars"],
        2 * limits::TOOL_UNITS - utf16::units(cut)
    );
    assert_eq!(meta.get("liveOutputTruncated"), None);
    assert_eq!(updates[0].get("rawOutput"), None);
}

/// Section 19.6: the bounds themselves still fit.
#[test]
fn given_a_result_at_the_bound_when_shown_then_it_is_whole() {
    let at_bound = "x".repeat(limits::TOOL_UNITS as usize);
    let quoted = |units: u64| raw(&format!("\"{}\"", "😀".repeat(units as usize / 2 - 1)));
    let mut projection = projection();
    let stored = quoted(limits::TOOL_RAW_UNITS);
    projection.tool(result("a", &at_bound, &stored)).unwrap();
    let bigger = quoted(limits::TOOL_RAW_UNITS + 2);
    projection.tool(result("b", "short", &bigger)).unwrap();
    let past = format!("{at_bound}x");
    projection.tool(result("c", &past, &stored)).unwrap();
    let updates = drained(&mut projection);
    assert_eq!(texts(&updates[0]), [at_bound.as_str()]);
    assert_eq!(updates[0]["rawOutput"].to_string(), stored.get());
    assert_eq!(texts(&updates[1]), ["short"]);
    assert_eq!(updates[1].get("rawOutput"), None);
    assert_eq!(updates[1]["_meta"]["maka"]["resultTruncated"], false);
    assert_eq!(utf16::units(texts(&updates[2])[0]), limits::TOOL_UNITS);
    assert_eq!(updates[2]["_meta"]["maka"]["resultDroppedChars"], 20);
    assert_eq!(updates[2].get("rawOutput"), None);
}

/// Section 19.3: raw input has the same bound.
#[test]
fn given_arguments_at_and_past_the_bound_when_called_then_only_small_ones_are_shown() {
    for (extra, shown) in [(0, true), (1, false)] {
        let args = raw(&format!(
            "\"{}\"",
            "x".repeat(limits::TOOL_RAW_UNITS as usize - 2 + extra)
        ));
        let mut projection = projection();
        let call = Call {
            name: "Shell",
            ..Call::default()
        };
        let fact = ToolFact::Called {
            id: "t",
            call,
            args: Some(&args),
            input_preview: None,
        };
        projection.tool(fact).unwrap();
        assert_eq!(drained(&mut projection)[0].get("rawInput").is_some(), shown);
    }
}

/// Section 19.5: the oldest output goes first; what was discarded never comes back, and is
/// not missing.
#[test]
fn given_full_output_when_more_comes_then_the_oldest_is_dropped_for_good() {
    let half = "x".repeat(limits::TOOL_UNITS as usize / 2);
    let mut projection = projection();
    projection.tool(output("t", 2, &half)).unwrap();
    projection.tool(output("t", 3, &half)).unwrap();
    projection.tool(output("t", 6, &half)).unwrap();
    let updates = drained(&mut projection);
    let live = &updates[0]["_meta"]["maka"];
    let meta = META.replace("\"sequence\":1", "\"sequence\":6");
    let dropped = half.len() * 3 - room("t", &meta);
    assert_eq!(live["liveOutputDroppedChars"], dropped);
    assert_eq!(live["liveOutputMissingChunks"], 2);
    let content = texts(&updates[0]);
    assert_eq!(content.len(), 4);
    assert_eq!(
        content[0],
        format!("[{dropped} earlier output characters truncated]")
    );
    assert_eq!(content[1], "[2 tool output chunks missing]");
    assert_eq!(
        content[2].len(),
        "[stdout] ".len() + room("t", &meta) - half.len()
    );

    projection.tool(output("t", 1, "late")).unwrap();
    projection.tool(output("t", 2, "late")).unwrap();
    assert_eq!(drained(&mut projection), [] as [Value; 0]);
    projection.tool(output("t", 4, "4")).unwrap();
    let updates = drained(&mut projection);
    assert_eq!(updates[0]["_meta"]["maka"]["liveOutputMissingChunks"], 1);
}

/// Section 19.5: at most 512 chunks, and progress takes its share first: the newest 4,096
/// units of it.
#[test]
fn given_many_chunks_and_much_progress_when_shown_then_progress_is_kept_first() {
    let mut projection = projection();
    for seq in 1..=600 {
        projection.tool(output("t", seq, "x")).unwrap();
    }
    for at in 0..10 {
        let words = format!("{at}{}", "p".repeat(999));
        projection
            .tool(ToolFact::Progress {
                id: "t",
                text: &words,
            })
            .unwrap();
    }
    let updates = drained(&mut projection);
    let content = texts(&updates[0]);
    let progress: Vec<_> = content
        .iter()
        .filter(|text| text.starts_with("Progress: "))
        .collect();
    assert_eq!(progress.len(), 5);
    assert_eq!(progress[0].len(), "Progress: ".len() + 96);
    assert!(progress[4].starts_with("Progress: 9p"));
    let outputs = content
        .iter()
        .filter(|text| text.starts_with("[stdout] "))
        .count();
    assert_eq!(outputs, 512 - 5);
    let dropped = 600 - (512 - 5) + 10_000 - 4_096;
    assert_eq!(
        content[0],
        format!("[{dropped} earlier output characters truncated]")
    );
    assert_eq!(updates[0]["_meta"]["maka"]["liveOutputMissingChunks"], 0);
}

fn fill(projection: &mut Projection, tools: u64) -> Result<(), Failure> {
    let full = "x".repeat(limits::TOOL_UNITS as usize);
    (0..tools).try_for_each(|at| projection.tool(output(&format!("t{at}"), 1, &full)))
}

/// M16: sixteen full tools fit, not one unit more; the failure stays.
#[test]
fn given_a_full_turn_when_one_more_tool_speaks_then_it_fails_for_good() {
    let tools = limits::PROMPT_TOOL_UNITS / limits::TOOL_UNITS;
    let mut projection = projection();
    fill(&mut projection, tools).unwrap();
    assert_eq!(projection.tool(output("one more", 1, "x")), CAPACITY);
    assert_eq!(projection.tool(announced("t0", false)), CAPACITY);
    assert_eq!(projection.finish(End::Completed), CAPACITY);
    assert_eq!(
        projection.failure(),
        Some(Failure::ToolPresentationCapacity)
    );
    assert_eq!(drained(&mut projection).len() as u64, tools);
}

/// Race 24: a tool that ends gives its budget back, whether or not the editor took its card.
#[test]
fn given_a_full_turn_when_a_tool_ends_then_its_budget_is_free_again() {
    let tools = limits::PROMPT_TOOL_UNITS / limits::TOOL_UNITS;
    let stored = raw("{}");
    for has_result in [true, false] {
        for drain_first in [true, false] {
            let mut projection = projection();
            fill(&mut projection, tools).unwrap();
            if drain_first {
                drained(&mut projection);
            }
            let end = if has_result {
                result("t0", "done", &stored)
            } else {
                announced("t0", false)
            };
            projection.tool(end).unwrap();
            projection.tool(output("one more", 1, "x")).unwrap();
        }
    }
}

/// Race 24: what a tool has to say of itself counts too, and takes from its output.
#[test]
fn given_a_full_tool_when_its_extension_data_grows_then_output_makes_room() {
    let full = "x".repeat(limits::TOOL_UNITS as usize);
    let mut projection = projection();
    projection.tool(output("t", 1, &full)).unwrap();
    let before = texts(&drained(&mut projection)[0])[1].len();
    projection.tool(started("t", "Shell")).unwrap();
    let after = texts(&drained(&mut projection)[0])[1].len();
    // The title grows by four units; the name is there twice.
    assert_eq!(
        before - after,
        "Shel".len() + "Shell".len() + r#""toolName":"Shell","#.len()
    );
}

/// M20: 4,096 tools are known, the next one is refused.
#[test]
fn given_as_many_tools_as_may_be_when_another_comes_then_it_fails() {
    let mut projection = projection();
    for at in 0..limits::PROMPT_TOOLS {
        projection.tool(announced(&at.to_string(), false)).unwrap();
    }
    projection.tool(announced("0", true)).unwrap();
    assert_eq!(projection.tool(announced("new", false)), CAPACITY);
    assert_eq!(projection.tool(announced("0", false)), CAPACITY);
    assert_eq!(drained(&mut projection).len() as u64, limits::PROMPT_TOOLS);
}

/// Held units count what waits and nothing else: the bound of a slow editor.
#[test]
fn given_a_slow_editor_when_tools_end_then_what_is_kept_for_it_is_counted() {
    let mut projection = projection();
    projection.tool(output("live", 1, "12345")).unwrap();
    assert_eq!(projection.held_units(), 0, "live output has its own budget");
    projection.tool(announced("live", false)).unwrap();
    assert_eq!(projection.held_units(), 5);
    let stored = raw("{}");
    projection
        .tool(ToolFact::Result {
            id: "live",
            outcome: Outcome::Errored,
            text: "result".to_owned(),
            raw: &stored,
            duration_ms: None,
            details: airlock_engine::projection::Details::default(),
        })
        .unwrap();
    assert_eq!(projection.held_units(), 8);
    drained(&mut projection);
    assert_eq!(projection.held_units(), 0);
}
