//! JSON objects whose fields stay in the order in which they are written.
//!
//! Why not `serde_json::Value`: its order depends on a feature that any other crate of a
//! build may switch on, and then the same engine would write other bytes natively than in
//! wasm. Invariant: what [`crate::object!`] writes depends on its arguments alone.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// An object.
#[derive(Clone, Debug, Default)]
pub struct Object {
    fields: Vec<(String, Box<RawValue>)>,
}

impl Object {
    /// Without fields.
    pub fn new() -> Object {
        Object::default()
    }

    /// Whether it has no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A field that is an object itself.
    pub fn object(&self, name: &str) -> Option<Object> {
        let (_, value) = self.fields.iter().find(|(known, _)| known == name)?;
        serde_json::from_str(value.get()).ok()
    }

    /// Its fields, in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), &**value))
    }

    /// Sets a field; a new one comes last.
    pub fn set(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        // Texts, numbers, lists and objects: serialising them cannot fail.
        let value = to_raw_value(value).unwrap_or_default();
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.fields.push((name.to_owned(), value)),
        }
    }

    /// The same with a field set.
    #[must_use]
    pub fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Object {
        self.set(name, value);
        self
    }
}

/// Writes an object: `object! { "a": 1, "b": text }`. Values are anything that serde
/// serialises, further objects too.
#[macro_export]
#[doc(hidden)]
macro_rules! object {
    ($($name:literal : $value:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut object = $crate::json::Object::new();
        $(object.set($name, &$value);)*
        object
    }};
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        let text = |object: &Object| -> Vec<(String, String)> {
            let fields = object.fields.iter();
            fields
                .map(|(name, value)| (name.clone(), value.get().to_owned()))
                .collect()
        };
        text(self) == text(other)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.fields.len()))?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Object, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut object = Object::new();
                while let Some(field) = map.next_entry()? {
                    object.fields.push(field);
                }
                Ok(object)
            }
        }
        from.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_fields_in_any_order_when_written_and_read_then_the_order_stays() {
        let none: Option<u64> = None;
        let object = object! { "z": "last", "a": object! { "n": 1 }, "m": none, "b": [1, 2] };
        let text = serde_json::to_string(&object).unwrap();
        assert_eq!(text, r#"{"z":"last","a":{"n":1},"m":null,"b":[1,2]}"#);
        assert_eq!(serde_json::from_str::<Object>(&text).unwrap(), object);
        let set = object.with("a", "new").with("c", &true);
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(
            text,
            r#"{"z":"last","a":"new","m":null,"b":[1,2],"c":true}"#
        );
    }
}
