//! Signing in to the editor's own MCP servers (Claude adapter, sections 2 and 11): the process
//! gives an address, the user goes there, and each second the process is asked whether it
//! was of use.
//!
//! Invariants: the user is asked about a server once; what is shown is taken back when
//! nobody would hear of the answer any more.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Due;
use super::control::Purpose;
use super::session::Session;
use super::wire::more::Servers;
use super::wire::{Response, part};
use crate::host::dialog::{Body, Dialog, Means, Reply};
use crate::host::{Cx, Fact, Transport};
use crate::input::Timer;
use crate::{limits, object};

/// What the process says of a server without a sign-in.
pub const NEEDS_AUTH: &str = "needs-auth";
const CONNECTED: &str = "connected";

/// The sign-ins of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SignIns {
    /// By the server's name; those that are over stay, so that nobody is asked again.
    servers: BTreeMap<String, Stage>,
    /// The process was asked how the servers are, and has not answered.
    looking: bool,
    /// When it is asked again.
    timer: Option<Timer>,
}

/// How far a sign-in is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The process was asked for the address.
    Wanted,
    /// The user is shown it, under this id.
    Shown { id: String },
    /// The user goes there; until when that is waited for.
    Awaited { id: String, until: u64 },
    /// It came to something, or to nothing.
    Over,
}

impl Session {
    /// The session is there: how are the servers that may want a sign-in?
    pub(super) fn look_at_servers(&mut self, cx: &mut Cx<'_, '_>) {
        let mut servers = self.setup.servers.iter();
        let may = servers.any(|it| matches!(it.by, Transport::Web { .. }));
        if may && cx.listener.can_ask(Means::Address) {
            self.ask_servers(cx);
        }
    }

    fn ask_servers(&mut self, cx: &mut Cx<'_, '_>) {
        if !core::mem::replace(&mut self.more.sign_ins.looking, true) {
            let request = object! { "subtype": "mcp_status" };
            self.request(cx, Purpose::Servers, &request);
        }
    }

    /// The process says how its servers are.
    pub(super) fn servers_are(&mut self, cx: &mut Cx<'_, '_>, response: &Response<'_>) {
        self.more.sign_ins.looking = false;
        let Servers { mcp_servers } = part(response.response);
        for server in mcp_servers {
            match &*server.status {
                NEEDS_AUTH => {
                    self.signs_in(cx, &server.name);
                }
                CONNECTED => self.signed_in(cx, &server.name),
                _ => {}
            }
        }
    }

    /// A server wants a sign-in. Whether one is under way; the first time, it begins.
    pub(super) fn signs_in(&mut self, cx: &mut Cx<'_, '_>, name: &str) -> bool {
        // A program of the editor's has no address of its own.
        let mut servers = self.setup.servers.iter();
        let mine = servers.any(|it| it.name == name && matches!(it.by, Transport::Web { .. }));
        if !mine || !self.stage.is_live() || !cx.listener.can_ask(Means::Address) {
            return false;
        }
        if let Some(stage) = self.more.sign_ins.servers.get(name) {
            return *stage != Stage::Over;
        }
        self.sign_in_is(name, Stage::Wanted);
        let request = object! { "subtype": "mcp_authenticate", "serverName": name };
        self.request(cx, Purpose::SignIn(name.to_owned()), &request);
        true
    }

    fn sign_in_is(&mut self, name: &str, stage: Stage) {
        self.more.sign_ins.servers.insert(name.to_owned(), stage);
    }

