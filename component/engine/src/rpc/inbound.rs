//! Requests of the editor that have no answer yet.
//!
//! Invariant: a ticket is answered exactly once; answering takes it away.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

/// Stands for a request inside the engine, because ids can be of any JSON type.
pub type Ticket = u64;

/// The table of open requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Inbound {
    next: Ticket,
    open: BTreeMap<Ticket, String>,
}

impl Inbound {
    /// Takes a request in. `None` when a request with this id is still open: a sender may
    /// not use an id twice at once.
    pub fn admit(&mut self, id: &str) -> Option<Ticket> {
        if self.ticket(id).is_some() {
            return None;
        }
        let ticket = self.next;
        self.next += 1;
        self.open.insert(ticket, id.to_string());
        Some(ticket)
    }

    /// The open request with this id, as written.
    pub fn ticket(&self, id: &str) -> Option<Ticket> {
        self.open
            .iter()
            .find(|(_, open)| *open == id)
            .map(|(ticket, _)| *ticket)
    }

    /// Whether a ticket waits for its answer.
    pub fn is_open(&self, ticket: Ticket) -> bool {
        self.open.contains_key(&ticket)
    }

    /// Takes a ticket away for its answer; gives the id as it was written.
    pub fn settle(&mut self, ticket: Ticket) -> Option<String> {
        self.open.remove(&ticket)
    }
}
