//! Questions of the Host to the user: checked, told to the sessions, answered, resolved.
//!
//! A question lives in the snapshot. It is checked with `interaction.query` before the user
//! is asked, and the Host alone says how it was resolved, whoever answered. Invariants: a
//! question is asked once and its outcome is shown once; a turn that is being stopped is
//! fenced before the Stop goes out, and stays fenced until the Host shows its end; what
//! cannot be answered is never answered.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::effect::Level;
use crate::host::dialog::{Dialog, Reply};
use crate::host::{Fact, Failure, SessionKey};
use crate::json::{self, Object};
use crate::limits;
use crate::object;
use crate::projection::{AskStatus, Asking, ToolFact};

use super::calls::Purpose;
use super::questions::{self, Whose};
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Maka, failure};

/// The code for what this editor, or this epoch, cannot ask.
const UNSUPPORTED: &str = "unsupported_interaction";

/// What is known of the questions of one session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Interactions {
    known: Vec<Known>,
    /// Turns of which nothing is asked any more, oldest first.
    fenced: VecDeque<String>,
    /// Questions whose outcome was shown, oldest first.
    published: VecDeque<String>,
}

/// A question as a snapshot showed it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    id: String,
    session_id: Option<String>,
    turn_id: String,
    run_id: String,
    request: Box<RawValue>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Known {
    asked: Pending,
    dialog: Dialog,
    stage: Stage,
}

#[derive(Debug, Serialize, Deserialize)]
enum Stage {
    /// `interaction.query` is on its way; `gone`: it left the snapshot since.
    Checking { gone: bool },
    /// The user is asked.
    Asked,
    /// `interaction.answer` is on its way.
    Answering { answer: Object },
    /// It is resolved; `interaction.query` is on its way for the outcome.
    Resolving,
    /// The connection went with the request on its way: the next snapshot decides.
    Lost { answer: Option<Object> },
}

