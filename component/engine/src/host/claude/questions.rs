//! Forms for the user (Claude adapter, section 11): questions of the model, of MCP servers,
//! and whether another model is to try.
//!
//! Pure. Invariants: what the user did not fill in is no answer; a server gets what the user
//! filled in, as it was.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::wire::{Elicitation, part};
use crate::host::dialog::{Body, Reply};
use crate::json::Object;
use crate::object;

const OTHER: &str = "Type your own answer, or add a note to the option you chose above (optional).";
const OTHER_OF_MANY: &str = "Type your own answer to add to your selection above (optional).";
const RETRY: &str = "retry_fallback";
const KEEP: &str = "cancelled";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked<'a> {
    #[serde(borrow)]
    questions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    question: String,
    #[serde(default)]
    header: String,
    options: Vec<Pick>,
    #[serde(default)]
    multi_select: bool,
}

#[derive(Deserialize)]
struct Pick {
    label: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    preview: Option<String>,
}

type Values<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// The form of `AskUserQuestion`; `None` when it asks nothing.
pub fn body(input: &RawValue) -> Option<Body> {
    let questions = read(input);
    let message = match questions.as_slice() {
        [] => return None,
        [one] => one.question.clone(),
        _ => "Please answer the following questions.".to_owned(),
    };
    let mut fields = Object::new();
    for (at, question) in questions.iter().enumerate() {
        // A single question stands in the message already.
        let about = (questions.len() > 1).then_some(question.question.as_str());
        fields.set(&format!("question_{at}"), &field(question, about));
        let hint = if question.multi_select {
            OTHER_OF_MANY
        } else {
            OTHER
        };
        let other = object! { "type": "string", "title": "Other", "description": hint };
        fields.set(&format!("question_{at}_custom"), &other);
    }
    Some(Body::Schema {
        message,
        schema: schema(&fields),
    })
}

/// The fields for the user's own answers, each with that of its question.
pub fn own_answers(input: &RawValue) -> Vec<(String, String)> {
    let numbers = 0..read(input).len();
    let names = numbers.map(|at| (format!("question_{at}_custom"), format!("question_{at}")));
    names.collect()
}

fn read(input: &RawValue) -> Vec<Question> {
    let asked: Asked<'_> = part(Some(input));
    let questions = asked.questions.iter();
    questions
        .filter_map(|raw| serde_json::from_str::<Question>(raw.get()).ok())
        .filter(|question| !question.options.is_empty())
        .collect()
}

fn field(question: &Question, about: Option<&str>) -> Object {
    let options: Vec<Object> = question.options.iter().map(option).collect();
    let kind = if question.multi_select {
        "array"
    } else {
        "string"
    };
    let mut field = object! { "type": kind };
    if !question.header.is_empty() {
        field.set("title", &question.header);
    }
    if let Some(about) = about {
        field.set("description", about);
    }
    if question.multi_select {
        field.with("items", &object! { "anyOf": options })
    } else {
        field.with("oneOf", &options)
    }
}

fn option(pick: &Pick) -> Object {
    let mut option = object! { "const": pick.label, "title": pick.label };
    if !pick.description.is_empty() {
        option.set("description", &pick.description);
    }
    if let Some(preview) = &pick.preview {
        let more = object! { "preview": preview };
        option.set("_meta", &object! { "_claude/askUserQuestionOption": more });
    }
    option
}

fn schema(fields: &Object) -> Box<RawValue> {
    // Texts, lists and objects: serialising them cannot fail.
    to_raw_value(&object! { "type": "object", "properties": fields }).unwrap_or_default()
}

/// What the tool gets: its input with the answers. `None` when the user turned away.
pub fn answer(input: &RawValue, reply: &Reply, unanswered: bool) -> Option<Object> {
    let mut updated: Object = serde_json::from_str(input.get()).ok()?;
    let missing = |updated: &mut Object, why: &str| {
        if unanswered {
            updated.set("unanswered", why);
        }
    };
    let content = match reply {
        Reply::Filled(content) => content,
        Reply::Declined => {
            updated.set("answers", &object! {});
            missing(&mut updated, "dismissed");
            return Some(updated);
        }
        _ => return None,
    };
    let values: Values<'_> = part(Some(content));
    let mut answers = Object::new();
    let mut notes = Object::new();
    let mut none = true;
    for (at, question) in read(input).iter().enumerate() {
        let own = text(values.get(format!("question_{at}_custom").as_str()));
        let mut picks = picks(values.get(format!("question_{at}").as_str()));
        let answer = if question.multi_select {
            picks.extend(Some(own).filter(|own| !own.is_empty()));
            many(&picks)
        } else if picks.is_empty() {
            own
        } else {
            if !own.is_empty() {
                notes.set(&question.question, &object! { "notes": own });
            }
            picks.join(", ")
        };
        if !answer.is_empty() {
            none = false;
            answers.set(&question.question, &answer);
        }
    }
    updated.set("answers", &answers);
    if none {
        missing(&mut updated, "skipped");
    }
    if !notes.is_empty() {
        updated.set("annotations", &notes);
    }
    Some(updated)
}

