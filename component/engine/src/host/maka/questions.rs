//! What the Host asks, as a dialog, and what the user said, as the Host's answer
//! (adapter specification, sections 21.3 and 21.5). Forms are in `forms`.
//!
//! Pure functions of the request; they touch nothing else. Invariant: an answer comes only
//! from a reply that fits the request and the Host's limits.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::results::object::Object as Fields;
use super::results::pretty::pretty;
use super::wire::current::{self as w, interaction_kind as kind};
use crate::host::dialog::{Body, Choice, Dialog, Field, Leaning, Means, Reply, Shape};
use crate::json::Object;
use crate::limits;
use crate::object;

/// Which question of which turn.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'a> {
    /// The Host's id of the question.
    pub id: &'a str,
    /// Of which turn.
    pub turn_id: &'a str,
}

/// How a question of this kind is asked; `None` for a kind that this epoch does not have.
pub fn means(of: &str) -> Option<Means> {
    match of {
        kind::PERMISSION | kind::SANDBOX_BOUNDARY | kind::CLIENT_CAPABILITY => Some(Means::Choice),
        kind::QUESTION => Some(Means::Form),
        _ => None,
    }
}

/// The kind of a request; empty when there is none.
pub fn kind_of(request: &RawValue) -> Cow<'_, str> {
    read::<w::InteractionKind<'_>>(request).map_or(Cow::Borrowed(""), |it| it.kind)
}

/// The request as a dialog; `None` when it cannot be read.
pub fn dialog(whose: Whose<'_>, request: &RawValue) -> Option<Dialog> {
    let of = kind_of(request);
    let (tool_id, body) = match &*of {
        kind::PERMISSION => permission(request)?,
        kind::SANDBOX_BOUNDARY => (None, boundary(request)?),
        kind::CLIENT_CAPABILITY => capability(request)?,
        kind::QUESTION => questions(request)?,
        _ => return None,
    };
    Some(Dialog {
        id: whose.id.to_owned(),
        turn_id: whose.turn_id.to_owned(),
        own_card: tool_id.is_none(),
        tool_id: tool_id.unwrap_or_else(|| whose.id.to_owned()),
        cancel_is_answer: false,
        kind: of.into_owned(),
        body,
        card: None,
        more: None,
    })
}

/// The Host's answer to this request; `None` when the reply does not fit.
pub fn answer(request: &RawValue, reply: &Reply) -> Option<Object> {
    let of = kind_of(request);
    match (&*of, reply) {
        (kind::QUESTION, Reply::Filled(_) | Reply::Declined) => question_answer(request, reply),
        (kind::PERMISSION, Reply::Chosen(at)) => {
            let choices = permission_choices(request)?;
            let leaning = choices.get(usize::try_from(*at).ok()?)?.leaning;
            Some(object! {
                "kind": kind::PERMISSION, "decision": decision(leaning),
                "rememberForTurn": leaning == Leaning::AllowAlways,
            })
        }
        (kind::SANDBOX_BOUNDARY | kind::CLIENT_CAPABILITY, Reply::Chosen(at)) => {
            let leaning = match at {
                0 => Leaning::AllowAlways,
                1 => Leaning::RejectOnce,
                _ => return None,
            };
            Some(object! { "kind": of, "decision": decision(leaning) })
        }
        _ => None,
    }
}

fn read<'a, T: Deserialize<'a>>(request: &'a RawValue) -> Option<T> {
    serde_json::from_str(request.get()).ok()
}

fn decision(leaning: Leaning) -> &'static str {
    match leaning {
        Leaning::AllowOnce | Leaning::AllowAlways => "allow",
        Leaning::RejectOnce => "deny",
    }
}

fn choice(name: &str, leaning: Leaning) -> Choice {
    Choice {
        id: None,
        name: name.to_owned(),
        leaning,
    }
}

fn permission(request: &RawValue) -> Option<(Option<String>, Body)> {
    let permission: w::Permission<'_> = read(request)?;
    let prompt: w::PermissionPrompt<'_> = read(permission.prompt).unwrap_or_default();
    let name = if prompt.tool_name.is_empty() {
        &permission.tool_use_id
    } else {
        &prompt.tool_name
    };
    let body = Body::Choice {
        title: format!("Authorize {name}"),
        text: format!(
            "This is the exact permission request:\n{}",
            pretty(permission.prompt)
        ),
        choices: permission_choices(request)?,
    };
    Some((Some(permission.tool_use_id.into_owned()), body))
}

