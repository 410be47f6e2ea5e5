//! The cards against the recorded peer: the frames of the real CLI in, its ACP side out.
//!
//! `tests/recordings/claude/cards` holds, of each scenario, the frames that tool cards need
//! and what the peer showed and asked, word for word. Compared are all updates of each call,
//! in their order; the order between calls and questions is the Host's business, since hooks
//! and questions come on another channel than the stream.

mod claude_support;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use airlock_engine::host::claude::cards::{Cards, Setting};
use claude_support::{card, feed, update};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    cli: Option<&'a RawValue>,
    acp: Option<Value>,
    ask: Option<Value>,
    setting: Option<Setting>,
    #[serde(default)]
    cancelled: bool,
}

/// By call, all that was shown, and asked; the plan under "".
type Shown = BTreeMap<String, Vec<Value>>;

struct Scenario {
    cards: Cards,
    given: Shown,
    expected: Shown,
}

fn keep(all: &mut Shown, update: Value) {
    let call = update["toolCallId"].as_str().unwrap_or("").to_owned();
    all.entry(call).or_default().push(update);
}

/// Runs a recording; with `restored` the cards go through a snapshot before every frame.
fn run(name: &str, restored: bool) -> Scenario {
    let file = format!("../../tests/recordings/claude/cards/{name}.jsonl");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = fs::read_to_string(&path).unwrap();
    let mut run = Scenario {
        cards: Cards::default(),
        given: Shown::new(),
        expected: Shown::new(),
    };
    for line in text.lines() {
        let row: Row<'_> = serde_json::from_str(line).unwrap();
        if let Some(setting) = row.setting {
            run.cards = Cards::new(setting);
        }
        if restored {
            let snapshot = serde_json::to_string(&run.cards).unwrap();
            run.cards = serde_json::from_str(&snapshot).unwrap();
        }
        let mut out = vec![];
        if row.cancelled {
            run.cards.close_all(|_, _| false, &mut out);
        }
        let asked = row
            .cli
            .and_then(|frame| feed(&mut run.cards, frame.get(), &mut out));
        for told in &out {
            keep(&mut run.given, update(told));
        }
        if let Some(report) = asked {
            keep(&mut run.given, card(&report));
        }
        for shown in row.acp.into_iter().chain(row.ask) {
            keep(&mut run.expected, shown);
        }
    }
    run
}

fn same(name: &str) {
    for restored in [false, true] {
        let Scenario {
            given, expected, ..
        } = run(name, restored);
        for (call, shown) in &expected {
            let given = given.get(call).map_or(&[][..], Vec::as_slice);
            for (at, (given, shown)) in given.iter().zip(shown).enumerate() {
                assert_eq!(given, shown, "{name} {call} {at}");
            }
            assert_eq!(given.len(), shown.len(), "{name} {call} {given:#?}");
        }
        let calls = |all: &Shown| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(calls(&given), calls(&expected), "{name}");
    }
}

#[test]
fn given_a_command_when_it_is_allowed_refused_or_fails_then_its_card_is_the_peers() {
    for name in ["bash-allow", "bash-allow-always", "bash-deny", "bash-fail"] {
        same(name);
    }
}

#[test]
fn given_an_editor_with_terminals_when_a_command_runs_then_its_terminal_is_the_peers() {
    same("bash-terminal-meta");
}

#[test]
fn given_files_when_they_are_read_and_edited_then_the_cards_are_the_peers() {
    for name in ["read", "read-range", "edit-allow", "edit-accept-mode"] {
        same(name);
    }
}

#[test]
fn given_searches_and_pages_when_they_succeed_or_fail_then_the_cards_are_the_peers() {
    for name in ["search", "web"] {
        same(name);
    }
}

#[test]
fn given_an_mcp_tool_when_it_is_allowed_then_its_card_and_its_question_are_the_peers() {
    same("mcp-tool");
}

#[test]
fn given_todos_and_tasks_when_they_change_then_the_plan_is_the_peers_and_no_card_is_shown() {
    for name in ["todo", "tasks", "slash-clear"] {
        same(name);
    }
}

#[test]
fn given_a_subagent_when_it_works_then_its_calls_and_its_report_are_the_peers() {
    for name in ["subagent", "subagent-bg"] {
        same(name);
    }
}

#[test]
fn given_a_question_or_a_plan_when_it_is_answered_then_the_card_is_the_peers() {
    for name in ["ask-user-question", "exit-plan-approve"] {
        same(name);
    }
}

#[test]
fn given_a_cancel_when_the_cli_still_answers_then_the_cards_are_the_peers() {
    for name in ["cancel-bg-after", "cancel-in-permission", "cancel-in-tool"] {
        same(name);
    }
}

/// 3.1 row 18: `G:open_tool_never_ran`, `G:open_tool_ran_no_result`.
#[test]
fn given_a_cancel_when_no_result_comes_then_the_open_call_is_closed_with_the_peers_text() {
    for name in ["open_tool_never_ran", "subagent_stream_no_latch"] {
        same(name);
    }
}

#[test]
fn given_every_recording_when_it_is_over_then_no_call_is_open() {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings/claude/cards");
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let run = run(&name, false);
        for call in run.expected.keys() {
            assert!(!run.cards.is_open(call), "{name} {call}");
        }
        count += 1;
    }
    assert_eq!(count, 24);
}
