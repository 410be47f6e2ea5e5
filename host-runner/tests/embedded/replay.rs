//! Replays the client side of recordings of a real Host against the embedded
//! one, and compares what both wrote: every answer by shape, every
//! subscription by the order of its frames, every transcript row by its keys.
//!
//! Not compared, since the real Host itself varies in it between recordings:
//! identifiers, times, sizes, revisions, where streamed text is cut, how many
//! equal projections follow each other, and where `session.catalog.changed`
//! stands between other frames (its number is compared).

use std::collections::BTreeMap;
use std::path::PathBuf;

use host_runner::embedded::Options;
use serde_json::{Value, json};

use crate::client::{Client, instant, is_terminal};
use crate::shapes::{normal_answer, normal_stream};

/// How exactly a recording is compared.
#[derive(Clone, Copy)]
struct Replay {
    file: &'static str,
    /// Client frames that the embedded Host does not offer, and their followers.
    skip: &'static [&'static str],
    /// Whether the number of catalog notifications must be equal.
    counts_catalog: bool,
}

const EXACT: Replay = Replay {
    file: "",
    skip: &[],
    counts_catalog: true,
};

#[test]
fn given_a_recorded_greeting_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "02-turn-text-thinking",
        ..EXACT
    });
}

#[test]
fn given_a_recorded_bash_tool_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "03-turn-bash-tool",
        ..EXACT
    });
}

#[test]
fn given_recorded_quick_tools_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "04-turn-read-write-tools",
        ..EXACT
    });
}

#[test]
fn given_a_recorded_question_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "05-interaction-question",
        ..EXACT
    });
}

/// The real Host merged its notifications here, which it did not in the question's recording.
#[test]
fn given_a_recorded_boundary_allowed_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "06-interaction-sandbox-boundary-allow",
        counts_catalog: false,
        ..EXACT
    });
}

#[test]
fn given_a_recorded_boundary_denied_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "07-interaction-sandbox-boundary-deny",
        counts_catalog: false,
        ..EXACT
    });
}

#[test]
fn given_a_recorded_stop_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "08-turn-stop",
        ..EXACT
    });
}

/// The recorded client repeats its turn.start while the turn runs; so the greeting waits for that.
#[test]
fn given_recorded_repeats_when_replayed_then_the_frames_are_those_of_the_real_host() {
    let mut script = mock_model();
    let steps = script["plays"][0]["steps"].as_array_mut().expect("steps");
    steps.insert(0, json!({"wait": "turn.start", "nth": 3}));
    replay_with(
        Replay {
            file: "11-turn-start-idempotency",
            ..EXACT
        },
        &script,
    );
}

/// Listing and reading artifacts back is not offered by the embedded Host.
#[test]
fn given_recorded_uploads_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "13-artifact-upload",
        skip: &["artifact.query", "artifact.delete"],
        ..EXACT
    });
}

/// Landmarks, plans, tasks and turn lists are not offered by the embedded Host.
#[test]
fn given_a_recorded_catalog_session_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "14-session-catalog-config",
        skip: &[
            "session.turn_landmarks.query",
            "plan.query",
            "task.ledger.query",
            "session.turns.query",
        ],
        ..EXACT
    });
}

#[test]
fn given_a_recorded_long_answer_when_replayed_then_its_pages_are_cut_as_by_the_real_host() {
    replay(Replay {
        file: "15-big-text",
        ..EXACT
    });
}

#[test]
fn given_a_recorded_failure_when_replayed_then_the_frames_are_those_of_the_real_host() {
    replay(Replay {
        file: "17-provider-error",
        ..EXACT
    });
}

/// Here the text up to the reconnect comes at once, so that it is all there when the client
/// comes back; the recorded client came back while it was still streaming.
#[test]
fn given_a_recorded_reconnect_when_replayed_then_the_stream_goes_on_at_the_overlay() {
    replay(Replay {
        file: "20-reconnect-mid-turn",
        counts_catalog: false,
        ..EXACT
    });
}

