//! What a session can be set to, and is (Claude adapter, section 5): mode, model, effort,
//! fast, ultracode, agent.
//!
//! Pure: it says what to ask of the process, and is told what was done. Invariant: what is
//! shown is what the process said last; a wish that it has not confirmed is not shown.

mod again;

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::failure;
use super::models::{DEFAULT, Model, Models};
use super::modes::{self, Modes};
use super::recommended;
use super::settings::Settings;
use crate::host::Failure;
use crate::json::Object;
use crate::object;
use crate::session::options::{
    By, Category, Choice, Marks, OFF, ON, Options, Setting, Value, Wanted,
};

const MODE: &str = "mode";
const MODEL: &str = "model";
const EFFORT: &str = "effort";
const FAST: &str = "fast";
const ULTRACODE: &str = "ultracode";
const AGENT: &str = "agent";

/// Agents that every program has; more are somebody's own.
const BUILT_IN: [&str; 6] = [
    "claude",
    "Explore",
    "general-purpose",
    "Plan",
    "statusline-setup",
    "output-style-setup",
];

/// What the greeting says of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Greeting {
    models: Vec<Model>,
    agents: Vec<Agent>,
    current_permission_mode: Option<String>,
    fast_mode_state: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Agent {
    name: String,
    description: String,
}

/// All of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Panel {
    modes: Modes,
    mode: String,
    /// All that the program has, before a gateway and settings leave some out.
    all: Vec<Model>,
    /// Those that settings allow, if not all.
    only: Option<Vec<String>>,
    models: Models,
    model: String,
    effort: String,
    fast: bool,
    /// Where the program has it.
    ultracode: Option<bool>,
    agents: Vec<Value>,
    agent: String,
    /// The editor has to be told that Claude does not decide, though the user wanted it.
    unable: bool,
    /// It was told.
    warned: bool,
    /// The user wants to be asked if the context is to begin anew with a plan.
    clears: bool,
    /// The editor wants models and efforts by name.
    named: bool,
}

/// Something to be asked of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Another mode.
    Mode(String),
    /// Another model.
    Model(String),
    /// Another effort; none is the model's own.
    Effort(Option<String>),
    /// Faster answers.
    Fast(bool),
    /// Plans and splits of the work.
    Ultracode(bool),
    /// Another agent; none is the program's own.
    Agent(Option<String>),
}

impl Change {
    /// The request.
    pub fn request(&self) -> Object {
        let flags = |name: &str, value: Option<&str>| {
            object! {
                "subtype": "apply_flag_settings",
                "settings": Object::new().with(name, &value),
            }
        };
        match self {
            Change::Mode(mode) => object! { "subtype": "set_permission_mode", "mode": mode },
            Change::Model(model) => object! { "subtype": "set_model", "model": model },
            Change::Effort(effort) => flags("effortLevel", effort.as_deref()),
            Change::Agent(agent) => flags("agent", agent.as_deref()),
            Change::Fast(on) => switch("fastMode", *on),
            Change::Ultracode(on) => switch("ultracode", *on),
        }
    }
}

fn switch(name: &str, on: bool) -> Object {
    object! { "subtype": "apply_flag_settings", "settings": Object::new().with(name, &on) }
}

