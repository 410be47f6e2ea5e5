//! One process takes the place of another one, under the same session: with a fresh context
//! (`anew`), on another way to the models (`restart`), or with another setup (a load).
//!
//! Whatever the reason, what only the old process could have done is ended and answered
//! before anything is handed over, and the heir gets the rest: the only lists of both are
//! here. An heir that has the same conversation starts when the old process is gone; until it
//! is there, what is asked of the session waits in it.
//!
//! Invariants: no two processes have the same conversation; nobody who waits is forgotten,
//! and nobody is answered by both.

use alloc::vec::Vec;

use super::anew::Anew;
use super::cards::Setting;
use super::control::Purpose;
use super::modes::BYPASS;
use super::session::{Session, Stage};
use super::starting::Again;
use super::{Claude, failure};
use crate::host::more::Unknown;
use crate::host::{Cx, Setup};
use crate::input::Channel;
use crate::object;
use crate::rpc::Ticket;

/// Why a process goes that was at work: another one takes its place, or it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The models are to come from elsewhere.
    Provider,
    /// A plan is carried out with a fresh context, or is not after all.
    Plan,
    /// It is loaded, and to work in another way.
    Load,
    /// It ended by itself.
    Gone,
}

impl Session {
    /// Whether nothing is under way that a replacement would cut off, but for work in the
    /// background, which may go on for ever.
    pub(super) fn may_be_replaced(&self) -> bool {
        match self.stage {
            // It was told nothing yet.
            Stage::Anew => true,
            Stage::Live => {
                self.turns.unsettled().next().is_none()
                    && !self.turns.active()
                    && self.tasks.own.is_none()
                    && !self.overviews.is_making()
                    && !self.more.reports.is_waiting()
                    && !self.configuring.is_open()
            }
            _ => false,
        }
    }

    /// A process for the same conversation, not started yet.
    pub(super) fn heir(&self, cx: &mut Cx<'_, '_>, stage: Stage, setup: Setup) -> Session {
        let mode = match &self.panel {
            Some(panel) => Some(panel.mode()),
            None => self.before.as_deref(),
        };
        let own = self.own.clone().map(|own| match self.stored {
            true => own,
            // Whether that one has a file is not known: a new one has none.
            false => cx.core.uuid(),
        });
        let again = Again {
            id: self.id.clone(),
            resume: self.stored,
            mode: mode.map(Into::into),
            own,
            forked: self.forked.clone(),
        };
        let loads = stage != Stage::Anew;
        let mut heir = Session::new(cx, stage, setup, again);
        if heir.extras.no_bypass {
            heir.before = heir.before.filter(|mode| mode != BYPASS);
        }
        heir.again = loads;
        heir.planned = self.planned.clone();
        heir
    }

    /// A load found the session working otherwise, or no more: what is open is cancelled, and
    /// another process takes it up. `stored` is whether there is anything to take up.
    pub(super) fn otherwise(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        setup: &Setup,
        stored: bool,
    ) -> Session {
        let left = self.left().filter(|_| stored).cloned();
        let own = self.own.clone().filter(|_| stored);
        let mut heir = self.heir(cx, Stage::Starting(ticket), setup.clone());
        heir.own = own.or(heir.own);
        heir.stored = stored;
        if self.leaves() {
            self.close(cx, None);
            self.give(&mut heir);
            heir.after = Some(self.channel);
        } else {
            if self.is_live() {
                self.request(cx, Purpose::Nothing, &object! { "subtype": "interrupt" });
            }
            self.abort(cx);
            self.anew = Anew::No;
            self.hand_over(cx, &mut heir, Why::Load);
        }
        if let Some(left) = left {
            heir.goes_back(left);
        }
        heir
    }

    /// What only this process could have done is ended and answered; the rest goes to `heir`,
    /// and the process leaves. What it still says is to nobody.
    pub(super) fn hand_over(&mut self, cx: &mut Cx<'_, '_>, heir: &mut Session, why: Why) {
        self.end_work(cx, why);
        self.give(heir);
        heir.after = match self.after.take() {
            // It never started itself.
            Some(older) => {
                self.disarm(cx);
                self.stage = Stage::Over;
                Some(older)
            }
            None => {
                if self.paused {
                    // Its end is to be heard.
                    self.read(cx, true);
                }
                self.stage = Stage::Ending(None);
                self.leave(cx);
                Some(self.channel)
            }
        };
    }

