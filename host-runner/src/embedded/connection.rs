//! One connection: its hello, its lines, its requests. Two threads a
//! connection; this file owns the socket. Invariant: what the protocol does
//! not allow ends the connection silently, and an error is only ever the
//! answer to a request that was well formed.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::net::SendFlags;
use serde_json::{Value, json};

use super::ids;
use super::operations;
use super::outbox::Outbox;
use super::requests::{self, Verdict};
use super::session::Waiter;
use super::wire::{COMPOSITION, COMPOSITION_REVISION, EPOCH, MESSAGE_BYTES};
use super::world::World;

/// Bytes taken from the socket at once. What comes together is in flight together.
const READ_BYTES: usize = 64 * 1024;

/// Serves a connection until it ends.
pub(crate) fn run(mut stream: UnixStream, world: &Arc<World>) {
    let outbox = Arc::new(Outbox::default());
    let mut lines = Lines::default();
    let accepted = greet(&mut stream, world, &mut lines);
    let (Some(connection), Ok(writer)) = (
        accepted.then(|| world.lock().connect(outbox.clone())),
        stream.try_clone(),
    ) else {
        let _ = stream.shutdown(Shutdown::Both);
        return;
    };
    let writing = {
        let (outbox, world) = (outbox.clone(), world.clone());
        std::thread::spawn(move || write(writer, &outbox, &world))
    };
    match read(&mut stream, world, connection, &outbox, &mut lines) {
        End::Client => outbox.client_ended(),
        End::Malformed => outbox.close(),
    }
    if let Ok(()) = writing.join() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    world.lock().disconnect(connection);
}

/// How a connection comes to its end.
enum End {
    /// The client sends no more; what is in flight is still answered.
    Client,
    Malformed,
}

/// The handshake. `false`: not accepted; the client has been told, or nothing was worth an answer.
fn greet(stream: &mut UnixStream, world: &World, lines: &mut Lines) -> bool {
    let _ = stream.set_read_timeout(Some(world.handshake));
    let hello = loop {
        match lines.next() {
            Ok(Some(line)) => break line,
            Ok(None) if lines.fill(stream) => {}
            _ => return false,
        }
    };
    let _ = stream.set_read_timeout(None);
    let Some(Greeting { reply, accepted }) = greeting(world, &hello) else {
        return false;
    };
    stream.write_all(format!("{reply}\n").as_bytes()).is_ok() && accepted
}

/// The answer to a hello.
pub(crate) struct Greeting {
    pub(crate) reply: String,
    pub(crate) accepted: bool,
}

/// Answers a hello; `None`: it is not worth an answer.
pub(crate) fn greeting(world: &World, hello: &[u8]) -> Option<Greeting> {
    let hello = parse(hello)?;
    let client = hello["clientInstanceId"].as_str().unwrap_or_default();
    if hello["kind"] != "hello" || client.is_empty() || client.encode_utf16().count() > 128 {
        return None;
    }
    let (Some(least), Some(most)) = (hello["protocolMin"].as_u64(), hello["protocolMax"].as_u64())
    else {
        return None;
    };
    let epoch = hello["compatibilityEpoch"].as_u64().unwrap_or(0);
    let composition = hello["compositionId"].as_str().unwrap_or(COMPOSITION);
    let fits = epoch == EPOCH && composition == COMPOSITION && (least..=most).contains(&0);
    let mut reply = json!({"hostEpoch": world.host_epoch(), "compatibilityEpoch": EPOCH,
        "compositionId": COMPOSITION, "compositionRevision": COMPOSITION_REVISION, "state": "ready"});
    if fits {
        reply["kind"] = json!("accepted");
        reply["rootId"] = json!(world.root_id());
        reply["connectionId"] = json!(ids::uuid());
        reply["selectedProtocol"] = json!(0);
    } else {
        reply["kind"] = json!("incompatible");
        reply["protocolMin"] = json!(0);
        reply["protocolMax"] = json!(0);
        reply["replacement"] = json!("blocked_by_residency");
    }
    Some(Greeting {
        reply: reply.to_string(),
        accepted: fits,
    })
}