/// The recorded client polls; so the greeting waits for its third poll.
#[test]
fn given_a_recorded_lost_answer_when_replayed_then_the_frames_are_those_of_the_real_host() {
    let mut script = mock_model();
    let steps = script["plays"][0]["steps"].as_array_mut().expect("steps");
    steps.insert(0, json!({"wait": "turn.query", "nth": 3}));
    replay_with(
        Replay {
            file: "21-lost-response",
            counts_catalog: false,
            ..EXACT
        },
        &script,
    );
}

fn replay(recording: Replay) {
    replay_with(recording, &mock_model());
}

fn mock_model() -> Value {
    serde_json::from_str(include_str!("mock-model.json")).expect("the script is JSON")
}

fn replay_with(recording: Replay, script: &Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("script.json");
    std::fs::write(&file, script.to_string()).expect("the script is written");
    let world = instant(Options {
        script: Some(file),
        ..Options::default()
    });
    let mut twin = Twin::default();
    twin.bind(
        "/srv/maka-work",
        folder.path().to_str().expect("a plain path"),
    );

    let entries = load(recording.file);
    let mut clients: BTreeMap<u64, Client> = BTreeMap::new();
    let mut recorded: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    let mut answered: Vec<String> = Vec::new();
    let mut skipped: Vec<Value> = Vec::new();
    for entry in &entries {
        let conn = entry["conn"].as_u64().unwrap_or(1);
        let frame = &entry["frame"];
        if entry["dir"] == "h2c" {
            if !skipped.contains(&frame["requestId"]) || frame["requestId"].is_null() {
                recorded.entry(conn).or_default().push(frame.clone());
            }
            continue;
        }
        if entry["event"] == "socket_closed" {
            if let Some(client) = clients.get_mut(&conn) {
                catch_up(
                    client,
                    recorded.get(&conn).map_or(&[][..], Vec::as_slice),
                    &mut twin,
                    &mut answered,
                    &recording,
                );
                client.half_close();
                while client.next().is_some() {}
            }
            continue;
        }
        if entry["dir"] != "c2h" {
            continue;
        }
        if recording
            .skip
            .iter()
            .any(|operation| frame["operation"] == *operation)
        {
            skipped.push(frame["requestId"].clone());
            continue;
        }
        let is_hello = frame["kind"] == "hello";
        let client = clients.entry(conn).or_insert_with(|| {
            if is_hello {
                Client::raw(&world)
            } else {
                Client::connect(&world)
            }
        });
        catch_up(
            client,
            recorded.get(&conn).map_or(&[][..], Vec::as_slice),
            &mut twin,
            &mut answered,
            &recording,
        );
        let frame = twin.translate(frame);
        if is_terminal(&recorded_answer(&entries, &frame)["status"]) {
            settle(client, &frame);
        }
        client.send(&frame);
    }
    for (conn, client) in &mut clients {
        let theirs = recorded.get(conn).cloned().unwrap_or_default();
        catch_up(client, &theirs, &mut twin, &mut answered, &recording);
        client.half_close();
        while client.next().is_some() {}
        let cut = is_left(&entries, *conn);
        compare(&theirs, &client.seen, &twin, &recording, cut);
    }
}

/// The lines of a recording.
fn load(name: &str) -> Vec<Value> {
    let path: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "../tests/recordings/maka-epoch39",
        &format!("{name}.jsonl"),
    ]
    .iter()
    .collect();
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a recorded line"))
        .collect()
}

/// Names the embedded Host has chosen for what the real Host named otherwise.
#[derive(Default)]
pub struct Twin(BTreeMap<String, String>);

impl Twin {
    fn bind(&mut self, theirs: &str, ours: &str) {
        self.0.insert(theirs.to_owned(), ours.to_owned());
    }

    /// Learns names from two frames that stand for each other.
    fn learn(&mut self, theirs: &Value, ours: &Value) {
        const CHOSEN: [&str; 6] = [
            "subscriptionId",
            "runId",
            "interactionId",
            "relativePath",
            "nextCursor",
            "hostEpoch",
        ];
        match (theirs, ours) {
            (Value::Object(theirs), Value::Object(ours)) => {
                for (key, theirs) in theirs {
                    let Some(ours) = ours.get(key) else { continue };
                    match (theirs.as_str(), ours.as_str()) {
                        (Some(theirs), Some(ours)) if CHOSEN.contains(&key.as_str()) => {
                            self.bind(theirs, ours)
                        }
                        _ => self.learn(theirs, ours),
                    }
                }
            }
            (Value::Array(theirs), Value::Array(ours)) => {
                theirs
                    .iter()
                    .zip(ours)
                    .for_each(|(theirs, ours)| self.learn(theirs, ours));
            }
            _ => {}
        }
    }

