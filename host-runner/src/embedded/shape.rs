//! What a frame must look like. The real Host checks every frame exactly and
//! closes the connection silently when one key is missing, wrong or too many,
//! so this Host does the same. Pure: a shape and a value give yes or no.
//! Invariant: an object has no key that its shape does not name.

use serde_json::{Map, Value};

/// The shape of a JSON value.
pub(crate) enum Shape {
    /// `^[A-Za-z0-9_-]{1,128}$`
    Id,
    /// A non-empty string of at most 128 UTF-16 units.
    Token,
    /// A string of this many bytes, from and to.
    Text(usize, usize),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// `sha256:` and 64 lower-case hexadecimal digits.
    Digest,
    /// A whole number, from and to.
    Number(u64, u64),
    Bool,
    Nullable(&'static Shape),
    /// A list of this many values, from and to.
    List(&'static Shape, usize, usize),
    Object(&'static [Field]),
    /// An object whose tag (first) chooses the other keys.
    Union(&'static str, &'static [(&'static str, &'static [Field])]),
}

/// One key of an object.
pub(crate) struct Field {
    name: &'static str,
    optional: bool,
    shape: Shape,
}

/// A key that must be there.
pub(crate) const fn must(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        optional: false,
        shape,
    }
}

/// A key that may be absent.
pub(crate) const fn may(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        optional: true,
        shape,
    }
}

impl Shape {
    pub(crate) fn fits(&self, value: &Value) -> bool {
        match self {
            Shape::Id => value.as_str().is_some_and(is_id),
            Shape::Token => value
                .as_str()
                .is_some_and(|text| !text.is_empty() && text.encode_utf16().count() <= 128),
            Shape::Text(least, most) => value
                .as_str()
                .is_some_and(|text| (*least..=*most).contains(&text.len())),
            Shape::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Shape::Digest => value.as_str().is_some_and(is_digest),
            Shape::Number(least, most) => value
                .as_u64()
                .is_some_and(|number| (*least..=*most).contains(&number)),
            Shape::Bool => value.is_boolean(),
            Shape::Nullable(shape) => value.is_null() || shape.fits(value),
            Shape::List(shape, least, most) => value.as_array().is_some_and(|list| {
                (*least..=*most).contains(&list.len()) && list.iter().all(|item| shape.fits(item))
            }),
            Shape::Object(fields) => value
                .as_object()
                .is_some_and(|object| has_exactly(object, fields, None)),
            Shape::Union(tag, variants) => value.as_object().is_some_and(|object| {
                let kind = object.get(*tag).and_then(Value::as_str);
                variants
                    .iter()
                    .find(|(name, _)| Some(*name) == kind)
                    .is_some_and(|(_, fields)| has_exactly(object, fields, Some(tag)))
            }),
        }
    }
}

fn has_exactly(object: &Map<String, Value>, fields: &[Field], tag: Option<&str>) -> bool {
    let all_there = fields.iter().all(|field| match object.get(field.name) {
        Some(value) => field.shape.fits(value),
        None => field.optional,
    });
    all_there
        && object
            .keys()
            .all(|key| Some(key.as_str()) == tag || fields.iter().any(|field| field.name == key))
}

fn is_id(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64
            && hex
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}