fn read(
    stream: &mut UnixStream,
    world: &Arc<World>,
    connection: u64,
    outbox: &Outbox,
    lines: &mut Lines,
) -> End {
    loop {
        let mut requests = Vec::new();
        loop {
            match lines.next() {
                Ok(Some(line)) => match request(&line, outbox) {
                    Some(request) => requests.push(request),
                    None => return End::Malformed,
                },
                Ok(None) => break,
                Err(()) => return End::Malformed,
            }
        }
        for (waiter, input, verdict) in requests {
            if !outbox.wait_for_room() {
                return End::Malformed;
            }
            operations::serve(
                world,
                Waiter {
                    connection,
                    ..waiter
                },
                &input,
                &verdict,
            );
        }
        if !lines.fill(stream) {
            return if lines.is_torn() {
                End::Malformed
            } else {
                End::Client
            };
        }
    }
}

/// Takes a request in, or says that the connection must end.
pub(crate) fn request(line: &[u8], outbox: &Outbox) -> Option<(Waiter, Value, Verdict)> {
    const KEYS: [&str; 3] = ["input", "operation", "requestId"];
    let mut frame = parse(line)?;
    let object = frame.as_object()?;
    let keys: BTreeSet<&str> = object.keys().map(String::as_str).collect();
    if keys != BTreeSet::from(KEYS) {
        return None;
    }
    let request = object["requestId"].as_str()?.to_owned();
    let operation = object["operation"].as_str()?.to_owned();
    if request.is_empty() || request.encode_utf16().count() > 128 {
        return None;
    }
    let verdict = requests::judge(&operation, &object["input"]);
    if matches!(verdict, Verdict::Malformed) || !outbox.admit(&request, &operation) {
        return None;
    }
    Some((
        Waiter {
            connection: 0,
            request,
            operation,
        },
        frame["input"].take(),
        verdict,
    ))
}

fn parse(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok()
}

fn write(mut stream: UnixStream, outbox: &Outbox, world: &World) {
    while let Some(mut line) = outbox.next() {
        line.push('\n');
        if write_line(&mut stream, line.as_bytes(), outbox).is_err() {
            outbox.close();
            break;
        }
        world.frame_sent();
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn write_line(stream: &mut UnixStream, line: &[u8], outbox: &Outbox) -> std::io::Result<()> {
    let at_once = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let sent = rustix::net::send(&stream, line, at_once).unwrap_or(0);
    if sent == line.len() {
        return Ok(());
    }
    outbox.set_socket_is_full(true);
    let written = stream.write_all(&line[sent..]);
    outbox.set_socket_is_full(false);
    written
}

/// The lines of a stream of bytes.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Where the bytes that are not yet a line begin.
    start: usize,
}

impl Lines {
    /// The next whole line; `Err` when a line is too long.
    fn next(&mut self) -> Result<Option<Vec<u8>>, ()> {
        let rest = &self.bytes[self.start..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        if end.unwrap_or(rest.len()) > MESSAGE_BYTES {
            return Err(());
        }
        let Some(end) = end else {
            self.bytes.drain(..self.start);
            self.start = 0;
            return Ok(None);
        };
        let line = rest[..end]
            .strip_suffix(b"\r")
            .unwrap_or(&rest[..end])
            .to_vec();
        self.start += end + 1;
        Ok(Some(line))
    }

    /// Reads more. `false` at the end of the stream.
    fn fill(&mut self, stream: &mut UnixStream) -> bool {
        let mut chunk = vec![0; READ_BYTES];
        match stream.read(&mut chunk) {
            Ok(count) if count > 0 => {
                self.bytes.extend_from_slice(&chunk[..count]);
                true
            }
            _ => false,
        }
    }

    /// The stream ended inside a line.
    fn is_torn(&self) -> bool {
        self.start < self.bytes.len()
    }
}
