//! Forms of the Host (Maka adapter, section 21.4), below the wire: no epoch that Airlock
//! speaks has them yet. The Host's request becomes a form for the editor, and what the
//! editor answers becomes the Host's answer, or nothing.

use airlock_engine::editor::v1::questions::{self as editor, Asked};
use airlock_engine::host::dialog::{Dialog, Reply};
use airlock_engine::host::maka::forms;
use airlock_engine::host::maka::questions::Whose;
use airlock_tests::Oracle;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn dialog(request: &Value) -> Option<Dialog> {
    let whose = Whose {
        id: "i1",
        turn_id: "turn",
    };
    forms::dialog(whose, &raw(request))
}

/// The request to the editor; the oracle has seen it.
fn asked(request: &Value) -> Value {
    let dialog = dialog(request).expect("a form that can be read");
    let mut line = Vec::new();
    editor::ask(1, "session", &dialog, &[], &mut line);
    let line = String::from_utf8(line).unwrap();
    Oracle::default().said(line.trim_end());
    serde_json::from_str(&line).unwrap()
}

fn property(field: Value) -> Value {
    let name = field["name"].as_str().unwrap().to_owned();
    asked(&form(json!([field])))["params"]["requestedSchema"]["properties"][name].clone()
}

/// The Host's answer, if the editor's result gives one.
fn answered(request: &Value, result: &Value) -> Option<Value> {
    let reply = editor::reply(&Asked::Form, Ok(&raw(result)));
    let answer = forms::answer(&raw(request), &reply)?;
    Some(serde_json::to_value(answer).unwrap())
}

fn accepted(request: &Value, content: &Value) -> Option<Value> {
    answered(request, &json!({ "action": "accept", "content": content }))
}

fn form(fields: Value) -> Value {
    json!({ "kind": "form", "toolUseId": "t1", "message": "Where to?",
            "requester": { "name": "Deploy" }, "fields": fields })
}

fn every_field() -> Value {
    json!([
        { "kind": "string", "name": "who", "label": "Who", "required": true,
          "description": "A mail address", "default": "me@example.org", "minLength": 3,
          "maxLength": 40, "format": "email" },
        { "kind": "number", "name": "ratio", "label": "Ratio", "required": false,
          "default": 0.5, "minimum": 0.25, "maximum": 1.50 },
        { "kind": "integer", "name": "count", "label": "Count", "required": true,
          "default": 3, "minimum": 1.2, "maximum": 4.9 },
        { "kind": "integer", "name": "any", "label": "Any", "required": false },
        { "kind": "boolean", "name": "sure", "label": "Sure", "required": false, "default": false },
        { "kind": "single_select", "name": "place", "label": "Place", "required": false,
          "options": [{ "value": "a", "label": "Alpha" }, { "value": "b", "label": "Beta" }],
          "default": "b" },
        { "kind": "multi_select", "name": "tags", "label": "Tags", "required": false,
          "options": [{ "value": "x", "label": "Ex" }, { "value": "y", "label": "Why" }],
          "default": ["x"], "minItems": 1, "maxItems": 2 }
    ])
}

/// 26.4 I3: every kind of field, bounds rounded inward.
#[test]
fn given_a_form_with_every_field_when_asked_then_the_schema_is_exact() {
    let request = form(every_field());
    insta::assert_snapshot!(
        "every_field",
        serde_json::to_string_pretty(&asked(&request)).unwrap()
    );
}

/// 26.4 I1, I3: values are handed on as they were written.
#[test]
fn given_valid_values_when_accepted_then_they_are_unchanged() {
    let request = form(every_field());
    let content = json!({ "who": "you@example.org", "ratio": 1.5, "count": 2, "any": -7,
                          "sure": true, "place": "a", "tags": ["y", "x"] });
    assert_eq!(
        accepted(&request, &content),
        Some(json!({ "kind": "form", "action": "accept", "values": content }))
    );
    let text = r#"{"action":"accept","content":{"count":2.0,"who":"a@b","ratio":1.50}}"#;
    let reply = editor::reply(
        &Asked::Form,
        Ok(&RawValue::from_string(text.to_owned()).unwrap()),
    );
    let answer = forms::answer(&raw(&request), &reply).unwrap();
    assert_eq!(
        serde_json::to_string(&answer).unwrap(),
        r#"{"kind":"form","action":"accept","values":{"count":2.0,"who":"a@b","ratio":1.50}}"#
    );
}