    /// A recorded client frame in the embedded Host's names.
    fn translate(&self, frame: &Value) -> Value {
        match frame {
            Value::String(text) => json!(self.0.get(text).unwrap_or(text)),
            Value::Array(list) => list.iter().map(|item| self.translate(item)).collect(),
            Value::Object(object) => object
                .iter()
                .map(|(key, item)| (key.clone(), self.translate(item)))
                .collect(),
            other => other.clone(),
        }
    }
}

/// Reads until the embedded Host has written what the real one had written
/// when the recorded client sent its next frame.
fn catch_up(
    client: &mut Client,
    theirs: &[Value],
    twin: &mut Twin,
    answered: &mut Vec<String>,
    recording: &Replay,
) {
    for frame in theirs {
        let Some(id) = frame["requestId"].as_str() else {
            continue;
        };
        if !answered.iter().any(|done| done == id) {
            let ours = client.sees(|ours| ours["requestId"] == id);
            twin.learn(frame, &ours);
            answered.push(id.to_owned());
        }
    }
    let catalog = theirs
        .iter()
        .filter(|frame| frame["kind"] == "session.catalog.changed")
        .count();
    while recording.counts_catalog
        && client
            .seen
            .iter()
            .filter(|frame| frame["kind"] == "session.catalog.changed")
            .count()
            < catalog
    {
        client
            .next()
            .expect("as many catalog notifications as from the real Host");
    }
    if theirs
        .last()
        .is_some_and(|frame| frame["kind"] == "accepted")
        && client.seen.is_empty()
    {
        client.next();
    }
    let telling = theirs.iter().rev().find(|frame| {
        frame["snapshot"].is_object() || frame["delta"].is_object() || frame["event"].is_object()
    });
    if let Some(theirs) = telling {
        let subscription = twin.translate(&theirs["subscriptionId"]);
        let ours =
            client.sees(|ours| ours["subscriptionId"] == subscription && reaches(ours, theirs));
        twin.learn(theirs, &ours);
    }
}

/// Whether our frame shows at least what their frame showed.
fn reaches(ours: &Value, theirs: &Value) -> bool {
    let pending = |frame: &Value| {
        frame["snapshot"]["interactions"]["pending"]
            .as_array()
            .map(Vec::len)
    };
    if theirs["snapshot"].is_object() {
        ours["snapshot"]["rootTurn"]["status"] == theirs["snapshot"]["rootTurn"]["status"]
            && ours["snapshot"]["queue"]["queueRevision"]
                == theirs["snapshot"]["queue"]["queueRevision"]
            && pending(ours) == pending(theirs)
    } else if theirs["delta"].is_object() {
        let end = |frame: &Value| {
            let text = frame["delta"]["text"].as_str().unwrap_or_default();
            frame["delta"]["startOffset"].as_u64().unwrap_or(0) + text.encode_utf16().count() as u64
        };
        ours["delta"]["kind"] == theirs["delta"]["kind"] && end(ours) >= end(theirs)
    } else {
        ours["event"]["type"] == theirs["event"]["type"]
            && ours["event"]["seq"] == theirs["event"]["seq"]
    }
}

/// Whether the recorded client left this connection while frames could still come.
fn is_left(entries: &[Value], conn: u64) -> bool {
    let of = |entry: &&Value| entry["conn"] == conn;
    entries
        .iter()
        .filter(of)
        .any(|entry| entry["frame"]["kind"] == "hello")
        && entries
            .iter()
            .filter(of)
            .any(|entry| entry["event"] == "socket_closed")
}

/// What the real Host answered to a turn.query.
fn recorded_answer(entries: &[Value], request: &Value) -> Value {
    let answer = entries.iter().find(|entry| {
        entry["frame"]["ok"] == true
            && entry["frame"]["operation"] == "turn.query"
            && entry["frame"]["requestId"] == request["requestId"]
    });
    answer.map_or(Value::Null, |entry| entry["frame"]["result"].clone())
}

