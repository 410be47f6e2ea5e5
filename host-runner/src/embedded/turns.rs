//! Turns: admission, the lost-response check, stop, and messages that wait
//! behind a running turn. Touches sessions; the playing itself is in `play`.
//! Invariant: a session has at most one turn that has not ended, and an
//! admitted turn always ends, if need be as `app_restarted`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::ids;
use super::interactions;
use super::play;
use super::rows::{self, Stamp};
use super::session::{Status, Turn, TurnState, Waiter};
use super::transcript::Row;
use super::wire::{QUEUE, Refusal, code, refuse};
use super::world::{State, World, existing};

/// `turn.start`
pub(crate) fn start(
    world: &Arc<World>,
    state: &mut State,
    input: &Value,
) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    let turn_id = text(&input["turnId"]);
    if let Some(turn) = session.turns.get(&turn_id) {
        if turn.started_by != *input {
            return refuse(
                code::CONFLICT,
                "Turn identity was already admitted with a different payload",
            );
        }
        return Ok(started(session.turn_snapshot(&turn_id)));
    }
    if session.is_archived {
        return refuse(
            code::ARCHIVED,
            "Cannot start a new Turn in an archived Session",
        );
    }
    if session.active_turn().is_some() {
        return refuse(code::BUSY, "Session already has an active root Turn");
    }
    for attachment in input["content"]["attachments"]
        .as_array()
        .into_iter()
        .flatten()
    {
        if !session.attachments.contains(attachment) {
            return refuse(
                code::CONFLICT,
                "Attachment is not a committed file of this Session",
            );
        }
    }
    let session_id = session.id.clone();
    admit(world, state, &session_id, &turn_id, input.clone());
    let session = existing(&mut state.sessions, input)?;
    Ok(started(session.turn_snapshot(&turn_id)))
}

fn started(turn: Option<Value>) -> Value {
    json!({"kind": "started", "turn": turn, "skillInvocation": {"loaded": [], "failed": [], "receipts": []}})
}

/// Begins a turn and tells every subscriber, in the order of the real Host:
/// admitted, user row, created, running.
fn admit(world: &Arc<World>, state: &mut State, session_id: &str, turn_id: &str, input: Value) {
    let now = world.clock.now();
    let at = Stamp {
        turn: turn_id,
        ts: now,
    };
    let content = input["content"].clone();
    let Some(session) = state.sessions.get_mut(session_id) else {
        return;
    };
    session.turns.insert(
        turn_id.to_owned(),
        Turn {
            run: ids::uuid(),
            started_by: input,
            state: TurnState::Admitted,
            waiters: Vec::new(),
            stopping: false,
        },
    );
    session.root_turn = Some(turn_id.to_owned());
    session.connection_locked = true;
    session.live.answered.clear();
    session
        .rows
        .push(Row::new(&rows::user(at, &ids::uuid(), &content)));
    session.rows.push(Row::new(&rows::running(at)));

    state.project(session_id);
    state.touch(session_id);
    if let Some(session) = state.sessions.get_mut(session_id) {
        session.advance();
    }
    state.touch(session_id);
    set_turn(state, session_id, turn_id, TurnState::Created);
    state.project(session_id);
    state.touch(session_id);
    set_turn(state, session_id, turn_id, TurnState::Running);
    set_status(state, session_id, Status::Running, now);
    if let Some(session) = state.sessions.get_mut(session_id) {
        session.revision += 1;
    }
    state.project(session_id);
    state.save(session_id);

    let place = play::Place {
        session: session_id.to_owned(),
        turn: turn_id.to_owned(),
        life: state.life,
        ticket: world.gate.enter(),
    };
    let world = world.clone();
    std::thread::spawn(move || play::perform(&world, place, &content));
}

pub(crate) fn set_turn(state: &mut State, session: &str, turn: &str, to: TurnState) {
    if let Some(turn) = state
        .sessions
        .get_mut(session)
        .and_then(|session| session.turns.get_mut(turn))
    {
        turn.state = to;
    }
}

pub(crate) fn set_status(state: &mut State, session: &str, to: Status, now: u64) {
    if let Some(session) = state.sessions.get_mut(session) {
        session.status = to;
        session.status_updated_at = now;
    }
}

/// `turn.query`
pub(crate) fn query(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let session = existing(&mut state.sessions, input)?;
    match session.turn_snapshot(&text(&input["turnId"])) {
        Some(snapshot) => Ok(snapshot),
        None => refuse(code::NOT_FOUND, "Turn was not admitted"),
    }
}