/// 26.4 I4: three answers; a default is never sent by itself.
#[test]
fn given_a_form_when_accepted_without_content_declined_or_cancelled_then_each_is_its_own_answer() {
    let optional = json!([{ "kind": "string", "name": "who", "label": "Who", "required": false,
                            "default": "me" }]);
    let request = form(optional);
    let table = [
        (
            json!({ "action": "accept", "content": null }),
            json!({ "kind": "form", "action": "accept", "values": {} }),
        ),
        (
            json!({ "action": "accept" }),
            json!({ "kind": "form", "action": "accept", "values": {} }),
        ),
        (
            json!({ "action": "decline", "content": { "who": "x" } }),
            json!({ "kind": "form", "action": "decline" }),
        ),
        (
            json!({ "action": "cancel", "content": { "who": "x" } }),
            json!({ "kind": "form", "action": "cancel" }),
        ),
    ];
    for (result, answer) in table {
        assert_eq!(answered(&request, &result), Some(answer), "{result}");
    }
    assert_eq!(answered(&request, &json!({ "action": "later" })), None);
    assert_eq!(
        answered(&request, &json!({ "action": "accept", "content": [] })),
        None
    );
    let declared = dialog(&request).unwrap();
    assert!(declared.cancel_is_answer && !declared.own_card);
    let failed = editor::reply(
        &Asked::Form,
        Err(&raw(&json!({ "code": 1, "message": "x" }))),
    );
    assert!(matches!(failed, Reply::Failed));
    assert!(forms::answer(&raw(&request), &failed).is_none());
}

/// Section 21.4: who asks, with and without where it is from.
#[test]
fn given_a_requester_when_asked_then_the_message_says_who() {
    let mut request = form(json!([]));
    assert_eq!(asked(&request)["params"]["message"], "Deploy: Where to?");
    request["requester"]["source"] = json!("ci");
    assert_eq!(
        asked(&request)["params"]["message"],
        "Deploy (ci): Where to?"
    );
}

/// 26.4 I3; section 21.4: the bounds of a whole number.
#[test]
fn given_bounds_of_integers_when_asked_then_rounded_inward_and_always_there() {
    let safe = (1_i64 << 53) - 1;
    let table = [
        (json!({ "minimum": 1.2, "maximum": 4.9 }), (2, 4)),
        (json!({ "minimum": -1.2, "maximum": -0.1 }), (-1, -1)),
        (json!({ "minimum": 2, "maximum": 4 }), (2, 4)),
        (json!({}), (-safe, safe)),
        (
            json!({ "minimum": -1e300, "maximum": 1e300 }),
            (-safe, safe),
        ),
        (json!({ "minimum": null, "maximum": null }), (-safe, safe)),
    ];
    for (bounds, (min, max)) in table {
        let mut field = json!({ "kind": "integer", "name": "n", "label": "N" });
        field
            .as_object_mut()
            .unwrap()
            .extend(bounds.as_object().unwrap().clone());
        let shown = property(field);
        assert_eq!(
            shown,
            json!({ "type": "integer", "title": "N", "minimum": min, "maximum": max }),
            "{bounds}"
        );
    }
}

