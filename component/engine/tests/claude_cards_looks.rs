//! How each tool of Claude Code looks before its result: the rows of the table in 6.3 of the
//! adapter specification, those that no recording shows too.

mod claude_support;

use airlock_engine::host::claude::cards::Told;
use claude_support::{cards, raw, text, told};
use serde_json::{Value, json};

/// The card of a call that never streamed.
fn first(name: &str, input: &Value) -> Value {
    let mut cards = cards(false);
    let input = raw(&input.to_string());
    let all = told(|out| cards.called("t", name, &input, None, out));
    assert_eq!(all.len(), 1, "{name}");
    all.into_iter().next().unwrap()
}

#[test]
fn given_a_tool_and_its_input_when_called_then_the_card_says_what_it_does_and_where() {
    let none = || Value::Null;
    let at = |path: &str| json!([{ "path": path }]);
    let line = |path: &str, line: u64| json!([{ "path": path, "line": line }]);
    let table = [
        ("Bash", json!({}), "Terminal", "execute", none()),
        (
            "PowerShell",
            json!({"command": "dir"}),
            "dir",
            "execute",
            none(),
        ),
        ("Read", json!({}), "Read File", "read", json!([])),
        (
            "Read",
            json!({"file_path": "/w/a/b.rs"}),
            "Read a/b.rs",
            "read",
            line("/w/a/b.rs", 1),
        ),
        (
            "Read",
            json!({"file_path": "/x"}),
            "Read /x",
            "read",
            line("/x", 1),
        ),
        (
            "Read",
            json!({"file_path": "/wide"}),
            "Read /wide",
            "read",
            line("/wide", 1),
        ),
        (
            "Read",
            json!({"file_path": "/w"}),
            "Read /w",
            "read",
            line("/w", 1),
        ),
        (
            "Read",
            json!({"file_path": "c", "offset": 0}),
            "Read c",
            "read",
            line("/w/c", 1),
        ),
        (
            "Read",
            json!({"file_path": "/x", "offset": 7}),
            "Read /x (from line 7)",
            "read",
            line("/x", 7),
        ),
        (
            "Read",
            json!({"file_path": "/x", "offset": 7, "limit": 3}),
            "Read /x (7 - 9)",
            "read",
            line("/x", 7),
        ),
        (
            "Read",
            json!({"file_path": "/x", "limit": u64::MAX, "offset": u64::MAX}),
            "Read /x (18446744073709551615 - 18446744073709551615)",
            "read",
            line("/x", u64::from(u32::MAX)),
        ),
        ("Write", json!({}), "Preparing file…", "edit", json!([])),
        (
            "Write",
            json!({"path": "/w/n"}),
            "Write n",
            "edit",
            at("/w/n"),
        ),
        (
            "Edit",
            json!({"old_string": "a"}),
            "Edit",
            "edit",
            json!([]),
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "/w/n"}),
            "NotebookEdit",
            "other",
            none(),
        ),
        ("Glob", json!({}), "Find", "search", json!([])),
        (
            "Glob",
            json!({"path": "src", "pattern": "*.rs"}),
            "Find `src` `*.rs`",
            "search",
            at("/w/src"),
        ),
        (
            "Grep",
            json!({
                "-i": true, "-n": true, "-A": 1, "-B": 2, "-C": "3", "head_limit": 9,
                "output_mode": "files_with_matches", "glob": "*.rs", "type": "rust",
                "multiline": true, "pattern": "a b", "path": "src",
            }),
            "grep -i -n -A 1 -B 2 -C 3 -l | head -9 --include=\"*.rs\" --type=rust -P \"a b\" src",
            "search",
            none(),
        ),
        (
            "Grep",
            json!({"output_mode": "count", "-n": false}),
            "grep -c",
            "search",
            none(),
        ),
        ("WebFetch", json!({}), "Fetch", "fetch", none()),
        (
            "WebSearch",
            json!({"query": "q"}),
            "Search \"q\"",
            "fetch",
            none(),
        ),
        ("Task", json!({}), "Task", "think", none()),
        (
            "Agent",
            json!({"description": "Look", "effort": "high"}),
            "Look (high effort)",
            "think",
            none(),
        ),
        (
            "EnterPlanMode",
            json!({}),
            "EnterPlanMode",
            "switch_mode",
            none(),
        ),
        (
            "ExitPlanMode",
            json!({}),
            "Approve Plan",
            "switch_mode",
            none(),
        ),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "A?"}, {"question": "B?"}]}),
            "Asking for your input",
            "other",
            none(),
        ),
        ("Skill", json!({}), "Load skill", "other", none()),
        (
            "Skill",
            json!({"skill": "commits"}),
            "Load skill: commits",
            "other",
            none(),
        ),
        (
            "ReportFindings",
            json!({"findings": [1, 2]}),
            "Report 2 findings",
            "think",
            none(),
        ),
        (
            "TaskOutput",
            json!({"task_id": "b1", "block": true, "timeout": 1000}),
            "TaskOutput",
            "other",
            none(),
        ),
        (
            "TaskStop",
            json!({"task_id": "b1"}),
            "TaskStop",
            "other",
            none(),
        ),
        (
            "KillShell",
            json!({"shell_id": "b1"}),
            "KillShell",
            "other",
            none(),
        ),
        ("mcp__a__b", json!({"x": 1}), "mcp__a__b", "other", none()),
        ("", json!({}), "Unknown Tool", "other", none()),
    ];
    for (name, input, title, kind, places) in table {
        let card = first(name, &input);
        assert_eq!(card["title"], title, "{name} {input}");
        assert_eq!(card["kind"], kind, "{name} {input}");
        assert_eq!(card["locations"], places, "{name} {input}");
        assert_eq!(card["rawInput"], input, "{name}");
        assert_eq!(card["status"], "pending", "{name}");
        assert_eq!(card["sessionUpdate"], "tool_call", "{name}");
        let names = json!({ "claudeCode": { "toolName": name } });
        assert_eq!(card["_meta"], names, "{name}");
    }
}

