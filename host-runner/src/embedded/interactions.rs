//! Interactions: what a turn asks its user, and the one answer that counts.
//! Touches the interactions of a session. Invariant: an interaction leaves
//! `pending` once, and its outcome never changes after that.

use serde_json::{Value, json};

use super::session::Session;
use super::wire::{Refusal, code, refuse};
use super::world::{State, existing};

/// `interaction.query`
pub(crate) fn query(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    match session.interaction(input["interactionId"].as_str().unwrap_or_default()) {
        Some(interaction) => Ok(interaction.clone()),
        None => refuse(code::NOT_FOUND, "Interaction does not exist"),
    }
}

/// `interaction.answer`
pub(crate) fn answer(state: &mut State, now: u64, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    let id = session.id.clone();
    let Some(interaction) =
        session.interaction(input["interactionId"].as_str().unwrap_or_default())
    else {
        return refuse(code::NOT_FOUND, "Interaction does not exist");
    };
    let answer = &input["answer"];
    if interaction["request"]["kind"] != answer["kind"] {
        return refuse(code::CONFLICT, "Answer kind does not match the Interaction");
    }
    let questions = interaction["request"]["questions"].as_array().map(Vec::len);
    if questions.is_some() && questions != answer["answers"].as_array().map(Vec::len) {
        return refuse(code::CONFLICT, "Answer count does not match the questions");
    }
    match interaction["status"].as_str() {
        Some("pending") => {
            interaction["status"] = json!("answered");
            interaction["revision"] = json!(2);
            interaction["outcome"] = outcome(answer, now);
        }
        Some("answered") if repeats(&interaction["outcome"], answer) => {
            return Ok(interaction.clone());
        }
        _ => return refuse(code::RESOLVED, "Interaction was already resolved"),
    }
    let answered = interaction.clone();
    state.catalog_changed(&id);
    state.project(&id);
    Ok(answered)
}

fn outcome(answer: &Value, now: u64) -> Value {
    if answer["kind"] == "question" {
        return json!({"kind": "question_answer", "answers": answer["answers"], "committedAt": now});
    }
    let status = if answer["decision"] == "allow" {
        "approved"
    } else {
        "denied"
    };
    json!({"kind": "sandbox_boundary_decision", "decision": answer["decision"], "status": status,
        "committedAt": now})
}

fn repeats(outcome: &Value, answer: &Value) -> bool {
    if answer["kind"] == "question" {
        outcome["answers"] == answer["answers"]
    } else {
        outcome["decision"] == answer["decision"]
    }
}

/// Ends what is still pending, for a reason that is no answer.
pub(crate) fn close(session: &mut Session, reason: &str, now: u64) {
    for interaction in &mut session.interactions {
        if interaction["status"] == "pending" {
            interaction["status"] = json!("closed");
            interaction["revision"] = json!(2);
            interaction["outcome"] =
                json!({"kind": "closure", "reason": reason, "committedAt": now});
        }
    }
}
