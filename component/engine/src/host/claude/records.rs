//! What goes wrong, for editors that keep it as records (Claude adapter, section 17): the
//! failure of a prompt rides on its answer, a warning stands by itself. And how a prompt's
//! end is told at all.
//!
//! Invariants: an incident has an id of its own; an editor that keeps no records is told as
//! ever.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use super::session::Session;
use super::text::MAIN;
use super::wire::more::Retry;
use super::wire::{Frame, Message, part};
use crate::host::more::{More, Record, Severity, Trouble};
use crate::host::{Blame, Cx, Fact, Failure, Outcome, Said, Spent};
use crate::json::Object;
use crate::projection::Speaker;

/// The incidents of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Records {
    /// Tells this run's incidents from those of others; made when the first one is told.
    epoch: Option<String>,
    errors: u64,
    notices: u64,
    /// The notice that was told last, and how often it came.
    last: Option<(String, u64)>,
    /// The limit at which the result that just came ended its turn.
    limit: Option<Trouble>,
}

impl Records {
    /// A result of this kind comes; of none, it has been told.
    pub fn result(&mut self, kind: &str) {
        self.limit = match kind {
            "error_max_budget_usd" => Some(Trouble::BudgetExhausted),
            "error_max_turns" => Some(Trouble::ContextExhausted),
            _ => None,
        };
    }
}

/// Something that the user is to know.
pub struct Notice<'a> {
    /// How much it matters.
    pub severity: Severity,
    /// In a few words.
    pub title: &'a str,
    /// All of it.
    pub text: &'a str,
    /// As a message, where there is no other place for it.
    pub words: &'a str,
    /// The message's id.
    pub id: &'a str,
    /// Extension data of the message.
    pub meta: Option<Object>,
}

/// Those that a sign-in mends, which is asked for anyway.
const SIGN_IN: [&str; 2] = ["authentication_failed", "oauth_org_not_allowed"];

impl Session {
    /// Tells how a prompt ended.
    pub(super) fn tell_end(&mut self, cx: &mut Cx<'_, '_>, turn: &str, outcome: Outcome) {
        self.tell(
            cx,
            Fact::Settled {
                turn_id: turn,
                outcome,
            },
        );
    }

    /// A prompt is over. Its files may have to be told first.
    pub(super) fn ended(
        &mut self,
        cx: &mut Cx<'_, '_>,
        turn: &str,
        outcome: Outcome,
        spent: Option<Spent>,
    ) {
        self.goal_settled(cx, turn, &outcome);
        let outcome = self.recorded(turn, outcome, spent);
        if let Some(outcome) = self.files_first(cx, turn, outcome) {
            self.tell_end(cx, turn, outcome);
        }
    }

    /// The failure of a prompt as a record, if the editor keeps those.
    fn recorded(&self, turn: &str, outcome: Outcome, spent: Option<Spent>) -> Outcome {
        let Outcome::Broken { failure } = outcome else {
            return outcome;
        };
        let keeps = self.setup.client.extras.failures && failure.blame == Blame::Host;
        if !keeps {
            return Outcome::Broken { failure };
        }
        let prefix = "Internal error: ";
        let title = failure.message.strip_prefix(prefix);
        let record = Record {
            id: format!("{turn}:error"),
            revision: 1,
            trouble: self.more.records.limit.unwrap_or_else(|| trouble(&failure)),
            severity: Severity::Error,
            title: title.unwrap_or(&failure.message).to_string(),
            reason: None,
        };
        Outcome::Recorded { record, spent }
    }

