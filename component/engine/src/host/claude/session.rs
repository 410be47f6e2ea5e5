//! One session: its process from the start to the end, and what is asked of it.
//!
//! Invariants: a prompt that was taken is settled whatever becomes of the process; a process
//! that does not end when asked is killed.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::anew::{Anew, Unread};
use super::cards::{Cards, Setting};
use super::commands::Commands;
use super::configure::Configuring;
use super::control::{Control, Purpose};
use super::environment::Environment;
use super::extras::Extras;
use super::more::Beyond;
use super::options::Panel;
use super::output::Outputs;
use super::overviews::Overviews;
use super::permissions::Permissions;
use super::standing::Remembered;
use super::starting::Again;
use super::stored::Child;
use super::tasks::Tasks;
use super::text::Texts;
use super::titles::Title;
use super::turns::{How, Settled, Turns};
use super::usage::Meter;
use super::{failure, prompt};
use crate::admission::Content;
use crate::effect::{Effect, HostDeparture, Level};
use crate::host::aside::Subagents;
use crate::host::dialog::Reply;
use crate::host::{Cx, Ending, Fact, Failure, Heard, Outcome, SessionKey, Setup, Spent};
use crate::input::{Channel, HostArrival, Timer};
use crate::json::Object;
use crate::limits;
use crate::line::{Line, Lines};
use crate::object;
use crate::rpc::Ticket;

/// A session.
#[derive(Debug, Serialize, Deserialize)]
pub struct Session {
    pub(super) id: String,
    /// The id under which the program knows it, if another one.
    pub(super) own: Option<String>,
    pub(super) key: Option<SessionKey>,
    pub(super) cwd: String,
    pub(super) program: String,
    pub(super) channel: Channel,
    pub(super) lines: Lines,
    pub(super) stage: Stage,
    /// The process in whose place it starts, when that is gone.
    pub(super) after: Option<Channel>,
    /// Whether a fresh process is to take its place.
    pub(super) anew: Anew,
    /// What it may not have taken in.
    pub(super) unread: Vec<Unread>,
    /// What of the greeting waits for the settings.
    pub(super) greeting: Option<Box<RawValue>>,
    /// What can be set; known when the session is live.
    pub(super) panel: Option<Panel>,
    /// What was set in the process in whose place it starts.
    pub(super) panel_before: Option<Box<Panel>>,
    /// Names of the user's that wait until it is there.
    pub(super) renames: Vec<(Ticket, String)>,
    pub(super) configuring: Configuring,
    pub(super) commands: Commands,
    pub(super) environment: Environment,
    pub(super) timer: Option<Timer>,
    /// The end of what it said on stderr.
    pub(super) said: String,
    pub(super) exit: Option<Option<i32>>,
    /// Why it could not take the place of another one.
    pub(super) why: Option<Failure>,
    /// Its output is left with it, because the editor is slow.
    pub(super) paused: bool,
    pub(super) control: Control,
    pub(super) can: Abilities,
    pub(super) turns: Turns,
    pub(super) texts: Texts,
    pub(super) meter: Meter,
    pub(super) permissions: Permissions,
    pub(super) cards: Cards,
    pub(super) tasks: Tasks,
    pub(super) outputs: Outputs,
    /// What turns took that are done, but wait for their subagents.
    pub(super) spent: BTreeMap<String, (Ending, Spent)>,
    /// What the last answer says of the API, if it failed.
    pub(super) api_error: Option<String>,
    /// The card of a compaction that runs.
    pub(super) compaction: Option<String>,
    /// The card of one that ended, and whose figures are still to come.
    pub(super) compaction_told: Option<String>,
    /// Something was shown since the last result.
    pub(super) shown: bool,
    pub(super) backstops: BTreeMap<String, Timer>,
    pub(super) title: Title,
    pub(super) overviews: Overviews,
    /// When the settings were read.
    pub(super) settings_read: u64,
    /// Tools without a result yet.
    pub(super) dispatched: BTreeSet<String>,
    /// When this is due, the context is made smaller.
    pub(super) idle: Option<Timer>,
    /// It was, since the last prompt.
    pub(super) rested: bool,
    /// Where it works, and with what.
    pub(super) setup: Setup,
    /// What the client says to the program alone.
    pub(super) extras: Extras,
    /// What is kept for editors that are shown more.
    pub(super) more: Beyond,
    /// For an index of sessions.
    pub(super) remembered: Remembered,
    /// Something was said in it, under the id that the program has for it.
    pub(super) stored: bool,
    /// The session that it goes on from as another one, until something is said.
    pub(super) forked: Option<String>,
    /// The id of the file of the conversation whose plan is carried out here.
    pub(super) planned: Option<String>,
    /// It was stored: a load tells when it is there.
    pub(super) again: bool,
    /// How permissions were asked for in it before.
    pub(super) before: Option<String>,
}

