//! Answers that are not read from the script: improvised ones, and pages of the
//! transcript, which carry the client's ids.
//!
//! Pure. Invariant: every request gets one reply; what is improvised is in the report.

use serde_json::{Value, json};

use super::rows::{Shelf, Walk, read_cursor};
use super::world::Refusal;
use super::{Ready, RecordedHost};

/// What an editor's panels are filled from.
const PANELS: [&str; 3] = [
    "skill.catalog.invocable.query",
    "plan.query",
    "context.diagnostics.query",
];

impl RecordedHost {
    /// An answer from what the frames have told.
    pub(super) fn improvise(&mut self, operation: &str, input: &Value, id: &str) {
        let what = match (operation, input["kind"].as_str()) {
            ("session.transcript.page", _) => format!(
                "{operation} {} {} {} through {}",
                input["source"].as_str().unwrap_or("?"),
                input["direction"].as_str().unwrap_or("?"),
                if input["cursor"].is_null() {
                    format!("from {}", input["anchorSequence"])
                } else {
                    "on".to_owned()
                },
                input["throughSequence"]
            ),
            (_, Some(kind)) => format!("{operation} {kind}"),
            (_, None) => operation.to_owned(),
        };
        let result = match operation {
            "host.status" => Ok(json!({ "hostEpoch": self.hello["hostEpoch"],
                "compositionId": self.hello["compositionId"],
                "compositionRevision": self.hello["compositionRevision"],
                "state": "ready", "connections": 1, "activeOperations": self.in_flight.len(),
                "activeResidencies": 0 })),
            "connection.catalog.query" => Ok(self.catalog["result"].clone()),
            "session.catalog.query" => self.world.catalog(input),
            "turn.query" => self.world.turn(input),
            "turn.stop" => self.stop(input),
            "subscription.open" => self.open(input),
            "subscription.close" => {
                self.world
                    .close(input["subscriptionId"].as_str().unwrap_or_default());
                self.park();
                Ok(json!({ "subscriptionId": input["subscriptionId"] }))
            }
            "session.transcript.overlay.release" => {
                Ok(json!({ "subscriptionId": input["subscriptionId"] }))
            }
            "session.transcript.page" => self.page(input),
            // What an editor's panels show, which few recorded clients asked for.
            "skill.catalog.invocable.query" => Ok(json!({
                "kind": "page", "revision": "sha256:0", "items": [], "nextCursor": null })),
            "plan.query" => Ok(json!({ "kind": "page", "storeVersion": 0, "items": [],
                "latestProposalId": null, "activeExecutionId": null, "nextCursor": null })),
            "context.diagnostics.query" => {
                Ok(json!({ "status": "unavailable", "reason": "no_completed_request" }))
            }
            _ => {
                self.report.unanswered.push(format!("{what} {input}"));
                Err(("operation_unavailable", "The recording cannot answer this"))
            }
        };
        // A look at the panels is of no weight: only what the conversation needs is reported.
        if !PANELS.contains(&operation) {
            self.report.improvised.push(what);
        }
        self.answer(operation, reply(id, operation, result));
        if operation == "subscription.open" {
            self.ready.extend(self.parked.drain(..));
        }
    }

    fn stop(&mut self, input: &Value) -> Result<Value, Refusal> {
        let (frames, turn) = self.world.stop(input)?;
        if !frames.is_empty() || self.script.runs_on() {
            self.script.abandon();
        }
        // What the recorded Turn would have said next is not said any more.
        self.parked.clear();
        self.ready.retain(|ready| matches!(ready, Ready::Reply(_)));
        self.answers.extend(
            frames
                .into_iter()
                .map(|frame| Ready::Frame(frame.to_string())),
        );
        Ok(turn)
    }

    fn open(&mut self, input: &Value) -> Result<Value, Refusal> {
        self.opens += 1;
        let id = format!("00000000-0000-4000-8000-{:012}", self.opens);
        let session = input["sessionId"].as_str().unwrap_or_default();
        for former in self.world.former(session) {
            self.aliases.insert(former, id.clone());
        }
        let script = self.script.clone();
        let opened = self
            .world
            .open(&id, input, &mut self.rows, &|text| script.to_client(text));
        opened.unwrap_or_else(|row| self.lacking(row))
    }

