//! What a tool gave back, as the parts of a card: texts, pictures, and a word for the rest.
//!
//! Pure. Invariant: every block of a result leaves something to see, known or not.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::fields::Fields;
use crate::projection::Shown;

/// The `content` of a `tool_result`, read as far as it can be.
#[derive(Debug)]
pub enum Content<'a> {
    /// There is none.
    Nothing,
    /// One text.
    Text(String),
    /// Blocks of the Messages API.
    Blocks(Vec<&'a RawValue>),
}

impl<'a> Content<'a> {
    /// Reads it.
    pub fn of(raw: Option<&'a RawValue>) -> Content<'a> {
        let Some(raw) = raw else {
            return Content::Nothing;
        };
        if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
            return match text.is_empty() {
                true => Content::Nothing,
                false => Content::Text(text),
            };
        }
        match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            Ok(blocks) if blocks.is_empty() => Content::Nothing,
            Ok(blocks) => Content::Blocks(blocks),
            Err(_) if raw.get() == "null" => Content::Nothing,
            Err(_) => Content::Blocks(vec![raw]),
        }
    }

    /// Its parts, each text changed by `dress`. `None` where there is nothing to show.
    pub fn shown(&self, dress: impl Fn(&str) -> String) -> Option<Vec<Shown>> {
        match self {
            Content::Nothing => None,
            Content::Text(text) => Some(vec![Shown::Text(dress(text))]),
            Content::Blocks(blocks) => {
                Some(blocks.iter().map(|block| shown(block, &dress)).collect())
            }
        }
    }

    /// All its text.
    pub fn text(&self) -> String {
        match self {
            Content::Nothing => String::new(),
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => {
                let texts = blocks.iter().map(|block| Fields::of(block));
                let texts: Vec<_> = texts.filter_map(|block| block.text("text")).collect();
                texts.join("\n")
            }
        }
    }

    /// Whether there is more than text.
    pub fn is_rich(&self) -> bool {
        match self {
            Content::Blocks(blocks) => blocks.iter().any(|block| {
                Fields::of(block)
                    .text("type")
                    .is_none_or(|kind| kind != "text")
            }),
            _ => false,
        }
    }
}

/// A text in a fence that is longer than any inside.
pub fn fence(text: &str) -> String {
    fenced("", text)
}

/// The same, with a word for what it is.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.lines().map(ticks).max().unwrap_or(0);
    let ticks = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{ticks}{language}\n{text}{end}{ticks}")
}

/// How many backticks a line begins with, where those are a fence.
fn ticks(line: &str) -> usize {
    let line = line.trim_start_matches(' ');
    let count = line.len() - line.trim_start_matches('`').len();
    if count >= 3 { count } else { 0 }
}

fn shown(block: &RawValue, dress: &dyn Fn(&str) -> String) -> Shown {
    let fields = Fields::of(block);
    let word = |name: &str| fields.some(name).unwrap_or_default();
    let text = match word("type").as_str() {
        "text" => word("text"),
        "image" => return image(&fields, dress),
        "document" => document(&fields),
        "tool_reference" => format!("Tool: {}", word("tool_name")),
        "web_search_result" => format!("{} ({})", word("title"), word("url")),
        // A block of another kind, or none: what the tool said, as it stands there.
        _ => block.get().to_owned(),
    };
    Shown::Text(dress(&text))
}

fn image(fields: &Fields<'_>, dress: &dyn Fn(&str) -> String) -> Shown {
    let source = fields.object("source").unwrap_or_default();
    let (data, kind) = (source.some("data"), source.some("media_type"));
    if let (Some(data), Some(mime_type)) = (data, kind) {
        return Shown::Image { data, mime_type };
    }
    let place = source
        .some("url")
        .unwrap_or_else(|| "file reference".into());
    Shown::Text(dress(&format!("[image: {place}]")))
}

/// `[document "t": type, size]`: an editor has no way to show the document itself.
fn document(fields: &Fields<'_>) -> String {
    let source = fields.object("source").unwrap_or_default();
    let title = fields.some("title");
    let title = title.map_or_else(String::new, |title| format!(" \"{title}\""));
    let kind = source.some("media_type").or_else(|| source.some("type"));
    let kind = kind.unwrap_or_else(|| "unknown type".into());
    let size = source.text("data").map(|data| {
        let plain = source.text("type").is_some_and(|kind| kind == "text");
        // Base64 without its padding: four characters are three bytes.
        let long = data.trim_end_matches('=').len() as u64;
        size(if plain {
            data.len() as u64
        } else {
            long * 3 / 4
        })
    });
    let size = size.map_or_else(String::new, |size| format!(", {size}"));
    format!("[document{title}: {kind}{size}]")
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}
