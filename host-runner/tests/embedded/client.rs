//! A client of the embedded Host for tests. Every wait is for a frame, with a
//! limit that only a broken Host reaches.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use host_runner::embedded::{self, Clock, Options, World};
use serde_json::{Value, json};

/// One connection to a Host.
pub struct Client {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    /// Every frame received, in order.
    pub seen: Vec<Value>,
    next_request: u64,
}

/// A Host whose pauses take no time.
pub fn instant(options: Options) -> Arc<World> {
    World::new(Options {
        clock: Clock::instant(),
        ..options
    })
    .expect("the Host starts")
}

/// A Host that plays this script.
pub fn scripted(script: &Value) -> Arc<World> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), script.to_string()).expect("the script is written");
    instant(Options {
        script: Some(file.path().to_path_buf()),
        ..Options::default()
    })
}

impl Client {
    /// Connects without a word.
    pub fn raw(world: &Arc<World>) -> Client {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        ours.set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a read limit");
        embedded::serve(theirs, world.clone());
        let reader = BufReader::new(ours.try_clone().expect("a second handle"));
        Client {
            stream: ours,
            reader,
            seen: Vec::new(),
            next_request: 1,
        }
    }

    /// Connects and is accepted.
    pub fn connect(world: &Arc<World>) -> Client {
        let mut client = Client::raw(world);
        client.send(&hello());
        let accepted = client.next().expect("an answer to hello");
        assert_eq!(accepted["kind"], "accepted", "{accepted}");
        client.seen.clear();
        client
    }

    pub fn send(&mut self, frame: &Value) {
        self.send_raw(format!("{frame}\n").as_bytes());
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        // The Host may have closed already; the test then sees the end of the stream.
        let _ = self.stream.write_all(bytes);
    }

    /// Ends the client's sending side.
    pub fn half_close(&self) {
        self.stream
            .shutdown(std::net::Shutdown::Write)
            .expect("the socket is open");
    }

    /// The next frame; `None` at the end of the stream.
    pub fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => {
                let frame: Value = serde_json::from_str(&line).expect("the Host writes JSON");
                self.seen.push(frame.clone());
                Some(frame)
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no frame came: {error}; seen so far: {:#?}", self.seen),
        }
    }

    /// Reads until a frame fits.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.next().expect("the frame comes before the end");
            if fits(&frame) {
                return frame;
            }
        }
    }

    /// A frame that fits, whether it has come already or not.
    pub fn sees(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        match self.seen.iter().rev().find(|frame| fits(frame)) {
            Some(frame) => frame.clone(),
            None => self.until(fits),
        }
    }

    /// Sends a request and gives its id.
    pub fn request(&mut self, operation: &str, input: Value) -> String {
        let id = format!("r{}", self.next_request);
        self.next_request += 1;
        self.send(&json!({"requestId": id, "operation": operation, "input": input}));
        id
    }

    /// The whole answer to a request.
    pub fn answer(&mut self, id: &str) -> Value {
        self.until(|frame| frame["requestId"] == id)
    }

    /// Sends a request that succeeds, and gives its result.
    pub fn ok(&mut self, operation: &str, input: Value) -> Value {
        let id = self.request(operation, input);
        let answer = self.answer(&id);
        assert_eq!(answer["ok"], true, "{operation}: {answer}");
        answer["result"].clone()
    }

    /// Sends a request that is refused, and gives the code.
    pub fn refused(&mut self, operation: &str, input: Value) -> String {
        let id = self.request(operation, input);
        let answer = self.answer(&id);
        assert_eq!(answer["ok"], false, "{operation}: {answer}");
        answer["error"]["code"].as_str().expect("a code").to_owned()
    }

    /// A new session in the folder for temporary files, with a subscription.
    pub fn session(&mut self, id: &str) -> String {
        let path = std::env::temp_dir();
        self.ok(
            "session.create",
            json!({"sessionId": id, "modelTarget": {"kind": "default"},
            "workspace": {"kind": "host_path", "path": path}}),
        );
        self.subscribe(id)
    }

    pub fn subscribe(&mut self, session: &str) -> String {
        let opened = self.ok(
            "subscription.open",
            json!({"sessionId": session,
            "transcript": {"kind": "tail", "maxBytes": 16384}}),
        );
        opened["subscriptionId"]
            .as_str()
            .expect("a subscription")
            .to_owned()
    }

    /// Starts a turn and gives its snapshot.
    pub fn start(&mut self, session: &str, turn: &str, text: &str) -> Value {
        self.ok(
            "turn.start",
            json!({"sessionId": session, "turnId": turn, "content": {"text": text}}),
        )["turn"]
            .clone()
    }

    /// Reads until the projection shows a turn's end.
    pub fn until_terminal(&mut self) -> Value {
        let frame = self.until(|frame| is_terminal(&frame["snapshot"]["rootTurn"]["status"]));
        frame["snapshot"]["rootTurn"].clone()
    }
}

pub fn is_terminal(status: &Value) -> bool {
    ["completed", "failed", "cancelled"]
        .iter()
        .any(|end| status == end)
}

pub fn hello() -> Value {
    json!({"kind": "hello", "clientInstanceId": "test", "protocolMin": 0, "protocolMax": 0,
        "compatibilityEpoch": 39, "compositionId": "maka.interactive"})
}