/// `turn.stop`: answered now when the turn has ended (`Some`), else by the turn itself.
pub(crate) fn stop(
    state: &mut State,
    input: &Value,
    waiter: Waiter,
) -> Option<Result<Value, Refusal>> {
    let session = match existing(&mut state.sessions, input) {
        Ok(session) => session,
        Err(refusal) => return Some(Err(refusal)),
    };
    let turn_id = text(&input["turnId"]);
    let Some(turn) = session.turns.get_mut(&turn_id) else {
        return Some(refuse(code::NOT_FOUND, "Turn was not admitted"));
    };
    if turn.run != text(&input["runId"]) {
        return Some(refuse(
            code::CONFLICT,
            "Run identity does not match the admitted Turn",
        ));
    }
    if turn.state.is_terminal() {
        return session.turn_snapshot(&turn_id).map(Ok);
    }
    turn.stopping = true;
    turn.waiters.push(waiter);
    None
}

/// `turn.message.submit`
pub(crate) fn submit(
    world: &Arc<World>,
    state: &mut State,
    input: &Value,
) -> Result<Value, Refusal> {
    let host_epoch = state.host_epoch.clone();
    let session = existing(&mut state.sessions, input)?;
    let message = text(&input["messageId"]);
    if let Some((known, answer)) = session.live.submitted.get(&message) {
        if known != input {
            return refuse(
                code::CONFLICT,
                "Message identity was already submitted with a different payload",
            );
        }
        return Ok(answer.clone());
    }
    if text(&input["originHostEpoch"]) != host_epoch {
        return refuse(code::UNKNOWN, "Message belongs to an earlier Host");
    }
    if session.is_archived {
        return refuse(
            code::ARCHIVED,
            "Cannot submit a message to an archived Session",
        );
    }
    let id = session.id.clone();
    let answer = if session.active_turn().is_none() {
        let turn = ids::uuid();
        admit(world, state, &id, &turn, input.clone());
        json!({"disposition": "turn_started", "turnId": turn})
    } else {
        enqueue(state, &id, input)?
    };
    if let Some(session) = state.sessions.get_mut(&id) {
        session
            .live
            .submitted
            .insert(message, (input.clone(), answer.clone()));
    }
    Ok(answer)
}

fn enqueue(state: &mut State, session_id: &str, input: &Value) -> Result<Value, Refusal> {
    let host_epoch = state.host_epoch.clone();
    let session = existing(&mut state.sessions, input)?;
    let live = &mut session.live;
    if live.steering.len() + live.followup.len() >= QUEUE {
        return refuse(code::CONFLICT, "Session queue is full");
    }
    live.queue_revision += 1;
    let entry = json!({"entryId": ids::uuid(), "messageId": input["messageId"], "content": input["content"],
        "placement": input["placement"], "state": "queued"});
    let disposition = if input["placement"] == "current_turn" {
        live.steering.push(entry);
        "steering"
    } else {
        live.followup.push(entry);
        "followup"
    };
    let answer = json!({"disposition": disposition, "queueRevision": live.queue_revision});
    session.project(&host_epoch);
    state.catalog_changed(session_id);
    Ok(answer)
}

/// Starts the turn of the oldest message that waits, when there is one.
pub(crate) fn start_next(world: &Arc<World>, state: &mut State, session_id: &str) {
    let Some(session) = state.sessions.get_mut(session_id) else {
        return;
    };
    if session.live.followup.is_empty() {
        return;
    }
    let entry = session.live.followup.remove(0);
    session.live.queue_revision += 1;
    let input = json!({"sessionId": session_id, "content": entry["content"]});
    admit(world, state, session_id, &ids::uuid(), input);
}

/// Ends turns that an earlier life of the Host left running.
pub(crate) fn fail_interrupted(state: &mut State, now: u64) {
    let interrupted: Vec<(String, String)> = state
        .sessions
        .values()
        .filter_map(|session| Some((session.id.clone(), session.active_turn()?.to_owned())))
        .collect();
    for (session_id, turn_id) in interrupted {
        let at = Stamp {
            turn: &turn_id,
            ts: now,
        };
        if let Some(session) = state.sessions.get_mut(&session_id) {
            session
                .rows
                .push(Row::new(&rows::failed(at, "app_restarted", false)));
            session.revision += 1;
            interactions::close(session, "host_restarted", now);
        }
        set_status(state, &session_id, Status::Blocked, now);
        let failed = TurnState::Failed {
            terminal_event_id: ids::uuid(),
            failure_class: "app_restarted".to_owned(),
            failure_message: "app_restarted".to_owned(),
        };
        set_turn(state, &session_id, &turn_id, failed);
        state.save(&session_id);
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