/// 26.4 I6: validated without coercion; nothing that does not fit is answered.
#[test]
fn given_values_that_do_not_fit_when_accepted_then_there_is_no_answer() {
    let string = |more: Value| {
        let mut field = json!({ "kind": "string", "name": "v", "label": "V", "required": false });
        field
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        field
    };
    let select = json!([{ "value": "a", "label": "A" }, { "value": "b", "label": "B" }]);
    let one = json!({ "kind": "single_select", "name": "v", "label": "V", "options": select });
    let many = json!({ "kind": "multi_select", "name": "v", "label": "V", "options": select,
                       "minItems": 1, "maxItems": 1 });
    let number =
        json!({ "kind": "number", "name": "v", "label": "V", "minimum": 1, "maximum": 2.5 });
    let integer =
        json!({ "kind": "integer", "name": "v", "label": "V", "minimum": 1, "maximum": 3 });
    let boolean = json!({ "kind": "boolean", "name": "v", "label": "V" });
    let table = [
        (
            string(json!({})),
            vec![json!("")],
            vec![json!(1), json!(null), json!(["x"]), json!(true)],
        ),
        (
            string(json!({ "minLength": 2, "maxLength": 3 })),
            vec![json!("ab"), json!("abc"), json!("\u{1f600}")],
            vec![json!("a"), json!("abcd"), json!("\u{1f600}\u{1f600}")],
        ),
        (
            string(json!({ "format": "email" })),
            vec![json!("a@b.c")],
            vec![
                json!("a"),
                json!("@b"),
                json!("a@"),
                json!("a b@c"),
                json!("a@b@c"),
            ],
        ),
        (
            string(json!({ "format": "uri" })),
            vec![json!("https://example.org/a?b"), json!("mailto:a@b")],
            vec![
                json!("example.org"),
                json!("1a:b"),
                json!("a:"),
                json!("a: b"),
                json!(":a"),
            ],
        ),
        (
            string(json!({ "format": "date" })),
            vec![json!("2024-02-29"), json!("2026-11-30")],
            vec![
                json!("2026-02-29"),
                json!("2026-11-31"),
                json!("2026-13-01"),
                json!("2026-1-01"),
                json!("2026-11-30T00:00:00Z"),
                json!("+026-11-30"),
            ],
        ),
        (
            string(json!({ "format": "date-time" })),
            vec![
                json!("2026-11-30T23:59:60Z"),
                json!("2026-11-30t00:00:00.5+02:00"),
            ],
            vec![
                json!("2026-11-30"),
                json!("2026-11-30T24:00:00Z"),
                json!("2026-11-30T00:00:00"),
                json!("2026-11-30T00:00:00.Z"),
                json!("2026-11-30T00:00:00+2:00"),
                json!("2026-11-30T00:00Z"),
            ],
        ),
        (
            number,
            vec![json!(1), json!(2.5)],
            vec![json!(0.99), json!(2.51), json!("2"), json!(true)],
        ),
        (
            integer,
            vec![json!(1), json!(3), json!(2.0)],
            vec![json!(0), json!(4), json!(1.5), json!("2"), json!(1e40)],
        ),
        (
            boolean,
            vec![json!(true), json!(false)],
            vec![json!("true"), json!(1)],
        ),
        (
            one,
            vec![json!("a")],
            vec![json!("A"), json!("c"), json!(["a"])],
        ),
        (
            many,
            vec![json!(["a"])],
            vec![
                json!([]),
                json!(["a", "b"]),
                json!(["a", "a"]),
                json!(["c"]),
                json!("a"),
            ],
        ),
    ];
    for (field, good, bad) in table {
        let request = form(json!([field]));
        for value in good {
            let content = json!({ "v": value });
            assert!(accepted(&request, &content).is_some(), "{field} {content}");
        }
        for value in bad {
            let content = json!({ "v": value });
            assert_eq!(accepted(&request, &content), None, "{field} {content}");
        }
    }
}

/// 26.4 I6: names that are unknown, missing or given twice.
#[test]
fn given_names_that_do_not_fit_when_accepted_then_there_is_no_answer() {
    let request = form(json!([{ "kind": "string", "name": "v", "label": "V", "required": true }]));
    assert!(accepted(&request, &json!({ "v": "x" })).is_some());
    assert_eq!(accepted(&request, &json!({})), None);
    assert_eq!(accepted(&request, &json!({ "v": "x", "w": "x" })), None);
    let twice = r#"{"action":"accept","content":{"v":"x","v":"y"}}"#;
    let twice = RawValue::from_string(twice.to_owned()).unwrap();
    let reply = editor::reply(&Asked::Form, Ok(&twice));
    assert!(forms::answer(&raw(&request), &reply).is_none());
}

/// The Host takes 8 KiB, encoded; at the limit, and one byte more.
#[test]
fn given_an_answer_at_the_hosts_limit_when_accepted_then_one_byte_more_is_none() {
    let request = form(json!([{ "kind": "string", "name": "v", "label": "V" }]));
    let empty = accepted(&request, &json!({ "v": "" }))
        .unwrap()
        .to_string()
        .len();
    let text = "x".repeat(8192 - empty);
    let answer = accepted(&request, &json!({ "v": text })).unwrap();
    assert_eq!(answer.to_string().len(), 8192);
    assert_eq!(
        accepted(&request, &json!({ "v": format!("{text}x") })),
        None
    );
}

/// 26.4 I6: a form that contradicts itself is not shown.
#[test]
fn given_forms_that_cannot_be_read_when_asked_then_there_is_no_dialog() {
    let broken = [
        json!({ "kind": "riddle", "name": "v", "label": "V" }),
        json!({ "kind": "string", "name": "v", "label": "V", "default": 3 }),
        json!({ "kind": "number", "name": "v", "label": "V", "minimum": "1" }),
        json!({ "kind": "integer", "name": "v", "label": "V", "maximum": "1" }),
        json!({ "kind": "boolean", "name": "v", "label": "V", "default": "no" }),
        json!({ "kind": "multi_select", "name": "v", "label": "V", "default": "a" }),
        json!({ "kind": "string", "label": "V" }),
    ];
    for field in broken {
        assert!(dialog(&form(json!([field]))).is_none(), "{field}");
    }
    let mut nobody = form(json!([]));
    nobody["requester"] = Value::Null;
    assert!(dialog(&nobody).is_none());
}
