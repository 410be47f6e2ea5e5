//! What may be shown of a tool's arguments while it runs, and whether all of them may.
//!
//! Invariant: a preview never shows the value of a name that looks like a secret, and never
//! the content of a file or a message: only the names listed here, cut short.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::object::Object;
use crate::json;
use crate::limits;
use crate::projection::utf16;

/// Tools whose stored arguments are themselves a safe part of what was sent: every name of
/// theirs may be previewed, but they are not the raw input (section 19.3).
const PROJECTED: [&str; 2] = ["WriteStdin", "todo_write"];

/// Names that say what a tool works on. Left out on purpose: what is written
/// (`content`, `text`, `oldText`, `newText`, `patch`, `input`, `body`), headers and
/// environments, and anything nested, where secrets usually are.
const SHOWN: [&str; 34] = [
    "action",
    "agent",
    "branch",
    "command",
    "cmd",
    "cwd",
    "description",
    "directory",
    "file",
    "filePath",
    "file_path",
    "files",
    "glob",
    "include",
    "language",
    "limit",
    "line",
    "mode",
    "name",
    "objective",
    "offset",
    "operation",
    "path",
    "paths",
    "pattern",
    "profile",
    "queries",
    "query",
    "ref",
    "roots",
    "timeout_ms",
    "title",
    "url",
    "urls",
];

/// A name with one of these in it looks like a secret.
const SECRET: [&str; 11] = [
    "accesskey",
    "apikey",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "passphrase",
    "passw",
    "privatekey",
    "secret",
    "token",
];

/// A safe part of the arguments as JSON text, in the order of the arguments; `None` where
/// nothing may be shown.
///
/// Shown are texts, numbers, booleans, and lists of these, of the names in the list above,
/// each text up to [`limits::PREVIEW_VALUE_UNITS`] and each list up to
/// [`limits::PREVIEW_ITEMS`]. A name that looks like a secret is shown with its value
/// replaced by `[redacted]`, so that people see that there is one. A secret inside a shown
/// text, say in a command line, is not recognised.
pub fn input_preview(tool: &str, args: &RawValue) -> Option<String> {
    let args = Object::read(args)?;
    let mut out = Vec::new();
    for (name, value) in args.fields() {
        let start = out.len();
        out.push(if out.is_empty() { b'{' } else { b',' });
        json::string(&mut out, name);
        out.push(b':');
        let shown = if looks_secret(name) {
            json::string(&mut out, "[redacted]");
            true
        } else {
            (SHOWN.contains(&name) || PROJECTED.contains(&tool)) && write_value(value, &mut out)
        };
        if !shown {
            out.truncate(start);
        }
    }
    if out.is_empty() {
        return None;
    }
    out.push(b'}');
    String::from_utf8(out).ok()
}

/// The arguments as raw input, where they may be shown whole.
pub fn raw_input<'a>(tool: &str, args: &'a RawValue) -> Option<&'a RawValue> {
    (!PROJECTED.contains(&tool)).then_some(args)
}

fn looks_secret(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    SECRET.iter().any(|word| plain.contains(word))
}

/// Writes a value or a list of values; `false` where it is nested deeper.
fn write_value(value: &RawValue, out: &mut Vec<u8>) -> bool {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
        return write_single(value, out);
    };
    out.push(b'[');
    for (at, item) in items
        .iter()
        .take(limits::PREVIEW_ITEMS as usize)
        .enumerate()
    {
        if at > 0 {
            out.push(b',');
        }
        if !write_single(item, out) {
            return false;
        }
    }
    if items.len() as u64 > limits::PREVIEW_ITEMS {
        out.push(b',');
        json::string(out, "…");
    }
    out.push(b']');
    true
}

fn write_single(value: &RawValue, out: &mut Vec<u8>) -> bool {
    match value.get().as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<String>(value.get()) {
            Ok(text) => json::string(out, &utf16::ellipsis(&text, limits::PREVIEW_VALUE_UNITS)),
            Err(_) => return false,
        },
        Some(b'{' | b'[' | b'n') | None => return false,
        // A number or a boolean.
        Some(_) => json::raw(out, value),
    }
    true
}
