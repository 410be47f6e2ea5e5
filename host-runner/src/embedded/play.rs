//! Plays a turn: performs the script's steps on a thread of its own and ends
//! the turn. Touches its session through the world, one step at a time.
//! Invariant: whatever happens, exactly one terminal projection leaves, and it
//! is the last thing told about the turn.

use std::sync::Arc;

use serde_json::{Value, json};

use super::faults::Fault;
use super::ids;
use super::interactions;
use super::rows::{self, Stamp};
use super::script::{Say, Script, Step};
use super::session::{LastMessage, Message, Session, Status, TurnState};
use super::tools;
use super::transcript::Row;
use super::turns::{self, set_status, set_turn};
use super::wire::{DELTA_BYTES, PREVIEW_BYTES, TITLE_BYTES, prefix, utf16};
use super::world::{State, World};

/// Which turn is played, in which life of the Host.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) session: String,
    pub(crate) turn: String,
    pub(crate) life: u64,
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
    prompt: String,
    pub(crate) answers: String,
}

/// Plays the turn to its end.
pub(crate) fn perform(world: &Arc<World>, place: Place, content: &Value) {
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

    fn let_drain(&self) {
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
        let found = self.world.wait(None, |state| {
            if let Some(cut) = over(state, &self.place) {
                return Some(Err(cut));
            }
            ready(state.sessions.get_mut(&self.place.session)?).map(Ok)
        });
        found.unwrap_or(Err(Cut::Gone))
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
            let part = if kind == "text" { &mut message.text } else { &mut message.thinking };
            let start = utf16(part);
            part.push_str(text);
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
            complete(session, place, &run, &message);
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

    fn end(&mut self, cut: Result<(), Cut>, script: &Script) {
        self.let_drain();
        let mut guard = self.world.lock();
        let state = &mut *guard;
        if state.life != self.place.life || matches!(cut, Err(Cut::Gone)) {
            return;
        }
        let place = self.place.clone();
        let now = self.world.clock.now();
        match cut {
            Ok(()) => self.complete(state, script, now),
            Err(Cut::Failed { class, message }) => self.fail(state, class, message, now),
            Err(Cut::Stopped | Cut::Gone) => self.stopped(state, now),
        }
        state.project(&place.session);
        state.catalog_changed(&place.session);
        state.save(&place.session);
        self.answer_waiters(state);
        turns::start_next(self.world, state, &place.session);
        let idle = state
            .sessions
            .get_mut(&place.session)
            .is_some_and(|session| {
                session.active_turn().is_none()
                    && std::mem::take(&mut session.live.queue_revision) > 0
            });
        if idle {
            state.project(&place.session);
        }
    }

    fn complete(&self, state: &mut State, script: &Script, now: u64) {
        let place = &self.place;
        let at = Stamp {
            turn: &place.turn,
            ts: now,
        };
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        session.rows.push(Row::new(&rows::token_usage(
            at,
            self.model_steps.max(1),
            &self.prompt,
        )));
        session.rows.push(Row::new(&rows::completed(at)));
        session.advance();
        if !session.named {
            session.named = true;
            let title = script
                .choose(&self.prompt)
                .and_then(|play| play.title.clone());
            session.name = title.unwrap_or_else(|| title_of(&self.prompt));
            session.revision += 1;
        }
        session.has_unread = true;
        session.last_used_at = now;
        session.rows.push(Row::new(&rows::resume_note(at)));
        for _ in 0..3 {
            state.catalog_changed(&place.session);
        }
        if let Some(session) = state.sessions.get_mut(&place.session) {
            session.advance();
            session.revision += 1;
        }
        set_status(state, &place.session, Status::Active, now);
        let completed = TurnState::Completed {
            terminal_event_id: ids::uuid(),
        };
        set_turn(state, &place.session, &place.turn, completed);
    }

    fn fail(&self, state: &mut State, class: String, message: String, now: u64) {
        let place = &self.place;
        let at = Stamp {
            turn: &place.turn,
            ts: now,
        };
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        session.usage_changed();
        let streamed = session.live.message.take();
        if let Some(message) = &streamed {
            store_message(session, place, message);
        }
        session
            .rows
            .push(Row::new(&rows::failed(at, &class, streamed.is_some())));
        state.catalog_changed(&place.session);
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        session.advance();
        if let Some(message) = &streamed {
            complete(session, place, &self.run, message);
        }
        session.last_used_at = now;
        session.revision += 1;
        state.catalog_changed(&place.session);
        set_status(state, &place.session, Status::Blocked, now);
        let failed = TurnState::Failed {
            terminal_event_id: ids::uuid(),
            failure_class: class,
            failure_message: message,
        };
        set_turn(state, &place.session, &place.turn, failed);
    }

    fn stopped(&self, state: &mut State, now: u64) {
        const SOURCE: &str = "renderer.stop_button";
        let place = &self.place;
        let at = Stamp {
            turn: &place.turn,
            ts: now,
        };
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        interactions::close(session, "turn_stopped", now);
        session.live.queue_revision += 1;
        session.live.steering.clear();
        state.catalog_changed(&place.session);
        state.project(&place.session);
        state.catalog_changed(&place.session);
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        let streamed = session.live.message.take();
        if let Some(message) = &streamed {
            store_message(session, place, message);
        }
        session
            .rows
            .push(Row::new(&rows::aborted(at, SOURCE, true)));
        session.rows.push(Row::new(&rows::abort_note(now, SOURCE)));
        session.advance();
        session.revision += 1;
        set_status(state, &place.session, Status::Aborted, now);
        state.catalog_changed(&place.session);
        state.project(&place.session);
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        session.usage_changed();
        if let Some(message) = &streamed {
            complete(session, place, &self.run, message);
        }
        session.rows.push(Row::new(&rows::resume_note(at)));
        state.catalog_changed(&place.session);
        let Some(session) = state.sessions.get_mut(&place.session) else {
            return;
        };
        session.advance();
        session.last_used_at = now;
        session.revision += 1;
        let cancelled = TurnState::Cancelled {
            terminal_event_id: ids::uuid(),
            abort_source: SOURCE.to_owned(),
        };
        set_turn(state, &place.session, &place.turn, cancelled);
    }

    fn answer_waiters(&self, state: &mut State) {
        let Some(session) = state.sessions.get_mut(&self.place.session) else {
            return;
        };
        let snapshot = session.turn_snapshot(&self.place.turn);
        let waiters = session
            .turns
            .get_mut(&self.place.turn)
            .map(|turn| std::mem::take(&mut turn.waiters));
        for waiter in waiters.into_iter().flatten() {
            state.respond(
                self.world,
                &waiter,
                Ok(snapshot.clone().unwrap_or_default()),
            );
        }
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

fn store_message(session: &mut Session, place: &Place, message: &Message) {
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
fn complete(session: &mut Session, place: &Place, run: &str, message: &Message) {
    for (kind, text) in [("thinking", &message.thinking), ("text", &message.text)] {
        if !text.is_empty() {
            session.delta(
                &json!({"kind": kind, "turnId": place.turn, "runId": run, "messageId": message.id,
                "startOffset": utf16(text), "text": "", "complete": true}),
            );
        }
    }
}

/// A name for a session: the beginning of its first prompt.
fn title_of(prompt: &str) -> String {
    let words: Vec<&str> = prompt.split_whitespace().take(8).collect();
    let title = words.join(" ");
    if title.is_empty() {
        "Untitled".to_owned()
    } else {
        prefix(&title, TITLE_BYTES).to_owned()
    }
}
