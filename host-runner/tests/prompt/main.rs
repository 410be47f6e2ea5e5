//! `host-runner prompt` against a scripted agent at the other end of a socket
//! pair: what it sends, what it shows where, and which exit code it gives.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use host_runner::prompt::{Console, Event, Options, run_on};
use serde_json::{Value, json};

/// The far side of the conversation, as the test writes it.
struct Agent {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
}

/// What a run left behind.
struct Ran {
    code: u8,
    out: String,
    err: String,
}

impl Agent {
    /// The next message of the client.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.reader
            .read_line(&mut line)
            .expect("the client writes lines");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn say(&mut self, message: &Value) {
        self.stream
            .write_all(format!("{message}\n").as_bytes())
            .expect("the client reads");
    }

    fn answer(&mut self, request: &Value, result: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    fn update(&mut self, update: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": "s1", "update": update}}));
    }

    /// Up to the prompt, which it gives.
    fn greet(&mut self) -> Value {
        let initialize = self.hear();
        assert_eq!(initialize["method"], "initialize");
        assert_eq!(initialize["params"]["protocolVersion"], 1);
        self.answer(
            &initialize,
            json!({"protocolVersion": 1,
            "agentCapabilities": {"sessionCapabilities": {"close": {}}}}),
        );
        let new = self.hear();
        assert_eq!(new["method"], "session/new");
        assert_eq!(new["params"], json!({"cwd": "/tmp", "mcpServers": []}));
        self.answer(&new, json!({"sessionId": "s1"}));
        let prompt = self.hear();
        assert_eq!(prompt["method"], "session/prompt");
        assert_eq!(
            prompt["params"],
            json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "hello"}]})
        );
        prompt
    }

    /// Ends the turn and answers the close.
    fn end(&mut self, prompt: &Value, reason: &str) {
        self.answer(prompt, json!({"stopReason": reason}));
        let close = self.hear();
        assert_eq!(close["method"], "session/close");
        assert_eq!(close["params"], json!({"sessionId": "s1"}));
        self.answer(&close, json!({}));
    }
}

/// Runs the client against what `play` does.
fn with(console: Console, json: bool, play: impl FnOnce(Agent) + Send + 'static) -> Ran {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let reader = BufReader::new(theirs.try_clone().expect("a second handle"));
    let playing: JoinHandle<()> = std::thread::spawn(move || {
        play(Agent {
            stream: theirs,
            reader,
        })
    });
    let options = Options {
        cwd: "/tmp".into(),
        json,
        text: "hello".to_owned(),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run_on(ours, options, &mut out, &mut err, console).expect("the client runs");
    playing.join().expect("the agent's side of the dialogue");
    Ran {
        code,
        out: String::from_utf8(out).expect("text"),
        err: String::from_utf8(err).expect("text"),
    }
}

fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

#[test]
fn given_a_whole_turn_when_run_then_the_answer_is_on_stdout_and_the_rest_on_stderr() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let prompt = agent.greet();
        agent.update(chunk("agent_thought_chunk", "Let me "));
        agent.update(chunk("agent_thought_chunk", "think."));
        agent.update(chunk("agent_message_chunk", "Hello, "));
        agent.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Bash: seq 2", "status": "pending"}));
        let output =
            |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        agent.update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "in_progress",
            "content": output("1\n")}),
        );
        agent.update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed",
            "content": output("1\n2\n")}),
        );
        agent.update(json!({"sessionUpdate": "plan", "entries": [
            {"content": "greet", "status": "completed"}, {"content": "leave", "status": "pending"}]}));
        agent.update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2}));
        agent.update(chunk("agent_message_chunk", "world"));
        agent.end(&prompt, "end_turn");
    });
    assert_eq!(ran.code, 0);
    assert_eq!(ran.out, "Hello, \n\nworld\n");
    assert_eq!(
        ran.err,
        "Let me think.\n[tool] Bash: seq 2\n    1\n[done] Bash: seq 2\n    2\n[x] greet\n[ ] leave\n"
    );
}

#[test]
fn given_two_messages_when_they_follow_each_other_then_a_blank_line_sets_them_apart() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let prompt = agent.greet();
        for (message, text) in [
            ("m1", "One "),
            ("m1", "message."),
            ("m2", "Two.\n"),
            ("m3", "Three."),
        ] {
            let mut update = chunk("agent_message_chunk", text);
            update["messageId"] = json!(message);
            agent.update(update);
        }
        agent.end(&prompt, "end_turn");
    });
    assert_eq!(ran.out, "One message.\n\nTwo.\n\nThree.\n");
}

