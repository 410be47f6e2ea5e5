//! One turn of ours: what is known of it, and what has to happen next.
//!
//! [`Turn::step`] is the whole rule: it looks at the facts and names the one thing that is
//! due. Invariants: `turn.start` is sent at most once, `turn.stop` is sent at most once and
//! only with the exact run, and the turn is settled exactly once.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::failure;
use super::parcel::ParcelId;
use super::unread::Unread;
use super::wire::current as w;
use crate::host::{Failure, Outcome};
use crate::input::Timer;
use crate::json::Object;
use crate::limits;

/// A turn of the session: ours, or another client's that is looked at.
#[derive(Debug, Serialize, Deserialize)]
pub struct Turn {
    /// Chosen by us.
    pub id: String,
    /// What the user wrote.
    pub text: String,
    /// What of it people see, where that is less.
    pub display: Option<String>,
    /// As the Host wants to hear of them.
    pub attachments: Vec<Box<RawValue>>,
    /// What has to be uploaded before it is sent.
    pub parcel: Option<ParcelId>,
    /// What is known of its admission.
    pub admission: Admission,
    /// Whether a snapshot showed it as the session's root turn.
    pub seen_as_root: bool,
    /// The watermark when it was sent: its rows come after it.
    pub cut: Option<u64>,
    /// How it ended, as the Host says.
    pub ended: Option<Ended>,
    /// Whether everything stored was read after the end.
    pub finale: Finale,
    /// Its tools without a stored result.
    pub unread: Unread,
    /// Why it is given up.
    pub breaking: Option<Failure>,
    /// The one Stop.
    pub stop: Stop,
    /// What was told last of the Host's own attempts.
    pub notice: Option<String>,
    /// Through which row it goes, once it has ended.
    pub end_at: Option<u64>,
    /// Set where it is another client's.
    pub watch: Option<Watch>,
}

/// A turn of another client, which is looked at and never stopped.
#[derive(Debug, Serialize, Deserialize)]
pub struct Watch {
    /// Whether a row of it was read.
    pub found: bool,
    /// How much of it is not to be shown.
    pub seeding: Seeding,
    /// Whether some of it was not shown.
    pub partial: bool,
}

impl Watch {
    /// Before any of it was read.
    pub fn new(seeding: Seeding) -> Watch {
        Watch {
            found: false,
            seeding,
            partial: seeding != Seeding::Over,
        }
    }
}

/// How much of a turn is not to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seeding {
    /// Nothing more.
    Over,
    /// Rows through this one: the editor has them.
    Through(u64),
    /// Everything that was there when it was first looked at.
    UntilRead,
}

/// What is known of a turn's admission.
#[derive(Debug, Serialize, Deserialize)]
pub enum Admission {
    /// Nothing was sent.
    Preparing,
    /// `turn.start` is on its way.
    Asked,
    /// Its answer was lost; `turn.query` finds out.
    Unknown(Query),
    /// It runs, or ran.
    Admitted { run_id: String },
    /// It certainly does not run.
    Refused,
    /// Nobody can say.
    Untold(Failure),
}

/// The reader of a lost admission.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Query {
    /// Attempts that failed.
    pub failed: u64,
    /// The pause before the next.
    pub pause: Option<Timer>,
    /// Data of the last failure.
    pub cause: Option<Object>,
}

/// How a turn ended, as the Host says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ended {
    /// Well.
    Completed,
    /// With a class and perhaps a message.
    Failed {
        class: String,
        message: Option<String>,
    },
    /// By somebody.
    Aborted { source: String },
}

/// Reading everything stored after the end, from the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finale {
    /// The turn still goes on.
    NotYet,
    /// To be begun.
    Due,
    /// Begun.
    Reading,
    /// Done.
    Done,
}

/// The one Stop of a turn.
#[derive(Debug, Serialize, Deserialize)]
pub enum Stop {
    /// Nobody wants it.
    No,
    /// Wanted, not sent: the run is not known yet.
    Wanted,
    /// On its way.
    Sent,
    /// Answered, or not needed; with why it failed.
    Done(Option<Failure>),
}

/// The one thing that is due.
#[derive(Debug)]
pub enum Step {
    /// Nothing: a fact is missing.
    Wait,
    /// Send `turn.stop` for this run.
    SendStop(String),
    /// Read everything stored, from the cut.
    Reread,
    /// It is over.
    Settle(Outcome),
}

impl Turn {
    /// Before anything was sent.
    pub fn new(id: String, text: String) -> Turn {
        Turn {
            id,
            text,
            display: None,
            attachments: Vec::new(),
            parcel: None,
            admission: Admission::Preparing,
            seen_as_root: false,
            cut: None,
            ended: None,
            finale: Finale::NotYet,
            unread: Unread::default(),
            breaking: None,
            stop: Stop::No,
            end_at: None,
            watch: None,
            notice: None,
        }
    }

    /// A turn of another client, which runs.
    pub fn watched(id: String, run_id: String, seeding: Seeding) -> Turn {
        Turn {
            admission: Admission::Admitted { run_id },
            seen_as_root: true,
            watch: Some(Watch::new(seeding)),
            ..Turn::new(id, String::new())
        }
    }

