//! Settings on their way to the process, and those that change without being asked for
//! (Claude adapter, section 5).
//!
//! Invariants: one at a time; each is answered once, whatever becomes of the process; what
//! changed is told before the answer.

use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::control::Purpose;
use super::options::{Change, Greeting, Panel};
use super::records::Notice;
use super::session::{Session, Stage};
use super::settings::Settings;
use super::wire::{Frame, Response, part};
use super::{Due, failure};
use crate::host::dialog::Means;
use crate::host::more::Severity;
use crate::host::{Cx, Fact, Failure};
use crate::input::Timer;
use crate::limits;
use crate::object;
use crate::rpc::Ticket;
use crate::session::options::{By, Setting};

/// The settings of one session that have no answer yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Configuring {
    now: Option<Open>,
    waiting: VecDeque<(Ticket, Setting)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    /// Without one nobody waits.
    ticket: Option<(Ticket, By)>,
    change: Change,
    timer: Timer,
}

impl Configuring {
    /// Whether a setting is on its way.
    pub fn is_open(&self) -> bool {
        self.now.is_some()
    }

    /// Settings that were not asked for yet go to another process.
    pub fn hand_over(&mut self, heir: &mut Configuring) {
        heir.waiting.append(&mut self.waiting);
    }
}

/// What a hook says of another model.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Switched<'a> {
    #[serde(borrow)]
    hook_event_name: Cow<'a, str>,
    #[serde(borrow)]
    to_model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    requested_model: Option<Cow<'a, str>>,
}

impl Session {
    /// The settings came: what can be set is known, and the first mode is.
    pub(super) fn settings(&mut self, cx: &mut Cx<'_, '_>, answer: Option<&RawValue>) {
        let settings: Settings<'_> = part(answer);
        let greeting: Greeting = part(self.greeting.as_deref());
        let (panel, mode) = Panel::new(
            greeting,
            &settings,
            &self.environment,
            self.before.as_deref(),
        );
        self.greeting = None;
        self.settings_read = cx.core.now.monotonic;
        let mut panel = panel;
        if self.setup.client.extras.recommended
            && let Some(effort) = panel.name_all()
        {
            self.request(cx, Purpose::Nothing, &effort.request());
            panel.made(effort);
        }
        self.panel = Some(panel);
        match mode {
            Some(mode) => {
                let request = Change::Mode(mode.clone()).request();
                self.request(cx, Purpose::FirstMode(mode), &request);
            }
            None => self.live(cx),
        }
    }

    /// A prompt comes: settings that somebody changed outside are looked at again, if that
    /// was some time ago. Files cannot be watched from here, and nobody is told of them.
    pub(super) fn look_again(&mut self, cx: &mut Cx<'_, '_>) {
        let now = cx.core.now.monotonic;
        if self.stage.is_live()
            && now.saturating_sub(self.settings_read) >= limits::CLAUDE_SETTINGS_MS
        {
            self.settings_read = now;
            let request = object! { "subtype": "get_settings" };
            self.request(cx, Purpose::SettingsAgain, &request);
        }
    }

    /// The settings are these now.
    pub(super) fn settings_again(&mut self, cx: &mut Cx<'_, '_>, answer: Option<&RawValue>) {
        let settings: Settings<'_> = part(answer);
        let known = answer.is_some_and(|raw| raw.get().starts_with('{'));
        if let Some(panel) = self.panel.as_mut().filter(|_| known)
            && panel.settings_are(&settings, &self.environment)
        {
            self.tell_options(cx);
        }
    }

    /// The process is in its first mode, or stays as it is.
    pub(super) fn first_mode(
        &mut self,
        cx: &mut Cx<'_, '_>,
        wanted: String,
        response: &Response<'_>,
    ) {
        if let Some(panel) = &mut self.panel
            && response.subtype != "error"
        {
            panel.mode_is(&mode_in(response.response).unwrap_or(wanted));
        }
        self.live(cx);
    }

