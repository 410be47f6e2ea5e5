//! What the Host tells, and what the editor sees of it.

use alloc::format;
use alloc::string::String;

use crate::editor::{Steered, StopReason};
use crate::effect::Level;
use crate::host::dialog::Means;
use crate::host::{self, Command, Fact, Heard, Listener, Outcome, SessionKey};
use crate::limits;
use crate::object;
use crate::plumbing::Core;
use crate::projection::{End, Failure, Projection, Speaker, Update};
use crate::rpc::{RpcError, Ticket, error};

use super::options::Told;
use super::{Feed, Session, Sessions, State};

impl Listener for Sessions {
    fn fact(&mut self, core: &mut Core<'_>, session: Option<SessionKey>, fact: Fact<'_>) -> Heard {
        match fact {
            Fact::TextGrew {
                speaker,
                message_id,
                start,
                text,
                reset,
            } => {
                return self.shown(core, session, |projection| {
                    projection.text_grew(speaker, message_id, start, text, reset)
                });
            }
            Fact::TextCompleted {
                speaker,
                message_id,
                length,
            } => {
                return self.shown(core, session, |projection| {
                    projection.text_completed(speaker, message_id, length)
                });
            }
            Fact::TextIs {
                speaker,
                message_id,
                text,
            } => {
                return self.shown(core, session, |projection| {
                    projection.text_is(speaker, message_id, text)
                });
            }
            Fact::Said(said) => self.show(core, session, &said.update()),
            Fact::Picture {
                speaker,
                message_id,
                mime_type,
                data,
            } => {
                let update = Update::Picture {
                    speaker,
                    message_id,
                    mime_type,
                    data,
                };
                self.show(core, session, &update);
            }
            Fact::Card(report) => self.card(core, session, &report),
            Fact::Subagent(subagent) => self.subagent(core, session, &subagent),
            Fact::Inside { id, fact } => self.inside(core, session, id, *fact),
            Fact::Task(task) => self.task(core, session, &task),
            Fact::TaskStopped { ticket, stopped } => {
                self.editor.task_stopped(core, ticket, stopped);
            }
            Fact::Tool(fact) => {
                return self.shown(core, session, |projection| projection.tool(fact));
            }
            Fact::Asks { dialog } => {
                if let Some(key) = session {
                    return self.asks(core, key, dialog);
                }
            }
            Fact::Withdrawn { dialog } => {
                if let Some(key) = session {
                    self.withdrawn(core, key, dialog);
                }
            }
            Fact::Visited { id } => {
                if self.shown_session(session).is_some() {
                    self.editor.visited(core, id);
                }
            }
            Fact::Settled { turn_id, outcome } => {
                if let Some(key) = session {
                    self.settled(core, key, turn_id, outcome);
                }
            }
            Fact::Plan { entries } => {
                if let Some(session) = self.shown_session(session) {
                    let id = session.id.clone();
                    self.editor.plan(core, &id, &entries);
                }
            }
            Fact::Usage(usage) => {
                if let Some(session) = self.shown_session(session) {
                    let id = session.id.clone();
                    self.editor.usage(core, &id, &usage);
                }
            }
            Fact::Skills { session_id, skills } => {
                if self.owned.contains_key(session_id) && !self.ending {
                    self.editor.commands(core, session_id, &skills);
                }
            }
            Fact::Noticed { text } => self.noticed(core, session, &text),
            Fact::More(more) => self.more(core, session, &more),
            Fact::Titled {
                title,
                updated_at,
                again,
            } => {
                if let Some(key) = session {
                    self.titled(core, key, title, updated_at.as_deref(), again);
                }
            }
            Fact::Created {
                ticket,
                session_id,
                title,
                cwd,
                options,
                about,
            } => {
                let told = options.as_ref().map(Told::of).unwrap_or_default();
                self.adopt(session_id.clone(), title, cwd, told);
                self.editor
                    .created(core, ticket, &session_id, options.as_ref(), about);
            }
            Fact::Loaded {
                ticket,
                title,
                options,
            } => self.loaded(core, ticket, title, options.as_ref()),
            Fact::Began { turn_id, silent } => {
                if let Some(key) = session {
                    self.began(key, turn_id, silent);
                }
            }
            Fact::Seeded => {
                let session = session.and_then(|key| self.open.get_mut(&key));
                if let Some(turn) = session.and_then(|it| it.running.as_mut()) {
                    turn.seeded();
                }
            }
            Fact::Past { turn_id, fact } => {
                if let Some(key) = session {
                    self.past(core, key, turn_id, *fact);
                }
            }
            Fact::PastOver { end } => {
                if let Some(key) = session {
                    self.past_over(core, key, end);
                }
            }
            Fact::Raw { method, message } => {
                if let Some((key, session)) = self.shown_mut(session) {
                    let id = session.id.clone();
                    self.editor.raw(core, &id, method, message);
                    self.pause_if_slow(key);
                }
            }
            Fact::Options(options) => {
                if let Some(key) = session {
                    self.options_are(core, key, &options);
                }
            }
            Fact::Configured {
                ticket,
                by,
                options,
            } => self.configured(core, session, ticket, by, &options),
            Fact::Done { ticket } => self.editor.closed(core, ticket),
            Fact::Providers { ticket, providers } => {
                self.editor.providers(core, ticket, &providers);
            }
            Fact::Watched { ticket, watch } => self.editor.watched(core, ticket, watch),
            Fact::Changed {
                watch,
                sessions,
                removed,
            } => {
                if !self.ending {
                    self.editor.changed(core, watch, &sessions, &removed);
                }
            }
            Fact::SignedIn(account) => self.signed_in(core, account),
            Fact::Deleted { ticket } => self.editor.closed(core, ticket),
            Fact::Listed { ticket, page } => self.editor.listed(core, ticket, &page),
            Fact::Refused { ticket, failure } if self.load_refused(core, ticket, &failure) => {}
            Fact::Steered { ticket, running } => {
                let steered = if running {
                    Steered::Running
                } else {
                    Steered::NewTurn
                };
                self.steered(core, ticket, steered);
            }
            Fact::Unsteered { ticket, content } => {
                if let Some(key) = session {
                    self.unsteered(core, key, ticket, content);
                }
            }
            Fact::Refused { ticket, failure } => {
                self.steers.remove(&ticket);
                self.goals.remove(&ticket);
                self.editor.refuse(core, ticket, &refusal(&failure));
            }
            Fact::Closed { ticket, failure } => {
                self.all_closed(core, session, ticket, failure.as_ref());
            }
            Fact::Ended => {}
        }
        Heard::Fine
    }

