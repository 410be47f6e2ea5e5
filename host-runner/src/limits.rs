//! Every limit of the runner's core, with value, unit and reason: one fact, one place.

use std::time::Duration;

/// Memory of one instance. A 32 MiB prompt line is held, decoded and written again.
pub const MEMORY_BYTES: u64 = 256 << 20;

/// Past this an idle instance is swapped for a fresh one: wasm memory never shrinks.
pub const MEMORY_SWAP_BYTES: u64 = 64 << 20;

/// Core instances, tables and memories in one store. The component uses one memory and
/// the few instances and tables that the canonical ABI adds.
pub const INSTANCES: usize = 8;
/// See [`INSTANCES`].
pub const TABLES: usize = 4;
/// See [`INSTANCES`].
pub const MEMORIES: usize = 1;

/// Elements of one table. The component has some hundred functions that are called by pointer.
pub const TABLE_ELEMENTS: usize = 10_000;

/// How often running calls look at their deadline.
pub const EPOCH_TICK: Duration = Duration::from_millis(10);

/// Deadline of a call without bytes. Wall time on busy machines: it is there to stop
/// endless loops, not to measure.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// Added to [`DEADLINE`] for each MiB of input.
pub const DEADLINE_PER_MIB: Duration = Duration::from_millis(100);

/// Deadline of `open`, `restore` and `snapshot`, which go through the whole state.
pub const DEADLINE_STATE: Duration = Duration::from_secs(10);

/// Largest component file that `--component` loads.
pub const COMPONENT_BYTES: u64 = 16 << 20;

/// Characters of a component's last words that reach the log.
pub const LAST_WORDS_CHARS: usize = 1024;

/// Nothing arrived for this long: the adapter is quiet, a good moment for a snapshot.
pub const QUIET: Duration = Duration::from_secs(1);

/// Journal bytes from which a quiet moment is used for a snapshot.
pub const JOURNAL_QUIET_BYTES: u64 = 64 << 10;

/// Journal bytes at which a snapshot is taken whatever happens: running it again takes
/// some ten milliseconds.
pub const JOURNAL_BYTES: u64 = 4 << 20;

/// What one journal entry costs beside its bytes.
pub const JOURNAL_ENTRY_BYTES: u64 = 128;

/// Recording bytes that may wait for the disk. Past this the recording stops, visibly.
pub const RECORD_WAITING_BYTES: u64 = 64 << 20;

/// How long the end of the program waits for the end of a recording.
pub const RECORD_END: Duration = Duration::from_millis(200);

/// After the editor has gone, the adapter may take this long to say that it is done.
pub const ADAPTER_END: Duration = Duration::from_millis(1500);

/// After the editor has gone, everything has ended by then (five seconds are promised).
pub const WHOLE_END: Duration = Duration::from_millis(4700);
