//! A plan that is carried out in a context that begins anew (Claude adapter, section 10): the
//! process that planned is told no, its turn ends, and a fresh one goes on with the plan. To
//! the editor it is one session and one prompt.
//!
//! Invariants: a prompt that waits is not lost, and no process gets it twice; a cancel before
//! the fresh process is there means that none of it happens.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::choices::{Answer, Clears};
use super::control::Purpose;
use super::options::Panel;
use super::session::{Again, Session, Stage};
use super::turns::{How, Settled};
use super::wire::part;
use super::{Claude, failure, prompt};
use crate::host::Cx;
use crate::input::Channel;
use crate::json::Object;
use crate::{limits, object};

/// What the user wants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// What is to be done.
    text: String,
    /// How permissions are asked for.
    mode: String,
}

impl Plan {
    /// The plan of a tool use, if that is what the user chose.
    pub fn of(answer: &Answer, input: Option<&RawValue>) -> Option<Plan> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Input<'a> {
            #[serde(borrow)]
            plan: Cow<'a, str>,
        }
        let Answer::Clear { mode } = answer else {
            return None;
        };
        let Input { plan } = part(input);
        Some(Plan {
            text: plan.into_owned(),
            mode: mode.clone(),
        })
    }
}

/// How far it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Anew {
    /// Nothing of the kind.
    #[default]
    No,
    /// The turn that planned has still to end in the old process.
    Ending { turn: String, plan: Plan },
    /// It has: a fresh process is to be started.
    Due { turn: String, plan: Plan },
    /// The process is fresh, and gets this when it is there.
    Fresh { before: Box<Panel> },
}

/// A message that the process may not have taken in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unread {
    uuid: String,
    /// It is a prompt, and not a message into one.
    prompt: bool,
    line: Box<RawValue>,
}

impl Session {
    /// Whether the user is asked if the context is to begin anew.
    pub(super) fn clears(&self, panel: &Panel, aside: bool) -> Clears {
        if aside || !panel.clears() || self.turns.front().is_none() {
            return Clears::No;
        }
        Clears::Yes(self.meter.share())
    }

    /// The user answered; perhaps a plan is to be carried out anew. What waits in the old
    /// process is taken back before the turn ends there, so that nothing begins in between.
    pub(super) fn carry_out(&mut self, cx: &mut Cx<'_, '_>, plan: Option<Plan>) {
        let Some((plan, turn)) = plan.zip(self.turns.front().map(ToOwned::to_owned)) else {
            return;
        };
        let waiting: Vec<String> = self.unread.iter().map(|it| it.uuid.clone()).collect();
        for uuid in waiting {
            let request = object! { "subtype": "cancel_async_message", "message_uuid": uuid };
            self.request(cx, Purpose::Nothing, &request);
        }
        self.arm_backstop(cx, &turn);
        self.anew = Anew::Ending { turn, plan };
    }

    /// Turns that are over, but for the one that goes on in a fresh process.
    pub(super) fn but_anew(&mut self, settled: Vec<Settled>) -> Vec<Settled> {
        let Anew::Ending { turn, plan } = &self.anew else {
            return settled;
        };
        let goes_on = |it: &Settled| it.uuid == *turn;
        if !settled.iter().any(goes_on) {
            return settled;
        }
        let (turn, plan) = (turn.clone(), plan.clone());
        let waits = |it: &Settled| {
            it.how == How::NoResult && self.unread.iter().any(|unread| unread.uuid == it.uuid)
        };
        let rest = settled.into_iter();
        let rest = rest.filter(|it| it.uuid != turn && !waits(it)).collect();
        self.anew = Anew::Due { turn, plan };
        rest
    }

    /// The editor cancels, or everything ends: no process is to be started.
    pub(super) fn not_anew(&mut self) {
        if let Anew::Ending { .. } = self.anew {
            self.anew = Anew::No;
        }
    }

    /// A message for the process, which keeps what it may not have taken in.
    pub(super) fn send(&mut self, cx: &mut Cx<'_, '_>, uuid: &str, prompt: bool, line: &Object) {
        if self.stage.is_live() {
            self.write(cx, line);
        }
        self.more.sent.add(uuid);
        self.unread.push(Unread {
            uuid: uuid.to_owned(),
            prompt,
            // Texts alone: serialising them cannot fail.
            line: to_raw_value(line).unwrap_or_default(),
        });
    }

