//! HTTP targets: the grant check, and a plain answer.
//!
//! No origin is granted by default, and no Host of this version speaks HTTP. It touches
//! nothing. Invariant: a request is always answered, never carried out.

use super::mailbox::Feed;
use crate::grants::Grants;
use crate::words::{HostArrival, HostRefusal, Request};

/// Answers a request to open an exchange.
pub(super) fn open(request: &Request, grants: &Grants, feed: &Feed) {
    let refusal = match grants.origin(&request.url) {
        None => HostRefusal::NotAllowed,
        Some(origin) => HostRefusal::Failed(format!(
            "This build of host-runner carries out no HTTP exchanges, so {origin} cannot be reached."
        )),
    };
    feed.opening(HostArrival::Refused(refusal));
}
