//! Moves parcels along at the files: opens, looks, reads twice, compares.
//!
//! Touches files through the plumbing alone. Invariants: every opened handle is closed; one
//! request a handle at a time; content is read from the opened file, its path is only
//! compared.

use alloc::string::ToString;

use super::parcel::{Body, Parcel, ParcelId, Stage};
use super::upload::piece;
use super::{Cx, Maka};
use crate::admission::reading::{Opened, Unusable};
use crate::effect::FileDeparture;
use crate::input::{FileArrival, Handle, Root};
use crate::limits;
use crate::plumbing::FileOwner;

impl Maka {
    /// Looks at the next attachment, until all are known.
    pub(super) fn prepare(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        while let Some(item) = parcel.item() {
            match &item.body {
                Body::Linked(path) => {
                    let open = FileDeparture::Open(Root::Linked, path.clone());
                    let handle = cx.core.file(FileOwner::Parcel(id), open);
                    parcel.stage = Stage::Opening(handle);
                    return;
                }
                Body::Here(bytes) => {
                    let prefix = bytes[..bytes.len().min(limits::SNIFFED as usize)].to_vec();
                    item.sniffed(&prefix);
                }
                Body::Opened(_) => {}
            }
            parcel.at += 1;
        }
        parcel.at = 0;
        parcel.stage = Stage::Ready;
        match parcel.fit() {
            Ok(()) => self.admitted(cx, id),
            Err(failure) => self.fail(cx, id, failure),
        }
    }

    /// An answer about a file of a parcel; `None` when it trapped.
    pub fn parcel_file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: ParcelId,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) {
        let failed = match self.file_step(cx, id, handle, arrival) {
            Ok(()) => None,
            Err(unusable) => self
                .parcels
                .get_mut(&id)
                .and_then(Parcel::item)
                .map(|item| item.unusable(&unusable)),
        };
        if let Some(failure) = failed {
            self.fail(cx, id, failure);
        }
        self.pump(cx);
    }

    fn file_step(
        &mut self,
        cx: &mut Cx<'_, '_>,
        id: ParcelId,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) -> Result<(), Unusable> {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return Ok(());
        };
        let at = parcel.at as usize;
        let (Some(item), Some(arrival)) = (parcel.items.get_mut(at), arrival) else {
            return Err(Unusable::Unreadable("poisoned_answer".to_string()));
        };
        match (&mut parcel.stage, arrival) {
            (Stage::Opening(_), FileArrival::Facts(facts)) => {
                let file = Opened::new(handle, facts);
                if file.is_err() {
                    cx.core.file_close(handle);
                    parcel.stage = Stage::Unopened;
                }
                let file = file?;
                let asked = file.size.min(limits::SNIFFED);
                item.body = Body::Opened(file);
                if asked == 0 {
                    item.sniffed(&[]);
                    parcel.at += 1;
                    self.prepare(cx, id);
                } else {
                    parcel.stage = Stage::Sniffing;
                    read(cx, id, handle, 0, asked);
                }
            }
            (Stage::Opening(_), FileArrival::Refused(refusal)) => {
                parcel.stage = Stage::Unopened;
                return Err(Unusable::of(refusal));
            }
            (Stage::Sniffing, FileArrival::Data(0, data)) => {
                if data.len() as u64 != item.size().min(limits::SNIFFED) {
                    return Err(Unusable::Changed);
                }
                item.sniffed(&data);
                parcel.at += 1;
                self.prepare(cx, id);
            }
            (Stage::Digesting(pass), FileArrival::Data(offset, data)) => {
                let asked = pass.next(item.size(), limits::FILE_READ);
                pass.take(offset, &data, asked)?;
                self.digest_on(cx, id);
            }
            (Stage::Checking, FileArrival::Facts(facts)) => {
                if let Body::Opened(file) = &item.body {
                    file.still(&facts)?;
                }
                self.begin_upload(cx, id);
            }
            (Stage::Loading { pass, next }, FileArrival::Data(offset, data)) => {
                let asked = piece(pass, *next, item.size());
                pass.take(offset, &data, asked)?;
                self.loaded(cx, id, offset, &data);
            }
            (Stage::Confirming, FileArrival::Facts(facts)) => {
                if let Body::Opened(file) = &item.body {
                    file.still(&facts)?;
                }
                self.commit(cx, id);
            }
            // Gone from its path, or no longer allowed there.
            (Stage::Checking | Stage::Confirming, FileArrival::Refused(_)) => {
                return Err(Unusable::Changed);
            }
            (_, FileArrival::Refused(refusal)) => return Err(Unusable::of(refusal)),
            _ => return Err(Unusable::Unreadable("unexpected_answer".to_string())),
        }
        Ok(())
    }

    /// Goes on with the first reading.
    pub(super) fn digest_on(&mut self, cx: &mut Cx<'_, '_>, id: ParcelId) {
        let Some(parcel) = self.parcels.get_mut(&id) else {
            return;
        };
        let Some(item) = parcel.items.get_mut(parcel.at as usize) else {
            return;
        };
        let (Stage::Digesting(pass), Body::Opened(file)) = (&mut parcel.stage, &item.body) else {
            return;
        };
        let asked = pass.next(file.size, limits::FILE_READ);
        if asked > 0 {
            return read(cx, id, file.handle, pass.offset, asked);
        }
        item.digest = Some(core::mem::take(pass).finish());
        parcel.stage = Stage::Checking;
        look(cx, id, file);
    }
}

pub(super) fn read(cx: &mut Cx<'_, '_>, id: ParcelId, handle: Handle, offset: u64, asked: u64) {
    // Never more than a read may ask for.
    let asked = u32::try_from(asked.min(limits::FILE_READ)).unwrap_or(0);
    let request = FileDeparture::Read(offset, asked);
    cx.core.file_again(handle, FileOwner::Parcel(id), request);
}

/// What is at the path now; only compared, never read.
pub(super) fn look(cx: &mut Cx<'_, '_>, id: ParcelId, file: &Opened) {
    let request = FileDeparture::Stat(Root::Linked, file.path.clone());
    cx.core.file(FileOwner::Parcel(id), request);
}