impl Panel {
    /// What the greeting and the settings say, and in which mode a session of before was; and
    /// the mode to change to before anything else, if the process is in another one.
    pub fn new(
        greeting: Greeting,
        settings: &Settings<'_>,
        environment: &Environment,
        before: Option<&str>,
    ) -> (Panel, Option<String>) {
        let applied = settings.applied();
        let only = settings.models().or_else(|| environment.models());
        let gateway = environment.gateway();
        let models = Models::new(greeting.models.clone(), gateway, only.as_deref());
        // What somebody chose by name stands; otherwise the row that stands for what runs.
        let chosen = settings.model();
        let row = chosen
            .as_deref()
            .and_then(|name| models.find(name))
            .filter(|row| {
                let runs = applied.model.as_deref();
                runs.is_none_or(|id| row.resolved_model.as_deref().is_none_or(|it| it == id))
            })
            .or_else(|| models.running(applied.model.as_deref()?));
        let model = match row {
            Some(row) => row.value.clone(),
            None => applied.model.clone().unwrap_or_else(|| DEFAULT.to_owned()),
        };
        let agents = greeting
            .agents
            .into_iter()
            .filter(|agent| !BUILT_IN.contains(&agent.name.as_str()) && !agent.name.is_empty());
        let modes = Modes::new(settings, environment);
        let mut panel = Panel {
            modes,
            mode: greeting
                .current_permission_mode
                .unwrap_or_else(|| modes::AUTO.to_owned()),
            model,
            all: greeting.models,
            only,
            models,
            effort: DEFAULT.to_owned(),
            fast: greeting.fast_mode_state.is_some_and(|state| state != OFF),
            ultracode: applied
                .ultracode_available
                .then_some(applied.ultracode_requested),
            agents: agents
                .map(|agent| Value {
                    id: agent.name.clone(),
                    name: agent.name,
                    about: Some(agent.description).filter(|about| !about.is_empty()),
                })
                .collect(),
            agent: DEFAULT.to_owned(),
            unable: false,
            warned: false,
            clears: settings.clears(),
            named: false,
        };
        if let Some(effort) = settings.effort().filter(|effort| panel.thinks(effort)) {
            panel.effort = effort;
        }
        if let Some(agent) = settings.agent().filter(|agent| panel.has_agent(agent)) {
            panel.agent = agent;
        }
        let before = before.filter(|mode| modes.allows(mode)).map(String::from);
        let chosen = before.or_else(|| settings.mode());
        let first = modes.first(chosen.as_deref(), panel.able());
        panel.unable = first.instead;
        let mode = (first.mode != panel.mode).then_some(first.mode);
        (panel, mode)
    }

    /// How permissions are asked for.
    pub fn mode(&self) -> &str {
        &self.mode
    }

    /// What of the modes may be chosen.
    pub fn modes(&self) -> Modes {
        self.modes
    }

    /// The row that stands for a model that runs, and its name.
    pub fn running(&self, model: &str) -> Option<(String, String)> {
        let mut row = self.models.running(model)?;
        if let Some(name) = self.models.default_is().filter(|_| self.named) {
            // No row stands for what is best.
            let best = |it: &&Model| it.value == DEFAULT;
            row = Some(row)
                .filter(|it| !best(it))
                .or(self.models.find(name))?;
        }
        Some((row.value.clone(), row.name().to_string()))
    }

    /// Whether the current model can decide on permissions.
    pub fn able(&self) -> bool {
        self.row().is_none_or(Model::auto)
    }

    /// Whether the user is asked if the context is to begin anew with a plan.
    pub fn clears(&self) -> bool {
        self.clears
    }

    /// As the editor is told.
    pub fn options(&self) -> Options {
        let mut all = Vec::new();
        all.push(Choice {
            about: Some("Session permission mode".to_owned()),
            marks: Marks {
                recommended: None,
                kinds: recommended::kinds(),
            },
            ..choice(
                MODE,
                "Mode",
                Category::Mode,
                &self.mode,
                self.modes.values(&self.mode),
            )
        });
        if !self.models.is_empty() {
            all.push(Choice {
                about: Some("AI model to use".to_owned()),
                ..choice(
                    MODEL,
                    "Model",
                    Category::Model,
                    &self.model,
                    self.models.values(&self.model),
                )
            });
        }
        if let Some(efforts) = self.efforts() {
            all.push(Choice {
                about: Some("Available effort levels for this model".to_owned()),
                ..choice(
                    EFFORT,
                    "Effort",
                    Category::ThoughtLevel,
                    &self.effort,
                    efforts,
                )
            });
        }
        if self.can_be_fast() {
            let about = "Faster responses on supported models";
            all.push(on_or_off(FAST, "Fast mode", about, self.fast));
        }
        if let Some(on) = self.ultracode() {
            let about = "Dynamic workflows on every task, at any effort level";
            all.push(on_or_off(ULTRACODE, "Ultracode", about, on));
        }
        if !self.agents.is_empty() {
            let mut values = Vec::from([plain(DEFAULT, "Default")]);
            values.extend(self.agents.iter().cloned());
            let category = Category::Other("model_config".to_owned());
            all.push(Choice {
                about: Some("Agent that answers in this session".to_owned()),
                ..choice(AGENT, "Agent", category, &self.agent, values)
            });
        }
        if self.named {
            return recommended::named(Options(all), self.models.default_is());
        }
        Options(all)
    }

