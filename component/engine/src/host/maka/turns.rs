//! Moves turns along: sends what [`Turn::step`] says is due, takes in what comes back.

use alloc::string::String;
use alloc::vec::Vec;

use crate::effect::Level;
use crate::host::{Fact, Outcome, SessionKey};
use crate::limits;
use crate::object;

use super::calls::Purpose;
use super::feed::Feed;
use super::turn::{Admission, Query, Step, Stop, Turn};
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Due, Maka, aside, failure};

impl Maka {
    /// Sends a turn that is only prepared, once the feed is live.
    pub(super) fn dispatch(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(turn) = &mut attached.turn else {
            return;
        };
        if turn.dispatched() || !matches!(turn.stop, Stop::No) {
            return;
        }
        if let Some(parcel) = turn.parcel {
            return self.publish(cx, parcel);
        }
        attached.told_so_far();
        let Some(turn) = &mut attached.turn else {
            return;
        };
        turn.admission = Admission::Asked;
        turn.cut = attached.watermark;
        attached.reading.begin(turn.cut);
        let input = object! {
            "sessionId": attached.session_id,
            "turnId": turn.id,
            "content": w::content(&turn.text, turn.display.as_deref(), &turn.attachments),
        };
        let input = match aside::typed(&turn.text, self.skills.get(&attached.session_id)) {
            Some(skill) => input.with("skillIds", &[skill]),
            None => input,
        };
        turn.text = String::new();
        turn.display = None;
        turn.attachments = Vec::new();
        let purpose = Purpose::Start {
            session: key,
            turn_id: turn.id.clone(),
        };
        self.call(cx, op::START, input, purpose, Some(limits::MAKA_START_MS));
    }

    /// Our turn of this session, if it is this one.
    fn turn(&mut self, key: SessionKey, turn_id: &str) -> Option<&mut Turn> {
        let turn = self.feeds.get_mut(&key)?.turn.as_mut()?;
        (turn.id == turn_id).then_some(turn)
    }