/// Waits until a turn has ended, as it had in the recording.
fn settle(client: &mut Client, query: &Value) {
    while !is_terminal(&client.ok("turn.query", query["input"].clone())["status"]) {}
}

/// `cut`: the recorded client did not read to the end of what was sent.
fn compare(theirs: &[Value], ours: &[Value], twin: &Twin, recording: &Replay, cut: bool) {
    for answer in theirs.iter().filter(|frame| frame["requestId"].is_string()) {
        let id = &answer["requestId"];
        let our_answer = ours
            .iter()
            .find(|frame| frame["requestId"] == *id)
            .expect("every request is answered");
        let what = format!("{}: the answer to {}", recording.file, answer["operation"]);
        assert_same(
            &pretty(&normal_answer(our_answer)),
            &pretty(&normal_answer(answer)),
            &what,
        );
        if ["turn.start", "turn.stop"]
            .iter()
            .any(|operation| answer["operation"] == *operation)
        {
            assert_eq!(
                state_before(ours, id),
                state_before(theirs, id),
                "{}: when {} is answered",
                recording.file,
                answer["operation"]
            );
        }
    }
    for subscription in subscriptions(theirs) {
        let our_name = twin.translate(&json!(subscription));
        let their_stream = normal_stream(theirs, &subscription);
        let mut our_stream = normal_stream(ours, our_name.as_str().expect("a name"));
        if cut {
            our_stream.truncate(their_stream.len());
            if let (Some(sent), Some(read)) = (our_stream.last_mut(), their_stream.last())
                && sent["delta"].is_object()
                && text(&sent["delta"]["text"]).starts_with(text(&read["delta"]["text"]))
            {
                sent["delta"] = read["delta"].clone();
            }
        }
        assert_same(
            &pretty_list(&our_stream),
            &pretty_list(&their_stream),
            recording.file,
        );
        assert_no_gap(ours, our_name.as_str().expect("a name"));
    }
    let catalog = |frames: &[Value]| {
        frames
            .iter()
            .filter(|frame| frame["kind"] == "session.catalog.changed")
            .count()
    };
    if recording.counts_catalog {
        assert_eq!(
            catalog(ours),
            catalog(theirs),
            "{}: catalog notifications",
            recording.file
        );
    }
}

/// The turn's status that the client knew when an answer came.
fn state_before(frames: &[Value], request: &Value) -> Value {
    let at = frames
        .iter()
        .position(|frame| frame["requestId"] == *request)
        .expect("the answer is there");
    let before = frames[..at]
        .iter()
        .rev()
        .find(|frame| frame["snapshot"].is_object());
    before.map_or(Value::Null, |frame| {
        frame["snapshot"]["rootTurn"]["status"].clone()
    })
}

fn subscriptions(frames: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for frame in frames {
        let name = frame["subscriptionId"].as_str().unwrap_or_default();
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn assert_no_gap(frames: &[Value], subscription: &str) {
    let sequence: Vec<u64> = frames
        .iter()
        .filter(|frame| frame["subscriptionId"] == subscription)
        .filter_map(|frame| frame["sequence"].as_u64())
        .collect();
    let expected: Vec<u64> = (1..=sequence.len() as u64).collect();
    assert_eq!(sequence, expected, "sequence numbers from 1 without a gap");
}

/// Says where two texts part, rather than printing both.
fn assert_same(ours: &str, theirs: &str, what: &str) {
    if ours == theirs {
        return;
    }
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.lines().collect(), theirs.lines().collect());
    let at = ours
        .iter()
        .zip(&theirs)
        .take_while(|(ours, theirs)| ours == theirs)
        .count();
    let around = |lines: &[&str]| {
        lines
            .iter()
            .skip(at.saturating_sub(2))
            .take(5)
            .copied()
            .collect::<Vec<_>>()
            .join("\n")
    };
    panic!(
        "{what}\nfrom line {at}, the embedded Host:\n{}\n\nthe real Host:\n{}",
        around(&ours),
        around(&theirs)
    );
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON")
}

fn pretty_list(list: &[Value]) -> String {
    list.iter().map(|item| format!("{item}\n")).collect()
}