#[test]
fn given_a_card_that_was_followed_live_when_it_is_summed_up_then_nothing_is_said_twice() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let prompt = agent.greet();
        let card = |status: &str, text: &str| {
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "title": "Bash", "status": status,
                "content": [{"type": "content", "content": {"type": "text", "text": text}}]})
        };
        for (status, text) in [
            ("in_progress", "seq 2"),
            ("in_progress", "seq 2\n1"),
            ("in_progress", "seq 2\n1\n2"),
            ("completed", "all: 1 2"),
        ] {
            agent.update(card(status, text));
        }
        agent.end(&prompt, "end_turn");
    });
    assert_eq!(
        ran.err,
        "[tool] Bash\n    seq 2\n    1\n    2\n[done] Bash\n"
    );
}

#[test]
fn given_lines_of_another_card_when_they_come_then_its_title_stands_above_them() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let prompt = agent.greet();
        for (id, title) in [("t1", "Read"), ("t2", "Bash")] {
            agent.update(json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": title}));
        }
        agent.update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1",
            "content": [{"type": "content", "content": {"type": "text", "text": "of the file"}}]}),
        );
        agent.end(&prompt, "end_turn");
    });
    assert_eq!(
        ran.err,
        "[tool] Read\n[tool] Bash\n[tool] Read\n    of the file\n"
    );
}

#[test]
fn given_a_long_card_when_it_is_shown_then_it_is_cut_and_says_so() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let prompt = agent.greet();
        let text: String = (1..=25).map(|line| format!("{line}\n")).collect();
        agent.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Read", "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": text}}]}));
        agent.end(&prompt, "end_turn");
    });
    assert!(
        ran.err.ends_with("    19\n    20\n    (5 more lines)\n"),
        "{}",
        ran.err
    );
}

#[test]
fn given_json_when_run_then_stdout_has_every_message_as_it_came_and_nothing_else() {
    let ran = with(Console::nobody(), true, |mut agent| {
        let prompt = agent.greet();
        agent.update(chunk("agent_message_chunk", "Hello"));
        agent.end(&prompt, "end_turn");
    });
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(ran.code, 0);
    assert_eq!(ran.err, "");
    assert_eq!(lines.len(), 5);
    assert_eq!(
        lines[2]["params"]["update"],
        chunk("agent_message_chunk", "Hello")
    );
    assert_eq!(lines[3]["result"], json!({"stopReason": "end_turn"}));
}

#[test]
fn given_each_stop_reason_when_the_turn_ends_then_the_exit_code_tells_it() {
    let table = [
        ("end_turn", 0, ""),
        ("cancelled", 130, ""),
        ("refusal", 2, "The agent refused to answer.\n"),
        (
            "max_tokens",
            3,
            "The answer ends here: the model ran out of tokens.\n",
        ),
        (
            "max_turn_requests",
            3,
            "The answer ends here: the turn needed more model requests than are allowed.\n",
        ),
        (
            "new_reason",
            1,
            "The agent ended the turn without a known reason.\n",
        ),
    ];
    for (reason, code, said) in table {
        let ran = with(Console::nobody(), false, move |mut agent| {
            let prompt = agent.greet();
            agent.end(&prompt, reason);
        });
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.as_str()),
            (code, "", said),
            "{reason}"
        );
    }
}

#[test]
fn given_an_error_when_the_prompt_is_answered_then_it_is_said_and_the_session_is_still_closed() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let prompt = agent.greet();
        agent.say(&json!({"jsonrpc": "2.0", "id": prompt["id"], "error": {"code": -32603,
            "message": "The turn failed.", "data": {"failureClass": "RateLimit", "message": "Too many requests"}}}));
        let close = agent.hear();
        assert_eq!(close["method"], "session/close");
        agent.answer(&close, json!({}));
    });
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(ran.err, "The turn failed.\nToo many requests\n");
}

#[test]
fn given_an_agent_that_dies_when_the_turn_runs_then_the_exit_code_is_one_and_a_sentence_is_said() {
    let ran = with(Console::nobody(), false, |mut agent| {
        agent.greet();
        agent.update(chunk("agent_message_chunk", "Hel"));
    });
    assert_eq!((ran.code, ran.out.as_str()), (1, "Hel\n"));
    assert_eq!(ran.err, "The agent ended before it answered.\n");
}

