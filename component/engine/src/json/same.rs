//! Whether two JSON texts mean the same, whatever the order of names and the spaces.
//!
//! Pure. Invariant: texts that cannot be read are the same only if they are equal.

use serde_json::value::RawValue;

/// Whether both mean the same. Numbers are compared as they are read.
pub fn same(one: &RawValue, other: &RawValue) -> bool {
    let read = |raw: &RawValue| serde_json::from_str::<serde_json::Value>(raw.get()).ok();
    one.get() == other.get() || matches!((read(one), read(other)), (Some(a), Some(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;

    #[test]
    fn given_two_texts_when_compared_then_order_and_spaces_make_no_difference_but_values_do() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let table = [
            (r#"{"a":1,"b":[1,2]}"#, r#"{ "b": [1, 2], "a": 1 }"#, true),
            (r#"{"a":1}"#, r#"{"a":2}"#, false),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, false),
            ("[1,2]", "[2,1]", false),
            (r#""\u0041""#, r#""A""#, true),
        ];
        for (one, other, same_meaning) in table {
            assert_eq!(same(&raw(one), &raw(other)), same_meaning, "{one} {other}");
        }
    }
}