    /// The process gives the address at which one signs in, or does not.
    pub(super) fn address_is(&mut self, cx: &mut Cx<'_, '_>, name: &str, response: &Response<'_>) {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Answer<'a> {
            #[serde(borrow)]
            auth_url: Option<Cow<'a, str>>,
        }
        if self.more.sign_ins.servers.get(name) != Some(&Stage::Wanted) {
            return;
        }
        let Answer { auth_url } = part(response.response);
        let web = |url: &Cow<'_, str>| url.starts_with("https://") || url.starts_with("http://");
        let Some(url) = auth_url.filter(web) else {
            self.note(cx, "an MCP server gave no address to sign in at");
            return self.sign_in_is(name, Stage::Over);
        };
        let id = cx.core.uuid();
        self.sign_in_is(name, Stage::Shown { id: id.clone() });
        let body = Body::Address {
            message: format!("The MCP server {name} needs you to sign in."),
            url: url.into_owned(),
            id: id.clone(),
        };
        let dialog = Dialog {
            id,
            kind: "sign_in".to_string(),
            turn_id: String::new(),
            tool_id: String::new(),
            own_card: false,
            cancel_is_answer: true,
            body,
            card: None,
            inside: None,
            more: None,
        };
        self.tell(cx, Fact::Asks { dialog });
    }

    /// The user answered. Whether it was about a sign-in.
    pub(super) fn sign_in_replied(
        &mut self,
        cx: &mut Cx<'_, '_>,
        dialog: &str,
        reply: &Reply,
    ) -> bool {
        let mut servers = self.more.sign_ins.servers.iter();
        let shown = servers.find(|(_, stage)| matches!(stage, Stage::Shown { id } if id == dialog));
        let Some(name) = shown.map(|(name, _)| name.clone()) else {
            return false;
        };
        if !matches!(reply, Reply::Filled(_)) {
            self.sign_in_is(&name, Stage::Over);
            return true;
        }
        let until = cx.core.now.monotonic + limits::CLAUDE_SIGN_IN_MS;
        let id = dialog.to_owned();
        self.sign_in_is(&name, Stage::Awaited { id, until });
        if self.more.sign_ins.timer.is_none() {
            self.wait_for_sign_ins(cx);
        }
        true
    }

    fn wait_for_sign_ins(&mut self, cx: &mut Cx<'_, '_>) {
        let timer = cx.arm(Due::SignIn(self.channel), limits::CLAUDE_SIGN_IN_LOOK_MS);
        self.more.sign_ins.timer = Some(timer);
    }

    /// A second is over.
    pub(super) fn sign_ins_due(&mut self, cx: &mut Cx<'_, '_>) {
        self.more.sign_ins.timer = None;
        let now = cx.core.now.monotonic;
        let mut waits = false;
        for stage in self.more.sign_ins.servers.values_mut() {
            if let Stage::Awaited { until, .. } = stage {
                if *until <= now {
                    *stage = Stage::Over;
                } else {
                    waits = true;
                }
            }
        }
        if waits {
            self.wait_for_sign_ins(cx);
            self.ask_servers(cx);
        }
    }

    /// A server works: what was waited for is done.
    fn signed_in(&mut self, cx: &mut Cx<'_, '_>, name: &str) {
        let stage = self.more.sign_ins.servers.get(name).cloned();
        if let Some(Stage::Awaited { id, .. }) = stage {
            self.sign_in_is(name, Stage::Over);
            self.tell(cx, Fact::Visited { id: &id });
        }
    }

    /// The editor cancels: what it shows is taken back. Who has gone to sign in is still
    /// waited for.
    pub(super) fn withdraw_sign_ins(&mut self, cx: &mut Cx<'_, '_>) {
        let mut shown = Vec::new();
        for stage in self.more.sign_ins.servers.values_mut() {
            if let Stage::Shown { id } = stage {
                shown.push(core::mem::take(id));
                *stage = Stage::Over;
            }
        }
        for dialog in shown {
            self.tell(cx, Fact::Withdrawn { dialog: &dialog });
        }
    }

    /// The process goes: nothing is waited for any more. Another one that takes its place
    /// asks nobody again who was asked.
    pub(super) fn drop_sign_ins(&mut self, cx: &mut Cx<'_, '_>) {
        self.withdraw_sign_ins(cx);
        let mut sign_ins = core::mem::take(&mut self.more.sign_ins);
        if let Some(timer) = sign_ins.timer {
            cx.core.disarm(timer);
        }
        sign_ins.servers.retain(|_, stage| *stage == Stage::Over);
        self.more.sign_ins.servers = sign_ins.servers;
    }
}
