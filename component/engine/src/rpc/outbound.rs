//! Requests of ours to the editor that have no answer yet.
//!
//! Nothing here knows a method name; `P` says what an answer is for. Invariant: a number is
//! never used twice, so an answer that comes twice, or after its request was withdrawn,
//! finds nothing and means nothing.

use alloc::collections::BTreeMap;
use alloc::string::ToString;

use serde::{Deserialize, Serialize};

/// The id of a request of ours.
pub type Number = u64;

/// The table of open requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outbound<P> {
    next: Number,
    open: BTreeMap<Number, P>,
}

impl<P> Default for Outbound<P> {
    fn default() -> Self {
        Outbound {
            next: 1,
            open: BTreeMap::new(),
        }
    }
}

impl<P> Outbound<P> {
    /// A fresh number for a request that goes out now.
    pub fn ask(&mut self, purpose: P) -> Number {
        let number = self.next;
        self.next += 1;
        self.open.insert(number, purpose);
        number
    }

    /// An answer came under this id, as it was written: what it is for. `None` for an id
    /// that is not open.
    pub fn settle(&mut self, id: &str) -> Option<P> {
        let number: Number = id.parse().ok()?;
        // `+1` and `01` would parse too.
        if number.to_string() != id {
            return None;
        }
        self.open.remove(&number)
    }

    /// Nobody waits for the answer any more; whether somebody did. The other side still
    /// answers once, and that is ignored.
    pub fn withdraw(&mut self, number: Number) -> bool {
        self.open.remove(&number).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_a_request_when_answered_twice_then_only_the_first_finds_it() {
        let mut outbound = Outbound::default();
        assert_eq!((outbound.ask('a'), outbound.ask('b')), (1, 2));
        assert_eq!(outbound.settle("2"), Some('b'));
        assert_eq!(outbound.settle("2"), None);
        assert_eq!(outbound.settle("1"), Some('a'));
    }

    #[test]
    fn given_a_withdrawn_request_when_answered_then_nothing_is_found_and_its_number_stays_used() {
        let mut outbound = Outbound::default();
        let number = outbound.ask('a');
        assert!(outbound.withdraw(number));
        assert!(!outbound.withdraw(number));
        assert_eq!(outbound.settle("1"), None);
        assert_eq!(outbound.ask('b'), 2);
    }

    #[test]
    fn given_ids_that_are_not_ours_when_answered_then_nothing_is_found() {
        let mut outbound = Outbound::default();
        outbound.ask('a');
        for id in ["\"1\"", "01", "+1", "1.0", "-1", "null", "{}", "2", "1e0"] {
            assert_eq!(outbound.settle(id), None, "{id}");
        }
        assert_eq!(outbound.settle("1"), Some('a'));
    }
}