    /// `turn.start` was answered, or never will be.
    pub(super) fn started(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        turn_id: &str,
        answer: Answer<'_>,
    ) {
        let Some(turn) = self.turn(key, turn_id) else {
            return;
        };
        let started = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Started<'_>>(result.get()).ok(),
            _ => None,
        };
        let blocked = started
            .as_ref()
            .filter(|started| started.kind == "blocked")
            .map(|started| failure::blocked(&started.skill_invocation.failed));
        match (started.and_then(|started| started.turn), &answer) {
            (Some(told), _) => turn.told(&told),
            // Seen running already: the loss of the answer says nothing new.
            (None, Answer::Lost { .. }) if matches!(turn.admission, Admission::Admitted { .. }) => {
            }
            (
                None,
                Answer::Lost {
                    dispatched: true, ..
                },
            ) => {
                turn.admission = Admission::Unknown(Query::default());
                turn.break_off(answer.failure(op::START));
                self.query(cx, key);
            }
            // Blocked, refused, or not sent: it does not run.
            (None, _) => {
                turn.admission = Admission::Refused;
                turn.break_off(blocked.unwrap_or_else(|| answer.failure(op::START)));
            }
        }
        self.progress(cx, key);
    }

    /// Asks what became of a turn whose `turn.start` was lost.
    fn query(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(turn) = &attached.turn else { return };
        let input = object! { "sessionId": attached.session_id, "turnId": turn.id };
        let purpose = Purpose::Query {
            session: key,
            turn_id: turn.id.clone(),
        };
        self.call(
            cx,
            op::QUERY,
            input,
            purpose,
            Some(limits::MAKA_ADMISSION_QUERY_MS),
        );
    }

    /// The pause before the next question is over.
    pub(super) fn query_again(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let turn = self
            .feeds
            .get_mut(&key)
            .and_then(|attached| attached.turn.as_mut());
        if let Some(Turn {
            admission: Admission::Unknown(query),
            ..
        }) = turn
            && query.pause.take().is_some()
        {
            self.query(cx, key);
        }
    }

    /// The pause before the next question trapped: that question counts as failed.
    pub(super) fn query_poisoned(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let turn = self
            .feeds
            .get(&key)
            .and_then(|attached| attached.turn.as_ref());
        if let Some(turn_id) = turn.map(|turn| turn.id.clone()) {
            let answer = Answer::Lost {
                dispatched: false,
                reason: "poisoned_timer",
            };
            self.queried(cx, key, &turn_id, answer);
        }
    }

    /// `turn.query` was answered: only the turn itself, or `not_found`, settles it.
    pub(super) fn queried(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        turn_id: &str,
        answer: Answer<'_>,
    ) {
        let Some(turn) = self.turn(key, turn_id) else {
            return;
        };
        let told = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Turn<'_>>(result.get()).ok(),
            _ => None,
        };
        match (told, &answer) {
            (Some(told), _) => turn.told(&told),
            (None, Answer::Error(error)) if error.code == "not_found" => {
                if matches!(turn.admission, Admission::Unknown(_)) {
                    turn.admission = Admission::Refused;
                }
            }
            (None, _) => {
                let cause = answer.failure(op::QUERY).data;
                if let Some(pause) = turn.query_failed(cause) {
                    let timer = cx.arm(Due::Admission { session: key }, pause);
                    if let Some(Turn {
                        admission: Admission::Unknown(query),
                        ..
                    }) = self.turn(key, turn_id)
                    {
                        query.pause = Some(timer);
                    }
                } else if matches!(turn.admission, Admission::Untold(_)) {
                    cx.core.note(
                        Level::Warn,
                        "whether the Host admitted a turn remains unknown",
                    );
                }
            }
        }
        self.progress(cx, key);
    }

    /// Our turn is to end.
    pub(super) fn stop(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        if let Some(turn) = self.feeds.get_mut(&key).and_then(|a| a.turn.as_mut()) {
            turn.want_stop();
            self.progress(cx, key);
        }
    }

    /// A live turn of another client is to end, as the editor's cancel asks.
    pub(super) fn stop_foreign(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let ours = attached.turn.as_ref().filter(|turn| turn.ours());
        let ours = ours.map(|turn| turn.id.as_str());
        let Some(root) = &attached.root else { return };
        if !root.live || Some(root.turn_id.as_str()) == ours {
            return;
        }
        let input = object! {
            "sessionId": attached.session_id, "turnId": root.turn_id, "runId": root.run_id
        };
        attached.foreign_stops += 1;
        let turn_id = root.turn_id.clone();
        self.fence(cx, key, &turn_id);
        let purpose = Purpose::StopForeign { session: key };
        self.call(cx, op::STOP, input, purpose, Some(limits::MAKA_STOP_MS));
    }

    /// `turn.stop` of our turn was answered, or never will be.
    pub(super) fn stopped(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        turn_id: &str,
        answer: Answer<'_>,
    ) {
        let Some(turn) = self.turn(key, turn_id) else {
            return;
        };
        let failure = match &answer {
            Answer::Result(result) => {
                if let Ok(told) = serde_json::from_str::<w::Turn<'_>>(result.get()) {
                    turn.told(&told);
                }
                None
            }
            _ => Some(answer.failure(op::STOP)),
        };
        if failure.is_some() {
            cx.core
                .note(Level::Warn, "the Host's Stop of a turn failed");
        }
        turn.stop = Stop::Done(failure);
        self.progress(cx, key);
    }

    pub(super) fn stopped_foreign(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        answer: Answer<'_>,
    ) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        attached.foreign_stops = attached.foreign_stops.saturating_sub(1);
        match &answer {
            Answer::Result(_) => {
                if let Some(root) = &mut attached.root {
                    root.live = false;
                }
            }
            _ => attached.stop_failure = Some(answer.failure(op::STOP)),
        }
        self.check_closed(cx, key);
    }

    /// Does what is due for the session's turn, until a fact is missing.
    pub(super) fn progress(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        self.fence_stopped(cx, key);
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(turn) = &mut attached.turn else {
            return;
        };
        match turn.step() {
            Step::Wait => self.steer_on(cx, key),
            Step::SendStop(run_id) => {
                turn.stop = Stop::Sent;
                let purpose = Purpose::Stop {
                    session: key,
                    turn_id: turn.id.clone(),
                };
                let input = object! {
                    "sessionId": attached.session_id, "turnId": turn.id, "runId": run_id
                };
                self.call(cx, op::STOP, input, purpose, Some(limits::MAKA_STOP_MS));
            }
            Step::Reread => self.read_on(cx, key),
            Step::Settle(outcome) => self.settle(cx, key, outcome),
        }
    }

    /// A turn that is to end asks nothing more.
    fn fence_stopped(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let turn = self.feeds.get(&key).and_then(|it| it.turn.as_ref());
        if let Some(turn) = turn.filter(|it| it.dispatched() && !matches!(it.stop, Stop::No)) {
            let turn_id = turn.id.clone();
            self.fence(cx, key, &turn_id);
        }
    }

    /// The turn is over: told once, then forgotten.
    fn settle(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, outcome: Outcome) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(turn) = attached.turn.take() else {
            return;
        };
        self.unsteer(cx, key);
        if let Admission::Unknown(Query {
            pause: Some(timer), ..
        }) = turn.admission
        {
            cx.core.disarm(timer);
        }
        if let Some(parcel) = turn.parcel {
            self.drop_parcel(cx, parcel);
        }
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if let Some(failure) = turn.unstopped() {
            attached.stop_failure = Some(failure.clone());
        }
        attached.remember(&turn);
        // What is read for a load or for an onlooker goes on without the turn.
        if !attached.reading.of_past() {
            attached.reading.interrupt();
        }
        if let Some(observer) = &mut attached.observer {
            observer.told_turn(&turn);
        }
        // A feed that is not live was wanted by this turn alone.
        if !matches!(attached.feed, Feed::Live) && !attached.looked_at() {
            self.detach(cx, key);
        }
        self.used(key);
        self.forget_turn(cx, key, &turn.id);
        let _fine = cx.tell(
            key,
            Fact::Settled {
                turn_id: &turn.id,
                outcome,
            },
        );
        self.check_closed(cx, key);
        self.look_on(cx, key);
    }

    /// At the end: the turn is answered whatever is known of it.
    pub(super) fn give_up_turn(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        if self
            .feeds
            .get(&key)
            .is_some_and(|attached| attached.turn.is_some())
        {
            self.settle(cx, key, Outcome::Stopped);
        }
        if let Some(attached) = self.feeds.get_mut(&key) {
            attached.foreign_stops = 0;
            self.check_closed(cx, key);
        }
    }
}
