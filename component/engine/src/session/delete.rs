//! `session/delete`: for good, and whoever made the session. One that is open here is
//! closed first, as `session/close` does it; a session that is not there counts as deleted.
//!
//! Invariant: what could not be closed is not deleted.

use alloc::string::String;

use crate::host::Command;
use crate::plumbing::Core;
use crate::rpc::Ticket;

use super::{Sessions, State};

impl Sessions {
    pub(super) fn delete(&mut self, core: &mut Core<'_>, session_id: String, ticket: Ticket) {
        let making = self.close_loads(core, &session_id);
        if let Some(key) = self.owned.remove(&session_id).or(making) {
            self.deleting.insert(ticket, session_id);
            return self.close(core, key, ticket);
        }
        let mut open = self.open.values_mut();
        let closing = open.find_map(|session| match &mut session.state {
            State::Closing { again } if session.id == session_id => Some(again),
            _ => None,
        });
        match closing {
            Some(again) => {
                again.push(ticket);
                self.deleting.insert(ticket, session_id);
            }
            None => self
                .commands
                .push_back(Command::Delete { ticket, session_id }),
        }
    }
}
