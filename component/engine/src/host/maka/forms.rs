//! Forms of the Host (adapter specification, section 21.4): as a dialog, and what the user
//! filled in as the Host's answer.
//!
//! Pure functions of the request; they touch nothing else. No epoch that Airlock speaks has
//! forms yet. Invariant: values are checked, never changed; a default is a hint and is not
//! sent by itself.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::questions::{Whose, fits};
use super::results::object::Object as Fields;
use super::wire::form::{Form, FormField};
use crate::host::dialog::{Body, Dialog, Field, Named, Reply, Shape};
use crate::json::Object;
use crate::object;
use crate::projection::utf16;

/// The name of this kind of question.
pub const KIND: &str = "form";

/// The highest whole number that every peer can hold.
const SAFE: i64 = (1 << 53) - 1;

/// The request as a dialog; `None` when it cannot be read.
pub fn dialog(whose: Whose<'_>, request: &RawValue) -> Option<Dialog> {
    let form: Form<'_> = serde_json::from_str(request.get()).ok()?;
    let requester = match &form.requester.source {
        Some(source) => format!("{} ({source})", form.requester.name),
        None => form.requester.name.to_string(),
    };
    Some(Dialog {
        id: whose.id.to_owned(),
        kind: KIND.to_owned(),
        turn_id: whose.turn_id.to_owned(),
        tool_id: form.tool_use_id.to_string(),
        own_card: false,
        cancel_is_answer: true,
        body: Body::Form {
            message: format!("{requester}: {}", form.message),
            fields: form.fields.iter().map(field).collect::<Option<_>>()?,
        },
        card: None,
        more: None,
    })
}

/// The Host's answer to this form; `None` when the reply does not fit.
pub fn answer(request: &RawValue, reply: &Reply) -> Option<Object> {
    match reply {
        Reply::Filled(content) => {
            let form: Form<'_> = serde_json::from_str(request.get()).ok()?;
            let fields: Vec<Field> = form.fields.iter().map(field).collect::<Option<_>>()?;
            valid(&fields, content).then_some(())?;
            fits(object! { "kind": KIND, "action": "accept", "values": content })
        }
        Reply::Declined => Some(object! { "kind": KIND, "action": "decline" }),
        Reply::Cancelled => Some(object! { "kind": KIND, "action": "cancel" }),
        _ => None,
    }
}

fn field(field: &FormField<'_>) -> Option<Field> {
    let text = |text: &Option<alloc::borrow::Cow<'_, str>>| text.as_deref().map(ToOwned::to_owned);
    let options = || {
        let named = field.options.iter().map(|option| Named {
            value: option.value.to_string(),
            label: option.label.to_string(),
        });
        named.collect()
    };
    let shape = match &*field.kind {
        "string" => Shape::Text {
            min: field.min_length,
            max: field.max_length,
            format: text(&field.format),
            default: parsed(field.default)?,
        },
        "number" => Shape::Number {
            min: numeric(field.minimum)?,
            max: numeric(field.maximum)?,
            default: numeric(field.default)?,
        },
        "integer" => Shape::Integer {
            min: parsed::<f64>(field.minimum)?.map_or(-SAFE, |min| ceil(min).max(-SAFE)),
            max: parsed::<f64>(field.maximum)?.map_or(SAFE, |max| floor(max).min(SAFE)),
            default: parsed::<f64>(field.default)?.and_then(whole),
        },
        "boolean" => Shape::Boolean {
            default: parsed(field.default)?,
        },
        "single_select" => Shape::One {
            options: options(),
            default: parsed(field.default)?,
        },
        "multi_select" => Shape::Many {
            options: options(),
            min: field.min_items,
            max: field.max_items,
            default: parsed(field.default)?,
        },
        _ => return None,
    };
    Some(Field {
        name: field.name.to_string(),
        title: field.label.to_string(),
        description: text(&field.description),
        required: field.required,
        shape,
    })
}

/// An absent value is fine; one of another type is not.
fn parsed<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<Option<T>> {
    match raw {
        None => Some(None),
        Some(raw) => serde_json::from_str(raw.get()).ok().map(Some),
    }
}

/// A number as the Host wrote it.
fn numeric(raw: Option<&RawValue>) -> Option<Option<Box<RawValue>>> {
    parsed::<f64>(raw).map(|number| number.and(raw).map(ToOwned::to_owned))
}

