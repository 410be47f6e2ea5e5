//! The end of a turn: completed, failed or stopped, with the rows and frames
//! of each in the order of the real Host. Touches its session under the
//! world's lock, in one go. Invariant: the terminal projection is the last
//! thing told about a turn, and whoever waits for the end is answered after it.

use super::ids;
use super::interactions;
use super::play::{Cut, Stage, end_marks, store_message};
use super::rows::{self, Stamp};
use super::script::Script;
use super::session::{Status, TurnState};
use super::transcript::Row;
use super::turns::{self, set_status, set_turn};
use super::wire::{TITLE_BYTES, prefix};
use super::world::State;

impl Stage<'_> {
    /// Ends the turn as its play did, and starts what waits behind it.
    pub(crate) fn end(&self, cut: Result<(), Cut>, script: &Script) {
        self.world.gate.pass(self.place.ticket);
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
            end_marks(session, place, &self.run, message);
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
            end_marks(session, place, &self.run, message);
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
