//! The content blocks of an ACP v1 prompt to [`Content`], in the order of checks of the
//! Maka adapter (section 10.1): how many, of which kinds, then block by block.
//!
//! Pure: no file is looked at, only where it would be. Invariant: every block either
//! becomes part of the content or refuses the whole prompt.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::air;
use crate::admission::{Attachment, Content, Source, mime, uri};
use crate::editor::{Ask, WhenIdle};
use crate::host::Habits;
use crate::limits;
use crate::rpc::RpcError;

/// Params of `session/prompt`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    prompt: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    uri: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    mime_type: Option<Text<'a>>,
    #[serde(borrow, default)]
    data: Option<Text<'a>>,
    #[serde(borrow, default)]
    resource: Option<Resource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    #[serde(borrow)]
    uri: Text<'a>,
    #[serde(borrow, default)]
    mime_type: Option<Text<'a>>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    blob: Option<Text<'a>>,
}

/// Text that is borrowed inside an `Option` too, which a bare `Cow` is not.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Some encoders leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// `session/prompt`.
pub fn prompt(params: Prompt<'_>, habits: Habits) -> Result<Ask, RpcError> {
    Ok(Ask::Prompt {
        content: Content {
            report: air::report_asked(params.meta).filter(|_| habits.extras),
            ..taken("session/prompt", &params.prompt, habits)?
        },
        session_id: params.session_id.into_owned(),
    })
}

/// Params of `_session/steering` (Claude adapter, section 8).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Steering<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    prompt: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct SteeringMeta {
    #[serde(default)]
    steering: Option<IdleBehavior>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IdleBehavior {
    #[serde(default)]
    idle_behavior: Option<String>,
}

/// `_session/steering`.
pub fn steering(params: Steering<'_>, habits: Habits) -> Result<Ask, RpcError> {
    // What cannot be read in `_meta` is nobody's error.
    let meta: SteeringMeta = params
        .meta
        .and_then(|meta| serde_json::from_str(meta.get()).ok())
        .unwrap_or_default();
    let asked = meta.steering.and_then(|it| it.idle_behavior);
    let idle = match asked.as_deref() {
        Some("promptRequired") => WhenIdle::SaySo,
        _ => WhenIdle::StartTurn,
    };
    Ok(Ask::Steer {
        content: taken("_session/steering", &params.prompt, habits)?,
        session_id: params.session_id.into_owned(),
        idle,
    })
}

/// Content as the Host wants it.
fn taken(method: &str, blocks: &[&RawValue], habits: Habits) -> Result<Content, RpcError> {
    if habits.blocks {
        return Ok(Content {
            blocks: super::blocks::read(method, blocks)?,
            ..Content::default()
        });
    }
    content(method, blocks)
}

/// What content blocks say.
///
/// # Errors
/// The field `prompt` and a reason, or blocks that cannot be read at all.
pub fn content(method: &str, blocks: &[&RawValue]) -> Result<Content, RpcError> {
    let mut read = Vec::with_capacity(blocks.len());
    for block in blocks {
        let block: Block<'_> = serde_json::from_str(block.get())
            .map_err(|e| RpcError::params(method, &e.to_string()))?;
        read.push(block);
    }
    count(&read)?;
    if let Some(block) = read.iter().find(|block| !known(&block.kind)) {
        return Err(unsupported(&block.kind));
    }
    let mut parts = Parts::default();
    for block in read {
        parts.take(method, block)?;
    }
    Ok(parts.content())
}

fn count(blocks: &[Block<'_>]) -> Result<(), RpcError> {
    let attached = blocks
        .iter()
        .filter(|block| matches!(&*block.kind, "resource_link" | "image" | "resource"))
        .count() as u64;
    if attached > limits::ATTACHMENTS {
        return Err(refused(
            "too_many_attachments",
            "A prompt takes at most 8 linked files, images and embedded resources.",
        ));
    }
    Ok(())
}

fn known(kind: &str) -> bool {
    matches!(kind, "text" | "resource_link" | "image" | "resource")
}

fn unsupported(kind: &str) -> RpcError {
    let sentence = if kind == "audio" {
        "Audio cannot be sent to this agent. Send text, images or files instead."
    } else {
        "A prompt takes text, images, embedded resources and links to local files only."
    };
    refused("unsupported_content_type", sentence)
}

fn refused(reason: &str, sentence: &'static str) -> RpcError {
    RpcError::field("prompt", reason, sentence)
}

/// The content so far.
#[derive(Default)]
struct Parts<'a> {
    /// For the agent.
    all: Vec<Cow<'a, str>>,
    /// Which of them are the user's own words.
    own: Vec<usize>,
    attachments: Vec<Attachment>,
    unnamed: u32,
}