/// How far the process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// It starts; `session/new` waits.
    Starting(Ticket),
    /// It takes the place of another one, and starts; prompts wait.
    Anew,
    /// It takes prompts.
    Live,
    /// It was asked to end; perhaps `session/close` waits.
    Ending(Option<Ticket>),
    /// It is gone; the editor does not know yet.
    Gone,
    /// Nothing is left to do.
    Over,
}

impl Stage {
    /// Whether prompts and settings are taken.
    pub(super) fn is_live(&self) -> bool {
        *self == Stage::Live
    }
}

/// What this version of the program does.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Abilities {
    /// It tells how far it is with a prompt.
    pub lifecycle: bool,
    /// Its requests name their prompts.
    pub markers: bool,
    /// It tells an answer of the user from none.
    pub unanswered: bool,
}

impl Session {
    /// A session whose process is not started yet.
    pub(super) fn new(cx: &mut Cx<'_, '_>, stage: Stage, setup: Setup, again: Again) -> Session {
        let Again {
            id,
            resume,
            mode,
            own,
            forked,
        } = again;
        Session {
            id,
            own,
            key: None,
            cwd: setup.cwd.clone(),
            program: String::new(),
            channel: cx.core.channel(),
            lines: Lines::default(),
            stage,
            after: None,
            anew: Anew::No,
            unread: Vec::new(),
            greeting: None,
            panel: None,
            panel_before: None,
            renames: Vec::new(),
            configuring: Configuring::default(),
            commands: Commands::default(),
            environment: Environment::default(),
            timer: None,
            said: String::new(),
            exit: None,
            why: None,
            paused: false,
            control: Control::default(),
            can: Abilities::default(),
            turns: Turns::default(),
            texts: Texts::new(Subagents::of(&setup.client).whole()),
            meter: Meter::default(),
            permissions: Permissions::default(),
            cards: Cards::new(Setting::of(&setup, false)),
            tasks: Tasks::default(),
            outputs: Outputs::new(),
            spent: BTreeMap::new(),
            api_error: None,
            compaction: None,
            compaction_told: None,
            shown: false,
            backstops: BTreeMap::new(),
            title: Title::default(),
            overviews: Overviews::default(),
            settings_read: cx.core.now.monotonic,
            dispatched: BTreeSet::new(),
            idle: None,
            rested: false,
            extras: Extras::of(&setup),
            setup,
            remembered: Remembered::default(),
            stored: resume,
            forked,
            planned: None,
            more: Beyond::default(),
            again: true,
            before: mode,
        }
    }