#[test]
fn given_nobody_to_ask_when_permission_is_asked_then_nothing_was_decided() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let prompt = agent.greet();
        agent.say(&permission("p1"));
        let answer = agent.hear();
        assert_eq!(answer["id"], "p1");
        assert_eq!(
            answer["result"],
            json!({"outcome": {"outcome": "cancelled"}})
        );
        agent.end(&prompt, "cancelled");
    });
    assert_eq!(ran.code, 130);
    assert_eq!(
        ran.err,
        "Permission for Write outside was not given: there is nobody to ask.\n"
    );
}

/// Ctrl-D instead of a choice.
#[test]
fn given_a_person_who_leaves_when_permission_is_asked_then_nothing_was_decided() {
    let mut console = Console::nobody();
    console.ask = Some(Box::new(move |sender: Sender<Event>| {
        sender.send(Event::Typed(None)).expect("the client listens");
    }));
    let ran = with(console, false, |mut agent| {
        let prompt = agent.greet();
        agent.say(&permission("p1"));
        assert_eq!(
            agent.hear()["result"],
            json!({"outcome": {"outcome": "cancelled"}})
        );
        agent.end(&prompt, "cancelled");
    });
    assert_eq!(ran.code, 130);
}

#[test]
fn given_a_person_when_permission_is_asked_then_the_typed_number_decides() {
    let mut console = Console::nobody();
    let mut typed = vec!["yes\n", "1\n", "2\n"].into_iter();
    console.ask = Some(Box::new(move |sender: Sender<Event>| {
        sender
            .send(Event::Typed(typed.next().map(str::to_owned)))
            .expect("the client listens");
    }));
    let ran = with(console, false, |mut agent| {
        let prompt = agent.greet();
        agent.say(&permission("p1"));
        agent.say(&permission("p2"));
        assert_eq!(
            agent.hear()["result"],
            json!({"outcome": {"outcome": "selected", "optionId": "yes"}})
        );
        assert_eq!(
            agent.hear()["result"],
            json!({"outcome": {"outcome": "selected", "optionId": "no"}})
        );
        agent.end(&prompt, "end_turn");
    });
    assert_eq!(ran.code, 0);
    assert!(
        ran.err
            .contains("The agent asks for permission: Write outside\n  1) Allow\n  2) Reject\n"),
        "{}",
        ran.err
    );
}

#[test]
fn given_what_a_permission_is_about_when_asked_then_the_person_sees_all_of_it() {
    let mut console = Console::nobody();
    console.ask = Some(Box::new(move |sender: Sender<Event>| {
        sender
            .send(Event::Typed(Some("2".to_owned())))
            .expect("the client listens");
    }));
    let ran = with(console, false, |mut agent| {
        let prompt = agent.greet();
        let mut asked = permission("p1");
        asked["params"]["toolCall"]["content"] = json!([{"type": "content",
            "content": {"type": "text", "text": "For the report.\n\n{\n  \"path\": \"/out\"\n}"}}]);
        agent.say(&asked);
        agent.hear();
        agent.end(&prompt, "end_turn");
    });
    assert_eq!(
        ran.err,
        "The agent asks for permission: Write outside\n    For the report.\n    \n    {\n      \
         \"path\": \"/out\"\n    }\n  1) Allow\n  2) Reject\nYour choice (1 to 2): "
    );
}

/// What is typed for a question that was withdrawn must not answer the next one.
#[test]
fn given_a_question_that_is_withdrawn_when_a_line_is_typed_then_it_answers_nothing_else() {
    let mut console = Console::nobody();
    let person = console.sender();
    let mut asks = 0;
    let (asked, waits) = channel();
    console.ask = Some(Box::new(move |sender: Sender<Event>| {
        asks += 1;
        if asks == 2 {
            sender
                .send(Event::Typed(Some("2".to_owned())))
                .expect("the client listens");
        }
        asked.send(asks).expect("the test listens");
    }));
    let ran = with(console, false, move |mut agent| {
        let prompt = agent.greet();
        agent.say(&permission("p1"));
        waits.recv().expect("it is asked");
        agent.say(&permission("p2"));
        agent.say(
            &json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "p1"}}),
        );
        let withdrawn = agent.hear();
        assert_eq!(
            (&withdrawn["id"], &withdrawn["result"]["outcome"]["outcome"]),
            (&json!("p1"), &json!("cancelled"))
        );
        person
            .send(Event::Typed(Some("1".to_owned())))
            .expect("the client listens");
        let decided = agent.hear();
        assert_eq!(
            (&decided["id"], &decided["result"]["outcome"]["optionId"]),
            (&json!("p2"), &json!("no"))
        );
        agent.end(&prompt, "end_turn");
    });
    assert_eq!(ran.code, 0);
    assert!(
        ran.err.contains("The question was withdrawn"),
        "{}",
        ran.err
    );
}