impl<'a> Parts<'a> {
    fn take(&mut self, method: &str, block: Block<'a>) -> Result<(), RpcError> {
        match (&*block.kind, block.text, block.uri, block.data) {
            ("text", Some(text), ..) => {
                self.own.push(self.all.len());
                self.all.push(text.0);
            }
            ("resource_link", _, Some(uri), _) => {
                self.link(uri, block.name, block.mime_type)?;
            }
            // Some clients send an image by reference, with empty data.
            ("image", _, Some(uri), Some(Text(data))) if data.is_empty() => {
                self.link(uri, block.name, block.mime_type)?;
            }
            ("image", _, uri, Some(data)) => self.image(uri, block.mime_type, &data.0)?,
            ("resource", ..) if block.resource.is_some() => {
                if let Some(resource) = block.resource {
                    self.resource(resource)?;
                }
            }
            _ => {
                return Err(RpcError::params(
                    method,
                    "a content block lacks its text, uri, data or resource",
                ));
            }
        }
        Ok(())
    }

    fn link(
        &mut self,
        Text(uri): Text<'a>,
        name: Option<Text<'a>>,
        mime_type: Option<Text<'a>>,
    ) -> Result<(), RpcError> {
        let path = uri::path(&uri).map_err(|bad| match bad {
            uri::Bad::Invalid => refused(
                "invalid_resource_uri",
                "The URI of a linked file cannot be read.",
            ),
            uri::Bad::NotLocal => refused(
                "unsupported_resource_uri",
                "Only links to local files (file:) can be used.",
            ),
        })?;
        self.attach(name, mime_type, Source::File(path));
        self.all.push(uri);
        Ok(())
    }

    fn image(
        &mut self,
        uri: Option<Text<'a>>,
        mime_type: Option<Text<'a>>,
        data: &str,
    ) -> Result<(), RpcError> {
        let bytes = decoded(data)?;
        let named = uri.as_ref().map(|uri| uri::last_part(&uri.0));
        let name = named.filter(|name| !name.is_empty()).unwrap_or_else(|| {
            let claimed = mime_type.as_ref().map(|it| &*it.0);
            let mime = mime::resolve(&bytes, claimed, "");
            self.unnamed += 1;
            format!("image-{}.{}", self.unnamed, mime::extension(&mime))
        });
        // The text names it, so that the agent can tell several apart.
        self.all.push(match uri {
            Some(Text(uri)) if !uri.is_empty() => uri,
            _ => Cow::Owned(format!("[{name}]")),
        });
        self.attach(
            Some(Text(Cow::Owned(name))),
            mime_type,
            Source::Bytes(bytes),
        );
        Ok(())
    }

    fn resource(&mut self, resource: Resource<'a>) -> Result<(), RpcError> {
        let Text(uri) = resource.uri;
        let bytes = match (resource.text, resource.blob) {
            (Some(text), _) => text.0.into_owned().into_bytes(),
            (None, Some(blob)) => decoded(&blob.0)?,
            (None, None) => {
                return Err(refused(
                    "invalid_content",
                    "An embedded resource has neither text nor blob.",
                ));
            }
        };
        let name = Text(Cow::Owned(uri::last_part(&uri)));
        self.attach(Some(name), resource.mime_type, Source::Bytes(bytes));
        self.all.push(uri);
        Ok(())
    }

    fn attach(&mut self, name: Option<Text<'a>>, mime_type: Option<Text<'a>>, source: Source) {
        let given = |text: Option<Text<'a>>| {
            text.map(|it| it.0.into_owned())
                .filter(|it| !it.trim().is_empty())
        };
        self.attachments.push(Attachment {
            name: given(name),
            mime_type: given(mime_type),
            source,
        });
    }

    fn content(self) -> Content {
        let text = self.all.join("\n\n");
        if self.own.len() == self.all.len() {
            return Content::text(text);
        }
        let own: Vec<&str> = self.own.iter().map(|at| &*self.all[*at]).collect();
        let display: String = own.join("\n\n");
        Content {
            display: (display != text).then_some(display),
            text,
            attachments: self.attachments,
            ..Content::default()
        }
    }
}

fn decoded(data: &str) -> Result<Vec<u8>, RpcError> {
    BASE64.decode(data.trim()).map_err(|_| {
        refused(
            "invalid_content",
            "The data of an image or embedded resource is not base64.",
        )
    })
}
