//! The tool cards of a play: a tool with output, a question to the user, a
//! request for a wider sandbox. Touches the session through the stage.
//! Invariant: the row of a call precedes its `tool_start`, the row of a result
//! its `tool_result`, since the events carry neither arguments nor content.

use serde_json::{Value, json};

use super::ids;
use super::play::{Cut, Stage};
use super::rows::{self, Call, Stamp};
use super::script::{Question, Tool};
use super::session::{Session, Status, TurnState};
use super::tool_output::{self, Shown};
use super::transcript::Row;
use super::turns::{set_status, set_turn};

/// Plays a tool with its output.
pub(crate) fn run(stage: &mut Stage, tool: &Tool) -> Result<(), Cut> {
    let cwd = stage.change(|state, place| {
        state
            .sessions
            .get(&place.session)
            .map(|session| session.cwd.clone())
    })?;
    let cwd = cwd.unwrap_or_default();
    let activity = tool.activity.clone().or_else(|| activity(&tool.name));
    let call = open_step(stage, &tool.name, activity, in_folder(&tool.args, &cwd))?;
    let result = tool.result.as_ref().map(|result| in_folder(result, &cwd));
    let instant = tool.outputs.is_empty() && tool.progress.is_empty() && tool.takes == 0;
    if instant {
        // The real Host stores a quick tool's call and result at once.
        let content = result.unwrap_or_else(|| json!({"kind": "text", "text": ""}));
        return begin_and_end(stage, &call, &content, tool.error);
    }
    begin(stage, &call)?;
    let began = stage.world.clock.now();
    let mut shown = Shown::default();
    let played = tool_output::play(stage, tool, &call, &mut shown);
    let took = stage.world.clock.now().saturating_sub(began);
    if let Err(Cut::Stopped) = played {
        cancel(
            stage,
            &call,
            &shown.terminal(&call, &cwd, "cancelled"),
            took,
        );
    }
    played?;
    let status = if tool.error { "failed" } else { "completed" };
    let content = result.unwrap_or_else(|| shown.terminal(&call, &cwd, status));
    end(stage, &call, &content, tool.error, took)
}