    fn can_ask(&self, means: Means) -> bool {
        self.means(means)
    }

    fn command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }
}

impl Sessions {
    pub(super) fn shown(
        &mut self,
        core: &mut Core<'_>,
        session: Option<SessionKey>,
        into: impl FnOnce(&mut Projection) -> Result<(), Failure>,
    ) -> Heard {
        let Some((key, session)) =
            session.and_then(|key| self.open.get_mut(&key).map(|session| (key, session)))
        else {
            return Heard::Fine;
        };
        let Some(prompt) = &mut session.running else {
            return Heard::Fine;
        };
        match prompt.take(into) {
            Ok(()) => prompt.show(core, &mut self.editor, &session.id),
            Err(Failure::StreamGap) => return Heard::Gap,
            Err(failure) => {
                core.note(
                    Level::Warn,
                    format!("the turn cannot be shown any more ({failure:?})"),
                );
                // Another client's turn is not ours to stop.
                if prompt.ticket().is_some() {
                    self.commands.push_back(Command::Stop { session: key });
                }
            }
        }
        if prompt.held() > limits::HELD_TEXT && session.feed == Feed::Flowing {
            session.feed = Feed::Paused;
            self.commands.push_back(Command::Pause { session: key });
        }
        Heard::Fine
    }

    /// The session, if the editor still wants to see something of it.
    pub(super) fn shown_session(&self, key: Option<SessionKey>) -> Option<&Session> {
        let session = self.open.get(&key?)?;
        (self.shows(session) && !self.ending).then_some(session)
    }

    /// ACP v1 has no notice that every client shows: it is told as a thought of its own.
    fn noticed(&mut self, core: &mut Core<'_>, key: Option<SessionKey>, text: &str) {
        let message_id = core.uuid();
        let _fine = self.shown(core, key, |projection| {
            projection.text_is(Speaker::Thought, &message_id, text)
        });
    }

    /// The turn is over: closes what is open on the screen, then answers.
    fn settled(&mut self, core: &mut Core<'_>, key: SessionKey, turn_id: &str, outcome: Outcome) {
        let Some(outcome) = self.settled_given(core, key, turn_id, outcome) else {
            return;
        };
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        if session
            .running
            .as_ref()
            .is_none_or(|prompt| prompt.turn_id() != turn_id)
        {
            return;
        }
        let Some(mut prompt) = session.running.take() else {
            return;
        };
        let end = match &outcome {
            Outcome::Completed | Outcome::Ended { .. } => End::Completed,
            Outcome::Failed { .. } | Outcome::Broken { .. } | Outcome::Recorded { .. } => {
                End::Failed
            }
            Outcome::Aborted { .. } | Outcome::Stopped => End::Cancelled,
        };
        let showing = !session.closing() && !self.ending;
        let finished = if prompt.unshowable().is_none() {
            prompt.finish(end)
        } else {
            Ok(())
        };
        if showing && prompt.unshowable().is_none() {
            prompt.show_all(core, &mut self.editor, &session.id);
        }
        if core::mem::replace(&mut session.feed, Feed::Flowing) == Feed::Paused {
            self.commands.push_back(Command::Resume { session: key });
        }
        let Some(ticket) = prompt.ticket() else {
            return self.next(core, key);
        };
        if prompt.cancelled() {
            self.editor.stopped(core, ticket, StopReason::Cancelled);
        } else if let Some(failure) = prompt.unshowable().or(finished.err()) {
            self.fail(core, key, ticket, &unshowable(&failure));
        } else {
            self.answer(core, key, ticket, outcome);
        }
        self.next(core, key);
    }

