//! Moves parcels along at the Host: uploads with `artifact.ingest`, and aborts what is given
//! up (Maka adapter, section 10.2).
//!
//! Touches the Host through the plumbing alone; files are `looking`'s. Invariants: every opened handle
//! is closed; an upload that was, or may have been, opened on a living connection is
//! committed or aborted; a lost connection begins it anew, because the Host forgets it.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::calls::Purpose;
use super::looking::{look, read};
use super::parcel::{Body, Goal, Item, Parcel, ParcelId, Stage};
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Maka, failure};
use crate::admission::Content;
use crate::admission::digest::Digest;
use crate::admission::reading::{Pass, Unusable};
use crate::host::Failure;
use crate::limits;

/// One upload at the Host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Upload {
    /// For which parcel.
    pub parcel: ParcelId,
    /// Of which session.
    pub session_id: String,
    /// Chosen by us.
    pub upload_id: String,
    /// What was asked.
    pub step: Step,
}

/// What is asked of the Host about an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Open it.
    Begin,
    /// Take a chunk; it must want this offset next.
    Chunk { next: u64 },
    /// It is whole.
    Commit,
}

impl Maka {
    /// Takes in what a turn or message says. [`Maka::prepare`] comes next; nothing is asked
    /// of the Host before [`Maka::publish`].
    pub(super) fn admit(&mut self, goal: Goal, session_id: &str, content: Content) -> ParcelId {
        self.last_parcel += 1;
        let id = self.last_parcel;
        self.parcels
            .insert(id, Parcel::new(goal, session_id, content));
        id
    }

    /// Uploads what is not uploaded yet; once all is, the turn or message goes.
    pub(super) fn publish(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        if parcel.stage != Stage::Ready {
            return;
        }
        let Some(item) = parcel.item() else {
            return self.published(cx, id);
        };
        if item.upload_id.is_empty() {
            item.upload_id = cx.core.uuid();
        }
        if let Body::Here(bytes) = &item.body
            && item.digest.is_none()
        {
            item.digest = Some(Digest::of(bytes));
        }
        if item.digest.is_some() {
            self.begin_upload(cx, id);
        } else {
            parcel.stage = Stage::Digesting(Pass::default());
            self.digest_on(cx, id);
        }
    }

    pub(super) fn begin_upload(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        parcel.stage = Stage::Queued;
        let size = parcel.item().map_or(0, |item| item.size());
        if !self.room(size) {
            return;
        }
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        let Some(item) = parcel.items.get(parcel.at as usize) else {
            return;
        };
        let input = w::begin(
            &parcel.session_id,
            &item.upload_id,
            item.name(),
            item.mime_type(),
            item.size(),
            item.digest.as_deref().unwrap_or_default(),
        );
        parcel.stage = Stage::Beginning;
        self.ingest(cx, id, Step::Begin, input);
    }

    /// Goes on with the second reading, from where it is.
    fn load_on(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        let Some(item) = parcel.items.get(parcel.at as usize) else {
            return;
        };
        let Stage::Loading { pass, next } = &mut parcel.stage else {
            return;
        };
        let asked = piece(pass, *next, item.size());
        match &item.body {
            Body::Opened(file) if asked > 0 => read(cx, id, file.handle, pass.offset, asked),
            Body::Opened(file) => {
                let digest = core::mem::take(pass).finish();
                let failure = (item.digest.as_ref() != Some(&digest))
                    .then(|| item.unusable(&Unusable::Changed));
                if let Some(failure) = failure {
                    return self.fail(cx, id, failure);
                }
                parcel.stage = Stage::Confirming;
                look(cx, id, file);
            }
            Body::Here(bytes) => {
                let offset = (*next).max(pass.offset);
                let end = offset
                    .saturating_add(limits::MAKA_CHUNK)
                    .min(bytes.len() as u64);
                let data = bytes[offset as usize..end as usize].to_vec();
                if data.is_empty() {
                    return self.commit(cx, id);
                }
                pass.offset = end;
                self.send_chunk(cx, id, offset, &data);
            }
            Body::Linked(_) => {}
        }
    }

