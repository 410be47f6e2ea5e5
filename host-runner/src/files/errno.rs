//! Names of the operating system's errors, as the contract passes them to the component.
//!
//! It touches nothing. Invariant: the same error has the same name on every platform.

use rustix::io::Errno;

/// `ENOENT` for example; a number for an error that files do not give.
pub(super) fn name(error: Errno) -> String {
    TABLE
        .iter()
        .find(|(listed, _)| *listed == error)
        .map_or_else(
            || format!("E{}", error.raw_os_error()),
            |(_, name)| (*name).to_owned(),
        )
}

const TABLE: [(Errno, &str); 27] = [
    (Errno::ACCESS, "EACCES"),
    (Errno::AGAIN, "EAGAIN"),
    (Errno::BADF, "EBADF"),
    (Errno::BUSY, "EBUSY"),
    (Errno::DQUOT, "EDQUOT"),
    (Errno::EXIST, "EEXIST"),
    (Errno::FBIG, "EFBIG"),
    (Errno::ILSEQ, "EILSEQ"),
    (Errno::INTR, "EINTR"),
    (Errno::INVAL, "EINVAL"),
    (Errno::IO, "EIO"),
    (Errno::ISDIR, "EISDIR"),
    (Errno::LOOP, "ELOOP"),
    (Errno::MFILE, "EMFILE"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG"),
    (Errno::NFILE, "ENFILE"),
    (Errno::NOENT, "ENOENT"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::NOSPC, "ENOSPC"),
    (Errno::NOTDIR, "ENOTDIR"),
    (Errno::NXIO, "ENXIO"),
    (Errno::OVERFLOW, "EOVERFLOW"),
    (Errno::PERM, "EPERM"),
    (Errno::ROFS, "EROFS"),
    (Errno::STALE, "ESTALE"),
    (Errno::TXTBSY, "ETXTBSY"),
    (Errno::XDEV, "EXDEV"),
];
