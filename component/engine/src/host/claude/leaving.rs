//! The end of a session: the editor lets go, the process goes by itself, or it does not go
//! when asked.
//!
//! Invariant: whoever waits is answered first, and no process outlives its session.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::control::Purpose;
use super::session::{Session, Stage};
use super::turns::{How, Settled, Turns};
use super::{Due, failure};
use crate::effect::{Effect, HostDeparture};
use crate::host::more::Unknown;
use crate::host::{Cx, Fact, Failure, Outcome};
use crate::limits;
use crate::object;
use crate::rpc::Ticket;

impl Session {
    /// It exited, and its output has not ended: what it started may hold its pipe for ever.
    pub(super) fn outlived(&mut self, cx: &mut Cx<'_, '_>) {
        self.disarm(cx);
        self.timer = Some(cx.arm(Due::Gone(self.channel), limits::CLAUDE_LEAVING_MS));
    }

    /// Lets go: what runs is cancelled and answered, the process ends.
    pub fn close(&mut self, cx: &mut Cx<'_, '_>, ticket: Option<Ticket>) {
        match self.stage {
            Stage::Live | Stage::Anew => {
                if self.stage.is_live() {
                    self.request(cx, Purpose::Nothing, &object! { "subtype": "interrupt" });
                }
                self.stage = Stage::Ending(ticket);
                self.abort(cx);
                self.leave(cx);
            }
            Stage::Starting(waiting) => {
                cx.answer(Fact::Refused {
                    ticket: waiting,
                    failure: failure::ended(),
                });
                self.stage = Stage::Ending(ticket);
                self.leave(cx);
            }
            Stage::Gone | Stage::Over => {
                self.stage = Stage::Over;
                self.closed(cx, ticket);
            }
            Stage::Ending(None) => self.stage = Stage::Ending(ticket),
            Stage::Ending(Some(waiting)) if ticket.is_none() => {
                self.stage = Stage::Ending(None);
                self.closed(cx, Some(waiting));
            }
            Stage::Ending(Some(_)) => self.closed(cx, ticket),
        }
    }

    /// Whether nobody waits for it.
    pub fn let_go(&self) -> bool {
        matches!(self.stage, Stage::Ending(None) | Stage::Gone | Stage::Over)
    }

    /// Every prompt is cancelled at once.
    pub(super) fn abort_turns(&mut self, cx: &mut Cx<'_, '_>) {
        let open: Vec<String> = self.turns.unsettled().map(ToOwned::to_owned).collect();
        self.turns = Turns::default();
        self.not_anew();
        self.unread.clear();
        let cancelled = |uuid| Settled {
            uuid,
            how: How::Cancelled,
        };
        self.files_unknown(cx, Unknown::Cancelled);
        self.settle(cx, open.into_iter().map(cancelled).collect(), None);
    }

    /// Everything that is open comes to nothing.
    pub(super) fn abort(&mut self, cx: &mut Cx<'_, '_>) {
        self.abort_turns(cx);
        self.drop_overviews(cx, &Outcome::cancelled());
        self.withdraw_all(cx);
        self.drop_renames(cx);
        self.drop_settings(cx, &failure::ended());
    }

    /// Asks the process to end; kills it when it does not.
    pub(super) fn leave(&mut self, cx: &mut Cx<'_, '_>) {
        self.disarm(cx);
        self.drop_outputs(cx, false);
        if self.after.is_some() {
            // It was not started, and will not be.
            return;
        }
        for departure in [HostDeparture::Terminate, HostDeparture::Finish] {
            cx.core.effect(Effect::Host(self.channel, departure));
        }
        self.timer = Some(cx.arm(Due::Gone(self.channel), limits::CLAUDE_LEAVING_MS));
    }