/// Asks the user, as the model's tool AskUserQuestion does.
pub(crate) fn ask(stage: &mut Stage, questions: &[Question]) -> Result<(), Cut> {
    let questions: Vec<Value> = questions.iter().map(question).collect();
    let call = open_step(
        stage,
        "AskUserQuestion",
        None,
        json!({"questions": questions}),
    )?;
    let request = json!({"kind": "question", "toolUseId": call.id, "questions": questions});
    begin(stage, &call)?;
    let began = stage.world.clock.now();
    let (_, outcome) = interact(stage, &call, request)?;
    let mut answers = Vec::new();
    for (question, answer) in questions
        .iter()
        .zip(outcome["answers"].as_array().into_iter().flatten())
    {
        answers.push(json!({"question": question["question"], "answer": answer}));
    }
    let said: Vec<&str> = outcome["answers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    stage.answers = said.join(", ");
    let content = json!({"kind": "json", "value": {"answers": answers}});
    let took = stage.world.clock.now().saturating_sub(began);
    end(stage, &call, &content, false, took)
}

fn question(question: &Question) -> Value {
    let options: Vec<Value> = question
        .options
        .iter()
        .map(|option| match &option.description {
            Some(description) => json!({"label": option.label, "description": description}),
            None => json!({"label": option.label}),
        })
        .collect();
    json!({"question": question.question, "options": options})
}

/// Asks for a wider sandbox, as the model's tool request_sandbox_boundary does.
pub(crate) fn boundary(
    stage: &mut Stage,
    expansion: &Value,
    justification: &str,
) -> Result<(), Cut> {
    let args = json!({"expansion": expansion, "justification": justification});
    let call = open_step(stage, "request_sandbox_boundary", None, args)?;
    let request =
        json!({"kind": "sandbox_boundary", "expansion": expansion, "justification": justification});
    begin(stage, &call)?;
    let began = stage.world.clock.now();
    let (id, outcome) = interact(stage, &call, request)?;
    let allowed = outcome["status"] == "approved";
    stage.answers = if allowed { "allowed" } else { "denied" }.to_owned();
    let mut settled = json!({"sessionId": stage.place.session, "requestId": id, "status": outcome["status"],
        "baseRevision": 0, "expansion": expansion, "justification": justification, "createdAt": began,
        "settledAt": outcome["committedAt"], "turnId": stage.place.turn, "runId": stage.run});
    if allowed {
        settled["outcomeReason"] = json!("already_applied");
    }
    let profile = json!({"type": "managed", "name": "workspace-write",
        "fileSystem": {"kind": "restricted", "entries": [
            {"kind": "special", "access": "write", "special": ":workspace_roots"},
            {"kind": "special", "access": "write", "special": ":tmpdir"},
            {"kind": "special", "access": "write", "special": ":slash_tmp"}]},
        "network": {"kind": "restricted"}});
    let value = json!({"request": settled, "boundary": {"kind": "managed", "profile": profile, "revision": 0},
        "changed": false});
    let took = stage.world.clock.now().saturating_sub(began);
    end(
        stage,
        &call,
        &json!({"kind": "json", "value": value}),
        false,
        took,
    )
}

/// Makes the call of a model step. A step that said nothing still ends one.
fn open_step(
    stage: &mut Stage,
    name: &str,
    activity: Option<String>,
    args: Value,
) -> Result<Call, Cut> {
    stage.finish_message()?;
    let step = match stage.step.take() {
        Some(step) => step,
        None => {
            stage.model_steps += 1;
            stage.change(|state, place| {
                if let Some(session) = state.sessions.get_mut(&place.session) {
                    session.usage_changed();
                }
                state.catalog_changed(&place.session);
            })?;
            ids::uuid()
        }
    };
    let operation = ids::tool_operation();
    Ok(Call {
        id: ids::tool_call(),
        operation,
        name: name.to_owned(),
        activity,
        args,
        step,
    })
}

fn begin(stage: &Stage, call: &Call) -> Result<(), Cut> {
    let now = stage.world.clock.now();
    stage.show(|state, place| {
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        let at = Stamp {
            turn: &place.turn,
            ts: now,
        };
        session.rows.push(Row::new(&rows::tool_call(at, call)));
        session.advance();
        session.event(&stage.run, &start_event(at, call));
    })
}

fn end(stage: &Stage, call: &Call, content: &Value, error: bool, took: u64) -> Result<(), Cut> {
    let now = stage.world.clock.now();
    stage.show(|state, place| {
        let at = Stamp {
            turn: &place.turn,
            ts: now,
        };
        state.catalog_changed(&place.session);
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        finish(session, &stage.run, at, call, content, error, Some(took));
    })
}

fn begin_and_end(stage: &Stage, call: &Call, content: &Value, error: bool) -> Result<(), Cut> {
    let now = stage.world.clock.now();
    let took = if error { None } else { Some(1) };
    stage.show(|state, place| {
        let at = Stamp {
            turn: &place.turn,
            ts: now,
        };
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        session.rows.push(Row::new(&rows::tool_call(at, call)));
        session
            .rows
            .push(Row::new(&rows::tool_result(at, call, content, error, took)));
        session.advance();
        session.event(&stage.run, &start_event(at, call));
        session.event(&stage.run, &result_event(at, call, error, took));
        state.catalog_changed(&place.session);
    })
}

/// The result of a tool that a stop has cut off, before the turn's own end.
fn cancel(stage: &Stage, call: &Call, content: &Value, took: u64) {
    let now = stage.world.clock.now();
    let mut state = stage.world.lock();
    if state.life != stage.place.life {
        return;
    }
    if let Some(session) = state.sessions.get_mut(&stage.place.session) {
        let at = Stamp {
            turn: &stage.place.turn,
            ts: now,
        };
        finish(session, &stage.run, at, call, content, true, Some(took));
    }
}

fn finish(
    session: &mut Session,
    run: &str,
    at: Stamp,
    call: &Call,
    content: &Value,
    error: bool,
    took: Option<u64>,
) {
    session
        .rows
        .push(Row::new(&rows::tool_result(at, call, content, error, took)));
    session.advance();
    session.event(run, &result_event(at, call, error, took));
}

fn start_event(at: Stamp, call: &Call) -> Value {
    let mut event = json!({"type": "tool_start", "id": format!("{}_call", call.operation), "turnId": at.turn,
        "ts": at.ts, "toolUseId": call.id, "toolName": call.name, "operationId": call.operation,
        "stepId": call.step});
    if let Some(activity) = &call.activity {
        event["activityKind"] = json!(activity);
    }
    event
}

fn result_event(at: Stamp, call: &Call, error: bool, took: Option<u64>) -> Value {
    let mut event = json!({"type": "tool_result", "id": format!("{}_response", call.operation), "turnId": at.turn,
        "ts": at.ts, "toolUseId": call.id, "operationId": call.operation,
        "status": if error { "errored" } else { "completed" }});
    if let Some(took) = took {
        event["durationMs"] = json!(took);
    }
    event
}

/// Shows an interaction and waits for its answer; gives its id and outcome.
fn interact(stage: &Stage, call: &Call, request: Value) -> Result<(String, Value), Cut> {
    let id = ids::uuid();
    let now = stage.world.clock.now();
    stage.show(|state, place| {
        let Some(session) = state.sessions.get_mut(&place.session) else { return };
        session.interactions.push(json!({"schemaVersion": 1, "interactionId": id, "sessionId": place.session,
            "turnId": place.turn, "runId": stage.run, "request": request, "revision": 1, "status": "pending",
            "outcome": null}));
        state.catalog_changed(&place.session);
        state.project(&place.session);
        set_turn(state, &place.session, &place.turn, TurnState::WaitingForUser);
        set_status(state, &place.session, Status::WaitingForUser, now);
        state.touch(&place.session);
        state.project(&place.session);
    })?;
    let answer = stage.wait_for(|session| {
        let interaction = session.interaction(&id)?;
        (interaction["status"] == "answered").then(|| interaction["outcome"].clone())
    });
    let later = stage.world.clock.now();
    if let Err(Cut::Stopped) = answer {
        let content =
            json!({"kind": "text", "text": "The turn was stopped before an answer came."});
        cancel(stage, call, &content, later.saturating_sub(now));
    }
    let outcome = answer?;
    let now = later;
    stage.change(|state, place| {
        set_turn(state, &place.session, &place.turn, TurnState::Running);
        set_status(state, &place.session, Status::Running, now);
        state.touch(&place.session);
        state.project(&place.session);
    })?;
    Ok((id, outcome))
}

/// The kinds that the real Host gives its own tools.
fn activity(tool: &str) -> Option<String> {
    let kind = match tool {
        "Read" => "read",
        "Write" | "Edit" => "edit",
        "Bash" => "command",
        "Grep" | "Glob" => "search",
        "WebSearch" => "websearch",
        "WebFetch" => "webfetch",
        _ => return None,
    };
    Some(kind.to_owned())
}

/// Puts the session's folder where a script says `{cwd}`.
fn in_folder(value: &Value, cwd: &str) -> Value {
    match value {
        Value::String(text) => json!(text.replace("{cwd}", cwd)),
        Value::Array(list) => list.iter().map(|item| in_folder(item, cwd)).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, item)| (key.clone(), in_folder(item, cwd)))
            .collect(),
        other => other.clone(),
    }
}
