//! A linked file while it is read: opened once, read twice, and found out when it changes
//! meanwhile (size, time, identity, and the digest of either reading).
//!
//! Pure: the caller asks for what is named here and hands in the answers. Invariant: never
//! more than one piece of a file is held.

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::name;
use crate::input::{FileFacts, FileKind, FileRefusal, Handle};
use crate::limits;

/// Why a file cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// A folder, a FIFO, a device.
    NotFile,
    /// The system does not give it; its name of the error.
    Unreadable(String),
    /// Outside the folders that may be read.
    NotAllowed,
    /// More than may be attached.
    TooLarge,
    /// It changed while it was read.
    Changed,
}

impl Unusable {
    /// What a refused request means.
    pub fn of(refusal: FileRefusal) -> Unusable {
        match refusal {
            FileRefusal::NotAllowed => Unusable::NotAllowed,
            FileRefusal::NotRegular => Unusable::NotFile,
            FileRefusal::Error(name) => Unusable::Unreadable(name),
        }
    }

    /// The word for programs (Maka adapter, section 4.1).
    pub fn reason(&self) -> &'static str {
        match self {
            Unusable::NotFile => "resource_not_file",
            Unusable::Unreadable(_) | Unusable::NotAllowed => "resource_unreadable",
            Unusable::TooLarge => "resource_too_large",
            Unusable::Changed => "resource_changed",
        }
    }

    /// The sentence for people.
    pub fn sentence(&self, path: &str) -> String {
        let name = name::of_path(path);
        match self {
            Unusable::NotFile => format!("{name} is not a file. Link a file instead."),
            Unusable::Unreadable(error) => {
                format!("The linked file {name} cannot be read ({error}).")
            }
            Unusable::NotAllowed => format!(
                "The linked file {name} lies outside the folders that Airlock may read. \
                 Allow its folder (--allow-files), or copy the file into the project."
            ),
            Unusable::TooLarge => format!("The linked file {name} is larger than 50 MiB."),
            Unusable::Changed => {
                format!("The linked file {name} changed while it was read. Send the prompt again.")
            }
        }
    }
}

/// An opened file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// By which it is read.
    pub handle: Handle,
    /// After symbolic links.
    pub path: String,
    /// Bytes.
    pub size: u64,
    modified: u64,
    identity: String,
}

impl Opened {
    /// A file as it was opened.
    ///
    /// # Errors
    /// When it cannot be attached.
    pub fn new(handle: Handle, facts: FileFacts) -> Result<Opened, Unusable> {
        if facts.kind != FileKind::File {
            return Err(Unusable::NotFile);
        }
        if facts.size > limits::ATTACHMENT {
            return Err(Unusable::TooLarge);
        }
        Ok(Opened {
            handle,
            path: facts.canonical_path,
            size: facts.size,
            modified: facts.modified,
            identity: facts.identity,
        })
    }

    /// Whether what is at its path now is still this file, unchanged.
    ///
    /// # Errors
    /// [`Unusable::Changed`].
    pub fn still(&self, facts: &FileFacts) -> Result<(), Unusable> {
        let same = facts.kind == FileKind::File
            && facts.size == self.size
            && facts.modified == self.modified
            && facts.identity == self.identity;
        if same { Ok(()) } else { Err(Unusable::Changed) }
    }
}

/// One reading from the beginning to the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// Bytes that were read.
    pub offset: u64,
    digest: Digest,
}

impl Pass {
    /// Takes in the next piece of a file of this size; `asked` bytes were asked for.
    ///
    /// # Errors
    /// [`Unusable::Changed`] when it is not as long as it must be.
    pub fn take(&mut self, offset: u64, data: &[u8], asked: u64) -> Result<(), Unusable> {
        if offset != self.offset || data.len() as u64 != asked {
            return Err(Unusable::Changed);
        }
        self.digest.update(data);
        self.offset += asked;
        Ok(())
    }

    /// How much to ask for next, at most.
    pub fn next(&self, size: u64, most: u64) -> u64 {
        size.saturating_sub(self.offset).min(most)
    }

    /// The digest of everything read.
    pub fn finish(self) -> String {
        self.digest.finish()
    }
}