fn permission_choices(request: &RawValue) -> Option<Vec<Choice>> {
    let permission: w::Permission<'_> = read(request)?;
    let prompt: w::PermissionPrompt<'_> = read(permission.prompt).unwrap_or_default();
    let mut choices = vec![choice("Allow once", Leaning::AllowOnce)];
    if prompt.kind == "tool_permission" && prompt.remember_for_turn_allowed {
        choices.push(choice("Allow for this Turn", Leaning::AllowAlways));
    }
    choices.push(choice("Reject", Leaning::RejectOnce));
    Some(choices)
}

fn boundary(request: &RawValue) -> Option<Body> {
    let boundary: w::SandboxBoundary<'_> = read(request)?;
    let expansion = pretty(boundary.expansion);
    let text = if boundary.justification.is_empty() {
        expansion
    } else {
        format!("{}\n\n{expansion}", boundary.justification)
    };
    Some(Body::Choice {
        title: "Expand this Session’s sandbox boundary".to_owned(),
        text,
        choices: vec![
            choice("Apply this expansion to this Session", Leaning::AllowAlways),
            choice("Reject", Leaning::RejectOnce),
        ],
    })
}

fn capability(request: &RawValue) -> Option<(Option<String>, Body)> {
    let capability: w::ClientCapability<'_> = read(request)?;
    let body = Body::Choice {
        title: "Authorize a Session capability".to_owned(),
        text: pretty(capability.target),
        choices: vec![
            choice("Allow this scope for this Session", Leaning::AllowAlways),
            choice("Reject", Leaning::RejectOnce),
        ],
    };
    Some((Some(capability.tool_use_id.into_owned()), body))
}

fn questions(request: &RawValue) -> Option<(Option<String>, Body)> {
    let asked: w::Questions<'_> = read(request)?;
    let max = question_units(asked.questions.len())?;
    let fields = asked
        .questions
        .iter()
        .enumerate()
        .map(|(at, question)| Field {
            name: format!("q{at}"),
            title: question.question.to_string(),
            description: Some(hints(question, max)),
            required: false,
            shape: Shape::Text {
                min: None,
                max: Some(max),
                format: None,
                default: None,
            },
        })
        .collect();
    let body = Body::Form {
        message: "Please answer the following questions.".to_owned(),
        fields,
    };
    Some((Some(asked.tool_use_id.into_owned()), body))
}

fn hints(question: &w::Question<'_>, max: u64) -> String {
    let mut hints = String::new();
    for option in &question.options {
        hints.push_str(&option.label);
        if let Some(description) = &option.description {
            hints.push_str(": ");
            hints.push_str(description);
        }
        hints.push('\n');
    }
    hints.push_str("Any other answer is possible, and so is none.\n");
    hints.push_str(&format!("At most {max} characters."));
    hints
}

/// Characters of each of so many answers: even if every one of them takes six bytes of JSON,
/// the whole answer fits.
fn question_units(count: usize) -> Option<u64> {
    let envelope = bytes(&question_object(vec![Some(""); count]));
    let each = limits::MAKA_ANSWER
        .saturating_sub(envelope)
        .checked_div(6 * count as u64)?;
    Some(each.min(limits::MAKA_QUESTION_SHOWN))
}

fn question_object(answers: Vec<Option<&str>>) -> Object {
    object! { "kind": kind::QUESTION, "answers": answers }
}

fn question_answer(request: &RawValue, reply: &Reply) -> Option<Object> {
    let asked: w::Questions<'_> = read(request)?;
    let mut answers: Vec<Option<String>> = vec![None; asked.questions.len()];
    if let Reply::Filled(content) = reply {
        for (name, value) in Fields::read(content)?.fields() {
            let at: usize = name.strip_prefix('q')?.parse().ok()?;
            if name != format!("q{at}") {
                return None;
            }
            let text: String = serde_json::from_str(value.get()).ok()?;
            let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            if text.len() as u64 > limits::MAKA_QUESTION_ANSWER {
                return None;
            }
            *answers.get_mut(at)? = (!text.is_empty()).then(|| text.to_owned());
        }
    }
    let answer = question_object(answers.iter().map(Option::as_deref).collect());
    fits(answer)
}

/// An answer that the Host takes: it closes the connection on a longer one.
pub(super) fn fits(answer: Object) -> Option<Object> {
    (bytes(&answer) <= limits::MAKA_ANSWER).then_some(answer)
}

fn bytes(answer: &Object) -> u64 {
    serde_json::to_vec(answer).map_or(0, |json| json.len() as u64)
}