fn permission(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {"sessionId": "s1",
        "toolCall": {"toolCallId": "t1", "title": "Write outside"},
        "options": [{"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"}]}})
}

#[test]
fn given_an_interrupt_when_the_turn_runs_then_it_is_cancelled_and_the_session_closed() {
    let console = Console::nobody();
    let person = console.sender();
    let ran = with(console, false, move |mut agent| {
        let prompt = agent.greet();
        person.send(Event::Interrupt).expect("the client listens");
        let cancel = agent.hear();
        assert_eq!(
            cancel,
            json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}})
        );
        agent.end(&prompt, "cancelled");
    });
    assert_eq!(ran.code, 130);
    assert_eq!(
        ran.err,
        "Cancelling. Press Ctrl-C again to leave at once.\n"
    );
}

#[test]
fn given_two_interrupts_when_the_turn_runs_then_the_client_leaves_at_once() {
    let console = Console::nobody();
    let person = console.sender();
    let (gone, left) = channel();
    let ran = with(console, false, move |mut agent| {
        agent.greet();
        person.send(Event::Interrupt).expect("the client listens");
        assert_eq!(agent.hear()["method"], "session/cancel");
        person.send(Event::Interrupt).expect("the client listens");
        let mut rest = String::new();
        let read = agent.reader.read_line(&mut rest).unwrap_or(0);
        gone.send(read).expect("the test listens");
    });
    assert_eq!(ran.code, 130);
    assert_eq!(left.recv().expect("the agent saw the end"), 0);
}

#[test]
fn given_a_question_under_way_when_interrupted_then_it_is_answered_as_cancelled_before_the_cancel()
{
    let mut console = Console::nobody();
    let person = console.sender();
    console.ask = Some(Box::new(move |_| {
        person.send(Event::Interrupt).expect("the client listens")
    }));
    let ran = with(console, false, |mut agent| {
        let prompt = agent.greet();
        agent.say(&permission("p1"));
        assert_eq!(
            agent.hear()["result"],
            json!({"outcome": {"outcome": "cancelled"}})
        );
        assert_eq!(agent.hear()["method"], "session/cancel");
        agent.end(&prompt, "cancelled");
    });
    assert_eq!(ran.code, 130);
}

#[test]
fn given_a_request_the_client_does_not_offer_when_it_comes_then_it_is_answered_with_method_not_found()
 {
    let ran = with(Console::nobody(), false, |mut agent| {
        let prompt = agent.greet();
        agent.say(&json!({"jsonrpc": "2.0", "id": 7, "method": "fs/read_text_file", "params": {}}));
        let answer = agent.hear();
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["error"]["code"], -32601);
        agent.end(&prompt, "end_turn");
    });
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn given_another_protocol_version_when_initialized_then_the_client_says_so_and_goes() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let initialize = agent.hear();
        agent.answer(&initialize, json!({"protocolVersion": 2}));
    });
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.err,
        "The agent speaks another version of the protocol than this command, which speaks version 1.\n"
    );
}

/// An agent's text must not be able to steer the terminal it is shown on.
#[test]
fn given_control_characters_when_shown_on_a_terminal_then_they_are_made_visible() {
    let mut console = Console::nobody();
    console.out_is_terminal = true;
    let ran = with(console, false, |mut agent| {
        let prompt = agent.greet();
        agent.update(chunk("agent_message_chunk", "a\u{1b}]0;owned\u{7}b\n"));
        agent.end(&prompt, "end_turn");
    });
    assert_eq!(ran.out, "a\u{fffd}]0;owned\u{fffd}b\n");
}

#[test]
fn given_an_agent_without_close_when_the_turn_ends_then_no_close_is_sent() {
    let ran = with(Console::nobody(), false, |mut agent| {
        let initialize = agent.hear();
        agent.answer(&initialize, json!({"protocolVersion": 1}));
        let new = agent.hear();
        agent.answer(&new, json!({"sessionId": "s1"}));
        let prompt = agent.hear();
        agent.answer(&prompt, json!({"stopReason": "end_turn"}));
        let mut rest = String::new();
        assert_eq!(agent.reader.read_line(&mut rest).unwrap_or(0), 0, "{rest}");
    });
    assert_eq!(ran.code, 0);
}
