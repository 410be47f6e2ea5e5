//! A running session whose models are to come from elsewhere: between two turns its process is
//! replaced by one that goes that way, under the same id (Claude adapter, section 16).
//!
//! Invariant: what runs is left to end.

use alloc::vec::Vec;

use super::Claude;
use super::replace::Why;
use super::session::{Session, Stage};
use crate::host::Cx;
use crate::input::Channel;

impl Claude {
    /// Sessions that go another way than they should are restarted when they are idle.
    pub(super) fn restart_all(&mut self, cx: &mut Cx<'_, '_>) {
        self.astray = true;
        self.restart(cx);
    }

    /// Turns may be over.
    pub(super) fn restart(&mut self, cx: &mut Cx<'_, '_>) {
        if self.ending || !self.astray {
            return;
        }
        let route = self.environment.route();
        // One that has not started yet takes the way that there is then.
        let astray =
            |it: &Session| !it.leaves() && it.after.is_none() && it.environment.route() != route;
        let others = self.sessions.iter().filter(|(_, it)| astray(it));
        let others: Vec<Channel> = others.map(|(channel, _)| *channel).collect();
        self.astray = !others.is_empty();
        for channel in others {
            let key = self.sessions.get(&channel).and_then(|it| it.key);
            let loading = key.is_some_and(|key| self.is_loading(key));
            let session = self.sessions.get_mut(&channel);
            let session = session.filter(|it| key.is_some() && !loading && it.may_be_replaced());
            if let Some(session) = session {
                let mut heir = session.heir(cx, Stage::Anew, session.setup().clone());
                heir.extras = session.extras.clone();
                session.hand_over(cx, &mut heir, Why::Provider);
                self.succeed(heir);
            }
        }
        self.bury(cx);
    }
}
