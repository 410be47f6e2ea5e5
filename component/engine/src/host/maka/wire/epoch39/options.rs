//! What of a session can be set, in the words of this epoch, and how the Host answers a
//! change that names the revision it is based on.

use alloc::borrow::Cow;

use serde::Deserialize;

use super::CatalogItem;

/// Permission modes that are offered. A session may also be in `explore`, which is asked
/// for nowhere.
pub const PERMISSION_MODES: [&str; 2] = ["ask", "bypass"];
/// Thinking levels. The Host takes any of them for any model (recording 14).
pub const THINKING_LEVELS: [&str; 7] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
/// Collaboration modes.
pub const COLLABORATION_MODES: [&str; 2] = ["agent", "plan"];
/// Orchestration modes.
pub const ORCHESTRATION_MODES: [&str; 3] = ["default", "swarm", "graph"];

/// Result of `session.configuration.update` and of `session.remove`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed<'a> {
    /// `committed` or `removed`; `revision_conflict` when the session changed meanwhile.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// `committed`.
    #[serde(borrow, default)]
    pub session: Option<CatalogItem<'a>>,
}

/// Something else changed the session in between: to be based on its next revision.
pub const CONFLICT: &str = "revision_conflict";
