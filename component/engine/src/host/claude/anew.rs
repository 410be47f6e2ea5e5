//! A plan that is carried out in a context that begins anew (Claude adapter, section 10): the
//! process that planned is told no, its turn ends, and a fresh one goes on with the plan. To
//! the editor it is one session and one prompt.
//!
//! Invariants: a prompt that waits is not lost, and no process gets it twice; a cancel before
//! the fresh process has the plan means that none of it happened: the conversation goes on
//! where it was.

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
use super::records::Notice;
use super::replace::Why;
use super::session::{Session, Stage};
use super::turns::{How, Settled};
use super::usage::Meter;
use super::wire::part;
use super::{Claude, prompt};
use crate::host::more::Severity;
use crate::host::{Cx, Outcome};
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
    /// This is the fresh one, which may not have taken the plan in.
    Begun { left: Left },
    /// The editor cancelled before it had.
    Back(Left),
}

impl Anew {
    /// Whether another process is to take this one's place.
    pub fn stirs(&self) -> bool {
        matches!(self, Anew::Due { .. } | Anew::Back(_))
    }
}

/// The conversation that a plan leaves behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Left {
    /// The id under which the program has it, if another one than the session's.
    own: Option<String>,
    /// How permissions were asked for there.
    mode: Option<String>,
    /// The process that had it.
    by: Channel,
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

    /// This message is not wanted any more.
    pub(super) fn unwanted(&mut self, uuid: &str) {
        self.unread.retain(|it| it.uuid != uuid);
    }

    /// The process has taken this message in.
    pub(super) fn read_in(&mut self, uuid: &str) {
        self.unwanted(uuid);
        if self.left().is_some() {
            self.anew = Anew::No;
            self.said_something();
        }
    }

    /// The conversation that is left behind, as long as the plan may not have reached the
    /// fresh process, which has stored nothing then.
    pub(super) fn left(&self) -> Option<&Left> {
        match &self.anew {
            Anew::Begun { left } => Some(left),
            _ => None,
        }
    }

    /// The id under which the program has what was said in it.
    pub fn kept_as(&self) -> &str {
        match self.left() {
            Some(left) => left.own.as_deref().unwrap_or(&self.id),
            None => self.stored_as(),
        }
    }

    /// The editor cancels before the fresh process has the plan. False if there is none.
    pub(super) fn turns_back(&mut self, cx: &mut Cx<'_, '_>) -> bool {
        let Some(left) = self.left().filter(|_| !self.leaves()).cloned() else {
            return false;
        };
        self.tell_turn_back(cx);
        self.abort_turns(cx);
        self.drop_overviews(cx, &Outcome::cancelled());
        self.anew = Anew::Back(left);
        true
    }

    fn tell_turn_back(&mut self, cx: &mut Cx<'_, '_>) {
        let title = "Plan not begun";
        let text = "You cancelled before the plan was begun: the conversation goes on where it was, with the plan in it.";
        let id = cx.core.uuid();
        let notice = Notice {
            severity: Severity::Info,
            title,
            text,
            words: &format!("**{title}:** {text}"),
            id: &id,
            meta: None,
        };
        self.notify(cx, notice);
    }

    /// A process for the conversation that this one was to leave behind.
    fn back(&mut self, cx: &mut Cx<'_, '_>, left: Left) -> Session {
        let mut heir = self.heir(cx, Stage::Anew, self.setup.clone());
        heir.extras = self.extras.clone();
        self.hand_over(cx, &mut heir, Why::Plan);
        heir.goes_back(left);
        heir.title_of_before();
        heir
    }

    /// It takes up the conversation that a plan was to leave behind, when the process that
    /// had it is gone.
    pub(super) fn goes_back(&mut self, left: Left) {
        self.own = left.own;
        self.before = left.mode;
        self.stored = true;
        self.after = Some(left.by);
    }

    /// A fresh process for this session, which takes everything over but the conversation.
    fn renewed(&mut self, cx: &mut Cx<'_, '_>, turn: &str, plan: Plan) -> Session {
        let mut fresh = self.heir(cx, Stage::Anew, self.setup.clone());
        fresh.extras = self.extras.clone();
        // A turn has run there: it is stored, whatever was known of it before.
        let left = Left {
            own: self.own.clone(),
            mode: fresh.before.take(),
            by: self.channel,
        };
        fresh.own = Some(cx.core.uuid());
        fresh.before = Some(plan.mode);
        if self.stored {
            fresh.planned = Some(self.stored_as().to_owned());
        }
        fresh.stored = false;
        fresh.forked = None;
        fresh.extras.resume_at = None;
        self.no_goal(cx);
        self.hand_over(cx, &mut fresh, Why::Plan);
        fresh.turns = core::mem::take(&mut self.turns);
        let unread = core::mem::take(&mut self.unread);
        // It begins with nothing in mind, and in nobody's way.
        fresh.cards.reset(&mut Vec::new());
        fresh.meter = Meter::default();
        fresh.after = None;
        let prompts = unread.iter().filter(|it| it.prompt);
        let prompts: Vec<&str> = prompts.map(|it| it.uuid.as_str()).collect();
        let over = fresh.turns.begin_anew(turn, &prompts);
        fresh.title_of_plan(&plan.text);
        let text = format!("Implement the following plan:\n\n{}", plan.text);
        let block = object! { "type": "text", "text": text };
        let line = prompt::message(&fresh.id, turn, &[block], None);
        fresh.send(cx, turn, true, &line);
        fresh.unread.extend(unread);
        fresh.settle(cx, over, None);
        // What was over with the old process says nothing of this one.
        fresh.anew = Anew::Begun { left };
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
    /// Starts fresh processes where they are due, and goes back where they are not wanted.
    pub(super) fn renew(&mut self, cx: &mut Cx<'_, '_>) {
        let due = |session: &Session| session.anew.stirs();
        let due = self.sessions.iter().filter(|(_, session)| due(session));
        let due: Vec<Channel> = due.map(|(channel, _)| *channel).collect();
        for channel in due {
            let Some(session) = self.sessions.get_mut(&channel) else {
                continue;
            };
            let heir = match core::mem::take(&mut session.anew) {
                Anew::Due { turn, plan } => {
                    let mut fresh = session.renewed(cx, &turn, plan);
                    fresh.launch(cx, &self.program, &self.environment);
                    fresh
                }
                // It starts when the process that planned is gone (`bury`).
                Anew::Back(left) => session.back(cx, left),
                Anew::No | Anew::Ending { .. } | Anew::Begun { .. } => continue,
            };
            self.succeed(heir);
        }
    }
}
