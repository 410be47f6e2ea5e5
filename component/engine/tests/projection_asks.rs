//! Cards whose tool asks the user something. Adapter specification, section 19.8; race 24 of
//! section 27; what 26.3 says that BETA adds.

mod projection_support;

use airlock_engine::limits;
use airlock_engine::projection::{AskStatus, Asking, End, Failure, Projection, ToolFact};
use projection_support::{announced, drained, output, projection, raw, result, started, text};
use serde_json::{Value, json};

fn pending() -> Asking {
    Asking::pending("i", "client_capability")
}

fn resolved(change: impl FnOnce(&mut Asking)) -> Asking {
    let mut asking = pending();
    asking.status = AskStatus::Answered;
    change(&mut asking);
    asking
}

fn closed(reason: &str) -> Asking {
    resolved(|asking| {
        asking.status = AskStatus::Closed;
        asking.reason = Some(reason.to_owned());
    })
}

fn asks<'a>(asking: &'a Asking, own_card: bool) -> ToolFact<'a> {
    ToolFact::Asks {
        id: "t",
        asking,
        own_card,
    }
}

fn take(projection: &mut Projection, fact: ToolFact<'_>) -> Vec<Value> {
    projection.tool(fact).unwrap();
    drained(projection)
}

#[test]
fn given_a_tool_without_a_name_when_it_asks_then_the_card_says_what_for_and_goes_on_after() {
    let mut projection = projection();
    let live = json!({ "liveOutputTruncated": false, "liveOutputDroppedChars": 0,
                       "liveOutputMissingChunks": 0 });
    let card = |first: bool, status: &str, interaction: Value| {
        let mut meta = json!({ "turnId": "T", "interaction": interaction });
        meta.as_object_mut()
            .unwrap()
            .extend(live.as_object().unwrap().clone());
        let update = if first {
            "tool_call"
        } else {
            "tool_call_update"
        };
        json!({ "sessionUpdate": update, "toolCallId": "t", "title": "Awaiting client capability",
                "kind": "other", "status": status, "_meta": { "maka": meta }, "content": [] })
    };
    let waits = json!({ "id": "i", "kind": "client_capability", "status": "pending" });
    assert_eq!(
        take(&mut projection, asks(&pending(), false)),
        [card(true, "pending", waits)]
    );
    let asking = resolved(|it| it.decision = Some("allow".to_owned()));
    let decided = json!({ "id": "i", "kind": "client_capability", "status": "answered",
                          "decision": "allow" });
    assert_eq!(
        take(&mut projection, asks(&asking, false)),
        [card(false, "in_progress", decided)]
    );
    assert_eq!(
        take(&mut projection, asks(&asking, false)),
        [Value::Null; 0]
    );
    // Its name comes late.
    assert_eq!(
        take(&mut projection, started("t", "Shell"))[0]["title"],
        "Shell"
    );
}

#[test]
fn given_a_closure_when_told_then_a_tool_shows_it_as_progress_and_an_own_card_as_its_end() {
    let mut projection = projection();
    take(&mut projection, asks(&pending(), false));
    let card = &take(&mut projection, asks(&closed("timed_out"), false))[0];
    assert_eq!(card["status"], "in_progress");
    assert_eq!(
        card["content"],
        json!([text("Progress: Interaction closed: timed_out")])
    );
    let mut projection = projection_support::projection();
    take(&mut projection, asks(&pending(), true));
    let card = &take(&mut projection, asks(&closed("timed_out"), true))[0];
    assert_eq!(card["status"], "failed");
    assert_eq!(
        card["content"],
        json!([text("Interaction closed: timed_out")])
    );
    projection.finish(End::Completed).unwrap();
    assert_eq!(drained(&mut projection), [Value::Null; 0]);
}

#[test]
fn given_decisions_when_told_then_an_own_card_is_completed_only_where_it_was_approved() {
    let table = [
        (Some("allow"), None, "completed"),
        (Some("deny"), None, "failed"),
        (Some("allow"), Some("approved"), "completed"),
        (Some("allow"), Some("conflict"), "failed"),
        (Some("deny"), Some("denied"), "failed"),
        (None, None, "failed"),
    ];
    for (decision, outcome, status) in table {
        let mut projection = projection();
        take(&mut projection, asks(&pending(), true));
        let asking = resolved(|it| {
            it.decision = decision.map(str::to_owned);
            it.outcome_status = outcome.map(str::to_owned);
        });
        let card = &take(&mut projection, asks(&asking, true))[0];
        assert_eq!(card["status"], status, "{decision:?} {outcome:?}");
        assert_eq!(card.get("content"), None, "what is shown stays");
    }
}

/// A terminal tool is not reopened; only its data changes.
#[test]
fn given_a_tool_that_ended_when_it_asks_or_its_question_closes_then_its_end_stays() {
    let stored = raw(r#"{"kind":"text","text":"x"}"#);
    let ends = [announced("t", false), result("t", "x", &stored)];
    for end in ends {
        let mut projection = projection();
        take(&mut projection, end);
        assert_eq!(
            take(&mut projection, asks(&pending(), false)),
            [Value::Null; 0]
        );
        let card = &take(&mut projection, asks(&closed("turn_stopped"), false))[0];
        assert_eq!(card["status"], "completed");
        assert_eq!(card.get("content"), None);
        assert_eq!(
            card["_meta"]["maka"]["interaction"]["reason"],
            "turn_stopped"
        );
    }
}

#[test]
fn given_a_question_nobody_answered_when_the_turn_ends_then_its_card_has_failed() {
    for own_card in [false, true] {
        let mut projection = projection();
        take(&mut projection, asks(&pending(), own_card));
        projection.finish(End::Completed).unwrap();
        let card = &drained(&mut projection)[0];
        assert_eq!(card["status"], "failed");
        assert_eq!(card["_meta"]["maka"]["hostStatus"], "interrupted");
    }
}

/// Drained seldom, the card goes out once with all that the skipped ones had.
#[test]
fn given_a_question_and_its_answer_when_drained_once_then_nothing_is_lost() {
    let mut projection = projection();
    projection.tool(asks(&pending(), true)).unwrap();
    projection.tool(asks(&closed("timed_out"), true)).unwrap();
    let cards = drained(&mut projection);
    assert_eq!(cards.len(), 1);
    assert_eq!(cards[0]["sessionUpdate"], "tool_call");
    assert_eq!(cards[0]["status"], "failed");
    assert_eq!(
        cards[0]["content"],
        json!([text("Interaction closed: timed_out")])
    );
}

/// Race 24: what a question adds to a card counts against its budget and the turn's.
#[test]
fn given_full_cards_when_they_ask_then_output_gives_way_and_the_turn_has_its_capacity() {
    let long = "x".repeat(limits::TOOL_UNITS as usize);
    let mut one = projection();
    let before = take(&mut one, output("t", 1, &long));
    let after = take(&mut one, asks(&pending(), false));
    let shown = |card: &Value| {
        let parts = card["content"].as_array().unwrap().iter();
        let texts = parts.map(|part| part["content"]["text"].as_str().unwrap().len());
        texts.sum::<usize>()
    };
    assert!(shown(&after[0]) < shown(&before[0]));

    let mut all = projection();
    let mut failure = Ok(());
    for at in 0.. {
        let id = format!("t{at}");
        failure = all.tool(ToolFact::Asks {
            id: &id,
            asking: &Asking::pending(&"i".repeat(100_000), "permission"),
            own_card: false,
        });
        if failure.is_err() || at > 20 {
            break;
        }
    }
    assert_eq!(failure, Err(Failure::ToolPresentationCapacity));
}
