//! Telling people that the connection is gone while a turn goes on at the Host without us.
//!
//! Touches a timer and tells notices. Invariant: an outage is told at most once, and only
//! if it lasts: most losses are over before anybody could read of them.

use alloc::format;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::host::{Fact, SessionKey};
use crate::input::Timer;
use crate::limits;

use super::feed::Attached;
use super::turn::Stop;
use super::{Cx, Due, Maka};

/// The outage that is under way and was not told yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Outage(Option<Timer>);

impl Attached {
    /// Whether the editor waits for what this session's turn says next.
    fn awaited(&self) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| turn.observed() && matches!(turn.stop, Stop::No))
    }
}

impl Maka {
    /// The connection was lost.
    pub(super) fn outage_begins(&mut self, cx: &mut Cx<'_, '_>) {
        if self.outage.0.is_none() && self.feeds.values().any(Attached::awaited) {
            self.outage.0 = Some(cx.arm(Due::Outage, limits::MAKA_OUTAGE_MS));
        }
    }

    /// There is a connection again, or will be none.
    pub(super) fn outage_ends(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(timer) = self.outage.0.take() {
            cx.core.disarm(timer);
        }
    }

    /// It lasts.
    pub(super) fn tell_outage(&mut self, cx: &mut Cx<'_, '_>) {
        self.outage.0 = None;
        let all = self.feeds.iter();
        let awaited = all.filter(|(_, it)| it.awaited()).map(|(key, _)| *key);
        let awaited: Vec<SessionKey> = awaited.collect();
        let host = self.host();
        for key in awaited {
            let text = format!("The connection to the {host} was lost. Trying again.");
            let notice = Fact::Noticed { text };
            let _fine = cx.tell(key, notice);
        }
    }
}
