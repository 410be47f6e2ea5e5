//! What an editor may throw at the connection (ACP protocol, section 1; issue, step 4):
//! each has an answer or silence, the connection stays up, and nothing but ACP comes out.

use airlock_tests::{Absent, Cut, Desk};
use serde_json::{Value, json};

const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

/// A desk whose connection is initialized; what was said is taken.
fn initialized() -> Desk<Absent> {
    let mut desk = Desk::new(Absent);
    desk.send_line(INITIALIZE);
    desk.run_until_quiet();
    assert_eq!(desk.take()[0]["result"]["protocolVersion"], 1);
    desk
}

/// What comes back for these bytes.
fn said(desk: &mut Desk<Absent>, bytes: &[u8]) -> Vec<Value> {
    desk.send_bytes(bytes);
    desk.run_until_quiet();
    desk.take()
}

/// What comes back for this line, which the oracle may expect an answer to.
fn answers(desk: &mut Desk<Absent>, line: &str) -> Vec<String> {
    desk.send_line(line);
    desk.run_until_quiet();
    desk.take_lines()
}

/// The connection still answers.
fn alive(desk: &mut Desk<Absent>) {
    let id = desk.request("_alive", &json!({}));
    let answer = desk.answer(id);
    assert_eq!(answer["error"]["code"], -32601);
    assert_eq!(desk.unanswered(), [""; 0]);
    assert_eq!(desk.done, None);
}

/// Code and id of errors.
fn errors(said: &[Value]) -> Vec<(i64, Value)> {
    said.iter()
        .map(|it| {
            (
                it["error"]["code"].as_i64().unwrap_or_default(),
                it["id"].clone(),
            )
        })
        .collect()
}

#[test]
fn given_ids_of_every_json_type_when_asked_then_each_comes_back_as_it_was_written() {
    let ids = [
        "0",
        "-1",
        "7",
        "1.50",
        "1e3",
        "18446744073709551616",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "\"\\u00e9\"",
        "\"é\"",
        "\"7\"",
        "null",
        "true",
        "[1, 2]",
        "{\"b\": 1, \"a\": 2}",
    ];
    let mut desk = initialized();
    for id in ids {
        let got = answers(
            &mut desk,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"_x"}}"#),
        );
        assert_eq!(got.len(), 1, "{id}");
        assert!(
            got[0].starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)),
            "{id}: {}",
            got[0]
        );
    }
    alive(&mut desk);
}

