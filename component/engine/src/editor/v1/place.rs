//! Where a session of ACP v1 is to work and with what, and what else a client says with it: how
//! the model is to be instructed (`systemPrompt`), and its `_meta`; and frames of the Host that
//! it asked for there.
//!
//! Pure. Invariants: all requests that make a session or take one up are read alike; nothing of
//! `_meta` but AIR's part is understood here; a Host reads its own.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{air, decode, setup};
use crate::host::{Habits, Instructions, Setup};
use crate::json::{self, Object};
use crate::projection::path::absolute;
use crate::rpc::{RpcError, error};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place<'a> {
    #[serde(borrow)]
    cwd: Cow<'a, str>,
    /// `session/new` and `session/load` require it by the protocol, `session/resume` does not;
    /// `null` counts as empty.
    #[serde(borrow, default)]
    mcp_servers: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    additional_directories: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    system_prompt: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// Reads it from the params of a request.
///
/// # Errors
/// The field that cannot be used, and why.
pub fn read(method: &str, params: Option<&RawValue>, habits: Habits) -> Result<Setup, RpcError> {
    let Place {
        cwd,
        mcp_servers,
        additional_directories,
        system_prompt,
        meta,
    } = decode::read(method, params)?;
    check(&cwd, additional_directories.as_deref(), habits)?;
    let setup = setup::read(cwd, mcp_servers, additional_directories)?;
    Ok(Setup {
        custom: air::instructions(meta),
        ..add(setup, system_prompt, meta, habits)?
    })
}

#[derive(Deserialize)]
struct SystemPrompt<'a> {
    #[serde(borrow)]
    mode: Cow<'a, str>,
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Text<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

/// Checks folders in the words of such a Host, which name the value (Claude adapter,
/// section 4).
fn check(cwd: &str, folders: Option<&[&RawValue]>, habits: Habits) -> Result<(), RpcError> {
    if !habits.instructed {
        return Ok(());
    }
    let relative = |name: &str, path: &str| {
        RpcError::with(
            error::INVALID_PARAMS,
            format!("Invalid params: `{name}` must be an absolute path, but received: {path}"),
            Object::new().with(name, path),
        )
    };
    if !absolute(cwd) {
        return Err(relative("cwd", cwd));
    }
    for folder in folders.unwrap_or_default() {
        let path: String = serde_json::from_str(folder.get()).unwrap_or_default();
        if !absolute(&path) {
            return Err(relative("additionalDirectories", &path));
        }
    }
    Ok(())
}

/// Adds what else is said, for a Host that has use for it.
fn add(
    setup: Setup,
    system_prompt: Option<&RawValue>,
    meta: Option<&RawValue>,
    habits: Habits,
) -> Result<Setup, RpcError> {
    if !habits.instructed {
        return Ok(setup);
    }
    let given = |raw: &&RawValue| raw.get() != "null";
    Ok(Setup {
        instructions: system_prompt.filter(given).map(instructions).transpose()?,
        extra: meta.filter(given).map(|meta| meta.get().to_owned()),
        ..setup
    })
}

fn instructions(raw: &RawValue) -> Result<Instructions, RpcError> {
    let invalid = |why: &str| {
        RpcError::field(
            "systemPrompt",
            "invalid",
            format!("Invalid params: systemPrompt {why}."),
        )
    };
    let shape = "needs a mode, append or override, and content, a list of text blocks";
    let read: SystemPrompt<'_> = serde_json::from_str(raw.get()).map_err(|_| invalid(shape))?;
    let instead = match &*read.mode {
        "append" => false,
        "override" => true,
        other => return Err(invalid(&format!("has an unknown mode: {other}"))),
    };
    let mut texts = Vec::new();
    for block in read.content {
        let block: Text<'_> = serde_json::from_str(block.get()).map_err(|_| invalid(shape))?;
        match (&*block.kind, block.text) {
            ("text", Some(text)) => texts.push(text),
            (kind, _) => {
                return Err(invalid(&format!("takes text blocks only, not {kind}")));
            }
        }
    }
    let text: String = texts.join("\n\n");
    Ok(Instructions { text, instead })
}

/// A notification of the Host's own.
pub fn raw(session_id: &str, method: &str, message: &RawValue, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    json::string(out, method);
    out.extend_from_slice(br#","params":{"sessionId":"#);
    json::string(out, session_id);
    out.extend_from_slice(br#","message":"#);
    json::raw(out, message);
    out.extend_from_slice(b"}}\n");
}
