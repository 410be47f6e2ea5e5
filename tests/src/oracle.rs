//! What ACP v1 allows an agent to say: the official crate and the official JSON Schema,
//! both asked about every message.
//!
//! Pure. Invariant: a message passes only if both accept it, every response answers one
//! request, once, under the very id that the request had, and a request of the agent has an
//! id of its own and is taken back only while it is open.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use agent_client_protocol_schema::v1;
use jsonschema::Validator;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Watches one connection.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// Method and number of open requests, by the raw text of the id.
    open: BTreeMap<String, Vec<String>>,
    /// Responses to lines that no request can be read from may be told apart only by
    /// being errors with the id `null`.
    nameless: u64,
    /// Requests of the agent, by the raw text of the id; whether they are open.
    asked: BTreeMap<String, bool>,
}

impl Oracle {
    /// The editor sent this line. A line that has an id and is no response wants one
    /// answer, if only to say that it is no request.
    pub fn sent(&mut self, line: &str) {
        let too_long = line.trim_end_matches('\r').len() as u64 > airlock_engine::limits::ACP_LINE;
        if too_long || !line.trim_start().starts_with('{') {
            return;
        }
        let Ok(call) = serde_json::from_str::<Call<'_>>(line) else {
            return;
        };
        let answers = call.result.is_some() || call.error.is_some();
        if let (Some(id), true, None) = (call.id, answers, &call.method)
            && let Some(open) = self.asked.get_mut(id.get())
        {
            *open = false;
        }
        if let (Some(id), false) = (call.id, answers && call.method.is_none()) {
            let method = call.method.and_then(|it| Some(it.as_str()?.to_owned()));
            let method = method.unwrap_or_else(|| NO_METHOD.to_owned());
            self.open
                .entry(id.get().to_owned())
                .or_default()
                .push(method);
        }
    }

    /// The agent said this line.
    ///
    /// # Panics
    /// When ACP does not allow it, with the reason.
    pub fn said(&mut self, line: &str) {
        let message: Value =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON: {e}\n{line}"));
        assert!(message.is_object(), "not one object: {line}");
        assert_eq!(message["jsonrpc"], "2.0", "no JSON-RPC 2.0: {line}");
        match (message.get("method"), message.get("id")) {
            (Some(method), None) if method == CANCEL => self.taken_back(&message, line),
            (Some(_), None) => notification(&message, line),
            (Some(_), Some(id)) => {
                let fresh = self.asked.insert(id.to_string(), true).is_none();
                assert!(fresh, "an id that was used before: {line}");
                request(&message, line);
            }
            (None, Some(_)) => self.response(&message, line),
            (None, None) => panic!("neither request, notification nor response: {line}"),
        }
    }

    /// Requests that still wait for their answer.
    pub fn unanswered(&self) -> Vec<String> {
        let open = self
            .open
            .iter()
            .flat_map(|(id, methods)| methods.iter().map(move |it| (id, it)));
        open.map(|(id, method)| format!("{id} {method}")).collect()
    }

    /// How many errors went out under the id `null`, for lines without a readable id.
    pub fn nameless(&self) -> u64 {
        self.nameless
    }

    /// Requests of the agent that are open.
    pub fn asking(&self) -> Vec<&str> {
        let open = self.asked.iter().filter(|(_, open)| **open);
        open.map(|(id, _)| id.as_str()).collect()
    }

    fn taken_back(&mut self, message: &Value, line: &str) {
        only(message, &["jsonrpc", "method", "params"], line);
        let params = message["params"].clone();
        let read = v1::ProtocolLevelNotification::from_method_and_params(CANCEL, &params);
        if let Err(why) = read {
            panic!("the official crate refuses {CANCEL}: {why:?}\n{line}");
        }
        check(&definition("Notification", CANCEL), &params, line);
        let id = params["requestId"].to_string();
        let open = self.asked.insert(id, false) == Some(true);
        assert!(open, "takes back what is not open: {line}");
    }

    fn response(&mut self, message: &Value, line: &str) {
        only(message, &["jsonrpc", "id", "result", "error"], line);
        assert!(
            message.get("result").is_some() != message.get("error").is_some(),
            "result and error, or neither: {line}"
        );
        if let Some(error) = message.get("error") {
            check_error(error, line);
        }
        let answer: Call<'_> = serde_json::from_str(line).expect("an envelope");
        let id = answer.id.expect("an id").get().to_owned();
        let Some(methods) = self.open.get_mut(&id) else {
            assert!(
                id == "null" && message.get("error").is_some(),
                "answers no request: {line}"
            );
            self.nameless += 1;
            return;
        };
        let method = methods.remove(0);
        if methods.is_empty() {
            self.open.remove(&id);
        }
        let Some(result) = message.get("result") else {
            return;
        };
        if let Err(why) = v1::AgentResponse::from_method_and_result(&method, result.clone()) {
            panic!("the official crate refuses the result of {method}: {why:?}\n{line}");
        }
        if method.starts_with('_') {
            extension(&method, result, line);
        } else {
            check(&definition("Response", &method), result, line);
        }
    }
}