    /// A timer is due.
    pub fn due(&mut self, cx: &mut Cx<'_, '_>, due: Due) {
        match due {
            Due::Greeting(_) => {
                self.timer = None;
                if matches!(self.stage, Stage::Starting(_) | Stage::Anew) {
                    let failure = failure::silent(&self.said);
                    self.gone(cx, &failure);
                    cx.core
                        .effect(Effect::Host(self.channel, HostDeparture::Close));
                }
            }
            Due::Backstop { turn, .. } => {
                self.backstops.remove(&turn);
                let settled = self.turns.backstop(&turn);
                self.texts.over();
                self.settle(cx, settled, None);
            }
            Due::Overview { turn, .. } => self.overview_due(cx, &turn),
            Due::Compact(_) => self.compact(cx),
            Due::Setting(_) => self.setting_due(cx),
            Due::SignIn(_) => self.sign_ins_due(cx),
            Due::Output { task, .. } => self.output_due(cx, &task),
            // No session's.
            Due::Side(_) | Due::Inquiry(_) | Due::Look(_) => {}
            Due::Files { turn, .. } => self.files_known(cx, &turn, Err(Unknown::Timeout)),
            Due::Gone(_) => {
                self.timer = None;
                if self.stage == Stage::Live && self.exit.is_some() && self.paused {
                    // What it said last is still to be read.
                    self.outlived(cx);
                } else {
                    self.lost(cx);
                }
            }
        }
    }

    /// Ends the process at once, and forgets it.
    pub fn kill(&mut self, cx: &mut Cx<'_, '_>) {
        if self.stage != Stage::Over {
            self.lost(cx);
            self.stage = Stage::Over;
        }
    }

    /// Waits no longer for the process, or for its pipe.
    fn lost(&mut self, cx: &mut Cx<'_, '_>) {
        if self.after.is_none() {
            let close = HostDeparture::Close;
            cx.core.effect(Effect::Host(self.channel, close));
        }
        let failure = match self.exit {
            Some(code) => self.exited(code),
            None => failure::ended(),
        };
        self.gone(cx, &failure);
    }

    /// Why it ended, as far as that is known.
    pub(super) fn exited(&self, code: Option<i32>) -> Failure {
        match self.more.shutting_down {
            true => failure::worker_shutdown(),
            false => failure::exited(code, &self.said),
        }
    }

    /// The process is gone, or as good as gone.
    pub(super) fn gone(&mut self, cx: &mut Cx<'_, '_>, failure: &Failure) {
        self.disarm(cx);
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Starting(ticket) => cx.answer(Fact::Refused {
                ticket,
                failure: failure.clone(),
            }),
            stage @ (Stage::Live | Stage::Anew) => {
                self.why = Some(failure.clone()).filter(|_| stage == Stage::Anew);
                self.fail(cx, failure);
                // The editor still owns the session: its prompts are answered with an error.
                self.stage = Stage::Gone;
            }
            Stage::Ending(ticket) => self.closed(cx, ticket),
            Stage::Gone => self.stage = Stage::Gone,
            Stage::Over => {}
        }
    }

    /// Every prompt that is open has failed.
    fn fail(&mut self, cx: &mut Cx<'_, '_>, failure: &Failure) {
        self.tasks_lost(cx);
        self.drop_outputs(cx, true);
        self.compaction_stopped(cx);
        self.close_calls(cx);
        let open: Vec<String> = self.turns.unsettled().map(ToOwned::to_owned).collect();
        self.turns = Turns::default();
        let failed = Outcome::Broken {
            failure: failure.clone(),
        };
        self.drop_overviews(cx, &failed);
        self.withdraw_all(cx);
        self.drop_renames(cx);
        self.files_unknown(cx, Unknown::Failed);
        self.drop_settings(cx, failure);
        for (_, timer) in core::mem::take(&mut self.backstops) {
            cx.core.disarm(timer);
        }
        for uuid in open {
            let outcome = Outcome::Broken {
                failure: failure.clone(),
            };
            self.ended(cx, &uuid, outcome, None);
        }
    }

    pub(super) fn withdraw_all(&mut self, cx: &mut Cx<'_, '_>) {
        self.drop_all_previews(cx);
        self.drop_sign_ins(cx);
        for dialog in self.permissions.take_all() {
            self.tell(cx, Fact::Withdrawn { dialog: &dialog });
        }
    }

    fn closed(&self, cx: &mut Cx<'_, '_>, ticket: Option<Ticket>) {
        if let Some(ticket) = ticket {
            self.tell(
                cx,
                Fact::Closed {
                    ticket,
                    failure: None,
                },
            );
        }
    }
}