    /// Whether a message only says what went wrong, which a record says.
    pub(super) fn is_recorded(&self, frame: &Frame<'_>, message: &Message<'_>) -> bool {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Stop<'a> {
            #[serde(borrow)]
            stop_reason: Option<Cow<'a, str>>,
        }
        let Stop { stop_reason } = part(frame.message);
        // A refusal is an answer, and to sign in is asked for by an error without words.
        let login = || {
            let blocks = message.blocks();
            blocks
                .iter()
                .any(|it| it.text.contains("Please run /login"))
        };
        self.setup.client.extras.failures
            && frame.error.is_some()
            && frame.parent_tool_use_id.as_deref().unwrap_or(MAIN) == MAIN
            && stop_reason.as_deref() != Some("refusal")
            && !login()
    }

    /// `system/api_retry`: it may still go well.
    pub(super) fn retrying(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let retry: Retry<'_> = read(line);
        let kind = retry.error.as_deref().unwrap_or("unknown");
        let told = self.setup.client.extras.failures && !self.dropped(MAIN);
        if !told || SIGN_IN.contains(&kind) || retry.error_status == Some(401) {
            return;
        }
        let (verb, trouble) = match retry.error_status {
            Some(_) => ("Retrying", trouble_of(kind)),
            None => ("Reconnecting to", Trouble::TransportLost),
        };
        let Retry {
            attempt,
            max_retries,
            ..
        } = retry;
        let records = &mut self.more.records;
        records.errors += 1;
        let number = records.errors;
        let epoch = self.epoch(cx);
        let record = Record {
            id: format!("{}:session-error:{epoch}:{number}", self.id),
            revision: 1,
            trouble,
            severity: Severity::Warning,
            title: format!("{verb} Claude, attempt {attempt} of {max_retries}."),
            reason: None,
        };
        self.tell(cx, Fact::More(More::Record(record)));
    }

    fn epoch(&mut self, cx: &mut Cx<'_, '_>) -> String {
        let epoch = &mut self.more.records.epoch;
        epoch.get_or_insert_with(|| cx.core.uuid()).clone()
    }

    /// Tells something in the place that the editor has for it.
    pub(super) fn notify(&mut self, cx: &mut Cx<'_, '_>, notice: Notice<'_>) {
        let client = self.setup.client;
        if client.notices {
            let more = More::Notice {
                severity: notice.severity,
                title: notice.title.to_string(),
                text: Some(notice.text.to_string()),
            };
            return self.tell(cx, Fact::More(more));
        }
        if client.extras.failures {
            return self.advise(cx, &notice);
        }
        let said = Said {
            speaker: Speaker::Agent,
            message_id: notice.id,
            text: notice.words,
            meta: notice.meta,
        };
        self.tell(cx, Fact::Said(said));
    }

    /// As a record: one that comes again is the same incident.
    fn advise(&mut self, cx: &mut Cx<'_, '_>, notice: &Notice<'_>) {
        let epoch = self.epoch(cx);
        let records = &mut self.more.records;
        let revision = match &mut records.last {
            Some((text, count)) if text == notice.text => {
                *count += 1;
                *count
            }
            last => {
                *last = Some((notice.text.to_string(), 1));
                records.notices += 1;
                1
            }
        };
        let record = Record {
            id: format!("{}:notice:{epoch}:{}", self.id, records.notices),
            revision,
            trouble: Trouble::Advisory,
            severity: notice.severity.max(Severity::Warning),
            title: notice.text.to_string(),
            reason: None,
        };
        self.tell(cx, Fact::More(More::Record(record)));
    }
}

/// A frame as one of the rarer kinds.
pub fn read<'a, T: Deserialize<'a> + Default>(line: &'a [u8]) -> T {
    serde_json::from_slice(line).unwrap_or_default()
}

/// What a failure comes to.
fn trouble(failure: &Failure) -> Trouble {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Data<'a> {
        #[serde(borrow)]
        error_kind: Option<Cow<'a, str>>,
    }
    // Texts alone: serialising them cannot fail.
    let text = serde_json::to_string(&failure.data).unwrap_or_default();
    let data: Data<'_> = serde_json::from_str(&text).unwrap_or_default();
    // Failures without a kind are those of the process.
    data.error_kind
        .map_or(Trouble::TransportLost, |kind| trouble_of(&kind))
}

/// What the program's word for an error comes to.
fn trouble_of(kind: &str) -> Trouble {
    match kind {
        "authentication_failed" | "oauth_org_not_allowed" => Trouble::AuthRequired,
        "verification_required" | "cloud_credential_error" => Trouble::AccessDenied,
        "billing_error" | "account_on_hold" => Trouble::QuotaExhausted,
        "rate_limit" => Trouble::RateLimited,
        "max_output_tokens" => Trouble::ContextExhausted,
        "invalid_request" | "model_not_found" => Trouble::BadRequest,
        "overloaded" => Trouble::Overloaded,
        "no_result" | "incomplete_tool_call" => Trouble::Internal,
        _ => Trouble::Provider,
    }
}
