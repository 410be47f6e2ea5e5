//! One line to one message. Everything is borrowed from the line; what is inside params,
//! results and errors is not looked at.

use alloc::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A message that has the form of JSON-RPC.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants exactly one answer.
    Request {
        /// As it was written: any JSON type, `null` too.
        id: &'a RawValue,
        /// Method name.
        method: Cow<'a, str>,
        /// Its params, if any.
        params: Option<&'a RawValue>,
    },
    /// Wants no answer.
    Notification {
        /// Method name.
        method: Cow<'a, str>,
        /// Its params, if any.
        params: Option<&'a RawValue>,
    },
    /// An answer to a request of ours.
    Response {
        /// As it was written.
        id: &'a RawValue,
        /// The result, or the error.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// What is not a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Bad<'a> {
    /// Not UTF-8, or not JSON.
    Parse,
    /// JSON, but not a message; with the id where one can be made out.
    Invalid(Option<&'a str>),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Tells `"id": null` from no id.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Reads a line without its end.
///
/// # Errors
/// [`Bad`] says which answer the sender gets.
pub fn read(line: &[u8]) -> Result<Message<'_>, Bad<'_>> {
    let text = core::str::from_utf8(line).map_err(|_| Bad::Parse)?;
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(e) if e.is_data() => return Err(Bad::Invalid(id_of(text))),
        Err(_) => return Err(Bad::Parse),
    };
    // An array also reads as a struct, field by field; a message is an object.
    if !text.trim_start().starts_with('{') || envelope.jsonrpc.as_deref() != Some("2.0") {
        return Err(Bad::Invalid(id_of(text)));
    }
    match (envelope.id, envelope.method) {
        (Some(id), Some(method)) => Ok(Message::Request {
            id,
            method,
            params: envelope.params,
        }),
        (None, Some(method)) => Ok(Message::Notification {
            method,
            params: envelope.params,
        }),
        (id, None) => match (id, outcome(envelope.result, envelope.error)) {
            (Some(id), Some(outcome)) => Ok(Message::Response { id, outcome }),
            _ => Err(Bad::Invalid(id.map(RawValue::get))),
        },
    }
}

/// Some senders write both keys, and `null` for the one that does not hold.
fn outcome<'a>(
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
) -> Option<Result<&'a RawValue, &'a RawValue>> {
    let is_null = |value: &RawValue| value.get() == "null";
    match (result, error) {
        (Some(result), error) if error.is_none_or(is_null) => Some(Ok(result)),
        (result, Some(error)) if result.is_none_or(is_null) => Some(Err(error)),
        _ => None,
    }
}

/// The id of something that is not a message, where it can be made out.
pub fn id_of(text: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct OnlyId<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        id: Option<&'a RawValue>,
    }
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let found: OnlyId<'_> = serde_json::from_str(text).ok()?;
    found.id.map(RawValue::get)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    fn told(line: &str) -> String {
        match read(line.as_bytes()) {
            Ok(Message::Request { id, method, params }) => {
                format!(
                    "request {} {method} {}",
                    id.get(),
                    params.map_or("-", RawValue::get)
                )
            }
            Ok(Message::Notification { method, .. }) => format!("notification {method}"),
            Ok(Message::Response { id, outcome }) => match outcome {
                Ok(result) => format!("response {} {}", id.get(), result.get()),
                Err(error) => format!("response {} error {}", id.get(), error.get()),
            },
            Err(bad) => format!("{bad:?}"),
        }
    }

    #[test]
    fn given_lines_of_every_kind_when_read_then_each_is_told_apart() {
        let table = [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#,
                r#"request 1 m {"a":1}"#,
            ),
            (
                r#"{"method":"m","jsonrpc":"2.0","id":"x"}"#,
                r#"request "x" m -"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
                "request null m -",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
                "request 1.5 m -",
            ),
            (
                r#"{"jsonrpc":"2.0","id":{"a":[1]},"method":"m"}"#,
                r#"request {"a":[1]} m -"#,
            ),
            (
                r#"{"jsonrpc":"2.0","me\u0074hod":"\u006d"}"#,
                "notification m",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":null}"#,
                "response 7 null",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{}}"#,
                "response 7 error {}",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":null,"result":{}}"#,
                "response 7 {}",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{},"result":null}"#,
                "response 7 error {}",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{},"result":1}"#,
                r#"Invalid(Some("7"))"#,
            ),
            (r#"{"jsonrpc":"2.0","id":7}"#, r#"Invalid(Some("7"))"#),
            (r#"{"id":7,"method":"m"}"#, r#"Invalid(Some("7"))"#),
            (
                r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#,
                r#"Invalid(Some("7"))"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":3}"#,
                r#"Invalid(Some("7"))"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"m","method":"n"}"#,
                r#"Invalid(Some("7"))"#,
            ),
            ("[]", "Invalid(None)"),
            (r#"["2.0",1,"m",null,null,null]"#, "Invalid(None)"),
            ("3", "Invalid(None)"),
            ("null", "Invalid(None)"),
            ("{", "Parse"),
            ("nope", "Parse"),
            (r#"{"jsonrpc":"2.0","method":"m"} x"#, "Parse"),
        ];
        for (line, want) in table {
            assert_eq!(told(line), want, "{line}");
        }
        assert_eq!(
            read(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").unwrap_err(),
            Bad::Parse
        );
    }
}
