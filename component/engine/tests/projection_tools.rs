//! Tool cards: identity, live content, results, ends.
//! Adapter specification, sections 19.1 to 19.7; races 6, 8, 22 and 23 of section 27.

mod projection_support;

use airlock_engine::host::maka::results;
use airlock_engine::projection::{
    Call, End, Failure, Outcome, Projection, Stream, ToolFact, ToolKind,
};
use projection_support::{
    announced, call, chunk, drained, output, projection, raw, result, started, text,
};
use serde_json::{Value, json};

const NOTHING: [Value; 0] = [];

/// The live part of a card's extension data, with nothing lost.
fn whole(mut meta: Value) -> Value {
    meta["liveOutputTruncated"] = false.into();
    meta["liveOutputDroppedChars"] = 0.into();
    meta["liveOutputMissingChunks"] = 0.into();
    json!({"maka": meta})
}

fn take(projection: &mut Projection, fact: ToolFact<'_>) -> Vec<Value> {
    projection.tool(fact).unwrap();
    drained(projection)
}

fn shell<'a>(id: &'a str, preview: Option<&str>) -> ToolFact<'a> {
    ToolFact::Called {
        id,
        call: Call {
            name: "Shell",
            display_name: Some("Run"),
            kind: ToolKind::Execute,
            operation_id: Some("op"),
            step_id: Some("step"),
            parent: None,
            places: &[],
        },
        args: None,
        input_preview: preview.map(str::to_owned),
    }
}

/// M8: output before the start, out of order and repeated: one `tool_call`, three
/// notifications, and the content is whole each time.
#[test]
fn given_output_before_the_start_when_the_start_comes_then_the_card_is_whole() {
    let mut projection = projection();
    let second = || ToolFact::Output {
        id: "t",
        seq: 2,
        stream: Stream::Stderr,
        chunk: "second",
        redacted: true,
    };
    let newest = json!({"sequence": 2, "stream": "stderr", "redacted": true});
    assert_eq!(
        take(&mut projection, second()),
        [json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "t", "kind": "other",
            "status": "in_progress",
            "_meta": {"maka": {"turnId": "T", "redacted": true, "output": newest,
                "liveOutputTruncated": false, "liveOutputDroppedChars": 0,
                "liveOutputMissingChunks": 1}},
            "content": [text("[1 tool output chunk missing]"),
                chunk("[stderr] [redacted] second", 2, "stderr", true)]
        })]
    );
    let both = [
        chunk("[stdout] first", 1, "stdout", false),
        chunk("[stderr] [redacted] second", 2, "stderr", true),
    ];
    assert_eq!(
        take(&mut projection, output("t", 1, "first")),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "t",
            "kind": "other", "status": "in_progress",
            "_meta": whole(json!({"turnId": "T", "redacted": true, "output": newest})),
            "content": both
        })]
    );
    assert_eq!(take(&mut projection, second()), NOTHING);
    assert_eq!(
        take(&mut projection, shell("t", Some(r#"{"command":"pwd"}"#))),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Run",
            "kind": "execute", "status": "in_progress",
            "_meta": whole(json!({"turnId": "T", "toolName": "Shell", "operationId": "op",
                "stepId": "step", "redacted": true, "output": newest})),
            "content": [text(r#"Input preview (not full input): {"command":"pwd"}"#),
                both[0], both[1]]
        })]
    );
}

/// M9: an announced result keeps the shown content until the record comes; afterwards late
/// events are silent.
#[test]
fn given_an_announced_result_when_the_record_comes_then_it_replaces_the_content() {
    let mut projection = projection();
    take(&mut projection, started("t", "Shell"));
    take(&mut projection, output("t", 1, "live"));
    let meta = |mut rest: Value| {
        rest["turnId"] = "T".into();
        rest["toolName"] = "Shell".into();
        rest["redacted"] = false.into();
        rest["output"] = json!({"sequence": 1, "stream": "stdout", "redacted": false});
        json!({"maka": rest})
    };
    assert_eq!(
        take(&mut projection, announced("t", false)),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Shell",
            "kind": "execute", "status": "completed",
            "_meta": meta(json!({"hostStatus": "completed", "durationMs": 42,
                "resultPending": true}))
        })]
    );
    let stored = raw(r#"{"kind":"text","text":"done"}"#);
    assert_eq!(
        take(&mut projection, result("t", "done", &stored)),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Shell",
            "kind": "execute", "status": "completed",
            "_meta": meta(json!({"hostStatus": "completed", "durationMs": 42,
                "resultPending": false, "resultTruncated": false, "resultDroppedChars": 0})),
            "content": [text("done")],
            "rawOutput": {"kind": "text", "text": "done"}
        })]
    );
    assert_eq!(take(&mut projection, output("t", 2, "late")), NOTHING);
    assert_eq!(
        take(
            &mut projection,
            ToolFact::Preview {
                id: "t",
                json: "{}"
            }
        ),
        NOTHING
    );
    assert_eq!(
        take(
            &mut projection,
            ToolFact::Progress {
                id: "t",
                text: "late"
            }
        ),
        NOTHING
    );
    projection.finish(End::Completed).unwrap();
    assert_eq!(drained(&mut projection), NOTHING);
}

