//! One session on one adapter, with the editor, the Host and the clock played by hand.
//!
//! It touches no pipe and no thread. Invariant: everything that the adapter sends is told
//! as taken in the next call, so that the editor never counts as slow.

use std::time::{Duration, Instant as Clock};

use host_runner::adapter::{Adapter, Factory};
use host_runner::words::{
    AcpArrival, AcpDeparture, Channel, Effect, HostArrival, HostDeparture, Input, Instant,
};
use serde_json::{Value, json};

use super::Measured;
use super::host::Host;

/// What a reader takes from a pipe at once, as the runner does.
pub const CHUNK: usize = 64 << 10;

/// What every adapter is opened with.
pub const CONFIG: &str = r#"{"agent":{"name":"bench","title":"Benchmark","version":"0"},"host":{"kind":"maka","name":"maka"}}"#;

/// An open session.
pub struct Session {
    adapter: Box<dyn Adapter>,
    host: Host,
    channel: Channel,
    id: String,
    now: Instant,
    /// Bytes that the editor got.
    sent: u64,
    /// Messages that the editor got and nobody looked at.
    said: Vec<Value>,
    asked: u64,
}

impl Session {
    /// Opens one.
    ///
    /// # Errors
    /// When the adapter fails, or does not do as expected.
    pub fn open(factory: &dyn Factory) -> Measured<Session> {
        let mut session = Session {
            adapter: factory.open(CONFIG, &[7; 32])?,
            host: Host::default(),
            channel: 0,
            id: String::new(),
            now: Instant {
                monotonic: 0,
                wall: 1_800_000_000_000,
            },
            sent: 0,
            said: Vec::new(),
            asked: 0,
        };
        session.call(Vec::new())?;
        session.ask(
            "initialize",
            &json!({ "protocolVersion": 1, "clientCapabilities": {} }),
        )?;
        session.answer()?;
        session.ask("session/new", &json!({ "cwd": "/tmp", "mcpServers": [] }))?;
        let made = session.answer()?;
        session.id = made["sessionId"]
            .as_str()
            .ok_or("no session was made")?
            .to_owned();
        Ok(session)
    }

    /// Sends a prompt, up to the first delta.
    ///
    /// # Errors
    /// When the adapter fails.
    pub fn prompt(&mut self) -> Measured<()> {
        let prompt = json!({ "sessionId": self.id, "prompt": [{ "type": "text", "text": "go" }] });
        self.ask("session/prompt", &prompt)
    }

    /// The Host's next deltas, cut as they come out of a pipe.
    pub fn chunks(&mut self, number: u64) -> Vec<Vec<u8>> {
        self.host
            .deltas(number)
            .chunks(CHUNK)
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// Gives one chunk to the adapter: how long that took, and what the editor got.
    ///
    /// # Errors
    /// When the adapter fails, or has something else to do.
    pub fn stream(&mut self, chunk: Vec<u8>) -> Measured<(Duration, Vec<u8>)> {
        let inputs = [
            Input::Acp(AcpArrival::Drained(self.sent)),
            Input::Host((self.channel, HostArrival::Bytes(chunk))),
        ];
        let start = Clock::now();
        let mut effects = self.adapter.handle(self.now, &inputs)?;
        let spent = start.elapsed();
        match (effects.pop(), effects.len()) {
            (Some(Effect::Acp(AcpDeparture::Bytes(bytes))), 0) => {
                self.sent += bytes.len() as u64;
                Ok((spent, bytes))
            }
            other => Err(format!("deltas did not become updates alone: {other:?}").into()),
        }
    }

    /// The turn ends.
    ///
    /// # Errors
    /// When the prompt is not answered with `end_turn`.
    pub fn end(&mut self) -> Measured<()> {
        let end = self.host.completed();
        self.host_says(end)?;
        let answer = self.answer()?;
        if answer["stopReason"] == "end_turn" {
            return Ok(());
        }
        Err(format!("the turn did not end well: {answer}").into())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Measured<()> {
        self.asked += 1;
        let asked =
            json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.call(vec![Input::Acp(AcpArrival::Bytes(
            format!("{asked}\n").into_bytes(),
        ))])
    }

    /// The answer to what was asked last.
    fn answer(&mut self) -> Measured<Value> {
        let answered = self
            .said
            .drain(..)
            .find(|message| message["id"] == self.asked);
        let answer = answered.ok_or("a request was not answered")?;
        Ok(answer
            .get("result")
            .ok_or_else(|| answer.to_string())?
            .clone())
    }

    fn host_says(&mut self, said: String) -> Measured<()> {
        self.call(vec![Input::Host((
            self.channel,
            HostArrival::Bytes(said.into_bytes()),
        ))])
    }

    /// Makes a call, and every further one that its effects lead to.
    fn call(&mut self, mut inputs: Vec<Input>) -> Measured<()> {
        self.now.monotonic += 1;
        inputs.push(Input::Acp(AcpArrival::Drained(self.sent)));
        for effect in self.adapter.handle(self.now, &inputs)? {
            match effect {
                Effect::Acp(AcpDeparture::Bytes(bytes)) => {
                    self.sent += bytes.len() as u64;
                    for line in std::str::from_utf8(&bytes)?.lines() {
                        self.said.push(serde_json::from_str(line)?);
                    }
                }
                Effect::Host((channel, HostDeparture::Open(_))) => {
                    self.channel = channel;
                    self.call(vec![Input::Host((
                        channel,
                        HostArrival::Opened(Vec::new()),
                    ))])?;
                }
                Effect::Host((_, HostDeparture::Bytes(bytes))) => {
                    for line in std::str::from_utf8(&bytes)?.lines() {
                        let answer = self.host.answer(line)?;
                        self.host_says(answer)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