/// Takes a request back.
const CANCEL: &str = "$/cancel_request";

/// Results of methods that are no part of ACP, which leaves their shape to both sides.
fn extension(method: &str, result: &Value, line: &str) {
    match method {
        "_session/batch_get" => {
            only(result, &["sessions"], line);
            return rows(&result["sessions"], line);
        }
        "_session/list/subscribe" => {
            only(result, &["subscriptionId"], line);
            return assert!(result["subscriptionId"].is_string(), "{line}");
        }
        _ => {}
    }
    let shapes = match method {
        "_session/steering" => vec![
            json!({ "outcome": "injected" }),
            json!({ "outcome": "startedNewTurn" }),
            json!({ "outcome": "promptRequired", "reason": "noRunningTurn" }),
        ],
        "_session/async_task/stop" => {
            vec![json!({ "stopped": true }), json!({ "stopped": false })]
        }
        "_session/goal"
        | "_session/rename"
        | "_session/archive"
        | "_session/unarchive"
        | "_session/list/unsubscribe" => vec![json!({})],
        _ => Vec::new(),
    };
    assert!(shapes.contains(result), "not a result of {method}: {line}");
}

/// Stands for the method of a line that has none.
const NO_METHOD: &str = "?";

/// The parts of an envelope that pair requests and responses; ids keep their text.
#[derive(serde::Deserialize)]
struct Call<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<Value>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Tells `"id": null` from no id.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    serde::Deserialize::deserialize(from).map(Some)
}

/// Rows of the index are those of `session/list`.
fn rows(rows: &Value, line: &str) {
    let list = json!({ "sessions": rows });
    check(&definition("Response", "session/list"), &list, line);
}

/// `_session/list/changes`: its shape is that of the public description of AIR.
fn changes(params: &Value, line: &str) {
    only(params, &["subscriptionId", "sessions", "removed"], line);
    assert!(params["subscriptionId"].is_string(), "{line}");
    rows(&params["sessions"], line);
    let empty = |name: &str| params[name].as_array().expect("a list").is_empty();
    assert!(
        !(empty("sessions") && empty("removed")),
        "nothing changed: {line}"
    );
}

/// `_auth/status_update`: its shape is the peer's (Claude adapter, section 15).
fn status(params: &Value, line: &str) {
    only(params, &["authStatus"], line);
    let status = &params["authStatus"];
    only(
        status,
        &["kind", "label", "detail", "account", "vendor"],
        line,
    );
    let kinds = ["account", "api_key", "gateway", "external", "none"];
    let kind = status["kind"].as_str().expect("a kind is text");
    assert!(kinds.contains(&kind), "no kind of account: {line}");
    assert!(
        !status["label"].as_str().expect("a label").is_empty(),
        "{line}"
    );
    for text in ["detail", "vendor"] {
        assert!(status.get(text).is_none_or(Value::is_string), "{line}");
    }
    if let Some(account) = status.get("account") {
        only(account, &["email", "organization", "plan"], line);
    }
}