/// M10, race 22: a result before the start: one `tool_call`; the late start fills in the
/// name without opening the tool again.
#[test]
fn given_a_result_before_the_start_when_the_start_comes_then_only_names_are_filled_in() {
    let mut projection = projection();
    assert_eq!(
        take(&mut projection, announced("t", true)),
        [json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "t", "kind": "other",
            "status": "failed",
            "_meta": {"maka": {"turnId": "T", "hostStatus": "errored", "durationMs": 42,
                "resultPending": true}}
        })]
    );
    let args = raw(r#"{"command":"false"}"#);
    let fact = ToolFact::Called {
        id: "t",
        call: call("Shell", ToolKind::Execute),
        args: Some(&args),
        input_preview: Some(r#"{"command":"false"}"#.to_owned()),
    };
    assert_eq!(
        take(&mut projection, fact),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Shell",
            "kind": "execute", "status": "failed",
            "_meta": {"maka": {"turnId": "T", "toolName": "Shell", "hostStatus": "errored",
                "durationMs": 42, "resultPending": true}},
            "rawInput": {"command": "false"}
        })]
    );
}

/// M11, M18: progress and preview stand beside the output; a tool that never ended is
/// interrupted by the end of its turn, and its content stays as it is shown.
#[test]
fn given_progress_and_preview_when_the_turn_ends_then_the_tool_is_interrupted() {
    for end in [End::Completed, End::Failed, End::Cancelled] {
        let mut projection = projection();
        take(&mut projection, output("t", 1, "out"));
        take(
            &mut projection,
            ToolFact::Progress {
                id: "t",
                text: "steps:1/3",
            },
        );
        let newest = json!({"sequence": 1, "stream": "stdout", "redacted": false});
        let steps = json!({"current": 1, "total": 3});
        assert_eq!(
            take(
                &mut projection,
                ToolFact::Preview {
                    id: "t",
                    json: r#"{"a":1}"#
                }
            ),
            [json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "t",
                "kind": "other", "status": "in_progress",
                "_meta": whole(json!({"turnId": "T", "redacted": false, "output": newest,
                    "progress": steps})),
                "content": [chunk("[stdout] out", 1, "stdout", false),
                    text("Progress: steps:1/3"), text(r#"Preview: {"a":1}"#)]
            })]
        );
        projection.finish(end).unwrap();
        assert_eq!(
            drained(&mut projection),
            [json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "t",
                "kind": "other", "status": "failed",
                "_meta": {"maka": {"turnId": "T", "redacted": false, "output": newest,
                    "progress": steps, "hostStatus": "interrupted"}}
            })]
        );
    }
}

/// M12, race 23: missing chunks are marked, counted, and healed by the late chunk.
#[test]
fn given_missing_chunks_when_they_come_late_then_the_marker_goes() {
    let marker = |update: &Value| update["content"][0]["content"]["text"].clone();
    let count = |update: &Value| update["_meta"]["maka"]["liveOutputMissingChunks"].clone();
    let mut projection = projection();
    let updates = take(&mut projection, output("t", 3, "c"));
    assert_eq!(marker(&updates[0]), "[2 tool output chunks missing]");
    assert_eq!(count(&updates[0]), 2);
    let updates = take(&mut projection, output("t", 1, "a"));
    assert_eq!(marker(&updates[0]), "[1 tool output chunk missing]");
    assert_eq!(count(&updates[0]), 1);
    let updates = take(&mut projection, output("t", 2, "b"));
    assert_eq!(marker(&updates[0]), "[stdout] a");
    assert_eq!(count(&updates[0]), 0);
}

