//! From an operation's name to the function that carries it out. Touches the
//! world under its lock. Invariant: the frames that an operation causes and
//! its answer are queued in one go, so nothing can come between them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::catalog;
use super::interactions;
use super::models;
use super::requests::Verdict;
use super::session::Waiter;
use super::subscription;
use super::transcript;
use super::turns;
use super::uploads;
use super::wire::{COMPOSITION, COMPOSITION_REVISION, EPOCH, Refusal, code, refuse};
use super::world::{State, World};

/// Carries a request out and answers it, now or when its turn has ended.
pub(crate) fn serve(world: &Arc<World>, to: Waiter, input: &Value, verdict: &Verdict) {
    let mut state = world.lock();
    if !state.connections.contains_key(&to.connection) {
        return;
    }
    let (connection, operation) = (to.connection, to.operation.clone());
    let result = match verdict {
        Verdict::Serve if operation == "turn.stop" => {
            let later = Waiter {
                connection,
                request: to.request.clone(),
                operation: operation.clone(),
            };
            match turns::stop(&mut state, input, later) {
                Some(result) => result,
                None => {
                    world.wake();
                    return;
                }
            }
        }
        Verdict::Serve => carry_out(world, &mut state, connection, &operation, input),
        _ => refuse(
            code::UNAVAILABLE,
            format!("The embedded Host does not offer {operation}"),
        ),
    };
    state.respond(world, &to, result);
    let session = session_of(&state, connection, input);
    if let Some(session) = session.and_then(|id| state.sessions.get_mut(&id)) {
        *session.live.answered.entry(operation).or_default() += 1;
    }
    drop(state);
    world.wake();
}

fn session_of(state: &State, connection: u64, input: &Value) -> Option<String> {
    if let Some(session) = input["sessionId"].as_str() {
        return Some(session.to_owned());
    }
    let subscription = state.subscription(connection, input["subscriptionId"].as_str()?)?;
    Some(subscription.session.clone())
}

fn carry_out(
    world: &Arc<World>,
    state: &mut State,
    connection: u64,
    operation: &str,
    input: &Value,
) -> Result<Value, Refusal> {
    let now = world.clock.now();
    match operation {
        "host.status" => Ok(status(state)),
        "host.diagnostics.query" => Ok(diagnostics(state, now)),
        "connection.catalog.query" => models::query(input),
        "session.create" => catalog::create(state, now, input),
        "session.catalog.query" => catalog::query(state, input),
        "session.metadata.update" => catalog::update_metadata(state, input),
        "session.configuration.update" => catalog::update_configuration(state, input),
        "session.lifecycle.set" => catalog::set_lifecycle(state, input),
        "session.remove" => catalog::remove(state, input),
        "session.execution_boundary.query" => catalog::boundary(state, input),
        "context.diagnostics.query" | "goal.query" => catalog::nothing(state, operation, input),
        "subscription.open" => subscription::open(state, connection, input),
        "subscription.close" => subscription::close(state, connection, input),
        "session.transcript.page" => transcript::serve(state, connection, input),
        "session.transcript.overlay.release" => subscription::release(state, connection, input),
        "turn.start" => turns::start(world, state, input),
        "turn.query" => turns::query(state, input),
        "turn.message.submit" => turns::submit(world, state, input),
        "interaction.query" => interactions::query(state, input),
        "interaction.answer" => interactions::answer(state, now, input),
        "artifact.ingest" => uploads::ingest(state, connection, input),
        _ => refuse(
            code::UNAVAILABLE,
            format!("The embedded Host does not offer {operation}"),
        ),
    }
}

fn status(state: &State) -> Value {
    json!({
        "hostEpoch": state.host_epoch,
        "compositionId": COMPOSITION,
        "compositionRevision": COMPOSITION_REVISION,
        "state": "ready",
        "connections": state.connections.len(),
        "activeOperations": 1,
        "activeResidencies": 0,
    })
}

fn diagnostics(state: &State, now: u64) -> Value {
    let mut diagnostics = status(state);
    let more = json!({
        "compositionModules": ["session", "configuration", "execution"],
        "residencies": [],
        "protocolVersion": 0,
        "compatibilityEpoch": EPOCH,
        "pid": std::process::id(),
        "processUptimeSeconds": now.saturating_sub(state.started_at) / 1000,
        "nodeVersion": "none",
        "platform": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "osRelease": "unknown",
        "logs": [],
    });
    if let (Some(all), Some(more)) = (diagnostics.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    diagnostics
}
