//! What the editor asks that is no session's business alone, handed on to the Host.
//!
//! Invariant: a session that a fork makes is unfit or fit as a new one would be.

use crate::host::{Account, Command, Errand, Setup};
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
                let client = self.editor.client;
                let setup = Setup { client, ..setup };
                Errand::Fork {
                    session_id,
                    setup,
                    point,
                }
            }
            other => other,
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
