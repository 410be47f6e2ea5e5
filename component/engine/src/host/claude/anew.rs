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
use super::session::{Session, Stage};
use super::turns::{How, Settled};
use super::usage::Meter;
use super::wire::part;
use super::{Claude, prompt};
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
            self.said_something();
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
    fn renewed(&mut self, cx: &mut Cx<'_, '_>, turn: &str, plan: Plan) -> Session {
        let mut fresh = self.heir(cx, Stage::Anew, self.setup.clone());
        fresh.extras = self.extras.clone();
        fresh.own = Some(cx.core.uuid());
        fresh.before = Some(plan.mode);
        if self.stored {
            fresh.planned = Some(self.stored_as().to_owned());
        }
        fresh.stored = false;
        fresh.forked = None;
        fresh.extras.resume_at = None;
        self.no_goal(cx);
        self.hand_over(cx, &mut fresh);
        fresh.turns = core::mem::take(&mut self.turns);
        let unread = core::mem::take(&mut self.unread);
        // It begins with nothing in mind, and in nobody's way.
        fresh.cards.reset(&mut Vec::new());
        fresh.meter = Meter::default();
        fresh.after = None;
        let prompts = unread.iter().filter(|it| it.prompt);
        let prompts: Vec<&str> = prompts.map(|it| it.uuid.as_str()).collect();
        let over = fresh.turns.begin_anew(turn, &prompts);
        let text = format!("Implement the following plan:\n\n{}", plan.text);
        let block = object! { "type": "text", "text": text };
        let line = prompt::message(&fresh.id, turn, &[block], None);
        fresh.send(cx, turn, true, &line);
        fresh.unread.extend(unread);
        fresh.settle(cx, over, None);
        fresh
    }

    /// What waits is said, now that somebody is there.
    pub(super) fn say_unread(&mut self, cx: &mut Cx<'_, '_>) {
        for Unread { line, .. } in &self.unread {
            cx.core.host_line(self.channel, line.get().as_bytes());
        }
        if !self.unread.is_empty() {
            self.said_something();
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
            let mut fresh = session.renewed(cx, &turn, plan);
            fresh.launch(cx, &self.program, &self.environment);
            self.succeed(fresh);
        }
    }
}
