//! A new session (Claude adapter, section 4): fresh, or going on where one of before is, as
//! the client's options for the program say.
//!
//! Invariant: no two processes have the same session.

use alloc::format;

use serde_json::value::RawValue;

use super::extras::Extras;
use super::session::Session;
use super::starting::Again;
use super::titles::Title;
use super::wire::Frame;
use super::{Claude, failure};
use crate::effect::Level;
use crate::host::{Cx, Fact, Setup};
use crate::rpc::Ticket;

/// Frames go on to the client under this name.
const RAW: &str = "_claude/sdkMessage";

impl Claude {
    /// `session/new`.
    pub(super) fn create(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, setup: Setup) {
        let extras = Extras::of(&setup);
        let (resumed, forked) = match extras.resume {
            Some(id) if extras.fork => (None, Some(id)),
            resumed => (resumed, None),
        };
        if let Some(id) = &resumed
            && let Some(holder) = self.holder(id)
        {
            let failure = failure::open_already(holder);
            return cx.answer(Fact::Refused { ticket, failure });
        }
        for name in &extras.unread {
            let what = "of _meta.claudeCode.options is not understood and was left out";
            cx.core.note(Level::Warn, format!("{name} {what}"));
        }
        let file = resumed.as_deref().map(|id| self.stored_as(id));
        let again = Again {
            resume: resumed.is_some(),
            own: file.filter(|file| resumed.as_ref() != Some(file)),
            id: resumed.unwrap_or_else(|| cx.core.uuid()),
            mode: None,
            forked: forked.map(|id| self.stored_as(&id)),
        };
        let (program, environment) = (&self.program, &self.environment);
        let mut session = Session::start_again(cx, program, environment, ticket, setup, again);
        session.again = false;
        if session.stored {
            // It may have a name, and its file is not looked into.
            session.title = Title::Done;
        }
        self.sessions.insert(session.channel(), session);
    }
}

impl Session {
    /// A load found the process that it wants: what it asks for anew is heard.
    pub(super) fn asked_anew(&mut self, setup: &Setup) {
        self.extras.raw = Extras::of(setup).raw;
    }

    /// A frame for a client that wants it as it is.
    pub(super) fn pass_on(&self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>, line: &[u8]) {
        if self.extras.wants(frame)
            && let Ok(message) = serde_json::from_slice::<&RawValue>(line)
        {
            let method = RAW;
            self.tell(cx, Fact::Raw { method, message });
        }
    }
}