    /// Where its process is.
    pub fn channel(&self) -> Channel {
        self.channel
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The sessions know it now.
    pub fn known_as(&mut self, key: SessionKey) {
        self.key = Some(key);
    }

    /// Whether it takes prompts.
    pub fn is_live(&self) -> bool {
        self.stage == Stage::Live
    }

    /// Whether it takes prompts, and starts in the place of another process.
    pub fn is_anew(&self) -> bool {
        self.stage == Stage::Anew
    }

    /// Where it works, and with what.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Whether it takes prompts no more.
    pub fn leaves(&self) -> bool {
        !matches!(self.stage, Stage::Starting(_) | Stage::Anew | Stage::Live)
    }

    /// Whether it takes prompts, or will, and works there and with these already.
    pub fn serves(&self, setup: &Setup) -> bool {
        let servers = |setup: &Setup| {
            let mut servers = setup.servers.clone();
            servers.sort_by(|a, b| a.name.cmp(&b.name));
            servers
        };
        !self.leaves()
            && !matches!(self.stage, Stage::Starting(_))
            && self.setup.cwd == setup.cwd
            && self.setup.folders == setup.folders
            && self.setup.custom == setup.custom
            && servers(&self.setup) == servers(setup)
            && self.extras.serves(&Extras::of(setup))
    }

    /// How permissions are asked for now.
    pub fn mode(&self) -> Option<&str> {
        self.panel.as_ref().map(Panel::mode)
    }

    /// What was shown of it before it was taken up again.
    pub fn remembers(&mut self, cards: Cards, children: Vec<Child>) {
        self.meets_again(children);
        self.cards = cards;
        self.cards.go_on();
    }

    /// It is there again, and what was before has been shown.
    pub fn loaded(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket) {
        self.introduce(cx);
        self.tell(
            cx,
            Fact::Loaded {
                ticket,
                title: String::new(),
                options: self.panel.as_ref().map(Panel::options),
            },
        );
        self.tell_commands(cx);
        self.look_at_servers(cx);
        self.tell_again(cx);
    }

    /// Whether another process has its place.
    pub(super) fn is_replaced(&self) -> bool {
        self.key.is_none() && matches!(self.stage, Stage::Ending(_))
    }

    /// Whether nothing is left to do.
    pub fn over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// A fact about it, once the sessions know it.
    pub(super) fn tell(&self, cx: &mut Cx<'_, '_>, fact: Fact<'_>) {
        if let Some(key) = self.key {
            let _heard: Heard = cx.tell(key, fact);
        }
    }

    /// A line for the process.
    pub(super) fn write(&self, cx: &mut Cx<'_, '_>, line: &Object) {
        // Texts, numbers and objects: serialising them cannot fail.
        let bytes = serde_json::to_vec(line).unwrap_or_default();
        cx.core.host_line(self.channel, &bytes);
    }

    pub(super) fn request(&mut self, cx: &mut Cx<'_, '_>, purpose: Purpose, request: &Object) {
        let line = self.control.request(purpose, request);
        self.write(cx, &line);
    }

    /// Something came from the process.
    pub fn arrival(&mut self, cx: &mut Cx<'_, '_>, arrival: HostArrival) {
        match arrival {
            HostArrival::Opened(_) => self.greet(cx),
            HostArrival::Refused(refusal) => {
                let failure = failure::refused(&self.program, &self.cwd, &refusal);
                self.gone(cx, &failure);
            }
            HostArrival::Diagnostic(bytes) => self.diagnostic(&bytes),
            HostArrival::Exited(code) => {
                self.exit = Some(code);
                self.outlived(cx);
            }
            HostArrival::Ended(_) => {
                if self.exit.is_none() && !self.leaves() && !self.let_go() {
                    // It may live on without its pipe.
                    cx.core
                        .effect(Effect::Host(self.channel, HostDeparture::Close));
                }
                let failure = self.exited(self.exit.flatten());
                self.gone(cx, &failure);
            }
            // Its lines are handled one by one (`Claude::lines`).
            HostArrival::Bytes(_) | HostArrival::Response(..) | HostArrival::Drained(_) => {}
        }
    }

    /// A line trapped: what it began or ended is unknown, so the lines start anew.
    pub fn poisoned(&mut self, cx: &mut Cx<'_, '_>) {
        self.lines = Lines::default();
        cx.core
            .note(Level::Error, "a line of Claude Code could not be handled");
    }

    /// It says a line.
    pub(super) fn says(&mut self, cx: &mut Cx<'_, '_>, line: &Line<'_>) {
        match line {
            Line::Whole(line) => self.line(cx, line),
            Line::TooLong => cx.core.note(
                Level::Warn,
                "a line of Claude Code is longer than 32 MiB and was skipped",
            ),
        }
    }

    /// Whether more than it itself is to be seen to: its process is to be replaced, or
    /// nothing is left to do.
    pub(super) fn stirs(&self) -> bool {
        self.over() || self.anew.stirs()
    }

    fn diagnostic(&mut self, bytes: &[u8]) {
        self.said.push_str(&String::from_utf8_lossy(bytes));
        let keep = limits::CLAUDE_DIAGNOSTIC as usize;
        if self.said.len() > keep {
            let mut from = self.said.len() - keep;
            while !self.said.is_char_boundary(from) {
                from += 1;
            }
            self.said.drain(..from);
        }
    }

    /// A prompt.
    pub fn prompt(&mut self, cx: &mut Cx<'_, '_>, turn_id: String, content: &Content) {
        let failure = match (&self.stage, prompt::content(&content.blocks)) {
            (Stage::Live | Stage::Anew, Ok(blocks)) => {
                let line = prompt::message(&self.id, &turn_id, &blocks, None);
                self.send(cx, &turn_id, true, &line);
                self.turns.prompt(&turn_id);
                self.tasks.noted = None;
                self.wakes(cx);
                self.look_again(cx);
                self.wants_files(&turn_id, content.report.as_ref());
                self.warn_first(cx);
                let words = prompt::words(&content.blocks);
                self.overviews.prompt(&turn_id, &words);
                self.goal_asked(cx, &turn_id, &words);
                self.title(cx, &words);
                return;
            }
            (Stage::Live | Stage::Anew, Err(what)) => failure::unreadable(&what),
            _ => self.why.clone().unwrap_or_else(failure::ended),
        };
        self.ended(cx, &turn_id, Outcome::Broken { failure }, None);
    }

    /// The editor cancels (section 9.1).
    pub fn cancel(&mut self, cx: &mut Cx<'_, '_>) {
        if self.turns_back(cx) {
            return;
        }
        if self.stage == Stage::Anew {
            // The process has got nothing yet.
            self.abort_turns(cx);
            self.drop_overviews(cx, &Outcome::cancelled());
        }
        if self.stage != Stage::Live {
            return;
        }
        let cancelled = self.turns.cancel();
        self.permissions.cancelled();
        self.withdraw_sign_ins(cx);
        self.not_anew();
        self.unread.clear();
        self.dispatched.clear();
        self.drop_overviews(cx, &Outcome::cancelled());
        self.compaction_stopped(cx);
        self.cancel_tasks(cx);
        self.settle(cx, cancelled.settled, None);
        for turn in cancelled.running {
            self.arm_backstop(cx, &turn);
        }
        for uuid in cancelled.abandoned {
            let request = object! { "subtype": "cancel_async_message", "message_uuid": uuid };
            self.request(cx, Purpose::Nothing, &request);
        }
        let purpose = Purpose::Interrupt(cancelled.number);
        self.request(cx, purpose, &object! { "subtype": "interrupt" });
    }

    /// What the user said.
    pub fn replied(&mut self, cx: &mut Cx<'_, '_>, dialog: &str, reply: &Reply) {
        if self.sign_in_replied(cx, dialog, reply) {
            return;
        }
        self.child_answered(cx, dialog);
        self.settle_question(cx, dialog, Some(reply));
        if let Some((line, plan)) = self.permissions.reply(dialog, reply) {
            self.carry_out(cx, plan);
            self.write(cx, &line);
        }
    }

    /// Settles prompts; `result` is what the result that just came says.
    pub(super) fn settle(
        &mut self,
        cx: &mut Cx<'_, '_>,
        settled: Vec<Settled>,
        result: Option<&(Outcome, Option<Spent>)>,
    ) {
        let settled = self.but_anew(settled);
        // A call that has no result by now gets none; a stream that broke off leaves such.
        if !settled.is_empty() && !self.turns.active() {
            self.close_calls(cx);
            self.dispatched.clear();
            self.remembered.ended(cx.core.now.wall);
        }
        for Settled { uuid, how } in settled {
            if let Some(timer) = self.backstops.remove(&uuid) {
                cx.core.disarm(timer);
            }
            match how {
                How::Cancelled | How::NoResult => self.unwanted(&uuid),
                _ => self.read_in(&uuid),
            }
            let held = self.spent.remove(&uuid);
            let cancelled = |spent| Outcome::Ended {
                ending: Ending::Cancelled,
                spent,
            };
            let outcome = match how {
                How::Result => {
                    result.map_or_else(|| cancelled(None), |(outcome, _)| outcome.clone())
                }
                How::Stopped => cancelled(result.and_then(|(_, spent)| spent.clone())),
                How::Cancelled => cancelled(None),
                How::HeldCancelled => cancelled(held.map(|(_, spent)| spent)),
                How::HeldResult => match held {
                    Some((ending, spent)) => Outcome::Ended {
                        ending,
                        spent: Some(spent),
                    },
                    None => cancelled(None),
                },
                How::NoResult => Outcome::Broken {
                    failure: failure::no_result(),
                },
            };
            let spent = result.and_then(|(_, spent)| spent.clone());
            self.ended(cx, &uuid, outcome, spent);
        }
    }

    /// Reads on, or leaves bytes with the process while the editor is slow (rule R7).
    pub fn read(&mut self, cx: &mut Cx<'_, '_>, on: bool) {
        self.paused = !on;
        // One that takes another's place has to greet first.
        if self.stage != Stage::Anew && self.after.is_none() {
            let read = HostDeparture::Read(on);
            cx.core.effect(Effect::Host(self.channel, read));
        }
    }

    pub(super) fn disarm(&mut self, cx: &mut Cx<'_, '_>) {
        for timer in self.timer.take().into_iter().chain(self.idle.take()) {
            cx.core.disarm(timer);
        }
    }

    /// For the log.
    pub(super) fn note(&self, cx: &mut Cx<'_, '_>, what: &str) {
        cx.core.note(Level::Debug, format!("Claude Code: {what}"));
    }
}
