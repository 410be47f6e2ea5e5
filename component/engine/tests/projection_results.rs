//! Maka's tool records in words for people.
//! Adapter specification, sections 19.2, 19.3 and 19.6; Host protocol, section 4.5.

mod projection_support;

use airlock_engine::host::maka::results::{self, Formatted};
use airlock_engine::limits;
use airlock_engine::projection::{Outcome, ToolKind, utf16};
use projection_support::raw;
use proptest::prelude::*;
use serde_json::{Value, json};

fn shown(content: Value) -> String {
    results::result(&raw(&content.to_string()), false).text
}

/// Section 19.6, one line a kind.
#[test]
fn given_each_kind_of_content_when_formatted_then_its_words_are_those_of_the_specification() {
    let pipes = json!({"mode": "pipes", "stdout": "out\n", "stderr": "err\n",
        "latestStream": "stderr", "stdoutTruncated": false, "stderrTruncated": false,
        "redacted": false});
    let pty = json!({"mode": "pty", "screen": "now", "scrollback": "before", "cols": 80,
        "rows": 24, "truncated": false, "redacted": false});
    let cases = [
        (json!({"kind": "text", "text": "a\nb"}), "a\nb"),
        (json!({"kind": "text", "text": ""}), ""),
        (json!({"kind": "json", "value": "as it is"}), "as it is"),
        (
            json!({"kind": "json", "value": {"a": [1, {}], "b": []}}),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}",
        ),
        (
            json!({"kind": "terminal", "cmd": "ls", "cwd": "/w", "status": "failed",
            "exitCode": 2, "output": pipes}),
            "$ ls\ncwd: /w\nstatus: failed\nexit: 2\n\nstdout:\nout\n\nstderr:\nerr",
        ),
        (
            json!({"kind": "terminal", "cmd": "ls", "cwd": "/w", "status": "completed",
            "exitCode": 0, "output": {"mode": "pipes", "stdout": "", "stderr": ""}}),
            "$ ls\ncwd: /w\nstatus: completed\nexit: 0",
        ),
        (
            json!({"kind": "terminal", "cmd": "top", "output": pty}),
            "$ top\n\nterminal:\nbefore\nnow",
        ),
        (
            json!({"kind": "shell_run", "ref": "maka://r/1", "cmd": "make", "cwd": "/w",
            "status": "running", "mode": "pipes"}),
            "$ make\nref: maka://r/1\ncwd: /w\nstatus: running",
        ),
        (
            json!({"kind": "file_diff", "paths": ["/w/a"], "diff": "--- a\n+++ b"}),
            "--- a\n+++ b",
        ),
        (
            json!({"kind": "file_write", "path": "/w/a", "bytes": 12}),
            "Wrote 12 bytes to /w/a",
        ),
        (
            json!({"kind": "summary", "original": "long", "summarized": "short",
            "reason": "too_large"}),
            "short",
        ),
        (
            json!({"kind": "image", "mimeType": "image/png", "ref": {}}),
            "image/png image result",
        ),
        (
            json!({"kind": "web_search", "provider": "tavily", "query": "q", "rows": [
            {"title": "A", "url": "https://a", "snippet": "s", "source": "x"},
            {"title": "B", "url": "https://b"}]}),
            "Search tavily: q\n\nA\nhttps://a\ns\n\nB\nhttps://b",
        ),
        (
            json!({"kind": "web_search_error", "ok": false, "reason": "r", "message": "no key"}),
            "no key",
        ),
        (
            json!({"kind": "explore_agent", "ok": true, "summary": "s", "report": "r"}),
            "r",
        ),
        (
            json!({"kind": "explore_agent", "ok": false, "reason": "invalid_root",
            "message": "no such root"}),
            "no such root",
        ),
        (
            json!({"kind": "subagent", "agentName": "A", "status": "completed", "summary": "did"}),
            "did",
        ),
        (
            json!({"kind": "agent_swarm", "status": "partial", "durationMs": 21, "items": [
            {"itemId": "a", "agentName": "Reader", "status": "completed", "summary": "ok",
                "artifactIds": ["x", "y"]},
            {"itemId": "b", "profile": "local", "status": "failed", "summary": "",
                "artifactIds": []}]}),
            "Agent swarm: partial · 2 items · 1 completed · 1 failed · 0 cancelled · \
             2 artifacts · 21 ms\n\nReader: completed\nok\n\nlocal: failed",
        ),
        (
            json!({"kind": "rive_workflow", "ok": true, "summary": "flow"}),
            "flow",
        ),
        (
            json!({"kind": "archived_tool_result", "status": "not_loaded"}),
            "Archived tool result: not_loaded",
        ),
    ];
    for (content, words) in cases {
        assert_eq!(shown(content.clone()), words, "{content}");
    }
}

