//! What must hold for every sequence of facts, however it is cut, drained and saved.
//! Rules R7 and R9.

mod projection_support;

use std::collections::BTreeMap;

use airlock_engine::limits;
use airlock_engine::projection::{
    Call, End, Failure, Outcome, Projection, Speaker, Stream, ToolFact, ToolKind, utf16,
};
use projection_support::{drained, projection, raw};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value};

/// An editor, as ACP wants it: chunks append, an update replaces what it carries.
#[derive(Debug, Default, PartialEq)]
struct Editor {
    /// Whether it may be told the same twice: a slow one may, when a change was taken back
    /// while it did not look.
    slow: bool,
    /// In the order of first appearance.
    shown: Vec<String>,
    texts: BTreeMap<String, String>,
    tools: BTreeMap<String, Map<String, Value>>,
}

impl Editor {
    fn take(&mut self, updates: Vec<Value>) {
        for update in updates {
            let Value::Object(mut update) = update else {
                panic!("an update is an object")
            };
            let kind = update.remove("sessionUpdate").unwrap();
            match kind.as_str().unwrap() {
                kind @ ("agent_message_chunk" | "agent_thought_chunk") => {
                    let id = format!("{kind} {}", update["messageId"]);
                    let text = update["content"]["text"].as_str().unwrap();
                    assert!(!text.is_empty(), "an empty chunk says nothing");
                    self.seen(&id);
                    self.texts.entry(id).or_default().push_str(text);
                }
                "tool_call" => {
                    let id = update["toolCallId"].to_string();
                    self.seen(&id);
                    assert!(
                        self.tools.insert(id, update).is_none(),
                        "one tool_call a tool"
                    );
                }
                "tool_call_update" => {
                    let id = update["toolCallId"].to_string();
                    let tool = self.tools.get_mut(&id).expect("a tool_call comes first");
                    assert!(
                        self.slow || *tool != update,
                        "an update that changes nothing is not sent"
                    );
                    tool.extend(update);
                }
                other => panic!("no such update: {other}"),
            }
        }
    }

