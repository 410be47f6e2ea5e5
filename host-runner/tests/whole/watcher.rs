//! Another client of the Host that looks at a session: what has happened there is a fact to
//! wait for, whatever the program under test has read of it.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::host::Host;

pub struct Watcher {
    lines: Lines<BufReader<UnixStream>>,
    opened: Value,
}

impl Watcher {
    /// Says hello and subscribes.
    pub fn of(host: &Host, session: &str) -> Watcher {
        let mut stream = UnixStream::connect(host.socket()).expect("the Host is there");
        let reading = stream.try_clone().expect("a second handle");
        let mut watcher = Watcher {
            lines: BufReader::new(reading).lines(),
            opened: Value::Null,
        };
        let hello = json!({ "kind": "hello", "clientInstanceId": "0a3c8b52-6a55-4a5e-9d4b-0f9a7f3a2b11",
                            "protocolMin": 0, "protocolMax": 0, "compatibilityEpoch": 39,
                            "compositionId": "maka.interactive" });
        let transcript = json!({ "kind": "tail", "maxBytes": 16_384 });
        let open = json!({ "requestId": "r1", "operation": "subscription.open",
                           "input": { "sessionId": session, "transcript": transcript } });
        write!(stream, "{hello}\n{open}\n").expect("the Host reads");
        watcher.opened = watcher.until(|frame| frame["requestId"] == "r1")["result"].take();
        watcher
    }

    /// Waits for the end of the session's turn; its status.
    pub fn turn_over(&mut self) -> String {
        let over = |snapshot: &Value| {
            let status = snapshot["rootTurn"]["status"].as_str();
            status
                .filter(|it| ["completed", "failed", "cancelled"].contains(it))
                .map(str::to_owned)
        };
        over(&self.opened["snapshot"])
            .or_else(|| over(&self.until(|frame| over(&frame["snapshot"]).is_some())["snapshot"]))
            .expect("a status")
    }

    /// Waits until the Host has said so much.
    pub fn text_reaches(&mut self, bytes: usize) {
        let mut said = 0;
        while said < bytes {
            let frame = self.until(|frame| frame["delta"]["text"].is_string());
            said += frame["delta"]["text"].as_str().map_or(0, str::len);
        }
    }

    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.next().expect("the Host speaks").expect("a line");
            let frame: Value = serde_json::from_str(&line).expect("JSON");
            if wanted(&frame) {
                return frame;
            }
        }
    }
}