    /// A close was answered: so are those that asked for the same, and what waited for it.
    fn all_closed(
        &mut self,
        core: &mut Core<'_>,
        session: Option<SessionKey>,
        ticket: Ticket,
        failure: Option<&host::Failure>,
    ) {
        let session = session.and_then(|key| self.open.remove(&key));
        self.closed(core, ticket, failure);
        if let Some(Session {
            id,
            state: State::Closing { again },
            ..
        }) = session
        {
            for ticket in again {
                self.closed(core, ticket, failure);
            }
            self.remember_closed(&id);
            self.next_load(&id);
        }
    }

    fn closed(&mut self, core: &mut Core<'_>, ticket: Ticket, failure: Option<&host::Failure>) {
        let deleting = self.deleting.remove(&ticket);
        let archiving = self.archiving.remove(&ticket);
        match (failure, deleting) {
            (Some(failure), _) => self.editor.refuse(core, ticket, &refusal(failure)),
            (None, Some(session_id)) => self
                .commands
                .push_back(Command::Delete { ticket, session_id }),
            (None, None) => match archiving {
                Some(session_id) => self.archive(ticket, session_id),
                None => self.editor.closed(core, ticket),
            },
        }
    }

    pub(super) fn answer(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        ticket: Ticket,
        outcome: Outcome,
    ) {
        match outcome {
            Outcome::Ended { ending, spent } => {
                self.answer_ended(core, ticket, ending, spent.as_ref());
            }
            Outcome::Completed => self.editor.stopped(core, ticket, StopReason::EndTurn),
            Outcome::Aborted { source } => {
                core.note(Level::Info, format!("the Host ended the turn: {source}"));
                self.editor.stopped(core, ticket, StopReason::Cancelled);
            }
            Outcome::Stopped => self.editor.stopped(core, ticket, StopReason::Cancelled),
            Outcome::Failed { class, message } => {
                let error = failed(&class, message.as_deref());
                self.fail(core, key, ticket, &error);
            }
            Outcome::Broken { failure } => self.fail(core, key, ticket, &refusal(&failure)),
            Outcome::Recorded { record, spent } => {
                self.fail_recorded(core, key, ticket, record, spent.as_ref());
            }
        }
    }

    /// The name of a session; one that is told `again` is told although it is the same.
    fn titled(
        &mut self,
        core: &mut Core<'_>,
        key: SessionKey,
        title: String,
        at: Option<&str>,
        again: bool,
    ) {
        let Some(session) = self.open.get_mut(&key) else {
            return;
        };
        if again {
            session.title.clear();
        }
        if session.state != State::Owned || self.ending || session.title == title {
            return;
        }
        self.editor.titled(core, &session.id, &title, at);
        session.title = title;
    }
}

/// A Host's refusal, as the editor gets it (Maka adapter, section 4.2).
pub(super) fn refusal(failure: &host::Failure) -> RpcError {
    let code = match failure.blame {
        host::Blame::Request => error::INVALID_PARAMS,
        host::Blame::Absent => error::NOT_FOUND,
        host::Blame::Host => error::INTERNAL,
        host::Blame::SignedOut => error::AUTH_REQUIRED,
    };
    let mut error = RpcError::new(code, failure.message.clone());
    error.data = Some(failure.data.clone()).filter(|data| !data.is_empty());
    error
}

/// A turn that the Host says has failed (decision: the reason is told, not hidden).
fn failed(class: &str, message: Option<&str>) -> RpcError {
    // A Host that has no words says its code again.
    let said = message.filter(|said| *said != class && !said.trim().is_empty());
    let words = match said {
        Some(message) => format!("The turn failed ({class}): {message}"),
        None => format!("The turn failed ({class})."),
    };
    RpcError::with(
        error::INTERNAL,
        words,
        object! { "source": "runtime_host", "failureClass": class, "message": message },
    )
}

/// What the Host sent cannot be shown (Maka adapter, section 4.1).
fn unshowable(failure: &Failure) -> RpcError {
    RpcError::with(
        error::INTERNAL,
        format!("{failure}"),
        object! { "source": "adapter", "code": failure.code() },
    )
}