    /// Whether it is ours.
    pub fn ours(&self) -> bool {
        self.watch.is_none()
    }

    /// Whether it is another client's, and no row of it was read.
    pub fn unfound(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| !watch.found)
    }

    /// Whether `turn.start` was sent.
    pub fn dispatched(&self) -> bool {
        !matches!(self.admission, Admission::Preparing)
    }

    /// Whether the Host's frames about it are still of interest.
    pub fn observed(&self) -> bool {
        self.dispatched() && self.breaking.is_none()
    }

    /// Somebody wants it to end.
    pub fn want_stop(&mut self) {
        if self.ours() && matches!(self.stop, Stop::No) {
            self.stop = Stop::Wanted;
        }
    }

    /// It cannot go on; the first reason stays.
    pub fn break_off(&mut self, failure: Failure) {
        if self.breaking.is_none() {
            self.breaking = Some(failure);
        }
        if self.ours() {
            self.want_stop();
        } else {
            // It goes on; only nobody looks at it any more.
            self.stop = Stop::Done(None);
        }
    }

    /// The Host's word on it.
    pub fn told(&mut self, turn: &w::Turn<'_>) {
        if !matches!(self.admission, Admission::Admitted { .. }) {
            self.admission = Admission::Admitted {
                run_id: turn.run_id.clone().into_owned(),
            };
        }
        if !w::live(&turn.status) && self.ended.is_none() {
            self.end(match &*turn.status {
                "completed" => Ended::Completed,
                "failed" => Ended::Failed {
                    class: turn
                        .failure_class
                        .clone()
                        .unwrap_or("unknown".into())
                        .into_owned(),
                    message: turn.failure_message.clone().map(Into::into),
                },
                _ => Ended::Aborted {
                    source: turn
                        .abort_source
                        .clone()
                        .unwrap_or("unknown".into())
                        .into_owned(),
                },
            });
        }
    }

    /// It ended.
    pub fn end(&mut self, ended: Ended) {
        if ended == Ended::Completed && self.finale == Finale::NotYet {
            self.finale = Finale::Due;
        }
        self.ended = Some(ended);
    }

    /// The feed is gone: a finale that was begun on it is begun anew on the next.
    pub fn reread(&mut self) {
        if self.finale == Finale::Reading {
            self.finale = Finale::Due;
        }
    }

    /// A question what became of it failed. Gives the pause before the next in
    /// milliseconds; after the last there is none, and nobody can say.
    pub fn query_failed(&mut self, cause: Object) -> Option<u64> {
        let Admission::Unknown(query) = &mut self.admission else {
            return None;
        };
        query.failed += 1;
        query.cause = Some(cause);
        if query.failed < limits::MAKA_ADMISSION_QUERIES {
            return Some(limits::MAKA_ADMISSION_WAIT_MS << (query.failed - 1));
        }
        let failure = failure::outcome_unknown(query.failed, query.cause.take());
        self.admission = Admission::Untold(failure);
        None
    }

    /// What is due.
    pub fn step(&self) -> Step {
        match &self.stop {
            Stop::No => self.step_unstopped(),
            Stop::Wanted => match (&self.admission, &self.ended) {
                (Admission::Admitted { run_id }, None) => Step::SendStop(run_id.clone()),
                (Admission::Asked | Admission::Unknown(_), None) => Step::Wait,
                // Ended, never sent, certainly refused, or untold: there is nothing to stop.
                _ => Step::Settle(self.given_up()),
            },
            Stop::Sent => Step::Wait,
            Stop::Done(_) => Step::Settle(self.given_up()),
        }
    }

    /// Why it may still run: its Stop failed, or nobody can say whether it was admitted.
    pub fn unstopped(&self) -> Option<&Failure> {
        match (&self.admission, &self.stop) {
            (Admission::Untold(failure), _) | (_, Stop::Done(Some(failure))) => Some(failure),
            _ => None,
        }
    }

    fn step_unstopped(&self) -> Step {
        match (&self.ended, self.finale) {
            (None, _) | (Some(Ended::Completed), Finale::NotYet | Finale::Reading) => Step::Wait,
            (Some(Ended::Completed), Finale::Due) => Step::Reread,
            (Some(Ended::Completed), Finale::Done) => Step::Settle(Outcome::Completed),
            (Some(Ended::Failed { class, message }), _) => Step::Settle(Outcome::Failed {
                class: class.clone(),
                message: message.clone(),
            }),
            (Some(Ended::Aborted { source }), _) => Step::Settle(Outcome::Aborted {
                source: source.clone(),
            }),
        }
    }

    /// The outcome after a Stop: an unknown admission is worse news than what broke it.
    fn given_up(&self) -> Outcome {
        match (&self.breaking, &self.admission) {
            (Some(_), Admission::Untold(failure)) | (Some(failure), _) => Outcome::Broken {
                failure: failure.clone(),
            },
            (None, _) => Outcome::Stopped,
        }
    }
}