/// What is wrong with a question.
enum Wrong<'a> {
    /// With this code of the adapter.
    Code(&'static str),
    /// The Host did not do its part.
    Host(&'a Answer<'a>, &'static str),
}

impl Pending {
    /// As a snapshot shows it.
    pub fn of(told: &w::Interaction<'_>) -> Pending {
        Pending {
            id: told.interaction_id.to_string(),
            session_id: told.session_id.as_deref().map(ToOwned::to_owned),
            turn_id: told.turn_id.to_string(),
            run_id: told.run_id.to_string(),
            request: told.request.to_owned(),
        }
    }

    /// Whether the Host speaks of the same question.
    fn is(&self, told: &w::Interaction<'_>) -> bool {
        self.id == told.interaction_id
            && self.session_id.as_deref() == told.session_id.as_deref()
            && self.turn_id == told.turn_id
            && self.run_id == told.run_id
            && json::same(&self.request, told.request)
    }
}

impl Interactions {
    fn at(&mut self, id: &str) -> Option<&mut Known> {
        self.known.iter_mut().find(|known| known.asked.id == id)
    }

    fn take(&mut self, id: &str) -> Option<Known> {
        let at = self.known.iter().position(|known| known.asked.id == id)?;
        Some(self.known.remove(at))
    }

    fn is_fenced(&self, turn_id: &str) -> bool {
        self.fenced.iter().any(|fenced| fenced == turn_id)
    }

    fn fence(&mut self, turn_id: &str) {
        if !self.is_fenced(turn_id) {
            remember(&mut self.fenced, turn_id, limits::MAKA_FENCES);
        }
    }

    /// The Host shows that this turn ended.
    pub fn lift(&mut self, turn_id: &str) {
        self.fenced.retain(|fenced| fenced != turn_id);
    }

    /// Questions that are being asked.
    fn count(&self) -> u64 {
        let open = |known: &&Known| !matches!(known.stage, Stage::Resolving);
        self.known.iter().filter(open).count() as u64
    }
}

impl Maka {
    /// Takes in all questions that a snapshot shows.
    pub(super) fn heed(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, pending: Vec<Pending>) {
        self.vanished(cx, key, &pending);
        for asked in pending {
            let known = self.interactions(key).and_then(|it| it.at(&asked.id));
            match known.map(|known| &mut known.stage) {
                None => {
                    if self.presents(key, &asked) && !self.present(cx, key, asked) {
                        return;
                    }
                }
                Some(Stage::Lost { answer }) => match answer.take() {
                    Some(answer) => self.send_answer(cx, key, &asked.id, answer),
                    None => self.check(cx, key, &asked.id, Stage::Checking { gone: false }),
                },
                Some(Stage::Checking { gone }) => *gone = false,
                Some(_) => {}
            }
        }
    }

    /// Whether the user of this connection is asked: only for our own turn, while it goes on.
    /// (Another client's turn is that client's; a session that is being watched asks too.)
    fn presents(&self, key: SessionKey, asked: &Pending) -> bool {
        let Some(attached) = self.feeds.get(&key) else {
            return false;
        };
        let ours = attached.turn.as_ref().is_some_and(|turn| {
            turn.id == asked.turn_id && turn.observed() && turn.ended.is_none()
        });
        let known = &attached.interactions;
        ours && !known.is_fenced(&asked.turn_id) && !known.published.contains(&asked.id)
    }

    /// A new question: what is wrong with it at first sight, then the Host's own word on it.
    /// Whether the turn goes on.
    fn present(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, asked: Pending) -> bool {
        let kind = questions::kind_of(&asked.request).into_owned();
        let supported = questions::means(&kind).is_some_and(|means| cx.listener.can_ask(means));
        let whose = Whose {
            id: &asked.id,
            turn_id: &asked.turn_id,
        };
        let dialog = questions::dialog(whose, &asked.request);
        let Some(attached) = self.feeds.get_mut(&key) else {
            return false;
        };
        let foreign = asked
            .session_id
            .as_ref()
            .is_some_and(|id| *id != attached.session_id);
        let code = match dialog {
            _ if !supported => UNSUPPORTED,
            Some(dialog) if !foreign && w::entity_id(&asked.id) => {
                if attached.interactions.count() < limits::MAKA_INTERACTIONS {
                    let id = asked.id.clone();
                    let stage = Stage::Checking { gone: false };
                    attached.interactions.known.push(Known {
                        asked,
                        dialog,
                        stage,
                    });
                    self.query_interaction(cx, key, &id);
                    return true;
                }
                "interaction_capacity_exceeded"
            }
            _ => "invalid_interaction",
        };
        let failure = failure::interaction(code, &kind, &asked.id);
        remember(
            &mut attached.interactions.published,
            &asked.id,
            limits::MAKA_INTERACTIONS,
        );
        self.break_turn(cx, key, &asked.turn_id, failure, code == UNSUPPORTED)
    }

    /// Questions that left the snapshot: somebody answered, or the Host closed them.
    fn vanished(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, pending: &[Pending]) {
        let Some(interactions) = self.interactions(key) else {
            return;
        };
        let mut resolved = Vec::new();
        for known in &mut interactions.known {
            if pending.iter().any(|asked| asked.id == known.asked.id) {
                continue;
            }
            match &mut known.stage {
                Stage::Checking { gone } => *gone = true,
                Stage::Asked | Stage::Lost { .. } => resolved.push(known.asked.id.clone()),
                // Its answer tells the outcome.
                Stage::Answering { .. } | Stage::Resolving => {}
            }
        }
        for id in resolved {
            let _fine = cx.tell(key, Fact::Withdrawn { dialog: &id });
            self.check(cx, key, &id, Stage::Resolving);
        }
    }

    fn interactions(&mut self, key: SessionKey) -> Option<&mut Interactions> {
        Some(&mut self.feeds.get_mut(&key)?.interactions)
    }

    fn check(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, id: &str, stage: Stage) {
        if let Some(known) = self.interactions(key).and_then(|it| it.at(id)) {
            known.stage = stage;
            self.query_interaction(cx, key, id);
        }
    }

    fn query_interaction(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, id: &str) {
        let Some(attached) = self.feeds.get(&key) else {
            return;
        };
        let input = object! { "sessionId": attached.session_id, "interactionId": id };
        let purpose = Purpose::Interaction {
            session: key,
            interaction: id.to_owned(),
        };
        let timeout = Some(limits::MAKA_READ_MS);
        self.call(cx, op::INTERACTION, input, purpose, timeout);
    }

    /// `interaction.query` was answered, or never will be.
    pub(super) fn interaction(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        id: &str,
        answer: Answer<'_>,
    ) {
        let Some(known) = self.interactions(key).and_then(|it| it.at(id)) else {
            return;
        };
        let told = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Interaction<'_>>(result.get()).ok(),
            Answer::Lost { reason, .. } if *reason != "timeout" => {
                known.stage = Stage::Lost { answer: None };
                return;
            }
            _ => None,
        };
        match (&known.stage, told) {
            (_, Some(told)) if !known.asked.is(&told) => {
                self.wrong(cx, key, id, Wrong::Code("invalid_interaction"));
            }
            (Stage::Checking { gone: false }, Some(told)) if told.status == "pending" => {
                known.stage = Stage::Asked;
                let dialog = known.dialog.clone();
                let _fine = cx.tell(key, Fact::Asks { dialog });
            }
            // The snapshot is newer than this answer.
            (Stage::Checking { gone: true }, Some(told)) if told.status == "pending" => {
                self.check(cx, key, id, Stage::Resolving);
            }
            (_, Some(told)) if told.status != "pending" => self.show_outcome(cx, key, id, &told),
            (Stage::Checking { .. }, None) => {
                self.wrong(cx, key, id, Wrong::Host(&answer, op::INTERACTION));
            }
            // The question is over for the user in any case; its card ends with the turn.
            _ => {
                cx.core.note(
                    Level::Warn,
                    "the Host does not tell how a question was resolved",
                );
                self.forget(cx, key, id);
            }
        }
    }

    /// What came of asking the user.
    pub(super) fn reply(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, id: &str, reply: &Reply) {
        let Some(known) = self.interactions(key).and_then(|it| it.at(id)) else {
            return;
        };
        if !matches!(known.stage, Stage::Asked) {
            return;
        }
        let code = match reply {
            Reply::Unsupported => UNSUPPORTED,
            Reply::Failed => "interaction_failed",
            _ => match questions::answer(&known.asked.request, reply) {
                Some(answer) => return self.send_answer(cx, key, id, answer),
                None => "invalid_interaction_answer",
            },
        };
        self.wrong(cx, key, id, Wrong::Code(code));
    }

    fn send_answer(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, id: &str, answer: Object) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let input = object! {
            "sessionId": attached.session_id, "interactionId": id, "answer": answer,
        };
        if let Some(known) = attached.interactions.at(id) {
            known.stage = Stage::Answering { answer };
        }
        let purpose = Purpose::Answer {
            session: key,
            interaction: id.to_owned(),
        };
        self.call(cx, op::ANSWER, input, purpose, Some(limits::MAKA_READ_MS));
    }

    /// `interaction.answer` was answered, or never will be.
    pub(super) fn answer_told(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        id: &str,
        answer: Answer<'_>,
    ) {
        let Some(known) = self.interactions(key).and_then(|it| it.at(id)) else {
            return;
        };
        let Stage::Answering { answer: ours } = &known.stage else {
            return;
        };
        match &answer {
            Answer::Result(result) => {
                match serde_json::from_str::<w::Interaction<'_>>(result.get()) {
                    Ok(told) if known.asked.is(&told) && told.status != "pending" => {
                        self.show_outcome(cx, key, id, &told);
                    }
                    _ => self.wrong(cx, key, id, Wrong::Code("invalid_interaction")),
                }
            }
            // Somebody else was first: the Host's outcome counts.
            Answer::Error(error) if error.code == "already_resolved" => {
                self.check(cx, key, id, Stage::Resolving);
            }
            // The same answer may be given again: the next snapshot says whether it has to be.
            Answer::Lost { reason, .. } if *reason != "timeout" => {
                let answer = Some(ours.clone());
                known.stage = Stage::Lost { answer };
            }
            _ => self.wrong(cx, key, id, Wrong::Host(&answer, op::ANSWER)),
        }
    }

    /// Shows how a question was resolved, once.
    fn show_outcome(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        id: &str,
        told: &w::Interaction<'_>,
    ) {
        let Some(Known { dialog, .. }) = self.forget(cx, key, id) else {
            return;
        };
        let Some(interactions) = self.interactions(key) else {
            return;
        };
        remember(&mut interactions.published, id, limits::MAKA_INTERACTIONS);
        let outcome = told.outcome.clone().unwrap_or_default();
        let own = |text: Option<alloc::borrow::Cow<'_, str>>| text.map(|text| text.into_owned());
        let asking = Asking {
            id: id.to_owned(),
            kind: dialog.kind,
            status: if told.status == "answered" {
                AskStatus::Answered
            } else {
                AskStatus::Closed
            },
            reason: own(outcome.reason),
            decision: own(outcome.decision),
            action: own(outcome.action),
            outcome_status: own(outcome.status),
        };
        let fact = ToolFact::Asks {
            id: &dialog.tool_id,
            asking: &asking,
            own_card: dialog.own_card,
        };
        let _fine = cx.tell(key, Fact::Tool(fact));
    }

    /// The question is no more; an editor that still asks it is told.
    fn forget(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, id: &str) -> Option<Known> {
        let known = self.interactions(key)?.take(id)?;
        let _fine = cx.tell(key, Fact::Withdrawn { dialog: id });
        Some(known)
    }

    /// The turn's questions are no more; what is on its way for them means nothing.
    pub(super) fn forget_turn(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, turn_id: &str) {
        let Some(interactions) = self.interactions(key) else {
            return;
        };
        let of_turn = |known: &&Known| known.asked.turn_id == turn_id;
        let ids: Vec<String> = interactions
            .known
            .iter()
            .filter(of_turn)
            .map(|known| known.asked.id.clone())
            .collect();
        for id in ids {
            self.forget(cx, key, &id);
        }
    }

    /// The turn is being stopped: nothing of it is asked from here on.
    pub(super) fn fence(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, turn_id: &str) {
        if let Some(interactions) = self.interactions(key) {
            interactions.fence(turn_id);
            self.forget_turn(cx, key, turn_id);
        }
    }

    /// The question cannot be asked or answered: its turn is stopped, for this reason.
    fn wrong(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, id: &str, wrong: Wrong<'_>) {
        let Some(Known { dialog, .. }) = self.forget(cx, key, id) else {
            return;
        };
        if let Some(interactions) = self.interactions(key) {
            remember(&mut interactions.published, id, limits::MAKA_INTERACTIONS);
        }
        let unsupported = matches!(wrong, Wrong::Code(UNSUPPORTED));
        let failure = match wrong {
            Wrong::Code(code) => failure::interaction(code, &dialog.kind, id),
            Wrong::Host(answer, operation) => answer.failure(operation),
        };
        self.break_turn(cx, key, &dialog.turn_id, failure, unsupported);
    }

    /// Our turn is given up. An editor that cannot show its question loses the whole feed, so
    /// that nothing more of the turn is taken in (section 21.1). Another client's turn only
    /// goes unanswered. Whether nothing was given up.
    fn break_turn(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        turn_id: &str,
        failure: Failure,
        unsupported: bool,
    ) -> bool {
        cx.core.note(Level::Warn, failure.message.clone());
        let turn = self.feeds.get_mut(&key).and_then(|it| it.turn.as_mut());
        let Some(turn) = turn.filter(|turn| turn.id == turn_id) else {
            return true;
        };
        // Another client's turn goes on, and its user may answer there.
        if !turn.ours() {
            return true;
        }
        if unsupported {
            self.feed_failed(cx, key, failure);
        } else {
            turn.break_off(failure);
            self.progress(cx, key);
        }
        false
    }
}

/// Keeps the newest.
fn remember(list: &mut VecDeque<String>, id: &str, most: u64) {
    list.push_back(id.to_owned());
    if list.len() as u64 > most {
        list.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    /// 26.2 N81: only the turn's own end lifts its fence.
    #[test]
    fn given_fenced_turns_when_another_ends_then_only_its_own_fence_is_lifted() {
        let mut interactions = Interactions::default();
        interactions.fence("a");
        interactions.fence("b");
        interactions.fence("a");
        interactions.lift("b");
        interactions.lift("c");
        assert!(interactions.is_fenced("a") && !interactions.is_fenced("b"));
        interactions.lift("a");
        assert!(!interactions.is_fenced("a"), "fenced once however often");
    }

    #[test]
    fn given_more_fences_than_are_kept_when_added_then_the_oldest_goes() {
        let mut interactions = Interactions::default();
        for turn in 0..=limits::MAKA_FENCES {
            interactions.fence(&format!("{turn}"));
        }
        assert!(!interactions.is_fenced("0") && interactions.is_fenced("1"));
    }
}