    /// What another process can go on with.
    fn give(&mut self, heir: &mut Session) {
        heir.key = self.key.take();
        heir.title = core::mem::take(&mut self.title).unasked();
        heir.remembered = core::mem::take(&mut self.remembered);
        // Who is signed in is for the new one to say.
        heir.remembered.account = None;
        heir.overviews = core::mem::take(&mut self.overviews);
        heir.more = core::mem::take(&mut self.more);
        heir.more.ask_again();
        heir.tasks = core::mem::take(&mut self.tasks);
        heir.cards = self.cards.hand_over(Setting::of(&heir.setup, false));
        heir.commands = core::mem::take(&mut self.commands);
        heir.meter = core::mem::take(&mut self.meter);
        heir.spent = core::mem::take(&mut self.spent);
        heir.renames = core::mem::take(&mut self.renames);
        heir.renames.extend(self.control.take_renames());
        self.configuring.hand_over(&mut heir.configuring);
        heir.panel_before = match self.panel.take() {
            Some(panel) => Some(panel.into()),
            None => self.panel_before.take(),
        };
        heir.rested = self.rested;
        heir.paused = self.paused;
        if self.stage == Stage::Anew {
            heir.anew = core::mem::take(&mut self.anew);
            heir.turns = core::mem::take(&mut self.turns);
            heir.unread = core::mem::take(&mut self.unread);
        }
        self.id.clear();
        self.own = None;
    }

    /// Everything that ends with the process, while the session still hears of it.
    fn end_work(&mut self, cx: &mut Cx<'_, '_>, why: Why) {
        // A report that is made may want to know of files in its turn: it goes first.
        self.finish_overviews(cx);
        self.files_unknown(cx, Unknown::Failed);
        self.withdraw_all(cx);
        self.compaction_stopped(cx);
        self.end_tasks(cx, why);
        self.drop_outputs(cx, true);
        self.close_calls(cx);
        self.drop_setting(cx, &failure::anew());
        for (_, timer) in core::mem::take(&mut self.backstops) {
            cx.core.disarm(timer);
        }
    }

    /// The process that takes the place of another one is there: it is set as the old one was,
    /// and gets what waits.
    pub(super) fn take_over(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(before) = self.panel_before.take()
            && let Some(panel) = &mut self.panel
        {
            let changes = panel.as_before(&before);
            for change in changes {
                self.request(cx, Purpose::Nothing, &change.request());
            }
        }
        if !self.again {
            self.introduce(cx);
            self.tell_options(cx);
            self.tell_commands(cx);
            if !self.unread.is_empty() {
                self.warn_first(cx);
            }
        }
        self.title_again(cx);
        for (ticket, title) in core::mem::take(&mut self.renames) {
            self.rename(cx, ticket, title);
        }
        self.say_unread(cx);
        if self.paused {
            self.read(cx, false);
        }
    }
}

impl Claude {
    /// An heir takes the place of the process on this channel.
    pub(super) fn succeed(&mut self, heir: Session) {
        let channel = heir.channel();
        if let Some(key) = heir.key {
            self.keys.insert(key, channel);
        }
        self.sessions.insert(channel, heir);
    }

    /// Forgets sessions whose process is gone and whose answers are given; starts those that
    /// waited for that.
    pub(super) fn bury(&mut self, cx: &mut Cx<'_, '_>) {
        loop {
            let over = self.sessions.iter().filter(|(_, session)| session.over());
            let over: Vec<Channel> = over.map(|(channel, _)| *channel).collect();
            for channel in &over {
                self.sessions.remove(channel);
                self.keys.retain(|_, it| it != channel);
            }
            let there = |channel: &Channel| self.sessions.contains_key(channel);
            let due = self.sessions.iter();
            let due = due.filter(|(_, it)| it.after.as_ref().is_some_and(|old| !there(old)));
            let due: Vec<Channel> = due.map(|(channel, _)| *channel).collect();
            if due.is_empty() {
                return;
            }
            let (program, environment) = (&self.program, &self.environment);
            for channel in due {
                if let Some(session) = self.sessions.get_mut(&channel) {
                    session.launch(cx, program, environment);
                }
            }
        }
    }
}
