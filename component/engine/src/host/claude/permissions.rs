//! Questions of the process that wait for the user (Claude adapter, sections 10 and 11): may
//! a tool be used, what does the user think, what does an MCP server want to know.
//!
//! Invariant: only what was offered is a yes; everything else is a no, and says so. Each is
//! answered once, unless the process takes it back.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::choices::{self, About, Answer};
use super::wire::Request;
use super::{control, questions};
use crate::host::dialog::{Besides, Body, Dialog, Reply};
use crate::json::Object;
use crate::object;
use crate::projection::Report;

/// What the process is told when nobody says yes or no.
const ABORTED: &str = "Tool use aborted";
const REFUSED: &str = "User refused permission to run tool";

/// Questions that have no answer yet, by the request's id.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Permissions(BTreeMap<String, Open>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    asked: Asked,
    /// The editor cancelled since: whatever it answers, the tool is not used.
    cancelled: bool,
}

/// What was asked, with what its answer needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Asked {
    /// Whether a tool may be used.
    Tool {
        tool_use_id: String,
        input: Option<Box<RawValue>>,
        answers: Vec<Answer>,
        /// A subagent in the background asks: no turn of the user's ends with it.
        aside: bool,
    },
    /// What the user thinks.
    Questions {
        tool_use_id: String,
        input: Box<RawValue>,
        /// The process tells an answer from none.
        unanswered: bool,
    },
    /// What an MCP server wants to know.
    Server,
    /// Whether another model is to try.
    Fallback,
}

impl Permissions {
    /// Takes a question about a tool in; gives what the user is asked. `aside` is whether a
    /// subagent asks in the background.
    pub fn ask(
        &mut self,
        id: &str,
        request: &Request<'_>,
        about: &About<'_>,
        aside: bool,
        card: Report,
    ) -> Dialog {
        let (choices, answers) = choices::of(request, about).into_iter().unzip();
        self.open(
            id,
            Asked::Tool {
                tool_use_id: request.tool_use_id.to_string(),
                input: request.input.map(ToOwned::to_owned),
                answers,
                aside,
            },
        );
        let body = Body::Choice {
            title: request.tool_name.to_string(),
            text: String::new(),
            choices,
        };
        let mut dialog = dialog(id, "permission", &request.tool_use_id, body);
        dialog.more = Some(besides(request, &card).into());
        dialog.card = Some(card.into());
        dialog
    }

    /// Takes questions of the model in; `None` when there is nothing to ask.
    pub fn ask_questions(
        &mut self,
        id: &str,
        request: &Request<'_>,
        unanswered: bool,
    ) -> Option<Dialog> {
        let input = request.input?;
        let body = questions::body(input)?;
        self.open(
            id,
            Asked::Questions {
                tool_use_id: request.tool_use_id.to_string(),
                input: input.to_owned(),
                unanswered,
            },
        );
        let mut dialog = dialog(id, "questions", &request.tool_use_id, body);
        let own_answers = questions::own_answers(input);
        dialog.more = Some(Box::new(Besides {
            own_answers,
            ..Besides::default()
        }));
        Some(dialog)
    }

    /// Takes a question of an MCP server in.
    pub fn ask_server(&mut self, id: &str, body: Body) -> Dialog {
        self.open(id, Asked::Server);
        dialog(id, "server", "", body)
    }

    /// Takes in whether another model is to try.
    pub fn ask_fallback(&mut self, id: &str, body: Body) -> Dialog {
        self.open(id, Asked::Fallback);
        dialog(id, "fallback", "", body)
    }

    fn open(&mut self, id: &str, asked: Asked) {
        let open = Open {
            asked,
            cancelled: false,
        };
        self.0.insert(id.to_string(), open);
    }

    /// Whether the user is being asked anything.
    pub fn waiting(&self) -> bool {
        !self.0.is_empty()
    }

    /// What the user said, as a line for the process.
    pub fn reply(&mut self, id: &str, reply: &Reply) -> Option<Object> {
        let Open { asked, cancelled } = self.0.remove(id)?;
        let reply = if cancelled { &Reply::Cancelled } else { reply };
        Some(match asked {
            Asked::Tool {
                tool_use_id,
                input,
                answers,
                aside,
            } => {
                let chosen = match reply {
                    Reply::Chosen(at) => usize::try_from(*at).ok().and_then(|at| answers.get(at)),
                    _ => None,
                };
                match chosen {
                    Some(answer) => control::answer(id, &told(answer, &tool_use_id, input)),
                    None if aside => control::answer(id, &denied(&tool_use_id, REFUSED, false)),
                    None => control::refusal(id, ABORTED),
                }
            }
            Asked::Questions {
                tool_use_id,
                input,
                unanswered,
            } => match questions::answer(&input, reply, unanswered) {
                Some(input) => {
                    let response = object! {
                        "behavior": "allow", "updatedInput": input, "toolUseID": tool_use_id,
                    };
                    control::answer(id, &response)
                }
                None => control::refusal(id, ABORTED),
            },
            Asked::Server => control::answer(id, &questions::server_answer(reply)),
            Asked::Fallback => control::answer(id, &questions::fallback_answer(reply)),
        })
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

fn told(answer: &Answer, tool_use_id: &str, input: Option<Box<RawValue>>) -> Object {
    match answer {
        Answer::Allow { updates, lasting } => {
            let mut response = object! { "behavior": "allow", "updatedInput": input };
            if let Some(updates) = updates {
                response.set("updatedPermissions", updates);
            }
            let class = if *lasting {
                "user_permanent"
            } else {
                "user_temporary"
            };
            response
                .with("toolUseID", tool_use_id)
                .with("decisionClassification", class)
        }
        Answer::Reject { message, interrupt } => {
            denied(tool_use_id, message, *interrupt).with("decisionClassification", "user_reject")
        }
    }
}

/// A no.
pub fn denied(tool_use_id: &str, message: &str, interrupt: bool) -> Object {
    let mut response = object! { "behavior": "deny", "message": message };
    if interrupt {
        response.set("interrupt", &true);
    }
    response.with("toolUseID", tool_use_id)
}

/// What stands beside a question about a tool.
fn besides(request: &Request<'_>, card: &Report) -> Besides {
    let title = match &*request.tool_name {
        "ExitPlanMode" => Some("Ready to code?".to_owned()),
        _ => card.title.clone(),
    };
    let why = request.decision_reason.as_deref().map(str::trim);
    Besides {
        title: title.filter(|title| !title.is_empty()),
        why: why.filter(|why| !why.is_empty()).map(ToOwned::to_owned),
        default_to_no: request.default_to_no,
        own_answers: Vec::new(),
    }
}

fn dialog(id: &str, kind: &str, tool_id: &str, body: Body) -> Dialog {
    Dialog {
        id: id.to_string(),
        kind: kind.to_string(),
        turn_id: String::new(),
        tool_id: tool_id.to_string(),
        own_card: false,
        cancel_is_answer: true,
        body,
        card: None,
        more: None,
    }
}
