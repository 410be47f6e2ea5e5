//! What the Host knows besides the conversation, for the editor's panels: the plan, how full
//! the context is and what it costs, the skills that can be typed, and that it tries again.
//!
//! Asks the Host, and tells facts. Invariant: nothing of this holds anything up or fails
//! anything: what the Host does not answer is not shown.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::host::{Fact, PlanEntry, PlanStatus, SessionKey, Skill, Usage};
use crate::json::Object;
use crate::limits;
use crate::object;

use super::calls::Purpose;
use super::feed::PlanLook;
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Maka};

impl Maka {
    /// Something of the session changed that no frame tells.
    pub(super) fn domain_changed(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, domain: &str) {
        let Some(attached) = self.feeds.get_mut(&key).filter(|_| domain == "plan") else {
            return;
        };
        // However many changes come while one look is under way, one more shows them all.
        if attached.plan != PlanLook::None {
            attached.plan = PlanLook::Stale;
            return;
        }
        attached.plan = PlanLook::Asked;
        let input = object! { "kind": "list_start", "sessionId": attached.session_id };
        self.ask_plan(cx, key, Vec::new(), input, 0);
    }

    fn ask_plan(
        &mut self,
        cx: &mut Cx<'_, '_>,
        session: SessionKey,
        proposed: Vec<PlanEntry>,
        input: Object,
        page: u64,
    ) {
        let purpose = Purpose::Plan {
            session,
            proposed,
            page,
        };
        let timeout = Some(limits::MAKA_READ_MS);
        self.call(cx, op::PLAN, input, purpose, timeout);
    }

    /// A page of plans, or none.
    pub(super) fn plan(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        proposed: Vec<PlanEntry>,
        page: u64,
        answer: &Answer<'_>,
    ) {
        if self.reads_on(cx, key, proposed, page, answer) {
            return;
        }
        let attached = self.feeds.get_mut(&key);
        let look = attached.map(|attached| core::mem::replace(&mut attached.plan, PlanLook::None));
        if look == Some(PlanLook::Stale) {
            self.domain_changed(cx, key, "plan");
        }
    }

