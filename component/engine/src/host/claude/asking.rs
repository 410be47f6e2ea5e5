//! What the process asks the user (Claude adapter, sections 10 and 11), on its way to the
//! editor.
//!
//! Invariant: what the editor cannot show is answered here, so that the process never waits
//! for it.

use serde_json::value::RawValue;

use super::choices::About;
use super::session::Session;
use super::wire::{Elicitation, Request, part};
use super::{control, permissions, questions};
use crate::host::dialog::{Dialog, Means, Reply};
use crate::host::{Cx, Fact};
use crate::projection::Report;

/// The one dialog of the program's own that is shown.
pub const FALLBACK: &str = "refusal_fallback_prompt";

const QUESTIONS: &str = "AskUserQuestion";

impl Session {
    /// May a tool be used? Or, what does the user think?
    pub(super) fn ask_tool(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: &str,
        request: &Request<'_>,
        card: Report,
    ) {
        let dialog = if request.tool_name == QUESTIONS {
            let unanswered = self.can.unanswered;
            let shows = cx.listener.can_ask(Means::Form);
            let asked = shows.then(|| self.permissions.ask_questions(id, request, unanswered));
            let Some(dialog) = asked.flatten() else {
                let why = "The user cannot be asked questions here.";
                let no = permissions::denied(&request.tool_use_id, why, false);
                return self.write(cx, &control::answer(id, &no));
            };
            dialog
        } else {
            let Some(panel) = &self.panel else {
                return self.write(cx, &control::refusal(id, "the session is not there yet"));
            };
            let about = About {
                cwd: &self.cwd,
                home: self.environment.home(),
                modes: panel.modes(),
                able: panel.able(),
            };
            let agent = request.agent_id.as_deref();
            let aside = agent.is_some_and(|agent| self.tasks.contains_key(agent));
            self.permissions.ask(id, request, &about, aside, card)
        };
        let agreed = self.setup.client.extras.on;
        let more = dialog.more.filter(|_| agreed);
        let dialog = Dialog { more, ..dialog };
        self.ask_user(cx, dialog);
    }

    /// What does an MCP server want to know?
    pub(super) fn ask_server(&mut self, cx: &mut Cx<'_, '_>, id: &str, raw: Option<&RawValue>) {
        let asked: Elicitation<'_> = part(raw);
        let body = questions::server(&asked, || cx.core.uuid());
        match body.filter(|body| cx.listener.can_ask(body.means())) {
            Some(body) => {
                let dialog = self.permissions.ask_server(id, body);
                self.ask_user(cx, dialog);
            }
            None => {
                let no = questions::server_answer(&Reply::Unsupported);
                self.write(cx, &control::answer(id, &no));
            }
        }
    }

    /// A dialog of the program's own.
    pub(super) fn ask_dialog(&mut self, cx: &mut Cx<'_, '_>, id: &str, request: &Request<'_>) {
        let known = request.dialog_kind.as_deref() == Some(FALLBACK);
        let body = known
            .then(|| questions::fallback(request.payload))
            .flatten();
        match body.filter(|body| cx.listener.can_ask(body.means())) {
            Some(body) => {
                let dialog = self.permissions.ask_fallback(id, body);
                self.ask_user(cx, dialog);
            }
            None => {
                let no = crate::object! { "behavior": "cancelled" };
                self.write(cx, &control::answer(id, &no));
            }
        }
    }

    fn ask_user(&self, cx: &mut Cx<'_, '_>, dialog: Dialog) {
        self.tell(cx, Fact::Asks { dialog });
    }
}