    /// The editor wants models and efforts by name: the effort that is to be set for that.
    pub fn name_all(&mut self) -> Option<Change> {
        self.named = true;
        self.name_effort()
    }

    /// An effort that nobody chose is named too.
    fn name_effort(&mut self) -> Option<Change> {
        if !self.named || self.effort != DEFAULT {
            return None;
        }
        let levels = self.row().map(Model::efforts).unwrap_or_default();
        let level = recommended::effort(levels.iter().map(String::as_str))?.to_owned();
        Some(Change::Effort(Some(level)))
    }

    /// What a wish of the editor comes to. `switches` is whether its client shows switches.
    ///
    /// # Errors
    /// An option that is not there, or a value that it cannot have.
    pub fn change(&self, setting: &Setting, switches: bool) -> Result<(Change, By), Failure> {
        let (id, value, by) = match setting {
            Setting::Mode { value } => (MODE, Cow::Owned(Wanted::Id(value.clone())), By::Mode),
            Setting::Option { id, value } => (id.as_str(), Cow::Borrowed(value), By::Option),
        };
        let change = match id {
            FAST if self.can_be_fast() => Change::Fast(yes(id, &value, switches)?),
            ULTRACODE if self.ultracode().is_some() => {
                Change::Ultracode(yes(id, &value, switches)?)
            }
            MODE => Change::Mode(self.fit_mode(text(id, &value)?)?),
            MODEL if !self.models.is_empty() => {
                let name = text(id, &value)?;
                let found = self.models.find(name).map(|row| row.value.clone());
                let known = found.or_else(|| (name == self.model).then(|| name.to_owned()));
                Change::Model(known.ok_or_else(|| failure::value(id, name))?)
            }
            EFFORT if self.efforts().is_some() => {
                let name = text(id, &value)?;
                if name != DEFAULT && !self.thinks(name) {
                    return Err(failure::value(id, name));
                }
                Change::Effort((name != DEFAULT).then(|| name.to_owned()))
            }
            AGENT if !self.agents.is_empty() => {
                let name = text(id, &value)?;
                if name != DEFAULT && !self.has_agent(name) {
                    return Err(failure::value(id, name));
                }
                Change::Agent((name != DEFAULT).then(|| name.to_owned()))
            }
            _ => return Err(failure::option(id)),
        };
        Ok((change, by))
    }

    /// The mode that comes of a wish: not one that the model cannot have.
    fn fit_mode(&self, mode: &str) -> Result<String, Failure> {
        if !self.modes.allows(mode) {
            return Err(failure::value(MODE, mode));
        }
        let instead = mode == modes::AUTO && !self.able();
        Ok(if instead { modes::EDITS } else { mode }.to_owned())
    }

    /// The process did it; and what has to follow, so that all fits together.
    pub fn made(&mut self, change: Change) -> Option<Change> {
        match change {
            Change::Mode(mode) => {
                self.mode = mode;
                return self.name_effort();
            }
            Change::Model(model) => {
                self.model = model;
                return self.fit_model();
            }
            Change::Effort(effort) => self.effort = effort.unwrap_or_else(|| DEFAULT.to_owned()),
            Change::Fast(on) => self.fast = on,
            Change::Ultracode(on) => self.ultracode = Some(on),
            Change::Agent(agent) => self.agent = agent.unwrap_or_else(|| DEFAULT.to_owned()),
        }
        None
    }

    fn fit_model(&mut self) -> Option<Change> {
        if self.effort != DEFAULT && !self.thinks(&self.effort) {
            self.effort = DEFAULT.to_owned();
        }
        if self.mode == modes::AUTO && !self.able() {
            self.unable = true;
            return Some(Change::Mode(modes::EDITS.to_owned()));
        }
        self.name_effort()
    }

    /// The process says that it is in this mode. Whether that is new.
    pub fn mode_is(&mut self, mode: &str) -> bool {
        let new = self.mode != mode;
        if new {
            self.mode = mode.to_owned();
        }
        new
    }

    /// The process says that this model runs, by the name that was asked for or by its own.
    /// Whether that is new; and what has to follow.
    pub fn model_is(&mut self, asked: Option<&str>, model: &str) -> (bool, Option<Change>) {
        let current = self.row();
        let same = |row: &Model| row.resolved_model.as_deref() == Some(model);
        let named = asked.and_then(|asked| self.models.find(asked));
        let now = match named {
            Some(row) => row.value.clone(),
            None if current.is_some_and(same) => return (false, None),
            None => self
                .models
                .running(model)
                .map_or_else(|| model.to_owned(), |row| row.value.clone()),
        };
        if now == self.model {
            return (false, None);
        }
        self.model = now;
        (true, self.fit_model())
    }

