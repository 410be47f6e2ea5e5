//! Processes beside the sessions: `claude auth logout`, and `claude auth status --json` where
//! no session's greeting says who is signed in.
//!
//! Invariants: whoever waits is answered once; a process that says nothing in time is ended.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::account::{self, Seen};
use super::{Claude, Due, failure};
use crate::effect::{Command, Effect, HostDeparture, Inherit, Target};
use crate::host::{Cx, Fact};
use crate::input::{Channel, HostArrival, Timer};
use crate::limits;
use crate::rpc::Ticket;

/// Asks who is signed in.
const STATUS: [&str; 3] = ["auth", "status", "--json"];

/// One process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Side {
    purpose: Purpose,
    timer: Timer,
    #[serde(with = "crate::snapshot::bytes")]
    out: Vec<u8>,
    #[serde(with = "crate::snapshot::bytes")]
    said: Vec<u8>,
    exit: Option<Option<i32>>,
    ended: bool,
}

/// What for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Purpose {
    /// `logout` waits.
    SignOut(Ticket),
    /// Who is signed in; `logout` may wait.
    Status(Option<Ticket>),
}

impl Claude {
    /// `logout`.
    pub(super) fn sign_out(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket) {
        self.aside(cx, Purpose::SignOut(ticket), &["auth", "logout"]);
    }

    /// Asks who is signed in.
    pub(super) fn ask_status(&mut self, cx: &mut Cx<'_, '_>) {
        self.aside(cx, Purpose::Status(None), &STATUS);
    }

    fn aside(&mut self, cx: &mut Cx<'_, '_>, purpose: Purpose, args: &[&str]) {
        let channel = cx.core.channel();
        let command = Command {
            program: self.program.clone(),
            args: args.iter().map(ToString::to_string).collect(),
            inherit: Inherit::All,
            env: ["NODE_OPTIONS", "DEBUG"]
                .map(|name| (name.to_owned(), None))
                .into(),
            cwd: self.environment.home().unwrap_or("/").to_owned(),
        };
        let open = HostDeparture::Open(Target::Process(command));
        cx.core.effect(Effect::Host(channel, open));
        let timer = cx.arm(Due::Side(channel), limits::CLAUDE_SIDE_MS);
        let side = Side {
            purpose,
            timer,
            out: Vec::new(),
            said: Vec::new(),
            exit: None,
            ended: false,
        };
        self.sides.insert(channel, side);
    }

    /// Something came from such a process. False if it is none.
    pub(super) fn side_arrival(
        &mut self,
        cx: &mut Cx<'_, '_>,
        channel: Channel,
        arrival: &HostArrival,
    ) -> bool {
        let Some(side) = self.sides.get_mut(&channel) else {
            return false;
        };
        let keep = limits::CLAUDE_SIDE_OUTPUT as usize;
        match arrival {
            HostArrival::Opened(_) => {
                cx.core.effect(Effect::Host(channel, HostDeparture::Finish));
            }
            HostArrival::Bytes(bytes) => {
                side.out.extend_from_slice(bytes);
                side.out.truncate(keep);
            }
            HostArrival::Diagnostic(bytes) => {
                side.said.extend_from_slice(bytes);
                side.said.truncate(keep);
            }
            HostArrival::Exited(code) => side.exit = Some(*code),
            HostArrival::Ended(_) => side.ended = true,
            HostArrival::Refused(refusal) => {
                let home = self.environment.home().unwrap_or("/");
                let failure = failure::refused(&self.program, home, refusal);
                side.said = failure.message.into_bytes();
                side.exit = Some(None);
                side.ended = true;
            }
            HostArrival::Response(..) | HostArrival::Drained(_) => {}
        }
        if side.ended && side.exit.is_some() {
            self.side_over(cx, channel);
        }
        true
    }

    /// It took too long, or the end has come: what it said so far is all there is.
    pub(super) fn side_over(&mut self, cx: &mut Cx<'_, '_>, channel: Channel) {
        let Some(side) = self.sides.remove(&channel) else {
            return;
        };
        cx.core.disarm(side.timer);
        if !side.ended {
            cx.core.effect(Effect::Host(channel, HostDeparture::Close));
        }
        match side.purpose {
            Purpose::SignOut(ticket) if side.exit == Some(Some(0)) => {
                self.reroute(cx, None);
                if self.ending {
                    cx.answer(Fact::Done { ticket });
                } else {
                    let status = Purpose::Status(Some(ticket));
                    self.aside(cx, status, &STATUS);
                }
            }
            Purpose::SignOut(ticket) => {
                let failure = failure::sign_out(&side.words());
                cx.answer(Fact::Refused { ticket, failure });
            }
            Purpose::Status(ticket) => {
                // It exits with 1 when nobody is signed in, and says so all the same.
                if let Ok(seen) = serde_json::from_slice::<Seen<'_>>(&side.out) {
                    cx.answer(Fact::SignedIn(account::read(&seen)));
                }
                if let Some(ticket) = ticket {
                    cx.answer(Fact::Done { ticket });
                }
            }
        }
    }

    /// Nobody waits any longer.
    pub(super) fn end_sides(&mut self, cx: &mut Cx<'_, '_>) {
        while let Some(channel) = self.sides.keys().next().copied() {
            self.side_over(cx, channel);
        }
    }
}

impl Side {
    /// What it said, to people.
    fn words(&self) -> String {
        let said = [&self.said, &self.out].map(|it| String::from_utf8_lossy(it));
        let mut said = said.iter().map(|it| it.trim());
        said.find(|it| !it.is_empty())
            .unwrap_or_default()
            .to_owned()
    }
}
