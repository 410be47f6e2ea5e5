//! The fields of a JSON object whose shape nobody promises: a tool's input or its result.
//!
//! Pure. Invariant: a field of the wrong kind is as if it were absent; the others are not
//! harmed by it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object, one level deep; empty for anything else.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Reads the object.
    pub fn of(raw: &'a RawValue) -> Fields<'a> {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }

    /// A field as it stands there. Of two with the same name the last one counts.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let mut found = self.0.iter().rev();
        found.find(|(known, _)| known == name).map(|(_, raw)| *raw)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// A text that is not empty.
    pub fn some(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// A count or a place in a file.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.read(name)
    }

    /// A switch; absent is off.
    pub fn is(&self, name: &str) -> bool {
        self.read(name).unwrap_or(false)
    }

    /// An object inside.
    pub fn object(&self, name: &str) -> Option<Fields<'a>> {
        self.raw(name)
            .filter(|raw| raw.get().starts_with('{'))
            .map(Fields::of)
    }

    /// A list inside.
    pub fn list(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        self.read(name)
    }

    /// A text or a number, as it is typed on a command line.
    pub fn word(&self, name: &str) -> Option<String> {
        let raw = self.raw(name)?.get();
        match raw.as_bytes().first()? {
            b'"' => self.text(name),
            b'-' | b'0'..=b'9' => Some(raw.into()),
            _ => None,
        }
    }

    fn read<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields<'de>, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Object)
    }
}
