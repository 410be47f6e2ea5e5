//! Questions of Claude whether a tool may be used (Claude adapter, section 10).
//!
//! Invariant: only what was offered is a yes; everything else is a no, and says so.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::control;
use super::wire::Request;
use crate::host::dialog::{Body, Choice, Dialog, Leaning, Reply};
use crate::json::Object;
use crate::object;
use crate::projection::Report;

/// Questions that have no answer yet, by the request's id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Permissions(BTreeMap<String, Open>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    tool_use_id: String,
    input: Option<Box<RawValue>>,
    answers: Vec<Answer>,
    /// The editor cancelled since: whatever it answers, the tool is not used.
    cancelled: bool,
}

/// What a choice stands for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Answer {
    Allow,
    Reject,
}

impl Permissions {
    /// Takes a question in; gives what the user is asked.
    pub fn ask(&mut self, id: &str, request: &Request<'_>, card: Report) -> Dialog {
        let choice = |id: &str, name: &str, leaning| Choice {
            id: Some(id.to_string()),
            name: name.to_string(),
            leaning,
        };
        self.0.insert(
            id.to_string(),
            Open {
                tool_use_id: request.tool_use_id.to_string(),
                input: request.input.map(ToOwned::to_owned),
                answers: [Answer::Allow, Answer::Reject].into(),
                cancelled: false,
            },
        );
        Dialog {
            id: id.to_string(),
            kind: "permission".to_string(),
            turn_id: String::new(),
            tool_id: request.tool_use_id.to_string(),
            own_card: false,
            cancel_is_answer: true,
            body: Body::Choice {
                title: request.tool_name.to_string(),
                text: String::new(),
                choices: [
                    choice("allow-once", "Yes", Leaning::AllowOnce),
                    choice("reject", "No", Leaning::RejectOnce),
                ]
                .into(),
            },
            card: Some(card),
        }
    }

    /// What the user said, as a line for the process.
    pub fn reply(&mut self, id: &str, reply: &Reply) -> Option<Object> {
        let open = self.0.remove(id)?;
        let chosen = match reply {
            Reply::Chosen(at) if !open.cancelled => usize::try_from(*at)
                .ok()
                .and_then(|at| open.answers.get(at)),
            _ => None,
        };
        let response = match (chosen, reply) {
            (Some(Answer::Allow), _) => object! {
                "behavior": "allow",
                "updatedInput": open.input,
                "toolUseID": open.tool_use_id,
                "decisionClassification": "user_temporary",
            },
            (Some(Answer::Reject), _) => object! {
                "behavior": "deny",
                "message": "User refused permission to run tool",
                "toolUseID": open.tool_use_id,
                "decisionClassification": "user_reject",
            },
            (None, _) => denied(&open.tool_use_id, "Tool use aborted", true),
        };
        Some(control::answer(id, &response))
    }

    /// The process takes a question back. Whether there was one.
    pub fn withdrawn(&mut self, id: &str) -> bool {
        self.0.remove(id).is_some()
    }

    /// The editor cancelled: what it answers from now on is no yes.
    pub fn cancelled(&mut self) {
        for open in self.0.values_mut() {
            open.cancelled = true;
        }
    }

    /// Takes all questions away.
    pub fn take_all(&mut self) -> Vec<String> {
        core::mem::take(&mut self.0).into_keys().collect()
    }
}

/// A no, for a tool of stopped work.
pub fn denied(tool_use_id: &str, message: &str, interrupt: bool) -> Object {
    let mut response = object! {
        "behavior": "deny", "message": message, "toolUseID": tool_use_id,
    };
    if interrupt {
        response.set("interrupt", &true);
    }
    response
}