    /// The editor wants something to be set.
    pub fn configure(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, setting: Setting) {
        self.configuring.waiting.push_back((ticket, setting));
        self.next_setting(cx);
    }

    pub(super) fn next_setting(&mut self, cx: &mut Cx<'_, '_>) {
        if self.stage == Stage::Anew {
            return;
        }
        while self.configuring.now.is_none()
            && let Some((ticket, setting)) = self.configuring.waiting.pop_front()
        {
            let switches = cx.listener.can_ask(Means::Switch);
            let panel = self.panel.as_mut().filter(|_| self.stage.is_live());
            let Some(panel) = panel else {
                let failure = self.why.clone().unwrap_or_else(failure::ended);
                cx.answer(Fact::Refused { ticket, failure });
                continue;
            };
            match panel.change(&setting, switches) {
                Ok((change, by)) => {
                    panel.instead(&setting, &change);
                    self.ask_setting(cx, Some((ticket, by)), change);
                }
                Err(failure) => cx.answer(Fact::Refused { ticket, failure }),
            }
        }
    }

    fn ask_setting(&mut self, cx: &mut Cx<'_, '_>, ticket: Option<(Ticket, By)>, change: Change) {
        self.request(cx, Purpose::Setting, &change.request());
        let due = Due::Setting(self.channel());
        let timer = cx.arm(due, limits::CLAUDE_SETTING_MS);
        self.configuring.now = Some(Open {
            ticket,
            change,
            timer,
        });
    }

    /// The process did it, and says how, or not.
    pub(super) fn set(&mut self, cx: &mut Cx<'_, '_>, done: Result<Option<&RawValue>, &str>) {
        let Some(Open {
            ticket,
            change,
            timer,
        }) = self.configuring.now.take()
        else {
            return;
        };
        cx.core.disarm(timer);
        match (done, &mut self.panel) {
            (Err(error), panel) => {
                if let Some(panel) = panel {
                    panel.no_warning();
                }
                self.refuse_setting(cx, ticket, failure::setting(error));
            }
            (Ok(answer), Some(panel)) => {
                let model = matches!(change, Change::Model(_));
                let made = match (change, mode_in(answer)) {
                    (Change::Mode(_), Some(mode)) => Change::Mode(mode),
                    (change, _) => change,
                };
                match panel.made(made) {
                    Some(next) => self.ask_setting(cx, ticket, next),
                    None => self.configured(cx, ticket),
                }
                if model {
                    self.ask_context(cx);
                }
            }
            (Ok(_), None) => {}
        }
        self.next_setting(cx);
    }

    /// The process does not answer.
    pub(super) fn setting_due(&mut self, cx: &mut Cx<'_, '_>) {
        if let Some(Open { ticket, .. }) = self.configuring.now.take() {
            // Its answer, should it come, is to nobody.
            self.control.forget(&Purpose::Setting);
            self.refuse_setting(cx, ticket, failure::setting("Claude Code did not answer."));
            self.next_setting(cx);
        }
    }

    fn refuse_setting(&self, cx: &mut Cx<'_, '_>, ticket: Option<(Ticket, By)>, failure: Failure) {
        self.tell_options(cx);
        match ticket {
            Some((ticket, _)) => cx.answer(Fact::Refused { ticket, failure }),
            None => self.note(cx, &failure.message),
        }
    }

    fn configured(&mut self, cx: &mut Cx<'_, '_>, ticket: Option<(Ticket, By)>) {
        let warning = self.panel.as_mut().and_then(Panel::warning);
        // Another mode than was asked for, or one that nobody asked for.
        if warning.is_some() || ticket.is_none() {
            self.tell_options(cx);
        }
        self.warn(cx, warning);
        if let (Some((ticket, by)), Some(panel), Some(key)) = (ticket, &self.panel, self.key) {
            let options = panel.options();
            let _fine = cx.tell(
                key,
                Fact::Configured {
                    ticket,
                    by,
                    options,
                },
            );
        }
    }

