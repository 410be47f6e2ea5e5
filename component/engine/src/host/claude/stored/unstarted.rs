//! A process that could not be started: perhaps because its folder is not there, which the
//! editor has to hear as the fault of its request (Claude adapter, section 4).
//!
//! Invariant: the session is told once why it did not start.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::super::{Claude, failure};
use super::Job;
use super::list::Now;
use crate::effect::FileDeparture;
use crate::host::{Cx, Failure};
use crate::input::{Channel, FileArrival, FileKind, FileRefusal, HostRefusal, Root};
use crate::plumbing::FileOwner;

/// What is known of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unstarted {
    channel: Channel,
    cwd: String,
    /// Why, if the folder is there.
    failure: Failure,
}

impl Claude {
    /// A process was refused. Whether its folder is looked at before that is told.
    pub(in super::super) fn look_at_folder(
        &mut self,
        cx: &mut Cx<'_, '_>,
        channel: Channel,
        refusal: &HostRefusal,
    ) -> bool {
        let session = self.sessions.get(&channel).filter(|it| it.is_starting());
        let (Some(session), HostRefusal::Failed(_)) = (session, refusal) else {
            return false;
        };
        let cwd = session.cwd.clone();
        let failure = failure::refused(&self.program, refusal);
        let job = self.stored.id();
        let stat = FileDeparture::Stat(Root::Linked, cwd.clone());
        cx.core.file(FileOwner::Claude(job), stat);
        let unstarted = Unstarted {
            channel,
            cwd,
            failure,
        };
        self.stored.jobs.insert(job, Job::Folder(unstarted));
        true
    }

    /// What is at its folder; `None` when the answer trapped.
    pub(super) fn not_started(
        &mut self,
        cx: &mut Cx<'_, '_>,
        job: u64,
        arrival: Option<&FileArrival>,
    ) -> Now {
        if let Some(Job::Folder(unstarted)) = self.stored.jobs.remove(&job)
            && let Some(session) = self.sessions.get_mut(&unstarted.channel)
        {
            let failure = match arrival {
                Some(FileArrival::Facts(facts)) if facts.kind != FileKind::Folder => {
                    failure::no_folder(&unstarted.cwd)
                }
                Some(FileArrival::Refused(FileRefusal::Error(_) | FileRefusal::NotRegular)) => {
                    failure::no_folder(&unstarted.cwd)
                }
                _ => unstarted.failure,
            };
            session.gone(cx, &failure);
        }
        Now::Over
    }
}
