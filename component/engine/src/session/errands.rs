//! What the editor asks that is no session's business alone, handed on to the Host.
//!
//! Invariant: a session that a fork makes is unfit or fit as a new one would be.

use alloc::string::String;

use crate::host::{Account, Command, Errand};
use crate::plumbing::Core;
use crate::rpc::{RpcError, Ticket};

use super::Sessions;

impl Sessions {
    pub(super) fn errand(&mut self, core: &mut Core<'_>, ticket: Ticket, errand: Errand) {
        if self.ending {
            let closing = RpcError::closing("errand");
            return self.editor.refuse(core, ticket, &closing);
        }
        let errand = match errand {
            Errand::Fork {
                session_id,
                setup,
                point,
            } => {
                if let Some(error) = self.unfit(&setup) {
                    return self.editor.refuse(core, ticket, &error);
                }
                let setup = self.set_up(setup);
                // A part of a session is an extension, too.
                let point = point.filter(|_| setup.client.extras.on);
                Errand::Fork {
                    session_id,
                    setup,
                    point,
                }
            }
            // What goes into the archive is at rest.
            Errand::Archive {
                session_id,
                archived: true,
            } => {
                let making = self.close_loads(core, &session_id);
                match self.owned.remove(&session_id).or(making) {
                    Some(key) => {
                        self.archiving.insert(ticket, session_id);
                        self.close(core, key, ticket);
                    }
                    None => self.archive(ticket, session_id),
                }
                return;
            }
            other => other,
        };
        self.commands.push_back(Command::Errand { ticket, errand });
    }

    /// The session is closed, or was not open.
    pub(super) fn archive(&mut self, ticket: Ticket, session_id: String) {
        let errand = Errand::Archive {
            session_id,
            archived: true,
        };
        self.commands.push_back(Command::Errand { ticket, errand });
    }

    /// Who is signed in; told if it was not known.
    pub(super) fn signed_in(&mut self, core: &mut Core<'_>, account: Account) {
        if self.ending || self.account.as_ref() == Some(&account) {
            return;
        }
        self.editor.signed_in(core, &account);
        self.account = Some(account);
    }
}
