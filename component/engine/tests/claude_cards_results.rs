//! What the result of each tool of Claude Code puts onto its card: the rows of the table in
//! 6.3 of the adapter specification, those that no recording shows too.

mod claude_support;

use airlock_engine::host::claude::cards::Ended;
use claude_support::{cards, ok, raw, result, text};
use serde_json::{Value, json};

#[test]
fn given_a_result_when_it_comes_then_the_card_shows_it_in_the_tools_way() {
    let file = |more: &str| {
        format!(
            r#"{{"type":"text","file":{{"content":"a\nb\n","startLine":4,"numLines":2,
            "totalLines":9{more}}}}}"#
        )
    };
    let plain = |content: &str| content.to_owned();
    let read = "```\n4\ta\n5\tb\n```";
    let table = [
        ("Read", plain(r#""x""#), file(""), text(read)),
        (
            "Read",
            plain(r#""x""#),
            file(r#","truncatedByTokenCap":true"#),
            text(&format!("{read}\n[File truncated: showing 2 of 9 lines]")),
        ),
        (
            "Read",
            plain(r#""1\ta\n<system-reminder>no</system-reminder>\n""#),
            plain("null"),
            text("```\n1\ta\n```"),
        ),
        (
            "Read",
            plain(r#""```rs\nx\n````""#),
            plain("7"),
            text("`````\n```rs\nx\n````\n`````"),
        ),
        (
            "Read",
            plain(
                r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]"#,
            ),
            plain(r#"{"type":"image","file":{"base64":"AA==","content":"no"}}"#),
            json!([{
                "type": "content",
                "content": { "type": "image", "data": "AA==", "mimeType": "image/png" },
            }]),
        ),
        (
            "Bash",
            plain(r#""all""#),
            plain(r#"{"stdout":"out\n","stderr":"err","interrupted":true}"#),
            text("```console\nout\nerr\n[Command was aborted before completion]\n```"),
        ),
        (
            "Bash",
            plain(r#""all""#),
            plain(r#"{"stdout":"o","persistedOutputPath":"/p","persistedOutputSize":70000}"#),
            text(
                "```console\no\n[Output truncated (70000 bytes total): full output saved to /p]\n```",
            ),
        ),
        (
            "Bash",
            plain(r#""said""#),
            plain(r#"{"stdout":""}"#),
            text("```console\nsaid\n```"),
        ),
        (
            "WebSearch",
            plain(r#""all""#),
            plain(
                r#"{"results":[{"content":[{"title":"ACP","url":"https://a"},{"url":"u"},7]},"A summary."]}"#,
            ),
            text("ACP (https://a)\nu\nA summary."),
        ),
        (
            "WebSearch",
            plain(r#""all""#),
            plain(r#"{"results":{}}"#),
            text("all"),
        ),
        (
            "mcp__a__b",
            plain(r#"{"odd":1}"#),
            plain("null"),
            text(r#"{"odd":1}"#),
        ),
        (
            "mcp__a__b",
            plain(
                r#"[{"type":"document","title":"t","source":{"type":"base64",
                "media_type":"application/pdf","data":"AAAA"}},
                {"type":"image","source":{"type":"url","url":"https://i"}},
                {"type":"tool_reference","tool_name":"Edit"}]"#,
            ),
            plain("null"),
            json!([
                text("[document \"t\": application/pdf, 3 B]")[0],
                text("[image: https://i]")[0],
                text("Tool: Edit")[0],
            ]),
        ),
        (
            "NotebookEdit",
            plain(r#""Updated""#),
            plain("{}"),
            text("Updated"),
        ),
        ("Edit", plain(r#""done""#), plain("{}"), Value::Null),
        ("Write", plain(r#""done""#), plain("{}"), Value::Null),
        ("Skill", plain(r#""Launching""#), plain("{}"), Value::Null),
        ("TaskOutput", plain(r#""""#), plain("{}"), Value::Null),
        (
            "TaskOutput",
            plain(r#""<status>running</status>\n\n<output>\nhalf\n</output>""#),
            plain(r#"{"retrieval_status":"not_ready","task":{"task_id":"b1","output":"half"}}"#),
            text("<status>running</status>\n\n<output>\nhalf\n</output>"),
        ),
        (
            "TaskStop",
            plain(r#""{\"message\":\"Stopped b1\"}""#),
            plain(r#"{"message":"Stopped b1","task_id":"b1"}"#),
            text(r#"{"message":"Stopped b1"}"#),
        ),
        (
            "KillShell",
            plain(r#""Killed b1""#),
            plain(r#"{"shell_id":"b1"}"#),
            text("Killed b1"),
        ),
    ];
    for (name, content, structured, shown) in table {
        let (content, structured) = (raw(&content), raw(&structured));
        let ended = Ended {
            structured: Some(&structured),
            ..ok(&content)
        };
        let told = result(&mut cards(false), name, &json!({}), &ended);
        assert_eq!(told.len(), 1, "{name} {content}");
        assert_eq!(told[0]["content"], shown, "{name} {content}");
        assert_eq!(told[0]["status"], "completed", "{name}");
    }
}

#[test]
fn given_a_subagents_report_for_the_model_when_shown_then_frame_and_trailer_are_off() {
    let frame = "[Subagent hand-back] The text below is the final report of a subagent. \
                 The report follows:";
    let trailer = "agentId: a1 (use SendMessage with to: 'a1' to continue this agent)";
    let usage = "<usage>subagent_tokens: 1\ntool_uses: 1</usage>";
    let table = [
        (
            format!("{frame}\n  One.\n    Two.\n{trailer}\n{usage}"),
            "One.\n  Two.",
        ),
        (
            format!("  Note.\n  \n{frame}\n  One.\n{trailer}"),
            "Note.\nOne.",
        ),
        (format!("The parser.\n{trailer}"), "The parser."),
        (
            "[Subagent hand-back] without more".into(),
            "[Subagent hand-back] without more",
        ),
        (
            "Started.\nagentId: a1\nIt works.".into(),
            "Started.\nagentId: a1\nIt works.",
        ),
        ("Report.".into(), "Report."),
    ];
    for (given, shown) in table {
        let content = raw(&json!([{ "type": "text", "text": given }]).to_string());
        let told = result(&mut cards(false), "Agent", &json!({}), &ok(&content));
        assert_eq!(told[0]["content"], text(shown), "{given}");
        assert_eq!(told[0]["rawOutput"][0]["text"], given);
    }
}