    /// Nobody can be told any more that it was set.
    pub(super) fn drop_settings(&mut self, cx: &mut Cx<'_, '_>, failure: &Failure) {
        self.drop_setting(cx, failure);
        for (ticket, _) in core::mem::take(&mut self.configuring.waiting) {
            let failure = failure.clone();
            cx.answer(Fact::Refused { ticket, failure });
        }
    }

    /// The same of the one that is on its way.
    pub(super) fn drop_setting(&mut self, cx: &mut Cx<'_, '_>, failure: &Failure) {
        let Some(Open { ticket, timer, .. }) = self.configuring.now.take() else {
            return;
        };
        cx.core.disarm(timer);
        if let Some((ticket, _)) = ticket {
            let failure = failure.clone();
            cx.answer(Fact::Refused { ticket, failure });
        }
    }

    /// What a frame says of the mode and of fast answers.
    pub(super) fn settings_in(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let Some(panel) = &mut self.panel else {
            return;
        };
        let mode = frame.permission_mode.as_deref();
        let of_status = frame.subtype == "status";
        let mut news = mode.is_some_and(|mode| of_status && panel.mode_is(mode));
        let fast = frame.fast_mode_state.as_deref();
        news |= fast.is_some_and(|state| panel.fast_is(state));
        if news {
            self.tell_options(cx);
        }
    }

    /// A hook says that another model runs.
    pub(super) fn hooked(&mut self, cx: &mut Cx<'_, '_>, input: Option<&RawValue>) {
        let switched: Switched<'_> = part(input);
        if let Some(model) = switched.to_model.as_deref()
            && switched.hook_event_name == "PostModelSwitch"
        {
            self.model_runs(cx, switched.requested_model.as_deref(), model);
        }
    }

    /// Another model runs, by the name that was asked for or by its own.
    pub(super) fn model_runs(&mut self, cx: &mut Cx<'_, '_>, asked: Option<&str>, model: &str) {
        // While a setting of ours is under way, its answer says what came of it.
        let Some(panel) = self
            .panel
            .as_mut()
            .filter(|_| self.configuring.now.is_none())
        else {
            return;
        };
        let (news, next) = panel.model_is(asked, model);
        match next {
            Some(change) => self.ask_setting(cx, None, change),
            None if news => self.tell_options(cx),
            None => return,
        }
        self.ask_context(cx);
    }

    pub(super) fn tell_options(&self, cx: &mut Cx<'_, '_>) {
        if let Some(panel) = &self.panel {
            self.tell(cx, Fact::Options(panel.options()));
        }
    }

    /// How large the context is now.
    pub(super) fn ask_context(&mut self, cx: &mut Cx<'_, '_>) {
        let summary = object! { "subtype": "get_context_usage", "detail": "summary" };
        self.request(cx, Purpose::Context, &summary);
    }

    /// What the first prompt is told.
    pub(super) fn warn_first(&mut self, cx: &mut Cx<'_, '_>) {
        let warning = self.panel.as_mut().and_then(Panel::warning);
        let warning = warning.filter(|text| self.more.notices.is_news(text));
        self.warn(cx, warning);
    }

    fn warn(&mut self, cx: &mut Cx<'_, '_>, warning: Option<&str>) {
        let Some(text) = warning else {
            return;
        };
        let id = cx.core.uuid();
        let title = "Auto mode unavailable";
        let words = format!("**{title}:** {text}");
        self.notify(
            cx,
            Notice {
                severity: Severity::Warning,
                title,
                text,
                words: &words,
                id: &id,
                meta: None,
            },
        );
    }
}

/// The mode that an answer names.
fn mode_in(answer: Option<&RawValue>) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Mode {
        mode: Option<String>,
    }
    let Mode { mode } = part(answer);
    mode
}
