//! What a session works towards (Claude adapter, section 14): told as the program says it,
//! and before that as it was asked for.
//!
//! Invariant: what the program says of an earlier goal does not undo a later wish.

use alloc::borrow::ToOwned;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::records::read;
use super::session::Session;
use super::wire::more::ActiveGoal;
use crate::host::more::{Goal, More};
use crate::host::{Cx, Ending, Fact, Outcome};

/// The goal of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Goals {
    now: Option<Goal>,
    /// The prompt that asks for another one, with what there was before it.
    asked: Option<(String, Option<Goal>)>,
}

impl Session {
    /// A prompt may ask for a goal, or for none.
    pub(super) fn goal_asked(&mut self, cx: &mut Cx<'_, '_>, turn: &str, words: &str) {
        let Some(rest) = words.trim().strip_prefix("/goal") else {
            return;
        };
        let wish = rest.trim();
        // Without a wish it only asks how the goal stands.
        if wish.is_empty() || !rest.starts_with(char::is_whitespace) {
            return;
        }
        let goal = (wish != "clear").then(|| Goal {
            objective: wish.to_owned(),
            status: "active".to_owned(),
            iterations: None,
            last_reason: None,
            created_at: None,
        });
        let goals = &mut self.more.goals;
        let before = core::mem::replace(&mut goals.now, goal);
        goals.asked = Some((turn.to_owned(), before));
        self.tell_goal(cx);
    }

    /// `active_goal`.
    pub(super) fn goal_is(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let ActiveGoal { value } = read(line);
        let goal = value.and_then(|state| {
            Some(Goal {
                objective: state.condition?.into_owned(),
                status: "active".to_owned(),
                iterations: state.iterations,
                last_reason: state.last_reason.map(|it| it.into_owned()),
                created_at: state.set_at,
            })
        });
        let goals = &mut self.more.goals;
        let objective = |goal: &Option<Goal>| goal.as_ref().map(|it| it.objective.clone());
        if goals.asked.is_some() && objective(&goal) != objective(&goals.now) {
            return;
        }
        goals.asked = None;
        if goals.now != goal {
            goals.now = goal;
            self.tell_goal(cx);
        }
    }

    /// The prompt that asked for it is over; if it failed, nothing came of it.
    pub(super) fn goal_settled(&mut self, cx: &mut Cx<'_, '_>, turn: &str, outcome: &Outcome) {
        let goals = &mut self.more.goals;
        let Some((_, before)) = goals.asked.take_if(|(asked, _)| asked == turn) else {
            return;
        };
        let well = matches!(outcome, Outcome::Ended { ending, .. } if *ending != Ending::Cancelled);
        if !well {
            goals.now = before;
            self.tell_goal(cx);
        }
    }

    /// The process that comes has none.
    pub(super) fn no_goal(&mut self, cx: &mut Cx<'_, '_>) {
        if core::mem::take(&mut self.more.goals).now.is_some() {
            self.tell_goal(cx);
        }
    }

    fn tell_goal(&self, cx: &mut Cx<'_, '_>) {
        if self.setup.client.extras.on {
            let goal = self.more.goals.now.clone();
            self.tell(cx, Fact::More(More::Goal(goal)));
        }
    }
}