fn text(value: Option<&&RawValue>) -> String {
    let text: Option<String> = value.and_then(|raw| serde_json::from_str(raw.get()).ok());
    text.unwrap_or_default().trim().to_string()
}

fn picks(value: Option<&&RawValue>) -> Vec<String> {
    let Some(raw) = value else { return Vec::new() };
    let one: Option<String> = serde_json::from_str(raw.get()).ok();
    let all = one.map(|one| [one].into());
    let all = all.or_else(|| serde_json::from_str::<Vec<String>>(raw.get()).ok());
    let mut all = all.unwrap_or_default();
    all.retain(|pick| !pick.is_empty());
    all
}

/// As the tool takes them apart again.
fn many(picks: &[String]) -> String {
    let quoted = |pick: &String| {
        if pick.contains(", ") || pick.contains('"') {
            serde_json::to_string(pick).unwrap_or_default()
        } else {
            pick.clone()
        }
    };
    picks.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// What an MCP server asks; `None` when an editor could not show it.
pub fn server(asked: &Elicitation<'_>, fresh: impl FnOnce() -> String) -> Option<Body> {
    let message = asked.message.to_string();
    if asked.mode.as_deref() == Some("url") {
        let id = asked.elicitation_id.as_deref().map(ToOwned::to_owned);
        return Some(Body::Address {
            message,
            url: asked
                .url
                .as_deref()
                .filter(|url| !url.is_empty())?
                .to_owned(),
            id: id.unwrap_or_else(fresh),
        });
    }
    let mut asks = asked.requested_schema.map_or_else(
        || Some(object! { "properties": object! {} }),
        |raw| serde_json::from_str::<Object>(raw.get()).ok(),
    )?;
    asks.set("type", "object");
    let schema = to_raw_value(&asks).unwrap_or_default();
    plain(&schema).then_some(Body::Schema { message, schema })
}

/// Whether all fields are of the kinds that MCP knows: an editor could not show others.
fn plain(schema: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Schema<'a> {
        #[serde(borrow, default)]
        properties: BTreeMap<Cow<'a, str>, Field<'a>>,
        #[serde(default)]
        #[allow(dead_code, reason = "read to see that it is a list of texts")]
        required: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Field<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        items: Option<&'a RawValue>,
    }
    let Ok(schema) = serde_json::from_str::<Schema<'_>>(schema.get()) else {
        return false;
    };
    schema.properties.values().all(|field| match &*field.kind {
        "string" | "number" | "integer" | "boolean" => true,
        "array" => field.items.is_some(),
        _ => false,
    })
}

/// What the server gets.
pub fn server_answer(reply: &Reply) -> Object {
    match reply {
        Reply::Filled(content) => object! { "action": "accept", "content": content },
        Reply::Declined => object! { "action": "decline" },
        _ => object! { "action": "cancel" },
    }
}

/// Whether another model is to try what the first one declined.
pub fn fallback(payload: Option<&RawValue>) -> Option<Body> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Payload {
        original_model: String,
        fallback_model: String,
        #[serde(default)]
        api_refusal_category: Option<String>,
        #[serde(default)]
        guidance_text: Option<String>,
    }
    let Payload {
        original_model,
        fallback_model,
        api_refusal_category,
        guidance_text,
    } = serde_json::from_str(payload?.get()).ok()?;
    let category = api_refusal_category.map_or_else(String::new, |it| format!(" ({it})"));
    let guidance = guidance_text.map_or_else(String::new, |it| format!("\n\n{it}"));
    let message = format!(
        "{original_model} declined this request{category}. Retry with {fallback_model}?{guidance}"
    );
    let retry = object! {
        "const": RETRY, "title": format!("Retry with {fallback_model}"),
        "description": format!("The session continues on {fallback_model}."),
    };
    let keep = object! {
        "const": KEEP, "title": "Keep the refusal", "description": "You can send a new message.",
    };
    let choice = object! { "type": "string", "oneOf": [retry, keep] };
    Some(Body::Schema {
        message,
        schema: schema(&object! { "choice": choice }),
    })
}

/// Only a plain yes is one.
pub fn fallback_answer(reply: &Reply) -> Object {
    let chosen = match reply {
        Reply::Filled(content) => {
            let values: Values<'_> = part(Some(content));
            text(values.get("choice"))
        }
        _ => String::new(),
    };
    let result = if chosen == RETRY { RETRY } else { KEEP };
    object! { "behavior": "completed", "result": result }
}
