//! The content blocks of an ACP v1 prompt as they are, for a Host that takes them so.
//!
//! Pure. Invariant: a block that is not understood refuses the whole prompt before anything
//! is sent.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::admission::{Block, Body};
use crate::object;
use crate::rpc::{RpcError, error};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    resource: Option<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    uri: String,
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    blob: Option<String>,
}

/// Reads them.
///
/// # Errors
/// -32602 with `data.type` for a block that is not taken (Claude adapter, section 2).
pub fn read(method: &str, blocks: &[&RawValue]) -> Result<Vec<Block>, RpcError> {
    blocks.iter().map(|block| one(method, block)).collect()
}

fn one(method: &str, block: &RawValue) -> Result<Block, RpcError> {
    let raw: Raw<'_> =
        serde_json::from_str(block.get()).map_err(|e| RpcError::params(method, &e.to_string()))?;
    let Raw {
        kind,
        text,
        uri,
        name,
        mime_type,
        data,
        resource,
    } = raw;
    let block = match (&*kind, text, uri, data, resource) {
        ("text", Some(text), ..) => Block::Text(text),
        ("resource_link", _, Some(uri), ..) => Block::Link {
            name: name.unwrap_or_default(),
            uri,
        },
        ("image", _, uri, Some(data), _) => Block::Image {
            data,
            mime_type: mime_type.unwrap_or_default(),
            uri,
        },
        ("resource", .., Some(resource)) => {
            let body = match (resource.text, resource.blob) {
                (Some(text), _) => Body::Text(text),
                (None, Some(blob)) => Body::Blob(blob),
                (None, None) => return Err(lacking(method)),
            };
            Block::Resource {
                uri: resource.uri,
                mime_type: resource.mime_type,
                body,
            }
        }
        ("text" | "resource_link" | "image" | "resource", ..) => return Err(lacking(method)),
        _ => return Err(refused(&kind)),
    };
    Ok(block)
}

fn lacking(method: &str) -> RpcError {
    RpcError::params(
        method,
        "a content block lacks its text, uri, data or resource",
    )
}

fn refused(kind: &str) -> RpcError {
    RpcError::with(
        error::INVALID_PARAMS,
        format!(
            "A content block of type {kind} cannot be sent to this agent. Send text, images or files instead."
        ),
        object! { "type": kind },
    )
}