    fn page(&mut self, input: &Value) -> Result<Value, Refusal> {
        let text = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
        let subscription = text("subscriptionId");
        let Some(known) = self
            .world
            .subscription(&subscription)
            .filter(|known| known.open)
        else {
            return Err(("not_found", "Session subscription does not exist"));
        };
        let session = known.session.clone();
        let through = input["throughSequence"].as_u64();
        if through > self.world.through(&session) {
            return Err((
                "invalid_request",
                "Transcript watermark is ahead of the Host",
            ));
        }
        let older = input["direction"] == "older";
        let anchor = input["anchorSequence"].as_u64();
        let last = match input["source"].as_str() {
            Some("overlay") => self
                .rows
                .count(&Shelf::Overlay(subscription.clone()))
                .checked_sub(1),
            _ => through,
        };
        let place = match (input["cursor"].as_str(), older) {
            (Some(cursor), _) => match read_cursor(cursor) {
                Some(place) => Some(place),
                None => return Err(("invalid_request", "Transcript cursor is invalid")),
            },
            (None, true) => match anchor {
                Some(anchor) => anchor.checked_sub(1).map(|row| (row, u64::MAX)),
                None => last.map(|row| (row, u64::MAX)),
            },
            (None, false) => {
                let next = anchor.map_or(0, |anchor| anchor + 1);
                last.filter(|last| next <= *last).map(|_| (next, 0))
            }
        };
        let budget = input["maxBytes"].as_u64().unwrap_or_default();
        let walk = Walk {
            subscription,
            session,
            source: text("source"),
            older,
            through,
            place,
            budget,
        };
        let script = &self.script;
        let page = self.rows.page(&walk, &|text| script.to_client(text));
        page.map_or_else(|row| self.lacking(row), Ok)
    }

    /// The recorded reply to `subscription.open` with its pages cut anew, so that they
    /// carry the client's ids.
    pub(super) fn with_own_pages(&mut self, recorded: &Value) -> String {
        let mut reply = recorded.clone();
        let id = reply["requestId"].as_str().unwrap_or_default().to_owned();
        let (_, asked) = self.in_flight.get(&id).cloned().unwrap_or_default();
        let result = &mut reply["result"];
        for (part, source) in [("durable", "durable"), ("overlay", "overlay")] {
            if result["transcript"].is_null() {
                break;
            }
            let through = result["transcript"]["throughSequence"].as_u64();
            let last = match source {
                "durable" => through,
                _ => result["transcript"]["overlayMessageCount"]
                    .as_u64()
                    .unwrap_or(0)
                    .checked_sub(1),
            };
            let walk = Walk {
                subscription: result["subscriptionId"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                session: asked["sessionId"].as_str().unwrap_or_default().to_owned(),
                source: source.to_owned(),
                older: true,
                through,
                place: last.map(|row| (row, u64::MAX)),
                budget: asked["transcript"]["maxBytes"].as_u64().unwrap_or_default(),
            };
            let script = &self.script;
            match self.rows.page(&walk, &|text| script.to_client(text)) {
                Ok(page) => result["transcript"][part] = page,
                Err(row) => self.lack(row),
            }
        }
        reply.to_string()
    }

    pub(super) fn own_page(&mut self, recorded: &Value) -> String {
        let id = recorded["requestId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let (operation, asked) = self.in_flight.get(&id).cloned().unwrap_or_default();
        let result = self.page(&asked);
        reply(&id, &operation, result)
    }

    fn lacking<T>(&mut self, row: u64) -> Result<T, Refusal> {
        self.lack(row);
        Err(("internal_failure", "The recording does not hold this row"))
    }

    fn lack(&mut self, row: u64) {
        self.report
            .unanswered
            .push(format!("row {row} is not in the recording, or not whole"));
    }
}

fn reply(id: &str, operation: &str, result: Result<Value, Refusal>) -> String {
    match result {
        Ok(result) => {
            json!({ "requestId": id, "operation": operation, "ok": true, "result": result })
        }
        Err((code, message)) => json!({ "requestId": id, "operation": operation, "ok": false,
            "error": { "code": code, "message": message } }),
    }
    .to_string()
}
