//! A card that its Host keeps, as ACP v1 has it: in updates, and in questions about it.
//!
//! Pure. Invariant: a field that the report leaves out is left out here too.

use alloc::vec::Vec;

use super::air;
use super::encode::{kind, status, value};
use crate::json::Object;
use crate::object;
use crate::projection::{Report, Shown};

/// Writes what is new, without the braces around it.
pub fn write(report: &Report, out: &mut Vec<u8>) {
    let word = if report.first {
        "tool_call"
    } else {
        "tool_call_update"
    };
    value(&word, out);
    let mut fields = Vec::new();
    value(&object(report), &mut fields);
    // An object always has the id, so that a comma fits where its brace was.
    if let Some(inside) = fields
        .strip_prefix(b"{")
        .and_then(|it| it.strip_suffix(b"}"))
    {
        out.push(b',');
        out.extend_from_slice(inside);
    }
}

/// All that is known, as an object.
pub fn object(report: &Report) -> Object {
    let mut object = object! { "toolCallId": report.id };
    if let Some(name) = &report.name {
        object.set("name", name);
    }
    if let Some(title) = &report.title {
        object.set("title", title);
    }
    if let Some(it) = report.kind {
        object.set("kind", kind(it));
    }
    if let Some(it) = report.status {
        object.set("status", status(it));
    }
    if let Some(content) = &report.content {
        let content: Vec<Object> = content.iter().map(shown).collect();
        object.set("content", &content);
    }
    if let Some(places) = &report.places {
        let place = |place: &crate::projection::Place| {
            let mut object = object! { "path": place.path };
            if let Some(line) = place.line {
                object.set("line", &line);
            }
            object
        };
        let places: Vec<Object> = places.iter().map(place).collect();
        object.set("locations", &places);
    }
    if let Some(raw) = &report.raw_input {
        object.set("rawInput", raw);
    }
    if let Some(raw) = &report.raw_output {
        object.set("rawOutput", raw);
    }
    let mut meta = report.meta.clone().unwrap_or_default();
    report.hints.iter().for_each(|it| air::hint(&mut meta, it));
    if report.meta.is_some() || !meta.is_empty() {
        object.set("_meta", &meta);
    }
    object
}

fn shown(shown: &Shown) -> Object {
    let content = |block: Object| object! { "type": "content", "content": block };
    match shown {
        Shown::Text(text) => content(object! { "type": "text", "text": text }),
        Shown::Image { data, mime_type } => {
            content(object! { "type": "image", "data": data, "mimeType": mime_type })
        }
        Shown::Change(change) => object! {
            "type": "diff", "path": change.path, "oldText": change.old, "newText": change.new,
        },
        Shown::Terminal(id) => object! { "type": "terminal", "terminalId": id },
        // The texts only satisfy the schema: the patch says it all.
        Shown::Patch { path, text } => object! {
            "type": "diff", "path": path, "oldText": (), "newText": "",
            "_meta": air::patch(text),
        },
    }
}
