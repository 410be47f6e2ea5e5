//! A place in the file system: found once, checked while open, then used.
//!
//! It touches the file system below granted folders. Invariant: what a [`Place`] answers
//! is about the file that it holds open, never about its path a second time.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, open, openat, statat, unlinkat,
};
use rustix::io::Errno;

use super::is_absolute;
use crate::grants::Grants;
use crate::words::{FileFacts, FileKind, Root};

/// The only root whose files are ever written: `copy`, `create`, `append` and `remove` belong
/// to it.
pub(super) const COPIED: Root = Root::HostState;

/// Why there is no place, or nothing to do with it.
#[derive(Debug)]
pub(super) enum NotThere {
    NotAllowed,
    NotRegular,
    Error(Errno),
}

impl From<Errno> for NotThere {
    fn from(error: Errno) -> NotThere {
        NotThere::Error(error)
    }
}

impl From<io::Error> for NotThere {
    fn from(error: io::Error) -> NotThere {
        NotThere::Error(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

/// An open place inside a granted folder.
pub(super) struct Place {
    fd: OwnedFd,
    stat: Stat,
    canonical: PathBuf,
}

impl Place {
    /// Finds what is at an absolute path.
    pub(super) fn find(grants: &Grants, root: Root, path: &str) -> Result<Place, NotThere> {
        if !is_absolute(path) {
            return Err(Errno::INVAL.into());
        }
        let place = Place::at(CWD, path.as_ref()).map_err(|error| {
            // What is missing outside the granted folders is not even told to be missing.
            if may_be_missing(grants, root, path.as_ref()) {
                error.into()
            } else {
                NotThere::NotAllowed
            }
        })?;
        if grants.allows(root, &place.canonical) {
            Ok(place)
        } else {
            Err(NotThere::NotAllowed)
        }
    }

    fn at(folder: impl std::os::fd::AsFd, path: &Path) -> Result<Place, Errno> {
        let fd = openat(folder, path, LOOK | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fstat(&fd)?;
        if stat.st_nlink == 0 {
            // Gone since: the system's name for it would be a lie.
            return Err(Errno::NOENT);
        }
        let canonical = path_of(&fd)?;
        Ok(Place {
            fd,
            stat,
            canonical,
        })
    }

    /// Opens the content of a regular file for reading.
    pub(super) fn open(&self) -> Result<File, NotThere> {
        if kind(&self.stat) != FileKind::File {
            return Err(NotThere::NotRegular);
        }
        Ok(self
            .reopen(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?
            .into())
    }

    /// What it is.
    pub(super) fn facts(&self) -> Result<FileFacts, NotThere> {
        facts(&self.stat, &self.canonical)
    }

    /// What the opened file is now.
    pub(super) fn facts_of(&self, file: &File) -> Result<FileFacts, NotThere> {
        facts(&fstat(file)?, &self.canonical)
    }

    /// What a folder holds: files and folders that may be asked for themselves, by name.
    /// A link that leads nowhere or out of the granted folders is left out, and so is a
    /// name that is not UTF-8, which the component could not ask for.
    pub(super) fn entries(
        &self,
        grants: &Grants,
        root: Root,
        at_most: usize,
    ) -> Result<Vec<(String, FileFacts)>, NotThere> {
        if kind(&self.stat) != FileKind::Folder {
            return Err(Errno::NOTDIR.into());
        }
        let folder = self.reopen(OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            let Ok(place) = Place::at(&folder, name.as_ref()) else {
                continue;
            };
            if !grants.allows(root, &place.canonical) {
                continue;
            }
            let Ok(facts) = place.facts() else { continue };
            if entries.len() == at_most {
                return Err(Errno::OVERFLOW.into());
            }
            entries.push((name.to_owned(), facts));
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(entries)
    }

    /// Opens the same file again, for another use. On Linux not by its path.
    fn reopen(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        #[cfg(target_os = "linux")]
        let path = by_number(&self.fd);
        #[cfg(not(target_os = "linux"))]
        let path = &self.canonical;
        let fd = open(path, flags | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fstat(&fd)?;
        if (stat.st_dev, stat.st_ino) == (self.stat.st_dev, self.stat.st_ino) {
            Ok(fd)
        } else {
            Err(Errno::STALE)
        }
    }
}

/// Creates a new file, never over an existing one.
pub(super) fn create(grants: &Grants, path: &str) -> Result<File, NotThere> {
    let (folder, name) = parent(grants, path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&folder.fd, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Opens a regular file to write at its end.
pub(super) fn end_of(grants: &Grants, path: &str) -> Result<File, NotThere> {
    let place = Place::find(grants, COPIED, path)?;
    if kind(&place.stat) != FileKind::File {
        return Err(NotThere::NotRegular);
    }
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(place.reopen(flags)?.into())
}

/// Removes a regular file.
pub(super) fn remove(grants: &Grants, path: &str) -> Result<(), NotThere> {
    let (folder, name) = parent(grants, path)?;
    if kind(&statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW)?) != FileKind::File {
        return Err(NotThere::NotRegular);
    }
    Ok(unlinkat(&folder.fd, name, AtFlags::empty())?)
}

/// The folder in which a path lies, and its last name.
fn parent<'a>(grants: &Grants, path: &'a str) -> Result<(Place, &'a OsStr), NotThere> {
    let whole = Path::new(path);
    // A path that ends in `..` has no last name.
    let (Some(folder), Some(name)) = (whole.parent().and_then(Path::to_str), whole.file_name())
    else {
        return Err(Errno::INVAL.into());
    };
    let folder = Place::find(grants, COPIED, folder)?;
    if kind(&folder.stat) != FileKind::Folder {
        return Err(Errno::NOTDIR.into());
    }
    Ok((folder, name))
}

/// Whether the nearest folder above a path that cannot be opened is granted.
fn may_be_missing(grants: &Grants, root: Root, path: &Path) -> bool {
    path.ancestors()
        .find_map(|above| above.canonicalize().ok())
        .is_some_and(|above| grants.allows(root, &above))
}

// Signed on some platforms, unsigned on others.
#[allow(clippy::useless_conversion)]
fn facts(stat: &Stat, canonical: &Path) -> Result<FileFacts, NotThere> {
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    let nanoseconds = u64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    Ok(FileFacts {
        kind: kind(stat),
        canonical_path: canonical.to_str().ok_or(Errno::ILSEQ)?.to_owned(),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: seconds
            .saturating_mul(1000)
            .saturating_add(nanoseconds / 1_000_000),
        identity: format!("{}:{}", stat.st_dev, stat.st_ino),
    })
}

fn kind(stat: &Stat) -> FileKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Folder,
        _ => FileKind::Other,
    }
}

/// Opens a place without touching what is there: a FIFO's writer is not woken, a device
/// does nothing.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH;
/// The nearest that other systems have: it does not wait.
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

#[cfg(target_os = "linux")]
fn by_number(fd: &OwnedFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

#[cfg(target_os = "linux")]
fn path_of(fd: &OwnedFd) -> Result<PathBuf, Errno> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::readlink(by_number(fd), Vec::new())?;
    Ok(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

#[cfg(target_vendor = "apple")]
fn path_of(fd: &OwnedFd) -> Result<PathBuf, Errno> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(fd)?;
    Ok(std::ffi::OsString::from_vec(path.into_bytes()).into())
}
