//! ACP v1 requests and notifications to [`Ask`] and [`Tell`]. What is checked here needs
//! no session and no Host; the order of the checks is that of the Maka adapter.

use alloc::borrow::Cow;
use alloc::string::ToString;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{air, capabilities, errands, place, prompt, setup};
use crate::editor::{Ask, Tell};
use crate::host::Habits;
use crate::object;
use crate::rpc::{RpcError, error};

use super::options::{SetConfigOption, SetMode};

/// Reads a request.
///
/// # Errors
/// Method not found, or invalid params with the field and a reason.
pub fn request(method: &str, params: Option<&RawValue>, habits: Habits) -> Result<Ask, RpcError> {
    match method {
        "initialize" => initialize(read(method, params)?),
        "session/new" => Ok(Ask::New {
            setup: place::read(method, params, habits)?,
        }),
        "session/load" => load(method, params, true, habits),
        "session/resume" => load(method, params, false, habits),
        "session/list" => list(read(method, params)?),
        "session/prompt" => prompt::prompt(read(method, params)?, habits),
        "_session/steering" => prompt::steering(read(method, params)?, habits),
        "_session/async_task/stop" if habits.extras => {
            let OfTask {
                session_id,
                async_task_id,
            } = read(method, params)?;
            Ok(Ask::StopTask {
                session_id: session_id.into_owned(),
                task: async_task_id.into_owned(),
            })
        }
        air::GOAL if habits.extras => air::goal_asked(read(method, params)?),
        "session/close" => {
            let OfSession { session_id } = read(method, params)?;
            Ok(Ask::Close {
                session_id: session_id.into_owned(),
            })
        }
        "session/delete" => {
            let OfSession { session_id } = read(method, params)?;
            Ok(Ask::Delete {
                session_id: session_id.into_owned(),
            })
        }
        "session/set_config_option" => read::<SetConfigOption<'_>>(method, params)?.ask(habits),
        "session/set_mode" => Ok(read::<SetMode<'_>>(method, params)?.ask()),
        _ => {
            let errand = habits
                .errands
                .then(|| errands::request(method, params, habits));
            errand.flatten().unwrap_or_else(|| Err(unknown(method)))
        }
    }
}

fn unknown(method: &str) -> RpcError {
    RpcError::with(
        error::METHOD_NOT_FOUND,
        "Method not found.",
        object! { "method": method },
    )
}

/// Reads a notification. Unknown ones, and those that cannot be read, are ignored: there
/// is nobody to answer.
pub fn notification(method: &str, params: Option<&RawValue>) -> Option<Tell> {
    match method {
        "session/cancel" => {
            let OfSession { session_id } = read(method, params).ok()?;
            Some(Tell::Cancel {
                session_id: session_id.into_owned(),
            })
        }
        "$/cancel_request" => {
            let CancelRequest { request_id } = read(method, params).ok()?;
            Some(Tell::CancelRequest {
                id: request_id.get().to_string(),
            })
        }
        _ => None,
    }
}

pub(super) fn read<'a, T: Deserialize<'a>>(
    method: &str,
    params: Option<&'a RawValue>,
) -> Result<T, RpcError> {
    let text = params.map_or("{}", RawValue::get);
    let text = if text == "null" { "{}" } else { text };
    // A struct also reads from an array; params are objects.
    if !text.starts_with('{') {
        return Err(RpcError::params(method, "they are not an object"));
    }
    serde_json::from_str(text).map_err(|e| RpcError::params(method, &e.to_string()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OfSession<'a> {
    #[serde(borrow)]
    pub session_id: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfTask<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    async_task_id: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelRequest<'a> {
    #[serde(borrow)]
    request_id: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize<'a> {
    protocol_version: u16,
    /// A capability that cannot be read counts as absent, and spoils nothing else.
    #[serde(borrow, default)]
    client_capabilities: Option<&'a RawValue>,
}

fn initialize(params: Initialize<'_>) -> Result<Ask, RpcError> {
    Ok(Ask::Initialize {
        requested: params.protocol_version,
        client: capabilities::read(params.client_capabilities),
    })
}

fn load(
    method: &str,
    params: Option<&RawValue>,
    replay: bool,
    habits: Habits,
) -> Result<Ask, RpcError> {
    let OfSession { session_id } = read(method, params)?;
    Ok(Ask::Load {
        session_id: session_id.into_owned(),
        setup: place::read(method, params, habits)?,
        replay,
    })
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    cursor: Option<Cow<'a, str>>,
}

fn list(params: List<'_>) -> Result<Ask, RpcError> {
    if let Some(cwd) = &params.cwd {
        setup::folder(cwd)?;
    }
    Ok(Ask::List {
        cwd: params.cwd.map(Cow::into_owned),
        cursor: params.cursor.map(Cow::into_owned),
    })
}