fn notification(message: &Value, line: &str) {
    only(message, &["jsonrpc", "method", "params"], line);
    let method = message["method"].as_str().expect("a method is text");
    if method == "_claude/sdkMessage" {
        return frame(&message["params"], line);
    }
    let params = message["params"].clone();
    if method == "session/update" && crate::beyond::is_update(&params, line) {
        return;
    }
    match method {
        "_auth/status_update" => return status(&params, line),
        "_session/list/changes" => return changes(&params, line),
        _ => {}
    }
    if let Err(why) = v1::AgentNotification::from_method_and_params(method, &params) {
        panic!("the official crate refuses {method}: {why:?}\n{line}");
    }
    check(&definition("Notification", method), &params, line);
}

/// `_claude/sdkMessage`: a frame of the program as it came (Claude adapter, section 4).
fn frame(params: &Value, line: &str) {
    only(params, &["sessionId", "message"], line);
    assert!(params["sessionId"].is_string(), "{line}");
    assert!(params["message"]["type"].is_string(), "{line}");
}

fn request(message: &Value, line: &str) {
    only(message, &["jsonrpc", "id", "method", "params"], line);
    let method = message["method"].as_str().expect("a method is text");
    let params = message["params"].clone();
    if let Err(why) = v1::AgentRequest::from_method_and_params(method, &params) {
        panic!("the official crate refuses {method}: {why:?}\n{line}");
    }
    check(&definition("Request", method), &params, line);
}

fn check_error(error: &Value, line: &str) {
    serde_json::from_value::<v1::Error>(error.clone())
        .unwrap_or_else(|e| panic!("the official crate refuses the error: {e}\n{line}"));
    check("Error", error, line);
    let message = error["message"].as_str().expect("a message is text");
    assert!(
        !message.is_empty() && !message.contains('\n'),
        "not one sentence: {line}"
    );
}

fn only(message: &Value, allowed: &[&str], line: &str) {
    for key in message.as_object().expect("an object").keys() {
        assert!(
            allowed.contains(&key.as_str()),
            "field {key} has no place here: {line}"
        );
    }
}

/// The official schema; every definition that is asked for is compiled once.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../schema/v1.json")).expect("the official schema")
});

/// What is not stable yet and is spoken all the same: forks and providers.
static UNSTABLE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../schema/v1.unstable.json")).expect("the draft schema")
});

/// Methods that are defined in the draft alone.
const DRAFT: [&str; 4] = [
    "session/fork",
    "providers/list",
    "providers/set",
    "providers/disable",
];

fn schema_of(method: &str) -> &'static Value {
    if DRAFT.contains(&method) {
        &UNSTABLE
    } else {
        &SCHEMA
    }
}

static COMPILED: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let mut all = compiled(&SCHEMA, |_| true);
    all.extend(compiled(&UNSTABLE, |method| DRAFT.contains(&method)));
    all
});

