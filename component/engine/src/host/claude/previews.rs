//! What a change would do to a file, shown with the question whether it may be made (AIR,
//! diff patch): the file is read first.
//!
//! Invariants: the question is asked whatever comes of the reading; a file that was opened
//! is closed.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::cards::lean::{self, Before};
use super::session::Session;
use super::tools::fields::Fields;
use super::wire::{Request, part};
use crate::effect::FileDeparture;
use crate::host::Cx;
use crate::input::{FileArrival, FileRefusal, Handle, Root};
use crate::limits;
use crate::plumbing::FileOwner;
use crate::projection::{Report, Shown};

/// Files that are being read, by the question's id.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Previews {
    last: u64,
    reading: BTreeMap<u64, Reading>,
    /// What was found, until the question is asked.
    found: Option<Found>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    /// The question's id, and the question.
    id: String,
    request: Box<RawValue>,
    /// Open, once it is.
    handle: Option<Handle>,
    size: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Found {
    id: String,
    before: Before,
}

impl Session {
    /// Begins to read the file that a question is about. False if it can be asked at once.
    pub(super) fn preview(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: &str,
        raw: Option<&RawValue>,
        request: &Request<'_>,
    ) -> bool {
        let name = &*request.tool_name;
        let path = request
            .input
            .filter(|_| self.setup.client.extras.patches)
            .and_then(|input| lean::path_of(name, &Fields::of(input), &self.cwd));
        let (Some(path), Some(raw)) = (path, raw) else {
            return false;
        };
        let previews = &mut self.more.previews;
        previews.last += 1;
        let reading = Reading {
            id: id.to_owned(),
            request: raw.to_owned(),
            handle: None,
            size: 0,
            bytes: Vec::new(),
        };
        previews.reading.insert(previews.last, reading);
        let owner = FileOwner::Preview(self.channel, previews.last);
        cx.core.file(owner, FileDeparture::Open(Root::Linked, path));
        true
    }

    /// An answer about the file; `None` when it trapped.
    pub fn preview_file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        number: u64,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) {
        let Some(mut reading) = self.more.previews.reading.remove(&number) else {
            if matches!(arrival, Some(FileArrival::Facts(_))) {
                cx.core.file_close(handle);
            }
            return;
        };
        let before = match arrival {
            Some(FileArrival::Facts(facts)) => {
                reading.handle = Some(handle);
                reading.size = facts.size;
                match facts.size {
                    0 => Some(Before::Text(String::new())),
                    size if size > limits::PATCHED_TEXT => Some(Before::Unknown),
                    _ => None,
                }
            }
            Some(FileArrival::Data(_, data)) => {
                let ended = data.is_empty();
                reading.bytes.extend_from_slice(&data);
                let all = reading.bytes.len() as u64 >= reading.size;
                (ended || all).then(|| Before::of(core::mem::take(&mut reading.bytes)))
            }
            Some(FileArrival::Refused(FileRefusal::Error(name))) if name == "ENOENT" => {
                Some(Before::Nothing)
            }
            _ => Some(Before::Unknown),
        };
        let Some(before) = before else {
            let from = reading.bytes.len() as u64;
            let asked = (reading.size - from).min(limits::FILE_READ);
            let read = FileDeparture::Read(from, u32::try_from(asked).unwrap_or(0));
            let owner = FileOwner::Preview(self.channel, number);
            cx.core.file_again(handle, owner, read);
            self.more.previews.reading.insert(number, reading);
            return;
        };
        if let Some(handle) = reading.handle {
            cx.core.file_close(handle);
        }
        let Reading { id, request, .. } = reading;
        self.more.previews.found = Some(Found {
            id: id.clone(),
            before,
        });
        let request: Request<'_> = part(Some(&request));
        self.may_use(cx, &id, &request);
        self.more.previews.found = None;
    }

    /// A question with what was found.
    pub(super) fn with_preview(&mut self, id: &str, request: &Request<'_>, card: Report) -> Report {
        let found = self.more.previews.found.take_if(|found| found.id == id);
        let (Some(found), Some(input)) = (found, request.input) else {
            return card;
        };
        let name = &*request.tool_name;
        let Some(shown) = lean::preview(name, input, &self.cwd, &found.before) else {
            return card;
        };
        // Where the diff says nothing of the new text, the input does.
        let whole = matches!(shown, Shown::Text(_)).then(|| input.to_owned());
        Report {
            content: Some(self.cards.previewed(&card.id, shown)),
            raw_input: whole.or(card.raw_input),
            ..card
        }
    }

    /// The question is not asked any more.
    pub(super) fn drop_preview(&mut self, cx: &mut Cx<'_, '_>, id: &str) {
        self.drop_previews(cx, |reading| reading == id);
    }

    /// None of them is.
    pub(super) fn drop_all_previews(&mut self, cx: &mut Cx<'_, '_>) {
        self.drop_previews(cx, |_| true);
    }

    fn drop_previews(&mut self, cx: &mut Cx<'_, '_>, over: impl Fn(&str) -> bool) {
        self.more.previews.reading.retain(|_, reading| {
            let over = over(&reading.id);
            if let Some(handle) = reading.handle.filter(|_| over) {
                cx.core.file_close(handle);
            }
            !over
        });
    }
}
