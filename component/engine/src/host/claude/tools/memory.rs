//! What Claude remembered of earlier sessions: a card that is complete at once.
//!
//! Pure. Invariant: memories that were put together by the model are shown as text, others
//! by their files.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::fields::Fields;
use super::files::places;
use crate::object;
use crate::projection::{Report, Shown, Status, ToolKind};

/// The card of a `memory_recall` frame.
pub fn recalled(id: &str, mode: &str, memories: &[&RawValue], cwd: &str) -> Report {
    let memories: Vec<_> = memories.iter().map(|memory| Fields::of(memory)).collect();
    let response = object! { "mode": mode };
    let names = object! { "toolName": "memory_recall", "toolResponse": response };
    let mut report = Report {
        id: id.to_owned(),
        first: true,
        kind: Some(ToolKind::Read),
        status: Some(Status::Completed),
        meta: Some(object! { "claudeCode": names }),
        ..Report::default()
    };
    if mode == "synthesize" {
        let texts = memories.iter().filter_map(|memory| memory.some("content"));
        let texts: Vec<String> = texts.collect();
        report.title = Some("Recalled synthesized memory".into());
        report.content = Some(vec![Shown::Text(texts.join("\n\n"))]);
        report.content = report.content.filter(|_| !texts.is_empty());
    } else {
        let files = memories.iter().filter_map(|memory| memory.some("path"));
        let files = files.flat_map(|path| places(Some(path), None, cwd));
        report.title = Some(match memories.len() {
            1 => "Recalled 1 memory".into(),
            count => format!("Recalled {count} memories"),
        });
        report.places = Some(files.collect());
    }
    report
}
