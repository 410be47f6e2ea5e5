//! Every limit of the edge in one place: value, unit, reason.

use std::time::Duration;

/// Bytes of one chunk, in either direction: the contract's limit for `bytes`, and what one
/// `read` takes from a pipe that is full.
pub const CHUNK: usize = 64 << 10;
/// Bytes that may wait in the mailbox for one source before its reader stops reading: four
/// chunks keep the engine busy, and leave the rest with the peer.
pub const WAITING: usize = 256 << 10;
/// Bytes of ACP in one round: enough to see a cancel behind a flood, few enough that the
/// Hosts are heard in between.
pub const ACP_ROUND: usize = 256 << 10;
/// Bytes of file answers in one round, for the same reason; and how many wait for a round
/// before the files stop working.
pub const FILES_ROUND: usize = 256 << 10;
/// Bytes of a child's stderr that wait for a round. More is left out, and said so: it is
/// for diagnosis only, and must neither fill the memory nor stop the child.
pub const DIAGNOSTIC: usize = 64 << 10;
/// Bytes that may wait for one peer. The engine stops at 8 MiB by itself (rule R7); this
/// is for a component that does not, and for an editor that asks without end and never
/// reads: neither may fill the memory of the runner.
pub const OUTBOX: u64 = 128 << 20;
/// Channels that are open at once: each costs up to four threads and four descriptors, and
/// a component that opens without end must not take them from the others.
pub const CHANNELS: usize = 128;
/// Bytes of one write to a pipe that may not be made non-blocking (stdout is shared with
/// whoever started us): a pipe that polls as writable takes this much without blocking.
pub const BLOCKING_WRITE: usize = 4096;
/// From closing a child's pipe (either end) to `SIGTERM`.
pub const TERMINATE_AFTER: Duration = Duration::from_secs(2);
/// From `SIGTERM` to `SIGKILL`: four seconds after the pipe, one before the end of all.
pub const KILL_AFTER: Duration = Duration::from_secs(2);
/// How often the supervisor looks whether what a killed runner left has ended.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);
/// After so many looks, two seconds, it kills.
pub const KILL_AFTER_LOOKS: usize = 100;
/// How long the exit of a child waits for the end of its output and its stderr. That long
/// only when something that it left running holds a pipe, or when nobody reads.
pub const LAST_WORDS: Duration = Duration::from_secs(1);
/// Stack of an edge thread, in bytes: their deepest call is a read into a buffer on the heap.
pub const STACK: usize = 256 << 10;