#[test]
fn given_requests_before_initialize_when_sent_then_each_is_refused_and_initialize_still_works() {
    let mut desk = Desk::new(Absent);
    desk.send_line(
        r#"{"jsonrpc":"2.0","id":"a","method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
    );
    desk.send_line(r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#);
    desk.run_until_quiet();
    assert_eq!(errors(&desk.take()), [(-32600, json!("a"))]);
    desk.send_line(INITIALIZE);
    desk.run_until_quiet();
    assert_eq!(desk.take()[0]["result"]["protocolVersion"], 1);
    alive(&mut desk);
}

#[test]
fn given_requests_pipelined_behind_initialize_when_sent_in_one_piece_then_each_is_answered_in_order()
 {
    let mut desk = Desk::new(Absent).cut(Cut::Read);
    desk.send_line(INITIALIZE);
    desk.send_line(r#"{"jsonrpc":"2.0","id":2,"method":"_a"}"#);
    desk.send_line(r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#);
    desk.run_until_quiet();
    let said = desk.take();
    assert_eq!(said[0]["result"]["protocolVersion"], 1);
    assert_eq!(
        errors(&said[1..]),
        [
            (-32601, json!(2)),
            (said[2]["error"]["code"].as_i64().unwrap(), json!(3))
        ]
    );
    assert_eq!(said[2]["error"]["data"]["reason"], "unknown_session");
    alive(&mut desk);
}

#[test]
fn given_any_version_when_initialized_then_the_answer_is_1_and_a_second_initialize_is_refused() {
    for version in [0, 1, 2, 65_535] {
        let mut desk = Desk::new(Absent);
        let initialize = |id: u32| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":{version},"clientCapabilities":{{}},"info":{{"name":"n","version":"1"}}}}}}"#
            )
        };
        desk.send_line(&initialize(1));
        desk.send_line(&initialize(2));
        desk.run_until_quiet();
        let said = desk.take();
        assert_eq!(
            said[0]["result"],
            json!({ "protocolVersion": 1, "authMethods": [],
                "agentCapabilities": { "loadSession": true, "promptCapabilities": { "image": true, "embeddedContext": true },
                    "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} } },
                "agentInfo": { "name": "airlock", "title": "Airlock", "version": "0.0.0" },
                "_meta": { "steering": { "supported": true } } })
        );
        assert_eq!(errors(&said[1..]), [(-32600, json!(2))]);
        alive(&mut desk);
    }
}

#[test]
fn given_a_version_that_is_no_number_of_16_bits_when_initialized_then_it_is_refused_and_may_be_tried_again()
 {
    for version in ["\"1\"", "1.5", "-1", "65536", "null", "{}"] {
        let mut desk = Desk::new(Absent);
        let got = answers(
            &mut desk,
            &format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":{version}}}}}"#
            ),
        );
        let got: Vec<Value> = got
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(errors(&got), [(-32602, json!(0))], "{version}");
        desk.send_line(INITIALIZE);
        desk.run_until_quiet();
        assert_eq!(desk.take()[0]["result"]["protocolVersion"], 1);
    }
}

#[test]
fn given_arrays_when_sent_then_each_is_one_invalid_request_without_an_id() {
    let mut desk = initialized();
    for line in [
        "[]",
        "[1,2]",
        r#"[{"jsonrpc":"2.0","id":9,"method":"_x"}]"#,
        r#"["2.0",9,"_x",{}]"#,
    ] {
        let got = said(&mut desk, format!("{line}\n").as_bytes());
        assert_eq!(errors(&got), [(-32600, Value::Null)], "{line}");
    }
    alive(&mut desk);
}

#[test]
fn given_crlf_and_blank_lines_when_sent_then_lines_are_read_and_blanks_are_nothing() {
    let mut desk = initialized();
    desk.send_line("");
    desk.send_line("   \t ");
    desk.send_line("\r");
    desk.send_line("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"_x\"}\r");
    desk.send_line("  {\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"_x\"}  ");
    desk.run_until_quiet();
    assert_eq!(
        errors(&desk.take()),
        [(-32601, json!(5)), (-32601, json!(6))]
    );
    alive(&mut desk);
}

#[test]
fn given_what_is_no_json_when_sent_then_each_line_is_a_parse_error_without_an_id() {
    let mut desk = initialized();
    let lines: [&[u8]; 9] = [
        b"garbage",
        b"{",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"_x\"",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"_x\"}}",
        b"{'jsonrpc':'2.0'}",
        b"\xff\xfe\x00",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"_\xc3\x28\"}",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"_x\"}",
        b"\x00\x01\x02",
    ];
    for line in lines {
        let got = said(&mut desk, &[line, b"\n"].concat());
        assert_eq!(
            errors(&got),
            [(-32700, Value::Null)],
            "{}",
            String::from_utf8_lossy(line)
        );
    }
    alive(&mut desk);
}

#[test]
fn given_json_that_is_no_message_when_sent_then_it_is_an_invalid_request_under_its_id_where_it_has_one()
 {
    let mut desk = initialized();
    let lines = [
        ("1", Value::Null),
        ("null", Value::Null),
        ("\"text\"", Value::Null),
        ("true", Value::Null),
        ("{}", Value::Null),
        (r#"{"jsonrpc":"2.0"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":4}"#, json!(4)),
        (r#"{"jsonrpc":"1.0","id":4,"method":"_x"}"#, json!(4)),
        (r#"{"id":"q","method":"_x"}"#, json!("q")),
        (r#"{"jsonrpc":2,"id":4,"method":"_x"}"#, json!(4)),
        (r#"{"jsonrpc":"2.0","id":4,"method":7}"#, json!(4)),
    ];
    for (line, id) in lines {
        let got = said(&mut desk, format!("{line}\n").as_bytes());
        let code = got[0]["error"]["code"].clone();
        assert_eq!((got.len(), code), (1, json!(-32600)), "{line}");
        assert_eq!(got[0]["id"], id, "{line}");
    }
    alive(&mut desk);
}

#[test]
fn given_deep_nesting_when_sent_then_the_line_is_answered_and_the_next_one_too() {
    let mut desk = initialized();
    for depth in [100, 1_000, 1_000_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "1}")] {
            let (close, deep) = if close == "1}" {
                ("}", "1")
            } else {
                (close, "")
            };
            let params = format!("{}{deep}{}", open.repeat(depth), close.repeat(depth));
            let line =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"_x\",\"params\":{params}}}\n");
            let got = said(&mut desk, line.as_bytes());
            assert_eq!(got.len(), 1, "{depth} {open}");
            assert!(
                [-32601, -32600, -32602, -32700].contains(&errors(&got)[0].0),
                "{depth} {open}"
            );
            // No end at all.
            let got = said(&mut desk, format!("{}\n", open.repeat(depth)).as_bytes());
            assert_eq!(got.len(), 1, "{depth} {open}");
            // An array is refused as one, before its end is missed.
            assert!(
                [-32600, -32700].contains(&errors(&got)[0].0) && got[0]["id"].is_null(),
                "{depth} {open}"
            );
        }
    }
    alive(&mut desk);
}

#[test]
fn given_lines_up_to_and_past_32_mib_when_sent_then_the_longest_is_read_and_longer_ones_are_skipped()
 {
    const LONGEST: usize = 32 << 20;
    let line = |length: usize| {
        let (head, tail) = (
            r#"{"jsonrpc":"2.0","id":8,"method":"_x","params":{"pad":""#,
            "\"}}",
        );
        format!(
            "{head}{}{tail}",
            "p".repeat(length - head.len() - tail.len())
        )
    };
    let mut desk = initialized().cut(Cut::Read);
    assert_eq!(
        errors(&said(&mut desk, format!("{}\n", line(LONGEST)).as_bytes())),
        [(-32601, json!(8))]
    );
    assert_eq!(
        errors(&said(
            &mut desk,
            format!("{}\r\n", line(LONGEST)).as_bytes()
        )),
        [(-32601, json!(8))]
    );
    let too_long = said(&mut desk, format!("{}\n", line(LONGEST + 1)).as_bytes());
    assert_eq!(errors(&too_long), [(-32600, Value::Null)]);
    assert_eq!(
        errors(&said(
            &mut desk,
            &[b"x".repeat(LONGEST * 2), b"\n".to_vec()].concat()
        )),
        [(-32600, Value::Null)]
    );
    alive(&mut desk);
}

#[test]
fn given_unknown_methods_and_notifications_when_sent_then_requests_are_refused_and_the_rest_is_silence()
 {
    let mut desk = initialized();
    for method in [
        "session/fork",
        "session/set_model",
        "authenticate",
        "nonsense",
        "",
        "_maka/x",
        "$/x",
    ] {
        let got = answers(
            &mut desk,
            &format!(r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{{}}}}"#),
        );
        let got: Value = serde_json::from_str(&got[0]).unwrap();
        assert_eq!(got["error"]["code"], -32601, "{method}");
        assert_eq!(
            got["error"]["data"],
            json!({ "method": method }),
            "{method}"
        );
    }
    for line in [
        r#"{"jsonrpc":"2.0","method":"_x"}"#,
        r#"{"jsonrpc":"2.0","method":"$/progress","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"nonsense","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel"}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"session/prompt","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"m"}}"#,
    ] {
        assert_eq!(answers(&mut desk, line), [""; 0], "{line}");
    }
    alive(&mut desk);
}

#[test]
fn given_wrong_params_when_asked_then_the_answer_names_the_field() {
    let mut desk = initialized();
    let long = format!("/{}", "p".repeat(4096));
    let cases = [
        (
            "session/new",
            json!({ "cwd": "here", "mcpServers": [] }),
            json!({ "field": "cwd", "reason": "must_be_absolute" }),
        ),
        (
            "session/new",
            json!({ "cwd": long, "mcpServers": [] }),
            json!({ "field": "cwd", "reason": "too_large" }),
        ),
        (
            "session/new",
            json!({ "cwd": "/", "mcpServers": [{ "name": "m", "command": "/m", "args": [], "env": [] }] }),
            json!({ "field": "mcpServers", "reason": "unsupported" }),
        ),
        (
            "session/new",
            json!({ "cwd": "/", "mcpServers": [], "additionalDirectories": ["/x"] }),
            json!({ "field": "additionalDirectories", "reason": "unsupported" }),
        ),
        (
            "session/list",
            json!({ "cwd": "here" }),
            json!({ "field": "cwd", "reason": "must_be_absolute" }),
        ),
        (
            "session/prompt",
            json!({ "sessionId": "s", "prompt": [{ "type": "audio", "data": "", "mimeType": "audio/wav" }] }),
            json!({ "field": "prompt", "reason": "unsupported_content_type" }),
        ),
    ];
    for (method, params, data) in cases {
        let id = desk.request(method, &params);
        let answer = desk.answer(id);
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}");
        assert_eq!(answer["error"]["data"], data, "{method} {params}");
    }
    for (method, params) in [
        ("session/new", json!({})),
        ("session/new", json!([])),
        ("session/prompt", json!({ "sessionId": 1 })),
    ] {
        let id = desk.request(method, &params);
        assert_eq!(
            desk.answer(id)["error"]["code"],
            -32602,
            "{method} {params}"
        );
    }
    alive(&mut desk);
}

#[test]
fn given_one_byte_at_a_time_when_sent_then_the_answers_are_those_of_whole_lines() {
    let script = [
        INITIALIZE.as_bytes(),
        b"\r\n\n{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\xa9\",\"method\":\"_x\"}\ngarbage\xff\n[]\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/new\",\"params\":{\"cwd\":\"x\",\"mcpServers\":[]}}\n",
    ]
    .concat();
    let run = |cut: Cut| {
        let mut desk = Desk::new(Absent).cut(cut);
        said(&mut desk, &script)
    };
    let whole = run(Cut::Line);
    assert_eq!(whole.len(), 5);
    assert_eq!(run(Cut::Bytes(1)), whole);
    assert_eq!(run(Cut::Bytes(7)), whole);
    assert_eq!(run(Cut::Read), whole);
}

#[test]
fn given_the_end_of_input_in_mid_line_when_it_comes_then_the_rest_is_dropped_and_the_end_is_clean()
{
    for tail in [
        "",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"meth",
        "garbage",
        INITIALIZE,
    ] {
        let mut desk = initialized();
        desk.send_bytes(tail.as_bytes());
        desk.hang_up();
        desk.run_until_quiet();
        assert_eq!(desk.take(), [Value::Null; 0], "{tail}");
        assert!(desk.finished(), "{tail}");
        assert_eq!(desk.done, Some(0), "{tail}");
        assert_eq!(desk.left_armed, [0; 0], "{tail}");
    }
}

#[test]
fn given_no_host_when_a_session_is_asked_for_then_the_answer_says_so_and_the_connection_stays_up() {
    let mut desk = initialized();
    let id = desk.request("session/new", &json!({ "cwd": "/", "mcpServers": [] }));
    desk.advance(60_000);
    let said = desk.take();
    let answer = said.iter().find(|it| it["id"] == id).unwrap();
    assert_eq!(answer["error"]["code"], -32603);
    let data = &answer["error"]["data"];
    assert_eq!(
        json!([
            data["source"],
            data["operation"],
            data["code"],
            data["reason"]
        ]),
        json!(["runtime_host", "connect", "connection_failed", "absent"])
    );
    alive(&mut desk);
}