/// Rule R6: what is not understood is shown as JSON, in the peer's order and numbers.
#[test]
fn given_content_that_is_not_understood_when_formatted_then_it_is_shown_as_json() {
    let cases = [
        (
            r#"{"kind":"new","z":1.50,"a":"\u00e9"}"#,
            "{\n  \"kind\": \"new\",\n  \"z\": 1.50,\n  \"a\": \"\\u00e9\"\n}",
        ),
        (r#"{"kind":"text"}"#, "{\n  \"kind\": \"text\"\n}"),
        (
            r#"{"kind":"text","text":7}"#,
            "{\n  \"kind\": \"text\",\n  \"text\": 7\n}",
        ),
        (
            r#"{"kind":"text","text":"\ud83d"}"#,
            "{\n  \"kind\": \"text\",\n  \"text\": \"\\ud83d\"\n}",
        ),
        (r#"{"kind":7}"#, "{\n  \"kind\": 7\n}"),
        ("[]", "[]"),
        ("{ }", "{}"),
        ("null", "null"),
        ("\"words\"", "words"),
    ];
    for (content, words) in cases {
        let formatted = results::result(&raw(content), true);
        let wanted = Formatted {
            outcome: Outcome::Errored,
            text: words.to_owned(),
            details: Default::default(),
        };
        assert_eq!(formatted, wanted, "{content}");
    }
}

/// Hostile depth and length cost neither the stack nor memory out of proportion.
#[test]
fn given_deep_or_long_json_when_formatted_then_it_is_bounded() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = results::result(&raw(&deep), false).text;
    assert!(
        text.len() < 2 * deep.len(),
        "deeper levels stay on one line"
    );
    assert!(text.starts_with("[\n  [\n    ["));
    let long = format!("[{}0]", "0,".repeat(limits::JSON_INDENTED as usize));
    assert_eq!(results::result(&raw(&long), false).text, long);
}

/// Section 19.6: bounds of an agent swarm.
#[test]
fn given_long_summaries_when_a_swarm_is_formatted_then_each_and_all_are_bounded() {
    let items: Vec<_> = (0..30)
        .map(|at| {
            json!({"itemId": at.to_string(), "status": "completed",
            "summary": "😀".repeat(1_000)})
        })
        .collect();
    let text = shown(json!({"kind": "agent_swarm", "status": "completed", "items": items}));
    assert!(utf16::units(&text) <= limits::SWARM_UNITS);
    assert!(utf16::units(&text) + 10 > limits::SWARM_UNITS);
    let first = text.split("\n\n").nth(1).unwrap();
    let (line, summary) = first.split_once('\n').unwrap();
    assert_eq!(line, "0: completed");
    let (kept, mark) = summary.split_once('\n').unwrap();
    assert!(utf16::units(summary) <= limits::SWARM_SUMMARY_UNITS);
    assert_eq!(
        mark,
        format!("... {} chars truncated", 2_000 - utf16::units(kept))
    );
    assert!(text.ends_with(" chars truncated"));
}

/// Section 19.6: when an error is an interruption.
#[test]
fn given_each_kind_when_it_is_an_error_then_only_a_stop_is_an_interruption() {
    use Outcome::{Completed, Errored, Interrupted};
    let cases = [
        (
            json!({"kind": "terminal", "status": "cancelled"}),
            Interrupted,
        ),
        (
            json!({"kind": "shell_run", "status": "cancelled"}),
            Interrupted,
        ),
        (
            json!({"kind": "agent_swarm", "status": "cancelled"}),
            Interrupted,
        ),
        (
            json!({"kind": "explore_agent", "reason": "aborted"}),
            Interrupted,
        ),
        (json!({"kind": "terminal", "status": "failed"}), Errored),
        (json!({"kind": "terminal"}), Errored),
        (
            json!({"kind": "explore_agent", "reason": "invalid_root"}),
            Errored,
        ),
        (
            json!({"kind": "explore_agent", "status": "cancelled"}),
            Errored,
        ),
        (json!({"kind": "subagent", "status": "cancelled"}), Errored),
        (json!({"kind": "text", "text": "no"}), Errored),
        (json!("no"), Errored),
    ];
    for (content, outcome) in cases {
        let raw = raw(&content.to_string());
        assert_eq!(results::result(&raw, true).outcome, outcome, "{content}");
        assert_eq!(results::result(&raw, false).outcome, Completed, "{content}");
    }
}

/// Section 19.2, walked row by row.
#[test]
fn given_each_activity_when_mapped_then_the_kind_is_that_of_the_table() {
    let table = [
        (Some("read"), ToolKind::Read),
        (Some("search"), ToolKind::Search),
        (Some("websearch"), ToolKind::Search),
        (Some("explore"), ToolKind::Search),
        (Some("webfetch"), ToolKind::Fetch),
        (Some("edit"), ToolKind::Edit),
        (Some("command"), ToolKind::Execute),
        (Some("computer"), ToolKind::Other),
        (Some("browser"), ToolKind::Other),
        (Some("tool"), ToolKind::Other),
        (None, ToolKind::Other),
    ];
    for (activity, kind) in table {
        assert_eq!(results::kind(activity), kind, "{activity:?}");
    }
}

/// Section 19.3: progress is a text, or a kind and a text.
#[test]
fn given_progress_chunks_when_read_then_texts_and_kinds_are_understood() {
    let cases = [
        (r#""steps:1/2""#, Some("steps:1/2")),
        (r#"{"kind":"note","text":"half"}"#, Some("[note] half")),
        (r#"{"text":"half"}"#, Some("half")),
        (r#"{"kind":"note"}"#, None),
        ("7", None),
    ];
    for (chunk, words) in cases {
        assert_eq!(results::progress(&raw(chunk)).as_deref(), words, "{chunk}");
    }
}

/// Section 19.3: a preview shows what a tool works on, and neither content nor secrets.
#[test]
fn given_arguments_when_previewed_then_only_safe_ones_are_shown() {
    let cases = [
        (
            "Write",
            r#"{"path":"out.txt","content":"written"}"#,
            Some(r#"{"path":"out.txt"}"#),
        ),
        (
            "Bash",
            r#"{"command":"ls","timeout_ms":5}"#,
            Some(r#"{"command":"ls","timeout_ms":5}"#),
        ),
        (
            "mcp",
            r#"{"apiKey":"k","X-Auth-Token":["t"],"query":"q","headers":{"Cookie":"c"}}"#,
            Some(r#"{"apiKey":"[redacted]","X-Auth-Token":"[redacted]","query":"q"}"#),
        ),
        (
            "Find",
            r#"{"queries":["a",1,true,"b"],"path":null,"roots":[["x"]]}"#,
            Some(r#"{"queries":["a",1,true,"b"]}"#),
        ),
        (
            "Find",
            r#"{"paths":["1","2","3","4","5","6","7","8","9"]}"#,
            Some(r#"{"paths":["1","2","3","4","5","6","7","8","…"]}"#),
        ),
        (
            "WriteStdin",
            r#"{"ref":"r","input":"[5 characters]","password":"p"}"#,
            Some(r#"{"ref":"r","input":"[5 characters]","password":"[redacted]"}"#),
        ),
        ("Bash", r#"{"input":"x"}"#, None),
        ("Bash", r#"{"path":"\ud83d"}"#, None),
        ("Bash", "{}", None),
        ("Bash", "[1]", None),
    ];
    for (tool, args, preview) in cases {
        assert_eq!(
            results::input_preview(tool, &raw(args)).as_deref(),
            preview,
            "{args}"
        );
    }
    let long = "x".repeat(1_000);
    let cut = format!("{{\"path\":\"{}…\"}}", "x".repeat(511));
    let args = raw(&json!({"path": long}).to_string());
    assert_eq!(results::input_preview("Read", &args), Some(cut));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// The oracle is serde_json's own printer.
    #[test]
    fn given_any_json_when_indented_then_it_is_as_serde_json_prints_it(value in any_json()) {
        let text = shown(json!({"kind": "json", "value": value}));
        let wanted = match &value {
            Value::String(words) => words.clone(),
            other => serde_json::to_string_pretty(other).unwrap(),
        };
        prop_assert_eq!(text, wanted);
    }

    /// Whatever the content is, there is an answer, and the preview is JSON.
    #[test]
    fn given_any_json_when_read_as_a_record_then_nothing_breaks(value in any_json(), kind in "[a-z_]{0,20}") {
        for content in [value.clone(), json!({"kind": kind, "output": value, "items": value})] {
            let raw = raw(&content.to_string());
            results::result(&raw, true);
            if let Some(preview) = results::input_preview("tool", &raw) {
                prop_assert!(serde_json::from_str::<Value>(&preview).is_ok());
            }
        }
    }
}
