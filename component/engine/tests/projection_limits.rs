//! Limits of what is shown, each at its value and one past it (Maka adapter, section 2).
//! Those of a turn's whole budget are in `projection_budgets`.

mod projection_support;

use airlock_engine::host::maka::results;
use airlock_engine::limits;
use airlock_engine::projection::{Call, Projection, ToolFact, utf16};
use projection_support::{drained, output, projection, raw};
use serde_json::{Value, json};

fn only(projection: &mut Projection, fact: ToolFact<'_>) -> Value {
    projection.tool(fact).unwrap();
    drained(projection).pop().unwrap()
}

/// What a card says, joined.
fn said(update: &Value) -> String {
    let parts = update["content"].as_array().unwrap().iter();
    let texts: Vec<&str> = parts
        .map(|part| part["content"]["text"].as_str().unwrap())
        .collect();
    texts.join("|")
}

/// 512 chunks are kept, and with one more the first goes.
#[test]
fn given_as_many_chunks_as_are_kept_when_one_more_comes_then_the_first_goes() {
    let mut projection = projection();
    for seq in 1..limits::TOOL_CHUNKS {
        projection.tool(output("t", seq, "x")).unwrap();
    }
    let full = only(&mut projection, output("t", limits::TOOL_CHUNKS, "x"));
    assert_eq!(
        full["content"].as_array().unwrap().len() as u64,
        limits::TOOL_CHUNKS
    );
    assert!(!said(&full).contains("truncated"));
    let more = only(&mut projection, output("t", limits::TOOL_CHUNKS + 1, "x"));
    assert!(said(&more).starts_with("[1 earlier output characters truncated]|"));
    assert_eq!(
        more["content"].as_array().unwrap().len() as u64,
        limits::TOOL_CHUNKS + 1,
        "the mark takes the place of the first"
    );
}

/// Title, input preview, preview and progress: 4,096 units each are whole, one more is cut.
#[test]
fn given_short_texts_of_a_tool_at_their_bound_when_one_unit_more_then_cut() {
    for extra in [0, 1] {
        let long = "x".repeat(limits::TOOL_AUXILIARY_UNITS as usize + extra);
        let shown = match extra {
            0 => long.clone(),
            _ => format!("{}…", &long[2..]),
        };
        let mut projection = projection();
        let call = Call {
            name: "Shell",
            display_name: Some(&long),
            ..Call::default()
        };
        let called = ToolFact::Called {
            id: "t",
            call,
            args: None,
            input_preview: Some(long.clone()),
        };
        let card = only(&mut projection, called);
        assert_eq!(card["title"], shown);
        assert_eq!(
            said(&card),
            format!("Input preview (not full input): {shown}")
        );
        let preview = ToolFact::Preview {
            id: "t",
            json: &long,
        };
        let card = only(&mut projection, preview);
        assert!(said(&card).ends_with(&format!("|Preview: {shown}")));
        let progress = ToolFact::Progress {
            id: "t",
            text: &long,
        };
        let card = only(&mut projection, progress);
        assert_eq!(said(&card).contains("truncated"), extra == 1);
        let kept = &long[extra..];
        assert!(said(&card).contains(&format!("|Progress: {kept}|")));
    }
}

/// A summary of 1,000 units is whole, as is a swarm of 16,000; one more is cut.
#[test]
fn given_a_swarm_at_its_bounds_when_one_unit_more_then_cut() {
    let swarm = |summaries: &[usize]| {
        let items: Vec<Value> = summaries
            .iter()
            .map(|units| json!({ "itemId": "i", "status": "s", "summary": "x".repeat(*units) }))
            .collect();
        let content = json!({ "kind": "agent_swarm", "status": "completed", "items": items });
        let content = raw(&content.to_string());
        results::result(&content, false).text
    };
    let summary = limits::SWARM_SUMMARY_UNITS as usize;
    assert!(!swarm(&[summary]).contains("truncated"));
    assert!(swarm(&[summary + 1]).contains("truncated"));

    // The line of an item and the gaps around it take ten units, so the last one gets less.
    let mut summaries = vec![summary; 15];
    summaries.push(1);
    let rest = limits::SWARM_UNITS - utf16::units(&swarm(&summaries));
    let last = rest as usize + 1;
    assert!(last <= summary);
    summaries[15] = last;
    let whole = swarm(&summaries);
    assert_eq!(utf16::units(&whole), limits::SWARM_UNITS);
    assert!(!whole.contains("truncated"));
    summaries[15] = last + 1;
    let cut = swarm(&summaries);
    assert!(cut.ends_with(" chars truncated"));
    assert!(utf16::units(&cut) <= limits::SWARM_UNITS);
}