    /// The process says whether answers are fast. Whether that is new.
    pub fn fast_is(&mut self, state: &str) -> bool {
        let fast = state != OFF;
        core::mem::replace(&mut self.fast, fast) != fast && self.can_be_fast()
    }

    /// Once: that Claude does not decide, though the user wanted it.
    pub fn warning(&mut self) -> Option<&'static str> {
        let due = core::mem::take(&mut self.unable) && !core::mem::replace(&mut self.warned, true);
        due.then_some("the selected model does not support Auto mode; using Accept edits instead.")
    }

    /// Nothing came of it.
    pub fn no_warning(&mut self) {
        self.unable = false;
    }

    /// The editor wanted a mode and gets another one.
    pub fn instead(&mut self, setting: &Setting, change: &Change) {
        let wanted = match setting {
            Setting::Mode { value } => value,
            Setting::Option {
                value: Wanted::Id(value),
                ..
            } => value,
            Setting::Option { .. } => return,
        };
        self.unable |= matches!(change, Change::Mode(mode) if mode != wanted);
    }

    fn row(&self) -> Option<&Model> {
        self.models.find(&self.model)
    }

    fn efforts(&self) -> Option<Vec<Value>> {
        let levels = self.row()?.efforts();
        if levels.is_empty() {
            return None;
        }
        let mut values = Vec::from([plain(DEFAULT, "Default")]);
        values.extend(levels.iter().map(|level| plain(level, &capital(level))));
        Some(values)
    }

    fn thinks(&self, effort: &str) -> bool {
        let levels = self.row().map(Model::efforts).unwrap_or_default();
        levels.iter().any(|level| level == effort)
    }

    fn can_be_fast(&self) -> bool {
        self.row().is_some_and(Model::fast)
    }

    /// It needs a model that thinks hard.
    fn ultracode(&self) -> Option<bool> {
        self.ultracode.filter(|_| self.thinks("xhigh"))
    }

    fn has_agent(&self, name: &str) -> bool {
        self.agents.iter().any(|agent| agent.id == name)
    }
}

fn choice(id: &str, name: &str, category: Category, current: &str, values: Vec<Value>) -> Choice {
    Choice {
        id: id.to_owned(),
        name: name.to_owned(),
        about: None,
        category,
        current: current.to_owned(),
        values,
        switch: false,
        marks: Marks::default(),
    }
}

fn on_or_off(id: &str, name: &str, about: &str, on: bool) -> Choice {
    let values = Vec::from([plain(ON, "On"), plain(OFF, "Off")]);
    let category = Category::Other("model_config".to_owned());
    Choice {
        about: Some(about.to_owned()),
        switch: true,
        ..choice(id, name, category, if on { ON } else { OFF }, values)
    }
}

fn plain(id: &str, name: &str) -> Value {
    Value {
        id: id.to_owned(),
        name: name.to_owned(),
        about: None,
    }
}

/// `xhigh` as people read it.
pub(super) fn capital(word: &str) -> String {
    let mut rest = word.chars();
    match rest.next() {
        Some(first) => first.to_uppercase().chain(rest).collect(),
        None => String::new(),
    }
}

fn text<'a>(id: &str, value: &'a Wanted) -> Result<&'a str, Failure> {
    match value {
        Wanted::Id(value) => Ok(value),
        Wanted::Switch(on) => Err(failure::value(id, &on.to_string())),
    }
}

/// What a switch is to be: yes or no for a client that shows switches, else `on` or `off`.
fn yes(id: &str, value: &Wanted, switches: bool) -> Result<bool, Failure> {
    match value {
        Wanted::Switch(on) if switches => Ok(*on),
        Wanted::Id(text) if switches => Err(failure::no_switch(id, text)),
        Wanted::Id(text) if text == ON => Ok(true),
        Wanted::Id(text) if text == OFF => Ok(false),
        Wanted::Id(text) => Err(failure::value(id, text)),
        Wanted::Switch(on) => Err(failure::value(id, &format!("{on}"))),
    }
}
