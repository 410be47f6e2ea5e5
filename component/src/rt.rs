//! What a no_std guest needs and std would bring: an allocator, a panic handler, the C
//! memory functions, and the allocation export of the canonical ABI.

use crate::wit::airlock::adapter::last_words;

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    last_words::tell(&alloc::format!("{info}"));
    core::arch::wasm32::unreachable()
}

/// Ids, names and whole pieces of lines are compared all the time, and the library of the
/// target does it byte by byte: a third of what a streamed delta costs.
///
/// # Safety
/// As in C: `length` bytes can be read at both places.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, length: usize) -> i32 {
    const WORD: usize = size_of::<u64>();
    // SAFETY: only called with `at + WORD <= length`.
    let words = |at: usize| unsafe {
        let word = |from: *const u8| from.add(at).cast::<u64>().read_unaligned();
        (word(one), word(other))
    };
    let differ = |at: usize| {
        let (x, y) = words(at);
        x ^ y
    };
    // The first byte that differs decides, so it has to weigh most.
    let order = |at: usize| {
        let (x, y) = words(at);
        x.to_be().cmp(&y.to_be()) as i32
    };
    let mut at = 0;
    while length - at >= 4 * WORD
        && differ(at) | differ(at + WORD) | differ(at + 2 * WORD) | differ(at + 3 * WORD) == 0
    {
        at += 4 * WORD;
    }
    while length - at >= WORD {
        if differ(at) != 0 {
            return order(at);
        }
        at += WORD;
    }
    if at < length && length >= WORD {
        // Once more what is equal, and the rest. Most of what is compared is equal, and the
        // order is dear: this machine cannot turn bytes around.
        let last = length - WORD;
        return if differ(last) == 0 { 0 } else { order(last) };
    }
    while at < length {
        // SAFETY: `at` is below `length`.
        let (x, y) = unsafe { (*one.add(at), *other.add(at)) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
        at += 1;
    }
    0
}

// The other C memory functions, from the libc that ships with the target.
#[cfg(target_os = "wasi")]
#[link(name = "c")]
unsafe extern "C" {}

/// Called by the embedder's side of the canonical ABI to place lists and strings.
///
/// # Safety
/// As `realloc`: `old` is null-sized or came from here with `old_len` and `align`.
#[cfg(target_env = "p2")]
#[unsafe(export_name = "cabi_realloc")]
unsafe extern "C" fn cabi_realloc(
    old: *mut u8,
    old_len: usize,
    align: usize,
    new_len: usize,
) -> *mut u8 {
    use alloc::alloc::{Layout, alloc, realloc};
    if new_len == 0 {
        return align as *mut u8;
    }
    // SAFETY: the canonical ABI passes sizes and alignments that make valid layouts, and
    // `old` only if it came from this function.
    let place = unsafe {
        if old_len == 0 {
            alloc(Layout::from_size_align_unchecked(new_len, align))
        } else {
            realloc(
                old,
                Layout::from_size_align_unchecked(old_len, align),
                new_len,
            )
        }
    };
    if place.is_null() {
        core::arch::wasm32::unreachable()
    }
    place
}
