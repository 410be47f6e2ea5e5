//! A forgiving view of a JSON object: its fields as they were written, read one by one.
//!
//! Invariant: order and text of the fields are the peer's; a field of another type reads as
//! absent.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object, in their order.
pub struct Object<'a> {
    fields: Vec<(String, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Reads an object; `None` for anything else.
    pub fn read(raw: &'a RawValue) -> Option<Object<'a>> {
        serde_json::from_str(raw.get()).ok()
    }

    /// All fields, in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
    }

    /// The field as it was written. Of a repeated field the last counts, as everywhere.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.fields
            .iter()
            .rev()
            .find(|(field, _)| field == name)
            .map(|(_, value)| *value)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// A number, as it was written.
    pub fn number(&self, name: &str) -> Option<&'a str> {
        let text = self.raw(name)?.get();
        text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
            .then_some(text)
    }

    /// An object.
    pub fn object(&self, name: &str) -> Option<Object<'a>> {
        Object::read(self.raw(name)?)
    }

    /// The parts of a list; none when it is no list.
    pub fn list(&self, name: &str) -> Vec<&'a RawValue> {
        self.raw(name)
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Object { fields })
    }
}
