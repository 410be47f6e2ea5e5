//! Requests in both directions (Claude adapter, Part 2.2): ours with what waits for their
//! answers, and the lines that answer theirs.
//!
//! Invariant: an answer that nobody waits for means nothing.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::overviews::Step;
use crate::json::Object;
use crate::object;
use crate::rpc::Ticket;

/// Why we asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// The greeting.
    Initialize,
    /// How large the context is.
    Context,
    /// Stop what runs; the cancel's number.
    Interrupt(u64),
    /// A name for the session.
    Title,
    /// What the settings are, and may be.
    Settings,
    /// Whether they were changed outside.
    SettingsAgain,
    /// The first mode is to be this one.
    FirstMode(String),
    /// Something that the editor wants to be set.
    Setting,
    /// For what this turn gives an overview of.
    Overview { turn: String, step: Step },
    /// The user's name for it, and who waits.
    Rename { ticket: Ticket, title: String },
    /// Which files this prompt changed.
    Files(String),
    /// Which skills there are.
    Skills,
    /// How the MCP servers are.
    Servers,
    /// Where one signs in to this MCP server.
    SignIn(String),
    /// The answer changes nothing.
    Nothing,
}

/// Our requests without an answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Control {
    last: u64,
    open: BTreeMap<String, Purpose>,
}

impl Control {
    /// A request, as a line.
    pub fn request(&mut self, purpose: Purpose, request: &Object) -> Object {
        self.last += 1;
        let id = format!("airlock-{}", self.last);
        self.open.insert(id.clone(), purpose);
        object! { "type": "control_request", "request_id": id, "request": request }
    }

    /// Who waits for this answer.
    pub fn answered(&mut self, id: &str) -> Option<Purpose> {
        self.open.remove(id)
    }

    /// Nobody answers with a name any more: who waited, and for which.
    pub fn take_renames(&mut self) -> Vec<(Ticket, String)> {
        let mut waiting = Vec::new();
        self.open.retain(|_, purpose| match purpose {
            Purpose::Rename { ticket, title } => {
                waiting.push((*ticket, core::mem::take(title)));
                false
            }
            _ => true,
        });
        waiting
    }

    /// Nobody waits for answers of this kind any more.
    pub fn forget(&mut self, purpose: &Purpose) {
        self.open.retain(|_, it| it != purpose);
    }
}

/// An answer to a request of theirs.
pub fn answer(id: &str, response: &Object) -> Object {
    object! {
        "type": "control_response",
        "response": object! { "subtype": "success", "request_id": id, "response": response },
    }
}

/// A request of theirs that cannot be answered.
pub fn refusal(id: &str, error: &str) -> Object {
    object! {
        "type": "control_response",
        "response": object! {
            "subtype": "error", "request_id": id, "error": error.to_string(),
        },
    }
}