    /// A piece of the second reading is there.
    pub(super) fn loaded(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId, offset: u64, data: &[u8]) {
        let wanted = self.parcels.get(&id).is_some_and(
            |parcel| matches!(&parcel.stage, Stage::Loading { next, .. } if offset >= *next),
        );
        if wanted {
            self.send_chunk(cx, id, offset, data);
        } else {
            self.load_on(cx, id);
        }
    }

    fn send_chunk(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId, offset: u64, data: &[u8]) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        if let Stage::Loading { pass, .. } = &mut parcel.stage {
            let pass = core::mem::take(pass);
            parcel.stage = Stage::Sending { pass };
        }
        let session_id = parcel.session_id.clone();
        let upload_id = parcel.item().map(|it| it.upload_id.clone());
        let chunk = STANDARD.encode(data);
        let input = w::chunk(&session_id, &upload_id.unwrap_or_default(), offset, &chunk);
        let next = offset + data.len() as u64;
        self.ingest(cx, id, Step::Chunk { next }, input);
    }

    pub(super) fn commit(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        parcel.stage = Stage::Committing;
        let session_id = parcel.session_id.clone();
        let upload_id = parcel.item().map(|it| it.upload_id.clone());
        let input = w::finish("commit", &session_id, &upload_id.unwrap_or_default());
        self.ingest(cx, id, Step::Commit, input);
    }

    fn ingest(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: ParcelId,
        step: Step,
        input: impl serde::Serialize,
    ) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        let purpose = Purpose::Ingest(Upload {
            parcel: id,
            session_id: parcel.session_id.clone(),
            upload_id: parcel
                .item()
                .map(|it| it.upload_id.clone())
                .unwrap_or_default(),
            step,
        });
        self.call(cx, op::INGEST, input, purpose, Some(limits::MAKA_INGEST_MS));
    }

    /// `artifact.ingest` was answered, or never will be.
    pub(super) fn ingested(&mut self, cx: &mut Cx<'_, '_>, upload: &Upload, answer: Answer<'_>) {
        let Some(parcel) = self.parcels.get_mut(&upload.parcel) else {
            return self.abandon(cx, upload, &answer);
        };
        let stage = core::mem::replace(&mut parcel.stage, Stage::Ready);
        let told = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Ingested<'_>>(result.get()).ok(),
            _ => None,
        };
        let id = upload.parcel;
        let size = parcel.item().map_or(0, |item| item.size());
        match (upload.step, stage, told) {
            (Step::Begin | Step::Commit, _, Some(told)) if told.kind == "committed" => {
                match told.attachment {
                    Some(attachment) if w::attachment_of(attachment, &upload.session_id) => {
                        self.kept(cx, id, attachment.to_owned());
                    }
                    _ => self.fail(cx, id, failure::internal(op::INGEST)),
                }
            }
            (Step::Begin, _, Some(told))
                if told.kind == "upload_opened" && told.next_offset.is_some_and(|n| n <= size) =>
            {
                let next = told.next_offset.unwrap_or_default();
                let pass = Pass::default();
                parcel.stage = Stage::Loading { pass, next };
                self.load_on(cx, id);
            }
            (Step::Chunk { next }, Stage::Sending { pass }, Some(told))
                if told.kind == "chunk_accepted" && told.next_offset == Some(next) =>
            {
                parcel.stage = Stage::Loading { pass, next };
                self.load_on(cx, id);
            }
            _ if forgotten(upload.step, &answer) && parcel.item().is_some_and(restarts) => {
                self.publish(cx, id);
            }
            _ => {
                let failure = answer.failure(op::INGEST);
                self.abandon(cx, upload, &answer);
                self.fail(cx, id, failure);
            }
        }
    }

    /// One attachment is the Host's now.
    fn kept(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId, reference: Box<RawValue>) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        if let Some(item) = parcel.item() {
            item.reference = Some(reference);
            if let Body::Opened(file) = &item.body {
                cx.core.file_close(file.handle);
            }
            item.body = Body::Here(Vec::new());
        }
        parcel.at += 1;
        parcel.stage = Stage::Ready;
        self.next_upload(cx);
        self.publish(cx, id);
    }

    /// An upload that nobody waits for any more: aborted if it may be open.
    fn abandon(&mut self, cx: &mut Cx<'_, '_>, upload: &Upload, answer: &Answer<'_>) {
        let open = match (upload.step, answer) {
            (_, Answer::Result(result)) => serde_json::from_str::<w::Ingested<'_>>(result.get())
                .is_ok_and(|told| told.kind != "committed"),
            (_, Answer::Lost { dispatched, reason }) => *dispatched && *reason == "timeout",
            (Step::Begin, Answer::Error(_)) | (_, Answer::Unreachable(_)) => false,
            (_, Answer::Error(error)) => error.code != "not_found",
        };
        if open {
            self.abort(cx, &upload.session_id, &upload.upload_id);
        }
    }

    fn abort(&mut self, cx: &mut Cx<'_, '_>, session_id: &str, upload_id: &str) {
        // With the connection the Host has forgotten it.
        if self.link.ready().is_some() {
            let input = w::finish("abort", session_id, upload_id);
            self.call(cx, op::INGEST, input, Purpose::Nobody, None);
        }
    }

    /// Gives a parcel up: closes its files, and aborts the upload of which no answer is
    /// outstanding; [`Maka::ingested`] sees to the others.
    pub(super) fn drop_parcel(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) -> Option<Parcel> {
        let mut parcel = self.parcels.remove(&id)?;
        if let Stage::Opening(handle) = parcel.stage {
            cx.core.file_close(handle);
        }
        for item in &parcel.items {
            if let Body::Opened(file) = &item.body {
                cx.core.file_close(file.handle);
            }
        }
        let mut open = matches!(parcel.stage, Stage::Loading { .. } | Stage::Confirming);
        let unsent = |purpose: &Purpose| matches!(purpose, Purpose::Ingest(it) if it.parcel == id);
        if let Some(call) = self.calls.withdraw(unsent) {
            if let Some(timer) = call.timer {
                cx.core.disarm(timer);
            }
            open = parcel.stage != Stage::Beginning;
        }
        let session_id = parcel.session_id.clone();
        if let Some(item) = parcel.item().filter(|_| open) {
            self.abort(cx, &session_id, &item.upload_id);
        }
        self.next_upload(cx);
        Some(parcel)
    }

    /// Begins an upload that waits, if the Host has room.
    fn next_upload(&mut self, cx: &mut Cx<'_, '_>) {
        let waiting: Vec<ParcelId> = self
            .parcels
            .iter()
            .filter(|(_, parcel)| parcel.stage == Stage::Queued)
            .map(|(id, _)| *id)
            .collect();
        for id in waiting {
            self.begin_upload(cx, id);
        }
    }

    /// Whether the Host takes another upload of this size beside those that are open.
    fn room(&self, size: u64) -> bool {
        let open = self.parcels.values().filter(|parcel| parcel.uploading());
        let (count, bytes) = open.fold((0, size), |(count, bytes), parcel| {
            let item = parcel.items.get(parcel.at as usize);
            (count + 1, bytes + item.map_or(0, Item::size))
        });
        count < limits::MAKA_UPLOADS && bytes <= limits::MAKA_STAGED
    }

    pub(super) fn fail(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId, failure: Failure) {
        if let Some(parcel) = self.drop_parcel(cx, id) {
            self.undelivered(cx, parcel.goal, failure);
        }
    }
}

/// Whether the Host does not know the upload: it went with its connection, or its time ran out.
fn forgotten(step: Step, answer: &Answer<'_>) -> bool {
    match answer {
        Answer::Lost { reason, .. } => *reason != "timeout",
        Answer::Error(error) => step != Step::Begin && error.code == "not_found",
        _ => false,
    }
}

/// Counts a new beginning; false after too many.
fn restarts(item: &mut Item) -> bool {
    item.restarts += 1;
    item.restarts <= limits::MAKA_RECOVERIES
}

/// How much the second reading asks for: a chunk, but not past where the Host goes on.
pub(super) fn piece(pass: &Pass, next: u64, size: u64) -> u64 {
    let most = match next.checked_sub(pass.offset) {
        Some(known @ 1..) => known.min(limits::MAKA_CHUNK),
        _ => limits::MAKA_CHUNK,
    };
    pass.next(size, most)
}
