//! A card whose tool waits for the user (adapter specification, section 19.8).
//!
//! Touches one tool. Invariant: a tool that ended is not reopened by a question or its
//! answer; a card that stands for a question alone ends with the answer.

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::tool::{Kept, Phase, Tool};
use super::update::Status;

/// A question to the user, as a card's extension data tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asking {
    /// The Host's id of it.
    pub id: String,
    /// The Host's word for what it is.
    pub kind: String,
    /// How far it is.
    pub status: AskStatus,
    /// Why it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// What was done with a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// What came of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_status: Option<String>,
}

/// How far a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskStatus {
    /// It waits.
    Pending,
    /// Somebody answered.
    Answered,
    /// Nobody will.
    Closed,
}

impl Asking {
    /// A question that waits.
    pub fn pending(id: &str, kind: &str) -> Asking {
        Asking {
            id: id.into(),
            kind: kind.into(),
            status: AskStatus::Pending,
            reason: None,
            decision: None,
            action: None,
            outcome_status: None,
        }
    }

    fn approved(&self) -> bool {
        match self.outcome_status.as_deref() {
            Some(status) => status == "approved",
            None => self.decision.as_deref() == Some("allow"),
        }
    }

    fn closure(&self) -> Option<String> {
        let reason = self.reason.as_deref()?;
        Some(format!("Interaction closed: {reason}"))
    }
}

impl Tool {
    /// The tool asks the user something, or has its answer; whether that changes the card.
    pub(super) fn asks(&mut self, asking: &Asking, own_card: bool) -> bool {
        let live = matches!(self.phase, Phase::Live(_));
        if asking.status == AskStatus::Pending && !live {
            return false;
        }
        let changed = self.facts.interaction.as_ref() != Some(asking);
        self.facts.interaction = Some(asking.clone());
        if !live {
            return changed;
        }
        if asking.status == AskStatus::Pending {
            self.status = Status::Pending;
            if self.facts.tool_name.is_none() {
                self.title = format!("Awaiting {}", asking.kind.replace('_', " "));
            }
        } else if own_card {
            self.decided(asking);
        } else {
            self.status = Status::InProgress;
            if let (Some(text), Phase::Live(live), true) =
                (asking.closure(), &mut self.phase, changed)
            {
                live.progress.push((), &text);
            }
        }
        changed
    }

    /// The card was for the question alone.
    fn decided(&mut self, asking: &Asking) {
        self.status = if asking.approved() {
            Status::Completed
        } else {
            Status::Failed
        };
        self.phase = Phase::Decided;
        if let Some(text) = asking.closure() {
            self.unsent.get_or_insert_default().content = Some(Kept::Result(text));
        }
    }
}
