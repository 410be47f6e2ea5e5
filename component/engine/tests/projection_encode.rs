//! Updates as lines of ACP v1, byte for byte (adapter specification, appendix B).

mod projection_support;

use airlock_engine::editor::v1::encode;
use airlock_engine::projection::{
    Outcome, Projection, Speaker, Status, Stream, ToolFact, ToolKind,
};
use projection_support::{call, raw, started};

fn lines(projection: &mut Projection) -> String {
    let mut out = vec![];
    projection.drain(&mut |update| encode::update("S", "maka", &update, &mut out));
    String::from_utf8(out).unwrap()
}

#[test]
fn given_messages_when_encoded_then_the_lines_are_those_of_the_specification() {
    let mut projection = Projection::new("T");
    projection
        .text_grew(Speaker::Agent, "m1", 0, "hel", false)
        .unwrap();
    projection
        .text_grew(Speaker::Thought, "m1", 0, "a\n\"b\"\u{2028}", false)
        .unwrap();
    assert_eq!(
        lines(&mut projection),
        concat!(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hel"},"messageId":"m1"}}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"a\n\"b\"\u2028"},"messageId":"m1"}}}"#,
            "\n",
        )
    );
}

#[test]
fn given_a_tool_when_encoded_step_by_step_then_the_lines_are_those_of_the_specification() {
    let mut projection = Projection::new("T");
    projection
        .tool(ToolFact::Called {
            id: "t1",
            call: call("Shell", ToolKind::Execute),
            args: None,
            input_preview: Some(r#"{"command":"pwd"}"#.to_owned()),
        })
        .unwrap();
    assert_eq!(
        lines(&mut projection),
        concat!(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Shell","kind":"execute","status":"in_progress","_meta":{"maka":{"turnId":"T","toolName":"Shell","liveOutputTruncated":false,"liveOutputDroppedChars":0,"liveOutputMissingChunks":0}},"content":[{"type":"content","content":{"type":"text","text":"Input preview (not full input): {\"command\":\"pwd\"}"}}]}}}"#,
            "\n",
        )
    );
    projection
        .tool(ToolFact::Announced {
            id: "t1",
            errored: false,
            duration_ms: Some(42),
        })
        .unwrap();
    assert_eq!(
        lines(&mut projection),
        concat!(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","title":"Shell","kind":"execute","status":"completed","_meta":{"maka":{"turnId":"T","toolName":"Shell","hostStatus":"completed","durationMs":42,"resultPending":true}}}}}"#,
            "\n",
        )
    );
    let stored = raw(r#"{"kind":"text","text":"/w"}"#);
    projection
        .tool(ToolFact::Result {
            id: "t1",
            outcome: Outcome::Completed,
            text: "/w".to_owned(),
            raw: &stored,
            duration_ms: Some(42),
            details: airlock_engine::projection::Details::default(),
        })
        .unwrap();
    assert_eq!(
        lines(&mut projection),
        concat!(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","title":"Shell","kind":"execute","status":"completed","_meta":{"maka":{"turnId":"T","toolName":"Shell","hostStatus":"completed","durationMs":42,"resultPending":false,"resultTruncated":false,"resultDroppedChars":0}},"content":[{"type":"content","content":{"type":"text","text":"/w"}}],"rawOutput":{"kind":"text","text":"/w"}}}}"#,
            "\n",
        )
    );
}

#[test]
fn given_a_tool_with_every_field_when_encoded_then_their_order_is_fixed() {
    let mut projection = Projection::new("T");
    let args = raw("{\"b\": 1.0,\r\n \"a\":\"\u{2028}\"}");
    let mut call = call("Shell", ToolKind::Read);
    call.operation_id = Some("op");
    call.step_id = Some("step");
    projection
        .tool(ToolFact::Called {
            id: "t",
            call,
            args: Some(&args),
            input_preview: None,
        })
        .unwrap();
    projection
        .tool(ToolFact::Output {
            id: "t",
            seq: 2,
            stream: Stream::Stderr,
            chunk: "x\n",
            redacted: true,
        })
        .unwrap();
    projection
        .tool(ToolFact::Progress {
            id: "t",
            text: "steps:1/2",
        })
        .unwrap();
    assert_eq!(
        lines(&mut projection),
        concat!(
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"Shell","kind":"read","status":"in_progress","_meta":{"maka":{"turnId":"T","toolName":"Shell","operationId":"op","stepId":"step","redacted":true,"output":{"sequence":2,"stream":"stderr","redacted":true},"progress":{"current":1,"total":2},"liveOutputTruncated":false,"liveOutputDroppedChars":0,"liveOutputMissingChunks":1}},"content":[{"type":"content","content":{"type":"text","text":"[1 tool output chunk missing]"}},{"type":"content","content":{"type":"text","text":"[stderr] [redacted] x\n","_meta":{"maka":{"sequence":2,"stream":"stderr","redacted":true}}}},{"type":"content","content":{"type":"text","text":"Progress: steps:1/2"}}],"rawInput":{"b": 1.0, "a":"\u2028"}}}}"#,
            "\n",
        )
    );
}

/// A running tool without anything to show still says so: its content is empty, not absent.
#[test]
fn given_a_bare_start_when_encoded_then_its_content_is_empty() {
    let mut projection = Projection::new("T");
    projection.tool(started("t", "Shell")).unwrap();
    assert!(lines(&mut projection).ends_with("\"content\":[]}}}\n"));
}

/// The tables hold the words that ACP v1 knows.
#[test]
fn given_every_kind_and_status_when_encoded_then_the_words_are_those_of_acp() {
    let kinds = [
        (ToolKind::Read, "read"),
        (ToolKind::Edit, "edit"),
        (ToolKind::Delete, "delete"),
        (ToolKind::Move, "move"),
        (ToolKind::Search, "search"),
        (ToolKind::Execute, "execute"),
        (ToolKind::Think, "think"),
        (ToolKind::Fetch, "fetch"),
        (ToolKind::SwitchMode, "switch_mode"),
        (ToolKind::Other, "other"),
    ];
    for (kind, word) in kinds {
        assert_eq!(encode::kind(kind), word);
    }
    let statuses = [
        (Status::Pending, "pending"),
        (Status::InProgress, "in_progress"),
        (Status::Completed, "completed"),
        (Status::Failed, "failed"),
    ];
    for (status, word) in statuses {
        assert_eq!(encode::status(status), word);
    }
}