    fn seen(&mut self, id: &str) {
        if !self.shown.iter().any(|known| known == id) {
            self.shown.push(id.to_owned());
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Grew(Speaker, u8, u64, String, bool),
    /// Goes on where the model says that the text ends.
    Goes(Speaker, u8, String),
    Completed(Speaker, u8),
    Is(Speaker, u8, String),
    Started(u8, u8),
    Called(u8, u8, Option<u8>, Option<u8>),
    Output(u8, u64, Stream, String, bool),
    Progress(u8, u8),
    Preview(u8, u8),
    Announced(u8, bool, Option<u64>),
    Result(u8, Outcome, u8, Option<u64>),
    Finish(End),
}

fn step() -> impl Strategy<Value = Step> {
    let speaker = || prop_oneof![Just(Speaker::Agent), Just(Speaker::Thought)];
    let stream = prop_oneof![Just(Stream::Stdout), Just(Stream::Stderr)];
    let outcome = prop_oneof![
        Just(Outcome::Completed),
        Just(Outcome::Errored),
        Just(Outcome::Interrupted)
    ];
    let end = prop_oneof![
        Just(End::Completed),
        Just(End::Failed),
        Just(End::Cancelled)
    ];
    let words = || "[a😀é\"]{0,4}";
    let maybe = || proptest::option::of(0..3u8);
    prop_oneof![
        1 => (speaker(), 0..2u8, 0..3u64, words(), any::<bool>())
            .prop_map(|(who, id, start, text, reset)| {
                let start = if reset { 0 } else { start };
                Step::Grew(who, id, start, text, reset)
            }),
        8 => (speaker(), 0..2u8, words()).prop_map(|(who, id, text)| Step::Goes(who, id, text)),
        1 => (speaker(), 0..2u8).prop_map(|(who, id)| Step::Completed(who, id)),
        1 => (speaker(), 0..2u8, words()).prop_map(|(who, id, more)| Step::Is(who, id, more)),
        2 => (0..3u8, 0..2u8).prop_map(|(id, name)| Step::Started(id, name)),
        3 => (0..3u8, 0..2u8, maybe(), maybe())
            .prop_map(|(id, name, args, preview)| Step::Called(id, name, args, preview)),
        6 => (0..3u8, 0..6u64, stream, words(), any::<bool>())
            .prop_map(|(id, seq, stream, text, redacted)| {
                Step::Output(id, seq, stream, text, redacted)
            }),
        2 => (0..3u8, 0..3u8).prop_map(|(id, words)| Step::Progress(id, words)),
        2 => (0..3u8, 0..3u8).prop_map(|(id, words)| Step::Preview(id, words)),
        2 => (0..3u8, any::<bool>(), proptest::option::of(0..2u64))
            .prop_map(|(id, errored, took)| Step::Announced(id, errored, took)),
        2 => (0..3u8, outcome, 0..3u8, proptest::option::of(0..2u64))
            .prop_map(|(id, outcome, words, took)| Step::Result(id, outcome, words, took)),
        1 => end.prop_map(Step::Finish),
    ]
}

/// Every text that a speaker has said by `Goes`, so that most steps are good ones.
type Said = BTreeMap<(bool, u8), String>;

fn apply(projection: &mut Projection, said: &mut Said, step: &Step) -> Result<(), Failure> {
    let key = |who: &Speaker, id: &u8| (*who == Speaker::Agent, *id);
    let name = |id: &u8| format!("id{id}");
    let call = |name: &u8| Call {
        name: ["Shell", "Read"][usize::from(*name)],
        kind: [ToolKind::Execute, ToolKind::Read][usize::from(*name)],
        ..Call::default()
    };
    match step {
        Step::Grew(who, id, start, text, reset) => {
            projection.text_grew(*who, &name(id), *start, text, *reset)
        }
        Step::Goes(who, id, text) => {
            let known = said.entry(key(who, id)).or_default();
            let start = utf16::units(known);
            known.push_str(text);
            projection.text_grew(*who, &name(id), start, text, false)
        }
        Step::Completed(who, id) => {
            let known = said.get(&key(who, id)).map_or(0, |text| utf16::units(text));
            projection.text_completed(*who, &name(id), known)
        }
        Step::Is(who, id, more) => {
            let known = said.entry(key(who, id)).or_default();
            known.push_str(more);
            projection.text_is(*who, &name(id), known)
        }
        Step::Started(id, tool) => projection.tool(ToolFact::Started {
            id: &name(id),
            call: call(tool),
        }),
        Step::Called(id, tool, args, preview) => {
            let args = args.map(|args| raw(&format!(r#"{{"a":{args}}}"#)));
            projection.tool(ToolFact::Called {
                id: &name(id),
                call: call(tool),
                args: args.as_deref(),
                input_preview: preview.map(|preview| format!("{preview}")),
            })
        }
        Step::Output(id, seq, stream, chunk, redacted) => projection.tool(ToolFact::Output {
            id: &name(id),
            seq: *seq,
            stream: *stream,
            chunk,
            redacted: *redacted,
        }),
        Step::Progress(id, words) => {
            let text = ["a", "steps:1/2", "steps:2/2"][usize::from(*words)];
            projection.tool(ToolFact::Progress {
                id: &name(id),
                text,
            })
        }
        Step::Preview(id, words) => projection.tool(ToolFact::Preview {
            id: &name(id),
            json: &format!("{words}"),
        }),
        Step::Announced(id, errored, duration_ms) => projection.tool(ToolFact::Announced {
            id: &name(id),
            errored: *errored,
            duration_ms: *duration_ms,
        }),
        Step::Result(id, outcome, words, duration_ms) => projection.tool(ToolFact::Result {
            id: &name(id),
            outcome: *outcome,
            text: format!("result {words}"),
            raw: &raw(&words.to_string()),
            duration_ms: *duration_ms,
            details: airlock_engine::projection::Details::default(),
        }),
        Step::Finish(end) => projection.finish(*end),
    }
}

fn saved(projection: &Projection) -> Projection {
    serde_json::from_str(&serde_json::to_string(projection).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Drained often or seldom, saved and restored or not: the same answers, the same view.
    #[test]
    fn given_any_facts_when_drained_seldom_and_saved_between_then_the_editor_shows_the_same(
        steps in proptest::collection::vec((step(), any::<bool>(), any::<bool>()), 0..60),
    ) {
        let (mut often, mut seldom) = (projection(), projection());
        let mut eager = Editor::default();
        let mut slow = Editor { slow: true, ..Editor::default() };
        let (mut said, mut said_too) = (Said::new(), Said::new());
        for (step, drain, save) in &steps {
            let answer = apply(&mut often, &mut said, step);
            prop_assert_eq!(apply(&mut seldom, &mut said_too, step), answer, "{:?}", step);
            eager.take(drained(&mut often));
            prop_assert_eq!(often.held_units(), 0);
            if *save {
                seldom = saved(&seldom);
            }
            if *drain {
                slow.take(drained(&mut seldom));
            }
        }
        slow.take(drained(&mut seldom));
        prop_assert_eq!(seldom.held_units(), 0);
        eager.slow = true;
        prop_assert_eq!(&slow, &eager);
        prop_assert_eq!(seldom.failure(), often.failure());
        prop_assert_eq!(drained(&mut seldom), Vec::<Value>::new());
    }

    /// Cut anywhere, with repeats: the same text, and the count of what waits is exact.
    #[test]
    fn given_any_text_when_cut_and_repeated_anywhere_then_it_is_shown_whole(
        text in "\\PC{0,40}",
        cuts in proptest::collection::vec((any::<Index>(), any::<Index>(), any::<bool>()), 0..12),
    ) {
        let ends: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut projection = projection();
        let mut editor = Editor::default();
        let (mut known, mut taken) = (0, 0);
        let pieces = cuts.iter().map(|(start, end, drain)| {
            (ends[start.index(ends.len())], ends[end.index(ends.len())], *drain)
        });
        for (start, end, drain) in pieces.chain([(0, text.len(), true)]) {
            let start = start.min(known);
            let end = end.max(start);
            let at = utf16::units(&text[..start]);
            projection.text_grew(Speaker::Agent, "m", at, &text[start..end], false).unwrap();
            known = known.max(end);
            prop_assert_eq!(projection.held_units(), utf16::units(&text[taken..known]));
            if drain {
                editor.take(drained(&mut projection));
                taken = known;
            }
        }
        projection.text_completed(Speaker::Agent, "m", utf16::units(&text)).unwrap();
        projection.text_is(Speaker::Agent, "m", &text).unwrap();
        let shown: String = editor.texts.into_values().collect();
        prop_assert_eq!(shown, text);
        prop_assert_eq!(projection.held_units(), 0);
    }

    /// What is kept and what was dropped add up to what came, and what is kept fits.
    #[test]
    fn given_any_output_when_it_is_too_much_then_nothing_is_unaccounted_for(
        chunks in proptest::collection::vec((1..40u64, prop_oneof!["x", "😀", "é"], 0..9_000usize), 1..40),
    ) {
        let mut projection = projection();
        let mut taken = BTreeMap::new();
        let mut last = None;
        for (seq, character, times) in chunks {
            let chunk = character.repeat(times);
            projection.tool(projection_support::output("t", seq, &chunk)).unwrap();
            if let [update] = drained(&mut projection).as_slice() {
                taken.insert(seq, utf16::units(&chunk));
                last = Some(update.clone());
            }
        }
        let card = last.unwrap();
        let mut kept = 0;
        let mut order = 0;
        for part in card["content"].as_array().unwrap() {
            if let Some(sequence) = part["content"]["_meta"]["maka"]["sequence"].as_u64() {
                prop_assert!(sequence > order, "in order");
                order = sequence;
                let text = part["content"]["text"].as_str().unwrap();
                kept += utf16::units(text.strip_prefix("[stdout] ").unwrap());
            }
        }
        let dropped = card["_meta"]["maka"]["liveOutputDroppedChars"].as_u64().unwrap();
        prop_assert_eq!(kept + dropped, taken.values().sum::<u64>());
        prop_assert!(kept <= limits::TOOL_UNITS);
        prop_assert!(dropped == 0 || kept + 150 > limits::TOOL_UNITS, "no more than needed");
    }
}
