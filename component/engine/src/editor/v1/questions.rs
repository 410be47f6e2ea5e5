//! Questions to the user as ACP v1 requests, and what an editor answers.
//!
//! Touches only the buffer that it is given. Invariant: only what was offered is read as an
//! answer; anything else, and any error, is never a yes.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::air;
use super::answers::line;
use super::report;
use crate::host::dialog::{Body, Choice, Dialog, Field, Leaning, Named, Reply, Shape};
use crate::json::Object;
use crate::object;
use crate::rpc::{Number, error};

const ELICIT: &str = "elicitation/create";

/// Which request it was, with what is needed to read its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Asked {
    /// `session/request_permission`, with the ids of its options.
    Permission(Vec<String>),
    /// `elicitation/create`.
    Form,
}

/// Asks; `option_ids` has one for each choice.
pub fn ask(
    number: Number,
    session_id: &str,
    dialog: &Dialog,
    option_ids: &[String],
    out: &mut Vec<u8>,
) {
    let (method, params) = match &dialog.body {
        Body::Choice {
            title,
            text,
            choices,
        } => (
            "session/request_permission",
            air::asked(
                dialog.more.as_deref(),
                object! {
                    "sessionId": session_id,
                    "toolCall": match &dialog.card {
                        Some(card) => report::object(card),
                        None => object! {
                            "toolCallId": dialog.tool_id, "title": title, "status": "pending",
                            "content": [object! {
                                "type": "content",
                                "content": object! { "type": "text", "text": text },
                            }],
                        },
                    },
                    "options": options(choices, option_ids),
                },
            ),
        ),
        Body::Form { message, fields } => (
            ELICIT,
            form_of(session_id, dialog, message, &schema(fields)),
        ),
        Body::Schema { message, schema } => {
            let params = match air::form(dialog.more.as_deref(), schema) {
                Some(marked) => form_of(session_id, dialog, message, &marked),
                None => form_of(session_id, dialog, message, schema),
            };
            (ELICIT, params)
        }
        Body::Address { message, url, id } => (
            ELICIT,
            object! {
                "sessionId": session_id, "mode": "url", "message": message, "url": url,
                "elicitationId": id,
            },
        ),
    };
    line(
        &object! { "jsonrpc": "2.0", "id": number, "method": method, "params": params },
        out,
    );
}

fn form_of(
    session_id: &str,
    dialog: &Dialog,
    message: &str,
    schema: &(impl Serialize + ?Sized),
) -> Object {
    let mut params = object! { "sessionId": session_id };
    // A server that asks has no tool call of its own.
    if !dialog.tool_id.is_empty() {
        params.set("toolCallId", &dialog.tool_id);
    }
    params
        .with("mode", "form")
        .with("message", message)
        .with("requestedSchema", schema)
}

/// `elicitation/complete`.
pub fn visited(id: &str, out: &mut Vec<u8>) {
    line(
        &object! {
            "jsonrpc": "2.0", "method": "elicitation/complete",
            "params": object! { "elicitationId": id },
        },
        out,
    );
}

/// Takes a request back.
pub fn withdraw(number: Number, out: &mut Vec<u8>) {
    line(
        &object! {
            "jsonrpc": "2.0", "method": "$/cancel_request",
            "params": object! { "requestId": number },
        },
        out,
    );
}

/// Reads an answer.
pub fn reply(asked: &Asked, outcome: Result<&RawValue, &RawValue>) -> Reply {
    match (asked, outcome) {
        (_, Err(error)) => failed(error),
        (Asked::Permission(ids), Ok(result)) => permission(ids, result).unwrap_or(Reply::Invalid),
        (Asked::Form, Ok(result)) => form(result).unwrap_or(Reply::Invalid),
    }
}

fn options(choices: &[Choice], ids: &[String]) -> Vec<Object> {
    let option = |(choice, id): (&Choice, &String)| {
        let kind = match choice.leaning {
            Leaning::AllowOnce => "allow_once",
            Leaning::AllowAlways => "allow_always",
            Leaning::RejectOnce => "reject_once",
        };
        object! { "optionId": id, "name": choice.name, "kind": kind }
    };
    choices.iter().zip(ids).map(option).collect()
}

