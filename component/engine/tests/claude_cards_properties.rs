//! Whatever the CLI says, and in whatever order: no panic, and each card has one beginning
//! and one end.

mod claude_support;

use std::collections::BTreeMap;

use airlock_engine::host::claude::cards::{Asked, Cards, Ended, Progress, Told};
use claude_support::{cards, raw, update};
use proptest::prelude::*;
use serde_json::Value;

const NAMES: [&str; 12] = [
    "Bash",
    "Read",
    "Write",
    "Edit",
    "Grep",
    "WebSearch",
    "Agent",
    "TodoWrite",
    "TaskUpdate",
    "ExitPlanMode",
    "EnterPlanMode",
    "mcp__a__b",
];

/// JSON that is now and then what a tool understands.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z`/\\\\\n]{0,8}".prop_map(Value::from),
        Just(Value::from("text")),
        Just(Value::from("image")),
    ];
    let name = prop_oneof![
        Just("file_path"),
        Just("content"),
        Just("command"),
        Just("todos"),
        Just("task"),
        Just("id"),
        Just("subject"),
        Just("file"),
        Just("type"),
        Just("source"),
        Just("startLine"),
        Just("limit"),
        Just("offset"),
        Just("filePath"),
        Just("structuredPatch"),
        Just("lines"),
        Just("results"),
        Just("stdout"),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..4).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

#[derive(Clone, Debug)]
enum Act {
    Began(u64),
    Grew(u64, String),
    Called(Value),
    Asked(Value),
    Result(Value, bool, Option<Value>),
    Hooked(Value),
    Progress,
    Denied,
    Settled,
    CloseAll,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..3u64).prop_map(Act::Began),
        (0..3u64, "[{}\",:a\\\\\\[\\]1]{0,6}").prop_map(|(at, piece)| Act::Grew(at, piece)),
        json_value().prop_map(Act::Called),
        json_value().prop_map(Act::Asked),
        (
            json_value(),
            any::<bool>(),
            proptest::option::of(json_value())
        )
            .prop_map(|(content, error, structured)| Act::Result(content, error, structured)),
        json_value().prop_map(Act::Hooked),
        Just(Act::Progress),
        Just(Act::Denied),
        Just(Act::Settled),
        Just(Act::CloseAll),
    ]
}

fn perform(cards: &mut Cards, id: &str, name: &str, act: &Act, out: &mut Vec<Told>) {
    let json = |value: &Value| raw(&value.to_string());
    match act {
        Act::Began(at) => cards.began("", *at, id, name, None, out),
        Act::Grew(at, piece) => cards.input_grew("", *at, piece, out),
        Act::Called(input) => cards.called(id, name, &json(input), None, out),
        Act::Asked(input) => {
            let input = json(input);
            let asked = Asked {
                id,
                name,
                input: &input,
                parent: None,
                blocked_path: Some("blocked"),
                mcp_server: None,
            };
            assert!(!cards.asked(&asked, out).first);
        }
        Act::Result(content, is_error, structured) => {
            let (content, structured) = (json(content), structured.as_ref().map(json));
            let ended = Ended {
                content: Some(&content),
                is_error: *is_error,
                structured: structured.as_deref(),
                ..Ended::default()
            };
            cards.result(id, &ended, out);
        }
        Act::Hooked(response) => cards.hooked(id, &json(response), out),
        Act::Progress => cards.progress(id, None, &Progress::default(), out),
        Act::Denied => cards.denied(id, None, Some("no"), None, out),
        Act::Settled => cards.settled(id, true, out),
        Act::CloseAll => cards.close_all(|_, _| false, out),
    }
}

/// What the editor has of a call: whether it began, and how it is.
fn check(known: &mut BTreeMap<String, Value>, update: &Value) {
    let Some(id) = update["toolCallId"].as_str() else {
        return;
    };
    if update["sessionUpdate"] == "tool_call" {
        let before = known.insert(id.to_owned(), "pending".into());
        // A stream may begin a call anew once it has ended.
        let ended = |status: &Value| status == "completed" || status == "failed";
        assert!(before.is_none_or(|before| ended(&before)), "{update}");
        assert_eq!(update["status"], "pending");
        assert!(update["rawInput"] != Value::Null || update["title"] != Value::Null);
        return;
    }
    let before = known.get_mut(id).expect("an update follows its beginning");
    if let Some(status) = update["status"].as_str() {
        assert!(*before != "completed", "{update}");
        assert!(*before != "failed" || status != "in_progress", "{update}");
        *before = status.into();
    }
    let fields = update.as_object().unwrap().len();
    assert!(
        fields > 3
            || update["_meta"]["claudeCode"]["toolResponse"] != Value::Null
            || update["_meta"]["terminal_output"] != Value::Null
            || update["_meta"]["terminal_exit"] != Value::Null,
        "something is new: {update}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn given_any_order_of_any_frames_when_told_then_each_card_begins_and_ends_once(
        terminals in any::<bool>(),
        acts in proptest::collection::vec((0..4usize, 0..NAMES.len(), act()), 0..40),
    ) {
        let (mut one, mut known) = (cards(terminals), BTreeMap::new());
        let mut other = cards(terminals);
        for (call, name, act) in acts {
            let id = format!("t{call}");
            let (mut out, mut again) = (vec![], vec![]);
            perform(&mut one, &id, NAMES[name], &act, &mut out);
            // A snapshot between any two frames makes no difference.
            other = serde_json::from_str(&serde_json::to_string(&other).unwrap()).unwrap();
            perform(&mut other, &id, NAMES[name], &act, &mut again);
            let told: Vec<_> = out.iter().map(update).collect();
            prop_assert_eq!(&told, &again.iter().map(update).collect::<Vec<_>>());
            for update in &told {
                check(&mut known, update);
            }
        }
        one.close_all(|_, _| false, &mut vec![]);
        for call in 0..4 {
            let id = format!("t{call}");
            prop_assert!(!one.is_open(&id));
        }
    }
}
