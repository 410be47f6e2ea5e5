//! Options, modes and deletion in ACP v1: requests in, answers and notifications out.
//!
//! Pure. Invariants: an option always lists its current value; the modes are the option of
//! the category `mode`, so that the two cannot say different things.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::air;
use super::answers::{line, raw};
use crate::editor::Ask;
use crate::host::{Client, Habits};
use crate::json::Object;
use crate::object;
use crate::rpc::RpcError;
use crate::session::options::{Category, Choice, ON, Options, Setting, Value, Wanted};

/// Params of `session/set_config_option`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOption<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    config_id: Cow<'a, str>,
    #[serde(borrow)]
    value: &'a RawValue,
}

impl SetConfigOption<'_> {
    /// The values of a list are texts; a switch takes yes or no, where the Host has any.
    ///
    /// # Errors
    /// When the value is neither.
    pub fn ask(self, habits: Habits) -> Result<Ask, RpcError> {
        let value = match self.value.get() {
            "true" if habits.switches => Wanted::Switch(true),
            "false" if habits.switches => Wanted::Switch(false),
            text => serde_json::from_str(text).map(Wanted::Id).map_err(|_| {
                let sentence = "The value must be the id of one of the option's values.";
                RpcError::field("value", "invalid_type", sentence)
            })?,
        };
        Ok(Ask::Configure {
            session_id: self.session_id.into_owned(),
            setting: Setting::Option {
                id: self.config_id.into_owned(),
                value,
            },
        })
    }
}

/// Params of `session/set_mode`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetMode<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    mode_id: Cow<'a, str>,
}

impl SetMode<'_> {
    /// What is asked.
    pub fn ask(self) -> Ask {
        Ask::Configure {
            session_id: self.session_id.into_owned(),
            setting: Setting::Mode {
                value: self.mode_id.into_owned(),
            },
        }
    }
}

/// Adds `configOptions` and `modes` to an answer that opens a session.
pub fn describe(answer: &mut Object, options: &Options, client: Client) {
    answer.set("configOptions", &config_options(options, client));
    if let Some(mode) = options.mode() {
        answer.set("modes", &modes(mode, client));
    }
}

/// Result of `session/set_config_option`.
pub fn set(options: &Options, client: Client) -> Box<RawValue> {
    raw(&object! { "configOptions": config_options(options, client) })
}

/// `config_option_update`.
pub fn changed(session_id: &str, options: &Options, client: Client, out: &mut Vec<u8>) {
    let update = object! {
        "sessionUpdate": "config_option_update",
        "configOptions": config_options(options, client),
    };
    notification(session_id, update, out);
}

/// `current_mode_update`.
pub fn mode_changed(session_id: &str, mode: &str, out: &mut Vec<u8>) {
    let update = object! { "sessionUpdate": "current_mode_update", "currentModeId": mode };
    notification(session_id, update, out);
}

fn notification(session_id: &str, update: Object, out: &mut Vec<u8>) {
    line(
        &object! {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": object! { "sessionId": session_id, "update": update },
        },
        out,
    );
}

/// Switches only for a client that shows them (CONFIG-003: none that was not offered).
fn config_options(options: &Options, client: Client) -> Vec<Object> {
    let option = |choice| config_option(choice, client);
    options.0.iter().map(option).collect()
}

fn config_option(choice: &Choice, client: Client) -> Object {
    let category = match &choice.category {
        Category::Mode => "mode",
        Category::Model => "model",
        Category::ThoughtLevel => "thought_level",
        Category::Other(word) => word,
    };
    let switch = choice.switch && client.switches;
    let mut option = object! {
        "type": if switch { "boolean" } else { "select" },
        "id": choice.id, "name": choice.name,
    };
    if let Some(about) = &choice.about {
        option.set("description", about);
    }
    option.set("category", category);
    let recommended = choice.marks.recommended.as_ref();
    if let Some(value) = recommended.filter(|_| client.extras.on) {
        option.set("_meta", &air::meta(object! { "recommendedValue": value }));
    }
    if switch {
        return option.with("currentValue", &(choice.current == ON));
    }
    let values = values("value", choice, client);
    option
        .with("currentValue", &choice.current)
        .with("options", &values)
}

fn modes(mode: &Choice, client: Client) -> Object {
    let available = values("id", mode, client);
    object! { "currentModeId": mode.current, "availableModes": available }
}

fn values(id: &str, choice: &Choice, client: Client) -> Vec<Object> {
    let value = |value: &Value| {
        let mut object = named(id, value);
        let kinds = &choice.marks.kinds;
        let kind = kinds.iter().find(|(known, _)| *known == value.id);
        if let Some((_, kind)) = kind.filter(|_| client.extras.on) {
            object.set("_meta", &air::meta(object! { "kind": kind }));
        }
        object
    };
    choice.values.iter().map(value).collect()
}

/// Options name a value's id `value`, modes name it `id`.
fn named(id: &str, value: &Value) -> Object {
    let mut object = Object::new().with(id, &value.id).with("name", &value.name);
    if let Some(about) = &value.about {
        object.set("description", about);
    }
    object
}