fn valid(fields: &[Field], content: &RawValue) -> bool {
    let Some(values) = Fields::read(content) else {
        return false;
    };
    let mut given = BTreeSet::new();
    for (name, value) in values.fields() {
        let field = fields.iter().find(|field| field.name == name);
        // A name that is given twice could mean either.
        if !given.insert(name) || !field.is_some_and(|field| fits_shape(&field.shape, value)) {
            return false;
        }
    }
    fields
        .iter()
        .all(|field| !field.required || given.contains(field.name.as_str()))
}

fn fits_shape(shape: &Shape, value: &RawValue) -> bool {
    match shape {
        Shape::Text {
            min, max, format, ..
        } => parse::<String>(value).is_some_and(|text| {
            let units = utf16::units(&text);
            min.is_none_or(|min| units >= min)
                && max.is_none_or(|max| units <= max)
                && format
                    .as_deref()
                    .is_none_or(|format| of_format(format, &text))
        }),
        Shape::Number { min, max, .. } => number(value).is_some_and(|given| {
            let bound = |raw: &Option<Box<RawValue>>| raw.as_deref().and_then(number);
            bound(min).is_none_or(|min| given >= min) && bound(max).is_none_or(|max| given <= max)
        }),
        Shape::Integer { min, max, .. } => number(value)
            .and_then(whole)
            .is_some_and(|given| (*min..=*max).contains(&given)),
        Shape::Boolean { .. } => parse::<bool>(value).is_some(),
        Shape::One { options, .. } => {
            parse::<String>(value).is_some_and(|given| offered(options, &given))
        }
        Shape::Many {
            options, min, max, ..
        } => parse::<Vec<String>>(value).is_some_and(|given| {
            let count = given.len() as u64;
            let once: BTreeSet<&String> = given.iter().collect();
            once.len() == given.len()
                && given.iter().all(|value| offered(options, value))
                && min.is_none_or(|min| count >= min)
                && max.is_none_or(|max| count <= max)
        }),
    }
}

fn offered(options: &[Named], value: &str) -> bool {
    options.iter().any(|option| option.value == value)
}

fn parse<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

fn number(value: &RawValue) -> Option<f64> {
    parse::<f64>(value).filter(|number| number.is_finite())
}

/// A whole number that every peer can hold, `3.0` too.
fn whole(number: f64) -> Option<i64> {
    let whole = number as i64;
    (whole as f64 == number && (-SAFE..=SAFE).contains(&whole)).then_some(whole)
}

fn ceil(number: f64) -> i64 {
    let whole = number as i64;
    if (whole as f64) < number {
        whole.saturating_add(1)
    } else {
        whole
    }
}

fn floor(number: f64) -> i64 {
    let whole = number as i64;
    if (whole as f64) > number {
        whole.saturating_sub(1)
    } else {
        whole
    }
}

/// The formats that a form may demand; the Host has the last word on each.
fn of_format(format: &str, text: &str) -> bool {
    match format {
        "email" => email(text),
        "uri" => uri(text),
        "date" => date(text),
        "date-time" => text
            .split_once(['T', 't'])
            .is_some_and(|(day, rest)| date(day) && time(rest)),
        _ => true,
    }
}

fn email(text: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    text.rsplit_once('@')
        .is_some_and(|(local, domain)| plain(local) && plain(domain) && !local.contains('@'))
}

fn uri(text: &str) -> bool {
    let scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    };
    !text.contains(char::is_whitespace)
        && text
            .split_once(':')
            .is_some_and(|(first, rest)| scheme(first) && !rest.is_empty())
}

fn date(text: &str) -> bool {
    let [year, month, day] = match text.split('-').collect::<Vec<_>>()[..] {
        [year, month, day] => [digits(year, 4), digits(month, 2), digits(day, 2)],
        _ => return false,
    };
    let (Some(year), Some(month), Some(day)) = (year, month, day) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `hh:mm:ss`, a fraction, and `Z` or an offset.
fn time(text: &str) -> bool {
    let Some((clock, zone)) = text
        .find(['Z', 'z', '+', '-'])
        .and_then(|at| text.split_at_checked(at))
    else {
        return false;
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let of_day = match clock.split(':').collect::<Vec<_>>()[..] {
        [hour, minute, second] => below(hour, 24) && below(minute, 60) && below(second, 61),
        _ => false,
    };
    let zone = match zone.as_bytes() {
        [b'Z' | b'z'] => true,
        _ => zone
            .get(1..)
            .and_then(|offset| offset.split_once(':'))
            .is_some_and(|(hour, minute)| below(hour, 24) && below(minute, 60)),
    };
    of_day && zone && !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit())
}

fn below(text: &str, limit: u64) -> bool {
    digits(text, 2).is_some_and(|number| number < limit)
}

fn digits(text: &str, count: usize) -> Option<u64> {
    let plain = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}
