//! The client's side of one ACP v1 session: initialize, session/new,
//! session/prompt, session/close, in this order. Touches the socket.
//! Invariant: every request of the agent gets exactly one answer, and nothing
//! that asks for permission is granted unless a person said so.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::console::{Console, Event};
use super::view::View;
use super::{CANCELLED, DONE, EXHAUSTED, FAILED, Options, REFUSED};

/// How long the agent may take to close the session and to end.
const GOODBYE: Duration = Duration::from_secs(5);

pub(crate) struct Client<'a> {
    stream: UnixStream,
    options: Options,
    view: View<'a>,
    console: Console,
    next_id: u64,
    session: Option<String>,
    prompting: bool,
    interrupted: bool,
    /// The agent sends no more.
    ended: bool,
    questions: Vec<Question>,
    /// The line that is being typed answers a question that was withdrawn.
    stale: bool,
}

/// A permission request that waits for a person.
struct Question {
    id: Value,
    options: Vec<Value>,
}

/// Why the client goes no further.
enum Stop {
    /// With this exit code; what there is to say has been said.
    Exit(u8),
    Broken(anyhow::Error),
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Stop {
        Stop::Broken(error.into())
    }
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        stream: UnixStream,
        options: Options,
        view: View<'a>,
        console: Console,
    ) -> Result<Client<'a>> {
        let reader = stream.try_clone().context("cannot read from the agent")?;
        let sender = console.sender();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(reader).lines();
            while let Some(Ok(line)) = lines.next() {
                if sender.send(Event::Line(line)).is_err() {
                    return;
                }
            }
            let _ = sender.send(Event::End);
        });
        Ok(Client {
            stream,
            options,
            view,
            console,
            next_id: 0,
            session: None,
            prompting: false,
            interrupted: false,
            ended: false,
            questions: Vec::new(),
            stale: false,
        })
    }

    pub(crate) fn run(mut self) -> Result<u8> {
        let code = match self.converse() {
            Ok(code) | Err(Stop::Exit(code)) => code,
            Err(Stop::Broken(error)) => return Err(error),
        };
        self.view.close()?;
        let _ = self.stream.shutdown(Shutdown::Both);
        Ok(code)
    }

    fn converse(&mut self) -> Result<u8, Stop> {
        let about = json!({"protocolVersion": 1, "clientCapabilities": {},
            "clientInfo": {"name": "airlock-prompt", "title": "Airlock prompt", "version": env!("CARGO_PKG_VERSION")}});
        let agent = self.call("initialize", about)?;
        if agent["protocolVersion"] != 1 {
            self.say("The agent speaks another version of the protocol than this command, which speaks version 1.")?;
            return Ok(FAILED);
        }
        let session = self.call(
            "session/new",
            json!({"cwd": self.options.cwd, "mcpServers": []}),
        )?;
        let session = session["sessionId"].as_str().unwrap_or_default().to_owned();
        self.session = Some(session.clone());
        self.prompting = true;
        let prompt = json!([{"type": "text", "text": self.options.text}]);
        let turn = self.call(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        );
        self.prompting = false;
        if matches!(&turn, Err(Stop::Exit(code)) if *code == CANCELLED) {
            return turn.map(|_| CANCELLED);
        }
        if agent["agentCapabilities"]["sessionCapabilities"]["close"].is_object() && !self.ended {
            self.close(&session)?;
        }
        self.outcome(&turn?)
    }

    fn outcome(&mut self, turn: &Value) -> Result<u8, Stop> {
        match turn["stopReason"].as_str() {
            Some("end_turn") => Ok(DONE),
            Some("cancelled") => Ok(CANCELLED),
            Some("refusal") => {
                self.say("The agent refused to answer.")?;
                Ok(REFUSED)
            }
            Some("max_tokens") => {
                self.say("The answer ends here: the model ran out of tokens.")?;
                Ok(EXHAUSTED)
            }
            Some("max_turn_requests") => {
                self.say(
                    "The answer ends here: the turn needed more model requests than are allowed.",
                )?;
                Ok(EXHAUSTED)
            }
            _ => {
                self.say("The agent ended the turn without a known reason.")?;
                Ok(FAILED)
            }
        }
    }

    /// Closes the session and waits for the agent to say so, but not for ever.
    fn close(&mut self, session: &str) -> Result<(), Stop> {
        let id = self.send_request("session/close", json!({"sessionId": session}))?;
        loop {
            match self.console.events.recv_timeout(GOODBYE) {
                Ok(Event::Line(line)) => {
                    let message = self.take(&line)?;
                    if message["id"] == id && message.get("method").is_none() {
                        return Ok(());
                    }
                }
                Ok(Event::Typed(_)) => {}
                Ok(Event::Interrupt | Event::End)
                | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Ok(());
                }
            }
        }
    }

    /// Sends a request and serves the agent until the answer comes.
    fn call(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        let id = self.send_request(method, params)?;
        loop {
            let Ok(event) = self.console.events.recv() else {
                return Err(Stop::Exit(FAILED));
            };
            match event {
                Event::Line(line) => {
                    let mut message = self.take(&line)?;
                    if message["id"] == id && message.get("method").is_none() {
                        return self.result(&mut message);
                    }
                }
                Event::End => {
                    self.ended = true;
                    self.say("The agent ended before it answered.")?;
                    return Err(Stop::Exit(FAILED));
                }
                Event::Typed(line) => self.typed(line)?,
                Event::Interrupt => self.interrupt()?,
            }
        }
    }

    fn result(&mut self, message: &mut Value) -> Result<Value, Stop> {
        if message.get("error").is_none() {
            return Ok(message["result"].take());
        }
        let error = &message["error"];
        let sentence = error["message"]
            .as_str()
            .unwrap_or("The agent answered with an error.")
            .to_owned();
        let detail = error["data"]["message"]
            .as_str()
            .or_else(|| error["data"].as_str())
            .map(str::to_owned);
        self.say(&sentence)?;
        if let Some(detail) = detail.filter(|detail| !sentence.contains(detail.as_str())) {
            self.say(&detail)?;
        }
        Err(Stop::Exit(FAILED))
    }

    /// Shows and serves one message of the agent, and gives it back.
    fn take(&mut self, line: &str) -> Result<Value, Stop> {
        if self.options.json {
            self.view.raw(line)?;
        }
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            self.say("The agent sent a line that is not JSON; it is left out.")?;
            return Ok(Value::Null);
        };
        match message["method"].as_str() {
            Some("session/update") if !self.options.json => {
                self.view.update(&message["params"]["update"])?
            }
            Some("session/request_permission") => self.permission(&message)?,
            Some("$/cancel_request") => self.withdrawn(&message["params"]["requestId"])?,
            Some(method) if message.get("id").is_some() => {
                let sentence = format!("This client does not offer {method}.");
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"],
                    "error": {"code": -32601, "message": sentence}}))?;
            }
            _ => {}
        }
        Ok(message)
    }

    /// Asks the person. One who is not there has not rejected anything: that the agent hears
    /// no decision is said with `cancelled`, and it ends the turn.
    fn permission(&mut self, request: &Value) -> Result<(), Stop> {
        let options = request["params"]["options"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let question = Question {
            id: request["id"].clone(),
            options,
        };
        if self.interrupted {
            return self.decide(&question, None);
        }
        let title = request["params"]["toolCall"]["title"]
            .as_str()
            .unwrap_or("the next step")
            .to_owned();
        if self.console.ask.is_none() {
            self.say(&format!(
                "Permission for {title} was not given: there is nobody to ask."
            ))?;
            return self.decide(&question, None);
        }
        self.say(&format!("The agent asks for permission: {title}"))?;
        self.view
            .details(&request["params"]["toolCall"]["content"])?;
        for (at, option) in question.options.iter().enumerate() {
            let line = format!("  {}) {}", at + 1, option["name"].as_str().unwrap_or("?"));
            self.say(&line)?;
        }
        self.questions.push(question);
        if self.questions.len() == 1 && !self.stale {
            self.ask()
        } else {
            Ok(())
        }
    }

    /// The agent needs no answer any more; it still gets one. What is being typed for it is
    /// not taken for an answer to the next question.
    fn withdrawn(&mut self, id: &Value) -> Result<(), Stop> {
        let Some(at) = self.questions.iter().position(|it| it.id == *id) else {
            return Ok(());
        };
        let question = self.questions.remove(at);
        self.stale |= at == 0;
        self.decide(&question, None)?;
        self.say("The question was withdrawn: nobody needs an answer any more.")?;
        if self.stale && !self.questions.is_empty() {
            self.say("Press Enter for the next one.")?;
        }
        Ok(())
    }

    fn ask(&mut self) -> Result<(), Stop> {
        let Some(question) = self.questions.first() else {
            return Ok(());
        };
        let prompt = format!("Your choice (1 to {}): ", question.options.len());
        self.view.ask(&prompt)?;
        if let Some(ask) = &mut self.console.ask {
            ask(self.console.sender.clone());
        }
        Ok(())
    }

    fn typed(&mut self, line: Option<String>) -> Result<(), Stop> {
        if std::mem::take(&mut self.stale) && line.is_some() {
            return self.ask();
        }
        let Some(question) = self.questions.first() else {
            return Ok(());
        };
        let choice = match &line {
            // The person has gone.
            None => None,
            Some(line) => match line.trim().parse::<usize>() {
                Ok(number) if (1..=question.options.len()).contains(&number) => Some(number - 1),
                _ => return self.ask(),
            },
        };
        let question = self.questions.remove(0);
        self.decide(&question, choice)?;
        self.ask()
    }

    fn decide(&mut self, question: &Question, choice: Option<usize>) -> Result<(), Stop> {
        let outcome = match choice.and_then(|choice| question.options.get(choice)) {
            Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
            None => json!({"outcome": "cancelled"}),
        };
        self.send(&json!({"jsonrpc": "2.0", "id": question.id, "result": {"outcome": outcome}}))
    }

    /// The first Ctrl-C cancels the turn, the second leaves at once.
    fn interrupt(&mut self) -> Result<(), Stop> {
        if !self.prompting || self.interrupted {
            return Err(Stop::Exit(CANCELLED));
        }
        self.interrupted = true;
        self.say("Cancelling. Press Ctrl-C again to leave at once.")?;
        for question in std::mem::take(&mut self.questions) {
            self.decide(&question, None)?;
        }
        let session = self.session.clone();
        self.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}))
    }

    fn send_request(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        let id = json!(self.next_id);
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    /// A send that fails is no error of its own: the end of the stream follows and is said.
    fn send(&mut self, message: &Value) -> Result<(), Stop> {
        let _ = self.stream.write_all(format!("{message}\n").as_bytes());
        Ok(())
    }

    fn say(&mut self, sentence: &str) -> Result<(), Stop> {
        Ok(self.view.say(sentence)?)
    }
}