/// Section 19.3: a later record names the tool anew; ids that it leaves out stay.
#[test]
fn given_a_known_tool_when_called_again_then_new_names_count_and_missing_ids_stay() {
    let mut projection = projection();
    take(&mut projection, shell("t", None));
    let renamed = Call {
        name: "Bash",
        kind: ToolKind::Read,
        step_id: Some("other"),
        ..Call::default()
    };
    assert_eq!(
        take(
            &mut projection,
            ToolFact::Started {
                id: "t",
                call: renamed
            }
        ),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Bash",
            "kind": "read", "status": "in_progress",
            "_meta": whole(json!({"turnId": "T", "toolName": "Bash", "operationId": "op",
                "stepId": "other"})),
            "content": []
        })]
    );
}

/// M13: stored inputs that are themselves a projection are no raw input.
#[test]
fn given_projected_stored_inputs_when_called_then_there_is_no_raw_input() {
    let args = raw(r#"{"command":"pwd"}"#);
    for (tool, shown) in [("WriteStdin", false), ("todo_write", false), ("Bash", true)] {
        let mut projection = projection();
        let updates = take(
            &mut projection,
            ToolFact::Called {
                id: "t",
                call: call(tool, ToolKind::Other),
                args: results::raw_input(tool, &args),
                input_preview: None,
            },
        );
        assert_eq!(updates[0].get("rawInput").is_some(), shown, "{tool}");
    }
}

/// M14: a title and previews that are too long end with an ellipsis, not with the mark of
/// a result; what counts are UTF-16 units, and no character is cut.
#[test]
fn given_long_texts_when_shown_then_each_is_cut_with_its_own_mark() {
    let long = "😀".repeat(4_000);
    let cut = format!("{}…", "😀".repeat(2_047));
    let mut projection = projection();
    let updates = take(
        &mut projection,
        ToolFact::Called {
            id: "t",
            call: Call {
                name: "Shell",
                display_name: Some(&long),
                ..Call::default()
            },
            args: None,
            input_preview: Some(long.clone()),
        },
    );
    assert_eq!(updates[0]["title"], cut);
    assert_eq!(
        updates[0]["content"],
        json!([text(&format!("Input preview (not full input): {cut}"))])
    );
    let updates = take(
        &mut projection,
        ToolFact::Preview {
            id: "t",
            json: &long,
        },
    );
    assert_eq!(updates[0]["content"][1], text(&format!("Preview: {cut}")));
    assert_eq!(
        updates[0]["_meta"],
        whole(json!({"turnId": "T", "toolName": "Shell"}))
    );
}

/// M17, race 6: a completed turn owes every result that was announced; the other cards are
/// settled all the same.
#[test]
fn given_an_announced_result_when_the_turn_completes_without_it_then_it_fails() {
    let mut projection = projection();
    take(&mut projection, announced("a", false));
    take(&mut projection, started("b", "Shell"));
    let missing = Err(Failure::ToolResultMissing);
    assert_eq!(projection.finish(End::Completed), missing);
    let settled = drained(&mut projection);
    assert_eq!(settled.len(), 1);
    assert_eq!(
        (&settled[0]["toolCallId"], &settled[0]["status"]),
        (&"b".into(), &"failed".into())
    );
    assert_eq!(projection.tool(output("b", 1, "x")), missing);
    assert_eq!(projection.failure(), Some(Failure::ToolResultMissing));
}

/// Section 19.7: failed and cancelled turns owe nothing.
#[test]
fn given_an_announced_result_when_the_turn_fails_then_it_is_not_missed() {
    for end in [End::Failed, End::Cancelled] {
        let mut projection = projection();
        take(&mut projection, announced("a", false));
        projection.finish(end).unwrap();
        assert_eq!(drained(&mut projection), NOTHING);
    }
}

/// M21, race 7: repeated records are silent; another result replaces the first; an
/// announcement after a result is ignored.
#[test]
fn given_a_result_when_records_repeat_then_only_a_changed_one_is_shown() {
    let mut projection = projection();
    let args = raw(r#"{"command":"pwd"}"#);
    let called = || ToolFact::Called {
        id: "t",
        call: call("Shell", ToolKind::Execute),
        args: Some(&args),
        input_preview: Some(r#"{"command":"pwd"}"#.to_owned()),
    };
    let stored = raw(r#"{"kind":"text","text":"one"}"#);
    take(&mut projection, called());
    assert_eq!(take(&mut projection, called()), NOTHING);
    assert_eq!(take(&mut projection, started("t", "Shell")), NOTHING);
    assert_eq!(take(&mut projection, announced("t", false)).len(), 1);
    assert_eq!(take(&mut projection, announced("t", false)), NOTHING);
    assert_eq!(
        take(&mut projection, announced("t", true))[0]["status"],
        "failed"
    );
    assert_eq!(
        take(&mut projection, result("t", "one", &stored))[0]["status"],
        "completed"
    );
    assert_eq!(take(&mut projection, result("t", "one", &stored)), NOTHING);
    assert_eq!(take(&mut projection, announced("t", true)), NOTHING);
    assert_eq!(take(&mut projection, called()), NOTHING);
    let other = raw(r#"{"kind":"text","text":"two"}"#);
    let updates = take(&mut projection, result("t", "two", &other));
    assert_eq!(updates[0]["content"], json!([text("two")]));
    assert_eq!(
        updates[0]["rawOutput"],
        json!({"kind": "text", "text": "two"})
    );
}

/// Section 19.7 and 19.3: a tool that the end of the turn interrupted still takes its record.
#[test]
fn given_an_interrupted_tool_when_its_record_comes_then_it_is_shown() {
    let mut projection = projection();
    take(&mut projection, started("t", "Shell"));
    projection.finish(End::Cancelled).unwrap();
    drained(&mut projection);
    let stored = raw("{}");
    let fact = ToolFact::Result {
        id: "t",
        outcome: Outcome::Interrupted,
        text: "stopped".to_owned(),
        raw: &stored,
        duration_ms: None,
        details: airlock_engine::projection::Details::default(),
    };
    let updates = take(&mut projection, fact);
    assert_eq!(updates[0]["status"], "failed");
    assert_eq!(updates[0]["_meta"]["maka"]["hostStatus"], "interrupted");
    assert_eq!(updates[0]["content"], json!([text("stopped")]));
}

/// Rule R7: a slow editor gets one card with all that the skipped ones would have carried.
#[test]
fn given_a_slow_editor_when_a_tool_ends_then_one_card_carries_the_last_view() {
    let mut projection = projection();
    let args = raw(r#"{"command":"pwd"}"#);
    projection
        .tool(ToolFact::Called {
            id: "t",
            call: call("Shell", ToolKind::Execute),
            args: Some(&args),
            input_preview: None,
        })
        .unwrap();
    projection.tool(output("t", 1, "live")).unwrap();
    projection.tool(announced("t", false)).unwrap();
    let mut ended = projection.clone();
    let newest = json!({"sequence": 1, "stream": "stdout", "redacted": false});
    assert_eq!(
        drained(&mut ended),
        [json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Shell",
            "kind": "execute", "status": "completed",
            "_meta": {"maka": {"turnId": "T", "toolName": "Shell", "redacted": false,
                "output": newest, "hostStatus": "completed", "durationMs": 42,
                "resultPending": true}},
            "content": [chunk("[stdout] live", 1, "stdout", false)],
            "rawInput": {"command": "pwd"}
        })]
    );
    let stored = raw(r#"{"kind":"text","text":"done"}"#);
    projection.tool(result("t", "done", &stored)).unwrap();
    assert_eq!(projection.held_units(), 17 + 4 + stored.get().len() as u64);
    let updates = drained(&mut projection);
    assert_eq!(updates.len(), 1);
    assert_eq!(updates[0]["content"], json!([text("done")]));
    assert_eq!(updates[0]["rawInput"], json!({"command": "pwd"}));
    assert_eq!(
        updates[0]["rawOutput"],
        json!({"kind": "text", "text": "done"})
    );
    assert_eq!(projection.held_units(), 0);
}

/// Section 19.3: only `steps:NUMBER/NUMBER` counts steps.
#[test]
fn given_progress_when_it_counts_steps_then_the_count_is_shown_beside_it() {
    let cases = [
        ("steps:2/5", json!({"current": 2, "total": 5})),
        ("steps:2/", Value::Null),
        ("steps:+2/5", Value::Null),
        ("steps:2/5 ", Value::Null),
        ("[note] steps:2/5", Value::Null),
        ("steps:99999999999999999999/1", Value::Null),
    ];
    for (words, count) in cases {
        let mut projection = projection();
        let updates = take(
            &mut projection,
            ToolFact::Progress {
                id: "t",
                text: words,
            },
        );
        assert_eq!(updates[0]["_meta"]["maka"]["progress"], count, "{words}");
        assert_eq!(
            updates[0]["content"],
            json!([text(&format!("Progress: {words}"))])
        );
    }
}
