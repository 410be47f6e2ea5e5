//! Plays a turn: performs the script's steps on a thread of its own. Touches its
//! session through the world, one step at a time. Invariant: no step changes
//! anything once the turn was stopped or the Host restarted.

use std::sync::Arc;

use serde_json::{Value, json};

use super::faults::Fault;
use super::ids;
use super::rows::{self, Stamp};
use super::script::{Say, Script, Step};
use super::session::{LastMessage, Message, Session};
use super::tools;
use super::transcript::Row;
use super::wire::{DELTA_BYTES, PREVIEW_BYTES, prefix, utf16};
use super::world::{State, World};

/// Which turn is played, in which life of the Host.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) session: String,
    pub(crate) turn: String,
    pub(crate) life: u64,
    /// Its place at the gate.
    pub(crate) ticket: u64,
}

/// Why a play did not come to its end.
pub(crate) enum Cut {
    Stopped,
    Failed {
        class: String,
        message: String,
    },
    /// The Host was restarted; the turn is not ours any more.
    Gone,
}

/// A play under way.
pub(crate) struct Stage<'a> {
    pub(crate) world: &'a Arc<World>,
    pub(crate) place: Place,
    pub(crate) run: String,
    /// Model steps so far.
    pub(crate) model_steps: u64,
    /// The message of the step that is under way, until its first tool call has been made.
    pub(crate) step: Option<String>,
    first_turn: bool,
    pub(crate) prompt: String,
    pub(crate) answers: String,
}

/// Plays the turn to its end.
pub(crate) fn perform(world: &Arc<World>, place: Place, content: &Value) {
    let _seat = Seat(world, place.ticket);
    world.gate.pass(place.ticket);
    let prompt = content["text"].as_str().unwrap_or_default().to_owned();
    let (run, first_turn) = match world.lock().sessions.get(&place.session) {
        Some(session) => (
            session
                .turns
                .get(&place.turn)
                .map_or(String::new(), |turn| turn.run.clone()),
            session.turns.len() == 1,
        ),
        None => return,
    };
    let mut stage = Stage {
        world,
        place,
        run,
        model_steps: 0,
        step: None,
        first_turn,
        prompt,
        answers: String::new(),
    };
    let cut = stage.play(&world.script);
    stage.end(cut, &world.script);
}

/// A play's place at the gate, which is given up however the play ends.
struct Seat<'a>(&'a World, u64);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.gate.leave(self.1);
    }
}

