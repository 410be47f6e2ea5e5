//! The one Host module of a connection, whichever it is.
//!
//! It routes and decides nothing. Invariant: what was asked for by one module comes back to
//! no other, since there is only one.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use super::claude::Claude;
use super::maka::Maka;
use super::{Command, Cx};
use crate::input::{Channel, FileArrival, Handle, HostArrival};
use crate::plumbing::{Due, FileOwner};

/// A Host module.
#[derive(Debug, Serialize, Deserialize)]
pub enum Module {
    /// The Maka Runtime Host.
    Maka(Box<Maka>),
    /// Claude Code.
    Claude(Box<Claude>),
}

impl Module {
    /// A command of the sessions.
    pub fn command(&mut self, cx: &mut Cx<'_, '_>, command: Command) {
        match self {
            Module::Maka(maka) => maka.command(cx, command),
            Module::Claude(claude) => claude.command(cx, command),
        }
    }

    /// Something came on a channel.
    pub fn arrival(&mut self, cx: &mut Cx<'_, '_>, channel: Channel, arrival: HostArrival) {
        match self {
            Module::Maka(maka) => maka.arrival(cx, channel, arrival),
            Module::Claude(claude) => claude.arrival(cx, channel, arrival),
        }
    }

    /// What came on this channel trapped.
    pub fn poisoned(&mut self, cx: &mut Cx<'_, '_>, channel: Channel) {
        match self {
            Module::Maka(maka) => maka.poisoned(cx, channel),
            Module::Claude(claude) => claude.poisoned(cx, channel),
        }
    }

    /// An answer about a file; `None` when it trapped.
    pub fn file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        owner: FileOwner,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) {
        match (self, owner) {
            (Module::Maka(maka), FileOwner::List(listing)) => maka.folder(cx, listing, arrival),
            (Module::Maka(maka), FileOwner::Load(load)) => maka.load_folder(cx, load, arrival),
            (Module::Maka(maka), FileOwner::Parcel(parcel)) => {
                maka.parcel_file(cx, parcel, handle, arrival);
            }
            (Module::Claude(claude), FileOwner::Claude(job)) => {
                claude.file(cx, job, handle, arrival);
            }
            (Module::Claude(claude), FileOwner::Preview(channel, number)) => {
                claude.preview_file(cx, channel, number, handle, arrival);
            }
            _ => {}
        }
    }

    /// A timer of the module's is due.
    pub fn due(&mut self, cx: &mut Cx<'_, '_>, due: Due) {
        match (self, due) {
            (Module::Maka(maka), Due::Maka(due)) => maka.due(cx, due),
            (Module::Claude(claude), Due::Claude(due)) => claude.due(cx, due),
            _ => {}
        }
    }

    /// A timer of the module's trapped.
    pub fn timer_poisoned(&mut self, cx: &mut Cx<'_, '_>, due: Due) {
        match (self, due) {
            (Module::Maka(maka), Due::Maka(due)) => maka.timer_poisoned(cx, due),
            (Module::Claude(claude), Due::Claude(due)) => claude.due(cx, due),
            _ => {}
        }
    }

    /// The end may wait no longer.
    pub fn end_now(&mut self, cx: &mut Cx<'_, '_>) {
        match self {
            Module::Maka(maka) => maka.end_now(cx),
            Module::Claude(claude) => claude.end_now(cx),
        }
    }

    /// Whether nothing is left open.
    pub fn ended(&self) -> bool {
        match self {
            Module::Maka(maka) => maka.ended(),
            Module::Claude(claude) => claude.ended(),
        }
    }
}