    /// The process has taken this message in, or it is not wanted any more.
    pub(super) fn read_in(&mut self, uuid: &str) {
        self.unread.retain(|it| it.uuid != uuid);
    }

    /// A fresh process for this session, which takes everything over but the conversation.
    fn renewed(&mut self, cx: &mut Cx<'_, '_>, program: &str, turn: &str, plan: Plan) -> Session {
        let failure = failure::anew();
        self.close_calls(cx);
        self.withdraw_all(cx);
        self.drop_settings(cx, &failure);
        for (_, timer) in core::mem::take(&mut self.backstops) {
            cx.core.disarm(timer);
        }
        let again = Again {
            id: self.id.clone(),
            resume: false,
            mode: Some(plan.mode),
            forked: None,
            own: Some(cx.core.uuid()),
            replaces: true,
        };
        let environment = self.environment.clone();
        let setup = self.setup.clone();
        let mut fresh = Session::start_in(cx, program, &environment, Stage::Anew, setup, again);
        fresh.key = self.key.take();
        fresh.again = true;
        fresh.turns = core::mem::take(&mut self.turns);
        let prompts = self.unread.iter().filter(|it| it.prompt);
        let prompts: Vec<&str> = prompts.map(|it| it.uuid.as_str()).collect();
        let over = fresh.turns.begin_anew(turn, &prompts);
        self.finish_overviews(cx);
        fresh.overviews = core::mem::take(&mut self.overviews);
        fresh.title = core::mem::take(&mut self.title).unasked();
        fresh.remembered = core::mem::take(&mut self.remembered);
        fresh.stored = true;
        fresh.commands = self.commands.clone();
        let text = format!("Implement the following plan:\n\n{}", plan.text);
        let block = object! { "type": "text", "text": text };
        let line = prompt::message(&self.id, turn, &[block], None);
        fresh.send(cx, turn, true, &line);
        fresh.unread.append(&mut self.unread);
        fresh.spent = core::mem::take(&mut self.spent);
        fresh.settle(cx, over, None);
        if let Some(before) = self.panel.take() {
            let before = Box::new(before);
            fresh.anew = Anew::Fresh { before };
        }
        // What the old one still says is to nobody.
        self.id.clear();
        self.stage = Stage::Ending(None);
        self.leave(cx);
        fresh
    }

    /// The fresh process is there: it is set as the old one was, and gets what waits.
    pub(super) fn begin_anew(&mut self, cx: &mut Cx<'_, '_>) {
        if let Anew::Fresh { before } = core::mem::take(&mut self.anew)
            && let Some(panel) = &mut self.panel
        {
            let changes = panel.as_before(&before);
            for change in changes {
                self.request(cx, Purpose::Nothing, &change.request());
            }
            self.tell_options(cx);
        }
        self.tell_commands(cx);
        for Unread { line, .. } in &self.unread {
            cx.core.host_line(self.channel, line.get().as_bytes());
        }
    }

    pub(super) fn arm_backstop(&mut self, cx: &mut Cx<'_, '_>, turn: &str) {
        if !self.backstops.contains_key(turn) {
            let due = super::Due::Backstop {
                channel: self.channel,
                turn: turn.to_owned(),
            };
            let timer = cx.arm(due, limits::CLAUDE_BACKSTOP_MS);
            self.backstops.insert(turn.to_owned(), timer);
        }
    }
}

impl Claude {
    /// Starts fresh processes where they are due.
    pub(super) fn renew(&mut self, cx: &mut Cx<'_, '_>) {
        let due = |session: &Session| matches!(session.anew, Anew::Due { .. });
        let due = self.sessions.iter().filter(|(_, session)| due(session));
        let due: Vec<Channel> = due.map(|(channel, _)| *channel).collect();
        for channel in due {
            let Some(session) = self.sessions.get_mut(&channel) else {
                continue;
            };
            let Anew::Due { turn, plan } = core::mem::take(&mut session.anew) else {
                continue;
            };
            let key = session.key;
            let fresh = session.renewed(cx, &self.program, &turn, plan);
            if let Some(key) = key {
                self.keys.insert(key, fresh.channel());
            }
            self.sessions.insert(fresh.channel(), fresh);
        }
    }
}