/// The form as an elicitation schema.
fn schema(fields: &[Field]) -> Object {
    let mut properties = Object::new();
    for field in fields {
        properties.set(&field.name, &property(field));
    }
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name.as_str())
        .collect();
    object! { "type": "object", "properties": properties, "required": required }
}

fn property(field: &Field) -> Object {
    let kind = match field.shape {
        Shape::Text { .. } | Shape::One { .. } => "string",
        Shape::Number { .. } => "number",
        Shape::Integer { .. } => "integer",
        Shape::Boolean { .. } => "boolean",
        Shape::Many { .. } => "array",
    };
    let mut property = object! { "type": kind, "title": field.title };
    let mut set = |name: &str, value: Option<&dyn Plain>| {
        if let Some(value) = value {
            value.put(&mut property, name);
        }
    };
    set("description", plain(&field.description));
    match &field.shape {
        Shape::Text {
            min,
            max,
            format,
            default,
        } => {
            set("minLength", plain(min));
            set("maxLength", plain(max));
            set("format", plain(format));
            set("default", plain(default));
        }
        Shape::Number { min, max, default } => {
            set("minimum", plain(min));
            set("maximum", plain(max));
            set("default", plain(default));
        }
        Shape::Integer { min, max, default } => {
            set("minimum", Some(min));
            set("maximum", Some(max));
            set("default", plain(default));
        }
        Shape::Boolean { default } => set("default", plain(default)),
        Shape::One { options, default } => {
            set("oneOf", Some(&titled(options)));
            set("default", plain(default));
        }
        Shape::Many {
            options,
            min,
            max,
            default,
        } => {
            set("items", Some(&object! { "anyOf": titled(options) }));
            set("minItems", plain(min));
            set("maxItems", plain(max));
            set("default", plain(default));
        }
    }
    property
}

fn titled(options: &[Named]) -> Vec<Object> {
    let titled = |named: &Named| object! { "const": named.value, "title": named.label };
    options.iter().map(titled).collect()
}

/// Any value that goes into an object, so that one closure can set them all.
trait Plain {
    fn put(&self, object: &mut Object, name: &str);
}

impl<T: Serialize> Plain for T {
    fn put(&self, object: &mut Object, name: &str) {
        object.set(name, self);
    }
}

fn plain<T: Serialize>(value: &Option<T>) -> Option<&dyn Plain> {
    value.as_ref().map(|value| value as &dyn Plain)
}

#[derive(Deserialize)]
struct Failed {
    code: i64,
}

/// An editor that does not know the method cannot ask; any other error is a failure.
fn failed(error: &RawValue) -> Reply {
    match serde_json::from_str::<Failed>(error.get()) {
        Ok(Failed { code }) if code == i64::from(error::METHOD_NOT_FOUND) => Reply::Unsupported,
        _ => Reply::Failed,
    }
}

#[derive(Deserialize)]
struct Permission<'a> {
    #[serde(borrow)]
    outcome: Outcome<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    #[serde(borrow)]
    outcome: Cow<'a, str>,
    #[serde(borrow, default)]
    option_id: Option<Cow<'a, str>>,
}

fn permission(ids: &[String], result: &RawValue) -> Option<Reply> {
    let Permission { outcome } = serde_json::from_str(result.get()).ok()?;
    match (&*outcome.outcome, outcome.option_id) {
        ("cancelled", _) => Some(Reply::Cancelled),
        ("selected", Some(chosen)) => {
            let at = ids.iter().position(|id| *id == chosen)?;
            Some(Reply::Chosen(at as u64))
        }
        _ => None,
    }
}

#[derive(Deserialize)]
struct Elicited<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

fn form(result: &RawValue) -> Option<Reply> {
    let elicited: Elicited<'_> = serde_json::from_str(result.get()).ok()?;
    match &*elicited.action {
        "accept" => {
            let content = elicited.content.map_or("{}", RawValue::get);
            content
                .starts_with('{')
                .then(|| RawValue::from_string(String::from(content)).ok())
                .flatten()
                .map(|content: Box<RawValue>| Reply::Filled(content))
        }
        "decline" => Some(Reply::Declined),
        "cancel" => Some(Reply::Cancelled),
        _ => None,
    }
}
