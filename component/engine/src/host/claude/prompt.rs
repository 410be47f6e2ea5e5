//! What the user says as Claude Code reads it (Claude adapter, section 7).
//!
//! Pure. Invariant: every block of the prompt is in the message, or the whole prompt is
//! refused by name.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::charset;
use crate::admission::{Block, Body};
use crate::json::Object;
use crate::object;

/// The line that says it. `priority` is for a message into running work.
pub fn message(session_id: &str, uuid: &str, content: &[Object], priority: Option<&str>) -> Object {
    let mut message = object! {
        "type": "user",
        "message": object! { "role": "user", "content": content },
        "session_id": session_id,
        "parent_tool_use_id": (),
        "origin": object! { "kind": "human" },
        "uuid": uuid,
    };
    if let Some(priority) = priority {
        message.set("priority", priority);
    }
    message
}

/// The blocks as the model's API has them.
///
/// # Errors
/// The type of something that cannot be shown to the model.
pub fn content(blocks: &[Block]) -> Result<Vec<Object>, String> {
    let mut content = Vec::new();
    let mut contexts = Vec::new();
    let mut first = true;
    for block in blocks {
        match block {
            // A command stands where the user's words begin.
            Block::Text(it) if core::mem::take(&mut first) => content.push(text(&command(it))),
            Block::Text(it) => content.push(text(it)),
            Block::Link { uri, name } => content.push(text(&link(uri, name))),
            Block::Image {
                data,
                mime_type,
                uri,
            } => content.push(image(data, mime_type, uri.as_deref())?),
            Block::Resource {
                uri,
                mime_type,
                body,
            } => resource(uri, mime_type.as_deref(), body, &mut content, &mut contexts)?,
        }
    }
    content.extend(contexts);
    Ok(content)
}

/// What of a prompt is words, for a title.
pub fn words(blocks: &[Block]) -> String {
    let words = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

fn text(text: &str) -> Object {
    object! { "type": "text", "text": text }
}

/// `/mcp:server:command args` is how editors show the command of an MCP server.
fn command(text: &str) -> Cow<'_, str> {
    let Some(rest) = text.strip_prefix("/mcp:") else {
        return Cow::Borrowed(text);
    };
    let (name, args) = match rest.split_once(char::is_whitespace) {
        Some((name, args)) => (name, format!(" {args}")),
        None => (rest, String::new()),
    };
    if name.contains(':') {
        Cow::Owned(format!("/{name} (MCP){args}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn link(uri: &str, name: &str) -> String {
    if uri.starts_with("file://") || uri.starts_with("zed://") {
        let last = || uri.rsplit('/').next().unwrap_or(uri).to_string();
        let name = if name.is_empty() {
            last()
        } else {
            name.to_string()
        };
        format!("[@{name}]({uri})")
    } else {
        uri.to_string()
    }
}

fn image(data: &str, mime_type: &str, uri: Option<&str>) -> Result<Object, String> {
    let source = match uri {
        _ if !data.is_empty() => object! {
            "type": "base64", "media_type": mime_type, "data": data,
        },
        Some(uri) if uri.starts_with("http://") || uri.starts_with("https://") => {
            object! { "type": "url", "url": uri }
        }
        _ => return Err(format!("image without data ({mime_type})")),
    };
    Ok(object! { "type": "image", "source": source })
}

fn resource(
    uri: &str,
    mime_type: Option<&str>,
    body: &Body,
    content: &mut Vec<Object>,
    contexts: &mut Vec<Object>,
) -> Result<(), String> {
    let context = |body: &str| text(&format!("\n<context ref=\"{uri}\">\n{body}\n</context>"));
    let essence = mime_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    match body {
        Body::Text(body) => {
            content.push(text(&link(uri, "")));
            contexts.push(context(body));
        }
        Body::Blob(data) => match essence {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
                content.push(image(data, essence, None)?);
            }
            "application/pdf" => content.push(object! {
                "type": "document",
                "source": object! { "type": "base64", "media_type": essence, "data": data },
            }),
            _ => {
                let bytes = STANDARD.decode(data).ok();
                let named = mime_type.unwrap_or_default();
                let decoded = bytes.and_then(|bytes| charset::decode(bytes, named));
                let Some(decoded) = decoded.filter(|_| textual(essence)) else {
                    return Err(format!(
                        "resource {uri} of type {}",
                        mime_type.unwrap_or("unknown")
                    ));
                };
                content.push(text(&link(uri, "")));
                contexts.push(context(&decoded));
            }
        },
    }
    Ok(())
}

/// Types that are text under another name.
fn textual(essence: &str) -> bool {
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence,
            "application/json" | "application/xml" | "application/javascript" | "application/yaml"
        )
}