    /// Shows the steps that are carried out, else those that were proposed last; whether
    /// another page has to be read first.
    fn reads_on(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        mut proposed: Vec<PlanEntry>,
        page: u64,
        answer: &Answer<'_>,
    ) -> bool {
        let Some(plans) = read::<w::Plans<'_>>(answer).filter(|plans| plans.kind == "page") else {
            return false;
        };
        for item in &plans.items {
            if let Some(execution) = &item.execution
                && plans.active_execution_id.as_ref() == Some(&execution.execution_id)
            {
                let entries = execution.steps.iter().map(entry).collect();
                let _fine = cx.tell(key, Fact::Plan { entries });
                return false;
            }
            if let Some(proposal) = &item.proposal
                && plans.latest_proposal_id.as_ref() == Some(&proposal.proposal_id)
            {
                proposed = proposal.steps.iter().map(entry).collect();
            }
        }
        if let (Some(cursor), Some(attached)) = (plans.next_cursor, self.feeds.get(&key))
            && page + 1 < limits::MAKA_ASIDE_PAGES
        {
            let input = object! {
                "kind": "list_continue", "sessionId": attached.session_id,
                "storeVersion": plans.store_version, "cursor": cursor,
            };
            self.ask_plan(cx, key, proposed, input, page + 1);
            return true;
        }
        let _fine = cx.tell(key, Fact::Plan { entries: proposed });
        false
    }

    /// A step of the model was counted: how full is its context now?
    pub(super) fn ask_context(&mut self, cx: &mut Cx<'_, '_>, session: SessionKey) {
        // Rows are read more than once; one look at the context serves them all.
        let attached = self.feeds.get_mut(&session);
        if let Some(attached) = attached.filter(|attached| !attached.context_asked) {
            attached.context_asked = true;
            let input = object! { "sessionId": attached.session_id };
            let purpose = Purpose::Context { session };
            self.call(cx, op::CONTEXT, input, purpose, Some(limits::MAKA_READ_MS));
        }
    }

    /// Without a known window there is nothing that an editor could draw.
    pub(super) fn context(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, answer: &Answer<'_>) {
        if let Some(attached) = self.feeds.get_mut(&key) {
            attached.context_asked = false;
        }
        let context = read::<w::Context>(answer);
        let Some((used, size)) = context.and_then(|it| it.input_tokens.zip(it.context_window))
        else {
            return;
        };
        let Some(attached) = self.feeds.get(&key) else {
            return;
        };
        let query = object! { "range": "all", "sessionId": attached.session_id };
        let input = object! { "kind": "summary", "query": query };
        let purpose = Purpose::Cost {
            session: key,
            used,
            size,
        };
        self.call(cx, op::USAGE, input, purpose, Some(limits::MAKA_READ_MS));
    }

    pub(super) fn cost(
        &mut self,
        cx: &mut Cx<'_, '_>,
        key: SessionKey,
        (used, size): (u64, u64),
        answer: &Answer<'_>,
    ) {
        let cost_usd = read::<w::Usage>(answer).and_then(|usage| usage.summary.total_cost_usd);
        let usage = Usage {
            used,
            size,
            cost_usd: cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0),
            meta: None,
        };
        let _fine = cx.tell(key, Fact::Usage(usage));
    }

    /// Which skills can be typed in this session?
    pub(super) fn ask_skills(&mut self, cx: &mut Cx<'_, '_>, session_id: &str) {
        self.skills.entry(session_id.to_string()).or_default();
        let target = object! { "kind": "session", "sessionId": session_id };
        let input = object! { "kind": "start", "target": target };
        self.ask_more_skills(cx, session_id.to_string(), Vec::new(), input);
    }

    /// The session is closed.
    pub(super) fn forget_skills(&mut self, session_id: &str) {
        self.skills.remove(session_id);
    }

    fn ask_more_skills(
        &mut self,
        cx: &mut Cx<'_, '_>,
        session_id: String,
        known: Vec<Skill>,
        input: Object,
    ) {
        let purpose = Purpose::Skills { session_id, known };
        self.call(cx, op::SKILLS, input, purpose, Some(limits::MAKA_READ_MS));
    }

    pub(super) fn skills(
        &mut self,
        cx: &mut Cx<'_, '_>,
        session_id: String,
        mut known: Vec<Skill>,
        answer: &Answer<'_>,
    ) {
        let Some(page) = read::<w::Skills<'_>>(answer).filter(|page| page.kind == "page") else {
            return;
        };
        let skills = page.items.iter().filter_map(|item| {
            let skill: w::Skill<'_> = serde_json::from_str(item.get()).ok()?;
            w::skill_id(&skill.id).then(|| Skill {
                description: first_of([&skill.description, &skill.name, &skill.id]),
                hint: Some("what to do".into()),
                teaches: false,
                path: None,
                id: skill.id.into_owned(),
            })
        });
        known.extend(skills);
        let full = known.len() >= limits::MAKA_SKILLS;
        known.truncate(limits::MAKA_SKILLS);
        match page.next_cursor {
            Some(cursor) if !full && !page.items.is_empty() => {
                let target = object! { "kind": "session", "sessionId": session_id };
                let input = object! {
                    "kind": "continue", "target": target, "revision": page.revision,
                    "cursor": cursor,
                };
                self.ask_more_skills(cx, session_id, known, input);
            }
            _ => {
                // Without a place for them, the session was closed meanwhile.
                let Some(place) = self.skills.get_mut(&session_id) else {
                    return;
                };
                *place = known.iter().map(|skill| skill.id.clone()).collect();
                if known.is_empty() {
                    return;
                }
                cx.answer(Fact::Skills {
                    session_id: &session_id,
                    skills: known,
                });
            }
        }
    }
}

/// The skill that a prompt names: its first word, after a slash, if the Host knows it in this
/// session. The text goes to the Host as it was typed.
pub fn typed<'a>(text: &'a str, known: Option<&BTreeSet<String>>) -> Option<&'a str> {
    let word = text.strip_prefix('/')?.split_whitespace().next()?;
    known?.contains(word).then_some(word)
}

/// What is told of a retry, once for each attempt and phase.
pub fn retry(retry: &w::ProviderRetry<'_>) -> String {
    let attempt = format!("attempt {} of {}", retry.attempt, retry.max_attempts);
    let why = match &*retry.reason {
        "network" => "the network failed",
        "provider_unavailable" | "provider_capacity" => "the provider is not available",
        "rate_limit" => "the provider's rate limit is reached",
        "timeout" => "the provider did not answer in time",
        _ => "the request failed",
    };
    match (&*retry.phase, retry.delay_ms) {
        ("scheduled", Some(delay)) => format!(
            "The model cannot be reached: {why}. Trying again in {} s ({attempt}).",
            delay.div_ceil(1_000)
        ),
        _ => format!("The model cannot be reached: {why}. Trying again ({attempt})."),
    }
}

fn read<'a, T: serde::Deserialize<'a>>(answer: &Answer<'a>) -> Option<T> {
    match answer {
        Answer::Result(result) => serde_json::from_str(result.get()).ok(),
        _ => None,
    }
}

fn entry(step: &w::PlanStep<'_>) -> PlanEntry {
    PlanEntry {
        content: step.title.to_string(),
        status: match &*step.status {
            "in_progress" => PlanStatus::InProgress,
            // Nothing is left to do for a step that was skipped.
            "completed" | "skipped" => PlanStatus::Completed,
            _ => PlanStatus::Pending,
        },
    }
}

fn first_of(texts: [&str; 3]) -> String {
    texts
        .into_iter()
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default()
        .to_string()
}