fn compiled(schema: &Value, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, Validator> {
    let definitions = schema["$defs"].as_object().expect("definitions");
    let spoken = definitions
        .iter()
        .filter(|(name, it)| match it["x-method"].as_str() {
            Some(method) => wanted(method),
            None => *name == "Error" && wanted(""),
        });
    let compile = |name: &str| {
        let whole = json!({ "$schema": schema["$schema"], "$defs": schema["$defs"],
            "$ref": format!("#/$defs/{name}") });
        jsonschema::validator_for(&whole).unwrap_or_else(|e| panic!("schema of {name}: {e}"))
    };
    spoken
        .map(|(name, _)| (name.clone(), compile(name)))
        .collect()
}

/// Name of the definition that the schema marks with this method.
fn definition(kind: &str, method: &str) -> String {
    let definitions = schema_of(method)["$defs"].as_object().expect("definitions");
    let found = definitions
        .iter()
        .find(|(name, it)| it["x-method"] == method && name.ends_with(kind));
    found
        .unwrap_or_else(|| panic!("the schema has no {kind} for {method}"))
        .0
        .clone()
}

fn check(name: &str, value: &Value, line: &str) {
    let compiled = COMPILED
        .get(name)
        .unwrap_or_else(|| panic!("the schema has no {name}"));
    let errors: Vec<String> = compiled
        .iter_errors(value)
        .map(|it| format!("{it} at {}", it.instance_path))
        .collect();
    assert!(
        errors.is_empty(),
        "the schema refuses it as {name}: {errors:#?}\n{line}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(sent: &[&str], said: &str) -> bool {
        let (sent, said) = (
            sent.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(),
            said.to_owned(),
        );
        std::panic::catch_unwind(move || {
            let mut oracle = Oracle::default();
            sent.iter().for_each(|line| oracle.sent(line));
            oracle.said(&said);
        })
        .is_ok()
    }

    #[test]
    fn given_a_request_when_answered_then_only_a_schema_valid_result_under_its_id_passes() {
        let asked = [r#"{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{}}"#];
        let answer =
            |id: &str, result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        assert!(accepts(
            &asked,
            &answer("\"a\"", r#"{"stopReason":"end_turn"}"#)
        ));
        assert!(!accepts(
            &asked,
            &answer("\"b\"", r#"{"stopReason":"end_turn"}"#)
        ));
        assert!(!accepts(
            &asked,
            &answer("\"a\"", r#"{"stopReason":"done"}"#)
        ));
        assert!(!accepts(&asked, &answer("\"a\"", "{}")));
        assert!(!accepts(
            &[],
            &answer("\"a\"", r#"{"stopReason":"end_turn"}"#)
        ));
    }

    #[test]
    fn given_notifications_when_judged_then_unknown_kinds_and_root_fields_are_refused() {
        let update = |update: &str, more: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}{more}}}"#
            )
        };
        let chunk =
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}"#;
        assert!(accepts(&[], &update(chunk, "")));
        assert!(!accepts(&[], &update(chunk, r#","extra":1"#)));
        assert!(!accepts(
            &[],
            &update(r#"{"sessionUpdate":"agent_shout"}"#, "")
        ));
        assert!(!accepts(
            &[],
            &update(r#"{"sessionUpdate":"tool_call","toolCallId":"t"}"#, "")
        ));
    }

    #[test]
    fn given_requests_of_the_agent_when_judged_then_ids_are_fresh_and_only_open_ones_taken_back() {
        let ask = |id: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"session/request_permission","params":{{"sessionId":"s","toolCall":{{"toolCallId":"t"}},"options":[]}}}}"#
            )
        };
        let back = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#;
        let passes = |play: &dyn Fn(&mut Oracle)| {
            let play = std::panic::AssertUnwindSafe(|| play(&mut Oracle::default()));
            std::panic::catch_unwind(play).is_ok()
        };
        assert!(passes(&|oracle| {
            oracle.said(&ask("1"));
            oracle.said(&ask("2"));
            oracle.said(back);
            assert_eq!(oracle.asking(), ["2"]);
        }));
        assert!(!passes(&|oracle| {
            oracle.said(&ask("1"));
            oracle.said(&ask("1"));
        }));
        assert!(!passes(&|oracle| {
            oracle.said(&ask("1"));
            oracle.sent(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
            oracle.said(back);
        }));
        assert!(!passes(&|oracle| oracle.said(back)));
    }

    #[test]
    fn given_errors_when_judged_then_null_ids_are_for_errors_only() {
        let error =
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
        assert!(accepts(&[], error));
        assert!(!accepts(&[], r#"{"jsonrpc":"2.0","id":null,"result":{}}"#));
        assert!(!accepts(
            &[],
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":"x","message":"m"}}"#
        ));
    }
}
