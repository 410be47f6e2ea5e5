//! Which models a gateway has (Claude adapter, section 16). The component asks no address that
//! it learns while it runs: Claude Code asks it, in a process beside the sessions that nobody
//! talks in.
//!
//! Claude Code shows a gateway's models behind its own, and no second time those that it shows
//! anyway. In that process its own are therefore led away, so that whatever is set by its own
//! id is the gateway's, however it is described.
//!
//! Invariants: there is one such process at a time, and it ends by itself or is ended; a
//! gateway that says nothing leaves what is offered as it is.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::models::Model;
use super::route::Route;
use super::session::Session;
use super::wire::{Response, part};
use super::{Claude, Due};
use crate::effect::{Command, Effect, HostDeparture, Inherit, Level, Target};
use crate::host::Cx;
use crate::input::{Channel, HostArrival, Timer};
use crate::line::{Line, Lines};
use crate::{limits, object};

/// A process without settings and tools of anybody's, and with no model of the user's choice:
/// that would be one more row.
const ARGS: [&str; 9] = [
    "--output-format",
    "stream-json",
    "--verbose",
    "--input-format",
    "stream-json",
    "--tools=",
    "--setting-sources=",
    "--strict-mcp-config",
    "--model=opus",
];

/// Where the program's own names lead.
const NAMES: [&str; 4] = [
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
];

/// Such a process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Inquiry {
    channel: Channel,
    lines: Lines,
    timer: Timer,
    /// How often its timer was due.
    step: u8,
}

/// An answer of it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Said<'a> {
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Greeting {
    models: Vec<Model>,
}

impl Claude {
    /// Models come from elsewhere: which there are is asked, where they come from a gateway
    /// that can be asked.
    pub(super) fn inquire(&mut self, cx: &mut Cx<'_, '_>) {
        self.end_inquiry(cx);
        let Some(route) = self.environment.route().and_then(Route::inquiry) else {
            return;
        };
        let channel = cx.core.channel();
        let command = Command {
            program: self.program.clone(),
            args: ARGS.map(String::from).into(),
            inherit: Inherit::All,
            env: variables(route, self.environment.has_entrypoint()),
            cwd: self.environment.home().unwrap_or("/").to_owned(),
        };
        let open = HostDeparture::Open(Target::Process(command));
        cx.core.effect(Effect::Host(channel, open));
        let [first, ..] = limits::CLAUDE_GATEWAY_MS;
        self.inquiry = Some(Inquiry {
            channel,
            lines: Lines::default(),
            timer: cx.arm(Due::Inquiry(channel), first),
            step: 0,
        });
    }

    /// Whether it is this process.
    pub(super) fn inquires(&self, channel: Channel) -> bool {
        self.inquiry
            .as_ref()
            .is_some_and(|it| it.channel == channel)
    }

    /// Something came from such a process. False if it is none.
    pub(super) fn inquiry_arrival(
        &mut self,
        cx: &mut Cx<'_, '_>,
        channel: Channel,
        arrival: &HostArrival,
    ) -> bool {
        let Some(inquiry) = self.inquiry.as_mut().filter(|it| it.channel == channel) else {
            return false;
        };
        match arrival {
            HostArrival::Opened(_) => inquiry.ask(cx),
            HostArrival::Bytes(bytes) => {
                let mut lines = core::mem::take(&mut inquiry.lines);
                lines.push(bytes, limits::CLAUDE_LINE, |line| {
                    if let Line::Whole(line) = line {
                        self.inquiry_says(cx, line);
                    }
                });
                if let Some(inquiry) = &mut self.inquiry {
                    inquiry.lines = lines;
                }
            }
            HostArrival::Ended(_) => self.end_inquiry(cx),
            HostArrival::Refused(_) => {
                cx.core.disarm(inquiry.timer);
                self.inquiry = None;
            }
            HostArrival::Diagnostic(_)
            | HostArrival::Exited(_)
            | HostArrival::Response(..)
            | HostArrival::Drained(_) => {}
        }
        true
    }

    fn inquiry_says(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let Said { response } = serde_json::from_slice(line).unwrap_or_default();
        let Response { response, .. } = part(response);
        let Greeting { models } = part(response);
        let models = models.into_iter().filter(Model::by_id);
        let models: Vec<Model> = models.take(limits::CLAUDE_GATEWAY_MODELS).collect();
        if models.is_empty() {
            return;
        }
        let count = models.len();
        cx.core.note(
            Level::Debug,
            format!("Claude Code: the gateway has {count} models"),
        );
        let route = self.environment.route();
        let sessions = self.sessions.values_mut();
        for session in sessions.filter(|it| it.environment.route() == route) {
            session.gateway_has(cx, &models);
        }
        self.environment.set_gateway(models);
    }

    /// The gateway may have answered by now, or has had its time.
    pub(super) fn inquiry_due(&mut self, cx: &mut Cx<'_, '_>, channel: Channel) {
        let Some(inquiry) = self.inquiry.as_mut().filter(|it| it.channel == channel) else {
            return;
        };
        inquiry.step += 1;
        let mut left = limits::CLAUDE_GATEWAY_MS.iter().skip(inquiry.step.into());
        let Some(pause) = left.next() else {
            return self.end_inquiry(cx);
        };
        inquiry.timer = cx.arm(Due::Inquiry(channel), *pause);
        match left.next() {
            Some(_) => inquiry.ask(cx),
            None => cx.core.effect(Effect::Host(channel, HostDeparture::Finish)),
        }
    }

    /// Nobody wants to know any longer.
    pub(super) fn end_inquiry(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(Inquiry { channel, timer, .. }) = self.inquiry.take() {
            cx.core.disarm(timer);
            cx.core.effect(Effect::Host(channel, HostDeparture::Close));
        }
    }
}

impl Inquiry {
    /// The program greets as often as it is asked to, and with what it knows by then.
    fn ask(&self, cx: &mut Cx<'_, '_>) {
        let line = object! {
            "type": "control_request",
            "request_id": format!("models-{}", self.step + 1),
            "request": object! { "subtype": "initialize" },
        };
        // Texts alone: serialising them cannot fail.
        let bytes = serde_json::to_vec(&line).unwrap_or_default();
        cx.core.host_line(self.channel, &bytes);
    }
}

impl Session {
    /// The gateway that it goes to has these models.
    fn gateway_has(&mut self, cx: &mut Cx<'_, '_>, models: &[Model]) {
        self.environment.set_gateway(models.to_vec());
        if let Some(panel) = &mut self.panel
            && panel.gateway_is(&self.environment)
            && self.stage.is_live()
        {
            self.tell_options(cx);
        }
    }
}

fn variables(
    mut all: Vec<(String, Option<String>)>,
    entered: bool,
) -> Vec<(String, Option<String>)> {
    let mut set = |name: &str, value: Option<&str>| {
        all.push((name.to_owned(), value.map(ToOwned::to_owned)));
    };
    if !entered {
        set("CLAUDE_CODE_ENTRYPOINT", Some("sdk-ts"));
    }
    set("CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY", Some("1"));
    let time = limits::CLAUDE_GATEWAY_ANSWER_MS.to_string();
    set(
        "CLAUDE_CODE_GATEWAY_MODEL_DISCOVERY_TIMEOUT_MS",
        Some(&time),
    );
    // It is there for this alone.
    set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", Some("1"));
    for name in NAMES {
        set(name, Some("none"));
    }
    for name in ["ANTHROPIC_CUSTOM_MODEL_OPTION", "NODE_OPTIONS", "DEBUG"] {
        set(name, None);
    }
    all
}
