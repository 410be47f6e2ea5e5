//! Files: stat, open, read, list, copy, create, append, remove, each below a granted folder.
//!
//! One worker thread does it, so that a slow disk holds up nobody else. It touches what
//! [`Grants`] allows and nothing else. Invariant: a path is looked at once. It is opened as
//! a place (on Linux without touching what is there), the open place is checked (where it
//! really is, what it is), and the check and the content are of the same file, whatever
//! happens to the path meanwhile.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::grants::Grants;
use crate::transport::Mailbox;
use crate::words::{FileArrival, FileDeparture, FileRefusal, Handle};

mod errno;
mod place;

use place::{NotThere, Place};

/// Bytes of one `read`, `create` or `append`: the contract's limit.
const READ: u32 = 65_536;
/// Entries of one folder that are listed; a folder with more is refused (`EOVERFLOW`), so
/// that one answer stays a few megabytes.
const ENTRIES: usize = 16_384;

/// The files of one connection. Dropping it ends the worker.
pub struct Files {
    mailbox: Mailbox,
    worker: Sender<(Handle, FileDeparture)>,
}

impl Files {
    /// Starts the worker; answers go to the mailbox.
    ///
    /// # Errors
    /// When the system gives no more threads.
    pub fn start(mailbox: Mailbox, grants: Arc<Grants>) -> io::Result<Files> {
        let (worker, requests) = channel();
        let answers = mailbox.clone();
        thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || {
                Worker {
                    grants,
                    open: BTreeMap::new(),
                    mailbox: answers,
                }
                .run(&requests)
            })?;
        Ok(Files { mailbox, worker })
    }

    /// Queues a request.
    pub fn carry(&self, handle: Handle, departure: FileDeparture) {
        if matches!(departure, FileDeparture::Close) {
            self.mailbox.close_file(handle);
        }
        // The worker lives as long as this sender.
        drop(self.worker.send((handle, departure)));
    }
}

struct Worker {
    grants: Arc<Grants>,
    open: BTreeMap<Handle, File>,
    mailbox: Mailbox,
}

impl Worker {
    fn run(mut self, requests: &Receiver<(Handle, FileDeparture)>) {
        for (handle, departure) in requests {
            let answer = match departure {
                FileDeparture::Stat((root, path)) => Place::find(&self.grants, root, &path)
                    .and_then(|place| Ok(FileArrival::Facts(place.facts()?))),
                FileDeparture::Open((root, path)) => Place::find(&self.grants, root, &path)
                    .and_then(|place| self.open(handle, &place)),
                FileDeparture::Read((offset, length)) => self.read(handle, offset, length),
                FileDeparture::Entries((root, path)) => Place::find(&self.grants, root, &path)
                    .and_then(|place| {
                        Ok(FileArrival::Entries(place.entries(
                            &self.grants,
                            root,
                            ENTRIES,
                        )?))
                    }),
                FileDeparture::Copy((from, to)) => self.copy(&from, &to),
                FileDeparture::Create((path, content)) => {
                    write(&content, || place::create(&self.grants, &path))
                }
                FileDeparture::Append((path, content)) => {
                    write(&content, || place::end_of(&self.grants, &path))
                }
                FileDeparture::Remove(path) => {
                    place::remove(&self.grants, &path).map(|()| FileArrival::Done)
                }
                FileDeparture::Close => {
                    self.open.remove(&handle);
                    self.mailbox.file_closed(handle);
                    continue;
                }
            };
            self.mailbox.file(
                handle,
                answer.unwrap_or_else(|not| FileArrival::Refused(refusal(not))),
            );
        }
    }

    fn open(&mut self, handle: Handle, place: &Place) -> Result<FileArrival, NotThere> {
        let file = place.open()?;
        let facts = place.facts_of(&file)?;
        self.open.insert(handle, file);
        Ok(FileArrival::Facts(facts))
    }

    fn read(&self, handle: Handle, offset: u64, length: u32) -> Result<FileArrival, NotThere> {
        let file = self.open.get(&handle).ok_or(rustix::io::Errno::BADF)?;
        if length > READ {
            return Err(rustix::io::Errno::INVAL.into());
        }
        let mut content = vec![0; length as usize];
        let mut filled = 0;
        while filled < content.len() {
            match file.read_at(&mut content[filled..], offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        content.truncate(filled);
        Ok(FileArrival::Data((offset, content)))
    }

    fn copy(&self, from: &str, to: &str) -> Result<FileArrival, NotThere> {
        let source = Place::find(&self.grants, place::COPIED, from)?;
        let mut content = source.open()?;
        let mut target = place::create(&self.grants, to)?;
        if let Err(error) = io::copy(&mut content, &mut target).and_then(|_| target.sync_all()) {
            // Half a copy is worse than none.
            drop(place::remove(&self.grants, to));
            return Err(error.into());
        }
        Ok(FileArrival::Done)
    }
}

/// Whole, or as far as the disk has room: what was written of it stays, and the error says so.
fn write(
    content: &[u8],
    open: impl FnOnce() -> Result<File, NotThere>,
) -> Result<FileArrival, NotThere> {
    if content.len() > READ as usize {
        return Err(rustix::io::Errno::INVAL.into());
    }
    open()?.write_all(content)?;
    Ok(FileArrival::Done)
}

fn refusal(not: NotThere) -> FileRefusal {
    match not {
        NotThere::NotAllowed => FileRefusal::NotAllowed,
        NotThere::NotRegular => FileRefusal::NotRegular,
        NotThere::Error(error) => FileRefusal::Error(errno::name(error)),
    }
}

/// Whether a path may be asked for at all.
fn is_absolute(path: &str) -> bool {
    Path::new(path).is_absolute()
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
