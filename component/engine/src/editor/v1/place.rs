//! What else a client of ACP v1 says with a session's place: how the model is to be
//! instructed (`systemPrompt`), and what it says in `_meta`; and frames of the Host that it
//! asked for there.
//!
//! Pure. Invariant: nothing of `_meta` is understood here; a Host reads its own part.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::host::{Habits, Instructions, Setup};
use crate::json::{self, Object};
use crate::projection::path::absolute;
use crate::rpc::{RpcError, error};

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
///
/// # Errors
/// A folder that is not absolute.
pub fn check(cwd: &str, folders: Option<&[&RawValue]>, habits: Habits) -> Result<(), RpcError> {
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

/// Adds it, for a Host that has use for it.
///
/// # Errors
/// Instructions that cannot be read (Claude adapter, section 4).
pub fn add(
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