#[test]
fn given_an_input_with_something_to_read_when_called_then_it_stands_on_the_card() {
    let diff = |old: Value, new: &str| json!([{ "type": "diff", "path": "/w/f", "oldText": old, "newText": new }]);
    let table = [
        ("Bash", json!({"description": "Lists"}), text("Lists")),
        (
            "Write",
            json!({"file_path": "/w/f", "content": "new\n"}),
            diff(Value::Null, "new\n"),
        ),
        (
            "Write",
            json!({"path": "f", "file_text": ""}),
            diff(Value::Null, ""),
        ),
        (
            "Write",
            json!({"path": "/w/f", "file_content": "x"}),
            diff(Value::Null, "x"),
        ),
        ("Write", json!({"content": "x"}), text("x")),
        ("Write", json!({"file_path": "/w/f"}), json!([])),
        (
            "Edit",
            json!({"file_path": "/w/f", "old_string": "a", "new_string": "b"}),
            diff("a".into(), "b"),
        ),
        (
            "Edit",
            json!({"file_path": "/w/f", "old_string": "", "new_string": "b"}),
            diff(Value::Null, "b"),
        ),
        (
            "Edit",
            json!({"file_path": "/w/f", "old_string": "a"}),
            diff("a".into(), ""),
        ),
        ("Edit", json!({"file_path": "/w/f"}), json!([])),
        ("WebFetch", json!({"prompt": "what"}), text("what")),
        ("Agent", json!({"prompt": "do"}), text("do")),
        ("ExitPlanMode", json!({"plan": "# P"}), text("# P")),
        (
            "AskUserQuestion",
            json!({"questions": [{"question": "A?"}, {"question": "B?"}]}),
            text("A?\nB?"),
        ),
    ];
    for (name, input, content) in table {
        assert_eq!(first(name, &input)["content"], content, "{name} {input}");
    }
}

#[test]
fn given_inputs_of_the_wrong_shape_when_called_then_the_card_falls_back_field_by_field() {
    let table = [
        ("Read", r#"{"file_path":7,"offset":"x"}"#, "Read File"),
        (
            "Read",
            r#"{"file_path":"/x","offset":-1,"limit":1.5}"#,
            "Read /x",
        ),
        ("Read", "[]", "Read File"),
        ("Bash", "null", "Terminal"),
        ("Bash", r#"{"command":"\ud800"}"#, "Terminal"),
        ("Bash", r#"{"command":"a","command":"b"}"#, "b"),
        (
            "AskUserQuestion",
            r#"{"questions":"x"}"#,
            "Asking for your input",
        ),
        ("ReportFindings", r#"{"findings":{}}"#, "Report findings"),
        (
            "Grep",
            r#"{"-A":[1],"head_limit":null,"pattern":"p"}"#,
            "grep \"p\"",
        ),
    ];
    for (name, input, title) in table {
        let mut cards = cards(false);
        let input = raw(input);
        let mut out = vec![];
        cards.called("t", name, &input, None, &mut out);
        let [Told::Card(report)] = out.as_slice() else {
            panic!("{name}")
        };
        assert_eq!(report.title.as_deref(), Some(title), "{input}");
        assert_eq!(report.raw_input.as_ref().unwrap().get(), input.get());
    }
}

/// 6, `system/memory_recall`: one completed card.
#[test]
fn given_memories_when_recalled_then_one_completed_card_names_them() {
    let recalled = |mode: &str, memories: &[&str]| {
        let memories: Vec<_> = memories.iter().map(|memory| raw(memory)).collect();
        let memories: Vec<_> = memories.iter().map(|memory| &**memory).collect();
        let mut all = told(|out| cards(false).recalled("m", mode, &memories, out));
        assert_eq!(all.len(), 1);
        all.remove(0)
    };
    let card = |mode: &str, title: &str, field: &str, value: Value| {
        let response = json!({ "mode": mode });
        let mut card = json!({
            "sessionUpdate": "tool_call",
            "toolCallId": "m",
            "title": title,
            "kind": "read",
            "status": "completed",
            "_meta": { "claudeCode": { "toolName": "memory_recall", "toolResponse": response } },
        });
        card[field] = value;
        card
    };
    let places = json!([{ "path": "/m/a.md" }, { "path": "/w/b.md" }]);
    assert_eq!(
        recalled("select", &[r#"{"path":"/m/a.md"}"#, r#"{"path":"b.md"}"#]),
        card("select", "Recalled 2 memories", "locations", places)
    );
    assert_eq!(
        recalled("select", &["7"])["title"],
        "Recalled 1 memory",
        "one that cannot be read is one all the same"
    );
    let content = text("Tabs.");
    assert_eq!(
        recalled("synthesize", &[r#"{"path":"/m/c.md","content":"Tabs."}"#]),
        card(
            "synthesize",
            "Recalled synthesized memory",
            "content",
            content
        )
    );
}