impl Stage<'_> {
    fn play(&mut self, script: &Script) -> Result<(), Cut> {
        self.change(|state, place| {
            if let Some(session) = state.sessions.get_mut(&place.session) {
                session.usage_changed();
            }
            state.touch(&place.session);
            state.project(&place.session);
        })?;
        let steps = script
            .choose(&self.prompt)
            .map_or(&[][..], |play| &play.steps);
        for step in steps {
            match step {
                Step::Thinking(say) => self.say("thinking", say)?,
                Step::Text(say) => self.say("text", say)?,
                Step::Tool(tool) => tools::run(self, tool)?,
                Step::Question(questions) => tools::ask(self, questions)?,
                Step::Boundary {
                    expansion,
                    justification,
                } => tools::boundary(self, expansion, justification)?,
                Step::Fail { class, message } => {
                    return Err(Cut::Failed {
                        class: class.clone(),
                        message: message.clone(),
                    });
                }
                Step::Pause(ms) => self.pause(*ms)?,
                Step::Until { operation, nth } => self.until(operation, *nth)?,
                Step::Rewrite { text, announce } => self.rewrite(text, *announce)?,
                Step::Fault(fault) => self.strike(fault.clone())?,
            }
        }
        self.finish_message()?;
        self.change(|_, _| {})
    }

    /// Changes the world, unless the turn is over for this play.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State, &Place) -> T) -> Result<T, Cut> {
        self.world.gate.pass(self.place.ticket);
        let mut state = self.world.lock();
        if let Some(cut) = over(&state, &self.place) {
            return Err(cut);
        }
        Ok(change(&mut state, &self.place))
    }

    /// As [`Stage::change`], but first lets subscribers that read catch up.
    pub(crate) fn show<T>(&self, change: impl FnOnce(&mut State, &Place) -> T) -> Result<T, Cut> {
        self.let_drain();
        self.change(change)
    }

    pub(crate) fn let_drain(&self) {
        let mut readers = Vec::new();
        if let Some(session) = self.world.lock().sessions.get(&self.place.session) {
            readers.extend(
                session
                    .live
                    .subscriptions
                    .iter()
                    .map(|one| (one.outbox.clone(), one.id.clone())),
            );
        }
        for (outbox, lane) in readers {
            outbox.let_drain(&lane);
        }
    }

    pub(crate) fn pause(&self, ms: u64) -> Result<(), Cut> {
        let wait = self.world.clock.pause(ms);
        if wait.is_zero() {
            return self.change(|_, _| {});
        }
        let cut = self
            .world
            .wait(Some(wait), |state| over(state, &self.place));
        cut.map_or(Ok(()), Err)
    }

    /// Waits for something that a client does.
    pub(crate) fn wait_for<T>(
        &self,
        mut ready: impl FnMut(&mut Session) -> Option<T>,
    ) -> Result<T, Cut> {
        let mut look = |state: &mut State| {
            if let Some(cut) = over(state, &self.place) {
                return Some(Err(cut));
            }
            ready(state.sessions.get_mut(&self.place.session)?).map(Ok)
        };
        while self.world.gate.is_closed() {
            if let Some(found) = look(&mut self.world.lock()) {
                return found;
            }
            self.world.gate.linger(self.place.ticket);
        }
        self.world.wait(None, look).unwrap_or(Err(Cut::Gone))
    }

    fn until(&self, operation: &str, nth: u64) -> Result<(), Cut> {
        self.wait_for(|session| {
            (session.live.answered.get(operation).copied().unwrap_or(0) >= nth).then_some(())
        })
    }

    fn strike(&self, fault: Fault) -> Result<(), Cut> {
        self.world.arm(fault);
        self.change(|_, _| {})
    }

    fn say(&mut self, kind: &str, say: &Say) -> Result<(), Cut> {
        if say.first_turn && !self.first_turn {
            return Ok(());
        }
        self.steer()?;
        let text = self.fill(&say.text);
        let characters: Vec<char> = text.chars().collect();
        for chunk in characters.chunks(say.chunk) {
            let text: String = chunk.iter().collect();
            if say.every > 0 {
                self.pause(say.every)?;
            }
            self.stream(kind, prefix(&text, DELTA_BYTES))?;
        }
        Ok(())
    }

    /// Fills in what a script cannot know.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("{prompt}", &self.prompt)
            .replace("{answers}", &self.answers)
    }

    fn stream(&mut self, kind: &str, text: &str) -> Result<(), Cut> {
        self.step = None;
        let (run, now) = (self.run.clone(), self.world.clock.now());
        self.show(|state, place| {
            let Some(session) = state.sessions.get_mut(&place.session) else { return };
            let message = session
                .live
                .message
                .get_or_insert_with(|| Message { id: ids::uuid(), ts: now, ..Message::default() });
            let start = message.grow(kind, text);
            let delta = json!({"kind": kind, "turnId": place.turn, "runId": run, "messageId": message.id,
                "startOffset": start, "text": text});
            session.delta(&delta);
        })
    }

    fn rewrite(&mut self, text: &str, announce: bool) -> Result<(), Cut> {
        let (run, text) = (self.run.clone(), self.fill(text));
        self.change(|state, place| {
            let Some(session) = state.sessions.get_mut(&place.session) else { return };
            let Some(message) = &mut session.live.message else { return };
            message.text_units = utf16(&text);
            message.text = text;
            let delta = json!({"kind": "text", "turnId": place.turn, "runId": run, "messageId": message.id,
                "startOffset": 0, "text": message.text, "reset": true});
            if announce {
                session.delta(&delta);
            }
        })
    }

    /// Ends a model step: its message, if it said something, becomes durable.
    pub(crate) fn finish_message(&mut self) -> Result<(), Cut> {
        let run = self.run.clone();
        let finished = self.show(|state, place| {
            let message = state
                .sessions
                .get_mut(&place.session)?
                .live
                .message
                .take()?;
            let session = state.sessions.get_mut(&place.session)?;
            session.usage_changed();
            state.catalog_changed(&place.session);
            let session = state.sessions.get_mut(&place.session)?;
            store_message(session, place, &message);
            session.advance();
            session.revision += 1;
            session.project(&state.host_epoch);
            end_marks(session, place, &run, &message);
            state.catalog_changed(&place.session);
            Some(message.id)
        })?;
        if finished.is_some() {
            self.model_steps += 1;
            self.step = finished;
        }
        Ok(())
    }

    /// Puts messages of the user into the running turn, between two model steps.
    fn steer(&mut self) -> Result<(), Cut> {
        let now = self.world.clock.now();
        self.change(|state, place| {
            let Some(session) = state.sessions.get_mut(&place.session) else {
                return;
            };
            if session.live.steering.is_empty() || session.live.message.is_some() {
                return;
            }
            for entry in std::mem::take(&mut session.live.steering) {
                let id = entry["messageId"].as_str().unwrap_or_default();
                let row = rows::steering(
                    Stamp {
                        turn: &place.turn,
                        ts: now,
                    },
                    id,
                    &entry["content"],
                );
                session.rows.push(Row::new(&row));
                session.live.queue_revision += 1;
            }
            session.advance();
            session.project(&state.host_epoch);
        })
    }
}

/// Tells whether the turn must not go on.
fn over(state: &State, place: &Place) -> Option<Cut> {
    if state.life != place.life {
        return Some(Cut::Gone);
    }
    let turn = state
        .sessions
        .get(&place.session)
        .and_then(|session| session.turns.get(&place.turn));
    match turn {
        None => Some(Cut::Gone),
        Some(turn) => turn.stopping.then_some(Cut::Stopped),
    }
}

pub(crate) fn store_message(session: &mut Session, place: &Place, message: &Message) {
    let row = rows::assistant(&place.turn, message, &session.configuration.model, true);
    session.rows.push(Row::new(&row));
    if !message.text.is_empty() {
        let preview = prefix(&message.text, PREVIEW_BYTES).to_owned();
        session.last_message = Some(LastMessage {
            at: message.ts,
            preview,
        });
    }
}

/// The end marks of a message's streams, thinking before text.
pub(crate) fn end_marks(session: &mut Session, place: &Place, run: &str, message: &Message) {
    let streams = [
        ("thinking", message.thinking_units),
        ("text", message.text_units),
    ];
    for (kind, units) in streams {
        if units > 0 {
            session.delta(
                &json!({"kind": kind, "turnId": place.turn, "runId": run, "messageId": message.id,
                "startOffset": units, "text": "", "complete": true}),
            );
        }
    }
}
